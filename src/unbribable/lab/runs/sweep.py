"""All runs of a spec, each once: what is there is kept, what fails is reported, the rest goes on."""

import json
import os
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from unbribable.files import remove_left_over, write_json
from unbribable.lab.runs.cluster import play_on_dask
from unbribable.lab.runs.experiment import Run, Spec
from unbribable.lab.runs.play import about, record_path, run_one, why_not
from unbribable.lab.runs.record import Record
from unbribable.lab.runs.spec import load_spec


@dataclass(frozen=True)
class Progress:
    """How far a sweep is."""

    total: int
    kept: int
    """Runs that were there before."""
    done: int = 0
    """Played now."""
    failed: tuple[str, ...] = ()
    """Keys of the runs that failed; failed/<key>.json says how."""
    damaged: tuple[str, ...] = ()
    """Files that were there and could not be kept, each with the reason: their runs are played again."""
    seconds: float = 0.0

    @property
    def left(self) -> int:
        """Runs still to be played."""
        return self.total - self.kept - self.done - len(self.failed)


def sweep(
    spec: Spec | str | Path,
    out: str | Path,
    *,
    profile: str | None = None,
    n_workers: int | None = None,
    scheduler: str | None = None,
    serial: bool = False,
    on_change: Callable[[Progress], None] | None = None,
) -> Progress:
    """Play every run of the spec that has no file yet. The results do not depend on who plays them.

    Files that are there are opened: those that are damaged or of another run are played again, and
    those with other labels get the spec's. Notes of failures that are over are removed.

    Writes out/runs/<key>.npz (one per run, atomically, by the worker), out/spec.json (the runs and
    their labels) and out/failed/<key>.json (the run and its traceback).

    Args:
        spec: A spec, or the path of one.
        out: The directory; created if need be. On a cluster all workers must see it.
        profile: Of the spec's file.
        n_workers: Processes on this machine; one per core by default.
        scheduler: Address of an existing Dask scheduler instead. Its workers should be processes of
            their own with one thread each: one in which a game hangs past its time limit is ended.
        serial: Play here, one after another. A game that hangs in a call then hangs the sweep, past its
            time limit too: there is no process that could be ended.
        on_change: Called after every run.

    Raises:
        OSError: A file cannot be read or written, or nobody answers at the scheduler's address.
        RuntimeError: The scheduler is gone; calling again goes on.
        KeyboardInterrupt: Workers are stopped; what was finished is kept, and calling again goes on.
    """
    if not isinstance(spec, Spec):
        spec = load_spec(spec, profile)
    runs, directory = spec.runs(), Path(out).resolve()
    for folder in ("runs", "failed"):
        (directory / folder).mkdir(parents=True, exist_ok=True)
        remove_left_over(directory / folder)
    plain = {"name": spec.name, "profile": profile, "runs": [run.to_plain() for run in runs]}
    write_json(directory / "spec.json", plain)
    missing, damaged = _missing(directory, runs)
    waiting = {run.key for run in missing}
    for note in (directory / "failed").glob("*.json"):
        if note.stem not in waiting:  # the run is there by now, or not in the spec
            note.unlink(missing_ok=True)
    for note in (directory / "failed").glob("*.stuck"):
        if note.stat().st_size:  # of a run that will be played again; an empty one may be under way
            note.unlink(missing_ok=True)
    tally = Progress(total=len(runs), kept=len(runs) - len(missing), damaged=damaged)
    on_change = on_change or (lambda tally: None)
    on_change(tally)
    start = time.monotonic()
    if serial or not missing:
        outcomes = _play_here(missing, str(directory))
    else:
        workers = min(n_workers or os.cpu_count() or 1, len(missing))
        outcomes = play_on_dask(missing, str(directory), n_workers=workers, scheduler=scheduler)
    try:
        for run, trouble in outcomes:
            tally = _count(tally, directory, run, trouble, time.monotonic() - start)
            on_change(tally)
    finally:
        outcomes.close()  # type: ignore[attr-defined]
    return tally


def failures(out: str | Path) -> list[dict[str, Any]]:
    """What out/failed/ holds: the run and the traceback of each run that failed."""
    files = sorted((Path(out) / "failed").glob("*.json"))
    return [json.loads(file.read_text(encoding="utf-8")) for file in files]


def _play_here(runs: Sequence[Run], out: str) -> Iterator[tuple[Run, str | None]]:
    for run in runs:
        trouble = None
        try:
            run_one(run.to_plain(), out)
        except Exception:
            trouble = traceback.format_exc()
        yield run, trouble


def _count(tally: Progress, directory: Path, run: Run, trouble: str | None, seconds: float) -> Progress:
    """The tally after one more run; a failure is written down, an old one of this run removed."""
    if trouble is None and not record_path(directory, run.key).exists():
        trouble = (
            f"the workers must write into the driver's directory {directory}, this file is not there"
        )
    note = directory / "failed" / f"{run.key}.json"
    if trouble is not None:
        write_json(note, {**run.to_plain(), "traceback": trouble})
        return replace(tally, failed=(*tally.failed, run.key), seconds=seconds)
    note.unlink(missing_ok=True)
    return replace(tally, done=tally.done + 1, seconds=seconds)


def _missing(directory: Path, runs: Sequence[Run]) -> tuple[list[Run], tuple[str, ...]]:
    """The runs without a record, and what was wrong with files that are removed here.

    Records that are kept get the spec's labels where they were made under others.
    """
    missing, damaged = [], []
    for run in runs:
        path, plain = record_path(directory, run.key), run.to_plain()
        try:
            record = Record.load(path)
            trouble = why_not(record, plain)
        except FileNotFoundError:
            missing.append(run)
            continue
        except ValueError as error:
            trouble = str(error)
        if trouble is not None:
            missing.append(run)
            damaged.append(f"{path}: {trouble}")
            path.unlink(missing_ok=True)
        elif record.meta["run"] != (labelled := about(plain)):
            Record(record.columns, {**record.meta, "run": labelled}).save(path)
    return missing, tuple(damaged)
