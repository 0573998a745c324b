"""What an engine advises, in the user's units: the point to use, and which readings to doubt."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unbribable.decision.asking.ahead import is_among
from unbribable.decision.left_to_gain import LeftToGain, NotYet
from unbribable.decision.proven.basis import Basis
from unbribable.decision.proven.conditions import (
    Condition,
    Corrected,
    Crossed,
    Exceeded,
    FitIsRight,
    InRange,
    OwnNoise,
    Void,
)
from unbribable.decision.proven.counted import CountedLies
from unbribable.decision.proven.guarantee import Guarantee
from unbribable.decision.proven.left_out import own_shares
from unbribable.decision.proven.price import Price
from unbribable.decision.proven.price import price as algorithm_price
from unbribable.decision.recommend import Recommendation, by_lies
from unbribable.decision.remarks import Alone, Growing, Outside, Remark, TooManyLies, TooMuchLying
from unbribable.doubt.suspect import Suspect, in_order
from unbribable.model.checks import Floats
from unbribable.study.engine import Engine
from unbribable.study.plan import OF_LIES
from unbribable.study.suspects import NOTICED, impossible, suspects

LONE = 0.25
"""A point stands alone if the readings elsewhere leave its value open, with a standard deviation of
more than this share of their range."""

N_SD = 2.0
"""Standard deviations by which f may exceed its mean, where it is asked what is left to gain."""

N_AFTER = 5
"""Readings after the initial design, before which nothing is said to be left to gain."""

CLEARLY = 0.25
"""A value is clearly worse than another one from this share of the range of honest readings on."""


def advise(engine: Engine, among: Sequence[Floats] | None = None) -> Recommendation | None:
    """The point to use; None before the first reading. Before the design is read, by an early fit.

    Args:
        engine: What was told.
        among: Points read that may be advised, as the kernel sees them; all if None. If given, a
            heuristic always chooses, and the answer is None if it holds no reading of them.
    """
    current = engine.settled()
    if current is None:
        return None
    algorithm, units, x = current.algorithm(), current.model().units, None
    is_heuristic = _is_heuristic(engine, among)
    if is_heuristic:
        x = current.incumbent(among)
        if x is None:
            return None
    best = algorithm.recommend(units=units, x=x, stated=current.stated())
    if engine.plan.lies is not None and algorithm.journal.selection is None:
        best = counted(best, current)
    best = within(best, engine)
    is_stated = best.regret_bound is not None
    best = expected(best, current, algorithm.candidates.coordinates[best.index])
    promise = best.promise.supposing(*supposed(current))
    remarks: list[Remark | None] = []
    if is_stated:
        remarks = [overdrawn(current, best), growing(current) if best.is_wide else None]
    return replace(
        best,
        rule="heuristic" if is_heuristic else best.rule,
        promise=promise,
        levels=tuple(replace(level, conditions=promise.conditions) for level in best.levels),
        remarks=tuple(each for each in remarks if each is not None),
    )


def _is_heuristic(engine: Engine, among: Sequence[Floats] | None) -> bool:
    """Whether the point is that with the best value to expect, not the algorithm's."""
    return among is not None or engine.plan.explore is not None


def _point(engine: Engine, among: Sequence[Floats] | None) -> Floats | None:
    """The point that `advise` names; None if there is no reading of those in `among`."""
    if _is_heuristic(engine, among):
        return engine.incumbent(among)
    model, stated = engine.model(), engine.stated()
    return engine.algorithm().recommend(units=model.units, stated=stated).x


def left_to_gain(engine: Engine, among: Sequence[Floats] | None = None) -> LeftToGain:
    """By how much a point may be better than the one that `advise` names, in both kinds."""
    expected, not_yet = left_to_expect(engine, among)
    return LeftToGain(expected, not_yet, left_to_prove(engine, among))


def left_to_prove(engine: Engine, among: Sequence[Floats] | None = None) -> float | None:
    """The certificate of the point that `advise` names; None where nothing is guaranteed."""
    best = advise(engine, among)
    return None if best is None else best.regret_bound


