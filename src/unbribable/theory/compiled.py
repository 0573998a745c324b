"""What is done in C, if there was a compiler at installation; NumPy does without."""

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unbribable.model.checks import Bools, Floats, Ints

_MANY = 1 << 20
"""Entries of R beyond which a table of as many ranks is not worth its memory."""


def _loaded() -> ctypes.CDLL | None:
    path = Path(__file__).with_name("knapsack.so")
    if not path.exists():
        return None
    pointer, whole = ctypes.c_void_p, ctypes.c_int64
    try:
        library = ctypes.CDLL(str(path))
        library.level_shifts.argtypes = [
            pointer, whole, whole, pointer, whole, pointer, pointer, whole, ctypes.c_double,
            ctypes.c_double, pointer, whole, pointer, pointer, pointer, pointer, pointer,
        ]  # fmt: skip
        library.knapsack.argtypes = [
            pointer, whole, pointer, whole, whole, pointer, ctypes.c_double, pointer, pointer,
        ]  # fmt: skip
        library.bracket.argtypes = [
            pointer, whole, whole, pointer, whole, whole, pointer, ctypes.c_double, *[pointer] * 3,
        ]  # fmt: skip
        library.bracket.restype = None
        library.rule_out.argtypes = [*[pointer] * 4, whole, whole, ctypes.c_double, pointer, pointer]
        library.rule_out.restype = whole
        library.largest_by_row.argtypes = [pointer, pointer, whole, whole, whole, pointer]
        library.largest_by_row.restype = None
        library.worst_lies.argtypes = [
            pointer, whole, whole, whole, pointer, pointer, whole, pointer, pointer,
        ]  # fmt: skip
    except (OSError, AttributeError):  # of a machine of another kind, or of an older source
        return None
    return library


LIBRARY = _loaded()


def pays_off(n_entries: int) -> bool:
    """Whether there is a library, and an R with so many entries is to be ranked by it."""
    return LIBRARY is not None and 0 < n_entries <= _MANY


def knapsack(
    weights: Floats, candidates: Ints | None, counts: Floats, n_units: float, critical: Ints
) -> Floats:
    """The sum of the n_units heaviest readings at some candidates, (k,).

    Args:
        weights: The weight, of either sign, of one reading of each item at every candidate,
            (n_items, n).
        candidates: Which to look at, (k,); all if None.
        counts: Readings each item stands for, (n_items,).
        n_units: Number of readings, at most all there are.
        critical: As in `shift_exact`, (k,).
    """
    assert LIBRARY is not None
    found = np.empty(len(critical))
    failed = LIBRARY.knapsack(
        _address(weights[0]), weights.strides[0] // 8,
        None if candidates is None else _address(candidates), len(weights), len(critical),
        _address(counts), n_units, _address(critical), _address(found),
    )  # fmt: skip
    if failed:
        raise MemoryError("no memory for a knapsack")
    return found


def bracket(weights: Floats, candidates: Ints, counts: Floats, n_units: float, critical: Ints) -> Floats:
    """Lower and upper bounds on `knapsack` at some candidates, (2, k), by one look at each (ours).

    With w the weights and t that of the guess:

        upper = n_units t + sum of (w - t) over the readings with w > t

    Proof. A reading taken is worth at most t + max(w - t, 0), and n_units are taken. Lower: the readings
    with w > t, if there are too many of them the same part of each, and of the guess itself as many as
    there is room for, are at most n_units. QED
    Where the guess is the item at which n_units are reached, both are the knapsack.

    Args:
        weights: The weight, of either sign, of one reading of each item at every candidate,
            (n_items, n).
        candidates: Which to look at, ascending, (k,).
        counts: See `knapsack`.
        n_units: See `knapsack`.
        critical: Guesses, (k,); where one is right the bounds agree with `knapsack` to the last bit.
    """
    assert LIBRARY is not None
    found = np.empty((2, len(critical)))
    LIBRARY.bracket(
        _address(weights[0]), weights.strides[0] // 8, weights.shape[1], _address(candidates),
        len(weights), len(candidates), _address(counts), n_units, _address(critical),
        *map(_address, found),
    )  # fmt: skip
    return found


