"""Which readings look like lies: each against what all the others say about it."""

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unbribable.decision.proposal import Reading
from unbribable.decision.recommend import trusted
from unbribable.decision.units import MODEL_UNITS, Units
from unbribable.model.checks import Floats, Ints
from unbribable.model.kernels import Kernel
from unbribable.model.solve import Factor
from unbribable.theory.assumptions import Assumptions

if TYPE_CHECKING:
    from unbribable.decision.algorithm import Algorithm

FLAG_AT = 3.5
"""Score from which a reading is flagged. An honest one gets there with probability 0.0005 if the model
is exact; in games without lies 1 of 700 did."""

NOTICE_AT = 2.0
"""Standard deviations from which a comparison is listed beside others as evidence."""

NOISE_FLOOR = 1e-6
"""Smallest noise variance in the diagnosis, relative to the prior variance: no reading is
questioned for missing its prediction by less than some thousandths of B0."""

_ROUNDS = ((2.0, 2.0),) * 4 + ((2.5, 4.0),) * 4
"""(cut, power) of each re-weighting: a reading that deviates by z > cut standard deviations weighs
(cut / z)^power. First gently, so that readings beside a lie lose less than the lie; then firmly."""

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Suspect:
    """A reading, what the others predict in its place, and what speaks against it."""

    t: int
    """The round of the reading."""
    x: Floats
    """The point read, (d,)."""
    y: float
    """What was told."""
    expected: float
    """What the other readings predict here, those that look like lies counting less."""
    sd: float
    """Standard deviation of y around it, honest noise included."""
    residual: float
    """y - expected."""
    score: float
    """|residual| / sd: how many standard deviations off. Comparable between readings."""
    instance: str | None
    """The instance that learned from it, None if nobody did."""
    is_flagged: bool
    """Heuristic verdict: score >= FLAG_AT, or certain."""
    is_certain: bool
    """Whether it is corrupted for certain, under the assumptions, as `suspects` explains."""
    evidence: tuple[str, ...]
    """What speaks against it, in words with numbers; empty unless flagged."""
    params: dict[str, Any] | None = None
    """x by the names of a named space."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data."""
        return {**asdict(self), "x": self.x.tolist(), "evidence": list(self.evidence)}


def suspects(
    algorithm: "Algorithm",
    *,
    flagged_only: bool = False,
    units: Units = MODEL_UNITS,
    scored_by: Assumptions | None = None,
    cut_at: float = math.inf,
) -> tuple[Suspect, ...]:
    """Every reading told, the most suspicious first. Looks only: nothing is dropped or changed.

    The score is a diagnosis, not a proof. All readings, whoever learned from them, enter one
    Gaussian process with the assumed kernel and noise (noise_std, not lam; prior standard deviation
    B0), and each is compared with what the others predict in its place. A lie spoils the predictions
    around it, so readings that deviate get less weight and the comparison is repeated, eight times.
    Lies that outnumber the truth around them cannot be told from it; the honest readings may then be
    the ones that stand out. A wrong kernel, or more noise than assumed, makes honest readings look
    like lies: many flags all over the domain speak against the assumptions, not the readings.
    `is_certain` is a proof: the reading lies outside the valid bounds, those of `recommend()` (of the
    layers the top one, safe against 2^n_layers: the others are a guess), by more than
    noise_std * sqrt(2 ln(2 t (t + 1) / delta)), t the rounds so far. Claim: under the assumptions,
    against the threat the algorithm is made for, all readings ever called certain are corrupted,
    with probability at least that of the bounds less delta (1 - 2 delta for RobustGPUCB, more for
    the others). Proof. The bounds contain f at all points and times with their own probability. The
    noise of round s stays within that limit for t = s, hence for all t >= s, in all rounds at once but
    with probability sum_s delta / (s (s + 1)) = delta. Where both hold no honest reading is outside. QED
    The bounds have learned from the reading itself. That does not matter to the proof, since they
    contain f whatever they learned from; it costs power, since a lie draws them towards itself. Nothing
    is certain where the bounds trust every reading (GP-UCB: being outside shows that some reading
    is a lie, not which one), where beta was given, where readings are missing because of their values,
    or once the assumptions are refuted. Where readings are missing for other reasons the evidence says
    what that supposes.
    Going on without the flagged readings voids the guarantee, which allows for their lies already.

    Args:
        algorithm: With its readings.
        flagged_only: Leave out the readings that are not flagged.
        units: In which to say everything.
        scored_by: Kernel, noise, B and B0 for the score, where they differ from what is assumed.
        cut_at: Readings beyond this, on either side, count as if there to what is predicted of others.

    Returns:
        Certain ones first, then by score. The scores do not depend on the order of telling.
    """
    readings = algorithm.readings
    if not readings:
        return ()
    points = np.array([reading.u for reading in readings])
    x = algorithm.candidates.x_of(points)
    y, lams = np.array([(reading.y, reading.lam) for reading in readings]).T
    assumed, t = algorithm.assumptions, algorithm.t
    scored_by = assumed if scored_by is None else scored_by
    quality = np.sqrt(lams / assumed.lam)
    order = np.lexsort((quality, y, *points.T))  # what follows is then the same in any order
    points, x, y, quality = points[order], x[order], y[order], quality[order]
    noise_std = assumed.noise_std * quality
    model = _model(points, np.clip(y, -cut_at, cut_at), scored_by.noise_std * quality, scored_by)
    group, noise_var = model.group, model.noise_var
    expected, sd = robust_predictions(model)
    residual = y - expected
    score = np.abs(residual) / sd
    limit = noise_std * math.sqrt(2.0 * math.log(2.0 * t * (t + 1) / assumed.delta)) + assumed.tolerance
    likely = _robust_labels(algorithm, None)
    proven = _robust_labels(algorithm, algorithm.policy.safe_up_to)
    found = []
    for k in np.argsort(-score, kind="stable"):
        reading = readings[order[k]]
        is_certain = bool(_excess(algorithm, proven, reading, units)[0] > limit[k])
        is_flagged = is_certain or bool(score[k] >= FLAG_AT)
        evidence: list[str] = []
        if is_flagged:
            others = (group == group[k]) & (np.arange(len(y)) != k)
            off, sd_off = _off_median(y[k], noise_var[k], y[others], noise_var[others])
            if off * residual[k] > 0.0 and abs(off) > NOTICE_AT * sd_off:
                n = int(others.sum())
                whose = f"the median of {n} other readings" if n > 1 else "the only other reading"
                evidence.append(f"{_distance(units.amount(off))} {whose} of the same point")
            excess, where = _excess(algorithm, proven if is_certain else likely, reading, units)
            if excess > NOTICE_AT * noise_std[k] + assumed.tolerance:
                evidence.append(f"outside {where} by {units.scale * excess:.3g}")
            if score[k] >= FLAG_AT:
                evidence.append(
                    f"{_distance(units.sign * residual[k] / sd[k], ' standard deviations')} what the "
                    f"other readings predict ({units.from_model(expected[k]):.3g} +- "
                    f"{units.scale * sd[k]:.3g})"
                )
            if is_certain and algorithm.journal.lost:
                evidence.append(f"certain under the assumptions, {algorithm.journal.condition()}")
        found.append(
            Suspect(
                t=reading.t,
                x=x[k],
                y=units.from_model(reading.y),
                expected=units.from_model(float(expected[k])),
                sd=units.scale * float(sd[k]),
                residual=units.amount(float(residual[k])),
                score=float(score[k]),
                instance=reading.learner,
                is_flagged=is_flagged,
                is_certain=is_certain,
                evidence=tuple(evidence),
            )
        )
    found.sort(key=lambda suspect: not suspect.is_certain)
    return tuple(suspect for suspect in found if suspect.is_flagged or not flagged_only)


