"""Engines that follow the trials of a study."""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState

from unbribable.decision.proposal import Query
from unbribable.hosts.optuna.space import Space, not_single
from unbribable.hosts.optuna.terms import (
    REPEAT_KEY,
    REPLICATE_KEY,
    SEM_KEY,
    TRIAL_KEY,
    Terms,
    constraints_of,
    params_of,
    value_of,
)
from unbribable.model.checks import LARGEST_READING, Floats
from unbribable.study.engine import Engine
from unbribable.study.trial import Trial, checked_block

N_ENGINES = 4
"""Search spaces of one study for which an engine is kept."""

UNCONSTRAINED = (
    "constraints do not guide what is proposed; recommend chooses among the trials that meet them"
)


class History:
    """Holds changing state: what the trials of a study say, as far as they have been read.

    It only saves time: whatever it holds follows from the trials.

    Args:
        terms: Of the study.
        retracted: Trial whose value is taken out -> whether for a reason unrelated to it.
        said: Rules whose breach by a trial was reported already; grows.

    Attributes:
        terms: The same.
        retracted: The same.
        complete: The complete trials that are not retracted, by number.
        is_constrained: Whether one of them has constraints.
    """

    def __init__(self, terms: Terms, retracted: Mapping[int, bool], said: set[str]) -> None:
        self.terms = terms
        self.retracted = retracted
        self._said = said
        self.complete: list[FrozenTrial] = []
        self.is_constrained = False
        self._shared: set[str] = set()
        self._all: dict[str, None] = {}
        self._order: dict[str, None] = {}
        self._newest: FrozenTrial | None = None
        self._ranges: dict[str, str] = {}
        self._trials: list[FrozenTrial] = []
        self._read: dict[int, datetime | None] = {}
        self._engines: list[tuple[Space, Engine]] = []
        self._proposed: dict[int, tuple[Space, Query]] = {}

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
        self.complete = [
            trial
            for trial in trials
            if trial.state == TrialState.COMPLETE and trial.number not in self.retracted
        ]
        for trial in self.complete:
            if trial.number not in self._read:
                self._read[trial.number] = trial.datetime_complete
                self.is_constrained |= bool(constraints_of(trial))
                if trial.distributions:
                    self._share(trial)

    def common(self) -> dict[str, BaseDistribution]:
        """The parameters that all complete trials have, with the distributions of the newest trial.

        In the order in which they were suggested first.

        Trials without any parameter do not count.
        """
        newest = self._newest
        if newest is None:
            return {}
        if not self._shared:
            self._say_once(
                "the complete trials must have a parameter in common",
                f", got {[*newest.params]} in trial {newest.number} and others before: parameters are "
                "sampled uniformly; begin a study with search_space=...",
            )
        for name in self._ranges.keys() & self._shared:
            self._say_once(
                f"{name} must have one range in all trials",
                f", got {self._ranges[name]}: that of the newest trial counts, and trials outside of it "
                "are not learned; a study with search_space=... has one for all",
            )
        return {name: newest.distributions[name] for name in self._order if name in self._shared}

    @property
    def infinite(self) -> list[FrozenTrial]:
        """The complete trials whose values are infinite, or too large to be learned.

        None where the range of honest values is known: then these are false for certain, and told.
        """
        return [trial for trial in self.complete if self._is_infinite(trial)]

    def check_shared(self, name: str, space: Mapping[str, BaseDistribution] | None) -> None:
        """Say once that a parameter, and others outside the search space, are sampled uniformly.

        Nothing is said yet of one that no complete trial has: after this trial all are named at once.

        Args:
            name: The parameter.
            space: The search space, if one was given.
        """
        shared = self._shared if space is None else space
        outside = [other for other in self._all if other not in shared]
        if shared and name in outside and not self._said.issuperset(outside):
            self._said.update(outside)
            names = ", ".join(outside)
            where = "in all trials of the study" if space is None else "in search_space"
            warnings.warn(
                f"parameters must be {where} to be optimized, got others: {names}; these are sampled "
                "uniformly, and what they do counts as noise. To have them optimized begin another "
                "study with search_space=..., and suggest each of its parameters in every trial, even "
                "where it has no effect",
                UserWarning,
                stacklevel=2,
            )

    def naive(self, best: FrozenTrial) -> FrozenTrial:
        """Optuna's best trial, or the best one that is left where that is retracted."""
        if best.number not in self.retracted:
            return best
        return max(self.complete, key=lambda trial: self.terms.plan.sign * value_of(trial))

    def feasible(self, engine: Engine) -> list[Floats] | None:
        """The points told whose constraints are met, as the kernel sees them; None if there are none."""
        if not self.is_constrained:
            return None
        met = {
            trial.number + 1 for trial in self.complete if all(c <= 0.0 for c in constraints_of(trial))
        }
        return [reading.u for reading in engine.told if reading.t in met]

    def engine(self, space: Space, *, unrelated_to_value: bool = False) -> Engine:
        """The engine of a search space: it knows all complete trials, and which ended without a value.

        Args:
            space: The search space.
            unrelated_to_value: The statement that no trial was pruned because of its value.
        """
        engine = next((each for where, each in self._engines if where == space), None)
        if engine is None:
            engine = Engine(space.box(), self.terms.plan, self.terms.seed)
        for trial in self._trials:
            t = trial.number + 1
            known = engine.log.get(t)
            if not trial.state.is_finished() or (known is not None and not known.is_lost):
                continue
            if trial.number in self.retracted:
                engine.take(self._without_value(engine, trial, None, self.retracted[trial.number]))
                continue
            if known is None and trial.state == TrialState.COMPLETE and self._tell(engine, trial, space):
                continue
            if known is None:
                is_avoided = self._is_lost(trial) and REPEAT_KEY not in trial.system_attrs
                u = self._point(trial, space) if is_avoided else None
                known = self._without_value(engine, trial, u)
            is_pruned = trial.state == TrialState.PRUNED
            is_selected = (is_pruned and not unrelated_to_value) or self._is_infinite(trial)
            engine.take(replace(known, because_of_value=is_selected))
        others = [(where, each) for where, each in self._engines if each is not engine]
        self._engines = [*others, (space, engine)][-N_ENGINES:]
        return engine

    def ask(self, number: int, space: Space, fixed: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Parameters for a trial; some may be fixed."""
        engine = self.engine(space)
        if self.is_constrained:
            self._say_once(UNCONSTRAINED)
        where = space.at(fixed) if fixed else None
        query = engine.ask(number + 1, self._pending(number, space), where)
        self._proposed[number] = (space, query)
        return space.decode(query.u)

    # --- inside --------------------------------------------------------------------------------

    def _share(self, trial: FrozenTrial) -> None:
        """Which parameters the trials share, and in which ranges."""
        newest = trial if self._newest is None else self._newest
        names = set(trial.distributions)
        self._shared = names if self._newest is None else self._shared & names
        self._order |= dict.fromkeys(trial.params)
        self._all |= dict.fromkeys(not_single(trial.distributions))
        for name in self._shared:
            here, there = trial.distributions[name], newest.distributions[name]
            if here != there:
                found = f"{here} in trial {trial.number} and {there} in trial {newest.number}"
                self._ranges.setdefault(name, found)
        self._newest = max(newest, trial, key=lambda each: each.number)

    def _tell(self, engine: Engine, trial: FrozenTrial, space: Space) -> bool:
        """Tell the engine a complete trial, or say why that cannot be learned; whether it was told."""
        value, u = value_of(trial), None
        rule, got = "", f"{value}"
        if not self._is_infinite(trial):
            pass
        elif not math.isfinite(value):
            rule = "the value of a trial must be finite"
        else:
            rule = f"the value of a trial must be within +-{LARGEST_READING:g}"
        if rule:
            pass
        elif not space.covers(params_of(trial)):
            rule = f"a trial must have all of the parameters {', '.join(space.distributions)}"
            got = f"{[*trial.params]}"
        else:
            try:
                u = space.encode(params_of(trial))
            except (TypeError, ValueError) as error:
                rule, got = "the parameters of a trial must lie in the search space", f"“{error}”"
        if u is None:
            self._say_once(rule, f" to be learned, got {got} in trial {trial.number}")
            return False
        # A retried copy keeps the attributes of the trial that it copies, and is what that was.
        is_ours = TRIAL_KEY in trial.system_attrs and "fixed_params" not in trial.system_attrs
        is_given = not is_ours  # or chosen by another sampler
        sem = self.terms.plan.sem(trial.user_attrs.get(SEM_KEY))
        words: dict[str, Any] = {"is_given": is_given, "is_row": is_added(trial), "sem": sem}
        words["block"] = self._block(trial)
        words["replicate_of"] = replicate_of(trial)
        engine.take(engine.trial(trial.number + 1, u, value, **words))
        return True

    def _block(self, trial: FrozenTrial) -> str | float | None:
        """What a trial was read with; None, and a warning, where that is no label."""
        name = self.terms.block
        if name is None:
            return None
        try:
            return checked_block(trial.user_attrs.get(name))
        except TypeError as error:
            self._say_once(f"{error}", f" in trial {trial.number}, which counts as one without a block")
            return None

    def _without_value(
        self, engine: Engine, trial: FrozenTrial, u: Floats | None, retracted: bool | None = None
    ) -> Trial:
        """A trial that gives no reading; its point is u where it is known and not to be asked again."""
        x = np.empty(0) if u is None else engine.x_of(u)
        t, is_row = trial.number + 1, is_added(trial)
        of = replicate_of(trial)
        words: dict[str, Any] = {"error": "no value", "retracted": retracted, "is_row": is_row}
        return Trial(t, x, None, None, **words, replicate_of=of, u=u)

    def _pending(self, number: int, space: Space) -> list[Floats]:
        """Points that others are reading: as stored, or as proposed here and not yet stored."""
        running = {
            trial.number: trial
            for trial in self._trials
            if trial.state == TrialState.RUNNING and trial.number != number
        }
        self._proposed = {key: value for key, value in self._proposed.items() if key in running}
        points = [self._point(trial, space) for trial in running.values()]
        for other, (where, query) in self._proposed.items():
            if where == space and not space.covers(running[other].params):
                points.append(query.u)
        return [u for u in points if u is not None]

    def _point(self, trial: FrozenTrial, space: Space) -> Floats | None:
        """The point of a running or failed trial; None if the space does not have it."""
        if space.covers(trial.params):
            try:
                return space.encode(params_of(trial))
            except (TypeError, ValueError) as error:
                self._say_once(
                    "the parameters of a running or failed trial must lie in the search space",
                    f" to be avoided, got “{error}” in trial {trial.number}",
                )
        return None

    def _is_infinite(self, trial: FrozenTrial) -> bool:
        """Whether the value of a trial is infinite, or too large, and cannot be learned."""
        return self.terms.plan.reading_range is None and is_infinite(trial)

    def _is_lost(self, trial: FrozenTrial) -> bool:
        """Whether a trial has ended without a value that can be told."""
        return trial.state in (TrialState.FAIL, TrialState.PRUNED) or self._is_infinite(trial)

    def _say_once(self, rule: str, what: str = "") -> None:
        if rule not in self._said:
            self._said.add(rule)
            warnings.warn(f"{rule}{what} (said once, others may follow)", UserWarning, stacklevel=2)


def is_infinite(trial: FrozenTrial) -> bool:
    """Whether the value of a trial is infinite, or too large to be computed with."""
    return trial.state == TrialState.COMPLETE and not abs(value_of(trial)) <= LARGEST_READING


def replicate_of(trial: FrozenTrial) -> int | None:
    """The round of the trial whose point this one read again, if it is a replicate."""
    number = trial.system_attrs.get(REPLICATE_KEY)
    return None if number is None else int(number) + 1


def is_added(trial: FrozenTrial) -> bool:
    """Whether a finished trial came as one, by `study.add_trial`, as the rows of a table do.

    Optuna gives these the same beginning and end. Another sampler's trial that ended at once may count
    as one, too, which is valid.
    """
    return TRIAL_KEY not in trial.system_attrs and trial.datetime_start == trial.datetime_complete
