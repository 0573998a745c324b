"""What was read, summed up by point."""

import copy
from collections.abc import Iterable

import numpy as np

from unbribable.model.checks import Floats, Ints
from unbribable.model.update import grown


class Tally:
    """Holds changing state: the points read in order of their first reading, and what was read there.

    Readings of one point with one noise are one *item*.

    Attributes:
        m: Number of distinct points read.
        n_readings: Number of readings.
        row: Which point read, of 0..m-1, a candidate is.
        lams: Every fictitious noise that occurred.
    """

    def __init__(self) -> None:
        self.m = self.n_readings = 0
        self.row: dict[int, int] = {}
        self.lams: set[float] = set()
        self._u: Ints = np.zeros(8, dtype=np.intp)
        self._prec: Floats = np.zeros(8)
        self._sum: Floats = np.zeros(8)
        self._item: dict[tuple[int, float], int] = {}
        self._item_count: Floats = np.zeros(8)
        self._item_lam: Floats = np.ones(8)
        self._item_row: Ints = np.zeros(8, dtype=np.intp)

    @classmethod
    def of(cls, readings: Iterable[tuple[int, float, float]]) -> "Tally":
        """Of readings (candidate, y, noise)."""
        tally = cls()
        tally.add_all(readings)
        return tally

    @property
    def u(self) -> Ints:
        """Indices of the points read: (m,), a view."""
        return self._u[: self.m]

    @property
    def prec(self) -> Floats:
        """Precision gathered at each point read, the sum of 1 / lam: (m,), a view."""
        return self._prec[: self.m]

    @property
    def ybar(self) -> Floats:
        """Precision-weighted mean of the readings of each point read: (m,)."""
        mean: Floats = self._sum[: self.m] / self.prec
        return mean

    @property
    def item_counts(self) -> Floats:
        """How many readings each item stands for: (n_items,), a view."""
        return self._item_count[: len(self._item)]

    @property
    def items(self) -> tuple[Ints, Floats]:
        """Of each item: which point read, of 0..m-1, and its noise; (n_items,) each, views."""
        return self._item_row[: len(self._item)], self._item_lam[: len(self._item)]

    def weights_of(self, columns: Floats, lam: float) -> Floats:
        """lam * |weight| of one reading of each item, (n_items, k); overwrites columns of R, (m, k)."""
        np.abs(columns, out=columns)
        if len(self.lams) > 1:
            rows, lams = self.items
            columns = columns[rows] * (lam / lams[:, None])
        elif self.lams and lam not in self.lams:
            columns *= lam / min(self.lams)
        return columns

    def add_point(self, i: int) -> None:
        """Candidate i will be read for the first time."""
        if self.m == len(self._u):
            self._u, self._prec, self._sum = grown(self._u), grown(self._prec), grown(self._sum)
        self._u[self.m], self.row[i] = i, self.m
        self.m += 1

    def add(self, row: int, y: float, lam: float) -> None:
        """A reading y, with noise lam, of the point read in this row."""
        self.n_readings += 1
        self._prec[row] += 1.0 / lam
        self._sum[row] += y / lam
        self.lams.add(lam)
        item = self._item.get((row, lam))
        if item is None:
            item = self._item[row, lam] = len(self._item)
            if item == len(self._item_count):
                self._item_count, self._item_lam = grown(self._item_count), grown(self._item_lam)
                self._item_row = grown(self._item_row)
            self._item_lam[item] = lam
            self._item_row[item] = row
        self._item_count[item] += 1.0

    def add_all(self, readings: Iterable[tuple[int, float, float]]) -> None:
        """Readings (candidate, y, noise), of points read before or not."""
        for i, y, lam in readings:
            if i not in self.row:
                self.add_point(i)
            self.add(self.row[i], y, lam)

    def copy(self) -> "Tally":
        """The same, to go on separately."""
        other = copy.copy(self)
        for name, value in vars(self).items():
            if not isinstance(value, int):
                setattr(other, name, value.copy())
        return other
