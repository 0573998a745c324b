"""Readings that agree to the last digit, as of a stuck sensor: how much that speaks against them."""

import math

import numpy as np

from unbribable.model.checks import Floats

N_FOR_SURE = 3
"""Places at which the same value is read by a fault for sure, where readings are noisy."""

PAIR = 4.0
"""How much it speaks against two readings, in log odds, that they are equal."""

CHANCE = 0.02
"""Equal readings speak against themselves if honest ones would make at most so many such sets."""

N_NEAR = 10
"""Readings next to a value by which the step of a grid, and how many there are, is told."""

MOST = 0.25
"""Share of the readings that may agree to the last digit with another one. Beyond it that is how f is,
with few values or a plateau, and says nothing."""


def equal_doubt(points: Floats, y: Floats) -> Floats:
    """What speaks against each reading because others are equal, in log odds, (n,): 0, PAIR or math.inf.

    Two things may explain equal readings of different points. First chance: readings on a coarse grid
    often agree. Among n readings, each of which agrees with p others, there are about n p^(k - 1) / k!
    sets of k equal ones. p is the number of readings near the value, times the step of their grid; or
    the share of the other readings that are equal to one elsewhere, if that is more. Second, f may be
    constant somewhere, or the instrument may saturate. Equal readings then lie beside each other: at
    most half of them may have another one as their nearest point.

    Args:
        points: Where they were taken, as the kernel sees it, (n, d).
        y: The readings, (n,).
    """
    doubt = np.zeros(len(y))
    places, group = np.unique(points, axis=0, return_inverse=True)
    group = group.reshape(-1)  # NumPy 2.0 gives a column
    values, value = np.unique(y, return_inverse=True)
    pairs = np.unique(np.stack([value.reshape(-1), group]), axis=1)
    n_places = np.bincount(pairs[0])
    repeated = n_places > 1
    if not repeated.any() or repeated[value].mean() > MOST:
        return doubt
    nearest = _nearest(places)
    for k in np.flatnonzero(repeated):
        own = pairs[1, pairs[0] == k]
        same = y == values[k]
        others = n_places[np.arange(len(values)) != k]
        share = float(others[others > 1].sum()) / max(1, int(others.sum()))
        p = max(_agreeing(y[~same], float(values[k])), share)
        n_sets = len(y) * p ** (len(own) - 1) / math.factorial(len(own))
        is_scattered = np.isin(nearest[own], own).mean() <= 0.5
        if n_sets <= CHANCE and is_scattered:
            doubt[same] = math.inf if len(own) >= N_FOR_SURE else PAIR
    return doubt


def step_of(y: Floats) -> float:
    """The largest step of which all differences of readings are multiples, such as 1 of whole numbers.

    0 where there is none: of less than a billionth of their range.
    """
    gaps = np.diff(np.unique(y))
    least = 1e-9 * float(gaps.sum())
    rest = gaps[gaps > least]
    step = 0.0
    while len(rest):
        step = float(rest.min())
        rest = np.abs(gaps - step * np.round(gaps / step))
        rest = rest[rest > least]
    return step


def _agreeing(y: Floats, value: float) -> float:
    """How many of these readings would be equal to the value by chance."""
    if not len(y):
        return 1.0
    near = y[np.argsort(np.abs(y - value), kind="stable")][:N_NEAR]  # a grid may be finer further away
    reach = float(np.abs(near - value).max())
    return len(near) * step_of(np.append(near, value)) / (2.0 * reach)


def _nearest(points: Floats) -> np.ndarray:
    """To each distinct point the nearest other one, (m,)."""
    from scipy.spatial import cKDTree  # few tables have equal readings

    found: np.ndarray = cKDTree(points).query(points, k=2)[1]
    return np.where(found[:, 0] == np.arange(len(points)), found[:, 1], found[:, 0])
