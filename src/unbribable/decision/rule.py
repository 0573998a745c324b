"""What a player maximises, at any point of a continuous domain, and its polishing by local search."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from unbribable.decision.anywhere import Anywhere
from unbribable.decision.avoid import Avoided
from unbribable.decision.proposal import Atom
from unbribable.model.box import Box, Candidates
from unbribable.model.checks import Floats
from unbribable.model.expected import Expected
from unbribable.model.kernels import Kernel

M_POLISHED = 2048
"""Points read beyond which a choice on a Box is not polished any more."""
N_STARTS = 10
"""Candidates from which a local search starts, and as many random points; fewer for d < 3."""

_COST = 1e7
"""Entries of R[:, u] a search may stream over: decides the number of evaluations."""


@dataclass(frozen=True)
class Rule:
    """The least of some upper bounds mu + alpha * width, where others leave hope.

    The bounds are the current ones, valid, not intersected over the past: they are known everywhere.
    """

    bounds: tuple[tuple[Anywhere, float], ...]
    """Instances with the alpha of their upper bound; the least one counts. The first is the player, who
    reckons with pending queries."""
    floors: tuple[tuple[Anywhere, float], ...] = ()
    """Instances with what their upper bound (alpha = 1) must reach: potential maximisers."""

    def values(self, U: Floats) -> Floats:
        """The rule at points U, (k, d); -inf where a floor is not reached."""
        ucbs = [instance.ucb(U, alpha, expected) for instance, alpha, expected in self._bounds]
        least = np.min(ucbs, axis=0)
        for instance, floor in self.floors:
            least[instance.ucb(U, 1.0) < floor] = -np.inf
        values: Floats = least
        return values

    def value_and_gradient(self, u: Floats) -> tuple[float, Floats]:
        """The rule at one point without the floors, and the gradient of the bound that is least."""
        found = [
            instance.ucb_and_gradient(u, alpha, expected) for instance, alpha, expected in self._bounds
        ]
        return min(found, key=lambda one: one[0])

    @property
    def _bounds(self) -> list[tuple[Anywhere, float, Expected | None]]:
        """With what each reckons with."""
        return [
            (instance, alpha, None if k else instance.expected)
            for k, (instance, alpha) in enumerate(self.bounds)
        ]

    @property
    def n_evaluations(self) -> int:
        """How many evaluations all searches together can afford, given the number of points read."""
        return int(np.clip(_COST / self._m**2, 10, 400))

    @property
    def n_random(self) -> int:
        """How many random points can be looked at."""
        return int(np.clip(4 * _COST / self._m**2, 16, 2048))

    @property
    def _m(self) -> int:
        return max(1, *(instance.m for instance, _ in self.bounds))


def polished(
    atom: Atom,
    rule: Rule,
    hopes: Floats,
    candidates: Candidates,
    width: float,
    stream: int,
    avoided: Avoided | None = None,
) -> Atom:
    """The atom, moved to the best point that local searches from promising points find.

    They start from the atom's own candidate, from the best ranked ones that are not close to each
    other, and from the best of some random points; the best of all these first. The atom moves only if
    that gains more than 1/2000 of the width: else the candidate is as good, and reading it again costs
    less.

    Args:
        atom: As chosen among the candidates.
        rule: What its player maximises.
        hopes: Ranking of the candidates, -inf where the player may not go.
        candidates: Of a Box.
        width: The player's width at the atom's candidate.
        stream: Number of the stream of random points.
        avoided: Where it must not end.
    """
    U, box = candidates.coordinates, candidates.box
    assert box is not None
    kernel = rule.bounds[0][0].kernel
    order = np.argsort(-hopes, kind="stable")[:128]
    ranked = [atom.index, *order[np.isfinite(hopes[order])].tolist()]
    n_starts = min(N_STARTS, 1 + 3 * box.d)
    starts = U[spread(ranked, U, kernel, n_starts)]
    random = np.random.default_rng([5, stream]).random((min(rule.n_random, 512 * box.d), box.d))
    random = box.snap(np.clip(1.3 * random - 0.15, 0.0, 1.0))  # also on faces and edges
    values = rule.values(random)
    order = np.argsort(-values, kind="stable")
    best = spread(order[np.isfinite(values[order])].tolist(), random, kernel, n_starts)
    starts = np.concatenate([starts, random[best]])
    starts = starts[np.argsort(-rule.values(starts), kind="stable")]  # evaluations may run out
    ends = polish(rule, box, starts)
    # Candidates were compared already.
    ends = ends[[candidates.index_of(u) is None for u in ends]]
    if avoided is not None:
        ends = ends[~avoided.leaves_out(ends)]
    if not len(ends):
        return atom
    values = rule.values(ends)
    top = int(np.argmax(values))
    if values[top] <= atom.ucb + width / 2000.0:
        return atom
    return replace(atom, u=ends[top], ucb=float(values[top]))


def polish(rule: Rule, box: Box, starts: Floats) -> Floats:
    """Where L-BFGS-B ends from the starts, (k, d), all of which keep the floors: points, snapped.

    A search that runs into a floor is also taken back on its way, by halves.
    """

    def negative(u: Floats) -> tuple[float, Floats]:
        value, gradient = rule.value_and_gradient(u)
        return -value, -gradient

    ends: list[Floats] = []
    n_left = rule.n_evaluations
    for start in starts:
        if n_left <= 0:
            break
        found = minimize(
            negative,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, 1.0)] * box.d,
            options={"maxfun": min(n_left, 40), "ftol": 1e-7},
        )
        n_left -= int(found.nfev)
        ends.append(box.snap(np.clip(found.x, 0.0, 1.0)[None, :])[0])
    ways = np.array(ends)
    if rule.floors:
        shares = 0.5 ** np.arange(8)
        steps = ways[None] - starts[None, : len(ways)]
        ways = (starts[None, : len(ways)] + shares[:, None, None] * steps).reshape(-1, box.d)
        ways = box.snap(ways)
    return ways


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
