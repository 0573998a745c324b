"""Sweeps of the leaderboard's protocols in, numbers of its page out."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from unbribable.lab.report import numbers
from unbribable.lab.report.outcomes import Cell, Collection, Outcome, Setting, load
from unbribable.lab.runs.record import OF_LIES
from unbribable.lab.runs.sweep import failures

NO_PROMISE = "none"
MIN_SEEDS = 3
"""Two seeds agree by chance too often to call anything a difference."""
PROMISES = {
    None: NO_PROMISE,
    "strong": "against any adversary",
    "weak": "against weak adversaries",
    "none": "only if nobody lies",
}
"""What is said of a promise, by the threat against which it holds."""


@dataclass(frozen=True, eq=False)
class Row:
    """A player of one protocol, with its games by setting."""

    label: str
    kind: str
    cells: dict[Setting, list[Outcome]]

    @property
    def is_ours(self) -> bool:
        return self.any.is_ours

    @property
    def any(self) -> Outcome:
        return next(iter(self.cells.values()))[0]

    @property
    def knows(self) -> str:
        """What it was told about the lies: one of `OF_LIES`."""
        return self.any.knows

    @property
    def promise(self) -> str:
        """When its bounds are claimed to hold."""
        return PROMISES[self.any.threat]

    @cached_property
    def coverages(self) -> list[numbers.Coverage]:
        """Of the bounds that had to hold."""
        cells = {Cell(s, self.label, self.kind, None): games for s, games in self.cells.items()}
        return [found for found in numbers.coverages(cells) if found.promise is not None]

    @property
    def broken(self) -> set[Setting]:
        """Where coverage says that a promise was not kept."""
        return {c.cell.setting for c in self.coverages if c.share.high < (c.promise or 0.0)}

    def mean(self, setting: Setting) -> float:
        return float(numbers.final_regret(self.cells[setting]).mean)

    @property
    def attacked(self) -> list[Outcome]:
        """All games in which somebody could lie; the clean ones if there are no others."""
        games = [game for s, some in self.cells.items() if not s.is_clean for game in some]
        return games or [game for some in self.cells.values() for game in some]

    def worst(self, settings: Iterable[Setting]) -> Setting | None:
        """The attack with the largest mean regret, of those that it has met."""
        met = [s for s in settings if s in self.cells and not s.is_clean]
        return max(met, key=self.mean, default=None)


@dataclass(frozen=True, eq=False)
class Board:
    """One protocol at one horizon: a row for each player, a column for each setting."""

    name: str
    settings: list[Setting]
    rows: list[Row]
    not_run: dict[str, tuple[int, str]]
    """Label -> how many of its games there are not, and why."""

    @property
    def baseline(self) -> Row | None:
        """GP-UCB where nobody lies, the one with the least regret: the measure of price."""
        clean = [s for s in self.settings if s.is_clean]
        found = [row for row in self.rows if row.kind == "GPUCB" and row.cells.keys() & set(clean)]
        return min(found, key=self._clean, default=None)

    def _clean(self, row: Row) -> float:
        return min(row.mean(s) for s in self.settings if s.is_clean and s in row.cells)

    def best(self, setting: Setting, knows: str) -> list[Row]:
        """The players of a class whom no other of it beats in this column."""
        rows = [row for row in self.rows if row.knows == knows and setting in row.cells]
        return [row for row in rows if not any(beats(other, row, setting) for other in rows)]

    def losses(self) -> dict[Setting, tuple[Row, list[Row]]]:
        """Setting -> our best player, and the others who beat it."""
        found = {}
        for setting in self.settings:
            rows = sorted((r for r in self.rows if setting in r.cells), key=lambda r: r.mean(setting))
            ours = next((row for row in rows if row.is_ours), None)
            better = [row for row in rows if ours and not row.is_ours and beats(row, ours, setting)]
            if ours and better:
                found[setting] = ours, better
        return found

    def wins(self) -> dict[Setting, Row]:
        """Setting -> our best player, where it beats all the others."""
        found = {}
        for setting in self.settings:
            rows = [row for row in self.rows if setting in row.cells]
            ours = [row for row in rows if row.is_ours]
            best = min(ours, key=lambda row: row.mean(setting), default=None)
            others = [row for row in rows if not row.is_ours]
            if best and others and all(beats(best, row, setting) for row in others):
                found[setting] = best
        return found

    def places(self) -> dict[str, tuple[float, float, float]]:
        """Label -> price, protection and its error, in multiples of the baseline's clean regret."""
        base = self.baseline
        if base is None:
            return {}
        unit = max(self._clean(base), 1e-12)
        found = {}
        for row in self.rows:
            worst = row.worst(self.settings)
            if worst is not None and any(s.is_clean for s in row.cells):
                spread = numbers.final_regret(row.cells[worst])
                error = float(np.nan_to_num(spread.standard_error))
                found[row.label] = self._clean(row) / unit, float(spread.mean) / unit, error / unit
        return found


