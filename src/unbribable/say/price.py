"""The price of a bribe in words: how much lying it takes before another point is the better one."""

import math
from dataclasses import fields
from typing import Any

from unbribable.decision.price import Price
from unbribable.say.conditions import supposition
from unbribable.say.counting import ROUNDS, Counting
from unbribable.say.guarantee import between, why_void

N_NAMED = 10
"""Rounds that the cheapest bribe names, at most."""


def price(found: Price, counting: Counting = ROUNDS) -> str:
    """All that there is to say of it."""
    if found.promise.void is not None:
        return why_void(found.promise, counting)
    parts = [sentence(found, counting), _without_cap(found)]
    if found.has_other and found.value is not None and found.n_compared is not None:
        parts.append(between(found.between_candidates))
    parts.append(_bribe(found, counting))
    if found.held_by is not None:
        label, n = found.held_by
        held = "the one reading" if n == 1 else f"the {n} readings"
        parts.append(f"All this is about {held} that {label} holds, and about lies in them alone.")
    return " ".join(filter(None, parts))


def sentence(found: Price, counting: Counting = ROUNDS) -> str:
    """What is certain, and with which probability; or why there is no price."""
    if found.promise.void is not None:
        return why_void(found.promise, counting)
    if not found.has_other:
        return "There is no other point that could be better."
    other = "another point"
    if found.n_compared is not None:
        other = f"another of the {found.n_compared} candidates"
    eps = f"{found.eps:.4g}"
    share = "" if found.share is None else f"{100.0 * found.share:g} % of the range read"
    if found.value is None:
        return (
            f"Whether {other} is better by more than {eps}{f' ({share})' if share else ''} is open even "
            f"if nobody lied: noise and too few readings leave {found.least_eps:.4g} open."
        )
    by = f"{eps}, {share}" if share else eps
    clause = supposition(found.promise.conditions)
    sure = f"with probability at least {found.probability:.4g}" + (f" if {clause}" if clause else "")
    if math.isinf(found.value):
        size = "any amount" if found.is_clipped else f"as much as {found.cap:.4g} (c_max)"
        return (
            f"Even if every reading were off by {size}, {other} could not be better by more than {by} "
            f"({sure})."
        )
    least = _least(found)
    return (
        f"Lies totalling less than {least:.4g}{_in_readings(least, found.spread)} could not have made "
        f"{other} better by more than {by} ({sure})."
    )


def to_dict(found: Price, counting: Counting = ROUNDS) -> dict[str, Any]:
    """As JSON-able data with its words, without the point; None for what has no limit."""
    left_out = ("x", "index", "promise", "cheapest", "spread", "has_other", "is_clipped", "held_by")
    plain = {each.name: getattr(found, each.name) for each in fields(found)}
    plain = {name: value for name, value in plain.items() if name not in left_out}
    plain |= {"bribe": found.bribe}
    plain = {name: None if value == math.inf else value for name, value in plain.items()}
    return {
        **plain,
        "lies": {str(counting.number(t)): lie for t, lie in found.lies.items()},
        "words": price(found, counting),
        "sentence": sentence(found, counting),
    }


def _least(found: Price) -> float:
    """The total that needs no cap: where readings are clipped no lie counts for more, however large."""
    least = found.value if found.is_clipped else found.without_cap
    assert least is not None
    return least


def _without_cap(found: Price) -> str:
    """How much of it rests on c_max."""
    if not found.has_other or found.value is None or found.without_cap is None:
        return ""
    if math.isinf(found.value):
        if found.is_clipped or math.isinf(found.without_cap):
            return ""
        total = f"{found.without_cap:.4g}"
        return f"This rests on that cap: without it, lies totalling {total} leave it open."
    if _least(found) < found.value and found.value > found.cap:
        return f"If no single lie exceeds {found.cap:.4g} (c_max): less than {found.value:.4g}."
    return ""


def _in_readings(value: float, spread: float) -> str:
    """A total, which may all be in one reading, as a number of wholly wrong readings; in brackets."""
    if spread <= 0.0:
        return ""
    n = value / spread
    if n < 1.5:
        return f" (one reading off by {100.0 * n:.3g} % of the whole range)"
    many = "one reading" if n < 2.0 else f"{math.floor(n)} readings"
    return f" ({many} off by the whole range)"


def _bribe(found: Price, counting: Counting) -> str:
    """The cheapest bribe, where the point that it lifts is not as good as the first one anyway."""
    bribe = found.cheapest
    if bribe is None or bribe.gap is None:
        return ""
    if math.isinf(bribe.value):
        return "No lies of at most c_max each would have changed which point looks best."
    if found.eps is None or bribe.gap <= found.eps:
        return ""
    rounds = list(bribe.lies)
    which = f"the reading of {counting.one(rounds[0])}"
    if len(rounds) > 1:
        which = f"{len(rounds)} readings ({counting.several(rounds, N_NAMED)})"
    return (
        f"Had {which} been told differently, by {bribe.value:.4g} in all, another point would look "
        "best. In hindsight only: other values would have led to other points."
    )
