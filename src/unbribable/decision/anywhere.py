"""An instance's upper confidence bound at any point of the space, with its gradient."""

import numpy as np

from unbribable.decision.instance import Instance
from unbribable.model.checks import Floats
from unbribable.model.elsewhere import Belief, Elsewhere
from unbribable.model.expected import Expected
from unbribable.model.kernels import Kernel
from unbribable.model.posterior import DRIFT_TOLERANCE
from unbribable.theory.widths import knapsack, rkhs_bias, shift_capped, shift_exact, shift_paper


class Anywhere:
    """What an instance says now at points that need not be candidates.

    The bounds are the current ones, valid but not intersected over the past. Good until the
    instance's next reading.
    """

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._assumptions = instance.assumptions
        self._options = instance.options
        self._posterior = instance.posterior
        self._elsewhere = Elsewhere(instance.posterior)

    @property
    def m(self) -> int:
        """Number of distinct points read."""
        return self._posterior.m

    @property
    def kernel(self) -> Kernel:
        """The prior covariance."""
        return self._posterior.kernel

    def describe(self, u: Floats) -> tuple[float, float, float]:
        """mu, sigma and width (alpha = 1) at one point, (d,)."""
        belief = self._elsewhere.at(u[None, :])
        ucb = float(self.ucb(u[None, :], 1.0)[0])
        return float(belief.mu[0]), float(np.sqrt(max(belief.var[0], 0.0))), ucb - float(belief.mu[0])

    def ucb(self, U: Floats, alpha: float, expected: Expected | None = None) -> Floats:
        """mu + alpha * width at the points U, (k, d); the width by the share that `expected` leaves."""
        belief = self._elsewhere.at(U)
        sigma = np.sqrt(np.maximum(belief.var, 0.0))
        noise = self._instance.noise_at(sigma, belief.var, belief.noise_var)
        width = noise + self._shift(belief, sigma)
        if expected is not None:
            width *= expected.shrink(U, belief.columns, belief.var)
        return belief.mu + alpha * width

    def ucb_and_gradient(
        self, u: Floats, alpha: float, expected: Expected | None = None
    ) -> tuple[float, Floats]:
        """`ucb` at one point, (d,), and its gradient (at a kink, of the active branch)."""
        belief = self._elsewhere.at(u[None, :])
        sigma = float(np.sqrt(max(belief.var[0], np.finfo(float).tiny)))
        on_sigma, bias = self._noise_branch(belief, sigma)
        mu_, var_ = self._elsewhere.gradients(u, belief)
        shift, push, is_pushed = 0.0, np.zeros(self.m), False
        if self._instance.shift.is_open:
            shift, push = self._pushed(belief)
            is_pushed = True
        else:
            on_sigma += self._shift_on_sigma()
        width_ = on_sigma * var_ / (2.0 * sigma)
        if bias > 0.0:
            # bias^2 = B^2 (var (1 + tolerance) - noise_var), and noise_var = sum_j prec[j] R[j, x]^2
            slope = self._assumptions.B**2 / (2.0 * bias)
            is_cut = belief.var[0] <= belief.noise_var[0]  # rounding: only the tolerance is left
            width_ = width_ + slope * (DRIFT_TOLERANCE + (not is_cut)) * var_
            if not is_cut:
                push = push - slope * 2.0 * self._posterior.prec * belief.columns[:, 0]
                is_pushed = True
        if is_pushed:
            width_ = width_ + self._elsewhere.gradient_along(u, push)
        width = on_sigma * sigma + bias + shift
        if expected is not None:
            column, var = belief.columns[:, 0], float(belief.var[0])
            share, share_ = expected.shrink_and_gradient(u, column, var, var_)
            width, width_ = share * width, share_ * width + share * width_
        return float(belief.mu[0]) + alpha * width, mu_ + alpha * width_

    def _noise_branch(self, belief: Belief, sigma: float) -> tuple[float, float]:
        """The noise part at one point as a factor of sigma, and the bias beside it."""
        beta = self._options.beta_at(self._instance.n_readings + 1)
        if beta is not None:
            return beta, 0.0
        B, delta = self._assumptions.B, self._instance.delta
        if self._options.noise == "paper":
            return B + self._instance.radius_at(delta), 0.0
        rho_half = self._instance.radius_at(delta / 2)
        bias = float(rkhs_bias(B, belief.var, belief.noise_var)[0])
        first = float(np.hypot(B, rho_half))
        return (first, 0.0) if first * sigma <= bias + rho_half * sigma else (rho_half, bias)

    def _shift(self, belief: Belief, sigma: Floats) -> Floats:
        """The corruption part of the width."""
        if not self._instance.shift.is_open:
            return self._shift_on_sigma() * sigma
        weights = self._posterior.weights_of(belief.columns.copy())
        counts, cap = self._posterior.item_counts, self._assumptions.c_max
        return shift_exact(weights, counts, self._instance.C, cap) / self._posterior.lam

    def _shift_on_sigma(self) -> float:
        """The paper's or the capped shift as a factor of sigma."""
        C, lam, one = self._instance.C, self._posterior.lam_min, np.ones(1)
        if C == 0.0:
            return 0.0
        if self._options.width == "paper":
            return float(shift_paper(C, lam, one)[0])
        return float(shift_capped(C, self._assumptions.c_max, lam, one)[0])

    def _pushed(self, belief: Belief) -> tuple[float, Floats]:
        """The exact shift at one point, and its derivative by the column of R, (m,)."""
        p = self._posterior
        weights = p.weights_of(belief.columns.copy())[:, 0] / p.lam
        lies = knapsack(weights, p.item_counts, self._instance.C, self._assumptions.c_max)
        push = np.zeros(p.m)
        rows, lams = p.items
        np.add.at(push, rows, lies / lams)
        return float(lies @ weights), push * np.sign(belief.columns[:, 0])
