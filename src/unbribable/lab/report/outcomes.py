"""A directory of records to outcomes, grouped by who played against what."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unbribable.lab.runs.record import OF_LIES, Record
from unbribable.model import checks

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

N_POINTS = 400
"""Rounds kept of a record: what a figure can show."""
MAX_SUM = 1e100
"""Larger sums are not of a game, and their squares would not fit into float64."""

_BROKEN = (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError)
"""What a record that can be loaded, but is not one of a game, may raise when it is reduced."""
_KINDS = ("GPUCB", "RobustGPUCB", "FastSlowGPUCB", "LadderGPUCB", "LayeredGPUCB")
"""Stand first, in this order."""


TOLD = ("C", "Cbar", "n_lies", "T", "kernel", "B", "B0", "noise_std", "c_max")
"""What an outcome keeps of what a record says about its player."""


@dataclass(frozen=True)
class Setting:
    """What the players were up against: one panel of a figure."""

    objective: str
    T: int
    adversary: str
    C: float
    """The adversary's true budget."""
    is_counted: bool = False
    """Whether C is a number of lies of any size."""
    told: tuple[float, ...] = ()
    """Least and largest budget that players were told, where a sweep tells several, all else equal."""

    @property
    def is_clean(self) -> bool:
        """Whether nobody could lie."""
        return self.C == 0.0

    @property
    def told_words(self) -> str | None:
        """The budgets told, for readers."""
        return "–".join(f"{value:g}" for value in self.told) or None

    @property
    def title(self) -> str:
        """Of its panel."""
        told = f", C = {self.told_words} assumed" if self.told else ""
        who = "no adversary" if self.adversary == "none" else self.adversary
        size = f"{self.C:g} lies" if self.is_counted else f"C = {self.C:g}"
        budget = "" if self.adversary == "none" and self.is_clean else f", {size}"
        return f"{who}{budget}{told}"


@dataclass(frozen=True)
class Cell:
    """One player in one setting; its outcomes differ by the seed alone."""

    setting: Setting
    algorithm: str
    """The player's label."""
    kind: str
    """The player's class."""
    C_assumed: float | None
    """The budget that the player was told, if any."""

    @property
    def rank(self) -> tuple[Any, ...]:
        """Sorts players: the baseline, Algorithms 1, 2 and 3, then others by name."""
        return _KINDS.index(self.kind) if self.kind in _KINDS else len(_KINDS), self.kind, self.algorithm


@dataclass(frozen=True, eq=False)
class Outcome:
    """A record reduced to what tables and figures need, at no more than `N_POINTS` rounds."""

    seed: int
    file: Path | None
    """Where the whole record is."""
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
    late_seconds: tuple[float, float]
    """Median and 95th percentile of a round's, in the last quarter."""
    in_target: float | None
    """Share of the rounds in the region that the adversary lures players to, if there is one."""
    covered: dict[str, bool]
    """For each instance that claims bounds: has the truth stayed inside them?"""
    promised: dict[str, bool]
    """For each of those: did its assumptions hold, so that its bounds had to hold too?"""
    delta: float | None
    """Probability with which the player's promise may fail."""
    best_reading: float
    """Simple regret of the point with the largest reading."""
    told: Mapping[str, Any]
    """What the player was told."""
    knows: str
    """What of the lies: one of `OF_LIES`."""
    threat: str | None
    """Against whom its bounds are promised: "none", "weak" or "strong"; None if they are not."""
    is_ours: bool
    """Whether it is a method of ours, not one that ours are compared with."""


class Skipped(NamedTuple):
    """A file that is not in the report, and why."""

    file: str
    reason: str


@dataclass(frozen=True, eq=False)
class Collection:
    """All outcomes of a directory by cell (in the order of the report; by seed within a cell)."""

    cells: dict[Cell, list[Outcome]]
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
        """The labels of the players, in order."""
        cells = sorted(self.cells, key=lambda cell: cell.rank)
        return list(dict.fromkeys(cell.algorithm for cell in cells))

    def in_setting(self, setting: Setting) -> dict[Cell, list[Outcome]]:
        """The outcomes of each player in the setting."""
        return {cell: some for cell, some in self.cells.items() if cell.setting == setting}


