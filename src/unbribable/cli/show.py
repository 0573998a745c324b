"""What the commands print: tables, JSON, a progress bar."""

import json
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal

import typer

from unbribable.study.progress import Show, bar

FOR_MACHINES: ContextVar[bool] = ContextVar("for_machines", default=False)
"""Whether the command under way was given --json."""


_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""Characters that a terminal obeys, or that cannot be written, but no tabs and ends of lines."""


def say(text: str, *, is_note: bool = False) -> None:
    """Print, notes on standard error: the one way in which a command does.

    Names and cells come from files, so a character that a terminal would obey is shown as its code.
    """
    typer.echo(_CONTROLS.sub(lambda found: f"\\u{ord(found.group()):04x}", text), err=is_note)


def print_json(data: Any) -> None:
    """Print plain data; null for what JSON has no number for."""
    say(json.dumps(_finite(data), indent=2, allow_nan=False))


def table(title: str, rows: Sequence[Mapping[str, Any]], **headings: str) -> str:
    """Rows of plain data, numbers with four digits; headings are the keys unless given."""
    from rich.console import Console
    from rich.table import Table

    console = Console(markup=False, highlight=False, color_system=None)
    if not console.is_terminal:
        console.width = 120
    if not rows:
        return title
    columns = {key: headings.get(key, key.replace("_", " ")) for key in rows[0]}
    has_heads = any(columns.values())
    drawn = Table(title=title, title_justify="left", show_header=has_heads)
    for k, (key, heading) in enumerate(columns.items()):
        is_number = has_heads and any(type(row[key]) in (int, float) for row in rows)
        justify: Literal["left", "right"] = "right" if is_number else "left"
        drawn.add_column(heading, justify=justify, overflow="fold", no_wrap=k == 0)
    for row in rows:
        drawn.add_row(*(_words(row[key]) for key in columns))
    with console.capture() as captured:
        console.print(drawn)
    return captured.get().rstrip("\n")


def sheet(title: str, data: Mapping[str, Any]) -> str:
    """A table without headings: a row per entry."""
    rows = [{"what": key.replace("_", " "), "value": value} for key, value in data.items()]
    return table(title, rows, what="", value="")


@contextmanager
def progress_bar(what: str) -> Iterator[Show]:
    """A bar with the time left; nothing under --json, or where standard error is no terminal."""
    if FOR_MACHINES.get() or not sys.stderr.isatty():
        yield lambda done, total, words: None
        return
    with bar(what, has_time_left=True) as show:
        yield show


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


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