def left_to_expect(
    engine: Engine, among: Sequence[Floats] | None = None
) -> tuple[float | None, NotYet | None]:
    """The most that is thought to be left to gain, and why that says nothing yet (ours, heuristic).

    The largest mean + 2 standard deviations of all hypotheses, at any point, less the mean at the point
    that `advise` names. If that is small, the search is over, or a lie at that point hides the rest: so
    it says nothing where the readings of the point look false, or nothing but they speak for it.
    """
    told = engine.told
    n_read = len({reading.asked_in for reading in told})  # a point read several times at once is one
    if not engine.is_ready or n_read < max(engine.n_design, 1) + N_AFTER:
        return None, NotYet.EARLY
    x = _point(engine, among)
    if x is None:
        return None, NotYet.EARLY
    u = engine.u_of(x)
    means, sds = engine.predict(np.stack([u, engine.most_promising(N_SD)]))
    values = engine.plan.sign * means
    expected = float(np.max(values + N_SD * sds) - values[0])
    is_flagged = engine.judge().verdict().is_flagged
    honest = [each for each, is_lie in zip(engine.corrected, is_flagged, strict=True) if not is_lie]
    if not is_among(np.array([reading.u for reading in honest]).reshape(-1, len(u)), [u]).any():
        return expected, NotYet.FALSE
    if _alone(engine, u, _spread([reading.y for reading in honest])) is not None:
        return expected, NotYet.ALONE
    return expected, None


def counted(best: Recommendation, engine: Engine) -> Recommendation:
    """A recommendation with what holds for as many lies as were allowed for, look false or must be.

    Of all numbers of lies at once that is true with probability 1 - delta (`ByLies`), so that which one
    is named may depend on the readings. It supposes nothing of missing readings, nor of any order.
    """
    algorithm, units = engine.algorithm(), engine.model().units
    shares = own_shares(algorithm.assumptions.delta)
    lies = by_lies(algorithm, best.index, units, shares, engine.stated())
    n_lies = max(_lies_allowed(engine), _n_flagged(engine), lies.least)
    interval, more = lies.interval(n_lies), lies.better(n_lies)
    is_void = interval is None or more is None
    promise = Guarantee(
        "strong",
        probability=lies.probability,
        lies=CountedLies(n_lies, lies.n_readings),
        void=Crossed() if is_void else None,
        is_refuted=is_void,
    )
    lower, upper = (None, None) if interval is None else interval
    return replace(
        best,
        lies=lies,
        lower=None if is_void else lower,
        upper=None if is_void else upper,
        regret_bound=None if is_void else more,
        n_lies=n_lies,
        probability=None if is_void else lies.probability,
        promise=promise,
    )


def within(best: Recommendation, engine: Engine) -> Recommendation:
    """A recommendation that goes no further than f can, as the user states.

    Void where it leaves f no value there, and where readings outside are off by more in all than lies
    were said to total.
    """
    plan = engine.plan
    if plan.reading_range is None:
        return best
    low, high = plan.reading_range
    lower, upper = best.interval
    void: Void | None = exceeded(engine)
    if void is None and (lower > high or upper < low):
        void = Crossed()
    if void is not None:
        promise = replace(best.promise, void=best.promise.void or void, is_refuted=True)
        return replace(
            best, lower=None, upper=None, regret_bound=None, probability=None, promise=promise
        )

    def at_most(bound: float | None, most: float) -> float | None:
        return None if bound is None else max(0.0, min(bound, most))

    if best.lower is None or best.upper is None:
        return best
    lower, upper = max(lower, low), min(upper, high)
    most = high - lower if plan.sign > 0.0 else upper - low
    levels = [replace(each, regret_bound=at_most(each.regret_bound, high - low)) for each in best.levels]
    regret_bound = at_most(best.regret_bound, most)
    return replace(best, lower=lower, upper=upper, regret_bound=regret_bound, levels=tuple(levels))


