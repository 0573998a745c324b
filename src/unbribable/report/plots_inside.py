"""Figures of what goes on inside a learner: who plays, what is left, whether the bounds held."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unbribable.drawing import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    add_height,
    label_outer,
    legend_below,
    panel_grid,
    round_axis,
    styled,
    wrapped,
)
from unbribable.report.coverage import LEVEL, Coverage
from unbribable.report.games import Floats, Ints
from unbribable.report.regret import Curve

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_KNOWN = {"fast": (BLUE, ""), "slow": (ORANGE, "////"), "all": (GREEN, "...."), "nobody": (GREY, "xxxx")}


_LINES: tuple[Any, ...] = ("-", "--", "-.", ":")


@dataclass(frozen=True, eq=False)
class Plays:
    """Which instance learned, as shares of the rounds of each bin, mean over seeds."""

    edges: Ints
    """Rounds at which the bins end, the first one 0, (m + 1,)."""
    labels: tuple[str, ...]
    shares: Floats
    """(m, k): rows sum to 1."""
    detected: float | None
    """Median round of detection."""


@styled
def instances(panels: Mapping[str, Plays], *, n_seeds: int) -> "Figure":
    """Stacked shares of the rounds each instance learned from, over time.

    Args:
        panels: Title of the panel -> its shares; all with the same labels.
        n_seeds: Over which they are means.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    figure, axes = panel_grid(len(panels), height=1.7)
    all_labels = next(iter(panels.values())).labels
    fills = _fills(all_labels)
    is_used = np.sum([plays.shares.sum(axis=0) for plays in panels.values()], axis=0) > 0.0
    labels = [label for label, used in zip(all_labels, is_used, strict=True) if used]
    for ax, (title, plays) in zip(axes, panels.items(), strict=True):
        top = np.cumsum(plays.shares, axis=1)
        for k, label in enumerate(plays.labels):
            below = top[:, k - 1] if k else 0.0
            colour, hatch = fills[label]
            ax.stairs(
                top[:, k], plays.edges, baseline=below, fill=True, facecolor=colour, hatch=hatch,
                edgecolor="white", linewidth=0.0,
            )  # fmt: skip
        if plays.detected is not None:
            ax.axvline(plays.detected, color=BLACK, linewidth=1.2, linestyle="--")
        ax.set_title(wrapped(title, 2.2))
        round_axis(ax, int(plays.edges[-1]))
        ax.set_ylim(0.0, 1.0)
        ax.grid(visible=False)
    label_outer(axes, "round t", "share of the rounds")
    handles: list[Any] = [
        Patch(facecolor=fills[label][0], hatch=fills[label][1], edgecolor="white") for label in labels
    ]
    words = [*labels]
    if any(plays.detected is not None for plays in panels.values()):
        handles.append(Line2D([], [], color=BLACK, linewidth=1.2, linestyle="--"))
        words.append("median round of detection, where detected")
    of = f"mean of {n_seeds} seeds" if n_seeds > 1 else "one seed"
    note = f"who learns from the round; {of}"
    legend_below(figure, handles, words, note)
    return figure


@styled
def maximisers(
    panels: Mapping[str, Mapping[str, Curve]], *, n_candidates: int | None = None
) -> "Figure":
    """Sizes of the sets of potential maximisers, layer by layer.

    Args:
        panels: Title of the panel -> layer -> its curve.
        n_candidates: Size of the domain, drawn as a line if given.
    """
    from matplotlib.lines import Line2D
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    figure, axes = panel_grid(len(panels), height=1.9)
    labels = tuple(dict.fromkeys(label for curves in panels.values() for label in curves))
    fills, lines = _fills(labels), _LINES
    top = max(curve.high.max() for curves in panels.values() for curve in curves.values())
    for ax, (title, curves) in zip(axes, panels.items(), strict=True):
        for k, (label, curve) in reversed(list(enumerate(curves.items()))):
            colour = fills[label][0]
            ax.fill_between(
                curve.rounds, curve.low, curve.high, step="post", color=colour, alpha=0.15, linewidth=0.0
            )
            ax.step(curve.rounds, curve.median, where="post", color=colour, linestyle=lines[k % 4])
        ax.set_title(wrapped(title, 2.2))
        round_axis(ax, max(int(curve.rounds[-1]) for curve in curves.values()))
        ax.set_yscale("symlog", linthresh=1.0, linscale=0.4)
        ticks = [0.0, *(m * 10.0**e for e in range(6) for m in (1, 3) if m * 10.0**e <= top)]
        if top > 1.5 * ticks[-1]:
            ticks.append(float(top))
        ax.yaxis.set_major_locator(FixedLocator(ticks))
        ax.yaxis.set_minor_locator(NullLocator())
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.set_ylim(-0.1, 1.25 * top)
    label_outer(axes, "round t", "potential maximisers\n(candidates)")
    handles = [
        Line2D([], [], color=fills[label][0], linestyle=lines[k % 4]) for k, label in enumerate(labels)
    ]
    legend_below(figure, handles, labels, "line: median over seeds; band: smallest to largest seed")
    return figure


