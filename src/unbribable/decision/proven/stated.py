"""What is stated of f and of the readings besides the assumptions, in units of the model."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Stated:
    """Between which values f lies, and which readings are false for certain, whatever f is."""

    low: float = -math.inf
    high: float = math.inf
    false: frozenset[int] = frozenset()
    """The rounds of those readings."""


NOTHING_STATED = Stated()
"""Nothing besides the assumptions."""
