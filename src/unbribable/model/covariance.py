"""The posterior covariance of the points read with every candidate, as it is stored."""

import itertools
from collections.abc import Sequence

import numpy as np
from scipy.linalg.blas import dgemm

from unbribable.model.checks import Floats, Ints
from unbribable.model.tally import grown

N_ROWS = 512
"""Rows of a block. A matrix that grows copies one block at a time, never all of itself."""


class Covariance:
    """Holds changing state: R, (m, n), which grows by rows and columns.

    Kept in blocks of rows that are wider than R, less outer products that wait, so that many of them
    are one pass over memory:

        R = blocks - columns @ steps

    Args:
        n: Number of candidates.
        n_waiting_max: Outer products that may wait.

    Attributes:
        m: Number of rows.
        n: Number of columns.
        blocks: N_ROWS rows each (the first one grows to that). Beyond R they hold anything finite.
    """

    def __init__(self, n: int, n_waiting_max: int) -> None:
        self.m, self.n = 0, n
        self.blocks: list[Floats] = [np.zeros((8, n))]
        self._k = 0
        self._columns: Floats = np.zeros((8, n_waiting_max))
        self._steps: Floats = np.zeros((n_waiting_max, n))

    @property
    def dense(self) -> Floats:
        """All of it, a copy."""
        return self.columns(slice(None)).copy()

    def row(self, j: int) -> Floats:
        """R[j], (n,)."""
        row = self.blocks[j // N_ROWS][j % N_ROWS, : self.n]
        if not self._k:
            return row.copy()
        columns, steps = self._waiting
        less: Floats = row - columns[j] @ steps
        return less

    def diagonal(self, u: Ints) -> Floats:
        """R[j, u[j]] for every row j, (m,). No deferred update may be pending."""
        return np.concatenate([part[np.arange(len(part)), u[rows]] for rows, part in self._parts()])

    def columns(self, indices: Ints | slice | int) -> Floats:
        """R[:, indices]: (m, k), or (m,) for one index; a slice may give a view."""
        found = [part[:, indices] for _, part in self._parts()]  # each column contiguous in memory
        gathered: Floats = np.concatenate(found) if len(found) > 1 else found[0]
        if self._k:
            columns, steps = self._waiting
            return gathered - columns @ steps[:, indices]
        return gathered.copy() if isinstance(indices, int) else gathered

    def times(self, pull: Floats) -> Floats:
        """pull @ R: (n,) for a pull of (m,), (k, n) for one of (k, m)."""
        (rows, part), *others = self._parts()
        product: Floats = pull[..., rows] @ part
        for rows, part in others:
            product += pull[..., rows] @ part
        if self._k:
            columns, steps = self._waiting
            product -= (pull @ columns) @ steps
        return product

    def squares(self, prec: Floats) -> Floats:
        """sum_j prec[j] R[j, :]^2, (n,)."""
        columns, steps = self._waiting
        total = np.zeros(self.n)
        for rows, part in self._parts():
            values = part - columns[rows] @ steps if self._k else part
            total += np.einsum("j,jx,jx->x", prec[rows], values, values)
        return total

    def add_rows(self, values: Floats) -> None:
        """Further rows, (k, n)."""
        start = self.m
        self.m += len(values)
        while self.m > len(self.blocks[0]) < N_ROWS:
            self.blocks[0] = grown(self.blocks[0])
        while self.m > N_ROWS * len(self.blocks):
            self.blocks.append(np.zeros((N_ROWS, self.blocks[0].shape[1])))
        while self.m > len(self._columns):
            self._columns = grown(self._columns)
        self._columns[start : self.m] = 0.0
        for j, row in enumerate(values, start):
            self.blocks[j // N_ROWS][j % N_ROWS, : self.n] = row

    def set_columns(self, start: int, values: Floats) -> None:
        """Set the columns from `start` on to `values`, (m, k). No deferred update may be pending."""
        for rows, part in self._parts():
            part[:, start : start + values.shape[1]] = values[rows]

    def widen(self, n: int) -> None:
        """n columns in all; the new ones are to be set."""
        self.flush()
        self.n, width = n, self.blocks[0].shape[1]
        if n > width:
            width = max(n, width + width // (2 if width < 8192 else 8))  # few copies, little waste
            for k, block in enumerate(self.blocks):
                n_used = min(max(self.m - k * N_ROWS, 0), N_ROWS)
                self.blocks[k] = np.zeros((len(block), width))
                self.blocks[k][:n_used, : block.shape[1]] = block[:n_used]
        if self._steps.shape[1] < width:
            self._steps = np.zeros((len(self._steps), width))

    def defer(self, column: Floats, step: Floats, anew: Sequence[int]) -> None:
        """R -= outer(column, step), (m,) and (n,): when enough of them wait.

        The rows `anew` are begun anew: they count as zero before.
        """
        self._begin_anew(anew)
        self._columns[: self.m, self._k] = column
        self._steps[self._k, : self.n] = step
        self._k += 1
        if self._k == len(self._steps):
            self.flush()

    def flush(self) -> None:
        """Carry out the deferred updates, in place."""
        if self._k:
            self._subtract(self._columns[: self.m, : self._k], self._steps[: self._k])
            self._k = 0

    def drop_waiting(self) -> None:
        """Drop the deferred updates, because all of R is about to be set."""
        self._k = 0

    def _begin_anew(self, js: Sequence[int]) -> None:
        for j in js:
            self.blocks[j // N_ROWS][j % N_ROWS, : self.n] = 0.0
            self._columns[j, : self._k] = 0.0

    @property
    def _waiting(self) -> tuple[Floats, Floats]:
        return self._columns[: self.m, : self._k], self._steps[: self._k, : self.n]

    def _parts(self) -> list[tuple[slice, Floats]]:
        """Each block with the rows it holds; the first one even if it holds none."""
        if self.m <= N_ROWS:
            return [(slice(0, self.m), self.blocks[0][: self.m, : self.n])]
        ends = [*range(0, self.m, N_ROWS), self.m]
        return [
            (slice(start, stop), self.blocks[start // N_ROWS][: stop - start, : self.n])
            for start, stop in itertools.pairwise(ends)
        ]

    def _subtract(self, columns: Floats, padded: Floats) -> None:
        for rows, part in self._parts():
            block = self.blocks[rows.start // N_ROWS][: len(part)]
            dgemm(-1.0, padded.T, columns[rows].T, beta=1.0, c=block.T, overwrite_c=1)
