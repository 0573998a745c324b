"""Figures of a run for the one who made it: what is believed, how it came about, what to doubt."""

from typing import TYPE_CHECKING

import numpy as np

from unbribable.decision.algorithm import Algorithm
from unbribable.drawing import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PAGE,
    RED,
    named_once,
    round_axis,
    styled,
    wrapped,
)
from unbribable.model.checks import Floats, Ints
from unbribable.practice.figures.data import History, SuspectRow, history, suspect_rows
from unbribable.practice.figures.plots_belief import (
    VALUE,
    mark_beyond,
    plot_posterior,
    readings_of,
)
from unbribable.practice.figures.run import band_label, band_note, in_words, window
from unbribable.practice.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_history", "plot_posterior", "plot_suspects"]

_LINE, _GAP = 0.155, 0.10
"""Inches of a line of text, and between two rows."""
_WORDS = 3.05
"""Inches of the words beside the rows."""


def plot_history(result: Result) -> "Figure":
    """Over the rounds: every reading, the best one so far, and the recommended point's interval.

    The best reading so far is what an optimizer without doubts goes by: a lie lifts it for good. The
    value estimated at the recommended point, and its interval, follow the readings that do not look
    like lies. An interval that leaves the axes is cut there, and the legend says how far it goes.

    Args:
        result: Of `maximize`. Its readings are learned again, which takes as long as the first time.

    Returns:
        The figure, not shown: `figure.savefig("history.png")`.
    """
    return draw_history(history(result))


@styled
def draw_history(past: History) -> "Figure":
    """The figure of a history."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.4, 2.5), layout="constrained")
    ax = figure.subplots()
    readings, best = past.run.readings, past.run.best
    T = max(int(readings.ids[-1]), int(past.failed[-1]) if len(past.failed) else 0)
    flagged = readings.y[readings.is_flagged]
    low, high = window(readings.y[~readings.is_flagged], np.append(flagged, past.mean), 4.0)
    rounds, (lower, mean, upper) = _held(past, T)
    ax.plot(rounds, mean, color=BLUE, drawstyle="steps-post", label="estimate at the recommended point")
    ax.fill_between(
        rounds, lower, upper, step="post", color=BLUE, alpha=0.18, linewidth=0.0,
        label=f"its {band_label(best)}",
    )  # fmt: skip
    ids, naive = np.append(readings.ids, T), np.append(past.naive, past.naive[-1])
    ax.plot(
        ids, np.clip(naive, low, high), color=ORANGE, linestyle="--", drawstyle="steps-post",
        clip_on=False, label="best reading so far (naive)",
    )  # fmt: skip
    readings_of(ax, readings.ids, readings.y, readings.is_flagged, (low, high))
    if len(past.failed):
        ax.plot(
            past.failed, np.full(len(past.failed), 0.02), color=BLACK, linestyle="none", marker="|",
            markersize=6.0, transform=ax.get_xaxis_transform(), label="failed evaluation",
        )  # fmt: skip
    round_axis(ax, T)
    ax.set_xlim(0.0, 1.015 * T)
    ax.set_ylim(low, high)
    ax.set_xlabel("round")
    ax.set_ylabel(VALUE)
    notes = [band_note(past.run)]
    if float(past.lower[-1]) < low or float(past.upper[-1]) > high:
        notes.insert(0, f"the interval at the end, cut at the axes, is {in_words(*best.interval)}")
    named_once(figure, [ax], "; ".join(note for note in notes if note))
    return figure


def plot_suspects(result: Result | Algorithm, k: int = 10) -> "Figure":
    """The k most suspicious readings: what was told, what the others predict, and the evidence.

    Args:
        result: A result, or an algorithm (then in the model's units).
        k: How many readings, at most.

    Returns:
        The figure, not shown: `figure.savefig("suspects.png")`.
    """
    return draw_suspects(suspect_rows(result, k))


@styled
def draw_suspects(rows: tuple[SuspectRow, ...]) -> "Figure":
    """The figure of suspicious readings, the worst one on top."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    y = np.array([row.y for row in rows])
    expected, sd = np.array([(row.expected, row.sd) for row in rows]).T
    is_flagged = np.array([row.is_flagged for row in rows])
    low, high = window(np.concatenate([expected - sd, expected + sd, y[~is_flagged]]), y, 8.0)
    words = []
    for row in rows:
        value = "" if low <= row.y <= high else f"read {row.y:.4g}; ".replace("-", "−")
        words.append(wrapped(value + row.words, _WORDS))
    heights = np.array([_LINE * (text.count("\n") + 1) + _GAP for text in words])
    centres = np.cumsum(heights) - 0.5 * heights
    total = float(heights.sum())
    figure = Figure(figsize=(PAGE, total + 0.45), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True, gridspec_kw={"width_ratios": [1.0, 1.0]})
    _rows(left, rows, centres, (low, high))
    left.set_xlim(low, high)
    left.set_ylim(total, 0.0)
    left.set_yticks(centres, [f"round {row.id}" for row in rows])
    left.tick_params(axis="y", length=0.0, pad=6.0)
    left.grid(axis="y", visible=False)
    left.spines["left"].set_visible(False)
    left.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    left.set_xlabel(VALUE)
    right.axis("off")
    for centre, text, row in zip(centres, words, rows, strict=True):
        colour = BLACK if row.is_flagged else GREY
        said = right.text(
            0.0, float(centre), text, color=colour, va="center", linespacing=1.1,
            transform=right.get_yaxis_transform(),
        )  # fmt: skip
        said.set_in_layout(False)
    named_once(figure, [left])
    return figure


def _rows(
    ax: "Axes", rows: tuple[SuspectRow, ...], centres: Floats, limits: tuple[float, float]
) -> None:
    for centre in (0.5 * (centres[1:] + centres[:-1])).tolist():
        ax.axhline(centre, color="#e6e6e6", linewidth=0.5)
    expected, sd = np.array([(row.expected, row.sd) for row in rows]).T
    y = np.array([row.y for row in rows])
    ax.hlines(centres, np.minimum(y, expected), np.maximum(y, expected), color=GREY, linewidth=0.6)
    ax.errorbar(
        expected, centres, xerr=sd, color=BLUE, linestyle="none", marker="s", markersize=3.5,
        capsize=2.0, linewidth=1.2, label="what the other readings predict, ± 1 sd",
    )  # fmt: skip
    kinds = (
        ("not flagged", GREEN, "o", "none", [not row.is_flagged for row in rows]),
        ("suspicious", RED, "x", RED, [row.is_flagged and not row.is_certain for row in rows]),
        ("certainly corrupted if the model holds", RED, "D", RED, [row.is_certain for row in rows]),
    )
    is_seen = (y >= limits[0]) & (y <= limits[1])
    for label, colour, marker, face, is_kind in kinds:
        is_drawn = is_seen & np.array(is_kind)
        if is_drawn.any():
            ax.plot(
                y[is_drawn], centres[is_drawn], color=colour, linestyle="none", marker=marker,
                markerfacecolor=face, markersize=5.0, markeredgewidth=1.2, label=f"reading, {label}",
            )  # fmt: skip
    mark_beyond(ax, y, centres, limits, "x")


def _held(past: History, T: int) -> tuple[Ints, list[Floats]]:
    """Rounds and values of steps that hold until the end of the run."""
    values = [past.lower, past.mean, past.upper]
    return np.append(past.rounds, T), [np.append(value, value[-1]) for value in values]
