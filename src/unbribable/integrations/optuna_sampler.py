"""The sampler for Optuna: a study that tolerates corrupted values."""

try:
    from optuna.samplers import BaseSampler
except ModuleNotFoundError as error:
    if error.name != "optuna":
        raise
    raise ModuleNotFoundError(
        'the sampler needs optuna: pip install "unbribable[optuna]"', name="optuna"
    ) from None

import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from unbribable.decision.draws import Seed
from unbribable.integrations.optuna_advice import StudyRecommendation, StudySuspect, study_suspects
from unbribable.integrations.optuna_history import Histories, History
from unbribable.integrations.optuna_space import Space, not_single, sample_alone, storable
from unbribable.integrations.optuna_storage import TRIAL_KEY, fail, key_of, set_trial_attr, study_attr
from unbribable.integrations.optuna_terms import (
    AFTER,
    BEFORE,
    GIVEN_AWAY,
    Terms,
    agreed,
    check_secret,
    wait_for_starter,
)
from unbribable.model import checks
from unbribable.model.kernels import Kernel
from unbribable.practice.advice import advise, assumed, doubt
from unbribable.practice.engine import Engine
from unbribable.practice.plan import Plan, exploration
from unbribable.theory.assumptions import Assumptions

READERS = (
    "Whoever can read the storage while a trial runs knows its draw, and is a strong adversary, against "
    "whom this does not hold"
)
CONSTRAINED = (
    "The point is that of a trial whose constraints are met, as told: that is not guaranteed, and the "
    "points compared with it need not meet them."
)


