"""Figures of a run for the one who made it: what is believed, how it came about, what to doubt."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unbribable.decision.algorithm import Algorithm
from unbribable.doubt.suspect import Suspect
from unbribable.model import checks
from unbribable.model.checks import Floats
from unbribable.say.figures.drawing import (
    BLACK,
    BLUE,
    GREY,
    ORANGE,
    PAGE,
    new_figure,
    round_axis,
    styled,
    wrapped,
)
from unbribable.say.figures.importance import plot_importance
from unbribable.say.figures.marks import (
    THIN,
    VALUE,
    Limits,
    axes_of_one,
    finished,
    mark,
    mark_beyond,
    mark_readings,
    width_of,
    window,
)
from unbribable.say.figures.plots_belief import plot_posterior
from unbribable.say.figures.run import (
    against,
    band_label,
    band_note,
    history,
    in_words,
    result_of,
    run_of,
)
from unbribable.say.figures.worst_case import plot_worst_case
from unbribable.study.result import Result
from unbribable.study.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_history", "plot_importance", "plot_posterior", "plot_suspects", "plot_worst_case"]

_LINE, _GAP = 0.155, 0.10
"""Inches of a line of text, and between two rows."""
_WORDS = 3.05
"""Inches of the words beside the rows."""


@styled
def plot_history(
    result: Result | Study, *, width: float | None = None, ax: "Axes | None" = None
) -> "Figure":
    """Over the rounds: every reading, the best one so far, and the recommended point's interval.

    The best reading so far is what an optimizer without doubts goes by: a lie lifts it for good. The
    value estimated at the recommended point follows the readings that do not look like lies. The thin
    lines are the ends of its worst case; the legend says where they are if they leave the axes.

    Args:
        result: A result or a study (ours, or Optuna's with our sampler). Its readings are learned
            again, which takes as long as the first time.
        width: Of the figure in inches.
        ax: Axes to draw in, in place of a figure of its own; the legend is then yours: `ax.legend()`.

    Returns:
        The figure. A notebook shows it; elsewhere: `figure.savefig("history.png")`.
    """
    if isinstance(result, Algorithm):
        raise TypeError("a history needs a Result of maximize or a study, got a bare algorithm")
    run, result = run_of(result), result_of(result)
    found, panel = history(result), axes_of_one(ax, width, 2.5)
    failed = [trial.t for trial in result.trials if trial.y is None]
    y, is_flagged, T = run.y, run.is_flagged, int(max([*run.rounds, *failed]))
    found.append(found[-1]._replace(t=T))  # each holds until the next, the last one to the end
    rounds, mean, lower, upper, _ = (np.array(column) for column in zip(*found, strict=True))
    low, high = window(y[~is_flagged], np.append(y[is_flagged], mean), 4.0)
    steps: dict[str, Any] = {"drawstyle": "steps-post"}
    panel.plot(rounds, mean, color=BLUE, label="estimate at the recommended point", **steps)
    ends = [end for end in (lower, upper) if ((low <= end) & (end <= high)).any()]
    for k, end in enumerate(ends):
        panel.plot(rounds, end, label=None if k else f"its {band_label(run.best)}", **THIN, **steps)
    naive = np.clip(run.naive_so_far, low, high)
    panel.plot(
        np.append(np.maximum.accumulate(run.rounds), T),  # they may be told in any order
        np.append(naive, naive[-1]), color=ORANGE, linestyle="--", clip_on=False,
        label="best reading so far (naive)", **steps,
    )  # fmt: skip
    mark_readings(panel, run.rounds, y, is_flagged, (low, high))
    mark(panel, failed, 0.02, "failed", transform=panel.get_xaxis_transform())
    round_axis(panel, T)
    panel.set_xlim(0.0, 1.015 * T)
    panel.set_ylim(low, high)
    panel.set_xlabel("round")
    panel.set_ylabel(VALUE)
    notes = [band_note(run)]
    if lower[-1] < low or upper[-1] > high:
        notes.insert(0, f"the interval at the end, beyond the axes, is {in_words(*run.best.interval)}")
    return finished(panel, "; ".join(note for note in notes if note), ax is not None)


@styled
def plot_suspects(
    result: Result | Study | Algorithm,
    k: int = 10,
    *,
    width: float | None = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """The k most suspicious readings: what was told, what the others predict, and the evidence.

    Args:
        result: A result or a study (ours, or Optuna's with our sampler), or an algorithm (then in the
            model's units).
        k: How many readings, at most.
        width: Of the figure in inches.
        ax: Axes to draw in, in place of a figure of its own: without the evidence, and without a
            legend (`ax.legend()`).

    Returns:
        The figure. A notebook shows it; elsewhere: `figure.savefig("suspects.png")`.
    """
    from matplotlib.ticker import MaxNLocator

    run = run_of(result)
    suspects = run.suspects[: checks.integer("k", k, at_least=1)]
    y, expected, sd = np.array([(each.y, each.expected, each.expected_sd) for each in suspects]).T
    is_flagged = np.array([each.is_flagged for each in suspects])
    low, high = window(np.concatenate([expected - sd, expected + sd, y[~is_flagged]]), y, 8.0)
    inches = width_of(width, PAGE)
    words = []
    for each in suspects:
        value = "" if low <= each.y <= high else f"read {each.y:.4g}; ".replace("-", "−")
        words.append(wrapped(value + against(each), _WORDS * inches / PAGE))
    lines = np.array([1 if ax else text.count("\n") + 1 for text in words])
    heights = _LINE * lines + _GAP
    centres = np.cumsum(heights) - 0.5 * heights
    total = float(heights.sum())
    if ax is None:
        left, right = new_figure(inches, total + 0.45).subplots(1, 2, sharey=True)
        _evidence(right, suspects, centres, words)
    else:
        left = axes_of_one(ax, width, 0.0)
    _rows(left, suspects, centres, (low, high))
    left.set_xlim(low, high)
    left.set_ylim(total, 0.0)
    left.set_yticks(centres, [f"round {each.t}" for each in suspects])
    left.tick_params(axis="y", length=0.0, pad=6.0)
    left.grid(axis="y", visible=False)
    left.spines["left"].set_visible(False)
    left.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    left.set_xlabel(VALUE)
    return finished(left, run.note, ax is not None)


def _evidence(ax: "Axes", suspects: Sequence[Suspect], centres: Floats, words: Sequence[str]) -> None:
    """What speaks against each reading, in its row."""
    ax.axis("off")
    for centre, text, each in zip(centres, words, suspects, strict=True):
        said = ax.text(
            0.0, float(centre), text, color=BLACK if each.is_flagged else GREY, va="center",
            linespacing=1.1, transform=ax.get_yaxis_transform(),
        )  # fmt: skip
        said.set_in_layout(False)


def _rows(ax: "Axes", suspects: tuple[Suspect, ...], centres: Floats, limits: Limits) -> None:
    for centre in (0.5 * (centres[1:] + centres[:-1])).tolist():
        ax.axhline(centre, color="#e6e6e6", linewidth=0.5)
    y, expected, sd = np.array([(each.y, each.expected, each.expected_sd) for each in suspects]).T
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
