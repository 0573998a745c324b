"""What the other readings predict in place of each, those that look like lies left out. Heuristic."""

import math
from dataclasses import dataclass

import numpy as np

from unbribable.model.checks import Bools, Floats, Ints
from unbribable.model.kernels import Kernel
from unbribable.model.solve import Factor
from unbribable.theory.assumptions import Assumptions

FLAG_AT = 3.5
"""Score from which a reading is flagged. An honest one gets there with probability 0.0005 if the model
is exact; in games without lies 1 of 700 did."""

NOTICE_AT = 2.0
"""Standard deviations from which a comparison is listed beside others as evidence."""

ROW_AT = 8.0
"""Median score from which three or more readings in a row, off to the same side, are flagged. What they
have in common, such as a peak that the model did not expect, is no noise that averages out."""

N_IN_ORDER = 500
"""Readings among which bursts and drifts are looked for, at most."""

NOISE_FLOOR = 1e-6
"""Smallest noise variance in the diagnosis, relative to the prior variance: no reading is
questioned for missing its prediction by less than some thousandths of B0."""

STUCK_PLACES = 3
"""Places at which the same value to the last digit is evidence by itself, where readings are noisy."""

STUCK_CHANCE = 0.02
"""Equal readings are flagged if honest ones would make at most so many such sets by chance."""

N_ON_GRID = 10
"""Readings next to a value by which the step of a grid is told."""

ALIKE_MAX = 0.25
"""Share of the readings that may agree to the last digit with another one. Beyond it that is how f is,
with few values or a plateau, and says nothing."""

_ROUNDS = ((2.0, 2.0),) * 4 + ((2.5, 4.0),) * 4
"""(cut, power) of each re-weighting: a reading that deviates by z > cut standard deviations weighs
(cut / z)^power. First gently, so that readings beside a lie lose less than the lie; then firmly."""

_NOTHING = 1e-12
"""Weight of a reading that is left out."""

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Verdict:
    """What is thought of each reading, (n,) each, and which were read in a row and are off together."""

    expected: Floats
    """What the others predict, without those that are flagged."""
    sd: Floats
    """Standard deviation of the reading around it, honest noise included."""
    score: Floats
    """Distance from what is expected, in standard deviations."""
    is_flagged: Bools
    """Whether it looks like a lie."""
    rows: tuple[Ints, ...]
    """Three or more readings in a row each, off to the same side, in the order of their rounds."""


def judged(model: "LeaveOneOut", rounds: Ints, stuck_within: float = 0.0) -> Verdict:
    """A verdict on each reading.

    One that is flagged is no witness against the others: the prediction of each rests on those that
    are not. First all count, those that deviate less and less; then those still flagged are left out
    altogether, and one after the other is taken back or left out until the flags agree with the
    predictions. Readings that agree to the last digit (`told_alike`) count as one, and are no witnesses
    for each other: if half of them are flagged, all are. So they are if that they are equal is evidence
    by itself (`is_stuck`); this is asked only where readings are judged for the user, not by the scout,
    whose play was tuned and measured without it. A burst accuses the honest readings around it, so
    stretches of consecutive ones are also predicted without each other; such a stretch counts as two
    lies, and is believed in only if that leaves fewer than without it.

    Args:
        model: The readings.
        rounds: The round of each, (n,): what is consecutive.
        stuck_within: Equal readings below this in absolute value may be evidence by themselves. Others
            were cut, and need not have been equal as they were told.
    """
    alike, order = told_alike(model.group, model.y), np.argsort(rounds)
    none = np.zeros(len(order), dtype=np.bool_)
    is_flagged, rows = _settled(model, alike, none), _rows(model, alike, order)
    n_causes = int(is_flagged.sum())
    while rows:
        in_row = np.isin(np.arange(len(order)), np.concatenate(rows))
        without = _settled(model, alike, in_row)
        expected, sd = _apart(model, alike, np.where(without, _NOTHING, 1.0))
        z = np.abs(model.y - expected) / sd
        kept = tuple(row for row in rows if z[row].min() >= NOTICE_AT and np.median(z[row]) >= ROW_AT)
        if len(kept) == len(rows):
            explains = int((without & ~in_row).sum()) + 2 * len(rows) < n_causes
            is_flagged, rows = (without, rows) if explains else (is_flagged, ())
            break
        rows = kept  # the others were off because of a lie elsewhere
    stuck = none.copy()
    for value in np.unique(alike[alike >= 0]):  # found stuck in one place, stuck everywhere
        same = alike == value
        is_half = bool(is_flagged[same].mean() >= 0.5)
        is_whole = bool(np.abs(model.y[same]).max() < stuck_within)
        stuck |= same & (is_half or (is_whole and is_stuck(model, same)))
    if (stuck & ~is_flagged).any():  # what they were witnesses against is to be judged again
        in_row = np.isin(np.arange(len(order)), np.concatenate([[-1], *rows]))
        is_flagged = _settled(model, alike, stuck | in_row)
    expected, sd = _apart(model, alike, np.where(is_flagged, _NOTHING, 1.0))
    return Verdict(expected, sd, np.abs(model.y - expected) / sd, is_flagged, rows)


