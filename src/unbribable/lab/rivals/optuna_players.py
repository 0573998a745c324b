"""Optuna's samplers as players, to be compared: what a user of it would pick. Extra: optuna."""

import warnings
from abc import abstractmethod
from functools import partial
from typing import Any

import numpy as np

from unbribable.decision.asking.draws import Seed
from unbribable.decision.proposal import Query
from unbribable.extras import needed
from unbribable.lab.rivals.base import Rival
from unbribable.model.checks import Floats, Ints
from unbribable.model.domain import Grid
from unbribable.theory.assumptions import Assumptions

of_bench = partial(needed, "this player needs", extra="bench")
"""A module of the extra `bench`, or the error that says how to install it."""


class OptunaPlayer(Rival):
    """Abstract. Holds changing state. Asks an Optuna study, with the sampler's own defaults.

    A parameter is the rank of a coordinate among those of the candidates; what is read is the candidate
    nearest to the point, axes scaled to the unit cube. It recommends the best reading, as Optuna does.

    Args:
        domain: A Grid.
        assumptions: Not used; all players are built alike.
        seed: Of the sampler.
    """

    told = ()

    def __init__(self, domain: Grid, assumptions: Assumptions, *, seed: Any = None) -> None:
        super().__init__(domain, assumptions, seed=Seed.of(seed))
        self._optuna = optuna = of_bench("optuna")
        self._axes = [np.unique(column) for column in self.X.T]
        self._space = {
            f"x{k}": optuna.distributions.IntDistribution(0, len(axis) - 1)
            for k, axis in enumerate(self._axes)
        }
        assert self.seed is not None
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # which of its samplers are experimental
            sampler = self._sampler(optuna.samplers, int(self.seed.uniform(1) * 2**31))
            self._study = optuna.create_study(direction="maximize", sampler=sampler)
        self._trials: dict[int, Any] = {}
        self._next: tuple[int, Any] | None = None

    @abstractmethod
    def _sampler(self, samplers: Any, seed: int) -> Any:
        """Optuna's sampler."""

    def ask(self) -> Query:
        """The next point that the study suggests; it is pending until told."""
        query = super().ask()
        assert self._next is not None
        self._trials[query.t] = self._next[1]
        self._next = None
        return query

    def _choices(self) -> tuple[Ints, Floats]:
        if self._next is None:
            trial = self._study.ask(self._space)
            point = [
                axis[trial.params[name]] for name, axis in zip(self._space, self._axes, strict=True)
            ]
            spans = np.maximum([axis[-1] - axis[0] for axis in self._axes], 1e-300)
            distance = np.linalg.norm((self.X - np.array(point)) / spans, axis=1)
            self._next = int(np.argmin(distance)), trial
        return np.array([self._next[0]], dtype=np.intp), np.ones(1)

    def _learn(self, query: Query, y: float) -> None:
        if query.t in self._trials:
            self._study.tell(self._trials.pop(query.t), y)
            return
        ranks = [int(np.searchsorted(axis, x)) for axis, x in zip(self._axes, query.x, strict=True)]
        params = dict(zip(self._space, ranks, strict=True))
        trial = self._optuna.trial.create_trial(params=params, distributions=self._space, value=y)
        self._study.add_trial(trial)

    def _best(self) -> int:
        return max(self.readings, key=lambda reading: reading[1])[0] if self.readings else 0


class OptunaTPE(OptunaPlayer):
    """Holds changing state. Optuna's tree-structured Parzen estimator, its default."""

    def _sampler(self, samplers: Any, seed: int) -> Any:
        return samplers.TPESampler(seed=seed)


class OptunaGP(OptunaPlayer):
    """Holds changing state. Optuna's sampler on Gaussian processes, which needs PyTorch."""

    def _sampler(self, samplers: Any, seed: int) -> Any:
        of_bench("torch")
        return samplers.GPSampler(seed=seed, deterministic_objective=False)
