"""Attacks on a region: lower what lies there, or all that lies outside a target."""

import numpy as np

from unbribable.model import checks
from unbribable.model.checks import Bools, Floats
from unbribable.world.adversaries.base import Adversary, Observation, View
from unbribable.world.objectives import Objective


class RegionSubtraction(Adversary):
    """Lowers readings near the maximiser by a fixed share of the maximum [BKS20, Fig. 1].

    Args:
        objective: The true function: it knows the maximiser and the maximum.
        radius: Of the neighbourhood.
        share: Of f(x*); the figure uses 1/3.
    """

    def __init__(self, objective: Objective, *, radius: float, share: float = 1.0 / 3.0) -> None:
        self._is_near = objective.near(objective.best, checks.real("radius", radius, above=0.0))
        self._height = checks.real("share", share, above=0.0) * objective.f_max

    def commit(self, view: View, rng: np.random.Generator) -> Floats:
        return np.where(self._is_near[view.indices], -self._height, 0.0)


class Subtraction(Adversary):
    """Subtracts a bump: -height * bump((x - centre) / scale).

    Args:
        centre: (d,), usually the maximiser.
        scale: Radius of the bump, a number or one per coordinate.
        height: Of the bump.
        is_smooth: exp(1 - 1/(1 - |z|^2)) within |z| < 1 if True, else 1 there.
    """

    def __init__(
        self, centre: Floats, *, scale: float | Floats, height: float, is_smooth: bool = True
    ) -> None:
        self._centre = checks.array("centre", centre, ndim=1)
        self._scale = np.asarray(scale, dtype=np.float64)
        self._height = checks.real("height", height, above=0.0)
        self._is_smooth = is_smooth

    def commit(self, view: View, rng: np.random.Generator) -> Floats:
        z2 = np.sum(((view.points - self._centre) / self._scale) ** 2, axis=1)
        is_inside = z2 < 1.0
        bump = is_inside.astype(np.float64)
        if self._is_smooth:
            bump[is_inside] = np.exp(1.0 - 1.0 / (1.0 - z2[is_inside]))
        lies: Floats = -self._height * bump
        return lies


class Clipping(Adversary):
    """Outside the target region no value exceeds the best one inside, less a margin.

    c(x) = min(f(x), f(x~) - margin) - f(x) outside, 0 inside; x~ the best point inside.

    Args:
        objective: The true function.
        target: The region the learner is lured into, (n,) booleans.
        margin: D >= 0.
    """

    def __init__(self, objective: Objective, target: Bools, *, margin: float = 0.0) -> None:
        self._f = objective.f
        self._target = _region(target, len(objective.f))
        self.margin = checks.real("margin", margin, at_least=0.0)

    def commit(self, view: View, rng: np.random.Generator) -> Floats:
        f = self._f[view.indices]
        ceiling = self._f[self._target].max() - self.margin
        return np.where(self._target[view.indices], 0.0, np.minimum(f, ceiling) - f)


class AggressiveSubtraction(Adversary):
    """Outside the target region every value is lowered by `height`. Needs no more than the region.

    Args:
        target: The region the learner is lured into, (n,) booleans.
        height: More than f(x*) - f(x~) to succeed.
    """

    def __init__(self, target: Bools, *, height: float) -> None:
        self._target = _region(target, len(target))
        self.height = checks.real("height", height, above=0.0)

    def commit(self, view: View, rng: np.random.Generator) -> Floats:
        return np.where(self._target[view.indices], 0.0, -self.height)


class AdaptiveStrength(Adversary):
    """Another attack's lies, weaker while the learner stays in the target, stronger when it leaves.

    The strength multiplies the lies themselves. It is multiplied by (1 - step) when the last `patience`
    rounds were all in the target, else by (1 + step).

    Args:
        base: The attack whose lies are scaled.
        target: The region the learner is lured into, (n,) booleans.
        step: q.
        patience: m.
    """

    def __init__(self, base: Adversary, target: Bools, *, step: float = 0.1, patience: int = 3) -> None:
        self._base = base
        self.needs_strong = base.needs_strong
        self._target = _region(target, len(target))
        self._step = checks.real("step", step, above=0.0, below=1.0)
        self._patience = checks.integer("patience", patience, at_least=1)
        self.strength = 1.0
        self._n_inside = 0

    def commit(self, view: View, rng: np.random.Generator) -> Floats:
        return self.strength * self._base.commit(view, rng)

    def saw(self, index: int, instance: str | None, observation: Observation) -> None:
        self._base.saw(index, instance, observation)
        self._n_inside = self._n_inside + 1 if self._target[index] else 0
        is_won = self._n_inside >= self._patience
        self.strength *= 1.0 - self._step if is_won else 1.0 + self._step
        self.strength = min(max(self.strength, 1e-6), 1e6)  # a long game must not overflow

    def reset(self) -> None:
        self._base.reset()
        self.strength = 1.0
        self._n_inside = 0


def _region(target: Bools, n: int) -> Bools:
    region = np.asarray(target)
    if region.dtype != np.bool_ or region.shape != (n,):
        raise ValueError(
            f"target must be {n} booleans, got dtype {region.dtype} and shape {region.shape}"
        )
    if not region.any() or region.all():
        raise ValueError(f"target must be part of the domain, got {int(region.sum())} of {n} points")
    return region
