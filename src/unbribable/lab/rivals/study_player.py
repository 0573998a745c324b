"""Our own study as a player, to be compared: what a user of it would get, who tells it nothing."""

from typing import Any

import numpy as np

from unbribable.decision.asking.draws import Seed
from unbribable.decision.proposal import Query
from unbribable.lab.rivals.base import Rival
from unbribable.model.checks import Floats, Ints
from unbribable.model.domain import Grid
from unbribable.study.study import Study
from unbribable.theory.assumptions import Assumptions


class StudyPlayer(Rival):
    """Holds changing state. Asks a Study with default arguments, and recommends what it recommends.

    What a study states rests on a model that it fits, which is no promise in a game.

    Args:
        domain: A Grid.
        assumptions: Not used: kernel, noise and B are fitted to the readings.
        T: Rounds that are intended, for its initial design.
        seed: Of the study.
    """

    told = ()
    is_ours = True

    def __init__(
        self, domain: Grid, assumptions: Assumptions, *, T: int | None = None, seed: Any = None
    ) -> None:
        super().__init__(domain, assumptions, seed=Seed.of(seed))
        assert self.seed is not None
        self.T = T
        self._study = Study(domain, n_rounds=T, seed=int(self.seed.uniform(1) * 2**31))
        self._asked: dict[int, Query] = {}
        self._next: Query | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        return {"T": self.T}

    def ask(self) -> Query:
        """The next point that the study asks for; it is pending until told."""
        query = super().ask()
        assert self._next is not None
        self._asked[query.t], self._next = self._next, None
        return query

    def _choices(self) -> tuple[Ints, Floats]:
        if self._next is None:
            self._next = self._study.ask()
        return np.array([self.domain.index_of(self._next.x)], dtype=np.intp), np.ones(1)

    def _learn(self, query: Query, y: float) -> None:
        self._study.tell(self._asked.pop(query.t, query.x), y)

    def _best(self) -> int:
        return self.domain.index_of(self._study.recommend().x) if self.readings else 0
