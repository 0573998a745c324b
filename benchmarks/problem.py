"""The problem on which speed is measured: a fixed function, noise that depends on the round alone."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

import unbribable as ub
from unbribable.decision.algorithm import Algorithm


@dataclass(frozen=True)
class Problem:
    """GP-UCB on n random points of the unit square (random, so that no two queries tie)."""

    n: int
    lengthscale: float = 0.2
    lam: float = 0.01
    beta: float = 2.0
    noise_std: float = 0.1
    d: int = 2

    @cached_property
    def X(self) -> np.ndarray:
        """The candidates, (n, d)."""
        return np.random.default_rng(0).random((self.n, self.d))

    @cached_property
    def f(self) -> np.ndarray:
        """True values, (n,)."""
        last = self.X[:, -1] if self.d > 1 else 0.0 * self.X[:, 0]
        return np.sin(6.0 * self.X[:, 0]) * np.cos(5.0 * last)

    @cached_property
    def noise(self) -> np.ndarray:
        """Noise of each round."""
        return self.noise_std * np.random.default_rng(1).standard_normal(100_000)

    def readings(self, queries: list[int]) -> np.ndarray:
        """What is told about the queries so far."""
        return self.f[queries] + self.noise[: len(queries)]

    @cached_property
    def domain(self) -> ub.Grid:
        """The candidates as a domain."""
        return ub.Grid(self.X)

    @property
    def assumptions(self) -> ub.Assumptions:
        """What the learners assume."""
        kernel = ub.SquaredExponential(self.lengthscale)
        return ub.Assumptions(kernel, B=2.0, B0=1.0, noise_std=self.noise_std, lam=self.lam)

    def play(self, algorithm: Algorithm, T: int, start: int = 0) -> list[int]:
        """Let an algorithm play rounds start..T-1; the queries it makes."""
        queries = []
        for t in range(start, T):
            query = algorithm.ask()
            algorithm.tell(query, self.f[query.index] + self.noise[t])
            queries.append(query.index)
        return queries
