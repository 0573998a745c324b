"""Games to numbers: curves over seeds, final values, slopes, paired differences. Draws nothing."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unbribable.report.games import Cell, Collection, Floats, Game, Ints, Setting


@dataclass(frozen=True, eq=False)
class Curve:
    """A quantity over the rounds, over the seeds of a cell."""

    rounds: Ints
    mean: Floats
    standard_error: Floats
    """Of the mean; NaN where there is one seed."""
    median: Floats
    low: Floats
    """Smallest seed."""
    high: Floats
    """Largest seed."""
    n: int
    """Seeds."""


@dataclass(frozen=True)
class Spread:
    """A number over the seeds of a cell."""

    n: int
    mean: float
    standard_error: float | None
    """Of the mean, None where there is one seed."""
    median: float
    worst: float
    """The largest."""


@dataclass(frozen=True)
class Slope:
    """log y = intercept + slope * log x, by least squares."""

    slope: float
    intercept: float
    n: int
    """Points fitted."""

    def at(self, x: Floats) -> Floats:
        """The fitted power law."""
        return np.asarray(math.exp(self.intercept) * np.asarray(x) ** self.slope, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Scaling:
    """Final regret of one algorithm against C (or T), all else equal."""

    against: str
    """ "C" or "T"."""
    fixed: Setting
    """Its C (or T) is that of the first point."""
    algorithm: str
    x: Floats
    mean: Floats
    standard_error: Floats
    fit: Slope | None
    """None where fewer than two points are positive."""


@dataclass(frozen=True)
class Paired:
    """Final regret of an algorithm less the baseline's, by seed."""

    setting: Setting
    algorithm: str
    baseline: str
    difference: Spread
    """Negative: better than the baseline."""
    share_better: float
    ratio: float | None
    """Mean regret as a multiple of the baseline's, over the same seeds."""


def curve(values: Sequence[Floats], rounds: Ints) -> Curve:
    """Mean, standard error, median and range over seeds, one array (m,) a seed."""
    stacked = np.stack([np.asarray(value, dtype=np.float64) for value in values])
    n = len(stacked)
    error = np.full(stacked.shape[1], np.nan)
    if n > 1:
        error = stacked.std(axis=0, ddof=1) / math.sqrt(n)
    return Curve(
        rounds=rounds,
        mean=stacked.mean(axis=0),
        standard_error=error,
        median=np.median(stacked, axis=0),
        low=stacked.min(axis=0),
        high=stacked.max(axis=0),
        n=n,
    )


def regret_curve(games: Sequence[Game]) -> Curve:
    """Cumulative regret over the rounds."""
    return curve([game.regret for game in games], games[0].rounds)


def spent_curve(games: Sequence[Game]) -> Curve:
    """Budget spent over the rounds."""
    return curve([game.spent for game in games], games[0].rounds)


def spread(values: Sequence[float]) -> Spread:
    """Mean, standard error, median and largest."""
    array = np.asarray(values, dtype=np.float64)
    n = len(array)
    return Spread(
        n=n,
        mean=float(array.mean()),
        standard_error=float(array.std(ddof=1) / math.sqrt(n)) if n > 1 else None,
        median=float(np.median(array)),
        worst=float(array.max()),
    )


def final_regret(games: Sequence[Game]) -> Spread:
    """Cumulative regret after the last round."""
    return spread([float(game.regret[-1]) for game in games])


def slope(x: Sequence[float] | Floats, y: Sequence[float] | Floats) -> Slope | None:
    """The power law through the points with x, y > 0; None where fewer than two x are left."""
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    is_positive = (x > 0.0) & (y > 0.0)
    log_x, log_y = np.log(x[is_positive]), np.log(y[is_positive])
    if len(np.unique(log_x)) < 2:
        return None
    centred = log_x - log_x.mean()
    steepness = float(centred @ log_y / (centred @ centred))
    return Slope(steepness, float(log_y.mean() - steepness * log_x.mean()), len(log_x))


def scalings(collection: Collection, against: str) -> list[Scaling]:
    """Final regret against C (corrupted cells only) or T: all else equal, two values at least.

    Args:
        collection: The games.
        against: "C" or "T".
    """
    if against not in ("C", "T"):
        raise ValueError(f"against must be one of 'C', 'T', got against={against!r}")
    lines: dict[tuple[object, ...], list[tuple[float, Cell]]] = {}
    for cell in collection.cells:
        setting = cell.setting
        if against == "T":
            others: tuple[object, ...] = (setting.adversary, setting.C, setting.told)
            lines.setdefault((setting.objective, *others, cell.algorithm), []).append((setting.T, cell))
        elif not setting.is_clean:
            others = (setting.T, setting.adversary, setting.told)
            lines.setdefault((setting.objective, *others, cell.algorithm), []).append((setting.C, cell))
    found = []
    for points in lines.values():
        points.sort(key=lambda point: point[0])
        if len(points) < 2:
            continue
        finals = [final_regret(collection.cells[cell]) for _, cell in points]
        x = np.array([value for value, _ in points], dtype=np.float64)
        mean = np.array([final.mean for final in finals])
        errors = [math.nan if final.standard_error is None else final.standard_error for final in finals]
        first = points[0][1]
        found.append(
            Scaling(against, first.setting, first.algorithm, x, mean, np.array(errors), slope(x, mean))
        )
    return found


def default_baseline(collection: Collection) -> str:
    """GP-UCB where it was played, else the first algorithm."""
    return collection.algorithms[0]


def paired(collection: Collection, baseline: str) -> list[Paired]:
    """Differences to the baseline over the seeds both have played, setting by setting.

    Raises:
        ValueError: There is no such algorithm.
    """
    if baseline not in collection.algorithms:
        names = ", ".join(repr(name) for name in collection.algorithms)
        raise ValueError(f"baseline must be one of {names}, got baseline={baseline!r}")
    found = []
    for setting in collection.settings:
        played = collection.in_setting(setting)
        base = {game.seed: float(game.regret[-1]) for game in played.get(baseline, [])}
        for algorithm, games in played.items():
            both = [game for game in games if game.seed in base]
            if algorithm == baseline or not both:
                continue
            own = np.array([game.regret[-1] for game in both])
            other = np.array([base[game.seed] for game in both])
            found.append(
                Paired(
                    setting=setting,
                    algorithm=algorithm,
                    baseline=baseline,
                    difference=spread((own - other).tolist()),
                    share_better=float(np.mean(own < other)),
                    ratio=float(own.mean() / other.mean()) if other.mean() > 0.0 else None,
                )
            )
    return found
