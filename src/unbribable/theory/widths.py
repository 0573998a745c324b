"""Confidence widths: the noise part and the corruption part, in units of f.

`width(x) = noise part + shift`. An interval is `mu(x) +- alpha * width(x)`. The functions are the
formulas; a `Width` is one of them with its numbers filled in, to be evaluated at any belief.
"""

import math
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from unbribable.model.belief import BeliefAt, Slope
from unbribable.model.checks import Floats, Ints
from unbribable.model.posterior import DRIFT_TOLERANCE
from unbribable.model.tally import Tally
from unbribable.theory import compiled

ROUNDING = 1e-11
"""Part of a weight that rounding may have taken from it, at most."""

Size = TypeVar("Size", float, Floats)

_TINY = float(np.finfo(float).tiny)


class Width(Protocol):
    """A part of the width at any belief: of candidates, of other points, of differences of points."""

    def value(self, at: BeliefAt) -> Floats:
        """Its value at each point, (k,)."""

    def slope(self, at: BeliefAt) -> Slope:
        """Its slope at one point (at a kink, that of the active branch)."""


@dataclass(frozen=True)
class Proportional:
    """factor * sigma: a noise width (the paper's, or a given beta), a shift (the paper's, capped)."""

    factor: float

    def value(self, at: BeliefAt) -> Floats:
        return self.factor * at.sigma

    def slope(self, at: BeliefAt) -> Slope:
        return Slope(var=self.factor / (2.0 * max(float(at.sigma[0]), _TINY)))


@dataclass(frozen=True)
class TightNoise:
    """`noise_width_tight` with rho = rho(delta/2)."""

    B: float
    rho_half: float

    def value(self, at: BeliefAt) -> Floats:
        bias = rkhs_bias(self.B, at.var, at.noise_var)
        return noise_width_tight(self.B, self.rho_half, at.sigma, bias)

    def slope(self, at: BeliefAt) -> Slope:
        bias = float(rkhs_bias(self.B, at.var, at.noise_var)[0])
        sigma, whole = max(float(at.sigma[0]), _TINY), math.hypot(self.B, self.rho_half)
        if bias == 0.0 or whole * sigma <= bias + self.rho_half * sigma:
            return Slope(var=whole / (2.0 * sigma))
        # bias^2 = B^2 (var (1 + tolerance) - noise_var), or B^2 var tolerance where rounding cuts it
        half, is_whole = self.B**2 / (2.0 * bias), bool(at.var[0] > at.noise_var[0])
        var = self.rho_half / (2.0 * sigma) + half * (is_whole + DRIFT_TOLERANCE)
        return Slope(var=var, noise_var=-half * is_whole)


@dataclass(frozen=True)
class ExactWidth:
    """`shift_exact` of the readings in a tally, with corruption C, no lie larger than cap."""

    tally: Tally
    C: float
    cap: float

    def value(self, at: BeliefAt) -> Floats:
        return self.of_columns(at.columns)

    def of_columns(
        self, columns: Floats, critical: Ints | None = None, out: Floats | None = None
    ) -> Floats:
        """The value at points with these columns of R, (m, k); `critical` as in `shift_exact`."""
        weights = self.tally.weights(columns, out)
        found = shift_exact(weights, self.tally.item_counts, self.C, self.cap, critical)
        return found / lam_rounded(self.tally)

    def by_library(self, columns: Floats, where: Ints | None, critical: Ints) -> Floats:
        """`of_columns` at points `where` (None: at all); `critical` is theirs, (k,)."""
        counts, n_units, scale, lam = self._load
        weights = self.tally.signed_weights(columns)
        return scale * compiled.knapsack(weights, where, counts, n_units, critical) / lam

    def bracket(self, columns: Floats, where: Ints, critical: Ints) -> Floats:
        """Lower and upper bounds on the same, (2, k), at once."""
        counts, n_units, scale, lam = self._load
        weights = self.tally.signed_weights(columns)
        return scale * compiled.bracket(weights, where, counts, n_units, critical) / lam

    @property
    def _load(self) -> tuple[Floats, float, float, float]:
        """The readings of each item, how many of all can be lies of the largest size, that size, lam."""
        tally, size = self.tally, min(self.C, self.cap)
        return tally.item_counts, min(self.C / size, float(tally.n_readings)), size, lam_rounded(tally)

    def slope(self, at: BeliefAt) -> Slope:
        weights = self.tally.weights(at.columns)[:, 0]
        lies = knapsack(weights, self.tally.item_counts, self.C, self.cap)
        return Slope(columns=self.tally.push(lies) * np.sign(at.columns[:, 0]))


def radius(noise_std: float, lam: float, gain: float, delta: float) -> float:
    """rho = noise_std / sqrt(lam) * sqrt(2 (gain + ln(1/delta))) [BKS20, Eq. 7].

    Lemma 1's noise term: |noise part of the mean's error| <= rho * sigma at every x and every
    time, with probability 1 - delta. `gain` is that of the readings held before the choice, the
    realised one or an upper bound.
    """
    return noise_std / math.sqrt(lam) * math.sqrt(2.0 * (gain + math.log(1.0 / delta)))


