"""A history learned at once, by an algorithm that has learned nothing yet."""

from collections.abc import Sequence
from dataclasses import dataclass

from unbribable.decision.algorithm import Algorithm
from unbribable.decision.proposal import Reading
from unbribable.model.checks import Floats


@dataclass(frozen=True, eq=False)
class Past:
    """A reading of the past."""

    t: int
    """Its round."""
    u: Floats
    """The point as the kernel sees it, (d,)."""
    y: float
    drawn: str | None = None
    """The instance that the round's draw named; by seed and t if None."""
    chosen_by: str = "user"
    """Who chose the point, one of CHOOSERS."""


def learn_history(algorithm: Algorithm, history: Sequence[Past]) -> None:
    """Let a new algorithm learn a history in one go, O(m^2 n) instead of O(m n) a reading and a pass.

    The same belief as one by one, up to rounding, and bounds that hold: those after the last reading,
    not intersected with earlier ones. A reading belongs to the instance its draw names, since nothing
    is detected or ruled out before the end; then it is, by the bounds there are. On a Box no local
    candidates are added from then on: the points read take their place.

    Raises:
        RuntimeError: The algorithm has been used already.
    """
    if algorithm.t:
        raise RuntimeError(f"a history needs a new algorithm, this one is in round {algorithm.t}")
    readings, lam = [], algorithm.assumptions.lam
    for past in history:
        drawn = past.drawn or algorithm.drawn(past.t)
        learner = algorithm._learner_of(drawn)
        readings.append(Reading(past.t, past.u, past.y, drawn, learner, lam, None, past.chosen_by))
    algorithm._wholly(lambda: algorithm._learn_at_once(readings))
    algorithm.t = max((past.t for past in history), default=0)
