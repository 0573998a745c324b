"""An instance's upper confidence bound at any point of the space, with its gradient."""

import numpy as np

from unbribable.decision.proven.levels import Believer
from unbribable.model.belief import BeliefAt
from unbribable.model.checks import Floats
from unbribable.model.elsewhere import Elsewhere
from unbribable.model.expected import Expected


class Anywhere:
    """What an instance says now at points that need not be candidates.

    The bounds are the current ones, valid but not intersected over the past. Good until the
    instance's next reading.

    Attributes:
        m: Number of distinct points read.
        kernel: The prior covariance.
    """

    def __init__(self, instance: Believer) -> None:
        self.m, self.kernel = instance.posterior.m, instance.posterior.kernel
        now = instance.now
        self._noise, self._shift = now.noise_width, now.shift.formula
        self._elsewhere = Elsewhere(instance.posterior)
        self._energy = [] if now.energy is None else now.energy.elsewhere()

    def describe(self, u: Floats) -> tuple[float, float, float]:
        """mu, sigma and width (alpha = 1) at one point, (d,)."""
        at = self._elsewhere.at(u[None, :])
        return float(at.mu[0]), float(at.sigma[0]), float(self._width(at)[0])

    def ucb(self, U: Floats, alpha: float, expected: Expected | None = None) -> Floats:
        """mu + alpha * width at the points U, (k, d), of the width the share that `expected` leaves."""
        at = self._elsewhere.at(U)
        share: Floats | float = 1.0 if expected is None else expected.shrink(U, at)
        upper: Floats = at.mu + alpha * (self._width(at) * share)
        for form in self._energy:
            upper = np.minimum(upper, form.upper(U, alpha * share))
        return upper

    def ucb_and_gradient(
        self, u: Floats, alpha: float, expected: Expected | None = None
    ) -> tuple[float, Floats]:
        """`ucb` at one point, (d,), and its gradient (at a kink, of the active branch)."""
        at = self._elsewhere.at(u[None, :])
        width = float(self._width(at)[0])
        slope = self._noise.slope(at) + self._shift.slope(at)
        mu_, var_, width_ = self._elsewhere.gradients(u, at, slope)
        share, share_ = 1.0, np.zeros(len(u))
        if expected is not None:
            share, share_ = expected.shrink_and_gradient(u, at, var_)
            width, width_ = share * width, share_ * width + share * width_
        found = [(float(at.mu[0]) + alpha * width, mu_ + alpha * width_)]
        found += [form.upper_and_gradient(u, alpha * share, alpha * share_) for form in self._energy]
        return min(found, key=lambda one: one[0])

    def _width(self, at: BeliefAt) -> Floats:
        return self._noise.value(at) + self._shift.value(at)
