"""What an audit found, in a few lines: what looks false, what to use, what is proven, what to do."""

from collections.abc import Sequence

from unbribable.decision.proven.lying import Proof
from unbribable.decision.proven.price import Price
from unbribable.decision.recommend import Recommendation
from unbribable.doubt.suspect import Suspect
from unbribable.extras import missing
from unbribable.say.answer import BestReading
from unbribable.say.counting import Counting
from unbribable.say.price import sentence
from unbribable.say.proof import of, total
from unbribable.say.reasons import evidence
from unbribable.say.recommendation import lines as recommended
from unbribable.say.words import point, wrapped

N_SHOWN = 10
"""Suspicious readings that a summary lists, at most."""

SOLVER = (
    "How much lying there must have been was not worked out: "
    f"{missing('that needs', 'clarabel', 'audit')}"
)
"""Said in place of a proof where the solver is not installed."""


def verdict(n_false: int, n_readings: int, target: str) -> str:
    """How many readings look false."""
    of_all = f"of the {n_readings} readings of {target}"
    if not n_false:
        return f"None {of_all} looks false."
    return f"{n_false} {of_all} look{'s' * (n_false == 1)} false."


def doubts(values: Sequence[float], n_false: int) -> list[str]:
    """What speaks against relying on an audit of these readings, so many of which look false."""
    said = []
    if len(set(values)) == 1:
        said.append(f"All readings are {values[0]:g}: there is nothing to compare.")
    if n_false > len(values) / 4:
        said.append(
            "More than a quarter of the readings look false. That many flags speak against the model "
            "rather than against the readings: a parameter may be missing from the table, or the noise "
            "is larger than assumed."
        )
    return said


def lying(proof: Proof | None) -> str:
    """How much lying there must have been."""
    return SOLVER if proof is None else total(proof)


def against(suspect: Suspect, proof: Proof | None, counting: Counting) -> list[str]:
    """What speaks against a reading, and what is proven of it."""
    proven = "" if proof is None else of(proof, suspect.t)
    return [*evidence(suspect, counting), *([proven] if proven else [])]


def summary(
    head: str,
    flagged: Sequence[Suspect],
    proof: Proof | None,
    best: Recommendation,
    naive: BestReading,
    price: Price,
    notes: Sequence[str],
    counting: Counting,
) -> str:
    """The lines.

    Args:
        head: The verdict.
        flagged: The readings that look false, the most suspicious first.
        proof: What is proven of the lies; None where the solver is not installed.
        best: What to use.
        naive: What believing every reading comes to.
        price: What it would take to change the answer.
        notes: What was left out, and what speaks against relying on it.
        counting: What a reading is called, and where it stands.
    """
    lines = [head]
    for each in flagged[:N_SHOWN]:
        where = point(each.x, each.params)
        lines += wrapped(f"{counting.one(each.t)}: {each.y:.4g} at {where}", 2)
        for reason in against(each, proof, counting):
            lines += wrapped(reason, 4)
    if len(flagged) > N_SHOWN:
        lines.append(f"  and {len(flagged) - N_SHOWN} more, see suspects")
    lines += recommended(best)
    doubt = ", which looks false" if naive.t in {each.t for each in flagged} else ""
    for text in (
        f"best reading: {naive.y:.4g} at {naive.where}, {counting.one(naive.t)}{doubt}",
        lying(proof),
        sentence(price, counting),
        *notes,
    ):
        lines += wrapped(text)
    return "\n".join(lines)
