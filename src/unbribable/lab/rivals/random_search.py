"""Random search: the floor of every table."""

from typing import Any

import numpy as np

from unbribable.decision.asking.draws import Seed
from unbribable.decision.proposal import Query
from unbribable.lab.rivals.base import Rival
from unbribable.model.checks import Floats, Ints
from unbribable.model.domain import Grid
from unbribable.theory.assumptions import Assumptions


class RandomSearch(Rival):
    """Holds changing state. Plays every candidate equally often; recommends the best mean reading.

    Args:
        domain: A Grid.
        assumptions: Not used; all players are built alike.
        seed: Of the draws.
    """

    told = ()

    def __init__(self, domain: Grid, assumptions: Assumptions, *, seed: Any = None) -> None:
        super().__init__(domain, assumptions, seed=Seed.of(seed))
        self._sums: Floats = np.zeros(domain.n)

    def _choices(self) -> tuple[Ints, Floats]:
        n = len(self.X)
        return np.arange(n), np.full(n, 1.0 / n)

    def _learn(self, query: Query, y: float) -> None:
        assert query.index is not None
        self._sums[query.index] += y

    def _best(self) -> int:
        mean = np.where(self.counts > 0, self._sums / np.maximum(self.counts, 1), -np.inf)
        return int(np.argmax(mean))
