"""What a choice takes into account besides the readings: pending queries, and points to avoid."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unbribable.model.checks import Bools, Floats
from unbribable.model.expected import Expected
from unbribable.model.kernels import Kernel
from unbribable.model.posterior import Posterior

CLOSE = 0.9
"""Correlation from which on a point is close to another."""


@dataclass(frozen=True, eq=False)
class Avoided:
    """Points not to ask for, (k, d), among points that were read, (m, d)."""

    points: Floats
    read: Floats
    kernel: Kernel

    def leaves_out(self, U: Floats) -> Bools:
        """Which of U, (n, d), not to choose: points to avoid, and those close to one and to no reading.

        Close means a correlation of CLOSE or more. So a region without readings is approached from where
        there are some, by halves, not point after point along its highest bounds.
        """
        lost = _correlation(self.kernel, U, self.points)
        read = _correlation(self.kernel, U, self.read)
        return is_among(U, self.points) | (lost >= CLOSE) & (lost > read + 1e-9)

    def allowed(self, X: Floats, among: Bools | None = None, only: Bools | None = None) -> Bools | None:
        """The candidates X, (n, d), to choose among: of `among` (None: all) those not left out.

        If there is none, also those outside of `among`; then all but the points to avoid; then `among`.
        None is outside of `only` (None: all), of which `among` is a part.
        """
        is_free = ~self.leaves_out(X)
        masks = [is_free, ~is_among(X, self.points)]
        if only is not None:
            masks = [mask & only for mask in masks]
        if among is not None:
            masks.insert(0, is_free & among)
        return next((mask for mask in masks if mask.any()), among)


@dataclass(frozen=True, eq=False)
class Ahead:
    """Pending queries and points to avoid, as one instance sees them.

    After the pending queries, whose values are unknown, sigma will be smaller. The width in the choice
    shrinks by the same factor, so that several pending queries spread out. Intervals stay as they are.
    """

    expected: Expected | None = None
    """The pending queries, if any."""
    shrink: Floats | float = 1.0
    """Factor of the width at the candidates: what they will leave of sigma."""
    avoided: Avoided | None = None
    """The points to avoid, if any."""
    X: Floats | None = None
    """The candidates."""
    only: Bools | None = None
    """Which of them may be asked at all, (n,); None: all."""

    @classmethod
    def of(
        cls,
        posterior: Posterior,
        pending: Sequence[Floats],
        avoid: Sequence[Floats],
        only: Bools | None = None,
    ) -> "Ahead":
        """For an instance with this belief; points as the kernel sees them, (d,) each."""
        avoided, expected = None, None
        if len(avoid):
            read = posterior.X[posterior.u]
            avoided = Avoided(np.array(avoid), read, posterior.kernel)
        if len(pending):
            expected = Expected(posterior, np.array(pending))
        shrink = 1.0 if expected is None else expected.shrink_of_candidates()
        return cls(expected, shrink, avoided, posterior.X, only)

    def allowed(self, values: Floats, among: Bools | None = None) -> Floats:
        """The values of the candidates, -inf where one is not in `among` or to be avoided.

        Where `among` holds none that may be asked, all that may be are in its place.
        """
        if self.only is not None:
            both = self.only if among is None else among & self.only
            among = both if both.any() else self.only
        if self.avoided is not None and self.X is not None:
            among = self.avoided.allowed(self.X, among, self.only)
        return values if among is None else np.where(among, values, -np.inf)


NOTHING = Ahead()
"""Nothing is pending, and no point to be avoided."""


def is_among(U: Floats, points: Sequence[Floats] | Floats) -> Bools:
    """Which of U, (n, d), are among the points, (d,) each, up to rounding; (n,)."""
    found = np.zeros(len(U), dtype=np.bool_)
    for point in points:
        found |= np.abs(U - point).max(axis=1) <= 1e-9 * max(1.0, float(np.abs(point).max()))
    return found


def _correlation(kernel: Kernel, U: Floats, others: Floats) -> Floats:
    """The correlation of each of U with the closest of the others, (n,); 0 if there are none."""
    if not len(others):
        return np.zeros(len(U))
    scale = np.sqrt(np.outer(kernel.diag(U), kernel.diag(others)))
    closest: Floats = (kernel(U, others) / np.maximum(scale, np.finfo(float).tiny)).max(axis=1)
    return closest
