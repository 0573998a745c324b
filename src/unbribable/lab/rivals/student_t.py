"""GP-UCB with a Student-t likelihood, by expectation maximisation."""

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from unbribable.lab.rivals.base import Opinion, UpperBoundRival
from unbribable.lab.rivals.practice import practical
from unbribable.model import checks
from unbribable.model.checks import Floats, Ints
from unbribable.model.domain import Grid
from unbribable.model.kernels import Kernel
from unbribable.model.posterior import Posterior
from unbribable.theory.assumptions import Assumptions

TOLERANCE = 1e-9
"""Change of f, relative to the largest reading if that exceeds 1, at which a mode is found."""

N_STEPS = 200
"""Steps of the search at most."""


def student_t_weights(K: Floats, rows: Ints, y: Floats, *, nu: float, lam: float) -> Floats:
    """Weights of readings at a mode of the posterior with Student-t noise: (n,).

    Noise with nu degrees of freedom and squared scale lam. Each step is a Gaussian posterior in which
    reading i has the noise lam / w_i, w_i = (nu + 1) / (nu + (y_i - f_i)^2 / lam). It starts from f = 0
    and finds one mode; there may be others. Readings are gathered by point: O(m^3) a step.

    Args:
        K: Prior covariance of the m points read, (m, m).
        rows: Which of them each reading is of, (n,).
        y: The readings, (n,).
        nu: Degrees of freedom.
        lam: Squared scale.
    """
    f: Floats = np.zeros(len(K))
    enough = TOLERANCE * max(1.0, float(np.abs(y).max(initial=0.0)))
    for _ in range(N_STEPS):
        weights = _weights(y - f[rows], nu, lam)
        prec = np.bincount(rows, weights, len(K)) / lam
        ybar = np.bincount(rows, weights * y, len(K)) / lam / prec
        system = K + np.diag(1.0 / prec)
        before, f = f, K @ cho_solve(cho_factor(system, lower=True), ybar)
        if np.abs(f - before).max() <= enough:
            break
    return _weights(y - f[rows], nu, lam)


def _weights(residual: Floats, nu: float, lam: float) -> Floats:
    weights: Floats = (nu + 1.0) / (nu + residual**2 / lam)
    return weights


def student_t(
    kernel: Kernel, X: Floats, indices: Ints, y: Floats, *, nu: float, lam: float
) -> tuple[Floats, Floats]:
    """Mean and variance of f at the candidates under Student-t noise, (n,) each.

    The variance is that of Laplace's method with the Fisher information (nu + 1) / ((nu + 3) lam) of a
    reading in place of the curvature, which is negative for outliers.
    """
    u, rows = np.unique(indices, return_inverse=True)
    weights = student_t_weights(kernel(X[u], X[u]), rows, y, nu=nu, lam=lam)
    mean, spread = (Posterior(kernel, X, lam, tracks_noise_var=False) for _ in range(2))
    noises = lam / weights
    mean.observe_all(list(zip(indices.tolist(), y.tolist(), noises.tolist(), strict=True)))
    noise = lam * (nu + 3.0) / (nu + 1.0)
    spread.observe_all([(int(i), 0.0, noise) for i in indices])
    return mean.mu, spread.var


class StudentTUCB(UpperBoundRival):
    """Holds changing state. Plays the largest mu + practical_beta(t) * sigma under Student-t noise.

    Args:
        domain: A Grid.
        assumptions: kernel and lam, the squared scale of the noise: noise_std^2 in the literature.
        nu: Degrees of freedom.
        n_init: Readings of an initial design, which `practical_beta` does not count.
    """

    told = ("kernel", "lam")

    def __init__(
        self, domain: Grid, assumptions: Assumptions, *, nu: float = 4.0, n_init: int = 0
    ) -> None:
        super().__init__(domain, assumptions)
        self.nu = checks.real("nu", nu, above=0.0)
        self.n_init = checks.integer("n_init", n_init, at_least=0)

    @property
    def parameters(self) -> dict[str, Any]:
        return {"nu": self.nu}

    def _believe(self) -> Opinion:
        a = self.assumptions
        mu, var = np.zeros(len(self.X)), a.kernel.diag(self.X)
        if self.readings:
            indices, y = told_arrays(self.readings)
            mu, var = student_t(a.kernel, self.X, indices, y, nu=self.nu, lam=a.lam)
        return practical(mu, var, len(self.readings) - self.n_init)


def told_arrays(readings: list[tuple[int, float]]) -> tuple[Ints, Floats]:
    """Candidates and values of readings, (n,) each."""
    indices, values = zip(*readings, strict=True)
    return np.array(indices, dtype=np.intp), np.array(values)
