"""Points and values as people read them."""

import math
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from unbribable.model.checks import Floats

WIDTH = 120
"""Characters of a printed line, at most."""


def wrapped(text: str, indent: int = 0, most: int | None = None) -> list[str]:
    """The text in lines of at most WIDTH characters; beyond `most` of them it ends in dots."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 2),
        max_lines=most,
        placeholder=" ...",
        break_on_hyphens=False,
    )


def point(x: Floats, params: Mapping[str, Any] | None = None) -> str:
    """Parameters by name, `temp=420.433 gas=N2`, or `x = [0.32, 0.06]` where they have none."""
    if params is None:
        return "x = [" + ", ".join(f"{value:.6g}" for value in x) + "]"
    return " ".join(f"{name}={digits(value)}" for name, value in params.items())


def digits(value: Any) -> str:
    """A value of a parameter: numbers with six digits, anything else as it is."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def plus_minus(mean: float, sd: float) -> str:
    """`1.988 +- 0.031`: two digits of the standard deviation, and the mean to the same place."""
    if not (sd > 0.0 and abs(mean) < 1e6 and 1e-6 < sd < 1e6):
        return f"{mean:.4g} +- {sd:.2g}"
    places = max(0, 1 - math.floor(math.log10(sd)))
    return f"{mean:.{places}f} +- {sd:.{places}f}"


def listed(parts: Iterable[str]) -> str:
    """`one`, `one, and another`, `one, another, and a third`."""
    words = list(parts)
    if len(words) > 1:
        words[-1] = f"and {words[-1]}"
    return ", ".join(words)
