"""Which readings look like lies: what the judge thinks of each, what is proven, and why."""

from collections.abc import Sequence

import numpy as np

from unbribable.decision.algorithm import Algorithm
from unbribable.decision.proposal import Reading
from unbribable.decision.proven.certain import Excluded, certain, outside_of, robust_labels
from unbribable.decision.units import Units
from unbribable.doubt.judge import Verdict
from unbribable.doubt.suspect import Kind, Reason, Suspect, in_order
from unbribable.model.checks import Floats, Ints
from unbribable.study.trial import Told

NOTICED = 2.0
"""Standard deviations from which on a comparison is listed beside others as evidence."""

N_IN_ROW = 3
"""Readings of consecutive rounds, at least, that are named together where they are off to one side."""


def suspects(
    told: Sequence[Reading | Told],
    verdict: Verdict,
    algorithm: Algorithm,
    units: Units,
    *,
    has_proof: bool = True,
    corrected: Sequence[Reading | Told] | None = None,
) -> tuple[Suspect, ...]:
    """Every reading, the most suspicious first. Looks only: nothing is dropped or changed.

    The verdict is a diagnosis, not a proof: `probability` is how likely the reading is a lie by all
    hypotheses together, and from one half on it is flagged. Lies that outnumber the truth around them
    cannot be told from it; the honest readings may then be the ones that stand out. `is_certain` is a
    proof, see `certain`; where readings are missing the reasons say what it supposes, and where the
    assumptions were fitted nothing is certain: the fit saw the readings it would accuse. Going on
    without the flagged readings voids the guarantee, which allows for their lies already.

    Args:
        told: The readings in the user's units, in the order of telling.
        verdict: On them, in the user's units but for the sign.
        algorithm: That learned them.
        units: From its units to the user's.
        has_proof: Whether the bounds of the algorithm prove anything: what it assumes was not fitted to
            these readings, nor contradicted by others.
        corrected: The readings less what they share besides f, as the algorithm learned them, where that
            is estimated. Then its bounds prove nothing.

    Returns:
        As `in_order` puts them.
    """
    y, sign = np.array([reading.y for reading in told]), units.sign
    expected, off = sign * verdict.expected, y - sign * verdict.expected
    rounds = np.array([reading.t for reading in told], dtype=np.intp)
    x = algorithm.candidates.x_of(np.array([reading.u for reading in told]))
    learned = {reading.t: reading for reading in algorithm.readings}
    proven = certain(algorithm) if has_proof and corrected is None else {}
    likely = robust_labels(algorithm) if corrected is None else ()
    counted = told if corrected is None else corrected
    n_lost = len(algorithm.journal.lost)
    rows = in_a_row(rounds, np.where(verdict.is_flagged, np.sign(off), 0.0))
    found = []
    for k, reading in enumerate(told):
        is_certain = reading.t in proven
        is_flagged = is_certain or bool(verdict.is_flagged[k])
        reasons: list[Reason] = []
        if is_flagged:
            outside = proven.get(reading.t) or outside_of(algorithm, learned[reading.t], likely)
            company = [*_equal(verdict, y, rounds, k), *_in_row(rows, rounds, off, k)]
            reasons = [
                *_same_point(counted, k),
                *_outside(outside, reading.y, units, algorithm),
            ]
            if abs(off[k]) >= NOTICED * verdict.sd[k] or not (reasons or company):
                reasons.append(
                    Reason(
                        Kind.PREDICTED,
                        off=float(off[k]),
                        expected=float(expected[k]),
                        sd=float(verdict.sd[k]),
                    )
                )
            reasons += company
            if is_certain and n_lost:
                reasons.append(Reason(Kind.MISSING, n=n_lost))
        found.append(
            Suspect(
                t=reading.t,
                x=x[k],
                y=reading.y,
                probability=1.0 if is_certain else float(verdict.probability[k]),
                expected=float(expected[k]),
                expected_sd=float(verdict.sd[k]),
                is_flagged=is_flagged,
                is_certain=is_certain,
                reasons=tuple(reasons),
            )
        )
    return tuple(in_order(found))


def impossible(
    reading: Told, x: Floats, expected: float, sd: float, limits: tuple[float, float]
) -> Suspect:
    """A reading that is outside the limits of all honest ones, as the user states: a lie for certain.

    Args:
        reading: In the user's units.
        x: Its point in the user's units, (d,).
        expected: What the readings that may be honest predict; NaN where there is none.
        sd: The standard deviation of the reading around that, likewise.
        limits: The lowest and the highest honest reading.
    """
    low, high = limits
    off = reading.y - min(max(reading.y, low), high)
    return Suspect(
        t=reading.t,
        x=x,
        y=reading.y,
        probability=1.0,
        expected=expected,
        expected_sd=sd,
        is_flagged=True,
        is_certain=True,
        reasons=(Reason(Kind.IMPOSSIBLE, off=off, low=low, high=high),),
    )


def in_a_row(rounds: Ints, side: Floats) -> tuple[Ints, ...]:
    """Readings of consecutive rounds that are off to the same side, N_IN_ROW of them or more each.

    Args:
        rounds: Of the readings, (n,).
        side: 1 if one looks like a lie and is too high, -1 if too low, 0 if it looks honest, (n,).
    """
    order = np.argsort(rounds, kind="stable")
    cuts = np.flatnonzero(np.diff(side[order])) + 1
    rows = np.split(order, cuts)
    return tuple(row for row in rows if len(row) >= N_IN_ROW and side[row[0]])


def _same_point(told: Sequence[Reading | Told], k: int) -> list[Reason]:
    """That other readings of its point differ, if they do by more than they do from each other."""
    own = told[k]
    same = [each for each in told if each is not own and np.array_equal(each.u, own.u)]
    if not same:
        return []
    values = np.array([each.y for each in same])
    off = own.y - float(np.median(values))
    spread = 1.4826 * float(np.median(np.abs(values - np.median(values))))
    if abs(off) <= 3.0 * spread:
        return []
    return [Reason(Kind.SAME_POINT, tuple(sorted(each.t for each in same)), off=off)]


def _outside(outside: Excluded | None, y: float, units: Units, algorithm: Algorithm) -> list[Reason]:
    """That it lies outside the bounds on f by more than noise is likely to bring."""
    assumed = algorithm.assumptions
    if outside is None or abs(outside.excess) <= NOTICED * assumed.noise_std + assumed.tolerance:
        return []
    low, high = units.interval(outside.lower, outside.upper)
    off = y - min(max(y, low), high)  # of what was told: the algorithm may have learned it clipped
    return [Reason(Kind.OUTSIDE, off=off, low=low, high=high)]


def _equal(verdict: Verdict, y: Floats, rounds: Ints, k: int) -> list[Reason]:
    """Which readings are the same to the last digit."""
    if not verdict.is_equal[k]:
        return []
    same = (y == y[k]) & (rounds != rounds[k])
    return [Reason(Kind.EQUAL, tuple(sorted(rounds[same].tolist())))]


def _in_row(rows: Sequence[Ints], rounds: Ints, off: Floats, k: int) -> list[Reason]:
    """Which readings in a row with it are off to the same side."""
    for row in rows:
        if k in row:
            grows = bool((np.diff(np.abs(off[row])) > 0.0).all())
            kind = Kind.DRIFT if grows else Kind.BURST
            return [Reason(kind, tuple(sorted(rounds[row].tolist())), off=float(off[k]))]
    return []
