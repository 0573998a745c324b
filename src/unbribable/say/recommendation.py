"""A recommendation in lines: the point, the value to expect there, the worst case, and if what."""

from typing import Any

from unbribable.decision.proven.conditions import (
    Condition,
    Corrected,
    FitIsRight,
    InRange,
    NoReading,
    OwnNoise,
)
from unbribable.decision.proven.guarantee import Guarantee
from unbribable.decision.recommend import Recommendation
from unbribable.say.conditions import is_corrected, supposition
from unbribable.say.counting import ROUNDS, Counting
from unbribable.say.guarantee import reason, supposed, whole, why_void
from unbribable.say.remarks import caution, in_short
from unbribable.say.words import WIDTH, plus_minus, point, wrapped

WIDE = "wider than all honest readings"
"""What is said of an interval that is."""


def lines(
    best: Recommendation, n_use: int = 3, n_remarks: int = 2, *, has_needs: bool = True
) -> list[str]:
    """A recommendation in lines of at most `words.WIDTH` characters.

    Args:
        best: The recommendation.
        n_use: Lines for the point, at most.
        n_remarks: Remarks, at most.
        has_needs: Whether to say how many false readings it would take for f(x) to be clearly worse.
    """
    found = wrapped(f"use {point(best.x, best.params)}", most=n_use)
    if best.estimate is not None and best.estimate_sd is not None:
        n = "the one reading" if best.n_honest == 1 else f"the {best.n_honest} readings"
        which = f"{n} that look{'s' * (best.n_honest == 1)} honest"
        which = "all readings" if best.n_honest is None else which
        expected = plus_minus(best.estimate, best.estimate_sd)
        less = ", less their offsets" if is_corrected(best.promise.conditions) else ""
        said = f"expected value: {expected} (an estimate from {which}{less}"
        more = f"{said}; {outvoted(best)})"
        is_said = outvoted(best) and len(more) + 2 <= WIDTH  # a short fact, where there is room
        found += wrapped(more if is_said else f"{said})", 2, 1)
    for text, most in [
        (" ".join(caution(each) for each in best.cautions), 2),
        (worst(best), None),  # a condition is never cut
        (needs(best) if has_needs else "", None),
        *((in_short(each), 1) for each in best.remarks[:n_remarks]),
    ]:
        found += wrapped(text, 2, most)
    return found


def spoken(best: Recommendation | None, counting: Counting = ROUNDS) -> dict[str, Any]:
    """Its words by their kind, for machines that show them; why there are none without a reading."""
    if best is None:
        nothing = why_void(Guarantee(void=NoReading()))
        return {"caution": None, "remarks": None, "supposed": None, "guarantee": nothing}
    return {
        "caution": " ".join(caution(each) for each in best.cautions),
        "remarks": [in_short(each) for each in best.remarks],
        "supposed": supposed(best.promise),
        "guarantee": whole(best, counting),
    }


def worst(best: Recommendation) -> str:
    """The worst case and if what it holds."""
    if best.lower is None:
        return f"worst case: none, {reason(best.promise.void)}"
    ends = f"{best.lower:.4g} to {best.upper:.4g}"
    if best.probability is None:
        return f"worst case: {ends}, not guaranteed: {reason(best.promise.void)}"
    rows = {k: (lower, upper) for k, lower, upper in best.by_lies}
    n_lies = best.n_lies
    shown = [] if n_lies is None else sorted({min(rows, default=0), 1, n_lies} & rows.keys())
    clause = supposed(best.promise)
    if len(shown) > 1:
        ends = ", ".join(f"{_lied(k)} {rows[k][0]:.4g} to {rows[k][1]:.4g}" for k in shown)
        clause = premise(best)
    wide = f"{WIDE}, " if best.is_wide else ""
    condition = f" if {clause}" if clause else ""
    return f"worst case: {ends} ({wide}with probability at least {best.probability:.4g}{condition})"


def premise(best: Recommendation) -> str:
    """What it supposes whatever the number of lies: nothing of missing readings."""
    kinds = (FitIsRight, InRange, OwnNoise, Corrected)
    held: list[Condition] = [each for each in best.promise.conditions if isinstance(each, kinds)]
    return supposition(held)


def claim(best: Recommendation, what: str = "f(x)") -> str:
    """That f(x) is clearly worse than the estimate: `f(x) < 1`."""
    assert best.lies is not None
    return f"{what} {'<' if best.lies.units.sign > 0.0 else '>'} {best.clearly_worse:.12g}"


def is_needed_said(best: Recommendation) -> bool:
    """Whether the worst case counts lies, and some number of them admits a clearly worse value."""
    if best.lies is None or None in (best.n_lies, best.lower, best.probability):
        return False
    n = best.n_needed
    return n is not None and n <= best.lies.n_readings


def outvoted(best: Recommendation) -> str:
    """How many lies the readings of the point outvote: fewer than half of them; empty where none.

    Their median is then no further off than an honest one of them.
    """
    n_lies = (best.n_at_point - 1) // 2
    if n_lies < 1 or best.n_flagged_at_point > n_lies:
        return ""
    return f"its {best.n_at_point} readings outvote {n_lies} {'lie' if n_lies == 1 else 'lies'}"


def needs(best: Recommendation, what: str = "f(x)") -> str:
    """How many false readings it would take for f(x) to be clearly worse; empty where it is not said.

    Args:
        best: The recommendation.
        what: What the value is called.
    """
    if not is_needed_said(best):
        return ""
    assert best.lies is not None
    assert best.n_needed is not None
    said, n = claim(best, what), best.n_needed
    if not n:
        return f"{said} is not excluded even if no reading is false"
    readings = f"false reading{'s' * (n > 1)} of {best.lies.n_readings}"
    if n == best.lies.least:
        return f"{said} is not excluded, since there must be {n} {readings}"
    clause = premise(best)
    chance = f"with the same probability{f' if {clause}' if clause else ''}"
    return f"{said} would need at least {n} {readings}, {chance}"


def _lied(k: int) -> str:
    return "nobody lied" if not k else f"{k} lie{'s' * (k > 1)}"
