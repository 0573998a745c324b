"""What a statement supposes besides the assumptions: values, and the one place that words them."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class FitIsRight:
    """What is believed of f, the noise and the size of a lie is right."""

    what: str
    """ "the fitted model", or "what is assumed" where it was known before the data."""


@dataclass(frozen=True)
class Blind:
    """Who lies does not know the draws: a weak adversary."""


@dataclass(frozen=True)
class Missing:
    """None of the n missing readings is missing because of its value."""

    n: int


@dataclass(frozen=True)
class Chosen:
    """n readings, of points that the user chose, were told one by one in the order of reading."""

    n: int


@dataclass(frozen=True)
class InOrder:
    """The order in which all readings were told does not depend on their values."""


@dataclass(frozen=True)
class Open:
    """n readings were told after a round that is still open, and do not count yet."""

    n: int
    is_table_cut: bool = False
    """Whether a table is among them, the rows of which count only once that round is closed."""


Condition = FitIsRight | Blind | Missing | Chosen | InOrder | Open


def clauses(conditions: Sequence[Condition]) -> list[str]:
    """What is supposed, without "if" or "that"; nothing for what does not count yet."""
    return [words for each in conditions if (words := _clause(each))]


def supposition(conditions: Sequence[Condition]) -> str:
    """The same in one clause; empty if nothing is supposed."""
    return " and ".join(clauses(conditions))


def waits(conditions: Sequence[Condition]) -> str:
    """A sentence about the readings that do not count yet, with a space before it; or nothing."""
    late = next((each for each in conditions if isinstance(each, Open)), None)
    if late is None:
        return ""
    told = "The reading" if late.n == 1 else f"The {late.n} readings"
    if late.is_table_cut:
        return (
            f" {told} cannot tighten this yet: a table is among them, and a round before its last "
            "row is still open. Tell that round's reading, or give it up."
        )
    return (
        f" {told} told after a round that is still open cannot tighten this yet: tell that round's "
        "reading, or give it up."
    )


def under(sentence: str, conditions: Sequence[Condition]) -> str:
    """A whole sentence with what it supposes, and with what does not count yet."""
    clause = supposition(conditions)
    said = f"{sentence.removesuffix('.')}, if {clause}." if clause else sentence
    return said + waits(conditions)


def refutation(t: int, delta: float, conditions: Sequence[Condition]) -> str:
    """That the readings up to round t contradict the assumptions, and all that may be wrong."""
    wrong = ["B, B0, noise_std, the kernel, the number or the size of the lies"]
    wrong += [f"that {clause}" for clause in clauses(conditions)]
    return (
        f"The assumptions are refuted by the readings up to round {t}, so nothing is guaranteed any "
        f"more. True assumptions would be contradicted with probability at most {delta:g}. More likely "
        f"one of these is wrong: {', or '.join(wrong)}."
    )


def _clause(condition: Condition) -> str:
    match condition:
        case FitIsRight(what):
            return f"{what} is right"
        case Blind():
            return "who lies does not know the draws"
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
        case Open():
            return ""
