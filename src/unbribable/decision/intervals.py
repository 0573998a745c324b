"""A posterior, its widths, and its intersected bounds: what one learner holds."""

import copy
from collections.abc import Sequence

import numpy as np

from unbribable.decision.options import Options
from unbribable.model.checks import Floats
from unbribable.model.posterior import Posterior, Reading
from unbribable.theory.assumptions import Assumptions
from unbribable.theory.exact_shift import ClosedFormShift, ExactShift, Shift
from unbribable.theory.information_gain import MaxInformationGain
from unbribable.theory.widths import (
    noise_width_paper,
    noise_width_tight,
    radius,
    rkhs_bias,
)


class Intervals:
    """Holds changing state: a belief, and the interval it gives each candidate.

    Args:
        X: The candidates as the kernel sees them, (n, d).
        assumptions: What the guarantee rests on.
        options: Which widths to use.
        C: The corruption that can reach the readings.
        delta: The probability with which the noise width may fail.
        gamma: Certified bound on the maximum information gain, for `gain="certified"`.

    Attributes:
        posterior: The belief.
        sigma: Posterior standard deviation, (n,).
        noise: Noise part of the width, (n,).
        shift: Corruption part of the width, known as far as it was needed.
        ucb_bar: Running minimum of mu + width over the readings, (n,).
        lcb_bar: Running maximum of mu - width, (n,).
        is_crossed: Whether lcb_bar has exceeded ucb_bar or B0 somewhere, or ucb_bar fallen below -B0:
            with probability at least 1 - delta an assumption is false.
    """

    def __init__(
        self,
        X: Floats,
        assumptions: Assumptions,
        options: Options,
        *,
        C: float,
        delta: float,
        gamma: MaxInformationGain | None,
    ) -> None:
        self.C = C
        self.delta = delta
        self.assumptions = assumptions
        self.options = options
        self._gamma = gamma
        is_tight = options.noise == "tight" and options.beta is None
        self._is_exact = options.width == "exact" and C > 0.0
        self.posterior = Posterior(
            assumptions.kernel,
            X,
            assumptions.lam,
            tracks_noise_var=is_tight,
            n_deferred_max=1 if self._is_exact else 16,
            is_careful=options.beta is None,
        )
        self.sigma: Floats = np.sqrt(self.posterior.var)
        self.noise: Floats = self._noise_width()
        self.shift: Shift = self._new_shift()
        self.ucb_bar: Floats = self.mu + self.width
        self.lcb_bar: Floats = self.mu - self.width
        self._ucb: Floats | None = None
        is_open = self.sigma > 0.0
        self._first = float(np.max(self.ucb_bar[is_open] / self.sigma[is_open], initial=0.0))
        self.is_crossed = False

    def _new_shift(self) -> Shift:
        cap = self.assumptions.c_max
        if self._is_exact:
            return ExactShift(self.posterior, self.C, cap)
        closed_form = None if self.options.width == "paper" else cap
        return ClosedFormShift(self.posterior, self.C, closed_form, self.sigma)

    @property
    def mu(self) -> Floats:
        """Posterior mean, (n,)."""
        return self.posterior.mu

    @property
    def ucb(self) -> Floats:
        """mu + width, (n,), where the shift is not open."""
        if self._ucb is None:
            self._ucb = self.mu + (self.noise + self.shift.low)
        return self._ucb

    @property
    def width(self) -> Floats:
        """Noise part plus shift at every candidate, (n,); solves whatever was left open."""
        self.shift.resolve(np.arange(len(self.mu)))
        return self.noise + self.shift.high

    def width_at(self, i: int) -> float:
        """The width at candidate i."""
        if self.shift.is_open:
            self.shift.resolve(np.array([i]))
        return float(self.noise[i] + self.shift.high[i])

    def learn(self, i: int, y: float, lam: float | None = None) -> None:
        """Take in a reading of candidate i; the bounds stay, see `intersect`."""
        if self.shift.is_open:
            self.shift.resolve(np.array([i]))
        update = self.posterior.observe(i, y, lam)
        self.sigma = np.sqrt(self.posterior.var)
        if self.C > 0.0:
            self.shift.moved(i, update, self.sigma)
        self.noise = self._noise_width()
        self._ucb = None

    def learn_all(self, readings: Sequence[Reading]) -> None:
        """Take in readings at once, before any other; the bounds stay, see `intersect`."""
        self.posterior.observe_all(readings)
        self._follow()

    def learn_block(self, X: Floats, readings: Sequence[Reading], *, intersects: bool) -> None:
        """Take in further candidates and then readings, at once: one tick of the clock, or none.

        The bounds are intersected with those after the last reading, or left as they are. Then not
        even the widths are worked out: who wants to see them looks.
        """
        self.posterior.observe_block(X, readings)
        if intersects:
            self._follow()
            self.intersect()

    def look(self, X: Floats, readings: Sequence[Reading], *, intersects: bool) -> "Intervals":
        """What `learn_block` would lead to, with these left as they are; good until they change."""
        other = copy.copy(self)
        other.posterior = self.posterior.look(X, readings)
        other.ucb_bar, other.lcb_bar = self.ucb_bar.copy(), self.lcb_bar.copy()
        other.sigma = np.sqrt(other.posterior.var)
        other.shift = other._new_shift()
        other._follow()
        if intersects:
            other.intersect()
        return other

    def _follow(self) -> None:
        """Whatever happened to the posterior. New candidates start with the bounds of the prior."""
        self.sigma = np.sqrt(self.posterior.var)
        self.shift.extend(self.sigma, is_rebuilt=True)
        self.noise = self._noise_width()
        self._ucb = None
        first = self.first_width(self.posterior.X[len(self.ucb_bar) :])
        self.ucb_bar = np.concatenate([self.ucb_bar, first])
        self.lcb_bar = np.concatenate([self.lcb_bar, -first])

    def extend(self, X: Floats, *, is_behind: bool) -> None:
        """Take in further candidates: X is all of them, the old ones first; see `Instance.extend`."""
        n = len(self.mu)
        is_rebuilt = self.posterior.extend(X)
        self.sigma = np.sqrt(self.posterior.var)
        self.noise = self._noise_width()
        self.shift.extend(self.sigma, is_rebuilt)
        new = np.arange(n, len(X))
        self.shift.resolve(new)
        width, first = self.noise[new] + self.shift.high[new], self.first_width(X[new])
        upper, lower = (first, -first) if is_behind else (self.mu[new] + width, self.mu[new] - width)
        self.ucb_bar = np.concatenate([self.ucb_bar, np.minimum(upper, first)])
        self.lcb_bar = np.concatenate([self.lcb_bar, np.maximum(lower, -first)])
        self._ucb = None

    def first_width(self, U: Floats) -> Floats:
        """The width before any reading, when the mean was zero, at points U: a multiple of sigma."""
        width: Floats = self._first * np.sqrt(self.posterior.kernel.diag(U))
        return width

    def _noise_width(self) -> Floats:
        """The noise part for the next choice, with what is held before it."""
        return self.noise_at(self.sigma, self.posterior.var, self.posterior.noise_var)

    def noise_at(self, sigma: Floats, var: Floats, noise_var: Floats) -> Floats:
        """The noise part of the width where sigma, var and noise_var are these."""
        beta = self.options.beta_at(self.posterior.n_readings + 1)
        if beta is not None:
            return beta * sigma
        B = self.assumptions.B
        if self.options.noise == "paper":
            return noise_width_paper(B, self.radius_at(self.delta), sigma)
        rho_half = self.radius_at(self.delta / 2)
        return noise_width_tight(B, rho_half, sigma, rkhs_bias(B, var, noise_var))

    def radius_at(self, delta: float) -> float:
        """rho(delta) with the readings held now."""
        gain = self._gamma(self.posterior.n_readings) if self._gamma else self.posterior.gain
        return radius(self.assumptions.noise_std, self.assumptions.lam, gain, delta)

    def intersect(self) -> None:
        """ucb_bar = min(ucb_bar, mu + width), lcb_bar = max(lcb_bar, mu - width) [BKS20, Eqs. 17, 18].

        Where even the smallest possible width cannot tighten a bound, the exact one is not solved.
        """
        width = self.noise if self.C == 0.0 else self.noise + self.shift.low
        if not self.shift.is_open:
            self._ucb = self.mu + width
            np.minimum(self.ucb_bar, self._ucb, out=self.ucb_bar)
            np.maximum(self.lcb_bar, self.mu - width, out=self.lcb_bar)
        else:
            # Only where a bound gains more than rounding: whether it does is then the same
            # whatever the bracket has solved before.
            slack = 1e-3 * self.assumptions.tolerance
            may_tighten = self.mu + width < self.ucb_bar - slack
            may_tighten |= self.mu - width > self.lcb_bar + slack
            where = np.flatnonzero(may_tighten)
            self.shift.resolve(where)
            width = self.noise[where] + self.shift.high[where]
            ucb, lcb = self.mu[where] + width, self.mu[where] - width
            is_lower, is_higher = (
                ucb < self.ucb_bar[where] - slack,
                lcb > self.lcb_bar[where] + slack,
            )
            self.ucb_bar[where[is_lower]] = ucb[is_lower]
            self.lcb_bar[where[is_higher]] = lcb[is_higher]
        if not self.is_crossed:
            B0, tolerance = self.assumptions.B0, self.assumptions.tolerance
            self.is_crossed = bool(
                float(self.lcb_bar.max()) > B0 + tolerance
                or float(self.ucb_bar.min()) < -B0 - tolerance
                or (self.lcb_bar > self.ucb_bar + tolerance).any()
            )
