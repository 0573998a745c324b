"""The posterior at points that need not be candidates, with gradients."""

import numpy as np

from unbribable.model.belief import BeliefAt, Slope
from unbribable.model.checks import Floats
from unbribable.model.posterior import PREC_MAX, Posterior
from unbribable.model.solve import resolution

M_FACTORED = 512
"""Points read beyond which precision is not worth a factorisation."""


class Elsewhere:
    """A posterior at arbitrary points, as it is now [BKS20, Eqs. 5, 9].

    With w = prec * R[:, x], the weights of the points read:

        mu(x) = w' ybar,   var(x) = k(x, x) - w' k_u(x),   noise_var(x) = sum_j prec[j] R[j, x]^2

    A point costs O(m^2). Without a factorisation rounding grows like prec^2, so one is made where prec
    is large (and m is not). A variance below what float64 resolves is given that. Good until the
    posterior's next reading.
    """

    def __init__(self, posterior: Posterior) -> None:
        self._kernel = posterior.kernel
        self._posterior = posterior
        self._u: Floats = posterior.X[posterior.u]
        self._prec: Floats = posterior.prec.copy()
        self._ybar = posterior.ybar
        is_precise = 0 < posterior.m <= M_FACTORED and float(self._prec.max()) > PREC_MAX
        self._system = posterior.system() if is_precise else None
        if self._system is None:
            pull = self._prec * (posterior.ybar - posterior.mu[posterior.u])
        else:
            pull = self._system.factor.solve(posterior.ybar)
        self._pull: Floats = pull  # A^-1 ybar, A = K + diag(1 / prec)

    def at(self, X: Floats) -> BeliefAt:
        """What is believed at the points X, (k, d)."""
        cross, diag = self._kernel(self._u, X), self._kernel.diag(X)
        if self._system is None:
            columns = self._posterior.columns_for(cross)
            weights = self._prec[:, None] * columns
        else:
            weights = self._system.factor.solve(cross)
            columns = weights / self._prec[:, None]
        var = diag - np.einsum("jx,jx->x", weights, cross)
        var = np.maximum(var, np.minimum(resolution(self._posterior.m), diag))
        noise_var = np.einsum("jx,jx->x", weights, columns)
        return BeliefAt(self._ybar @ weights, var, np.sqrt(var), noise_var, columns)

    def gradients(self, x: Floats, at: BeliefAt, slope: Slope) -> tuple[Floats, Floats, Floats]:
        """Derivatives in x of mu, of var and of what has this slope at one point x, each (d,).

        `at` is what is believed there.
        """
        kernel_ = self._kernel.gradient(self._u, x)
        weights = self._prec * at.columns[:, 0]
        var_ = self._kernel.diag_gradient(x) - 2.0 * (weights @ kernel_)
        push = slope.columns + 2.0 * slope.noise_var * weights
        if not np.any(push):
            return self._pull @ kernel_, var_, slope.var * var_
        if self._system is None:  # R[:, x] = (1 - S prec) k_u(x), S = R[:, u]
            push = push - self._prec * (self._posterior.covariance_of_read() @ push)
        else:
            push = self._system.factor.solve(push / self._prec)
        return self._pull @ kernel_, var_, slope.var * var_ + push @ kernel_
