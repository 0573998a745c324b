"""What a player maximises: among candidates, and anywhere on a continuous domain by local search."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from unbribable.decision.asking.ahead import Avoided
from unbribable.decision.asking.anywhere import Anywhere
from unbribable.decision.proven.levels import Believer
from unbribable.model.box import Box, Candidates
from unbribable.model.checks import Bools, Floats
from unbribable.model.expected import Expected
from unbribable.model.kernels import Kernel

if TYPE_CHECKING:
    from unbribable.decision.asking.next_round import NextRound

N_STARTS = 10
"""Candidates from which a local search starts, and as many random points; fewer for d < 3."""

_REACH = (0.1, 0.03, 0.01, 0.003, 0.001)
_N_TRIES = 48

_COST = 1e7
"""Entries of R[:, u] a search may stream over: decides the number of evaluations."""


@dataclass(frozen=True, eq=False, slots=True)
class Rule:
    """Maximise the minimum of several upper bounds, over points that are not ruled out."""

    player: Believer
    """Its bound, mu + alpha * width, takes pending queries into account."""
    alpha: float = 1.0
    others: tuple[Believer, ...] = ()
    """Those whose upper bounds (alpha = 1) count too."""
    among: Bools | None = None
    """The candidates to choose among, (n,); all if None."""
    floors: Callable[[], Sequence[tuple[Believer, float]]] = tuple
    """Off the candidates: whose upper bounds (alpha = 1) must reach what; asked for when needed."""
    values: Floats | None = None
    """The rule at the candidates, (n,), where the player's bound alone does not give it."""
    surface: "Callable[[NextRound], Landscape] | None" = None
    """The same anywhere."""


@dataclass(frozen=True, slots=True)
class Play:
    """What is played if the draw names one of the instances: a candidate, or a point between them."""

    probability: float
    learner: str | None
    """The instance that learns, None if nobody does."""
    rule: Rule
    index: int
    """The best candidate."""
    ucb: float
    """Value of the rule there, or at u."""
    level: int = 0
    """Which level plays, where levels take turns; 0 where they do not."""
    u: Floats | None = None
    """Where the local search from the candidates ended, if that is better."""


class Landscape(ABC):
    """Abstract. A rule at any point, to be climbed."""

    @property
    @abstractmethod
    def kernel(self) -> Kernel:
        """Of the beliefs."""

    @abstractmethod
    def values(self, U: Floats) -> Floats:
        """The rule at points U, (k, d); -inf where a floor is not reached."""

    @abstractmethod
    def value_and_gradient(self, u: Floats) -> tuple[float, Floats]:
        """The rule at one point without the floors, and the gradient of the bound that is least."""

    @property
    @abstractmethod
    def m(self) -> int:
        """Number of distinct points read."""

    @property
    def has_floors(self) -> bool:
        """Whether there are points where the rule may not go."""
        return False

    @property
    def n_evaluations(self) -> int:
        """How many evaluations all searches together can afford, given the number of points read."""
        return int(np.clip(_COST / max(1, self.m) ** 2, 10, 400))

    @property
    def n_random(self) -> int:
        """How many random points can be looked at."""
        return int(np.clip(4 * _COST / max(1, self.m) ** 2, 16, 2048))


@dataclass(frozen=True)
class Surface(Landscape):
    """A rule at any point, by the current bounds: valid, known everywhere, not intersected over time."""

    bounds: tuple[tuple[Anywhere, float], ...]
    """Instances with the alpha of their upper bound; the least one counts. The first is the player."""
    floors: tuple[tuple[Anywhere, float], ...] = ()
    """Instances with what their upper bound (alpha = 1) must reach."""
    expected: Expected | None = None
    """The pending queries that the player takes into account."""

    def values(self, U: Floats) -> Floats:
        """The rule at points U, (k, d); -inf where a floor is not reached."""
        expected = [self.expected, *[None] * len(self.bounds)]
        ucbs = [each.ucb(U, alpha, expected[k]) for k, (each, alpha) in enumerate(self.bounds)]
        least: Floats = np.min(ucbs, axis=0)
        for instance, floor in self.floors:
            least[instance.ucb(U, 1.0) < floor] = -np.inf
        return least

    def value_and_gradient(self, u: Floats) -> tuple[float, Floats]:
        """The rule at one point without the floors, and the gradient of the bound that is least."""
        found = [
            instance.ucb_and_gradient(u, alpha, None if k else self.expected)
            for k, (instance, alpha) in enumerate(self.bounds)
        ]
        return min(found, key=lambda one: one[0])

    @property
    def kernel(self) -> Kernel:
        """Of the beliefs."""
        return self.bounds[0][0].kernel

    @property
    def m(self) -> int:
        """Number of distinct points read."""
        return max(instance.m for instance, _ in self.bounds)

    @property
    def has_floors(self) -> bool:
        """Whether there are points where the rule may not go."""
        return bool(self.floors)


