"""Outcomes to numbers: over seeds, against C or T, against a baseline; coverage and detection."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import binomtest, linregress, sem

from unbribable.lab.report.outcomes import Cell, Collection, Floats, Ints, Outcome, Setting
from unbribable.model import checks

LEVEL = 0.95
"""Of the intervals of shares."""


@dataclass(frozen=True, eq=False)
class Spread:
    """A number over the seeds of a cell, or a quantity over the rounds, (m,), over the seeds."""

    n: int
    """Seeds."""
    mean: Any
    standard_error: Any
    """Of the mean; NaN where there is one seed."""
    median: Any
    low: Any
    """Smallest seed."""
    high: Any
    """Largest seed."""
    rounds: Any = None
    """Of a quantity over the rounds."""


def spread(values: Sequence[Any] | Floats, rounds: Ints | None = None) -> Spread:
    """Mean, standard error, median and range over the seeds, one number or array (m,) per seed."""
    seeds = np.asarray(values, dtype=np.float64)
    mean, median = seeds.mean(axis=0), np.median(seeds, axis=0)
    error = sem(seeds) if len(seeds) > 1 else np.full(seeds.shape[1:], np.nan)[()]
    return Spread(len(seeds), mean, error, median, seeds.min(axis=0), seeds.max(axis=0), rounds)


def over_rounds(outcomes: Sequence[Outcome], name: str) -> Spread:
    """The "regret" or the budget "spent", cumulated over the rounds."""
    return spread([getattr(outcome, name) for outcome in outcomes], outcomes[0].rounds)


def final_regret(outcomes: Sequence[Outcome]) -> Spread:
    """Cumulative regret after the last round."""
    return spread([outcome.regret[-1] for outcome in outcomes])


@dataclass(frozen=True)
class PowerLaw:
    """log y = intercept + slope * log x, by least squares."""

    slope: float
    intercept: float
    n: int
    """Points fitted."""

    def at(self, x: Floats) -> Floats:
        """The fitted power law."""
        return np.asarray(math.exp(self.intercept) * x**self.slope)


def slope(x: Sequence[float] | Floats, y: Sequence[float] | Floats) -> PowerLaw | None:
    """The power law through the points with x, y > 0; None where fewer than two x are left."""
    points = np.column_stack([x, y])
    logs = np.log(points[(points > 0.0).all(axis=1)])
    if len(np.unique(logs[:, 0])) < 2:
        return None
    fit = linregress(*logs.T)
    return PowerLaw(float(fit.slope), float(fit.intercept), len(logs))


@dataclass(frozen=True, eq=False)
class Scaling:
    """Final regret of one player against C (or T), all else equal."""

    against: str
    """ "C" or "T"."""
    fixed: Setting
    """Its C (or T) is that of the first point."""
    algorithm: str
    x: Floats
    mean: Floats
    standard_error: Floats
    fit: PowerLaw | None
    """None where fewer than two points are positive."""


def scalings(collection: Collection, against: str) -> list[Scaling]:
    """Final regret against "C" (corrupted cells only) or "T", wherever there are two values of it."""
    checks.choice("against", against, ("C", "T"))
    lines: dict[tuple[Setting, str], list[Cell]] = {}
    for cell in collection.cells:
        if against == "T" or not cell.setting.is_clean:
            all_else = replace(cell.setting, T=0) if against == "T" else replace(cell.setting, C=0.0)
            lines.setdefault((all_else, cell.algorithm), []).append(cell)
    found = []
    for (_, algorithm), cells in lines.items():
        cells.sort(key=lambda cell: getattr(cell.setting, against))
        finals = [final_regret(collection.cells[cell]) for cell in cells]
        x = np.array([getattr(cell.setting, against) for cell in cells], dtype=np.float64)
        mean = np.array([final.mean for final in finals])
        error = np.array([final.standard_error for final in finals])
        if len(cells) > 1:
            line = Scaling(against, cells[0].setting, algorithm, x, mean, error, slope(x, mean))
            found.append(line)
    return found


@dataclass(frozen=True)
class Paired:
    """Final regret of a player less the baseline's, by seed."""

    setting: Setting
    algorithm: str
    difference: Spread
    """Negative: better than the baseline."""
    share_better: float
    ratio: float | None
    """Mean regret as a multiple of the baseline's, over the same seeds."""


