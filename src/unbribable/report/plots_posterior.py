"""Figures of what a learner believes on a line: truth, mean, band, readings true and corrupted."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unbribable.drawing import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    label_outer,
    legend_below,
    panel_grid,
    save,
    styled,
    wrapped,
)
from unbribable.report.posterior_panel import PosteriorPanel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@styled
def posterior(panels: Mapping[str, PosteriorPanel]) -> "Figure":
    """One panel a learner: f, posterior mean, band mean ± width, readings clean and corrupted.

    Args:
        panels: Name -> panel; the name is the title where the panel has none.
    """
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    figure, axes = panel_grid(len(panels), height=2.0)
    low, high = _limits(list(panels.values()))
    for ax, (name, panel) in zip(axes, panels.items(), strict=True):
        _draw(ax, panel)
        title = panel.title or name
        ax.set_title(wrapped(f"{title}, t = {panel.t}" if panel.t is not None else title, 2.2))
        ax.set_ylim(low, high)
        ax.set_xlim(float(panel.x[0]), float(panel.x[-1]))
        ax.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
        ax.label_outer(remove_inner_ticks=False)
        ax.tick_params(labelbottom=True)
    label_outer(axes, "x", "value (units of f)")
    handles: dict[str, object] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    legend_below(figure, list(handles.values()), list(handles))
    return figure


def figure_1(panels: Mapping[str, PosteriorPanel], path: str | Path | None = None) -> "Figure":
    """The paper's Figure 1: the function, then what each learner believes after t rounds.

    Args:
        panels: Name -> panel, e.g. "GP-UCB" and "RobustGPUCB". Where none of them is without a
            belief, a panel of the function alone is put in front, made from the first one.
        path: Where to write PATH.png and PATH.svg, if given.
    """
    if not panels:
        raise ValueError("panels must hold at least one panel, got none")
    shown = dict(panels)
    if all(panel.mu is not None for panel in panels.values()):
        first = next(iter(panels.values()))
        function = PosteriorPanel(
            x=first.x, f=first.f, title="the function", region=first.region,
            x_star=first.x_star, x_local=first.x_local,
        )  # fmt: skip
        shown = {"the function": function, **shown}
    figure = posterior(shown)
    if path is not None:
        save(figure, path)
    return figure


def _draw(ax: "Axes", panel: PosteriorPanel) -> None:
    if panel.region is not None:
        ax.axvspan(
            *panel.region,
            facecolor=ORANGE,
            alpha=0.18,
            linewidth=0.0,
            label="readings are corrupted here",
        )
    if panel.mu is not None and panel.width is not None:
        low, high = panel.mu - panel.width, panel.mu + panel.width
        ax.fill_between(
            panel.x, low, high, color=BLUE, alpha=0.2, linewidth=0.0, label="band: mean ± width"
        )
        ax.plot(panel.x, panel.mu, color=BLUE, linestyle="--", label="posterior mean")
    ax.plot(panel.x, panel.f, color=BLACK, linewidth=1.2, label="f")
    if panel.readings_x is not None:
        assert panel.readings_y is not None
        assert panel.is_corrupted is not None
        x, y, is_lie = panel.readings_x, panel.readings_y, panel.is_corrupted
        ax.plot(
            x[~is_lie], y[~is_lie], color=GREEN, linestyle="none", marker="o", markerfacecolor="none",
            markersize=4.0, markeredgewidth=0.9, label="clean reading",
        )  # fmt: skip
        ax.plot(
            x[is_lie], y[is_lie], color=RED, linestyle="none", marker="x", markersize=4.5,
            markeredgewidth=1.2, label="corrupted reading",
        )  # fmt: skip
    elif panel.mu is None:
        _mark(ax, panel, panel.x_star, "*", 9.0, "maximiser x*")
        _mark(ax, panel, panel.x_local, "D", 4.5, "local maximiser x₀")


def _mark(
    ax: "Axes", panel: PosteriorPanel, x: float | None, marker: str, size: float, label: str
) -> None:
    if x is None:
        return
    y = float(np.interp(x, panel.x, panel.f))
    ax.plot(
        x, y, color=PURPLE, linestyle="none", marker=marker, markersize=size, zorder=4.0, label=label
    )


def _limits(panels: list[PosteriorPanel]) -> tuple[float, float]:
    """Room for the truth and the readings, and for bands up to as much again."""
    values = np.concatenate(
        [part for p in panels for part in (p.f, p.mu, p.readings_y) if part is not None]
    )
    low, high = float(values.min()), float(values.max())
    bands = [
        part for p in panels if p.mu is not None and p.width is not None
        for part in (p.mu - p.width, p.mu + p.width)
    ]  # fmt: skip
    room = high - low or 1.0
    if bands:
        low = max(min(low, min(float(part.min()) for part in bands)), low - room)
        high = min(max(high, max(float(part.max()) for part in bands)), high + room)
    return low - 0.05 * room, high + 0.05 * room
