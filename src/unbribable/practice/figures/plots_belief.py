"""Figures of what is believed about f: along a line, on a plane, along slices."""

from typing import TYPE_CHECKING, Any

import numpy as np

from unbribable.decision.algorithm import Algorithm
from unbribable.drawing import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PAGE,
    PURPLE,
    RED,
    add_height,
    named_once,
    panel_grid,
    styled,
)
from unbribable.model.checks import Bools, Floats, Ints
from unbribable.practice.figures.belief import Axis, Belief, Line, Plane, Truth, belief
from unbribable.practice.figures.run import band_label, band_note, in_words, window
from unbribable.practice.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

VALUE = "value (units of f)"


def plot_posterior(
    result: Result | Algorithm, *, at: Any = None, trials: bool = True, truth: Truth | None = None
) -> "Figure":
    """What is believed about f: one parameter as a line, two as a map, more as slices.

    The estimate is the mean of a Gaussian process given the readings that do not look like lies, with
    two standard deviations: a picture without a guarantee. The interval round it is the guaranteed
    one; where it leaves the axes it is cut there, and the legend says what it is at the point.

    Args:
        result: A result, drawn in your units, or an algorithm, in the model's.
        at: The point that slices go through, as f takes it; the recommended one by default.
        trials: Whether to draw the readings (in slices, where on each axis they were taken).
        truth: The function behind the readings, where it is known; takes points as f does.

    Returns:
        The figure, not shown: `figure.savefig("posterior.png")`.
    """
    return draw_posterior(belief(result, at=at, truth=truth), trials=trials)


@styled
def draw_posterior(known: Belief, *, trials: bool = True) -> "Figure":
    """The figure of a belief."""
    from matplotlib.figure import Figure

    if known.plane is not None:
        figure, axes = _map(known, known.plane, trials)
    elif len(known.lines) == 1:
        figure = Figure(figsize=(5.4, 2.7), layout="constrained")
        axes = [figure.subplots()]
        _along(axes[0], known, known.lines[0], _limits(known, trials), trials)
        axes[0].set_ylabel(VALUE)
    else:
        figure, axes = panel_grid(len(known.lines), height=1.6)
        limits = _limits(known, trials)
        for ax, line in zip(axes, known.lines, strict=True):
            _along(ax, known, line, limits, trials)
            ax.set_ylabel(VALUE)
            ax.label_outer(remove_inner_ticks=False)
            ax.tick_params(labelbottom=True)
            ax.set_xlabel(line.axis.name)
    across = [line.axis for line in known.lines] if known.plane is None else [known.plane.across]
    add_height(figure, 4.0 * sum(_is_turned(axis) for axis in across))
    named_once(figure, axes, _note(known))
    return figure


def readings_of(
    ax: "Axes", x: Floats | Ints, y: Floats, is_flagged: Bools, limits: tuple[float, float]
) -> None:
    """Readings as markers, suspicious ones apart; those beyond the limits as arrows at the edge."""
    ax.plot(
        x[~is_flagged], y[~is_flagged], color=GREEN, linestyle="none", marker="o",
        markerfacecolor="none", markersize=3.6, markeredgewidth=0.8, label="reading", zorder=3.0,
    )  # fmt: skip
    is_seen = is_flagged & (y >= limits[0]) & (y <= limits[1])
    if is_seen.any():
        ax.plot(
            x[is_seen], y[is_seen], color=RED, linestyle="none", marker="x", markersize=5.0,
            markeredgewidth=1.3, label="suspicious reading", zorder=3.5,
        )  # fmt: skip
    mark_beyond(ax, y, x, limits, "y")


def mark_beyond(
    ax: "Axes", values: Floats, across: Floats | Ints, limits: tuple[float, float], way: str
) -> None:
    """Arrows at the edge of the axes for values outside the limits; `way` is the axis of the values."""
    for edge, is_out, marker in (
        (limits[0], values < limits[0], {"x": "<", "y": "v"}[way]),
        (limits[1], values > limits[1], {"x": ">", "y": "^"}[way]),
    ):
        if is_out.any():
            ends = np.full(int(is_out.sum()), edge)
            x, y = (across[is_out], ends) if way == "y" else (ends, across[is_out])
            ax.plot(
                x, y, color=RED, linestyle="none", marker=marker, markersize=5.0, clip_on=False,
                label="reading beyond the axis", zorder=4.0,
            )  # fmt: skip


