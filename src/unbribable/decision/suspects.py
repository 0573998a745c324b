"""Which readings look like lies: each against what all the others say about it."""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from unbribable.decision.predictions import FLAG_AT, NOTICE_AT, Verdict, judged, model_of
from unbribable.decision.proposal import Reading
from unbribable.decision.recommend import trusted
from unbribable.decision.units import MODEL_UNITS, Units
from unbribable.model.checks import Floats, Ints
from unbribable.theory.assumptions import Assumptions

if TYPE_CHECKING:
    from unbribable.decision.algorithm import Algorithm


class Kind(StrEnum):
    """What speaks against a reading."""

    SAME_POINT = "same point"
    """Other readings of the same point differ: `off` from their median; `rounds` are theirs."""
    OUTSIDE = "outside"
    """It lies `off` outside [`low`, `high`], the bounds of `instance` on f at its point."""
    PREDICTED = "predicted"
    """It is `off` by `off / sd` standard deviations from `expected`, what the others predict."""
    EQUAL = "equal"
    """It is the same to the last digit as the readings of `rounds`."""
    BURST = "burst"
    """It is one of the readings in a row, in `rounds`, that are all `off` to the same side."""
    DRIFT = "drift"
    """The same, and they are off more and more."""
    BEYOND_REACH = "beyond reach"
    """It lies outside [`low`, `high`], which f and noise cannot leave, and was cut there."""
    NOT_LEARNABLE = "not learnable"
    """It is infinite, or too large to be computed with, so nobody learned it."""
    MISSING = "missing"
    """It is certain only if none of the `n` missing readings is missing because of its value."""


HEURISTIC_KINDS = (Kind.PREDICTED, Kind.EQUAL, Kind.BURST, Kind.DRIFT, Kind.BEYOND_REACH)
"""The kinds for which a reading is flagged, whatever the bounds say."""


@dataclass(frozen=True)
class Reason:
    """One thing that speaks against a reading. Amounts are in the units of its suspect."""

    kind: Kind
    rounds: tuple[int, ...] = ()
    """The rounds it is about, ascending, from 1."""
    off: float | None = None
    """By how much the reading is off: > 0 if it is too high."""
    expected: float | None = None
    sd: float | None = None
    low: float | None = None
    high: float | None = None
    instance: str | None = None
    n: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data: what this kind has."""
        plain = {name: value for name, value in asdict(self).items() if value is not None}
        return {**plain, "kind": self.kind.value, "rounds": list(self.rounds)}


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
    """Heuristic verdict: score >= FLAG_AT, or one of equal readings, or in a row of readings off to the
    same side, or certain."""
    is_certain: bool
    """Whether it is corrupted for certain, under the assumptions, as `suspects` explains."""
    reasons: tuple[Reason, ...]
    """What speaks against it, as data; empty unless flagged."""
    evidence: tuple[str, ...] = ()
    """The reasons in words, where a door has said them: with a result, a study, an audit."""
    params: dict[str, Any] | None = None
    """x by the names of a named space."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data."""
        return {
            **asdict(self),
            "x": self.x.tolist(),
            "reasons": [reason.to_dict() for reason in self.reasons],
            "evidence": list(self.evidence),
        }


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
        As `in_order` puts them. Only bursts and drifts depend on the order of the rounds.
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
    group, noise_var = model.group, model.noise_var
    verdict = judged(model, rounds, min(cut_at, units.limit))
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
        reasons: list[Reason] = []
        if is_flagged:
            others = (group == group[k]) & (np.arange(len(y)) != k)
            off, sd_off = _off_median(float(y[k]), noise_var[k], y[others], noise_var[others])
            if off * residual[k] > 0.0 and abs(off) > NOTICE_AT * sd_off:
                same = _ascending(rounds[others])
                reasons.append(Reason(Kind.SAME_POINT, same, off=units.amount(off)))
            excess, outside = _excess(algorithm, proven if is_certain else likely, reading, units)
            if outside is not None and excess > NOTICE_AT * noise_std[k] + assumed.tolerance:
                reasons.append(outside)
            company: list[Reason] = []
            if abs(y[k]) < units.limit:  # beyond it readings were cut, and need not have been equal
                equal = verdict.is_flagged & (y == y[k]) & (np.arange(len(y)) != k)
                company += equal_to(_ascending(rounds[equal]))
            company += _in_a_row(verdict, rounds, residual, int(k), units)
            if score[k] >= FLAG_AT or not (reasons or company):
                reasons.append(
                    Reason(
                        Kind.PREDICTED,
                        off=units.amount(float(residual[k])),
                        expected=units.from_model(float(expected[k])),
                        sd=units.scale * float(sd[k]),
                    )
                )
            reasons += company
            if is_certain and algorithm.journal.lost:
                reasons.append(Reason(Kind.MISSING, n=len(algorithm.journal.lost)))
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
                reasons=tuple(reasons),
            )
        )
    return tuple(suspect for suspect in in_order(found) if suspect.is_flagged or not flagged_only)


