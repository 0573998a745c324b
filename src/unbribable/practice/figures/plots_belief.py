"""Figures of what is believed about f: along a line, on a plane, along slices."""

from typing import TYPE_CHECKING, Any

import numpy as np

from unbribable.decision.algorithm import Algorithm
from unbribable.drawing import BLACK, BLUE, PAGE, add_height, named_once, panel_grid, styled
from unbribable.practice.figures.belief import Axis, Belief, Section, Truth, belief
from unbribable.practice.figures.marks import VALUE, Limits, mark, mark_readings, window
from unbribable.practice.figures.run import band_label, band_note, in_words
from unbribable.practice.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@styled
def plot_posterior(
    result: Result | Algorithm, *, at: Any = None, trials: bool = True, truth: Truth | None = None
) -> "Figure":
    """What is believed about f: one parameter as a line, two as a map, more as slices.

    The estimate is the mean of a Gaussian process given the readings that do not look like lies, with
    two standard deviations: a picture without a guarantee. The interval around it is the guaranteed
    one; where it leaves the axes it is cut there, where it would fill them it is left out, and the
    legend says what it is at the point.

    Args:
        result: A result, drawn in your units, or an algorithm, in the model's.
        at: The point that slices go through, as f takes it; the recommended one by default.
        trials: Whether to draw the readings (in slices, where on each axis they were taken).
        truth: The function behind the readings, where it is known; takes points as f does.

    Returns:
        The figure, not shown: `figure.savefig("posterior.png")`.
    """
    from matplotlib.figure import Figure

    known = belief(result, at=at, truth=truth)
    sections = known.sections
    if len(sections[0].axes) == 2:
        figure, axes = _map(known, sections[0], trials)
    else:
        if len(sections) == 1:
            figure = Figure(figsize=(5.4, 2.7), layout="constrained")
            axes = [figure.subplots()]
        else:
            figure, axes = panel_grid(len(sections), height=1.6)
        limits = _limits(known, trials)
        for ax, line in zip(axes, sections, strict=True):
            _along(ax, known, line, limits, trials)
            ax.set_ylabel(VALUE)
            ax.label_outer(remove_inner_ticks=False)
            ax.tick_params(labelbottom=True)
            ax.set_xlabel(line.axes[-1].name)
    add_height(figure, 4.0 * sum(_is_turned(each.axes[-1]) for each in sections))
    named_once(figure, axes, _note(known))
    return figure


def _along(ax: "Axes", known: Belief, line: Section, limits: Limits, trials: bool) -> None:
    (axis,), run, is_alone = line.axes, known.run, len(known.sections) == 1
    intervals = (
        (line.lower, line.upper, 0.15, 1.0, band_label(run.best)),
        (*line.near, 0.3, 0.6, "estimate ± 2 sd"),
    )
    width = min(7.0, 70.0 / len(axis.values))
    for low, high, alpha, share, label in intervals:
        if ((low < limits[0]) & (high > limits[1])).all():
            continue  # it would fill the axes and say nothing
        style: dict[str, Any] = {"color": BLUE, "alpha": alpha, "label": label}
        if axis.is_points:
            ax.vlines(axis.values, low, high, linewidth=share * width, **style)
        else:
            ax.fill_between(axis.values, low, high, linewidth=0.0, **style)
    points: dict[str, Any] = {
        "linestyle": "none",
        "marker": "_",
        "markersize": width,
        "markeredgewidth": 1.3,
    }
    ax.plot(axis.values, line.mean, color=BLUE, label="estimate", **points if axis.is_points else {})
    if line.truth is not None:
        points = {"linestyle": "none", "marker": "+", "markersize": 5.0}
        style = points if axis.is_points else {"linestyle": "--"}
        ax.plot(axis.values, line.truth, color=BLACK, linewidth=1.0, label="truth", **style)
    shown, is_flagged = axis.positions(run.U), run.is_flagged
    if trials and is_alone:
        mark_readings(ax, shown, run.y, is_flagged, limits)
        mark(ax, shown[run.naive], float(np.clip(run.y[run.naive], *limits)), "naive")
    elif trials:  # they are not on the slice, so their values say nothing here
        below: dict[str, Any] = {"transform": ax.get_xaxis_transform()}
        mark(ax, shown, 0.03, "place", ~is_flagged, **below)
        mark(ax, shown, 0.03, "suspicious place", is_flagged, **below)
        mark(ax, shown[run.naive], 0.05, "naive", **below)
    at = axis.positions(known.u[None])
    mark(ax, at, known.at_u.mean, "best" if known.is_recommended else "at")
    ax.set_ylim(limits)
    _scale(ax, axis, "x")


