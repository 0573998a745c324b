"""One call: find the maximum of a function some of whose readings may be lies."""

import json
import os
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from unbribable.decision.draws import Seed
from unbribable.model import checks
from unbribable.practice.engine import Engine
from unbribable.practice.files import locked, read
from unbribable.practice.plan import Plan, Settings, with_settings
from unbribable.practice.progress import reporter
from unbribable.practice.result import Result, Trial, replayed, restored
from unbribable.practice.space import Space

Callback = Callable[[Result, Trial], bool | None]

N_HOPELESS = 10
"""A run ends if its first evaluations, this many, all fail."""

N_HOPELESS_TYPES = 5
"""The same if each failed with a TypeError, which hardly depends on the point."""


class SaveError(OSError):
    """A run could not be saved. Nothing is lost yet: `result` can be saved to another file."""

    result: Result
    """The result so far, with the round that is not in the file."""


@with_settings
def maximize(
    f: Callable[[Any], float],
    domain: Any,
    n_rounds: int,
    *,
    direction: str = "maximize",
    seed: Any = None,
    initial: Iterable[tuple[Any, float]] = (),
    callbacks: Iterable[Callback] = (),
    on_error: str = "record",
    progress: bool | None = None,
    file: str | os.PathLike[str] | None = None,
    **settings: Unpack[Settings],
) -> Result:
    """Find the maximum of f, although some of what it returns may be noise or lies.

    Amounts (corruption, noise_std, B) are in the units of f.

    Args:
        f: Takes a point, an array (d,) (or a dict where the domain has names), returns a number of
            at most 1e150 in absolute value.
        domain: A Box, a Grid, a list of pairs (low, high), an array of candidates (n, d), or a dict
            from name to bounds such as {"x": (0.0, 1.0), "n": Whole(1, 9), "kind": ["a", "b"]}.
        n_rounds: Evaluations in all, failed ones included.
        {settings}
        direction: "maximize" or "minimize".
        seed: Of the secret draws and the initial design; fresh entropy if None.
        initial: Readings taken before, as pairs (point, reading). A run that is resumed from a file
            has them already, and refuses others.
        callbacks: Called as callback(result, trial) after every round; one that returns True ends
            the run.
        on_error: "record": an evaluation that raises, or returns no finite number, is recorded as
            failed, nothing is learned, and the run goes on, unless the first ten all fail (five, if
            each with a TypeError). "raise": it is raised.
        progress: Whether to show a progress bar; by default on a terminal only.
        file: Where to keep the run, written after every round. If it exists, the run resumes exactly
            as if it had not stopped. It is for one run at a time, and holds the seed, so only its
            owner may read it.

    Returns:
        The result; after Ctrl-C the result so far.

    Raises:
        TypeError, ValueError: The message says the rule and the value.
        RuntimeError: Another run is using the file, or no evaluation so far has given a reading.
        OSError: The file cannot be written. If rounds were played, the `result` of the error has them.
    """
    space = Space.of(domain)
    if not callable(f):
        raise TypeError(f"f must be callable, got f={f!r}")
    checks.choice("on_error", on_error, ("record", "raise"))
    plan = Plan.of(n_rounds, settings, direction)
    functions, readings = _functions(callbacks), _pairs(initial)
    if file is not None:
        space.to_plain()  # refuses what cannot be stored
        if not Path(file).resolve().parent.is_dir():
            raise ValueError(f"file must be in a folder that exists, got file={str(file)!r}")
    run = _Run(space, Engine(space.domain, plan, seed), file)
    with nullcontext() if file is None else locked(file):
        if file is not None and Path(file).exists():
            run.resume(seed, readings)
        else:
            run.give(readings)
        with reporter(n_rounds, progress) as report:
            try:
                while run.n_done < n_rounds:
                    run.check_hope()
                    trial = run.round(f, on_error)
                    report(run.result())
                    result = run.result(anew=bool(functions))  # theirs to keep
                    if any([function(result, trial) for function in functions]):  # all hear it
                        return run.ended(is_interrupted=run.n_done < n_rounds)
            except KeyboardInterrupt:
                return run.ended(is_interrupted=True)
    return run.result()


