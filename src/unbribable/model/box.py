"""Continuous domains, and the candidates among which an algorithm searches any domain."""

import hashlib
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from unbribable.model import checks
from unbribable.model.checks import Bools, Floats, Ints
from unbribable.model.domain import Grid, NoPointError, allowed_of
from unbribable.model.kernels import Kernel
from unbribable.model.sobol import scrambled_sobol

N_TEST = 1024
"""Points (four times as many in several dimensions) from which the search for gaps begins."""

N_TRIED = 2**14
"""Sobol points tried, at most, to find some that are allowed."""

N_STEPS_TO_ALLOWED = 8
"""How often steps are made from those that were found, where they are few."""

_N_STARTS, _N_MOVES, _N_STEPS = 8, 16, 16
"""How many of them it moves, how many moves it tries at a time, and how often."""


class Box:
    """A continuous domain: all x with low <= x <= high, scaled to the unit cube.

    Kernels see the unit cube: a lengthscale of 0.2 is a fifth of the box's side. Algorithms compare
    finitely many candidates: at first scrambled Sobol points and corners, later also every point read
    and a few points around it and around the incumbent. A local search from the best candidates then
    polishes the choice, so it need not be one of them.

    Args:
        low: Lower bounds, (d,); read-only once here.
        high: Upper bounds, (d,), each above the lower one; read-only too.
        n_candidates: Sobol candidates at the start, a power of two.
        snap: Maps points of the unit cube, (n, d), to the nearest ones that exist, where not all of
            them do (integers, categories); idempotent.
        allows: Which of such points, (n, d), may be asked and recommended, (n,); all of them if None.

    Attributes:
        sides: The bounds of each coordinate of the unit cube, (d,) pairs; equal where it is held.
    """

    def __init__(
        self,
        low: Any,
        high: Any,
        *,
        n_candidates: int = 1024,
        snap: Callable[[Floats], Floats] | None = None,
        allows: Callable[[Floats], Bools] | None = None,
    ) -> None:
        self.low: Floats = checks.array("low", [low] if np.isscalar(low) else low, ndim=1)
        self.high: Floats = checks.array("high", [high] if np.isscalar(high) else high, ndim=1)
        self.d: int = len(self.low)
        if self.low.shape != self.high.shape or not self.d:
            raise ValueError(
                "low and high must have one entry per coordinate, "
                f"got shapes {self.low.shape} and {self.high.shape}"
            )
        is_apart = (self.low < self.high) & (self.high / 2.0 - self.low / 2.0 < 1e300)
        if not is_apart.all():
            k = int(np.argmin(is_apart))
            raise ValueError(
                "low must be below high, at a finite distance, "
                f"got low={self.low[k]}, high={self.high[k]} in coordinate {k}"
            )
        self.n_candidates: int = checks.integer("n_candidates", n_candidates, at_least=2)
        if self.n_candidates & (self.n_candidates - 1) or self.n_candidates > 2**20:
            raise ValueError(
                f"n_candidates must be a power of two, at most 2^20, got n_candidates={n_candidates}"
            )
        if snap is not None and not callable(snap):
            raise TypeError(f"snap must be callable, got snap={snap!r}")
        self.snap: Callable[[Floats], Floats] = _same if snap is None else snap
        self.is_snapped = snap is not None
        if allows is not None and not callable(allows):
            raise TypeError(f"allows must be callable, got allows={allows!r}")
        self.allows = allows
        self.sides: list[tuple[float, float]] = [(0.0, 1.0)] * self.d
        self.low.flags.writeable = self.high.flags.writeable = False

    def __repr__(self) -> str:
        return f"Box(low={self.low.tolist()}, high={self.high.tolist()})"

    def to_unit(self, X: Floats) -> Floats:
        """Points of the box as points of the unit cube; shape (n, d) or (d,)."""
        unit: Floats = (X - self.low) / (self.high - self.low)
        return unit

    def from_unit(self, U: Floats) -> Floats:
        """Points of the unit cube as points of the box, never outside it."""
        X = np.clip(self.low + U * (self.high - self.low), self.low, self.high)
        return np.where(U >= 1.0, self.high, X)

    def check(self, x: Any) -> Floats:
        """x as a point of the unit cube, if it lies in the box (up to rounding)."""
        x = checks.array("x", x, ndim=1)
        if x.shape != (self.d,):
            raise ValueError(f"x must have shape ({self.d},), got shape {x.shape}")
        u = self.to_unit(x)
        outside = np.maximum(-u, u - 1.0)
        k = int(np.argmax(outside))
        if outside[k] > 1e-9:
            raise ValueError(
                f"x must lie in the box, got x[{k}]={x[k]} outside [{self.low[k]}, {self.high[k]}]"
            )
        snapped: Floats = self.snap(np.clip(u, 0.0, 1.0)[None, :])[0]
        return snapped

    def sobol(self, n: int, seed: int) -> Floats:
        """n scrambled Sobol points of the unit cube (a power of two), snapped."""
        return self.snap(scrambled_sobol(n, self.d, seed))

    def corners(self, n_max: int) -> Floats:
        """Corners of the unit cube, at most n_max of them, snapped: widths are largest there."""
        if 2 ** min(self.d, 20) <= n_max:
            bits = np.arange(2**self.d)[:, None] >> np.arange(self.d) & 1
        else:
            bits = np.random.default_rng(11).integers(0, 2, (n_max, self.d))
        return self.snap(bits.astype(np.float64))

    def holding(self, where: Ints, values: Floats) -> "Box":
        """The same box, of whose points only those exist whose coordinates `where`, (k,), are `values`.

        They are coordinates of the unit cube, of a point that exists.
        """

        def held(U: Floats) -> Floats:
            U = self.snap(U).copy()
            U[:, where] = values
            return U

        n, allows = self.n_candidates, self.allows
        box = Box(self.low, self.high, n_candidates=n, snap=held, allows=allows)
        box.sides = [*self.sides]
        for k, value in zip(where, values, strict=True):
            box.sides[k] = (float(value), float(value))
        return box

    @cached_property
    def allowed(self) -> Floats:
        """Points that are allowed, spread over all that are, (k, d), k >= 1; the same ones always.

        Sobol points, corners and the middle: as many as there are candidates, or more where few of them
        are allowed.
        Where very few are, steps from these to any others, halved until they end at an allowed point.

        Raises:
            NoPointError: None is found.
        """
        if self.allows is None:
            return np.concatenate([self.sobol(self.n_candidates, 0), self.corners(64)])
        n = n_tried = self.n_candidates
        middle = self.snap(np.outer([0.0, 0.5, 1.0], np.ones(self.d)))
        points = np.concatenate([self.sobol(n, 0), self.corners(64), middle])
        found = points[self.allows(points)]
        while len(found) < n // 4 and n_tried < N_TRIED:
            points = self.sobol(2 * n_tried, 0)[n_tried:]
            found = np.concatenate([found, points[self.allows(points)]])
            n_tried *= 2
        if not len(found):
            raise NoPointError(f"none of {n_tried} points that were tried is allowed")
        rng = np.random.default_rng(17)
        for _ in range(N_STEPS_TO_ALLOWED if len(found) < n // 4 else 0):
            found = np.concatenate([found, self._near(found, n // 8, rng)])
        return found

    def allowed_of(self, U: Floats) -> Bools:
        """Which of some points that exist, (n, d), are allowed, (n,)."""
        return allowed_of(self.allows, U)

    def _near(self, found: Floats, n: int, rng: np.random.Generator) -> Floats:
        """Allowed points, n at most, on ways from some of those found, (k, d), to any others.

        Some of the coordinates change, which leads away from a corner of what is allowed, too.
        """
        assert self.allows is not None
        starts, ends = found[rng.integers(0, len(found), n)], list[Floats]()
        is_new = rng.random((n, self.d)) < rng.random((n, 1))
        others = np.where(is_new, rng.random((n, self.d)), starts)
        for k in range(10):
            tries = self.snap(starts + 0.5**k * (others - starts))
            is_allowed = self.allows(tries)
            ends.append(tries[is_allowed])
            starts, others = starts[~is_allowed], others[~is_allowed]
        return np.concatenate(ends)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of bounds and candidates, so that a saved state is not resumed on others."""
        first = self.sobol(self.n_candidates, 0) if self.allows is None else self.allowed
        parts = (self.low, self.high, first)
        return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()[:16]


class Candidates:
    """Holds changing state: the points an algorithm compares. A Grid's are fixed, a Box's grow.

    Attributes:
        domain: A Grid or a Box.
        box: The domain if it is a Box, else None.
        coordinates: The candidates as the kernel sees them, (n, d).
        allowed: Which of them may be asked and recommended, (n,); None: all. On a Box, all but points
            that were read although they are not allowed.
    """

    def __init__(self, domain: Grid | Box) -> None:
        self.domain = domain
        self.box = domain if isinstance(domain, Box) else None
        self.coordinates: Floats
        if isinstance(domain, Box):
            points = domain.allowed
            _, first = np.unique(points, axis=0, return_index=True)
            self.coordinates = points[np.sort(first)]
        else:
            self.coordinates = domain.points
        self.allowed: Bools | None = None
        if isinstance(domain, Grid):
            self.allowed = domain.allowed
        elif domain.allows is not None:
            self.allowed = np.ones(len(self.coordinates), dtype=np.bool_)
        self._n_first = len(self.coordinates)
        self._searched: tuple[Kernel, Floats] | None = None

    @property
    def n(self) -> int:
        """How many there are now."""
        return len(self.coordinates)

    def check_kernel(self, kernel: Kernel) -> None:
        """Refuse a kernel that is undefined or above 1 on the domain (of a Box: its far corner too)."""
        kernel.check(self.coordinates)
        if self.box is not None:
            kernel.check(np.ones((1, self.box.d)))

    def x_of(self, u: Floats) -> Floats:
        """Coordinates, (n, d) or (d,), in the user's units."""
        return u if self.box is None else self.box.from_unit(u)

    def coordinates_of(self, x: Any) -> Floats:
        """A point in the user's units as the kernel sees it, checked."""
        if isinstance(self.domain, Box):
            return self.domain.check(x)
        points: Floats = self.domain.points[self.domain.index_of(x)]
        return points

    def index_of(self, u: Floats) -> int | None:
        """The candidate at u (equal up to rounding, 1e-9), or None where there is none yet."""
        distance = np.zeros(self.n)
        for column, value in zip(self.coordinates.T, u, strict=True):  # faster than all at once
            np.maximum(distance, np.abs(column - value), out=distance)
        nearest = int(np.argmin(distance))
        return nearest if distance[nearest] <= 1e-9 * max(1.0, float(np.abs(u).max())) else None

    def at(self, x: Any) -> int:
        """The index of the candidate at x, in the user's units."""
        index = self.index_of(self.coordinates_of(x))
        if index is None:
            raise ValueError(f"x must be a candidate, such as a point read, got x={x}")
        return index

    def add(self, U: Floats) -> int:
        """Append those of U that are not candidates yet; returns their number."""
        n = self.n
        for u in U:
            if self.index_of(u) is None:
                self.coordinates = np.concatenate([self.coordinates, u[None, :]])
        if self.allowed is not None and self.n > n:
            more = allowed_of(self.domain.allows, self.coordinates[n:])
            self.allowed = np.concatenate([self.allowed, more])
        return self.n - n

    @property
    def compared(self) -> Floats:
        """Those that may be recommended, (n, d): what a certificate compares with."""
        return self.coordinates if self.allowed is None else self.coordinates[self.allowed]

    def discretisation(self, kernel: Kernel) -> float:
        """sup_x min_z d_k(x, z) over candidates z, estimated by search; 0 on a Grid.

        d_k(x, z)^2 = k(x, x) + k(z, z) - 2 k(x, z). A function of norm at most B exceeds its maximum
        over the candidates by at most B times the supremum. The search finds at most the supremum, and
        at least 0.95 of it in tests. It falls as candidates are added. Points and candidates are those
        that are allowed.
        """
        if self.box is None:
            return 0.0
        if self._searched is None or self._searched[0] is not kernel:
            self._searched = (kernel, self._far_points(self.box, kernel))
        square = self._squares(self._searched[1], self.compared, kernel)
        return float(np.sqrt(max(0.0, float(square.max()))))

    def _far_points(self, box: Box, kernel: Kernel) -> Floats:
        """Points far from the first candidates, (k, d).

        They are other Sobol points, corners and, in one dimension, the middles between neighbours.
        Those farthest from every candidate are moved at random, over shrinking distances, as long as
        that leads farther away.
        """
        d, first = box.d, self.coordinates[: self._n_first]
        points = [box.sobol(N_TEST << min(2, (d - 1).bit_length()), 1), box.corners(N_TEST)]
        if d == 1:
            line = np.sort(first, axis=0)
            points.append(box.snap((line[1:] + line[:-1]) / 2.0))
        design = np.concatenate(points)
        if box.allows is not None:
            design = np.concatenate([design[box.allows(design)], first[:1]])
        square = self._squares(design, first, kernel)
        far = np.argsort(-square, kind="stable")[:N_TEST]
        top = far[:_N_STARTS]
        moved, square = design[top], square[top]
        rng, rows = np.random.default_rng(13), np.arange(len(top))
        reach = min(0.25, len(first) ** (-1.0 / d))
        for _ in range(_N_STEPS):
            moves = rng.standard_normal((len(top), _N_MOVES, d))
            moves *= rng.random(moves.shape) < rng.random((len(top), _N_MOVES, 1))  # some coordinates
            tries = box.snap(np.clip(moved[:, None] + reach * moves, 0.0, 1.0).reshape(-1, d))
            found = self._squares(tries, first, kernel).reshape(len(top), _N_MOVES)
            if box.allows is not None:
                found[~box.allows(tries).reshape(found.shape)] = -np.inf
            best = found.argmax(axis=1)
            is_farther = found[rows, best] > square
            moved = np.where(is_farther[:, None], tries.reshape(moves.shape)[rows, best], moved)
            square = np.maximum(square, found[rows, best])
            reach *= 1.0 if is_farther.any() else 0.5
        return np.concatenate([design[far], moved])

    @staticmethod
    def _squares(U: Floats, X: Floats, kernel: Kernel) -> Floats:
        """The squared kernel distance of each point of U to the nearest of X, (k,)."""
        parts = np.array_split(U, 1 + len(U) // 1024)  # bounds the memory
        nearest = [(kernel.diag(X) - 2.0 * kernel(part, X)).min(axis=1) for part in parts]
        squares: Floats = kernel.diag(U) + np.concatenate(nearest)
        return squares


def _same(U: Floats) -> Floats:
    return U
