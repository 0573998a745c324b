"""The posterior at points that are no candidates, with gradients."""

from dataclasses import dataclass

import numpy as np

from unbribable.model.checks import Floats
from unbribable.model.posterior import Posterior


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

    A point costs O(m^2), no factorisation is made; rounding grows like prec^2, so for choices only. A
    variance below what float64 resolves is given that. Good until the posterior's next reading.
    """

    def __init__(self, posterior: Posterior) -> None:
        self._kernel = posterior.kernel
        self._posterior = posterior
        self._u: Floats = posterior.X[posterior.u]
        self._S: Floats = posterior.covariance_of_read()
        self._prec: Floats = posterior.prec.copy()
        self._ybar: Floats = posterior.ybar
        self._resolution = 4.0 * posterior.m * float(np.finfo(float).eps)
        self._pull: Floats = self._prec * (self._ybar - posterior.mu[posterior.u])  # A^-1 ybar

    def at(self, X: Floats) -> Belief:
        """What is believed at the points X, (k, d)."""
        cross = self._kernel(self._u, X)
        columns = self._posterior.columns_for(cross)
        weights = self._prec[:, None] * columns
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
        push = push - self._prec * (self._S @ push)  # R[:, x] = (1 - S prec) k_u(x)
        along: Floats = push @ self._kernel.gradient(self._u, x)
        return along
