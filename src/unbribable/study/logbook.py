"""The rounds of a study, in memory and in a file: what was asked, what was told, in that order."""

import os
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from unbribable.decision.proposal import Query
from unbribable.files import check_name, remove_left_over
from unbribable.say import log
from unbribable.say.words import point
from unbribable.study.engine import Engine
from unbribable.study.files import locked
from unbribable.study.result import Result, query_of, query_to_plain
from unbribable.study.run_file import RunFile, check_regular
from unbribable.study.saving import resumed, save
from unbribable.study.space import Space
from unbribable.study.trial import Trial


class Logbook:
    """Holds changing state: the engine with its log, what is pending, and the file that follows both.

    Args:
        space: Where to search.
        engine: That was told nothing yet.
        file: Where to keep everything; what it holds is gone on with. None: nowhere.
        seed: What the user gave, to be compared with that in the file.

    Attributes:
        pending: Rounds that were asked and not told yet, by round, oldest first.
    """

    def __init__(
        self, space: Space, engine: Engine, file: str | os.PathLike[str] | None, seed: Any
    ) -> None:
        self.space = space
        self.engine = engine
        self.file = file
        self._run_file = None if file is None else RunFile(file)
        self.pending: dict[int, Query] = {}
        self._seconds: list[float] = []
        self._lock = threading.RLock()
        self._owner = os.getpid()
        self._close: Any = None
        if self._run_file is not None:
            self._open(self._run_file, seed)

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Rounds that were told, in the order of telling."""
        return tuple(self.engine.log.values())

    @property
    def n_rounds(self) -> int:
        """Rounds so far: asked, told, or both."""
        return len(self.engine.log) + len(self.pending)

    @contextmanager
    def looking(self) -> Iterator[Engine]:
        """Alone with the engine; what Ctrl-C has hit in the middle is worked out again."""
        with self._lock:
            try:
                yield self.engine
            except BaseException:
                self.pending = {
                    t: query for t, query in self.pending.items() if t not in self.engine.log
                }
                if self._run_file is not None:
                    self._run_file.anew()
                self.engine = self.engine.replayed(self.trials)
                raise

    @contextmanager
    def changing(self) -> Iterator[Engine]:
        """The same, for whoever is going to write.

        Raises:
            RuntimeError: It was closed, or belongs to another process.
        """
        with self.looking() as engine:
            if self._close is not None and not self._close.alive:
                raise RuntimeError(
                    f"the study must be open, got one that was closed; open {self.file} again"
                )
            if self._close is not None and self._owner != os.getpid():
                raise RuntimeError(
                    f"a study with a file belongs to the process that opened it, {self._owner}, got a "
                    f"call from {os.getpid()}; tell it there"
                )
            yield engine

    def ask(self, n: int, fixed: Any = None, replicates: int = 1) -> list[Query]:
        """The queries of the next n rounds: all of them, or none if they cannot be saved.

        Args:
            n: How many.
            fixed: Values that their points have, see `Space.at`; None: any.
            replicates: How often each is to be read.
        """
        with self.changing() as engine:
            where = None if fixed is None else self.space.at(fixed)
            before = dict(self.pending)
            queries: list[Query] = []
            try:
                for t in range(self.n_rounds + 1, self.n_rounds + n + 1):
                    start = time.perf_counter()
                    asked = engine.ask(t, [query.u for query in self.pending.values()], where)
                    self._seconds.append(time.perf_counter() - start)
                    query = query_of(t, asked.x, self.space, engine)
                    self.pending[t] = replace(query, replicates=replicates)
                    queries.append(self.pending[t])
                log.asked(n, queries[-1].t, sum(self._seconds[-n:]))
                rows = [query_to_plain(query) for query in queries]
                self._save({"asked": rows, "seconds_per_ask": self._seconds_per_ask})
            except BaseException:
                self.pending = before
                raise
            return queries

    def find(self, query: Any) -> tuple[Query, bool]:
        """The query that is meant, and whether it is one of the user's own.

        Raises:
            RuntimeError: The query is unknown here, or was told already.
        """
        if isinstance(query, Query):
            asked = self.pending.get(query.t)
            if asked is not None and np.array_equal(asked.x, query.x):
                return asked, False
            if query.t in self.engine.log:
                raise RuntimeError(
                    f"query {query.t} was told already; a reading is told once (retract takes it "
                    "back), and another one of the same point with tell(query.x, y)"
                )
            raise RuntimeError(
                f"query {query.t} was not asked here, pending are {list(self.pending)}; tell(x, y) "
                "takes a point that was not asked for"
            )
        u = self.engine.u_of(self.space.given(query))
        for asked in self.pending.values():
            if np.array_equal(asked.u, u):
                return asked, False
        return self.own(self.n_rounds + 1, query), True

    def own(self, t: int, x: Any) -> Query:
        """A point of the user's, checked, as the query of round t."""
        point = self.engine.x_of(self.engine.u_of(self.space.given(x)))
        return query_of(t, point, self.space, self.engine)

    def take(self, trials: Sequence[Trial]) -> None:
        """Take in rounds, new ones or in another state; all are saved at once."""
        with self.changing() as engine:
            if log.follows():
                self._tell_followers(trials)
            for trial in trials:
                engine.take(trial)
                self.pending.pop(trial.t, None)
            self._save({"told": [trial.to_plain() for trial in trials]})

    def end(self, what: str) -> Result:
        """The result of a run that `what` has ended before its last round; the file says so too."""
        # Ctrl-C may have hit the engine in the middle: from the trials again.
        log.stopped(what)
        result = self.result(anew=True, stopped=what)
        self._save({"stopped": what}, result)
        return result

    def result(self, *, anew: bool = False, stopped: str | None = None) -> Result:
        """Everything so far; `anew`: with an engine of its own, or else good until the next change."""
        with self._lock:
            return Result(
                self.space,
                self.engine.replayed(self.trials) if anew else self.engine,
                self.trials,
                pending=list(self.pending.values()),
                stopped=stopped,
                seconds_per_ask=self._seconds_per_ask,
            )

    def go_on(self, found: Result) -> None:
        """Go on from what was saved."""
        self.engine = found.engine
        self.pending = {query.t: query for query in found.pending}

    def close(self) -> None:
        """Let others use the file."""
        if self._close is not None:
            self._close()

    @property
    def _seconds_per_ask(self) -> float | None:
        """Median time to choose a point."""
        return float(np.median(self._seconds)) if self._seconds else None

    def _save(self, step: dict[str, Any], result: Result | None = None) -> None:
        """Bring the file up to date, if there is one; the result is one with this step."""
        if self._run_file is not None:
            start = time.perf_counter()
            save(self._run_file, step, lambda: self.result(anew=True) if result is None else result)
            log.saved(self._run_file.path, time.perf_counter() - start)

    def _tell_followers(self, trials: Sequence[Trial]) -> None:
        """Write rounds to the logger, before they are taken in: with what is expected there."""
        if all(trial.is_row for trial in trials):
            log.table(len(trials))
            return
        for trial in trials:
            expected = None
            if trial.y is not None and trial.u is not None and self.engine.told and self.engine.is_ready:
                with suppress(ArithmeticError, RuntimeError, ValueError):  # it must not stop a reading
                    (mean,), (sd,) = self.engine.predict(trial.u[None])
                    expected = float(mean), float(sd)
            where = point(trial.x, self.space.params(trial.x))
            log.told(trial.t, where, trial.y, trial.error, expected)

    def _open(self, run_file: RunFile, seed: Any) -> None:
        self.space.to_plain()  # refuses what cannot be stored
        file = run_file.path
        target = Path(file).resolve()
        if not target.parent.is_dir():
            raise ValueError(f"file must be in a folder that exists, got file={str(file)!r}")
        check_name(file)
        if target.exists():
            check_regular(file)
        with ExitStack() as stack:
            stack.enter_context(locked(file))
            remove_left_over(target.parent, target.name)
            if target.exists():
                self.go_on(resumed(run_file, self.space, self.engine.plan, seed))
                log.resumed(file, len(self.trials), len(self.pending))
            else:
                log.saves_to(file)
            self._close = weakref.finalize(self, stack.pop_all().close)
