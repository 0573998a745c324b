"""Past readings in, a verdict out: which look false, how much lying there was, what to use."""

import os
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from unbribable.auditing.optuna_table import is_optuna_study, read_optuna
from unbribable.auditing.table import Table, check_size, ranges, read_table
from unbribable.decision.proven.basis import Basis
from unbribable.decision.proven.lying import Proof
from unbribable.decision.proven.price import Price
from unbribable.decision.recommend import Recommendation
from unbribable.doubt.suspect import Suspect
from unbribable.files import written
from unbribable.say import audit as say
from unbribable.say.answer import BestReading
from unbribable.say.counting import Counting
from unbribable.say.guarantee import whole
from unbribable.say.price import to_dict as price_to_dict
from unbribable.say.reasons import evidence
from unbribable.say.words import point
from unbribable.study.advice import price
from unbribable.study.plan import Plan, Settings, with_settings
from unbribable.study.result import Result
from unbribable.study.study import Study
from unbribable.study.trial import Trial, plain

N_LEAST = 3
"""Readings that can be compared with each other, at least."""

N_POINTS = 2000
"""Different points that an audit takes, at most: it costs O(n^3)."""


@with_settings
def audit(
    points: Any,
    y: Any = None,
    space: Any = None,
    *,
    target: str | None = None,
    direction: str | None = None,
    ignore: Iterable[str] = (),
    block: str | None = None,
    **settings: Unpack[Settings],
) -> "Audit":
    """Look over past readings some of which may be lies. Nothing is measured, changed or deleted.

    The order of a table does not count: nothing is concluded from its first rows alone. Amounts
    (corruption, noise_std, B) are in the units of the readings.

    Args:
        points: A CSV file, a data frame, a dict of columns, a list of dicts, an array (n, d) with y; a
            Study, a Result of `maximize` or an Optuna study, which have the rest already.
        y: The readings, (n,), if `points` does not hold them; None or NaN where one is missing.
        space: Where the points come from, as `maximize` takes it. Without it, parameters are the
            columns that vary and hold numbers or a few words, over the range of their values.
        target: Name of the column that was read, with or without its unit.
        {settings}
        direction: "maximize", the default, or "minimize".
        ignore: Columns that are not parameters, for example other results.
        block: The column that says what a row was read with, and is no parameter: a day, a batch, an
            operator. Rows with the same share an offset, which is estimated (`audit.result.offsets`). Of
            an Optuna study, the user attribute of its trials.

    Returns:
        The audit: `print(audit)` for the summary, `audit.save_html("audit.html")` for the page.

    Raises:
        OSError: The file cannot be read.
        TypeError, ValueError: The message says the rule, the value and what to do.
    """
    result = points.result() if callable(getattr(points, "result", None)) else points
    if isinstance(result, Result):
        given = {"y": y, "space": space, "target": target, "direction": direction}
        given |= {"ignore": tuple(ignore) or None, "block": block, **settings}
        extra = [name for name, value in given.items() if value is not None]
        if extra:
            raise ValueError(f"a finished run says everything itself, got {', '.join(extra)} besides")
        return Audit(result)
    plan = Plan.of(None, settings)
    if is_optuna_study(points):
        takes_infinite = plan.reading_range is not None
        table, told, is_selected = read_optuna(points, block, takes_infinite=takes_infinite)
        direction = told if direction is None else direction
    else:
        is_selected = False
        words: Any = {"target": target, "ignore": ignore, "block": block, "check": plan.reading}
        table = read_table(points, y, space, **words)
    rows = (each.values() if isinstance(each, dict) else each for each in table.points)
    check_size(len(table.points), table.space.domain.d)
    _check_size(len({tuple(row) for row in rows}))  # before they are learned
    study = Study(table.space, direction=direction or "maximize", **settings)
    rows_told = zip(table.points, table.y, table.blocks, strict=True)
    study._log.take(study._rows(rows_told, is_selected=is_selected))
    result = study.result()
    name = str(points) if isinstance(points, str | os.PathLike) else ""
    return Audit(result, table, name)


