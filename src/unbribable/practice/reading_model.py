"""Readings of a Gaussian process with noise, some of which may be lies (ours).

In robust units of the readings: a reading is y = c + s f(x) + noise with f ~ GP(0, k), or a lie, whose
log density is -cost whatever its value. Readings that agree to the last digit, as of a stuck sensor, are
cheaper to call lies. s, lengthscales, noise and which readings are lies are chosen
together, by coordinate ascent on their joint density. So a lie costs at most a constant, however large
it is; one that looks like f goes unnoticed.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from unbribable.model.checks import Bools, Floats, Ints
from unbribable.model.kernels import Matern
from unbribable.model.solve import Factor
from unbribable.practice.predictions import told_alike

LIE_RATE_MAX = 0.25
"""Share of the readings that may be set aside as lies (one of three or more always may)."""

CENTER_STD = 1.0
"""Standard deviation of c, where it is not known."""

DROP = 2.0
"""How much less likely than the best the wide end may be, in nats."""

# Mean and standard deviation of the normal prior, and limits, of logarithms in robust units.
_SCALE_PRIOR = (0.5, 1.5, -3.0, 8.0)
_NOISE_PRIOR = (-2.2, 1.0, -7.0, 3.0)
_STARTS = ((0.2, 10.0, 0.2), (1.0, 10.0, 0.2), (0.3, 2.0, 0.1), (1.0, 2.0, 0.1))
"""Lengthscale / sqrt(d), s and noise. A large s sees few lies at first, a small one many."""
_GROSS = 30.0
"""Distance from the median beyond which a reading starts as a lie, in robust units."""
_LEAST_COST = 4.0
"""What it costs at least to call a reading a lie, however many are alike."""
_N_ROUNDS = 6
_N_STEPS_FIRST, _N_STEPS_LAST = 15, 100
_JITTER = 1e-6
_REACH, _N_HALVINGS = 4.0, 6
"""How far away a wide end is sought, in logarithms, and by how many bisections."""


@dataclass(frozen=True)
class ReadingModel:
    """Readings in robust units, y = c + s f(x) + noise with c ~ N(0, center_std^2), or lies.

    theta = (ln lengthscales unless gram is given, ln s, ln noise unless noise is given). Of the readings
    those that are not lies are `is_kept`.
    """

    U: Floats
    y: Floats
    gram: Floats | None
    noise: float | None
    center_std: float = CENTER_STD

    @property
    def n_lengthscales(self) -> int:
        return self.U.shape[1] if self.gram is None else 0

    @cached_property
    def prior(self) -> Floats:
        """Mean, standard deviation, lower and upper limit of each entry of theta: rows.

        Lengthscales grow like sqrt(d), as distances in the unit cube do. They are log-normal with the
        parameters of Hvarfner et al. (2024), sqrt(2) + ln(d) / 2 and sqrt(3), but with the mode of that
        density in place of its mean: 3 lower, in logarithms.
        """
        mean = math.sqrt(2.0) - 3.0 + 0.5 * math.log(self.U.shape[1])
        rows = [(mean, math.sqrt(3.0), math.log(0.02), math.log(50.0))] * self.n_lengthscales
        return np.array([*rows, _SCALE_PRIOR, _NOISE_PRIOR][: len(rows) + 1 + (self.noise is None)])

    @property
    def n_lies_max(self) -> int:
        return max(int(LIE_RATE_MAX * len(self.y)), int(len(self.y) >= 3))

    @cached_property
    def costs(self) -> Floats:
        """What it costs to call each reading a lie, in nats, (n,).

        The fewer readings per coordinate, the easier it is to find a kernel under which a true peak
        looks like a lie, and the higher the cost. Readings that are alike have one cause: they share it.
        """
        cost = 5.0 + min(6.0, float(50.0 * self.U.shape[1] / len(self.y)))
        n_alike = np.bincount(self._alike + 1)[self._alike + 1]
        return np.where(self._alike < 0, cost, np.maximum(cost / n_alike, _LEAST_COST))

    @cached_property
    def _alike(self) -> Ints:
        _, group = np.unique(self.U, axis=0, return_inverse=True)
        return told_alike(group.reshape(-1), self.y)

    def unpack(self, theta: Floats) -> tuple[Floats, float, float]:
        """Lengthscales (none where the kernel is given), s and noise."""
        values, d = np.exp(theta), self.n_lengthscales
        return values[:d], float(values[d]), float(values[-1]) if self.noise is None else self.noise

    def covariance(self, gram: Floats, scale: float, noise: float) -> Floats:
        """Of the readings whose values of k are given."""
        covariance = scale * scale * gram + self.center_std**2
        covariance[np.diag_indices(len(gram))] += noise * noise + _JITTER * scale * scale
        return covariance

    def posterior(self, theta: Floats, is_kept: Bools) -> tuple[Floats, Floats, float]:
        """Dual weights of the readings, the mean of f at the points, and the RKHS norm of the mean."""
        _, scale, noise = self.unpack(theta)
        gram = self._gram_of(theta)
        dual = self._precision(self.covariance(gram, scale, noise), is_kept) @ self.y
        mean = scale * gram @ dual
        return dual, mean, math.sqrt(max(scale * float(dual @ mean), 0.0))

    def loss(self, theta: Floats, is_kept: Bools) -> tuple[float, Floats]:
        """Minus the log density of the readings kept and of theta, and its gradient in theta.

        Up to ln(2 pi) / 2 for each reading kept, and a constant.
        """
        lengthscales, scale, noise = self.unpack(theta)
        if self.gram is None:
            X = self.U[is_kept] / lengthscales
            r = np.sqrt(5.0 * cdist(X, X, "sqeuclidean"))
            slope = np.exp(-r)  # of k: d k / d ln l_j = 5/3 (1 + r) exp(-r) ((x_j - z_j) / l_j)^2
            gram = (1.0 + r + r * r / 3.0) * slope
            slope *= 5.0 / 3.0 * (1.0 + r)
        else:
            gram = self.gram[np.ix_(is_kept, is_kept)]
        y = self.y[is_kept]
        factor = Factor(self.covariance(gram, scale, noise))
        inverse, log_det = factor.inverse(), 2.0 * factor.half_log_det
        dual = inverse @ y
        z = (theta - self.prior[:, 0]) / self.prior[:, 1]
        value = 0.5 * (float(y @ dual) + log_det + float(z @ z))
        gradient = z / self.prior[:, 1]
        pull = 0.5 * (inverse - np.outer(dual, dual))  # d loss / d covariance
        trace, d = float(np.trace(pull)), self.n_lengthscales
        gradient[d] += 2.0 * scale * scale * (float(np.vdot(pull, gram)) + _JITTER * trace)
        if self.noise is None:
            gradient[-1] += 2.0 * noise * noise * trace
        if d:
            pull *= scale * scale * slope
            gradient[:d] += 2.0 * (pull.sum(axis=1) @ (X * X) - np.einsum("ij,ij->j", X, pull @ X))
        return value, gradient

    def screen(self, theta: Floats, is_kept: Bools) -> Bools:
        """Set aside or take back one reading at a time, as long as the joint density rises.

        A reading is a lie if its log density given the others kept is below minus its cost; the one
        for which that changes most goes first.
        """
        _, scale, noise = self.unpack(theta)
        covariance = self.covariance(self._gram_of(theta), scale, noise)
        is_kept, precision = is_kept.copy(), self._precision(covariance, is_kept)
        for _ in range(4 * self.n_lies_max):
            out = np.flatnonzero(~is_kept)
            dual = precision @ self.y
            weights = precision @ covariance[:, out]
            var = 1.0 / np.where(is_kept, np.diag(precision), 1.0)
            error = var * dual
            var[out] = np.diag(covariance)[out] - np.einsum("ij,ij->j", covariance[:, out], weights)
            error[out] = self.y[out] - covariance[out] @ dual
            log_density = -0.5 * (error * error / var + np.log(2.0 * np.pi * var))
            gain = np.where(is_kept, -1.0, 1.0) * (log_density + self.costs)
            if len(out) >= self.n_lies_max:
                gain[is_kept] = -np.inf
            i = int(np.argmax(gain))
            if gain[i] <= 1e-9:
                break
            if is_kept[i]:
                precision = precision - np.outer(precision[i], precision[i]) * var[i]
                precision[i] = precision[:, i] = 0.0
            else:
                row = weights[:, np.searchsorted(out, i)]
                row[i] = -1.0
                precision = precision + np.outer(row, row) / var[i]
            is_kept[i] = not is_kept[i]
        return is_kept

    def settle(self, theta: Floats) -> tuple[Floats, Bools]:
        """theta, refined from where it is, and the readings kept under it."""
        is_kept = self.screen(theta, self._alike < 0)
        return self._descend(theta, is_kept, _N_STEPS_LAST)[1], is_kept

    def solve(self) -> tuple[Floats, Bools]:
        """theta and the readings kept: the best of several starts, refined."""
        d, n = self.n_lengthscales, len(self.prior) - self.n_lengthscales
        root = math.sqrt(self.U.shape[1])
        starts = dict.fromkeys((root * start[0],) * d + start[1:][:n] for start in _STARTS)
        gross = np.abs(self.y) > max(_GROSS, float(np.sort(np.abs(self.y))[-1 - self.n_lies_max]))
        suspected = [gross, gross | (self._alike >= 0)] if (self._alike >= 0).any() else [gross]
        found = [self._alternate(np.log(start), ~lies) for start in starts for lies in suspected]
        _, theta, is_kept = min(found, key=lambda solution: solution[0])
        return self._descend(theta, is_kept, _N_STEPS_LAST)[1], is_kept

    def wide_end(self, theta: Floats, is_kept: Bools, entries: list[int], sign: float) -> Floats:
        """theta with these entries moved together, up or down, as far as the readings allow.

        That is as far as the loss, with the other entries at their best, stays within DROP of theta's.
        """
        most = self.loss(theta, is_kept)[0] + DROP
        found, inside, outside = theta, 0.0, _REACH
        for _ in range(_N_HALVINGS):
            step = 0.5 * (inside + outside)
            limits = self.prior[:, 2:].copy()
            limits[entries] = np.clip(theta[entries] + sign * step, *limits[entries].T)[:, None]
            start = np.clip(found, *limits.T)
            value, point = self._descend(start, is_kept, _N_STEPS_FIRST, limits)
            if value <= most:
                found, inside = point, step
            else:
                outside = step
        return found

    def _alternate(self, theta: Floats, is_kept: Bools) -> tuple[float, Floats, Bools]:
        """Screen and descend in turn until the same readings are kept; the loss, theta and those."""
        value = math.inf
        for _ in range(_N_ROUNDS):
            before, is_kept = is_kept, self.screen(theta, is_kept)
            if value < math.inf and np.array_equal(before, is_kept):
                break
            value, theta = self._descend(theta, is_kept, _N_STEPS_FIRST)
        costs = self.costs[~is_kept] - 0.5 * math.log(2.0 * math.pi)
        return value + float(costs.sum()), theta, is_kept

    def _descend(
        self, theta: Floats, is_kept: Bools, n_steps: int, limits: Floats | None = None
    ) -> tuple[float, Floats]:
        options = {"jac": True, "method": "L-BFGS-B", "options": {"maxiter": n_steps}}
        bounds = self.prior[:, 2:] if limits is None else limits
        found = minimize(self.loss, theta, (is_kept,), bounds=bounds, **options)
        return float(found.fun), found.x

    def _gram_of(self, theta: Floats) -> Floats:
        if self.gram is not None:
            return self.gram
        return Matern(2.5, tuple(self.unpack(theta)[0].tolist()))(self.U, self.U)

    def _precision(self, covariance: Floats, is_kept: Bools) -> Floats:
        """The inverse covariance of the readings kept, with zeros for the others."""
        kept = np.ix_(is_kept, is_kept)
        precision = np.zeros_like(covariance)
        precision[kept] = Factor(covariance[kept]).inverse()
        return precision
