"""A table as Markdown for readers and as CSV for machines."""

import csv
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

_FOLDED = ("objective", "T", "n_lies", "told")
"""Columns that Markdown names above the table where they are the same in all rows."""
_FORMULA = ("=", "+", "-", "@")


class Column(NamedTuple):
    """A column: its name in data and CSV, its heading in Markdown, and how an item fills it."""

    key: str
    heading: str
    value: str | Callable[[Any], Any]
    """A dotted attribute of the item, or a function of it."""

    def of(self, item: Any) -> Any:
        """What stands in the item's row; None for a number that there is not."""
        value = self.value(item) if callable(self.value) else attrgetter(self.value)(item)
        return None if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of plain data (None: there is no such number) under named columns."""

    name: str
    """Of its CSV file."""
    title: str
    note: str
    """What the columns mean."""
    columns: dict[str, str]
    """Key in the rows and head in the CSV file -> head in Markdown."""
    rows: list[dict[str, Any]]

    @classmethod
    def of(
        cls, name: str, title: str, note: str, columns: Sequence[Column], items: Iterable[Any]
    ) -> "Table":
        """One row per item."""
        headings = {column.key: column.heading for column in columns}
        rows = [{column.key: column.of(item) for column in columns} for item in items]
        return cls(name, title, note, headings, rows)

    def write_csv(self, path: str | Path) -> Path:
        """Write all columns, numbers in full precision, empty where there is none.

        Words that a spreadsheet would take for a formula (=, +, -, @ in front) get an apostrophe.
        """
        path = Path(path)
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(self.columns), lineterminator="\n")
            writer.writeheader()
            writer.writerows({key: _cell(value) for key, value in row.items()} for row in self.rows)
        return path

    def markdown(self) -> str:
        """Title, note and table; objective and T stand above it where they never change."""
        lines = [f"## {in_markdown(self.title)}", "", in_markdown(self.note), ""]
        if not self.rows:
            return "\n".join([*lines, "Nothing to show.", ""])
        same = [key for key in _FOLDED if key in self.columns and len({r[key] for r in self.rows}) == 1]
        first = {self.columns[key]: self.rows[0][key] for key in same}
        words = ", ".join(
            f"{head} = {_words(value)}" for head, value in first.items() if value is not None
        )
        lines += [f"In all rows: {words}.", ""] if words else []
        keys = [key for key in self.columns if key not in same]
        is_number = {key: not any(isinstance(row[key], str | bool) for row in self.rows) for key in keys}
        lines += [_line(self.columns[key] for key in keys)]
        lines += [_line("---:" if is_number[key] else "---" for key in keys)]
        lines += [_line(_words(row[key]) for key in keys) for row in self.rows]
        return "\n".join([*lines, ""])


def _words(value: Any) -> str:
    """A value for readers: four digits, a dash for nothing."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.0f}" if 1e4 <= abs(value) < 1e7 else f"{value:.4g}"
    return in_markdown(str(value))


def in_markdown(words: str) -> str:
    """The words in one line, without what Markdown takes for a table or for emphasis."""
    return " ".join(words.split()).replace("|", "\\|").replace("*", "\\*")


def _cell(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.lstrip().startswith(_FORMULA) else value


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
