"""One learner inside an algorithm: its belief, and the interval it gives each candidate."""

import copy
from collections.abc import Sequence
from functools import partial

import numpy as np

from unbribable.decision.options import Options
from unbribable.decision.proven.energy import EnergyBounds
from unbribable.decision.proven.levels import AtLevel, LevelBounds, LevelShift
from unbribable.model.belief import BeliefAt
from unbribable.model.checks import Bools, Floats, Ints
from unbribable.model.posterior import Posterior
from unbribable.model.tally import Heard
from unbribable.theory.assumptions import Assumptions
from unbribable.theory.budgets import N_EVENTS
from unbribable.theory.differences import DifferenceBounds, Differences
from unbribable.theory.exact_shift import ClosedFormShift, ExactShift, Shift
from unbribable.theory.information_gain import MaxInformationGain
from unbribable.theory.widths import Proportional, TightNoise, Width, noise_width_paper, radius

_NO_COLUMNS: Floats = np.zeros((0, 0))
"""Those of all candidates would be all of R; no noise width needs them."""


class Instance:
    """Holds changing state: what one learner believes, and the interval it gives each candidate.

    Args:
        label: Its name in the algorithm.
        X: The candidates as the kernel sees them, (n, d).
        assumptions: What the guarantee rests on.
        options: Which widths to use.
        C: The corruption that can reach this instance.
        delta: The probability with which its noise width may fail.
        gamma: Certified bound on the maximum information gain, for `gain="certified"`.
        levels: Corruptions, ascending, at each of which to keep bounds besides; see `at_levels`.
            None: there are none, and none follow.

    Attributes:
        n_readings: How many readings it holds.
        is_behind: Whether some readings may not be used by the bounds yet, because an earlier round is
            open.
        at_levels: What it says at each of `levels`.
        posterior: The belief.
        mu: Posterior mean, (n,).
        sigma: Posterior standard deviation, (n,).
        noise_width: Noise part of the width, at any belief.
        noise: The same at the candidates, (n,).
        ucb_bar: Running minimum of mu + width over this instance's clock, (n,).
        lcb_bar: Running maximum of mu - width, (n,).
        levels: Bounds at further corruptions, if there are any.
        energy: Bounds by the energy of the noise, with `noise="energy"`.
    """

    def __init__(
        self,
        label: str,
        X: Floats,
        assumptions: Assumptions,
        options: Options,
        *,
        C: float,
        delta: float,
        gamma: MaxInformationGain | None = None,
        levels: Sequence[float] | None = None,
    ) -> None:
        self.label = label
        self.C = C
        self.delta = delta
        self.assumptions = assumptions
        self._tolerance = assumptions.tolerance
        self.options = options
        self.n_readings = 0
        self.is_behind = False
        self.at_levels = tuple(
            AtLevel(self, f"{label}-{k + 1}", budget, k) for k, budget in enumerate(levels or ())
        )
        self._gamma = gamma
        self.posterior = Posterior(
            assumptions.kernel,
            X,
            assumptions.lam,
            tracks_noise_var=options.noise != "paper" and options.beta is None,
            n_deferred_max=1 if options.width == "exact" and (C > 0.0 or levels is not None) else 16,
            is_careful=options.beta is None,
        )
        self._is_top = levels is not None and len(levels) > 0 and levels[-1] == C
        self._shift = self._new_shift(C)
        # That of the highest level is known already, and this one seldom asked for: then it waits.
        self._is_shift_old = False
        self.levels: LevelBounds | None = None
        self.energy: EnergyBounds | None = None
        if options.noise == "energy" and options.beta is None:
            self.energy = EnergyBounds(X, assumptions, self._share)
        self._ucb: Floats | None = None
        self._source: DifferenceBounds | None = None
        self._work_out()
        self.ucb_bar: Floats = self.mu + self.width
        self.lcb_bar: Floats = self.mu - self.width
        if self.energy is not None:
            self.lcb_bar, self.ucb_bar = self.energy.intersected(self.lcb_bar, self.ucb_bar)
        if levels is not None:
            cap, width = assumptions.c_max, options.width
            self.levels = LevelBounds(levels, cap, width, self.posterior, self.noise)
        is_uncertain = self.sigma > 0.0
        ratios = self.ucb_bar[is_uncertain] / self.sigma[is_uncertain]
        self._first = float(np.max(ratios, initial=0.0))

    @property
    def now(self) -> "Instance":
        """Itself. `AtLevel.now` makes an instance with the bounds of its level."""
        return self

    @property
    def shift(self) -> Shift:
        """Corruption part of the width, known as far as it was needed."""
        if self._is_shift_old:
            self._shift.extend(is_rebuilt=True)
            self._is_shift_old = False
        return self._shift

    @property
    def ucb(self) -> Floats:
        """mu + width, (n,), where the shift is not open; less where the energy says so."""
        if self._ucb is None:
            self._ucb = self.mu + (self.noise + self.shift.high)
            if self.energy is not None:
                self._ucb = np.minimum(self._ucb, self.energy.upper)
        return self._ucb

    @property
    def lcb(self) -> Floats:
        """mu - width, (n,), where the shift is not open; more where the energy says so."""
        lcb: Floats = self.mu - (self.noise + self.shift.high)
        return lcb if self.energy is None else np.maximum(lcb, self.energy.lower)

    @property
    def width(self) -> Floats:
        """Noise part plus shift at every candidate, (n,); solves whatever was left open."""
        self.shift.resolve(np.arange(len(self.mu)))
        return self.noise + self.shift.high

    @property
    def is_crossed(self) -> bool:
        """Whether bounds are `crossed`: with probability at least 1 - delta an assumption is false."""
        return crossed(self.ucb_bar, self.lcb_bar, self.assumptions.B0, self._tolerance)

    def width_at(self, i: int) -> float:
        """The width at candidate i."""
        if self.shift.is_open:
            self.shift.resolve(np.array([i]))
        return float(self.noise[i] + self.shift.high[i])

    def first_width(self, U: Floats) -> Floats:
        """The width before any reading, when the mean was zero, at points U: a multiple of sigma."""
        width: Floats = self._first * np.sqrt(self.posterior.kernel.diag(U))
        return width

    def source(self, rec: int) -> DifferenceBounds | None:
        """Bounds on how much better than candidate `rec` the others are; good until the next reading.

        O(m n), and kept for the candidate asked for last. Void where beta is given, as all bounds are.
        None without a reading, and while this instance is behind: its belief then rests on readings
        that no bound may rest on yet.
        """
        if self.is_behind or not self.n_readings:
            return None
        if self._source is None or self._source.differences.rec != rec:
            p = self.posterior
            row = p.tally.row.get(rec)
            covariance = p.rows_of([rec], p.X)[0] if row is None else p.times(np.eye(1, p.m, row)[0])
            columns = partial(p.columns, changes_nothing=True)
            differences = Differences(
                rec, p.mu, p.var, covariance, columns, p.prec, *p.tally.items, p.tally.item_counts
            )
            noise = differences.noise(self.assumptions.B, self._radius(), self.options.noise)
            self._source = DifferenceBounds(differences, noise, self.C, self.assumptions.c_max)
        return self._source

    # --- levels --------------------------------------------------------------------------------

    def begin_level(self, C: float) -> None:
        """Keep bounds at a further corruption, above all others.

        They begin with the current ones, or, while this is behind, with those after the next reading on
        which bounds may rest.
        """
        assert self.levels is not None
        self.levels.begin(C, self._first)
        if not self.is_behind:
            self.levels.intersect(self)

    def at_level(self, k: int) -> "Instance":
        """This belief with the widths and bounds of a level; good until the next reading."""
        levels = self.levels
        assert levels is not None
        shifts = levels.current(self.posterior)
        shift = LevelShift(shifts[k], levels.formula(k, self.posterior))
        return self._with(float(levels.budgets[k]), shift, levels.upper[k], levels.lower[k])

    def beginning(self, C: float) -> "Instance":
        """`at_level` for a level that would begin now, with the current bounds unless this is behind."""
        shift = self._new_shift(C)
        shift.extend(is_rebuilt=True)
        shift.resolve(np.arange(len(self.mu)))
        width = self.noise + shift.high if not self.is_behind else np.full(len(self.mu), np.inf)
        return self._with(C, shift, self.mu + width, self.mu - width)

    def _with(self, C: float, shift: Shift, ucb_bar: Floats, lcb_bar: Floats) -> "Instance":
        other = copy.copy(self)
        other.C, other._shift, other.ucb_bar, other.lcb_bar = C, shift, ucb_bar, lcb_bar
        other._is_shift_old = False
        other.levels = other._ucb = other._source = None
        return other

    # --- learning ------------------------------------------------------------------------------

    def learn(self, i: int, y: float, lam: float | None = None, *, settles: bool = True) -> None:
        """Take in a reading of candidate i; one tick of this instance's clock.

        Args:
            i: The candidate.
            y: The reading.
            lam: Its fictitious noise, the assumed one if None.
            settles: Whether to intersect the bounds now. Not while an earlier reading is still to
                come: which ones are there could then depend on their values. See `settle`.
        """
        if self._is_top:
            self.posterior.observe(i, y, lam)
            self._is_shift_old = True
        else:
            if self.shift.is_open:  # the bracket follows from its value before the reading
                self.shift.resolve(np.array([i]))
            prior = None if self.energy is None else self.posterior.prior_of(i)
            self.shift.follow(i, self.posterior.observe(i, y, lam, prior))
            if self.energy is not None:
                self.energy.observe(i, y, 1.0 if lam is None else lam / self.assumptions.lam, prior)
        self.n_readings += 1
        self.is_behind = True
        self._work_out()
        if settles:
            self.settle()

    def learn_all(self, readings: Sequence[Heard]) -> None:
        """Take in readings at once, before any other; `settle` is still to come."""
        if not readings:
            return
        self.posterior.observe_all(readings)
        if self.energy is not None:
            self.energy.observe_all([(i, y, lam / self.assumptions.lam) for i, y, lam in readings])
        self.n_readings = len(readings)
        self.is_behind = self._is_shift_old = True
        self._work_out()

    def settle(self) -> bool:
        """Intersect the bounds with what all readings say now. Returns whether there were new ones."""
        if not self.is_behind:
            return False
        self.is_behind = False
        self.intersect()
        return True

    def extend(self, X: Floats) -> None:
        """Take in further candidates: X is all of them, the old ones first.

        A new candidate starts from the bounds it had before any reading and, unless this instance is
        behind, its current ones: they are valid, and nothing else is known of its past.
        """
        new = np.arange(len(self.mu), len(X))
        self.shift.extend(self.posterior.extend(X))
        if self.energy is not None:
            self.energy.extend(X)
        self._work_out()
        first = self.first_width(X[new])
        self.ucb_bar = np.concatenate([self.ucb_bar, first])
        self.lcb_bar = np.concatenate([self.lcb_bar, -first])
        if self.levels is not None:
            self.levels.start(np.sqrt(self.posterior.kernel.diag(X[new])))
        if not self.is_behind:
            self.shift.resolve(new)
            self.ucb_bar[new] = np.minimum(self.ucb_bar[new], self.ucb[new])
            self.lcb_bar[new] = np.maximum(self.lcb_bar[new], self.lcb[new])
            if self.levels is not None:
                self.levels.intersect(self, new)

    def intersect(self) -> None:
        """ucb_bar = min(ucb_bar, mu + width), lcb_bar = max(lcb_bar, mu - width) [BKS20, Eqs. 17, 18].

        Where even the smallest possible width cannot tighten a bound, the exact one is not solved:
        there the largest possible one tightens nothing either. The highest level's bounds are these.
        """
        levels = self.levels
        if levels is not None:
            levels.intersect(self)
        if levels is not None and self._is_top:
            self.ucb_bar[:], self.lcb_bar[:] = levels.upper[-1], levels.lower[-1]
        else:
            if self.shift.is_open:
                where = np.flatnonzero(self._may_tighten(slice(None)))
                self.shift.narrow(where)
                self.shift.resolve(where[self._may_tighten(where)])
            width = self.noise + self.shift.high if self.C > 0.0 else self.noise
            lcb, self._ucb = self.mu - width, self.mu + width
            if self.energy is not None:
                lcb, self._ucb = self.energy.intersected(lcb, self._ucb)
            np.minimum(self.ucb_bar, self._ucb, out=self.ucb_bar)
            np.maximum(self.lcb_bar, lcb, out=self.lcb_bar)

    def summary(self) -> dict[str, float]:
        """Where it stands, as plain data."""
        return {
            "readings": self.n_readings,
            "points": self.posterior.m,
            "corruption": self.C,
            "delta": self.delta,
            "gain": self.posterior.gain,
            "rebuilds": self.posterior.n_rebuilds,
            "floored": self.posterior.n_floored,
        }

    # --- inside --------------------------------------------------------------------------------

    def _may_tighten(self, where: Ints | slice) -> Bools:
        """At which of these candidates the smallest possible width would tighten a bound."""
        mu, width = self.mu[where], self.noise[where] + self.shift.low[where]
        is_tighter: Bools = mu + width < self.ucb_bar[where]
        is_tighter |= mu - width > self.lcb_bar[where]
        return is_tighter

    def _new_shift(self, C: float) -> Shift:
        cap = self.assumptions.c_max
        if self.options.width == "exact" and C > 0.0:
            return ExactShift(self.posterior, C, cap)
        return ClosedFormShift(self.posterior, C, None if self.options.width == "paper" else cap)

    def _work_out(self) -> None:
        """Work out mean, sigma and the noise part for the next choice, from the readings so far."""
        p = self.posterior
        self.mu, self.sigma, noise_var = p.mu, np.sqrt(p.var), p.noise_var
        self.noise_width = self._new_noise_width()
        at = BeliefAt(self.mu, p.var, self.sigma, noise_var, _NO_COLUMNS)
        self.noise: Floats = self.noise_width.value(at)
        self._ucb = None
        self._source = None
        if self.levels is not None:
            self.levels.renew(len(p.mu))

    def _new_noise_width(self) -> Width:
        if self.options.beta is not None:
            return Proportional(self.options.beta_at(self.posterior.tally.n_readings + 1))
        B, rho = self.assumptions.B, self._radius()
        if self.options.noise == "paper":
            return Proportional(noise_width_paper(B, rho, 1.0))
        return TightNoise(B, rho)

    def _radius(self) -> float:
        """rho, at the share of delta that this noise width takes."""
        gain = self._gamma(self.posterior.tally.n_readings) if self._gamma else self.posterior.gain
        return radius(self.assumptions.noise_std, self.assumptions.lam, gain, self._share)

    @property
    def _share(self) -> float:
        """The share of delta of each of the events that the noise part rests on."""
        return self.delta / N_EVENTS[self.options.noise]


def crossed(upper: Floats, lower: Floats, B0: float, tolerance: float) -> bool:
    """Whether bounds contradict each other, or B0, somewhere."""
    crossing = lower - upper
    return bool(  # argmax, since it costs a fourth of max
        crossing[crossing.argmax()] > tolerance
        or lower[lower.argmax()] > B0 + tolerance
        or upper[upper.argmin()] < -B0 - tolerance
    )