def told_alike(group: Ints, y: Floats) -> Ints:
    """A number for each set of readings that agree to the last digit, as of a stuck sensor; else -1.

    Two readings of one point do so too where there is no noise. They count only if the same value was
    read elsewhere, or if some point was read twice with values that differ as by noise: by less than
    half the spread of all readings, where a lie may differ by more.

    Args:
        group: The point of each reading, (n,).
        y: The readings, (n,).
    """
    values, value, n_equal = np.unique(y, return_inverse=True, return_counts=True)
    value = value.reshape(-1)
    pairs = np.unique(np.stack([group, value]), axis=1)
    n_points = np.bincount(pairs[1])  # at how many points a value was read
    gaps = np.diff(values[pairs[1]])[np.diff(pairs[0]) == 0]  # between different values of one point
    low, high = np.percentile(y, [25.0, 75.0])
    is_noisy = bool((gaps <= (high - low) / 2.0).any())
    counts = (n_equal > 1) & (is_noisy | (n_points > 1))
    alike = np.where(counts[value], value, -1)
    if (alike >= 0).mean() > ALIKE_MAX:
        return np.full(len(y), -1)
    return alike


def is_stuck(model: "LeaveOneOut", same: Bools) -> bool:
    """Whether equal readings are evidence by themselves: honest noise would have made them differ.

    They must have been read at STUCK_PLACES points or more, and neither of two things may explain them.
    First chance: readings on a coarse grid often agree. Among n readings, each of which agrees with p
    others, there are about n p^(k - 1) / k! sets of k equal ones. p is the number of readings within two
    noise_std, times the step of the grid over the width of that band; or the share of the other readings
    that are equal to one elsewhere, if that is more. Second, f may be constant somewhere and without
    noise there, or the instrument may saturate. Equal readings then lie beside each other: at most half
    of these may have another one of them as their nearest point.
    """
    group, y = model.group, model.y
    points = np.unique(group[same])
    n, k, value = len(y), len(points), y[same][0]
    if k < STUCK_PLACES or model.is_exact:
        return False
    band = 4.0 * math.sqrt(float(np.median(model.noise_var[same])))
    n_near = 1 + int((np.abs(y[~same] - value) <= 0.5 * band).sum())
    pairs = np.unique(np.stack([group[~same], y[~same]]), axis=1)
    n_places = np.unique(pairs[1], return_counts=True)[1]
    share = float(n_places[n_places > 1].sum()) / max(1, int(n_places.sum()))
    near = y[np.argsort(np.abs(y - value), kind="stable")]  # a grid may be finer further away
    p = max(n_near * step_of(near[: int(same.sum()) + N_ON_GRID]) / band, share)
    if n * p ** (k - 1) / math.factorial(k) > STUCK_CHANCE:
        return False
    return bool(np.isin(model.nearest()[points], points).mean() <= 0.5)


def step_of(y: Floats) -> float:
    """The largest step of which all differences of readings are multiples, such as 1 of whole numbers.

    0 where there is none: of less than a billionth of their range.
    """
    gaps = np.diff(np.unique(y))
    least = 1e-9 * float(gaps.sum())
    rest = gaps[gaps > least]
    step = 0.0
    while len(rest):
        step = float(rest.min())
        rest = np.abs(gaps - step * np.round(gaps / step))
        rest = rest[rest > least]
    return step


