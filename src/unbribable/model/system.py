"""The m x m system of the points read: K + diag(1 / prec)."""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.lapack import dpotri

from unbribable.model.checks import Floats
from unbribable.model.kernels import Kernel

_BLOCK = 1024
"""Points handled at once: a kernel needs memory of its own, several times that of its result."""


class System:
    """A = K + diag(1 / prec) over the points read, factored: the posterior to full precision, at O(m^3).

    Args:
        kernel: The prior covariance.
        points: The points read, (m, d).
        prec: Precision gathered at each, (m,).
        lam: The usual noise of a reading, to be named in the error.

    Raises:
        LinAlgError: A is not positive definite in float64.
    """

    def __init__(self, kernel: Kernel, points: Floats, prec: Floats, lam: float) -> None:
        self._kernel = kernel
        self._points = points
        self._prec: Floats = prec.copy()
        system = np.empty((len(points), len(points)))
        for start in range(0, len(points), _BLOCK):
            part = slice(start, start + _BLOCK)
            system[part] = kernel(points[part], points)
        system[np.diag_indices(len(points))] += 1.0 / prec
        try:
            self._lower: Floats = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)[0]
        except LinAlgError as error:
            raise LinAlgError(
                "K + diag(1 / prec) must be positive definite in float64, got a smallest "
                f"1 / prec of {1.0 / prec.max():.3g} with {len(prec)} points for {kernel!r}; "
                f"raise lam (now {lam:g})"
            ) from error

    @property
    def half_log_det(self) -> float:
        """0.5 ln det A."""
        return float(np.sum(np.log(np.diag(self._lower))))

    def solve(self, right: Floats) -> Floats:
        """A^-1 right, for (m,) or (m, k)."""
        solved: Floats = cho_solve((self._lower, True), right, check_finite=False)
        return solved

    def at(self, X: Floats, ybar: Floats) -> tuple[Floats, Floats]:
        """Mean and variance at points X, with these readings, (m,)."""
        cross = self._kernel(self._points, X)
        solved = self.solve(cross)
        return ybar @ solved, self._kernel.diag(X) - np.einsum("jx,jx->x", cross, solved)

    def covariance(self, X: Floats, other: Floats) -> Floats:
        """Posterior covariance of points X, (k, d), with others, (n, d): (k, n)."""
        values = self._kernel(X, other)
        weights = self.solve(self._kernel(self._points, X)).T
        for start in range(0, len(other), _BLOCK):
            part = slice(start, start + _BLOCK)
            values[:, part] -= weights @ self._kernel(self._points, other[part])
        return values

    def variances(self) -> Floats:
        """Posterior variance at the points read, (m,), by A^-1 alone."""
        inverse, _ = dpotri(self._lower, lower=1)
        variances: Floats = (1.0 - np.diag(inverse) / self._prec) / self._prec
        return variances
