"""What an algorithm believes along lines and on a plane, as plain arrays in the user's units."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from unbribable.decision.algorithm import Algorithm
from unbribable.decision.asking.anywhere import Anywhere
from unbribable.model.box import Box
from unbribable.model.checks import Floats
from unbribable.model.dimensions import Choice, Dimension, Real
from unbribable.say.figures.run import Run, in_units, run_of
from unbribable.study.result import Result
from unbribable.study.space import Space
from unbribable.study.study import Study

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
    """None on a Grid, whose coordinates are the values."""
    is_points: bool = False
    """Whether there is nothing between the values."""

    @property
    def options(self) -> tuple[str, ...] | None:
        """Names of the positions 0, 1, ..., if the values are options."""
        return tuple(map(str, self.dimension.options)) if isinstance(self.dimension, Choice) else None

    @property
    def is_log(self) -> bool:
        """Whether equal ratios are equally far apart."""
        return getattr(self.dimension, "log", False)

    def positions(self, U: Floats) -> Floats:
        """Where points as the kernel sees them, (n, d), are on the axis, (n,)."""
        if self.dimension is None:
            return U[:, self.part.start]
        return _values(self.dimension, self.dimension.places(U[:, self.part]))


@dataclass(frozen=True, eq=False)
class Section:
    """What is believed along axes, the other parameters fixed, in the user's units.

    Arrays have one dimension per axis, (k,) along a line, (k_up, k_across) on a plane.
    """

    axes: tuple[Axis, ...]
    mean: Floats
    """The estimate, see `Run.estimate`."""
    sd: Floats
    """Its standard deviation."""
    lower: Floats
    """f is at least that, where guaranteed; NaN on planes, and where the bounds are contradictory."""
    upper: Floats
    """f is at most that, likewise."""
    truth: Floats | None
    """f itself, where it is known."""

    @property
    def near(self) -> tuple[Floats, Floats]:
        """Two standard deviations below and above the estimate, cut with the interval."""
        low = np.fmax(self.mean - 2.0 * self.sd, self.lower)
        high = np.fmin(self.mean + 2.0 * self.sd, self.upper)
        return np.minimum(low, self.mean), np.maximum(high, self.mean)


@dataclass(frozen=True, eq=False)
class Belief:
    """What a figure of the posterior shows."""

    run: Run
    u: Floats
    """The point that the sections go through, as the kernel sees it, (d,)."""
    at_u: Section
    """What is believed there."""
    is_recommended: bool
    """Whether it is the recommended one."""
    sections: tuple[Section, ...]
    """The plane of two parameters, or a line for each."""
    n_left_out: int
    """Parameters without a line, since there are too many."""


def belief(source: Result | Study | Algorithm, *, at: Any = None, truth: Truth | None = None) -> Belief:
    """Mean and interval: along the line of one parameter, on the plane of two, along slices of more.

    The interval is what all trusted instances leave f by the readings they hold now, cut at +-B0;
    it holds at all points at once. (That of the recommendation is cut with all earlier ones too.)

    Args:
        source: A result or a study, shown in the user's units, or an algorithm, in its own.
        at: The point that lines go through, as f takes it; the recommended one by default.
        truth: The function behind the readings, where it is known; takes points as f does.
    """
    run = run_of(source)
    u = run.algorithm.candidates.coordinates_of(run.best.x if at is None else run.space.given(at))
    n_axes = len(axes_of(run.space, N_SIDE))
    if n_axes == 2:
        across, up = axes_of(run.space, N_SIDE)
        sections = [section(run, u, (up, across), truth)]
    else:
        axes = axes_of(run.space, N_LINE if n_axes == 1 else N_SLICE)
        lines = [section(run, u, (axis,), truth) for axis in axes]
        moves = [float(np.ptp(line.mean)) for line in lines]
        kept = np.argsort(moves, kind="stable")[::-1][:MAX_SLICES]  # along which the mean moves most
        sections = [lines[k] for k in sorted(kept)]
    n_left_out = 0 if n_axes == 2 else n_axes - len(sections)
    return Belief(run, u, section(run, u), at is None, tuple(sections), n_left_out)


def section(run: Run, u: Floats, axes: tuple[Axis, ...] = (), truth: Truth | None = None) -> Section:
    """What is believed along axes through u, at the nearest points that exist; without axes, at u."""
    shape = tuple(len(axis.values) for axis in axes)
    U = np.repeat(u[None], math.prod(shape), axis=0)
    for axis, place in zip(axes, np.indices(shape), strict=True):
        U[:, axis.part] = axis.blocks[place.ravel()]
    candidates, B0 = run.algorithm.candidates, run.algorithm.assumptions.B0
    U = U if candidates.box is None else candidates.box.snap(U)
    low, high = np.full(len(U), -B0), np.full(len(U), B0)
    for label in run.guarantee.labels if len(axes) < 2 else ():
        anywhere = Anywhere(run.algorithm.policy.named(label))
        mu, ucb = anywhere.ucb(U, 0.0), anywhere.ucb(U, 1.0)
        low, high = np.maximum(low, 2.0 * mu - ucb), np.minimum(high, ucb)
    is_empty = (low > high) | (len(axes) > 1)
    ends = in_units(run.units, np.where(is_empty, np.nan, np.stack([low, high])))
    parts = (*run.estimate(U), ends.min(axis=0), ends.max(axis=0))
    mean, sd, lower, upper = (part.reshape(shape) for part in parts)
    true = None
    if truth is not None:
        points = [run.space.shown(x) for x in candidates.x_of(U)]
        true = np.array([float(truth(point)) for point in points]).reshape(shape)
    return Section(axes, mean, sd, lower, upper, true)


def axes_of(space: Space, n: int) -> list[Axis]:
    """An axis for every parameter that has more than one value; n points where they are dense."""
    domain, end, axes = space.domain, 0, []
    names = ["x"] if domain.d == 1 else [f"x[{j}]" for j in range(domain.d)]
    dimensions: dict[str, Dimension] = {} if space.encoding is None else space.encoding.dimensions
    if isinstance(domain, Box):
        ends = zip(names, domain.low.tolist(), domain.high.tolist(), strict=True)
        for name, dimension in (dimensions or {name: Real(*pair) for name, *pair in ends}).items():
            if dimension.width:
                axes.append(_axis(name, dimension, slice(end, end + dimension.width), n))
            end += dimension.width
        order = () if space.encoding is None else space.encoding.names
        axes.sort(key=lambda axis: order.index(axis.name) if order else 0)
    else:
        axes = [_grid_axis(name, domain.points, j, n) for j, name in enumerate(names)]
    axes = [axis for axis in axes if len(axis.values) > 1]
    if not axes:
        raise ValueError("a figure of the posterior needs a parameter with two values, there is none")
    return axes


def _axis(name: str, dimension: Dimension, part: slice, n: int) -> Axis:
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


def _grid_axis(name: str, points: Floats, j: int, n: int) -> Axis:
    """Coordinate j of a Grid: its values where it is a lattice, else a line."""
    levels = [np.unique(column) for column in points.T]
    values = levels[j]
    is_lattice = int(np.prod([len(level) for level in levels])) == len(points)
    if not is_lattice:  # the model goes on between the candidates
        values = np.linspace(float(values[0]), float(values[-1]), n)
    is_points = is_lattice and len(values) <= MAX_POINTS
    return Axis(name, values, values[:, None], slice(j, j + 1), is_points=is_points)