def in_order(found: Iterable[Suspect]) -> list[Suspect]:
    """The most suspicious first: certain ones, then flagged ones, then by score.

    Equal readings, and those in a row, stand together and before single ones, whatever their own scores:
    what they have in common speaks against them. The score of the worst of them counts for all.
    """
    found = list(found)
    score = {suspect.t: suspect.score for suspect in found}

    def rank(suspect: Suspect) -> tuple[bool, bool, bool, float, float]:
        kinds = (Kind.EQUAL, Kind.BURST, Kind.DRIFT)
        company = [t for reason in suspect.reasons if reason.kind in kinds for t in reason.rounds]
        worst = max(score.get(t, 0.0) for t in (suspect.t, *company))
        return not suspect.is_certain, not suspect.is_flagged, not company, -worst, -suspect.score

    return sorted(found, key=rank)


def equal_to(rounds: tuple[int, ...]) -> list[Reason]:
    """That a reading is equal to those of these rounds; nothing where there are none."""
    return [Reason(Kind.EQUAL, rounds)] if rounds else []


def _excess(
    algorithm: "Algorithm", labels: tuple[str, ...], reading: Reading, units: Units
) -> tuple[float, Reason | None]:
    """How far the reading is outside the interval that excludes it most, and that as a reason.

    An interval is what an instance leaves f at the point of the reading, cut at B0 on both sides.
    """
    most, reason, B0 = 0.0, None, algorithm.assumptions.B0
    index = algorithm.search.index_of(reading.u)
    for label in labels:
        instance = algorithm.policy.named(label)
        lower = max(float(instance.lcb_bar[index]), -B0)
        upper = min(float(instance.ucb_bar[index]), B0)
        above, below = reading.y - upper, lower - reading.y
        if max(above, below) > most:
            most = max(above, below)
            low, high = units.interval(lower, upper)
            off = units.amount(above if above > 0.0 else -below)
            reason = Reason(Kind.OUTSIDE, off=off, low=low, high=high, instance=label)
    return most, reason


def _robust_labels(algorithm: "Algorithm", C: float | None) -> tuple[str, ...]:
    """The instances whose bounds hold although readings may be lies; none if nothing is guaranteed."""
    guarantee, bounds = trusted(algorithm, None, C)
    if guarantee.void is not None or bounds.is_refuted:
        return ()
    return tuple(label for label in guarantee.labels if algorithm.policy.named(label).C > 0.0)


def _in_a_row(
    verdict: Verdict, rounds: Ints, residual: Floats, k: int, units: Units
) -> Iterable[Reason]:
    """Which readings in a row with it are off to the same side."""
    for row in verdict.rows:
        if k in row:
            grows = bool((np.diff(np.abs(residual[row])) > 0.0).all())
            off = units.amount(float(residual[k]))
            yield Reason(Kind.DRIFT if grows else Kind.BURST, _ascending(rounds[row]), off=off)


def _ascending(rounds: Ints) -> tuple[int, ...]:
    return tuple(sorted(rounds.tolist()))


def _off_median(y: float, noise_var: float, others: Floats, other_vars: Floats) -> tuple[float, float]:
    """The reading less the median of the other ones, and the standard deviation of that.

    The variance of a median is at most about pi / 2 times that of the mean; of one or two, the same.
    """
    if not len(others):
        return 0.0, math.inf
    spread = math.pi / 2.0 if len(others) > 2 else 1.0
    var = noise_var + spread * float(other_vars.mean()) / len(others)
    return y - float(np.median(others)), math.sqrt(var)
