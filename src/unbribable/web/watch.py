"""Watch a study: what it says so far, as plain data without its seed, worked out beside the page."""

import math
import threading
import warnings
from collections.abc import Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from unbribable.decision.algorithm import AssumptionsRefuted
from unbribable.decision.suspects import Suspect
from unbribable.model.checks import Floats
from unbribable.practice.figures.belief import Axis, Section, belief
from unbribable.practice.figures.run import Run
from unbribable.practice.result import Result
from unbribable.say.counting import Counting
from unbribable.say.reasons import evidence
from unbribable.web.source import Source

N_SUSPECTS = 50
"""Suspicious readings shown, at most."""


class Watch:
    """Holds changing state: what was last worked out about each study.

    Thousands of readings take a while to compare. So `look` never waits: it gives what is known, says
    whether that is behind, and lets one thread work out the rest.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self._known: dict[str, dict[str, Any]] = {}
        self._versions: dict[str, Hashable] = {}
        self._work: dict[str, Future[None]] = {}
        self._lock = threading.Lock()
        self._worker = ThreadPoolExecutor(max_workers=1)

    def look(self, name: str, seen: int = 0) -> dict[str, Any]:
        """What is known of a study now; `number` counts what was worked out.

        Whoever has seen that much already is told no more than whether it is behind.
        """
        names = self.source.names()
        if name not in names:
            raise ValueError(f"study must be one of {names}, got {name!r}")
        version = self.source.version(name)
        with self._lock:
            work = self._work.get(name)
            if self._versions.get(name) != version and (work is None or work.done()):
                self._work[name] = self._worker.submit(self._work_out, name, version)
            known = self._known.get(name, {"number": 0})
            if known["number"] == seen:
                known = {"number": seen, "error": known.get("error")}
            return {**known, "is_behind": self._versions.get(name) != version}

    def retract(self, name: Any, t: Any, reason: Any, unrelated_to_value: Any) -> None:
        """Take out a reading; the reason is kept with it."""
        if name not in self.source.names():
            raise ValueError(f"study must be one of {self.source.names()}, got {name!r}")
        if not isinstance(reason, str) or not reason.strip() or len(reason) > 1000:
            raise ValueError("reason must be words, at most 1000 characters, got none, or more")
        if type(t) is not int or type(unrelated_to_value) is not bool:
            raise ValueError(f"t must be a round, and unrelated_to_value true or false, got t={t!r}")
        self.source.retract(name, t, reason.strip(), unrelated_to_value)

    def _work_out(self, name: str, version: Hashable) -> None:
        number = self._known.get(name, {"number": 0})["number"] + 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", AssumptionsRefuted)  # the page says so
                found = shown(self.source, name)
        except Exception as error:  # of any kind: in this thread nobody else would see it
            kind = "" if isinstance(error, OSError | RuntimeError | ValueError) else type(error).__name__
            found = {**self._known.get(name, {}), "error": f"{kind} {error}".strip()}
        with self._lock:
            self._known[name] = {**found, "number": number}
            self._versions[name] = version


def shown(source: Source, name: str) -> dict[str, Any]:
    """A study as the page shows it; never its seed, nor whom the draws name."""
    result = source.result(name)
    told = [trial for trial in result.trials if trial.y is not None]
    data: dict[str, Any] = {
        "name": name,
        "counted": source.counting.name,
        "first": source.counting.first,
        "direction": result.engine.plan.direction,
        "n_trials": len(result.trials),
        "n_failed": result.n_failed,
        "t": [trial.t for trial in told],
        "y": [trial.y for trial in told],
        "missing": [{"t": trial.t, "error": trial.error} for trial in result.trials if trial.y is None],
        "flagged": [],
        "answer": None,
    }
    best, price = source.answer(name, result)
    naive = result.naive
    if best is None or naive is None:
        return data
    flagged = [suspect for suspect in result.suspects if suspect.is_flagged]
    seen = belief(result)
    return {
        **data,
        "flagged": [suspect.t for suspect in flagged],
        "answer": {
            "words": str(best),
            "params": _point(result, best.x),
            "estimate": best.estimate,
            "estimate_sd": best.estimate_sd,
            "lower": best.lower,
            "upper": best.upper,
            "regret_bound": best.regret_bound,
            "guarantee": best.guarantee,
            "price": None if price is None else price.words,
            "assumptions": result.assumptions,
        },
        "naive": {
            "t": naive.t,
            "y": naive.y,
            "params": _point(result, naive.x),
            "is_flagged": naive.t in {suspect.t for suspect in flagged},
        },
        "suspects": [_suspect(result, suspect, source.counting) for suspect in flagged[:N_SUSPECTS]],
        "sections": [_section(seen.run, section, seen.u) for section in seen.sections],
        "n_left_out": seen.n_left_out,
    }


def _suspect(result: Result, suspect: Suspect, counting: Counting) -> dict[str, Any]:
    return {
        "t": suspect.t,
        "y": suspect.y,
        "expected": suspect.expected,
        "sd": suspect.sd,
        "is_certain": suspect.is_certain,
        "evidence": list(evidence(suspect, counting)),
        "params": _point(result, suspect.x),
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
