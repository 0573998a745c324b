"""Who can still be the maximiser, at several corruptions at once."""

from collections.abc import Sequence

import numpy as np

from unbribable.model.checks import Bools, Floats
from unbribable.theory import compiled


def rule_out(
    own: Sequence[Floats], other: Sequence[Floats], tolerance: float, sets: Bools, top: Floats
) -> int:
    """Remove from each set what the bounds of two sources, at its level or one above, rule out (ours).

    Args:
        own: Upper and lower bounds, (n_levels, n) each.
        other: Those of the other source.
        tolerance: By how much an upper bound may miss the largest lower one.
        sets: Nested, the smallest first, (n_levels, n); changed in place.
        top: Upper and lower bounds of the last level by both sources, (2, n), to be written.

    Returns:
        How many sets there are up to the last that lost somebody.
    """
    if compiled.LIBRARY is not None:
        return compiled.rule_out(own, other, tolerance, sets, top)
    upper, lower = np.minimum(own[0], other[0]), np.maximum(own[1], other[1])
    top[0], top[1] = upper[-1], lower[-1]
    may_be_best = upper >= lower.max(axis=1, keepdims=True) - tolerance
    is_lost = sets > may_be_best
    sets &= np.logical_and.accumulate(may_be_best[::-1], axis=0)[::-1]
    return int(np.max(np.flatnonzero(is_lost.any(axis=1)) + 1, initial=0))