def expected(best: Recommendation, engine: Engine, u: Floats) -> Recommendation:
    """A recommendation with the value to expect at its point u, (d,), and whether to rely on it."""
    (mean,), (sd,) = engine.predict(u[None])
    is_flagged = engine.judge().verdict().is_flagged
    pairs = zip(engine.corrected, is_flagged, strict=True)
    honest = [reading.y for reading, is_lie in pairs if not is_lie]
    spread = _spread(honest)
    lower, upper = best.interval
    value, value_sd = float(mean), float(sd)
    is_own = is_among(np.array([reading.u for reading in engine.told]), [u])
    n_false = sum(bool(is_among(each.u[None], [u])[0]) for each in engine.false)
    beyond = max(lower - value, value - upper)  # NaN, and no contradiction, where there is no interval
    is_outside = best.probability is not None and beyond > NOTICED * value_sd + 1e-9 * spread
    cautions = (_alone(engine, u, spread), Outside() if is_outside else None)
    return replace(
        best,
        estimate=value,
        estimate_sd=value_sd,
        n_honest=len(honest),
        is_wide=0.0 < spread < upper - lower,
        cautions=tuple(each for each in cautions if each is not None),
        clearly_worse=_clearly_worse(value, spread, engine.plan.sign),
        n_at_point=int(is_own.sum()) + n_false,
        n_flagged_at_point=int((is_own & is_flagged).sum()) + n_false,
    )


def _spread(values: Sequence[float]) -> float:
    return max(values) - min(values) if values else 0.0


def _clearly_worse(value: float, spread: float, sign: float) -> float | None:
    """Worse than value by a quarter of the spread, or by up to half as much again: a round number."""
    by = CLEARLY * spread
    if not 0.5 * by > 0.0:
        return None
    places = math.floor(math.log10(0.5 * by))
    steps = float(np.floor((sign * value - by) / 10.0**places))
    return round(sign * steps * 10.0**places, -places)


def _alone(engine: Engine, u: Floats, spread: float) -> Alone | None:
    """A warning where only the readings of the point itself say what f is there (ours, heuristic).

    A lie that is told whenever the point is read then looks like a peak.
    """
    own = np.flatnonzero(is_among(np.array([reading.u for reading in engine.told]), [u]))
    if not len(own):
        return None
    mean, sd = engine.judge().elsewhere(own)
    return None if sd <= LONE * spread else Alone(engine.plan.sign * mean, sd)


def overdrawn(engine: Engine, best: Recommendation) -> TooManyLies | TooMuchLying | None:
    """A warning where more looks false than the guarantee allows for.

    Where lies are counted, more readings; else more in all.
    """
    plan = engine.plan
    if plan.lies is not None:
        n, allowed = _n_flagged(engine), _lies_allowed(engine)
        return None if n <= allowed else TooManyLies(n, allowed, plan.lies)
    word = next(word for word in OF_LIES if getattr(plan, word) is not None)
    C = engine.fit().units.scale * (getattr(engine.algorithm(), "C", None) or 0.0)
    if best.levels:
        C = next(level.C for level in best.levels if level.regret_bound is not None)
    off = sum(abs(plan.nearest(each.y) - each.expected) for each in doubt(engine, flagged_only=True))
    return None if off <= C else TooMuchLying(off, C, word)


def growing(engine: Engine) -> Growing | None:
    """That more rounds hardly narrow the worst case, where more readings may then be lies."""
    share = engine.plan.lies
    if not isinstance(share, float):
        return None
    return Growing(share, max(_lies_allowed(engine), _n_flagged(engine)))


def _n_flagged(engine: Engine) -> int:
    """How many readings look false."""
    return len(doubt(engine, flagged_only=True))


def _lies_allowed(engine: Engine) -> int:
    """How many readings may be lies, where they are counted."""
    return engine.plan.n_lies(engine.n_readings)


def fit_of(engine: Engine) -> FitIsRight | None:
    """What was fitted, and what was given; None where all was given whole."""
    plan = engine.plan
    return FitIsRight(plan.fitted, plan.given) if plan.assumptions is None else None


def exceeded(engine: Engine) -> Exceeded | None:
    """That readings outside the range are off by more in all than lies were said to total."""
    plan = engine.plan
    if isinstance(plan.corruption, str | None):
        return None
    total = sum(abs(each.y - plan.nearest(each.y)) for each in engine.false)
    return Exceeded(total, float(plan.corruption)) if total > plan.corruption else None