def runs_of(directory: str | Path) -> dict[str, dict[str, Any]] | None:
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
    """Read DIR/runs/*.npz (DIR/*.npz without such a folder). Broken files are skipped and listed.

    Raises:
        FileNotFoundError: There is no such directory.
        ValueError: There is not one record that can be read, or the list of runs is damaged.
    """
    directory = Path(directory)
    if not directory.is_dir():
        raise FileNotFoundError(f"directory must be one that exists, got {str(directory)!r}")
    folder = directory / "runs" if (directory / "runs").is_dir() else directory
    runs = runs_of(directory)
    found: dict[Cell, dict[int, Outcome]] = {}
    skipped, read = [], set()
    for path in sorted(folder.glob("*.npz")):
        try:
            if runs is not None and path.stem not in runs:
                raise ValueError("not of the last sweep: its run is not in spec.json")
            record = Record.load(path)
            if runs is not None and record.meta["run"]["key"] != path.stem:
                raise ValueError(f"it holds another run, {record.meta['run']['key']!r}")
            cell, outcome = cell_of(record), reduced(record, path)
            read.add(path.stem)
            _check_fits(outcome, found.setdefault(cell, {}))
        except _BROKEN as error:
            skipped.append(Skipped(path.name, f"{type(error).__name__}: {error}"))
        else:
            found[cell][outcome.seed] = outcome
    if not found:
        broken = "".join(f"\n  {skip.file}: {skip.reason}" for skip in skipped)
        raise ValueError(
            f"directory must hold records that can be read (runs/*.npz), got none in "
            f"{str(directory)!r}{broken}"
        )
    return Collection(
        _by_what_was_told({cell: [some[seed] for seed in sorted(some)] for cell, some in found.items()}),
        skipped,
        n_games=sum(len(some) for some in found.values()),
        n_runs=None if runs is None else len(runs),
        missing=tuple(key for key in runs or () if key not in read),
    )


def _check_fits(outcome: Outcome, others: Mapping[int, Outcome]) -> None:
    """Refuse an outcome that cannot stand in one cell with the others."""
    first = next(iter(others.values()), outcome)
    if outcome.seed in others:
        raise ValueError(f"a second record of the same cell, seed {outcome.seed}")
    if outcome.instances != first.instances:
        raise ValueError(
            f"instances {list(outcome.instances)}, others of its cell have {list(first.instances)}"
        )


def cell_of(record: Record) -> Cell:
    """Where the record belongs: from meta["run"], or from the game itself where that is missing."""
    meta = record.meta
    run: Mapping[str, Any] = meta.get("run", {})
    setting = Setting(
        objective=_label(run.get("objective", meta["objective"])),
        T=record.T,
        adversary=_label(run.get("adversary", meta["adversary"])),
        C=checks.real("C", meta["C"], at_least=0.0),
        is_counted="n_lies" in meta,
    )
    kind = _label(meta["algorithm"]["algorithm"])
    assumed = run.get("C_assumed", meta["algorithm"].get("C"))
    return Cell(setting, _label(run.get("algorithm", kind)), kind, _number("C_assumed", assumed))


def _number(name: str, value: Any) -> float | None:
    return None if value is None else checks.real(name, value)


def _label(value: Any) -> str:
    """Words that a file can hold: half of a pair of surrogates, which JSON allows, cannot be written."""
    words = str(value)
    words.encode()
    return words


