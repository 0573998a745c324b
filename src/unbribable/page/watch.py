"""Watch a study: what it says so far, as plain data, worked out beside the page."""

import math
import threading
import warnings
from collections.abc import Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unbribable.decision.algorithm import AssumptionsRefuted
from unbribable.decision.recommend import Recommendation
from unbribable.doubt.suspect import Suspect
from unbribable.model.checks import LARGEST_READING, Floats
from unbribable.model.dimensions import Whole
from unbribable.page.source import Source
from unbribable.say.counting import Counting
from unbribable.say.figures.belief import Axis, Section, belief
from unbribable.say.figures.run import Run
from unbribable.say.figures.worst_case import worst_case
from unbribable.say.left_to_gain import lines
from unbribable.say.reasons import evidence
from unbribable.say.recommendation import is_needed_said, needs
from unbribable.say.worst_case import WHAT, holds, short_of
from unbribable.study.result import Result

N_SUSPECTS = 50
"""Suspicious readings shown, at most."""


@dataclass
class _Known:
    """Holds changing state: what is known of one study."""

    number: int = 0
    """How often something new was worked out."""
    told: dict[str, Any] = field(default_factory=dict)
    """What was read, as of `told_at`."""
    answer: dict[str, Any] = field(default_factory=dict)
    """What follows from what was read, as of `answered_at`."""
    result: Result | None = None
    """What was read, to be answered."""
    told_at: Hashable = None
    answered_at: Hashable = None
    error: str | None = None
    work: dict[str, Future[None]] = field(default_factory=dict)

    def is_free(self, which: str) -> bool:
        """Whether nobody is at this work."""
        return which not in self.work or self.work[which].done()


