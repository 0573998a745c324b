"""The figure of a leaderboard: what safety costs without lies, against what it gives under attack."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import unbribable.drawing as drawing
from unbribable.drawing import BLACK, styled
from unbribable.lab.report import plots
from unbribable.lab.report.outcomes import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Place(NamedTuple):
    """A player in the plane of price and protection."""

    price: float
    protection: float
    error: float
    """Standard error of the protection."""
    colour: str
    kind: str
    """One of `PROMISES`."""


PROMISES: dict[str, dict[str, Any]] = {
    "promise against any adversary, kept": {"marker": "o"},
    "promise against weak adversaries, kept": {"marker": "s"},
    "no promise for attacks": {"marker": "o", "markerfacecolor": "none"},
    "promise broken": {"marker": "x"},
}
"""What a player promises and whether that was kept -> its mark."""


_PANEL = np.array([190.0, 150.0])
"""Roughly the size of a panel's inside, in points."""

_CORNERS = (
    ("left", 3, 3),
    ("right", -3, 3),
    ("left", 3, -8),
    ("right", -3, -8),
    ("center", 0, 7),
    ("center", 0, -12),
)
"""Where a number may stand beside its mark, the best place first: alignment and offset in points."""


def _numbered(points: Mapping[str, Place], rank: Mapping[str, int]) -> list[tuple[str, str, Any]]:
    """Numbers of those that share a mark, one of their labels, and the corner where they fit best."""
    at = {label: np.log([place.price, place.protection]) for label, place in points.items()}
    size = np.maximum(np.ptp([*at.values()], axis=0), 0.1)
    at = {label: _PANEL * where / size for label, where in at.items()}
    groups: list[list[str]] = []
    for label in sorted(at, key=rank.__getitem__):
        near = (some for some in groups if np.abs(at[label] - at[some[0]]).max() < 5.0)
        group = next(near, None)
        if group is None:
            groups.append([label])
        else:
            group.append(label)
    taken = [(*(where - 2.5), *(where + 2.5)) for where in at.values()]  # left, bottom, right, top
    found = []
    for labels in groups:
        text = ", ".join(f"{rank[label]}" for label in labels)
        boxes = [_text_box(at[labels[0]], text, *corner) for corner in _CORNERS]
        best = int(np.argmin([sum(_overlap(box, other) for other in taken) for box in boxes]))
        taken.append(boxes[best])
        found.append((text, labels[0], _CORNERS[best]))
    return found


_Frame = tuple[float, float, float, float]


def _text_box(where: Floats, text: str, side: str, x: float, y: float) -> _Frame:
    width = 3.6 * len(text)
    left = float(where[0]) + x - {"left": 0.0, "center": 0.5, "right": 1.0}[side] * width
    return left, float(where[1]) + y, left + width, float(where[1]) + y + 6.0


def _overlap(one: _Frame, other: _Frame) -> float:
    """The area in common."""
    wide, high = (min(one[k + 2], other[k + 2]) - max(one[k], other[k]) for k in (0, 1))
    return max(wide, 0.0) * max(high, 0.0)


@styled
def places(panels: Mapping[str, Mapping[str, Place]], colours: Mapping[str, str]) -> "Figure":
    """Price against protection, a numbered point per player, by what it is told and promises."""
    n_columns = min(2, len(panels))
    figure, axes = drawing.panel_grid(len(panels), height=2.6, n_columns=n_columns, width=drawing.PAGE)
    rank = {label: k for k, label in enumerate(dict.fromkeys(x for p in panels.values() for x in p), 1)}
    used = {at.kind for points in panels.values() for at in points.values()}
    for ax, points in plots.titled(axes, panels, 3.0):
        for at in points.values():
            style: dict[str, Any] = {"color": at.colour, "linestyle": "none", **PROMISES[at.kind]}
            ax.errorbar(at.price, at.protection, yerr=at.error, linewidth=0.7, **style)
        for text, label, (side, x, y) in _numbered(points, rank):
            where = points[label].price, points[label].protection
            ax.annotate(text, where, (x, y), textcoords="offset points", fontsize=6, ha=side)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.margins(0.12)
        for axis in (ax.xaxis, ax.yaxis):
            plots.round_ticks(axis)
    y = "protection: regret under\nthe worst attack (log scale)"
    drawing.label_outer(axes, "price: regret without lies (log scale)", y)
    for name, colour in colours.items():
        axes[0].plot([], [], color=colour, marker="o", linestyle="none", label=f"told {name}")
    for kind in [kind for kind in PROMISES if kind in used]:
        axes[0].plot([], [], color=BLACK, linestyle="none", label=kind, **PROMISES[kind])
    for label, k in rank.items():
        number: dict[str, Any] = {
            "marker": f"${k}$",
            "markeredgewidth": 0.0,
            "markersize": 3.5 * len(f"{k}"),
        }
        axes[0].plot([], [], color=BLACK, linestyle="none", label=label, **number)
    note = (
        "In multiples of GP-UCB's regret without lies; the worst of all attacks of the sweep, weak and "
        "strong, by the mean; bar: ± 1 standard error."
    )
    drawing.named_once(figure, axes, note)
    return figure
