"""Figures of a report: regret, its growth, and the corruption behind it. Draws, computes nothing."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from unbribable.drawing import (
    BLACK,
    Look,
    add_height,
    label_outer,
    legend_below,
    looks,
    panel_grid,
    round_axis,
    styled,
    wrapped,
)
from unbribable.report.games import Floats
from unbribable.report.plots_inside import coverage, instances, maximisers
from unbribable.report.plots_posterior import figure_1, posterior
from unbribable.report.regret import Curve, Scaling

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "corruption_spent",
    "coverage",
    "cumulative_regret",
    "figure_1",
    "instances",
    "maximisers",
    "posterior",
    "regret_scaling",
]


@styled
def cumulative_regret(
    panels: Mapping[str, Mapping[str, Curve]], look: Mapping[str, Look] | None = None
) -> "Figure":
    """Mean cumulative regret of every algorithm, with a band of one standard error.

    Args:
        panels: Title of the panel -> algorithm -> its curve.
        look: How each algorithm is drawn; by order by default.
    """
    figure, axes = panel_grid(len(panels))
    look = look or _looks_of(panels)
    for ax, (title, curves) in zip(axes, panels.items(), strict=True):
        for label, curve in curves.items():
            error = np.nan_to_num(curve.standard_error)
            _line(ax, curve, look[label], curve.mean - error, curve.mean + error)
        _finish(ax, title, curves)
        ax.set_ylim(bottom=0.0)
    label_outer(axes, "round t", "cumulative regret $R_t$\n(units of f)")
    n = [curve.n for curves in panels.values() for curve in curves.values()]
    band = "; band: ± 1 standard error" if max(n) > 1 else ""
    _algorithm_legend(figure, axes, _shown(panels, look), f"line: mean of {_seeds(n)}{band}")
    return figure


@styled
def corruption_spent(
    panels: Mapping[str, Mapping[str, Curve]],
    budgets: Mapping[str, float],
    look: Mapping[str, Look] | None = None,
) -> "Figure":
    """Budget spent so far against every algorithm, and the budget.

    Args:
        panels: Title of the panel -> algorithm -> its curve.
        budgets: Title of the panel -> the true C.
        look: How each algorithm is drawn; by order by default.
    """
    figure, axes = panel_grid(len(panels), height=1.7)
    look = look or _looks_of(panels)
    for ax, (title, curves) in zip(axes, panels.items(), strict=True):
        for label, curve in curves.items():
            error = np.nan_to_num(curve.standard_error)
            high = np.minimum(curve.mean + error, budgets[title])
            _line(ax, curve, look[label], np.maximum(curve.mean - error, 0.0), high)
        ax.axhline(budgets[title], color=BLACK, linewidth=0.8, linestyle=(0, (1, 1)), label="budget C")
        _finish(ax, title, curves)
        ax.set_ylim(0.0, 1.08 * budgets[title])
    label_outer(axes, "round t", "corruption spent\n(units of f)")
    n = [curve.n for curves in panels.values() for curve in curves.values()]
    band = "; band: ± 1 standard error" if max(n) > 1 else ""
    _algorithm_legend(figure, axes, _shown(panels, look), f"line: mean of {_seeds(n)}{band}")
    return figure


@styled
def regret_scaling(
    panels: Mapping[str, Sequence[Scaling]], look: Mapping[str, Look] | None = None
) -> "Figure":
    """Mean final regret against C or T in log-log, with the fitted power laws.

    Args:
        panels: Title of the panel -> one scaling an algorithm, all against the same variable.
        look: How each algorithm is drawn; by order by default.
    """
    from matplotlib.transforms import ScaledTranslation

    labels = dict.fromkeys(line.algorithm for lines in panels.values() for line in lines)
    look = look or looks(labels)
    against = next(line.against for lines in panels.values() for line in lines)
    figure, axes = panel_grid(len(panels), height=1.9, n_columns=min(2, len(panels)))
    spec = axes[0].get_subplotspec()
    assert spec is not None
    n_rows = spec.get_gridspec().nrows
    below = ScaledTranslation(0.0, -34.0 / 72.0, figure.dpi_scale_trans)
    for ax, (title, lines) in zip(axes, panels.items(), strict=True):
        ax.set_xscale("log")
        ax.set_yscale("log")
        for line in lines:
            _power_law(ax, line, look[line.algorithm])
        _log_ticks(ax, np.concatenate([line.x for line in lines]))
        ax.set_title(wrapped(title, 3.0))
        ax.set_xlabel({"C": "corruption budget C (units of f)", "T": "rounds T"}[against])
        ax.legend(
            loc="upper left", bbox_to_anchor=(0.0, 0.0), bbox_transform=ax.transAxes + below,
            borderaxespad=0.0, borderpad=0.0, handlelength=3.0,
        )  # fmt: skip
    for ax in axes[:: 2 if len(axes) > 1 else 1]:
        ax.set_ylabel("final regret $R_T$ (units of f)")
    add_height(figure, n_rows * max(len(lines) for lines in panels.values()))
    note = "marker: mean over seeds; bar: ± 1 standard error; line: least squares in log-log"
    legend_below(figure, [], [], note)
    return figure


def _line(ax: "Axes", curve: Curve, look: Look, low: Floats, high: Floats) -> None:
    ax.fill_between(curve.rounds, low, high, color=look.colour, alpha=0.2, linewidth=0.0)
    n = len(curve.rounds)
    step = max(1, n // 5)
    start = (len(ax.lines) * 2 + 1) * step // 12 % n  # so that markers do not hide each other
    ax.plot(
        curve.rounds, curve.mean, color=look.colour, linestyle=look.line, marker=look.marker,
        markevery=(start, step), markersize=3.0,
    )  # fmt: skip


def _finish(ax: "Axes", title: str, curves: Mapping[str, Curve]) -> None:
    ax.set_title(wrapped(title, 2.2))
    round_axis(ax, max(int(curve.rounds[-1]) for curve in curves.values()))


def _power_law(ax: "Axes", line: Scaling, look: Look) -> None:
    is_shown = line.mean > 0.0
    x, mean = line.x[is_shown], line.mean[is_shown]
    error = np.nan_to_num(line.standard_error[is_shown])
    label = line.algorithm
    if line.fit is not None:
        number = f"{round(line.fit.slope, 2) + 0.0:.2f}"  # + 0.0: no minus in front of zero
        label = f"{label}: slope {number.replace('-', '−')}"
        ends = np.array([x.min(), x.max()])
        ax.plot(ends, line.fit.at(ends), color=look.colour, linestyle=look.line, linewidth=1.0)
    ax.errorbar(
        x, mean, yerr=np.stack([np.minimum(error, 0.9 * mean), error]), color=look.colour,
        linestyle="none", marker=look.marker, capsize=2.0, linewidth=0.8,
    )  # fmt: skip
    ax.plot([], [], color=look.colour, linestyle=look.line, marker=look.marker, label=label)


def _log_ticks(ax: "Axes", x: Floats) -> None:
    """Ticks at the values played; on the other axis at 1, 2, 5 where it spans few decades."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    plain = FuncFormatter(lambda value, _: f"{value:g}")
    values = np.unique(x)
    if len(values) <= 5:
        ax.xaxis.set_major_locator(FixedLocator(values.tolist()))
        ax.xaxis.set_major_formatter(plain)
        ax.xaxis.set_minor_locator(NullLocator())
    low, high = ax.get_ylim()
    if high / low < 300.0:
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_major_formatter(plain)
        ax.yaxis.set_minor_locator(NullLocator())


def _looks_of(panels: Mapping[str, Mapping[str, Curve]]) -> dict[str, Look]:
    return looks(label for curves in panels.values() for label in curves)


def _shown(panels: Mapping[str, Mapping[str, Curve]], look: Mapping[str, Look]) -> dict[str, Look]:
    """The looks that occur in the figure, in their own order."""
    shown = {label for curves in panels.values() for label in curves}
    return {label: one for label, one in look.items() if label in shown}


def _algorithm_legend(
    figure: "Figure", axes: "Sequence[Axes]", look: Mapping[str, Look], note: str
) -> None:
    from matplotlib.lines import Line2D

    handles: dict[str, object] = {
        label: Line2D([], [], color=one.colour, linestyle=one.line, marker=one.marker, markersize=3.0)
        for label, one in look.items()
    }
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    legend_below(figure, list(handles.values()), list(handles), note)


def _seeds(n: Sequence[int]) -> str:
    low, high = min(n), max(n)
    if low < high:
        return f"{low} to {high} seeds"
    return f"{high} seeds" if high > 1 else "the only seed"
