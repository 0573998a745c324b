"""One call: find the maximum of a function some of whose readings may be lies."""

import inspect
import os
import time
import warnings
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any, NamedTuple, Unpack

from unbribable.decision.proposal import Query
from unbribable.model import checks
from unbribable.study.constraints import Constraint
from unbribable.study.files import level_of_user
from unbribable.study.given import Initial, functions, reading_or_none, several
from unbribable.study.plan import Settings, with_settings
from unbribable.study.progress import reporter
from unbribable.study.result import Result
from unbribable.study.stop import Stop
from unbribable.study.study import Study
from unbribable.study.trial import Trial

Callback = Callable[[Result, Trial], bool | None]

N_HOPELESS = 10
"""A run ends if its first evaluations, this many, all fail."""

N_HOPELESS_TYPES = 5
"""The same if each failed with a TypeError, which hardly depends on the point."""


@with_settings
def maximize(
    f: Callable[[Any], Any],
    domain: Any,
    n_rounds: int,
    *,
    constraints: Iterable[Constraint] = (),
    confirm: int = 0,
    direction: str = "maximize",
    seed: Any = None,
    initial: Initial = (),
    block: Callable[[int], Any] | None = None,
    callbacks: Iterable[Callback] = (),
    on_error: str = "record",
    timeout: float | None = None,
    stop_below: float | None = None,
    stop_proven_below: float | None = None,
    n_jobs: int = 1,
    progress: bool | None = None,
    file: str | os.PathLike[str] | None = None,
    **settings: Unpack[Settings],
) -> Result:
    """Find the maximum of f, although some of what it returns may be noise or lies.

    Amounts (corruption, noise_std, B) are in the units of f. It is a loop over a `Study`.

    Args:
        f: Takes a point, an array (d,) (or a dict where the domain has names), returns a number of
            at most 1e150 in absolute value, or a list of such: readings of that point by themselves, of
            which any may be a lie. None or NaN among them is missing.
        domain: A Box, a Grid, a list of pairs (low, high), an array of candidates (n, d), or a dict
            from name to bounds such as {"x": (0.0, 1.0), "n": (1, 9), "kind": ["a", "b"]}.
        n_rounds: Evaluations in all, failed ones included.
        {settings}
        constraints: Which points may be asked and recommended: a list of LinearConstraint, or of
            functions that take a point as f does and return True where it is allowed.
        confirm: So many rounds, the last ones, read the point that is recommended then. That narrows
            the worst case.
        direction: "maximize" or "minimize".
        seed: Of the initial design; fresh entropy if None.
        initial: Readings taken before, as pairs (point, reading) or (point, reading, block), or a data
            frame (a CSV file, a dict of columns) and the name of the column that was read, (table,
            "yield"). Their order does not count. A run that is resumed from a file has them
            already, and refuses others.
        block: What round t is read with, as block(t), a string or a number: a day, a batch, an operator.
            Readings of one block share an offset, which is estimated (`Result.offsets`) and never
            optimized. Called right before f; initial readings are the first rounds, and have theirs.
        callbacks: Called as callback(result, trial) after every round; one that returns True ends
            the run.
        on_error: "record": an evaluation that raises, or returns no finite number, is recorded as
            failed, nothing is learned, and the run goes on, unless the first ten all fail (five, if
            each with a TypeError); if it returned an infinite number, nothing is guaranteed from then
            on, since that reading is missing because of its value, unless a reading_range says that it
            is false. "raise": it is raised.
        timeout: Seconds after which no evaluation begins any more; those that are running are
            finished, and the result says that it ended early.
        stop_below: End the run once nothing more than that is expected to be left to gain, in the units
            of f: a heuristic, `Result.left_to_gain.is_below`. It is looked at before every evaluation.
        stop_proven_below: The same once that is proven, if what the guarantee supposes holds:
            `is_proven_below`. That takes far more rounds, and with few it may never be.
        n_jobs: Evaluations at a time, in threads: f must be safe to call from several. What is asked
            then depends on which of them end first, so the same seed may give another run. Ctrl-C
            does not wait for those that are running; a resumed run evaluates their points again.
        progress: Whether to show a progress bar; by default on a terminal and in a notebook.
        file: Where to keep the run, written before and after every evaluation. If it exists, the run
            resumes exactly as if it had not stopped; with another n_rounds, as one of that many rounds
            would go on from these readings. It is for one run at a time.

    Returns:
        The result; if something stopped the run, such as Ctrl-C, the result so far.

    Raises:
        TypeError, ValueError: The message says the rule and the value.
        RuntimeError: Another run is using the file, or no evaluation so far has given a reading.
        OSError: The file cannot be written. If rounds were played, the `result` of the error has them.
    """
    if not callable(f):
        raise TypeError(f"f must be callable, got f={f!r}")
    checks.choice("on_error", on_error, ("record", "raise"))
    checks.integer("n_rounds", n_rounds, at_least=1)
    checks.integer("n_jobs", n_jobs, at_least=1)
    if block is not None and not callable(block):
        raise TypeError(
            f"block must be a function of the round, got block={block!r}; of a list of labels it is "
            "lambda t: labels[t - 1]"
        )
    if timeout is not None:
        checks.real("timeout", timeout, above=0.0)
    end = Stop(stop_below, stop_proven_below)
    heard = functions(callbacks)
    words: dict[str, Any] = {"direction": direction, "seed": seed, "initial": initial, "file": file}
    words |= {"n_rounds": n_rounds, "constraints": constraints, "confirm": confirm}
    with Study(domain, **words, **settings) as study:
        log, run = study._log, _Run(study, f, n_rounds, on_error, timeout, end, block)
        with reporter(n_rounds, progress) as report:

            def hear(trial: Trial) -> None:
                report(log.result())
                result = study.result() if heard else None  # theirs to keep
                if any([function(result, trial) for function in heard]):  # all hear it
                    run.stop("a callback")

            try:
                run.play(n_jobs, hear)
            except KeyboardInterrupt:
                run.stop("Ctrl-C")
        return log.result() if run.stopped is None else log.end(run.stopped)