class Watch:
    """Holds changing state: what was last worked out about each study.

    Thousands of readings take a while to compare. So `look` never waits: it gives what is known and says
    whether that is behind. One thread reads what was told, and another one works out what follows from
    it, so that a reading is shown at once.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self._known: dict[str, _Known] = {}
        self._lock = threading.RLock()
        self._readers = ThreadPoolExecutor(max_workers=1)
        self._answerers = ThreadPoolExecutor(max_workers=1)

    def look(self, name: str, seen: int = 0) -> dict[str, Any]:
        """What is known of a study now; `number` counts what was worked out.

        Whoever has seen that much already is told no more than whether it is behind.
        """
        names = self.source.names()
        if name not in names:
            raise ValueError(f"study must be one of {names}, got {name!r}")
        version = self.source.version(name)
        with self._lock:
            known = self._known.setdefault(name, _Known())
            if known.told_at != version and known.is_free("read"):
                known.work["read"] = self._readers.submit(self._read, name, known, version)
            self._go_on(name, known)
            news = {} if known.number == seen else {**known.told, **known.answer}
            is_behind = known.answered_at != version
            return {**news, "number": known.number, "error": known.error, "is_behind": is_behind}

    def retract(self, name: Any, t: Any, reason: Any, unrelated_to_value: Any) -> None:
        """Take out a reading; the reason is kept with it."""
        if name not in self.source.names():
            raise ValueError(f"study must be one of {self.source.names()}, got {name!r}")
        if not isinstance(reason, str) or not reason.strip() or len(reason) > 1000:
            raise ValueError("reason must be words, at most 1000 characters, got none, or more")
        if type(t) is not int or type(unrelated_to_value) is not bool:
            raise ValueError(f"t must be a round, and unrelated_to_value true or false, got t={t!r}")
        self.source.retract(name, t, reason.strip(), unrelated_to_value)

    def _go_on(self, name: str, known: _Known) -> None:
        """Have the last readings answered, if they are not yet and nobody is at it."""
        version, result = known.told_at, known.result
        if result is not None and version != known.answered_at and known.is_free("answer"):
            known.work["answer"] = self._answerers.submit(self._answer, name, known, version, result)

    def _read(self, name: str, known: _Known, version: Hashable) -> None:
        try:
            result = self.source.result(name)
            told = as_told(self.source, name, result)
        except Exception as error:  # of any kind: in this thread nobody else would see it
            with self._lock:
                known.error = _in_words(error)
                if not isinstance(error, OSError):  # else the next look tries again
                    known.told_at = known.answered_at = version
            return
        with self._lock:
            known.told, known.result, known.told_at = told, result, version
            known.error = None
            known.number += 1
            self._go_on(name, known)

    def _answer(self, name: str, known: _Known, version: Hashable, result: Result) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", AssumptionsRefuted)  # the page says so
                answer = answered(self.source, name, result)
        except Exception as error:  # of any kind: in this thread nobody else would see it
            with self._lock:
                known.error = _in_words(error)
                if not isinstance(error, OSError):  # else the next look tries again
                    known.answered_at = version
            return
        with self._lock:
            known.answer, known.answered_at, known.error = answer, version, None
            known.number += 1


def _in_words(error: Exception) -> str:
    kind = "" if isinstance(error, OSError | RuntimeError | ValueError) else type(error).__name__
    return f"{kind} {error}".strip()


def as_told(source: Source, name: str, result: Result) -> dict[str, Any]:
    """What was read, as the page shows it."""
    told = [trial for trial in result.trials if trial.y is not None]
    return {
        "name": name,
        "counted": source.counting.name,
        "first": source.counting.first,
        "direction": result.engine.plan.direction,
        "n_trials": len(result.trials),
        "n_failed": result.n_failed,
        "t": [trial.t for trial in told],
        "y": [_drawn(trial.y) for trial in told],
        "missing": [{"t": trial.t, "error": trial.error} for trial in result.trials if trial.y is None],
    }


def answered(source: Source, name: str, result: Result) -> dict[str, Any]:
    """What follows from what was read, as the page shows it; `of` are the readings it rests on."""
    told = [trial for trial in result.trials if trial.y is not None]
    best, price = source.answer(name, result)
    naive = result.naive
    if best is None or naive is None:
        return {"flagged": [], "answer": None}
    flagged = [suspect for suspect in result.suspects if suspect.is_flagged]
    seen = belief(result)
    return {
        "flagged": [suspect.t for suspect in flagged],
        "of": {"t": [trial.t for trial in told], "y": [_drawn(trial.y) for trial in told]},
        "answer": {
            "words": str(best),
            "params": _point(result, best.x),
            "estimate": best.estimate,
            "estimate_sd": best.estimate_sd,
            "lower": best.lower,
            "upper": best.upper,
            "is_guaranteed": best.probability is not None,
            "regret_bound": best.regret_bound,
            "guarantee": best.guarantee,
            "needs": needs(best),
            "price": None if price is None else str(price),
            "assumptions": str(result.assumptions),
            "left_to_gain": lines(source.left_to_gain(name, result)),
        },
        "naive": {
            "t": naive.t,
            "y": _drawn(naive.y),
            "params": _point(result, naive.x),
            "is_flagged": naive.t in {suspect.t for suspect in flagged},
        },
        "suspects": [_suspect(result, suspect, source.counting) for suspect in flagged[:N_SUSPECTS]],
        "worst_case": _worst_case(best, len(flagged)),
        "sections": [_section(seen.run, section, seen.u) for section in seen.sections],
        "n_left_out": seen.n_left_out,
    }


def _drawn(y: float | None) -> float | None:
    """A reading as it is drawn: an infinite one as the largest that is taken."""
    return None if y is None else max(-LARGEST_READING, min(LARGEST_READING, y))


def _suspect(result: Result, suspect: Suspect, counting: Counting) -> dict[str, Any]:
    return {
        "t": suspect.t,
        "y": _drawn(suspect.y),
        "expected": suspect.expected,
        "sd": suspect.expected_sd,
        "is_certain": suspect.is_certain,
        "evidence": list(evidence(suspect, counting)),
        "params": _point(result, suspect.x),
    }


def _worst_case(best: Recommendation, n_flagged: int) -> dict[str, Any]:
    """The worst case by the number of lies, as it is drawn."""
    shown = worst_case(best, n_flagged)
    return {
        "rows": [[k, lower, upper] for k, lower, upper in shown.rows],
        "least": shown.least,
        "last": shown.last,
        "is_open": shown.is_open,
        "allowed": shown.n_allowed,
        "flagged": shown.n_flagged,
        "limits": shown.limits,
        "worse": best.clearly_worse if is_needed_said(best) else None,
        "short_of": short_of(best),
        "words": f"{WHAT} {holds(best)}",
    }


def _section(run: Run, section: Section, u: Floats) -> dict[str, Any]:
    """A line or a plane, and where the readings and the answer are on its axes."""
    is_plane = len(section.axes) == 2
    return {
        "axes": [_axis(run, axis, u) for axis in section.axes],
        "mean": _numbers(section.mean),
        **({} if is_plane else {"near": [_numbers(side) for side in section.near]}),
        **({} if is_plane else {"lower": _numbers(section.lower), "upper": _numbers(section.upper)}),
    }


def _axis(run: Run, axis: Axis, u: Floats) -> dict[str, Any]:
    return {
        "name": axis.name,
        "values": _numbers(axis.values),
        "options": axis.options,
        "is_log": axis.is_log,
        "is_whole": isinstance(axis.dimension, Whole),
        "is_points": axis.is_points,
        "readings": _numbers(axis.positions(run.U)),
        "at": float(axis.positions(u[None])[0]),
    }


def _point(result: Result, x: Floats) -> dict[str, Any]:
    """A point by the names of its parameters."""
    named = result.space.params(x)
    plain = (
        {f"x{k}": value for k, value in enumerate(np.asarray(x).tolist())} if named is None else named
    )
    return {
        name: value.item() if isinstance(value, np.generic) else value for name, value in plain.items()
    }


def _numbers(values: Floats) -> list[Any]:
    """As plain data of five digits; null where there is no number."""
    flat = [float(f"{value:.5g}") if math.isfinite(value) else None for value in values.ravel().tolist()]
    return flat if values.ndim == 1 else np.array(flat, dtype=object).reshape(values.shape).tolist()
