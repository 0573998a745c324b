"""A line that tells how a run goes, on a terminal or in a notebook."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from unbribable.extras import missing
from unbribable.say.answer import in_short

if TYPE_CHECKING:
    from unbribable.study.result import Result

_EVERY = 0.5
"""Seconds between two looks at incumbent and suspects, which may take longer than a round."""


Show = Callable[[int, int, str | None], None]
"""Called with what is done, the total, and new words (None: leave them)."""


@contextmanager
def reporter(n_rounds: int, progress: bool | None) -> Iterator[Callable[["Result"], None]]:
    """To be called with the result after every round: a progress bar, or nothing.

    Args:
        n_rounds: Rounds in all.
        progress: True and False decide; None shows the bar in a notebook, and if standard error is a
            terminal and rich is installed.
    """
    by_default = is_notebook() or (sys.stderr.isatty() and _has_rich())
    if not (by_default if progress is None else progress):
        yield lambda result: None
        return
    if not (is_notebook() or _has_rich()):
        raise missing("a progress bar needs", "rich", "cli")
    with bar("round", n_rounds) as show:
        last = [-_EVERY]

        def report(result: "Result") -> None:
            n_done = sum(trial.is_evaluation for trial in result.trials)
            now = time.monotonic()
            is_due = now - last[0] >= _EVERY or n_done >= n_rounds
            if is_due:
                last[0] = now
            show(n_done, n_rounds, in_a_line(result) if is_due else None)

        yield report


@contextmanager
def bar(what: str, total: int = 0, *, has_time_left: bool = False) -> Iterator[Show]:
    """A progress bar on standard error, or below the cell of a notebook.

    Args:
        what: What is counted.
        total: How many there are, if that is known; room is kept for the number.
        has_time_left: Whether the bar says how long the rest will take.
    """
    if is_notebook():
        with _in_cell(what) as show:
            yield show
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.table import Column

    columns: list[ProgressColumn] = [
        TextColumn(what, table_column=Column(no_wrap=True)),
        MofNCompleteColumn(table_column=Column(no_wrap=True, min_width=2 * len(str(total)) + 1)),
        BarColumn(bar_width=10),
        TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis")),
    ]
    if has_time_left:
        columns.append(TimeRemainingColumn(elapsed_when_finished=True))
    with Progress(*columns, console=Console(stderr=True, markup=False)) as drawn:
        task = drawn.add_task("", total=total or None)
        yield lambda done, total, words: drawn.update(
            task, completed=done, total=total, description=words
        )


def is_notebook() -> bool:
    """Whether a Jupyter kernel runs this."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return hasattr(shell, "kernel")


@contextmanager
def _in_cell(what: str) -> Iterator[Show]:
    """A line of plain text below the cell that runs, which needs no widgets."""
    said = [""]
    handle = sys.modules["IPython"].display.display({"text/plain": what}, raw=True, display_id=True)

    def show(done: int, total: int, words: str | None) -> None:
        said[0] = said[0] if words is None else words
        n = 10 * done // max(total, 1)
        line = f"{what} {done}/{total} {'█' * n}{'░' * (10 - n)} {said[0]}"
        handle.update({"text/plain": line}, raw=True)

    yield show


def _has_rich() -> bool:
    return find_spec("rich") is not None


def in_a_line(result: "Result") -> str:
    """The value to expect at the robust incumbent, its worst case, suspects, seconds per ask."""
    return in_short(result.recommendation, result.n_suspects, result.seconds_per_ask or 0.0)
