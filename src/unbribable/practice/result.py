"""What `maximize` returns: the robust answer, the naive one beside it, and everything told."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from unbribable.decision.draws import Seed
from unbribable.decision.recommend import Recommendation
from unbribable.decision.suspects import Suspect
from unbribable.model import checks
from unbribable.model.checks import Floats
from unbribable.practice.advice import advise, assumed, doubt
from unbribable.practice.engine import Engine
from unbribable.practice.files import FORMAT, read, write
from unbribable.practice.plan import Plan
from unbribable.practice.space import Space


@dataclass(frozen=True, eq=False)
class Trial:
    """One round: where, what was told, or why nothing was."""

    number: int
    """The round, from 1."""
    x: Floats
    """The point, (d,); for named parameters its encoding."""
    params: Any
    """The point as f got it: an array, or a dict by name."""
    y: float | None
    """The reading; None if the evaluation failed."""
    instance: str | None
    """The instance that the round's draw names."""
    is_given: bool = False
    """Whether it is an initial reading of the user's."""
    error: str | None = None
    """Why there is no reading."""

    def __post_init__(self) -> None:
        x = self.x.copy()
        x.flags.writeable = False  # the run goes on from it
        object.__setattr__(self, "x", x)

    def to_plain(self) -> dict[str, Any]:
        """JSON-able."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        fields["x"] = self.x.tolist()
        if isinstance(self.params, np.ndarray):
            fields["params"] = self.params.tolist()
        return fields


class Result:
    """Everything about a run so far. What is worked out from the readings is so when it is asked for.

    Attributes:
        space: Where it searched.
        engine: Readings, fit and algorithm.
        trials: All rounds, in order.
        is_interrupted: Whether the run was ended by Ctrl-C or a callback.
        seconds_per_ask: Median time to choose a point.
    """

    def __init__(
        self,
        space: Space,
        engine: Engine,
        trials: Sequence[Trial],
        *,
        is_interrupted: bool = False,
        seconds_per_ask: float | None = None,
    ) -> None:
        self.space = space
        self.engine = engine
        self.trials = tuple(trials)
        self.is_interrupted = is_interrupted
        self.seconds_per_ask = seconds_per_ask

    @cached_property
    def recommendation(self) -> Recommendation | None:
        """The point to use with its interval and certificate, in your units; None without a reading."""
        return advise(self.engine)

    @property
    def x(self) -> Any:
        """The point to use, as f takes it."""
        return None if self.recommendation is None else self.space.shown(self.recommendation.x)

    @property
    def lower(self) -> float | None:
        """f(x) is at least that, where guaranteed; None if the readings contradict the assumptions."""
        return None if self.recommendation is None else self.recommendation.lower

    @property
    def upper(self) -> float | None:
        """f(x) is at most that, where guaranteed; None if the readings contradict the assumptions."""
        return None if self.recommendation is None else self.recommendation.upper

    @property
    def regret_bound(self) -> float | None:
        """Certificate: the best candidate is better than x by at most that; None: no guarantee."""
        return None if self.recommendation is None else self.recommendation.regret_bound

    @property
    def naive(self) -> Trial | None:
        """The trial with the best reading: what an optimizer that believes every reading returns."""
        told = [trial for trial in self.trials if trial.y is not None]
        sign = self.engine.plan.sign
        return max(told, key=lambda trial: sign * (trial.y or 0.0), default=None)

    @cached_property
    def suspects(self) -> tuple[Suspect, ...]:
        """Every reading, the most suspicious first; `is_flagged` is the verdict. Nothing is deleted."""
        return doubt(self.engine)

    @property
    def n_suspects(self) -> int:
        """How many readings are flagged."""
        return sum(suspect.is_flagged for suspect in self.suspects)

    @property
    def n_failed(self) -> int:
        """How many evaluations gave no reading."""
        return sum(trial.y is None for trial in self.trials)

    @property
    def detected(self) -> int | None:
        """The round whose reading gave corruption away (known_or_zero), or None."""
        return None if self.engine.algorithm is None else self.engine.algorithm.detected

    @property
    def refuted(self) -> int | None:
        """The round whose reading contradicted the assumptions, or None."""
        return None if self.engine.algorithm is None else self.engine.algorithm.refuted

    @property
    def guarantee(self) -> str:
        """What is guaranteed, in words, or why nothing is."""
        if self.recommendation is None:
            return "No guarantee: there is no reading yet."
        return self.recommendation.guarantee

    @property
    def assumptions(self) -> str:
        """What the guarantee rests on, in words, with the units in which it is said."""
        return assumed(self.engine)

    def summary(self) -> str:
        """The answer in a few lines."""
        if self.recommendation is None or self.naive is None:
            return f"No reading yet; {self.n_failed} of {len(self.trials)} evaluations failed."
        flagged = [suspect.t for suspect in self.suspects if suspect.is_flagged]
        interval = "no interval, since the readings contradict the assumptions"
        if self.lower is not None:
            interval = f"f between {self.lower:.6g} and {self.upper:.6g}"
        lines = [
            f"use x = {_words(self.x)}: {interval}",
            f"best reading: {self.naive.y:.6g} in round {self.naive.number}, "
            f"at {_words(self.naive.params)}",
            f"rounds: {len(self.trials)}, failed: {self.n_failed}, suspicious: {flagged or 'none'}",
            self.guarantee,
        ]
        if self.detected is not None:
            lines.append(f"Corruption was detected in round {self.detected}.")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Result({self.summary()})"

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-able data, without the secret seed."""
        best = self.recommendation
        return {
            "format": FORMAT,
            "x": _plain(self.x),
            "lower": self.lower,
            "upper": self.upper,
            "regret_bound": self.regret_bound,
            "between_candidates": None if best is None else best.between_candidates,
            "probability": None if best is None else best.probability,
            "threat": None if best is None else best.threat,
            "guarantee": self.guarantee,
            "assumptions": self.assumptions,
            "naive": None if self.naive is None else self.naive.to_plain(),
            "detected": self.detected,
            "refuted": self.refuted,
            "is_interrupted": self.is_interrupted,
            "seconds_per_ask": self.seconds_per_ask,
            "suspects": [suspect.to_dict() for suspect in self.suspects if suspect.is_flagged],
            "trials": [trial.to_plain() for trial in self.trials],
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the run to a JSON file, whole or not at all.

        The file holds the secret seed, so that only its owner may read it.
        """
        stored = {
            "domain": self.space.to_plain(),
            "plan": self.engine.plan.to_plain(),
            "seed": self.engine.seed.to_plain(),
            "is_interrupted": self.is_interrupted,
            "seconds_per_ask": self.seconds_per_ask,
            "trials": [trial.to_plain() for trial in self.trials],
        }
        write(path, stored)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Result":
        """Read a run that `save` wrote, and learn its readings again.

        Raises:
            ValueError: The file is no saved run, or of another format.
        """
        return cls.of_file(path, read(path))

    @classmethod
    def of_file(
        cls, path: str | os.PathLike[str], stored: dict[str, Any], plan: Plan | None = None
    ) -> "Result":
        """From what `read` found in the file; the plan is the stored one if None."""
        try:
            return cls._of(stored, plan or Plan.from_plain(stored["plan"]))
        except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
            raise ValueError(f"{path} must be a run saved by Result.save, got {error!r}") from error

    @classmethod
    def _of(cls, stored: dict[str, Any], plan: Plan) -> "Result":
        space = Space.from_plain(stored["domain"])
        engine = Engine(space.domain, plan, Seed.from_plain(stored["seed"]))
        trials: list[Trial] = []
        for plain in stored["trials"]:
            trials.append(_stored_trial(plain, len(trials) + 1, space, engine))
            learn(engine, trials[-1])
        n_done = sum(not trial.is_given for trial in trials)
        if n_done > plan.n_rounds:
            raise ValueError(f"trials must be n_rounds={plan.n_rounds} at most, got {n_done}")
        seconds = stored["seconds_per_ask"]
        return cls(
            space,
            engine,
            trials,
            is_interrupted=checks.truth("is_interrupted", stored["is_interrupted"]),
            seconds_per_ask=None if seconds is None else checks.real("seconds_per_ask", seconds),
        )

    def at(self, n: int) -> "Result":
        """The result as it was after n rounds."""
        engine = Engine(self.engine.domain, self.engine.plan, self.engine.seed)
        for trial in self.trials[:n]:
            learn(engine, trial)
        return Result(self.space, engine, self.trials[:n])


def learn(engine: Engine, trial: Trial) -> None:
    """Let the engine learn a trial, or that it has no reading."""
    if trial.y is None:
        engine.lose(trial.number)
    else:
        engine.tell(trial.number, trial.x, trial.y, trial.instance, is_foreign=trial.is_given)


def _stored_trial(plain: dict[str, Any], number: int, space: Space, engine: Engine) -> Trial:
    """A trial as it was saved, if the run can have had it in this round."""
    engine.coordinates_of(plain["x"])  # refuses what is no point
    x, y = np.asarray(plain["x"], dtype=np.float64), plain["y"]
    y = None if y is None else checks.reading("y", y)
    trial = Trial(**{**plain, "x": x, "params": space.shown(x), "y": y})
    if checks.integer("number", trial.number, at_least=1) != number:
        raise ValueError(f"trials must be numbered from 1 on, got number={trial.number}")
    checks.truth("is_given", trial.is_given)
    is_told = y is not None and trial.error is None
    is_failed = y is None and isinstance(trial.error, str)
    if not (is_told or is_failed):
        raise ValueError(
            f"a trial must have a reading, or an error in words, got y={y!r} and error={trial.error!r}"
        )
    if engine.plan.known_or_zero is None:
        labels = [engine.drawn(number)]
    elif engine.is_fitted:  # drawn anew after each fit
        labels = [None, "slow", "fast"]
    else:  # None: before the design was finished
        labels = [None, engine.drawn(number)]
    if trial.instance not in labels:
        words = " or ".join(repr(label) for label in labels)
        raise ValueError(f"instance of round {number} must be {words}, got instance={trial.instance!r}")
    return trial


def _plain(point: Any) -> Any:
    return point.tolist() if isinstance(point, np.ndarray) else point


def _words(point: Any) -> str:
    if isinstance(point, np.ndarray):
        return "[" + ", ".join(f"{value:.6g}" for value in point) + "]"
    return str(point)
