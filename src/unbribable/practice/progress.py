"""A line that tells how a run goes, on a terminal."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from unbribable.practice.result import Result

_EVERY = 0.5
"""Seconds between two looks at incumbent and suspects, which may cost more than a round."""


@contextmanager
def reporter(n_rounds: int, progress: bool | None) -> Iterator[Callable[[Result], None]]:
    """A function to call after every round: it moves a progress bar, or does nothing.

    Args:
        n_rounds: Rounds in all.
        progress: True and False decide; None shows the bar if standard error is a terminal and rich
            is installed.
    """
    columns = None
    if sys.stderr.isatty() if progress is None else progress:
        try:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
            from rich.table import Column
        except ImportError:
            if progress:
                raise ImportError('a progress bar needs rich: pip install "unbribable[cli]"') from None
        else:
            width = 2 * len(str(n_rounds)) + 1
            columns = (
                TextColumn("round", table_column=Column(no_wrap=True)),
                MofNCompleteColumn(table_column=Column(no_wrap=True, min_width=width)),
                BarColumn(bar_width=10),
                TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis")),
            )
    if columns is None:
        yield lambda result: None
        return
    with Progress(*columns, console=Console(stderr=True), transient=False) as bar:
        task = bar.add_task("", total=n_rounds)
        last = -_EVERY

        def report(result: Result) -> None:
            nonlocal last
            n_done = sum(not trial.is_given for trial in result.trials)
            bar.update(task, completed=n_done)
            if time.monotonic() - last >= _EVERY or n_done >= n_rounds:
                last = time.monotonic()
                bar.update(task, description=in_a_line(result))

        yield report


def in_a_line(result: Result) -> str:
    """Interval at the robust incumbent, suspects, seconds per ask."""
    if result.recommendation is None:
        return "no reading yet"
    interval = "no interval"
    if result.lower is not None:
        interval = f"f(x) in ({result.lower:.4g}, {result.upper:.4g})"
    return f"{interval} · {result.n_suspects} suspicious · {result.seconds_per_ask or 0.0:.3f} s/ask"
