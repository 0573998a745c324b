"""All that is read from and written to a study beside what Optuna does itself."""

from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

STUDY_KEY = "unbribable"
"""System attribute of a study: what it was started with."""

TRIAL_KEY = "unbribable:instance"
"""System attribute of a trial that the sampler has seen: the instance its draw names, or null where
that is not known."""


def key_of(study: Study) -> tuple[str, int]:
    """Name and number of a study; two studies in memory may share them."""
    return study.study_name, study._study_id


def all_trials(study: Study) -> list[FrozenTrial]:
    """All trials by number, not to be changed; of all brackets, where a pruner has made some."""
    trials: list[FrozenTrial] = study._storage.get_all_trials(study._study_id, deepcopy=False)
    return trials


def study_attr(study: Study) -> Any:
    """What the study holds of ours; None if nothing."""
    return study._storage.get_study_system_attrs(study._study_id).get(STUDY_KEY)


def set_study_attr(study: Study, value: Any) -> None:
    """Write it. The last writer counts."""
    study._storage.set_study_system_attr(study._study_id, STUDY_KEY, value)


def set_trial_attr(study: Study, trial: FrozenTrial, value: str | None) -> None:
    """Write the instance of an unfinished trial."""
    study._storage.set_trial_system_attr(trial._trial_id, TRIAL_KEY, value)


def fail(study: Study, trial: FrozenTrial) -> None:
    """End a trial without a value."""
    study._storage.set_trial_state_values(trial._trial_id, TrialState.FAIL)


def constraints_of(trial: FrozenTrial) -> list[float]:
    """What `set_constraint` or a sampler's constraints_func has stored; met where all are <= 0."""
    attrs = trial.system_attrs
    named = [value for key, value in attrs.items() if key.startswith("constraints:")]
    return [*(attrs.get("constraints") or ()), *named]


def copied_from(trial: FrozenTrial) -> int:
    """The number of the trial that this one repeats after a failure; its own if it repeats none."""
    number: int = trial.system_attrs.get("failed_trial", trial.number)
    return number


def is_chosen_by_user(trial: FrozenTrial) -> bool:
    """Whether the sampler did not propose the point: the trial was enqueued, added, or another's.

    A retried copy keeps the attributes of the trial that it copies, and is what that was.
    """
    return TRIAL_KEY not in trial.system_attrs or "fixed_params" in trial.system_attrs
