"""What one reading does to a posterior, and rows that grow."""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

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


def grown(rows: Rows) -> Rows:
    """The same rows in a buffer of twice the length (zeros behind them stay untouched memory)."""
    larger = np.zeros((2 * len(rows), *rows.shape[1:]), dtype=rows.dtype)
    larger[: len(rows)] = rows
    return larger
