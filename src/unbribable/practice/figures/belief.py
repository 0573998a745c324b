"""What a learner believes along lines and on a plane, as plain arrays in the user's units."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from unbribable.decision.algorithm import Algorithm
from unbribable.decision.anywhere import Anywhere
from unbribable.model.box import Box
from unbribable.model.checks import Floats
from unbribable.model.dimensions import Choice, Dimension
from unbribable.practice.figures.run import Estimate, Run, in_units, run_of
from unbribable.practice.result import Result
from unbribable.practice.space import Space

N_LINE, N_SLICE, N_SIDE = 401, 121, 81
"""Points of a line alone, of one of several lines, and of a side of a plane."""

MAX_POINTS = 24
"""A parameter with at most that many values is drawn as points; with more, as a line."""

MAX_SLICES = 12

Truth = Callable[[Any], float]


@dataclass(frozen=True, eq=False)
class Axis:
    """One parameter as an axis of a figure."""

    name: str
    values: Floats
    """Where something is drawn, ascending, (k,): values of the parameter, numbers of the options."""
    blocks: Floats
    """The same as the kernel sees them, (k, width)."""
    part: slice
    """Which coordinates these are."""
    dimension: Dimension | None = None
    """Of a named parameter."""
    is_points: bool = False
    """Whether there is nothing between the values."""

    @property
    def options(self) -> tuple[str, ...] | None:
        """Names of the positions 0, 1, ..., if the values are options."""
        return tuple(map(str, self.dimension.options)) if isinstance(self.dimension, Choice) else None

    @property
    def is_log(self) -> bool:
        """Whether equal ratios are equally far apart."""
        return self.dimension is not None and getattr(self.dimension, "log", False)

    def positions(self, X: Floats) -> Floats:
        """Where points of the domain, (n, d), are on the axis, (n,)."""
        if self.dimension is None:
            return X[:, self.part.start]
        return _values(self.dimension, self.dimension.places(X[:, self.part]))


@dataclass(frozen=True, eq=False)
class Band:
    """What is believed at k points, in the user's units."""

    mean: Floats
    """The estimate, see `Estimate`, (k,)."""
    sd: Floats
    """Its standard deviation, (k,)."""
    lower: Floats
    """f is at least that, where guaranteed, (k,); NaN where the bounds contradict each other."""
    upper: Floats
    """f is at most that, likewise, (k,)."""

    @property
    def near(self) -> tuple[Floats, Floats]:
        """Two standard deviations below and above the estimate, cut with the interval."""
        low = np.fmax(self.mean - 2.0 * self.sd, self.lower)
        high = np.fmin(self.mean + 2.0 * self.sd, self.upper)
        return np.minimum(low, self.mean), np.maximum(high, self.mean)


@dataclass(frozen=True, eq=False)
class Line:
    """What is believed along one parameter, the others fixed."""

    axis: Axis
    band: Band
    truth: Floats | None
    """(k,)."""


@dataclass(frozen=True, eq=False)
class Plane:
    """The estimate over two parameters; arrays are (k_up, k_across), as matplotlib draws them."""

    across: Axis
    up: Axis
    mean: Floats
    sd: Floats
    truth: Floats | None


@dataclass(frozen=True, eq=False)
class Belief:
    """What a figure of the posterior shows: lines, or for two parameters a plane."""

    run: Run
    x: Floats
    """The point the lines go through, in the units of the domain, (d,)."""
    at_x: Band
    """What is believed there, one point."""
    is_recommended: bool
    """Whether it is the recommended one."""
    lines: tuple[Line, ...]
    plane: Plane | None
    n_left_out: int
    """Parameters without a line, since there are too many."""


def belief(source: Result | Algorithm, *, at: Any = None, truth: Truth | None = None) -> Belief:
    """Mean and interval: along the line of one parameter, on the plane of two, along slices of more.

    The interval is what all trusted instances leave f by the readings they hold now, cut at +-B0;
    it holds at all points at once. (That of the recommendation is cut with all earlier ones too.)

    Args:
        source: A result, shown in the user's units, or an algorithm, in its own.
        at: The point that lines go through, as f takes it; the recommended one by default.
        truth: The function behind the readings, where it is known; takes points as f does.
    """
    run = run_of(source)
    given = run.best.x if at is None else run.space.given(at)
    u = run.algorithm.candidates.coordinates_of(given)
    estimate = Estimate(run)
    axes = axes_of(run.space, N_SLICE)
    lines: list[Line] = []
    plane = None
    if len(axes) == 2:
        across, up = axes_of(run.space, N_SIDE)
        plane = _plane(run, estimate, across, up, u, truth)
    else:
        axes = axes_of(run.space, N_LINE) if len(axes) == 1 else axes
        lines = [_line(run, estimate, axis, u, truth) for axis in axes]
        moves = [float(np.ptp(line.band.mean)) for line in lines]
        kept = np.argsort(moves, kind="stable")[::-1][:MAX_SLICES]  # along which the mean moves most
        lines = [lines[k] for k in sorted(kept)]
    return Belief(
        run=run,
        x=run.algorithm.candidates.x_of(u),
        at_x=believed(run, estimate, u[None, :]),
        is_recommended=at is None,
        lines=tuple(lines),
        plane=plane,
        n_left_out=0 if plane is not None else len(axes) - len(lines),
    )


