"""What a study holds of ours: what it was started with, and who is drawn in each trial."""

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from optuna.distributions import BaseDistribution, distribution_to_json, json_to_distribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from unbribable.decision.draws import Seed
from unbribable.practice.plan import Plan

STUDY_KEY = "unbribable"
"""System attribute of a study: what it was started with."""

TRIAL_KEY = "unbribable:instance"
"""System attribute of a trial that the sampler has seen: the instance its draw names, or null where
that is not known."""

RETRACTED_KEY = "unbribable:retracted:"
"""Beginning of a system attribute of a study, which ends in the number of a trial whose value is taken
out: whether that was stated to be unrelated to the value, and the reason in words."""

FORMAT = 1
BEFORE, AFTER = "before", "after"

SMALLEST_SECRET = 2**64
"""The smallest seed that reveal="after" accepts: smaller ones could be found by trying."""

MAX_WAIT = 5
"""Seconds to wait at most for another process to start a study."""

GIVEN_AWAY = "with assumptions= and no explore= the point of a trial gives it away"
"""Why reveal="after" does not hide a draw: each instance chooses its own point, as anybody can work out
from the trials before. A heuristic chooses the same point whatever was drawn."""

_WORDS = {"n_rounds": "n_trials", "seed_sha256": "seed"}
"""Names of a plan for which the sampler has another word."""


@dataclass(frozen=True)
class Terms:
    """How a study is to be done. All of its processes have to agree on it."""

    plan: Plan
    seed: Seed
    reveal: str = BEFORE
    search_space: Mapping[str, BaseDistribution] | None = None

    def drawn(self, number: int) -> str | None:
        """The instance that the draw of a trial names: a function of the seed and its number.

        None where the probabilities depend on a fit (Fast-Slow).
        """
        return self.plan.drawn(self.seed, number + 1)

    def stored(self, trial: FrozenTrial) -> str | None:
        """The instance stored in a trial; None if there is none by that name (under other terms)."""
        label = trial.system_attrs.get(TRIAL_KEY)
        return label if label in self.plan.labels else None

    @property
    def seen_by_readers(self) -> str | None:
        """Why those who read the storage while a trial runs know its draw, in words; None if not so."""
        if not self.plan.is_drawn:
            return None
        if self.reveal == BEFORE:
            return "with reveal='before' the storage holds it"
        return GIVEN_AWAY if self.plan.explore is None else None

    def to_plain(self) -> dict[str, Any]:
        """JSON-able; the seed itself only where it need not be secret."""
        seed, is_open, space = self.seed.to_plain(), self.reveal == BEFORE, self.search_space
        digest = hashlib.sha256(json.dumps(["unbribable", seed]).encode()).hexdigest()
        plain = {
            "format": FORMAT,
            "reveal": self.reveal,
            "plan": self.plan.to_plain(),
            **({"seed": seed} if is_open else {"seed_sha256": digest}),
            "search_space": None
            if space is None
            else {name: distribution_to_json(each) for name, each in space.items()},
        }
        back: dict[str, Any] = json.loads(json.dumps(plain))
        return back

    @classmethod
    def from_plain(cls, plain: Any, seed: Seed | None = None) -> "Terms":
        """Back from `to_plain`; the seed must be given where it is not among the data."""
        check_format(plain)
        if seed is None and "seed" not in plain:
            raise ValueError(
                "seed must be given, the one the study was started with: with reveal='after' it is not "
                "stored, got seed=None"
            )
        space = plain["search_space"]
        terms = cls(
            plan=Plan.from_plain(plain["plan"]),
            seed=Seed.from_plain(plain["seed"]) if seed is None else seed,
            reveal=plain["reveal"],
            search_space=None
            if space is None
            else {name: json_to_distribution(each) for name, each in space.items()},
        )
        terms.check_same(plain)
        return terms

    def check_same(self, plain: Any) -> None:
        """Refuse stored terms that are not these, by the first word that differs."""
        check_format(plain)
        mine = self.to_plain()
        old, new = ({**each, **Plan.whole(each["plan"])} for each in (plain, mine))
        for key in [*mine["plan"], "reveal", "search_space", "seed", "seed_sha256"]:
            if old.get(key) != new.get(key):
                word = _WORDS.get(key, key)
                values = f", {word}={old.get(key)!r}, got {word}={new.get(key)!r}"
                if word == "seed":
                    values = ", got another one"  # messages end up in logs, and it is secret
                raise ValueError(
                    f"{word} must be what the study was started with{values}; go on with the same "
                    "arguments (UnbribableSampler.from_study gives them), or begin another study"
                )


def agree(study: Study, mine: Terms, *, is_seed_given: bool, writes: bool) -> Terms:
    """The terms of a study: ours, if it has none or the same.

    Args:
        study: The study.
        mine: In any direction: the study says in which. If the study has no search space and nothing
            is to be written, in any search space.
        is_seed_given: Else the seed is whichever the study holds, and ours if it holds none.
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
    if not is_seed_given and "seed" in stored:
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


def check_secret(seed: Seed | None) -> None:
    """Refuse a seed that could be found from what it draws."""
    if seed is None:
        raise ValueError(
            "seed must be given with reveal='after', the same to every process, got seed=None"
        )
    parts = (seed.entropy,) if isinstance(seed.entropy, int) else seed.entropy
    if max(parts, default=0) < SMALLEST_SECRET:
        raise ValueError(
            "seed must be at least 2**64 with reveal='after', such as secrets.randbits(128), got a "
            "smaller one, which those who read the storage could find by trying"
        )


def check_format(plain: Any) -> None:
    """Refuse what another version has written."""
    if plain["format"] != FORMAT:
        raise ValueError(
            f"the study's format must be {FORMAT}, got {plain['format']!r}: it was started by another "
            "version of unbribable, go on with that one"
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


def set_trial_attr(study: Study, trial: FrozenTrial, value: str | None) -> None:
    """Write the instance of an unfinished trial."""
    study._storage.set_trial_system_attr(trial._trial_id, TRIAL_KEY, value)


def value_of(trial: FrozenTrial) -> float:
    """The value of a complete trial."""
    assert trial.values is not None
    return float(trial.values[0])


def constraints_of(trial: FrozenTrial) -> list[float]:
    """What `set_constraint` or a sampler's constraints_func has stored; met where all are <= 0."""
    attrs = trial.system_attrs
    named = [value for key, value in attrs.items() if key.startswith("constraints:")]
    return [*(attrs.get("constraints") or ()), *named]
