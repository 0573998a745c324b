"""A line that tells how a run goes, on a terminal."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from unbribable.practice.result import Result

_EVERY = 0.5
"""Seconds between two looks at incumbent and suspects, which cost more than a round may."""


class Reporter(Protocol):
    """Something that is told after every round."""

    def __call__(self, result: "Result") -> None: ...


def _quiet(result: "Result") -> None:
    pass


@contextmanager
def reporter(n_rounds: int, progress: bool | None) -> Iterator[Reporter]:
    """A reporter: a progress bar, or nothing where `progress` is False or there is no terminal.

    Args:
        n_rounds: Rounds in all.
        progress: True and False decide; None shows the bar if standard error is a terminal and rich
            is installed.
    """
    is_wanted = sys.stderr.isatty() if progress is None else progress
    if not is_wanted:
        yield _quiet
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.table import Column
    except ImportError:
        if progress is None:
            yield _quiet
            return
        raise ImportError('a progress bar needs rich: pip install "unbribable[cli]"') from None
    columns = (
        TextColumn("round", table_column=Column(no_wrap=True)),
        MofNCompleteColumn(table_column=Column(no_wrap=True, min_width=2 * len(str(n_rounds)) + 1)),
        BarColumn(bar_width=10),
        TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis")),
    )
    with Progress(*columns, console=Console(stderr=True), transient=False) as bar:
        task = bar.add_task("", total=n_rounds)
        last = [-_EVERY]

        def report(result: "Result") -> None:
            n_done = sum(not trial.is_given for trial in result.trials)
            bar.update(task, completed=n_done)
            now = time.monotonic()
            if now - last[0] >= _EVERY or n_done >= n_rounds:
                last[0] = now
                bar.update(task, description=in_a_line(result))

        yield report


def in_a_line(result: "Result") -> str:
    """Robust incumbent with its interval, suspects, seconds per ask."""
    if result.recommendation is None:
        return "no reading yet"
    seconds = result.seconds_per_ask
    interval = "no interval"
    if result.lower is not None:
        interval = f"f(x) in ({result.lower:.4g}, {result.upper:.4g})"
    return (
        f"{interval} · {result.n_suspects} suspicious · {0.0 if seconds is None else seconds:.3f} s/ask"
    )
