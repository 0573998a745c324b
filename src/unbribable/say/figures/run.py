"""A run as its figures see it, in the user's units: readings, an estimate of f, words for legends."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from unbribable.auditing.optuna_table import is_optuna_study
from unbribable.decision.algorithm import Algorithm, AssumptionsRefuted
from unbribable.decision.proven.guarantee import Guarantee
from unbribable.decision.recommend import Recommendation, trusted
from unbribable.decision.units import MODEL_UNITS, Units
from unbribable.doubt.hypotheses import Known
from unbribable.doubt.judge import Judge
from unbribable.doubt.suspect import Suspect
from unbribable.model import checks
from unbribable.model.checks import Bools, Floats, Ints
from unbribable.model.kernels import Stationary
from unbribable.say.guarantee import supposed
from unbribable.say.reasons import evidence
from unbribable.study.result import Result, whole
from unbribable.study.space import Space
from unbribable.study.study import Study
from unbribable.study.suspects import suspects

COUNTED = "round t is trial t − 1"
"""For figures of an Optuna study, which counts from 0."""

N_CHECKS = 40
"""Rounds of a history at which the recommendation is worked out, at most."""


@dataclass(frozen=True, eq=False)
class Run:
    """A Result or a bare Algorithm: the readings and the algorithm that was told them."""

    algorithm: Algorithm
    units: Units
    """From the model's units to those of the figure."""
    space: Space
    best: Recommendation
    suspects: tuple[Suspect, ...]
    """Every reading, the most suspicious first."""
    y: Floats
    """The readings in the order of telling, (n,)."""
    estimate: Callable[[Floats], tuple[Floats, Floats]]
    """Mean and standard deviation of f at points as the kernel sees them, (k, d), by the readings that
    look honest: a picture, not a guarantee."""

    note: str = ""
    """What a reader has to know about the numbers of the rounds."""

    @cached_property
    def rounds(self) -> Ints:
        """The rounds of the readings, (n,)."""
        return np.array([reading.t for reading in self.algorithm.readings], dtype=np.intp)

    @cached_property
    def U(self) -> Floats:
        """Where they were taken, as the kernel sees it, (n, d)."""
        return np.array([reading.u for reading in self.algorithm.readings])

    @cached_property
    def is_flagged(self) -> Bools:
        """Which of them look like lies, (n,)."""
        flagged = [suspect.t for suspect in self.suspects if suspect.is_flagged]
        return np.isin(self.rounds, flagged)

    @property
    def naive(self) -> int:
        """Index of the best reading, the first of equals: what believing every reading comes to."""
        return int(np.argmax(self.units.sign * self.y))

    @property
    def naive_so_far(self) -> Floats:
        """The best reading so far, after each of them, (n,)."""
        sign = self.units.sign
        best: Floats = sign * np.maximum.accumulate(sign * self.y)
        return best

    @property
    def guarantee(self) -> Guarantee:
        """Whom to trust by default."""
        return trusted(self.algorithm)[0]


def run_of(source: Any) -> Run:
    """What a figure needs, in the user's units, or of an algorithm, in its own.

    Args:
        source: A result, a study (ours or Optuna's), or an algorithm.

    Raises:
        TypeError: It is something else.
        ValueError: There is no reading yet.
    """
    if isinstance(source, Algorithm):
        if not source.readings:
            raise ValueError("a figure needs at least one reading, got an algorithm without any")
        y = np.array([reading.y for reading in source.readings])
        judge = judge_of(source)
        found = suspects(source.readings, judge.verdict(), source, MODEL_UNITS)
        best, space = source.recommend(), Space(source.domain)
        return Run(source, MODEL_UNITS, space, best, found, y, judge.predict)
    result, note = result_of(source), COUNTED if is_optuna_study(source) else ""
    current, advised = result.engine.settled(), result.recommendation
    if current is None or advised is None:
        raise ValueError("a figure needs at least one reading, got a result without any")
    y, units = np.array([reading.y for reading in current.readings]), current.model().units
    y = np.clip(y, -checks.LARGEST_READING, checks.LARGEST_READING)  # an infinite one is drawn too
    return Run(
        current.algorithm(), units, result.space, advised, result.suspects, y, current.predict, note
    )


