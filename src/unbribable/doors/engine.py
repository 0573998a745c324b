"""Initial design, fit, then an algorithm: the loop behind `maximize` and the Optuna sampler."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unbribable.decision.algorithm import Algorithm
from unbribable.decision.draws import Seed
from unbribable.decision.fast_slow import FastSlowGPUCB
from unbribable.decision.gp_ucb import GPUCB, RobustGPUCB
from unbribable.decision.layered import LayeredGPUCB, layer_probabilities
from unbribable.decision.units import Units
from unbribable.doors.plan import SHARE, UNKNOWN, Plan
from unbribable.model.box import Box, Candidates
from unbribable.model.checks import Floats
from unbribable.model.domain import Grid
from unbribable.model.kernels import Kernel, Linear, Matern, SquaredExponential
from unbribable.theory.assumptions import Assumptions
from unbribable.theory.fitting import fit

LAM = 0.01
"""Smallest fictitious noise of a fitted model: below it, posteriors drift in float64."""

N_SIGMA = 6.0
"""Readings beyond B0 by that many noise_std are cut there, in a fitted model."""


@dataclass(frozen=True, eq=False)
class Told:
    """A reading in the user's units."""

    t: int
    x: Floats
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
    """Holds changing state: the readings, and the algorithm once there are enough of them to fit.

    Rounds are numbered by the host, from 1. The state is a function of plan, seed and the readings in
    their order. In the initial design round t reads the t-th point of a Sobol sequence. When n_design
    readings are told, and again whenever their number has doubled, what the user did not assume is
    fitted anew and all readings are learned again.
    """

    def __init__(self, domain: Grid | Box, plan: Plan, seed: Any = None) -> None:
        self.domain = domain
        self.plan = plan
        self.seed = Seed.of(seed)
        self.told: list[Told] = []
        self.units = Units(sign=plan.sign)
        self.algorithm: Algorithm | None = None
        self.is_fitted = plan.assumptions is None
        self.n_design = plan.n_design(domain.d)
        self._start = Candidates(domain)
        self._next_fit = self.n_design
        if plan.assumptions is not None:
            self._start.check_kernel(plan.assumptions.kernel)
            if not self.n_design:
                self._build(plan.assumptions)

    def ask(self, t: int, drawn: str | None = None, others: Sequence[Floats] = ()) -> Asked:
        """The point of round t.

        Args:
            t: The round, from 1.
            drawn: The instance the draw names, where that was recorded; by seed and t if None.
            others: Points pending elsewhere, as the kernel sees them.
        """
        if self.algorithm is None:
            u = self._design(t)
            return Asked(t, self._start.x_of(u), u, drawn or self.drawn(t))
        drawn = drawn or self.algorithm.drawn(t)
        query = self.algorithm.query_at(t, drawn, others)
        return Asked(t, query.x, query.u, drawn)

    def tell(
        self, t: int, x: Floats, y: float, drawn: str | None = None, is_foreign: bool = False
    ) -> None:
        """Learn the reading y of round t at x; y in the user's units, finite."""
        self._start.coordinates_of(x)  # refuses what lies outside, before anything is kept
        self.told.append(Told(t, x, y, drawn, is_foreign))
        if len(self.told) >= max(1, self._next_fit) and (self.is_fitted or self.algorithm is None):
            self._next_fit = 2 * len(self.told)
            self._build(self._fitted() if self.plan.assumptions is None else self.plan.assumptions)
        elif self.algorithm is not None:
            self._learn(self.told[-1])

    def drawn(self, t: int) -> str | None:
        """The instance that the draw of round t names: a function of seed and t.

        None where it is not known before the fit: the share of slow in Fast-Slow depends on it.
        """
        if self.algorithm is not None:
            return self.algorithm.drawn(t)
        if self.plan.known_or_zero is not None:
            return None
        if self.plan.corruption == UNKNOWN:
            return self.seed.choose(t, layer_probabilities(self.plan.n_rounds))
        return "main"

    def domain_point(self, x: Any) -> Floats:
        """A point in the user's units, checked (and snapped, where not every point exists)."""
        return self._start.x_of(self._start.coordinates_of(x))

    def coordinates_of(self, x: Any) -> Floats:
        """A point in the user's units as the kernel sees it, checked."""
        return self._start.coordinates_of(x)

    # --- inside --------------------------------------------------------------------------------

    def _design(self, t: int) -> Floats:
        domain, d = self.domain, self.domain.d
        box = domain if isinstance(domain, Box) else Box([0.0] * d, [1.0] * d)
        u: Floats = box.sobol(256, 7)[(t - 1) % 256]
        if isinstance(self.domain, Box):
            return u
        low, side = self._range()
        nearest = int(np.argmin((((self.domain.points - low) / side - u) ** 2).sum(axis=1)))
        point: Floats = self.domain.points[nearest]
        return point

    def _range(self) -> tuple[Floats, Floats]:
        """Lower corner and sides of what the kernel sees."""
        if isinstance(self.domain, Box):
            return np.zeros(self.domain.d), np.ones(self.domain.d)
        low, high = self.domain.points.min(axis=0), self.domain.points.max(axis=0)
        return low, np.where(high > low, high - low, 1.0)

    def _fitted(self) -> Assumptions:
        """Assumptions fitted to the readings so far, and the units that go with them."""
        plan = self.plan
        low, side = self._range()
        X = np.array([self._start.coordinates_of(told.x) for told in self.told])
        y = plan.sign * np.array([told.y for told in self.told])
        kernel = None if plan.kernel is None else _scaled(plan.kernel, 1.0 / side)
        found = fit((X - low) / side, y, kernel=kernel, noise_std=plan.noise_std)
        B0 = found.B0
        limit = B0 + N_SIGMA * found.noise_std
        self.units = Units(plan.sign * found.center, found.scale, plan.sign, limit)
        return Assumptions(
            plan.kernel or _scaled(found.kernel, side),
            B=found.B if plan.B is None else plan.B / found.scale,
            B0=B0,
            noise_std=found.noise_std,
            lam=max(LAM, found.noise_std**2),
            delta=plan.delta,
            c_max=2.0 * limit,
        )

    def _build(self, assumptions: Assumptions) -> None:
        """A new algorithm that has learned everything told."""
        plan, scale = self.plan, self.units.scale
        words: Any = {"optimism": plan.optimism}
        if plan.known_or_zero is not None:
            C = plan.known_or_zero / scale
            self.algorithm = FastSlowGPUCB(self.domain, assumptions, C=C, seed=self.seed, **words)
        elif plan.corruption == UNKNOWN:
            T = plan.n_rounds
            self.algorithm = LayeredGPUCB(self.domain, assumptions, T=T, seed=self.seed, **words)
        elif plan.corruption == 0:
            self.algorithm = GPUCB(self.domain, assumptions, **words)
        else:
            C = SHARE * plan.n_rounds * assumptions.cap
            if plan.corruption is not None:
                C = float(plan.corruption) / scale
            self.algorithm = RobustGPUCB(self.domain, assumptions, C=C, **words)
        for told in self.told:
            self._learn(told)

    def _learn(self, told: Told) -> None:
        assert self.algorithm is not None
        self.algorithm.learn(
            told.t,
            told.x,
            self.units.to_model(told.y),
            drawn=told.drawn,
            is_foreign=told.is_foreign,
        )


def _scaled(kernel: Kernel, side: Floats) -> Kernel:
    """A kernel of the unit cube on a box with these sides."""
    if np.all(side == 1.0):
        return kernel
    if isinstance(kernel, Matern):
        return Matern(kernel.nu, tuple(np.asarray(kernel.lengthscale) * side))
    if isinstance(kernel, SquaredExponential):
        return SquaredExponential(tuple(np.asarray(kernel.lengthscale) * side))
    if isinstance(kernel, Linear):
        return Linear(tuple(np.asarray(kernel.scale) * side))
    raise TypeError(f"a kernel of your own on a Grid needs assumptions=..., got kernel={kernel!r}")
