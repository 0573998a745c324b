"""What the sampler says about a study: the parameters to use, and which trials to doubt."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from optuna.trial import FrozenTrial

from unbribable.decision.recommend import Level, Recommendation
from unbribable.decision.suspects import Suspect
from unbribable.integrations.optuna_history import value_of
from unbribable.model.checks import LARGEST_READING


@dataclass(frozen=True)
class StudyRecommendation:
    """The parameters to use, what is certain about them, and what Optuna alone would say.

    Values and bounds are in the units of the objective.
    """

    params: dict[str, Any]
    """The parameters to use; those outside the search space (conditional ones) are not among them."""
    lower: float | None
    """The objective is at least that at these parameters (where guaranteed); None if the trials
    contradict the assumptions."""
    upper: float | None
    """And at most that; None in the same case."""
    regret_bound: float | None
    """The best one is better by at most that. None where nothing is guaranteed."""
    between_candidates: float
    """By how much more the objective may be better between the points compared."""
    probability: float | None
    """With which all that holds, at least; None where nothing is guaranteed."""
    guarantee: str
    """The guarantee, or why there is none, in words."""
    assumptions: str
    """What the guarantee rests on, in words."""
    levels: tuple[Level, ...]
    """For corruption="unknown": the bound on the regret at every level of corruption."""
    naive_number: int
    """The trial with the best value told, Optuna's `best_trial`: a lie is enough to become it."""
    naive_params: dict[str, Any]
    """Its parameters."""
    naive_value: float
    """Its value."""
    n_trials: int
    """Complete trials that were learned."""

    @classmethod
    def of(
        cls,
        best: Recommendation,
        assumptions: str,
        params: dict[str, Any],
        naive: FrozenTrial,
        n_trials: int,
    ) -> "StudyRecommendation":
        """From the advice of an engine and Optuna's best trial."""
        return cls(
            params=params,
            lower=best.lower,
            upper=best.upper,
            regret_bound=best.regret_bound,
            between_candidates=best.between_candidates,
            probability=best.probability,
            guarantee=best.guarantee,
            assumptions=assumptions,
            levels=best.levels,
            naive_number=naive.number,
            naive_params=dict(naive.params),
            naive_value=value_of(naive),
            n_trials=n_trials,
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


@dataclass(frozen=True)
class StudySuspect:
    """A trial, what the others predict in its place, and what speaks against it: see Suspect."""

    number: int
    """Of the trial."""
    params: dict[str, Any]
    """Of the trial, all of them."""
    y: float
    """The value told."""
    expected: float
    """What the other trials predict here; NaN for an infinite value, which is compared with nothing."""
    sd: float
    """Standard deviation of y around it, honest noise included."""
    residual: float
    """y - expected."""
    score: float
    """|residual| / sd."""
    instance: str | None
    """The instance that learned from it, None if nobody did."""
    is_flagged: bool
    """Heuristic verdict, or certain."""
    is_certain: bool
    """Whether it is corrupted for certain, under the assumptions."""
    evidence: tuple[str, ...]
    """What speaks against it, in words with numbers; empty unless flagged."""

    @classmethod
    def of(cls, suspect: Suspect, trial: FrozenTrial) -> "StudySuspect":
        """From a reading that an engine doubts."""
        return cls(
            number=trial.number,
            params=dict(trial.params),
            y=suspect.y,
            expected=suspect.expected,
            sd=suspect.sd,
            residual=suspect.residual,
            score=suspect.score,
            instance=suspect.instance,
            is_flagged=suspect.is_flagged,
            is_certain=suspect.is_certain,
            evidence=suspect.evidence,
        )

    @classmethod
    def infinite(cls, trial: FrozenTrial) -> "StudySuspect":
        """A value that no function and no noise can have; nobody learned it."""
        y = value_of(trial)
        what = f"beyond +-{LARGEST_READING:g}" if math.isfinite(y) else "not finite"
        return cls(
            number=trial.number,
            params=dict(trial.params),
            y=y,
            expected=math.nan,
            sd=math.nan,
            residual=y,
            score=math.inf,
            instance=None,
            is_flagged=True,
            is_certain=True,
            evidence=(f"{y} is {what}, and was not learned",),
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def study_suspects(
    doubted: Sequence[Suspect], complete: Sequence[FrozenTrial]
) -> tuple[StudySuspect, ...]:
    """The readings that an engine doubts as trials, after those with infinite values."""
    by_number = {trial.number: trial for trial in complete}
    return (
        *(
            StudySuspect.infinite(trial)
            for trial in complete
            if not abs(value_of(trial)) <= LARGEST_READING
        ),
        *(StudySuspect.of(suspect, by_number[suspect.t - 1]) for suspect in doubted),
    )