def _along(ax: "Axes", known: Belief, line: Line, limits: tuple[float, float], trials: bool) -> None:
    axis, band, run = line.axis, line.band, known.run
    near = band.near
    wide, narrow = band_label(run.best), "estimate ± 2 sd"
    if axis.is_points:
        width = min(7.0, 70.0 / len(axis.values))
        for (low, high), part, alpha, label in (
            ((band.lower, band.upper), 1.0, 0.18, wide), (near, 0.6, 0.35, narrow),
        ):  # fmt: skip
            ax.vlines(
                axis.values, low, high, color=BLUE, linewidth=part * width, alpha=alpha, label=label
            )
        ax.plot(
            axis.values, band.mean, color=BLUE, linestyle="none", marker="_", markersize=width,
            markeredgewidth=1.3, label="estimate",
        )  # fmt: skip
    else:
        ax.fill_between(
            axis.values, band.lower, band.upper, color=BLUE, alpha=0.15, linewidth=0.0, label=wide
        )
        ax.fill_between(axis.values, *near, color=BLUE, alpha=0.3, linewidth=0.0, label=narrow)
        ax.plot(axis.values, band.mean, color=BLUE, label="estimate")
    if line.truth is not None:
        style: dict[str, Any] = {"linestyle": "--"}
        if axis.is_points:
            style = {"linestyle": "none", "marker": "+", "markersize": 5.0}
        ax.plot(axis.values, line.truth, color=BLACK, linewidth=1.0, label="truth", **style)
    readings, is_alone = run.readings, len(known.lines) == 1
    shown = axis.positions(readings.x)
    naive = float(shown[readings.naive])
    if trials and is_alone:
        readings_of(ax, shown, readings.y, readings.is_flagged, limits)
        _mark(ax, naive, float(np.clip(readings.y[readings.naive], *limits)), "naive")
    elif trials:
        _rug(ax, shown, readings.is_flagged)
        _mark(ax, naive, 0.05, "naive", transform=ax.get_xaxis_transform())
    best = float(axis.positions(known.x[None, :])[0])
    _mark(ax, best, float(known.at_x.mean[0]), "best" if known.is_recommended else "at")
    ax.set_ylim(limits)
    _x_axis(ax, axis, "x")


def _rug(ax: "Axes", x: Floats, is_flagged: Bools) -> None:
    """Where readings were taken: they are not on the slice, so their values say nothing here."""
    for is_shown, colour, label, tall in (
        (~is_flagged, GREEN, "where readings were taken", 6.0),
        (is_flagged, RED, "where suspicious ones were taken", 9.0),
    ):
        if is_shown.any():
            ax.plot(
                x[is_shown], np.full(int(is_shown.sum()), 0.03), color=colour, linestyle="none",
                marker="|", markersize=tall, markeredgewidth=0.7, alpha=0.6,
                transform=ax.get_xaxis_transform(), label=label,
            )  # fmt: skip


_STYLE: dict[str, dict[str, Any]] = {
    "best": {"marker": "*", "markersize": 10.0, "color": PURPLE, "label": "recommended point"},
    "at": {"marker": "P", "markersize": 6.0, "color": PURPLE, "label": "point of the slices"},
    "naive": {
        "marker": "D", "markersize": 6.5, "markeredgecolor": ORANGE,
        "markerfacecolor": "none", "markeredgewidth": 1.4, "label": "best reading (naive)",
    },
}  # fmt: skip


def _mark(ax: "Axes", x: float, y: float, kind: str, **more: Any) -> None:
    style = {"markeredgecolor": BLACK, "markeredgewidth": 0.5, **_STYLE[kind], **more}
    ax.plot(x, y, linestyle="none", zorder=5.0, clip_on=False, **style)


