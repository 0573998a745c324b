"""Attacks on single points: the best ones, all of them, or whichever comes first."""

import numpy as np

from unbribable.model import checks
from unbribable.model.checks import Floats
from unbribable.world.adversaries.base import Adversary, View
from unbribable.world.objectives import Objective


class TopK(Adversary):
    """A reading of one of the K best points is lowered to `value`: c = value - f(x).

    Args:
        objective: The true function.
        K: How many points are attacked.
        value: What they are lowered to.
        min_probability: A weak adversary pays for what it commits, drawn or not: it commits only
            when the proposal puts at least this probability on the K points.
    """

    def __init__(
        self, objective: Objective, *, K: int = 5, value: float = -1.0, min_probability: float = 0.5
    ) -> None:
        K = checks.integer("K", K, at_least=1)
        self._is_top = np.zeros(len(objective.f), dtype=np.bool_)
        self._is_top[np.argsort(-objective.f, kind="stable")[:K]] = True
        self._c = np.minimum(checks.real("value", value) - objective.f, 0.0)
        self._min_probability = checks.real(
            "min_probability", min_probability, at_least=0.0, at_most=1.0
        )

    def commit(self, view: View, rng: np.random.Generator) -> Floats:
        is_top = self._is_top[view.indices]
        if view.probabilities[is_top].sum() < max(self._min_probability, 1e-300):
            return np.zeros(len(view.indices))
        return np.where(is_top, self._c[view.indices], 0.0)


class Flip(Adversary):
    """Turns every value round: c = -2 f(x)."""

    def __init__(self, objective: Objective) -> None:
        self._f = objective.f

    def commit(self, view: View, rng: np.random.Generator) -> Floats:
        return -2.0 * self._f[view.indices]


class RandomLies(Adversary):
    """Normal lies of the given mean and standard deviation, with a given frequency. Knows nothing."""

    def __init__(self, *, std: float, mean: float = 0.0, frequency: float = 1.0) -> None:
        self._std = checks.real("std", std, at_least=0.0)
        self._mean = checks.real("mean", mean)
        self._frequency = checks.real("frequency", frequency, at_least=0.0, at_most=1.0)

    def commit(self, view: View, rng: np.random.Generator) -> Floats:
        size = len(view.indices)
        lies = rng.normal(self._mean, self._std, size)
        lies[rng.random(size) >= self._frequency] = 0.0
        return lies


class HideAndDecoy(Adversary):
    """Near the maximiser values become low, near a decoy high.

    Args:
        objective: The true function.
        radius: Of both neighbourhoods.
        low: What values near the maximiser become.
        high: What values near the decoy become.
        decoy: Its index; by default the best point at least two radii from the maximiser.
    """

    def __init__(
        self,
        objective: Objective,
        *,
        radius: float,
        low: float,
        high: float,
        decoy: int | None = None,
    ) -> None:
        radius = checks.real("radius", radius, above=0.0)
        if decoy is None:
            decoy = default_decoy(objective, 2.0 * radius)
        self._c = np.zeros(len(objective.f))
        is_decoy = objective.near(decoy, radius)
        self._c[is_decoy] = np.maximum(checks.real("high", high) - objective.f[is_decoy], 0.0)
        is_hidden = objective.near(objective.best, radius)
        self._c[is_hidden] = np.minimum(checks.real("low", low) - objective.f[is_hidden], 0.0)

    def commit(self, view: View, rng: np.random.Generator) -> Floats:
        return self._c[view.indices]


class ZeroOut(Adversary):
    """c = -f(x), so that pure noise is told, for the first floor(C / max|f|) rounds [BKS20, App. J].

    Args:
        objective: The true function. A cap c_max below max|f| leaves some of it in the reading.
    """

    def __init__(self, objective: Objective) -> None:
        self._f = objective.f
        self._height = objective.B0
        self._n_rounds = 0

    def commit(self, view: View, rng: np.random.Generator) -> Floats:
        if view.t == 1:
            self._n_rounds = int(view.left / self._height + 1e-9)
        if view.t > self._n_rounds:
            return np.zeros(len(view.indices))
        return -self._f[view.indices]

    def reset(self) -> None:
        self._n_rounds = 0


def default_decoy(objective: Objective, distance: float) -> int:
    """The best candidate at least `distance` from the maximiser."""
    is_far = ~objective.near(objective.best, distance)
    if not is_far.any():
        raise ValueError(f"a decoy must lie {distance:g} from the maximiser, no candidate does")
    return int(np.flatnonzero(is_far)[np.argmax(objective.f[is_far])])
