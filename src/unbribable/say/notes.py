"""What an algorithm has to say of the corruption besides its bounds."""

from unbribable.decision.proven.conditions import Consistent, Detected, Note, PastHorizon, Refuted
from unbribable.decision.proven.guarantee import Guarantee
from unbribable.say.conditions import clauses, under
from unbribable.say.counting import ROUNDS, Counting


def note(value: Note, counting: Counting = ROUNDS) -> str:
    """A note in sentences."""
    match value:
        case Refuted():
            return refutation(value, counting)
        case Detected():
            return detection(value, counting)
        case Consistent():
            return consistency(value)
        case PastHorizon(T):
            return f"Past the horizon T={T}: intervals hold, the regret theorem does not."
        case _:
            from unbribable.say.guarantee import why_void  # which needs `refutation`

            return why_void(Guarantee(void=value), counting)


def refutation(found: Refuted, counting: Counting = ROUNDS) -> str:
    """That the readings contradict the assumptions, and all that may be wrong."""
    wrong = ["B, B0, noise_std, the kernel, the number or the size of the lies"]
    wrong += [f"that {clause}" for clause in clauses(found.conditions)]
    return (
        f"The assumptions are refuted by the readings up to {counting.one(found.t)}, so nothing is "
        f"guaranteed any more. True assumptions would be contradicted with probability at most "
        f"{found.delta:g}. More likely one of these is wrong: {', or '.join(wrong)}."
    )


def detection(found: Detected, counting: Counting = ROUNDS) -> str:
    """That there was corruption, and how sure that is."""
    more, without = "Corruption", "Without any"
    if found.trust > 0.0:
        more, without = f"A corruption of more than {found.trust:g}", "Without so much"
    said = f"{more} was detected in {counting.one(found.t)}."
    if found.conditions is None:
        return f"{said} Nothing is proven by that."
    chance = f"{without} this happens with probability at most {found.delta:g}"
    return f"{said} {under(chance, found.conditions)}"


def consistency(found: Consistent) -> str:
    """How much corruption there must be at least."""
    words = f"The readings are consistent with a corruption of {found.C:g}"
    if found.below is None:
        return f"{words}, the lowest level."
    if found.conditions is None:
        return f"{words}, but nothing is proven of it."
    return under(
        f"{words}, and not of {found.below:g}: there is more than that, with probability at least "
        f"{1.0 - found.delta:g}",
        found.conditions,
    )
