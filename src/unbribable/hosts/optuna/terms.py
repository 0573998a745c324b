"""What a study holds of ours: what it was started with, and which trials the sampler has seen."""

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from optuna.distributions import BaseDistribution, distribution_to_json, json_to_distribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState, create_trial

from unbribable.decision.asking.draws import Seed
from unbribable.study.constraints import Constraint, from_plain, to_plain
from unbribable.study.plan import LATER, Plan

STUDY_KEY = "unbribable"
"""System attribute of a study: what it was started with."""

TRIAL_KEY = "unbribable:seen"
"""System attribute of a trial that the sampler has seen: true."""

RETRACTED_KEY = "unbribable:retracted:"
"""Beginning of a system attribute of a study, which ends in the number of a trial whose value is taken
out: whether that was stated to be unrelated to the value, and the reason in words."""

AT_KEY = "unbribable:at"
"""System attribute of a trial: parameters that were set to other values than proposed, and to which."""

REPEAT_KEY = "unbribable:may_repeat"
"""System attribute of a trial without a value whose point may be proposed again: true."""
REPLICATE_KEY = "unbribable:replicate_of"
"""System attribute of a trial that is a further reading of another one's point: its number."""

SEM_KEY = "unbribable:sem"
"""User attribute of a trial: the standard deviation of the noise of its value, where it is known."""

FORMAT = 2

MAX_WAIT = 5
"""Seconds to wait at most for another process to start a study."""

_WORDS = {"n_rounds": "n_trials"}
"""Names of a plan for which the sampler has another word."""


@dataclass(frozen=True)
class Terms:
    """How a study is to be done. All of its processes have to agree on it."""

    plan: Plan
    seed: Seed
    search_space: Mapping[str, BaseDistribution] | None = None
    block: str | None = None
    """The user attribute of a trial that says what it was read with; None: none does."""
    constraints: tuple[Constraint, ...] = ()

    def to_plain(self) -> dict[str, Any]:
        """JSON-able."""
        space = self.search_space
        plain = {
            "format": FORMAT,
            "plan": self.plan.to_plain(),
            "seed": self.seed.to_plain(),
            "search_space": None
            if space is None
            else {name: distribution_to_json(each) for name, each in space.items()},
            "block": self.block,
        }
        if self.constraints:
            plain["constraints"] = to_plain(self.constraints)
        back: dict[str, Any] = json.loads(json.dumps(plain))
        return back

    @classmethod
    def from_plain(cls, plain: Any, constraints: Iterable[Constraint] = ()) -> "Terms":
        """Back from `to_plain`; constraints that are functions have to be given."""
        check_format(plain)
        space = plain["search_space"]
        return cls(
            plan=Plan.from_plain(plain["plan"]),
            seed=Seed.from_plain(plain["seed"]),
            search_space=None
            if space is None
            else {name: json_to_distribution(each) for name, each in space.items()},
            constraints=from_plain(plain.get("constraints"), constraints),
            block=plain.get("block"),
        )

    def check_same(self, plain: Any) -> None:
        """Refuse stored terms that are not these, by the first word that differs."""
        check_format(plain)
        mine = self.to_plain()
        old, new = ({**LATER, **each, **each["plan"]} for each in (plain, mine))
        for key in [*mine["plan"], "search_space", "block", "constraints", "seed"]:
            if old.get(key) != new.get(key):
                word = _WORDS.get(key, key)
                raise ValueError(
                    f"{word} must be what the study was started with, {word}={old.get(key)!r}, got "
                    f"{word}={new.get(key)!r}; go on with the same arguments "
                    "(UnbribableSampler.from_study gives them), or begin another study"
                )


def agree(study: Study, mine: Terms, *, is_seed_given: bool, writes: bool) -> Terms:
    """The terms of a study: ours, if it has none or the same.

    Args:
        study: The study.
        mine: In any direction: the study says in which. If the study has no search space and nothing
            is to be written, in any search space.
        is_seed_given: Else the seed is the one that the study holds.
        writes: Whether to write ours if it has none.

    Raises:
        ValueError: The study has other terms, or several objectives.
    """
    if len(study.directions) != 1:
        raise ValueError(
            f"the study must have one objective for this sampler, got {len(study.directions)}"
        )
    direction = study.directions[0].name.lower()
    mine = replace(mine, plan=replace(mine.plan, direction=direction))
    stored = study_attr(study)
    if stored is None:
        if not writes:
            return mine
        study._storage.set_study_system_attr(study._study_id, STUDY_KEY, mine.to_plain())
        stored = study_attr(study)
    check_format(stored)
    if not is_seed_given:
        mine = replace(mine, seed=Seed.from_plain(stored["seed"]))
    is_free = not writes and stored["search_space"] is None  # whoever looks may say where
    (replace(mine, search_space=None) if is_free else mine).check_same(stored)
    return mine


def wait_for_starter(study: Study, number: int) -> None:
    """Leave it to the process with the first running trial to choose a seed for a new study.

    Storages cannot write a value only if there is none, but they number the trials. Should that
    process have died, the next one chooses after a second.
    """
    if study_attr(study) is not None:
        return
    ahead = sum(
        trial.state == TrialState.RUNNING and trial.number < number for trial in all_trials(study)
    )
    deadline = time.monotonic() + min(ahead, MAX_WAIT)
    while study_attr(study) is None and time.monotonic() < deadline:
        time.sleep(0.02)


