"""Attacks whose lie about a candidate is always the same.

`objective` is the true function, `target` the region that the learner is lured into, (n,) booleans.
"""

import numpy as np

from unbribable.lab.world.adversaries.base import Adversary, View
from unbribable.lab.world.objectives import Objective
from unbribable.model import checks
from unbribable.model.checks import Bools, Floats
from unbribable.model.kernels import check_scale


class FixedLies(Adversary):
    """Abstract. The constructor works out the lies, one per candidate."""

    lies: Floats
    """(n,)."""

    def commit(self, view: View, rng: np.random.Generator) -> Floats:
        return self.lies[view.indices]


class RegionSubtraction(FixedLies):
    """Lowers readings within `radius` of the maximiser by `share` times f(x*) [BKS20, Fig. 1]."""

    def __init__(self, objective: Objective, *, radius: float, share: float = 1.0 / 3.0) -> None:
        is_near = objective.near(objective.best, checks.real("radius", radius, above=0.0))
        height = checks.real("share", share, above=0.0) * objective.f_max
        self.lies = np.where(is_near, -height, 0.0)


class Subtraction(Adversary):
    """Subtracts height * bump((x - centre) / scale), usually with the maximiser as centre.

    The bump is 1 within the unit ball; with `is_smooth` it is exp(1 - 1/(1 - |z|^2)) there. The scale is
    its radius, a number or one per coordinate.
    """

    def __init__(
        self, centre: Floats, *, scale: float | Floats, height: float, is_smooth: bool = True
    ) -> None:
        self._centre = checks.array("centre", centre, ndim=1)
        self._scale = np.asarray(check_scale("scale", scale))
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


class Clipping(FixedLies):
    """Outside the target no value exceeds the best one inside, f(x~), less a margin.

    c(x) = min(f(x), f(x~) - margin) - f(x) outside, 0 inside.
    """

    def __init__(self, objective: Objective, target: Bools, *, margin: float = 0.0) -> None:
        f, self.target = objective.f, check_target(target, len(objective.f))
        ceiling = f[self.target].max() - checks.real("margin", margin, at_least=0.0)
        self.lies = np.where(self.target, 0.0, np.minimum(f, ceiling) - f)


class AggressiveSubtraction(FixedLies):
    """Lowers every value outside the target; it succeeds if `height` exceeds f(x*) - f(x~)."""

    def __init__(self, target: Bools, *, height: float) -> None:
        self.target = check_target(target, len(target))
        self.lies = np.where(self.target, 0.0, -checks.real("height", height, above=0.0))


class Flip(FixedLies):
    """Turns every value round: c = -2 f(x)."""

    def __init__(self, objective: Objective) -> None:
        self.lies = -2.0 * objective.f


class HideAndDecoy(FixedLies):
    """Within `radius` of the maximiser values fall to `low`, around a decoy they rise to `high`.

    `decoy` is a candidate's index; by default the best one at least two radii from the maximiser.
    """

    def __init__(
        self, objective: Objective, *, radius: float, low: float, high: float, decoy: int | None = None
    ) -> None:
        f, radius = objective.f, checks.real("radius", radius, above=0.0)
        decoy = default_decoy(objective, 2.0 * radius) if decoy is None else decoy
        raised = np.maximum(checks.real("high", high) - f, 0.0)
        lowered = np.minimum(checks.real("low", low) - f, 0.0)
        raised = np.where(objective.near(decoy, radius), raised, 0.0)
        self.lies = np.where(objective.near(objective.best, radius), lowered, raised)


class TopK(FixedLies):
    """Lowers readings of the K best points to `value`: c = value - f(x).

    A weak adversary pays for what it commits, drawn or not. So this one commits only if the proposal
    puts at least `min_probability` on the K points.
    """

    def __init__(
        self, objective: Objective, *, K: int = 5, value: float = -1.0, min_probability: float = 0.5
    ) -> None:
        K = checks.integer("K", K, at_least=1)
        self._is_top = np.zeros(len(objective.f), dtype=np.bool_)
        self._is_top[np.argsort(-objective.f, kind="stable")[:K]] = True
        lowered = np.minimum(checks.real("value", value) - objective.f, 0.0)
        self.lies = np.where(self._is_top, lowered, 0.0)
        self._least = checks.real("min_probability", min_probability, at_least=0.0, at_most=1.0)

    def commit(self, view: View, rng: np.random.Generator) -> Floats:
        on_top = view.probabilities[self._is_top[view.indices]].sum()
        return np.where(on_top >= max(self._least, 1e-300), self.lies[view.indices], 0.0)


class ZeroOut(FixedLies):
    """c = -f(x), so that pure noise is told, for the first floor(C / max|f|) rounds [BKS20, App. J].

    A cap c_max below max|f| leaves some of f in the reading.
    """

    def __init__(self, objective: Objective) -> None:
        self.lies = -objective.f
        self._height = objective.B0
        self._n_rounds = 0

    def commit(self, view: View, rng: np.random.Generator) -> Floats:
        if view.t == 1:
            self._n_rounds = int(view.left / self._height + 1e-9)
        return np.where(view.t <= self._n_rounds, self.lies[view.indices], 0.0)

    def reset(self) -> None:
        self._n_rounds = 0


def default_decoy(objective: Objective, distance: float) -> int:
    """The best candidate at least `distance` from the maximiser."""
    is_far = ~objective.near(objective.best, distance)
    if not is_far.any():
        raise ValueError(f"a decoy must lie {distance:g} from the maximiser, no candidate does")
    return int(np.flatnonzero(is_far)[np.argmax(objective.f[is_far])])


def check_target(target: Bools, n: int) -> Bools:
    """The target, if it is n booleans of which some, but not all, are true."""
    region = np.asarray(target)
    if region.dtype != np.bool_ or region.shape != (n,):
        raise ValueError(
            f"target must be {n} booleans, got dtype {region.dtype} and shape {region.shape}"
        )
    if not region.any() or region.all():
        raise ValueError(f"target must be part of the domain, got {int(region.sum())} of {n} points")
    return region