def _map(known: Belief, plane: Section, trials: bool) -> "tuple[Figure, list[Axes]]":
    """Estimate, its standard deviation, and the truth where it is known."""
    from matplotlib.figure import Figure

    parts = [("estimate (units of f)", plane.mean), ("its sd (units of f)", plane.sd)]
    if plane.truth is not None:
        parts.append(("truth (units of f)", plane.truth))
    width = PAGE if len(parts) == 3 else 5.4
    figure = Figure(figsize=(width, width / len(parts) + 0.45), layout="constrained")
    axes = list(figure.subplots(1, len(parts), sharey=True, squeeze=False).flat)
    both = np.concatenate([part.ravel() for _, part in parts if part is not plane.sd])
    run, (up, across) = known.run, plane.axes
    at, here = ([axis.positions(U) for axis in (across, up)] for U in (run.U, known.u[None]))
    is_smooth = not (across.is_points or up.is_points)
    for ax, (name, part) in zip(axes, parts, strict=True):
        is_sd = part is plane.sd
        limits = {} if is_sd else {"vmin": float(both.min()), "vmax": float(both.max())}
        mesh = ax.pcolormesh(
            across.values, up.values, part, rasterized=True,
            shading="gouraud" if is_smooth else "nearest", cmap="Greys" if is_sd else "viridis",
            **limits,
        )  # fmt: skip
        figure.colorbar(mesh, ax=ax, location="top", aspect=30, pad=0.02).set_label(name)
        ax.grid(visible=False)
        if trials:
            mark(ax, at[0], at[1], "on a map", ~run.is_flagged)
            mark(ax, at[0], at[1], "suspicious on a map", run.is_flagged)
            mark(ax, at[0][run.naive], at[1][run.naive], "naive")
        mark(ax, here[0], here[1], "best" if known.is_recommended else "at")
        _scale(ax, across, "x")
        _scale(ax, up, "y")
        if ax is not axes[0]:
            ax.set_ylabel("")
    return figure, axes


def _scale(ax: "Axes", axis: Axis, way: str) -> None:
    """Name, scale, ticks and limits of a parameter's axis."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    one = ax.xaxis if way == "x" else ax.yaxis
    limits = ax.set_xlim if way == "x" else ax.set_ylim
    one.set_label_text(axis.name)
    low, high = float(axis.values[0]), float(axis.values[-1])
    if axis.options is not None:
        names = [name if len(name) < 20 else f"{name[:18]}…" for name in axis.options]
        one.set_ticks(axis.values, names)
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


def _limits(known: Belief, trials: bool) -> Limits:
    """Of the axis of values: the estimate and the readings, and some of the interval."""
    parts = [end for line in known.sections for end in line.near]
    parts += [line.truth for line in known.sections if line.truth is not None]
    if not (trials and len(known.sections) == 1):
        return window(np.concatenate(parts))
    run = known.run
    return window(np.concatenate([*parts, run.y[~run.is_flagged]]), run.y, 4.0)


def _note(known: Belief) -> str:
    best, at = known.run.best, known.at_u
    lower, upper = best.interval if known.is_recommended else (float(at.lower), float(at.upper))
    where = "the recommended point" if known.is_recommended else "the point"
    notes = [f"interval at {where}: {in_words(lower, upper)}", band_note(known.run)]
    if known.n_left_out:
        notes.append(f"{known.n_left_out} parameters along which the estimate moves less are not shown")
    return "; ".join(note for note in notes if note)
