"""What the readings say of f at one point and of all better ones, by the number of lies (ours)."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from unbribable.decision.proven.better import Better
from unbribable.decision.proven.left_out import LeftOut
from unbribable.decision.units import Units
from unbribable.model.checks import Floats

N_ASKED = 12
"""Numbers of lies that are looked at to find how many it takes, at most."""


@dataclass(frozen=True, eq=False)
class ByLies:
    """Intervals of f(x) for any number of lies, of any size; worked out when they are asked for.

    All of them hold together, with the probability of one event, in the order of telling or in any
    other, and also where readings are missing because of their value: see `left_out`.
    """

    left_out: LeftOut
    U: Floats
    """The candidates, as the kernel sees them, (n, d)."""
    index: int
    """The point: which of them."""
    units: Units
    """In which to say everything."""
    _found: dict[int, tuple[float, float] | None] = field(default_factory=dict, repr=False)

    def __eq__(self, other: object) -> bool:
        """Whether it says the same: from the same readings, of the same point."""
        if not isinstance(other, ByLies):
            return NotImplemented
        is_there = np.array_equal(self.u, other.u) and self.units == other.units
        return is_there and self.left_out.is_same(other.left_out)

    @property
    def u(self) -> Floats:
        """The point, as the kernel sees it, (d,)."""
        point: Floats = self.U[self.index]
        return point

    @property
    def probability(self) -> float:
        """With which all of them hold, at least."""
        return self.left_out.probability

    @property
    def n_readings(self) -> int:
        """How many readings there are, with those that are false for certain."""
        return self.left_out.n + self.left_out.n_false

    def interval(self, n_lies: int) -> tuple[float, float] | None:
        """(lower, upper) if at most so many readings are lies; None: there must be more."""
        if n_lies not in self._found:
            found = self.left_out.interval(self.u, n_lies)
            self._found[n_lies] = None if found is None else self.units.interval(*found)
        return self._found[n_lies]

    @cached_property
    def _better(self) -> Better:
        return Better(self.left_out, self.U, self.index)

    def better(self, n_lies: int) -> float | None:
        """By how much a candidate can be better if so many are lies, at most; None: there are more."""
        most = self._better.most(n_lies)
        return None if most is None else self.units.scale * most

    def needed_for_better(self, eps: float) -> int:
        """So many readings at least must be lies if a candidate is better by more than eps; 0: none."""
        for k in self._asked:
            most = self.better(k)
            if most is not None and most > eps:
                return k
        return self._asked.stop

    @property
    def widest(self) -> tuple[float, float]:
        """(lower, upper) if all readings may be lies: what is known of f without them."""
        return self.units.interval(self.left_out.lowest, self.left_out.highest)

    @property
    def least(self) -> int:
        """There are at least so many lies."""
        return next((k for k in self._asked if self.interval(k) is not None), self._asked.stop)

    @property
    def _asked(self) -> range:
        """Numbers of lies to look at, from that of the readings that are false for certain on."""
        n_false = self.left_out.n_false
        return range(n_false, n_false + N_ASKED)

    def table(self, n_lies: int) -> tuple[tuple[int, float, float], ...]:
        """(number of lies, lower, upper), from the least number that there must be to this one.

        What holds for more lies holds for fewer, so the intervals are nested.
        """
        rows: list[tuple[int, float, float]] = []
        for k in range(n_lies, -1, -1):
            found = self.interval(k)
            if found is None:
                break
            lower, upper = found
            if rows:
                lower, upper = max(lower, rows[-1][1]), min(upper, rows[-1][2])
            rows.append((k, lower, upper))
        return tuple(reversed(rows))

    def needed(self, value: float) -> int:
        """So many readings at least must be lies if f(x) is worse than value; 0: not even one."""
        limit = self.units.sign * value
        for k in self._asked:
            found = self.interval(k)
            if found is not None and min(self.units.sign * end for end in found) < limit:
                return k
        return self._asked.stop
