"""Peak memory of the leaderboard's players: one game each, in a process of its own.

Run as `python -m benchmarks.memory p4 p2`, with names of protocols: the first attack of the profile
`core`, seed 0. What is counted is by how much the process grows from before the game, when the library
has been imported, to the peak: for players of other libraries that includes these.
"""

import multiprocessing
import sys
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.practice_table import table
from unbribable.lab.runs.play import play
from unbribable.lab.runs.spec import load_spec

HERE = Path(__file__).parents[1] / "experiments" / "leaderboard"


def grown_by(run: dict[str, Any]) -> float:
    """MB, in the process that plays the run."""
    before = peak()
    with threadpool_limits(1):
        play(run)
    return peak() - before


def peak() -> float:
    """MB that this process has held at most; by Linux, since `ru_maxrss` counts its parent's, too."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (kilobytes,) = (line.split()[1] for line in lines if line.startswith("VmHWM"))
    return int(kilobytes) / 1024.0


def measured(protocol: str) -> dict[str, float]:
    """Player -> MB."""
    runs = [run.to_plain() for run in load_spec(HERE / f"{protocol}.toml", "core").runs()]
    attacked = [run for run in runs if run["game"]["adversary"]["kind"] != "none"]
    chosen: dict[str, dict[str, Any]] = {}
    for run in attacked:
        chosen.setdefault(run["labels"]["algorithm"], run)
    context = multiprocessing.get_context("spawn")
    found = {}
    for label, run in chosen.items():
        with context.Pool(1) as pool:
            found[label] = pool.apply(grown_by, (run,))
        print(f"{protocol}, {label}: {found[label]:.1f} MB", file=sys.stderr)
    return found


if __name__ == "__main__":
    columns = {name: measured(name) for name in sys.argv[1:]}
    labels = dict.fromkeys(label for column in columns.values() for label in column)
    rows = [
        (label, *(f"{column[label]:.1f}" if label in column else "–" for column in columns.values()))
        for label in labels
    ]
    print(table(("peak memory of a game, MB", *columns), rows))
