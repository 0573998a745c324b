"""The knapsack in C, if there was a compiler when this package was installed; NumPy does without."""

import ctypes
from pathlib import Path

import numpy as np

from unbribable.model.checks import Floats, Ints

_MANY = 1 << 20
"""Entries of R beyond which a table of as many ranks is not worth its memory."""


def _loaded() -> ctypes.CDLL | None:
    path = Path(__file__).with_name("knapsack.so")
    if not path.exists():
        return None
    try:
        library = ctypes.CDLL(str(path))
    except OSError:  # built on a machine of another kind, which shares this directory
        return None
    pointer, whole = ctypes.c_void_p, ctypes.c_int64
    library.knapsacks.argtypes = [
        pointer, whole, whole, pointer, whole, pointer, pointer, whole, ctypes.c_double, pointer, whole,
        pointer,
    ]  # fmt: skip
    return library


LIBRARY = _loaded()


def pays_off(n_entries: int) -> bool:
    """Whether there is a library, and an R with so many entries is to be ranked by it."""
    return LIBRARY is not None and 0 < n_entries <= _MANY


class Ranks:
    """Holds changing state: at each candidate the items as they were ranked last, to begin with."""

    def __init__(self) -> None:
        self._order = np.zeros((0, 0), dtype=np.int32)
        self._n_items = 0

    def knapsacks(
        self, weights: Floats, candidates: Ints, counts: Floats, budgets: Floats, cap: float
    ) -> Floats:
        """`shifts_exact` of these candidates, by the library.

        Args:
            weights: The weight, of either sign, of one reading of each item at every candidate,
                (n_items, n).
            candidates: Which to look at, ascending, (k,).
            counts: Readings each item stands for, (n_items,).
            budgets: Total corruptions, ascending, (n_levels,).
            cap: Largest single lie, finite.
        """
        assert LIBRARY is not None
        n_items, n = weights.shape
        self._follow(n_items, n)
        found = np.empty((len(budgets), len(candidates)))
        weights = weights if weights.strides[1] == 8 else np.ascontiguousarray(weights)
        columns = candidates.ctypes.data if len(candidates) < n else None
        failed = LIBRARY.knapsacks(
            weights.ctypes.data, weights.strides[0] // 8, n_items, columns, len(candidates),
            counts.ctypes.data, budgets.ctypes.data, len(budgets), cap,
            self._order.ctypes.data, self._order.shape[1], found.ctypes.data,
        )  # fmt: skip
        if failed:
            raise MemoryError("no memory for a knapsack")
        return found

    def _follow(self, n_items: int, n: int) -> None:
        """Have a permutation of the items for every candidate; unranked ones stand last, in order."""
        rows, width = self._order.shape
        if n_items < self._n_items:  # other items than before
            rows = 0
        if n > rows or n_items > width:
            width = max(n_items, 2 * width)
            order = np.tile(np.arange(width, dtype=np.int32), (n, 1))
            order[:rows, : self._order.shape[1]] = self._order[:rows]
            self._order = order
        self._n_items = n_items
