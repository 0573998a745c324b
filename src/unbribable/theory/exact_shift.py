"""The corruption part of the width at every candidate, evaluated only where it is needed."""

from abc import ABC, abstractmethod

import numpy as np

from unbribable.model.checks import Floats, Ints
from unbribable.model.posterior import DRIFT_TOLERANCE, Posterior
from unbribable.model.update import Update
from unbribable.theory.widths import shift_capped, shift_exact, shift_paper

_ELEMENTS = 1 << 20
"""Entries of R looked at in one go: bounds the memory of a full evaluation."""

_SMALL = 1 << 14
"""Entries of R up to which solving everywhere costs less than finding out where it is needed."""


class Shift(ABC):
    """Abstract. Holds changing state: `low <= shift <= high` at every candidate.

    Where the two agree they are the shift itself.
    """

    low: Floats
    high: Floats
    is_open: bool
    """Whether low and high may differ."""

    @abstractmethod
    def resolve(self, indices: Ints) -> None:
        """Make low and high agree at these candidates."""

    @abstractmethod
    def moved(self, i: int, update: Update, sigma: Floats) -> None:
        """Follow the reading of candidate i, which `update` describes; `sigma` is the new one."""

    @abstractmethod
    def extend(self, sigma: Floats, is_rebuilt: bool) -> None:
        """Follow the posterior to more candidates; `sigma` is that of all of them, the new ones last."""


class ClosedFormShift(Shift):
    """The paper's or the capped shift: a multiple of sigma, always known everywhere."""

    is_open = False

    def __init__(self, posterior: Posterior, C: float, cap: float | None, sigma: Floats) -> None:
        self._posterior = posterior
        self._C = C
        self._cap = cap
        self.low = self.high = np.zeros(len(sigma))
        self._set(sigma)

    def resolve(self, indices: Ints) -> None:
        pass

    def moved(self, i: int, update: Update, sigma: Floats) -> None:
        self._set(sigma)

    def extend(self, sigma: Floats, is_rebuilt: bool) -> None:
        self.low = self.high = np.zeros(len(sigma))
        self._set(sigma)

    def _set(self, sigma: Floats) -> None:
        if self._C == 0.0:
            return
        lam = self._posterior.lam_min
        if self._cap is None:
            self.low = self.high = shift_paper(self._C, lam, sigma)  # [BKS20, Lem. 2]
        else:
            self.low = self.high = shift_capped(self._C, self._cap, lam, sigma)


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
    """

    _SLACK = 1e-12
    """Relative slack for the rounding of the bracket's own arithmetic."""

    def __init__(self, posterior: Posterior, C: float, cap: float) -> None:
        self._posterior = posterior
        self._C = C
        self._cap = cap
        self.low = np.zeros(len(posterior.mu))
        self.high = np.zeros(len(posterior.mu))
        self.is_open = False
        self._critical: Ints = np.zeros(len(posterior.mu), dtype=np.intp)

    def resolve(self, indices: Ints) -> None:
        if not self.is_open:
            return
        indices = indices[self.low[indices] < self.high[indices]]
        if not len(indices):
            return
        counts = self._posterior.item_counts
        n_rows = max(1, _ELEMENTS // len(counts))
        for start in range(0, len(indices), n_rows):
            part = indices[start : start + n_rows]
            weights = self._posterior.item_weights(part)
            critical = self._critical[part]
            shift = shift_exact(weights, counts, self._C, self._cap, critical) / self._posterior.lam
            self.low[part] = self.high[part] = shift
            self._critical[part] = critical

    def moved(self, i: int, update: Update, sigma: Floats) -> None:
        p = self._posterior
        if len(p.item_counts) * len(sigma) <= _SMALL:
            shift = shift_exact(p.item_weights(), p.item_counts, self._C, self._cap, self._critical)
            self.low = self.high = shift / p.lam
            return
        self.is_open = True
        ceiling = shift_capped(self._C, self._cap, self._posterior.lam_min, sigma)
        ceiling *= 1.0 + DRIFT_TOLERANCE
        if update.is_rebuilt:
            self.low = np.zeros(len(sigma))
            self.high = ceiling
            return
        size = np.abs(update.step)
        at_i = self.high[i]  # resolved by the caller before the reading
        self.low = np.maximum(self.low - size * at_i, 0.0) * (1.0 - self._SLACK)
        self.high = np.minimum(self.high + size * (at_i + min(self._C, self._cap)), ceiling)
        self.high *= 1.0 + self._SLACK

    def extend(self, sigma: Floats, is_rebuilt: bool) -> None:
        n = 0 if is_rebuilt else len(self.low)
        self._critical = np.concatenate(
            [self._critical, np.zeros(len(sigma) - len(self._critical), np.intp)]
        )
        if not self._posterior.m:
            self.low = self.high = np.zeros(len(sigma))
            return
        self.is_open = True
        ceiling = shift_capped(self._C, self._cap, self._posterior.lam_min, sigma[n:])
        self.low = np.concatenate([self.low[:n], np.zeros(len(sigma) - n)])
        self.high = np.concatenate([self.high[:n], ceiling * (1.0 + DRIFT_TOLERANCE)])
