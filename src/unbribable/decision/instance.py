"""One learner inside an algorithm: a posterior, its widths, and its intersected bounds."""

from collections.abc import Sequence

import numpy as np

from unbribable.decision.avoid import Avoided
from unbribable.decision.options import Options
from unbribable.model.checks import Bools, Floats, Ints
from unbribable.model.expected import Expected
from unbribable.model.posterior import Posterior
from unbribable.theory.assumptions import Assumptions
from unbribable.theory.exact_shift import ClosedFormShift, ExactShift, Shift
from unbribable.theory.information_gain import MaxInformationGain
from unbribable.theory.widths import (
    noise_width_paper,
    noise_width_tight,
    radius,
    rkhs_bias,
)


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

    Attributes:
        posterior: The belief.
        sigma: Posterior standard deviation, (n,).
        noise: Noise part of the width, (n,).
        shift: Corruption part of the width, known as far as it was needed.
        ucb_bar: Running minimum of mu + width over this instance's clock, (n,).
        lcb_bar: Running maximum of mu - width, (n,).
        expected: The pending queries that the choice reckons with, if any.
        shrink: Factor of the width in the choice: what they will leave of sigma.
        avoided: The points that the choice leaves out, if any.
        is_crossed: Whether lcb_bar has exceeded ucb_bar or B0 somewhere, or ucb_bar fallen below -B0:
            with probability at least 1 - delta an assumption is false.
        is_behind: Whether there are readings since the bounds were last intersected.
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
    ) -> None:
        self.label = label
        self.C = C
        self.delta = delta
        self.assumptions = assumptions
        self.options = options
        self._gamma = gamma
        is_tight = options.noise == "tight" and options.beta is None
        is_exact = options.width == "exact" and C > 0.0
        self.posterior = Posterior(
            assumptions.kernel,
            X,
            assumptions.lam,
            tracks_noise_var=is_tight,
            n_deferred_max=1 if is_exact else 16,
            is_careful=options.beta is None,
        )
        self.sigma: Floats = np.sqrt(self.posterior.var)
        self.noise: Floats = self._noise_width()
        self.expected: Expected | None = None
        self.shrink: Floats | float = 1.0
        self.avoided: Avoided | None = None
        self.shift: Shift
        if is_exact:
            self.shift = ExactShift(self.posterior, C, assumptions.cap)
        else:
            cap = None if options.width == "paper" else assumptions.cap
            self.shift = ClosedFormShift(self.posterior, C, cap, self.sigma)
        self.ucb_bar: Floats = self.mu + self.width
        self.lcb_bar: Floats = self.mu - self.width
        self._ucb: Floats = self.ucb_bar.copy()
        is_open = self.sigma > 0.0
        self._first = float(np.max(self.ucb_bar[is_open] / self.sigma[is_open], initial=0.0))
        self.is_crossed = False
        self.is_behind = False

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

    def learn(self, i: int, y: float, lam: float | None = None, *, settles: bool = True) -> None:
        """Take in a reading of candidate i; one tick of this instance's clock.

        Args:
            i: The candidate.
            y: The reading.
            lam: Its fictitious noise, the assumed one if None.
            settles: Whether to intersect the bounds now. Not while an earlier reading is still to
                come: which ones are there could then depend on their values. See `settle`.
        """
        if self.shift.is_open:
            self.shift.resolve(np.array([i]))
        update = self.posterior.observe(i, y, lam)
        self.sigma = np.sqrt(self.posterior.var)
        if self.C > 0.0:
            self.shift.moved(i, update, self.sigma)
        self.noise = self._noise_width()
        self.is_behind = True
        if settles:
            self.settle()
        elif not self.shift.is_open:
            self._ucb = self.mu + (self.noise + self.shift.low)

    def settle(self) -> None:
        """Intersect the bounds with the current ones, if there are readings since the last time."""
        if self.is_behind:
            self.is_behind = False
            self._intersect()

    def learn_all(self, indices: Ints, y: Floats) -> None:
        """Take in readings at once, before any other: the bounds are those after the last of them."""
        self.posterior.observe_all(indices, y)
        self.sigma = np.sqrt(self.posterior.var)
        self.shift.extend(self.sigma, is_rebuilt=True)
        self.noise = self._noise_width()
        self._intersect()

    def extend(self, X: Floats) -> None:
        """Take in further candidates: X is all of them, the old ones first.

        A new candidate starts from the bounds it had before any reading and, unless this instance is
        behind, its current ones: they are valid, and nothing else is known of its past.
        """
        n = len(self.mu)
        is_rebuilt = self.posterior.extend(X)
        self.sigma = np.sqrt(self.posterior.var)
        self.noise = self._noise_width()
        self.shift.extend(self.sigma, is_rebuilt)
        new = np.arange(n, len(X))
        self.shift.resolve(new)
        width, first = self.noise[new] + self.shift.high[new], self.first_width(X[new])
        upper, lower = (
            (first, -first) if self.is_behind else (self.mu[new] + width, self.mu[new] - width)
        )
        self.ucb_bar = np.concatenate([self.ucb_bar, np.minimum(upper, first)])
        self.lcb_bar = np.concatenate([self.lcb_bar, np.maximum(lower, -first)])
        self._ucb = np.concatenate([self._ucb, self.mu[new] + width])

    def first_width(self, U: Floats) -> Floats:
        """The width before any reading, when the mean was zero, at points U: a multiple of sigma."""
        width: Floats = self._first * np.sqrt(self.posterior.kernel.diag(U))
        return width

    def expect(self, points: Sequence[Floats], avoid: Sequence[Floats] = ()) -> None:
        """Let the choice reckon with pending queries at these points, (d,) each, of unknown value.

        sigma at x becomes what it will be after them; the width in the choice shrinks by the same
        factor, so that several pending queries spread out. Intervals stay as they are. The points to
        avoid are left out of the choice.
        """
        self.expected, self.shrink, self.avoided = None, 1.0, None
        p = self.posterior
        if avoid:
            self.avoided = Avoided(np.array(avoid), p.X[p.u], p.kernel)
        if points:
            self.expected = Expected(p, np.array(points))
            self.shrink = self.expected.shrink_of_candidates()

    def best(self, alpha: float, among: Bools | None = None) -> tuple[int, float]:
        """The candidate with the largest ucb, mu + alpha * width, and that value [BKS20, Eqs. 15, 29].

        Ties go to the lowest index. With `revisit`, a point already read may be preferred.

        Args:
            alpha: Widening factor.
            among: Candidates allowed, (n,); all if None.
        """
        factor = alpha * self.shrink
        if self.shift.is_open:
            base = self.allowed(self.mu + factor * self.noise, among)
            floor = np.max(base + factor * self.shift.low)
            self.shift.resolve(np.flatnonzero(base + factor * self.shift.high >= floor))
            if self.options.revisit:
                self.shift.resolve(self.posterior.u)
            ucb = base + factor * self.shift.high
        elif isinstance(factor, float) and factor == 1.0:
            ucb = self.allowed(self._ucb, among)
        else:
            ucb = self.allowed(self.mu + factor * (self.noise + self.shift.high), among)
        best = int(ucb.argmax())
        if self.options.revisit:
            best = self.revisited(ucb, best, self.posterior.u, alpha)
        return best, float(ucb[best])

    def promising(self, alpha: float, best: int) -> Floats:
        """The ucb of `best`, (n,), roughly: exact at 64 candidates that lead, a closed form elsewhere.

        The closed form takes the shift as the multiple of sigma that it is at candidate `best`. It
        ranks starting points for a search, and does not depend on what else was solved before.
        """
        factor = alpha * self.shrink
        base: Floats = self.mu + factor * self.noise
        if self.C == 0.0 or not self.posterior.m:
            return base
        self.shift.resolve(np.array([best]))
        ratio = float(self.shift.high[best] / max(self.sigma[best], np.finfo(float).tiny))
        ucb = base + factor * ratio * self.sigma
        top = np.argsort(-ucb, kind="stable")[:64]
        self.shift.resolve(top)
        ucb[top] = base[top] + np.broadcast_to(factor, base.shape)[top] * self.shift.high[top]
        return ucb

    def allowed(self, ucb: Floats, among: Bools | None = None) -> Floats:
        """ucb, and -inf where a candidate is not in `among` (all if None) or to be avoided."""
        if self.avoided is not None:
            among = self.avoided.allowed(self.posterior.X, among)
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
        near = read[ucb[read] >= ucb[best] - self.options.revisit * width]
        if not len(near):
            return best
        near = np.sort(near)
        return int(near[np.argmax(ucb[near])])

    def _noise_width(self) -> Floats:
        """The noise part for the next choice, with what is held before it."""
        return self.noise_at(self.sigma, self.posterior.var, self.posterior.noise_var)

    def noise_at(self, sigma: Floats, var: Floats, noise_var: Floats) -> Floats:
        """The noise part of the width where sigma, var and noise_var are these."""
        beta = self.options.beta_at(self.n_readings + 1)
        if beta is not None:
            return beta * sigma
        B = self.assumptions.B
        if self.options.noise == "paper":
            return noise_width_paper(B, self.radius_at(self.delta), sigma)
        rho_half = self.radius_at(self.delta / 2)
        return noise_width_tight(B, rho_half, sigma, rkhs_bias(B, var, noise_var))

    def radius_at(self, delta: float) -> float:
        """rho(delta) with the readings held now."""
        gain = self._gamma(self.n_readings) if self._gamma else self.posterior.gain
        return radius(self.assumptions.noise_std, self.assumptions.lam, gain, delta)

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
