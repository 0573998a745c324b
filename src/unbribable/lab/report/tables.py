"""The tables of a report: which columns there are, and what they mean."""

from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter

import numpy as np

from unbribable.lab.report import numbers
from unbribable.lab.report.outcomes import Cell, Collection, Outcome
from unbribable.lab.report.table import Column, Table


def _where(setting: str, algorithm: str) -> list[Column]:
    """What every row begins with, given the item's attributes of these names."""
    at = attrgetter(setting)
    return [
        Column("objective", "objective", f"{setting}.objective"),
        Column("T", "T", f"{setting}.T"),
        Column("adversary", "adversary", f"{setting}.adversary"),
        Column("C", "C", lambda item: None if at(item).is_counted else at(item).C),
        Column("n_lies", "lies", lambda item: int(at(item).C) if at(item).is_counted else None),
        Column("told", "C told", f"{setting}.told_words"),
        Column("algorithm", "algorithm", algorithm),
    ]


_OF_CELL = _where("cell.setting", "cell.algorithm")

CELLS = [
    *_OF_CELL,
    Column("C_assumed", "C assumed", "cell.C_assumed"),
    Column("n_seeds", "seeds", "regret.n"),
    Column("regret_mean", "R_T mean", "regret.mean"),
    Column("regret_standard_error", "± s.e.", "regret.standard_error"),
    Column("regret_median", "median", "regret.median"),
    Column("regret_worst", "worst seed", "regret.high"),
    Column("simple_regret_mean", "simple regret", lambda row: row.mean("simple_regret")),
    Column("certificate_mean", "certificate", lambda row: row.mean("certificate")),
    Column("spent_mean", "C spent", lambda row: float(np.mean([o.spent[-1] for o in row.outcomes]))),
    Column("detection_rate", "detected", lambda row: row.found and row.found.share.value),
    Column("detection_round_median", "in round", lambda row: row.found and row.found.median_round),
    Column("coverage", "bounds held", "held"),
    Column(
        "ms_per_round", "ms/round", lambda row: float(np.mean([1e3 * o.seconds for o in row.outcomes]))
    ),
]
_CELLS_NOTE = (
    "R_T: cumulative regret after the last round (units of f): mean, standard error of the mean, "
    "median and worst over seeds. Simple regret: f(x*) - f of the recommended point, mean; "
    "certificate: the bound on it that the learner itself gives, mean (– where it gives none). "
    "Detected: share of the games, with the median round. Bounds held: share of the games in "
    "which the truth stayed inside the bounds of every instance whose assumptions were true."
)

PAIRED = [
    *_where("setting", "algorithm"),
    Column("n_seeds", "seeds", "difference.n"),
    Column("difference_mean", "difference", "difference.mean"),
    Column("difference_standard_error", "± s.e.", "difference.standard_error"),
    Column("difference_median", "median", "difference.median"),
    Column("difference_worst", "worst seed", "difference.high"),
    Column("share_better", "better in", "share_better"),
    Column("ratio", "ratio of means", "ratio"),
]
_PAIRED_NOTE = (
    "R_T of the algorithm less R_T of {baseline} with the same seed (same function, same noise): "
    "negative is better. Better in: share of the seeds. Ratio of means: R_T over the baseline's."
)


def _fixed(key: str) -> Column:
    """The setting's C or T, unless that is what varies."""
    return Column(key, key, lambda line: None if line.against == key else getattr(line.fixed, key))


SLOPES = [
    Column("against", "against", "against"),
    *(_fixed(c.key) if c.key in ("C", "T") else c for c in _where("fixed", "algorithm")),
    Column("slope", "slope", "fit.slope"),
    Column("n_points", "points", "fit.n"),
    Column("x_min", "from", lambda line: float(line.x.min())),
    Column("x_max", "to", lambda line: float(line.x.max())),
]
_SLOPES_NOTE = (
    "Mean R_T against C or T, by least squares in log-log: R_T grows like the variable to the "
    "power of the slope. With two points the fit is exact and says nothing about its own error."
)

DETECTION = [
    *_OF_CELL,
    Column("n_seeds", "seeds", "share.n"),
    Column("n_detected", "detected", "share.k"),
    Column("rate", "rate", "share.value"),
    Column("low", "from", "share.low"),
    Column("high", "to", "share.high"),
    Column("round_median", "median round", "median_round"),
    Column("is_false_alarm", "false alarm", "cell.setting.is_clean"),
]
_DETECTION_NOTE = (
    f"From, to: {numbers.LEVEL:.0%} Clopper-Pearson interval of the rate. "
    "A detection is a false alarm where nobody could lie."
)

COVERAGE = [
    *_OF_CELL,
    Column("instance", "instance", "instance"),
    Column("is_promised", "promised", "is_promised"),
    Column("n_seeds", "seeds", "share.n"),
    Column("n_covered", "covered", "share.k"),
    Column("coverage", "coverage", "share.value"),
    Column("low", "from", "share.low"),
    Column("high", "to", "share.high"),
    Column("promise", "at least", "promise"),
]
_COVERAGE_NOTE = (
    "Covered: games in which the truth stayed inside the instance's bounds, everywhere and all "
    f"the time. From, to: {numbers.LEVEL:.0%} Clopper-Pearson interval. Promised: the instance's "
    "assumptions were true, so the coverage must be at least 1 - delta."
)


def all_tables(collection: Collection, baseline: str) -> list[Table]:
    """The tables of a report, in its order."""
    cells = collection.cells
    rows = [_Row(cell, outcomes) for cell, outcomes in cells.items()]
    pairs, note = numbers.paired(collection, baseline), _PAIRED_NOTE.format(baseline=baseline)
    lines = [line for against in "CT" for line in numbers.scalings(collection, against) if line.fit]
    return [
        Table.of("cells", "Regret by cell", _CELLS_NOTE, CELLS, rows),
        Table.of("paired", f"Paired differences to {baseline}", note, PAIRED, pairs),
        Table.of("slopes", "Growth of the regret", _SLOPES_NOTE, SLOPES, lines),
        Table.of(
            "detection", "Detection of corruption", _DETECTION_NOTE, DETECTION, numbers.detections(cells)
        ),
        Table.of(
            "coverage", "Coverage of the bounds", _COVERAGE_NOTE, COVERAGE, numbers.coverages(cells)
        ),
    ]


@dataclass(frozen=True)
class _Row:
    """A cell with what its row in the first table is worked out from."""

    cell: Cell
    outcomes: list[Outcome]

    @cached_property
    def regret(self) -> numbers.Spread:
        return numbers.final_regret(self.outcomes)

    @cached_property
    def found(self) -> numbers.Detection | None:
        return next(iter(numbers.detections({self.cell: self.outcomes})), None)

    @property
    def held(self) -> float | None:
        """Share of the games with promises in which all of them were kept."""
        promises = [
            [o.covered[label] for label, is_promised in o.promised.items() if is_promised]
            for o in self.outcomes
        ]
        kept = [all(promise) for promise in promises if promise]
        return float(np.mean(kept)) if kept else None

    def mean(self, name: str) -> float | None:
        """Over the seeds that have the number."""
        values = [value for o in self.outcomes if (value := getattr(o, name)) is not None]
        return float(np.mean(values)) if values else None
