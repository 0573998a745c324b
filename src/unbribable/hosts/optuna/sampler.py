"""The sampler for Optuna: a study that tolerates corrupted values."""

try:
    from optuna.samplers import BaseSampler
except ModuleNotFoundError as error:
    if error.name != "optuna":
        raise
    from unbribable.extras import missing

    raise missing("the sampler needs", "optuna", "optuna") from None

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Unpack

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from unbribable.decision.asking.draws import Seed
from unbribable.decision.left_to_gain import LeftToGain
from unbribable.hosts.optuna.answers import (
    NOTE_KEY,
    StudyPrice,
    StudyRecommendation,
    StudySuspect,
    as_result,
    conditional,
    note,
)
from unbribable.hosts.optuna.history import History
from unbribable.hosts.optuna.space import (
    Space,
    WithConstants,
    not_single,
    sample_alone,
    storable,
)
from unbribable.hosts.optuna.terms import (
    Terms,
    agree,
    all_trials,
    end,
    fixed_of,
    mark_seen,
    params_of,
    retracted_of,
    set_may_repeat,
    set_retracted,
    study_attr,
    value_of,
    wait_for_starter,
)
from unbribable.model import checks
from unbribable.say import log
from unbribable.say.study import StudyFacts
from unbribable.study.advice import advise, basis, doubt, left_to_gain, price
from unbribable.study.constraints import Constraint, constraints_of
from unbribable.study.engine import Engine
from unbribable.study.plan import Plan, Settings, with_settings
from unbribable.study.result import Result
from unbribable.study.stop import Stop

N_STUDIES = 4
"""Studies whose history a sampler keeps."""


