"""The bounds of one belief at several corruptions: what it says if the corruption is at most that."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from unbribable.model.checks import Bools, Floats, Ints
from unbribable.model.posterior import Posterior, Update
from unbribable.theory.compiled import Ranks, pays_off
from unbribable.theory.differences import DifferenceBounds
from unbribable.theory.exact_shift import N_SMALL, Shift, closed_form
from unbribable.theory.widths import ExactWidth, Width, lam_rounded, shifts_exact

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
    def now(self) -> "Instance":
        """Belief, widths and bounds."""

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
        """Whether some readings may not be used by the bounds yet."""

    def source(self, rec: int) -> DifferenceBounds | None:
        """Bounds on how much better than candidate `rec` the others are."""


class LevelBounds:
    """Holds changing state: bounds at several corruptions, each intersected over time (ours).

    One noise width serves all levels, and so does one event: what differs is the shift, which is that
    of the readings at the level's corruption. All levels' exact shifts come from one sort.

    Args:
        budgets: The corruptions of the levels that there are from the beginning, ascending.
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
        self._ranks = Ranks()
        shifts = self.shifts(None, posterior) if budgets else np.empty((0, len(noise)))
        self.upper: Floats = noise + shifts
        self.lower: Floats = -self.upper
        uncertain = np.flatnonzero(posterior.var)
        ratios = self.upper[:, uncertain] / np.sqrt(posterior.var[uncertain])
        self._first: Floats = np.max(ratios, axis=1, initial=0.0)
        self.renew(len(noise))

    def begin(self, C: float, first: float) -> None:
        """Add a level, above all others, which nothing bounds yet.

        Args:
            C: Its corruption.
            first: The width before any reading, as a multiple of sigma.
        """
        n = self.upper.shape[1]
        self.budgets = np.append(self.budgets, C)
        self._first = np.append(self._first, first)
        self.upper = np.concatenate([self.upper, np.full((1, n), math.inf)])
        self.lower = np.concatenate([self.lower, np.full((1, n), -math.inf)])
        self.renew(n)

    def renew(self, n: int) -> None:
        """Follow a belief that has changed, at n candidates: no shift is known any more."""
        self._n = n
        self._shifts: Floats | None = None
        self._is_known: Bools | None = None  # where they are, None: everywhere or nowhere

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

    def intersect(self, now: "Instance", new: Ints | None = None) -> None:
        """Tighten every level's bounds by the current ones, at the candidates `new` (None: at all).

        The knapsack's value is concave in the budget and 0 at 0, so a level's shift is at least its
        share of that at the largest budget, and of `now.shift`, which allows for no more than that.
        Where a level cannot tighten even with that, no shift is worked out: nothing would change.
        """
        if not len(self.budgets):
            return
        mu, noise, posterior = now.mu, now.noise, now.posterior
        if new is None and posterior.m * len(mu) <= N_SMALL:  # looking costs more than solving
            if self._shifts is None and self._is_ranked(posterior):
                self._shifts = self._ranked(None, posterior, (mu, noise, self.upper, self.lower))
                return
            width = noise + self.current(posterior)
            np.minimum(self.upper, mu + width, out=self.upper)
            np.maximum(self.lower, mu - width, out=self.lower)
            return
        where = np.arange(len(mu)) if new is None else new
        low = np.outer(self.budgets / self.budgets[-1], now.shift.low[where]) + noise[where]
        may_tighten = (mu[where] + low < self.upper[:, where]).any(axis=0)
        may_tighten |= (mu[where] - low > self.lower[:, where]).any(axis=0)
        where = where[may_tighten]
        width = noise[where] + self.current(posterior, where)
        self.upper[:, where] = np.minimum(self.upper[:, where], mu[where] + width)
        self.lower[:, where] = np.maximum(self.lower[:, where], mu[where] - width)

    def current(self, posterior: Posterior, where: Ints | None = None) -> Floats:
        """`shifts` with the belief since `renew`, at `where` (None: at all), each worked out once."""
        n, n_columns = self._n, max(1, _ELEMENTS // max(1, posterior.m))
        if self._shifts is None and where is None and n <= n_columns:
            self._shifts = self.shifts(None, posterior)
        elif self._shifts is None:
            self._shifts, self._is_known = np.empty((len(self.budgets), n)), np.zeros(n, np.bool_)
        if self._is_known is not None:
            unknown = np.flatnonzero(~self._is_known) if where is None else where[~self._is_known[where]]
            for start in range(0, len(unknown), n_columns):
                part = unknown[start : start + n_columns]
                self._shifts[:, part] = self.shifts(part, posterior)
            self._is_known[unknown] = True
        shifts: Floats = self._shifts if where is None else self._shifts[:, where]
        return shifts

    def shifts(self, where: Ints | None, posterior: Posterior) -> Floats:
        """Of every level at these candidates (None: at all), (n_levels, k)."""
        some = slice(None) if where is None else where
        if self._is_ranked(posterior):
            return self._ranked(where, posterior)
        if self._width == "exact":
            tally = posterior.tally
            weights = tally.weights(posterior.columns(some))
            found = shifts_exact(weights, tally.item_counts, self.budgets, self._cap)
            return found / lam_rounded(tally)
        sigma = np.sqrt(posterior.var[some])
        factors = [closed_form(posterior, float(C), self._finite_cap).factor for C in self.budgets]
        return np.outer(factors, sigma)

    def _is_ranked(self, posterior: Posterior) -> bool:
        """Whether the compiled library works out the shifts."""
        return self._width == "exact" and pays_off(posterior.m * len(posterior.mu))

    def _ranked(
        self, where: Ints | None, posterior: Posterior, tightens: Sequence[Floats] = ()
    ) -> Floats:
        tally = posterior.tally
        weights = tally.signed_weights(posterior.columns(slice(None)))
        return self._ranks.knapsacks(
            weights, where, tally.item_counts, self.budgets, self._cap, lam_rounded(tally), tightens
        )

    @property
    def _finite_cap(self) -> float | None:
        return None if self._width == "paper" else self._cap


class LevelShift(Shift):
    """The shift of one level at every candidate; good until the next reading."""

    is_open = False

    def __init__(self, values: Floats, formula: Width) -> None:
        self.low = self.high = values
        self.formula = formula

    def resolve(self, indices: Ints) -> None:
        pass

    def follow(self, i: int, update: Update) -> None:
        raise RuntimeError("the shift of a level is good until the next reading")

    def extend(self, is_rebuilt: bool) -> None:
        raise RuntimeError("the shift of a level is good for the candidates there are")


class AtLevel:
    """What an instance says at one of its levels: if the corruption is at most C.

    Args:
        instance: The instance.
        label: Of the level.
        C: Its corruption.
        k: Its place among the levels that have begun. None: it has not, and says what it would if it
            began now; good until the next reading.
    """

    def __init__(self, instance: "Instance", label: str, C: float, k: int | None) -> None:
        self.label = label
        self.C = C
        self._instance = instance
        self._k = k
        self._beginning = None if k is not None else instance.beginning(C)

    @property
    def n_readings(self) -> int:
        """As of the instance."""
        return self._instance.n_readings

    @property
    def is_behind(self) -> bool:
        """As of the instance."""
        return self._instance.is_behind

    @property
    def now(self) -> "Instance":
        """The belief of the instance, with the widths and bounds of this level."""
        return self._beginning or self._instance.at_level(self._k or 0)

    @property
    def posterior(self) -> Posterior:
        """As of the instance."""
        return self._instance.posterior

    @property
    def mu(self) -> Floats:
        """As of the instance."""
        return self._instance.mu

    @property
    def width(self) -> Floats:
        """Noise part plus this level's shift, (n,)."""
        return self.now.width

    @property
    def ucb_bar(self) -> Floats:
        """Running minimum of mu + width, (n,)."""
        return self._bars[0]

    @property
    def lcb_bar(self) -> Floats:
        """Running maximum of mu - width, (n,)."""
        return self._bars[1]

    @property
    def _bars(self) -> tuple[Floats, Floats]:
        if self._beginning is not None:
            return self._beginning.ucb_bar, self._beginning.lcb_bar
        levels = self._instance.levels
        assert levels is not None
        return levels.upper[self._k], levels.lower[self._k]

    def source(self, rec: int) -> DifferenceBounds | None:
        """That of the instance, at this level's corruption."""
        source = self._instance.source(rec)
        return None if source is None else replace(source, C=self.C)
