"""All that there is to say of an answer, for those who ask why."""

from collections.abc import Sequence

from unbribable.decision.proven.basis import Basis
from unbribable.decision.proven.conditions import NoReading
from unbribable.decision.proven.guarantee import Guarantee
from unbribable.decision.proven.price import Price
from unbribable.decision.recommend import Recommendation
from unbribable.say.assumptions import rests_on
from unbribable.say.counting import ROUNDS, Counting
from unbribable.say.guarantee import whole, why_void
from unbribable.say.price import sentence


def account(
    best: Recommendation | None,
    price: Price | None,
    basis: Basis | None,
    names: Sequence[str] = (),
    counting: Counting = ROUNDS,
) -> str:
    """What is guaranteed, the price of a bribe, and what was assumed: a paragraph each.

    Args:
        best: What is recommended; None without a reading.
        price: Where something is guaranteed.
        basis: What it all rests on.
        names: What the coordinates are called, if they have names.
        counting: How rounds are numbered.
    """
    if best is None:
        return why_void(Guarantee(void=NoReading()))
    paragraphs = [whole(best, counting)]
    if price is not None:
        paragraphs.append(sentence(price, counting))
    fit = None if basis is None else basis.fit
    is_said = best.regret_bound is not None and fit is not None and bool(fit.fitted)
    assumed = rests_on(basis, names, has_origin=not is_said)
    return "\n".join([*paragraphs, f"Assumed: {assumed}"])
