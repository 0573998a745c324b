"""What was read, summed up by point."""

from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np

from unbribable.model.checks import Floats, Ints

Heard = tuple[int, float, float]
"""A reading as a posterior learns it: candidate, value, fictitious noise."""

Rows = TypeVar("Rows", Floats, Ints)


class Tally:
    """Holds changing state: the points read in order of their first reading, and what was read there.

    Readings of one point with one noise are one *item*.

    Args:
        lam: Fictitious noise of a reading that does not say otherwise.
        readings: What was read so far.

    Attributes:
        m: Number of distinct points read.
        n_readings: Number of readings.
        row: Which point read, of 0..m-1, a candidate is.
        u: Indices of the points read: (m,), a view.
        prec: Precision gathered at each point read, the sum of 1 / lam: (m,), a view.
        n_items: Number of items.
        item_counts: How many readings each item stands for: (n_items,), a view.
        items: Which point read each item is of, and its fictitious noise: (n_items,) each, views.
    """

    def __init__(self, lam: float, readings: Iterable[Heard] = ()) -> None:
        self.lam = lam
        self.m = self.n_readings = self.n_items = 0
        self.row: dict[int, int] = {}
        self._lams: set[float] = set()
        self._u: Ints = np.zeros(8, dtype=np.intp)
        self._prec: Floats = np.zeros(8)
        self._sum: Floats = np.zeros(8)
        self.u: Ints = self._u[:0]
        self.prec: Floats = self._prec[:0]
        self._item: dict[tuple[int, float], int] = {}
        self._item_count: Floats = np.zeros(8)
        self._item_lam: Floats = np.ones(8)
        self._item_row: Ints = np.zeros(8, dtype=np.intp)
        self.item_counts: Floats = self._item_count[:0]
        self.items: tuple[Ints, Floats] = self._item_row[:0], self._item_lam[:0]
        self.add_all(readings)

    @property
    def ybar(self) -> Floats:
        """Precision-weighted mean of the readings of each point read: (m,)."""
        mean: Floats = self._sum[: self.m] / self.prec
        return mean

    @property
    def lam_min(self) -> float:
        """The smallest fictitious noise among the readings (the default one if there is none)."""
        return min(self._lams, default=self.lam)

    def signed_weights(self, columns: Floats) -> Floats:
        """lam * weight of a reading of each item, (n_items, k), given columns of R, (m, k)."""
        if len(self._lams) > 1:
            rows, lams = self.items
            scaled: Floats = columns[rows] * (self.lam / lams[:, None])
            return scaled
        return columns if self.lam_min == self.lam else columns * (self.lam / self.lam_min)

    def weights(self, columns: Floats, out: Floats | None = None) -> Floats:
        """lam * |weight| of a reading of each item, (n_items, k), given columns of R, (m, k)."""
        sizes: Floats = np.abs(columns, out, order="F")  # those of one point side by side
        if len(self._lams) > 1:
            rows, lams = self.items
            sizes = sizes[rows] * (self.lam / lams[:, None])
        elif self.lam_min != self.lam:
            sizes *= self.lam / self.lam_min
        return sizes

    def push(self, lies: Floats) -> Floats:
        """How far lies, (n_items,) in all for each item, move the mean per unit of R: (m,)."""
        rows, lams = self.items
        moved = np.bincount(rows, lies / lams, self.m)
        return moved.astype(np.float64, copy=False)

    def add_point(self, i: int) -> None:
        """Candidate i will be read for the first time."""
        if self.m == len(self._u):
            self._u, self._prec, self._sum = grown(self._u), grown(self._prec), grown(self._sum)
        self._u[self.m], self.row[i] = i, self.m
        self.m += 1
        self.u, self.prec = self._u[: self.m], self._prec[: self.m]

    def add(self, row: int, y: float, lam: float) -> None:
        """A reading y, with noise lam, of the point read in this row."""
        self.n_readings += 1
        self._prec[row] += 1.0 / lam
        self._sum[row] += y / lam
        item = self._item.get((row, lam))
        if item is None:
            self._lams.add(lam)
            item = self._item[row, lam] = self.n_items
            if item == len(self._item_count):
                self._item_count, self._item_lam = grown(self._item_count), grown(self._item_lam)
                self._item_row = grown(self._item_row)
            self._item_lam[item] = lam
            self._item_row[item] = row
            self.n_items = n = item + 1
            self.item_counts = self._item_count[:n]
            self.items = self._item_row[:n], self._item_lam[:n]
        self._item_count[item] += 1.0

    def add_all(self, readings: Iterable[Heard]) -> None:
        """Readings (candidate, y, noise), of points read before or not."""
        for i, y, lam in readings:
            if i not in self.row:
                self.add_point(i)
            self.add(self.row[i], y, lam)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """The views of a copy or a pickle are of its own buffers."""
        vars(self).update(state)
        m, n = self.m, self.n_items
        self.u, self.prec = self._u[:m], self._prec[:m]
        self.item_counts, self.items = self._item_count[:n], (self._item_row[:n], self._item_lam[:n])


def grown(rows: Rows) -> Rows:
    """The same rows in a buffer of twice the length (zeros behind them stay untouched memory)."""
    larger = np.zeros((2 * len(rows), *rows.shape[1:]), dtype=rows.dtype)
    larger[: len(rows)] = rows
    return larger
