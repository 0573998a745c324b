"""What a statement supposes besides the assumptions, in clauses and sentences."""

from collections.abc import Sequence

from unbribable.decision.proven.conditions import (
    Blind,
    Chosen,
    Condition,
    Corrected,
    FitIsRight,
    InOrder,
    InRange,
    Missing,
    NoiseBlind,
    Open,
    OwnNoise,
)


def clauses(conditions: Sequence[Condition]) -> list[str]:
    """What is supposed, without "if" or "that"; nothing for what does not count yet."""
    return [words for each in conditions if (words := _clause(each))]


def supposition(conditions: Sequence[Condition]) -> str:
    """The same in one clause; empty if nothing is supposed."""
    return " and ".join(clauses(conditions))


def waits(conditions: Sequence[Condition]) -> str:
    """A sentence about the readings that do not count yet; or nothing."""
    late = next((each for each in conditions if isinstance(each, Open)), None)
    if late is None:
        return ""
    told = "The reading" if late.n == 1 else f"The {late.n} readings"
    if late.is_table_cut:
        return (
            f"{told} cannot tighten this yet: a table is among them, and a round before its last "
            "row is still open. Tell that round's reading, or give it up."
        )
    return (
        f"{told} told after a round that is still open cannot tighten this yet: tell that round's "
        "reading, or give it up."
    )


def under(sentence: str, conditions: Sequence[Condition]) -> str:
    """A sentence, given without its full stop, with what it supposes and what does not count yet."""
    clause = supposition(conditions)
    said = f"{sentence}, if {clause}." if clause else f"{sentence}."
    return " ".join(filter(None, [said, waits(conditions)]))


def _clause(condition: Condition) -> str:
    match condition:
        case FitIsRight():
            return "the fitted model is right" if condition.fitted else "what is assumed is right"
        case Blind():
            return "whoever lies does not know the draws"
        case NoiseBlind():
            return "whoever lies does not choose the rounds by their noise"
        case Missing(1):
            return "the one missing reading is not missing because of its value"
        case Missing(n):
            return f"none of the {n} missing readings is missing because of its value"
        case Chosen(1):
            return "the one reading of a point you chose was told whatever its value"
        case Chosen(n):
            return (
                f"the {n} readings of points you chose were told whatever their values, in the order in "
                "which they were read"
            )
        case InOrder():
            return "the order of telling does not depend on the values"
        case InRange(low, high):
            return f"f and honest readings lie within [{low:.6g}, {high:.6g}]"
        case OwnNoise(n):
            which = "1 reading" if n == 1 else f"{n} readings"
            return f"the noise of {which} is the sem told with {'it' if n == 1 else 'each'}"
        case Corrected(within=within):
            what, are = _taken_off(condition), "are" if condition.n_blocks else "is"
            return f"{what} {are} right to three standard deviations ({within:.2g} at most)"
        case Open():
            return ""


def is_corrected(conditions: Sequence[Condition]) -> bool:
    """Whether something was taken off the readings, so that f is what an average one is of."""
    return any(isinstance(each, Corrected) for each in conditions)


def taken_off(condition: Corrected) -> str:
    """That something was taken off the readings, and what f is then: sentences."""
    what, were = _taken_off(condition), "were" if condition.n_blocks else "was"
    return (
        f"{what[0].upper()}{what[1:]} {were} estimated, by a heuristic, and taken off the readings: "
        "f is what an average reading is of. The guarantee holds only if that is right to three "
        f"standard deviations in every reading, {condition.within:.2g} at most; the noise that is "
        "assumed has room for as much."
    )


def _taken_off(condition: Corrected) -> str:
    """What was taken off the readings."""
    offsets = f"the offsets of {condition.n_blocks} blocks" if condition.n_blocks else ""
    return " and ".join(filter(None, [offsets, "the drift" if condition.has_drift else ""]))