class UnbribableSampler(BaseSampler):
    """Holds changing state (engines that follow studies, a speed-up): samples where values may be lies.

    `recommend` says which parameters to use: not those of `study.best_trial`, whose value may be a lie.

    Trial k is round k + 1. What is proposed is a function of the arguments, the seed and the trials,
    so a study that was stopped goes on exactly as if it had not been, in any process. The arguments
    are kept in the study: every process has to give the same ones, or to use `from_study`.

    Failed, pruned and waiting trials are not learned, nor are infinite values, of which `suspects`
    tells; what gave no value is not proposed again while there are other points. Enqueued and added
    trials are learned. Parameters that not all complete trials share (conditional ones) are sampled
    uniformly, and so is the first trial unless `search_space` is given; what they do to the value is
    noise to this sampler. Where a range changes, that of the newest trial counts. Running trials are
    reckoned with until they end: one that was killed stays running, unless the storage has a
    heartbeat, and keeps others from its point.

    Algorithms 2 and 3 (`known_or_zero`, corruption="unknown") draw which instance learns. They are safe
    against those who do not know the draw. With reveal="before" whoever can read the storage can
    read it there, and so is a strong adversary; with reveal="after" and a secret seed it is written
    when the value is told. That hides it where a scout chooses the points; where the algorithm itself
    does (assumptions given, no explore), the point gives the draw away. The others do not draw, and need
    no secret. Whoever can write to the storage can change values: see docs/threats.md.

    Constraints (`trial.set_constraint`) are not reckoned with in what is proposed. `recommend` then
    chooses among the complete trials that meet them.

    Args:
        n_trials: Trials that are intended, complete ones of all processes; those that were added,
            enqueued or proposed by another sampler come on top. With corruption=None a tenth
            of all may be lies; with "unknown" their number decides about that of the layers.
        corruption: What lies add up to at most, in absolute value: a number (Algorithm 1), 0 for none
            (GP-UCB), "unknown" (Algorithm 3). None: a tenth of the trials may be lies of any size
            (Algorithm 1).
        known_or_zero: Instead of corruption: either there is none, or at most this (Algorithm 2).
        assumptions: What the guarantee rests on. If None, kernel, noise and B are fitted to the first
            trials by a criterion that single lies hardly move, and again as there are more of them;
            the guarantee is then conditional on the fit.
        kernel: Kept while the rest is fitted. It sees the unit cube, parameters in the alphabetical
            order of their names; a choice among more than two takes one coordinate each.
        noise_std: Kept while the rest is fitted.
        B: Bound on the RKHS norm of the objective, and so on its absolute value, kept while the rest
            is fitted.
        delta: Probability with which the guarantee may fail, 0.1 by default; assumptions say their own.
        n_init: Trials of the initial design, 2 d + 4 by default; none where assumptions are given.
        explore: Points are chosen by a scout that maximises mean + explore * standard deviation over
            the trials that do not look like lies: a heuristic, which needs far fewer trials than the
            worst case. The learner that `corruption` names judges its choices; its intervals and
            certificates hold for any. None: 2 where the model is fitted; with assumptions the
            learner chooses itself, as the theorems want it.
        search_space: Name -> Optuna distribution. By default, what all complete trials have in common.
            For `recommend` and `suspects` it may be given later.
        seed: Of the draws and of what is sampled uniformly. If None, the process that starts the study
            writes fresh entropy into it.
        reveal: "before": the study holds the seed, and each trial its instance from the start.
            "after": the study holds a digest of the seed, which every process must be given and
            nobody else should know, such as secrets.randbits(128).

    Raises:
        TypeError, ValueError: The message says the rule and the value.
    """

    def __init__(
        self,
        *,
        n_trials: int = 100,
        corruption: float | str | None = None,
        known_or_zero: float | None = None,
        assumptions: Assumptions | None = None,
        kernel: Kernel | None = None,
        noise_std: float | None = None,
        B: float | None = None,
        delta: float | None = None,
        n_init: int | None = None,
        explore: float | None = None,
        search_space: Mapping[str, BaseDistribution] | None = None,
        seed: Any = None,
        reveal: str = BEFORE,
    ) -> None:
        self._plan = Plan(
            checks.integer("n_trials", n_trials, at_least=1),
            corruption,
            known_or_zero,
            assumptions=assumptions,
            kernel=kernel,
            noise_std=noise_std,
            B=B,
            delta=delta,
            n_init=n_init,
            explore=exploration(explore, assumptions),
        )
        self._search_space = None if search_space is None else storable(search_space)
        self._reveal = checks.choice("reveal", reveal, (BEFORE, AFTER))
        self._seed = None if seed is None else Seed.of(seed)
        if self._reveal == AFTER:
            check_secret(self._seed)
            if Terms(self._plan, Seed.of(self._seed), AFTER).seen_by_readers is not None:
                warnings.warn(
                    "reveal='after' must have a scout to hide the draw from those who read the storage, "
                    f"got none: {GIVEN_AWAY}, so they are strong adversaries; give explore=2.0",
                    UserWarning,
                    stacklevel=2,
                )
        self._begin()

    @classmethod
    def from_study(cls, study: Study, *, seed: Any = None) -> "UnbribableSampler":
        """The sampler a study was started with, as the study says.

        Args:
            study: Started with this sampler.
            seed: To be given where the study does not hold it.

        Raises:
            ValueError: The study was not started with this sampler, or with another seed.
        """
        plain = study_attr(study)
        if plain is None:
            raise ValueError(
                f"the study must have been started with UnbribableSampler, got {study.study_name!r}, "
                "which was not"
            )
        terms = Terms.from_plain(plain, None if seed is None else Seed.of(seed))
        plan: dict[str, Any] = {each.name: getattr(terms.plan, each.name) for each in fields(Plan)}
        del plan["direction"]
        return cls(
            n_trials=plan.pop("n_rounds"),
            **plan,
            search_space=terms.search_space,
            seed=terms.seed,
            reveal=terms.reveal,
        )

    # --- what the user asks --------------------------------------------------------------------

    @property
    def search_space(self) -> dict[str, BaseDistribution] | None:
        """The search space that was given, or None."""
        return None if self._search_space is None else dict(self._search_space)

    def start(self, study: Study) -> None:
        """Write the arguments into the study now, not with its first trial."""
        with self._lock:
            self._agreed(study, anew=True)

    def recommend(self, study: Study, *, unrelated_to_value: bool = False) -> StudyRecommendation:
        """The parameters to use, with a certificate; beside them what Optuna alone would say.

        If trials have constraints, the parameters of a trial that meets them. If trials were pruned,
        nothing is guaranteed: a pruner prunes because of the value, and what is left is too good.

        Args:
            study: The study.
            unrelated_to_value: The statement that no trial was pruned because of its value (but because
                of the time, say).

        Raises:
            RuntimeError: No trial was learned yet, or none that meets the constraints.
        """
        checks.truth("unrelated_to_value", unrelated_to_value)
        with self._looked_at(study, unrelated_to_value) as (history, engine, space):
            met = history.feasible()
            among = None if met is None else [each.u for each in engine.told if each.t - 1 in met]
            best = advise(engine, among)
            if best is None or not engine.told:
                words = "" if among is None else " and meets its constraints"
                raise RuntimeError(
                    f"recommend needs a complete trial, there is none that was learned{words}"
                )
            words = best.guarantee
            seen = history.terms.seen_by_readers
            if best.regret_bound is not None and best.threat == "weak" and seen is not None:
                words = f"{words} {READERS} ({seen})."
            if among is not None:
                words = f"{CONSTRAINED} {words}"
            return StudyRecommendation.of(
                replace(best, guarantee=words),
                assumed(engine),
                space.decode(engine.coordinates_of(best.x)),
                study.best_trial,
                len(engine.told),
            )

    def suspects(self, study: Study, *, flagged_only: bool = False) -> tuple[StudySuspect, ...]:
        """The complete trials (or those that are flagged), the most suspicious first."""
        with self._looked_at(study) as (history, engine, _):
            return study_suspects(doubt(engine, flagged_only=flagged_only), history.complete)

    # --- what Optuna calls ---------------------------------------------------------------------

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Compare the arguments with the study's, and write the instance into the trial."""
        if self._seed is None:
            wait_for_starter(study, trial.number)
        with self._lock:
            try:
                terms = self._agreed(study, anew=True)
            except ValueError:
                fail(study, trial)  # Optuna has begun it already, and nobody would end it
                raise
            if self._reveal == BEFORE and terms.label(trial.system_attrs.get(TRIAL_KEY)) is None:
                set_trial_attr(study, trial, terms.drawn(trial.number))

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """The search space that was given, or else what all complete trials have in common."""
        with self._lock:
            terms = self._agreed(study)
            if self._search_space is not None:
                return not_single(self._search_space)
            with self._histories.of(study, terms) as history:
                return not_single(history.common)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The parameters that the engine asks for in the round of this trial."""
        with self._lock, self._histories.of(study, self._agreed(study)) as history:
            if not search_space:
                return {}
            noted = history.noted(trial.number)
            params, drawn = history.ask(trial.number, Space(search_space))
            if self._reveal == BEFORE and noted != drawn:
                set_trial_attr(study, trial, drawn)
            return params

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """A uniform value: a function of the seed, the number of the trial and the name."""
        with self._lock:
            terms = self._agreed(study)
        return sample_alone(terms.seed, trial.number, param_name, param_distribution)

    def after_trial(
        self,
        study: Study,
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        """With reveal="after", write the instance into the trial, now that its value is told."""
        if self._reveal == AFTER and state == TrialState.COMPLETE:
            with self._lock, self._histories.of(study, self._agreed(study)) as history:
                history.noted(trial.number)  # says so if somebody else has written one
                set_trial_attr(study, trial, history.drawn(trial.number))

    def reseed_rng(self) -> None:
        """Nothing: all that is random is a function of the seed and the number of the trial."""

    # --- inside --------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._terms: dict[tuple[str, int], Terms] = {}
        self._histories = Histories()

    def __getstate__(self) -> dict[str, Any]:
        """Without the lock, and without what follows from the trials."""
        derived = ("_lock", "_terms", "_histories")
        return {name: value for name, value in self.__dict__.items() if name not in derived}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()

    def _agreed(self, study: Study, *, anew: bool = False, writes: bool = True) -> Terms:
        """The terms of the study; compared with it again in every trial."""
        key = key_of(study)
        if anew or key not in self._terms:
            mine = Terms(self._plan, Seed.of(self._seed), self._reveal, self._search_space)
            is_seed_given = self._seed is not None
            terms = agreed(study, mine, is_seed_given=is_seed_given, writes=writes)
            if not writes:
                return terms
            self._terms[key] = terms
        return self._terms[key]

    @contextmanager
    def _looked_at(
        self, study: Study, unrelated_to_value: bool = False
    ) -> Iterator[tuple[History, Engine, Space]]:
        """What the trials say now, the engine that was told them, and all parameters.

        Nothing is written: it may be a study that was started with another sampler.
        """
        with self._lock:
            terms = self._agreed(study, anew=True, writes=False)
            with self._histories.of(study, terms) as history:
                given = history.common if self._search_space is None else self._search_space
                several = not_single(given)
                if not several:
                    raise RuntimeError(
                        "a study needs parameters with several values that all its complete trials "
                        "have in common, there are none; complete a trial, or give search_space=..."
                    )
                engine = history.engine(Space(several), unrelated_to_value=unrelated_to_value)
                yield history, engine, Space(given)