def reduced(record: Record, file: Path | None = None) -> Outcome:
    """What tables and figures need of the record."""
    meta, columns = record.meta, record.columns
    labels = tuple(_label(label) for label in meta["instances"])
    instance, maximisers = columns["instance"], columns.get("maximisers")
    if instance.ndim != 1 or instance.min() < -1 or instance.max() >= len(labels):
        raise ValueError(f"instance must be -1..{len(labels) - 1} in every round, got another")
    n_layers = sum(label != "all" for label in labels)
    if maximisers is not None and maximisers.shape[1:] != (n_layers,):
        raise ValueError(f"maximisers must have {n_layers} columns, got shape {maximisers.shape}")
    covered, promised = (_truths(meta, name, labels) for name in ("covered", "promised"))
    for name in ("f_max", "f_recommended"):
        checks.real(name, meta[name])
    late = np.quantile(columns["seconds"][-(-3 * record.T // 4) - 1 :], [0.5, 0.95])
    rounds = thinned(record.T)
    kept = rounds - 1
    plays = np.stack([instance == k for k in (*range(len(labels)), -1)], axis=1).cumsum(axis=0)
    regret, spent, detected = record.cumulative_regret[kept], record.spent[kept], meta["detected"]
    if max(np.abs(regret).max(), np.abs(spent).max()) > MAX_SUM:
        raise ValueError(f"sums of regret and corruption must be within {MAX_SUM:g}, got more")
    return Outcome(
        seed=checks.integer("seed", meta.get("run", meta)["seed"], at_least=0),
        file=file,
        rounds=rounds,
        regret=regret,
        spent=spent,
        instances=labels,
        plays=plays[kept],
        maximisers=None if maximisers is None else maximisers[kept],
        simple_regret=record.simple_regret,
        certificate=_number("certificate", meta["certificate"]),
        detected=None if detected is None else checks.integer("detected", detected, at_least=1),
        seconds=float(columns["seconds"].mean()),
        late_seconds=(float(late[0]), float(late[1])),
        in_target=_number("in_target", meta.get("in_target")),
        covered=covered,
        promised={label: promised[label] for label in covered},
        delta=_number("delta", meta["algorithm"].get("delta")),
        best_reading=record.simple_regret_of_best_reading,
        told={key: value for key, value in meta["algorithm"].items() if key in TOLD},
        knows=checks.choice("knows", _said(meta, "knows"), OF_LIES),
        threat=_threat(meta),
        is_ours=bool(_said(meta, "is_ours")) and "by" not in meta.get("run", {}),
    )


def thinned(T: int) -> Ints:
    """At most `N_POINTS` rounds of 1..T, evenly spread, with the first and the last one."""
    return np.unique(np.linspace(1, T, min(T, N_POINTS)).round().astype(np.int64))


def _threat(meta: Mapping[str, Any]) -> str | None:
    """Against whom something is promised; None if nothing is."""
    promise = _said(meta["algorithm"], "guarantee")
    if promise is None:
        return None
    if not isinstance(promise, Mapping):
        raise ValueError(_OLD.format("what a player promises as data"))
    threat = checks.choice("threat", promise["threat"], ("none", "weak", "strong"))
    return threat if promise["void"] is None else None


def _said(meta: Mapping[str, Any], name: str) -> Any:
    if name not in meta:
        raise ValueError(_OLD.format(f"{name!r}"))
    return meta[name]


_OLD = "a record must say {}, this one is of an earlier release: call sweep again, to play its run again"


def _truths(meta: Mapping[str, Any], name: str, labels: tuple[str, ...]) -> dict[str, bool]:
    if name not in meta:
        raise ValueError(_OLD.format(f"which bounds were {name}"))
    truths = {label: bool(value) for label, value in meta[name].items()}
    if not set(truths) <= set(labels):
        raise ValueError(f"{name} must have the instances {list(labels)}, got {list(truths)}")
    return truths


def _by_what_was_told(found: dict[Cell, list[Outcome]]) -> dict[Cell, list[Outcome]]:
    """The cells in order, settings in which players were told several budgets split by budget.

    This happens in clean games of a sweep over C. Players that take no C are repeated in every such
    setting. Where players were told different numbers of budgets, their labels tell them apart.
    """
    cells: dict[Cell, list[Outcome]] = {}
    for setting in dict.fromkeys(cell.setting for cell in found):
        by_label: dict[str, list[Cell]] = {}
        for cell in sorted(found, key=lambda cell: cell.C_assumed or 0.0):
            if cell.setting == setting:
                by_label.setdefault(cell.algorithm, []).append(cell)
        several = [same for same in by_label.values() if len(same) > 1]
        counts = {len(same) for same in several}
        if len(counts) > 1:
            cells |= {cell: found[cell] for same in by_label.values() for cell in same if len(same) == 1}
            for cell in (cell for same in several for cell in same):
                cells[replace(cell, algorithm=f"{cell.algorithm} [C = {cell.C_assumed}]")] = found[cell]
            continue
        for k in range(max(counts, default=1)):
            told = sorted(same[k].C_assumed or 0.0 for same in several)
            split = replace(setting, told=tuple(dict.fromkeys([*told[:1], *told[-1:]])))
            for same in by_label.values():
                cell = same[k] if len(same) > 1 else same[0]
                cells[replace(cell, setting=split)] = found[cell]

    def order(cell: Cell) -> tuple[Any, ...]:
        s = cell.setting
        return s.objective, s.T, not s.is_clean, s.adversary, s.C, s.told, *cell.rank

    return {cell: cells[cell] for cell in sorted(cells, key=order)}
