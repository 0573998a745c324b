"""What users hand over, checked where it enters: readings, pairs, tables, callbacks."""

import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from unbribable.study.files import level_of_user
from unbribable.study.plan import Plan
from unbribable.study.space import Space

Initial = Iterable[tuple[Any, float] | tuple[Any, float, Any]] | tuple[Any, str]
"""Readings taken before: pairs, or a table and the name of the column that was read."""


def reading_or_none(y: Any, plan: Plan) -> float | None:
    """A reading; None where there is none (None or NaN). Anything else is refused."""
    if y is None:
        return None
    try:
        return plan.reading("y", y)
    except ValueError:
        number = y.item() if hasattr(y, "item") else y
        if number != number:
            return None
        raise


def told_before(initial: Any, space: Space, plan: Plan) -> list[tuple[Any, float | None, Any]]:
    """Points, readings (None where a row of a table has none) and blocks (None where there is none)."""
    if isinstance(initial, tuple) and len(initial) == 2 and isinstance(initial[1], str):
        rows = _rows(*initial, space)
        return [(x, None if y is None else plan.reading("initial reading", y), None) for x, y in rows]
    if _is_table(initial):
        got = f"{initial!r}" if isinstance(initial, str) else f"a {type(initial).__name__}"
        raise TypeError(
            "initial as a table must come with the name of the column that was read, as in "
            f"initial=(table, 'yield'), got {got} alone"
        )
    return [(x, plan.reading("initial reading", y), block) for x, y, block in _triples(initial)]


def _is_table(source: Any) -> bool:
    """Whether it can have columns with names."""
    return isinstance(source, str | os.PathLike | Mapping) or hasattr(source, "columns")


def _rows(source: Any, target: str, space: Space) -> list[tuple[Any, float | None]]:
    """The rows of a table as an audit reads them, and a warning that says what is left out."""
    from unbribable.auditing.table import read_table

    if not (_is_table(source) or (isinstance(source, list) and all(map(_is_table, source)))):
        raise TypeError(
            "initial as a table must be a data frame, a CSV file, a dict of columns or a list of dicts, "
            f"got initial=({source!r}, {target!r})"
        )
    table = read_table(source, space=space, target=target)
    if table.notes:
        warnings.warn(" ".join(table.notes), UserWarning, stacklevel=level_of_user())
    return list(zip(table.points, table.y, strict=True))


def several(y: Any) -> list[Any]:
    """The readings of an evaluation: those of a list or an array, or the only one.

    A tuple is none of these: it may be a value and its error.
    """
    if isinstance(y, list) or getattr(y, "ndim", 0) == 1:
        values = list(y)
        if not values:
            raise ValueError(f"y must hold a reading, or None where there is none, got y={y!r}")
        return values
    return [y]


def _triples(initial: Any) -> list[tuple[Any, Any, Any]]:
    """Points, their readings and their blocks, none of them looked at; None where there is no block."""
    if not isinstance(initial, Iterable):
        raise TypeError(f"initial must be a list of pairs (point, reading), got initial={initial!r}")
    found = []
    for k, pair in enumerate(initial):
        try:
            x, y, *block = pair
            (label,) = block or [None]
        except (TypeError, ValueError):
            name = f"initial[{k}]"
            raise ValueError(
                f"{name} must be a pair (point, reading), or (point, reading, block), got "
                f"{name}={pair!r}"
            ) from None
        found.append((x, y, label))
    return found


def functions(callbacks: Any) -> tuple[Callable[..., Any], ...]:
    """A list of functions."""
    if callable(callbacks) or not isinstance(callbacks, Iterable):
        raise TypeError(
            f"callbacks must be a list of functions, got callbacks={callbacks!r}; one alone is [f]"
        )
    found = tuple(callbacks)
    for k, function in enumerate(found):
        if not callable(function):
            raise TypeError(f"callbacks[{k}] must be callable, got callbacks[{k}]={function!r}")
    return found


def limits(text: str | None) -> tuple[float, float] | None:
    """A range of readings as the command line and the page write it: 0:1500."""
    if text is None:
        return None
    try:
        low, high = map(float, text.split(":"))
    except ValueError:
        raise ValueError(f"a reading range must be low:high, such as 0:1500, got {text!r}") from None
    return low, high
