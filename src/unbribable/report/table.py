"""A table as Markdown for readers and as CSV for machines."""

import csv
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Row = dict[str, Any]

_FOLDED = ("objective", "T", "told")
"""Columns that Markdown names above the table where they are the same in all rows."""

_FORMULA = ("=", "+", "-", "@")


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
    rows: list[Row]

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
        folded = [
            key for key in _FOLDED if key in self.columns and len({row[key] for row in self.rows}) == 1
        ]
        lines = [f"## {in_markdown(self.title)}", "", in_markdown(self.note)]
        if folded and self.rows:
            values = {self.columns[key]: self.rows[0][key] for key in folded}
            same = ", ".join(f"{k} = {_words(v)}" for k, v in values.items() if v is not None)
            lines += ["", f"In all rows: {same}."] if same else []
        if not self.rows:
            return "\n".join([*lines, "", "Nothing to show.", ""])
        keys = [key for key in self.columns if key not in folded]
        is_number = {key: all(not isinstance(row[key], str | bool) for row in self.rows) for key in keys}
        lines += ["", _line(self.columns[key] for key in keys)]
        lines += [_line("---:" if is_number[key] else "---" for key in keys)]
        lines += [_line(_words(row[key]) for key in keys) for row in self.rows]
        return "\n".join([*lines, ""])


def _words(value: Any) -> str:
    """A value for readers: four digits, a dash for nothing."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
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
