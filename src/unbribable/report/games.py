"""A directory of records to reduced games, grouped by what was played against what."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbribable.model import checks
from unbribable.report.promise import is_promised
from unbribable.runs.record import Record

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

N_POINTS = 400
"""Rounds kept of a game: what a figure can show."""

MAX_SUM = 1e100
"""Larger sums are not of a game, and their squares would not fit into float64."""

_BROKEN = (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError)
"""What a record that can be loaded, but is not one of a game, may raise when it is reduced."""
_KINDS = ("GPUCB", "RobustGPUCB", "FastSlowGPUCB", "LayeredGPUCB")


@dataclass(frozen=True)
class Setting:
    """What the learners were up against: one panel of a figure."""

    objective: str
    T: int
    adversary: str
    C: float
    """The adversary's true budget."""
    told: str = ""
    """The budget learners were told, where a sweep tells several with all else equal."""

    @property
    def is_clean(self) -> bool:
        """Whether nobody could lie."""
        return self.C == 0.0

    @property
    def order(self) -> tuple[Any, ...]:
        """Clean first, then by adversary and budget."""
        told = float(self.told.split("–")[0]) if self.told else 0.0
        return self.objective, self.T, not self.is_clean, self.adversary, self.C, told


@dataclass(frozen=True)
class Cell:
    """One algorithm in one setting; its games differ by the seed alone."""

    setting: Setting
    algorithm: str
    """The label of the learner."""
    kind: str
    """The learner's class."""
    C_assumed: float | None
    """The budget the learner was told, if any."""

    @property
    def order(self) -> tuple[Any, ...]:
        """By setting, then the baseline first and Algorithms 1, 2, 3 after it."""
        return *self.setting.order, *kind_order(self.kind), self.algorithm


@dataclass(frozen=True, eq=False)
class Game:
    """A record reduced to what tables and figures need, at no more than `N_POINTS` rounds."""

    seed: int
    file: Path | None
    """Of the whole record."""
    rounds: Ints
    """The rounds kept, (m,); the last one is T."""
    regret: Floats
    """Cumulative, at those rounds, (m,)."""
    spent: Floats
    """Budget spent up to those rounds, (m,)."""
    instances: tuple[str, ...]
    plays: Ints
    """How often each instance learned up to those rounds; last column: nobody, (m, k + 1)."""
    maximisers: Ints | None
    """Sizes of the sets of potential maximisers after those rounds, (m, n_layers)."""
    simple_regret: float
    certificate: float | None
    detected: int | None
    seconds: float
    """Per round."""
    covered: dict[str, bool]
    """For each instance that claims bounds: has the truth stayed inside them?"""
    is_promised: dict[str, bool]
    """For each instance: did its assumptions hold, so that its bounds had to hold too?"""
    delta: float | None
    """Probability with which the learner's promise may fail."""


@dataclass(frozen=True)
class Skipped:
    """A file that is not in the report, and why."""

    file: str
    reason: str


@dataclass(frozen=True, eq=False)
class Collection:
    """All games of a directory by cell (in the order of the report; by seed within a cell)."""

    cells: dict[Cell, list[Game]]
    skipped: list[Skipped]
    n_games: int
    """Records read."""
    n_runs: int | None = None
    """Runs of the last sweep's spec; None without its list."""
    missing: tuple[str, ...] = ()
    """Keys of those of them that have no record that can be read."""

    @property
    def settings(self) -> list[Setting]:
        """What was played against, in order."""
        return list(dict.fromkeys(cell.setting for cell in self.cells))

    @property
    def algorithms(self) -> list[str]:
        """The labels of the learners, in order."""
        cells = sorted(self.cells, key=lambda cell: (*kind_order(cell.kind), cell.algorithm))
        return list(dict.fromkeys(cell.algorithm for cell in cells))

    def in_setting(self, setting: Setting) -> dict[str, list[Game]]:
        """The games of each algorithm in the setting."""
        return {cell.algorithm: games for cell, games in self.cells.items() if cell.setting == setting}


