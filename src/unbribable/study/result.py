"""What a study comes to: the robust answer, the naive one beside it, and everything told."""

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from unbribable.decision.asking.draws import Seed
from unbribable.decision.left_to_gain import LeftToGain
from unbribable.decision.proposal import Query
from unbribable.decision.proven.basis import Basis
from unbribable.decision.proven.price import Price
from unbribable.decision.recommend import Recommendation
from unbribable.doubt.suspect import Suspect
from unbribable.model import checks
from unbribable.model.checks import Floats
from unbribable.say.account import account
from unbribable.say.answer import BestReading, answer, no_answer, rounds
from unbribable.say.notebook import html
from unbribable.say.price import to_dict as price_to_dict
from unbribable.say.reasons import evidence
from unbribable.say.recommendation import spoken
from unbribable.say.words import point
from unbribable.study.advice import advise, basis, doubt, left_to_expect, price
from unbribable.study.constraints import Constraint, OtherConstraintsError
from unbribable.study.engine import Engine
from unbribable.study.plan import Plan
from unbribable.study.run_file import FORMAT, read, write
from unbribable.study.space import Space
from unbribable.study.trial import Trial, plain

if TYPE_CHECKING:
    import pandas

    from unbribable.study.study import Study


class Result:
    """Everything about a run so far; what follows from the readings is worked out when asked for.

    Attributes:
        space: Where it searched.
        engine: Readings, fit and algorithm.
        trials: All rounds that were told, in the order of telling.
        pending: What was asked and not told yet, oldest first.
        stopped: What ended the run before its last round, such as "Ctrl-C"; None if nothing did.
        seconds_per_ask: Median time to choose a point.
    """

    def __init__(
        self,
        space: Space,
        engine: Engine,
        trials: Sequence[Trial],
        *,
        pending: Sequence[Query] = (),
        stopped: str | None = None,
        seconds_per_ask: float | None = None,
    ) -> None:
        self.space = space
        self.engine = engine
        self.trials = tuple(trials)
        self.pending = tuple(pending)
        self.stopped = stopped
        self.seconds_per_ask = seconds_per_ask

    @property
    def is_interrupted(self) -> bool:
        """Whether something ended the run before its last round."""
        return self.stopped is not None

    @cached_property
    def recommendation(self) -> Recommendation | None:
        """The point to use with its interval and certificate, in your units.

        None without a reading of a point that may be recommended.
        """
        return self.recommended()

    def recommended(self, fixed: Any = None) -> Recommendation | None:
        """The same among the points read that have these values; see `Study.recommend`."""
        among = None
        if fixed is not None:
            read = np.array([told.u for told in self.engine.told]).reshape(-1, self.space.domain.d)
            among = list(read[self.space.is_at(read, fixed)])
        best = advise(self.engine, among)
        return best if best is None else replace(best, params=self.space.params(best.x))

    @cached_property
    def suspects(self) -> tuple[Suspect, ...]:
        """Every reading, the most suspicious first; `is_flagged` is the verdict. Nothing is deleted."""
        return tuple(
            replace(each, params=self.space.params(each.x), evidence=evidence(each))
            for each in doubt(self.engine)
        )

    @property
    def offsets(self) -> dict[str | float | None, tuple[float, float]]:
        """Block -> its estimated offset and the standard deviation of that; empty without blocks.

        The offsets have mean zero over the readings: f is what an average reading is of. Readings that
        were told without a block are one together, None, where others have one.
        """
        current = self.engine.settled()
        return {} if current is None else current.offsets()

    @property
    def x(self) -> Any:
        """The point to use, as f takes it."""
        return None if self.recommendation is None else self.space.shown(self.recommendation.x)

    @property
    def estimate(self) -> float | None:
        """The value of f to expect at x, by the readings that look honest; None without a reading."""
        return None if self.recommendation is None else self.recommendation.estimate

    @property
    def estimate_sd(self) -> float | None:
        """Its standard deviation. Both are estimates: what is guaranteed is the interval."""
        return None if self.recommendation is None else self.recommendation.estimate_sd

    @property
    def lower(self) -> float | None:
        """f(x) is at least that, where guaranteed; None if the readings contradict the assumptions."""
        return None if self.recommendation is None else self.recommendation.lower

    @property
    def upper(self) -> float | None:
        """f(x) is at most that, where guaranteed; None if the readings contradict the assumptions."""
        return None if self.recommendation is None else self.recommendation.upper

    def worst_case(self, n_lies: int) -> tuple[float, float] | None:
        """What f(x) can be if at most so many readings are lies, of any size.

        None if the readings prove that there are more, and without a reading. All numbers of lies hold
        together, with the same probability.
        """
        return None if self.recommendation is None else self.recommendation.worst_case(n_lies)

    @property
    def by_lies(self) -> tuple[tuple[int, float, float], ...]:
        """The worst case by the number of lies, a row (n_lies, lower, upper) each, from the least on."""
        return () if self.recommendation is None else self.recommendation.by_lies

    def lies_needed(self, value: float) -> int:
        """So many readings at least must be lies if f(x) is worse than value; 0: none need be."""
        return 0 if self.recommendation is None else self.recommendation.lies_needed(value)

    @property
    def regret_bound(self) -> float | None:
        """Certificate: the best candidate is better than x by at most that; None: no guarantee."""
        return None if self.recommendation is None else self.recommendation.regret_bound

    @cached_property
    def left_to_gain(self) -> LeftToGain:
        """By how much another point may be better than x: what is expected, and what is proven.

        A callback that returns `result.left_to_gain.is_below(0.1)` ends a run as `stop_below=0.1` does.
        """
        return LeftToGain(*left_to_expect(self.engine), self.regret_bound)

    @property
    def guarantee(self) -> str:
        """What is guaranteed, or why nothing is; the price of a bribe; what was assumed. In words."""
        best = self.recommendation
        price = None if best is None or best.regret_bound is None else self.price()
        return account(best, price, self.assumptions, self.space.columns)

    @property
    def assumptions(self) -> Basis | None:
        """What the guarantee rests on: kernel, B, B0, noise and delta, in your units; prints as words.

        None where there is no reading to fit it to.
        """
        return basis(self.engine, self.space.columns)

    @property
    def naive(self) -> Trial | None:
        """The trial with the best reading: what an optimizer that believes every reading returns."""
        told = [trial for trial in self.trials if trial.y is not None]
        sign = self.engine.plan.sign
        return max(told, key=lambda trial: sign * (trial.y or 0.0), default=None)

    @property
    def n_suspects(self) -> int:
        """How many readings are flagged."""
        return sum(suspect.is_flagged for suspect in self.suspects)

    @property
    def n_failed(self) -> int:
        """How many evaluations gave no reading."""
        return sum(trial.y is None for trial in self.trials)

    @property
    def refuted(self) -> int | None:
        """The round whose reading contradicted the assumptions, or None.

        None where lies are counted: more of them explain what fewer do not, see `by_lies`.
        """
        is_counted = self.engine.plan.lies is not None or not self.engine.is_ready
        return None if is_counted else self.engine.algorithm().refuted

    def summary(self) -> str:
        """What to use, what to expect, the worst case, what to distrust: nine lines at most.

        Of 120 characters each, at most. All the rest is in `guarantee`.
        """
        if self.recommendation is None or self.naive is None:
            n_false, n_forbidden = len(self.engine.false), len(self.engine.told)
            return no_answer(len(self.trials), self.n_failed, n_false, n_forbidden)
        naive = self.naive
        assert naive.y is not None
        best_reading = BestReading(naive.t, naive.y, point(naive.x, self.space.params(naive.x)))
        flagged = [suspect for suspect in self.suspects if suspect.is_flagged]
        rest = rounds(len(self.trials), self.n_failed, self.stopped)
        return "\n".join(answer(self.recommendation, best_reading, flagged, rest))

    def price(self, eps: float | None = None) -> Price:
        """How much lying it takes before another candidate can be better than x by more than eps.

        With the cheapest bribe: the readings that would have had to be told differently. It holds
        against any adversary, whatever corruption was stated.

        Args:
            eps: In the units of f. If None, the smallest of 5, 10, 20 and 50 % of the range of the
                readings that look honest for which a price is established.

        Raises:
            RuntimeError: There is no reading yet.
        """
        return price(self.engine, eps)

    def predict(self, X: Any) -> tuple[Floats, Floats]:
        """The value to expect at each of a list of points, and its standard deviation: (n,) each.

        An estimate, not a guarantee: by the most likely model and the readings that look honest. The
        standard deviation is that of f, without the noise of a further reading.

        Args:
            X: Points as f takes them.

        Raises:
            RuntimeError: There is no reading.
        """
        if isinstance(X, dict | str) or not isinstance(X, Sequence | np.ndarray):
            raise TypeError(f"X must be a list of points, got X={X!r}; one alone is [x]")
        engine = self.engine.settled()
        if engine is None:
            raise RuntimeError("an answer needs a reading, there is none yet; tell one")
        U = np.array([engine.u_of(self.space.given(x)) for x in X]).reshape(-1, engine.domain.d)
        return engine.predict(U)

    def study(self) -> "Study":
        """A study in memory that goes on from here: `ask` where to read next, and `tell` it.

        The result stays as it is. What was pending is pending there.

        Raises:
            RuntimeError: A round before the last one is neither told nor pending.
        """
        from unbribable.study.study import Study

        rounds = sorted([*self.engine.log, *(query.t for query in self.pending)])
        if rounds != list(range(1, len(rounds) + 1)):
            raise RuntimeError(
                f"a study goes on from a run whose rounds are all told or pending, got rounds {rounds}"
            )
        study, own = Study(self.space), self.engine.replayed(self.engine.log.values())
        study._log.go_on(Result(self.space, own, self.trials, pending=self.pending))
        return study

    def to_dataframe(self) -> "pandas.DataFrame":
        """A row for each round told: its parameters, the reading, and how suspicious that is."""
        try:
            import pandas
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "a table needs pandas: pip install pandas", name=error.name
            ) from None
        encoding, nan = self.space.encoding, math.nan
        names = [f"x{k}" for k in range(self.space.domain.d)] if encoding is None else encoding.names
        found, rows = {suspect.t: suspect for suspect in self.suspects}, []
        for trial in self.trials:
            params = trial.x.tolist() if encoding is None else encoding.decode(trial.x).values()
            reading, doubt = nan if trial.y is None else trial.y, (nan, nan, False)
            if (suspect := found.get(trial.t)) is not None:
                doubt = (suspect.expected, suspect.probability, suspect.is_flagged)
            rest = [trial.error, trial.replicate_of, nan if trial.sem is None else trial.sem]
            rows.append([trial.t, *params, reading, *doubt, *rest])
        columns = ["round", *names, "y", "expected", "probability", "is_flagged", "error"]
        columns += ["replicate_of", "sem"]
        frame = pandas.DataFrame(rows, columns=columns)
        if self.engine.is_corrected or self.engine.has_blocks:
            current = self.engine.settled()
            counted = {} if current is None else {each.t: each.y for each in current.corrected}
            frame["block"] = [trial.block for trial in self.trials]
            frame["offset"] = [  # nobody learned a reading that is false for certain
                nan if trial.y is None else trial.y - counted.get(trial.t, nan) for trial in self.trials
            ]
        return frame

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return html(self.summary(), [suspect for suspect in self.suspects if suspect.is_flagged])

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-able data."""
        best = (
            "estimate", "estimate_sd", "n_honest", "lower", "upper", "is_wide", "regret_bound",
            "between_candidates", "probability", "threat", "n_lies", "clearly_worse", "n_needed",
        )  # fmt: skip
        return {
            "format": FORMAT,
            "x": plain(self.x),
            **{name: self._of_best(name) for name in best},
            **spoken(self.recommendation),
            "by_lies": [list(row) for row in self.by_lies],
            "assumptions": None if self.assumptions is None else self.assumptions.to_dict(),
            "left_to_gain": self.left_to_gain.to_dict(),
            "price": None if self.recommendation is None else price_to_dict(self.price()),
            "naive": None if self.naive is None else self.naive.to_plain(),
            "refuted": self.refuted,
            "stopped": self.stopped,
            "seconds_per_ask": self.seconds_per_ask,
            "suspects": [suspect.to_dict() for suspect in self.suspects if suspect.is_flagged],
            "trials": [trial.to_plain() for trial in self.trials],
        }

    def at(self, n: int) -> "Result":
        """The result as it was after n rounds; a table came whole, so no n cuts it."""
        n = whole(self.trials, n)
        return Result(self.space, self.engine.replayed(self.trials[:n]), self.trials[:n])

    def _of_best(self, name: str) -> Any:
        return None if self.recommendation is None else getattr(self.recommendation, name)

    # --- files ---------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the run to a file of JSON lines, whole or not at all."""
        write(path, self.stored())

    def stored(self) -> dict[str, Any]:
        """Everything that a run file holds."""
        return {
            "domain": self.space.to_plain(),
            "plan": self.engine.plan.to_plain(),
            "seed": self.engine.seed.to_plain(),
            "stopped": self.stopped,
            "seconds_per_ask": self.seconds_per_ask,
            "trials": [trial.to_plain() for trial in self.trials],
            "pending": [query_to_plain(query) for query in self.pending],
        }

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, constraints: Iterable[Constraint] = ()) -> "Result":
        """Read a run that `save` wrote, and learn its readings again.

        Args:
            path: The file.
            constraints: Those that are functions, which no file can keep.

        Raises:
            ValueError: The file is not a saved run, or has another format; or it had other constraints.
        """
        return restored(path, read(path), constraints=constraints)


