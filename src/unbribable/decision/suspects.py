"""Which readings look like lies: each against what all the others say about it."""

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unbribable.decision.conditions import supposition
from unbribable.decision.predictions import FLAG_AT, NOTICE_AT, Verdict, judged, model_of
from unbribable.decision.proposal import Reading
from unbribable.decision.recommend import trusted
from unbribable.decision.units import MODEL_UNITS, Units
from unbribable.model.checks import Floats, Ints
from unbribable.theory.assumptions import Assumptions

if TYPE_CHECKING:
    from unbribable.decision.algorithm import Algorithm


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
    """What the other readings predict here, without those that look like lies."""
    sd: float
    """Standard deviation of y around it, honest noise included."""
    residual: float
    """y - expected."""
    score: float
    """|residual| / sd: how many standard deviations off. Comparable between readings."""
    instance: str | None
    """The instance that learned from it, None if nobody did."""
    is_flagged: bool
    """Heuristic verdict: score >= FLAG_AT, or in a row of readings off to the same side, or certain."""
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
    B0), and each is compared with what the others predict in its place, those left out that are
    flagged themselves. Readings that agree to the last digit, as of a stuck sensor, do not speak for
    each other, nor do those of consecutive rounds that are all off to the same side (a burst, a drift).
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
        Certain ones first, then by score. Only bursts and drifts depend on the order of the rounds.
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
    rounds = np.array([readings[k].t for k in order])
    model = model_of(points, np.clip(y, -cut_at, cut_at), scored_by.noise_std * quality, scored_by)
    group, noise_var, verdict = model.group, model.noise_var, judged(model, rounds)
    expected, sd = verdict.expected, verdict.sd
    residual = y - expected
    score = np.abs(residual) / sd
    limit = noise_std * math.sqrt(2.0 * math.log(2.0 * t * (t + 1) / assumed.delta)) + assumed.tolerance
    likely = _robust_labels(algorithm, None)
    proven = _robust_labels(algorithm, algorithm.policy.safe_up_to)
    found = []
    for k in np.argsort(-score, kind="stable"):
        reading = readings[order[k]]
        is_certain = bool(_excess(algorithm, proven, reading, units)[0] > limit[k])
        is_flagged = is_certain or bool(verdict.is_flagged[k])
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
            evidence += _in_company(verdict, rounds, y, residual, int(k), units)
            if is_certain and algorithm.journal.lost:
                condition = supposition(algorithm.journal.conditions)
                evidence.append(f"certain under the assumptions, and if {condition}")
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


def _in_company(
    verdict: Verdict, rounds: Ints, y: Floats, residual: Floats, k: int, units: Units
) -> list[str]:
    """Which other readings are off in the same way, in words: alike, or in a row with it."""
    words = []
    alike = np.sort(rounds[verdict.is_flagged & (y == y[k])])
    if len(alike) > 1:
        words.append(f"the same value to the last digit in rounds {', '.join(map(str, alike))}")
    for row in verdict.rows:
        if k in row:
            side = "above" if units.sign * residual[k] > 0.0 else "below"
            grows = bool((np.diff(np.abs(residual[row])) > 0.0).all())
            when = f"rounds {rounds[row[0]]} to {rounds[row[-1]]}"
            words.append(
                f"one of {len(row)} readings in a row ({when}) that are all {side} what the others "
                f"predict: {'more and more, as by a drift' if grows else 'a burst'}"
            )
    return words


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
