"""What the figures of a run share: axes, marks for readings and points, limits."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unbribable.model import checks
from unbribable.model.checks import Bools, Floats, Ints
from unbribable.say.figures.drawing import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    named_once,
    new_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

VALUE = "value (units of f)"

LINE = 5.4
"""Inches: the width of a figure with one panel, unless told."""

THIN: dict[str, Any] = {"color": BLUE, "linewidth": 0.7}
"""How the ends of the worst case are drawn."""

Limits = tuple[float, float]

_WHITE = {"markeredgecolor": "white", "clip_on": False}
_OUTLINED = {"markeredgecolor": BLACK, "markeredgewidth": 0.5, "clip_on": False, "zorder": 5.0}
_RUG = {"marker": "|", "markeredgewidth": 0.7, "alpha": 0.6}
_STYLES: dict[str, tuple[str, str, str, float, dict[str, Any]]] = {
    "reading": ("reading", GREEN, "o", 3.6,
        {"markerfacecolor": "none", "markeredgewidth": 0.8, "zorder": 3.0}),
    "suspicious": ("suspicious reading", RED, "x", 5.0, {"markeredgewidth": 1.3, "zorder": 3.5}),
    "beyond": ("reading beyond the axis", RED, "^", 5.0, {"clip_on": False, "zorder": 4.0}),
    "cut": ("goes on beyond the axis", BLACK, "^", 6.0,
        {**_WHITE, "markeredgewidth": 0.8, "zorder": 4.0}),
    "unbounded": ("no bound is left but |f| ≤ B0", BLACK, "^", 6.0,
        {"markerfacecolor": "white", "clip_on": False, "zorder": 4.0}),
    "failed": ("failed evaluation", BLACK, "|", 6.0, {}),
    "place": ("where readings were taken", GREEN, "|", 6.0, _RUG),
    "suspicious place": ("where suspicious ones were taken", RED, "|", 9.0, _RUG),
    "on a map": ("reading", "white", "o", 3.8,
        {"markeredgecolor": BLACK, "markeredgewidth": 0.7, "clip_on": False, "zorder": 3.0}),
    "suspicious on a map": ("suspicious reading", RED, "X", 6.5,
        {**_WHITE, "markeredgewidth": 0.6, "zorder": 3.5}),
    "not flagged": ("reading, not flagged", GREEN, "o", 5.0,
        {"markerfacecolor": "none", "markeredgewidth": 1.2}),
    "flagged": ("reading, suspicious", RED, "x", 5.0, {"markeredgewidth": 1.2}),
    "certain": ("reading, certainly corrupted if the model holds", RED, "D", 5.0, {}),
    "best": ("recommended point", PURPLE, "*", 10.0, _OUTLINED),
    "at": ("point of the slices", PURPLE, "P", 6.0, _OUTLINED),
    "naive": ("best reading (naive)", ORANGE, "D", 6.5,
        {"markerfacecolor": "none", "markeredgewidth": 1.4, "clip_on": False, "zorder": 5.0}),
}  # fmt: skip
"""Kind of mark -> label, colour, marker, size, and what else matplotlib is told."""


def width_of(width: float | None, otherwise: float) -> float:
    """The width in inches that was asked for, or another."""
    return otherwise if width is None else checks.real("width", width, at_least=2.0)


def axes_of_one(ax: "Axes | None", width: float | None, height: float) -> "Axes":
    """The axes given, or those of a new figure.

    Raises:
        TypeError: ax is something else.
        ValueError: Both are given.
    """
    from matplotlib.axes import Axes

    if ax is None:
        return new_figure(width_of(width, LINE), height).subplots()
    if not isinstance(ax, Axes):
        raise TypeError(f"ax must be matplotlib's Axes, got {ax!r}")
    if width is not None:
        raise ValueError(f"width must be left out where ax is given, got width={width}")
    return ax


def finished(ax: "Axes", note: str, is_given: bool, order: Sequence[str] = ()) -> "Figure":
    """The figure of one panel, with its legend below, the labels of `order` first.

    Without a legend where the axes were given.
    """
    figure = ax.get_figure(root=True)
    assert figure is not None
    if not is_given:
        named_once(figure, [ax], note, order)
    return figure


def mark(ax: "Axes", x: Any, y: Any, kind: str, is_shown: Bools | None = None, **more: Any) -> None:
    """Points with the mark of their kind, if any are to be shown; x and y are broadcast."""
    x, y = np.broadcast_arrays(np.atleast_1d(x), np.atleast_1d(y))
    if is_shown is not None:
        x, y = x[is_shown], y[is_shown]
    if len(x):
        label, colour, marker, size, style = _STYLES[kind]
        words = {"color": colour, "marker": marker, "markersize": size, "label": label, **style, **more}
        ax.plot(x, y, linestyle="none", **words)


def mark_readings(ax: "Axes", x: Floats | Ints, y: Floats, is_flagged: Bools, limits: Limits) -> None:
    """Readings, the suspicious ones apart; those beyond the limits as arrows at the edge."""
    mark(ax, x, y, "reading", ~is_flagged)
    mark(ax, x, y, "suspicious", is_flagged & (y >= limits[0]) & (y <= limits[1]))
    mark_beyond(ax, y, x, limits, "y")


def mark_beyond(ax: "Axes", values: Floats, across: Floats | Ints, limits: Limits, way: str) -> None:
    """Arrows at the edge of the axes for values outside the limits; `way` is the axis of the values."""
    low, high = limits
    markers = "<>" if way == "x" else "v^"
    for edge, is_out, marker in zip(limits, (values < low, values > high), markers, strict=True):
        x, y = (edge, across) if way == "x" else (across, edge)
        mark(ax, x, y, "beyond", is_out, marker=marker)


def window(core: Floats, more: Floats | None = None, reach: float = 0.0) -> Limits:
    """Limits of an axis: all of core, and of `more` what is at most reach times its range away.

    Values that are not finite count nowhere. There is always some room.
    """
    core = core[np.isfinite(core)]
    low, high = (float(core.min()), float(core.max())) if len(core) else (0.0, 0.0)
    span = high - low or abs(high) or 1.0
    if more is not None:
        near = more[(more >= low - reach * span) & (more <= high + reach * span)]
        low, high = min([low, *near.tolist()]), max([high, *near.tolist()])
    room = 0.06 * (high - low or span)
    return low - room, high + room
