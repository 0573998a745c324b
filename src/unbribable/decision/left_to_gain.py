"""How much there may be left to gain by reading on: what is thought, and what is proven, as a value."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from unbribable.model.spoken import Spoken


class NotYet(StrEnum):
    """Why what is expected says nothing yet. Heuristics, all of them."""

    EARLY = "early"
    """Too few readings after the initial design."""
    FALSE = "false"
    """All readings of the recommended point look false."""
    ALONE = "alone"
    """Only the readings of the recommended point say that it is good: a lie would look like that."""


@dataclass(frozen=True)
class LeftToGain(Spoken):
    """By how much another point may be better than the recommended one. It prints as sentences.

    The two numbers are of different kinds, and neither is computed from the other.
    """

    expected: float | None
    """A heuristic: the largest mean + 2 standard deviations of f at any point, less the value to expect
    at the recommended one. None while it is too early to say."""
    not_yet: NotYet | None
    """Why that says nothing yet; None if it does."""
    proven: float | None
    """The certificate: no candidate is better by more, with what the guarantee supposes. None where
    nothing is guaranteed."""

    def is_below(self, eps: float) -> bool:
        """Whether nothing is expected to be left above eps: a heuristic."""
        return self.not_yet is None and self.expected is not None and self.expected <= eps

    def is_proven_below(self, eps: float) -> bool:
        """Whether nothing is left above eps, if what the guarantee supposes holds."""
        return self.proven is not None and self.proven <= eps

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data."""
        not_yet = None if self.not_yet is None else self.not_yet.value
        return {"expected": self.expected, "not_yet": not_yet, "proven": self.proven}