def noise_width_paper(B: float, rho: float, sigma: Size) -> Size:
    """(B + rho(delta)) * sigma [BKS20, Lem. 1]."""
    return (B + rho) * sigma


def noise_width_tight(B: float, rho_half: float, sigma: Floats, bias: Floats) -> Floats:
    """min( sqrt(B^2 + rho^2) * sigma, bias + rho * sigma ) with rho = rho(delta/2) (ours).

    Proof of the first (after Flynn & Reeb). For fixed f and any g,
    prod exp(((y_i - f_i)^2 - (y_i - g_i)^2) / (2 noise_std^2)) is a supermartingale. Mix over
    g ~ GP(0, noise_std^2/lam k); Ville: |f - y|^2 <= 2 noise_std^2 (gain + ln 1/d) +
    lam y'(K + lam I)^-1 y at all times. Add lam |f|_k^2 <= lam B^2 and complete the square:
    |f - mu|_V^2 <= lam B^2 + 2 noise_std^2 (gain + ln 1/d). QED
    Proof of the second: `rkhs_bias` bounds the noiseless error, Lemma 1 the rest. QED
    Two events, hence delta/2 each.
    """
    return np.minimum(math.hypot(B, rho_half) * sigma, bias + rho_half * sigma)


def rkhs_bias(B: float, var: Floats, noise_var: Floats, tolerance: float = DRIFT_TOLERANCE) -> Floats:
    """Largest noiseless error of the mean over the RKHS ball of radius B (ours).

        bias(x) = B * sqrt(var[x] - noise_var[x]),   noise_var[x] = sum_j prec[j] R[j, x]^2

    Proof. The error is <f, phi(x) - sum w_i phi(x_i)>, at most B times the norm
    sqrt(k - 2 w'k + w'Kw) = sqrt(var - sum lam_i w_i^2), and attained. QED
    It falls like B lam/count, where B sigma falls like B sqrt(lam/count). Under the root two
    nearly equal numbers are subtracted: `tolerance * var` is added, so that rounding never
    makes the bound too small.
    """
    bias: Floats = B * np.sqrt(np.maximum(var - noise_var, 0.0) + tolerance * var)
    return bias


def shift_paper(C: float, lam: float, sigma: Size) -> Size:
    """C / sqrt(lam) * sigma: bound on the shift of the mean by corruption C [BKS20, Lem. 2].

    With several noises, `lam` is the smallest: the step |c|_2 <= C becomes
    sqrt(sum c_i^2 / lam_i) <= C / sqrt(min lam_i).
    """
    return C / math.sqrt(lam) * sigma


def shift_capped(C: float, cap: float, lam: float, sigma: Size) -> Size:
    """sqrt(C min(C, cap) / lam) * sigma (ours).

    Proof. Lemma 2's Cauchy-Schwarz with |c|_2^2 <= max|c| * sum|c| <= min(C, cap) * C. QED
    """
    return math.sqrt(C * min(C, cap) / lam) * sigma


def lam_rounded(tally: Tally) -> float:
    """What `Tally.weights` are divided by: lam, less what rounding may have taken from them (ours).

    The mean is kept with the weights that R holds, whatever rounding made of these: a reading of x_i
    turns row i of R into lam step, and takes (weight at x_i) * step from the weights of the others, as
    it takes mu[i] * step from the mean. So an error of R is one of which estimator is used, which the
    shift follows, not one of the shift. What is left is the rounding of these sums, some 1e-16 of the
    largest value each has had. Measured against the shift: 2e-13 at most (the page on numerics).
    """
    return tally.lam / (1.0 + ROUNDING)


def shift_exact(
    weights: Floats, counts: Floats, C: float, cap: float, critical: Ints | None = None
) -> Floats:
    """The worst shift of the mean over all admissible corruptions, column by column (ours).

        shift(x) = max { |sum_i weight_i(x) c_i| : |c_i| <= cap, sum |c_i| <= C }

    Proof. The mean is linear in the told values, so c shifts it by exactly sum weight_i c_i; the
    charge of round i is at least |c_i(x_i)|, so c lies in the set; the maximum of a linear form
    over it is a fractional knapsack: the largest |weight| first, C / cap readings in all, times
    cap. It holds for each c by itself: adaptivity of either side does not matter. QED
    exact <= capped <= paper, always.

    Args:
        weights: |weight| of one reading of each item, (n_items, k).
        counts: Readings each item stands for, (n_items,).
        C: Total corruption.
        cap: Largest single lie, may be inf.
        critical: A guess at the item of each column at which the budget runs out, (k,); corrected in
            place. It saves time, since a further reading seldom changes it.

    Returns:
        The shift of each column, (k,); to the last bit it depends neither on the other columns nor on
        the guess.
    """
    if not len(weights) or C == 0.0:
        return np.zeros(weights.shape[1])
    unit = min(C, cap)
    n_units = min(C / unit, float(counts.sum()))
    if n_units <= counts[counts.argmin()]:
        largest: Floats = unit * (n_units * weights.max(axis=0))
        return largest
    by_column = np.ascontiguousarray(weights.T)
    copies = np.minimum(counts, math.ceil(n_units))
    if copies.sum() <= 2 * len(counts):
        return unit * _sum_of_largest(by_column, counts, copies.astype(np.intp), n_units)
    if critical is None:
        critical = np.zeros(len(by_column), dtype=np.intp)
    return unit * _sum_from_critical(by_column, counts, n_units, critical)


