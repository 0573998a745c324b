"""What is guaranteed in a study of Optuna, and what else there is to know before relying on it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from unbribable.decision.recommend import Recommendation
from unbribable.say.counting import TRIALS
from unbribable.say.guarantee import whole

N_INFINITE = 5
"""Trials without a finite value that the guarantee names, at most."""


@dataclass(frozen=True)
class StudyFacts:
    """What a study has that a run of ours has not."""

    is_constrained: bool = False
    """Whether trials have constraints."""
    conditional: Mapping[str, Any] = field(default_factory=dict)
    """Parameters outside the search space, as in the nearest trial."""
    infinite: tuple[int, ...] = ()
    """Rounds whose values are infinite or too large to be learned."""


def guaranteed(best: Recommendation, around: StudyFacts) -> str:
    """The guarantee of a study."""
    parts = []
    if around.is_constrained:
        parts.append(
            "The point is that of a trial whose constraints are met, as told: that is not guaranteed, "
            "and the points compared with it need not meet them."
        )
    parts += [
        f"{name} is outside the search space, since not all trials have it: its effect counts as noise; "
        f"the nearest trial had {value!r}."
        for name, value in around.conditional.items()
    ]
    parts.append(whole(best, TRIALS))
    if around.infinite:
        which = TRIALS.several(around.infinite, N_INFINITE)
        parts.append(
            f"{which[0].upper()}{which[1:]} returned no finite value: what they would have read is "
            "missing because of what they returned. If that had nothing to do with the value, say so "
            "with retract(study, number, reason, unrelated_to_value=True)."
        )
    return " ".join(parts)
