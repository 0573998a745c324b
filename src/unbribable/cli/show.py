"""What the commands print: tables, JSON, a progress bar."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

if TYPE_CHECKING:
    from unbribable.runs.sweep import Tally

Bar = Callable[[int, int, str], None]
"""Called with what is through, all, and words."""


def print_json(data: Any) -> None:
    """Print plain data; numbers that JSON has no word for are refused."""
    typer.echo(json.dumps(data, indent=2, allow_nan=False))


def print_table(title: str, columns: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows of plain data under the given headings, numbers with four digits."""
    from rich.console import Console
    from rich.table import Table

    console = Console(markup=False, highlight=False)
    if not console.is_terminal:
        console.width = 120
    table = Table(title=title, title_justify="left", show_header=any(columns.values()))
    for k, (key, heading) in enumerate(columns.items()):
        is_number = any(_is_number(row[key]) for row in rows) and any(columns.values())
        justify: Literal["left", "right"] = "right" if is_number else "left"
        table.add_column(heading, justify=justify, overflow="fold", no_wrap=k == 0)
    for row in rows:
        table.add_row(*(_words(row[key]) for key in columns))
    console.print(table)


@contextmanager
def progress_bar(what: str, *, is_quiet: bool) -> Iterator[Bar]:
    """A bar with the time left on the terminal's error channel; nothing where there is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True, markup=False, highlight=False)
    columns = (
        TextColumn(what), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[words]}"),
        TimeRemainingColumn(elapsed_when_finished=True),
    )  # fmt: skip
    with Progress(*columns, console=console, disable=is_quiet or not console.is_terminal) as progress:
        task = progress.add_task(what, total=None, words="")

        def show(done: int, total: int, words: str) -> None:
            progress.update(task, completed=done, total=total, words=words)

        yield show


def show_sweep(tally: "Tally", out: Path, *, as_json: bool) -> None:
    """Print what came of a sweep, and where to look for what failed."""
    failed = [str(out / "failed" / f"{key}.json") for key in tally.failed]
    if as_json:
        counts = {"total": tally.total, "kept": tally.kept, "done": tally.done, "left": tally.left}
        lists = {"failed": failed, "damaged": list(tally.damaged)}
        print_json({"directory": str(out), **counts, **lists, "seconds": tally.seconds})
        return
    typer.echo(
        f"{tally.total} runs in {out}: {tally.kept} were there, {tally.done} played in "
        f"{tally.seconds:.1f} s, {len(failed)} failed"
    )
    for words in tally.damaged:
        typer.echo(f"  played again: {words}")
    for file in failed:
        typer.echo(f"  failed: {file}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _words(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return ", ".join(_words(part) for part in value)
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_words(part)}" for key, part in value.items())
    return str(value)