def flagged(points: Floats, y: Floats, assumed: Assumptions) -> list[int]:
    """Which of these readings have a score that flags them, the highest score first.

    Args:
        points: Where they were taken, as the kernel sees it, (n, d).
        y: The readings, (n,), with the assumed noise.
        assumed: Kernel, noise, B and B0.
    """
    order = np.lexsort((y, *points.T))
    noise_std = np.full(len(y), assumed.noise_std)
    expected, sd = robust_predictions(_model(points[order], y[order], noise_std, assumed))
    score = np.abs(y[order] - expected) / sd
    return [int(order[k]) for k in np.argsort(-score, kind="stable") if score[k] >= FLAG_AT]


def _model(points: Floats, y: Floats, noise_std: Floats, assumed: Assumptions) -> "LeaveOneOut":
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


def robust_predictions(model: LeaveOneOut) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each reading given the others, deviating ones weighing less."""
    weights = np.ones(len(model.y))
    expected, sd = model(weights)
    for cut, power in _ROUNDS:
        z = np.maximum(np.abs(model.y - expected) / sd, cut)
        weights = np.sqrt(weights * np.maximum((cut / z) ** power, 1e-60))  # half way: no swinging
        weights[weights > 0.8] = 1.0  # so that few of them differ from 1
        expected, sd = model(weights)
    return expected, sd


def _excess(
    algorithm: "Algorithm", labels: tuple[str, ...], reading: Reading, units: Units
) -> tuple[float, str]:
    """How far the reading is outside the interval that excludes it most, and that interval in words.

    An interval is what an instance leaves f at the point of the reading, cut at B0 on both sides.
    """
    most, words, B0 = 0.0, "", algorithm.assumptions.B0
    index = algorithm.search.index_of(reading.u)
    for label in labels:
        instance = algorithm.policy.named(label)
        lower = max(float(instance.lcb_bar[index]), -B0)
        upper = min(float(instance.ucb_bar[index]), B0)
        excess = max(reading.y - upper, lower - reading.y)
        if excess > most:
            low, high = units.interval(lower, upper)
            most, words = excess, f"the {label} instance's interval [{low:.3g}, {high:.3g}]"
    return most, words


def _robust_labels(algorithm: "Algorithm", C: float | None) -> tuple[str, ...]:
    """The instances whose bounds hold although readings may be lies; none if nothing is guaranteed."""
    guarantee, bounds = trusted(algorithm, None, C)
    if guarantee.void is not None or bounds.is_refuted:
        return ()
    return tuple(label for label in guarantee.labels if algorithm.policy.named(label).C > 0.0)


def prior_var_of(kernel: Kernel, points: Floats, B: float, B0: float) -> float:
    """Factor of the kernel: B0 is the largest prior sd, or B sqrt(k(x, x)), which bounds |f| too."""
    largest = float(kernel.diag(points).max())
    return min(B * B, B0 * B0 / largest) if largest > 0.0 else B * B


def _off_median(y: float, noise_var: float, others: Floats, other_vars: Floats) -> tuple[float, float]:
    """The reading less the median of the other ones, and the standard deviation of that.

    The variance of a median is at most about pi / 2 times that of the mean; of one or two, the same.
    """
    if not len(others):
        return 0.0, math.inf
    spread = math.pi / 2.0 if len(others) > 2 else 1.0
    var = noise_var + spread * float(other_vars.mean()) / len(others)
    return y - float(np.median(others)), math.sqrt(var)


def _distance(difference: float, unit: str = "") -> str:
    return f"{abs(difference):.3g}{unit} {'above' if difference > 0.0 else 'below'}"
