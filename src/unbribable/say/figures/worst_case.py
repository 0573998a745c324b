"""The worst case against the number of lies."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unbribable.decision.algorithm import Algorithm
from unbribable.decision.recommend import N_SHOWN, Recommendation
from unbribable.say.figures.drawing import BLACK, BLUE, PURPLE, styled
from unbribable.say.figures.marks import Limits, axes_of_one, finished, mark, window
from unbribable.say.figures.run import run_of
from unbribable.say.words import point
from unbribable.say.worst_case import WHAT, excluded, holds, short_of
from unbribable.study.result import Result
from unbribable.study.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PALE = "#a9c7de"


@dataclass(frozen=True, eq=False)
class WorstCase:
    """What a picture of the worst case shows, in the user's units."""

    best: Recommendation
    rows: tuple[tuple[int, float, float], ...]
    """(n_lies, lower, upper), from the least number that there must be to `last`."""
    least: int
    last: int
    """The largest number drawn."""
    is_open: bool
    """Whether `last` stands for all larger numbers too: nothing is left but that |f| <= B0."""
    n_allowed: int | None
    """The number that the worst case printed allows for, where lies are counted."""
    n_flagged: int
    """How many readings look false."""
    limits: Limits
    """Of the axis of values."""

    def place(self, n_lies: int) -> int | None:
        """Where a number stands on the axis; None if it is not shown."""
        return min(n_lies, self.last) if self.is_open or n_lies <= self.last else None


def worst_case(best: Recommendation, n_flagged: int) -> WorstCase:
    """The worst case by the number of lies, as far as it is of use.

    It goes to the number that is allowed for, flagged, or needed for f(x) to be clearly worse, whichever
    is largest, but ends where nothing is left but the assumptions.

    Args:
        best: What is recommended, after at least one reading.
        n_flagged: How many readings look false.
    """
    lies, estimate = best.lies, best.estimate
    assert lies is not None
    assert estimate is not None
    is_printed = best.lower is not None and best.probability is not None
    n_allowed = best.n_lies if is_printed else None
    least = lies.least
    last = max(least, min(lies.n_readings, max(N_SHOWN, n_allowed or 0, n_flagged, best.n_needed or 0)))
    is_left = n_allowed is not None and lies.interval(n_allowed) != lies.widest
    for k in range(max(least, n_allowed or 0) if is_left else least, last + 1):
        if lies.interval(k) == lies.widest:
            last = k
            break
    rows = lies.table(last)
    is_open = bool(rows) and rows[-1][1:] == lies.widest
    worse = estimate if best.clearly_worse is None else best.clearly_worse
    core = [estimate, worse, 2.0 * estimate - worse]
    core += rows[0][1:] if len(rows) > is_open else ()
    ends = np.array([end for _, *interval in rows for end in interval])
    limits = window(np.array(core), ends, 1.0)
    return WorstCase(best, rows, least, last, is_open, n_allowed, n_flagged, limits)


@styled
def plot_worst_case(
    result: Result | Study | Algorithm,
    *,
    what: str = "f(x)",
    width: float | None = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """The worst case at the recommended point against the number of lies.

    A bar for each number of lies that there can be: what f can be there if at most so many readings are
    lies, of any size. A bar that is cut ends in an arrow; open arrows end the bar at which nothing is
    left but the assumption that |f| <= B0. The dark bar is the worst case of the summary.

    Args:
        result: A result or a study (ours, or Optuna's with our sampler), drawn in your units, or an
            algorithm, in the model's.
        what: What the value is called.
        width: Of the figure in inches.
        ax: Axes to draw in, in place of a figure of its own; the legend is then yours: `ax.legend()`.

    Returns:
        The figure. A notebook shows it; elsewhere: `figure.savefig("worst_case.png")`.
    """
    run = run_of(result)
    best, found = run.best, worst_case(run.best, int(run.is_flagged.sum()))
    assert best.lies is not None
    assert best.estimate is not None
    panel = axes_of_one(ax, width, 2.7)
    low, high = found.limits
    if found.least:
        panel.axvspan(
            -0.6, found.least - 0.5, facecolor="#f4f4f4", edgecolor="#c8c8c8", hatch="////",
            linewidth=0.0, label=excluded(found.least),
        )  # fmt: skip
    _bars(panel, found)
    panel.axhline(best.estimate, color=PURPLE, label="value to expect (an estimate)")
    if (label := short_of(best, what)) and best.clearly_worse is not None:
        panel.axhline(best.clearly_worse, color=BLACK, linestyle=":", linewidth=1.0, label=label)
    if found.n_flagged and (at := found.place(found.n_flagged)) is not None:
        below = panel.get_xaxis_transform()
        label = f"number that looks false: {found.n_flagged}"
        mark(panel, at, -0.04, "suspicious", label=label, transform=below, clip_on=False)
    panel.set_xlim(-0.6, found.last + 0.6)
    panel.set_ylim(low, high)
    _number(panel, found)
    panel.set_xlabel(f"lies among the {best.lies.n_readings} readings, at most")
    panel.set_ylabel(f"{what} at the recommended point")
    note = f"The point: {point(best.x, best.params)}. {WHAT} {holds(best)}"
    drawn = panel.get_legend_handles_labels()[1]
    order = [label for label in drawn if label.startswith("worst case")]
    return finished(panel, note, ax is not None, order[::-1])


def _bars(ax: "Axes", found: WorstCase) -> None:
    """A bar for each number of lies, the allowed one dark; arrows where one is cut."""
    low, high = found.limits
    dark = None if found.n_allowed is None else found.place(found.n_allowed)
    allowed = f"worst case as printed, for {found.n_allowed}"
    for rows, colour, label in (
        ([row for row in found.rows if row[0] != dark], PALE, "worst case for so many lies"),
        ([row for row in found.rows if row[0] == dark], BLUE, allowed),
    ):
        if rows:
            k, lower, upper = np.array(rows).T
            bottom, top = np.clip(lower, low, high), np.clip(upper, low, high)
            ax.bar(k, top - bottom, 0.5, bottom, color=colour, label=label)
    for k, lower, upper in found.rows:
        is_open = found.is_open and k == found.last
        kind = "unbounded" if is_open else "cut"
        mark(ax, k, max(lower, low), kind, np.array([is_open or lower < low]), marker="v")
        mark(ax, k, min(upper, high), kind, np.array([is_open or upper > high]), marker="^")


def _number(ax: "Axes", found: WorstCase) -> None:
    """Whole numbers at the axis, and that the last one stands for all larger ones if it does."""
    step = 1 + found.last // 13
    numbers = list(range(found.last % step, found.last + 1, step))
    more = "+" if found.is_open else ""
    ax.set_xticks(numbers, [f"{k}{more if k == found.last else ''}" for k in numbers])
    ax.tick_params(axis="x", length=0.0, pad=11.0)
    ax.grid(axis="x", visible=False)
