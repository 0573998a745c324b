"""Games that hang in a call: past the time limit they are ended, with the worker that plays them."""

import faulthandler
from pathlib import Path
from typing import Any

from unbribable.lab.runs.play import run_one


def grace(time_limit: float) -> float:
    """Seconds beyond the time limit, in which a game that comes to its next round ends by itself."""
    return max(1.0, time_limit / 10.0)


def run_or_end(run: dict[str, Any], out: str) -> str:
    """Play a run as `run_one` does, in a worker that may be ended: past time limit and grace it is.

    The process writes down where it hangs, without asking Python, which may be what hangs, and ends.
    Whoever is given the run next finds that, and raises it in place of playing the game again.

    Raises:
        TimeoutError: The game hung in a call, in this process or in the one before.
    """
    limit, note = run.get("time_limit"), stuck_path(out, run["key"])
    if limit is None:
        return run_one(run, out)
    if note.exists() and (where := note.read_text(encoding="utf-8", errors="replace")):
        note.unlink()
        raise TimeoutError(
            f"a game must end within time_limit={limit:g} s, got one in a call that had not returned "
            f"{grace(limit):g} s later, and its process was ended; it hung here, the innermost call "
            f"first:\n{_of_game(where)}"
        )
    with note.open("w", encoding="utf-8") as file:
        faulthandler.dump_traceback_later(limit + grace(limit), file=file, exit=True)
        try:
            return run_one(run, out)
        finally:
            faulthandler.cancel_dump_traceback_later()
            note.unlink(missing_ok=True)


def stuck_path(out: str | Path, key: str) -> Path:
    """Where a run says in which call it hangs; empty while it is played."""
    return Path(out) / "failed" / f"{key}.stuck"


def _of_game(where: str) -> str:
    """What the thread that plays was doing, of what all threads were."""
    for stack in where.split("\n\n"):
        calls, play, _ = stack.partition(" in run_or_end")
        if play:
            return "\n".join(line for line in calls.split("\n")[:-1] if line.startswith("  File"))
    return where
