"""What users hand over, checked where it enters: readings, pairs, callbacks."""

from collections.abc import Callable, Iterable
from typing import Any

from unbribable.model import checks


def reading_or_none(y: Any) -> float | None:
    """A reading; None where there is none (None or NaN). Anything else is refused."""
    if y is None:
        return None
    try:
        return checks.reading("y", y)
    except ValueError:
        number = y.item() if hasattr(y, "item") else y
        if number != number:
            return None
        raise


def rows(initial: Any) -> list[tuple[Any, Any, Any]]:
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
