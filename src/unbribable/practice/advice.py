"""What an engine advises, in the user's units: the point to use, and which readings to doubt."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unbribable.decision.ahead import is_among
from unbribable.decision.conditions import FitIsRight
from unbribable.decision.price import ROUNDS, Price
from unbribable.decision.price import price as algorithm_price
from unbribable.decision.proven.by_lies import ByLies
from unbribable.decision.proven.counted import CountedLies
from unbribable.decision.proven.left_out import own_shares
from unbribable.decision.recommend import REFUTED, Recommendation, certified, left_out
from unbribable.decision.words import plus_minus
from unbribable.doubt.suspect import Suspect
from unbribable.model.checks import Floats
from unbribable.practice.engine import Engine
from unbribable.practice.plan import OF_LIES, Plan
from unbribable.practice.suspects import NOTICED, suspects

CONDITIONAL = (
    "not known before them: the guarantee holds only if this fit is right, and its probability is what "
    "it would be had they been known. How often fitted runs missed is on the documentation's page on "
    "results."
)

HEURISTIC = (
    "The point was chosen by a heuristic: the best value to expect among the points that were read."
)

LONE = 0.25
"""A point stands alone if the readings elsewhere leave its value open, with a standard deviation of
more than this share of their range."""

CLEARLY = 0.25
"""A value is clearly worse than another one from this share of the range of honest readings on."""

OUTSIDE = (
    "The expected value is outside the worst case: it takes lies for the truth, or something assumed is "
    "false."
)
"""A warning where the estimate and the interval contradict each other."""


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
    is_heuristic = among is not None or engine.plan.explore is not None
    if is_heuristic:
        x = current.incumbent(among)
        if x is None:
            return None
    best = certified(algorithm, units=units, x=x)
    if engine.plan.lies is not None and not algorithm.journal.is_selected:
        best = counted(best, current)
    is_stated = best.regret_bound is not None
    best = expected(best, current, algorithm.candidates.coordinates[best.index])
    words = [HEURISTIC, best.guarantee] if is_heuristic else [best.guarantee]
    supposed = best.supposed
    if engine.plan.fitted:
        supposed += ", and the fitted model is right"
    premise = "the fitted model is right" if engine.plan.fitted else ""
    remarks: list[str] = []
    if is_stated:
        short, whole = overdrawn(current, best)
        words.append(whole)
        words += [origin(engine.plan)] if engine.plan.fitted else []
        remarks += [short, growing(current) if best.is_wide else ""]
    return replace(
        best,
        rule="heuristic" if is_heuristic else best.rule,
        supposed=supposed,
        premise=premise,
        remarks=tuple(filter(None, remarks)),
        guarantee=" ".join(filter(None, words)),
    )


def counted(best: Recommendation, engine: Engine) -> Recommendation:
    """A recommendation with what holds for as many lies as were allowed for, look false or must be.

    Of all numbers of lies at once that is true with probability 1 - delta (`ByLies`), so that which one
    is named may depend on the readings. It supposes nothing of missing readings, nor of any order.
    """
    algorithm, units = engine.algorithm(), engine.model().units
    shares = own_shares(algorithm.assumptions.delta)
    candidates = algorithm.candidates.coordinates
    lies = ByLies(left_out(algorithm, shares), candidates, best.index, units)
    n_lies = max(_lies_allowed(engine), _n_flagged(engine), lies.least)
    interval, more = lies.interval(n_lies), lies.better(n_lies)
    if interval is None or more is None:
        void = f"No guarantee: {REFUTED}, however many readings are lies."
        return replace(best, lies=lies, lower=None, upper=None, regret_bound=None, probability=None,
                       reason=REFUTED, guarantee=void)  # fmt: skip
    where = algorithm.search.regret_words(best.between_candidates)
    return replace(
        best,
        lies=lies,
        lower=interval[0],
        upper=interval[1],
        regret_bound=more,
        n_lies=n_lies,
        probability=lies.probability,
        supposed=CountedLies(n_lies).supposed_of(f"the {lies.n_readings} readings"),
        reason="",
        guarantee=(
            f"With probability at least {lies.probability:.4g}, {CountedLies(n_lies).words}, {where[0]} "
            f"is better than this one by more than {more:.4g}.{where[1]}"
        ),
    )


def expected(best: Recommendation, engine: Engine, u: Floats) -> Recommendation:
    """A recommendation with the value to expect at its point u, (d,), and whether to rely on it."""
    (mean,), (sd,) = engine.predict(u[None])
    is_flagged = engine.judge().verdict().is_flagged
    honest = [reading.y for reading, is_lie in zip(engine.told, is_flagged, strict=True) if not is_lie]
    spread = max(honest) - min(honest) if honest else 0.0
    lower, upper = best.interval
    value, value_sd = float(mean), float(sd)
    beyond = max(lower - value, value - upper)  # NaN, and no contradiction, where there is no interval
    is_outside = best.probability is not None and beyond > NOTICED * value_sd + 1e-9 * spread
    cautions = [_caution(engine, u, spread), OUTSIDE if is_outside else ""]
    return replace(
        best,
        estimate=value,
        estimate_sd=value_sd,
        n_honest=len(honest),
        is_wide=0.0 < spread < upper - lower,
        caution=" ".join(filter(None, cautions)),
        clearly_worse=_clearly_worse(value, spread, engine.plan.sign),
    )


def _clearly_worse(value: float, spread: float, sign: float) -> float | None:
    """Worse than value by a quarter of the spread, or by up to half as much again: a round number."""
    by = CLEARLY * spread
    if not 0.5 * by > 0.0:
        return None
    places = math.floor(math.log10(0.5 * by))
    steps = float(np.floor((sign * value - by) / 10.0**places))
    return round(sign * steps * 10.0**places, -places)


def _caution(engine: Engine, u: Floats, spread: float) -> str:
    """A warning where only the readings of the point itself say what f is there (ours, heuristic).

    A lie that is told whenever the point is read then looks like a peak.
    """
    own = np.flatnonzero(is_among(np.array([reading.u for reading in engine.told]), [u]))
    if not len(own):
        return ""
    mean, sd = engine.judge().elsewhere(own)
    if sd <= LONE * spread:
        return ""
    return (
        "Too few rounds to tell a lie from a peak: the other readings predict "
        f"{plus_minus(engine.plan.sign * mean, sd)}. Read points near it first."
    )


def origin(plan: Plan) -> str:
    """Which of the assumptions were given, and which were fitted; nothing where all were given whole."""
    if plan.assumptions is not None:
        return ""
    given = [name for name in ("kernel", "noise", "B") if name not in plan.fitted]
    if plan.B is not None:
        given[-1] = "B (so B0 = B)"
    words = [f"{_listed(given)} given."] if given else []
    if plan.fitted:
        words.append(f"{_listed(plan.fitted)} fitted to the readings, {CONDITIONAL}")
    return " ".join(words)


def overdrawn(engine: Engine, best: Recommendation) -> tuple[str, str]:
    """A warning where more looks false than the guarantee allows for, in short and whole.

    Where lies are counted, more readings; else more in all.
    """
    word = next(word for word in OF_LIES if getattr(engine.plan, word) is not None)
    if engine.plan.lies is None:
        C = engine.fit().units.scale * (getattr(engine.algorithm(), "C", None) or 0.0)
        if best.levels:
            C = next(level.C for level in best.levels if level.regret_bound is not None)
        off = sum(abs(each.y - each.expected) for each in doubt(engine, flagged_only=True))
        is_more, advice = off > C, f"raise {word}="
        much = f"The flagged readings are off by {off:.3g} in all, more than the {C:.3g} that the"
    else:
        n, allowed = _n_flagged(engine), _lies_allowed(engine)
        if n <= allowed:
            return "", ""
        look = " looks" if n == 1 else "s look"
        much = f"{n} reading{look} false, more than the {allowed}"
        return f"{much} of lies={engine.plan.lies:g}: the worst case allows for {n}", ""
    if not is_more:
        return "", ""
    return f"{much} worst case allows for: {advice}", (
        f"{much} guarantee allows for: if they are lies, it does not hold; state a larger {word}=."
    )


def growing(engine: Engine) -> str:
    """That more rounds hardly narrow the worst case, where more readings may then be lies."""
    share = engine.plan.lies
    if not isinstance(share, float):
        return ""
    n_flagged = _n_flagged(engine)
    return (
        f"More rounds hardly narrow this while {100.0 * share:.3g} % of all readings may be lies; state "
        f"a number (lies={max(_lies_allowed(engine), n_flagged)}), and they do."
    )


def _n_flagged(engine: Engine) -> int:
    """How many readings look false."""
    return len(doubt(engine, flagged_only=True))


def _lies_allowed(engine: Engine) -> int:
    """How many readings may be lies, where they are counted."""
    return engine.plan.n_lies(engine.n_readings)


def doubt(engine: Engine, *, flagged_only: bool = False) -> tuple[Suspect, ...]:
    """The readings in the user's units, the most suspicious first; see `suspects`."""
    current = engine.settled()
    if current is None:
        return ()
    state = (len(engine.told), *engine.lost.items())
    if engine.scored is None or engine.scored[0] != state:
        found = suspects(
            current.told,
            current.judge().verdict(),
            current.algorithm(),
            current.model().units,
            is_fitted=bool(engine.plan.fitted),
        )
        engine.scored = (state, found)
    return tuple(suspect for suspect in engine.scored[1] if suspect.is_flagged or not flagged_only)


