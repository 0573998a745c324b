"""What an algorithm publishes, asks for and has been told: plain frozen values."""

import math
from dataclasses import dataclass

from unbribable.model.checks import Floats, Ints


@dataclass(frozen=True, eq=False)
class Proposal:
    """The distribution over points of the next round, published before the draw.

    An atom is a point, its probability, and the instance that will learn if it is drawn.
    """

    t: int
    """The round, from 1."""
    points: Floats
    """(s, d)."""
    indices: Ints
    """(s,); on a Box -1 where the point is no candidate yet."""
    probabilities: Floats
    """(s,), they sum to 1."""
    instances: tuple[str | None, ...]
    """Labels of the instances that would learn; None where nobody will. Length s."""


@dataclass(frozen=True, eq=False)
class Query:
    """A point to read, drawn from the round's proposal."""

    id: int
    """What to give back to `tell`: equal to the round."""
    t: int
    """The round, from 1."""
    x: Floats
    """The point, (d,)."""
    u: Floats
    """The same as the kernel sees it: on a Box a point of the unit cube, (d,)."""
    index: int | None
    """Its index among the candidates; on a Box None if it is none yet."""
    instance: str | None = "main"
    """The instance that will learn, None if nobody will."""
    mu: float = math.nan
    """Posterior mean at x of the instance that plays; NaN if the player has none."""
    sigma: float = math.nan
    """Posterior standard deviation there."""
    width: float = math.nan
    """Width of its interval there, at alpha = 1."""
    ucb: float = math.nan
    """Value of the rule that x maximises."""


@dataclass(frozen=True, slots=True)
class Atom:
    """One atom of a proposal, with who plays it."""

    index: int
    """The candidate."""
    probability: float
    learner: str | None
    player: str
    ucb: float
    u: Floats | None = None
    """On a Box: where the local search from the candidates ended, if that is better."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A told value, with what is needed to learn from it again."""

    id: int
    index: int
    """The candidate; on a Box the one that the point becomes when the reading is taken."""
    y: float
    instance: str | None
    lam: float
    lcb: float
    """Lower bound of the player at x when x was chosen; NaN for a reading nobody asked for."""
    is_foreign: bool
    """Whether the point was chosen by the user, `tell(x=..., y=...)`."""
