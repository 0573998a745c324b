"""What an engine advises, in the user's units: the point to use, and which readings to doubt."""

import math
from collections.abc import Sequence
from dataclasses import replace

from unbribable.decision.conditions import FitIsRight, Open, under
from unbribable.decision.price import ROUNDS, Price
from unbribable.decision.price import price as algorithm_price
from unbribable.decision.recommend import Recommendation, certified, provable
from unbribable.doubt.suspect import (
    HEURISTIC_KINDS,
    Kind,
    Reason,
    Suspect,
    equal_to,
    in_order,
)
from unbribable.model.checks import Floats
from unbribable.practice.engine import Engine
from unbribable.practice.estimate import expected
from unbribable.practice.plan import OF_LIES, Plan
from unbribable.practice.suspects import suspects

CONDITIONAL = (
    "not known before them: the guarantee holds only if this fit is right, and its probability is what "
    "it would be had they been known. How often fitted runs missed is on the documentation's page on "
    "results."
)

HEURISTIC = (
    "The point was chosen by a heuristic: the best lower bound on the readings that do not look like "
    "lies."
)
N_DOUBTED = 2000
"""Readings that are all compared with each other to advise, at most: that costs O(m^3)."""


def advise(engine: Engine, among: Sequence[Floats] | None = None) -> Recommendation | None:
    """The point to use; None before the first reading. Before the design is read, by an early fit.

    Args:
        engine: What was told.
        among: Points read that may be advised, as the kernel sees them; all if None. If given, a
            scout always chooses, and the answer is None if it holds no reading of them.
    """
    current = engine.settled()
    if current is None:
        return None
    algorithm, units, x = current.judge(), current.model().units, None
    is_scouted = among is not None or engine.plan.explore is not None
    if is_scouted:
        x = current.scout().incumbent(among)
        if x is None:
            return None
    best = certified(algorithm, units=units, x=x)
    is_stated = best.regret_bound is not None
    if engine.plan.lies is not None and is_stated:
        best = best.allowing_for(max(_lies_allowed(current), _n_flagged(current)))
    u = algorithm.candidates.coordinates[best.index]
    best = expected(best, current.estimate(), u, current.fit().likely.units)
    words = [HEURISTIC, best.guarantee] if is_scouted else [best.guarantee]
    supposed = best.supposed
    if engine.plan.fitted:
        supposed += ", and the fitted model is right"
    premise = "the fitted model is right" if engine.plan.fitted else ""
    remarks: list[str] = []
    if is_stated:
        short, whole = overdrawn(current, best)
        words += [clipped(current), whole]
        words += [origin(engine.plan)] if engine.plan.fitted else []
        remarks += [short, growing(current) if best.is_wide else ""]
    return replace(
        best,
        rule="scout" if is_scouted else best.rule,
        supposed=supposed,
        premise=premise,
        remarks=tuple(filter(None, remarks)),
        guarantee=" ".join(filter(None, words)),
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


def clipped(engine: Engine) -> str:
    """On what a number of lies of any size rests; nothing where none is stated, or c_max limits them."""
    model = engine.model()
    limit = model.units.scale * model.units.limit
    if engine.plan.lies is None or math.isinf(limit):
        return ""
    return (
        f"However large a lie is, it counts as at most {2.0 * limit:.4g}: readings are clipped at "
        f"B0 + N = {limit:.4g} on either side, and honest ones lie beyond with probability at most "
        f"{model.assumptions.delta / 2:.4g}, half of that with which the guarantee may fail."
    )


def overdrawn(engine: Engine, best: Recommendation) -> tuple[str, str]:
    """A warning where more looks false than the guarantee allows for, in short and whole.

    Where lies are counted, more readings; else more in all. None is given beyond N_DOUBTED readings.
    """
    if len(engine.told) > N_DOUBTED:
        return "", ""
    word = next(word for word in OF_LIES if getattr(engine.plan, word) is not None)
    if engine.plan.lies is None:
        C = engine.fit().scale * (getattr(engine.judge(), "C", None) or 0.0)
        if best.levels:
            C = next(level.C for level in best.levels if level.regret_bound is not None)
        off = sum(abs(each.residual) for each in _scored(engine) if each.is_flagged)
        is_more, advice = off > C, f"raise {word}="
        much = f"The flagged readings are off by {off:.3g} in all, more than the {C:.3g} that the"
    else:
        n, allowed = _n_flagged(engine), _lies_allowed(engine)
        if n <= allowed:
            return "", ""
        look = " looks" if n == 1 else "s look"
        much = f"{n} reading{look} false, more than the {allowed}"
        return f"{much} of lies={engine.plan.lies:g}: the worst case allows for {n}", (
            f"{much} that the certificate allows for: if they are lies, it does not hold; state a "
            f"larger {word}=."
        )
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
    """How many readings look false; 0 beyond N_DOUBTED readings."""
    return len(doubt(engine, flagged_only=True)) if len(engine.told) <= N_DOUBTED else 0


def _lies_allowed(engine: Engine) -> int:
    """How many readings may be lies, where they are counted."""
    return engine.plan.few_lies(engine.model().assumptions, engine.n_readings).n_lies


def detection(engine: Engine) -> str:
    """That corruption was detected, and how sure that is; empty if it was not."""
    if not engine.is_ready or engine.judge().detected is None:
        return ""
    algorithm = engine.judge()
    said, conditions = f"Corruption was detected in round {algorithm.detected}.", provable(algorithm)
    if conditions is None:
        return f"{said} Nothing is proven by that."
    fitted = [FitIsRight("the fitted model")] if engine.plan.fitted else []
    settled = [each for each in conditions if not isinstance(each, Open)]
    chance = f"Without any that happens with probability at most {algorithm.assumptions.delta:g}."
    return f"{said} {under(chance, [*fitted, *settled])}"


def doubt(engine: Engine, *, flagged_only: bool = False) -> tuple[Suspect, ...]:
    """The readings in the user's units, the most suspicious first."""
    current = engine.settled()
    if current is None:
        return ()
    units = current.model().units
    low, high = units.interval(-units.limit, units.limit)
    told = {reading.t: reading.y for reading in engine.told}
    found = []
    for suspect in _scored(current):
        y = told[suspect.t]
        if not low <= y <= high:
            residual = y - suspect.expected
            score = min(abs(residual) / suspect.sd, 1e300)
            equal = equal_to(tuple(t for t in sorted(told) if told[t] == y and t != suspect.t))
            reasons = (
                Reason(Kind.BEYOND_REACH, low=low, high=high),
                Reason(Kind.PREDICTED, off=residual, expected=suspect.expected, sd=suspect.sd),
                *equal,
            )
            suspect = replace(suspect, residual=residual, score=score, is_flagged=True, reasons=reasons)
        found.append(replace(suspect, y=y))
    ordered = in_order(found)
    return tuple(suspect for suspect in ordered if suspect.is_flagged or not flagged_only)


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
    honest = {reading.t for reading in current.scout().kept}
    values = [reading.y for reading in engine.told if reading.t in honest]
    units, spread = current.model().units, max(values) - min(values)
    supposed = [FitIsRight("the fitted model")] if engine.plan.fitted else []
    return algorithm_price(
        current.judge(), eps, best.x, units, spread=spread, supposed=supposed, counted=counted
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
    model, units = current.fit().judge, current.model().units
    return (
        f"{model.assumptions.in_words(is_fitted=bool(plan.fitted), names=names)} Here f and the "
        f"readings are counted from {units.center:.6g} in units of {units.scale:.6g}, and readings "
        f"beyond +-{units.limit:.4g} of these are cut there."
    )


def assumed(engine: Engine, names: Sequence[str] = ()) -> str:
    """The same, with what was given and what was fitted."""
    parts = [modelled(engine, names), origin(engine.plan) if engine.told else ""]
    return " ".join(filter(None, parts))


def _scored(engine: Engine) -> tuple[Suspect, ...]:
    """Scores by the most likely model; certainty by the one that guarantees rest on.

    Where that was fitted nothing is certain: the fit saw the readings it would accuse. Kept until
    something is told, since it costs O(m^3).
    """
    state = (len(engine.told), *engine.lost.items())
    if engine.scored is None or engine.scored[0] != state:
        judge, likely = engine.model(), engine.fit().scores
        found = suspects(
            engine.judge(),
            units=judge.units,
            scored_by=likely.assumptions,
            cut_at=likely.units.limit,
        )
        if engine.plan.fitted:
            found = tuple(_uncertain(suspect) for suspect in found)
        engine.scored = (state, found)
    return engine.scored[1]


def _uncertain(suspect: Suspect) -> Suspect:
    """The same where nothing is certain; flagged only if something else speaks against it."""
    if not suspect.is_certain:
        return suspect
    is_flagged = any(reason.kind in HEURISTIC_KINDS for reason in suspect.reasons)
    reasons = tuple(reason for reason in suspect.reasons if reason.kind != Kind.MISSING)
    return replace(
        suspect, is_certain=False, is_flagged=is_flagged, reasons=reasons if is_flagged else ()
    )


def _listed(names: Sequence[str]) -> str:
    """ "Kernel was", "Kernel and B were"."""
    words = " and ".join([*([", ".join(names[:-1])] if len(names) > 1 else []), names[-1]])
    return f"{words[0].upper()}{words[1:]} {'were' if len(names) > 1 else 'was'}"
