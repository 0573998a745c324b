"""One column of a table: what its cells are, and the parameter that they are values of."""

import math
import re
import unicodedata
from collections.abc import Callable, Sequence
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
_COUNTER = re.compile(
    r"((#|id|index|no|nr|number|row|run|trial|sample|exp|experiment)[\s.:_()\[\]-]*)*", re.IGNORECASE
)
"""Names of columns whose numbers only name the rows: "Run #", "No.", "sample_id", or none at all."""

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_COMMA = re.compile(r"[+-]?\d+,\d+(e[+-]?\d+)?", re.IGNORECASE)
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")
_WITH_UNIT = re.compile(r"[+-]?\d+([.,]\d+)?\s*(%|[^\W\d_][^\d,;]{0,9}|°[^\d,;]{0,9})")
_LEADING = re.compile(r"[+-]?[\d.,]+(e[+-]?\d+)?", re.IGNORECASE)
_IN_BRACKETS = re.compile(r".*[\[(].*[\])]\s*")
_MEND = "correct it, leave it empty, or ignore the column"
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
    def as_found(cls, name: str, values: Sequence[Any], labels: Sequence[str]) -> "Column":
        """Words stay words, numbers or not."""
        return cls(name, tuple(_cell(value) for value in values), tuple(labels))

    @classmethod
    def of(cls, name: str, values: Sequence[Any], labels: Sequence[str]) -> "Column":
        """From cells as they were found. Words become numbers where all of the column can be.

        A comma is a decimal one, unless every number that has one could as well be thousands. The unit
        of the header may stand in a cell, too: 450 °C under `temperature [°C]` is 450.

        Raises:
            ValueError: The message names the column and the cell, and says what to do.
        """
        column = cls.as_found(name, values, labels)
        if not all(_is_plain(cell) for cell in column.present):
            column._refuse("numbers, words or dates", lambda cell: not _is_plain(cell))
        with_comma = [cell for cell in column._words if _COMMA.fullmatch(column._bare(cell))]
        if with_comma and all(_THOUSANDS.fullmatch(column._bare(cell)) for cell in with_comma):
            way = "it could be a thousand times the other: write 1500 or 1.500, not 1,500"
            column._refuse("plain numbers", lambda cell: cell in with_comma, way)
        numbers = [column._number(cell) for cell in column.cells]
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

    @cached_property
    def _is_whole(self) -> bool:
        if len(self.present) < len(self.cells):  # a data frame makes floats of integers with gaps
            return self.is_numbers and all(float(cell).is_integer() for cell in self.present)
        return all(type(cell) is int for cell in self.present)

    @property
    def _words(self) -> list[str]:
        return [cell for cell in self.cells if isinstance(cell, str)]

    @property
    def n_numbers(self) -> int:
        """How many of its cells are numbers."""
        return sum(self._is_number(cell) for cell in self.present)

    # --- as readings -----------------------------------------------------------------------------

    def readings(self, check: Callable[[str, Any], float] = checks.reading) -> list[float | None]:
        """The column as readings, None where there is none.

        Args:
            check: What a reading can be: it is called with what a cell is called, and the cell.

        Raises:
            ValueError: A cell is none.
        """
        if not self.is_numbers:
            rule, way = "numbers, since it is the target", "correct it, or leave it empty"
            self._refuse(rule, lambda cell: not self._is_number(cell), way)
        return [
            None if cell is None else check(f"{self.name!r} in {label}", cell)
            for cell, label in zip(self.cells, self.labels, strict=True)
        ]

    # --- as blocks -------------------------------------------------------------------------------

    def blocks(self) -> list[str | float | None]:
        """The cells as labels of blocks, None where there is none.

        Raises:
            ValueError: No cell has one.
        """
        if not self.present:
            raise ValueError(f"column {self.name!r} must hold the block of each row, got none")
        return [
            cell if cell is None or type(cell) in (str, int, float) else str(cell) for cell in self.cells
        ]

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
            self._refuse("plain numbers", lambda cell: not self._is_number(cell))
        if not all(isinstance(cell, str) and not self._is_number(cell) for cell in present):
            rule = "numbers, or words throughout"
            if 2 * self.n_numbers >= len(present):  # what is odd is what there is less of
                self._refuse(rule, lambda cell: not self._is_number(cell))
            self._refuse(rule, lambda cell: not isinstance(cell, str) or self._is_number(cell))
        if len(options) > min(MAX_OPTIONS, max(2, len(present) // 2)):
            return f"holds {len(options)} different words in {len(present)} rows, too many for a choice"
        return Choice(tuple(sorted(options)))

    @property
    def is_named_counter(self) -> bool:
        """Whether it holds whole numbers that, by the name of the column, only name the rows."""
        return self._is_whole and _COUNTER.fullmatch(self.name.strip()) is not None

    @property
    def is_counter(self) -> bool:
        """Whether it counts the rows, 1, 2, 3, ..., up to a few that are there twice or empty."""
        cells, counted = self.present, list(dict.fromkeys(self.present))
        if not self._is_whole or len(counted) < 3 or 4 * len(counted) < 3 * len(cells):
            return False
        n_empty = len(self.cells) - len(cells)
        return counted == sorted(counted) and counted[-1] - counted[0] < len(counted) + n_empty

    def values(self, name: str, dimension: Dimension) -> list[Any]:
        """The cells as values of a parameter of this name, None where one is empty.

        Raises:
            TypeError, ValueError: A cell is none; the message says where.
        """
        found = []
        for cell, label in zip(self.cells, self.labels, strict=True):
            value = cell
            if isinstance(dimension, Whole) and isinstance(cell, float) and cell.is_integer():
                value = int(cell)
            if isinstance(dimension, Choice) and isinstance(cell, int | float):
                value = next((each for each in dimension.options if self._number(each) == cell), cell)
            if isinstance(dimension, Real) and type(cell) is int:
                value = float(cell)
            try:
                _ = value is None or dimension.place(repr(name), value)
            except (TypeError, ValueError) as error:
                raise type(error)(f"{label}: {error}") from None
            found.append(value)
        return found

    def _refuse(self, rule: str, is_wrong: Callable[[Any], bool], way: str = _MEND) -> NoReturn:
        """Say what the column must hold, what it holds instead and where, and what to do."""
        cell, where = next(
            (cell, label)
            for cell, label in zip(self.cells, self.labels, strict=True)
            if cell is not None and is_wrong(cell)
        )
        if isinstance(cell, str) and _WITH_UNIT.fullmatch(self._bare(cell)):
            if self._may_have_unit:
                rule = "numbers, with the unit of its header or none"
                way = way.replace("correct", "convert")
            else:
                way = f"put the unit into the header: '{self.name} [unit]'"
        raise ValueError(f"column {self.name!r} must hold {rule}, got {cell!r} in {where}; {way}")

    def _is_number(self, cell: Any) -> bool:
        return self._number(cell) is not None

    def _number(self, cell: Any) -> int | float | None:
        """The number that a cell is or spells; None if it is none."""
        if type(cell) in (int, float):
            return cell  # type: ignore[no-any-return]
        if not isinstance(cell, str):
            return None
        text = self._bare(cell)
        text = text.replace(",", ".") if _COMMA.fullmatch(text) else text
        if not _NUMBER.fullmatch(text):
            return None
        return int(text) if text.lstrip("+-").isdigit() and len(text) < 300 else float(text)

    def _bare(self, cell: str) -> str:
        """The words without the unit of the header."""
        number = _LEADING.match(cell) if self._may_have_unit else None
        unit = _unit(cell[number.end() :]) if number else ""
        is_ours = bool(unit) and self._header.endswith((f"({unit})", f"[{unit}]"))
        return number.group() if number and is_ours else cell

    @cached_property
    def _header(self) -> str:
        return _unit(self.name)

    @cached_property
    def _may_have_unit(self) -> bool:
        return _IN_BRACKETS.fullmatch(self.name) is not None

    def _scale(self) -> Dimension:
        """Numbers: whole where all are, logarithmic where that puts their median nearer the middle."""
        cells = sorted(self.present)
        low, high, median = cells[0], cells[-1], float(cells[len(cells) // 2])
        if not (math.isfinite(low) and math.isfinite(high)):
            way = "correct it, or leave it empty"
            self._refuse("finite numbers", lambda cell: not math.isfinite(cell), way)
        log = low > 0 and high >= LOG_FROM * low
        if log:
            place = math.log(median / low) / math.log(high / low)
            log = abs(place - 0.5) < abs((median - low) / (high - low) - 0.5)
        if self._is_whole and high - low < MAX_COUNT:
            return Whole(int(low), int(high), log and high < 2**40)
        return Real(float(low), float(high), log)


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


def _is_plain(cell: Any) -> bool:
    return isinstance(cell, str | int | float) or hasattr(cell, "isoformat")


def _unit(text: str) -> str:
    """A unit, or a header that ends with one, as it is compared: ℃, °C and C are one."""
    return re.sub(r"°(?=\w)", "", "".join(unicodedata.normalize("NFKC", text).split()))