def check_format(plain: Any) -> None:
    """Refuse what another version has written."""
    if plain["format"] != FORMAT:
        raise ValueError(
            f"the study's format must be {FORMAT}, got {plain['format']!r}: it was started by another "
            "version of unbribable; go on with that one, or begin another study and add its trials "
            "(study.add_trials)"
        )


# --- what Optuna's storage says beside that -----------------------------------------------------


def all_trials(study: Study) -> list[FrozenTrial]:
    """All trials by number, not to be changed; of all brackets, where a pruner has made some."""
    trials: list[FrozenTrial] = study._storage.get_all_trials(study._study_id, deepcopy=False)
    return trials


def study_attr(study: Study) -> Any:
    """What the study holds of ours; None if nothing."""
    return study._storage.get_study_system_attrs(study._study_id).get(STUDY_KEY)


def retracted_of(study: Study) -> dict[int, bool]:
    """Number of a trial that was retracted -> whether for a reason unrelated to its value."""
    attrs = study._storage.get_study_system_attrs(study._study_id)
    return {
        int(key.removeprefix(RETRACTED_KEY)): value["unrelated_to_value"]
        for key, value in attrs.items()
        if key.startswith(RETRACTED_KEY)
    }


def set_retracted(study: Study, number: int, reason: str, unrelated_to_value: bool) -> None:
    """Write that the value of a trial is taken out."""
    value: dict[str, Any] = {"unrelated_to_value": unrelated_to_value, "reason": reason}
    study._storage.set_study_system_attr(study._study_id, f"{RETRACTED_KEY}{number}", value)


def end(study: Study, trial: FrozenTrial) -> None:
    """End a trial that Optuna has begun, and that nobody else would end."""
    study._storage.set_trial_state_values(trial._trial_id, TrialState.FAIL)


def add_replicate(
    study: Study, trial: FrozenTrial, value: float | None, attrs: Mapping[str, Any]
) -> None:
    """Add a further reading of the point of a trial, as a trial of its own; None: there is none.

    Args:
        study: The study.
        trial: Whose point it is.
        value: The reading.
        attrs: User attributes of the new trial.
    """
    really = {AT_KEY: trial.system_attrs[AT_KEY]} if AT_KEY in trial.system_attrs else {}
    study.add_trial(
        create_trial(
            params=trial.params,
            distributions=trial.distributions,
            value=value,
            state=TrialState.FAIL if value is None else TrialState.COMPLETE,
            system_attrs={TRIAL_KEY: True, REPLICATE_KEY: trial.number, **really},
            user_attrs=dict(attrs),
        )
    )


def mark_seen(study: Study, trial: FrozenTrial) -> None:
    """Write into an unfinished trial that the sampler has seen it."""
    study._storage.set_trial_system_attr(trial._trial_id, TRIAL_KEY, True)


def fixed_of(study: Study, trial: FrozenTrial, space: Mapping[str, BaseDistribution]) -> dict[str, Any]:
    """Values of parameters of the space that are fixed for this trial, where they are possible.

    Those that it was enqueued with, and those of a PartialFixedSampler around ours.
    """
    around = getattr(study.sampler, "_fixed_params", None)
    fixed = {**(around or {}), **(trial.system_attrs.get("fixed_params") or {})}
    return {name: value for name, value in fixed.items() if name in space and is_in(space[name], value)}


def is_in(distribution: BaseDistribution, value: Any) -> bool:
    """Whether a distribution has a value."""
    try:
        return bool(distribution._contains(distribution.to_internal_repr(value)))
    except (TypeError, ValueError):
        return False


def set_read_at(study: Study, number: int, params: Mapping[str, Any]) -> None:
    """Write into a running trial which of its parameters were really set otherwise."""
    storage = study._storage
    trial_id = storage.get_trial_id_from_study_id_trial_number(study._study_id, number)
    storage.set_trial_system_attr(trial_id, AT_KEY, dict(params))


def set_may_repeat(study: Study, number: int) -> None:
    """Write into a running trial, which will have no value, that its point may be proposed again."""
    storage = study._storage
    trial_id = storage.get_trial_id_from_study_id_trial_number(study._study_id, number)
    storage.set_trial_system_attr(trial_id, REPEAT_KEY, True)


def params_of(trial: FrozenTrial) -> dict[str, Any]:
    """The parameters of a trial as they were really set."""
    return {**trial.params, **trial.system_attrs.get(AT_KEY, {})}


def value_of(trial: FrozenTrial) -> float:
    """The value of a complete trial."""
    assert trial.values is not None
    return float(trial.values[0])


def constraints_of(trial: FrozenTrial) -> list[float]:
    """What `set_constraint` or a sampler's constraints_func has stored; met where all are <= 0."""
    attrs = trial.system_attrs
    named = [value for key, value in attrs.items() if key.startswith("constraints:")]
    return [*(attrs.get("constraints") or ()), *named]
