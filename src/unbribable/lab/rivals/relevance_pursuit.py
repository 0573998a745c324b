"""GP-UCB after robust relevance pursuit: a few readings are given a noise of their own."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from unbribable.lab.rivals.base import Opinion, UpperBoundRival
from unbribable.lab.rivals.practice import practical
from unbribable.lab.rivals.student_t import told_arrays
from unbribable.model import checks
from unbribable.model.checks import Floats, Ints
from unbribable.model.domain import Grid
from unbribable.model.posterior import Posterior
from unbribable.theory.assumptions import Assumptions

LEVELS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
"""Shares of readings that may be outliers, tried in this order."""

OUTLIERS_EXPECTED = 0.2
"""Prior mean of that share."""

N_SWEEPS = 3
"""Passes over the noises found, after each level."""


class Pursuit:
    """Holds changing state: the extra noises of readings, y_i ~ N(f, lam + rho_i), and their posterior.

    With d_i = lam + rho_i, R the posterior covariance of the m points read and Si the inverse covariance
    of the readings, Si_ii = (d_i - R_jj) / d_i^2 and (Si y)_i = (y_i - mu_j) / d_i for a reading of
    point j. So nothing larger than m x m is needed, and a new rho_i is a rank-one update of R.

    Args:
        K: Prior covariance of the points read, (m, m).
        rows: Which of them each reading is of, (n,).
        y: The readings, (n,).
        lam: Noise of a reading that is no outlier.
    """

    def __init__(self, K: Floats, rows: Ints, y: Floats, lam: float) -> None:
        self.K, self.rows, self.y, self.lam = K, rows, y, lam
        self.rho: Floats = np.zeros(len(y))
        self.found: list[int] = []
        """Readings that were given a noise of their own, in that order."""
        self.refresh()

    def refresh(self) -> None:
        """Work out the posterior and the likelihood from the noises, free of accumulated rounding."""
        d, m = self.lam + self.rho, len(self.K)
        prec = np.bincount(self.rows, 1.0 / d, m)
        ybar = np.bincount(self.rows, self.y / d, m) / prec
        factor = cho_factor(self.K + np.diag(1.0 / prec), lower=True)
        self.R: Floats = cho_solve(factor, self.K) / prec[:, None]
        self.mu: Floats = self.K @ cho_solve(factor, ybar)
        fit = float(np.sum(self.y * (self.y - self.mu[self.rows]) / d))
        log_det = 2.0 * float(np.sum(np.log(np.diag(factor[0])))) + float(np.sum(np.log(prec)))
        log_det += float(np.sum(np.log(d)))
        self.log_likelihood = -0.5 * (fit + log_det + len(self.y) * math.log(2.0 * math.pi))

    def left_out(self) -> tuple[Floats, Floats]:
        """Residual and variance of each reading when it is predicted by all others, (n,) each."""
        d = self.lam + self.rho
        shrink = d / (d - np.diag(self.R)[self.rows])
        return (self.y - self.mu[self.rows]) * shrink, d * shrink

    def best_rho(self, q: int) -> float:
        """The extra noise of reading q that maximises the likelihood, all others as they are."""
        j, d = self.rows[q], self.lam + self.rho[q]
        shrink = d / (d - self.R[j, j])
        return max(0.0, float(((self.y[q] - self.mu[j]) * shrink) ** 2 - d * shrink + self.rho[q]))

    def give(self, q: int, rho: float) -> None:
        """Let reading q have this extra noise."""
        j = self.rows[q]
        change = 1.0 / (self.lam + rho) - 1.0 / (self.lam + self.rho[q])
        step = change * self.R[:, j] / (1.0 + change * self.R[j, j])
        self.mu = self.mu + step * (self.y[q] - self.mu[j])
        self.R = self.R - np.outer(step, self.R[j])
        self.rho[q] = rho

    def grow(self, size: int) -> None:
        """Find outliers until there are `size` of them, or none is left; then improve their noises."""
        while len(self.found) < size:
            residual, var = self.left_out()
            rho = residual**2 - var
            rho[self.found] = -np.inf
            q = int(np.argmax(rho))
            if rho[q] <= 0.0:
                break
            self.found.append(q)
            self.give(q, float(rho[q]))
        for _ in range(N_SWEEPS):
            for q in self.found:
                self.give(q, self.best_rho(q))
        self.refresh()


def pursue(
    K: Floats,
    rows: Ints,
    y: Floats,
    lam: float,
    *,
    levels: Sequence[float] = LEVELS,
    is_tempered: bool = False,
) -> Floats:
    """Extra noises of the readings, (n,): those of the level with the best posterior probability.

    The number of outliers is exponential a priori, with mean max(1, n / 5).

    Args:
        K: Prior covariance of the points read, (m, m).
        rows: Which of them each reading is of, (n,).
        y: The readings, (n,).
        lam: Noise of a reading that is no outlier.
        levels: Shares of readings that may be outliers.
        is_tempered: Divide the log likelihood by n first, as a public implementation does.
    """
    n = len(y)
    expected, temper = max(1.0, OUTLIERS_EXPECTED * n), 1.0 / n if is_tempered else 1.0
    pursuit, best, rho = Pursuit(K, rows, y, lam), -math.inf, np.zeros(n)
    for size in sorted({int(level * n) for level in levels}):
        pursuit.grow(size)
        score = temper * pursuit.log_likelihood - len(pursuit.found) / expected - math.log(expected)
        if score > best:
            best, rho = score, pursuit.rho.copy()
    return rho


class RelevancePursuitUCB(UpperBoundRival):
    """Holds changing state. GP-UCB in which outliers have noises of their own, found by pursuit.

    Plays the largest mu + practical_beta(t) * sigma. The pursuit is a greedy search for a likelihood;
    for a game it guarantees nothing.

    Args:
        domain: A Grid.
        assumptions: kernel and lam, the noise of a reading that is no outlier: noise_std^2 in the
            literature.
        levels: Shares of readings that may be outliers; (0,) is GP-UCB.
        is_tempered: Divide the log likelihood by the number of readings, see `pursue`.
        n_init: Readings of an initial design, which `practical_beta` does not count.
    """

    told = ("kernel", "lam")

    def __init__(
        self,
        domain: Grid,
        assumptions: Assumptions,
        *,
        levels: Sequence[float] = LEVELS,
        is_tempered: bool = False,
        n_init: int = 0,
    ) -> None:
        super().__init__(domain, assumptions)
        self.levels = tuple(checks.real("levels", level, at_least=0.0, at_most=1.0) for level in levels)
        if not self.levels:
            raise ValueError(f"levels must have at least one share, got levels={levels}")
        self.is_tempered = checks.truth("is_tempered", is_tempered)
        self.n_init = checks.integer("n_init", n_init, at_least=0)

    @property
    def parameters(self) -> dict[str, Any]:
        return {"levels": list(self.levels), "is_tempered": self.is_tempered}

    @property
    def rho(self) -> Floats:
        """The extra noise of each reading, in the order of telling: (n,)."""
        a = self.assumptions
        indices, y = told_arrays(self.readings)
        u, rows = np.unique(indices, return_inverse=True)
        K = a.kernel(self.X[u], self.X[u])
        return pursue(K, rows, y, a.lam, levels=self.levels, is_tempered=self.is_tempered)

    def _believe(self) -> Opinion:
        a = self.assumptions
        posterior = Posterior(a.kernel, self.X, a.lam, tracks_noise_var=False)
        if self.readings:
            pairs = zip(self.readings, (a.lam + self.rho).tolist(), strict=True)
            posterior.observe_all([(i, y, lam) for (i, y), lam in pairs])
        return practical(posterior.mu, posterior.var, len(self.readings) - self.n_init)
