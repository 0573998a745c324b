"""Figures of a run for the one who made it: what is believed, how it came about, what to doubt."""

from typing import TYPE_CHECKING

import numpy as np

from unbribable.decision.algorithm import Algorithm
from unbribable.decision.suspects import Suspect
from unbribable.drawing import BLACK, BLUE, GREY, ORANGE, PAGE, named_once, round_axis, styled, wrapped
from unbribable.model import checks
from unbribable.model.checks import Floats
from unbribable.practice.figures.marks import VALUE, Limits, mark, mark_beyond, mark_readings, window
from unbribable.practice.figures.plots_belief import plot_posterior
from unbribable.practice.figures.run import (
    against,
    band_label,
    band_note,
    history,
    in_words,
    run_of,
)
from unbribable.practice.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_history", "plot_posterior", "plot_suspects"]

_LINE, _GAP = 0.155, 0.10
"""Inches of a line of text, and between two rows."""
_WORDS = 3.05
"""Inches of the words beside the rows."""


@styled
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
    from matplotlib.figure import Figure

    if isinstance(result, Algorithm):
        raise TypeError("a history needs a Result of maximize, got a bare algorithm")
    run, found = run_of(result), history(result)
    figure = Figure(figsize=(5.4, 2.5), layout="constrained")
    ax = figure.subplots()
    failed = [trial.t for trial in result.trials if trial.y is None]
    y, is_flagged, T = run.y, run.is_flagged, int(max([*run.rounds, *failed]))
    found.append(found[-1]._replace(t=T))  # each holds until the next, the last one to the end
    rounds, mean, lower, upper, _ = (np.array(column) for column in zip(*found, strict=True))
    low, high = window(y[~is_flagged], np.append(y[is_flagged], mean), 4.0)
    ax.plot(rounds, mean, color=BLUE, drawstyle="steps-post", label="estimate at the recommended point")
    ax.fill_between(
        rounds, lower, upper, step="post", color=BLUE, alpha=0.18, linewidth=0.0,
        label=f"its {band_label(run.best)}",
    )  # fmt: skip
    naive = np.clip(run.naive_so_far, low, high)
    ax.plot(
        np.append(np.maximum.accumulate(run.rounds), T),  # they may be told in any order
        np.append(naive, naive[-1]), color=ORANGE, linestyle="--",
        drawstyle="steps-post", clip_on=False, label="best reading so far (naive)",
    )  # fmt: skip
    mark_readings(ax, run.rounds, y, is_flagged, (low, high))
    mark(ax, failed, 0.02, "failed", transform=ax.get_xaxis_transform())
    round_axis(ax, T)
    ax.set_xlim(0.0, 1.015 * T)
    ax.set_ylim(low, high)
    ax.set_xlabel("round")
    ax.set_ylabel(VALUE)
    notes = [band_note(run)]
    if lower[-1] < low or upper[-1] > high:
        notes.insert(0, f"the interval at the end, cut at the axes, is {in_words(*run.best.interval)}")
    named_once(figure, [ax], "; ".join(note for note in notes if note))
    return figure


@styled
def plot_suspects(result: Result | Algorithm, k: int = 10) -> "Figure":
    """The k most suspicious readings: what was told, what the others predict, and the evidence.

    Args:
        result: A result, or an algorithm (then in the model's units).
        k: How many readings, at most.

    Returns:
        The figure, not shown: `figure.savefig("suspects.png")`.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    suspects = run_of(result).suspects[: checks.integer("k", k, at_least=1)]
    y, expected, sd = np.array([(each.y, each.expected, each.sd) for each in suspects]).T
    is_flagged = np.array([each.is_flagged for each in suspects])
    low, high = window(np.concatenate([expected - sd, expected + sd, y[~is_flagged]]), y, 8.0)
    words = []
    for each in suspects:
        value = "" if low <= each.y <= high else f"read {each.y:.4g}; ".replace("-", "−")
        words.append(wrapped(value + against(each), _WORDS))
    heights = np.array([_LINE * (text.count("\n") + 1) + _GAP for text in words])
    centres = np.cumsum(heights) - 0.5 * heights
    total = float(heights.sum())
    figure = Figure(figsize=(PAGE, total + 0.45), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True, gridspec_kw={"width_ratios": [1.0, 1.0]})
    _rows(left, suspects, centres, (low, high))
    left.set_xlim(low, high)
    left.set_ylim(total, 0.0)
    left.set_yticks(centres, [f"round {each.t}" for each in suspects])
    left.tick_params(axis="y", length=0.0, pad=6.0)
    left.grid(axis="y", visible=False)
    left.spines["left"].set_visible(False)
    left.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    left.set_xlabel(VALUE)
    right.axis("off")
    for centre, text, each in zip(centres, words, suspects, strict=True):
        said = right.text(
            0.0, float(centre), text, color=BLACK if each.is_flagged else GREY, va="center",
            linespacing=1.1, transform=right.get_yaxis_transform(),
        )  # fmt: skip
        said.set_in_layout(False)
    named_once(figure, [left])
    return figure


def _rows(ax: "Axes", suspects: tuple[Suspect, ...], centres: Floats, limits: Limits) -> None:
    for centre in (0.5 * (centres[1:] + centres[:-1])).tolist():
        ax.axhline(centre, color="#e6e6e6", linewidth=0.5)
    y, expected, sd = np.array([(each.y, each.expected, each.sd) for each in suspects]).T
    ax.hlines(centres, np.minimum(y, expected), np.maximum(y, expected), color=GREY, linewidth=0.6)
    ax.errorbar(
        expected, centres, xerr=sd, color=BLUE, linestyle="none", marker="s", markersize=3.5,
        capsize=2.0, linewidth=1.2, label="what the other readings predict, ± 1 sd",
    )  # fmt: skip
    is_certain = np.array([each.is_certain for each in suspects])
    is_flagged = np.array([each.is_flagged for each in suspects])
    is_seen = (y >= limits[0]) & (y <= limits[1])
    mark(ax, y, centres, "not flagged", is_seen & ~is_flagged)
    mark(ax, y, centres, "flagged", is_seen & is_flagged & ~is_certain)
    mark(ax, y, centres, "certain", is_seen & is_certain)
    mark_beyond(ax, y, centres, limits, "x")
