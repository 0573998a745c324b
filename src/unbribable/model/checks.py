"""Convert and check what users give. Every message is the rule, then the value."""

import math
from collections.abc import Sequence
from operator import ge, gt, le, lt
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]
Bounds = tuple[Floats, Floats]
"""Lower and upper bounds on f at the candidates, (n,) each."""

_TRUTHS = (bool, np.bool_)
_REALS = (float, int, np.floating, np.integer)

LARGEST_READING = 1e150
"""Larger readings, in absolute value, are refused: sums of their squares would overflow."""


def real(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    below: float | None = None,
    may_be_inf: bool = False,
    hint: str = "",
) -> float:
    """The value as a float, if it is a real number within the limits.

    `name` is what messages call it; the hint, what to give instead, is added to that of the TypeError.

    Raises:
        TypeError: The value is not one real number (booleans and strings are not).
        ValueError: It is NaN, infinite where that is not allowed, or outside the limits.
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, _TRUTHS) or not isinstance(value, _REALS):
        raise TypeError(f"{name} must be a real number, got {name}={value!r}{hint}")
    try:
        number = float(value)
    except OverflowError:
        digits = int(math.log10(abs(int(value)))) + 1  # str refuses integers of more than 4300
        raise ValueError(f"{name} must fit into float64, got an integer of {digits} digits") from None
    rules = [] if may_be_inf else [("finite", math.isfinite(number))]
    limits = ((">", gt, above), (">=", ge, at_least), ("<=", le, at_most), ("<", lt, below))
    for sign, is_kept, limit in limits:
        if limit is not None:
            rules.append((f"{sign} {limit:g}", is_kept(number, limit)))
    if math.isnan(number) or not all(is_kept for _, is_kept in rules):
        rule = " and ".join(words for words, _ in rules) or "a number, not NaN"
        raise ValueError(f"{name} must be {rule}, got {name}={number!r}")
    return number


def reading(name: str, value: Any) -> float:
    """The value as a float, if it is one number that can be learned.

    One number is also what converts to one: an array or a tensor of one entry, a Decimal, a Fraction,
    anything with `__float__`.

    Raises:
        TypeError: The value is not one real number (booleans, strings and masked entries are not).
        ValueError: It is NaN, infinite or beyond LARGEST_READING.
    """
    if isinstance(value, float) and abs(value) <= LARGEST_READING:
        return float(value)
    number = real(name, value if isinstance(value, _REALS) else _one_number(name, value))
    if abs(number) > LARGEST_READING:
        raise ValueError(
            f"{name} must be at most {LARGEST_READING:g} in absolute value, got {name}={number!r}; "
            "count in a larger unit"
        )
    return number


def is_too_large(value: Any) -> bool:
    """Whether it is one number, and infinite or beyond LARGEST_READING."""
    number = number_of(value)
    return number is not None and abs(number) > LARGEST_READING


def number_of(value: Any) -> float | None:
    """The one number that it is, which may be infinite (as one that no float64 holds is) or NaN."""
    try:
        entry = value.item() if hasattr(value, "item") else value
        is_large = bool(abs(entry) > LARGEST_READING)
        if isinstance(entry, _TRUTHS):
            return None
        try:
            return float(entry)
        except OverflowError:
            return (math.inf if entry > 0 else -math.inf) if is_large else None
    except (ArithmeticError, RuntimeError, TypeError, ValueError):  # not one number
        return None


def _one_number(name: str, value: Any) -> float:
    cause: Exception | None = None
    try:
        if not (isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value)):  # 0.0 underneath
            entry = value.item() if hasattr(value, "item") else value
            if hasattr(entry, "__float__") and not isinstance(entry, _TRUTHS):
                return float(entry)
    except OverflowError:
        raise ValueError(f"{name} must fit into float64, got {name}={value!r}") from None
    except (TypeError, ValueError, RuntimeError) as error:  # several entries, for one
        cause = error
    raise TypeError(f"{name} must be a real number, got {name}={value!r}") from cause


def integer(name: str, value: Any, *, at_least: int | None = None, hint: str = "") -> int:
    """The value as an int, if it is a whole number >= at_least; for the hint see `real`."""
    if isinstance(value, _TRUTHS) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an integer, got {name}={value!r}{hint}")
    if at_least is not None and value < at_least:
        raise ValueError(f"{name} must be >= {at_least}, got {name}={int(value)}")
    return int(value)


def truth(name: str, value: Any) -> bool:
    """The value as a bool, if it is one."""
    if not isinstance(value, _TRUTHS):
        raise TypeError(f"{name} must be True or False, got {name}={value!r}")
    return bool(value)


def text(name: str, value: Any) -> str:
    """Words, at least one, that a file can hold."""
    if not isinstance(value, str) or not value.strip():
        raise TypeError(f"{name} must be words, got {name}={value!r}")
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a pair of surrogates, which JSON and Python allow
        raise ValueError(f"{name} must be words that UTF-8 can write, got {name}={value!r}") from None
    return value


def choice(name: str, value: Any, allowed: Sequence[str]) -> str:
    """The value, if it is one of the allowed words."""
    if not isinstance(value, str) or value not in allowed:
        words = ", ".join(repr(word) for word in allowed)
        raise ValueError(f"{name} must be one of {words}, got {name}={value!r}")
    return value


def array(name: str, value: Any, *, ndim: int) -> Floats:
    """A fresh float64 array of `ndim` dimensions with finite entries.

    Raises:
        TypeError: The entries are not real numbers.
        ValueError: The shape is wrong or an entry is NaN or infinite (the first one is named).
    """
    try:
        raw = np.asarray(value)
    except ValueError:
        raise ValueError(f"{name} must be a regular array, got rows of unequal length") from None
    if raw.dtype.kind not in "iuf":
        raise TypeError(f"{name} must hold real numbers, got dtype {raw.dtype} in {name}={value!r}")
    if raw.ndim != ndim:
        shape = "(n, d)" if ndim == 2 else "(d,)"
        raise ValueError(f"{name} must have shape {shape}, got shape {raw.shape}")
    out = np.array(raw, dtype=np.float64, order="C")
    if not np.isfinite(out).all():
        where = tuple(int(k) for k in np.argwhere(~np.isfinite(out))[0])
        raise ValueError(f"{name} must be finite, got {out[where]} at {list(where)}")
    return out
