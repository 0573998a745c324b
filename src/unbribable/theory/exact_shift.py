"""The corruption part of the width at every candidate, evaluated only where it is needed."""

from abc import ABC, abstractmethod

import numpy as np

from unbribable.model.checks import Floats, Ints
from unbribable.model.covariance import N_ROWS
from unbribable.model.posterior import DRIFT_TOLERANCE, Posterior, Update
from unbribable.theory import compiled
from unbribable.theory.widths import ExactWidth, Proportional, Width, shift_capped, shift_paper

N_SMALL = 1 << 14
"""Entries of R up to which solving everywhere costs less than finding out where it is needed."""

_ELEMENTS = 1 << 20
"""Entries of R looked at in one go: bounds the memory of a full evaluation."""


class Shift(ABC):
    """Abstract. Holds changing state: `low <= shift <= high` at every candidate.

    Where the two agree they are the shift itself.
    """

    low: Floats
    high: Floats
    is_open: bool
    """Whether low and high may differ."""
    formula: Width
    """The shift at any belief."""

    @abstractmethod
    def resolve(self, indices: Ints) -> None:
        """Make low and high agree at these candidates."""

    def narrow(self, indices: Ints) -> None:
        """Bring low and high closer together at these candidates, where that costs little."""

    @abstractmethod
    def follow(self, i: int, update: Update) -> None:
        """Follow the reading of candidate i, which `update` describes; low and high agreed there."""

    @abstractmethod
    def extend(self, is_rebuilt: bool) -> None:
        """Follow the posterior to more candidates, the new ones last; or anywhere, if it was rebuilt."""


class ClosedFormShift(Shift):
    """The paper's shift, or the capped one if there is a cap: a multiple of sigma, known everywhere."""

    is_open = False
    formula: Proportional

    def __init__(self, posterior: Posterior, C: float, cap: float | None) -> None:
        self._posterior = posterior
        self._C = C
        self._cap = cap
        self.extend(is_rebuilt=True)

    def resolve(self, indices: Ints) -> None:
        pass

    def follow(self, i: int, update: Update) -> None:
        if self._C > 0.0:
            self.extend(update.is_rebuilt)

    def extend(self, is_rebuilt: bool) -> None:
        self.formula = closed_form(self._posterior, self._C, self._cap)
        self.low = self.high = self.formula.factor * np.sqrt(self._posterior.var)


def closed_form(posterior: Posterior, C: float, cap: float | None) -> Proportional:
    """The shift as a multiple of sigma: the paper's, or the capped one if there is a cap."""
    lam = posterior.tally.lam_min
    if cap is None:
        return Proportional(shift_paper(C, lam, 1.0))  # [BKS20, Lem. 2]
    return Proportional(shift_capped(C, cap, lam, 1.0))


class ExactShift(Shift):
    """The exact shift, by a bracket that follows the posterior in O(n) a reading (ours).

    A reading of x_i changes the weight of an earlier reading (of u_j, noise lam_j) at x by
    -R[j, i] / lam_j * step(x), and adds one reading of weight |step(x)|. The knapsack is a norm of the
    weights, and for the change alone it is |step(x)| times the shift at x_i before the reading. So

        shift(x) - |step(x)| shift(x_i)  <=  new shift(x)
                                         <=  shift(x) + |step(x)| (shift(x_i) + min(C, cap)).

    The triangle inequality proves both; for the left one note that one reading more only enlarges the
    feasible set. The knapsack itself (O(m) a candidate) is solved only where the bracket cannot decide.
    While R is small it is solved everywhere after each reading, starting from the last solution.

    Args:
        posterior: The belief.
        C: Total corruption.
        cap: Largest single lie.
    """

    _SLACK = 1e-12
    """Relative slack for the rounding of the bracket's own arithmetic."""

    def __init__(self, posterior: Posterior, C: float, cap: float) -> None:
        self._posterior = posterior
        self.formula: ExactWidth = ExactWidth(posterior.tally, C, cap)
        self.is_open = False
        self.low = self.high = np.zeros(len(posterior.mu))
        self._critical: Ints = np.zeros(len(posterior.mu), dtype=np.intp)

    def resolve(self, indices: Ints) -> None:
        if not self.is_open:
            return
        for part in self._parts(indices):
            critical = self._critical[part]
            if compiled.LIBRARY is None:
                columns = self._posterior.columns(part)
                found = self.formula.of_columns(columns, critical, columns)
            else:
                found = self.formula.by_library(*self._looked_up(part), critical)
            self.low[part] = self.high[part] = found
            self._critical[part] = critical

    def narrow(self, indices: Ints) -> None:
        if compiled.LIBRARY is None:
            return
        for part in self._parts(indices):
            low, high = self.formula.bracket(*self._looked_up(part), self._critical[part])
            self.low[part] = np.maximum(self.low[part], low)
            self.high[part] = np.minimum(self.high[part], high)

    def _parts(self, indices: Ints) -> list[Ints]:
        """Those that are open, some at a time."""
        indices = indices[self.low[indices] < self.high[indices]]
        n_columns = max(1, _ELEMENTS // max(1, self._posterior.m))
        return [indices[start : start + n_columns] for start in range(0, len(indices), n_columns)]

    def _looked_up(self, part: Ints) -> tuple[Floats, Ints]:
        """R, or columns of it, and where these candidates are there; R itself is not copied."""
        p = self._posterior
        if p.tally.n_items == p.m <= N_ROWS:
            return p.columns(slice(None)), part
        return np.ascontiguousarray(p.columns(part)), np.arange(len(part))

    def follow(self, i: int, update: Update) -> None:
        p = self._posterior
        if p.tally.n_items * len(p.mu) <= N_SMALL:
            R = p.columns(slice(None))
            self.low = self.high = (
                self.formula.of_columns(R, self._critical)
                if compiled.LIBRARY is None
                else self.formula.by_library(R, None, self._critical)
            )
            self.is_open = False
            return
        if update.is_rebuilt:
            self.extend(is_rebuilt=True)
            return
        size = np.abs(update.step)
        at_i = float(self.high[i])  # of before the reading
        most = at_i + min(self.formula.C, self.formula.cap)
        low = (1.0 - self._SLACK) * self.low - (1.0 + self._SLACK) * at_i * size
        self.low = np.maximum(low, 0.0)
        self.high = np.minimum((1.0 + self._SLACK) * (self.high + most * size), self._ceiling(0))
        self.is_open = True

    def extend(self, is_rebuilt: bool) -> None:
        n, n_new = len(self.low), len(self._posterior.mu) - len(self.low)
        self._critical = np.concatenate([self._critical, np.zeros(n_new, dtype=np.intp)])
        if not self._posterior.m:
            self.low = self.high = np.zeros(n + n_new)
            return
        kept = 0 if is_rebuilt else n
        self.low = np.concatenate([self.low[:kept], np.zeros(n + n_new - kept)])
        self.high = np.concatenate([self.high[:kept], self._ceiling(kept)])
        self.is_open = True

    def _ceiling(self, start: int) -> Floats:
        """The capped shift at the candidates from `start` on, which the exact one does not exceed."""
        lam = self._posterior.tally.lam_min
        factor = shift_capped(self.formula.C, self.formula.cap, lam, 1.0 + DRIFT_TOLERANCE)
        return factor * np.sqrt(self._posterior.var[start:])