def minimize(f: Callable[[Any], Any], domain: Any, n_rounds: int, **words: Any) -> Result:
    """Find the minimum of f: `maximize` with direction="minimize", and all else as there."""
    return maximize(f, domain, n_rounds, direction="minimize", **words)


_signature = inspect.signature(maximize)
minimize.__signature__ = _signature.replace(  # type: ignore[attr-defined]
    parameters=[each for name, each in _signature.parameters.items() if name != "direction"]
)


class _Answer(NamedTuple):
    """What f came to."""

    y: Any
    """The reading, or a list of them; None if there is none."""
    failure: Exception | None = None
    """Why not."""
    is_too_large: bool = False
    """Whether that is because of its value, which was infinite, or too large to be learned."""
    block: Any = None
    """What it was read with."""


class _Run:
    """Holds changing state: a run under way."""

    def __init__(
        self,
        study: Study,
        f: Callable[[Any], Any],
        n_rounds: int,
        on_error: str,
        timeout: float | None,
        end: Stop,
        block: Callable[[int], Any] | None = None,
    ) -> None:
        self._block = block
        self._study = study
        self._f = f
        self._n_rounds = n_rounds
        self._on_error = on_error
        self._timeout = timeout
        self._end = end
        self._start = time.monotonic()
        self._failures: list[type[Exception]] = []
        self._last_failure: Exception | None = None  # in this call, like those
        self.stopped: str | None = None

    @property
    def _n_done(self) -> int:
        """Evaluations so far."""
        return sum(trial.is_evaluation for trial in self._study.trials)

    def stop(self, what: str) -> None:
        """Begin no more evaluations; `what` has ended the run, if there were some left."""
        if self._n_done < self._n_rounds:
            self.stopped = what

    def play(self, n_jobs: int, hear: Callable[[Trial], None]) -> None:
        """Ask, evaluate, tell and let hear, until all is done or somebody stops it."""
        if n_jobs == 1:
            while (query := self._next(())) is not None:
                hear(self._tell(query, self._read(query)))
            return
        pool, running = ThreadPoolExecutor(n_jobs), dict[Future[Any], Query]()
        try:
            while True:
                while len(running) < n_jobs and (query := self._next(running.values())) is not None:
                    running[pool.submit(self._read, query)] = query
                if not running:
                    return
                ended = wait(running, return_when=FIRST_COMPLETED).done
                for future in sorted(ended, key=lambda each: running[each].t):
                    hear(self._tell(running.pop(future), future.result()))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _next(self, running: Collection[Query]) -> Query | None:
        """What to evaluate next: a query that was never told, or a new one; None if no more."""
        if self._timeout is not None and time.monotonic() - self._start >= self._timeout:
            self.stop(f"the timeout of {self._timeout:g} s")
        if self.stopped is not None or self._n_done + len(running) >= self._n_rounds:
            return None
        with self._study._log.looking() as engine:
            reason = self._end.met_by(engine)
        if reason is not None:
            self.stop(reason)
            return None
        self._check_hope()
        rounds = {query.t for query in running}
        left = [query for query in self._study.pending if query.t not in rounds]
        return left[0] if left else self._study.ask()

    def _read(self, query: Query) -> "_Answer":
        value, block = None, None if self._block is None else self._study._block(self._block(query.t))
        try:
            value = self._f(self._study.space.shown(query.x))
            plan = self._study.engine.plan
            if isinstance(value, list):  # an array or a tuple is more likely a slip than meant
                readings = [reading_or_none(each, plan) for each in several(value)]
                if all(each is None for each in readings):
                    raise ValueError(f"y must hold a reading, got none in y={value!r}")
                return _Answer(readings, block=block)
            return _Answer(plan.reading("y", value), block=block)
        except Exception as raised:
            if self._on_error == "raise":
                raise
            values = value if isinstance(value, list) else [value]
            is_too_large = any(checks.is_too_large(each) for each in values)
            return _Answer(None, raised, is_too_large, block)

    def _tell(self, query: Query, answer: "_Answer") -> Trial:
        failure = answer.failure
        self._last_failure = failure  # which keeps what f held when it failed
        reason = None if failure is None else f"{type(failure).__name__}: {failure}"
        if failure is not None:
            if not self._failures:
                warnings.warn(
                    f"round {query.t} failed and is recorded as such, nothing was learned: {reason}",
                    RuntimeWarning,
                    stacklevel=level_of_user(),
                )
            self._failures.append(type(failure))
        t = self._study.tell(query, answer.y, block=answer.block, error=reason)
        if answer.is_too_large:
            self._study._log.take([replace(self._study.trials[-1], because_of_value=True)])
        return next(trial for trial in reversed(self._study.trials) if trial.t == t)

    def _check_hope(self) -> None:
        """Refuse to spend more rounds on an f that has never given a reading."""
        study, failures = self._study, self._failures
        is_typed = all(issubclass(kind, TypeError) for kind in failures)
        if len(failures) < (N_HOPELESS_TYPES if is_typed else N_HOPELESS):
            return
        if any(trial.y is not None and not trial.is_given for trial in study.trials):
            return
        way = "mend f"
        if study._log.file is not None:
            way = f"they are kept in {study._log.file}: mend f, or call again to resume from there"
        last = self._last_failure
        raise RuntimeError(
            f"f must return a number, got none in {len(failures)} evaluations (the last one: "
            f"{type(last).__name__}: {last}); {self._n_done} of {self._n_rounds} rounds are spent; {way}"
        ) from last
