"""How much lying there must have been, as a value."""

from dataclasses import dataclass

from unbribable.decision.proven.conditions import Condition, FitIsRight
from unbribable.model.spoken import Spoken

NOTICED = 6.0
"""Lies below about so many noise_std each are explained as noise."""


@dataclass(frozen=True)
class Proof(Spoken):
    """How much lying there must have been, if the assumptions hold."""

    total: float
    """With `probability` the lies total at least that, in absolute value; 0 if nothing is proven,
    math.inf if no lies explain the readings."""
    asked: tuple[int, ...]
    """The readings of which it was tried to prove that they are lies."""
    lies: dict[int, float]
    """Reading -> its lie is at least that, in absolute value, for those of which that is more than 0."""
    lies_within: dict[int, float]
    """The same if lies total at most C; empty where no C was given, or one that is below `total`."""
    C: float
    """The total that was given; math.inf if none."""
    is_refuted: bool
    """Whether no lies explain the readings: an assumption is false."""
    fit: FitIsRight
    """What of the assumptions was fitted to the very readings."""
    probability: float
    """Of an event of its own: beside intervals, both hold with the sum of both failures."""
    noise_std: float
    """The noise that is assumed."""
    n_readings: int
    """Readings that it rests on: those of the rounds before the first one that is still open."""
    n_waiting: int
    """The others. Which of them are there already may depend on their values."""
    conditions: tuple[Condition, ...] = ()
    """What it supposes of missing readings."""
