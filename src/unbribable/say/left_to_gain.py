"""How much there may be left to gain, in words that say which kind of statement each number is."""

from unbribable.decision.left_to_gain import LeftToGain, NotYet

WHY_NOT_YET = {
    NotYet.EARLY: "too few readings after the initial design",
    NotYet.FALSE: "the readings of the recommended point look false",
    NotYet.ALONE: "only its own readings say that the recommended point is good; read points near it",
}
"""Why what is expected says nothing yet."""


def left(value: LeftToGain) -> str:
    """The two numbers, a line each."""
    if value.not_yet is None:
        expected = (
            f"at most {value.expected:.3g} (a heuristic: the largest mean + 2 standard deviations, less the "
            "value expected at the recommended point)"
        )
    else:
        expected = f"not known yet, {WHY_NOT_YET[value.not_yet]} (a heuristic)"
    proven = "nothing is guaranteed"
    if value.proven is not None:
        proven = f"no candidate is better by more than {value.proven:.4g}, if what the guarantee supposes holds"
    return f"left to gain, expected: {expected}\nleft to gain, proven: {proven}"


def nothing_left(eps: float, *, is_proven: bool) -> str:
    """Why a run has ended: nothing is left to gain, and by which kind of statement."""
    kind = "proven, if what the guarantee supposes holds" if is_proven else "a heuristic"
    return f"nothing is left to gain above {eps:g} ({kind})"