def shifts_exact(weights: Floats, counts: Floats, budgets: Floats, cap: float) -> Floats:
    """`shift_exact` at several corruptions, from one sort of each column's weights (ours).

    Proof. All these knapsacks take the items in the same order, and each ends where its budget does. So
    the value at a budget is the cumulative one up to the item in which it ends, and a part of that item;
    the order of the budgets is kept in floating point too. QED

    Args:
        weights: |weight| of one reading of each item, (n_items, k).
        counts: Readings each item stands for, (n_items,).
        budgets: Total corruptions, (n_levels,).
        cap: Largest single lie, finite.

    Returns:
        The shifts, (n_levels, k).
    """
    n_items, k = weights.shape
    found = np.zeros((len(budgets), k))
    if not n_items:
        return found
    order = np.argsort(-weights.T, axis=1, kind="stable")  # ties by number, as the library does
    ranked, number = np.take_along_axis(weights.T, order, axis=1), counts[order]
    spent = np.zeros((k, n_items + 1))
    np.cumsum(number, axis=1, out=spent[:, 1:])
    spent *= cap
    value = np.zeros((k, n_items + 1))
    np.cumsum(number * ranked, axis=1, out=value[:, 1:])
    value *= cap
    rows = np.arange(k)
    for level, budget in enumerate(budgets):
        if budget >= spent[0, -1]:
            found[level:] = value[:, -1]
            break
        last = (spent[:, 1:] > budget).argmax(axis=1)
        found[level] = value[rows, last] + (budget - spent[rows, last]) * ranked[rows, last]
    return found


def _sum_of_largest(weights: Floats, counts: Floats, copies: Ints, n_units: float) -> Floats:
    """The knapsack of each row by ranking its weights, each as often as it can enter: (k,)."""
    repeated = np.repeat(np.arange(len(copies)), copies - 1)
    ranked = np.concatenate([weights, weights[:, repeated]], axis=1)
    last = ranked.shape[1] - math.ceil(n_units)
    ranked.partition(last, axis=1)
    return _worth(weights, counts, n_units, ranked[:, last])[0]


def _sum_from_critical(weights: Floats, counts: Floats, n_units: float, critical: Ints) -> Floats:
    """The knapsack of each row by its critical item: heavier ones enter wholly, lighter ones not at all.

    Whether a guess is right shows in one pass; only rows where it is wrong are sorted.
    """
    threshold = weights[np.arange(len(critical)), critical]
    value, n_heavier = _worth(weights, counts, n_units, threshold)
    (wrong,) = ((n_heavier >= n_units) | (n_heavier + counts[critical] < n_units)).nonzero()
    if len(wrong):
        part = weights[wrong]
        order = part.argsort(axis=1)[:, ::-1]
        last = (counts[order].cumsum(axis=1) >= n_units).argmax(axis=1)
        critical[wrong] = order[np.arange(len(wrong)), last]
        threshold = part[np.arange(len(wrong)), critical[wrong]]
        value[wrong] = _worth(part, counts, n_units, threshold)[0]
    return value


def _worth(weights: Floats, counts: Floats, n_units: float, threshold: Floats) -> tuple[Floats, Floats]:
    """The knapsack of each row that takes what outweighs a threshold and fills up with what equals it.

    Returns:
        The knapsacks, and how many readings outweigh the threshold; (k,) each.
    """
    entering = np.where(weights > threshold[:, None], counts, 0.0)
    n_heavier: Floats = entering.sum(axis=1)  # whole numbers: exact in any order
    entering *= weights
    # item by item, as the compiled library does, which gives the same bits
    value: Floats = entering.cumsum(axis=1, out=entering)[:, -1]
    return value + (n_units - n_heavier) * threshold, n_heavier


def knapsack(weights: Floats, counts: Floats, C: float, cap: float) -> Floats:
    """The lies that attain `shift_exact` at one point: how much each item takes, (n_items,).

    Args:
        weights: |weight| of one reading of each item, (n_items,).
        counts: Readings each item stands for, (n_items,).
        C: Total corruption.
        cap: Largest single lie, may be inf.
    """
    order = np.argsort(-weights, kind="stable")
    filled = np.minimum(np.cumsum(np.minimum(counts[order] * min(C, cap), C)), C)
    lies = np.zeros(len(weights))
    lies[order] = np.diff(filled, prepend=0.0)
    return lies
