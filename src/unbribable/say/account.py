"""All that there is to say of an answer, for those who ask why."""

from collections.abc import Sequence

from unbribable.decision.basis import Basis
from unbribable.decision.conditions import Detected, NoReading
from unbribable.decision.guarantee import Guarantee
from unbribable.decision.price import Price
from unbribable.decision.recommend import Recommendation
from unbribable.say.assumptions import rests_on
from unbribable.say.counting import ROUNDS, Counting
from unbribable.say.guarantee import whole, why_void
from unbribable.say.notes import detection
from unbribable.say.price import sentence


def account(
    best: Recommendation | None,
    price: Price | None,
    detected: Detected | None,
    basis: Basis | None,
    names: Sequence[str] = (),
    counting: Counting = ROUNDS,
) -> str:
    """What is guaranteed, the price of a bribe, what was detected, and what was assumed: paragraphs.

    Args:
        best: What is recommended; None without a reading.
        price: Where something is guaranteed.
        detected: Where corruption was.
        basis: What it all rests on.
        names: What the coordinates are called, if they have names.
        counting: How rounds are numbered.
    """
    if best is None:
        return why_void(Guarantee(void=NoReading()))
    paragraphs = [whole(best, counting)]
    if price is not None:
        paragraphs.append(sentence(price, counting))
    if detected is not None:
        paragraphs.append(detection(detected, counting))
    fit = None if basis is None else basis.fit
    is_said = best.regret_bound is not None and fit is not None and bool(fit.fitted)
    assumed = rests_on(basis, names, has_origin=not is_said)
    return "\n".join([*paragraphs, f"Assumed: {assumed}"])
