"""The answer and the doubts of the decision floor, with Optuna's numbers beside them."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.distributions import CategoricalDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial

from unbribable.decision.proven.basis import Basis
from unbribable.decision.proven.price import Price
from unbribable.decision.recommend import Recommendation
from unbribable.doubt.suspect import Kind, Reason, Suspect
from unbribable.hosts.optuna.space import Space
from unbribable.hosts.optuna.terms import params_of, value_of
from unbribable.model.checks import LARGEST_READING
from unbribable.say.counting import TRIALS
from unbribable.say.price import price as price_words
from unbribable.say.reasons import evidence
from unbribable.say.recommendation import spoken
from unbribable.say.study import StudyFacts, guaranteed
from unbribable.study import space as named
from unbribable.study.engine import Engine
from unbribable.study.result import Result

if TYPE_CHECKING:
    from unbribable.hosts.optuna.sampler import UnbribableSampler

NOTE_KEY = "unbribable:"
"""Beginning of the user attributes of a study that `UnbribableSampler.note` writes."""


def as_result(engine: Engine, space: named.Space) -> Result:
    """What an engine was told, as a result of `maximize` that does not follow it any further."""
    trials = [each for _, each in sorted(engine.log.items()) if each.u is not None]
    shown = [replace(each, params=space.shown(each.x)) for each in trials]
    return Result(space, engine.replayed(engine.log.values()), shown)


def conditional(
    trials: Sequence[FrozenTrial], engine: Engine, space: Space, best: Recommendation
) -> dict[str, Any]:
    """Parameters outside the space, as in the nearest trial learned that has the same choices."""
    by_round = {trial.number + 1: params_of(trial) for trial in trials}
    params, parts = space.decode(best.x), space.distributions
    choices = [name for name in parts if isinstance(parts[name], CategoricalDistribution)]
    alike = [
        each for each in engine.told if all(by_round[each.t][name] == params[name] for name in choices)
    ]
    nearest = min(alike, key=lambda each: float(np.sum((each.u - best.x) ** 2)), default=None)
    found = {} if nearest is None else by_round[nearest.t]
    return {name: value for name, value in found.items() if name not in parts}


def note(sampler: "UnbribableSampler", study: Study) -> None:
    """`UnbribableSampler.note`: the answer, or why there is none, and what to doubt."""
    found: dict[str, Any]
    try:
        best = sampler.recommend(study)
    except RuntimeError as error:  # no trial yet: a callback must not end the study
        found = {"recommended": str(error)}
    else:
        flagged = sampler.suspects(study, flagged_only=True)
        found = {
            "recommended": {**(best.params or {}), **best.conditional},
            "expected": None if best.estimate is None else [best.estimate, best.estimate_sd],
            "worst case": [end if math.isfinite(end) else None for end in best.interval],
            "guarantee": best.guarantee,
            "suspicious": {str(each.number): "; ".join(each.evidence) for each in flagged},
        }
    for key, value in found.items():
        study.set_user_attr(f"{NOTE_KEY}{key}", value)


@dataclass(frozen=True, eq=False, kw_only=True)
class StudyRecommendation(Recommendation):
    """The parameters to use, what is certain about them, and what Optuna alone would say.

    Values and bounds are in the units of the objective; `params` lacks what is outside the search space
    (conditional parameters), for which see `conditional`.
    """

    assumptions: Basis
    """What the guarantee rests on; it prints as words."""
    around: StudyFacts
    """What else there is to know before relying on the guarantee."""
    naive_number: int
    """The trial with the best value told, Optuna's `best_trial`: a lie is enough to become it."""
    naive_params: dict[str, Any]
    naive_value: float
    n_trials: int
    """Complete trials that were learned."""
    conditional: dict[str, Any]
    """Parameters outside the search space, as in the complete trial nearest to `params` of those with
    the same choices: something to run, about which nothing is known."""

    @property
    def guarantee(self) -> str:
        """What is guaranteed, or why nothing is, in words about trials."""
        return guaranteed(self, self.around)

    def to_dict(self) -> dict[str, Any]:
        """As plain data, without the encoded point."""
        left_out = ("x", "index", "lies", "promise", "cautions", "remarks", "around", "assumptions")
        plain = asdict(replace(self, lies=None))
        return {
            **{name: value for name, value in plain.items() if name not in left_out},
            **spoken(self, TRIALS),
            "guarantee": self.guarantee,
            "assumptions": self.assumptions.to_dict(),
            "threat": self.threat,
            "by_lies": [list(row) for row in self.by_lies],
            "n_needed": self.n_needed,
        }


@dataclass(frozen=True, eq=False)
class StudyPrice(Price):
    """A price, in words about trials."""

    @classmethod
    def of(cls, price: Price) -> "StudyPrice":
        """The same."""
        return cls(**vars(price))

    @property
    def lies_by_trial(self) -> dict[int, float]:
        """Trial -> what the cheapest bribe would add to its value."""
        return {TRIALS.number(t): lie for t, lie in self.lies.items()}

    def __str__(self) -> str:
        return price_words(self, TRIALS)


@dataclass(frozen=True, eq=False)
class StudySuspect(Suspect):
    """A trial, what the others predict in its place, and what speaks against it."""

    @property
    def number(self) -> int:
        """Of the trial, as Optuna counts."""
        return TRIALS.number(self.t)

    @classmethod
    def infinite(cls, trial: FrozenTrial) -> "StudySuspect":
        """A value that no function and no noise can have; nobody learned it."""
        y = value_of(trial)
        high = LARGEST_READING if math.isfinite(y) else None
        found = Suspect(
            t=trial.number + 1,
            x=np.array([]),
            y=y,
            expected=math.nan,
            expected_sd=math.nan,
            probability=1.0,
            is_flagged=True,
            is_certain=True,
            reasons=(Reason(Kind.NOT_LEARNABLE, high=high),),
        )
        return cls.of(found, trial)

    @classmethod
    def of(cls, suspect: Suspect, trial: FrozenTrial) -> "StudySuspect":
        """The same with the parameters of its trial, and its reasons in words about trials."""
        words = {"params": params_of(trial), "evidence": evidence(suspect, TRIALS)}
        return cls(**{**vars(suspect), **words})

    def to_dict(self) -> dict[str, Any]:
        """As plain data, by Optuna's number, without the encoded point."""
        plain = super().to_dict()
        for reason in plain["reasons"]:
            reason["trials"] = [TRIALS.number(t) for t in reason.pop("rounds")]
        return {
            "number": self.number,
            **{name: value for name, value in plain.items() if name not in ("t", "x")},
        }
