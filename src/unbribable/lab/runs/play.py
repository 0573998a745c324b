"""One run to one file: what a worker does."""

import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unbribable.decision.algorithm import AssumptionsRefuted
from unbribable.extras import needed
from unbribable.lab.runs.fields import Plain
from unbribable.lab.runs.kinds import build_game
from unbribable.lab.runs.own import importable
from unbribable.lab.runs.places import opened
from unbribable.lab.runs.record import Record
from unbribable.lab.runs.simulate import simulate


def run_one(run: dict[str, Any], out: str) -> str:
    """Play a run and write out/runs/<key>.npz, atomically; a file that exists is kept.

    Linear algebra is pinned to one thread: it is faster at these sizes, workers do not fight for
    cores, and the numbers do not depend on how many there are.

    Args:
        run: `Run.to_plain()`.
        out: The directory of the sweep, as every worker sees it.

    Returns:
        The key.
    """
    path = record_path(out, run["key"])
    if not path.exists():
        with needed("a sweep needs", "threadpoolctl", "sweep").threadpool_limits(1):
            record = play(run)
        record.save(path)
    return str(run["key"])


def play(run: Plain) -> Record:
    """Play a run; meta["run"] of the record says where it belongs.

    Refuted assumptions are no warning here: meta["refuted"] keeps the round.

    Raises:
        TimeoutError: The game has taken longer than the run allows.
    """
    game, limit, start = run["game"], run.get("time_limit"), time.monotonic()

    def look(t: int) -> None:
        if limit is not None and (seconds := time.monotonic() - start) > limit:
            raise TimeoutError(
                f"a game must end within time_limit={limit:g} s, got {seconds:.0f} s in round {t} of "
                f"{game['T']}"
            )

    with warnings.catch_warnings(), importable(run.get("folders", ())):
        warnings.simplefilter("ignore", AssumptionsRefuted)
        player, environment = build_game(game)
        opening = opened(environment.objective.X, game.get("opening", 0), game["seed"])
        record = simulate(player, environment, game["T"], game["seed"], opening=opening, on_round=look)
    return Record(record.columns, {**record.meta, "run": about(run)})


def about(run: Plain) -> dict[str, Any]:
    """What groups a record: labels, budgets, horizon, seed and key."""
    game = run["game"]
    told = game["algorithm"]
    budgets = {"C": game.get("n_lies", game["C"]), "C_assumed": told.get("C", told.get("n_lies"))}
    return {**run["labels"], **budgets, "T": game["T"], "seed": game["seed"], "key": run["key"]}


def why_not(record: Record, run: Plain) -> str | None:
    """Why the record cannot be kept as that of the run; None if it can. Labels do not matter."""
    expected, found = about(run), record.meta.get("run")
    if not isinstance(found, Mapping):
        return "it does not say of which run it is"
    if "promised" not in record.meta:
        return "it is of an earlier release, and does not say which bounds were promised"
    for key in ("key", "seed", "T", "C", "C_assumed"):
        if found.get(key) != expected[key]:
            return f"{key} must be {expected[key]!r}, got {found.get(key)!r}: it is of another run"
    return None if expected["T"] == record.T else f"T must be {expected['T']}, got {record.T} rounds"


def record_path(out: str | Path, key: str) -> Path:
    """Where the record of a run is."""
    return Path(out) / "runs" / f"{key}.npz"
