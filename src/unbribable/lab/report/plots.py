"""Drawers of a report's figures: panels of numbers in, a figure out. They compute nothing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

import unbribable.say.figures.drawing as drawing
from unbribable.lab.report.numbers import LEVEL, Answer, Coverage, Scaling, Spread
from unbribable.lab.report.outcomes import Floats, Ints
from unbribable.say.figures.drawing import BLACK, BLUE, GREEN, GREY, ORANGE, Look, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

V = TypeVar("V")
Looks = Mapping[str, Look]
Curves = tuple[Mapping[str, Spread], float]
"""Player -> its curve, and the adversary's budget."""

_KNOWN = {"fast": (BLUE, ""), "slow": (ORANGE, "////"), "all": (GREEN, "...."), "nobody": (GREY, "xxxx")}


@styled
def answers(panels: Mapping[str, Sequence[Answer]], look: Looks) -> "Figure":
    """True regret of the recommended point, and the certificate, player by player."""
    rows = [row for some in panels.values() for row in some]
    names = [name for name in look if any(row.cell.algorithm == name for row in rows)]
    n_columns = min(3, len(panels))
    n_lines = 1 + max(drawing.wrapped(title, 1.8).count("\n") for title in panels)
    height = 0.35 + 0.17 * n_lines + 0.18 * len(names)
    figure, axes = drawing.panel_grid(len(panels), height=height, n_columns=n_columns)
    known = [value for row in rows for part in (row.regret, row.certificate or ()) for value in part]
    least = 10.0 ** np.floor(np.log10(min([value for value in known if value > 0.0], default=1.0)))
    for k, (ax, some) in enumerate(titled(axes, panels, 1.8)):
        for row in some:
            across = [-names.index(row.cell.algorithm)] * 3
            style: dict[str, Any] = {"markevery": [1], "clip_on": False}
            if row.certificate is not None:
                colour, label = (BLACK, _PROMISED) if row.is_promised else (GREY, _NOT_PROMISED)
                style |= {"marker": "|", "markersize": 8.0, "markeredgewidth": 1.6, "linewidth": 0.8}
                ax.plot(row.certificate, across, color=colour, label=label, zorder=3.0, **style)
            style |= {"marker": "o", "markersize": 4.0, "linewidth": 1.6}
            ax.plot(row.regret, across, color=BLUE, label=_REGRET, zorder=3.5, **style)
        ax.set_xscale("symlog", linthresh=least, linscale=0.5)
        powers = [
            10.0**e
            for e in range(round(np.log10(least)), 1 + int(np.log10(max(known, default=1.0) or 1.0)))
        ]
        _plain_ticks(ax.xaxis, [0.0, *powers[:: 1 + len(powers) // 4]])
        ax.set_xlim(-0.1 * least, 1.5 * max([*known, least]))
        ax.set_ylim(0.6 - len(names), 0.6)
        ax.set_yticks(-np.arange(len(names)), names if k % n_columns == 0 else [""] * len(names))
        ax.tick_params(axis="y", length=0.0)
    drawing.label_outer(axes, "regret of the recommended\npoint (units of f, log scale)", "")
    drawing.add_height(figure, 2.0)
    note = "mark: median over seeds; line: smallest to largest"
    drawing.named_once(figure, axes, note, [_REGRET, _PROMISED, _NOT_PROMISED])
    return figure


_REGRET, _PROMISED, _NOT_PROMISED = "true regret", "certificate", "certificate, not promised here"


FAR_MORE = 20.0
"""Times the least regret at the end."""


def regret(panels: Mapping[str, Curves], look: Looks) -> "Figure":
    """Mean cumulative regret of every player; on a log scale where some have far more than others."""
    ends = [float(curve.mean[-1]) for curves, _ in panels.values() for curve in curves.values()]
    least = min([end for end in ends if end > 0.0], default=0.0)
    if max(ends, default=0.0) <= FAR_MORE * least:
        return _curves(panels, look, "cumulative regret $R_t$\n(units of f)", is_capped=False)
    y = "cumulative regret $R_t$\n(units of f, log scale)"
    return _curves(panels, look, y, is_capped=False, least=0.25 * least)


def spent(panels: Mapping[str, Curves], look: Looks) -> "Figure":
    """Mean budget spent so far against every player, and the budget."""
    return _curves(panels, look, "corruption spent\n(units of f)", is_capped=True)


@styled
def _curves(
    panels: Mapping[str, Curves], look: Looks, y: str, *, is_capped: bool, least: float | None = None
) -> "Figure":
    """Means over the rounds with a band of one standard error; on a log scale if `least` is given."""
    figure, axes = drawing.panel_grid(len(panels), height=1.7 if is_capped else 1.75)
    for ax, (curves, budget) in titled(axes, panels):
        for k, (label, curve) in enumerate(curves.items()):
            error = np.nan_to_num(curve.standard_error)
            low, high = curve.mean - error, curve.mean + error
            if is_capped:
                low, high = np.maximum(low, 0.0), np.minimum(high, budget)
            if least is not None:
                low = np.maximum(low, 0.1 * least)
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
        if least is None:
            ax.set_ylim(0.0, 1.08 * budget if is_capped else None)
        else:
            ax.set_yscale("log")
            ax.set_ylim(least, None)
            round_ticks(ax.yaxis)
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
    for ax, lines in titled(axes, panels, 3.0):
        ax.set_xscale("log")
        ax.set_yscale("log")
        for line in lines:
            _power_law(ax, line, look[line.algorithm])
        _log_ticks(ax, np.concatenate([line.x for line in lines]))
        words = {"C": "corruption budget C (units of f, log scale)", "T": "rounds T (log scale)"}
        ax.set_xlabel(words[against])
        ax.legend(
            loc="upper left", bbox_to_anchor=(0.0, 0.0), bbox_transform=ax.transAxes + below,
            borderaxespad=0.0, borderpad=0.0, handlelength=3.0,
        )  # fmt: skip
    for ax in axes[::2]:
        ax.set_ylabel("final regret $R_T$\n(units of f, log scale)")
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
    """Ticks at the values played; on the other axis at round numbers."""
    values = np.unique(x)
    if len(values) <= 5:
        _plain_ticks(ax.xaxis, values.tolist())
    round_ticks(ax.yaxis)


def round_ticks(axis: Any) -> None:
    """Plain numbers on a log axis: powers of ten, and between them the more, the less it spans."""
    from matplotlib.ticker import LogLocator

    low, high = axis.get_view_interval()
    several = (1.0, 2.0, 5.0) if high / low > 5.0 else (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
    _plain_ticks(axis, LogLocator(subs=(1.0,) if high / low > 50.0 else several))


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
    for ax, plays in titled(axes, panels):
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
    for ax, curves in titled(axes, panels):
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
    drawing.label_outer(axes, "round t", "potential maximisers\n(candidates, log scale)")
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
    for k, (ax, rows) in enumerate(titled(axes, panels, 1.8)):
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
    drawing.label_outer(axes, "share of the games\nin which the bounds held", "")
    drawing.add_height(figure, 2.0)
    order = ["assumptions true: promised", "not promised", "1 − δ"]
    drawing.named_once(figure, axes, f"bar: {LEVEL:.0%} Clopper–Pearson interval", order)
    return figure


def _name(row: Coverage) -> str:
    is_only = row.instance == "main"
    return row.cell.algorithm if is_only else f"{row.cell.algorithm}: {row.instance}"


def titled(
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
