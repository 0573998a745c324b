"""The posterior at points that are no candidates, with gradients."""

from dataclasses import dataclass

import numpy as np

from unbribable.model.checks import Floats
from unbribable.model.posterior import PREC_MAX, Posterior

M_FACTORED = 512
"""Points read beyond which precision is not worth a factorisation."""


@dataclass(frozen=True, eq=False)
class Belief:
    """Mean, variance and columns of R at some points."""

    mu: Floats
    """(k,)."""
    var: Floats
    """(k,)."""
    noise_var: Floats
    """Share of var that is due to the fictitious noise, (k,)."""
    columns: Floats
    """Posterior covariance with the points read, (m, k)."""


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
        self._resolution = 4.0 * posterior.m * float(np.finfo(float).eps)
        is_precise = 0 < posterior.m <= M_FACTORED and float(self._prec.max()) > PREC_MAX
        self._system = posterior.system() if is_precise else None
        if self._system is None:
            pull = self._prec * (posterior.ybar - posterior.mu[posterior.u])
        else:
            pull = self._system.solve(posterior.ybar)
        self._pull: Floats = pull  # A^-1 ybar, A = K + diag(1 / prec)

    def at(self, X: Floats) -> Belief:
        """What is believed at the points X, (k, d)."""
        cross = self._kernel(self._u, X)
        if self._system is None:
            columns = self._posterior.columns_for(cross)
            weights = self._prec[:, None] * columns
        else:
            weights = self._system.solve(cross)
            columns = weights / self._prec[:, None]
        var = self._kernel.diag(X) - np.einsum("jx,jx->x", weights, cross)
        var = np.maximum(var, np.minimum(self._resolution, self._kernel.diag(X)))
        noise_var = np.einsum("jx,jx->x", weights, columns)
        return Belief(self._pull @ cross, var, noise_var, columns)

    def gradients(self, x: Floats, belief: Belief) -> tuple[Floats, Floats]:
        """Derivatives in x of mu and var at one point, each (d,); `belief` is what `at` says there."""
        slopes = self._kernel.gradient(self._u, x)
        weights = self._prec * belief.columns[:, 0]
        return self._pull @ slopes, self._kernel.diag_gradient(x) - 2.0 * (weights @ slopes)

    def gradient_along(self, x: Floats, push: Floats) -> Floats:
        """Derivative in x of push' R[:, x] at one point, (d,), for coefficients push, (m,)."""
        if self._system is None:  # R[:, x] = (1 - S prec) k_u(x), S = R[:, u]
            push = push - self._prec * (self._posterior.covariance_of_read() @ push)
        else:
            push = self._system.solve(push / self._prec)
        along: Floats = push @ self._kernel.gradient(self._u, x)
        return along
