"""One parameter: a real number, a whole number, or one of several options."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from unbribable.model import checks
from unbribable.model.checks import Floats

MAX_REAL, MAX_COUNT, MAX_LOG_WHOLE = 1e300, 2**50, 2**40  # rounding keeps values in their cells
_PLAIN = (str, int, float, bool, type(None))
_ON = math.sqrt(0.5)  # two one-hot rows with this entry are at distance 1


class _Dimension:
    """Maps each value to a place: its rank if the values are countable, else its unit coordinate.

    `place(name, value)` checks a value and gives its place, and `value(place)` leads back. On arrays,
    `places` maps coordinates, anywhere, (n, width) to places, (n,), and `coordinates` leads back.
    """

    count: int | None
    """Number of values; None if they are not countable."""
    width: int
    """Number of coordinates: none for a constant."""

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)


def _to_cells(block: Floats, count: int | None) -> Floats:
    """Which of `count` equal cells a coordinate lies in; itself if they are not countable."""
    u: Floats = np.clip(block[:, 0], 0.0, 1.0) + 0.0  # + 0.0 makes -0.0 and 0.0 one point
    return u if count is None else np.minimum(np.floor(u * count), count - 1.0)


def _from_cells(places: Floats, count: int | None) -> Floats:
    """The middle of the cell."""
    return (places if count is None else (places + 0.5) / count)[:, None]


@dataclass(frozen=True)
class Real(_Dimension):
    """A real number from low to high.

    With log, equal ratios are equally far apart; it needs low > 0 and no step. With a step, the values
    are low, low + step, ... in decimal arithmetic (0.3, not 0.30000000000000004), and high becomes the
    last of them.
    """

    low: float
    high: float
    log: bool = False
    step: float | None = None

    def __post_init__(self) -> None:
        low = checks.real("low", self.low, at_least=-MAX_REAL, at_most=MAX_REAL) + 0.0
        high = checks.real("high", self.high, at_least=low, at_most=MAX_REAL) + 0.0
        log, count = checks.truth("log", self.log), 1 if low == high else None
        if log and low <= 0.0:
            raise ValueError(f"low must be > 0 on a log scale, got low={low!r}")
        if log and low < high and not math.log(low) < math.log(high):
            raise ValueError(f"ln(low) must be < ln(high), got low={low!r} and high={high!r}")
        self._set(low=low, high=high, log=log)
        if self.step is not None:
            if log:
                raise ValueError(f"step must be None on a log scale, got step={self.step!r}")
            step = checks.real("step", self.step, above=0.0, at_most=MAX_REAL)
            self._set(step=step)
            last = (_decimal(high) - _decimal(low)) // _decimal(step)
            least = 16.0 * math.ulp(max(abs(low), abs(high)))
            if step >= least:
                last += self._at(last + 1) <= high  # high was a rounded sum
            elif low < high:
                raise ValueError(f"step must be >= {least:g} for these bounds, got step={step!r}")
            count, high = last + 1, self._at(last)
        self._set(high=high, count=count, width=0 if count == 1 else 1)

    def place(self, name: str, value: Any) -> float:
        number = checks.real(name, value)
        if self.step is not None:
            k = round((_decimal(number) - _decimal(self.low)) / _decimal(self.step))
            slack = 1e-8 * self.step + 2.0 * math.ulp(number)
            if not 0 <= k < (self.count or 0) or abs(number - self._at(k)) > slack:
                rule = f"{self.low!r} + k * {self.step!r} <= {self.high!r} with k >= 0"
                raise ValueError(f"{name} must be {rule}, got {name}={number!r}")
            return k
        if not self.low <= number <= self.high:
            raise ValueError(f"{name} must be in [{self.low!r}, {self.high!r}], got {name}={number!r}")
        low, high, at = (math.log(x) if self.log else x for x in (self.low, self.high, number))
        return min(max((at - low) / (high - low), 0.0), 1.0) if self.width else 0.0

    def value(self, place: float) -> float:
        if self.step is not None:
            return self._at(int(place))
        if place in (0.0, 1.0):  # the bounds are exact
            return self.high if place else self.low
        low, high = (math.log(x) if self.log else x for x in (self.low, self.high))
        inside = low + place * (high - low)
        return min(max(math.exp(inside) if self.log else inside, self.low), self.high)

    def places(self, block: Floats) -> Floats:
        return _to_cells(block, self.count)

    def coordinates(self, places: Floats) -> Floats:
        return _from_cells(places, self.count)

    def _at(self, k: int) -> float:
        return float(_decimal(self.low) + k * _decimal(self.step or 0.0))


@dataclass(frozen=True)
class Whole(_Dimension):
    """A whole number: low, low + step, ..., up to high, which becomes the last of them.

    With log, equal ratios are equally far apart; it needs low >= 1 and step 1. The cell of v then
    reaches from ln(v - 0.5) to ln(v + 0.5), and v is at ln(v) in it.
    """

    low: int
    high: int
    log: bool = False
    step: int = 1

    def __post_init__(self) -> None:
        low, high = checks.integer("low", self.low), checks.integer("high", self.high)
        log, step = checks.truth("log", self.log), checks.integer("step", self.step, at_least=1)
        if high < low:
            raise ValueError(f"high must be >= {low}, got high={high}")
        count = (high - low) // step + 1
        if count > MAX_COUNT:
            raise ValueError(f"low, low + step, ..., high must be <= 2**50 values, got {count}")
        if log and not (low >= 1 and high <= MAX_LOG_WHOLE and step == 1):
            rule = "low must be >= 1, high <= 2**40 and step 1 on a log scale"
            raise ValueError(f"{rule}, got low={low}, high={high}, step={step}")
        self._set(low=low, high=low + (count - 1) * step, log=log, step=step)
        self._set(count=count, width=0 if count == 1 else 1)

    def place(self, name: str, value: Any) -> float:
        number = checks.integer(name, value)
        if not self.low <= number <= self.high or (number - self.low) % self.step:
            steps = f"{self.low} + k * {self.step} <= {self.high} with k >= 0"
            rule = steps if self.step > 1 else f"in [{self.low}, {self.high}]"
            raise ValueError(f"{name} must be {rule}, got {name}={number}")
        return (number - self.low) // self.step

    def value(self, place: float) -> int:
        return self.low + self.step * int(place)

    # np.exp and np.log of float64 may differ in the last bit with the length of the array. Those of
    # longdouble do not: a point is snapped to the same bits alone and among others.
    def places(self, block: Floats) -> Floats:
        if not self.log:
            return _to_cells(block, self.count)
        low, high = self._log_edges
        v = np.floor(np.exp(low + np.clip(block[:, 0], 0.0, 1.0) * (high - low)) + 0.5)
        return np.clip(np.asarray(v, dtype=np.float64), self.low, self.high) - self.low

    def coordinates(self, places: Floats) -> Floats:
        if not self.log:
            return _from_cells(places, self.count)
        low, high = self._log_edges
        ln_v = np.log((places + self.low).astype(np.longdouble))
        return np.asarray((ln_v - low) / (high - low), dtype=np.float64)[:, None]

    @cached_property
    def _log_edges(self) -> Any:
        return np.log(np.array([self.low - 0.5, self.high + 0.5], dtype=np.longdouble))


@dataclass(frozen=True)
class Choice(_Dimension):
    """One of several options: text, numbers, True, False or None; 1 equals 1.0, but not True.

    Two options are one coordinate, 0 or 1. More are one coordinate each, one-hot, with any two options
    at distance 1; a point stands for the option of its largest coordinate, the first one if several are.
    """

    options: tuple[Any, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.options, list | tuple):
            raise TypeError(f"options must be a list or a tuple, got options={self.options!r}")
        options = tuple(plain_value(option) for option in self.options)
        if not options:
            raise ValueError("options must hold at least one, got none")
        for k, option in enumerate(options):
            if type(option) not in _PLAIN:
                raise TypeError(f"an option must be text, a number, True, False or None, got {option!r}")
            if isinstance(option, float):
                checks.real("an option", option)
            if any(_same(option, other) for other in options[:k]):
                raise ValueError(f"options must be distinct, got {option!r} twice in {options!r}")
        count = len(options)
        self._set(options=options, count=count, width=count if count > 2 else count - 1)

    def place(self, name: str, value: Any) -> float:
        for k, option in enumerate(self.options):
            if _same(option, plain_value(value)):
                return k
        words = ", ".join(repr(option) for option in self.options)
        raise ValueError(f"{name} must be one of {words}, got {name}={value!r}")

    def value(self, place: float) -> Any:
        return self.options[int(place)]

    def places(self, block: Floats) -> Floats:
        return (block.argmax(axis=1) if self.width > 1 else block[:, 0] > 0.5).astype(np.float64)

    def coordinates(self, places: Floats) -> Floats:
        column = places[:, None]
        return np.where(column == np.arange(self.width), _ON, 0.0) if self.width > 1 else column


Dimension = Real | Whole | Choice


def _decimal(number: float) -> Fraction:
    return Fraction(repr(number))


def plain_value(value: Any) -> Any:
    """A NumPy scalar as Python's own; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def _same(option: Any, value: Any) -> bool:
    """Whether a value is an option; True is not 1, but 1.0 is."""
    return (type(option) is bool) == (type(value) is bool) and type(value) in _PLAIN and option == value
