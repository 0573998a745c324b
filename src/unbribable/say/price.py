"""The price of a bribe in words: how much lying it takes before another point is the better one."""

import math
from dataclasses import fields
from typing import Any

from unbribable.decision.proven.price import InLies, Price
from unbribable.say.conditions import supposition
from unbribable.say.counting import ROUNDS, Counting
from unbribable.say.guarantee import between, why_void

N_NAMED = 10
"""Rounds that the cheapest bribe names, at most."""


def price(found: Price, counting: Counting = ROUNDS) -> str:
    """All that there is to say of it."""
    if found.promise.void is not None:
        return why_void(found.promise, counting)
    parts = [sentence(found, counting)]
    if found.in_lies is not None and found.value is not None:
        parts.append(_total(found))
    parts.append(_without_cap(found))
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
    other = _other(found)
    if found.in_lies is not None:
        return _number(found, found.in_lies, other)
    if found.value is not None:
        return _total(found)
    return _open(found, "nobody lied", found.least_eps)


def _open(found: Price, only: str, least_eps: float | None) -> str:
    """That there is no price: what noise and too few readings leave open even if only that is false."""
    other, by = _other(found), _by(found, "(")
    if least_eps is None:
        return f"Even if {only}, nothing says by how much {other} could be better."
    return (
        f"Even if {only}, {other} could be better by up to {least_eps:.4g}: there are too few readings "
        f"for a price at {by}."
    )


def _other(found: Price) -> str:
    """Which point could be better."""
    allowed = "allowed " if found.is_constrained else ""
    if found.n_compared is None:
        return f"another {allowed}point"
    return f"another of the {found.n_compared} {allowed}candidates"


def _sure(found: Price) -> str:
    """With which probability, and if what."""
    clause = supposition(found.promise.conditions)
    return f"with probability at least {found.probability:.4g}" + (f" if {clause}" if clause else "")


def _by(found: Price, between: str) -> str:
    """By how much: eps, and which share of the range that is."""
    if found.share is None:
        return f"{found.eps:.4g}"
    share = f"{100.0 * found.share:g} % of the range read"
    return f"{found.eps:.4g}, {share}" if between == "," else f"{found.eps:.4g} ({share})"


def _number(found: Price, lies: InLies, other: str) -> str:
    """By the number of lies."""
    if lies.is_open:
        only = f"only the {lies.least} readings that must be lies are" if lies.least else "nobody lied"
        if lies.least == 1:
            only = "only the one reading that must be a lie is"
        return _open(found, only, lies.left_open)
    return (
        f"At least {lies.n_needed} of the {lies.n_readings} readings would have to be lies, of any "
        f"size, for {other} to be better by more than {_by(found, ',')} ({_sure(found)})."
    )


def _total(found: Price) -> str:
    """By the total of the lies."""
    assert found.value is not None
    assert found.without_cap is not None
    other, by, sure = _other(found), _by(found, ","), _sure(found)
    if math.isinf(found.value):
        return (
            f"Even if every reading were off by as much as {found.cap:.4g} (c_max), {other} could not "
            f"be better by more than {by} ({sure})."
        )
    least = found.without_cap
    return (
        f"Lies totalling less than {least:.4g}{_in_readings(least, found.spread)} could not have made "
        f"{other} better by more than {by} ({sure})."
    )


def to_dict(found: Price, counting: Counting = ROUNDS) -> dict[str, Any]:
    """As JSON-able data with its words, without the point; None for what has no limit."""
    left_out = ("x", "index", "promise", "cheapest", "spread", "has_other", "in_lies", "held_by")
    plain = {each.name: getattr(found, each.name) for each in fields(found)}
    plain = {name: value for name, value in plain.items() if name not in left_out}
    plain |= {"bribe": found.bribe, "n_needed": found.n_needed}
    plain = {name: None if value == math.inf else value for name, value in plain.items()}
    return {
        **plain,
        "lies": {str(counting.number(t)): lie for t, lie in found.lies.items()},
        "words": price(found, counting),
        "sentence": sentence(found, counting),
    }


def _without_cap(found: Price) -> str:
    """How much of it rests on c_max."""
    if not found.has_other or found.value is None or found.without_cap is None:
        return ""
    if math.isinf(found.value):
        if math.isinf(found.without_cap):
            return ""
        total = f"{found.without_cap:.4g}"
        return f"This rests on that cap: without it, lies totalling {total} leave it open."
    if found.without_cap < found.value and found.value > found.cap:
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
    which, by = f"the reading of {counting.one(rounds[0])}", f" by {bribe.value:.4g}"
    if len(rounds) > 1:
        which = f"{len(rounds)} readings ({counting.several(rounds, N_NAMED)})"
        by = f", by {bribe.value:.4g} in all"
    return (
        f"Had {which} been told differently{by}, another point would look best. In hindsight only: "
        "other values would have led to other points."
    )