def kind_order(kind: str) -> tuple[int, str]:
    """Sorts the classes of learners: baseline, Algorithms 1, 2, 3, then others by name."""
    return (_KINDS.index(kind) if kind in _KINDS else len(_KINDS)), kind


def thinned(T: int, n_points: int = N_POINTS) -> Ints:
    """At most `n_points` rounds of 1..T, evenly spread, with the first and the last one."""
    return np.unique(np.linspace(1, T, min(T, n_points)).round().astype(np.int64))


def files_of(directory: str | Path) -> list[Path]:
    """The record files of a sweep: DIR/runs/*.npz, or DIR/*.npz where there is no such folder.

    Raises:
        FileNotFoundError: There is no such directory.
    """
    directory = Path(directory)
    if not directory.is_dir():
        raise FileNotFoundError(f"directory must be one that exists, got {str(directory)!r}")
    runs = directory / "runs"
    return sorted((runs if runs.is_dir() else directory).glob("*.npz"))


def plan(directory: str | Path) -> dict[str, dict[str, Any]] | None:
    """Key -> the game's description, of every run of the directory's last sweep; None without one.

    Raises:
        ValueError: The list is damaged; the message has its path.
    """
    path = Path(directory) / "spec.json"
    if not path.is_file():
        return None
    try:
        runs = json.loads(path.read_text(encoding="utf-8"))["runs"]
        return {str(run["key"]): dict(run["game"]) for run in runs}
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise ValueError(
            f"spec.json must be the list of runs that a sweep writes, got a damaged {path} "
            f"({type(error).__name__}: {error}): call sweep again, which writes it anew"
        ) from error


def load(directory: str | Path) -> Collection:
    """Read all records of a directory. Broken files are skipped, and listed with the reason.

    Raises:
        ValueError: There is not one record that can be read, or the list of runs is damaged.
    """
    found: dict[Cell, dict[int, Game]] = {}
    skipped = []
    planned = plan(directory)
    read = set()
    for path in files_of(directory):
        if planned is not None and path.stem not in planned:
            skipped.append(Skipped(path.name, "not of the last sweep: its run is not in spec.json"))
            continue
        try:
            record = Record.load(path)
            if planned is not None and record.meta["run"]["key"] != path.stem:
                raise ValueError(f"it holds another run, {record.meta['run']['key']!r}")
            cell, game = cell_of(record), reduced(record, path)
        except _BROKEN as error:
            skipped.append(Skipped(path.name, f"{type(error).__name__}: {error}"))
            continue
        read.add(path.stem)
        others = found.setdefault(cell, {})
        first = next(iter(others.values()), game)
        if game.seed in others:
            skipped.append(Skipped(path.name, f"a second record of the same cell, seed {game.seed}"))
        elif game.instances != first.instances:
            words = f"instances {list(game.instances)}, others of its cell have {list(first.instances)}"
            skipped.append(Skipped(path.name, words))
        else:
            others[game.seed] = game
    if not found:
        broken = "".join(f"\n  {skip.file}: {skip.reason}" for skip in skipped)
        raise ValueError(
            f"directory must hold records that can be read (runs/*.npz), got none in "
            f"{str(directory)!r}{broken}"
        )
    split = _with_what_was_told(found)
    cells = {
        cell: [split[cell][seed] for seed in sorted(split[cell])]
        for cell in sorted(split, key=lambda cell: cell.order)
    }
    return Collection(
        cells,
        skipped,
        n_games=sum(len(games) for games in found.values()),
        n_runs=None if planned is None else len(planned),
        missing=() if planned is None else tuple(key for key in planned if key not in read),
    )


def cell_of(record: Record) -> Cell:
    """Where the record belongs: from meta["run"], or from the game itself where that is missing."""
    meta = record.meta
    run: Mapping[str, Any] = meta.get("run", {})
    learner = meta["algorithm"]
    assumed = run.get("C_assumed", learner.get("C"))
    setting = Setting(
        objective=_label(run.get("objective", meta["objective"])),
        T=record.T,
        adversary=_label(run.get("adversary", meta["adversary"])),
        C=checks.real("C", meta["C"], at_least=0.0),
    )
    kind = _label(learner["algorithm"])
    label = _label(run.get("algorithm", kind))
    return Cell(setting, label, kind, _optional("C_assumed", assumed))


