"""What a weak adversary can do to readings that are taken in random order (ours)."""

import math
from collections.abc import Sequence

import numpy as np

from unbribable.model.checks import Floats, Ints
from unbribable.theory.widths import shift_exact

_TILTS = np.geomspace(1e-2, 500.0, 22)
"""theta * cap * (largest weight), among which the best is taken; e^-500 is still a number."""

_ELEMENTS = 1 << 22
"""Rounds times candidates handled at once."""


def random_order_shift(
    weights: Floats, repeats: Ints, drawn: Sequence[int], C: float, c_max: float, delta: float
) -> Floats:
    """A bound on the shift of the mean by an adversary who commits before each draw (ours).

    Round i reads point a with probability p_i(a), its share of the readings left. With
    cap = min(C, c_max), L = ln(n / delta), and theta(x) > 0 fixed before the first draw,

        psi_i(x) = ln sum_a p_i(a) exp(theta(x) cap |weight_a(x)|)
        shift(x) = ( sum of the C / cap largest psi_i(x), the last one in part, + L ) / theta(x)

    with probability 1 - delta at all n candidates. Proof. Round i adds at most |weight_a| q_i, q_i its
    charge. ln E exp(theta |weight| q) is convex in q and 0 at 0, so at most (q / cap) psi_i; the product
    of exp(theta |weight_{a_i}| q_i - (q_i / cap) psi_i) is a supermartingale: Ville, and a union over
    the candidates. The q_i / cap lie in [0, 1] and sum to at most C / cap. QED

    Both signs are covered, since |weight| is. theta minimises the bound for rounds that all have the
    first one's probabilities.

    Args:
        weights: |weight| of one reading of each point, (s, n).
        repeats: How often each point is read, (s,).
        drawn: The row of the point of each round, in the order of the draws.
        C: Total corruption, > 0.
        c_max: Largest single lie, may be inf.
        delta: The probability of failure.
    """
    cap = min(C, c_max)
    n_units, n = C / cap, weights.shape[1]
    room = math.log(n / delta)
    theta = _tilt(weights, repeats / repeats.sum(), cap, n_units, room)
    exponents = theta * cap * weights
    largest = exponents.max(axis=0)
    grown = np.exp(exponents - largest)
    taken = np.zeros((len(drawn), len(repeats)))
    taken[np.arange(1, len(drawn)), drawn[:-1]] = 1.0
    left = repeats - np.cumsum(taken, axis=0)
    chances = left / left.sum(axis=1, keepdims=True)
    shift, ones = np.empty(n), np.ones(len(drawn))
    step = max(1, _ELEMENTS // len(drawn))
    for start in range(0, n, step):
        part = slice(start, start + step)
        psi = np.maximum(np.log(chances @ grown[:, part]) + largest[part], 0.0)
        shift[part] = (shift_exact(psi, ones, n_units, 1.0) + room) / theta[part]
    return shift


def _tilt(weights: Floats, shares: Floats, cap: float, n_units: float, room: float) -> Floats:
    """theta for each candidate, (n,)."""
    largest = np.maximum(weights.max(axis=0), np.finfo(float).tiny)
    bounds = [
        (n_units * (np.log(shares @ np.exp(tilt * (weights / largest - 1.0))) + tilt) + room) / tilt
        for tilt in _TILTS
    ]
    theta: Floats = _TILTS[np.argmin(bounds, axis=0)] / (cap * largest)
    return theta
