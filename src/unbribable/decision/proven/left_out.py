"""What readings say of f at a point if any k of them are lies, of any size, for all k at once (ours).

SPEC section 17. Two events, whatever the lies: the squares of the honest noises of all readings sum to
at most E^2 (`noise_energy`), and each is at most r_i (`noise_level`). For a set S of readings the others
leave f an ellipsoid at every fictitious noise eta (`energy_radius2`, y without S). So

    f(x) <= max over S with |S| = k, not refuted, of
                min over eta of [ mu_S + sqrt(B^2 + E^2/eta - q_S) sigma_S ]

With A = (K + eta I)^-1, a = A y, V = A k(x), and all of S at once,

    mu_S = mu - V_S' A_SS^-1 a_S,   var_S = var + V_S' A_SS^-1 V_S,   q_S = y'a - a_S' A_SS^-1 a_S

S is refuted if a radius has no root, if it leaves f no value at x or at some point read, or if a reading
outside S is further than r_i from what is left. *Proof.* On the two events the set that holds the lies
is never refuted, and its ellipsoids hold f. Nothing is said of the order of the readings, of which of
them are there, or of how S was found, so one event serves all sets, all k, all x and all times. QED
Readings that are false for certain, whatever f is, belong to every set: they are held apart, and of k
lies as many fewer are left for the others. Where f is known to lie in a range, so does what is left.
The ellipsoid of a larger set contains that of a smaller one. So where there are too many sets, readings
are put into fewer groups, by any rule, and k groups are left out: that covers every k readings.
"""

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations

import numpy as np

from unbribable.model.checks import Bools, Floats, Ints
from unbribable.model.posterior import DRIFT_TOLERANCE
from unbribable.model.solve import Factor
from unbribable.theory.assumptions import Assumptions
from unbribable.theory.energy import energy_radius2, fictitious_noises, noise_energy, noise_level

N_SETS = 15_000
"""Sets that are looked at, at most."""

WORK = 6e7
"""Multiplications for each fictitious noise, at most; about half a second for all of them."""

N_COARSE = 12
"""Groups into which readings are put to see whether one of the others must be a lie."""

WORK_COARSE = 3e8
"""Multiplications for each fictitious noise in one such look, at most."""

N_CHECKED = 16
"""Sets that are checked against every reading at once, the worst ones first."""

N_READINGS = 2000
"""Readings beyond which nothing is said: a matrix of them is inverted for each fictitious noise."""


def own_shares(delta: float) -> tuple[float, float]:
    """Of delta, for the energy and the levels, where nothing else rests on it. Levels decide little."""
    return 0.9 * delta, 0.1 * delta


@dataclass(frozen=True, eq=False)
class AtNoise:
    """All readings at one fictitious noise."""

    eta: float
    inverse: Floats
    """(K + eta I)^-1, (t, t)."""
    pull: Floats
    """That times y, (t,)."""
    q: float