def judge_of(algorithm: Algorithm) -> Judge:
    """What is thought of the readings of an algorithm, by the kernel and the noise that it assumes."""
    assumed, readings = algorithm.assumptions, algorithm.readings
    center = None if isinstance(assumed.kernel, Stationary) else 0.0
    judge = Judge(Known(assumed.kernel, assumed.noise_std, center), len(readings))
    judge.learn(
        np.array([reading.u for reading in readings]),
        np.array([reading.y for reading in readings]),
        np.array([reading.t for reading in readings], dtype=np.intp),
    )
    return judge


def result_of(source: Any) -> Result:
    """The result that a figure is made of.

    Raises:
        TypeError: There is none: it is no result and no study, or an Optuna study of another sampler.
    """
    if isinstance(source, Study):
        return source.result()
    if is_optuna_study(source):
        if not hasattr(source.sampler, "result"):
            raise TypeError(
                "a figure of an Optuna study needs UnbribableSampler as its sampler, got "
                f"{type(source.sampler).__name__}: study.sampler = UnbribableSampler.from_study(study), "
                "or = UnbribableSampler() if another sampler has proposed its trials"
            )
        found: Result = source.sampler.result(source)
        return found
    if not isinstance(source, Result):
        raise TypeError(f"a figure is made of a Result, a study or an algorithm, got {source!r}")
    return source


class Check(NamedTuple):
    """The recommendation after round t: the estimate at its point, its interval, the point."""

    t: int
    mean: float
    lower: float
    upper: float
    x: Floats


def history(result: Result, *, n_checks: int = N_CHECKS) -> list[Check]:
    """The recommendation over the rounds, at up to n_checks of them.

    The readings are learned again once, in their order. A recommendation is that of `result.at(n)`;
    the first one is that after the initial design, or at the end if that was never finished. Within a
    table there is none.

    Args:
        result: Of `maximize`.
        n_checks: Rounds at which to work out the recommendation, at most, at least 2.
    """
    checks.integer("n_checks", n_checks, at_least=2)
    told = [trial for trial in result.trials if trial.y is not None]
    first = min(max(result.engine.n_design, 1), len(told))
    at = {whole(told, round(n)) for n in np.linspace(first, len(told), n_checks).tolist()}
    engine, found, latest = result.engine.replayed(()), [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionsRefuted)  # said when it happened
        for n, trial in enumerate(told, 1):
            engine.take(trial)
            latest = max(latest, trial.t)
            if n in at:
                then = run_of(Result(result.space, engine, ()))
                best = then.best
                assert best.estimate is not None
                found.append(Check(latest, best.estimate, *best.interval, best.x))
    return found


def in_units(units: Units, values: Floats) -> Floats:
    """Values of f in the user's units."""
    shown: Floats = units.center + units.sign * units.scale * values
    return shown


# --- words ---------------------------------------------------------------------------------------


def band_label(best: Recommendation) -> str:
    """What the interval is, in a few words for a legend."""
    if best.probability is None:
        return "interval (no guarantee)"
    kind = "interval if no reading lies" if best.threat == "none" else "robust interval"
    return f"{kind}, {100.0 * best.probability:.3g} %"


def band_note(run: Run) -> str:
    """When the interval holds, for a line below the legend, and how rounds are counted."""
    holds = "" if run.best.probability is None else f"the interval holds if {supposed(run.best.promise)}"
    return "; ".join(words for words in (holds, run.note) if words)


def in_words(lower: float, upper: float) -> str:
    """An interval for a legend; NaN stands for none."""
    if np.isnan(lower):
        return "none, the readings contradict the assumptions"
    return f"[{lower:.4g}, {upper:.4g}]".replace("-", "−")


def against(suspect: Suspect) -> str:
    """What speaks against a reading."""
    if not suspect.is_flagged:
        return f"a lie with probability {suspect.probability:.2g}, not flagged"
    words = "; ".join(evidence(suspect))
    return f"certain: {words}" if suspect.is_certain else words
