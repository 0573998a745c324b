"""Bounds that hold if at most k readings are lies, of any size: hands, and one posterior of all (ours).

SPEC section 17. Readings are dealt into m = 2k + 1 hands, each with an honest belief of its own,

    u(x) = (k+1)-th smallest of U_1(x) .. U_m(x)        l(x) = (k+1)-th largest of L_1(x) .. L_m(x)

*f lies between l and u everywhere, at all times, with probability 1 - delta.* Proof. A hand's belief
from honest readings covers f; all m do so with probability 1 - delta, since points and deals are
functions of the past and the noise event is one of all times. k lies spoil at most k hands. Of the k + 1
smallest upper bounds one is of an unspoilt hand. QED   Intersecting over time is free.

*Found lies.* With valid bounds and |noise_i| <= r_i (`noise_level`), every honest reading lies in
[a_i, b_i] = [l(x_i) - r_i, u(x_i) + r_i]. One outside is a lie for certain. It is set to the middle, and
moves a mean by at most |weight_i| (b_i - a_i) / 2 then. So a hand is repaired at that price, and with F
found the (k-F+1)-th smallest over all hands, repaired, is valid; so is that over the hands without one.

*One posterior of all readings.* The k - F lies that are not found are within [a_i, b_i] too. So f is at
most mu + noise width + price of the found + the k - F largest p_i, where p_i = weight_i (b_i - y_i) if
weight_i > 0, else |weight_i| (y_i - a_i). Proof. The honest mean is mu - sum weight_i (y_i - h_i) with
h_i in [a_i, b_i], and h_i = y_i but at the lies. QED
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unbribable.model.checks import Floats, Ints
from unbribable.model.posterior import Posterior
from unbribable.theory import compiled
from unbribable.theory.assumptions import Assumptions
from unbribable.theory.energy import noise_level

if TYPE_CHECKING:
    from unbribable.decision.instance import Instance
    from unbribable.theory.differences import DifferenceBounds

N_ROUNDS = 3
"""How often bounds and found lies are worked out from each other, at most."""

GAIN = 1e-3
"""The gain in a bound, as a share of B0, that is worth another round of that."""


@dataclass(frozen=True)
class CountedLies:
    """At most n_lies readings are lies, of any size."""

    n_lies: int
    n_readings: int | None = None
    """Of the first so many; None: of all, however many there are."""


class Counted:
    """Holds changing state: bounds for at most n_lies lies of any size.

    Args:
        hands: The instances among which the readings are dealt.
        every: The instance that learns all of them, whose own bounds trust every reading.
        n_lies: Lies at most.
        assumptions: What the bounds rest on.
        level_delta: With which some honest noise may exceed its level.

    Attributes:
        upper: Upper bound by the readings now, (n,): not cut at B0, not intersected over time.
        lower: The lower one, likewise.
        ucb_bar: Running minimum of it, at most B0, (n,).
        lcb_bar: Running maximum of the lower bound, at least -B0, (n,).
        found: Which readings are lies for certain, by their place in the order of telling, ascending.
        repair: What is known of their honest mean; None before the first reading.
        is_refuted: Whether there must be more lies than n_lies, or an assumption is false.
    """

    label = "quorum"
    C = np.inf
    """The corruption it allows for: any, in so few readings."""

    def __init__(
        self,
        hands: Sequence["Instance"],
        every: "Instance",
        *,
        n_lies: int,
        assumptions: Assumptions,
        level_delta: float,
    ) -> None:
        self._hands = tuple(hands)
        self._every = every
        self.n_lies = n_lies
        self._assumptions = assumptions
        self._level_delta = level_delta
        self._told = Readings()
        self._repaired: dict[int, tuple[tuple[Any, ...], Spoilt]] = {}
        B0, n = assumptions.B0, len(every.mu)
        self.found: Ints = np.zeros(0, np.intp)
        self.is_refuted = False
        self.ucb_bar: Floats = np.full(n, B0)
        self.lcb_bar: Floats = np.full(n, -B0)
        self.upper: Floats
        self.lower: Floats
        self._begin()
        self._mu: Floats = np.zeros(n)
        self.repair: Repair | None = None

    # --- as somebody whose bounds are trusted ------------------------------------------------------

    @property
    def n_readings(self) -> int:
        """How many readings it holds."""
        return self._every.n_readings

    @property
    def now(self) -> "Instance":
        """Of the posterior of all readings."""
        return self._every.now

    @property
    def posterior(self) -> Posterior:
        """Of all readings, as they were told."""
        return self._every.posterior

    @property
    def mu(self) -> Floats:
        """Mean of all readings, found lies repaired, (n,); zero where the bounds do not rest on them."""
        return np.zeros(len(self.ucb_bar)) if self.is_behind or self.is_refuted else self._mu

    @property
    def width(self) -> Floats:
        """From the mean, found lies repaired, to the lower bound, (n,)."""
        return self.mu - self.lower

    @property
    def is_behind(self) -> bool:
        """Whether some readings may not be used by the bounds yet."""
        return self._every.is_behind

    def source(self, rec: int) -> "DifferenceBounds | None":
        """None: differences are bounded by leaving readings out."""
        return None

    @property
    def unspoilt(self) -> tuple[Ints, int]:
        """The hands without a found lie, and how many of them the others can spoil."""
        hands = np.delete(np.arange(len(self._hands)), self._told.hand[self.found])
        return hands, self.n_lies - len(self.found)

    # --- learning ------------------------------------------------------------------------------------

    def level(self, t: int, quality: float = 1.0) -> float:
        """r_t, which the noise of the reading of round t does not exceed."""
        return quality * float(noise_level(self._assumptions.noise_std, t, self._level_delta))

    def heard(self, t: int, y: float, quality: float) -> float:
        """The value that a hand is told in place of y: cut where no honest reading is beyond."""
        limit = self._assumptions.B0 + self.level(t, quality)
        return min(max(y, -limit), limit)

    def add(self, index: int, y: float, t: int, quality: float, hand: int) -> None:
        """Take down a reading that a hand and `every` have learned.

        Args:
            index: The candidate read.
            y: As told.
            t: The round.
            quality: Its noise_std over the assumed one.
            hand: Who got it.
        """
        weight = 1.0 / (self._assumptions.lam * quality**2)
        self._told.add(index, y, self.level(t, quality), quality, weight, hand)

    def extend(self) -> None:
        """Take in further candidates, which hands and `every` have; they start from current bounds."""
        n, n_old = len(self._every.mu), len(self.ucb_bar)
        B0 = self._assumptions.B0
        self.ucb_bar = np.concatenate([self.ucb_bar, np.full(n - n_old, B0)])
        self.lcb_bar = np.concatenate([self.lcb_bar, np.full(n - n_old, -B0)])
        self._begin()
        if not self.is_behind:
            self.conclude()

    def look_at(self, hands: Sequence[int]) -> None:
        """Take the current bounds of these hands, which are never wider than before any reading."""
        for g in hands:
            now, first = self._hands[g].now, self._first[g]
            np.minimum(now.ucb, first, out=self.U[g])
            np.maximum(now.lcb, -first, out=self.L[g])
        self.upper, self.lower = kth_smallest(self.U, self.n_lies), kth_largest(self.L, self.n_lies)

    def conclude(self) -> None:
        """Intersect the bounds with what the readings say now."""
        k = self.n_lies
        bars = [(hand.ucb_bar, hand.lcb_bar) for hand in self._hands]
        upper, lower = np.array(bars).swapaxes(0, 1)
        self._intersect(kth_smallest(upper, k), kth_largest(lower, k))
        told = self._told
        if self._is_crossed or not len(told.y):
            return
        R = self.posterior.columns(slice(None), changes_nothing=True)
        for _ in range(N_ROUNDS):
            before = self.ucb_bar - self.lcb_bar
            self._find(told)
            if len(self.found) > k:
                self.is_refuted = True
                return
            self._repair(told)
            self._bound_by_all(told, R)
            if self._is_crossed:
                return
            if (before - (self.ucb_bar - self.lcb_bar)).max() < GAIN * self._assumptions.B0:
                break

    @property
    def _is_crossed(self) -> bool:
        """Whether the bounds leave some candidate no value; then the assumptions are refuted."""
        crossing = self.lcb_bar - self.ucb_bar
        self.is_refuted |= bool(crossing[crossing.argmax()] > self._assumptions.tolerance)
        return self.is_refuted

    def _begin(self) -> None:
        """Look at all hands, at candidates that are new."""
        widths = [hand.now.first_width(hand.now.posterior.X) for hand in self._hands]
        self._first: Floats = np.array(widths)
        self.U, self.L = np.empty((2, *self._first.shape))
        self.look_at(range(len(self._hands)))

    def _tighten(self, upper: Floats, lower: Floats) -> None:
        self.upper, self.lower = np.minimum(self.upper, upper), np.maximum(self.lower, lower)
        self._intersect(upper, lower)

    def _intersect(self, upper: Floats, lower: Floats) -> None:
        np.minimum(self.ucb_bar, upper, out=self.ucb_bar)
        np.maximum(self.lcb_bar, lower, out=self.lcb_bar)

    def _find(self, told: "Readings") -> None:
        """Which readings are outside what the bounds leave to honest ones; once found, always."""
        told.allow(self.lcb_bar, self.ucb_bar)
        tolerance = self._assumptions.tolerance
        is_out = (told.y < told.low - tolerance) | (told.y > told.high + tolerance)
        is_out[self.found] = True
        self.found = np.flatnonzero(is_out)

    def _repair(self, told: "Readings") -> None:
        """The bounds over all hands, those with a found lie repaired, and over those without one."""
        found = self.found
        if not len(found):
            return
        left = self.n_lies - len(found)
        hands = np.unique(told.hand[found])
        uppers, lowers = self.U.copy(), self.L.copy()
        for g in hands.tolist():
            uppers[g], lowers[g] = self._spoilt(g).bounds(told)
        upper, lower = kth_smallest(uppers, left), kth_largest(lowers, left)
        others, _ = self.unspoilt
        if len(others) > left:
            upper = np.minimum(upper, kth_smallest(uppers[others], left))
            lower = np.maximum(lower, kth_largest(lowers[others], left))
        self._tighten(upper, lower)

    def _spoilt(self, g: int) -> "Spoilt":
        """A hand with its found readings; kept until it learns, or another one is found."""
        hand, told = self._hands[g], self._told
        found = self.found[told.hand[self.found] == g]
        key = (hand.n_readings, len(self.ucb_bar), tuple(found.tolist()))
        if self._repaired.get(g, (None, None))[0] != key:
            p = hand.posterior
            place = np.flatnonzero(told.hand == g)
            limit = self._assumptions.B0 + told.level[place]
            y = np.clip(told.y[place], -limit, limit)
            y[np.isin(place, found)] = 0.0
            row = np.array([p.tally.row[i] for i in told.index[place].tolist()])
            rest = p.times(sums_by_row(row, y * told.weight[place], p.m))
            rows = [p.tally.row[i] for i in told.index[found].tolist()]
            weights = told.weight[found, None] * p.times(np.eye(p.m)[rows])
            self._repaired[g] = key, Spoilt(found, rest, weights, hand.noise)
        return self._repaired[g][1]

    def _bound_by_all(self, told: "Readings", R: Floats) -> None:
        """The bounds by one posterior of all readings, given its R; see the head of this file."""
        found, m, noise = self.found, len(R), self._every.noise
        y, price, can_be_lie = told.y, np.zeros(m), told.weight
        if len(found):
            y, can_be_lie = y.copy(), told.weight.copy()
            y[found], can_be_lie[found] = told.middle[found], 0.0
            price = sums_by_row(told.row[found], (told.half * told.weight)[found], m)
        left = self.n_lies - len(found)
        above, below = (
            largest_by_row(told.row, np.maximum(gap * can_be_lie, 0.0), m, left)
            for gap in (told.high - y, y - told.low)
        )
        self.repair = Repair(sums_by_row(told.row, y * told.weight, m), price, above, below)
        mu = self._mu = self.repair.pull @ R
        higher, lower = self.repair.moves(R)
        self._tighten(mu + noise + higher, mu - noise - lower)


@dataclass(frozen=True, eq=False)
class Spoilt:
    """A hand that holds lies for certain."""

    found: Ints
    """Its readings that are lies, by their place, (f,)."""
    rest: Floats
    """Its mean with these at zero, (n,)."""
    weights: Floats
    """Of each of them on the mean, (f, n)."""
    noise: Floats
    """Noise part of its width, (n,)."""

    def bounds(self, told: "Readings") -> tuple[Floats, Floats]:
        """Upper and lower bounds, the lies set to the middle of what is left to honest readings."""
        mu = self.rest + told.middle[self.found] @ self.weights
        width = self.noise + told.half[self.found] @ np.abs(self.weights)
        return mu + width, mu - width


@dataclass(frozen=True, eq=False)
class Repair:
    """What is known of the honest mean of all readings, given their covariances R with some points."""

    pull: Floats
    """Of each point read, on the mean: its values with found lies set to the middle, (m,)."""
    price: Floats
    """Of each point read: by how much its found lies may have been set wrong, (m,)."""
    above: Floats
    """How far honest values may be above what was told: the largest of each point, falling, (k, m)."""
    below: Floats
    """How far they may be below it, likewise."""

    def moves(self, R: Floats) -> Floats:
        """By how much the honest mean is above `pull @ R` and below it, at most: (2, n)."""
        moves = worst(R, self.above, self.below)
        return moves + self.price @ np.abs(R) if self.price.any() else moves

    def slope(self, column: Floats) -> Floats:
        """Derivative of `pull @ R + above_mean(R)` in one column of R, (m,)."""
        side = np.where(column > 0.0, self.above, -self.below)  # (k, m)
        values = (side * column).ravel()
        chosen = np.argsort(-values, kind="stable")[: len(self.above)]
        push = np.bincount(chosen % len(column), side.ravel()[chosen], len(column))
        slope: Floats = self.pull + self.price * np.sign(column) + push
        return slope


class Readings:
    """Holds changing state: the readings told so far, and what valid bounds leave to the honest ones.

    Attributes:
        index: Which candidate, (t,).
        row: Which of the points read, in the order of their first reading, (t,).
        y: As told, (t,).
        level: r_i, (t,).
        quality: Their noise_std over the assumed one, (t,).
        weight: One over their fictitious noise, (t,).
        hand: Who got them, (t,).
    """

    def __init__(self) -> None:
        self._rows: dict[int, int] = {}
        self._whole: Ints = np.zeros((3, 8), np.intp)
        self._real: Floats = np.zeros((4, 8))
        self._show(0)

    def add(self, index: int, y: float, level: float, quality: float, weight: float, hand: int) -> None:
        """Take down a further one."""
        n = len(self.y)
        if n == self._real.shape[1]:
            self._whole, self._real = np.tile(self._whole, 2), np.tile(self._real, 2)
        self._whole[:, n] = index, self._rows.setdefault(index, len(self._rows)), hand
        self._real[:, n] = y, level, quality, weight
        self._show(n + 1)

    def allow(self, lower: Floats, upper: Floats) -> None:
        """With these bounds at the candidates an honest reading is in [low, high]."""
        self.low: Floats = lower[self.index] - self.level
        self.high: Floats = upper[self.index] + self.level

    @property
    def middle(self) -> Floats:
        """Of what is allowed, (t,)."""
        return 0.5 * (self.low + self.high)

    @property
    def half(self) -> Floats:
        """The farthest from there that is allowed, (t,)."""
        return 0.5 * (self.high - self.low)

    def _show(self, n: int) -> None:
        self.index, self.row, self.hand = self._whole[:, :n]
        self.y, self.level, self.quality, self.weight = self._real[:, :n]


def kth_smallest(values: Floats, k: int) -> Floats:
    """The (k+1)-th smallest of each column."""
    smallest: Floats = np.partition(values, k, axis=0)[k]
    return smallest


def kth_largest(values: Floats, k: int) -> Floats:
    """The (k+1)-th largest of each column."""
    largest: Floats = -np.partition(-values, k, axis=0)[k]
    return largest


def sums_by_row(row: Ints, values: Floats, m: int) -> Floats:
    """The sum of the values of each of m rows, (m,)."""
    return np.bincount(row, values, m).astype(np.float64, copy=False)


def largest_by_row(row: Ints, values: Floats, m: int, k: int) -> Floats:
    """The k largest values >= 0 of each of m rows, falling, zeros where there are fewer: (k, m)."""
    if compiled.LIBRARY is not None:
        return compiled.largest_by_row(row, values, m, k)
    order = np.lexsort((-values, row))
    row, values = row[order], values[order]
    start = np.searchsorted(row, np.arange(m))
    rank = np.arange(len(row)) - start[row]
    is_large = rank < k
    largest = np.zeros((k, m))
    largest[rank[is_large], row[is_large]] = values[is_large]
    return largest


def worst(R: Floats, above: Floats, below: Floats) -> Floats:
    """By how much the mean would be higher, and lower, at most, with honest values for k readings.

    Args:
        R: Posterior covariance of the points read with the candidates, (m, n).
        above: How far the honest value may be above what was told, over lam: the k largest of each
            point read, falling, (k, m).
        below: The same below.

    Returns:
        The sums of the k largest prices, (2, n). The largest is added first, by the library and without.
    """
    k = len(above)
    if not k or not len(R):
        return np.zeros((2, R.shape[1]))
    if compiled.LIBRARY is not None:
        return compiled.worst_lies(R, above, below)
    return np.array([_sum_of_largest(R, above, below), _sum_of_largest(R, below, above)])


def _sum_of_largest(R: Floats, above: Floats, below: Floats) -> Floats:
    """The first of these sums, (n,)."""
    k = len(above)
    values: Floats = (np.abs(R) * np.where(R > 0.0, above[0][:, None], below[0][:, None])).T
    if values.shape[1] > k:  # where the largest value of a point is too small, so are its others
        rows = np.argpartition(values, values.shape[1] - k, axis=1)[:, -k:]
        values = np.take_along_axis(values, rows, axis=1)
    else:
        rows = np.broadcast_to(np.arange(len(R)), values.shape)
    n_deep = max(int(np.count_nonzero(largest.any(axis=1))) for largest in (above, below))
    if n_deep > 1:
        chosen = R[rows, np.arange(len(rows))[:, None]]
        size, is_up = np.abs(chosen), chosen > 0.0
        more = [size * np.where(is_up, above[r][rows], below[r][rows]) for r in range(1, n_deep)]
        values = np.concatenate([values, *more], axis=1)
        values = np.partition(values, max(values.shape[1] - k, 0), axis=1)[:, -k:]
    total = np.zeros(R.shape[1])
    for each in np.sort(values, axis=1).T[::-1]:
        total += each
    return total
