"""Attacks of few lies, each of any size: made for a budget that counts lies."""

import math

import numpy as np

from unbribable.lab.world.adversaries.base import Adversary, Observation, View
from unbribable.lab.world.adversaries.fixed import FixedLies
from unbribable.lab.world.objectives import Objective
from unbribable.model import checks
from unbribable.model.checks import Floats


class Burst(FixedLies):
    """The first readings within `radius` of the maximiser fall to `value`: c = value - f(x).

    As many as the budget allows, but none of the `n_honest` first rounds. A value far below f is loud,
    one that f takes elsewhere is quiet.
    """

    def __init__(self, objective: Objective, *, radius: float, value: float, n_honest: int = 0) -> None:
        lowered = np.minimum(checks.real("value", value) - objective.f, 0.0)
        self.lies = np.where(_near_best(objective, radius), lowered, 0.0)
        self._n_honest = checks.integer("n_honest", n_honest, at_least=0)

    def commit(self, view: View, rng: np.random.Generator) -> Floats:
        return np.where(view.t > self._n_honest, self.lies[view.indices], 0.0)


class FoundDecoy(Adversary):
    """Few lies, spread over the game: the maximiser is hidden, and what is found far away shines.

    Within `radius` of the maximiser a reading falls to `low`. The first point at least `far` from it
    becomes the decoy: there, and then within `radius` of it, readings rise to `high`. By the t-th round
    after the `n_honest` first ones, floor(t^pace) lies have been told at most.
    """

    def __init__(
        self,
        objective: Objective,
        *,
        radius: float,
        far: float,
        low: float,
        high: float,
        pace: float = 1.0 / 3.0,
        n_honest: int = 0,
    ) -> None:
        self._objective = objective
        self._radius = checks.real("radius", radius, above=0.0)
        self._is_far = ~objective.near(objective.best, checks.real("far", far, above=self._radius))
        lowered = np.minimum(checks.real("low", low) - objective.f, 0.0)
        self._hidden = np.where(_near_best(objective, radius), lowered, 0.0)
        self._raised = np.maximum(checks.real("high", high) - objective.f, 0.0)
        self._pace = checks.real("pace", pace, above=0.0, at_most=1.0)
        self._n_honest = checks.integer("n_honest", n_honest, at_least=0)
        self.reset()

    def commit(self, view: View, rng: np.random.Generator) -> Floats:
        t = max(view.t - self._n_honest, 0)
        if self.n_told >= math.floor(t**self._pace + 1e-9):  # 64^(1/3) is below 4 in float64
            return np.zeros(len(view.indices))
        lies = self._hidden + np.where(self._is_decoy, self._raised, 0.0)
        return lies[view.indices]

    def saw(self, index: int, instance: str | None, observation: Observation) -> None:
        if observation.c == 0.0:
            return
        self.n_told += 1
        if self.decoy is None and self._is_far[index]:
            self.decoy = index
            self._is_decoy = self._is_far & self._objective.near(index, self._radius)

    def reset(self) -> None:
        self.n_told, self.decoy = 0, None
        self._is_decoy = self._is_far

    n_told: int
    """Lies told so far; those that were granted and drawn."""
    decoy: int | None
    """The candidate that was chosen as decoy."""


def _near_best(objective: Objective, radius: float) -> np.ndarray:
    return objective.near(objective.best, checks.real("radius", radius, above=0.0))
