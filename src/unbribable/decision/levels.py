"""The bounds of one belief at several corruptions: what it says if the corruption is at most that."""

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from unbribable.model.checks import Floats, Ints
from unbribable.model.posterior import Posterior
from unbribable.theory.differences import Source
from unbribable.theory.exact_shift import Shift, closed_form
from unbribable.theory.widths import ExactWidth, Width, shifts_exact

if TYPE_CHECKING:
    from unbribable.decision.instance import Instance

_ELEMENTS = 1 << 20
"""Entries of R looked at in one go: bounds the memory."""


class Believer(Protocol):
    """What bounds are taken from: an instance, or what it says at one of its levels."""

    label: str
    C: float

    @property
    def n_readings(self) -> int:
        """How many readings it holds."""

    @property
    def posterior(self) -> Posterior:
        """The belief."""

    @property
    def mu(self) -> Floats:
        """Posterior mean, (n,)."""

    @property
    def width(self) -> Floats:
        """Noise part plus shift, (n,)."""

    @property
    def ucb_bar(self) -> Floats:
        """Running minimum of mu + width, (n,)."""

    @property
    def lcb_bar(self) -> Floats:
        """Running maximum of mu - width, (n,)."""

    @property
    def is_behind(self) -> bool:
        """Whether there are readings that the bounds do not rest on yet."""

    def source(self, rec: int) -> Source | None:
        """Bounds on how much better than candidate `rec` the others are."""


class LevelBounds:
    """Holds changing state: bounds at several corruptions, each intersected over time (ours).

    One noise width serves all levels, and so does one event: what differs is the shift, which is that
    of the readings at the level's corruption. All levels' exact shifts come from one sort.

    Args:
        budgets: The corruptions, ascending; the largest is what `shift` of `intersect` allows for.
        cap: Largest single lie.
        width: The option of that name.
        posterior: Before any reading.
        noise: Noise part of the width then, (n,).

    Attributes:
        upper: Running minimum of mu + width, (n_levels, n).
        lower: Running maximum of mu - width, (n_levels, n).
    """

    def __init__(
        self, budgets: Sequence[float], cap: float, width: str, posterior: Posterior, noise: Floats
    ) -> None:
        self.budgets: Floats = np.array(budgets)
        self._cap = cap
        self._width = width
        self.upper: Floats = noise + self.shifts(np.arange(len(noise)), posterior)
        self.lower: Floats = -self.upper
        uncertain = np.flatnonzero(posterior.var)
        ratios = self.upper[:, uncertain] / np.sqrt(posterior.var[uncertain])
        self._first: Floats = np.max(ratios, axis=1, initial=0.0)

    def copy(self) -> "LevelBounds":
        """The same, to be changed by itself."""
        other = copy.copy(self)
        other.upper, other.lower = self.upper.copy(), self.lower.copy()
        return other

    def start(self, sigma: Floats) -> None:
        """Take in further candidates with the bounds of the prior, whose sigma there is given."""
        more = np.outer(self._first, sigma)
        self.upper = np.concatenate([self.upper, more], axis=1)
        self.lower = np.concatenate([self.lower, -more], axis=1)

    def formula(self, k: int, posterior: Posterior) -> Width:
        """The shift of a level, at any belief."""
        if self._width == "exact":
            return ExactWidth(posterior.tally, float(self.budgets[k]), self._cap)
        return closed_form(posterior, float(self.budgets[k]), self._finite_cap)

    def intersect(
        self, mu: Floats, noise: Floats, shift: Shift, posterior: Posterior, new: Ints | None = None
    ) -> None:
        """Tighten every level's bounds by the current ones, at the candidates `new` (None: at all).

        The knapsack's value is concave in the budget and 0 at 0, so a level's shift is at least its
        share of that at the largest budget. Where a level cannot tighten even with that, no shift is
        worked out: nothing would change.
        """
        where = np.arange(len(mu)) if new is None else new
        low = np.outer(self.budgets / self.budgets[-1], shift.low[where]) + noise[where]
        may_tighten = (mu[where] + low < self.upper[:, where]).any(axis=0)
        may_tighten |= (mu[where] - low > self.lower[:, where]).any(axis=0)
        where = where[may_tighten]
        n_columns = max(1, _ELEMENTS // max(1, posterior.m))
        for start in range(0, len(where), n_columns):
            part = where[start : start + n_columns]
            width = noise[part] + self.shifts(part, posterior)
            self.upper[:, part] = np.minimum(self.upper[:, part], mu[part] + width)
            self.lower[:, part] = np.maximum(self.lower[:, part], mu[part] - width)

    def shifts(self, indices: Ints, posterior: Posterior) -> Floats:
        """Of every level at these candidates, (n_levels, k)."""
        if self._width == "exact":
            tally = posterior.tally
            weights = tally.weights(posterior.columns(indices))
            return shifts_exact(weights, tally.item_counts, self.budgets, self._cap) / tally.lam
        sigma = np.sqrt(posterior.var[indices])
        factors = [closed_form(posterior, float(C), self._finite_cap).factor for C in self.budgets]
        return np.outer(factors, sigma)

    @property
    def _finite_cap(self) -> float | None:
        return None if self._width == "paper" else self._cap


class AtLevel:
    """What an instance says at one of its levels: if the corruption is at most C."""

    def __init__(self, instance: "Instance", k: int, C: float) -> None:
        self.label = f"{instance.label}-{k + 1}"
        self.C = C
        self._instance = instance
        self._k = k

    @property
    def n_readings(self) -> int:
        """As of the instance."""
        return self._instance.n_readings

    @property
    def posterior(self) -> Posterior:
        """As of the instance."""
        return self._instance.posterior

    @property
    def mu(self) -> Floats:
        """As of the instance."""
        return self._instance.mu

    @property
    def is_behind(self) -> bool:
        """As of the instance."""
        return self._instance.is_behind

    @property
    def width(self) -> Floats:
        """Noise part plus this level's shift, (n,)."""
        now = self._instance.now
        everywhere = np.arange(len(now.mu))
        width: Floats = now.noise + self._levels.shifts(everywhere, now.posterior)[self._k]
        return width

    @property
    def ucb_bar(self) -> Floats:
        """Running minimum of mu + width, (n,)."""
        upper: Floats = self._levels.upper[self._k]
        return upper

    @property
    def lcb_bar(self) -> Floats:
        """Running maximum of mu - width, (n,)."""
        lower: Floats = self._levels.lower[self._k]
        return lower

    @property
    def formulas(self) -> tuple[Width, Width]:
        """Noise part and shift, at any belief."""
        return self._instance.now.noise_width, self._levels.formula(self._k, self.posterior)

    def source(self, rec: int) -> Source | None:
        """That of the instance, at this level's corruption."""
        source = self._instance.source(rec)
        return None if source is None else replace(source, C=self.C)

    @property
    def _levels(self) -> LevelBounds:
        levels = self._instance.now.levels
        assert levels is not None
        return levels