def beats(one: Row, other: Row, setting: Setting) -> bool:
    """Whether a player has less regret, by the bootstrap interval of the differences of paired seeds."""
    games = [{o.seed: float(o.regret[-1]) for o in row.cells[setting]} for row in (one, other)]
    both = [seed for seed in games[0] if seed in games[1]]
    differences = [games[0][seed] - games[1][seed] for seed in both]
    return len(both) >= MIN_SEEDS and numbers.bootstrap(differences)[1] < 0.0


def slope(row: Row, setting: Setting) -> float:
    """Mean regret a round in the last quarter of the game."""
    slopes = []
    for game in row.cells[setting]:
        k = int(np.searchsorted(game.rounds, 0.75 * game.rounds[-1]))
        slopes.append((game.regret[-1] - game.regret[k]) / max(game.rounds[-1] - game.rounds[k], 1))
    return float(np.mean(slopes))


def boards(directory: str | Path) -> list[Board]:
    """The boards of a sweep, one for each function and horizon.

    Raises:
        FileNotFoundError, ValueError: As `load`.
    """
    directory = Path(directory)
    collection = load(directory)
    return boards_of(collection, directory.resolve().name, _not_run(directory, collection.missing))


def boards_of(
    collection: Collection, name: str, not_run: Mapping[str, tuple[int, str]] | None = None
) -> list[Board]:
    """The same, of records that are loaded.

    Args:
        collection: The records.
        name: Of the sweep.
        not_run: Label -> how many of its games there are not, and why.
    """
    found = []
    for objective, T in dict.fromkeys((s.objective, s.T) for s in collection.settings):
        settings = [s for s in collection.settings if (s.objective, s.T) == (objective, T)]
        by_label: dict[tuple[str, str], dict[Setting, list[Outcome]]] = {}
        for cell, games in collection.cells.items():
            if cell.setting in settings:
                by_label.setdefault((cell.algorithm, cell.kind), {})[cell.setting] = games
        rows = [Row(label, kind, cells) for (label, kind), cells in by_label.items()]
        rows.sort(key=lambda row: OF_LIES.index(row.knows))
        found.append(Board(f"{name}: {objective}, T = {T}", settings, rows, dict(not_run or {})))
    return found


def _not_run(directory: Path, missing: Sequence[str]) -> dict[str, tuple[int, str]]:
    """Label -> how many of its games are missing, and the last line of what went wrong in one."""
    notes = {note["key"]: note for note in failures(directory)}
    runs = json.loads((directory / "spec.json").read_text(encoding="utf-8"))["runs"] if missing else []
    labels = {run["key"]: run["labels"]["algorithm"] for run in runs}
    found: dict[str, tuple[int, str]] = {}
    for key in missing:
        words = (
            str(notes[key]["traceback"]).strip().splitlines()[-1] if key in notes else "not played yet"
        )
        n, _ = found.get(labels.get(key, key), (0, ""))
        found[labels.get(key, key)] = n + 1, words
    return found
