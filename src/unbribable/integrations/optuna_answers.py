"""The answer and the doubts of the decision floor, with Optuna's numbers beside them."""

import math
import re
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from optuna.trial import FrozenTrial

from unbribable.decision.recommend import Recommendation
from unbribable.decision.suspects import Suspect
from unbribable.integrations.optuna_terms import value_of
from unbribable.model.checks import LARGEST_READING
from unbribable.practice import space as named
from unbribable.practice.engine import Engine
from unbribable.practice.result import Result, Trial


def by_trial(words: str) -> str:
    """Words that count rounds from 1, with Optuna's numbers in their place."""
    words = re.sub(r"\bround (\d+)", lambda found: f"trial {int(found[1]) - 1}", words)
    return re.sub(
        r"\breadings \[([\d, ]+)\]",
        lambda found: f"the values of trials {[int(t) - 1 for t in found[1].split(',')]}",
        words,
    )


def as_result(engine: Engine, space: named.Space) -> Result:
    """What an engine was told, as a result of `maximize` that does not follow it any further."""
    own, found = engine.copied(), {}
    for t, u in own.failed.items():
        x = own.x_of(u)
        found[t] = Trial(t, x, space.shown(x), None, None, error="no value")
    for each in own.told:
        x, is_given = own.x_of(each.u), each.chosen_by == "user"
        found[each.t] = Trial(each.t, x, space.shown(x), each.y, each.drawn, is_given)
    return Result(space, own, [found[t] for t in sorted(found)])


@dataclass(frozen=True, eq=False, kw_only=True)
class StudyRecommendation(Recommendation):
    """The parameters to use, what is certain about them, and what Optuna alone would say.

    Values and bounds are in the units of the objective; `params` lacks what is outside the search space
    (conditional parameters).
    """

    assumptions: str
    """What the guarantee rests on, in words."""
    naive_number: int
    """The trial with the best value told, Optuna's `best_trial`: a lie is enough to become it."""
    naive_params: dict[str, Any]
    naive_value: float
    n_trials: int
    """Complete trials that were learned."""

    def to_dict(self) -> dict[str, Any]:
        """As plain data, without the encoded point."""
        return {name: value for name, value in asdict(self).items() if name not in ("x", "index")}


@dataclass(frozen=True, eq=False)
class StudySuspect(Suspect):
    """A trial, what the others predict in its place, and what speaks against it."""

    @property
    def number(self) -> int:
        """Of the trial, as Optuna counts."""
        return self.t - 1

    @classmethod
    def infinite(cls, trial: FrozenTrial) -> "StudySuspect":
        """A value that no function and no noise can have; nobody learned it."""
        y = value_of(trial)
        what = f"beyond +-{LARGEST_READING:g}" if math.isfinite(y) else "not finite"
        return cls(
            t=trial.number + 1,
            x=np.array([]),
            y=y,
            expected=math.nan,
            sd=math.nan,
            residual=y,
            score=math.inf,
            instance=None,
            is_flagged=True,
            is_certain=True,
            evidence=(f"{y} is {what}, and was not learned",),
            params=dict(trial.params),
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain data, by Optuna's number, without the encoded point."""
        plain = {name: value for name, value in asdict(self).items() if name not in ("t", "x")}
        return {"number": self.number, **plain, "evidence": list(self.evidence)}