def polished(
    play: Play,
    surface: Landscape,
    hopes: Floats,
    candidates: Candidates,
    box: Box,
    stream: int,
    avoided: Avoided | None = None,
) -> Play:
    """The play, moved to the best point that local searches from promising points find.

    They start from the play's own candidate, from the best ranked ones that are not close to each
    other, and from the best of some random points; the best of all these first. The play moves only if
    that gains more than 1/2000 of the width: else the candidate is as good, and reading it again costs
    less.

    Args:
        play: As chosen among the candidates.
        surface: Its rule anywhere.
        hopes: Ranking of the candidates, -inf where the player may not go.
        candidates: Of the box.
        box: The domain.
        stream: Number of the stream of random points.
        avoided: Where it must not end.
    """
    U, kernel = candidates.coordinates, surface.kernel
    if candidates.allowed is not None:
        hopes = np.where(candidates.allowed, hopes, -np.inf)
    width = play.rule.player.now.width_at(play.index)
    order = np.argsort(-hopes, kind="stable")[:128]
    ranked = [play.index, *order[np.isfinite(hopes[order])].tolist()]
    n_starts = min(N_STARTS, 1 + 3 * box.d)
    starts = U[spread(ranked, U, kernel, n_starts)]
    random = np.random.default_rng([5, stream]).random((min(surface.n_random, 512 * box.d), box.d))
    random = box.snap(np.clip(1.3 * random - 0.15, 0.0, 1.0))  # also on faces and edges
    if box.allows is not None:
        random = random[box.allows(random)]
    values = surface.values(random)
    order = np.argsort(-values, kind="stable")
    best = spread(order[np.isfinite(values[order])].tolist(), random, kernel, n_starts)
    starts = np.concatenate([starts, random[best]])
    starts = starts[np.argsort(-surface.values(starts), kind="stable")]  # evaluations may run out
    ends = polish(surface, box, starts)
    # Candidates were compared already.
    ends = ends[[candidates.index_of(u) is None for u in ends]]
    if avoided is not None:
        ends = ends[~avoided.leaves_out(ends)]
    if not len(ends):
        return play
    values = surface.values(ends)
    top = int(np.argmax(values))
    end, value = moved(surface, box, ends[top], float(values[top]), avoided, stream)
    if value <= play.ucb + width / 2000.0:
        return play
    return replace(play, u=end, ucb=value)


def within(
    play: Play,
    surface: Landscape,
    read: Floats,
    box: Box,
    stream: int,
    avoided: Avoided | None = None,
) -> Play:
    """The play, moved to the best point that is found in a part of the box.

    Args:
        play: As chosen in the whole box.
        surface: Its rule anywhere.
        read: The points read, (m, d).
        box: That part.
        stream: Number of the stream of random points.
        avoided: Where it must not end, unless there is nothing else.
    """
    points: Floats = np.unique(np.concatenate([box.allowed, box.snap(read)]), axis=0)
    points = points[box.allowed_of(points)]
    if avoided is not None and (among := avoided.allowed(points)) is not None:
        points = points[among]
    values = surface.values(points)
    ranked = np.argsort(-values, kind="stable")
    starts = points[spread(ranked.tolist(), points, surface.kernel, N_STARTS)]
    ends = polish(surface, box, starts)
    if avoided is not None:
        ends = ends[~avoided.leaves_out(ends)]
    ends = np.concatenate([points[ranked[:1]], ends])
    values = surface.values(ends)
    top = int(np.argmax(values))
    best, value = moved(surface, box, ends[top], float(values[top]), avoided, stream)
    return replace(play, u=best, ucb=value)


def polish(surface: Landscape, box: Box, starts: Floats) -> Floats:
    """The points where L-BFGS-B ends from the starts, (k, d), snapped. Every start keeps the floors.

    A search that runs into a floor, or to where no point is allowed, is also taken back on its way, by
    halves. All points are allowed, as the starts are.
    """
    from scipy.optimize import minimize  # late: a command that polishes nothing starts faster

    def negative(u: Floats) -> tuple[float, Floats]:
        value, gradient = surface.value_and_gradient(u)
        return -value, -gradient

    ends: list[Floats] = []
    n_left = surface.n_evaluations
    for start in starts:
        if n_left <= 0:
            break
        found = minimize(
            negative,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=box.sides,
            options={"maxfun": min(n_left, 40), "ftol": 1e-7},
        )
        n_left -= int(found.nfev)
        ends.append(box.snap(np.clip(found.x, 0.0, 1.0)[None, :])[0])
    ways = np.array(ends)
    if (surface.has_floors or box.allows is not None) and len(ends):
        shares = 0.5 ** np.arange(8)
        steps = ways[None] - starts[None, : len(ways)]
        ways = (starts[None, : len(ways)] + shares[:, None, None] * steps).reshape(-1, box.d)
        ways = box.snap(ways)
    return ways if box.allows is None else ways[box.allows(ways)]


def moved(
    surface: Landscape, box: Box, u: Floats, value: float, avoided: Avoided | None, stream: int
) -> tuple[Floats, float]:
    """An allowed point, (d,), and its value; moved to a better one where not all points are allowed.

    The best point may lie at the edge of what is allowed, where no gradient leads along it: the best of
    random points round it is gone on from, over shrinking distances.
    """
    if box.allows is None:
        return u, value
    rng = np.random.default_rng([19, stream])
    for reach in _REACH:
        steps = reach * rng.standard_normal((_N_TRIES, box.d))
        tries = box.snap(np.clip(u + steps, 0.0, 1.0))
        tries = tries[box.allows(tries)]
        if avoided is not None:
            tries = tries[~avoided.leaves_out(tries)]
        if len(tries):
            values = surface.values(tries)
            top = int(np.argmax(values))
            if values[top] > value:
                u, value = tries[top], float(values[top])
    return u, value


def spread(order: Sequence[int], U: Floats, kernel: Kernel, n: int) -> list[int]:
    """The first n of `order` (of its first 128) that are not close to an earlier one.

    Close: correlated by 0.9 or more.
    """
    order = list(order[:128])
    scale = np.sqrt(np.maximum(kernel.diag(U[order]), np.finfo(float).tiny))
    is_close = kernel(U[order], U[order]) > 0.9 * np.outer(scale, scale)
    chosen: list[int] = []
    for k in range(len(order)):
        if len(chosen) < n and not is_close[k, chosen].any():
            chosen.append(k)
    return [order[k] for k in chosen]
