"""The Gaussian-process posterior on a finite domain, in one matrix."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unbribable.model.checks import Floats, Ints
from unbribable.model.covariance import Covariance
from unbribable.model.kernels import Kernel
from unbribable.model.solve import System, resolution
from unbribable.model.tally import Heard, Tally

DRIFT_TOLERANCE = 1e-6
"""Relative error of the variance above which the posterior is rebuilt."""

CHECK_EVERY = 256
"""Readings after which the drift is checked at the latest."""

PREC_MAX = 2e4
"""Largest prec for which rounding of R, which grows like prec^2, does not matter."""

PREC_MAX_NEW = 1e3
"""The same for new candidates, whose variance multiplies it once more."""

N_WITNESSES = 8
"""Rows of R that are computed from the others and compared, where there are many points."""

_BLOCK = 4096
"""Candidates handled at once where a rebuild would otherwise copy the whole matrix."""

M_SMALL = 512
"""Points read up to which an m x m matrix is kept, or factored for one reading."""


@dataclass(frozen=True)
class Update:
    """What one reading did: the mean moved along `step`, each row j of R by -R[j, i] * step."""

    step: Floats
    """Posterior covariance with the point read, before the reading, over (variance + lam): (n,)."""
    is_rebuilt: bool
    """Whether the matrix was rebuilt, so that nothing is known about how R moved."""


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

    This class is the seam behind which another belief could stand (on a GPU, with fewer digits, with
    features): the floors above use its public members alone, and R only by `columns`, `columns_for`,
    `rows_of`, `covariance_of_read` and `times`.

    Args:
        kernel: The prior covariance.
        X: The candidates, (n, d).
        lam: Fictitious noise of a reading that does not say otherwise.
        tracks_noise_var: Whether to keep noise_var up to date.
        n_deferred_max: Readings that may wait; 1 where R is looked at after every reading.
        is_careful: Whether a small lam is worth a factorisation.

    Attributes:
        tally: What was read, by point.
        mu: Posterior mean at the candidates, (n,).
        var: Posterior variance at the candidates, (n,).
        gain: Realised information gain, 0.5 ln det(I + K / lam).
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
        self._noise_var: Floats | None = np.zeros(len(X))
        self.gain = 0.0
        self.n_rebuilds = self.n_floored = 0
        self._tracks_noise_var = tracks_noise_var
        self._is_careful = is_careful
        self._R = Covariance(len(X), n_deferred_max)
        self.tally = Tally(lam)
        self._checked_at = (0, 0)
        self._S: Floats | None = None
        self._system: System | None = None

    @property
    def noise_var(self) -> Floats:
        """Share of var due to the fictitious noise, sum_j prec[j] R[j, x]^2, (n,); 0 if not tracked."""
        if self._noise_var is None:
            tracked = self._R.squares(self.prec) if self._tracks_noise_var else np.zeros(len(self.mu))
            self._noise_var = tracked
        return self._noise_var

    @property
    def m(self) -> int:
        """Number of distinct points read."""
        return self.tally.m

    @property
    def u(self) -> Ints:
        """Indices of the distinct points read, in order of their first reading: (m,), a view."""
        return self.tally.u

    @property
    def R(self) -> Floats:
        """Posterior covariance of the points read with every candidate: (m, n)."""
        return self._R.dense

    @property
    def prec(self) -> Floats:
        """Precision gathered at each point read: (m,), a view."""
        return self.tally.prec

    @property
    def ybar(self) -> Floats:
        """Precision-weighted mean of the readings of each point read: (m,)."""
        return self.tally.ybar

    def columns(self, indices: Ints | slice, *, changes_nothing: bool = False) -> Floats:
        """R[:, indices], (m, k); good until the next reading.

        What waits is subtracted first, so a column does not depend on which others are asked for, to
        the last bit. That moves the rounding of what comes later: who only looks leaves it waiting.
        """
        if not changes_nothing:
            self._R.flush()
        return self._R.columns(indices)

    def prior_of(self, i: int) -> Floats | None:
        """k(x_i, X), (n,), for posteriors that learn the same; None if candidate i was read before."""
        return None if i in self.tally.row else self.kernel(self.X[[i]], self.X)[0]

    def observe(self, i: int, y: float, lam: float | None = None, prior: Floats | None = None) -> Update:
        """Take in a reading y of candidate i with fictitious noise lam; `prior_of(i)` is worked out if
        it is not given. O(m n)."""
        lam = self.lam if lam is None else lam
        is_rebuilt = i not in self.tally.row and self._add_row(i, prior)
        row, noise_var = self.tally.row[i], self.noise_var
        r, column = self._R.row(row), self._R.columns(i)  # not r[u], which lets errors grow
        v = float(r[i])
        s = v + lam
        step = r / s
        self.mu += step * (y - float(self.mu[i]))  # [BKS20, Eq. 9]
        self.var -= step * r  # [BKS20, Eq. 5]
        self.var[i] = v * lam / s  # the same without cancellation, where it is worst
        if self._tracks_noise_var:
            pull = self.tally.prec * column
            change = (float(pull @ column) + lam) * step
            change -= 2.0 * self._R.times(pull)
            change *= step
            noise_var += change
        self.gain += 0.5 * math.log1p(v / lam)
        anew = [row] if v > lam else []
        column[anew] = -lam  # r - v * step is lam * step, of which rounding leaves more
        self._R.defer(column, step, anew)
        self._S = self._system = None
        self.tally.add(row, y, lam)
        is_rebuilt |= self._mend_if_drifted()
        return Update(step, is_rebuilt)

    def observe_all(self, readings: Sequence[Heard]) -> None:
        """Take in readings at once, before any other: O(m^2 n). Equal up to rounding."""
        self.tally.add_all(readings)
        self._R.add_rows(np.zeros((self.m, len(self.X))))
        self.rebuild()
        self.n_rebuilds, self._checked_at = 0, (self.m, self.tally.n_readings)

    def covariance_of_read(self) -> Floats:
        """Posterior covariance of the points read with each other, R[:, u]: (m, m)."""
        if self._S is None:
            self._S = self._R.columns(self.u)
        return self._S

    def times(self, pull: Floats) -> Floats:
        """pull @ R: (n,) for a pull of (m,), (k, n) for one of (k, m)."""
        return self._R.times(pull)

    def columns_for(self, cross: Floats) -> Floats:
        """Columns of R at points with prior covariances cross = k(u, X), (m, k), from R itself (ours).

            R[:, x] = k_u(x) - R[:, u] (prec * k_u(x))

        This is the m x m solve by A^-1 = prec - prec R[:, u] prec, with no factorisation: O(m^2) a
        point. Like every new row it multiplies the error of R by prec; the drift check sees that.
        R[:, u] is symmetric: where m is large, rows of R are gone through, not gathered.
        """
        pull = self.prec[:, None] * cross
        if self.m > 4 * M_SMALL:
            return cross - self.times(pull.T)[:, self.u].T
        return np.subtract(cross, self.covariance_of_read() @ pull)

    def extend(self, X: Floats) -> bool:
        """Take in further candidates: X is all of them, the old ones first and in their order.

        A column that is known already (of the point read last) is computed along with the new ones and
        compared: if it is off, everything is rebuilt, and True is returned.
        """
        n, u, new = len(self.mu), self.u, X[len(self.mu) :]
        witness = u[-1:]
        cross = self.kernel(X[u], np.concatenate([new, X[witness]]))
        is_precise = self._needs_system(PREC_MAX_NEW)
        columns = self.system().columns(cross) if is_precise else self.columns_for(cross)
        error = np.abs(columns[:, len(new) :] - self._R.columns(witness))
        is_off = bool((error**2 > DRIFT_TOLERANCE**2 * np.outer(self.var[u], self.var[witness])).any())
        columns, cross = columns[:, : len(new)], cross[:, : len(new)]
        weights = self.prec[:, None] * columns
        diag = self.kernel.diag(new)
        var = diag - np.einsum("jx,jx->x", weights, cross)
        is_off |= bool((var < np.minimum(resolution(self.m), 0.5 * diag)).any())
        noise_var = np.einsum("jx,jx->x", weights, columns) * self._tracks_noise_var
        self._noise_var = np.concatenate([self.noise_var, noise_var])
        self.X = X
        self.mu = np.concatenate([self.mu, self.ybar @ weights])
        self.var = np.concatenate([self.var, var])
        self._R.widen(len(X))
        self._R.set_columns(n, columns)
        if is_off:
            self.rebuild()
        return is_off

    def system(self) -> System:
        """The m x m system of the points read, factored. O(m^3), once after each reading."""
        if self._system is not None:
            return self._system
        system = System(self.kernel, self.X[self.u], self.prec, self.lam)
        if self.m <= M_SMALL:
            self._system = system
        return system

    def drift(self) -> float:
        """Largest relative difference of var to the m x m form at the points read with k(x, x) > 0."""
        if not self.m:
            return 0.0
        expected = self.system().variances()
        error = np.abs(self.var[self.u] - expected)
        error /= np.maximum(np.abs(expected), np.finfo(float).tiny)
        return float(np.max(error, initial=0.0, where=self.kernel.diag(self.X[self.u]) > 0.0))

    def rebuild(self) -> None:
        """Recompute R, mu, var, noise_var and gain from (u, prec, ybar). O(m^2 n)."""
        if not self.m:
            return
        system = self.system()
        u, prec, ybar = self.u, self.prec, self.ybar
        self._R.drop_waiting()
        self._S = self._noise_var = None
        for start in range(0, len(self.X), _BLOCK):
            part = slice(start, start + _BLOCK)
            cross = self.kernel(self.X[u], self.X[part])
            solved = system.factor.solve(cross)
            self._R.set_columns(start, solved / prec[:, None])
            self.mu[part] = ybar @ solved  # with these weights, whatever rounding made of them
            self.var[part] = self.kernel.diag(self.X[part]) - np.einsum("jx,jx->x", cross, solved)
        self.var[u] = self._R.diagonal(u)  # accurate, the difference above is not
        self.gain = system.factor.half_log_det + 0.5 * float(np.sum(np.log(prec)))
        self._floor()
        self.n_rebuilds += 1

    def _floor(self) -> None:
        """Give variances that float64 does not resolve its resolution."""
        is_floored = self.var < np.minimum(resolution(self.m), 0.5 * self.kernel.diag(self.X))
        is_floored[self.u] &= self.var[self.u] <= 0.0  # there R is accurate
        self.n_floored = int(is_floored.sum())
        self.var[is_floored] = resolution(self.m)

    def rows_of(self, points: Sequence[int], X: Floats, prior: Floats | None = None) -> Floats:
        """Posterior covariance of candidates with those of X, (k, n); new ones first of all (ours).

        `prior` is what it was before any reading, (k, n), if that is known.
        By R, which multiplies its error by prec: that of the variance, relatively, then grows like
        prec^2. So by the m x m system where prec is large.
        """
        u, n = self.tally.u, self._R.n
        if self._needs_system(PREC_MAX if len(X) == n else PREC_MAX_NEW):
            return self.system().covariance(X[points], X)
        rows = self.kernel(X[points], X) if prior is None else prior.copy()
        if self.tally.m:
            pull = rows[:, u] * self.tally.prec
            rows[:, :n] -= self._R.times(pull)
            if len(X) > n:
                rows[:, n:] -= pull @ rows[: len(X) - n, u].T
        return rows

    def _needs_system(self, prec_max: float) -> bool:
        """Whether R is not precise enough to compute more of it."""
        prec = self.tally.prec
        return self._is_careful and len(prec) > 0 and bool(prec[prec.argmax()] > prec_max)

    def _add_row(self, i: int, prior: Floats | None) -> bool:
        """Append R's row for candidate i; True if that showed drift and R was rebuilt."""
        row = self.rows_of([i], self.X, None if prior is None else prior[None])[0]
        u = self.tally.u
        # R is symmetric on the points read, so the new row against the old column tells at once.
        scale = np.sqrt(self.var[u] * self.var[i])
        column = self._R.columns(i)
        is_off = bool((np.abs(row[u] - column) > DRIFT_TOLERANCE * scale).any())
        is_off |= bool(abs(row[i] - self.var[i]) > DRIFT_TOLERANCE * self.var[i])
        if is_off:
            self.rebuild()
            row = self.rows_of([i], self.X)[0]
            row[u], row[i] = self._R.columns(i), self.var[i]
        self._R.add_rows(row[None, :])
        self.tally.add_point(i)
        return is_off

    def _is_off(self) -> bool:
        """Whether R has drifted: by `drift` or, where that is O(m^3) too many, by some of its rows.

        These, spread evenly over R, are computed from all the others and compared: O(m n).
        """
        if self.m <= 4 * M_SMALL:
            return self.drift() > DRIFT_TOLERANCE
        self._R.flush()
        rows = np.linspace(0, self.m - 1, N_WITNESSES).astype(np.intp)
        there = self.u[rows]
        found, kept = self.rows_of(there.tolist(), self.X), np.array([self._R.row(j) for j in rows])
        found_var = found[np.arange(N_WITNESSES), there]
        scale = np.sqrt(np.abs(np.outer(self.var[there], self.var)))
        is_off = bool((np.abs(found - kept) > DRIFT_TOLERANCE * scale).any())
        return is_off or bool((np.abs(found_var / self.var[there] - 1.0) > DRIFT_TOLERANCE).any())

    def _mend_if_drifted(self) -> bool:
        m = self.tally.m
        is_due = m >= 2 * self._checked_at[0]
        is_due |= self.tally.n_readings >= self._checked_at[1] + CHECK_EVERY
        is_negative = self.var[self.var.argmin()] < 0.0
        if not (is_due or is_negative):
            return False
        self._checked_at = (m, self.tally.n_readings)
        if is_negative or self._is_off():
            self.rebuild()
            return True
        self._R.flush()
        self._noise_var = None  # to be summed up afresh
        return False
