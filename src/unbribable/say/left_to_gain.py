"""How much there may be left to gain, in words that say which kind of statement each number is."""

from unbribable.decision.left_to_gain import LeftToGain, NotYet

THOUGHT = (
    "at most {:.3g}, the largest mean + 2 standard deviations of any point less the value expected at "
    "the recommended one"
)
"""How much is expected at most."""

WHY_NOT_YET = {
    NotYet.EARLY: "not known yet, there are too few readings after the initial design",
    NotYet.FALSE: "not known, the readings of the recommended point look false",
    NotYet.ALONE: "not known, only its own readings say that the recommended point is good",
}
"""Why what is expected says nothing yet."""

SUPPOSED = "if what the guarantee supposes holds"
"""What is to be said of the certificate where the guarantee stands elsewhere."""


def lines(value: LeftToGain) -> list[str]:
    """The two numbers, a sentence each."""
    thought = THOUGHT.format(value.expected) if value.not_yet is None else WHY_NOT_YET[value.not_yet]
    proven = "nothing is guaranteed"
    if value.proven is not None:
        proven = f"no candidate is better by more than {value.proven:.4g}, {SUPPOSED}"
    return [f"Left to gain (a heuristic): {thought}.", f"Left to gain (proven): {proven}."]


def nothing_left(eps: float, *, is_proven: bool) -> str:
    """Why a run has ended: nothing is left to gain, and by which kind of statement."""
    kind = f"proven, {SUPPOSED}" if is_proven else "a heuristic"
    return f"nothing is left to gain above {eps:g} ({kind})"
