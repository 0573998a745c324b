"""Readers of spec values: a dotted path and a raw TOML value to checked plain data."""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unbribable.model import checks
from unbribable.runs.own import Role, is_own, read_own

Reader = Callable[[str, Any], Any]
"""Takes the dotted path of a key and its raw value; returns plain JSON data or raises."""


class _Required:
    """The default of a key that has none."""


REQUIRED = _Required()


@dataclass(frozen=True)
class Field:
    """One key of a table: how its value is read, and what stands for it where it is left out."""

    read: Reader
    default: Any = REQUIRED


Fields = Mapping[str, Field]


def fields_of(function: Callable[..., Any], **readers: Reader) -> Fields:
    """A key for each of these arguments of a class or function, with the default it has there."""
    named = inspect.signature(function).parameters
    defaults = {key: named[key].default for key in readers}
    return {
        key: Field(read) if defaults[key] is inspect.Parameter.empty else Field(read, defaults[key])
        for key, read in readers.items()
    }


def read_table(path: str, raw: Any, fields: Fields) -> dict[str, Any]:
    """Every key of `fields`, read or by default; a key that is not among them is refused.

    Raises:
        TypeError: The value is not a table, or of a wrong type inside.
        ValueError: An unknown or missing key, or a bad value. The message names the dotted key.
    """
    if not isinstance(raw, Mapping):
        raise TypeError(f"{path} must be a table with keys {_words(fields)}, got {path}={raw!r}")
    for key in raw:
        if key not in fields:
            raise ValueError(
                f"keys of {path or 'a spec'} must be among {_words(fields)}, got {_at(path, key)}"
            )
    values = {}
    for key, field in fields.items():
        where = _at(path, key)
        if key in raw:
            values[key] = field.read(where, raw[key])
        elif isinstance(field.default, _Required):
            raise ValueError(f"{where} must be given, got {path or 'a spec'} with {_words(raw)}")
        else:
            values[key] = field.default
    return values


def read_kind(
    path: str, raw: Any, kinds: Mapping[str, Fields], role: Role, common: Fields | None = None
) -> dict[str, Any]:
    """A table whose `kind` says which other keys it has, besides those that are `common` to all.

    The kind is one of `kinds`, or an import path: the keys are then the arguments of what is there.
    """
    if not isinstance(raw, Mapping):
        raise TypeError(f"{path} must be a table with a kind ({_words(kinds)}), got {path}={raw!r}")
    if "kind" not in raw:
        raise ValueError(f"{path}.kind must be one of {_words(kinds)}, or module:Name, got none")
    common, kind = common or {}, raw["kind"]
    rest = {key: value for key, value in raw.items() if key != "kind"}
    if is_own(kind):
        ours = {key: rest.pop(key) for key in common if key in rest}
        return {"kind": kind, **read_table(path, ours, common), **read_own(path, kind, rest, role)}
    checks.choice(f"{path}.kind", kind, (*kinds, "module:Name of your own"))
    return {"kind": kind, **read_table(path, rest, {**common, **kinds[kind]})}


def number(
    *, above: float | None = None, at_least: float | None = None, below: float | None = None
) -> Reader:
    """A real number within limits, as a float: 50 and 50.0 are the same value."""
    return lambda path, raw: checks.real(path, raw, above=above, at_least=at_least, below=below)


def number_or(*words: str, above: float | None = None) -> Reader:
    """A real number, or one of these words, which stand for a number known only later."""

    def read(path: str, raw: Any) -> float | str:
        if isinstance(raw, str):
            return checks.choice(path, raw, words)
        return checks.real(path, raw, above=above)

    return read


def cap(path: str, raw: Any) -> float | str:
    """The largest single lie: a number, "max" (max |f|) or "inf" (TOML's inf too)."""
    if isinstance(raw, float) and raw == math.inf:
        return "inf"
    value: float | str = number_or("max", "inf", above=0.0)(path, raw)
    return value


def integer(at_least: int) -> Reader:
    """A whole number that is at least `at_least`."""
    return lambda path, raw: checks.integer(path, raw, at_least=at_least)


def word(*allowed: str) -> Reader:
    """One of the allowed words."""
    return lambda path, raw: checks.choice(path, raw, allowed)


def text(path: str, raw: Any) -> str:
    """Any words that are not empty."""
    if not isinstance(raw, str) or not raw.strip():
        raise TypeError(f"{path} must be words, got {path}={raw!r}")
    return raw


def truth(path: str, raw: Any) -> bool:
    """True or false."""
    if not isinstance(raw, bool):
        raise TypeError(f"{path} must be true or false, got {path}={raw!r}")
    return raw


def numbers(*, above: float | None = None) -> Reader:
    """A number or a list of them, as a list of floats that is not empty."""
    return lambda path, raw: each(number(above=above))(path, raw if isinstance(raw, list) else [raw])


def scale(path: str, raw: Any) -> float | list[float]:
    """A positive number, or one per coordinate."""
    entries: list[float] = numbers(above=0.0)(path, raw)
    return entries if isinstance(raw, list) else entries[0]


def each(read: Reader) -> Reader:
    """A list that is not empty, each entry read by `read`; equal entries are refused."""

    def read_all(path: str, raw: Any) -> list[Any]:
        if not isinstance(raw, list) or not raw:
            raise TypeError(f"{path} must be a list that is not empty, got {path}={raw!r}")
        return [read(f"{path}[{k}]", entry) for k, entry in enumerate(raw)]

    return read_all


def distinct(path: str, values: Sequence[Any]) -> None:
    """Refuse a value that comes twice."""
    for k, value in enumerate(values):
        if value in values[:k]:
            raise ValueError(f"{path} must be distinct, got {value!r} twice")


def _at(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _words(keys: Mapping[str, Any]) -> str:
    return ", ".join(repr(key) for key in keys) or "no keys"
