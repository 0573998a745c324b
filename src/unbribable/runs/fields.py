"""Readers of spec values: the dotted path of a key and its raw TOML value in, checked plain data out."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from unbribable.model import checks

Reader = Callable[[str, Any], Any]
"""Takes the dotted path of a key and its raw value; returns plain JSON data or raises."""

REQUIRED: Any = object()
"""The default of a key that must be given."""


@dataclass(frozen=True)
class Field:
    """How the value of a key is read, and its value where the key is left out."""

    read: Reader
    default: Any = REQUIRED


Fields = Mapping[str, Field]


def read_table(path: str, raw: Any, fields: Fields) -> dict[str, Any]:
    """Every key of `fields`, as given or by default; any other key is refused.

    Raises:
        TypeError: The value is not a table, or a value in it has the wrong type.
        ValueError: An unknown or missing key, or a bad value. The message names the dotted key.
    """
    if not isinstance(raw, Mapping):
        raise TypeError(f"{path} must be a table with keys {_words(fields)}, got {path}={raw!r}")
    prefix = f"{path}." if path else ""
    for key in raw:
        if key not in fields:
            words = _words(fields)
            raise ValueError(f"keys of {path or 'a spec'} must be among {words}, got {prefix}{key}")
    values = {}
    for key, field in fields.items():
        if key not in raw and field.default is REQUIRED:
            raise ValueError(f"{prefix}{key} must be given, got {path or 'a spec'} with {_words(raw)}")
        values[key] = field.read(f"{prefix}{key}", raw[key]) if key in raw else field.default
    return values


def number(**limits: float) -> Reader:
    """A real number within limits (see checks.real), as a float: 50 and 50.0 are the same value."""
    return lambda path, raw: checks.real(path, raw, **limits)  # type: ignore[arg-type]


def number_or(*words: str, **limits: float) -> Reader:
    """A real number, or one of these words, which stand for a number known only later."""

    def read(path: str, raw: Any) -> float | str:
        if raw == math.inf and "inf" in words:
            raw = "inf"  # TOML has a number for it, JSON has not
        return checks.choice(path, raw, words) if isinstance(raw, str) else number(**limits)(path, raw)

    return read


def integer(at_least: int) -> Reader:
    """An integer that is at least `at_least`."""
    return lambda path, raw: checks.integer(path, raw, at_least=at_least)


def whole(path: str, raw: Any) -> int:
    """An integer; its limits are for whoever is constructed with it to check."""
    return checks.integer(path, raw, at_least=-(2**63))


def word(*allowed: str) -> Reader:
    """One of the allowed words."""
    return lambda path, raw: checks.choice(path, raw, allowed)


def text(path: str, raw: Any) -> str:
    """A string that is not empty."""
    if not isinstance(raw, str) or not raw.strip():
        raise TypeError(f"{path} must be words, got {path}={raw!r}")
    return raw


def truth(path: str, raw: Any) -> bool:
    """True or false."""
    if not isinstance(raw, bool):
        raise TypeError(f"{path} must be true or false, got {path}={raw!r}")
    return raw


def each(read: Reader, *, is_distinct: bool = False) -> Reader:
    """A list that is not empty, each entry read by `read`; without equal entries if `is_distinct`."""

    def read_all(path: str, raw: Any) -> list[Any]:
        if not isinstance(raw, list) or not raw:
            raise TypeError(f"{path} must be a list that is not empty, got {path}={raw!r}")
        values = [read(f"{path}[{k}]", entry) for k, entry in enumerate(raw)]
        if is_distinct:
            distinct(path, values)
        return values

    return read_all


def one_or_more(read: Reader, *, is_distinct: bool = False) -> Reader:
    """A value or a list of them, as a list."""
    several = each(read, is_distinct=is_distinct)
    return lambda path, raw: several(path, raw if isinstance(raw, list) else [raw])


def numbers(path: str, raw: Any) -> list[float]:
    """A number, or one per coordinate, as a list."""
    entries: list[float] = one_or_more(number())(path, raw)
    return entries


def scale(path: str, raw: Any) -> float | list[float]:
    """A positive number, or a list with one per coordinate."""
    read = number(above=0.0)
    value: float | list[float] = each(read)(path, raw) if isinstance(raw, list) else read(path, raw)
    return value


def distinct(path: str, values: list[Any]) -> None:
    """Refuse equal values."""
    for k, value in enumerate(values):
        if value in values[:k]:
            raise ValueError(f"{path} must be distinct, got {value!r} twice")


def _words(keys: Mapping[str, Any]) -> str:
    return ", ".join(repr(key) for key in keys) or "no keys"