def believed(run: Run, estimate: Estimate, U: Floats) -> Band:
    """What is believed at points as the kernel sees them, (k, d)."""
    B0 = run.algorithm.assumptions.B0
    low, high = np.full(len(U), -B0), np.full(len(U), B0)
    for label in run.guarantee.labels:
        anywhere = Anywhere(run.algorithm.instances[label])
        mu, ucb = anywhere.ucb(U, 0.0), anywhere.ucb(U, 1.0)
        low, high = np.maximum(low, 2.0 * mu - ucb), np.minimum(high, ucb)
    ends = in_units(run.units, np.where(low > high, np.nan, np.stack([low, high])))
    return Band(*estimate.at(U), lower=ends.min(axis=0), upper=ends.max(axis=0))


def axes_of(space: Space, n: int) -> list[Axis]:
    """An axis for every parameter that has more than one value; n points where they are dense."""
    axes, end = [], 0
    if space.encoding is None:
        axes = [_plain_axis(space, j, n) for j in range(space.domain.d)]
    else:
        for name, dimension in space.encoding.dimensions.items():
            part = slice(end, end + dimension.width)
            end += dimension.width
            if dimension.width:
                axes.append(_named_axis(name, dimension, part, n))
    axes = [axis for axis in axes if len(axis.values) > 1]
    if not axes:
        raise ValueError("a figure of the posterior needs a parameter with two values, there is none")
    return axes


def _named_axis(name: str, dimension: Dimension, part: slice, n: int) -> Axis:
    count = dimension.count
    is_points = count is not None and (count <= MAX_POINTS or isinstance(dimension, Choice))
    if is_points:
        places: Floats = np.arange(float(count or 0))
    else:
        places = np.unique(dimension.places(np.linspace(0.0, 1.0, n)[:, None]))
    blocks = dimension.coordinates(places)
    return Axis(name, _values(dimension, places), blocks, part, dimension, is_points)


def _values(dimension: Dimension, places: Floats) -> Floats:
    """Positions on the axis: values, or numbers of options."""
    if isinstance(dimension, Choice):
        return places
    return np.array([dimension.value(float(place)) for place in places], dtype=np.float64)


def _plain_axis(space: Space, j: int, n: int) -> Axis:
    """Coordinate j of a Box or a Grid; of a Grid that is a lattice, only its values."""
    domain, part = space.domain, slice(j, j + 1)
    name = "x" if domain.d == 1 else f"x[{j}]"
    if isinstance(domain, Box):
        u = np.linspace(0.0, 1.0, n)
        low, high = float(domain.low[j]), float(domain.high[j])
        return Axis(name, low + u * (high - low), u[:, None], part)
    levels = [np.unique(column) for column in domain.points.T]
    values = levels[j]
    is_lattice = int(np.prod([len(level) for level in levels])) == domain.n
    if not is_lattice:  # the model goes on between the candidates
        values = np.linspace(float(values[0]), float(values[-1]), n)
    is_points = is_lattice and len(values) <= MAX_POINTS
    return Axis(name, values, values[:, None], part, is_points=is_points)


def _line(run: Run, estimate: Estimate, axis: Axis, u: Floats, truth: Truth | None) -> Line:
    U = np.repeat(u[None, :], len(axis.values), axis=0)
    U[:, axis.part] = axis.blocks
    U = _existing(run, U)
    return Line(axis, believed(run, estimate, U), _true(run, U, truth))


def _plane(
    run: Run, estimate: Estimate, across: Axis, up: Axis, u: Floats, truth: Truth | None
) -> Plane:
    shape = len(up.values), len(across.values)
    U = np.repeat(u[None, :], shape[0] * shape[1], axis=0)
    U[:, across.part] = np.tile(across.blocks, (shape[0], 1))
    U[:, up.part] = np.repeat(up.blocks, shape[1], axis=0)
    U = _existing(run, U)
    (mean, sd), true = estimate.at(U), _true(run, U, truth)
    true = None if true is None else true.reshape(shape)
    return Plane(across, up, mean.reshape(shape), sd.reshape(shape), true)


def _existing(run: Run, U: Floats) -> Floats:
    """The nearest points that exist, as the kernel sees them."""
    box = run.algorithm.candidates.box
    return U if box is None else box.snap(U)


def _true(run: Run, U: Floats, truth: Truth | None) -> Floats | None:
    if truth is None:
        return None
    points = run.algorithm.candidates.x_of(U)
    return np.array([float(truth(run.space.shown(x))) for x in points])
