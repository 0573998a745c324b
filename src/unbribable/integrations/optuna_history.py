"""Engines that follow the trials of a study."""

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from unbribable.integrations.optuna_space import Space
from unbribable.integrations.optuna_storage import (
    TRIAL_KEY,
    all_trials,
    constraints_of,
    copied_from,
    is_chosen_by_user,
    key_of,
)
from unbribable.integrations.optuna_terms import BEFORE, Terms
from unbribable.model.checks import LARGEST_READING, Floats
from unbribable.practice.engine import Asked, Engine

N_STUDIES = 4
"""Studies whose history a sampler keeps."""

N_ENGINES = 4
"""Search spaces of one study for which an engine is kept."""

NOTHING_SHARED = "the complete trials must have a parameter in common"
TAMPERED = "the instance stored in a trial must be the one that the seed draws, which counts"
UNCONSTRAINED = (
    "constraints do not guide what is proposed; recommend chooses among the trials that meet them"
)


@dataclass(eq=False)
class Follower:
    """Holds changing state: an engine, and which trials it has seen."""

    space: Space
    engine: Engine
    seen: set[int] = field(default_factory=set)

    def catch_up(
        self, complete: Sequence[FrozenTrial], drawn_of: Callable[[FrozenTrial], str | None]
    ) -> dict[str, str]:
        """Tell the engine what is new, by number; returns rules that trials break, with a sentence."""
        broken: dict[str, str] = {}
        for trial in complete:
            if trial.number not in self.seen:
                self.seen.add(trial.number)
                found = self._learn(trial, drawn_of)
                if found is not None:
                    rule, value = found
                    broken.setdefault(rule, f"{rule} to be learned, got {value} in trial {trial.number}")
        return broken

    def _learn(
        self, trial: FrozenTrial, drawn_of: Callable[[FrozenTrial], str | None]
    ) -> tuple[str, str] | None:
        value = value_of(trial)
        if not math.isfinite(value):
            return "the value of a trial must be finite", f"{value}"
        if abs(value) > LARGEST_READING:
            return f"the value of a trial must be within +-{LARGEST_READING:g}", f"{value}"
        if not self.space.covers(trial.params):
            names = ", ".join(self.space.distributions)
            return f"a trial must have all of the parameters {names}", f"{[*trial.params]}"
        try:
            u = self.space.encode(trial.params)
        except (TypeError, ValueError) as error:
            return "the parameters of a trial must lie in the search space", f"“{error}”"
        self.engine.tell(trial.number + 1, u, value, drawn_of(trial), is_chosen_by_user(trial))
        return None