def restored(
    path: str | os.PathLike[str],
    stored: dict[str, Any],
    plan: Plan | None = None,
    constraints: Iterable[Constraint] = (),
) -> Result:
    """The result that `read` found in the file; the plan is the stored one if None."""
    try:
        plan = plan or Plan.from_plain(stored["plan"])
        space = Space.from_plain(stored["domain"], constraints)
        engine = Engine(space.domain, plan, Seed.from_plain(stored["seed"]))
        trials = [_stored_trial(row, space, engine) for row in stored["trials"]]
        pending = [_stored_query(row, space, engine) for row in stored["pending"]]
        rounds = sorted([*(trial.t for trial in trials), *(query.t for query in pending)])
        if rounds != list(range(1, len(rounds) + 1)):
            raise ValueError(f"rounds must be numbered from 1 on, each once, got {rounds}")
        n_done = sum(trial.is_evaluation for trial in trials)
        if plan.n_rounds is not None and n_done > plan.n_rounds:
            raise ValueError(f"trials must be n_rounds={plan.n_rounds} at most, got {n_done}")
        for trial in trials:
            engine.take(trial)
        stopped, seconds = stored["stopped"], stored["seconds_per_ask"]
        if not isinstance(stopped, str | None):
            raise TypeError(f"stopped must be words or None, got stopped={stopped!r}")
        seconds = None if seconds is None else checks.real("seconds_per_ask", seconds)
    except OtherConstraintsError as error:
        raise ValueError(f"{path}: {error}") from None
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(f"{path} must be a run saved by Result.save, got {error!r}") from error
    return Result(space, engine, trials, pending=pending, stopped=stopped, seconds_per_ask=seconds)