def _check_size(n_points: int) -> None:
    if n_points > N_POINTS:
        raise ValueError(
            f"an audit must have at most {N_POINTS} different points, since it compares each with "
            f"all others, got {n_points}; audit a part, for example the rows of one instrument"
        )


class Audit:
    """What readings say about each other; worked out when it is asked for.

    Attributes:
        result: The readings, as a run that was told them.
        table: Where they come from, with notes on what was left out; None for a run.
        name: Of the file, if there was one.
    """

    def __init__(self, result: Result, table: Table | None = None, name: str = "") -> None:
        told = result.engine.told
        if len(told) < N_LEAST:
            raise ValueError(
                f"an audit must have at least {N_LEAST} readings to compare, got {len(told)}"
            )
        _check_size(len(np.unique([reading.u for reading in told], axis=0)))
        check_size(len(told), result.space.domain.d)
        self.result = result
        self.table = table
        self.name = name

    # --- the findings ----------------------------------------------------------------------------

    @property
    def target(self) -> str:
        """What was read."""
        return "value" if self.table is None else self.table.target

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out of the table, and what speaks against relying on the audit."""
        notes = () if self.table is None else self.table.notes
        values = [reading.y for reading in self.result.engine.told]  # one outside a range is false
        return (*notes, *say.doubts(values, len(self.suspects)))

    @property
    def n_readings(self) -> int:
        """How many readings there are."""
        return len(self.result.engine.readings)

    @cached_property
    def suspects(self) -> tuple[Suspect, ...]:
        """The readings that look false, the most suspicious first; `result.suspects` has all."""
        return tuple(
            replace(suspect, evidence=evidence(suspect, self.counting))
            for suspect in self.result.suspects
            if suspect.is_flagged
        )

    @cached_property
    def recommendation(self) -> Recommendation:
        """The point to use, by the readings that look honest, with its interval and certificate."""
        best = self.result.recommendation
        assert best is not None  # there are readings
        return best

    @property
    def naive(self) -> Trial:
        """The best reading: what believing every reading comes to."""
        best = self.result.naive
        assert best is not None
        return best

    @cached_property
    def proof(self) -> Proof | None:
        """How much lying there must have been; None where the solver is not installed."""
        from unbribable.auditing.proof import prove  # late: it loads what no other answer needs

        engine = self.result.engine.settled()
        assert engine is not None
        try:
            return prove(engine, [suspect.t for suspect in self.suspects])
        except ModuleNotFoundError as error:
            if error.name != "clarabel":
                raise
            return None

    @property
    def least_corruption(self) -> float | None:
        """The lies total at least that, certified under the assumptions; None without the solver.

        math.inf if no lies explain the readings: then an assumption is false.
        """
        return None if self.proof is None else self.proof.total

    @property
    def least_lies(self) -> int:
        """At least so many readings are lies, of any size, with the probability of the worst case."""
        lies = self.recommendation.lies
        assert lies is not None  # there are readings
        return lies.least

    def worst_case(self, n_lies: int) -> tuple[float, float] | None:
        """What f can be at the recommended point if at most so many readings are lies.

        None if the readings prove that there are more.
        """
        return self.recommendation.worst_case(n_lies)

    @property
    def by_lies(self) -> tuple[tuple[int, float, float], ...]:
        """The worst case by the number of lies, a row (n_lies, lower, upper) each, from the least on."""
        return self.recommendation.by_lies

    def lies_needed(self, value: float) -> int:
        """So many readings at least must be lies if f is worse than value at the recommended point."""
        return self.recommendation.lies_needed(value)

    def price(self, eps: float | None = None) -> Price:
        """How much lying it takes before another point can be better than the answer by more than eps.

        Args:
            eps: In the units of the readings. If None, the smallest of 5, 10, 20 and 50 % of the range
                of the readings that look honest for which there is an answer.
        """
        return price(self.result.engine, eps)

    def study(self, *, file: str | os.PathLike[str] | None = None) -> Study:
        """A study that goes on from these readings: `ask` where to measure next, and `tell` it.

        Args:
            file: Where to keep it, as in `Study`. If it exists, it must hold these readings, and the
                study goes on from where it was. None: in memory.

        Raises:
            ValueError: The file holds something else.
            OSError: It cannot be written.
        """
        if file is None:
            return self.result.study()
        if not Path(file).exists():
            self.result.save(file)
        plan, trials = self.result.engine.plan, self.result.trials
        settings: Any = {name: getattr(plan, name) for name in Settings.__annotations__}
        study = Study(self.result.space, direction=plan.direction, file=file, **settings)
        held = study.trials[: len(trials)]
        if [(each.x.tolist(), each.y) for each in held] != [
            (each.x.tolist(), each.y) for each in trials
        ]:
            study.close()
            raise ValueError(
                f"file must be new or hold a study of these readings, got {file}, which holds others"
            )
        return study

    @property
    def assumptions(self) -> Basis:
        """The model that guarantees and proofs rest on, and how it was found; it prints as words."""
        found = self.result.assumptions
        assert found is not None  # there are readings
        return found

    @property
    def counting(self) -> Counting:
        """Readings count from 1, with where they stand in the table."""
        return Counting("reading", labels=() if self.table is None else self.table.labels)

    def label(self, t: int) -> str:
        """Where reading t stands, in words."""
        return self.counting.one(t)

    # --- as words, data and pages ------------------------------------------------------------------

    def summary(self) -> str:
        """The findings in a few lines: what looks false, what to use, what is proven, what to do."""
        naive = self.naive
        assert naive.y is not None
        where = point(naive.x, self.result.space.params(naive.x))
        return say.summary(
            self.verdict,
            self.suspects,
            self.proof,
            self.recommendation,
            BestReading(naive.t, naive.y, where),
            self.price(),
            self.notes,
            self.counting,
        )

    @property
    def verdict(self) -> str:
        """How many readings look false, in a sentence."""
        return say.verdict(len(self.suspects), self.n_readings, self.target)

    def against(self, suspect: Suspect) -> list[str]:
        """What speaks against a reading, and what is proven of it."""
        return say.against(suspect, self.proof, self.counting)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-able data."""
        proof, best = self.proof, self.recommendation
        names = ("estimate", "estimate_sd", "lower", "upper", "regret_bound", "probability")
        return {
            "target": self.target,
            "direction": self.result.engine.plan.direction,
            "n_readings": self.n_readings,
            "n_failed": self.result.n_failed,
            "verdict": self.verdict,
            "suspects": [
                {**suspect.to_dict(), "label": self.label(suspect.t), "evidence": self.against(suspect)}
                for suspect in self.suspects
            ],
            "x": plain(self.result.x),
            **{name: getattr(best, name) for name in names},
            "guarantee": whole(best, self.counting),
            "naive": {**self.naive.to_plain(), "label": self.label(self.naive.t)},
            "least_corruption": None if proof is None else proof.total,
            "least_lies": self.least_lies,
            "by_lies": [list(row) for row in self.by_lies],
            "clearly_worse": best.clearly_worse,
            "n_needed": best.n_needed,
            "least_corruption_words": say.lying(proof),
            "certain_lies": {} if proof is None else {str(t): size for t, size in proof.lies.items()},
            "price": price_to_dict(self.price(), self.counting),
            "parameters": ranges(self.result.space),
            "assumptions": self.assumptions.to_dict(),
            "notes": list(self.notes),
        }

    def to_html(self) -> str:
        """The page, self-contained: figures, style and words in one file that loads nothing."""
        from unbribable.say.figures.audit_page import page

        return page(self)

    def save_html(self, path: str | os.PathLike[str]) -> None:
        """Write the page, whole or not at all."""
        text = self.to_html().encode()
        with written(path) as file:
            file.write(text)

    def _repr_html_(self) -> str:
        from unbribable.say.figures.audit_page import fragment

        return fragment(self)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"<Audit: {self.verdict}>"
