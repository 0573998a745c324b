"""What value to expect, by the readings that look honest: a heuristic, which guarantees nothing."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from unbribable.decision import words
from unbribable.decision.proposal import Reading
from unbribable.decision.recommend import Recommendation
from unbribable.decision.units import Units
from unbribable.model.checks import Floats
from unbribable.model.solve import System
from unbribable.practice.predictions import NOISE_FLOOR, NOTICE_AT, flagged, prior_var_of
from unbribable.theory.assumptions import Assumptions

N_HELD = 1024
"""Readings of a long history that an estimate rests on, at most."""

LONE = 0.25
"""A point stands alone if the readings elsewhere leave its value open, with a standard deviation of
more than this share of their range."""

CLEARLY = 0.25
"""A value is clearly worse than another one from this share of the range of honest readings on."""

OUTSIDE = (
    "The expected value is outside the worst case: it takes lies for the truth, or something assumed is "
    "false."
)
"""A warning where the estimate and the interval contradict each other."""

Held = TypeVar("Held")


class Estimate:
    """Mean and standard deviation of f anywhere, by the readings that look honest.

    The Gaussian process is the one by which readings are flagged, with the assumed kernel and noise.

    Args:
        readings: Those that look honest, in model units, at least one.
        assumed: Kernel, noise, B and B0; a reading with another lam than assumed has another noise.
        prior_var: Of f over k(x, x); such that the prior standard deviation is B0 if None.

    Attributes:
        readings: The same.
        spread: Their range.
    """

    def __init__(
        self, readings: Sequence[Reading], assumed: Assumptions, prior_var: float | None = None
    ) -> None:
        self.readings = readings
        self._assumed = assumed
        points, group = np.unique([each.u for each in readings], axis=0, return_inverse=True)
        group = group.reshape(-1)  # NumPy 2.0 gives a column
        if prior_var is None:
            prior_var = prior_var_of(assumed.kernel, points, assumed.B, assumed.B0)
        self._prior_var = prior_var
        noise = assumed.noise_std**2 * np.array([each.lam for each in readings]) / assumed.lam
        weights = 1.0 / np.maximum(noise / prior_var, NOISE_FLOOR)
        y = np.array([each.y for each in readings])
        self.spread = float(np.ptp(y))
        prec: Floats = np.bincount(group, weights).astype(np.float64, copy=False)
        self._ybar: Floats = np.bincount(group, weights * y) / prec
        self._system = System(assumed.kernel, points, prec, assumed.lam)

    def at(self, U: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation at points as the kernel sees them, (k, d), in model units."""
        mean, var = self._system.at(U, self._ybar)
        return mean, np.sqrt(self._prior_var * np.maximum(var, 0.0))

    def elsewhere(self, u: Floats) -> tuple[float, float]:
        """Mean and standard deviation at u, (d,), by the readings of all other points.

        The prior standard deviation is B0, whatever it is in `at`: what a lie makes of a point is not
        typical of f.
        """
        others = [each for each in self.readings if np.abs(each.u - u).max() > 1e-9]
        if not others:
            return 0.0, self._assumed.B0
        (mean,), (sd,) = Estimate(others, self._assumed).at(u[None])
        return float(mean), float(sd)


def honest(readings: Sequence[Reading], assumed: Assumptions) -> list[Reading]:
    """Those that do not look like lies by the assumed model, N_HELD at most; all if all look so."""
    kept = held(readings)
    found = flagged(np.array([each.u for each in kept]), np.array([each.y for each in kept]), assumed)
    return [each for k, each in enumerate(kept) if k not in found] or kept


def expected(best: Recommendation, estimate: Estimate, u: Floats, units: Units) -> Recommendation:
    """A recommendation with the value to expect at its point u, (d,), and whether to rely on it."""
    (mean,), (sd,) = estimate.at(u[None])
    spread = units.scale * estimate.spread
    lower, upper = best.interval
    value, value_sd = units.from_model(float(mean)), units.scale * float(sd)
    beyond = max(lower - value, value - upper)  # NaN, and no contradiction, where there is no interval
    is_outside = best.probability is not None and beyond > NOTICE_AT * value_sd + 1e-9 * spread
    cautions = [_caution(estimate, u, units), OUTSIDE if is_outside else ""]
    return replace(
        best,
        estimate=value,
        estimate_sd=value_sd,
        n_honest=len(estimate.readings),
        is_wide=0.0 < spread < upper - lower,
        caution=" ".join(filter(None, cautions)),
        clearly_worse=_clearly_worse(value, spread, units.sign),
    )


def _clearly_worse(value: float, spread: float, sign: float) -> float | None:
    """Worse than value by a quarter of the spread, or by up to half as much again: a round number."""
    by = CLEARLY * spread
    if not 0.5 * by > 0.0:
        return None
    places = math.floor(math.log10(0.5 * by))
    steps = float(np.floor((sign * value - by) / 10.0**places))
    return round(sign * steps * 10.0**places, -places)


def _caution(estimate: Estimate, u: Floats, units: Units) -> str:
    """A warning where only the readings of the point itself say what f is there (ours, heuristic).

    A lie that is told whenever the point is read then looks like a peak.
    """
    mean, sd = estimate.elsewhere(u)
    if sd <= LONE * estimate.spread:
        return ""
    others = words.plus_minus(units.from_model(mean), units.scale * sd)
    return (
        f"Too few rounds to tell a lie from a peak: the other readings predict {others}. "
        "Read points near it first."
    )


def held(readings: Sequence[Held]) -> list[Held]:
    """The readings that an estimate rests on: all, or N_HELD of them evenly over the rounds.

    Using all would take O(n^3). Their values do not enter: picking high readings would favour those
    that noise has raised.
    """
    n = len(readings)
    return [readings[k] for k in np.linspace(0, n - 1, min(n, N_HELD)).astype(int)]
