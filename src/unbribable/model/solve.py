"""Every factorisation of the library: solve, invert, log-determinant."""

from contextlib import suppress

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, lu_factor, lu_solve
from scipy.linalg.lapack import dpotri

from unbribable.model.checks import Floats
from unbribable.model.kernels import Kernel

_BLOCK = 1024
"""Points handled at once: a kernel needs memory of its own, several times that of its result."""


class Factor:
    """A symmetric positive definite `matrix`, (m, m), factored: L L'.

    Raises:
        LinAlgError: It is not positive definite in float64.
    """

    def __init__(self, matrix: Floats, *, overwrites: bool = False) -> None:
        self._lower: Floats = cholesky(matrix.T, lower=True, overwrite_a=overwrites, check_finite=False)

    @property
    def half_log_det(self) -> float:
        """0.5 ln det."""
        return float(np.sum(np.log(np.diag(self._lower))))

    def solve(self, right: Floats) -> Floats:
        """matrix^-1 right, for (m,) or (m, k)."""
        solved: Floats = cho_solve((self._lower, True), right, check_finite=False)
        return solved

    def inverse(self) -> Floats:
        """matrix^-1, all of it."""
        half: Floats = dpotri(self._lower, lower=1)[0]  # zeros above the diagonal
        full: Floats = half + half.T
        full[np.diag_indices(len(full))] *= 0.5
        return full

    def inverse_diagonal(self) -> Floats:
        """The diagonal of matrix^-1."""
        diagonal: Floats = np.diag(dpotri(self._lower, lower=1)[0])
        return diagonal


class PivotedFactor:
    """A square `matrix`, factored with pivots: for one that rounding may have made indefinite."""

    def __init__(self, matrix: Floats) -> None:
        self._factor = lu_factor(matrix, check_finite=False)

    def solve(self, right: Floats) -> Floats:
        """matrix^-1 right, for (m,) or (m, k)."""
        solved: Floats = lu_solve(self._factor, right, check_finite=False)
        return solved


class System:
    """A = K + diag(1 / prec) over the points read: the posterior to full precision, at O(m^3).

    Args:
        kernel: The prior covariance.
        points: The points read, (m, d).
        prec: Precision gathered at each, (m,).
        lam: The usual noise of a reading, to be named in the error.

    Attributes:
        factor: A, factored.

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
            self.factor = Factor(system, overwrites=True)
        except LinAlgError as error:
            raise LinAlgError(
                "K + diag(1 / prec) must be positive definite in float64, got a smallest "
                f"1 / prec of {1.0 / prec.max():.3g} with {len(prec)} points for {kernel!r}; "
                f"raise lam (now {lam:g})"
            ) from error

    def covariance(self, X: Floats, other: Floats) -> Floats:
        """Posterior covariance of points X, (k, d), with others, (n, d): (k, n)."""
        values = self._kernel(X, other)
        weights = self.factor.solve(self._kernel(self._points, X)).T
        for start in range(0, len(other), _BLOCK):
            part = slice(start, start + _BLOCK)
            values[:, part] -= weights @ self._kernel(self._points, other[part])
        return values

    def columns(self, cross: Floats) -> Floats:
        """Posterior covariance of the points read with those of prior covariances `cross`, (m, k)."""
        columns: Floats = self.factor.solve(cross) / self._prec[:, None]
        return columns

    def variances(self) -> Floats:
        """Posterior variance at the points read, (m,), by A^-1 alone."""
        variances: Floats = (1.0 - self.factor.inverse_diagonal() / self._prec) / self._prec
        return variances


def resolution(m: int) -> float:
    """What float64 resolves in a variance that is a difference of m products."""
    return 4.0 * m * float(np.finfo(float).eps)


def lower_factors(matrices: Floats) -> Floats:
    """L of each of some matrices, (p, m, m), by their lower triangles; NaN where there is none."""
    factors: Floats = np.full_like(matrices, np.nan)
    try:
        factors[:] = np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        for k, matrix in enumerate(matrices):
            with suppress(np.linalg.LinAlgError):
                factors[k] = np.linalg.cholesky(matrix)
    return factors


def inverses(matrices: Floats) -> Floats:
    """The inverse of each of some positive definite matrices, (p, m, m), by their lower triangles.

    Raises:
        LinAlgError: One of them is not positive definite in float64.
    """
    return np.array([Factor(matrix.T).inverse() for matrix in matrices])