@with_settings
class UnbribableSampler(BaseSampler):
    """Optuna sampler for studies whose values may be corrupted.

    `recommend` says which parameters to use: not those of `study.best_trial`, whose value may be a lie.

    What is proposed is a function of the arguments, the seed and the trials, so a study that was
    stopped resumes exactly as if it had not been, in any process. The arguments are kept in the study:
    every process has to give the same ones, or to use `from_study`. The sampler itself holds state
    (engines that follow the studies) only to save time.

    Failed, pruned and waiting trials are not learned, nor are infinite values, which `suspects` lists.
    Such a value is missing because of what it is, as that of a pruned trial, so nothing is guaranteed
    then, unless a reading_range says that it is false: then it counts as a lie. A point that gave no
    value is not proposed again while there are others. Enqueued and added trials are learned. Parameters
    that not all complete trials share (conditional ones, or added midway) are sampled uniformly, as a
    warning says once, and so is the first trial unless `search_space` is given; their effect on the
    value is noise to this sampler. Where a range changes, that of the newest trial counts. Running
    trials are taken into account until they end: one that was killed stays running, unless the storage
    has a heartbeat, and keeps others away from its point. Values that are fixed, by
    `study.enqueue_trial({"gas": "Ar"})` for one trial or by Optuna's PartialFixedSampler around this one
    for all, are kept, and the others are chosen to go with them.

    Constraints that a trial reports (`trial.set_constraint`) do not guide what is proposed. `recommend`
    then chooses among the complete trials that meet them.

    Args:
        n_trials: Trials that are intended, complete ones of all processes; those that were added,
            enqueued or proposed by another sampler come on top. A share of lies is one
            of all these.
        {settings}
        search_space: Name -> Optuna distribution. By default, what all complete trials have in common.
            The kernel sees its parameters in alphabetical order. For `recommend` and `suspects` it
            may be given later.
        constraints: Which points may be proposed and recommended: a list of LinearConstraint, or of
            functions that take a dict of parameters and return True where it is allowed. They need a
            search_space. The study keeps linear ones, and of functions how many there are.
        block: Name of the user attribute of a trial that says what it is read with, a string or a
            number: a day, a batch, an operator (`trial.set_user_attr("day", "Monday")` in the objective,
            with block="day"). Trials of one block share an offset, which is estimated and never
            optimized: `sampler.result(study).offsets`.
        seed: Of the initial design and of what is sampled uniformly; the study holds it. If None, the
            process that starts the study writes fresh entropy into it.

    Raises:
        TypeError, ValueError: The message says the rule and the value.
    """

    def __init__(
        self,
        *,
        n_trials: int = 100,
        search_space: Mapping[str, BaseDistribution] | None = None,
        constraints: Iterable[Constraint] = (),
        block: str | None = None,
        seed: Any = None,
        **settings: Unpack[Settings],
    ) -> None:
        self._plan = Plan.of(checks.integer("n_trials", n_trials, at_least=1), settings)
        self._search_space = None if search_space is None else storable(search_space)
        self._block = None if block is None else checks.text("block", block)
        if block is not None:
            self._plan.check_counted(f"block={block!r}")
        self._constraints = constraints_of(constraints)
        if self._constraints and self._search_space is None:
            raise ValueError("constraints need a search_space, got search_space=None")
        if self._search_space is not None:
            Space(self._search_space, self._constraints).box()  # refuses what nothing keeps
        self._seed = None if seed is None else Seed.of(seed)
        self.__setstate__({})

    @classmethod
    def from_study(cls, study: Study, *, constraints: Iterable[Constraint] = ()) -> "UnbribableSampler":
        """The sampler a study was started with, as the study says.

        Args:
            study: Started with this sampler.
            constraints: Those that are functions, which the study cannot keep.

        Raises:
            ValueError: The study was not started with this sampler.
        """
        plain = study_attr(study)
        if plain is None:
            raise ValueError(
                f"the study must have been started with UnbribableSampler, got {study.study_name!r}, "
                "which was not"
            )
        terms = Terms.from_plain(plain, constraints)
        settings = {name: getattr(terms.plan, name) for name in Settings.__annotations__}
        return cls(
            n_trials=terms.plan.n_rounds or 0,  # it has one: the constructor sees to that
            search_space=terms.search_space,
            constraints=terms.constraints,
            block=terms.block,
            seed=terms.seed,
            **settings,
        )

    # --- what the user asks --------------------------------------------------------------------

    @property
    def search_space(self) -> dict[str, BaseDistribution] | None:
        """The search space that was given, or None."""
        return None if self._search_space is None else dict(self._search_space)

    @property
    def block(self) -> str | None:
        """The user attribute of a trial that says what it was read with, or None."""
        return self._block

    @property
    def plan(self) -> Plan:
        """What was said of the run, as a value."""
        return self._plan

    def start(self, study: Study) -> None:
        """Write the arguments into the study now, not with its first trial."""
        with self._lock:
            self._agreed(study, anew=True)

    def recommend(self, study: Study, *, unrelated_to_value: bool = False) -> StudyRecommendation:
        """The parameters to use, with a certificate; beside them what Optuna alone would say.

        If trials have constraints, the parameters of a trial that meets them. If trials were pruned,
        nothing is guaranteed: a pruner prunes because of the value, and what is left is too good. The
        same holds if a trial returned an infinite value, which cannot be learned.

        Args:
            study: The study.
            unrelated_to_value: The statement that no trial was pruned because of its value (but because
                of the time, say).

        Raises:
            RuntimeError: No trial was learned yet, or none that meets the constraints.
        """
        checks.truth("unrelated_to_value", unrelated_to_value)
        with self._looked_at(study, unrelated_to_value) as (history, engine, space):
            among = history.feasible(engine)
            best = advise(engine, among)
            if best is None:
                more = " at an allowed point" if self._constraints else ""
                more += "" if among is None else " and meets its constraints"
                raise RuntimeError(f"recommend needs a complete trial, got none that was learned{more}")
            params, naive = space.decode(best.x), history.naive(study.best_trial)
            found = basis(engine, space.named().columns)
            assert found is not None  # there is a reading
            others = conditional(history.complete, engine, space, best)
            infinite = tuple(trial.number + 1 for trial in history.infinite)
            return StudyRecommendation(
                **{**vars(best), "params": params},
                assumptions=found,
                around=StudyFacts(among is not None, others, infinite),
                conditional=others,
                naive_number=naive.number,
                naive_params=params_of(naive),
                naive_value=value_of(naive),
                n_trials=len(engine.told),
            )

    def suspects(self, study: Study, *, flagged_only: bool = False) -> tuple[StudySuspect, ...]:
        """The complete trials (or those that are flagged), the most suspicious first."""
        with self._looked_at(study) as (history, engine, _):
            trials = {trial.number + 1: trial for trial in history.complete}
            infinite = [StudySuspect.infinite(trial) for trial in history.infinite]
            doubted = [
                StudySuspect.of(each, trials[each.t])
                for each in doubt(engine, flagged_only=flagged_only)
            ]
            return (*infinite, *doubted)

    def price(
        self, study: Study, eps: float | None = None, *, unrelated_to_value: bool = False
    ) -> StudyPrice:
        """How much lying it takes before another point can be better than the recommended one by eps.

        With the cheapest bribe, in `lies_by_trial` by the numbers of trials. For eps see
        `Result.price`, and for the rest `recommend`.
        """
        with self._looked_at(study, unrelated_to_value) as (history, engine, _):
            return StudyPrice.of(price(engine, eps, history.feasible(engine)))

    def left_to_gain(self, study: Study, *, unrelated_to_value: bool = False) -> LeftToGain:
        """By how much another point may be better than the recommended one.

        What is expected, by a heuristic, and what is proven. For the rest see `recommend`.
        """
        checks.truth("unrelated_to_value", unrelated_to_value)
        with self._looked_at(study, unrelated_to_value) as (history, engine, _):
            return left_to_gain(engine, history.feasible(engine))

    def stop_below(self, eps: float) -> Callable[[Study, FrozenTrial], None]:
        """A callback that stops the study once nothing above eps is expected to be left: a heuristic.

        `study.optimize(f, 100, callbacks=[sampler.stop_below(0.1)])`. Why it stopped is then a user
        attribute of the study, "unbribable:stopped".

        Args:
            eps: In the units of the objective.
        """
        return self._stopping(Stop(below=eps))

    def stop_proven_below(self, eps: float) -> Callable[[Study, FrozenTrial], None]:
        """The same once that is proven, if what the guarantee supposes holds."""
        return self._stopping(Stop(proven_below=eps))

    def retract(
        self, study: Study, number: int, reason: str, *, unrelated_to_value: bool = False
    ) -> None:
        """Take the value of a complete trial out, for every process, as if it had never been told.

        The trial stays in the study, marked. Taking out a value because of what it is voids the
        guarantee.

        Args:
            study: The study.
            number: Of the trial.
            reason: In words; kept in the study.
            unrelated_to_value: The statement that the reason has nothing to do with the value.

        Raises:
            ValueError: There is no complete trial of this number that was not retracted.
        """
        checks.integer("number", number, at_least=0)
        checks.truth("unrelated_to_value", unrelated_to_value)
        with self._following(study, writes=False) as history:
            if number not in [trial.number for trial in history.complete]:
                gone = ", which is retracted already" if number in history.retracted else ""
                raise ValueError(f"number must be that of a complete trial, got {number}{gone}")
            set_retracted(study, number, checks.text("reason", reason), unrelated_to_value)

    def forget(self, study: Study, number: int) -> None:
        """End a running trial that was not evaluated and will not be: its point may be proposed again.

        Optuna's own `study.tell(number, state=FAIL)` says that the point failed: it is then avoided.

        Args:
            study: The study.
            number: Of the trial.

        Raises:
            ValueError: There is no running trial of this number.
        """
        checks.integer("number", number, at_least=0)
        running = [trial.number for trial in all_trials(study) if trial.state == TrialState.RUNNING]
        if number not in running:
            raise ValueError(
                f"number must be that of a running trial, got {number}; these are {running}"
            )
        set_may_repeat(study, number)
        study.tell(number, state=TrialState.FAIL)

    def result(self, study: Study) -> Result:
        """The study as a `Result` of `maximize`: for figures, among others. Round t is trial t - 1."""
        with self._looked_at(study) as (_, engine, space):
            several = {name: space.distributions[name] for name in space.names}
            return as_result(engine, self._space(not_single(several)).named())

    def note(self, study: Study, trial: FrozenTrial | None = None) -> None:
        """Write recommendation and suspicious trials into the study, where its dashboard shows them.

        A callback too: `study.optimize(f, 30, callbacks=[sampler.note])`. It writes user attributes of
        the study, since Optuna lets nobody change a trial that has ended.
        """
        note(self, study)

    # --- what Optuna calls ---------------------------------------------------------------------

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Compare the arguments with the study's, and mark the trial as seen."""
        if self._seed is None:
            wait_for_starter(study, trial.number)
        with self._lock:
            try:
                self._agreed(study, anew=True)
            except ValueError:
                end(study, trial)
                raise
            mark_seen(study, trial)

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """The search space that was given, or else what all complete trials have in common."""
        if self._search_space is not None:
            return not_single(self._search_space)
        with self._following(study) as history:
            return not_single(history.common())

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The parameters that the engine asks for in the round of this trial."""
        if not search_space:
            return {}
        start = time.perf_counter()
        with self._following(study) as history:
            whole = not_single(history.common() if self._search_space is None else self._search_space)
            fixed = fixed_of(study, trial, whole)
            if self._constraints and search_space.keys() <= fixed.keys():
                return {name: fixed[name] for name in search_space}  # wholly of the user's choice
            try:
                is_whole = fixed or self._constraints
                space = self._space(whole if is_whole else search_space)
                params = history.ask(trial.number, space, fixed)
            except ValueError:
                end(study, trial)
                raise
        log.asked(1, trial.number + 1, time.perf_counter() - start)
        return {name: params[name] for name in search_space}

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """A uniform value: a function of the seed, the number of the trial and the name."""
        with self._following(study) as history:
            history.check_shared(param_name, self._search_space)
            seed = history.terms.seed
        return sample_alone(seed, trial.number, param_name, param_distribution)

    def reseed_rng(self) -> None:
        """Do nothing: all that is random is a function of the seed and the number of the trial."""

    # --- inside --------------------------------------------------------------------------------

    def _stopping(self, when: Stop) -> Callable[[Study, FrozenTrial], None]:
        def stop(study: Study, trial: FrozenTrial) -> None:
            try:
                with self._looked_at(study) as (history, engine, _):
                    reason = when.met_by(engine, history.feasible(engine))
            except RuntimeError:  # no complete trial yet
                return
            if reason is not None:
                log.stopped(reason)
                study.set_user_attr(f"{NOTE_KEY}stopped", reason)
                study.stop()

        return stop

    def __getstate__(self) -> dict[str, Any]:
        """Without the lock, and without what follows from the trials."""
        names = ("_plan", "_search_space", "_constraints", "_block", "_seed")
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()
        self._terms: dict[tuple[str, int], Terms] = {}
        self._histories: dict[tuple[str, int], History] = {}
        self._said: dict[tuple[str, int], set[str]] = {}

    def _space(self, several: Mapping[str, BaseDistribution]) -> Space:
        """Those parameters that have several values, under the constraints."""
        given = self._search_space or {}
        constants = {name: given[name] for name in given.keys() - several.keys()}
        if not self._constraints or not constants:
            return Space(several, self._constraints)
        values = Space(constants).decode(np.zeros(1))
        return Space(several, (WithConstants(self._constraints, values),))

    def _agreed(self, study: Study, *, anew: bool = False, writes: bool = True) -> Terms:
        """The terms of the study; compared with it again in every trial."""
        key = (study.study_name, study._study_id)
        if anew or key not in self._terms:
            seed, constraints = Seed.of(self._seed), self._constraints
            mine = Terms(self._plan, seed, self._search_space, self._block, constraints)
            is_seed_given = self._seed is not None
            terms = agree(study, mine, is_seed_given=is_seed_given, writes=writes)
            if not writes:
                return terms
            self._terms[key] = terms
        return self._terms[key]

    @contextmanager
    def _following(self, study: Study, *, writes: bool = True) -> Iterator[History]:
        """What the trials of the study say now.

        Kept for the studies used last, and only if all goes well: an interrupt may leave something
        half learned.
        """
        with self._lock:
            terms, trials = self._agreed(study, anew=not writes, writes=writes), all_trials(study)
            retracted = retracted_of(study)
            key = (study.study_name, study._study_id)  # two studies in memory may share both
            history = self._histories.pop(key, None)
            is_same = history and (history.terms, history.retracted) == (terms, retracted)
            if history is None or not is_same or not history.is_continued_by(trials):
                history = History(terms, retracted, self._said.setdefault(key, set()))
            history.read(trials)
            yield history
            self._histories[key] = history
            while len(self._histories) > N_STUDIES:
                del self._histories[next(iter(self._histories))]

    @contextmanager
    def _looked_at(
        self, study: Study, unrelated_to_value: bool = False
    ) -> Iterator[tuple[History, Engine, Space]]:
        """What the trials say now, the engine that was told them, and all parameters.

        Nothing is written: it may be a study that was started with another sampler.
        """
        with self._following(study, writes=False) as history:
            given = history.common() if self._search_space is None else self._search_space
            several = not_single(given)
            if not several:
                raise RuntimeError(
                    "a study needs parameters with several values that all its complete trials "
                    "have in common, there are none; complete a trial, or give search_space=..."
                )
            engine = history.engine(self._space(several), unrelated_to_value=unrelated_to_value)
            yield history, engine, Space(given)
