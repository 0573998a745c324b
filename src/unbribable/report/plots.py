"""Drawers of a report's figures: panels of numbers in, a figure out. They compute nothing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

import unbribable.drawing as drawing
from unbribable.drawing import BLACK, BLUE, GREEN, GREY, ORANGE, Look, styled
from unbribable.report.numbers import LEVEL, Coverage, Scaling, Spread
from unbribable.report.outcomes import Floats, Ints

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

V = TypeVar("V")
Looks = Mapping[str, Look]
Curves = tuple[Mapping[str, Spread], float]
"""Player -> its curve, and the adversary's budget."""

_KNOWN = {"fast": (BLUE, ""), "slow": (ORANGE, "////"), "all": (GREEN, "...."), "nobody": (GREY, "xxxx")}


class Place(NamedTuple):
    """A player in the plane of price and protection."""

    price: float
    protection: float
    error: float
    """Standard error of the protection."""
    colour: str
    is_valid: bool | None
    """Whether its promise was kept; None: it promises nothing."""


@styled
def places(panels: Mapping[str, Mapping[str, Place]], colours: Mapping[str, str]) -> "Figure":
    """Price against protection, a numbered point per player, by what it is told."""
    figure, axes = drawing.panel_grid(len(panels), height=2.6, n_columns=min(2, len(panels)))
    rank = {label: k for k, label in enumerate(dict.fromkeys(x for p in panels.values() for x in p), 1)}
    for ax, points in _titled(axes, panels):
        for label, at in points.items():
            ax.errorbar(
                at.price, at.protection, yerr=at.error, color=at.colour, linewidth=0.7, linestyle="none",
                marker="x" if at.is_valid is False else "o",
                markerfacecolor=at.colour if at.is_valid else "none",
            )  # fmt: skip
            where = at.price, at.protection
            ax.annotate(f"{rank[label]}", where, (3, 3), textcoords="offset points", fontsize=6)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.margins(0.12)
    drawing.label_outer(axes, "price: regret without lies", "regret under\nthe worst attack")
    for name, colour in colours.items():
        axes[0].plot([], [], color=colour, marker="o", linestyle="none", label=f"told {name}")
    for label, k in rank.items():
        axes[0].plot([], [], color=BLACK, marker=f"${k}$", linestyle="none", label=label)
    note = (
        "Multiples of GP-UCB's regret without lies. Filled: promise kept; hollow: no promise; x: broken."
    )
    drawing.named_once(figure, axes, note)
    return figure


def regret(panels: Mapping[str, Curves], look: Looks) -> "Figure":
    """Mean cumulative regret of every player."""
    return _curves(panels, look, "cumulative regret $R_t$\n(units of f)", is_capped=False)


def spent(panels: Mapping[str, Curves], look: Looks) -> "Figure":
    """Mean budget spent so far against every player, and the budget."""
    return _curves(panels, look, "corruption spent\n(units of f)", is_capped=True)


