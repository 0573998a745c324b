"""Figures of what is believed about f: along a line, on a plane, along slices."""

from typing import TYPE_CHECKING, Any

import numpy as np

from unbribable.decision.algorithm import Algorithm
from unbribable.say.figures.belief import Axis, Belief, Section, Truth, belief
from unbribable.say.figures.drawing import (
    BLACK,
    BLUE,
    PAGE,
    add_height,
    named_once,
    new_figure,
    panel_grid,
    styled,
)
from unbribable.say.figures.marks import (
    LINE,
    THIN,
    VALUE,
    Limits,
    axes_of_one,
    mark,
    mark_readings,
    width_of,
    window,
)
from unbribable.say.figures.run import band_label, band_note, in_words
from unbribable.study.result import Result
from unbribable.study.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@styled
def plot_posterior(
    result: Result | Study | Algorithm,
    *,
    at: Any = None,
    trials: bool = True,
    truth: Truth | None = None,
    width: float | None = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """What is believed about f: one parameter as a line, two as a map, more as slices.

    The estimate is the mean of a Gaussian process given the readings that do not look like lies, with
    two standard deviations: a picture without a guarantee. The thin lines are the ends of the
    guaranteed interval; where they leave the axes all along they are left out, and the legend says
    what the interval is at the point.

    Args:
        result: A result or a study (ours, or Optuna's with our sampler), drawn in your units, or an
            algorithm, in the model's.
        at: The point that slices go through, as f takes it; the recommended one by default.
        trials: Whether to draw the readings (in slices, where on each axis they were taken).
        truth: The function behind the readings, where it is known; takes points as f does.
        width: Of the figure in inches.
        ax: Axes to draw in, in place of a figure of its own, for one or two parameters (of two, the
            estimate alone); the legend is then yours: `ax.legend()`.

    Returns:
        The figure. A notebook shows it; elsewhere: `figure.savefig("posterior.png")`.
    """
    known = belief(result, at=at, truth=truth)
    sections, is_map = known.sections, len(known.sections[0].axes) == 2
    if ax is not None and len(sections) > 1:
        raise ValueError(
            f"ax must be left out with more than two parameters, got {len(sections)}, a panel for each"
        )
    if is_map:
        axes = _map(known, sections[0], trials, width, ax)
    else:
        if len(sections) == 1:
            axes = [axes_of_one(ax, width, 2.7)]
        else:
            _, axes = panel_grid(len(sections), height=1.6, width=width_of(width, PAGE))
        limits = _limits(known, trials)
        for one, line in zip(axes, sections, strict=True):
            _along(one, known, line, limits, trials)
            one.set_ylabel(VALUE)
            if ax is None:
                one.label_outer(remove_inner_ticks=False)
                one.tick_params(labelbottom=True)
            one.set_xlabel(line.axes[-1].name)
    figure = axes[0].get_figure(root=True)
    assert figure is not None
    if ax is None:
        add_height(figure, 4.0 * sum(_is_turned(each.axes[-1]) for each in sections))
        named_once(figure, axes, _note(known))
    return figure


def _along(ax: "Axes", known: Belief, line: Section, limits: Limits, trials: bool) -> None:
    (axis,), run, is_alone = line.axes, known.run, len(known.sections) == 1
    width = min(7.0, 70.0 / len(axis.values))
    low, high = line.near
    style: dict[str, Any] = {"color": BLUE, "alpha": 0.3, "label": "estimate ± 2 sd"}
    if axis.is_points:
        ax.vlines(axis.values, low, high, linewidth=0.6 * width, **style)
    else:
        ax.fill_between(axis.values, low, high, linewidth=0.0, **style)
    worst = (line.lower, line.upper)
    is_seen = [((limits[0] <= end) & (end <= limits[1])).any() for end in worst]
    if axis.is_points and any(is_seen):
        ax.vlines(axis.values, *worst, label=band_label(run.best), **THIN)
    for k in np.flatnonzero(is_seen) if not axis.is_points else ():
        label = None if k and all(is_seen) else band_label(run.best)
        ax.plot(axis.values, worst[k], label=label, **THIN)
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


def _map(
    known: Belief, plane: Section, trials: bool, width: float | None, ax: "Axes | None"
) -> "list[Axes]":
    """Estimate, its sd and the truth on a plane; the estimate alone in axes that are given."""
    parts = [("estimate (units of f)", plane.mean), ("its sd (units of f)", plane.sd)]
    if plane.truth is not None:
        parts.append(("truth (units of f)", plane.truth))
    if ax is None:
        inches = width_of(width, PAGE if len(parts) == 3 else LINE)
        figure = new_figure(inches, inches / len(parts) + 0.45)
        axes = list(figure.subplots(1, len(parts), sharey=True, squeeze=False).flat)
    else:
        axes, parts = [axes_of_one(ax, width, 0.0)], parts[:1]
    both = np.concatenate([part.ravel() for _, part in parts if part is not plane.sd])
    run, (up, across) = known.run, plane.axes
    at, here = ([axis.positions(U) for axis in (across, up)] for U in (run.U, known.u[None]))
    is_smooth = not (across.is_points or up.is_points)
    for one, (name, part) in zip(axes, parts, strict=True):
        is_sd = part is plane.sd
        limits = {} if is_sd else {"vmin": float(both.min()), "vmax": float(both.max())}
        mesh = one.pcolormesh(
            across.values, up.values, part, rasterized=True,
            shading="gouraud" if is_smooth else "nearest", cmap="Greys" if is_sd else "viridis",
            **limits,
        )  # fmt: skip
        one.figure.colorbar(mesh, ax=one, location="top", aspect=30, pad=0.02).set_label(name)
        one.grid(visible=False)
        if trials:
            mark(one, at[0], at[1], "on a map", ~run.is_flagged)
            mark(one, at[0], at[1], "suspicious on a map", run.is_flagged)
            mark(one, at[0][run.naive], at[1][run.naive], "naive")
        mark(one, here[0], here[1], "best" if known.is_recommended else "at")
        _scale(one, across, "x")
        _scale(one, up, "y")
        if one is not axes[0]:
            one.set_ylabel("")
    return axes


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
