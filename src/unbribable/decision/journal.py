"""What became of every round: told, lost, retracted, or still open."""

from bisect import bisect_left, insort
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from unbribable.decision.proposal import Query, Reading
from unbribable.decision.proven.conditions import Condition, Missing, Open, Pruned, TakenOut
from unbribable.model import checks


@dataclass(frozen=True, slots=True)
class Lost:
    """A round that has no reading and will have none."""

    because_of_value: bool
    """Whether the value is the reason, as far as is known."""
    n_told: int
    """Readings told before it was given up."""


@dataclass(eq=False)
class Journal:
    """Holds changing state: the readings in the order of telling, and which rounds have none.

    Everything else that an algorithm knows is a function of it.

    A reading may come late because of its value, so bounds made by some but not all readings of the
    rounds so far need not hold. The journal is settled when every round up to the last one told is
    accounted for. Then the order of telling does not matter any more, since the noise events are those
    of the rounds as they were asked.

    Nor is it settled in the middle of a table. Its order may be one by value, and then its first rows
    are not the first readings of anything. The whole table is, in the order in which it was read,
    whatever that was; and so is what was told before it, among which it may have been read.
    """

    retracted: dict[int, bool] = field(default_factory=dict)
    """Round -> the statement that the reason had nothing to do with the value."""
    lost: dict[int, Lost] = field(default_factory=dict)
    """By round, in the order in which they were given up."""
    readings: list[Reading] = field(default_factory=list)
    """Everything told and not retracted, in the order of telling."""
    pending: dict[int, Query] = field(default_factory=dict)
    """Queries asked and not yet told, by round, the oldest first."""
    n_at_once: int = 0
    """How many of the readings, the first ones, were learned at once."""
    n_table: int = 0
    """How many of the readings, the first ones, are in no order: those up to the last row of a table.
    Set before they are learned."""
    told: set[int] = field(default_factory=set)
    """Their rounds."""
    n_settled: int = 0
    """Readings told when it was last settled: those that the bounds rest on."""
    foreign: list[int] = field(default_factory=list)
    """Rounds told whose points the algorithm did not choose, ascending."""
    _open: set[int] = field(default_factory=set)
    _last: int = 0

    @property
    def is_settled(self) -> bool:
        """Whether every round up to the last one told is accounted for, and every table told whole."""
        return not self._open and len(self.readings) >= self.n_table

    @property
    def n_waiting(self) -> int:
        """Readings that the bounds may not use yet, because an earlier round is still open."""
        return len(self.readings) - self.n_settled

    @property
    def n_chosen(self) -> int:
        """Readings of points that the user chose, told one by one in an order of the user's."""
        n = max(self.n_at_once, self.n_table)
        return sum(reading.chosen_by == "user" for reading in self.readings[n:])

    def turn(self, t: int) -> int:
        """How many of the rounds up to t the algorithm was asked for, t included."""
        return t - bisect_left(self.foreign, t)

    def add(self, reading: Reading) -> None:
        """Record a reading."""
        t = reading.t
        self.readings.append(reading)
        self.told.add(t)
        if reading.chosen_by != "algorithm":
            insort(self.foreign, t)
        if t > self._last + 1:
            skipped = range(self._last + 1, t)
            self._open.update(s for s in skipped if s not in self.lost and s not in self.retracted)
        self._last = max(self._last, t)
        self._close(t)

    def lose(self, t: int, because_of_value: bool) -> bool:
        """Record that round t has no reading. Returns whether that is new."""
        known = self.lost.get(t)
        if known is not None:
            self.lost[t] = replace(known, because_of_value=because_of_value)
            return False
        self.lose_again(t, Lost(because_of_value, len(self.readings)))
        return True

    def lose_again(self, t: int, lost: Lost) -> None:
        """Record a loss as another journal has it."""
        self.lost[t] = lost
        self._close(t)

    def asked(self, query: Any) -> Query:
        """The pending query that is given, by itself or by its round.

        Raises:
            RuntimeError: It was told already, retracted, or not asked here.
        """
        is_whole = isinstance(query, Query)
        hint = "; use tell(x=..., y=...) for a point"
        t = query.t if is_whole else checks.integer("query", query, at_least=1, hint=hint)
        asked = self.pending.get(t)
        if asked is not None and (not is_whole or query is asked or np.array_equal(query.u, asked.u)):
            return asked
        if t in self.told:
            raise RuntimeError(f"query {t} was told already; a reading is told once, or retracted")
        if asked is None and t in self.retracted:
            raise RuntimeError(f"query {t} was retracted; put it right with tell(x=..., y=...)")
        raise RuntimeError(
            f"query {t} was not asked here, pending are {list(self.pending)}; "
            "use tell(x=..., y=...) for a point that was not asked for"
        )

    def check_untold(self, t: int) -> None:
        """Refuse a reading of a round that has one, will have one, or was given up."""
        states = {
            "told already": self.told,
            "asked here, tell its query": self.pending,
            "given up": self.lost,
        }
        for state, rounds in states.items():
            if t in rounds:
                raise RuntimeError(f"round {t} was {state}; a reading is told once")

    def before(self, n: int, asked: Query | None) -> "Journal":
        """This journal as it was after n readings, with this query pending."""
        pending = self.pending if asked is None else {**self.pending, asked.t: asked}
        pending = dict(sorted(pending.items()))
        return replace(self, readings=self.readings[:n], pending=pending)

    def without(
        self,
        reading: Reading,
        unrelated: bool,
        refuted: int | None,
        learner_again: Callable[[str | None], str | None],
    ) -> "Journal":
        """This journal without one reading.

        Readings told after the refutation are reassigned by `learner_again`.
        """
        place = self.readings.index(reading)
        rounds = [one.t for one in self.readings]
        n_before = len(rounds) if refuted is None else rounds.index(refuted) + 1
        readings = [
            one if k < n_before else replace(one, learner=learner_again(one.learner))
            for k, one in enumerate(self.readings)
            if one is not reading
        ]
        lost = {
            t: replace(each, n_told=each.n_told - (each.n_told > place)) for t, each in self.lost.items()
        }
        return replace(
            self,
            retracted={**self.retracted, reading.t: unrelated},
            lost=lost,
            readings=readings,
            n_at_once=self.n_at_once - (place < self.n_at_once),
            n_table=self.n_table - (place < self.n_table),
        )

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What is assumed about missing readings, and how many wait for one that is late."""
        missing = (Missing(len(self.lost)),) if self.lost else ()
        if not self.n_waiting:
            return missing
        return (*missing, Open(self.n_waiting, self.n_settled < self.n_table))

    @property
    def selection(self) -> Pruned | TakenOut | None:
        """Why nothing is guaranteed, where readings are missing because of their values."""
        n = sum(lost.because_of_value for lost in self.lost.values())
        if n:
            return Pruned(n)
        gone = [t for t, is_unrelated in self.retracted.items() if not is_unrelated]
        return TakenOut(tuple(gone)) if gone else None

    def _close(self, t: int) -> None:
        self._open.discard(t)
        if self.is_settled:
            self.n_settled = len(self.readings)
