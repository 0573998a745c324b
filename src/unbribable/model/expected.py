"""Posterior standard deviation after pending queries, whatever values they return."""

import numpy as np

from unbribable.model.belief import BeliefAt
from unbribable.model.checks import Floats
from unbribable.model.posterior import Posterior
from unbribable.model.solve import PivotedFactor

_TINY = float(np.finfo(float).tiny)


class Expected:
    """Pending readings of unknown value, with the default noise, at points U, (k, d) (ours).

    With c(x) the posterior covariances of the points with x, and M those among them with noise:

        var'(x) = var(x) - c(x)' M^-1 c(x),   shrink(x) = sqrt(var'(x) / var(x))

    Good until the posterior's next reading.
    """

    def __init__(self, posterior: Posterior, U: Floats) -> None:
        p = self._posterior = posterior
        self._kernel = p.kernel
        self._U = U
        self._read: Floats = p.X[p.u]
        cross = p.kernel(self._read, U)
        self._pull: Floats = (p.prec[:, None] * cross).T
        self._weights: Floats = (p.prec[:, None] * p.columns_for(cross)).T
        among = p.kernel(U, U) - self._weights @ cross
        among[np.diag_indices(len(U))] += p.lam
        self._M = PivotedFactor(among)

    def shrink_of_candidates(self) -> Floats:
        """The share of sigma that is left at the posterior's candidates, (n,)."""
        p = self._posterior
        return self._share(self._kernel(self._U, p.X) - p.times(self._pull), p.var)

    def shrink(self, X: Floats, at: BeliefAt) -> Floats:
        """The same at points X, (n, d), where this is believed: (n,)."""
        return self._share(self._kernel(self._U, X) - self._pull @ at.columns, at.var)

    def _share(self, c: Floats, var: Floats) -> Floats:
        left = var - np.einsum("px,px->x", c, self._M.solve(c))
        share: Floats = np.sqrt(np.clip(left / np.maximum(var, _TINY), 0.0, 1.0))
        return share

    def shrink_and_gradient(self, x: Floats, at: BeliefAt, var_: Floats) -> tuple[float, Floats]:
        """The same at one point x, (d,), and its gradient; var_ is that of the variance."""
        c = self._kernel(self._U, x[None, :])[:, 0] - self._pull @ at.columns[:, 0]
        c_ = self._kernel.gradient(self._U, x) - self._weights @ self._kernel.gradient(self._read, x)
        solved = self._M.solve(c)
        var = max(float(at.var[0]), _TINY)
        ratio = (var - float(c @ solved)) / var
        if not 0.0 < ratio < 1.0:  # cut
            return float(np.clip(ratio, 0.0, 1.0)), np.zeros(len(x))
        left_ = var_ - 2.0 * (solved @ c_)
        share = float(np.sqrt(ratio))
        gradient: Floats = (left_ - ratio * var_) / (2.0 * share * var)
        return share, gradient
