"""A player: what a game needs of whoever plays it, and no more."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from unbribable.decision.proposal import Proposal, Query
from unbribable.decision.proven.guarantee import Guarantee
from unbribable.decision.recommend import Recommendation
from unbribable.model.checks import Bounds, Ints
from unbribable.theory.budgets import Budget

MEMBERS = ("propose", "ask", "tell", "recommend", "bounds", "knowledge", "guarantee")


class Player(Protocol):
    """What `simulate`, sweeps, coverage and reports know of a player.

    Our algorithms are players. A class of your own is one if it has these seven members; it may
    derive from this class, which promises nothing for it, but need not. A player may also have
    `details() -> Details`, to show more of its inside in a record.
    """

    @abstractmethod
    def propose(self) -> Proposal:
        """The distribution from which the next `ask` draws. Changes nothing."""

    @abstractmethod
    def ask(self) -> Query:
        """The next point to read, drawn from the proposal. Learns nothing."""

    @abstractmethod
    def tell(self, query: Query, y: float) -> object:
        """Learn the reading y of a query."""

    @abstractmethod
    def recommend(self) -> Recommendation:
        """The point to use. Changes nothing."""

    def bounds(self) -> Bounds | None:
        """What it claims now: f lies between these at every candidate. None if it claims nothing."""
        return None

    @property
    def knowledge(self) -> Mapping[str, Any] | str:
        """What it was told besides the candidates and the readings: plain data, or words.

        Reports look for C and n_lies (the corruption or the lies it allows for), B, noise_std, c_max
        and delta.
        """
        return {}

    @property
    def guarantee(self) -> Guarantee | None:
        """What it promises about its bounds; None, or a void one, if it promises nothing."""
        return None


@dataclass(frozen=True, eq=False)
class Details:
    """What a player may show of its inside, for the record. A game does not need any of it.

    Made after every round, so what takes time to work out is a function.
    """

    instances: tuple[str, ...] = ("main",)
    """The instances that a query may name."""
    instance_bounds: Callable[[], Mapping[str, Bounds]] = dict
    """Bounds of the instances that have any which only ever tighten: then the last ones tell all."""
    budgets: Mapping[str, Budget] = field(default_factory=dict)
    """What bounds of these instances allow for; bounds of others allow for the C of `knowledge`."""
    maximisers: Ints | None = None
    """Size of each instance's set of potential maximisers; always or never there."""
    detected: int | None = None
    """The round whose reading gave corruption away."""
    refuted: int | None = None
    """The round whose reading contradicted the assumptions."""
    seed: Mapping[str, Any] | None = None
    """Of its draws, as plain data."""
    tolerance: float = 0.0
    """By how much rounding may put f outside its bounds."""
    summary: Callable[[], Mapping[str, Any]] = dict
    """Where it stands, as plain data."""
    knows: str | None = None
    """What it was told of the lies, one of `lab.runs.record.OF_LIES`; None: `knowledge` has its C or
    n_lies, or neither."""
    is_ours: bool = False
    """Whether the method is one of this library's, not one that it is compared with."""


def details_of(player: Player) -> Details:
    """What the player shows of its inside; the default where it shows nothing."""
    details: Callable[[], Details] = getattr(player, "details", Details)
    return details()


def check_player(player: Any) -> None:
    """Refuse what lacks a member of a player."""
    missing = [name for name in MEMBERS if not hasattr(player, name)]
    if missing:
        raise TypeError(
            f"a player must have {', '.join(MEMBERS)}, got {type(player).__name__} without "
            f"{', '.join(missing)}"
        )
