"""A run as its figures see it, in the user's units: readings, an estimate of f, words for legends."""

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from unbribable.decision.algorithm import Algorithm, AssumptionsRefuted
from unbribable.decision.recommend import Guarantee, Recommendation, trusted
from unbribable.decision.suspects import NOISE_FLOOR, Suspect, prior_var_of
from unbribable.decision.units import MODEL_UNITS, Units
from unbribable.model import checks
from unbribable.model.checks import Bools, Floats, Ints
from unbribable.model.posterior import Posterior
from unbribable.practice.result import Result
from unbribable.practice.space import Space

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
    is_fitted: bool
    """Whether the assumptions were fitted to the readings."""

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

    def estimate(self, U: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation of f at U, (k, d), by the readings that do not look like lies.

        A picture, not a guarantee: the Gaussian process is the one by which readings are flagged, with
        the assumed kernel, honest noise and prior standard deviation B0.
        """
        posterior, prior_var = self._believed
        mean, var = posterior.at(U)
        return in_units(self.units, mean), self.units.scale * np.sqrt(prior_var * np.maximum(var, 0.0))

    @cached_property
    def _believed(self) -> tuple[Posterior, float]:
        """The posterior of f over its prior standard deviation, and the prior variance."""
        algorithm, assumed = self.algorithm, self.algorithm.assumptions
        prior_var = prior_var_of(assumed.kernel, self.U, assumed.B, assumed.B0)
        is_kept = ~self.is_flagged | self.is_flagged.all()  # where every one looks like a lie, none does
        noise_var = [assumed.noise_std**2 * each.lam / assumed.lam for each in algorithm.readings]
        lam = np.maximum(np.array(noise_var) / prior_var, NOISE_FLOOR)
        y = [each.y for each in algorithm.readings]
        posterior = Posterior(assumed.kernel, self.U, lam=1.0)
        posterior.observe_all([(int(k), y[k], float(lam[k])) for k in np.flatnonzero(is_kept)])
        return posterior, prior_var


def run_of(source: Result | Algorithm) -> Run:
    """What a figure needs of a result, in the user's units, or of an algorithm, in its own.

    Raises:
        TypeError: It is neither.
        ValueError: There is no reading yet.
    """
    if isinstance(source, Algorithm):
        if not source.readings:
            raise ValueError("a figure needs at least one reading, got an algorithm without any")
        y = np.array([reading.y for reading in source.readings])
        best, found = source.recommend(), source.suspects()
        return Run(source, MODEL_UNITS, Space(source.domain), best, found, y, is_fitted=False)
    if not isinstance(source, Result):
        raise TypeError(f"a figure is made of a Result or an algorithm, got {source!r}")
    current, advised = source.engine.settled(), source.recommendation
    if current is None or advised is None:
        raise ValueError("a figure needs at least one reading, got a result without any")
    y, units = np.array([reading.y for reading in current.told]), current.fit().judge.units
    is_fitted = bool(current.plan.fitted)
    return Run(current.judge(), units, source.space, advised, source.suspects, y, is_fitted)


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
    the first one is that after the initial design, or at the end if that was never finished.

    Args:
        result: Of `maximize`.
        n_checks: Rounds at which to work out the recommendation, at most, at least 2.
    """
    checks.integer("n_checks", n_checks, at_least=2)
    told = [trial for trial in result.trials if trial.y is not None]
    first = min(max(result.engine.n_design, 1), len(told))
    at = set(np.linspace(first, len(told), n_checks).round().astype(int).tolist())
    engine, found = result.engine.anew(), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionsRefuted)  # said when it happened
        for n, trial in enumerate(told, 1):
            trial.tell(engine)
            if n in at:
                then = run_of(Result(result.space, engine, ()))
                u = then.algorithm.candidates.coordinates_of(then.best.x)
                mean = float(then.estimate(u[None])[0][0])
                found.append(Check(trial.t, mean, *then.best.interval, then.best.x))
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
    """When the interval holds, for a line below the legend; empty where nothing is guaranteed."""
    if run.best.probability is None:
        return ""
    words = []
    if run.best.threat != "none":
        blind = ", told without knowing the draws," if run.best.threat == "weak" else ""
        words.append(f"lies{blind} add up to at most {run.units.scale * run.guarantee.C:.4g}")
    if run.is_fitted:
        words.append("the fitted model is right")
    return f"the interval holds if {' and '.join(words)}" if words else ""


def in_words(lower: float, upper: float) -> str:
    """An interval for a legend; NaN stands for none."""
    if np.isnan(lower):
        return "none, the readings contradict the assumptions"
    return f"[{lower:.4g}, {upper:.4g}]".replace("-", "−")


def against(suspect: Suspect) -> str:
    """What speaks against a reading."""
    if not suspect.is_flagged:
        return f"{suspect.score:.2g} sd off, not flagged"
    words = "; ".join(suspect.evidence)
    return f"certain: {words}" if suspect.is_certain else words
