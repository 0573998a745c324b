"""One column of a table: what its cells are, and the parameter that they are values of."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

from unbribable.model import checks
from unbribable.model.dimensions import MAX_COUNT, Choice, Dimension, Real, Whole, plain_value

MAX_OPTIONS = 12
"""A column with more different words is left out: each of them would take a coordinate of its own."""

LOG_FROM = 100.0
"""Ratio of the largest to the smallest number from which a scale may be a logarithmic one."""

_EMPTY = {"", "na", "n/a", "#n/a", "nan", "null", "<na>", "nat", "-", "--", "?"}
_COUNTERS = {"", "#", "id", "index", "no", "no.", "nr", "nr.", "number", "row", "run", "trial", "sample"}
"""Names, in lower case, of columns whose numbers only name the rows."""

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_COMMA = re.compile(r"[+-]?\d+,\d+(e[+-]?\d+)?", re.IGNORECASE)
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")
_WITH_UNIT = re.compile(r"[+-]?\d+([.,]\d+)?\s*(%|[^\W\d_][^\d,;]{0,9}|°[^\d,;]{0,9})")
_DATE = re.compile(
    r"(\d{4}[-/]\d{1,2}[-/]\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4})([T ].*)?|\d{1,2}:\d{2}(:\d{2})?"
)


@dataclass(frozen=True, eq=False)
class Column:
    """The cells of one column as plain values, None where one is empty."""

    name: str
    cells: tuple[Any, ...]
    labels: tuple[str, ...]
    """Where each of them stands, in words."""

    @classmethod
    def of(cls, name: str, values: Sequence[Any], labels: Sequence[str]) -> "Column":
        """From cells as they were found. Words become numbers where all of the column can be.

        A comma is a decimal one, unless every number that has one could as well be thousands.

        Raises:
            ValueError: The message names the column and the cell, and says what to do.
        """
        column = cls(name, tuple(_cell(value) for value in values), tuple(labels))
        for cell in column.present:
            if not (isinstance(cell, str | int | float) or hasattr(cell, "isoformat")):
                column.refuse("numbers, words or dates", cell, column._way(cell))
        with_comma = [cell for cell in column._words if _COMMA.fullmatch(cell)]
        if with_comma and all(_THOUSANDS.fullmatch(cell) for cell in with_comma):
            column.refuse(
                "plain numbers",
                with_comma[0],
                "it could be a thousand times the other: write 1500 or 1.500, not 1,500",
            )
        numbers = [_number(cell) for cell in column.cells]
        if sum(number is None for number in numbers) > len(numbers) - len(column.present):
            return column
        return cls(name, tuple(numbers), tuple(labels))

    @cached_property
    def present(self) -> list[Any]:
        """The cells that are not empty."""
        return [cell for cell in self.cells if cell is not None]

    @property
    def is_numbers(self) -> bool:
        """Whether every cell that is not empty is a number."""
        return all(type(cell) in (int, float) for cell in self.present)

    @property
    def _words(self) -> list[str]:
        return [cell for cell in self.cells if isinstance(cell, str)]

    # --- as readings -----------------------------------------------------------------------------

    def readings(self) -> list[float | None]:
        """The column as readings, None where there is none.

        Raises:
            ValueError: A cell is not a finite number.
        """
        found: list[float | None] = []
        for cell, label in zip(self.cells, self.labels, strict=True):
            if cell is not None and type(cell) not in (int, float):
                way = self._way(cell) if _is(_WITH_UNIT, cell) else "correct it, or leave it empty"
                self.refuse("numbers, since it is the target", cell, way)
            found.append(None if cell is None else checks.reading(f"{self.name!r} in {label}", cell))
        return found

    # --- as a parameter --------------------------------------------------------------------------

    def dimension(self) -> Dimension | str:
        """The parameter whose values these are, or why it is none, as the end of a sentence.

        Raises:
            ValueError: The column is neither numbers nor words, so that somebody has to decide.
        """
        present, options = self.present, list(dict.fromkeys(self.present))
        if not present:
            return "is empty"
        if len(options) == 1:
            return f"has one value, {options[0]!r}"
        if self.is_numbers:
            return self._scale()
        if all(type(cell) is bool for cell in present):
            return Choice((False, True))
        if all(hasattr(cell, "isoformat") or _is(_DATE, cell) for cell in present):
            return "holds dates"
        if all(_is(_WITH_UNIT, cell) for cell in present):
            self.refuse("plain numbers", present[0], self._way(present[0]))
        if not all(isinstance(cell, str) and _number(cell) is None for cell in present):
            odd = next(cell for cell in present if _number(cell) is None)
            self.refuse("numbers, or words throughout", odd, self._way(odd))
        if len(options) > min(MAX_OPTIONS, max(2, len(present) // 2)):
            return f"holds {len(options)} different words in {len(present)} rows, too many for a choice"
        return Choice(tuple(sorted(options)))

    @property
    def is_counter(self) -> bool:
        """Whether it looks as if its numbers only named the rows: 1, 2, 3, ..., or so by its name."""
        cells = self.present
        if len(set(cells)) < len(cells) or not all(type(cell) is int for cell in cells):
            return False
        is_named = self.name.strip().lower() in _COUNTERS
        return is_named or (len(cells) > 2 and cells == list(range(cells[0], cells[0] + len(cells))))

    def values(self, dimension: Dimension) -> list[Any]:
        """The cells as values of a parameter, None where one is empty.

        Raises:
            TypeError, ValueError: A cell is none; the message says where.
        """
        found = []
        for cell, label in zip(self.cells, self.labels, strict=True):
            value = cell
            if isinstance(dimension, Whole) and isinstance(cell, float) and cell.is_integer():
                value = int(cell)
            if isinstance(dimension, Choice) and isinstance(cell, int | float):
                value = next((option for option in dimension.options if str(cell) == option), cell)
            if isinstance(dimension, Real) and type(cell) is int:
                value = float(cell)
            try:
                _ = value is None or dimension.place(repr(self.name), value)
            except (TypeError, ValueError) as error:
                raise type(error)(f"{label}: {error}") from None
            found.append(value)
        return found

    def refuse(self, rule: str, cell: Any, way: str) -> NoReturn:
        """Say what the column must hold, what it holds instead and where, and what to do."""
        where = self.labels[self.cells.index(cell)]
        raise ValueError(f"column {self.name!r} must hold {rule}, got {cell!r} in {where}; {way}")

    def _scale(self) -> Dimension:
        """Numbers: whole where all are, logarithmic where that puts their median nearer the middle."""
        cells = sorted(self.present)
        low, high, median = cells[0], cells[-1], float(cells[len(cells) // 2])
        for end in (low, high):
            if not math.isfinite(end):
                self.refuse("finite numbers", end, "correct it, or leave it empty")
        log = low > 0 and high >= LOG_FROM * low
        if log:
            place = math.log(median / low) / math.log(high / low)
            log = abs(place - 0.5) < abs((median - low) / (high - low) - 0.5)
        is_whole = all(type(cell) is int for cell in cells)
        if len(cells) < len(self.cells):  # a data frame makes floats of integers with gaps
            is_whole = all(float(cell).is_integer() for cell in cells)
        if is_whole and high - low < MAX_COUNT:
            return Whole(int(low), int(high), log and high < 2**40)
        return Real(float(low), float(high), log)

    def _way(self, cell: Any) -> str:
        if _is(_WITH_UNIT, cell):
            return f"put the unit into the header: '{self.name} [unit]'"
        return "correct it, leave it empty, or ignore the column"


def _is(pattern: re.Pattern[str], cell: Any) -> bool:
    return isinstance(cell, str) and pattern.fullmatch(cell) is not None


def _cell(value: Any) -> Any:
    """A plain value; None for what stands for nothing."""
    value = plain_value(value)
    if isinstance(value, str):
        text = value.strip().replace("\N{MINUS SIGN}", "-")
        return None if text.lower() in _EMPTY else text
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if not isinstance(value, bool | int) and hasattr(value, "__float__"):  # a Decimal, for one
        return None if math.isnan(value) else float(value)
    return value


def _number(cell: Any) -> int | float | None:
    """The number that a cell is or spells; None if it is none."""
    if type(cell) in (int, float):
        return cell  # type: ignore[no-any-return]
    if not isinstance(cell, str):
        return None
    text = cell.replace(",", ".") if _COMMA.fullmatch(cell) else cell
    if not _NUMBER.fullmatch(text):
        return None
    return int(text) if text.lstrip("+-").isdigit() else float(text)