class History:
    """Holds changing state: what the trials of a study say, as far as they have been read.

    A speed-up alone: whatever it holds follows from the trials.

    Args:
        terms: Of the study.
        said: Rules of which it was said already that a trial breaks them; grows.

    Attributes:
        terms: The same.
        complete: The complete trials, by number.
        is_constrained: Whether one of them has constraints.
    """

    def __init__(self, terms: Terms, said: set[str]) -> None:
        self.terms = terms
        self._said = said
        self.complete: list[FrozenTrial] = []
        self._shared: set[str] = set()
        self._newest: FrozenTrial | None = None
        self._ranges: dict[str, str] = {}
        self.is_constrained = False
        self._trials: list[FrozenTrial] = []
        self._running: list[FrozenTrial] = []
        self._read: dict[int, datetime | None] = {}
        self._followers: list[Follower] = []
        self._proposed: dict[int, tuple[Space, Asked]] = {}

    def is_continued_by(self, trials: Sequence[FrozenTrial]) -> bool:
        """Whether all that was read is there: else it was another study of the same name."""
        n = len(trials)
        return all(
            number < n and trials[number].datetime_complete == when
            for number, when in self._read.items()
        )

    def read(self, trials: list[FrozenTrial]) -> None:
        """Take in the trials as they are now."""
        self._trials = trials
        self.complete = []
        self._running = []
        for trial in trials:
            if trial.state == TrialState.RUNNING:
                self._running.append(trial)
            elif trial.state == TrialState.COMPLETE:
                self.complete.append(trial)
                if trial.number not in self._read:
                    self._take(trial)

    @property
    def common(self) -> dict[str, BaseDistribution]:
        """The parameters that all complete trials have, with the distributions of the newest trial.

        Trials without any parameter do not count.
        """
        newest = self._newest
        if newest is None:
            return {}
        if not self._shared:
            self._say_once(
                NOTHING_SHARED,
                f"{NOTHING_SHARED}, got {[*newest.params]} in trial {newest.number} and others before: "
                "parameters are sampled uniformly; begin a study with search_space=...",
            )
        for name in self._ranges.keys() & self._shared:
            rule = f"{name} must have one range in all trials"
            self._say_once(
                rule,
                f"{rule}, got {self._ranges[name]}: that of the newest trial counts, and trials outside "
                "of it are not learned; a study with search_space=... has one for all",
            )
        return {name: newest.distributions[name] for name in sorted(self._shared)}

    def feasible(self) -> set[int] | None:
        """Numbers of the complete trials whose constraints are met; None where no trial has any."""
        if not self.is_constrained:
            return None
        return {
            trial.number for trial in self.complete if all(each <= 0.0 for each in constraints_of(trial))
        }

    def engine(self, space: Space, *, unrelated_to_value: bool = False) -> Engine:
        """The engine of a search space: it knows all complete trials, and which ended without a value.

        Args:
            space: The search space.
            unrelated_to_value: The statement that no trial was pruned because of its value.
        """
        known = [each for each in self._followers if each.space == space]
        follower = known[0] if known else Follower(space, self._new_engine(space))
        for rule, words in follower.catch_up(self.complete, self._drawn_of).items():
            self._say_once(rule, words)
        told = {each.t for each in follower.engine.told}
        for trial in self._trials:
            if trial.state.is_finished() and trial.number + 1 not in told:
                is_pruned = trial.state == TrialState.PRUNED
                follower.engine.lose(
                    trial.number + 1, because_of_value=is_pruned and not unrelated_to_value
                )
        others = [each for each in self._followers if each is not follower]
        self._followers = [*others, follower][-N_ENGINES:]
        return follower.engine

    def ask(self, number: int, space: Space) -> tuple[dict[str, Any], str | None]:
        """Parameters for a trial, and the instance its draw names."""
        engine = self.engine(space)
        if self.is_constrained:
            self._say_once(UNCONSTRAINED, UNCONSTRAINED)
        pending, lost = self._pending(number, space), self._lost(space)
        asked = engine.ask(number + 1, self.noted(number), pending, lost)
        self._proposed[number] = (space, asked)
        return space.decode(asked.u), asked.drawn

    def noted(self, number: int) -> str | None:
        """The instance of a trial, as far as seed and storage say it."""
        if number >= len(self._trials):
            return None
        return self._drawn_of(self._trials[number])

    def drawn(self, number: int) -> str | None:
        """The instance under which a trial was proposed here; else what its number says."""
        if number in self._proposed:
            return self._proposed[number][1].drawn
        return self.terms.drawn(number)

    # --- inside --------------------------------------------------------------------------------

    def _take(self, trial: FrozenTrial) -> None:
        self._read[trial.number] = trial.datetime_complete
        self.is_constrained |= bool(constraints_of(trial))
        if not trial.distributions:
            return
        newest = trial if self._newest is None else self._newest
        names = set(trial.distributions)
        self._shared = names if self._newest is None else self._shared & names
        for name in self._shared:
            here, there = trial.distributions[name], newest.distributions[name]
            if here != there:
                found = f"{here} in trial {trial.number} and {there} in trial {newest.number}"
                self._ranges.setdefault(name, found)
        self._newest = max(newest, trial, key=lambda each: each.number)

    def _drawn_of(self, trial: FrozenTrial) -> str | None:
        """The instance of a trial: what the seed says, or what is stored where that needs a fit.

        A trial that repeats a failed one keeps that one's instance, if the storage holds it.
        """
        stored = self.terms.label(trial.system_attrs.get(TRIAL_KEY))
        drawn = self.terms.drawn(trial.number)
        if drawn is None or stored is None or stored == drawn:
            return stored or drawn
        if self.terms.reveal == BEFORE and stored == self.terms.drawn(copied_from(trial)):
            return stored
        self._say_once(
            TAMPERED, f"{TAMPERED}, got {stored!r} in trial {trial.number}: somebody has written it"
        )
        return drawn

    def _new_engine(self, space: Space) -> Engine:
        return Engine(space.box(), self.terms.plan, self.terms.seed)

    def _pending(self, number: int, space: Space) -> list[Floats]:
        """Points that others are reading: as stored, or as proposed here and not yet stored."""
        running = {trial.number: trial for trial in self._running if trial.number != number}
        self._proposed = {key: value for key, value in self._proposed.items() if key in running}
        points = self._points(running.values(), space)
        for other, (where, asked) in self._proposed.items():
            if where == space and not space.covers(running[other].params):
                points.append(asked.u)
        return points

    def _lost(self, space: Space) -> list[Floats]:
        """Points of the trials without a value that was learned, however they ended."""
        return self._points((trial for trial in self._trials if is_lost(trial)), space)

    def _points(self, trials: Iterable[FrozenTrial], space: Space) -> list[Floats]:
        points = []
        for trial in trials:
            if space.covers(trial.params):
                try:
                    points.append(space.encode(trial.params))
                except (TypeError, ValueError) as error:
                    rule = "the parameters of a running or failed trial must lie in the search space"
                    words = f"{rule} to be reckoned with, got “{error}” in trial {trial.number}"
                    self._say_once(rule, words)
        return points

    def _say_once(self, rule: str, words: str) -> None:
        if rule not in self._said:
            self._said.add(rule)
            warnings.warn(f"{words} (said once, others may follow)", UserWarning, stacklevel=2)


class Histories:
    """Holds changing state: the histories of the studies used last."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, int], History] = {}
        self._said: dict[tuple[str, int], set[str]] = {}

    @contextmanager
    def of(self, study: Study, terms: Terms) -> Iterator[History]:
        """What the trials of the study say now.

        Kept only if all goes well: an interrupt may leave something half learned.
        """
        key, trials = key_of(study), all_trials(study)
        history = self._kept.pop(key, None)
        if history is None or history.terms != terms or not history.is_continued_by(trials):
            history = History(terms, self._said.setdefault(key, set()))
        history.read(trials)
        yield history
        self._kept[key] = history
        while len(self._kept) > N_STUDIES:
            del self._kept[next(iter(self._kept))]


def is_lost(trial: FrozenTrial) -> bool:
    """Whether a trial has ended without a value that can be learned."""
    if trial.state == TrialState.COMPLETE:
        return not abs(value_of(trial)) <= LARGEST_READING
    return trial.state in (TrialState.FAIL, TrialState.PRUNED)


def value_of(trial: FrozenTrial) -> float:
    """The value of a complete trial."""
    assert trial.values is not None
    return float(trial.values[0])