def _map(known: Belief, plane: Plane, trials: bool) -> "tuple[Figure, list[Axes]]":
    """Estimate, its standard deviation, and the truth where it is known."""
    from matplotlib.figure import Figure

    parts = [("estimate (units of f)", plane.mean), ("its sd (units of f)", plane.sd)]
    if plane.truth is not None:
        parts.append(("truth (units of f)", plane.truth))
    width = PAGE if len(parts) == 3 else 5.4
    figure = Figure(figsize=(width, width / len(parts) + 0.45), layout="constrained")
    axes = list(figure.subplots(1, len(parts), sharey=True, squeeze=False).flat)
    both = np.concatenate([part.ravel() for name, part in parts if part is not plane.sd])
    low, high = float(both.min()), float(both.max())
    readings = known.run.readings
    at = [axis.positions(readings.x) for axis in (plane.across, plane.up)]
    here = [float(axis.positions(known.x[None, :])[0]) for axis in (plane.across, plane.up)]
    is_smooth = not (plane.across.is_points or plane.up.is_points)
    for ax, (name, part) in zip(axes, parts, strict=True):
        limits = {} if part is plane.sd else {"vmin": low, "vmax": high}
        mesh = ax.pcolormesh(
            plane.across.values, plane.up.values, part, rasterized=True,
            shading="gouraud" if is_smooth else "nearest",
            cmap="viridis" if limits else "Greys", **limits,
        )  # fmt: skip
        bar = figure.colorbar(mesh, ax=ax, location="top", aspect=30, pad=0.02)
        bar.set_label(name)
        ax.grid(visible=False)
        if trials:
            _places(ax, at[0], at[1], readings.is_flagged)
            naive = readings.naive
            _mark(ax, float(at[0][naive]), float(at[1][naive]), "naive")
        _mark(ax, here[0], here[1], "best" if known.is_recommended else "at")
        _x_axis(ax, plane.across, "x")
        _x_axis(ax, plane.up, "y")
        if ax is not axes[0]:
            ax.set_ylabel("")
    return figure, axes


def _places(ax: "Axes", x: Floats, y: Floats, is_flagged: Bools) -> None:
    ax.plot(
        x[~is_flagged], y[~is_flagged], linestyle="none", marker="o", markersize=3.6, color=GREEN,
        markeredgecolor="white", markeredgewidth=0.5, label="reading", clip_on=False, zorder=3.0,
    )  # fmt: skip
    if is_flagged.any():
        ax.plot(
            x[is_flagged], y[is_flagged], linestyle="none", marker="X", markersize=6.5, color=RED,
            markeredgecolor="white", markeredgewidth=0.6, label="suspicious reading", clip_on=False,
            zorder=3.5,
        )  # fmt: skip


def _x_axis(ax: "Axes", axis: Axis, way: str) -> None:
    """Name, scale, ticks and limits of a parameter's axis."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    one = ax.xaxis if way == "x" else ax.yaxis
    limits = ax.set_xlim if way == "x" else ax.set_ylim
    one.set_label_text(axis.name)
    low, high = float(axis.values[0]), float(axis.values[-1])
    if axis.options is not None:
        one.set_ticks(
            axis.values, [name if len(name) < 20 else f"{name[:18]}…" for name in axis.options]
        )
        limits(low - 0.5, high + 0.5)
        if way == "x" and _is_turned(axis):
            ax.tick_params(axis="x", labelrotation=30.0)
            for text in one.get_ticklabels():
                text.set(ha="right", rotation_mode="anchor")
        return
    if axis.is_log:
        (ax.set_xscale if way == "x" else ax.set_yscale)("log")
        room = 1.2 if axis.is_points else 1.0  # for the marks at the ends
        limits(low / room, high * room)
        return
    step = float(np.diff(axis.values).min()) if axis.is_points else 0.0
    limits(low - 0.5 * step, high + 0.5 * step)
    one.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    one.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}".replace("-", "−")))


def _is_turned(axis: Axis) -> bool:
    """Whether the names of the options are too long to stand beside each other."""
    return axis.options is not None and sum(map(len, axis.options)) > 20


def _limits(known: Belief, trials: bool) -> tuple[float, float]:
    """Of the axis of values: the estimate and the readings, and some of the interval."""
    parts = [end for line in known.lines for end in line.band.near]
    parts += [line.truth for line in known.lines if line.truth is not None]
    readings = known.run.readings
    is_alone = len(known.lines) == 1
    if trials and is_alone:
        parts.append(readings.y[~readings.is_flagged])
    return window(np.concatenate(parts), readings.y if trials and is_alone else None, 4.0)


def _note(known: Belief) -> str:
    best, x = known.run.best, known.at_x
    lower, upper = best.interval if known.is_recommended else (x.lower[0], x.upper[0])
    where = "the recommended point" if known.is_recommended else "the point"
    notes = [f"interval at {where}: {in_words(lower, upper)}", band_note(known.run)]
    if known.n_left_out:
        notes.append(f"{known.n_left_out} parameters along which the estimate moves less are not shown")
    return "; ".join(note for note in notes if note)
