"""Which readings look like lies: each against what all the others say about it."""

import math
from collections.abc import Iterable

import numpy as np

from unbribable.decision.algorithm import Algorithm
from unbribable.decision.proven.certain import Outside, certain, outside_of, robust_labels
from unbribable.decision.units import MODEL_UNITS, Units
from unbribable.doubt.suspect import Kind, Reason, Suspect, equal_to, in_order
from unbribable.model.checks import Floats, Ints
from unbribable.practice.predictions import FLAG_AT, NOTICE_AT, Verdict, judged, model_of
from unbribable.theory.assumptions import Assumptions


def suspects(
    algorithm: Algorithm,
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
    `is_certain` is a proof, see `certain`; where readings are missing the reasons say what it supposes.
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
    assumed = algorithm.assumptions
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
    proven, likely = certain(algorithm), robust_labels(algorithm)
    found = []
    for k in np.argsort(-score, kind="stable"):
        reading = readings[order[k]]
        is_certain = reading.t in proven
        is_flagged = is_certain or bool(verdict.is_flagged[k])
        reasons: list[Reason] = []
        if is_flagged:
            others = (group == group[k]) & (np.arange(len(y)) != k)
            off, sd_off = _off_median(float(y[k]), noise_var[k], y[others], noise_var[others])
            if off * residual[k] > 0.0 and abs(off) > NOTICE_AT * sd_off:
                same = _ascending(rounds[others])
                reasons.append(Reason(Kind.SAME_POINT, same, off=units.amount(off)))
            outside = proven.get(reading.t) or outside_of(algorithm, reading, likely)
            noticed = NOTICE_AT * noise_std[k] + assumed.tolerance
            if outside is not None and abs(outside.excess) > noticed:
                reasons.append(_reason(outside, units))
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


def _reason(outside: Outside, units: Units) -> Reason:
    low, high = units.interval(outside.lower, outside.upper)
    off = units.amount(outside.excess)
    return Reason(Kind.OUTSIDE, off=off, low=low, high=high, instance=outside.instance)


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
