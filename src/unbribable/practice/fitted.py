"""The models a run works with: given by the user, or fitted to the readings."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unbribable.decision.units import Units
from unbribable.model.checks import Floats
from unbribable.model.kernels import Stationary
from unbribable.practice.fit import Fit, Fitting
from unbribable.practice.plan import DELTA, Plan
from unbribable.theory.assumptions import Assumptions

LAM = 0.01
"""Smallest lam of a fitted model. Any value is valid; below this one the posterior of a long run, which
is updated reading by reading, drifts in float64."""

N_FITTED = 160
"""Readings that a fit uses, at most."""

N_SIGMA = 6.0
"""Readings beyond B0 by that many noise_std are cut there, in a fitted model: an honest one with a
probability below 2 exp(-18). Where a number of lies is stated, `FewLies` says where."""


@dataclass(frozen=True)
class Model:
    """Assumptions, and the units in which they are stated."""

    assumptions: Assumptions
    units: Units


class Given:
    """The user's own assumptions as all models of a run."""

    def __init__(self, assumptions: Assumptions, sign: float) -> None:
        self.likely = self.judge = self.scores = Model(assumptions, Units(sign=sign))
        self.scale = 1.0


class Fitted:
    """Models fitted to readings; what the plan gives is kept.

    Where a kernel or B is given, the judge takes them to speak of f itself: its center is 0, and only
    its unit differs from the user's. B is that unit where it is given, and bounds |f| too, since
    k(x, x) <= 1; so where kernel, noise and B are given nothing that a bound depends on is fitted.
    A kernel that is not stationary says itself where f may be a constant, as Linear does that it is 0 at
    the origin: then no model has a center.

    Args:
        plan: What is given.
        U: Points in the unit cube, (n, d).
        y: Their readings, (n,).
        side: Of the domain that the kernel sees, (d,).
    """

    def __init__(self, plan: Plan, U: Floats, y: Floats, side: Floats) -> None:
        self._plan = plan
        self._side = side
        self._U, self._y = U, plan.sign * y
        self._is_centred = isinstance(plan.kernel, Stationary | None)
        self._free = self._fitting(None if self._is_centred else 0.0)

    @cached_property
    def likely(self) -> Model:
        """The most likely model, by which points are chosen."""
        return self._model(self._free.likely, self._free.likely.scale)

    @cached_property
    def judge(self) -> Model:
        """The model that guarantees rest on: the wide end of what the readings allow."""
        return self._model(self._about_f.cautious(), self.scale, is_bound=True)

    @cached_property
    def scores(self) -> Model:
        """The most likely model in the judge's units, by which suspicious readings are found."""
        return self._model(self._about_f.likely, self.scale)

    @property
    def scale(self) -> float:
        """The judge's unit, in the user's."""
        return self._about_f.likely.scale if self._plan.B is None else self._plan.B

    @cached_property
    def _about_f(self) -> Fitting:
        """With what is given taken to speak of f itself."""
        is_about_f = self._plan.kernel is not None or self._plan.B is not None
        return self._fitting(0.0) if is_about_f and self._is_centred else self._free

    def _fitting(self, center: float | None) -> Fitting:
        kernel, kept = self._plan.kernel, thinned(self._U)
        every = np.linspace(0, len(self._y) - 1, min(len(self._y), N_FITTED)).astype(int)
        return Fitting(
            self._U[kept],
            self._y[kept],
            kernel=None if kernel is None else kernel.scaled(1.0 / self._side),
            noise_std=self._plan.noise_std,
            center=center,
            every=(self._U[every], self._y[every]),
        )

    def _model(self, found: Fit, scale: float, *, is_bound: bool = False) -> Model:
        """What was found, in units of `scale`; with B0 = B, if given, where it has to be a bound."""
        plan, ratio = self._plan, found.scale / scale
        noise_std = ratio * found.noise_std if plan.noise_std is None else plan.noise_std / scale
        B0 = max(ratio * found.B0, 1.2 * confirmed(self._U, (self._y - found.center) / scale))
        B = max(B0, ratio * found.B)
        if plan.B is not None:
            B = plan.B / scale
            B0 = B if is_bound else B0
        limit = B0 + N_SIGMA * noise_std
        assumptions = Assumptions(
            plan.kernel or found.kernel.scaled(self._side),
            B=B,
            B0=B0,
            noise_std=noise_std,
            lam=max(LAM, noise_std**2),
            delta=DELTA if plan.delta is None else plan.delta,
            c_max=2.0 * limit if plan.lies is None else math.inf,
        )
        return Model(assumptions, Units(plan.sign * found.center, scale, plan.sign, limit))


def confirmed(U: Floats, y: Floats) -> float:
    """The largest |value| that two readings of one point reach on the same side; 0 without repeats.

    What was read twice is no lie that a fit may cut off.
    """
    largest = 0.0
    _, group = np.unique(U, axis=0, return_inverse=True)
    for k in np.flatnonzero(np.bincount(group.reshape(-1)) > 1):
        values = np.sort(y[group.reshape(-1) == k])
        largest = max(largest, float(values[-2]), float(-values[1]))
    return largest


def thinned(U: Floats) -> list[int]:
    """The readings to fit to: in their order, those with fewer than three kept ones close by.

    A run gathers at the maximum. There readings are alike, and would make the rest of the function
    look like lies. Close: within a twentieth of the unit cube's diagonal. Of what is left, N_FITTED
    at most, evenly spread over the rounds: a fit costs O(n^3).
    """
    kept: list[int] = []
    reach = 0.05 * np.sqrt(U.shape[1])
    for k, u in enumerate(U):
        if (np.linalg.norm(U[kept] - u, axis=1) < reach).sum() < 3:
            kept.append(k)
    if len(kept) > N_FITTED:
        kept = [kept[k] for k in np.linspace(0, len(kept) - 1, N_FITTED).astype(int)]
    return kept
