"""Ask and tell: a study some of whose readings may be lies."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, Unpack, overload

from unbribable.decision.left_to_gain import LeftToGain
from unbribable.decision.proposal import Query
from unbribable.decision.proven.price import Price
from unbribable.decision.recommend import Recommendation
from unbribable.doubt.suspect import Suspect
from unbribable.model import checks
from unbribable.model.checks import Floats
from unbribable.study.constraints import Constraint
from unbribable.study.engine import Engine
from unbribable.study.given import Initial, reading_or_none, several, told_before
from unbribable.study.logbook import Logbook
from unbribable.study.plan import Plan, Settings, with_settings
from unbribable.study.result import Result
from unbribable.study.space import Space
from unbribable.study.trial import Trial, checked_block

if TYPE_CHECKING:
    import pandas

    from unbribable.auditing.audit import Audit


FORGOTTEN = "forgotten"
"""Why a query that was given up has no reading."""


@with_settings
class Study:
    """Holds changing state: what was asked and told, and a model fitted to the readings.

    You ask for a point, read it in your own way, and tell what you read. Several queries may be pending,
    and they may be told in any order; each further one keeps away from them. What is asked is a function
    of the arguments, the seed, and what was asked and told before, in that order. Amounts (corruption,
    noise_std, B) are in the units of the readings. Threads may share a study.

    Args:
        space: A dict from name to bounds such as {"x": (0.0, 1.0), "n": (1, 9), "kind": ["a", "b"]} (a
            pair of integers is a range of integers), a list of pairs (low, high), a Box, a Grid, or
            an array of candidates (n, d).
        {settings}
        constraints: Which points may be asked and recommended: a list of LinearConstraint, or of
            functions that take a point as `query.params` (or `query.x`, where coordinates have no
            names) and return True where it is allowed. Readings told outside are learned.
        direction: "maximize" or "minimize".
        n_rounds: How many readings are intended, if that is known. A share of lies is
            one of these; without it, of the readings there are.
        confirm: So many of the n_rounds, the last ones, read the point that is recommended then. That
            narrows the worst case.
        seed: Of the initial design; fresh entropy if None.
        initial: Readings taken before, as pairs (point, reading) or (point, reading, block), or a data
            frame (a CSV file, a dict of columns) and the name of the column that was read, (table,
            "yield"). Their order does not count. A study that goes on from a file has them
            already, and refuses others.
        file: Where to keep the study: every query and every reading is on disk before the call returns.
            If it exists, the study goes on from there, exactly, even if its process was killed. It is
            for one study at a time: until `close`, or the end of the process, another one is refused.

    Raises:
        TypeError, ValueError: The message says the rule and the value.
        RuntimeError: Another study or run is using the file.
        OSError: The file cannot be written.
    """

    def __init__(
        self,
        space: Any,
        *,
        constraints: Iterable[Constraint] = (),
        direction: str = "maximize",
        n_rounds: int | None = None,
        confirm: int = 0,
        seed: Any = None,
        initial: Initial = (),
        file: str | os.PathLike[str] | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        where = Space.of(space).within(constraints)
        plan = Plan.of(n_rounds, settings, direction, confirm)
        readings = told_before(initial, where, plan)
        self._log = Logbook(where, Engine(where.domain, plan, seed), file, seed)
        try:
            self._begin(readings)
        except BaseException:
            self.close()
            raise

    # --- asking and telling --------------------------------------------------------------------

    @property
    def space(self) -> Space:
        """Where it searches."""
        return self._log.space

    @property
    def engine(self) -> Engine:
        """What follows from the readings: what is thought of them, fit, algorithm."""
        return self._log.engine

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Everything told, in the order of telling, failures included."""
        return self._log.trials

    @property
    def pending(self) -> tuple[Query, ...]:
        """What was asked and not told yet, oldest first."""
        return tuple(self._log.pending.values())

    @overload
    def ask(
        self, n: None = None, *, fixed: Mapping[Any, Any] | None = None, replicates: int = 1
    ) -> Query: ...
    @overload
    def ask(
        self, n: int, *, fixed: Mapping[Any, Any] | None = None, replicates: int = 1
    ) -> list[Query]: ...
    def ask(
        self,
        n: int | None = None,
        *,
        fixed: Mapping[Any, Any] | None = None,
        replicates: int = 1,
    ) -> Query | list[Query]:
        """The next point to read, or a list of n of them; they are pending until told.

        `query.x` is the point, `query.params` the same by name, `query.replicates` how often to read it.

        Args:
            n: How many; one, and not in a list, if None.
            fixed: Values that the points must have, {"gas": "Ar"} (or index -> value, where coordinates
                have no names): everything else is chosen by the same rule.
            replicates: How often each is to be read.

        Raises:
            TypeError, ValueError: There is no such parameter or value, or no allowed point has them.
        """
        count = 1 if n is None else checks.integer("n", n, at_least=1)
        times = checks.integer("replicates", replicates, at_least=1)
        queries = self._log.ask(count, fixed, times)
        return queries[0] if n is None else queries

    def tell(
        self,
        query: Any,
        y: Any,
        *,
        x: Any = None,
        block: Any = None,
        error: str | None = None,
        again: bool = False,
        sem: Any = None,
    ) -> int:
        """Take the reading y of a query, or of a point; or several readings, of which any may be a lie.

        Whoever tells points of their own one by one states that they were read in this order, which the
        guarantee then uses; a table, whose order may be another one, belongs into `initial`.

        Args:
            query: A pending query, or a point, a dict or (d,). A point that is pending answers the
                oldest query of it; any other is a round of your own choice.
            y: The reading, a number of at most 1e150 in absolute value; with a reading_range any number,
                infinite ones included. None or NaN: there is none and there will be none. Then nothing
                is learned, and the point is not asked again while there are others; the guarantee
                supposes that its value is not the reason. A list: readings of this point by themselves,
                such as [1.2, 1.3, None]; the first is that of the query, each further one has a round of
                its own, and counts as a reading among those that may be lies.
            x: Where the query was really read, if elsewhere than asked (421 degrees instead of 420): a
                point, a dict or (d,). It is taken to have been set before the reading was known.
            block: What it was read with, a string or a number: a day, a batch, an operator. Readings of
                one block share an offset, which is estimated, see `offsets`, and never optimized.
            error: Why there is no reading, in words.
            again: Where there is no reading: whether the point may be asked again, as after a furnace
                has tripped, for a reason that has nothing to do with the point.
            sem: Standard deviation of the noise of the reading, where it is known (one number, or one
                for each reading); the standard error, if y is a mean. The noise of the others is what
                was given or fitted.

        Returns:
            The round.

        Raises:
            TypeError, ValueError: Bad values. Nothing was learned, and the query is still pending.
            RuntimeError: The query is unknown here, or was told already.
            OSError: The file cannot be written; the reading is kept in memory, and the `result` of
                the error has it.
        """
        label = self._block(block)
        values = [reading_or_none(each, self.engine.plan) for each in several(y)]
        is_read = any(value is not None for value in values)
        if checks.truth("again", again) and is_read:
            raise ValueError(f"again must be False where there is a reading, got again=True, y={y!r}")
        if error is not None and is_read:
            raise ValueError(
                f"error must be None where there is a reading, got error={error!r}, y={y!r}"
            )
        sems = self._sems(sem, len(values))
        with self._log.changing():
            asked, is_given = self._log.find(query)
            if x is not None:
                if is_given:
                    raise ValueError(
                        f"x must be left out where no pending query is told, got x={x!r}; tell(x, y)"
                    )
                asked = self._log.own(asked.t, x)
            # A point of the user's own is a round more, which those of its replicates follow.
            last, params = max(self._log.n_rounds, asked.t), self.space.shown(asked.x)
            trials = []
            for k, (value, own) in enumerate(zip(values, sems, strict=True)):
                why = (error or "no reading") if value is None else None
                t, of = (last + k, asked.t) if k else (asked.t, None)
                words: dict[str, Any] = {
                    "replicate_of": of,
                    "sem": own,
                    "may_repeat": again,
                    "block": label,
                }
                trials.append(Trial(t, asked.x, params, value, is_given, why, u=asked.u, **words))
            self._log.take(trials)
        return asked.t

    def forget(self, query: Any) -> int:
        """Give up a pending query, which was not read and will not be: its point may be asked again.

        Nothing is learned. What is guaranteed supposes, as for any round without a reading, that its
        value is not the reason, which nobody can know who has not read it.

        Args:
            query: A pending query, or its point.

        Returns:
            The round, which stays counted.

        Raises:
            RuntimeError: The query is not pending here.
            OSError: The file cannot be written.
        """
        with self._log.changing():
            asked, is_given = self._log.find(query)
            if is_given:
                raise RuntimeError(
                    f"query must be pending to be forgotten, got {query!r}; pending are the rounds "
                    f"{list(self._log.pending)}"
                )
            params = self.space.shown(asked.x)
            gone = Trial(asked.t, asked.x, params, None, error=FORGOTTEN, may_repeat=True, u=asked.u)
            self._log.take([gone])
        return asked.t

    def retract(self, t: int, reason: str, *, unrelated_to_value: bool = False) -> None:
        """Take out the reading of round t: everything is as if it had never been told.

        Whether a reading is kept must not depend on its value, or the bounds do not hold: from now on
        nothing is guaranteed, unless you state that the reason had nothing to do with the value (a wrong
        sample was mounted, the wrong number was typed in). To put it right, tell its point again.

        Args:
            t: The round.
            reason: In words; kept with the round, beside what was told.
            unrelated_to_value: The statement that the reason had nothing to do with the value.
        """
        t = checks.integer("t", t, at_least=1)
        checks.text("reason", reason)
        unrelated = checks.truth("unrelated_to_value", unrelated_to_value)
        with self._log.changing():
            told = {trial.t: trial for trial in self._log.trials if trial.y is not None}
            if t not in told:
                raise RuntimeError(f"t must be the round of a reading, got t={t}; told are {[*told]}")
            words = f"retracted, was {told[t].y!r}: {reason}"
            self._log.take([replace(told[t], y=None, error=words, retracted=unrelated)])

    # --- answers -------------------------------------------------------------------------------

    def predict(self, X: Any) -> tuple[Floats, Floats]:
        """The value to expect at each of a list of points, and its standard deviation: (n,) each.

        An estimate, not a guarantee: by the most likely model and the readings that look honest. The
        standard deviation is that of f, without the noise of a further reading.

        Raises:
            RuntimeError: There is no reading yet.
        """
        with self._log.looking():
            return self._log.result().predict(X)

    def recommend(self, *, fixed: Mapping[Any, Any] | None = None) -> Recommendation:
        """The point to use, with its interval and certificate.

        Args:
            fixed: Values that it must have, as in `ask`: the best of the points read that have them.
                The certificate compares it with every allowed candidate all the same.

        Raises:
            RuntimeError: There is no reading yet, or none of a point that may be recommended.
        """
        with self._log.looking() as engine:
            _with_reading(engine)
            best = self._log.result().recommended(fixed)
        if best is None:
            values = "" if fixed is None else f" with fixed={fixed!r}"
            raise RuntimeError(
                f"a recommendation needs a reading of an allowed point{values}, there is none; tell one"
            )
        return best

    def suspects(self, *, flagged_only: bool = False) -> tuple[Suspect, ...]:
        """Every reading (or the flagged ones), the most suspicious first. Nothing is deleted."""
        with self._log.looking():
            found = self._log.result().suspects
        return tuple(suspect for suspect in found if suspect.is_flagged or not flagged_only)

    def offsets(self) -> dict[str | float | None, tuple[float, float]]:
        """Block -> its estimated offset and the standard deviation of that; see `Result.offsets`."""
        with self._log.looking():
            return self._log.result().offsets

    def price(self, eps: float | None = None) -> Price:
        """How much lying it takes before another candidate can be better than the recommended one.

        Args:
            eps: By more than that; see `Result.price` for the default.

        Raises:
            RuntimeError: There is no reading yet.
        """
        with self._log.looking() as engine:
            _with_reading(engine)
            return self._log.result().price(eps)

    def left_to_gain(self) -> LeftToGain:
        """By how much another point may be better than the recommended one: a reason to stop or go on.

        What is expected, by a heuristic, and what is proven. It prints as two sentences.
        """
        with self._log.looking():
            return self._log.result().left_to_gain

    def result(self) -> Result:
        """Everything so far, as `maximize` returns it: it stays as it is while the study goes on."""
        return self._log.result(anew=True)

    def audit(self) -> "Audit":
        """What the readings so far say about each other: lies, proofs, and a page to show."""
        from unbribable.auditing.audit import Audit

        return Audit(self.result())

    def to_dataframe(self) -> "pandas.DataFrame":
        """A row for each round told: its parameters, the reading, and how suspicious that is.

        With blocks or a drift also the block, and what it and the drift add to the reading: an estimate.
        """
        with self._log.looking():
            return self._log.result().to_dataframe()

    def __repr__(self) -> str:
        plan, n = self.engine.plan, len(self.engine.told)
        return f"<Study: {plan.direction}, {n} readings, {len(self.pending)} pending>"

    def _repr_html_(self) -> str:
        with self._log.looking():
            return self._log.result()._repr_html_()

    # --- files ---------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the study to a file of JSON lines, whole or not at all."""
        self._log.result().save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, constraints: Iterable[Constraint] = ()) -> "Study":
        """A study that was saved, or a run of `maximize`, in memory: it goes on exactly.

        Args:
            path: The file.
            constraints: Those that are functions, which no file can keep.

        Raises:
            ValueError: The file is not a saved study, or has another format.
        """
        return Result.load(path, constraints=constraints).study()

    def close(self) -> None:
        """Let others use the file. Nothing more can be told; answers are still given."""
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _sems(self, sem: Any, n: int) -> list[float | None]:
        """The known noise of each of n readings, checked; None where it is that of the others."""
        sems = [self.engine.plan.sem(each) for each in several(sem)]
        if len(sems) == 1:
            sems *= n
        if len(sems) != n:
            raise ValueError(f"sem must be one number, or one for each reading, {n}, got {len(sems)}")
        return sems

    def _begin(self, readings: list[tuple[Any, float | None, Any]]) -> None:
        """Take in the user's readings, all or none, unless they are there already."""
        log = self._log
        trials = self._rows(readings)
        if trials and not log.n_rounds:
            log.take(trials)
        given = [_row(trial) for trial in log.trials if trial.is_given]
        if [_row(trial) for trial in trials] != given[: len(trials)]:
            raise ValueError(
                f"{log.file} holds a run with other initial readings, {given}, got "
                f"initial={readings}; leave them out"
            )

    def _rows(
        self, table: Iterable[tuple[Any, float | None, Any]], *, is_selected: bool = False
    ) -> list[Trial]:
        """The rows of a table, (point, reading, block), as the first rounds; None: there is none.

        Args:
            table: The rows.
            is_selected: Whether readings that are not there are missing because of their values.
        """
        found = []
        for t, (x, y, block) in enumerate(table, 1):
            label = self._block(block)
            own, error = self._log.own(t, x), "no reading" if y is None else None
            shown = self.space.shown(own.x)
            row = Trial(t, own.x, shown, y, True, error, is_row=True, u=own.u, block=label)
            found.append(replace(row, because_of_value=y is None and is_selected))
        return found

    def _block(self, block: Any) -> str | float | None:
        """A label as it is kept; refused where lies are not counted."""
        label = checked_block(block)
        if label is not None:
            self.engine.plan.check_counted(f"block={label!r}")
        return label


def _row(trial: Trial) -> tuple[Any, ...]:
    """What the user said of a reading, to be compared."""
    told = (trial.x.tolist(), trial.y)
    return told if trial.block is None else (*told, trial.block)


def _with_reading(engine: Engine) -> Engine:
    """An engine that has a model."""
    settled = engine.settled()
    if settled is None:
        raise RuntimeError("an answer needs a reading, there is none yet; tell one")
    return settled
