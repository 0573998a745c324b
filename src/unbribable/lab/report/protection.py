"""The figure of a leaderboard: what safety costs without lies, against what it gives under attack."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import unbribable.say.figures.drawing as drawing
from unbribable.lab.report import plots
from unbribable.lab.report.outcomes import Floats
from unbribable.say.figures.drawing import BLACK, styled

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


_PANEL = np.array([400.0, 190.0])
"""Roughly the size of a panel's inside, in points."""
_MARGIN = 0.12
"""Beyond the marks on each side, in multiples of how far they are spread."""
_LINE, _LETTER, _MARK = 7.5, 4.0, 6.0
"""Height of a line of text, width of a letter and size of a mark, in points."""
_FAR = 12.0
"""Names farther from their mark than that have a line that leads to it."""


class Name(NamedTuple):
    """What stands beside a mark."""

    text: str
    """The labels of all that share the mark, a line each."""
    label: str
    """One of them."""
    x: float
    """From the mark to the middle of the text, in points."""
    y: float
    is_far: bool


def named(points: Mapping[str, Place]) -> list[Name]:
    """Where the names fit beside the marks, with the least overlap: near ones are tried first."""
    at = _on_paper(points)
    groups: list[list[str]] = []
    for label in at:
        near = (some for some in groups if np.abs(at[label] - at[some[0]]).max() < _MARK)
        group = next(near, None)
        if group is None:
            groups.append([label])
        else:
            group.append(label)
    taken = [_frame(where, (_MARK, _MARK)) for where in at.values()]
    taken += [_bar(at[label], place, points) for label, place in points.items() if place.error > 0.0]
    found = []
    for labels in groups:
        text = "\n".join(labels)
        size = _LETTER * max(map(len, labels)), _LINE * len(labels)
        offsets = _offsets(size)
        frames = [_frame(at[labels[0]] + offset, size) for offset, _ in offsets]
        costs = [
            sum(_overlap(frame, other) for other in taken) + _outside(frame) + 0.3 * distance
            for frame, (_, distance) in zip(frames, offsets, strict=True)
        ]
        best = int(np.argmin(costs))
        taken.append(frames[best])
        (x, y), distance = offsets[best]
        found.append(Name(text, labels[0], float(x), float(y), distance > _FAR))
    return found


def _on_paper(points: Mapping[str, Place]) -> dict[str, Floats]:
    """Label -> where its mark is in the panel, in points."""
    logs = {label: np.log([place.price, place.protection]) for label, place in points.items()}
    low, spread = np.min([*logs.values()], axis=0), _spread(points)
    return {
        label: _PANEL * ((log - low) / spread + _MARGIN) / (1.0 + 2.0 * _MARGIN)
        for label, log in logs.items()
    }


def _spread(points: Mapping[str, Place]) -> Floats:
    logs = np.log([[place.price, place.protection] for place in points.values()])
    spread: Floats = np.maximum(np.ptp(logs, axis=0), 0.1)
    return spread


def _offsets(size: tuple[float, float]) -> list[tuple[Floats, float]]:
    """From a mark to the middle of a text beside it, and how far its edge is from the mark."""
    found = []
    for distance in (5.0, 8.0, 14.0, 22.0, 32.0, 44.0, 60.0):
        for angle in np.linspace(0.0, 2.0 * np.pi, 16, endpoint=False):
            way = np.array([np.cos(angle), np.sin(angle)])
            found.append((way * (distance + 0.5 * np.array(size)), distance))
    return found


_Frame = tuple[float, float, float, float]
"""Left, bottom, right and top."""


def _frame(middle: Floats, size: tuple[float, float]) -> _Frame:
    (x, y), (width, height) = map(float, middle), size
    return x - 0.5 * width, y - 0.5 * height, x + 0.5 * width, y + 0.5 * height


def _bar(where: Floats, place: Place, points: Mapping[str, Place]) -> _Frame:
    """Of the error bar, as far as it is inside the panel."""
    scale = float(_PANEL[1] / (1.0 + 2.0 * _MARGIN) / _spread(points)[1])
    ends = 1.0 + np.array([-1.0, 1.0]) * min(place.error / place.protection, 0.9)
    down, up = map(float, scale * np.log(ends))
    x, y = map(float, where)
    return x - 2.0, max(y + down, 0.0), x + 2.0, min(y + up, float(_PANEL[1]))


def _overlap(one: _Frame, other: _Frame) -> float:
    """The area in common."""
    wide, high = (min(one[k + 2], other[k + 2]) - max(one[k], other[k]) for k in (0, 1))
    return max(wide, 0.0) * max(high, 0.0)


def _outside(frame: _Frame) -> float:
    """The area outside the panel, which counts three times."""
    area = (frame[2] - frame[0]) * (frame[3] - frame[1])
    return 3.0 * (area - _overlap(frame, (0.0, 0.0, float(_PANEL[0]), float(_PANEL[1]))))


@styled
def places(panels: Mapping[str, Mapping[str, Place]], colours: Mapping[str, str]) -> "Figure":
    """Price against protection, a named point per player, by what it is told and promises."""
    figure, axes = drawing.panel_grid(len(panels), height=2.8, n_columns=1, width=drawing.PAGE)
    used = {at.kind for points in panels.values() for at in points.values()}
    for ax, points in plots.titled(axes, panels, 6.0):
        for at in points.values():
            style: dict[str, Any] = {"color": at.colour, "linestyle": "none", **PROMISES[at.kind]}
            ax.errorbar(at.price, at.protection, yerr=at.error, linewidth=0.7, **style)
        for beside in named(points):
            where = points[beside.label].price, points[beside.label].protection
            offset: dict[str, Any] = {"xytext": (beside.x, beside.y), "textcoords": "offset points"}
            lead = (
                {"arrowstyle": "-", "linewidth": 0.4, "color": drawing.GREY} if beside.is_far else None
            )
            ax.annotate(
                beside.text, where, **offset, fontsize=6, ha="center", va="center", arrowprops=lead
            )
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.margins(_MARGIN)
        for axis in (ax.xaxis, ax.yaxis):
            plots.round_ticks(axis)
    y = "protection: regret under\nthe worst attack (log scale)"
    drawing.label_outer(axes, "price: regret without lies (log scale)", y)
    for name, colour in colours.items():
        axes[0].plot([], [], color=colour, marker="o", linestyle="none", label=f"told {name}")
    for kind in [kind for kind in PROMISES if kind in used]:
        axes[0].plot([], [], color=BLACK, linestyle="none", label=kind, **PROMISES[kind])
    note = (
        "In multiples of GP-UCB's regret without lies; the worst of all attacks of the sweep, weak and "
        "strong, by the mean; bar: ± 1 standard error."
    )
    drawing.named_once(figure, axes, note)
    return figure
