"""What an adversary is shown, and what it must answer."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unbribable.model.checks import Bools, Bounds, Floats, Ints


def no_bounds() -> Bounds | None:
    """Of a player that claims nothing."""
    return None


@dataclass(frozen=True, eq=False)
class View:
    """What the adversary sees of a round before it commits.

    Weak: the distinct points of the learner's proposal with their probabilities; not the draw.
    Strong: the one point that was drawn, with probability 1.
    """

    t: int
    indices: Ints
    """(s,)."""
    points: Floats
    """(s, d)."""
    probabilities: Floats
    """(s,)."""
    instances: tuple[tuple[str | None, ...], ...]
    """For each point, the instances that would learn from it."""
    left: float
    """What is left of the budget; inf where lies of any size are counted, until the last one is told."""
    c_max: float
    """Largest lie allowed in a round."""
    bounds: Callable[[], Bounds | None] = no_bounds
    """What the player claims of f, if anything: it follows from the past, which is public."""


@dataclass(frozen=True, eq=False, slots=True)
class Observation:
    """A round's outcome: what was told, and beside it the truth it was made of."""

    f: float
    noise: float
    c: float
    y_tilde: float
    """f + noise + c [BKS20, Eq. 1]."""
    charge: float


class Adversary(ABC):
    """Abstract. Holds changing state, if any. What it knows is what its constructor is given.

    The budget is not its business: the ledger grants what is left.
    """

    needs_strong: bool = False
    """Whether it makes sense only if it sees the draw."""
    target: Bools | None = None
    """The candidates it lures the player to, (n,), if it has such a region."""

    @abstractmethod
    def commit(self, view: View, rng: np.random.Generator) -> Floats:
        """The corruption wanted at each point of the view, (s,)."""

    def saw(self, index: int, instance: str | None, observation: Observation) -> None:
        """Told after the round: the point played, who learned, and the outcome."""

    def reset(self) -> None:
        """Forget everything: a new game begins."""


class NoAdversary(Adversary):
    """Never lies."""

    def commit(self, view: View, rng: np.random.Generator) -> Floats:
        return np.zeros(len(view.indices))
