"""What every lab does: each point is read three times, and the median counts."""

import numpy as np

from unbribable.decision.proposal import Query
from unbribable.lab.rivals.base import Opinion, UpperBoundRival
from unbribable.lab.rivals.practice import practical
from unbribable.model.checks import Floats, Ints
from unbribable.model.domain import Grid
from unbribable.model.posterior import Posterior
from unbribable.theory.assumptions import Assumptions

N_TIMES = 3
"""How often a point is read before its median counts: one of them may be a lie."""


class MedianUCB(UpperBoundRival):
    """Holds changing state. GP-UCB on medians: plays the largest mu + practical_beta(t) * sigma.

    Each point that it chooses is read three times in a row, and the median is learned as one reading; t
    of them so far. One lie at a point moves little, two decide. A reading that it did not ask for is
    learned as it is.

    Args:
        domain: A Grid.
        assumptions: kernel and lam, the fictitious noise of a median.
    """

    told = ("kernel", "lam")

    def __init__(self, domain: Grid, assumptions: Assumptions) -> None:
        super().__init__(domain, assumptions)
        self._visit: dict[int, int] = {}
        self._told: dict[int, list[float]] = {}
        self._point = 0
        self._n_medians = 0
        a = assumptions
        self._posterior = Posterior(a.kernel, self.X, a.lam, tracks_noise_var=False)

    def ask(self) -> Query:
        """The point of the largest bound, three times. Learns nothing; it is pending until told."""
        query = super().ask()
        assert query.index is not None
        self._visit[query.t], self._point = len(self._visit) // N_TIMES, query.index
        return query

    def _choices(self) -> tuple[Ints, Floats]:
        if len(self._visit) % N_TIMES:
            return np.array([self._point], dtype=np.intp), np.ones(1)
        return super()._choices()

    def _learn(self, query: Query, y: float) -> None:
        assert query.index is not None
        visit = self._visit.get(query.t)
        if visit is None:
            self._posterior.observe(query.index, y)
            return
        told = self._told.setdefault(visit, [])
        told.append(y)
        if len(told) == N_TIMES:
            self._posterior.observe(query.index, float(np.median(self._told.pop(visit))))
            self._n_medians += 1

    def _believe(self) -> Opinion:
        return practical(self._posterior.mu.copy(), self._posterior.var, self._n_medians)
