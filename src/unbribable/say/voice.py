"""A value's own words, where nobody says how a door counts: rounds from 1, and no names."""

from unbribable.decision.left_to_gain import LeftToGain
from unbribable.decision.proven.basis import Basis
from unbribable.decision.proven.conditions import (
    Consistent,
    Detected,
    PastHorizon,
    Pruned,
    Refuted,
    TakenOut,
)
from unbribable.decision.proven.guarantee import Guarantee
from unbribable.decision.proven.hindsight import RegretCertificate
from unbribable.decision.proven.lying import Proof
from unbribable.decision.proven.price import Price
from unbribable.decision.recommend import Level, Recommendation
from unbribable.model.spoken import Spoken
from unbribable.say.assumptions import assumed, rests_on
from unbribable.say.guarantee import bounds, level, regret, whole
from unbribable.say.left_to_gain import lines as left
from unbribable.say.notes import note
from unbribable.say.price import price
from unbribable.say.proof import total
from unbribable.say.recommendation import lines
from unbribable.theory.assumptions import Assumptions


def words(value: Spoken) -> str:
    """What a value prints as."""
    match value:
        case Guarantee():
            return bounds(value)
        case Recommendation():
            return "\n".join(lines(value))
        case RegretCertificate():
            return regret(value)
        case Level():
            return level(value)
        case Price():
            return price(value)
        case Proof():
            return total(value)
        case Basis():
            return rests_on(value, value.names)
        case LeftToGain():
            return "\n".join(left(value))
        case Assumptions():
            return assumed(value)
        case Refuted() | Pruned() | TakenOut() | Detected() | Consistent() | PastHorizon():
            return note(value)
    raise AssertionError(f"a value of no known kind: {value!r}")


def guarantee(value: Spoken) -> str:
    """What is guaranteed of a recommendation, or why nothing is."""
    assert isinstance(value, Recommendation)
    return whole(value)
