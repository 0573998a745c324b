"""The width that authors of heuristic rivals play with. It proves nothing."""

import math

import numpy as np

from unbribable.lab.rivals.base import Opinion
from unbribable.model.checks import Floats


def practical_beta(t: int) -> float:
    """max(1, 1.7 sqrt(2 ln(t + 2))), t readings after the initial design: a multiple of sigma.

    The schedule of the published robust conjugate GP-UCB experiments; all heuristics use it here.
    """
    return max(1.0, 1.7 * math.sqrt(2.0 * math.log(max(t, 0) + 2.0)))


def practical(mu: Floats, var: Floats, t: int) -> Opinion:
    """Mean and variance at the candidates, (n,) each, with the width of `practical_beta`(t)."""
    sigma = np.sqrt(var)
    return Opinion(mu, sigma, practical_beta(t) * sigma)
