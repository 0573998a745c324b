"""What the figures of a run show, as plain values in the user's units: its history, its suspects."""

import re
import warnings
from dataclasses import dataclass

import numpy as np

from unbribable.decision.algorithm import Algorithm, AssumptionsRefuted
from unbribable.decision.suspects import Suspect
from unbribable.model import checks
from unbribable.model.checks import Floats, Ints
from unbribable.practice.engine import Engine
from unbribable.practice.figures.run import Estimate, Run, run_of
from unbribable.practice.result import Result, learn

N_CHECKS = 40
"""Rounds of a history at which the recommendation is worked out, at most."""


@dataclass(frozen=True, eq=False)
class History:
    """A run over its rounds."""

    run: Run
    """The run at its end."""
    failed: Ints
    """Rounds without a reading."""
    naive: Floats
    """The best reading so far, after each reading, (n,)."""
    rounds: Ints
    """Rounds after which the recommendation was worked out, (k,), ascending."""
    mean: Floats
    """What was estimated then at the point recommended then, (k,)."""
    lower: Floats
    """Lower end of its interval, (k,)."""
    upper: Floats
    """Upper end of its interval, (k,)."""
    x: Floats
    """The point, in the units of the domain, (k, d)."""


def history(result: Result, *, n_checks: int = N_CHECKS) -> History:
    """The run over its rounds, with the recommendation at up to n_checks of them.

    The readings are learned again once, in their order. A recommendation is that of `result.at(n)`;
    the first one is that after the initial design, or at the end if that was never finished.

    Args:
        result: Of `maximize`.
        n_checks: Rounds at which to work out the recommendation, at most, at least 2.
    """
    if isinstance(result, Algorithm):
        raise TypeError("a history needs a Result of maximize, got a bare algorithm")
    run = run_of(result)
    checks.integer("n_checks", n_checks, at_least=2)
    told = [trial for trial in result.trials if trial.y is not None]
    first = min(max(result.engine.n_design, 1), len(told))
    at = set(np.linspace(first, len(told), n_checks).round().astype(int).tolist())
    engine = Engine(result.engine.domain, result.engine.plan, result.engine.seed)
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionsRefuted)  # said when it happened
        for n, trial in enumerate(told, 1):
            learn(engine, trial)
            if n in at:
                rows.append((trial.number, *_incumbent(Result(result.space, engine, ()))))
    rounds, mean, lower, upper, x = zip(*rows, strict=True)
    sign = run.readings.sign
    return History(
        run=run,
        failed=np.array([trial.number for trial in result.trials if trial.y is None], dtype=np.intp),
        naive=sign * np.maximum.accumulate(sign * run.readings.y),
        rounds=np.array(rounds, dtype=np.intp),
        mean=np.array(mean),
        lower=np.array(lower),
        upper=np.array(upper),
        x=np.array(x),
    )


def _incumbent(result: Result) -> tuple[float, float, float, Floats]:
    """Estimate, lower and upper end at the point recommended now, and the point."""
    run = run_of(result)
    best, candidates = run.best, run.algorithm.candidates
    mean = float(Estimate(run).at(candidates.coordinates_of(best.x)[None, :])[0][0])
    return mean, *best.interval, best.x


@dataclass(frozen=True)
class SuspectRow:
    """One reading against what the others predict, and why it is doubted."""

    id: int
    y: float
    expected: float
    sd: float
    is_flagged: bool
    is_certain: bool
    words: str
    """What speaks against it, short."""


def suspect_rows(source: Result | Algorithm, k: int = 10) -> tuple[SuspectRow, ...]:
    """The k most suspicious readings, the worst first; all of them where there are fewer."""
    k = checks.integer("k", k, at_least=1)
    return tuple(
        SuspectRow(
            id=suspect.t,
            y=suspect.y,
            expected=suspect.expected,
            sd=suspect.sd,
            is_flagged=suspect.is_flagged,
            is_certain=suspect.is_certain,
            words=_short(suspect),
        )
        for suspect in run_of(source).suspects[:k]
    )


def _short(suspect: Suspect) -> str:
    if not suspect.is_flagged:
        return f"{suspect.score:.2g} sd off, not flagged"
    words = "; ".join(suspect.evidence)
    for long, short in (
        ("what the other readings predict", "the prediction"),
        (" standard deviations", " sd"),
        (" +- ", "\u00a0±\u00a0"),
    ):
        words = words.replace(long, short)
    words = re.sub(r"(?<!\w)-(?=\d)", "−", words)
    return f"certain: {words}" if suspect.is_certain else words
