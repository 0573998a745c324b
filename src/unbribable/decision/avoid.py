"""Points that a choice avoids: those that gave no reading, and what is closer to them than to one."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unbribable.model.checks import Bools, Floats
from unbribable.model.kernels import Kernel

CLOSE = 0.9
"""Correlation from which on a point is close to another."""


@dataclass(frozen=True, eq=False)
class Avoided:
    """Points not to ask for, (k, d), among points that were read, (m, d)."""

    points: Floats
    read: Floats
    kernel: Kernel

    def leaves_out(self, U: Floats) -> Bools:
        """Which of U, (n, d), not to choose: the points, and those close to one and to no reading.

        A point is close to what is correlated with it by CLOSE or more; if a reading is as close, that
        counts. So a region without readings is approached from where there are some, by halves, not
        point after point along its highest bounds.
        """
        lost = _correlation(self.kernel, U, self.points)
        read = _correlation(self.kernel, U, self.read)
        return is_among(U, self.points) | (lost >= CLOSE) & (lost > read + 1e-9)

    def allowed(self, X: Floats, among: Bools | None = None) -> Bools | None:
        """The candidates X, (n, d), to choose among: of `among` (all if None) those not left out.

        If that is none, those outside of `among`, then those that are no points to avoid themselves,
        then `among`, since all are.
        """
        is_free = ~self.leaves_out(X)
        masks = [is_free, ~is_among(X, self.points)]
        if among is not None:
            masks.insert(0, is_free & among)
        return next((mask for mask in masks if mask.any()), among)


def is_among(U: Floats, points: Sequence[Floats] | Floats) -> Bools:
    """Which of U, (n, d), are among the points, (d,) each, up to rounding; (n,)."""
    found = np.zeros(len(U), dtype=np.bool_)
    for point in points:
        found |= np.abs(U - point).max(axis=1) <= 1e-9 * max(1.0, float(np.abs(point).max()))
    return found


def _correlation(kernel: Kernel, U: Floats, others: Floats) -> Floats:
    """Of each of U with the closest of the others, (n,); 0 if there are none."""
    if not len(others):
        return np.zeros(len(U))
    scale = np.sqrt(np.outer(kernel.diag(U), kernel.diag(others)))
    closest: Floats = (kernel(U, others) / np.maximum(scale, np.finfo(float).tiny)).max(axis=1)
    return closest
