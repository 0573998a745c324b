"""Functions whose readings follow a script, and comparisons of runs bit for bit."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from unbribable.decision.recommend import Recommendation

GRID = ub.Grid(np.linspace(0.0, 1.0, 21)[:, None])
BOX = ub.Box([0.0], [1.0], n_candidates=64)
"""Few candidates: a round costs less, and nothing that is tested here needs more."""
ASSUMED = ub.Assumptions(ub.SquaredExponential(0.2), B=2.0, B0=1.2, noise_std=0.1, lam=0.05)

PLANS: dict[str, dict[str, Any]] = {
    "fitted": {"domain": BOX},
    "fitted, unknown": {"domain": GRID, "corruption": "unknown"},
    "given, none": {"domain": GRID, "assumptions": ASSUMED, "corruption": 0},
    "given, a number": {"domain": BOX, "assumptions": ASSUMED, "corruption": 1.5},
    "given, unknown": {"domain": GRID, "assumptions": ASSUMED, "corruption": "unknown"},
    "given, scout": {"domain": GRID, "assumptions": ASSUMED, "corruption": 1.5, "explore": 2.0},
}
"""Arguments of maximize beside f and the number of rounds."""


def wave(x: Any) -> float:
    """Two peaks in the unit interval, at 0.17 and, higher by 0.06, at 0.87."""
    return float(np.sin(9.0 * x[0]) + 0.1 * x[0] - 0.05)


class Scripted:
    """Holds changing state: f with noise that depends on the round, and a script of exceptions.

    Args:
        f: The truth.
        script: Round -> what to return instead, or an exception to raise.
        noise_std: Of the noise.
        first: The round of the first call.
    """

    def __init__(
        self,
        f: Callable[[Any], float] = wave,
        script: Mapping[int, Any] | None = None,
        noise_std: float = 0.1,
        first: int = 1,
    ) -> None:
        self.f = f
        self.script = script or {}
        self.noise_std = noise_std
        self.round = first - 1
        self.points: list[Any] = []

    def __call__(self, x: Any) -> Any:
        self.round += 1
        self.points.append(x)
        if self.round not in self.script:
            noise = self.noise_std * np.random.default_rng(self.round).standard_normal()
            return self.f(x) + float(noise)
        told = self.script[self.round]
        if isinstance(told, BaseException):
            raise told
        return told


def trials_of(run: ub.Result) -> list[dict[str, Any]]:
    """Everything about the trials; floats equal only if all their bits are."""
    return [trial.to_plain() for trial in run.trials]


def answer_of(best: Recommendation | None) -> Any:
    """Everything about a recommendation; floats equal only if all their bits are."""
    if best is None:
        return None
    fields = {name: getattr(best, name) for name in best.__dataclass_fields__}
    return {**fields, "x": best.x.tolist()}


def assert_same_run(one: ub.Result, other: ub.Result) -> None:
    """Bit for bit: trials, recommendation, suspects."""
    for mine, theirs in zip(trials_of(one), trials_of(other), strict=True):
        assert mine == theirs, f"{mine} != {theirs}"
    answers = answer_of(one.recommendation), answer_of(other.recommendation)
    assert answers[0] == answers[1], "{} != {}".format(*answers)
    for mine, theirs in zip(one.suspects, other.suspects, strict=True):
        assert mine.to_dict() == theirs.to_dict(), f"{mine} != {theirs}"


def flagged(run: ub.Result) -> list[int]:
    """The rounds that are called suspicious."""
    return sorted(suspect.t for suspect in run.suspects if suspect.is_flagged)


def assert_refused(call: Callable[[], Any], error: type[Exception], words: tuple[str, ...]) -> None:
    """The call raises exactly this kind of error, and its message holds every word."""
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error
    for word in words:
        assert word in str(caught.value), str(caught.value)
