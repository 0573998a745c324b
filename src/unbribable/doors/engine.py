"""Initial design, fit, then an algorithm: the loop behind `maximize` and the Optuna sampler."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unbribable.decision.algorithm import Algorithm
from unbribable.decision.avoid import is_among
from unbribable.decision.draws import Seed
from unbribable.decision.fast_slow import FastSlowGPUCB, fast_slow_probabilities
from unbribable.decision.gp_ucb import GPUCB, RobustGPUCB
from unbribable.decision.layered import LayeredGPUCB, layer_probabilities
from unbribable.decision.units import Units
from unbribable.doors.plan import DELTA, SHARE, UNKNOWN, Plan
from unbribable.doors.scout import Scout
from unbribable.model.box import Box, Candidates
from unbribable.model.checks import Floats
from unbribable.model.domain import Grid
from unbribable.model.kernels import Kernel, Matern, SquaredExponential
from unbribable.theory.assumptions import Assumptions
from unbribable.theory.fitting import fit

LAM = 0.01
"""Smallest fictitious noise of a fitted model: below it, posteriors drift in float64."""

N_FITTED = 160
"""Readings that a fit uses, at most."""

N_NEAR = 32
"""Points without a reading, the last ones, that also count as pending."""

N_SIGMA = 6.0
"""Readings beyond B0 by that many noise_std are cut there, in a fitted model."""


@dataclass(frozen=True, eq=False)
class Told:
    """A reading in the user's units."""

    t: int
    x: Floats
    u: Floats
    """The point as the kernel sees it."""
    y: float
    drawn: str | None
    is_foreign: bool


@dataclass(frozen=True, eq=False)
class Asked:
    """A point to read in round t."""

    t: int
    x: Floats
    u: Floats
    drawn: str | None
    """The instance the draw names; None where that is not known before the fit."""