def paired(collection: Collection, baseline: str) -> list[Paired]:
    """Differences to the baseline over the seeds both have played, setting by setting.

    Raises:
        ValueError: There is no such player.
    """
    checks.choice("baseline", baseline, collection.algorithms)
    found = []
    for setting in collection.settings:
        finals = {
            cell.algorithm: {outcome.seed: float(outcome.regret[-1]) for outcome in outcomes}
            for cell, outcomes in collection.in_setting(setting).items()
        }
        base = finals.pop(baseline, {})
        for algorithm, final in finals.items():
            both = [seed for seed in final if seed in base]
            own, other = np.array([[final[seed], base[seed]] for seed in both]).reshape(-1, 2).T
            if both:
                ratio = float(own.mean() / other.mean()) if other.mean() > 0.0 else None
                better = float(np.mean(own < other))
                found.append(Paired(setting, algorithm, spread(own - other), better, ratio))
    return found


def bootstrap(values: Sequence[float] | Floats, n_resamples: int = 10_000) -> tuple[float, float]:
    """A `LEVEL` interval of the mean, by resampling the seeds; the same for the same values."""
    one = np.asarray(values, dtype=np.float64)
    chosen = np.random.default_rng(0).integers(0, len(one), (n_resamples, len(one)))
    tail = 50.0 * (1.0 - LEVEL)
    low, high = np.percentile(one[chosen].mean(axis=1), [tail, 100.0 - tail])
    return float(low), float(high)


@dataclass(frozen=True)
class Answer:
    """True regret and certificate of the point that one player recommended in one setting."""

    cell: Cell
    regret: tuple[float, float, float]
    """Over the seeds: smallest, median and largest."""
    certificate: tuple[float, float, float] | None
    """Likewise, of what was certified; None if nothing was."""
    is_promised: bool
    """Whether the assumptions of some instance held in every game, so that it had to be true."""


def answers(cells: Mapping[Cell, Sequence[Outcome]]) -> list[Answer]:
    """What every player recommended at the end, and what it certified."""

    def over_seeds(values: Sequence[float]) -> tuple[float, float, float]:
        return min(values), float(np.median(values)), max(values)

    found = []
    for cell, outcomes in cells.items():
        said = [o.certificate for o in outcomes if o.certificate is not None]
        promised = bool(said) and all(any(o.promised.values()) for o in outcomes)
        regret = over_seeds([o.simple_regret for o in outcomes])
        found.append(Answer(cell, regret, over_seeds(said) if said else None, promised))
    return found


@dataclass(frozen=True)
class Share:
    """k of n, with the Clopper-Pearson interval of the probability behind it."""

    k: int
    n: int
    low: float
    high: float

    @property
    def value(self) -> float:
        """k / n."""
        return self.k / self.n


def share(k: int, n: int) -> Share:
    """k of n with its Clopper-Pearson interval: exact, at least `LEVEL`."""
    if not 0 <= k <= n or n < 1:
        raise ValueError(f"k must be 0..n with n >= 1, got k={k}, n={n}")
    interval = binomtest(k, n).proportion_ci(LEVEL, method="exact")
    return Share(k, n, float(interval.low), float(interval.high))


@dataclass(frozen=True)
class Coverage:
    """In how many games the truth stayed inside an instance's bounds, everywhere and all the time."""

    cell: Cell
    instance: str
    share: Share
    is_promised: bool
    """Whether the instance's assumptions held in all the games, so that its bounds had to hold."""
    delta: float | None
    """Probability with which the player's promise may fail."""

    @property
    def promise(self) -> float | None:
        """The coverage that was promised."""
        return 1.0 - self.delta if self.is_promised and self.delta is not None else None


def coverages(cells: dict[Cell, list[Outcome]]) -> list[Coverage]:
    """Every instance of every cell, over the games in which it claimed bounds."""
    found = []
    for cell, outcomes in cells.items():
        for label in dict.fromkeys(label for outcome in outcomes for label in outcome.covered):
            claims = [outcome for outcome in outcomes if label in outcome.covered]
            held = share(sum(outcome.covered[label] for outcome in claims), len(claims))
            is_promised = all(outcome.promised[label] for outcome in claims)
            found.append(Coverage(cell, label, held, is_promised, claims[0].delta))
    return found


@dataclass(frozen=True)
class Detection:
    """In how many games corruption was detected; a false alarm where there was none."""

    cell: Cell
    share: Share
    median_round: float | None
    """Over the games with a detection."""


def detections(cells: dict[Cell, list[Outcome]]) -> list[Detection]:
    """Every cell of a player that looks for corruption: it has a fast instance."""
    found = []
    for cell, outcomes in cells.items():
        if "fast" in outcomes[0].instances:
            rounds = [outcome.detected for outcome in outcomes if outcome.detected is not None]
            median = float(np.median(rounds)) if rounds else None
            found.append(Detection(cell, share(len(rounds), len(outcomes)), median))
    return found
