"""What users hand over, checked where it enters: readings, pairs, callbacks."""

from collections.abc import Callable, Iterable
from typing import Any

from unbribable.study.plan import Plan


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


def several(y: Any) -> list[Any]:
    """The readings of an evaluation: those of a list, a tuple or an array, or the only one."""
    if isinstance(y, list | tuple) or getattr(y, "ndim", 0) == 1:
        values = list(y)
        if not values:
            raise ValueError(f"y must hold a reading, or None where there is none, got y={y!r}")
        return values
    return [y]


def pairs(initial: Any) -> list[tuple[Any, Any]]:
    """Points and their readings, neither of them looked at."""
    if not isinstance(initial, Iterable):
        raise TypeError(f"initial must be a list of pairs (point, reading), got initial={initial!r}")
    found = []
    for k, pair in enumerate(initial):
        try:
            x, y = pair
        except (TypeError, ValueError):
            name = f"initial[{k}]"
            raise ValueError(f"{name} must be a pair (point, reading), got {name}={pair!r}") from None
        found.append((x, y))
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