class LeftOut:
    """What readings say of f wherever k of them are left out.

    Args:
        points: Of the readings, as the kernel sees them, (t, d).
        y: The readings, (t,).
        quality: Their noise_std over the assumed one, (t,).
        number: Which of all readings that were taken each is, from 1, (t,); the last one where they have
            no order. Those that are missing count, for whatever reason: the noises of all are bounded.
        assumptions: What the bounds rest on.
        energy_delta: With which the honest noises may exceed their energy.
        level_delta: With which one of them may exceed its level.
        n_false: Further readings, which are lies for certain and not among these.
        low: f is at least that, besides |f| <= B0.
        high: f is at most that.

    Attributes:
        n: How many readings there are, without those that are false for certain.
        n_false: How many these are.
        lowest: f is at least that.
        highest: f is at most that.
        probability: With which everything said holds, at least.
    """

    def __init__(
        self,
        points: Floats,
        y: Floats,
        quality: Floats,
        number: Ints,
        assumptions: Assumptions,
        *,
        energy_delta: float,
        level_delta: float,
        n_false: int = 0,
        low: float = -math.inf,
        high: float = math.inf,
    ) -> None:
        self.points = points
        self._y = y
        self._quality = quality
        self.assumptions = assumptions
        self.n = len(y)
        self.n_false = n_false
        self.lowest, self.highest = max(low, -assumptions.B0), min(high, assumptions.B0)
        self._energy = noise_energy(assumptions.noise_std, int(number.max()), energy_delta)
        self._levels: Floats = quality * noise_level(
            assumptions.noise_std, number.astype(np.float64), level_delta
        )
        self.probability = 1.0 - assumptions.delta
        self._certain: dict[int, tuple[int, ...] | None] = {}

    def is_same(self, other: "LeftOut") -> bool:
        """Whether the other one holds the same readings, and assumes the same."""
        rows = ("points", "_y", "_quality", "_levels")
        rest = ("assumptions", "_energy", "n_false", "lowest", "highest")
        are_same = all(np.array_equal(getattr(self, name), getattr(other, name)) for name in rows)
        return are_same and all(getattr(self, name) == getattr(other, name) for name in rest)

    def certain(self, k: int) -> tuple[int, ...] | None:
        """The readings that are lies if at most k of these are, by their place; None: more must be.

        A reading is one further than r_i from all that f can be, and one if every set of k readings
        without it is refuted, found one after the other.
        """
        if k not in self._certain:
            self._certain[k] = self._find_certain(k)
        return self._certain[k]

    def interval(self, u: Floats, k: int) -> tuple[float, float] | None:
        """What f can be at u, (d,), if at most k readings are lies; None: there must be more than k.

        Those that are false for certain count among them.
        """
        widest, k = (self.lowest, self.highest), k - self.n_false
        if k < 0:
            return None
        if self.n > N_READINGS:
            return widest
        certain = self.certain(k)
        if certain is None:
            return None
        rest, k = self.without(certain), k - len(certain)
        if k >= rest.n:
            return widest
        sets = rest.sets(k, partial(rest._growth, u))
        if sets is None:
            return widest
        upper, lower, is_left = rest.bounds(u, sets)
        is_left &= self.leaves_some(upper, lower)
        highest = rest._worst(sets, upper, is_left)
        lowest = rest._worst(sets, -lower, is_left)
        if highest is None or lowest is None:
            return None
        return max(-lowest, self.lowest), min(highest, self.highest)

    def leaves_some(self, upper: Floats, lower: Floats) -> Bools:
        """Whether bounds leave f a value that it can have."""
        upper, lower = np.minimum(upper, self.highest), np.maximum(lower, self.lowest)
        is_some: Bools = upper >= lower - self.assumptions.tolerance
        return is_some

    # --- inside --------------------------------------------------------------------------------

    @cached_property
    def _prior(self) -> Floats:
        prior: Floats = self.assumptions.kernel(self.points, self.points)
        return prior

    @cached_property
    def forms(self) -> list[AtNoise]:
        forms = []
        for eta in fictitious_noises(self.assumptions):
            inverse = Factor(self._prior + np.diag(eta * self._quality**2)).inverse()
            pull = inverse @ self._y
            forms.append(AtNoise(eta, inverse, pull, float(self._y @ pull)))
        return forms

    def _find_certain(self, k: int) -> tuple[int, ...] | None:
        reach = self._levels + self.assumptions.tolerance
        is_beyond = (self._y > self.highest + reach) | (self._y < self.lowest - reach)
        found = np.flatnonzero(is_beyond).tolist()  # beyond what f and noise can reach
        if len(found) > k:
            return None
        place = np.delete(np.arange(self.n), found)
        while len(place) > k - len(found):
            rest = self.without(found)
            place, left = np.delete(np.arange(self.n), found), k - len(found)
            if not left:
                return tuple(sorted(found)) if rest._is_possible(np.zeros((1, 0), np.intp)) else None
            first = int(np.argmax(rest._surprise))
            others = np.delete(np.arange(rest.n), first)
            m = min(N_COARSE, len(others))
            while (
                m > left and math.comb(m, left) * (left * math.ceil(len(others) / m)) ** 3 > WORK_COARSE
            ):
                m -= 1
            groups = [others[g::m].tolist() for g in range(m)]
            if m <= left or rest._is_possible(_unions(groups, left)):
                break
            found.append(int(place[first]))
        return tuple(sorted(found))

    def without(self, found: Sequence[int]) -> "LeftOut":
        """The same readings but these, with the energy and the levels of all."""
        if not found:
            return self
        other = copy.copy(self)
        for name in ("_prior", "forms"):
            vars(other).pop(name, None)
        other.points, other._y, other._quality, other._levels = (
            np.delete(rows, found, axis=0)
            for rows in (self.points, self._y, self._quality, self._levels)
        )
        other.n = len(other._y)
        return other

    @property
    def _surprise(self) -> Floats:
        """By how much q falls without each reading, the largest of all fictitious noises, (t,)."""
        falls = [form.pull**2 / np.diag(form.inverse) for form in self.forms]
        surprise: Floats = np.max(falls, axis=0)
        return surprise

    def _is_possible(self, sets: Ints) -> bool:
        """Whether some set is not refuted by a radius."""
        is_left = np.ones(len(sets), np.bool_)
        for form in self.forms:
            solved, part = solve_each(form.inverse, form.pull[:, None], sets)
            is_left &= self.factor(form, np.einsum("si,si->s", part[..., 0], solved[..., 0]))[1]
        return bool(is_left.any())

    def sets(self, k: int, influence: Callable[[Ints], Floats], n: int = 0) -> Ints | None:
        """Sets of readings that cover every k of them: (n_sets, size), -1 where one is smaller.

        None where even few groups are too much work: then nothing is said.

        Args:
            k: Lies at most.
            influence: By how much what is said grows without each of these sets, (n_sets,): a guess
                which readings matter. Asked only where there are too many sets.
            n: Points at which something is worked out for each set.
        """
        if math.comb(self.n, k) <= N_SETS:
            return np.array(list(combinations(range(self.n), k)), np.intp).reshape(
                math.comb(self.n, k), k
            )
        m = self.n - 1
        while m > k and (math.comb(m, k) > N_SETS or self._work(m, k, n) > WORK):
            m -= 1
        if m == k:
            return None
        order = np.argsort(-influence(np.arange(self.n)[:, None]), kind="stable")
        n_single = m // 2
        groups = [[int(i)] for i in order[:n_single]]
        groups += [order[n_single + g :: m - n_single].tolist() for g in range(m - n_single)]
        return _unions(groups, k)

    def _work(self, m: int, k: int, n: int) -> float:
        """Multiplications for every k of m groups, at n points, for each fictitious noise."""
        n_single = m // 2
        size = k * math.ceil((self.n - n_single) / (m - n_single))
        return math.comb(m, k) * size**2 * (size + n / 16)

    def _growth(self, u: Floats, sets: Ints) -> Floats:
        """By how much the interval at u grows without each set, (n_sets,)."""
        upper, lower, _ = self.bounds(u, sets)
        growth: Floats = np.nan_to_num(upper - lower, nan=np.inf)
        return growth

    def bounds(self, u: Floats, sets: Ints) -> tuple[Floats, Floats, Bools]:
        """Upper and lower bounds at u without each set, and whether no radius refutes it."""
        kernel = self.assumptions.kernel
        k_u = kernel(self.points, u[None, :])[:, 0]
        k_uu = float(kernel.diag(u[None, :])[0])
        upper, lower = np.full(len(sets), np.inf), np.full(len(sets), -np.inf)
        is_left = np.ones(len(sets), np.bool_)
        for form in self.forms:
            weights = form.inverse @ k_u
            right = np.stack([form.pull, weights], axis=1)
            solved, part = solve_each(form.inverse, right, sets)
            aa = np.einsum("si,si->s", part[..., 0], solved[..., 0])
            av = np.einsum("si,si->s", part[..., 0], solved[..., 1])
            vv = np.einsum("si,si->s", part[..., 1], solved[..., 1])
            factor, is_fine = self.factor(form, aa)
            is_left &= is_fine
            mu = float(k_u @ form.pull) - av
            width = factor * np.sqrt(
                np.maximum(k_uu - float(k_u @ weights) + vv, 0.0) + self.slack(k_uu)
            )
            upper, lower = np.minimum(upper, mu + width), np.maximum(lower, mu - width)
        return upper, lower, is_left

    def factor(self, form: AtNoise, aa: Floats) -> tuple[Floats, Bools]:
        """The factor of sigma without each set, given a_S' A_SS^-1 a_S, and whether there is one."""
        q = (form.q - aa) * (1.0 - DRIFT_TOLERANCE)
        radius2 = energy_radius2(self.assumptions.B, self._energy, form.eta, q)
        return np.sqrt(np.maximum(radius2, 0.0)), np.greater_equal(radius2, 0.0)

    @staticmethod
    def slack(k_uu: float | Floats) -> float | Floats:
        return DRIFT_TOLERANCE * k_uu

    def _worst(self, sets: Ints, values: Floats, is_left: Bools) -> float | None:
        """The largest value of a set that no reading refutes."""
        order = np.argsort(np.where(is_left, -values, np.inf), kind="stable")[: int(is_left.sum())]
        for start in range(0, len(order), N_CHECKED):
            part = order[start : start + N_CHECKED]
            fine = part[self.is_consistent(sets[part])]
            if len(fine):
                return float(values[fine[0]])
        return None

    def is_consistent(self, sets: Ints) -> Bools:
        """Whether a set leaves f a value at every point, in reach of every reading outside of it."""
        diag = np.diag(self._prior)
        shape = len(sets), self.n
        upper, lower = np.full(shape, self.highest), np.full(shape, self.lowest)
        for form in self.forms:
            weights = form.inverse @ self._prior
            right = np.concatenate([form.pull[:, None], weights], axis=1)
            solved, part = solve_each(form.inverse, right, sets)
            factor, _ = self.factor(form, np.einsum("si,si->s", part[..., 0], solved[..., 0]))
            mu = self._prior @ form.pull - np.einsum("si,six->sx", part[..., 0], solved[..., 1:])
            var = diag - np.einsum("ix,ix->x", self._prior, weights)
            var = var + np.einsum("six,six->sx", part[..., 1:], solved[..., 1:])
            width = factor[:, None] * np.sqrt(np.maximum(var, 0.0) + self.slack(diag))
            upper, lower = np.minimum(upper, mu + width), np.maximum(lower, mu - width)
        tolerance = self.assumptions.tolerance
        is_out = self._y > upper + self._levels + tolerance
        is_out |= self._y < lower - self._levels - tolerance
        rows, columns = np.nonzero(sets >= 0)
        is_out[rows, sets[rows, columns]] = False
        is_out |= lower > upper + tolerance
        return np.logical_not(is_out.any(axis=1))


def _unions(groups: Sequence[Sequence[int]], k: int) -> Ints:
    """The readings of every k groups: (n_sets, size), -1 where there are fewer."""
    chosen = [[i for group in each for i in group] for each in combinations(groups, k)]
    sets = np.full((len(chosen), max(map(len, chosen))), -1, np.intp)
    for row, members in zip(sets, chosen, strict=True):
        row[: len(members)] = members
    return sets


def solve_each(inverse: Floats, right: Floats, sets: Ints) -> tuple[Floats, Floats]:
    """A_SS^-1 right_S for each set, A the inverse, and right_S: (n_sets, size, n_right) each.

    Zeros where a set is smaller.
    """
    if not sets.shape[1]:
        empty = np.zeros((len(sets), 0, right.shape[1]))
        return empty, empty
    is_member = sets >= 0
    part: Floats = np.where(is_member[..., None], right[sets], 0.0)
    blocks = inverse[sets[:, :, None], sets[:, None, :]]
    if not is_member.all():
        both = is_member[:, :, None] & is_member[:, None, :]
        blocks = np.where(both, blocks, np.eye(sets.shape[1]))
    solved: Floats = np.linalg.solve(blocks, part).astype(np.float64, copy=False)
    return solved, part
