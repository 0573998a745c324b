"""What an algorithm publishes, asks for and is told: plain frozen values."""

import math
from dataclasses import dataclass
from typing import Any

from unbribable.model.checks import Floats, Ints


@dataclass(frozen=True, eq=False)
class Proposal:
    """The distribution over points of the next round, published before the draw."""

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

    t: int
    """The round, from 1."""
    x: Floats
    """The point, (d,)."""
    u: Floats
    """The same as the kernel sees it: on a Box a point of the unit cube, (d,)."""
    index: int | None
    """Its index among the candidates; on a Box None if the point is not one yet."""
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
    drawn: str | None = None
    """The instance that the round's draw names."""
    level: int = 0
    """The level that plays, where levels take turns; 0 where they do not."""
    params: dict[str, Any] | None = None
    """x by the names of a named space."""
    replicates: int = 1
    """How many readings of the point are wanted."""

    @property
    def id(self) -> int:
        """The round: what `tell` also takes in place of the query."""
        return self.t


CHOOSERS = ("algorithm", "user", "design")
"""Who may have chosen the point of a reading."""


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """What was told about a point, with everything needed to learn it again."""

    t: int
    """The round, from 1: the only number a reading has."""
    u: Floats
    """The point as the kernel sees it, (d,)."""
    y: float
    """As told, in model units."""
    drawn: str | None
    """The instance that the round's draw names; None before that is decided."""
    learner: str | None
    """The instance it belongs to, None if nobody learns from it; "" before that is decided."""
    lam: float
    """Its fictitious noise."""
    lcb: float | None = None
    """Lower bound of the learner at u when the point was chosen; None where there was none."""
    chosen_by: str = "algorithm"
    """Who chose the point, one of CHOOSERS. "user": `tell(x=..., y=...)`."""
    level: int = 0
    """The level that played, where levels take turns; 0 where none did."""
