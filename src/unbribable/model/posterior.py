"""The Gaussian-process posterior on a finite domain, in one matrix."""

import math

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.blas import dgemm
from scipy.linalg.lapack import dpotri

from unbribable.model.checks import Floats, Ints
from unbribable.model.kernels import Kernel
from unbribable.model.update import Update, grown

DRIFT_TOLERANCE = 1e-6
"""Relative error of the variance above which the posterior is rebuilt."""

CHECK_EVERY = 256
"""Readings after which the drift is checked at the latest."""

_BLOCK = 4096
"""Candidates handled at once where a rebuild would otherwise copy the whole matrix."""


class Posterior:
    """Holds changing state: belief about f after the readings so far [BKS20, Eqs. 4, 5, 9].

    Prior GP(0, k), readings y_i of points x_i with fictitious noise lam_i. Kept (ours):

        R[j, :] = Cov(u_j, .)         posterior, of the m distinct points read with every candidate
        prec[j] = sum of 1 / lam_i    over the readings of u_j
        ybar[j] = sum of y_i / lam_i  over the readings of u_j, over prec[j]

    A reading costs O(m n), whatever the number of readings before it. One reading of u_j with
    noise lam_i enters the mean at x with the weight R[j, x] / lam_i, which is the entry of
    (K + lam I)^-1 k(x) that belongs to it. What readings do to R is a sum of outer products;
    up to `n_deferred_max` of them wait, and are then added as one matrix product.

    Args:
        kernel: The prior covariance.
        X: The candidates, (n, d).
        lam: Fictitious noise of a reading that does not say otherwise.
        tracks_noise_var: Whether to keep noise_var up to date.
        n_deferred_max: Readings that may wait; 1 where R is looked at after every reading.
        is_careful: Whether new candidates are worth a factorisation where lam is small.

    Attributes:
        mu: Posterior mean at the candidates, (n,).
        var: Posterior variance at the candidates, (n,).
        noise_var: The share of var that is due to the fictitious noise, sum_j prec[j] R[j, x]^2, (n,);
            zeros unless tracked.
        gain: Realised information gain, 0.5 ln det(I + K / lam).
        m: Number of distinct points read.
        n_readings: Number of readings held.
        n_rebuilds: How often drift made a rebuild necessary.
        n_floored: Candidates whose variance lies below what float64 resolves after the last
            rebuild; they are given that resolution instead, which widens their interval.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Floats,
        lam: float,
        *,
        tracks_noise_var: bool = True,
        n_deferred_max: int = 16,
        is_careful: bool = True,
    ) -> None:
        self.kernel = kernel
        self.X = X
        self.lam = lam
        self.mu: Floats = np.zeros(len(X))
        self.var: Floats = kernel.diag(X)
        self.noise_var: Floats = np.zeros(len(X))
        self.gain = 0.0
        self.n_readings = self.n_rebuilds = self.n_floored = 0
        self._tracks_noise_var = tracks_noise_var
        self._is_careful = is_careful
        self._buffer: Floats = np.zeros((8, len(X)))  # columns beyond the candidates stay zero
        self._n_deferred = 0
        self._columns: Floats = np.zeros((8, n_deferred_max))
        self._steps: Floats = np.zeros((n_deferred_max, len(X)))
        self.m = 0
        self._row: dict[int, int] = {}
        self._u: Ints = np.zeros(8, dtype=np.intp)
        self._prec: Floats = np.zeros(8)
        self._sum: Floats = np.zeros(8)
        self._lams: set[float] = set()
        self._item: dict[tuple[int, float], int] = {}
        self._item_count: Floats = np.zeros(8)
        self._item_lam: Floats = np.ones(8)
        self._item_row: Ints = np.zeros(8, dtype=np.intp)
        self._checked_at = (0, 0)
        self._S: Floats | None = None

    @property
    def u(self) -> Ints:
        """Indices of the distinct points read, in order of their first reading: (m,), a view."""
        return self._u[: self.m]

    @property
    def R(self) -> Floats:
        """Posterior covariance of the points read with every candidate: (m, n)."""
        k, n = self._n_deferred, len(self.mu)
        return self._buffer[: self.m, :n] - self._columns[: self.m, :k] @ self._steps[:k, :n]

    @property
    def prec(self) -> Floats:
        """Precision gathered at each point read: (m,), a view."""
        return self._prec[: self.m]

    @property
    def ybar(self) -> Floats:
        """Precision-weighted mean of the readings of each point read: (m,)."""
        mean: Floats = self._sum[: self.m] / self.prec
        return mean

    @property
    def lam_min(self) -> float:
        """The smallest fictitious noise among the readings (the default one if there is none)."""
        return min(self._lams, default=self.lam)

    @property
    def item_counts(self) -> Floats:
        """How many readings share a point and a noise, for each such item: (n_items,), a view."""
        return self._item_count[: len(self._item)]

    @property
    def items(self) -> tuple[Ints, Floats]:
        """Of each item: which point read, of 0..m-1, and its noise; (n_items,) each, views."""
        return self._item_row[: len(self._item)], self._item_lam[: len(self._item)]

    def item_weights(self, indices: Ints) -> Floats:
        """lam * |weight| of one reading of each item in the mean at these candidates: (n_items, k)."""
        self._flush()
        return self.weights_of(np.take(self._buffer[: self.m], indices, axis=1))

    def weights_of(self, columns: Floats) -> Floats:
        """`item_weights` of points whose columns of R are given, (m, k); overwrites them."""
        np.abs(columns, out=columns)
        if len(self._lams) > 1:
            items = slice(len(self._item))
            columns = columns[self._item_row[items]] * (self.lam / self._item_lam[items, None])
        elif self._lams and self.lam not in self._lams:
            columns *= self.lam / self.lam_min
        return columns

    def observe(self, i: int, y: float, lam: float | None = None) -> Update:
        """Take in a reading y of candidate i with fictitious noise lam. O(m n)."""
        lam = self.lam if lam is None else lam
        row = self._row.get(i)
        is_rebuilt = False
        if row is None:
            is_rebuilt = self._add_row(i)
            row = self._row[i]
        m, k, n = self.m, self._n_deferred, len(self.mu)
        columns, steps = self._columns[:m, :k], self._steps[:k, :n]
        r = self._buffer[row, :n] - columns[row] @ steps
        v = float(r[i])
        s = v + lam
        column = self._buffer[:m, i] - columns @ steps[:, i]  # not r[u], which lets errors grow
        step = np.divide(r, s, out=self._steps[k, :n])
        self.mu += step * (y - float(self.mu[i]))  # [BKS20, Eq. 9]
        self.var -= step * r  # [BKS20, Eq. 5]
        self.var[i] = v * lam / s  # the same without cancellation, where it is worst
        if self._tracks_noise_var:
            pull = self._prec[:m] * column
            pulled = pull @ self._buffer[:m, :n] - (pull @ columns) @ steps
            self.noise_var += step * (step * (float(pull @ column) + lam) - 2.0 * pulled)
        self.gain += 0.5 * math.log1p(v / lam)
        self._columns[:m, k] = column
        self._n_deferred = k + 1
        if self._n_deferred == len(self._steps):
            self._flush()
        self._S = None
        self._count(row, y, lam)
        return Update(step, self._mend_if_drifted() or is_rebuilt)

    def observe_all(self, indices: Ints, y: Floats) -> None:
        """Take in readings of candidates at once, before any other: O(m^2 n). Equal up to rounding."""
        for i, reading in zip(indices.tolist(), y.tolist(), strict=True):
            if i not in self._row:
                self._make_room()
                self._u[self.m], self._row[i] = i, self.m
                self.m += 1
            self._count(self._row[i], reading, self.lam)
        self.rebuild()
        self.n_rebuilds, self._checked_at = 0, (self.m, self.n_readings)

    def at(self, X: Floats) -> tuple[Floats, Floats]:
        """Mean and variance at arbitrary points, by the m x m system [BKS20, Eqs. 5, 9]."""
        if not self.m:
            return np.zeros(len(X)), self.kernel.diag(X)
        cross = self.kernel(self.X[self.u], X)
        solved = cho_solve(self.factor(), cross)
        return self.ybar @ solved, self.kernel.diag(X) - np.einsum("jx,jx->x", cross, solved)

    def covariance_of_read(self) -> Floats:
        """Posterior covariance of the points read with each other, R[:, u]: (m, m)."""
        if self._S is None:
            self._S = self._column(self.u)
        return self._S

    def columns_for(self, cross: Floats, by_rows: bool = False) -> Floats:
        """Columns of R at points with prior covariances cross = k(u, X), (m, k), from R itself (ours).

            R[:, x] = k_u(x) - R[:, u] (prec * k_u(x))

        This is the m x m solve by A^-1 = prec - prec R[:, u] prec, with no factorisation: O(m^2) a
        point. Like every new row it multiplies the error of R by prec; the drift check sees that.
        R[:, u] is symmetric: `by_rows` streams over rows of R, O(m n), instead of gathering it.
        """
        pull = self.prec[:, None] * cross
        if by_rows:
            waiting, steps = self._columns[: self.m, : self._n_deferred], self._steps[: self._n_deferred]
            pulled = (pull.T @ self._buffer[: self.m] - (pull.T @ waiting) @ steps)[:, self.u]
            return cross - pulled.T
        columns: Floats = cross - self.covariance_of_read() @ pull
        return columns

    def extend(self, X: Floats) -> bool:
        """Take in further candidates: X is all of them, the old ones first and in their order.

        A column that is known already (of the point read last) is computed along with the new ones and
        compared: if it is off, everything is rebuilt, and True is returned.
        """
        n, u, new = len(self.mu), self.u, X[len(self.mu) :]
        witness = u[-1:]
        cross = self.kernel(X[u], np.concatenate([new, X[witness]]))
        if self._is_careful and self.m and self.prec.max() > 1e3:  # var multiplies the error once more
            columns = cho_solve(self.factor(), cross) / self.prec[:, None]
        else:
            columns = self.columns_for(cross, by_rows=self.m > 512 and len(new) < 4)
        error = np.abs(columns[:, len(new) :] - self._column(witness))
        is_off = bool((error**2 > DRIFT_TOLERANCE**2 * np.outer(self.var[u], self.var[witness])).any())
        columns, cross = columns[:, : len(new)], cross[:, : len(new)]
        weights = self.prec[:, None] * columns
        diag = self.kernel.diag(new)
        var = diag - np.einsum("jx,jx->x", weights, cross)
        is_off |= bool((var < np.minimum(self._resolution, 0.5 * diag)).any())
        noise_var = np.einsum("jx,jx->x", weights, columns) * self._tracks_noise_var
        self.X = X
        self.mu = np.concatenate([self.mu, self.ybar @ weights])
        self.var = np.concatenate([self.var, var])
        self.noise_var = np.concatenate([self.noise_var, noise_var])
        self._widen(len(X))
        self._buffer[: self.m, n : len(X)] = columns
        if is_off:
            self.rebuild()
        return is_off

    def _column(self, indices: Ints) -> Floats:
        """Columns of R at candidates, (m, k)."""
        waiting, steps = self._columns[: self.m, : self._n_deferred], self._steps[: self._n_deferred]
        return np.take(self._buffer[: self.m], indices, axis=1) - waiting @ steps[:, indices]

    def drift(self) -> float:
        """Largest relative difference of var to the m x m form at the points read with k(x, x) > 0."""
        if not self.m:
            return 0.0
        inverse, _ = dpotri(self.factor()[0], lower=1)
        expected = (1.0 - np.diag(inverse) / self.prec) / self.prec
        error = np.abs(self.var[self.u] - expected)
        error /= np.maximum(np.abs(expected), np.finfo(float).tiny)
        return float(np.max(error, initial=0.0, where=self.kernel.diag(self.X[self.u]) > 0.0))

    def rebuild(self) -> None:
        """Recompute R, mu, var, noise_var and gain from (u, prec, ybar). O(m^2 n)."""
        if not self.m:
            return
        factor = self.factor()
        u, prec, ybar = self.u, self.prec, self.ybar
        self._n_deferred, self._S = 0, None
        for start in range(0, len(self.X), _BLOCK):
            part = slice(start, start + _BLOCK)
            cross = self.kernel(self.X[u], self.X[part])
            solved = cho_solve(factor, cross)
            self._buffer[: self.m, start : start + solved.shape[1]] = solved / prec[:, None]
            self.mu[part] = ybar @ solved
            self.var[part] = self.kernel.diag(self.X[part]) - np.einsum("jx,jx->x", cross, solved)
            if self._tracks_noise_var:
                self.noise_var[part] = np.einsum("j,jx,jx->x", 1.0 / prec, solved, solved)
        # At the points read R is accurate, the difference above is not.
        self.var[u] = self._buffer[np.arange(self.m), u]
        self.gain = float(np.sum(np.log(np.diag(factor[0])) + 0.5 * np.log(prec)))
        is_floored = self.var < np.minimum(self._resolution, 0.5 * self.kernel.diag(self.X))
        is_floored[u] &= self.var[u] <= 0.0
        self.n_floored = int(is_floored.sum())
        self.var[is_floored] = self._resolution
        self.n_rebuilds += 1

    @property
    def _resolution(self) -> float:
        """What float64 resolves in a variance that is a difference of m products."""
        return 4.0 * self.m * float(np.finfo(float).eps)

    def _flush(self) -> None:
        """R -= columns @ steps, in place, for the readings that wait."""
        k, m = self._n_deferred, self.m
        if k:
            a, b = self._steps[:k].T, self._columns[:m, :k].T
            dgemm(-1.0, a, b, beta=1.0, c=self._buffer[:m].T, overwrite_c=1)
            self._n_deferred = 0

    def _widen(self, n: int) -> None:
        """Room for n candidates: R and the steps grow by half at least, so that few copies are made."""
        self._flush()
        n_old = self._buffer.shape[1]
        if n > n_old:
            n_new = max(n, n_old + n_old // 2)
            buffer = np.zeros((len(self._buffer), n_new))
            buffer[: self.m, :n_old] = self._buffer[: self.m]
            self._buffer, self._steps = buffer, np.zeros((len(self._steps), n_new))

    def factor(self) -> tuple[Floats, bool]:
        """Cholesky factor of K + diag(1 / prec) over the points read, for cho_solve. O(m^3)."""
        system = self.kernel(self.X[self.u], self.X[self.u])
        system[np.diag_indices(self.m)] += 1.0 / self.prec
        try:
            lower: Floats = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)[0]
        except LinAlgError as error:
            raise LinAlgError(
                "K + diag(1 / prec) must be positive definite in float64, got a smallest "
                f"1 / prec of {1.0 / self.prec.max():.3g} with {self.m} points for {self.kernel!r}; "
                f"raise lam (now {self.lam:g})"
            ) from error
        return lower, True

    def _add_row(self, i: int) -> bool:
        """Append R's row for candidate i; True if that showed drift and R was rebuilt."""
        m = self.m
        self._make_room()
        k_row = self.kernel(self.X[i : i + 1], self.X)[0]
        is_off, n = False, len(self.mu)
        if m:
            u, R = self.u, self._buffer[:m, :n]
            waiting = self._columns[:m, : self._n_deferred]
            steps = self._steps[: self._n_deferred, :n]
            pull = k_row[u] * self.prec
            k_row -= pull @ R - (pull @ waiting) @ steps
            # This multiplies the error of R by prec. R is symmetric on the points read, so the
            # new row against the old column tells at once.
            scale = np.sqrt(self.var[u] * self.var[i])
            column = self._column(np.array([i]))[:, 0]
            is_off = bool((np.abs(k_row[u] - column) > DRIFT_TOLERANCE * scale).any())
            is_off |= abs(k_row[i] - self.var[i]) > DRIFT_TOLERANCE * self.var[i]
            if is_off:
                self.rebuild()
                k_row = self.kernel(self.X[i : i + 1], self.X)[0] - pull @ R
                k_row[u] = R[:, i]
                k_row[i] = self.var[i]
        self._buffer[m, :n] = k_row
        self._columns[m] = 0.0
        self._u[m] = i
        self._row[i] = m
        self.m = m + 1
        return is_off

    def _make_room(self) -> None:
        """For one more point read."""
        if self.m == len(self._buffer):
            self._buffer, self._u = grown(self._buffer), grown(self._u)
            self._prec, self._sum = grown(self._prec), grown(self._sum)
            self._columns = grown(self._columns)

    def _count(self, row: int, y: float, lam: float) -> None:
        self.n_readings += 1
        self._prec[row] += 1.0 / lam
        self._sum[row] += y / lam
        self._lams.add(lam)
        item = self._item.get((row, lam))
        if item is None:
            item = self._item[row, lam] = len(self._item)
            if item == len(self._item_count):
                self._item_count, self._item_lam = grown(self._item_count), grown(self._item_lam)
                self._item_row = grown(self._item_row)
            self._item_lam[item] = lam
            self._item_row[item] = row
        self._item_count[item] += 1.0

    def _mend_if_drifted(self) -> bool:
        m_then, readings_then = self._checked_at
        is_due = self.m >= 2 * m_then or self.n_readings >= readings_then + CHECK_EVERY
        is_negative = self.var[self.var.argmin()] < 0.0
        if not (is_due or is_negative):
            return False
        self._checked_at = (self.m, self.n_readings)
        if is_negative or self.drift() > DRIFT_TOLERANCE:
            self.rebuild()
            return True
        if self._tracks_noise_var:
            self._flush()
            R = self._buffer[: self.m, : len(self.mu)]
            self.noise_var = np.einsum("j,jx,jx->x", self.prec, R, R)
        return False