def price(
    engine: Engine,
    eps: float | None = None,
    among: Sequence[Floats] | None = None,
    counted: tuple[str, int] = ROUNDS,
) -> Price:
    """What it takes to bribe the advice on these readings, in the user's units.

    Args:
        engine: What was told.
        eps: By how much another point may be better; `unbribable.decision.price` chooses one if None.
        among: As in `advise`.
        counted: What a round is called, and the number of the first one.

    Raises:
        RuntimeError: There is no advice: no reading, or none of a point in `among`.
    """
    current, best = engine.settled(), advise(engine, among)
    if current is None or best is None:
        raise RuntimeError("a price needs a reading, there is none; tell one")
    flagged = {suspect.t for suspect in doubt(engine, flagged_only=True)}
    values = [reading.y for reading in engine.told if reading.t not in flagged]
    units, spread = current.model().units, max(values) - min(values) if values else 0.0
    supposed = [FitIsRight("the fitted model")] if engine.plan.fitted else []
    return algorithm_price(
        current.algorithm(),
        eps,
        best.x,
        units,
        spread=spread,
        supposed=supposed,
        counted=counted,
        lies=best.lies if engine.plan.lies is not None else None,
    )


def modelled(engine: Engine, names: Sequence[str] = ()) -> str:
    """What the guarantee rests on, in words, with the units in which it is stated.

    Args:
        engine: What was told.
        names: What the coordinates are called, if they have names.
    """
    plan, current = engine.plan, engine.settled()
    if plan.assumptions is not None:
        return plan.assumptions.in_words(names=names)
    if current is None:
        return "None yet: there is no reading to fit them to."
    model = current.model()
    units, whole = model.units, model.assumptions.in_words(is_fitted=bool(plan.fitted), names=names)
    cut = f", and readings beyond +-{units.limit:.4g} of these are cut there"
    return (
        f"{whole} Here f and the readings are counted from {units.center:.6g} in units of "
        f"{units.scale:.6g}{cut if math.isfinite(units.limit) else ''}."
    )


def assumed(engine: Engine, names: Sequence[str] = ()) -> str:
    """The same, with what was given and what was fitted."""
    parts = [modelled(engine, names), origin(engine.plan) if engine.told else ""]
    return " ".join(filter(None, parts))


def _listed(names: Sequence[str]) -> str:
    """ "Kernel was", "Kernel and B were"."""
    words = " and ".join([*([", ".join(names[:-1])] if len(names) > 1 else []), names[-1]])
    return f"{words[0].upper()}{words[1:]} {'were' if len(names) > 1 else 'was'}"
