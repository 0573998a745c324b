"""What a statement supposes besides the assumptions, and why nothing may be said at all: values."""

from collections.abc import Sequence
from dataclasses import dataclass

from unbribable.model.spoken import Spoken


@dataclass(frozen=True)
class FitIsRight:
    """What is believed of f, the noise and the size of a lie is right."""

    fitted: tuple[str, ...] = ()
    """What of it was fitted to the readings; empty if all was known before them."""
    given: tuple[str, ...] = ()
    """What of it was given."""


@dataclass(frozen=True)
class Blind:
    """Whoever lies does not know the draws: a weak adversary."""


@dataclass(frozen=True)
class NoiseBlind:
    """Which rounds are lies does not depend on the noise of these rounds."""


@dataclass(frozen=True)
class Missing:
    """None of the n missing readings is missing because of its value."""

    n: int


@dataclass(frozen=True)
class Chosen:
    """n readings, of points that the user chose, were told one by one in the order of reading."""

    n: int


@dataclass(frozen=True)
class InOrder:
    """The order in which all readings were told does not depend on their values."""


@dataclass(frozen=True)
class Open:
    """n readings were told after a round that is still open, and do not count yet."""

    n: int
    is_table_cut: bool = False
    """Whether a table is among them, the rows of which count only once that round is closed."""


@dataclass(frozen=True)
class Corrected:
    """What readings share besides f was estimated, right to three sd, and taken off them."""

    within: float
    """The largest of these amounts, in the user's units."""
    n_blocks: int = 0
    """Blocks, each with an offset; 0: there are none."""
    has_drift: bool = False
    """Whether the instrument may drift."""


@dataclass(frozen=True)
class InRange:
    """f, and every honest reading, is between these values, ends included."""

    low: float
    high: float


@dataclass(frozen=True)
class OwnNoise:
    """The noise of n readings is what was told with them."""

    n: int


Condition = (
    FitIsRight | Blind | NoiseBlind | Missing | Chosen | InOrder | Open | InRange | OwnNoise | Corrected
)


def settled(conditions: Sequence[Condition]) -> tuple[Condition, ...]:
    """Without what does not count yet."""
    return tuple(each for each in conditions if not isinstance(each, Open))


# --- why nothing is guaranteed -------------------------------------------------------------------


@dataclass(frozen=True)
class NoPromise:
    """Nothing was promised in the first place."""


@dataclass(frozen=True)
class NotProved:
    """Of the width that is used there is no proof."""


@dataclass(frozen=True)
class NoReading:
    """There is no reading yet."""


@dataclass(frozen=True)
class BetaGiven:
    """The option beta takes the place of the proven noise width."""


@dataclass(frozen=True)
class Pruned(Spoken):
    """n readings are missing because of their values."""

    n: int


@dataclass(frozen=True)
class TakenOut(Spoken):
    """Readings were taken out, and nobody stated that this had nothing to do with their values."""

    rounds: tuple[int, ...]


@dataclass(frozen=True)
class TooMany:
    """It was promised for T readings, and there are n."""

    T: int
    n: int


@dataclass(frozen=True)
class Refuted(Spoken):
    """The readings up to round t contradict the assumptions."""

    t: int
    delta: float
    """With which probability, at most, true assumptions are contradicted."""
    conditions: tuple[Condition, ...] = ()
    """What else may be false."""


@dataclass(frozen=True)
class Crossed:
    """The bounds leave some point no value at all."""


@dataclass(frozen=True)
class NotYet:
    """It must not rest on some of the readings alone (a price)."""


@dataclass(frozen=True)
class NothingHeld:
    """It would rest on the readings of an instance that has none (a price)."""

    label: str


@dataclass(frozen=True)
class Exceeded:
    """Readings that are false for certain are off by more in all than lies were said to total."""

    total: float
    """By at least so much."""
    C: float
    """What was said."""


Void = (
    NoPromise | NotProved | NoReading | BetaGiven | Pruned | TakenOut | TooMany | Refuted | Crossed
    | NotYet | NothingHeld | Exceeded
)  # fmt: skip


# --- what else there is to say of the corruption -------------------------------------------------


@dataclass(frozen=True)
class Detected(Spoken):
    """Corruption was detected in round t."""

    t: int
    trust: float
    """With at most so much of it, that happens with probability at most delta."""
    delta: float
    conditions: tuple[Condition, ...] | None
    """What that supposes; None: nothing is proven by it."""


@dataclass(frozen=True)
class Consistent(Spoken):
    """The readings are consistent with a corruption of C."""

    C: float
    below: float | None
    """And not with one of that; None: C is the lowest level there is."""
    delta: float
    conditions: tuple[Condition, ...] | None
    """What that supposes; None: nothing is proven of it."""


@dataclass(frozen=True)
class PastHorizon(Spoken):
    """There are more than T rounds: intervals hold, the regret theorem does not."""

    T: int


Note = Refuted | Pruned | TakenOut | Detected | Consistent | PastHorizon
