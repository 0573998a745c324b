"""The price of a bribe and the least corruption, timed."""

from functools import partial

import numpy as np

import unbribable as ub
from benchmarks.problem import Problem
from unbribable.model.checks import Floats, Ints
from unbribable.theory.differences import DifferenceBounds, Differences, paired_certificate
from unbribable.theory.least_corruption import LeastCorruption
from unbribable.theory.price import cheapest_bribe, price
from unbribable.theory.widths import radius

C = 20.0


class Priced:
    """n = 10 000 candidates after t readings of m points, and what a summary asks about the best one."""

    def __init__(self, m: int = 500, t: int = 2_000) -> None:
        problem = Problem(10_000)
        rng = np.random.default_rng(2)
        points = rng.choice(problem.n, m, replace=False)
        told = np.concatenate([points, rng.choice(points, t - m)])
        a = problem.assumptions
        self.assumptions = a
        self.posterior = ub.Posterior(a.kernel, problem.X, a.lam)
        values = problem.readings(told.tolist())
        self.posterior.observe_all(
            [(int(i), float(y), a.lam) for i, y in zip(told, values, strict=True)]
        )
        row_of = {int(i): row for row, i in enumerate(self.posterior.u)}
        self.rows: Ints = np.array([row_of[int(i)] for i in told])
        self.R: Floats = self.posterior.R

    def ask(self) -> tuple[float, float, float]:
        """Certificate, price and cheapest bribe of the maximiser of the mean, from the posterior."""
        p, a = self.posterior, self.assumptions
        rec = int(np.argmax(p.mu))
        differences = Differences(
            rec,
            p.mu,
            p.var,
            p.system().covariance(p.X[[rec]], p.X)[0],
            partial(np.take, self.R, axis=1),
            p.prec,
            np.arange(p.m),
            np.full(p.m, a.lam),
            np.round(p.prec * a.lam),
        )
        rho = radius(a.noise_std, a.lam, p.gain, a.delta / 2)
        noise = differences.noise(a.B, rho, "tight")
        single = np.full(len(p.mu), np.inf)
        certificate = paired_certificate(rec, single, [DifferenceBounds(differences, noise, C, a.c_max)])
        priced = price(differences, noise, certificate, a.c_max)
        bribe = cheapest_bribe(differences, a.c_max, self.rows, np.full(len(self.rows), a.lam))
        assert priced.value is not None
        return certificate, priced.value, bribe.value


class Audited:
    """t readings of m points, 20 of them false."""

    def __init__(self, m: int, t: int = 1_000) -> None:
        rng = np.random.default_rng(m)
        kernel, B, noise_std = ub.Matern(2.5, 0.3), 2.0, 0.05
        self.points: Floats = rng.random((m, 2))
        self.rows: Ints = np.concatenate([np.arange(m), rng.integers(0, m, t - m)])
        centres = self.points[:6]
        a = rng.standard_normal(6)
        a *= B / np.sqrt(a @ kernel(centres, centres) @ a)
        f = kernel(self.points, centres) @ a
        B0 = 1.1 * float(np.abs(f).max())
        self.lies: Floats = np.zeros(t)
        self.lies[rng.choice(t, 20, replace=False)] = B0 * rng.uniform(0.5, 1.0, 20)
        self.y: Floats = f[self.rows] + noise_std * rng.standard_normal(t) + self.lies
        self.assumptions = ub.Assumptions(kernel, B=B, B0=B0, noise_std=noise_std, lam=noise_std**2)

    def least(self) -> float:
        """The certified least total of lies."""
        return LeastCorruption(self.points, self.rows, self.y, self.assumptions).explain().total
