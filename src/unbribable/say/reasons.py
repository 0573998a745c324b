"""Why a reading is suspected, in words: in full, and in a few words for a list."""

from unbribable.decision.proven.conditions import Missing
from unbribable.doubt.suspect import Kind, Reason, Suspect
from unbribable.say.conditions import supposition
from unbribable.say.counting import ROUNDS, Counting

N_NAMED = 3
"""Rounds that a short reason names, at most."""


def evidence(suspect: Suspect, counting: Counting = ROUNDS) -> tuple[str, ...]:
    """What speaks against a reading: its reasons, one string each."""
    return tuple(full(reason, counting) for reason in suspect.reasons)


def full(reason: Reason, counting: Counting = ROUNDS) -> str:
    """A reason with its numbers, in the units of the reading."""
    match reason:
        case Reason(kind=Kind.IMPOSSIBLE, low=low, high=high):
            return f"outside reading_range, {low:.6g} to {high:.6g}: false for certain, as you state"
        case Reason(kind=Kind.SAME_POINT, rounds=rounds, off=float(off)):
            n = len(rounds)
            whose = f"the median of {n} other readings" if n > 1 else "the only other reading"
            return f"{_distance(off)} {whose} of the same point"
        case Reason(kind=Kind.OUTSIDE, off=float(off), low=low, high=high):
            return f"outside the bounds on f [{low:.3g}, {high:.3g}] by {abs(off):.3g}"
        case Reason(kind=Kind.PREDICTED, expected=mean, sd=float(sd)):
            return f"{_in_sd(reason)} what the other readings predict ({mean:.3g} +- {sd:.3g})"
        case Reason(kind=Kind.EQUAL, rounds=rounds):
            return f"the same value to the last digit as in {counting.several(rounds)}"
        case Reason(kind=Kind.BURST | Kind.DRIFT, rounds=rounds, off=float(off)):
            side = "above" if off > 0.0 else "below"
            how = "more and more, as by a drift" if reason.kind == Kind.DRIFT else "a burst"
            return (
                f"one of {len(rounds)} readings in a row ({counting.stretch(rounds)}) that are all "
                f"{side} what the others predict: {how}"
            )
        case Reason(kind=Kind.NOT_LEARNABLE):
            return f"{short(reason)}, and was not learned"
        case Reason(kind=Kind.MISSING, n=n):
            return f"certain under the assumptions, and if {supposition([Missing(n)])}"
    raise AssertionError(f"a reason of no known kind: {reason}")


def short(reason: Reason, counting: Counting = ROUNDS) -> str:
    """A reason in a few words."""
    match reason:
        case Reason(kind=Kind.IMPOSSIBLE, low=low, high=high):
            return f"outside {low:.6g} to {high:.6g}"
        case Reason(kind=Kind.SAME_POINT, rounds=rounds):
            n = len(rounds)
            return f"unlike {f'{n} other readings' if n > 1 else 'the other reading'} of its point"
        case Reason(kind=Kind.OUTSIDE):
            return "outside the bounds"
        case Reason(kind=Kind.PREDICTED):
            return f"{_in_sd(reason)} the others"
        case Reason(kind=Kind.EQUAL, rounds=rounds):
            return f"equal to {counting.several(rounds, N_NAMED)}"
        case Reason(kind=Kind.BURST | Kind.DRIFT, rounds=rounds):
            return f"in a {reason.kind.value}, {counting.stretch(rounds)}"
        case Reason(kind=Kind.NOT_LEARNABLE, high=None):
            return "not finite"
        case Reason(kind=Kind.NOT_LEARNABLE, high=high):
            return f"beyond +-{high:g}"
        case Reason(kind=Kind.MISSING):
            return "certain if no reading is missing because of its value"
    raise AssertionError(f"a reason of no known kind: {reason}")


def beside(suspect: Suspect, counting: Counting = ROUNDS) -> str:
    """The reason that a list must give, where what the others predict does not show it; else nothing."""
    kinds = (Kind.IMPOSSIBLE, Kind.EQUAL, Kind.BURST, Kind.DRIFT, Kind.NOT_LEARNABLE)
    said = [short(reason, counting) for reason in suspect.reasons if reason.kind in kinds]
    return said[0] if said else ""


def _in_sd(reason: Reason) -> str:
    assert reason.off is not None
    assert reason.sd is not None
    return _distance(reason.off / reason.sd, " standard deviations")


def _distance(difference: float, unit: str = "") -> str:
    return f"{abs(difference):.3g}{unit} {'above' if difference > 0.0 else 'below'}"