def rule_out(
    own: Sequence[Floats], other: Sequence[Floats], tolerance: float, sets: Bools, top: Floats
) -> int:
    """`elimination.rule_out` by the library."""
    assert LIBRARY is not None
    n_changed: int = LIBRARY.rule_out(
        *map(_address, (*own, *other)), *sets.shape, tolerance, _address(sets), _address(top)
    )
    return n_changed


def largest_by_row(row: Ints, values: Floats, m: int, k: int) -> Floats:
    """`counted.largest_by_row` by the library."""
    assert LIBRARY is not None
    largest = np.zeros((k, m))
    if k and len(row):
        LIBRARY.largest_by_row(_address(row), _address(values), len(row), m, k, _address(largest))
    return largest


def worst_lies(R: Floats, above: Floats, below: Floats) -> Floats:
    """`counted.worst` by the library."""
    assert LIBRARY is not None
    R = R if R.strides[1] == R.itemsize else np.ascontiguousarray(R)
    m, n = R.shape
    moves = np.empty((2, n))
    failed = LIBRARY.worst_lies(
        _address(R[0]), R.strides[0] // 8, m, n, _address(above), _address(below), len(above),
        *map(_address, moves),
    )  # fmt: skip
    if failed:
        raise MemoryError("no memory for the largest of each column")
    return moves


def _address(array: Any) -> int:
    """Of the first entry; `array.ctypes` takes longer for that than a knapsack."""
    return ctypes.addressof(ctypes.c_char.from_buffer(array))


class Ranks:
    """Holds changing state: the last ranking of the items at each candidate.

    The next sort starts from it.
    """

    def __init__(self) -> None:
        self._order = np.zeros((0, 0), dtype=np.int32)
        self._n_items = 0

    def knapsacks(
        self,
        weights: Floats,
        candidates: Ints | None,
        counts: Floats,
        budgets: Floats,
        cap: float,
        lam: float = 1.0,
        tightens: Sequence[Floats] = (),
    ) -> Floats:
        """`shifts_exact` of these candidates divided by lam, by the library, (n_levels, k).

        Args:
            weights: The weight, of either sign, of one reading of each item at every candidate,
                (n_items, n).
            candidates: Which to look at, (k,); all if None.
            counts: Readings each item stands for, (n_items,).
            budgets: Total corruptions, ascending, (n_levels,).
            cap: Largest single lie, finite.
            lam: See there.
            tightens: Mean and noise part of the width, (k,) each, and the upper and lower bounds that
                they tighten along with what is found, (n_levels, k) each. Or nothing.
        """
        assert LIBRARY is not None
        n_items, n = weights.shape
        self._follow(n_items, n)
        k = n if candidates is None else len(candidates)
        found = np.empty((len(budgets), k))
        failed = LIBRARY.level_shifts(
            _address(weights[0]), weights.strides[0] // 8, n_items,
            None if candidates is None else _address(candidates), k,
            _address(counts), _address(budgets), len(budgets), cap, lam,
            _address(self._order), self._order.shape[1], _address(found),
            *(map(_address, tightens) if tightens else (None,) * 4),
        )  # fmt: skip
        if failed:
            raise MemoryError("no memory for a knapsack")
        return found

    def _follow(self, n_items: int, n: int) -> None:
        """Have a permutation of the items for every candidate; unranked ones stand last, in order."""
        rows, width = self._order.shape
        kept = rows if n_items >= self._n_items else 0  # else they are other items than before
        if n > kept or n_items > width:
            n_rows = rows if n <= rows else max(n, rows + rows // 2)
            n_wide = width if n_items <= width else max(n_items, 2 * width)
            order = np.tile(np.arange(n_wide, dtype=np.int32), (n_rows, 1))
            order[:kept, :width] = self._order[:kept]
            self._order = order
        self._n_items = n_items