class _Run:
    """Holds changing state: a run under way."""

    def __init__(self, space: Space, engine: Engine, file: str | os.PathLike[str] | None) -> None:
        self.space = space
        self.engine = engine
        self.file = file
        self.trials: list[Trial] = []
        self.seconds: list[float] = []
        self._failures: list[type[Exception]] = []
        self._last_failure: Exception | None = None  # in this call, like those

    @property
    def n_done(self) -> int:
        """Evaluations so far."""
        return sum(not trial.is_given for trial in self.trials)

    def give(self, readings: list[tuple[Any, Any]]) -> None:
        """Take in the user's readings, all or none."""
        for trial in self._given(readings):
            self._take(trial)
        self._save(self.result())

    def _given(self, readings: list[tuple[Any, Any]]) -> list[Trial]:
        trials = []
        for t, (given, y) in enumerate(readings, 1):
            x = self.engine.point(self.space.given(given))
            params, y = self.space.shown(x), checks.reading("initial reading", y)
            trials.append(Trial(t, x, params, y, self.engine.drawn(t), is_given=True))
        return trials

    def check_hope(self) -> None:
        """Refuse to spend more rounds on an f that has never given a reading."""
        is_typed = all(issubclass(kind, TypeError) for kind in self._failures)
        if len(self._failures) < (N_HOPELESS_TYPES if is_typed else N_HOPELESS):
            return
        if any(trial.y is not None and not trial.is_given for trial in self.trials):
            return
        way = "mend f"
        if self.file is not None:
            way = f"they are kept in {self.file}: mend f, or call again to resume from there"
        raise RuntimeError(
            f"f must return a number, got none in {len(self._failures)} evaluations (the last one: "
            f"{_reason(self._last_failure)}); {self.n_done} of {self.engine.plan.n_rounds} rounds are "
            f"spent; {way}"
        ) from self._last_failure

    def round(self, f: Callable[[Any], float], on_error: str) -> Trial:
        """Ask, evaluate, learn, save."""
        start = time.perf_counter()
        query = self.engine.ask(len(self.trials) + 1)
        self.seconds.append(time.perf_counter() - start)
        y, error = None, None
        try:
            y = checks.reading("y", f(self.space.shown(query.x)))
            self._last_failure = None  # which keeps what f held when it failed
        except Exception as raised:
            if on_error == "raise":
                raise
            error = _reason(raised)
            if not self._failures:
                warnings.warn(
                    f"round {query.t} failed and is recorded as such, nothing was learned: {error}",
                    RuntimeWarning,
                    stacklevel=3,
                )
            self._failures.append(type(raised))
            self._last_failure = raised
        params = self.space.shown(query.x)
        trial = Trial(query.t, query.x, params, y, query.drawn, error=error)
        self._take(trial)
        self._save(self.result())
        return trial

    def _take(self, trial: Trial) -> None:
        self.trials.append(trial)  # first of all: what Ctrl-C finds here is not lost
        trial.tell(self.engine)

    def _save(self, result: Result) -> None:
        if self.file is not None:
            try:
                result.save(self.file)
            except OSError as error:
                unsaved = SaveError(error.errno, error.strerror, error.filename)
                unsaved.result = self.result(is_interrupted=True, anew=True)
                unsaved.add_note("The result so far is the `result` of this error: save it elsewhere.")
                raise unsaved from error

    def result(self, *, is_interrupted: bool = False, anew: bool = False) -> Result:
        """The result so far; `anew`: with an engine of its own."""
        engine = replayed(self.engine, self.trials) if anew else self.engine
        seconds = float(np.median(self.seconds)) if self.seconds else None
        return Result(
            self.space, engine, self.trials, is_interrupted=is_interrupted, seconds_per_ask=seconds
        )

    def ended(self, *, is_interrupted: bool) -> Result:
        """The result, kept in the file too, of a run that may end before its last round."""
        # Ctrl-C may have hit the engine in the middle: from the trials again.
        result = self.result(is_interrupted=is_interrupted, anew=True)
        self._save(result)
        return result

    def resume(self, seed: Any, initial: list[tuple[Any, Any]]) -> None:
        """Go on from the file, if it belongs to the same arguments."""
        assert self.file is not None
        stored, plan = read(self.file), self.engine.plan
        for name, now in (("domain", self.space.to_plain()), ("plan", plan.to_plain())):
            then = stored[name]
            for key, value in json.loads(json.dumps(now)).items():
                if then.get(key) != value:
                    way = "use the same arguments, or another file"
                    if key == "n_rounds":
                        way += (
                            ", to which initial=[(trial.params, trial.y) for trial in unbribable."
                            f"Result.load({str(self.file)!r}).trials if trial.y is not None] brings the "
                            "readings of this one; n_rounds then counts those still to be taken"
                        )
                    raise ValueError(
                        f"{self.file} holds another run: {name} {key} was {then.get(key)!r}, got "
                        f"{value!r}; {way}"
                    )
        result = restored(self.file, stored, plan)
        if seed is not None and Seed.of(seed) != result.engine.seed:
            raise ValueError(f"{self.file} holds a run with another seed; leave the seed out")
        given = [(trial.x.tolist(), trial.y) for trial in result.trials if trial.is_given]
        if initial and [(trial.x.tolist(), trial.y) for trial in self._given(initial)] != given:
            raise ValueError(
                f"{self.file} holds a run with other initial readings, {given}, got "
                f"initial={initial}; leave them out"
            )
        self.engine = result.engine
        self.trials = list(result.trials)


def _reason(failure: Exception | None) -> str:
    return f"{type(failure).__name__}: {failure}"


def _functions(callbacks: Any) -> tuple[Callback, ...]:
    if callable(callbacks) or not isinstance(callbacks, Iterable):
        raise TypeError(
            f"callbacks must be a list of functions, got callbacks={callbacks!r}; one alone is [f]"
        )
    functions = tuple(callbacks)
    for k, function in enumerate(functions):
        if not callable(function):
            raise TypeError(f"callbacks[{k}] must be callable, got callbacks[{k}]={function!r}")
    return functions


def _pairs(initial: Any) -> list[tuple[Any, Any]]:
    if not isinstance(initial, Iterable):
        raise TypeError(f"initial must be a list of pairs (point, reading), got initial={initial!r}")
    pairs = []
    for k, pair in enumerate(initial):
        try:
            x, y = pair
        except (TypeError, ValueError):
            name = f"initial[{k}]"
            raise ValueError(f"{name} must be a pair (point, reading), got {name}={pair!r}") from None
        pairs.append((x, y))
    return pairs
