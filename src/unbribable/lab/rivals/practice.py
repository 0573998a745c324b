"""The width that authors of heuristic rivals play with. It proves nothing."""

import math


def practical_beta(t: int) -> float:
    """max(1, 1.7 sqrt(2 ln(t + 2))), t readings after the initial design: a multiple of sigma.

    The schedule of the published robust conjugate GP-UCB experiments; all heuristics use it here.
    """
    return max(1.0, 1.7 * math.sqrt(2.0 * math.log(max(t, 0) + 2.0)))