@styled
def coverage(panels: Mapping[str, Sequence[Coverage]]) -> "Figure":
    """Share of the games in which each instance's bounds held, with its exact interval.

    Args:
        panels: Title of the panel -> rows, one an instance.
    """
    from matplotlib.lines import Line2D

    names = list(dict.fromkeys(_name(row) for rows in panels.values() for row in rows))
    place = {name: -k for k, name in enumerate(names)}
    n_columns = min(3, len(panels))
    titles = {title: wrapped(title, 1.8) for title in panels}
    n_lines = 1 + max(title.count("\n") for title in titles.values())
    height = 0.35 + 0.17 * n_lines + 0.18 * len(names)
    figure, axes = panel_grid(len(panels), height=height, n_columns=n_columns)
    for k, (ax, (title, rows)) in enumerate(zip(axes, panels.items(), strict=True)):
        for row in rows:
            y, value = place[_name(row)], row.share.value
            colour = BLUE if row.is_promised else GREY
            ax.plot([row.share.low, row.share.high], [y, y], color=colour, linewidth=1.0)
            face = colour if row.is_promised else "white"
            shape = "o" if row.is_promised else "D"
            ax.plot(
                value, y, marker=shape, color=colour, markerfacecolor=face, clip_on=False, zorder=3.0
            )
        for delta in {row.delta for row in rows if row.delta is not None}:
            ax.axvline(1.0 - delta, color=BLACK, linewidth=0.8, linestyle="--", zorder=0.5)
        ax.set_title(titles[title])
        ax.set_xlim(0.0, 1.0)
        ax.set_xticks([0.0, 0.5, 1.0], ["0", "0.5", "1"])
        ax.set_ylim(0.6 - len(names), 0.6)
        ax.set_yticks(
            [place[name] for name in names], names if k % n_columns == 0 else [""] * len(names)
        )
        ax.tick_params(axis="y", length=0.0)
    for ax in axes[(len(axes) - 1) // n_columns * n_columns :]:
        ax.set_xlabel("share of the games\nin which the bounds held")
    add_height(figure, 2.0)
    handles = [
        Line2D([], [], color=BLUE, marker="o"),
        Line2D([], [], color=GREY, marker="D", markerfacecolor="white"),
        Line2D([], [], color=BLACK, linewidth=0.8, linestyle="--"),
    ]
    words = ["assumptions true: promised", "not promised", "1 − δ"]
    legend_below(figure, handles, words, f"bar: {LEVEL:.0%} Clopper–Pearson interval")
    return figure


def _name(row: Coverage) -> str:
    is_only = row.instance == "main"
    return row.cell.algorithm if is_only else f"{row.cell.algorithm}: {row.instance}"


def _fills(labels: Sequence[str]) -> dict[str, tuple[Any, str]]:
    """Fixed colours for known instances; layers from dark to light, the same order in grey."""
    from matplotlib import colormaps

    layers = [label for label in labels if label not in _KNOWN]
    shades = colormaps["viridis"](np.linspace(0.0, 0.95, max(1, len(layers))))
    return {
        **_KNOWN,
        **{label: (tuple(shade), "") for label, shade in zip(layers, shades, strict=False)},
    }
