"""Tables of a spec: the dotted path of a key and its raw TOML value in, checked plain data out."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from unbribable.model import checks

Plain = Mapping[str, Any]
Reader = Callable[[str, Any], Any]
"""Takes the dotted path of a key and its raw value; returns plain JSON data or raises. Those of
`model/checks.py` are readers."""

REQUIRED: Any = object()
"""The default of a key that must be given."""
ABSENT: Any = object()
"""The default of a key that stays out of the table where it is not given."""


@dataclass(frozen=True)
class Field:
    """How the value of a key is read, and what becomes of it."""

    read: Reader
    default: Any = REQUIRED
    """Where the key is left out, and no signature says otherwise."""
    build: Callable[[Any, Plain], Any] = lambda plain, known: plain
    """The argument of a constructor, from the plain value and what the game supplies."""
    key: str = ""
    """Where it is not called like the argument."""


Fields = Mapping[str, Field]


def read_table(path: str, raw: Any, fields: Fields) -> dict[str, Any]:
    """Every key of `fields`, as given or by default; any other key is refused.

    Raises:
        TypeError: The value is not a table, or a value in it has the wrong type.
        ValueError: An unknown or missing key, or a bad value. The message names the dotted key.
    """
    words = ", ".join(repr(key) for key in fields) or "no keys"
    if not isinstance(raw, Mapping):
        raise TypeError(f"{path} must be a table with keys {words}, got {path}={raw!r}")
    prefix, table = (f"{path}.", path) if path else ("", "a spec")
    for key in raw:
        if key not in fields:
            raise ValueError(f"keys of {table} must be among {words}, got {prefix}{key}")
    values = {}
    for key, field in fields.items():
        if key not in raw and field.default is REQUIRED:
            raise ValueError(f"{prefix}{key} must be given, got {table} with {list(raw) or 'no keys'}")
        if key in raw or field.default is not ABSENT:
            values[key] = field.read(f"{prefix}{key}", raw[key]) if key in raw else field.default
    return values


def number_or(*words: str, above: float | None = None) -> Reader:
    """A real number, or one of these words, which stand for a number known only later."""

    def read(path: str, raw: Any) -> float | str:
        if raw == math.inf and "inf" in words:
            raw = "inf"  # TOML has a number for it, JSON has not
        is_word = isinstance(raw, str)
        return checks.choice(path, raw, words) if is_word else checks.real(path, raw, above=above)

    return read


def truth(path: str, raw: Any) -> bool:
    """True or false, as TOML spells them."""
    if not isinstance(raw, bool):
        raise TypeError(f"{path} must be true or false, got {path}={raw!r}")
    return raw


def each(read: Reader, *, or_one: bool = False, is_distinct: bool = False) -> Reader:
    """A list that is not empty, each entry read by `read`.

    Args:
        read: Of an entry.
        or_one: Whether an entry may stand for a list of one.
        is_distinct: Whether equal entries are refused.
    """

    def read_all(path: str, raw: Any) -> list[Any]:
        entries = [raw] if or_one and not isinstance(raw, list) else raw
        if not isinstance(entries, list) or not entries:
            raise TypeError(f"{path} must be a list that is not empty, got {path}={raw!r}")
        values = [read(f"{path}[{k}]", entry) for k, entry in enumerate(entries)]
        if is_distinct:
            distinct(path, values)
        return values

    return read_all


numbers = each(checks.real, or_one=True)
"""A number, or one per coordinate, as a list."""


def distinct(path: str, values: list[Any]) -> None:
    """Refuse equal values."""
    for k, value in enumerate(values):
        if value in values[:k]:
            raise ValueError(f"{path} must be distinct, got {value!r} twice")