def supposed(engine: Engine) -> tuple[Condition, ...]:
    """That the fit is right, what the user states of the readings, and what was taken off them."""
    fit, stated, taken_off = fit_of(engine), engine.plan.reading_range, corrected(engine)
    held: list[Condition] = [fit] if fit is not None and fit.fitted else []
    held += [] if stated is None else [InRange(*stated)]
    n_own = sum(reading.sem is not None for reading in engine.told)
    held += [OwnNoise(n_own)] if n_own else []
    return (*held, *(() if taken_off is None else (taken_off,)))


def corrected(engine: Engine) -> Corrected | None:
    """What was taken off the readings of an engine with a model; None where nothing was."""
    if not engine.is_corrected or not engine.told or not engine.within.any():
        return None
    n_blocks = len({reading.block for reading in engine.told})
    within = float(engine.within.max())
    return Corrected(within, n_blocks if n_blocks > 1 else 0, engine.plan.drift)


def basis(engine: Engine, names: tuple[str, ...] = ()) -> Basis | None:
    """What guarantees rest on, the coordinates by name; None where there is no reading to fit it to."""
    current, is_given = engine.settled(), engine.plan.assumptions is not None
    taken_off = None if current is None else corrected(current)
    if engine.plan.assumptions is not None and taken_off is None:
        return Basis(engine.plan.assumptions, names=names)
    if current is None:
        return None
    units = None if is_given else current.model().units
    return Basis(current.fit().assumptions, units, fit_of(engine), taken_off, names)


def doubt(engine: Engine, *, flagged_only: bool = False) -> tuple[Suspect, ...]:
    """The readings in the user's units, the most suspicious first; see `suspects`."""
    current, plan = engine.settled(), engine.plan
    state = (len(engine.readings), *engine.lost.items())
    if engine.scored is None or engine.scored[0] != state:
        found = _impossible(engine, current)
        if current is not None:
            is_overdrawn = exceeded(engine) is not None
            if plan.lies is not None:
                is_overdrawn = len(engine.false) > _lies_allowed(engine)
            doubted = suspects(
                current.told,
                current.judge().verdict(),
                current.algorithm(),
                current.model().units,
                has_proof=not plan.fitted and not is_overdrawn,
                corrected=current.corrected if engine.is_corrected else None,
            )
            found = tuple(in_order((*found, *doubted))) if found else doubted
        engine.scored = (state, found)
    return tuple(suspect for suspect in engine.scored[1] if suspect.is_flagged or not flagged_only)


def _impossible(engine: Engine, current: Engine | None) -> tuple[Suspect, ...]:
    """The readings that are false for certain, with what the others predict in their place."""
    found, limits = engine.false, engine.plan.reading_range
    if not found or limits is None:
        return ()
    mean = sd = np.full(len(found), math.nan)
    if current is not None:
        mean, sd = current.predict(np.array([each.u for each in found]))
        sd = np.hypot(sd, current.judge().typical().noise_std)
    x = engine.x_of(np.array([each.u for each in found]))
    every = zip(found, x, mean.tolist(), sd.tolist(), strict=True)
    return tuple(in_order(impossible(*each, limits) for each in every))


def price(
    engine: Engine,
    eps: float | None = None,
    among: Sequence[Floats] | None = None,
) -> Price:
    """What it takes to bribe the advice on these readings, in the user's units.

    Args:
        engine: What was told.
        eps: By how much another point may be better; one is chosen if None.
        among: As in `advise`.

    Raises:
        RuntimeError: There is no advice: no reading, or none of a point in `among`.
    """
    current, best = engine.settled(), advise(engine, among)
    if current is None or best is None:
        raise RuntimeError("a price needs a reading, there is none; tell one")
    flagged = {suspect.t for suspect in doubt(engine, flagged_only=True)}
    values = [reading.y for reading in current.corrected if reading.t not in flagged]
    units, spread = current.model().units, _spread(values)
    found = algorithm_price(
        current.algorithm(),
        eps,
        best.x,
        units,
        spread=spread,
        supposed=supposed(current),
        lies=best.lies if engine.plan.lies is not None else None,
    )
    if not engine.is_corrected:
        return found
    return replace(found, value=None, without_cap=None, least_eps=None)  # what a total rests on is void
