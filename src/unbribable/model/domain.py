"""Domains: where the learner may look."""

import hashlib
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from unbribable.model import checks
from unbribable.model.checks import Bools, Floats, Ints


class NoPointError(ValueError):
    """No point of a domain may be asked, as far as was found."""


class Grid:
    """A finite domain: n distinct candidates with d finite coordinates, read-only.

    Args:
        points: Array-like of shape (n, d). One-dimensional candidates are a column,
            `np.linspace(0, 1, 100)[:, None]`.
        allows: Which of such points, (n, d), may be asked and recommended, (n,); all of them if None.
    """

    def __init__(self, points: Any, *, allows: Callable[[Floats], Bools] | None = None) -> None:
        points = checks.array("points", points, ndim=2) + 0.0  # + 0.0 makes -0.0 and 0.0 one point
        n, d = points.shape
        if n < 1 or d < 1:
            raise ValueError(
                f"points must hold at least one candidate with one coordinate, got shape {(n, d)}"
            )
        _, first, counts = np.unique(points, axis=0, return_index=True, return_counts=True)
        if len(first) < n:
            twice = points[first[np.argmax(counts > 1)]]
            rows = np.flatnonzero((points == twice).all(axis=1))[:2]
            raise ValueError(
                f"points must be distinct, got {twice.tolist()} at rows {rows[0]} and {rows[1]}"
            )
        points.flags.writeable = False
        self.points: Floats = points
        if allows is not None and not callable(allows):
            raise TypeError(f"allows must be callable, got allows={allows!r}")
        self.allows = allows
        self.n: int = n
        self.d: int = d
        self._columns: Floats = np.ascontiguousarray(points.T)
        self._sides: Floats = np.ptp(points, axis=0)

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        return f"Grid(n={self.n}, d={self.d})"

    def index_of(self, x: Any) -> int:
        """The index of the candidate x: equal up to rounding, and to 1e-9 of the grid's sides.

        Raises:
            ValueError: x is not a candidate; the message names the nearest one.
        """
        x = checks.array("x", x, ndim=1)
        if x.shape != (self.d,):
            raise ValueError(f"x must have shape ({self.d},), got shape {x.shape}")
        off = np.abs(self._columns - x[:, None])
        nearest = int(np.argmin(off.max(axis=0)))
        if (off[:, nearest] > 1e-9 * self._sides + 4.0 * np.spacing(np.abs(x))).any():
            raise ValueError(
                f"x must be a candidate of the domain, got x={x.tolist()}; "
                f"the nearest is {self.points[nearest].tolist()} (index {nearest})"
            )
        return nearest

    @cached_property
    def allowed(self) -> Bools | None:
        """Which candidates may be asked and recommended, (n,); None: all.

        Raises:
            NoPointError: None may be.
        """
        if self.allows is None:
            return None
        found = self.allows(self.points)
        if not found.any():
            raise NoPointError(f"none of {self.n} candidates is allowed")
        return found

    def holding(self, where: Ints, values: Floats) -> "Grid":
        """The same grid, of which only candidates that have these values, (k,), there are allowed."""

        def allows(U: Floats) -> Bools:
            off = np.abs(U[:, where] - values)
            is_there = (off <= 1e-9 * self._sides[where] + 4.0 * np.spacing(np.abs(values))).all(axis=1)
            found: Bools = is_there & allowed_of(self.allows, U)
            return found

        return Grid(self.points, allows=allows)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the candidates, so that a saved state is not resumed on other ones."""
        allowed = b"" if self.allowed is None else self.allowed.tobytes()
        return hashlib.sha256(self.points.tobytes() + allowed).hexdigest()[:16]


def allowed_of(allows: Callable[[Floats], Bools] | None, U: Floats) -> Bools:
    """Which of U, (n, d), a domain allows, (n,)."""
    return np.ones(len(U), dtype=np.bool_) if allows is None else allows(U)
