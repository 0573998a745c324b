"""What readings do to a posterior, and rows that grow."""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from unbribable.model.checks import Floats, Ints

Rows = TypeVar("Rows", Floats, Ints)


@dataclass(frozen=True)
class Update:
    """What one reading did: the mean moved along `step`, each row j of R by -R[j, i] * step."""

    step: Floats
    """Posterior covariance with the point read, before the reading, over (variance + lam): (n,).
    A view of working memory: good until the next reading."""
    is_rebuilt: bool
    """Whether the matrix was rebuilt, so that nothing is known about how R moved."""


def condition(top: Floats, u: Ints, prec: Floats) -> tuple[Floats, float]:
    """A Gaussian conditioned on readings of p points at once (ours).

    With M = top[:, u] + diag(1 / prec) the covariance of any two points falls by their columns of
    `top` against each other, through M^-1. Not by Cholesky: what rounding adds to the rows must be
    the same on both sides, or prec multiplies it in every round.

    Args:
        top: Covariance of the points with every candidate, (p, n).
        u: Which candidates they are, (p,).
        prec: The precision of what was read at each, (p,).

    Returns:
        The steps M^-1 top, (p, n), and the information gained.
    """
    if not len(u):
        return top, 0.0
    factor = lu_factor(top[:, u] + np.diag(1.0 / prec))
    gain = 0.5 * float(np.sum(np.log(np.abs(np.diag(factor[0]))) + np.log(prec)))
    return lu_solve(factor, top), gain


def grown(rows: Rows) -> Rows:
    """The same rows in a buffer of twice the length (zeros behind them stay untouched memory)."""
    larger = np.zeros((2 * len(rows), *rows.shape[1:]), dtype=rows.dtype)
    larger[: len(rows)] = rows
    return larger
