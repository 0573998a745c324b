"""What to know before relying on a recommendation: heuristic warnings, as values."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Alone:
    """The other readings leave the value at this point open: a lie there would look like a peak."""

    expected: float
    """What the other readings predict there."""
    sd: float


@dataclass(frozen=True)
class Outside:
    """The estimate is outside the worst case: it takes lies for the truth, or something is false."""


Caution = Alone | Outside


@dataclass(frozen=True)
class TooManyLies:
    """More readings look false than were allowed for."""

    n: int
    """Readings that look false."""
    allowed: int
    stated: float
    """The number, or the share, that was stated."""


@dataclass(frozen=True)
class TooMuchLying:
    """The readings that look false are off by more in all than was allowed for."""

    off: float
    C: float
    setting: str
    """The setting that says so."""


@dataclass(frozen=True)
class Growing:
    """More rounds hardly narrow the worst case, since more readings may then be lies."""

    share: float
    """Of the readings may be lies."""
    n_lies: int
    """A number to state in its place."""


Remark = TooManyLies | TooMuchLying | Growing
