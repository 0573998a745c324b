"""What a study was started with: written into it once, and compared ever after."""

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from optuna.distributions import BaseDistribution, distribution_to_json, json_to_distribution
from optuna.study import Study
from optuna.trial import TrialState

from unbribable.decision.draws import Seed
from unbribable.integrations.optuna_storage import all_trials, set_study_attr, study_attr
from unbribable.practice.plan import UNKNOWN, Plan
from unbribable.theory.budgets import fast_slow_probabilities, layer_probabilities

FORMAT = 1
BEFORE, AFTER = "before", "after"

SMALLEST_SECRET = 2**64
"""With reveal="after" the seed must be at least that: smaller ones can be tried out."""

MAX_WAIT = 5
"""Seconds to wait at most for another process to start a study."""

GIVEN_AWAY = "with assumptions= and no explore= the point of a trial gives it away"
"""Why reveal="after" does not hide a draw: each instance chooses its own point, as anybody can work out
from the trials before. A scout chooses the same point whatever was drawn."""

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

        None where a fit decides about the shares (Fast-Slow).
        """
        if self.plan.known_or_zero is not None:
            if self.plan.assumptions is None:
                return None
            return self.seed.choose(number + 1, fast_slow_probabilities(self.plan.known_or_zero))
        if self.plan.corruption == UNKNOWN:
            return self.seed.choose(number + 1, layer_probabilities(self.plan.n_rounds))
        return "main"

    def label(self, value: Any) -> str | None:
        """A stored instance; None if there is none by that name (stored under other terms)."""
        if self.plan.known_or_zero is not None:
            labels = ["slow", "fast"]
        elif self.plan.corruption == UNKNOWN:
            labels = [label for label, _ in layer_probabilities(self.plan.n_rounds)]
        else:
            labels = ["main"]
        return value if value in labels else None

    @property
    def seen_by_readers(self) -> str | None:
        """Why those who read the storage while a trial runs know its draw, in words; None if not so."""
        if self.plan.known_or_zero is None and self.plan.corruption != UNKNOWN:
            return None
        if self.reveal == BEFORE:
            return "with reveal='before' the storage holds it"
        return GIVEN_AWAY if self.plan.explore is None else None

    def to_plain(self) -> dict[str, Any]:
        """As JSON-able data; the seed itself only where it need not be secret."""
        plain: dict[str, Any] = {"format": FORMAT, "reveal": self.reveal}
        plain["plan"] = self.plan.to_plain()
        if self.reveal == BEFORE:
            plain["seed"] = self.seed.to_plain()
        else:
            plain["seed_sha256"] = digest(self.seed)
        plain["search_space"] = None
        if self.search_space is not None:
            plain["search_space"] = {
                name: distribution_to_json(each) for name, each in sorted(self.search_space.items())
            }
        back: dict[str, Any] = json.loads(json.dumps(plain))
        return back

    @classmethod
    def from_plain(cls, plain: Any, seed: Seed | None = None) -> "Terms":
        """Back from `to_plain`; with the seed, which must be given where it is not among the data."""
        check_format(plain)
        space = plain["search_space"]
        terms = cls(
            plan=Plan.from_plain(plain["plan"]),
            seed=stored_seed(plain) if seed is None else seed,
            reveal=plain["reveal"],
            search_space=None
            if space is None
            else {name: json_to_distribution(each) for name, each in space.items()},
        )
        check_same(plain, terms)
        return terms


def agreed(study: Study, mine: Terms, *, is_seed_given: bool, writes: bool) -> Terms:
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
        set_study_attr(study, mine.to_plain())
        stored = study_attr(study)
    check_format(stored)
    if not is_seed_given and "seed" in stored:
        mine = replace(mine, seed=Seed.from_plain(stored["seed"]))
    is_free = not writes and stored["search_space"] is None  # whoever looks may say where
    check_same(stored, replace(mine, search_space=None) if is_free else mine)
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


def digest(seed: Seed) -> str:
    """By which a secret seed is recognised."""
    return hashlib.sha256(json.dumps(["unbribable", seed.to_plain()]).encode()).hexdigest()


def stored_seed(plain: Any) -> Seed:
    """The seed among the data of a study."""
    if "seed" not in plain:
        raise ValueError(
            "seed must be given, the one the study was started with: with reveal='after' it is not "
            "stored, got seed=None"
        )
    return Seed.from_plain(plain["seed"])


def check_format(plain: Any) -> None:
    """Refuse what a later version has written."""
    if plain["format"] != FORMAT:
        raise ValueError(
            f"the study's format must be {FORMAT}, got {plain['format']!r}: it was started by another "
            "version of unbribable, go on with that one"
        )


def check_same(plain: Any, terms: Terms) -> None:
    """Refuse terms other than the stored ones, by the first word that differs."""
    check_format(plain)
    mine = terms.to_plain()
    old, new = ({**each, **each["plan"]} for each in (plain, mine))
    for key in [*mine["plan"], "reveal", "search_space", "seed", "seed_sha256"]:
        if old.get(key) != new.get(key):
            word = _WORDS.get(key, key)
            values = f", {word}={old.get(key)!r}, got {word}={new.get(key)!r}"
            if word == "seed":
                values = ", got another one"  # messages end up in logs, and it is secret
            raise ValueError(
                f"{word} must be what the study was started with{values}; go on with the same arguments "
                "(UnbribableSampler.from_study gives them), or begin another study"
            )