def _optional(name: str, value: Any) -> float | None:
    return None if value is None else checks.real(name, value)


def _label(value: Any) -> str:
    """Words that a file can hold: half of a pair of surrogates, which JSON allows, cannot be written."""
    words = str(value)
    words.encode()
    return words


def reduced(record: Record, file: Path | None = None) -> Game:
    """What tables and figures need of the record."""
    meta, columns = record.meta, record.columns
    rounds = thinned(record.T)
    kept = rounds - 1
    labels = tuple(_label(label) for label in meta["instances"])
    instance = columns["instance"]
    if instance.ndim != 1 or instance.min() < -1 or instance.max() >= len(labels):
        raise ValueError(f"instance must be -1..{len(labels) - 1} in every round, got another")
    plays = np.stack([instance == k for k in (*range(len(labels)), -1)], axis=1).cumsum(axis=0)
    maximisers = columns.get("maximisers")
    if maximisers is not None and maximisers.shape[1:] != (len(labels),):
        raise ValueError(f"maximisers must have {len(labels)} columns, got shape {maximisers.shape}")
    covered = {label: bool(value) for label, value in meta["covered"].items()}
    if not set(covered) <= set(labels):
        raise ValueError(f"covered must have the instances {list(labels)}, got {list(covered)}")
    for name in ("f_max", "f_recommended"):
        checks.real(name, meta[name])
    regret, spent, detected = record.cumulative_regret[kept], record.spent[kept], meta["detected"]
    if max(np.abs(regret).max(), np.abs(spent).max()) > MAX_SUM:
        raise ValueError(f"sums of regret and corruption must be within {MAX_SUM:g}, got more")
    return Game(
        seed=checks.integer("seed", meta.get("run", meta)["seed"], at_least=0),
        file=file,
        rounds=rounds,
        regret=regret,
        spent=spent,
        instances=labels,
        plays=plays[kept],
        maximisers=None if maximisers is None else maximisers[kept],
        simple_regret=record.simple_regret,
        certificate=_optional("certificate", meta["certificate"]),
        detected=None if detected is None else checks.integer("detected", detected, at_least=1),
        seconds=float(columns["seconds"].mean()),
        covered=covered,
        is_promised={label: is_promised(record, label) for label in covered},
        delta=_optional("delta", meta["algorithm"].get("delta")),
    )


def _with_what_was_told(found: dict[Cell, dict[int, Game]]) -> dict[Cell, dict[int, Game]]:
    """Where learners were told several budgets in one setting, it becomes one setting a budget.

    So it is without an adversary in a sweep over C. Learners that are told nothing stand in each
    of them. Where the numbers of budgets do not agree, the label says which one it was.
    """
    cells: dict[Cell, dict[int, Game]] = {}
    for setting in dict.fromkeys(cell.setting for cell in found):
        by_label: dict[str, list[Cell]] = {}
        for cell in found:
            if cell.setting == setting:
                by_label.setdefault(cell.algorithm, []).append(cell)
        for same in by_label.values():
            same.sort(key=lambda cell: -1.0 if cell.C_assumed is None else cell.C_assumed)
        counts = {len(same) for same in by_label.values()} - {1}
        for same in by_label.values():
            if len(counts) > 1:
                for cell in same:
                    label = (
                        f"{cell.algorithm} [C = {cell.C_assumed}]" if len(same) > 1 else cell.algorithm
                    )
                    cells[replace(cell, algorithm=label)] = found[cell]
                continue
            for k in range(max(counts, default=1)):
                told = [some[k].C_assumed for some in by_label.values() if len(some) > 1]
                cell = same[k] if len(same) > 1 else same[0]
                cells[replace(cell, setting=replace(setting, told=_range(told)))] = found[cell]
    return cells


def _range(budgets: list[float | None]) -> str:
    values = sorted(value for value in budgets if value is not None)
    return "–".join(f"{value:g}" for value in dict.fromkeys([*values[:1], *values[-1:]]))
