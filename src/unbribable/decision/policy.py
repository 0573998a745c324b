"""What sets algorithms apart: who is drawn, plays and learns, and which bounds to trust."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unbribable.decision.asking.rule import Play
from unbribable.decision.instance import Instance
from unbribable.decision.options import Options
from unbribable.decision.proposal import Reading
from unbribable.decision.proven.conditions import Condition, Note
from unbribable.decision.proven.guarantee import Guarantee
from unbribable.decision.proven.left_out import own_shares
from unbribable.decision.proven.levels import Believer
from unbribable.decision.recommend import Level
from unbribable.model.checks import Bools, Floats
from unbribable.theory.assumptions import Assumptions
from unbribable.theory.budgets import Budget, Draws

if TYPE_CHECKING:
    from unbribable.decision.asking.next_round import NextRound


Lessons = tuple[tuple[Instance, float], ...]
"""Who learns what."""


class Policy(ABC):
    """Abstract. Holds changing state: the instances, and what was concluded from them.

    A policy is given the instances anew each time the readings are learned from the beginning, and
    concludes the same from the same readings.
    """

    draws: Draws
    """Which instance a round's draw may name, with the probability; the same in every round."""
    budgets: Mapping[str, Budget]
    """The instances by label: what each allows for."""
    parameters: Mapping[str, Any]
    """What was chosen besides domain, assumptions and options: a saved state is recognised by it."""
    instances: Mapping[str, Instance]
    detected: int | None = None
    """The round whose reading gave corruption away."""
    maximisers: Bools | None = None
    """Potential maximisers of each level, (n_levels, n)."""
    holds_all: str | None = None
    """The instance that learns from every reading, if there is one."""
    counts_lies = False
    """Whether bounds allow for a number of lies, on one event with what leaving readings out says."""
    safe_up_to: float | None = None
    """Where the corruption is unknown: the largest one that bounds allow for."""

    knows: str | None = None
    """What it was told of the lies, where its C does not say so: see `Details`."""

    is_ours = True
    """Whether it is one of this library's methods: see `Details`."""

    def __init__(
        self, assumptions: Assumptions, options: Options, *, takes_energy: bool = False
    ) -> None:
        if not isinstance(assumptions, Assumptions):
            raise TypeError(f"assumptions must be Assumptions, got assumptions={assumptions!r}")
        if options.noise == "energy" and not takes_energy:
            raise ValueError(
                "noise='energy' needs instances whose readings are honest (GPUCB, QuorumGPUCB); here it "
                "must be 'tight' or 'paper', got noise='energy'"
            )
        self.assumptions = assumptions
        self.options = options

    def options_of(self, label: str) -> Options:
        """Which widths that instance uses."""
        return self.options

    def begin(self, instances: Mapping[str, Instance], n: int) -> None:
        """Start again before the first reading, with new instances on n candidates."""
        self.instances = instances
        self.detected = None

    @abstractmethod
    def plays(self, choice: "NextRound") -> list[Play]:
        """What is played in round `choice.t`: one for each of `draws`, or one if the draw is idle."""

    @abstractmethod
    def learner_of(self, drawn: str) -> str | None:
        """The instance a reading belongs to now if the draw names `drawn`; None: nobody learns it."""

    @abstractmethod
    def lessons(self, reading: Reading) -> Lessons:
        """Which instances learn from a reading, and the value that each of them learns."""

    @abstractmethod
    def conclude(self, labels: Sequence[str], t: int) -> bool:
        """Draw conclusions from new bounds of these instances: detection, elimination.

        Returns:
            Whether bounds that can only fail with an assumption have failed.
        """

    @abstractmethod
    def trust(self, threat: str | None, C: float | None) -> Guarantee:
        """Which bounds hold against the threat (the default one if None) with corruption C."""

    def before(self, reading: Reading, turn: Callable[[int], int]) -> Reading:
        """Prepare for a reading that is about to be learned. Returns it as it is to be recorded.

        Args:
            reading: About to be learned.
            turn: How many of the rounds up to one are those that the algorithm was asked for.
        """
        return reading

    def learned(self, reading: Reading, index: int) -> None:
        """Take note of a reading of this candidate, which its instances have learned."""

    def dealt(self, play: Play, u: Floats, choice: "NextRound") -> Play:
        """A play that moved to u, off the candidates, with the instance that learns there."""
        return play

    def shown(self) -> Mapping[str, Believer]:
        """The bounds that a record keeps: those that hold against what they allow for."""
        return self.instances

    def shares_of_lies(self) -> tuple[float, float]:
        """The probabilities with which the honest noises may exceed their energy, and one its level.

        These events come on top of those that the bounds rest on.
        """
        return own_shares(self.assumptions.delta)

    def guide(self, learner: str | None) -> Believer | None:
        """Further candidates of a Box are added round the best one of this; None: round none."""
        return None if learner is None else self.instances[learner]

    def grown(self, n: int) -> None:
        """Conclude from further candidates, n in all, which the instances have taken in."""

    def learner_again(self, learner: str | None) -> str | None:
        """Who learns a reading told after the refutation, once another one was retracted."""
        return learner

    def lcb_of(self, reading: Reading, i: int) -> float | None:
        """The lower bound at candidate i of the instance that plays, before the reading is learned."""
        if reading.learner is None:
            return None
        instance = self.instances[reading.learner]
        return float(instance.mu[i]) - instance.width_at(i)

    def is_trusted(self, reading: Reading, labels: Sequence[str]) -> bool:
        """Whether the lower bound recorded with this reading is valid if these instances are trusted."""
        return reading.learner in labels

    def named(self, label: str) -> Believer:
        """What a guarantee calls by that label: an instance, or one of its levels."""
        return self.instances[label]

    def levels(self, i: int, threat: str, allowed: Bools | None) -> tuple[Level, ...]:
        """The certificate of candidate i for every corruption, where it is unknown.

        Args:
            i: The candidate.
            threat: "weak" or "strong".
            allowed: Which candidates it is compared with, (n,); all if None.
        """
        return ()

    @property
    def is_drawn(self) -> bool:
        """Whether bounds rest on draws that who lies must not know."""
        return len(self.draws) > 1

    def notes(self, t: int, conditions: Sequence[Condition] | None) -> list[Note]:
        """What else there is to say after t rounds.

        Args:
            t: The rounds.
            conditions: What a claim about the corruption supposes; None where none can be made.
        """
        return []
