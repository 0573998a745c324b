"""What to know before relying on an answer: heuristic warnings, in words."""

from unbribable.decision.remarks import (
    Alone,
    Caution,
    Growing,
    Outside,
    Remark,
    TooManyLies,
    TooMuchLying,
)
from unbribable.say.words import plus_minus

OUTSIDE = (
    "The expected value is outside the worst case: it takes lies for the truth, or something assumed is "
    "false."
)
"""A warning where the estimate and the interval contradict each other."""


def caution(value: Caution) -> str:
    """Why an estimate should not be relied on yet."""
    match value:
        case Alone(expected, sd):
            return (
                "Too few rounds to tell a lie from a peak: the other readings predict "
                f"{plus_minus(expected, sd)}. Read points near it first."
            )
        case Outside():
            return OUTSIDE


def in_short(value: Remark) -> str:
    """What to know of the worst case, in a line."""
    match value:
        case TooManyLies(n, _, stated):
            return f"{_many(value)} of lies={stated:g}: the worst case allows for {n}"
        case TooMuchLying(setting=setting):
            return f"{_much(value)} worst case allows for: raise {setting}="
        case Growing(share, n_lies):
            return (
                f"More rounds hardly narrow this while {100.0 * share:.3g} % of all readings may be "
                f"lies; state a number (lies={n_lies}), and they do."
            )


def in_full(value: Remark) -> str:
    """The same of the certificate; empty for what only concerns the worst case."""
    match value:
        case TooManyLies():
            return (
                f"{_many(value)} that the certificate allows for: if they are lies, it does not hold; "
                "state a larger lies=."
            )
        case TooMuchLying(setting=setting):
            return (
                f"{_much(value)} guarantee allows for: if they are lies, it does not hold; state a "
                f"larger {setting}=."
            )
        case Growing():
            return ""


def _many(value: TooManyLies) -> str:
    look = "reading looks" if value.n == 1 else "readings look"
    return f"{value.n} {look} false, more than the {value.allowed}"


def _much(value: TooMuchLying) -> str:
    return (
        f"The flagged readings are off by {value.off:.3g} in all, more than the {value.C:.3g} that the"
    )
