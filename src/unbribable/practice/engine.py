"""Initial design, fit, then an algorithm: the loop behind `maximize` and the Optuna sampler."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unbribable.decision.ahead import is_among
from unbribable.decision.algorithm import Algorithm
from unbribable.decision.draws import Seed
from unbribable.decision.policies.fast_slow import FastSlowGPUCB
from unbribable.decision.policies.gp_ucb import GPUCB, RobustGPUCB
from unbribable.decision.policies.layered import LayeredGPUCB
from unbribable.decision.proposal import Reading
from unbribable.decision.suspects import Suspect
from unbribable.decision.units import Units
from unbribable.model.box import Box, Candidates
from unbribable.model.checks import Floats
from unbribable.model.domain import Grid
from unbribable.model.kernels import Stationary
from unbribable.practice.fitted import Fitted, Model
from unbribable.practice.plan import SHARE, UNKNOWN, Plan
from unbribable.practice.scout import Scout
from unbribable.theory.assumptions import Assumptions
from unbribable.theory.budgets import fast_slow_probabilities, layer_probabilities

N_AT_ONCE = 256
"""Readings from which those that a model was fitted to, and that came before it, are learned at once."""

N_NEAR = 32
"""Points without a reading, the last ones, that also count as pending."""


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
        self.is_fitted = bool(plan.fitted)
        self.n_design = plan.n_design(domain.d)
        self._start = Candidates(domain)
        if plan.assumptions is not None:
            self._start.check_kernel(plan.assumptions.kernel)
            is_drawn = plan.corruption == UNKNOWN or plan.known_or_zero is not None
            if is_drawn and np.isinf(plan.assumptions.c_max):
                raise ValueError(
                    "c_max must be finite where the corruption is unknown or may be zero, got c_max=inf"
                )
        if plan.kernel is not None:
            self._start.check_kernel(plan.kernel)
            if isinstance(domain, Grid) and not isinstance(plan.kernel, Stationary):
                raise TypeError(
                    "kernel on a Grid must be stationary, like a Matern or a SquaredExponential; any "
                    f"other one needs assumptions=..., got kernel={plan.kernel!r}"
                )
        self.scored: tuple[object, tuple[Suspect, ...]] | None = None  # what advice found, and for what
        self._fitted_at = self._counted = -1
        self._fitted: Fitted | None = None
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
        if not self.is_ready:
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
            if not self.is_ready:
                return None
            scale = 1.0 if self.fitted is None else self.fitted.scale
            return self.seed.choose(t, fast_slow_probabilities(self.plan.known_or_zero / scale))
        if self.plan.corruption == UNKNOWN:
            return self.seed.choose(t, layer_probabilities(self.plan.n_rounds))
        return "main"

    @property
    def is_ready(self) -> bool:
        """Whether there is a model: always where it is assumed, else once the design is read."""
        return len(self.told) >= self.n_design

    @property
    def n_readings(self) -> int:
        """Readings there are and will be: the rounds planned, and those whose points the user chose.

        Where more were told, as many, in steps of an eighth: learners that depend on it begin anew.
        """
        n_foreign = sum(told.is_foreign for told in self.told)
        n_told = last_fit_point(len(self.told), 0, n_last=math.inf)
        return max(self.plan.n_rounds + n_foreign, n_told or 0)

    @property
    def fitted(self) -> Fitted | None:
        """What was fitted to the readings; None before there are enough, and where all was assumed."""
        at = last_fit_point(len(self.told), self.n_design)
        if at is None or self.plan.assumptions is not None:
            return None
        if at != self._fitted_at:
            self._fitted = self._fit(self.told[:at])
            self._algorithm = self._scout = None
            self._fitted_at = at  # last, so that an interrupt leaves nothing half done
        return self._fitted

    @property
    def assumptions(self) -> Assumptions | None:
        """What guarantees rest on, in model units: the user's, or fitted; None before that."""
        if not self.is_ready:
            return None
        return self.plan.assumptions if self.fitted is None else self.fitted.judge.assumptions

    @property
    def units(self) -> Units:
        """The user's units against the model's."""
        return Units(sign=self.plan.sign) if self.fitted is None else self.fitted.judge.units

    @property
    def algorithm(self) -> Algorithm | None:
        """The learner whose bounds hold, with all that was told; None before there is a model."""
        if self.assumptions is None:
            return None
        units, is_redrawn = self.units, self._is_redrawn

        lam = self.assumptions.lam

        def reading(told: Told) -> Reading:
            drawn = None if is_redrawn else told.drawn
            chosen_by = "user" if told.is_foreign else "algorithm"
            return Reading(told.t, told.u, units.to_model(told.y), drawn, "", lam, None, chosen_by)

        if self._algorithm is None or (self._is_counted and self._counted != self.n_readings):
            self._algorithm = self._new_algorithm()
            self._counted = self.n_readings
            if self._fitted_at >= N_AT_ONCE:
                self._algorithm.learn([reading(told) for told in self.told[: self._fitted_at]])
        for t, because_of_value in self.lost.items():
            self._algorithm.lose(t, because_of_value=because_of_value)
        for told in self.told[len(self._algorithm.readings) :]:
            self._algorithm.learn(reading(told))
        return self._algorithm

    @property
    def scout(self) -> Scout | None:
        """The player that chooses; None where the algorithm itself does, and before there is a model."""
        if not self.is_ready or self.plan.explore is None:
            return None
        model = self._likely  # first: a new fit is a new scout's
        if self._scout is None:
            self._scout = Scout(self.domain, model.assumptions, self.plan.explore)
        self._catch_up(self._scout, model.units)
        return self._scout

    def scouting(self, beta: float) -> Scout:
        """Another scout, which has read the same; there must be a model."""
        scout = Scout(self.domain, self._likely.assumptions, beta)
        self._catch_up(scout, self._likely.units)
        return scout

    def domain_point(self, x: Any) -> Floats:
        """A point in the user's units, checked (and snapped, where not every point exists)."""
        return self._start.x_of(self._start.coordinates_of(x))

    def coordinates_of(self, x: Any) -> Floats:
        """A point in the user's units as the kernel sees it, checked."""
        return self._start.coordinates_of(x)

    # --- inside --------------------------------------------------------------------------------

    @property
    def _likely(self) -> Model:
        """What to choose by."""
        if self.fitted is not None:
            return self.fitted.likely
        assert self.plan.assumptions is not None
        return Model(self.plan.assumptions, Units(sign=self.plan.sign))

    def _catch_up(self, scout: Scout, units: Units) -> None:
        rest = self.told[scout.n_readings :]
        scout.learn([(told.t, told.u, units.to_model(told.y)) for told in rest])

    @property
    def _is_counted(self) -> bool:
        """Whether the learner depends on the number of readings."""
        return self.plan.known_or_zero is None and self.plan.corruption in (None, UNKNOWN)

    @property
    def _is_redrawn(self) -> bool:
        """Whether what was noted about a draw does not count, since the shares are others now.

        That of slow changes with a fit, the number of layers with that of the readings. A budget holds
        for draws made with one share, so all are made with the share it has now.
        """
        if self.plan.known_or_zero is not None:
            return self.plan.assumptions is None
        if self.plan.corruption != UNKNOWN:
            return False
        return layer_probabilities(self.n_readings) != layer_probabilities(self.plan.n_rounds)

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

    def _fit(self, told: Sequence[Told]) -> Fitted:
        low, side = self._range()
        U = (np.array([one.u for one in told]) - low) / side
        return Fitted(self.plan, U, np.array([one.y for one in told]), side)

    def _new_algorithm(self) -> Algorithm:
        plan, scale, assumed, domain = self.plan, self.units.scale, self.assumptions, self.domain
        assert assumed is not None
        if plan.known_or_zero is not None:
            return FastSlowGPUCB(domain, assumed, C=plan.known_or_zero / scale, seed=self.seed)
        if plan.corruption == UNKNOWN:
            return LayeredGPUCB(domain, assumed, T=self.n_readings, seed=self.seed)
        if plan.corruption == 0:
            return GPUCB(domain, assumed)
        if plan.corruption is None:
            return RobustGPUCB(domain, assumed, C=SHARE * self.n_readings * assumed.c_max)
        return RobustGPUCB(domain, assumed, C=float(plan.corruption) / scale)


def last_fit_point(n: int, n_design: int, n_last: float = 512) -> int | None:
    """The last number of readings, at most n, at which the model is fitted; None before the first.

    From n_design on after every reading up to 64, then each time their number has grown by an
    eighth; the first number beyond n_last is the last.
    """
    if n < n_design:
        return None
    at = following = n_design
    while following <= n:
        at = following
        if at > n_last:
            break
        following = at + (1 if at < 64 else at // 8)
    return at
