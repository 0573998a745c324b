"""Initial design, fit, then an algorithm: what `Study` and the Optuna sampler ask and tell."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unbribable.decision.algorithm import Algorithm
from unbribable.decision.asking.ahead import is_among
from unbribable.decision.asking.draws import Seed
from unbribable.decision.proposal import Query, Reading
from unbribable.decision.proven.stated import Stated
from unbribable.doubt.hypotheses import Known, location_and_scale
from unbribable.doubt.judge import Judge, last_stop
from unbribable.doubt.shared import codes
from unbribable.doubt.suspect import Suspect
from unbribable.model.box import Box, Candidates
from unbribable.model.checks import Floats
from unbribable.model.domain import Grid, allowed_of
from unbribable.model.kernels import Stationary
from unbribable.study.choose import Promise, best_candidate, best_point
from unbribable.study.fitted import Model, check_sizes, corrected, fitted, given, own_noise
from unbribable.study.plan import Plan
from unbribable.study.trial import Told, Trial

N_AT_ONCE = 256
"""From this many readings on, those that a model was fitted to are learned in one go."""

N_SD = 3.0
"""Standard deviations by which a correction may be wrong where something is guaranteed."""

N_NEAR = 32
"""How many of the latest failed points count as pending, so that their surroundings are avoided too."""


class Engine:
    """Holds changing state: the log of a run, and what was worked out from it when it was asked for.

    The host numbers the rounds, from 1. In the initial design round t reads the t-th point of a Sobol
    sequence that the seed scrambles. Once n_design readings are told, whatever the user did not assume
    is fitted to them, and again as more arrive (`Judge`). Everything is a function of plan,
    seed and the log: when, and in how many steps, it is worked out does not matter.

    Attributes:
        domain: Where to search.
        plan: What the user said.
        seed: Of the initial design.
        log: Every round that was told or lost, by number, in that order. One in another state (its
            reading taken out, the reason of its loss known) keeps its place.
        n_design: Readings of the initial design.
    """

    def __init__(self, domain: Grid | Box, plan: Plan, seed: Any = None) -> None:
        self.domain = domain
        self.plan = plan
        self.seed = Seed.of(seed)
        self.log: dict[int, Trial] = {}
        self.n_design = plan.n_design(domain.d)
        plan.check_confirm(domain.d)
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
        self._fitted_at = self._corrected_at = -1
        self._n_lies: int | None = None
        self._model = self._given()
        self._noise: Floats = np.empty(0)
        self._algorithm: Algorithm | None = None
        self._judge: Judge | None = None

    # --- ask and tell --------------------------------------------------------------------------

    def ask(self, t: int, pending: Sequence[Floats] = (), where: Grid | Box | None = None) -> Query:
        """The point of round t: in the last `confirm` rounds of the plan, the recommended one.

        A point without a reading is not asked again, unless it was read at least as often or no other
        is left; nor is one whose reading is false for certain, from the second one around there on. The
        latest ones also count as pending, so that the choice keeps away from them.

        Args:
            t: The round, from 1.
            pending: Points that are being read elsewhere, as the kernel sees them.
            where: The part of the domain to ask in, see `Space.at`; all of it if None.
        """
        near, avoid = self._kept_away()
        pending = [*pending, *near]
        if not self.is_ready:
            n_more = sum(trial.replicate_of is not None and trial.t < t for trial in self.log.values())
            u = self._design(t - n_more, avoid, where or self.domain)
        elif where is None and (known := self._confirming(t, avoid)) is not None:
            u = known
        elif self.plan.explore is not None and self.told:
            u = self._promising(t, pending, avoid, self.plan.explore, where or self.domain)
        else:
            algorithm = self.algorithm()
            u = algorithm.query_at(t, algorithm.drawn(t), pending, avoid, where).u
        return Query(t, self.x_of(u), u, index=None, instance=None)

    def trial(self, t: int, x: Any, y: float | None, **fields: Any) -> Trial:
        """Round t at x, for `take`; refuses a point outside. y was checked by `checks.reading`."""
        u = self._start.coordinates_of(x)
        return Trial(t, self.x_of(u), None, y, u=u, **fields)

    def take(self, trial: Trial) -> None:
        """Take in a round, or one that was taken in already in another state.

        A reading is learned. Without one, nothing is learned, its point is not asked for again, and the
        guarantee says how many readings are missing; it is void where one of them is missing because of
        its value. If a reading was taken out, everything is as if it had never been told; unless the
        reason had nothing to do with its value, nothing is guaranteed from then on.
        """
        before = self.log.get(trial.t)
        self.log[trial.t] = trial  # first of all: what Ctrl-C finds here is not lost
        if trial.retracted is not None or (before is not None and before.y is not None):
            self.scored = self._algorithm = self._judge = None
            self._fitted_at = self._corrected_at = -1
            self._model = self._given()

    def u_of(self, x: Any) -> Floats:
        """A point in the user's units as the kernel sees it, checked."""
        return self._start.coordinates_of(x)

    def x_of(self, u: Floats) -> Floats:
        """A point as the kernel sees it, (d,) or (n, d), in the user's units."""
        return self._start.x_of(u)

    def replayed(self, trials: Iterable[Trial]) -> "Engine":
        """An engine for the same run that was told these trials; it learns when it is asked."""
        again = Engine(self.domain, self.plan, self.seed)
        again.log = {trial.t: trial for trial in trials}
        return again

    def settled(self) -> "Engine | None":
        """Itself; before its design is read, one fitted to what there is; None without a reading."""
        n_read = len({each.asked_in for each in self.told})
        if not n_read:
            return None
        if self.is_ready:
            return self
        early = Engine(self.domain, replace(self.plan, n_init=n_read), self.seed)
        early.log = self.log
        return early

    # --- what follows from the readings ----------------------------------------------------------

    @property
    def readings(self) -> list[Told]:
        """All readings, in the order of telling."""
        return [told for trial in self.log.values() if (told := trial.told) is not None]

    @property
    def told(self) -> list[Told]:
        """Those that may be honest: what anything is concluded from."""
        return [each for each in self.readings if not self.plan.is_false(each.y)]

    @property
    def false(self) -> list[Told]:
        """The others, which are false for certain, as the user states."""
        return [each for each in self.readings if self.plan.is_false(each.y)]

    @property
    def has_blocks(self) -> bool:
        """Whether a reading was told with a block."""
        return any(reading.block is not None for reading in self.told)

    @property
    def is_corrected(self) -> bool:
        """Whether readings share something besides f, which is estimated and taken off them."""
        return self.plan.drift or len({reading.block for reading in self.told}) > 1

    @property
    def lost(self) -> dict[int, bool]:
        """Round without a reading -> whether its value is the reason."""
        return {t: trial.because_of_value for t, trial in self.log.items() if trial.is_lost}

    @property
    def is_selected(self) -> bool:
        """Whether a reading may be missing because of its value."""
        retracted = [each.retracted for each in self.log.values() if each.retracted is not None]
        return any(self.lost.values()) or not all(retracted)

    @property
    def last_row(self) -> int:
        """The last round that came in a table; 0 if there was none."""
        return max((t for t, trial in self.log.items() if trial.is_row), default=0)

    @property
    def is_ready(self) -> bool:
        """Whether there is a model: always where it is assumed, else once the design is read."""
        return self._n_first is not None

    @property
    def n_table(self) -> int:
        """How many of the readings, the first ones, are in no order: up to the last row of a table."""
        is_row = [trial.is_row for trial in self.log.values() if trial.y is not None]
        return max((n for n, row in enumerate(is_row, 1) if row), default=0)

    @property
    def n_complete(self) -> int:
        """How many rounds there are before the first open one: a proof may rest on their readings.

        Which later ones are there already may depend on their values. 0, if that would cut a table.
        """
        n = next(n for n in range(len(self.log) + 1) if n + 1 not in self.log)
        return n if self.last_row <= n else 0

    @property
    def n_readings(self) -> int:
        """Readings there are and will be: of the rounds planned, and those whose points the user chose.

        Each round that is still to come has as many as those so far had on average. If more were told,
        or nobody said how many are planned, at least that many, in steps of an eighth: algorithms that
        depend on it start anew.
        """
        readings, n_planned = self.readings, 1
        n_told = len(readings)
        if self.plan.n_rounds is not None:
            n_given = sum(reading.is_given for reading in readings)
            n_own = sum(not trial.is_given for trial in self.log.values())
            n_evaluations = sum(trial.is_evaluation for trial in self.log.values())
            n_rounds = self.plan.n_rounds
            n_planned = n_given + (-(-n_rounds * n_own // n_evaluations) if n_evaluations else n_rounds)
        if n_told <= n_planned:
            return n_planned
        step = last_stop(n_told, 0)
        return n_told if step == n_told else step + step // 8

    def fit(self) -> Model:
        """The cautious model: given, or fitted to the readings so far.

        Where readings are corrected its noise has room for what is wrong with that, see `corrected`.

        Raises:
            RuntimeError: The initial design is not read yet; see `is_ready`.
        """
        if not self.is_ready:
            raise RuntimeError(
                f"a fit needs the {self.n_design} readings of the initial design, got {len(self.told)}"
            )
        n_told = len(self.told)
        is_stale = self.is_corrected and n_told not in (0, self._corrected_at)
        if self.plan.assumptions is None:
            judge = self.judge()
            at = judge.n_followed
            if at != self._fitted_at or is_stale:
                told = self.corrected[:at]
                points = np.array([reading.u for reading in told])
                y = self.plan.sign * np.array([reading.y for reading in told])
                self._model = fitted(self.plan, judge.chains, points, y, self._range()[1])
                self._algorithm = None
                self._corrected_at = -1
                self._fitted_at = at  # last, so that an interrupt leaves nothing half done
        if is_stale:
            model = self._model if self.plan.assumptions is None else self._given()
            assert model is not None
            self._algorithm = None
            own = np.array([own_noise(each, model) for each in self.told])
            self._model, self._noise = corrected(model, self.within, own)
            self._corrected_at = n_told
        assert self._model is not None
        return self._model

    def model(self) -> Model:
        """What guarantees rest on; needs what `fit` needs."""
        return self.fit()

    @property
    def within(self) -> Floats:
        """By how much each correction may be wrong, in the user's unit, (n,).

        N_SD of its standard deviation, and none is taken for more certain than the one in the middle.
        """
        sd = self.judge().offsets()[1]
        within: Floats = N_SD * np.maximum(sd, np.median(sd))
        return within

    @property
    def noise(self) -> Floats:
        """The noise of each corrected reading over the assumed one, (n,); needs what `fit` needs."""
        self.fit()
        return self._noise

    def offsets(self) -> dict[str | float | None, tuple[float, float]]:
        """The offset of each block and its standard deviation: heuristic. Empty where there are none.

        Needs a model.
        """
        if not self.has_blocks:
            return {}
        mean, sd = self.judge().of_blocks()
        names = dict.fromkeys(reading.block for reading in self.told)
        pairs = zip((self.plan.sign * mean).tolist(), sd.tolist(), strict=True)
        return dict(zip(names, pairs, strict=True))

    @property
    def corrected(self) -> list[Told]:
        """What was told less what readings share besides f, where they do: what counts."""
        if not self.is_corrected or not self.told:
            return self.told
        offsets = self.plan.sign * self.judge().offsets()[0]
        return [
            told._replace(y=told.y - off) for told, off in zip(self.told, offsets.tolist(), strict=True)
        ]

    def algorithm(self) -> Algorithm:
        """The algorithm whose bounds hold, after learning all that was told; needs what `fit` needs.

        In place of a reading that is false for certain it learns the nearest possible one.
        """
        model, n_table, plan = self.model(), self.n_table, self.plan
        readings, n_lies = self._learned(model), None if plan.lies is None else self.n_lies
        is_new = self._algorithm is None or self._algorithm.journal.n_table != n_table
        if is_new or self._n_lies != n_lies:
            scale, n = model.units.scale, n_lies or 0
            self._algorithm = plan.algorithm(self.domain, model.assumptions, scale, n, self.seed)
            self._n_lies = n_lies
            self._algorithm.is_quiet = n_lies is not None  # the answer counts as many lies as it takes
            retracted = {t: trial.retracted for t, trial in self.log.items()}
            gone = {t: reason for t, reason in retracted.items() if reason is not None}
            self._algorithm.journal.retracted.update(gone)
            self._algorithm.journal.n_table = n_table
            if self._fitted_at >= N_AT_ONCE:
                last = self.told[self._fitted_at - 1].t
                n = 1 + next(k for k, each in enumerate(readings) if each.t == last)
                self._algorithm.learn(readings[:n])
        assert self._algorithm is not None
        told = {each.t: each for each in readings}
        algorithm, n_left = self._algorithm, len(self._algorithm.readings)
        for trial in self.log.values():  # in their order: who learns what may depend on what is lost
            if trial.is_lost:
                algorithm.lose(trial.t, because_of_value=trial.because_of_value)
            elif trial.told is not None and n_left:
                n_left -= 1
            elif trial.told is not None:
                algorithm.learn(told[trial.t])
        return algorithm

    @property
    def n_lies(self) -> int:
        """How many readings may be lies, where lies are counted: at least those that are for certain."""
        return max(self.plan.n_lies(self.n_readings), len(self.false))

    def stated(self) -> Stated:
        """What the user states of the readings, in units of the model; needs what `fit` needs."""
        if self.plan.reading_range is None:
            return Stated()
        low, high = sorted(self.model().units.to_model(end) for end in self.plan.reading_range)
        return Stated(low, high, frozenset(each.t for each in self.false))

    def judge(self) -> Judge:
        """What is thought of all that was told: a heuristic, on which no guarantee rests.

        Raises:
            RuntimeError: There is no reading yet, or the initial design is not read; see `is_ready`.
            ValueError: An amount that is given exceeds what the readings differ by beyond all measure.
        """
        told, n_first = self.told, self._n_first
        if n_first is None or not told:
            n = max(self.n_design, 1)
            raise RuntimeError(f"a judgement needs {n} reading{'s' * (n > 1)}, got {len(told)}")
        if self._judge is None or self._judge.n_first != n_first:  # a table may be added later
            plan, assumed = self.plan, self.plan.assumptions
            kernel = plan.kernel if assumed is None else assumed.kernel
            noise_std = plan.noise_std if assumed is None else assumed.noise_std
            center = None if isinstance(kernel, Stationary | None) else 0.0
            known = Known(kernel, noise_std, center)
            self._judge = Judge(known, n_first, has_drift=plan.drift)
            self._fitted_at = -1
        y = self.plan.sign * np.array([reading.y for reading in told])
        if self.plan.assumptions is None:
            check_sizes(self.plan, location_and_scale(y)[1])
        rounds = np.array([reading.t for reading in told], dtype=np.intp)
        sem = None
        if any(reading.sem for reading in told):
            sem = np.array([reading.sem or np.nan for reading in told])
        blocks = codes([reading.block for reading in told])
        seen = self._seen(np.array([reading.u for reading in told]))
        self._judge.learn(seen, y, rounds, sem, blocks)
        return self._judge

    def predict(self, U: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation of f at U, (k, d), as the kernel sees it, in the user's units.

        An estimate, not a guarantee. Needs a reading.
        """
        mean, sd = self.judge().predict(self._seen(U))
        return self.plan.sign * mean, sd

    def may_be_advised(self, among: Sequence[Floats] | None = None) -> Sequence[Floats] | None:
        """The points read that may be advised, as the kernel sees them; None: all of them.

        Args:
            among: Those in question; all if None.
        """
        if self.domain.allows is None:
            return among
        read = np.array([reading.u for reading in self.told] if among is None else among)
        read = read.reshape(-1, self.domain.d)
        return list(read[allowed_of(self.domain.allows, read)])

    def incumbent(self, among: Sequence[Floats] | None = None) -> Floats | None:
        """The point read with the best value to expect, in the user's units.

        One whose readings all look false only where there is no other.

        Args:
            among: Those that may be, as the kernel sees them; all if None.

        Returns:
            None if no reading was told of them, or none that is of an allowed point.
        """
        best = self._best_read(among)
        return None if best is None else self.x_of(best)

    def most_promising(self, beta: float) -> Floats:
        """Where mean + beta * standard deviation of f is largest, as the kernel sees it, (d,).

        Of what is found among the points that may be asked, as if nothing were being read elsewhere.
        Needs a reading.
        """
        near, avoid = self._kept_away()
        return self._promising(len(self.log) + 1, near, avoid, beta, self.domain)

    # --- inside --------------------------------------------------------------------------------

    def _confirming(self, t: int, avoid: Sequence[Floats]) -> Floats | None:
        """The recommended point, where round t is to read it: a choice that the past makes."""
        n_more = sum(not trial.is_evaluation and trial.t < t for trial in self.log.values())
        if not self.plan.confirms(t - 1 - n_more):
            return None
        if self.plan.explore is not None:
            best = self._best_read()
        else:
            algorithm = self.algorithm()
            best = algorithm.candidates.coordinates[algorithm.recommend().index]
        return None if best is None or is_among(best[None], avoid).any() else best

    def _best_read(self, among: Sequence[Floats] | None = None) -> Floats | None:
        """`incumbent`, as the kernel sees it."""
        among = self.may_be_advised(among)
        U = np.array([reading.u for reading in self.told]).reshape(-1, self.domain.d)
        may = np.ones(len(U), dtype=np.bool_) if among is None else is_among(U, among)
        if not may.any():
            return None
        honest = U[~self.judge().verdict().is_flagged]
        is_honest = may & is_among(U, np.unique(honest, axis=0))
        places = np.flatnonzero(is_honest if is_honest.any() else may)
        best = places[np.argmax(self.judge().predict(self._seen(U[places]))[0])]
        found: Floats = U[best]
        return found

    def _given(self) -> Model | None:
        """The model that the user has given; None where it is to be fitted."""
        assumed = self.plan.assumptions
        return None if assumed is None else given(assumed, self.plan.sign)

    @property
    def _n_first(self) -> int | None:
        """Readings from which there is a judgement: those of the design and of a table; at least 1.

        None: the design is not read yet. Of an evaluation that was read several times one counts.
        """
        seen: set[int] = set()
        n_first = 1 if not self.n_design else None
        for n, each in enumerate(self.told, 1):
            seen.add(each.asked_in)
            if n_first is None and len(seen) == self.n_design:
                n_first = n
            if n_first is not None and each.is_row:
                n_first = max(n, n_first)
        return n_first

    def _learned(self, model: Model) -> list[Reading]:
        """All readings as an algorithm with this model is told them, in their order."""
        if not self.is_corrected:
            return [self._in_model(each, model, own_noise(each, model)) for each in self.readings]
        noises = zip(self.corrected, self.noise.tolist(), strict=True)
        known = {told.t: (told, noise) for told, noise in noises}  # others are false for certain
        pairs = [known.get(each.t, (each, own_noise(each, model))) for each in self.readings]
        return [self._in_model(told, model, noise) for told, noise in pairs]

    def _in_model(self, told: Told, model: Model, noise: float) -> Reading:
        """A reading as an algorithm with this model is told it.

        Args:
            told: The reading.
            model: The model.
            noise: Its noise over the assumed one.
        """
        y, lam = model.units.to_model(self.plan.nearest(told.y)), model.assumptions.lam * noise**2
        chosen_by = "algorithm" if told.asked_in == told.t else "design"
        return Reading(
            told.t, told.u, y, None, "", lam, chosen_by="user" if told.is_given else chosen_by
        )

    def _kept_away(self) -> tuple[list[Floats], list[Floats]]:
        """Points whose surroundings are avoided too, and points that are not asked at all."""
        lost = sorted((trial for trial in self.log.values() if trial.is_lost), key=lambda each: each.t)
        failed = [trial.u for trial in lost if trial.u is not None and not trial.may_repeat]
        again = self._false_again()
        near = [*failed[-N_NEAR:], *again[-N_NEAR:]]
        return near, [*self._without_reading(failed), *again]

    def _false_again(self) -> list[Floats]:
        """The points of readings that are false for certain, but for the first one around there.

        A lie is read over, a place where the instrument always fails is not: another one came before
        that is nearer than every reading that may be honest.
        """
        read, before, found = np.array([each.u for each in self.told]), list[Floats](), list[Floats]()
        for each in self.false:
            u = self._seen(each.u)
            reach = np.min(np.abs(self._seen(read) - u).max(axis=1)) if len(read) else np.inf
            if any(np.abs(other - u).max() < reach for other in before):
                found.append(each.u)
            before.append(u)
        return found

    def _without_reading(self, failed: Sequence[Floats]) -> list[Floats]:
        """The points among them that failed more often than they gave a reading.

        So one failure does not rule out a point that was read, before or after, and one that has come
        to fail always costs at most one round more than it has readings.
        """
        gone = np.array(failed)
        read = np.array([reading.u for reading in self.told]).reshape(-1, self.domain.d)
        return [u for u in gone if is_among(gone, [u]).sum() > is_among(read, [u]).sum()]

    def _promising(
        self,
        t: int,
        pending: Sequence[Floats],
        avoid: Sequence[Floats],
        beta: float,
        domain: Grid | Box,
    ) -> Floats:
        """The most promising point of a domain for round t, after the pending ones."""
        judge, d = self.judge(), domain.d
        promise = Promise(judge.belief(self._seen(np.array(pending).reshape(-1, d))), beta)
        away = self._seen(np.array(avoid).reshape(-1, d))
        read = np.unique(self._seen(np.array([reading.u for reading in self.told])), axis=0)
        read = read[np.argsort(-judge.predict(read)[0], kind="stable")]
        if isinstance(domain, Box):
            return best_point(promise, domain, read, away, t)
        points = domain.points if domain.allowed is None else domain.points[domain.allowed]
        chosen: Floats = points[best_candidate(promise, self._seen(points), read, away)]
        return chosen

    def _seen(self, U: Floats) -> Floats:
        """Points, (k, d), as hypotheses see them: on the unit cube, or as the kernel given does."""
        if self.plan.kernel is not None or self.plan.assumptions is not None:
            return U
        low, side = self._range()
        return (U - low) / side

    def _design(self, t: int, avoid: Sequence[Floats], domain: Grid | Box) -> Floats:
        """The t-th point of a domain's design, or the next one not to be avoided; else a candidate."""
        d, candidates = domain.d, self._start if domain is self.domain else Candidates(domain)
        box = domain if isinstance(domain, Box) else Box([0.0] * d, [1.0] * d)
        stream = int(2**32 * self.seed.uniform(0))
        low, side = self._range()
        left, points = candidates.compared, box.sobol(256, stream)
        if box.allows is not None:
            points = np.concatenate([points[box.allows(points)], left])
        for u in np.roll(points, 1 - t, axis=0):
            point: Floats = u
            if isinstance(domain, Grid):
                point = left[np.argmin((((left - low) / side - u) ** 2).sum(axis=1))]
            if not is_among(point[None], avoid).any():
                return point
        rest: Floats = left[np.argmin(is_among(left, avoid))]
        return rest

    def _range(self) -> tuple[Floats, Floats]:
        """Lower corner and sides of what the kernel sees."""
        if isinstance(self.domain, Box):
            return np.zeros(self.domain.d), np.ones(self.domain.d)
        low, high = self.domain.points.min(axis=0), self.domain.points.max(axis=0)
        return low, np.where(high > low, high - low, 1.0)