def _apart(model: "LeaveOneOut", alike: Ints, weights: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each reading given the others that are not alike, (n,) each."""
    weights = weights.copy()
    for value in np.unique(alike[alike >= 0]):
        for point in np.unique(model.group[alike == value]):
            same = (alike == value) & (model.group == point)
            weights[same] /= same.sum()
    expected, sd = model(weights)
    for value in np.unique(alike[alike >= 0]):
        same = alike == value
        means, sds = model(np.where(same, _NOTHING, weights))
        expected[same], sd[same] = means[same], sds[same]
    return expected, sd


def _softly(model: "LeaveOneOut", alike: Ints, is_out: Bools) -> Floats:
    """The score of each reading given the others, deviating ones weighing less."""
    weights = np.where(is_out, _NOTHING, 1.0)
    expected, sd = _apart(model, alike, weights)
    for cut, power in _ROUNDS:
        z = np.maximum(np.abs(model.y - expected) / sd, cut)
        weights = np.sqrt(weights * np.maximum((cut / z) ** power, 1e-60))  # half way: no swinging
        weights[weights > 0.8] = 1.0  # so that few of them differ from 1
        weights[is_out] = _NOTHING
        expected, sd = _apart(model, alike, weights)
    return np.abs(model.y - expected) / sd


def _settled(model: "LeaveOneOut", alike: Ints, is_out: Bools) -> Bools:
    """Flags that agree with what the readings without a flag predict; those that are out have one."""
    is_flagged, may_return = is_out | (_softly(model, alike, is_out) >= FLAG_AT), ~is_out
    for _ in range(2 * len(is_flagged)):
        expected, sd = _apart(model, alike, np.where(is_flagged, _NOTHING, 1.0))
        score = np.abs(model.y - expected) / sd
        back = is_flagged & may_return & (score < FLAG_AT)
        more = ~is_flagged & (score >= FLAG_AT)
        if back.any():
            k = int(np.argmin(np.where(back, score, np.inf)))
            may_return[k] = False  # no swinging: who was taken back and falls again stays out
        elif more.any():
            k = int(np.argmax(np.where(more, score, -np.inf)))
        else:
            break
        is_flagged[k] = not is_flagged[k]
    return is_flagged


def _rows(model: "LeaveOneOut", alike: Ints, order: Ints) -> tuple[Ints, ...]:
    """Readings of consecutive rounds that are off to the same side when predicted without each other.

    A fourth of the readings at a time, a hundred at most, are predicted by the rest, without those that
    are alike; each is so about four times, and the largest deviation counts. A stretch of more than a
    fifth of the readings is no burst, but what they all say. Among more than N_IN_ORDER readings nothing
    is looked for: that takes too long.
    """
    n, size = len(order), min(max(6, len(order) // 4), 100)
    if not 3 * size <= n <= N_IN_ORDER:
        return ()
    z = np.zeros(n)
    for start in range(0, n - size // 2, size // 4):
        window = order[start : start + size]
        weights = np.where(alike < 0, 1.0, _NOTHING)
        weights[window] = _NOTHING
        expected, sd = _apart(model, alike, weights)
        found, at = ((model.y - expected) / sd)[window], slice(start, start + size)
        z[at] = np.where(np.abs(found) > np.abs(z[at]), found, z[at])
    side = np.where(np.abs(z) >= NOTICE_AT, np.sign(z), 0.0)
    cuts = np.flatnonzero(np.diff(side)) + 1
    return tuple(
        order[row]
        for row in np.split(np.arange(n), cuts)
        if 3 <= len(row) <= n // 5 and side[row[0]] and np.median(np.abs(z[row])) >= ROW_AT
    )


def flagged(points: Floats, y: Floats, assumed: Assumptions) -> list[int]:
    """Which of these readings are flagged, the highest score first.

    Args:
        points: Where they were taken, as the kernel sees it, (n, d), in the order of their rounds.
        y: The readings, (n,), with the assumed noise.
        assumed: Kernel, noise, B and B0.
    """
    verdict = judgement(points, y, assumed)
    worst = np.argsort(-verdict.score, kind="stable")
    return [int(k) for k in worst if verdict.is_flagged[k]]


def judgement(points: Floats, y: Floats, assumed: Assumptions) -> Verdict:
    """The verdict on readings with the assumed noise; arguments as in `flagged`."""
    noise_std = np.full(len(y), assumed.noise_std)
    return judged(model_of(points, y, noise_std, assumed), np.arange(len(y)))


def model_of(points: Floats, y: Floats, noise_std: Floats, assumed: Assumptions) -> "LeaveOneOut":
    """Of readings y at points, (n, d) as the kernel sees them, with honest noise of noise_std each."""
    distinct, group = np.unique(points, axis=0, return_inverse=True)
    group = group.reshape(-1)  # NumPy 2.0 gives a column
    prior_var = prior_var_of(assumed.kernel, distinct, assumed.B, assumed.B0)
    noise_var = np.maximum(noise_std**2, NOISE_FLOOR * prior_var)
    return LeaveOneOut(prior_var * assumed.kernel(distinct, distinct), group, y, noise_var)


class LeaveOneOut:
    """What all readings but one predict about that one, for any weights of the readings.

    Readings of one point are one row of an m x m system A = K + diag(1 / prec), prec_j the sum of
    weight_i / noise_var_i over the readings of point j. It is inverted once, for weights of 1; other
    weights change few entries of its diagonal, and A^-1 by a matrix of that rank. Left out
    altogether, the readings of point j are predicted with variance 1 / [A^-1]_jj - 1 / prec_j and
    mean ybar_j - [A^-1 ybar]_j / [A^-1]_jj; all readings of j but one are added to that again.

    Args:
        K: Prior covariance of the distinct points, (m, m).
        group: The point of each reading, (n,) of 0..m-1, each at least once.
        y: The readings, (n,).
        noise_var: Variance of the honest noise of each, (n,), > 0.
    """

    def __init__(self, K: Floats, group: Ints, y: Floats, noise_var: Floats) -> None:
        self.group = group
        self.y = y
        self.noise_var = noise_var
        self._K = K
        self._m = len(K)
        self._diagonal: Floats = 1.0 / self._sum(1.0 / noise_var)
        system = K + np.diag(self._diagonal)
        self._inverse = Factor(system).inverse()

    def __call__(self, weights: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation of each reading given the others, with its own noise: (n,) each.

        Args:
            weights: (n,), in (0, 1]. To the others, reading i has the noise noise_var_i / weights_i.
        """
        precision = weights / self.noise_var
        prec, total = self._sum(precision), self._sum(precision * self.y)
        mean, var = self._without_point(prec, total / prec)
        has_others = np.bincount(self.group)[self.group] > 1
        rest = has_others * np.maximum(prec[self.group] - precision, 0.0)
        rest_total = has_others * (total[self.group] - precision * self.y)
        known = 1.0 / var[self.group]
        expected = (known * mean[self.group] + rest_total) / (known + rest)
        return expected, np.sqrt(1.0 / (known + rest) + self.noise_var)

    @property
    def is_exact(self) -> bool:
        """Whether there is hardly any noise."""
        return float(np.median(self.noise_var)) <= 1.01 * NOISE_FLOOR * float(self._K.diagonal().max())

    def nearest(self) -> Ints:
        """To each distinct point the one that its value of f is most correlated with, (m,)."""
        sd = np.sqrt(np.maximum(self._K.diagonal(), _EPS))
        correlation = self._K / sd / sd[:, None]
        np.fill_diagonal(correlation, -np.inf)
        nearest: Ints = np.argmax(correlation, axis=1)
        return nearest

    def _sum(self, values: Floats) -> Floats:
        """Over the readings of each point, (m,)."""
        total: Floats = np.bincount(self.group, values, self._m).astype(np.float64, copy=False)
        return total

    def _without_point(self, prec: Floats, ybar: Floats) -> tuple[Floats, Floats]:
        """Mean and variance of f at each point without all readings of it, (m,) each."""
        inverse = self._inverse
        diag, solved = np.diag(inverse).copy(), inverse @ ybar
        grown = 1.0 / prec - self._diagonal
        where = np.flatnonzero(grown > 1e-12 * self._diagonal)
        if not len(where):
            return ybar - solved / diag, np.maximum(1.0 / diag - 1.0 / prec, _EPS * self._diagonal)
        # Woodbury: A^-1 = Q - Q s (I + s' Q s)^-1 s' Q, Q the inverse kept, s' s what was added.
        s = np.sqrt(grown[where])
        core = s[:, None] * inverse[np.ix_(where, where)] * s
        factor = Factor(core + np.eye(len(where)))
        half = factor.solve_half(s[:, None] * inverse[where])
        pulled = half @ ybar
        diag -= np.einsum("km,km->m", half, half)
        # At the rows that grew, nearly equal numbers are subtracted in diag and var.
        small = factor.inverse()
        kept, taken = np.diag(small), np.einsum("jk,jk->j", core, small)  # their sum is 1
        diag[where] = taken / grown[where]
        var = 1.0 / diag - 1.0 / prec
        var[where] = grown[where] * kept / taken - self._diagonal[where]
        solved -= half.T @ pulled
        solved[where] = factor.solve_half(pulled, transposed=True) / s
        return ybar - solved / diag, np.maximum(var, _EPS * self._diagonal)


def prior_var_of(kernel: Kernel, points: Floats, B: float, B0: float) -> float:
    """Factor of the kernel: B0 is the largest prior sd, or B sqrt(k(x, x)), which bounds |f| too."""
    largest = float(kernel.diag(points).max())
    return min(B * B, B0 * B0 / largest) if largest > 0.0 else B * B
