"""What speaks against a reading, as data."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from unbribable.model.checks import Floats


class Kind(StrEnum):
    """What speaks against a reading."""

    SAME_POINT = "same point"
    """Other readings of the same point differ: `off` from their median; `rounds` are theirs."""
    OUTSIDE = "outside"
    """It lies `off` outside [`low`, `high`], the bounds of `instance` on f at its point."""
    PREDICTED = "predicted"
    """It is `off` by `off / sd` standard deviations from `expected`, what the others predict."""
    EQUAL = "equal"
    """It is the same to the last digit as the readings of `rounds`."""
    BURST = "burst"
    """It is one of the readings in a row, in `rounds`, that are all `off` to the same side."""
    DRIFT = "drift"
    """The same, and they are off more and more."""
    BEYOND_REACH = "beyond reach"
    """It lies outside [`low`, `high`], which f and noise cannot leave, and was cut there."""
    NOT_LEARNABLE = "not learnable"
    """It is infinite, or too large to be computed with, so nobody learned it."""
    MISSING = "missing"
    """It is certain only if none of the `n` missing readings is missing because of its value."""


HEURISTIC_KINDS = (Kind.PREDICTED, Kind.EQUAL, Kind.BURST, Kind.DRIFT, Kind.BEYOND_REACH)
"""The kinds for which a reading is flagged, whatever the bounds say."""


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
    instance: str | None = None
    n: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data: what this kind has."""
        plain = {name: value for name, value in asdict(self).items() if value is not None}
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
    expected: float
    """What the other readings predict here, without those that look like lies."""
    sd: float
    """Standard deviation of y around it, honest noise included."""
    residual: float
    """y - expected."""
    score: float
    """|residual| / sd: how many standard deviations off. Comparable between readings."""
    instance: str | None
    """The instance that learned from it, None if nobody did."""
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
        return {
            **asdict(self),
            "x": self.x.tolist(),
            "reasons": [reason.to_dict() for reason in self.reasons],
            "evidence": list(self.evidence),
        }


def in_order(found: Iterable[Suspect]) -> list[Suspect]:
    """The most suspicious first: certain ones, then flagged ones, then by score.

    Equal readings, and those in a row, stand together and before single ones, whatever their own scores:
    what they have in common speaks against them. The score of the worst of them counts for all.
    """
    found = list(found)
    score = {suspect.t: suspect.score for suspect in found}

    def rank(suspect: Suspect) -> tuple[bool, bool, bool, float, float]:
        kinds = (Kind.EQUAL, Kind.BURST, Kind.DRIFT)
        company = [t for reason in suspect.reasons if reason.kind in kinds for t in reason.rounds]
        worst = max(score.get(t, 0.0) for t in (suspect.t, *company))
        return not suspect.is_certain, not suspect.is_flagged, not company, -worst, -suspect.score

    return sorted(found, key=rank)


def equal_to(rounds: tuple[int, ...]) -> list[Reason]:
    """That a reading is equal to those of these rounds; nothing where there are none."""
    return [Reason(Kind.EQUAL, rounds)] if rounds else []
