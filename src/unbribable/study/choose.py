"""Where to read next: where mean + beta * sd of all hypotheses together is largest. Heuristic."""

import numpy as np

from unbribable.decision.asking.ahead import Avoided
from unbribable.decision.asking.rule import Landscape, moved, polish, spread
from unbribable.doubt.hypotheses import Belief
from unbribable.model.box import Box
from unbribable.model.checks import Floats
from unbribable.model.kernels import Kernel

N_ANYWHERE, N_AROUND, N_CROSSED = 512, 120, 128
"""Points looked at on a Box: anywhere, around each of the best points read, and some of whose
coordinates are those of a point read."""

N_BEST, N_STARTS = 3, 5
"""Points read that others are drawn around, and points from which a search climbs."""

_REACH = (0.15, 0.05, 0.015)
_KEY = 7


class Promise(Landscape):
    """Mean + beta * standard deviation of f, of all hypotheses together."""

    def __init__(self, belief: Belief, beta: float) -> None:
        self._belief = belief
        self._beta = beta

    def values(self, U: Floats) -> Floats:
        """At points U, (k, d)."""
        mean, sd = self._belief.at(U)
        return mean + self._beta * sd

    def value_and_gradient(self, u: Floats) -> tuple[float, Floats]:
        """At one point, (d,)."""
        return self._belief.value_and_gradient(u, self._beta)

    @property
    def kernel(self) -> Kernel:
        """Of a hypothesis in the middle."""
        return self._belief.kernel

    @property
    def m(self) -> int:
        """Number of readings that it rests on."""
        return self._belief.n


def best_candidate(promise: Promise, candidates: Floats, read: Floats, avoid: Floats) -> int:
    """Which of some candidates, (n, d), to read next; arguments as in `best_point`."""
    values = promise.values(candidates)
    if len(avoid):
        among = Avoided(avoid, read, promise.kernel).allowed(candidates)
        values = values if among is None else np.where(among, values, -np.inf)
    return int(np.argmax(values))


def best_point(promise: Promise, box: Box, read: Floats, avoid: Floats, stream: int) -> Floats:
    """The point of a box to read next, as the kernel sees it, (d,).

    The best that local searches find from the most promising of some points: anywhere, around the best
    points read, and with some coordinates of those.

    Args:
        promise: To be maximised.
        box: Where to look.
        read: The points read, (m, d), the one with the largest mean first.
        avoid: Points, (k, d), that are not chosen unless there is no other, nor what is close to them.
        stream: Number of the stream of random points.
    """
    points = box.snap(_points(box.d, read[:N_BEST], stream))
    avoided = Avoided(avoid, read, promise.kernel) if len(avoid) else None
    if avoided is not None:
        points = np.concatenate([points, box.sobol(N_ANYWHERE, stream), box.corners(N_ANYWHERE)])
    if box.allows is not None:
        points = np.concatenate([points[box.allows(points)], box.allowed])
    if avoided is not None and (among := avoided.allowed(points)) is not None:
        points = points[among]
    order = np.argsort(-promise.values(points), kind="stable")
    starts = points[spread(order.tolist(), points, promise.kernel, N_STARTS)]
    ends = polish(promise, box, starts)
    if avoided is not None:
        ends = ends[~avoided.leaves_out(ends)]
    found = np.concatenate([points[order[:1]], ends])
    values = promise.values(found)
    top = int(np.argmax(values))
    return moved(promise, box, found[top], float(values[top]), avoided, stream)[0]


def _points(d: int, best: Floats, stream: int) -> Floats:
    """Points of the unit cube to be compared, (k, d)."""
    rng = np.random.default_rng([_KEY, stream])
    anywhere = 1.3 * rng.random((N_ANYWHERE, d)) - 0.15  # also on faces and edges
    reach = np.repeat(_REACH, N_AROUND // len(_REACH))[:, None]
    around = best[:, None] + reach * rng.standard_normal((len(best), N_AROUND, d))
    centres = best[rng.integers(0, len(best), N_CROSSED)]
    is_new = rng.random((N_CROSSED, d)) < rng.random((N_CROSSED, 1))
    crossed = np.where(is_new, rng.random((N_CROSSED, d)), centres)
    points: Floats = np.clip(np.concatenate([anywhere, around.reshape(-1, d), crossed]), 0.0, 1.0)
    return points
