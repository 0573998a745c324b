"""A run as its figures see it, in the user's units: readings, an estimate of f, words for legends."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from unbribable.decision.algorithm import Algorithm
from unbribable.decision.recommend import Guarantee, Recommendation, trusted
from unbribable.decision.suspects import NOISE_FLOOR, Suspect
from unbribable.decision.units import MODEL_UNITS, Units
from unbribable.model.checks import Bools, Floats, Ints
from unbribable.practice.advice import settled
from unbribable.practice.result import Result
from unbribable.practice.space import Space


@dataclass(frozen=True, eq=False)
class Readings:
    """All readings, in the order of telling."""

    ids: Ints
    """Their rounds, (n,)."""
    x: Floats
    """Where they were taken, in the units of the domain, (n, d)."""
    y: Floats
    """(n,)."""
    is_flagged: Bools
    """Which look like lies, (n,)."""
    sign: float
    """-1 where the user minimises."""

    @property
    def naive(self) -> int:
        """Index of the best reading, the first of equals: what believing every reading comes to."""
        return int(np.argmax(self.sign * self.y))


@dataclass(frozen=True, eq=False)
class Run:
    """A Result or a bare Algorithm: the readings and the learner they were told to."""

    algorithm: Algorithm
    units: Units
    """From the model's units to those of the figure."""
    space: Space
    readings: Readings
    suspects: tuple[Suspect, ...]
    """Every reading, the most suspicious first."""
    best: Recommendation
    is_fitted: bool
    """Whether the assumptions were fitted to the readings."""

    @property
    def guarantee(self) -> Guarantee:
        """Whom to trust by default."""
        return trusted(self.algorithm)[0]


def run_of(source: Result | Algorithm) -> Run:
    """What a figure needs of a result, in the user's units, or of an algorithm, in its own.

    Raises:
        TypeError: It is neither.
        ValueError: There is no reading yet.
    """
    if isinstance(source, Algorithm):
        if not source.readings:
            raise ValueError("a figure needs at least one reading, got an algorithm without any")
        suspects = source.suspects()
        told = [(reading.t, reading.y) for reading in source.readings]
        x = source.candidates.x_of(np.array([reading.u for reading in source.readings]))
        readings = _readings(told, x, suspects, 1.0)
        best = source.recommend()
        return Run(source, MODEL_UNITS, Space(source.domain), readings, suspects, best, False)
    if not isinstance(source, Result):
        raise TypeError(f"a figure is made of a Result or an algorithm, got {source!r}")
    engine = source.engine
    current, best_now = settled(engine), source.recommendation
    if current is None or best_now is None:
        raise ValueError("a figure needs at least one reading, got a result without any")
    told = [(one.t, one.y) for one in engine.told]
    x = np.array([one.x for one in engine.told])
    readings = _readings(told, x, source.suspects, engine.plan.sign)
    algorithm, units = current.algorithm, current.units
    assert algorithm is not None
    return Run(algorithm, units, source.space, readings, source.suspects, best_now, engine.is_fitted)


def _readings(
    told: list[tuple[int, float]], x: Floats, suspects: tuple[Suspect, ...], sign: float
) -> Readings:
    flagged = {suspect.t for suspect in suspects if suspect.is_flagged}
    return Readings(
        ids=np.array([id_ for id_, _ in told], dtype=np.intp),
        x=x,
        y=np.array([y for _, y in told], dtype=np.float64),
        is_flagged=np.array([id_ in flagged for id_, _ in told], dtype=np.bool_),
        sign=sign,
    )


class Estimate:
    """f as the readings that do not look like lies tell it: no guarantee, but a picture.

    The Gaussian process is the one by which readings are called suspicious: assumed kernel, honest
    noise, prior standard deviation B0; the flagged readings are left out.
    """

    def __init__(self, run: Run) -> None:
        algorithm, assumed = run.algorithm, run.algorithm.assumptions
        flagged = {suspect.t for suspect in run.suspects if suspect.is_flagged}
        kept = [reading for reading in algorithm.readings if reading.t not in flagged]
        kept = kept or list(algorithm.readings)  # where every one looks like a lie, none does
        self._units = run.units
        self._kernel = assumed.kernel
        self._X: Floats = np.array([reading.u for reading in kept])
        largest = float(assumed.kernel.diag(algorithm.candidates.coordinates).max())
        self._var = min(assumed.B**2, assumed.B0**2 / largest) if largest > 0.0 else assumed.B**2
        noise_var = [assumed.noise_std**2 * reading.lam / assumed.lam for reading in kept]
        noise = np.maximum(noise_var, NOISE_FLOOR * self._var)
        K = self._var * self._kernel(self._X, self._X) + np.diag(noise)
        self._factor = cho_factor(K, lower=True)
        self._pull: Floats = cho_solve(self._factor, np.array([reading.y for reading in kept]))

    def at(self, U: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation of f at points as the kernel sees them, in the user's units."""
        cross = self._var * self._kernel(self._X, U)
        known = np.einsum("ij,ij->j", cross, cho_solve(self._factor, cross))
        var = np.maximum(self._var * self._kernel.diag(U) - known, 0.0)
        return in_units(self._units, cross.T @ self._pull), self._units.scale * np.sqrt(var)


def in_units(units: Units, values: Floats) -> Floats:
    """Values of f in the user's units."""
    shown: Floats = units.center + units.sign * units.scale * values
    return shown


def band_label(best: Recommendation) -> str:
    """What the interval is, in a few words for a legend."""
    if best.probability is None:
        return "interval (no guarantee)"
    kind = "interval if no reading lies" if best.threat == "none" else "robust interval"
    return f"{kind}, {100.0 * best.probability:.3g} %"


def band_note(run: Run) -> str:
    """When the interval holds, for a line below the legend; empty where nothing is guaranteed."""
    if run.best.probability is None:
        return ""
    words = []
    if run.best.threat != "none":
        blind = ", told without knowing the draws," if run.best.threat == "weak" else ""
        words.append(f"lies{blind} add up to at most {run.units.scale * run.guarantee.C:.4g}")
    if run.is_fitted:
        words.append("the fitted model is right")
    return f"the interval holds if {' and '.join(words)}" if words else ""


def in_words(lower: float, upper: float) -> str:
    """An interval for a legend; NaN stands for none."""
    if np.isnan(lower):
        return "none, the readings contradict the assumptions"
    return f"[{lower:.4g}, {upper:.4g}]".replace("-", "−")


def window(core: Floats, more: Floats | None = None, reach: float = 0.0) -> tuple[float, float]:
    """Limits of an axis: all of core, and of `more` what is at most reach times its range away.

    Values that are not finite count nowhere. There is always some room.
    """
    core = core[np.isfinite(core)]
    low, high = (float(core.min()), float(core.max())) if len(core) else (0.0, 0.0)
    span = high - low or abs(high) or 1.0
    if more is not None:
        near = more[(more >= low - reach * span) & (more <= high + reach * span)]
        low, high = min([low, *near.tolist()]), max([high, *near.tolist()])
    room = 0.06 * (high - low or span)
    return low - room, high + room
