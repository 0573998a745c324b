"""One learner inside an algorithm: a posterior, its widths, and its intersected bounds."""

import numpy as np

from unbribable.decision.options import Options
from unbribable.model.checks import Bools, Floats, Ints
from unbribable.model.domain import Grid
from unbribable.model.posterior import Posterior
from unbribable.theory.assumptions import Assumptions
from unbribable.theory.exact_shift import ClosedFormShift, ExactShift, Shift
from unbribable.theory.information_gain import MaxInformationGain
from unbribable.theory.widths import noise_width_paper, noise_width_tight, radius, rkhs_bias


class Instance:
    """Holds changing state: what one learner believes, and the interval it gives each candidate.

    Args:
        label: Its name in the algorithm.
        domain: The candidates.
        assumptions: What the guarantee rests on.
        options: Which widths to use.
        C: The corruption that can reach this instance.
        delta: The probability with which its noise width may fail.
        gamma: Certified bound on the maximum information gain, for `gain="certified"`.

    Attributes:
        posterior: The belief.
        sigma: Posterior standard deviation, (n,).
        noise: Noise part of the width, (n,).
        shift: Corruption part of the width, known as far as it was needed.
        ucb_bar: Running minimum of mu + width over this instance's clock, (n,).
        lcb_bar: Running maximum of mu - width, (n,).
        is_crossed: Whether lcb_bar has exceeded ucb_bar somewhere: an assumption is false.
    """

    def __init__(
        self,
        label: str,
        domain: Grid,
        assumptions: Assumptions,
        options: Options,
        *,
        C: float,
        delta: float,
        gamma: MaxInformationGain | None = None,
    ) -> None:
        self.label = label
        self.C = C
        self.delta = delta
        self._assumptions = assumptions
        self._options = options
        self._gamma = gamma
        is_tight = options.noise == "tight" and options.beta is None
        is_exact = options.width == "exact" and C > 0.0
        self.posterior = Posterior(
            assumptions.kernel,
            domain.points,
            assumptions.lam,
            tracks_noise_var=is_tight,
            n_deferred_max=1 if is_exact else 16,
        )
        self.sigma: Floats = np.sqrt(self.posterior.var)
        self.noise: Floats = self._noise_width()
        self.shift: Shift
        if is_exact:
            self.shift = ExactShift(self.posterior, C, assumptions.cap)
        else:
            cap = None if options.width == "paper" else assumptions.cap
            self.shift = ClosedFormShift(self.posterior, C, cap, self.sigma)
        self.ucb_bar: Floats = self.mu + self.width
        self.lcb_bar: Floats = self.mu - self.width
        self._ucb: Floats = self.ucb_bar.copy()
        self.is_crossed = False

    @property
    def mu(self) -> Floats:
        """Posterior mean, (n,)."""
        return self.posterior.mu

    @property
    def n_readings(self) -> int:
        """How many readings this instance holds."""
        return self.posterior.n_readings

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
        """Take in a reading of candidate i; one tick of this instance's clock."""
        if self.shift.is_open:
            self.shift.resolve(np.array([i]))
        update = self.posterior.observe(i, y, lam)
        self.sigma = np.sqrt(self.posterior.var)
        if self.C > 0.0:
            self.shift.moved(i, update, self.sigma)
        self.noise = self._noise_width()
        self._intersect()

    def best(self, alpha: float, among: Bools | None = None) -> tuple[int, float]:
        """The candidate with the largest ucb, mu + alpha * width, and that value [BKS20, Eqs. 15, 29].

        Ties go to the lowest index. With `revisit`, a point already read may be preferred.

        Args:
            alpha: Widening factor.
            among: Candidates allowed, (n,); all if None.
        """
        if self.shift.is_open:
            base = self._allowed(self.mu + alpha * self.noise, among)
            floor = np.max(base + alpha * self.shift.low)
            self.shift.resolve(np.flatnonzero(base + alpha * self.shift.high >= floor))
            if self._options.revisit:
                self.shift.resolve(self.posterior.u)
            ucb = base + alpha * self.shift.high
        elif alpha == 1.0:
            ucb = self._allowed(self._ucb, among)
        else:
            ucb = self._allowed(self.mu + alpha * (self.noise + self.shift.high), among)
        best = int(ucb.argmax())
        if self._options.revisit:
            best = self.revisited(ucb, best, self.posterior.u, alpha)
        return best, float(ucb[best])

    @staticmethod
    def _allowed(ucb: Floats, among: Bools | None) -> Floats:
        return ucb if among is None else np.where(among, ucb, -np.inf)

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

    def revisited(self, ucb: Floats, best: int, read: Ints, alpha: float = 1.0) -> int:
        """The best point in `read` whose ucb is within revisit * alpha * width of the best one (ours).

        `best` itself if there is none. Proof of the factor 1 + eta/2: instant regret is at most
        max ucb - lcb(x) <= ucb(x) + eta width(x) - lcb(x) = (2 + eta) width(x). QED
        """
        if not len(read):
            return best
        width = alpha * (self.noise[read] + self.shift.high[read])
        near = read[ucb[read] >= ucb[best] - self._options.revisit * width]
        if not len(near):
            return best
        near = np.sort(near)
        return int(near[np.argmax(ucb[near])])

    def _noise_width(self) -> Floats:
        """The noise part for the next choice, with what is held before it."""
        beta = self._options.beta_at(self.n_readings + 1)
        if beta is not None:
            return beta * self.sigma
        gain = self._gamma(self.n_readings) if self._gamma else self.posterior.gain
        noise_std, lam, B = self._assumptions.noise_std, self._assumptions.lam, self._assumptions.B
        if self._options.noise == "paper":
            return noise_width_paper(B, radius(noise_std, lam, gain, self.delta), self.sigma)
        bias = rkhs_bias(B, self.posterior.var, self.posterior.noise_var)
        return noise_width_tight(B, radius(noise_std, lam, gain, self.delta / 2), self.sigma, bias)

    def _intersect(self) -> None:
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
            slack = 1e-3 * self._assumptions.tolerance
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
        may_cross = self.lcb_bar > self.ucb_bar
        if not self.is_crossed and may_cross[may_cross.argmax()]:
            gap = float(np.max(self.lcb_bar - self.ucb_bar))
            self.is_crossed = gap > self._assumptions.tolerance
