"""What readings that are still to come will leave of the uncertainty."""

import numpy as np

from unbribable.model.checks import Floats
from unbribable.model.posterior import Posterior

_TINY = float(np.finfo(float).tiny)


class Expected:
    """Readings of unknown value, with the default noise, at points U, (k, d), above a posterior (ours).

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
        self._M = among

    def shrink_of_candidates(self) -> Floats:
        """The share of sigma that is left at the posterior's candidates, (n,)."""
        p = self._posterior
        return self._share(self._kernel(self._U, p.X) - p.times(self._pull), p.var)

    def shrink(self, X: Floats, columns: Floats, var: Floats) -> Floats:
        """The same at points X, (n,), with their columns of R, (m, n), and var."""
        return self._share(self._kernel(self._U, X) - self._pull @ columns, var)

    def _share(self, c: Floats, var: Floats) -> Floats:
        left = var - np.einsum("px,px->x", c, np.linalg.solve(self._M, c))
        share: Floats = np.sqrt(np.clip(left / np.maximum(var, _TINY), 0.0, 1.0))
        return share

    def shrink_and_gradient(
        self, x: Floats, column: Floats, var: float, var_: Floats
    ) -> tuple[float, Floats]:
        """The same at one point x, (d,), and its gradient; `column` (m,), var and its gradient there."""
        c = self._kernel(self._U, x[None, :])[:, 0] - self._pull @ column
        c_ = self._kernel.gradient(self._U, x) - self._weights @ self._kernel.gradient(self._read, x)
        solved = np.linalg.solve(self._M, c)
        var = max(var, _TINY)
        ratio = (var - float(c @ solved)) / var
        if not 0.0 < ratio < 1.0:  # cut
            return float(np.clip(ratio, 0.0, 1.0)), np.zeros(len(x))
        left_ = var_ - 2.0 * (solved @ c_)
        share = float(np.sqrt(ratio))
        gradient: Floats = (left_ - ratio * var_) / (2.0 * share * var)
        return share, gradient