class Engine:
    """Holds changing state: the readings, and what follows from them as far as it was asked for.

    Rounds are numbered by the host, from 1. In the initial design round t reads the t-th point of a
    Sobol sequence that the seed scrambles. When n_design readings are told, what the user did not
    assume is fitted to them, and fitted anew when there are more (`last_fit_point`). Everything is a
    function of plan, seed and the readings in their order: it does not matter when, or in how many
    steps, it is worked out.
    """

    def __init__(self, domain: Grid | Box, plan: Plan, seed: Any = None) -> None:
        self.domain = domain
        self.plan = plan
        self.seed = Seed.of(seed)
        self.told: list[Told] = []
        self.lost: dict[int, bool] = {}
        self.is_fitted = plan.assumptions is None
        self.n_design = plan.n_design(domain.d)
        self._start = Candidates(domain)
        if plan.assumptions is not None:
            self._start.check_kernel(plan.assumptions.kernel)
            is_drawn = plan.corruption == UNKNOWN or plan.known_or_zero is not None
            if is_drawn and np.isinf(plan.assumptions.cap):
                raise ValueError(
                    "c_max must be finite where the corruption is unknown or may be zero, got c_max=inf"
                )
        if plan.kernel is not None:
            self._start.check_kernel(plan.kernel)
            if isinstance(domain, Grid) and not isinstance(plan.kernel, Matern | SquaredExponential):
                raise TypeError(
                    "kernel on a Grid must be a Matern or a SquaredExponential, any other one needs "
                    f"assumptions=..., got kernel={plan.kernel!r}"
                )
        self._fitted_at = -1
        self._units = Units(sign=plan.sign)
        self._assumptions: Assumptions | None = None
        self._algorithm: Algorithm | None = None
        self._scout: Scout | None = None

    def ask(
        self,
        t: int,
        drawn: str | None = None,
        others: Sequence[Floats] = (),
        avoid: Sequence[Floats] = (),
    ) -> Asked:
        """The point of round t.

        A point without a reading is not asked again, unless it was read as often or no other point is
        left. The last ones also count as pending, so that the choice keeps off their neighbourhood.

        Args:
            t: The round, from 1.
            drawn: The instance the draw names, where that was recorded; by seed and t if None.
            others: Points pending elsewhere, as the kernel sees them.
            avoid: Points whose evaluation gave no reading, one entry for each time, the last one last.
        """
        others = [*others, *avoid[-N_NEAR:]]
        avoid = self._avoided(avoid)
        drawn = drawn or self.drawn(t)
        if self.assumptions is None:
            u = self._design(t, avoid)
        elif self.scout is not None:
            u = self.scout.choose(t, others, avoid)
        else:
            assert self.algorithm is not None
            assert drawn is not None
            label = self.algorithm.drawn(t) if self._is_redrawn else drawn
            u = self.algorithm.query_at(t, label, others, avoid).u
        return Asked(t, self._start.x_of(u), u, drawn)

    def tell(
        self, t: int, x: Floats, y: float, drawn: str | None = None, is_foreign: bool = False
    ) -> None:
        """Take the reading y of round t at x; y in the user's units, as `checks.reading` wants it."""
        u = self._start.coordinates_of(x)  # refuses what lies outside, before anything is kept
        self.told.append(Told(t, x, u, y, drawn, is_foreign))

    def lose(self, t: int, *, because_of_value: bool = False) -> None:
        """State that round t has no reading and will have none. Said again, it changes the reason alone.

        The guarantee then says how many readings are missing. It is void where one is missing because of
        its value.
        """
        self.lost[t] = because_of_value

    def drawn(self, t: int) -> str | None:
        """The instance that the draw of round t names: a function of seed and t.

        None where it is not known before the fit: the share of slow in Fast-Slow depends on it.
        """
        if self.plan.known_or_zero is not None:
            if self.assumptions is None:
                return None
            draws = fast_slow_probabilities(self.plan.known_or_zero / self.units.scale)
            return self.seed.choose(t, draws)
        if self.plan.corruption == UNKNOWN:
            return self.seed.choose(t, layer_probabilities(self.plan.n_rounds))
        return "main"

    @property
    def assumptions(self) -> Assumptions | None:
        """In model units: the user's, or fitted to the readings; None before there are enough."""
        at = last_fit_point(len(self.told), self.n_design)
        if at is None:
            return None
        if self.plan.assumptions is not None:
            return self.plan.assumptions
        if at != self._fitted_at:
            self._assumptions = self._fit(self.told[:at])
            self._algorithm = self._scout = None
            self._fitted_at = at  # last, so that an interrupt leaves nothing half done
        return self._assumptions

    @property
    def units(self) -> Units:
        """The user's units against the model's."""
        return self._units if self.assumptions is not None else Units(sign=self.plan.sign)

    @property
    def algorithm(self) -> Algorithm | None:
        """The learner whose bounds hold, with all that was told; None before there is a model."""
        if self.assumptions is None:
            return None
        if self._algorithm is None:
            self._algorithm = self._new_algorithm()
        for t, because_of_value in self.lost.items():
            self._algorithm.lose(t, because_of_value=because_of_value)
        for told in self.told[len(self._algorithm.readings) :]:
            y, drawn = self.units.to_model(told.y), None if self._is_redrawn else told.drawn
            self._algorithm.learn(told.t, told.x, y, drawn=drawn, is_foreign=told.is_foreign)
        return self._algorithm

    @property
    def scout(self) -> Scout | None:
        """The player that chooses; None where the algorithm itself does, and before there is a model."""
        assumptions, beta = self.assumptions, self.plan.explore
        if assumptions is None or beta is None:
            return None
        if self._scout is None:
            self._scout = Scout(self.domain, assumptions, beta)
        rest = self.told[self._scout.n_readings :]
        self._scout.learn([(told.t, told.u, self.units.to_model(told.y)) for told in rest])
        return self._scout

    def domain_point(self, x: Any) -> Floats:
        """A point in the user's units, checked (and snapped, where not every point exists)."""
        return self._start.x_of(self._start.coordinates_of(x))

    def coordinates_of(self, x: Any) -> Floats:
        """A point in the user's units as the kernel sees it, checked."""
        return self._start.coordinates_of(x)

    # --- inside --------------------------------------------------------------------------------

    @property
    def _is_redrawn(self) -> bool:
        """Whether what was noted about a draw does not count: the share of slow changes with a fit.

        Its budget holds for draws made with one share, so all are made with the share it has now.
        """
        return self.is_fitted and self.plan.known_or_zero is not None

    def _avoided(self, lost: Sequence[Floats]) -> list[Floats]:
        """Of the points without a reading those that gave none more often than they gave one.

        So one failure does not rule out a point that was read, before or after, and one that has come
        to fail always costs at most one round more than it has readings.
        """
        gone = np.array(lost)
        read = np.array([told.u for told in self.told]).reshape(-1, self.domain.d)
        return [u for u in gone if is_among(gone, [u]).sum() > is_among(read, [u]).sum()]

    def _design(self, t: int, avoid: Sequence[Floats]) -> Floats:
        """The t-th point of the design, or the next one that is not to be avoided; else a candidate."""
        domain, d = self.domain, self.domain.d
        box = domain if isinstance(domain, Box) else Box([0.0] * d, [1.0] * d)
        stream = int(2**32 * self.seed.uniform(0))  # round 0 has no draw
        U = np.roll(box.sobol(256, stream), 1 - t, axis=0)
        low, side = self._range()
        for u in U:
            if isinstance(domain, Grid):
                nearest = np.argmin((((domain.points - low) / side - u) ** 2).sum(axis=1))
                u = domain.points[nearest]
            if not is_among(u[None], avoid).any():
                break
        else:
            U = self._start.coordinates
            u = U[np.argmin(is_among(U, avoid))]
        point: Floats = u
        return point

    def _range(self) -> tuple[Floats, Floats]:
        """Lower corner and sides of what the kernel sees."""
        if isinstance(self.domain, Box):
            return np.zeros(self.domain.d), np.ones(self.domain.d)
        low, high = self.domain.points.min(axis=0), self.domain.points.max(axis=0)
        return low, np.where(high > low, high - low, 1.0)

    def _fit(self, told: Sequence[Told]) -> Assumptions:
        """Assumptions fitted to these readings, and the units that go with them."""
        plan = self.plan
        low, side = self._range()
        U = (np.array([one.u for one in told]) - low) / side
        kept = thinned(U)
        y = plan.sign * np.array([one.y for one in told])
        kernel = None if plan.kernel is None else _scaled(plan.kernel, 1.0 / side)
        found = fit(U[kept], y[kept], kernel=kernel, noise_std=plan.noise_std)
        model = (y - found.center) / found.scale
        B0 = max(found.B0, 1.2 * confirmed(U, model))
        limit = B0 + N_SIGMA * found.noise_std
        self._units = Units(plan.sign * found.center, found.scale, plan.sign, limit)
        return Assumptions(
            plan.kernel or _scaled(found.kernel, side),
            B=max(B0, found.B) if plan.B is None else plan.B / found.scale,
            B0=B0,
            noise_std=found.noise_std,
            lam=max(LAM, found.noise_std**2),
            delta=DELTA if plan.delta is None else plan.delta,
            c_max=2.0 * limit,
        )

    def _new_algorithm(self) -> Algorithm:
        plan, scale, assumed, domain = self.plan, self.units.scale, self.assumptions, self.domain
        assert assumed is not None
        if plan.known_or_zero is not None:
            return FastSlowGPUCB(domain, assumed, C=plan.known_or_zero / scale, seed=self.seed)
        if plan.corruption == UNKNOWN:
            return LayeredGPUCB(domain, assumed, T=plan.n_rounds, seed=self.seed)
        if plan.corruption == 0:
            return GPUCB(domain, assumed)
        if plan.corruption is None:
            return RobustGPUCB(domain, assumed, C=SHARE * plan.n_rounds * assumed.cap)
        return RobustGPUCB(domain, assumed, C=float(plan.corruption) / scale)


def last_fit_point(n: int, n_design: int) -> int | None:
    """The last number of readings, at most n, at which the model is fitted; None before the first.

    From n_design on after every reading up to 64, then each time their number has grown by an
    eighth; the first number beyond 512 is the last.
    """
    if n < n_design:
        return None
    at = following = n_design
    while following <= n:
        at = following
        if at > 512:
            break
        following = at + (1 if at < 64 else at // 8)
    return at


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


def _scaled(kernel: Kernel, side: Floats) -> Kernel:
    """A kernel of the unit cube on a box with these sides."""
    if np.all(side == 1.0):
        return kernel
    if isinstance(kernel, Matern):
        return Matern(kernel.nu, tuple(np.asarray(kernel.lengthscale) * side))
    assert isinstance(kernel, SquaredExponential)  # others were refused on a Grid
    return SquaredExponential(tuple(np.asarray(kernel.lengthscale) * side))
