"""Initial design, fit, then an algorithm: what `Study` and the Optuna sampler ask and tell."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unbribable.decision.ahead import is_among
from unbribable.decision.algorithm import Algorithm
from unbribable.decision.draws import Seed
from unbribable.decision.proposal import Query, Reading
from unbribable.doubt.hypotheses import Known, location_and_scale
from unbribable.doubt.judge import Judge, last_stop
from unbribable.doubt.suspect import Suspect
from unbribable.model.box import Box, Candidates
from unbribable.model.checks import Floats
from unbribable.model.domain import Grid
from unbribable.model.kernels import Stationary
from unbribable.practice.choose import Promise, best_candidate, best_point
from unbribable.practice.fitted import Model, check_sizes, fitted, given
from unbribable.practice.plan import Plan

N_AT_ONCE = 256
"""From this many readings on, those that a model was fitted to are learned in one go."""

N_NEAR = 32
"""How many of the latest failed points count as pending, so that their surroundings are avoided too."""


class Engine:
    """Holds changing state: the readings, and what was worked out from them when it was asked for.

    The host numbers the rounds, from 1. In the initial design round t reads the t-th point of a Sobol
    sequence that the seed scrambles. Once n_design readings are told, whatever the user did not assume
    is fitted to them, and again as more arrive (`Judge`). Everything is a function of plan,
    seed and the readings in their order: when, and in how many steps, it is worked out does not matter.

    Attributes:
        domain: Where to search.
        plan: What the user said.
        seed: Of the initial design.
        told: The readings in the order of telling, y in the user's units. Who learns from them, and
            with what lam, is decided by the algorithm.
        lost: Round without a reading -> whether its value is the reason.
        failed: The points of such rounds, as the kernel sees them, by round.
        retracted: Round whose reading was taken out -> whether its value was certainly no reason.
        rows: Rounds that came in a table, whose order says nothing; to be said before they are told.
        n_design: Readings of the initial design.
    """

    def __init__(self, domain: Grid | Box, plan: Plan, seed: Any = None) -> None:
        self.domain = domain
        self.plan = plan
        self.seed = Seed.of(seed)
        self.told: list[Reading] = []
        self.lost: dict[int, bool] = {}
        self.failed: dict[int, Floats] = {}
        self.retracted: dict[int, bool] = {}
        self.rows: set[int] = set()
        self._lost_at: dict[int, int] = {}  # readings told before it was lost
        self.n_design = plan.n_design(domain.d)
        self._start = Candidates(domain)
        kernel = plan.kernel if plan.assumptions is None else plan.assumptions.kernel
        if kernel is not None:
            self._start.check_kernel(kernel)
        if isinstance(domain, Grid) and not isinstance(plan.kernel, Stationary | None):
            raise TypeError(
                "kernel on a Grid must be stationary, like a Matern or a SquaredExponential; any other "
                f"one needs assumptions=..., got kernel={plan.kernel!r}"
            )
        self.scored: tuple[object, tuple[Suspect, ...]] | None = None  # what advice found, and for what
        self._fitted_at = -1
        self._n_lies: int | None = None
        self._model: Model | None = None
        if plan.assumptions is not None:
            self._model = given(plan.assumptions, plan.sign)
        self._algorithm: Algorithm | None = None
        self._judge: Judge | None = None

    # --- ask and tell --------------------------------------------------------------------------

    def ask(self, t: int, pending: Sequence[Floats] = ()) -> Query:
        """The point of round t.

        A point without a reading is not asked again, unless it was read at least as often or no other
        is left. The latest ones also count as pending, so that the choice keeps away from them.

        Args:
            t: The round, from 1.
            pending: Points that are being read elsewhere, as the kernel sees them.
        """
        failed = [self.failed[t] for t in sorted(self.failed)]
        pending, avoid = [*pending, *failed[-N_NEAR:]], self._without_reading(failed)
        if not self.is_ready:
            u = self._design(t, avoid)
        elif self.plan.explore is not None and self.told:
            u = self._promising(t, pending, avoid)
        else:
            algorithm = self.algorithm()
            u = algorithm.query_at(t, algorithm.drawn(t), pending, avoid).u
        return Query(t, self.x_of(u), u, index=None, instance=None)

    def tell(self, t: int, x: Any, y: float, *, chosen_by: str = "algorithm") -> None:
        """Take the reading y of round t at x, in the user's units; y was checked by `checks.reading`."""
        u = self._start.coordinates_of(x)  # refuses a point outside before anything is kept
        self.told.append(Reading(t, u, y, None, "", math.nan, chosen_by=chosen_by))

    def lose(self, t: int, x: Any = None, *, because_of_value: bool = False) -> None:
        """State that round t has no reading and will have none; saying it again changes the reason.

        The guarantee then says how many readings are missing, and is void where one of them is
        missing because of its value. If its point x is given, it is not asked for again.
        """
        self.lost[t] = because_of_value
        self._lost_at.setdefault(t, len(self.told))
        if x is not None:
            self.failed[t] = self._start.coordinates_of(x)

    def retract(self, t: int, *, unrelated_to_value: bool = False) -> None:
        """Take out the reading of round t, if it was told: all is as if it had never been.

        Unless the reason had nothing to do with its value, nothing is guaranteed from then on.
        """
        place = next((k for k, reading in enumerate(self.told) if reading.t == t), None)
        if place is not None:
            del self.told[place]
            self._lost_at = {s: n - (n > place) for s, n in self._lost_at.items()}
        self.retracted[t] = unrelated_to_value
        self.scored = self._algorithm = self._judge = None
        self._fitted_at = -1

    def u_of(self, x: Any) -> Floats:
        """A point in the user's units as the kernel sees it, checked."""
        return self._start.coordinates_of(x)

    def x_of(self, u: Floats) -> Floats:
        """A point as the kernel sees it, (d,) or (n, d), in the user's units."""
        return self._start.x_of(u)

    def anew(self) -> "Engine":
        """An engine for the same run that was told nothing yet."""
        return Engine(self.domain, self.plan, self.seed)

    def copied(self) -> "Engine":
        """An engine for the same run that was told the same so far, and learns it when it is asked."""
        own = self.anew()
        own.told, own.lost, own.failed = list(self.told), dict(self.lost), dict(self.failed)
        own.retracted, own._lost_at = dict(self.retracted), dict(self._lost_at)
        own.rows = set(self.rows)
        return own

    def settled(self) -> "Engine | None":
        """Itself; before its design is read, one fitted to what there is; None without a reading."""
        if not self.told:
            return None
        if self.is_ready:
            return self
        early = Engine(self.domain, replace(self.plan, n_init=len(self.told)), self.seed)
        early.told, early.lost, early.failed = self.told, self.lost, self.failed
        early.retracted, early._lost_at = self.retracted, self._lost_at
        early.rows = self.rows
        return early

    # --- what follows from the readings ----------------------------------------------------------

    @property
    def is_ready(self) -> bool:
        """Whether there is a model: always where it is assumed, else once the design is read."""
        return len(self.told) >= self.n_design

    @property
    def n_table(self) -> int:
        """How many of the readings, the first ones, are in no order: up to the last row of a table."""
        n = len(self.told) if self.rows else 0
        while n and self.told[n - 1].t not in self.rows:
            n -= 1
        return n

    @property
    def n_complete(self) -> int:
        """How many rounds there are before the first open one: a proof may rest on their readings.

        Which later ones are there already may depend on their values. 0, if that would cut a table.
        """
        closed = {reading.t for reading in self.told} | self.lost.keys() | self.retracted.keys()
        n = next(n for n in range(len(closed) + 1) if n + 1 not in closed)
        return n if max(self.rows, default=0) <= n else 0

    @property
    def n_readings(self) -> int:
        """Readings there are and will be: the rounds planned, and those whose points the user chose.

        If more were told, or nobody said how many are planned, at least that many, in steps of an
        eighth: algorithms that depend on it start anew.
        """
        n_told, n_planned = len(self.told), 1
        if self.plan.n_rounds is not None:
            n_given = sum(reading.chosen_by == "user" for reading in self.told)
            n_planned = self.plan.n_rounds + n_given
        if n_told <= n_planned:
            return n_planned
        step = last_stop(n_told, 0)
        return n_told if step == n_told else step + step // 8

    def fit(self) -> Model:
        """The cautious model: given, or fitted to the readings so far.

        Raises:
            RuntimeError: The initial design is not read yet; see `is_ready`.
        """
        if not self.is_ready:
            raise RuntimeError(
                f"a fit needs the {self.n_design} readings of the initial design, got {len(self.told)}"
            )
        if self.plan.assumptions is None:
            judge = self.judge()
            at = judge.n_followed
            if at != self._fitted_at:
                points = np.array([reading.u for reading in self.told[:at]])
                y = self.plan.sign * np.array([reading.y for reading in self.told[:at]])
                self._model = fitted(self.plan, judge.chains, points, y, self._range()[1])
                self._algorithm = None
                self._fitted_at = at  # last, so that an interrupt leaves nothing half done
        assert self._model is not None
        return self._model

    def model(self) -> Model:
        """What guarantees rest on; needs what `fit` needs."""
        return self.fit()

    def algorithm(self) -> Algorithm:
        """The algorithm whose bounds hold, after learning all that was told; needs what `fit` needs."""
        model, n_table, plan = self.model(), self.n_table, self.plan
        n_lies = None if plan.lies is None else plan.n_lies(self.n_readings)
        is_new = self._algorithm is None or self._algorithm.journal.n_table != n_table
        if is_new or self._n_lies != n_lies:
            scale, n = model.units.scale, self.n_readings
            self._algorithm = plan.algorithm(self.domain, model.assumptions, scale, n, self.seed)
            self._n_lies = n_lies
            self._algorithm.is_quiet = n_lies is not None  # the answer counts as many lies as it takes
            self._algorithm.journal.retracted.update(self.retracted)
            self._algorithm.journal.n_table = n_table
            if self._fitted_at >= N_AT_ONCE:
                self._algorithm.learn(self._in_model(self.told[: self._fitted_at], model))
        assert self._algorithm is not None
        algorithm, lost = self._algorithm, list(self.lost.items())
        for reading in self._in_model(self.told[len(algorithm.readings) :], model):
            lost = self._give_up(algorithm, lost)
            algorithm.learn(reading)
        self._give_up(algorithm, lost)
        return algorithm

    def judge(self) -> Judge:
        """What is thought of all that was told: a heuristic, on which no guarantee rests.

        Raises:
            RuntimeError: There is no reading yet, or the initial design is not read; see `is_ready`.
            ValueError: An amount that is given exceeds what the readings differ by beyond all measure.
        """
        n_first = max(self.n_design, self.n_table, 1)
        if len(self.told) < n_first:
            raise RuntimeError(
                f"a judgement needs {n_first} reading{'s' if n_first > 1 else ''}, got {len(self.told)}"
            )
        if self._judge is None or self._judge.n_first != n_first:  # a table may be added later
            plan, assumed = self.plan, self.plan.assumptions
            kernel = plan.kernel if assumed is None else assumed.kernel
            noise_std = plan.noise_std if assumed is None else assumed.noise_std
            center = None if isinstance(kernel, Stationary | None) else 0.0
            self._judge = Judge(Known(kernel, noise_std, center), n_first)
            self._fitted_at = -1
        y = self.plan.sign * np.array([reading.y for reading in self.told])
        if self.plan.assumptions is None:
            check_sizes(self.plan, location_and_scale(y)[1])
        rounds = np.array([reading.t for reading in self.told], dtype=np.intp)
        self._judge.learn(self._seen(np.array([reading.u for reading in self.told])), y, rounds)
        return self._judge

    def predict(self, U: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation of f at U, (k, d), as the kernel sees it, in the user's units.

        An estimate, not a guarantee. Needs a reading.
        """
        mean, sd = self.judge().predict(self._seen(U))
        return self.plan.sign * mean, sd

    def incumbent(self, among: Sequence[Floats] | None = None) -> Floats | None:
        """The point read with the best value to expect, in the user's units.

        One whose readings all look false only where there is no other.

        Args:
            among: Those that may be, as the kernel sees them; all if None.

        Returns:
            None if no reading was told of them.
        """
        U = np.array([reading.u for reading in self.told])
        may = np.ones(len(U), dtype=np.bool_) if among is None else is_among(U, among)
        if not may.any():
            return None
        honest = U[~self.judge().verdict().is_flagged]
        is_honest = may & is_among(U, np.unique(honest, axis=0))
        places = np.flatnonzero(is_honest if is_honest.any() else may)
        best = places[np.argmax(self.judge().predict(self._seen(U[places]))[0])]
        return self.x_of(U[best])

    # --- inside --------------------------------------------------------------------------------

    def _give_up(self, algorithm: Algorithm, lost: list[tuple[int, bool]]) -> list[tuple[int, bool]]:
        """Tell the algorithm which rounds were lost before its next reading; returns the others."""
        n, left = len(algorithm.readings), []
        for t, because_of_value in lost:
            if self._lost_at[t] <= n:
                algorithm.lose(t, because_of_value=because_of_value)
            else:
                left.append((t, because_of_value))
        return left

    def _in_model(self, readings: Sequence[Reading], model: Model) -> list[Reading]:
        """Readings as an algorithm with this model is told them."""
        units, lam = model.units, model.assumptions.lam
        return [replace(each, y=units.to_model(each.y), lam=lam) for each in readings]

    def _without_reading(self, failed: Sequence[Floats]) -> list[Floats]:
        """The points among them that failed more often than they gave a reading.

        So one failure does not rule out a point that was read, before or after, and one that has come
        to fail always costs at most one round more than it has readings.
        """
        gone = np.array(failed)
        read = np.array([reading.u for reading in self.told]).reshape(-1, self.domain.d)
        return [u for u in gone if is_among(gone, [u]).sum() > is_among(read, [u]).sum()]

    def _promising(self, t: int, pending: Sequence[Floats], avoid: Sequence[Floats]) -> Floats:
        """The most promising point for round t, after the pending ones."""
        domain, judge, beta = self.domain, self.judge(), self.plan.explore
        assert beta is not None
        d = domain.d
        promise = Promise(judge.belief(self._seen(np.array(pending).reshape(-1, d))), beta)
        away = self._seen(np.array(avoid).reshape(-1, d))
        read = np.unique(self._seen(np.array([reading.u for reading in self.told])), axis=0)
        read = read[np.argsort(-judge.predict(read)[0], kind="stable")]
        if isinstance(domain, Box):
            return best_point(promise, domain, read, away, t)
        chosen: Floats = domain.points[best_candidate(promise, self._seen(domain.points), read, away)]
        return chosen

    def _seen(self, U: Floats) -> Floats:
        """Points, (k, d), as hypotheses see them: on the unit cube, or as the kernel given does."""
        if self.plan.kernel is not None or self.plan.assumptions is not None:
            return U
        low, side = self._range()
        return (U - low) / side

    def _design(self, t: int, avoid: Sequence[Floats]) -> Floats:
        """The t-th point of the design, or the next one that is not to be avoided; else a candidate."""
        domain, d = self.domain, self.domain.d
        box = domain if isinstance(domain, Box) else Box([0.0] * d, [1.0] * d)
        stream = int(2**32 * self.seed.uniform(0))
        low, side = self._range()
        for u in np.roll(box.sobol(256, stream), 1 - t, axis=0):
            point: Floats = u
            if isinstance(domain, Grid):
                nearest = np.argmin((((domain.points - low) / side - u) ** 2).sum(axis=1))
                point = domain.points[nearest]
            if not is_among(point[None], avoid).any():
                return point
        left = self._start.coordinates
        rest: Floats = left[np.argmin(is_among(left, avoid))]
        return rest

    def _range(self) -> tuple[Floats, Floats]:
        """Lower corner and sides of what the kernel sees."""
        if isinstance(self.domain, Box):
            return np.zeros(self.domain.d), np.ones(self.domain.d)
        low, high = self.domain.points.min(axis=0), self.domain.points.max(axis=0)
        return low, np.where(high > low, high - low, 1.0)
