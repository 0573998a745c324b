"""What holds of a worst case by the number of lies, in words for the captions of its pictures."""

from unbribable.decision.recommend import Recommendation
from unbribable.say.recommendation import claim, is_needed_said, premise

WHAT = "Each bar is what f can be there if at most so many readings are lies, of any size."
"""What a picture shows."""

MEANING = (
    "How many of the readings may be false is for you to judge: read off what is left at that number, "
    "and if that is too little, measure near this point again."
)
"""What to do with it."""


def holds(best: Recommendation) -> str:
    """With what probability, against whom, and if what is right; a sentence."""
    assert best.lies is not None  # there are readings
    clause = premise(best) or "what is assumed is right"
    return (
        f"All bars hold at once with probability at least {best.lies.probability:.4g}, against weak and "
        f"strong adversaries, if {clause}."
    )


def excluded(n_least: int) -> str:
    """That there are so many lies at least."""
    return f"excluded: at least {n_least} {'is a lie' if n_least == 1 else 'are lies'}"


def short_of(best: Recommendation, what: str = "f(x)") -> str:
    """How many lies it takes for f(x) to be clearly worse, for a legend; empty where it is not said."""
    if not is_needed_said(best):
        return ""
    said, n = claim(best, what).replace("-", "−"), best.n_needed
    return f"{said} needs at least {n} lie{'s' * (n != 1)}" if n else f"{said} is not excluded"