def query_to_plain(query: Query) -> dict[str, Any]:
    """A query as it is saved."""
    return {"number": query.t, "x": query.x.tolist(), "replicates": query.replicates}


def whole(trials: Sequence[Trial], n: int) -> int:
    """The number of trials, n or more, that ends no table in its middle."""
    rows = [k for k, trial in enumerate(trials) if trial.is_row]
    return rows[-1] + 1 if rows and rows[0] < n <= rows[-1] else n


def _stored_query(row: dict[str, Any], space: Space, engine: Engine) -> Query:
    """A query as it was saved."""
    fields = {**row, "params": None, "y": None, "error": "pending"}
    replicates = checks.integer("replicates", fields.pop("replicates", 1), at_least=1)
    asked = _stored_trial(fields, space, engine)
    return replace(query_of(asked.t, asked.x, space, engine), replicates=replicates)


def query_of(t: int, x: Floats, space: Space, engine: Engine) -> Query:
    """The query of round t, as the run would ask it."""
    x, u, params = x.copy(), engine.u_of(x).copy(), space.params(x)
    x.flags.writeable = u.flags.writeable = False  # the run goes on from them
    return Query(t, x, u, index=None, instance=None, params=params)


def _stored_trial(row: dict[str, Any], space: Space, engine: Engine) -> Trial:
    """A trial as it was saved, if the run can have had it."""
    fields = dict(row)
    t, y = checks.integer("number", fields.pop("number"), at_least=1), fields["y"]
    u = engine.u_of(fields["x"])  # refuses what is not a point
    x = np.asarray(fields["x"], dtype=np.float64)
    y = {"inf": math.inf, "-inf": -math.inf}.get(y, y) if isinstance(y, str) else y
    y = None if y is None else engine.plan.reading("y", y)
    fields |= {"x": x, "params": space.shown(x), "y": y}
    engine.plan.sem(fields.get("sem"))
    trial = Trial(t, u=u, **fields)
    trial.check()
    return trial
