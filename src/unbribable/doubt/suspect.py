"""What speaks against a reading, as data."""

import math
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from unbribable.model.checks import Floats


class Kind(StrEnum):
    """What speaks against a reading."""

    IMPOSSIBLE = "impossible"
    """It is `off` outside [`low`, `high`], where every honest reading is, as the user states."""
    SAME_POINT = "same point"
    """Other readings of the same point differ: `off` from their median; `rounds` are theirs."""
    OUTSIDE = "outside"
    """It lies `off` outside [`low`, `high`], the bounds on f at its point."""
    PREDICTED = "predicted"
    """It is `off` by `off / sd` standard deviations from `expected`, what the others predict."""
    EQUAL = "equal"
    """It is the same to the last digit as the readings of `rounds`."""
    BURST = "burst"
    """It is one of the readings in a row, in `rounds`, that are all `off` to the same side."""
    DRIFT = "drift"
    """The same, and they are off more and more."""
    NOT_LEARNABLE = "not learnable"
    """It is infinite, or too large to be computed with, so nobody learned it."""
    MISSING = "missing"
    """It is certain only if none of the `n` missing readings is missing because of its value."""


@dataclass(frozen=True)
class Reason:
    """One thing that speaks against a reading. Amounts are in the units of its suspect."""

    kind: Kind
    rounds: tuple[int, ...] = ()
    """The rounds it is about, ascending, from 1."""
    off: float | None = None
    """By how much the reading is off: > 0 if it is too high."""
    expected: float | None = None
    sd: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data: what this kind has."""
        plain = {name: _number(value) for name, value in asdict(self).items() if value is not None}
        return {**plain, "kind": self.kind.value, "rounds": list(self.rounds)}


@dataclass(frozen=True, eq=False)
class Suspect:
    """A reading, what the others predict in its place, and what speaks against it."""

    t: int
    """The round of the reading."""
    x: Floats
    """The point read, (d,)."""
    y: float
    """What was told."""
    probability: float
    """Of a lie: a heuristic."""
    expected: float
    """What the other readings predict here, by as much as each looks honest."""
    expected_sd: float
    """Standard deviation of y around it, honest noise included."""
    is_flagged: bool
    """Heuristic verdict, or certain."""
    is_certain: bool
    """Whether it is corrupted for certain, under the assumptions."""
    reasons: tuple[Reason, ...]
    """What speaks against it, as data; empty unless flagged."""
    evidence: tuple[str, ...] = ()
    """The reasons in words, where a door has said them: with a result, a study, an audit."""
    params: dict[str, Any] | None = None
    """x by the names of a named space."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data."""
        amounts = ("y", "expected", "expected_sd")
        return {
            **asdict(self),
            **{name: _number(getattr(self, name)) for name in amounts},
            "x": self.x.tolist(),
            "reasons": [reason.to_dict() for reason in self.reasons],
            "evidence": list(self.evidence),
        }


def _number(value: Any) -> Any:
    """A number as JSON has it: a word for an infinite one, None for NaN; anything else as it is."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def in_order(found: Iterable[Suspect]) -> list[Suspect]:
    """The most suspicious first: certain ones, then flagged ones, then by the probability of a lie.

    Equal readings, and those in a row, stand together and before single ones: what they have in common
    speaks against them. Of equally probable ones the first is the one that is off by most.
    """
    found = list(found)

    def rank(suspect: Suspect) -> tuple[bool, bool, int, float, float]:
        kinds = (Kind.EQUAL, Kind.BURST, Kind.DRIFT)
        company = [t for reason in suspect.reasons if reason.kind in kinds for t in reason.rounds]
        first = min(suspect.t, *company) if company else sys.maxsize
        off = abs(suspect.y - suspect.expected) / suspect.expected_sd
        return not suspect.is_certain, not suspect.is_flagged, first, -suspect.probability, -off

    return sorted(found, key=rank)