@styled
def _curves(panels: Mapping[str, Curves], look: Looks, y: str, *, is_capped: bool) -> "Figure":
    """Means over the rounds with a band of one standard error."""
    figure, axes = drawing.panel_grid(len(panels), height=1.7 if is_capped else 1.75)
    for ax, (curves, budget) in _titled(axes, panels):
        for k, (label, curve) in enumerate(curves.items()):
            error = np.nan_to_num(curve.standard_error)
            low, high = curve.mean - error, curve.mean + error
            if is_capped:
                low, high = np.maximum(low, 0.0), np.minimum(high, budget)
            one = look[label]
            ax.fill_between(curve.rounds, low, high, color=one.colour, alpha=0.2, linewidth=0.0)
            step = max(1, len(curve.rounds) // 5)
            start = (2 * k + 1) * step // 12 % len(curve.rounds)  # so that no marker hides another
            ax.plot(
                curve.rounds, curve.mean, color=one.colour, linestyle=one.line, marker=one.marker,
                markevery=(start, step), markersize=3.0, label=label,
            )  # fmt: skip
        if is_capped:
            ax.axhline(budget, color=BLACK, linewidth=0.8, linestyle=(0, (1, 1)), label="budget C")
        _rounds(ax, curves)
        ax.set_ylim(0.0, 1.08 * budget if is_capped else None)
    drawing.label_outer(axes, "round t", y)
    n = [curve.n for curves, _ in panels.values() for curve in curves.values()]
    band = "; band: ± 1 standard error" if max(n) > 1 else ""
    drawing.named_once(figure, axes, f"line: mean of {_seeds(n)}{band}", [*look])
    return figure


@styled
def scaling(panels: Mapping[str, Sequence[Scaling]], look: Looks) -> "Figure":
    """Mean final regret against C or T in log-log, with the fitted power laws."""
    from matplotlib.transforms import ScaledTranslation

    against = next(line.against for lines in panels.values() for line in lines)
    figure, axes = drawing.panel_grid(len(panels), height=1.9, n_columns=min(2, len(panels)))
    below = ScaledTranslation(0.0, -34.0 / 72.0, figure.dpi_scale_trans)
    for ax, lines in _titled(axes, panels, 3.0):
        ax.set_xscale("log")
        ax.set_yscale("log")
        for line in lines:
            _power_law(ax, line, look[line.algorithm])
        _log_ticks(ax, np.concatenate([line.x for line in lines]))
        ax.set_xlabel({"C": "corruption budget C (units of f)", "T": "rounds T"}[against])
        ax.legend(
            loc="upper left", bbox_to_anchor=(0.0, 0.0), bbox_transform=ax.transAxes + below,
            borderaxespad=0.0, borderpad=0.0, handlelength=3.0,
        )  # fmt: skip
    for ax in axes[::2]:
        ax.set_ylabel("final regret $R_T$ (units of f)")
    drawing.add_height(figure, (len(axes) + 1) // 2 * max(len(lines) for lines in panels.values()))
    note = "marker: mean over seeds; bar: ± 1 standard error; line: least squares in log-log"
    drawing.legend_below(figure, [], [], note)
    return figure


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
    from matplotlib.ticker import LogLocator

    values = np.unique(x)
    if len(values) <= 5:
        _plain_ticks(ax.xaxis, values.tolist())
    low, high = ax.get_ylim()
    if high / low < 300.0:
        _plain_ticks(ax.yaxis, LogLocator(subs=(1.0, 2.0, 5.0)))


def _plain_ticks(axis: Any, at: Any) -> None:
    """Plain numbers at these places (a list or a locator), and no ticks between them."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axis.set_major_locator(FixedLocator(at) if isinstance(at, list) else at)
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())


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
    n: int
    """Seeds."""


@styled
def instances(panels: Mapping[str, Plays], look: Looks) -> "Figure":
    """Stacked shares of the rounds each instance learned from, over time; all with the same labels."""
    figure, axes = drawing.panel_grid(len(panels), height=1.7)
    labels = next(iter(panels.values())).labels
    fills = _fills(labels)
    for ax, plays in _titled(axes, panels):
        top = np.cumsum(plays.shares, axis=1)
        for k, label in enumerate(plays.labels):
            colour, hatch = fills[label]
            ax.stairs(
                top[:, k], plays.edges, baseline=top[:, k - 1] if k else 0.0, fill=True,
                facecolor=colour, hatch=hatch, edgecolor="white", linewidth=0.0,
                label=label if plays.shares[:, k].any() else None,
            )  # fmt: skip
        if plays.detected is not None:
            words = "median round of detection, where detected"
            ax.axvline(plays.detected, color=BLACK, linewidth=1.2, linestyle="--", label=words)
        drawing.round_axis(ax, int(plays.edges[-1]))
        ax.set_ylim(0.0, 1.0)
        ax.grid(visible=False)
    drawing.label_outer(axes, "round t", "share of the rounds")
    n = max(plays.n for plays in panels.values())
    of = f"mean of {n} seeds" if n > 1 else "one seed"
    drawing.named_once(figure, axes, f"who learns from the round; {of}", labels)
    return figure


@styled
def maximisers(panels: Mapping[str, Mapping[str, Spread]], look: Looks) -> "Figure":
    """Sizes of the sets of potential maximisers, layer by layer."""
    figure, axes = drawing.panel_grid(len(panels), height=1.9)
    labels = list(dict.fromkeys(label for curves in panels.values() for label in curves))
    fills = _fills(labels)
    top = max(curve.high.max() for curves in panels.values() for curve in curves.values())
    ticks = [0.0, *(m * 10.0**e for e in range(6) for m in (1, 3) if m * 10.0**e <= top)]
    for ax, curves in _titled(axes, panels):
        for k, (label, curve) in reversed(list(enumerate(curves.items()))):
            colour, line = fills[label][0], ("-", "--", "-.", ":")[k % 4]
            ax.fill_between(
                curve.rounds, curve.low, curve.high, step="post", color=colour, alpha=0.15, linewidth=0.0
            )
            ax.step(curve.rounds, curve.median, where="post", color=colour, linestyle=line, label=label)
        _rounds(ax, curves)
        ax.set_yscale("symlog", linthresh=1.0, linscale=0.4)
        _plain_ticks(ax.yaxis, [*ticks, float(top)] if top > 1.5 * ticks[-1] else ticks)
        ax.set_ylim(-0.1, 1.25 * top)
    drawing.label_outer(axes, "round t", "potential maximisers\n(candidates)")
    drawing.named_once(figure, axes, "line: median over seeds; band: smallest to largest seed", labels)
    return figure


@styled
def coverage(panels: Mapping[str, Sequence[Coverage]], look: Looks) -> "Figure":
    """Share of the games in which each instance's bounds held, with its exact interval."""
    names = list(dict.fromkeys(_name(row) for rows in panels.values() for row in rows))
    n_columns = min(3, len(panels))
    n_lines = 1 + max(drawing.wrapped(title, 1.8).count("\n") for title in panels)
    height = 0.35 + 0.17 * n_lines + 0.18 * len(names)
    figure, axes = drawing.panel_grid(len(panels), height=height, n_columns=n_columns)
    for k, (ax, rows) in enumerate(_titled(axes, panels, 1.8)):
        for row in rows:
            style: dict[str, Any] = {"color": GREY, "marker": "D", "markerfacecolor": "white"}
            if row.is_promised:
                style = {"color": BLUE, "marker": "o"}
            label = "assumptions true: promised" if row.is_promised else "not promised"
            across = [row.share.low, row.share.value, row.share.high]
            ax.plot(
                across, [-names.index(_name(row))] * 3, linewidth=1.0, markevery=[1], clip_on=False,
                zorder=3.0, label=label, **style,
            )  # fmt: skip
        for delta in {row.delta for row in rows if row.delta is not None}:
            ax.axvline(
                1.0 - delta, color=BLACK, linewidth=0.8, linestyle="--", zorder=0.5, label="1 − δ"
            )
        ax.set_xlim(0.0, 1.0)
        ax.set_xticks([0.0, 0.5, 1.0], ["0", "0.5", "1"])
        ax.set_ylim(0.6 - len(names), 0.6)
        ax.set_yticks(-np.arange(len(names)), names if k % n_columns == 0 else [""] * len(names))
        ax.tick_params(axis="y", length=0.0)
    for ax in axes[(len(axes) - 1) // n_columns * n_columns :]:
        ax.set_xlabel("share of the games\nin which the bounds held")
    drawing.add_height(figure, 2.0)
    order = ["assumptions true: promised", "not promised", "1 − δ"]
    drawing.named_once(figure, axes, f"bar: {LEVEL:.0%} Clopper–Pearson interval", order)
    return figure


def _name(row: Coverage) -> str:
    is_only = row.instance == "main"
    return row.cell.algorithm if is_only else f"{row.cell.algorithm}: {row.instance}"


def _titled(
    axes: "Sequence[Axes]", panels: Mapping[str, V], inches: float = 2.2
) -> "Iterator[tuple[Axes, V]]":
    """Each panel's axes, titled, with what it shows."""
    for ax, (title, data) in zip(axes, panels.items(), strict=True):
        ax.set_title(drawing.wrapped(title, inches))
        yield ax, data


def _rounds(ax: "Axes", curves: Mapping[str, Spread]) -> None:
    drawing.round_axis(ax, max(int(curve.rounds[-1]) for curve in curves.values()))


def _fills(labels: Sequence[str]) -> dict[str, tuple[Any, str]]:
    """Fixed colours for known instances; layers from dark to light, the same order in grey."""
    from matplotlib import colormaps

    layers = [label for label in labels if label not in _KNOWN]
    shades = colormaps["viridis"](np.linspace(0.0, 0.95, max(1, len(layers))))
    return {**_KNOWN, **{label: (tuple(shades[k]), "") for k, label in enumerate(layers)}}


def _seeds(n: Sequence[int]) -> str:
    low, high = min(n), max(n)
    if low < high:
        return f"{low} to {high} seeds"
    return f"{high} seeds" if high > 1 else "the only seed"
