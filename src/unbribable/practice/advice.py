"""What an engine advises, in the user's units: the point to use, and which readings to doubt."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from unbribable.decision.recommend import Recommendation
from unbribable.decision.suspects import FLAG_AT, Suspect, suspects
from unbribable.model.checks import Floats
from unbribable.practice.engine import Engine
from unbribable.practice.plan import Plan

CONDITIONAL = (
    "not known before them: what is guaranteed is so on condition that they are right, and its "
    "probability is what it would be had they been known. docs/results.md has how often fitted runs "
    "missed."
)

HEURISTIC = (
    "The point was chosen by a heuristic: the best lower bound on the readings that do not look like "
    "lies."
)
N_DOUBTED = 2000
"""Readings that are all compared with each other to advise, at most: that costs O(m^3)."""

HOLDS = "What follows holds for it all the same."


def advise(engine: Engine, among: Sequence[Floats] | None = None) -> Recommendation | None:
    """The point to use; None before the first reading. Before the fit, by a fit to what there is.

    Args:
        engine: What was told.
        among: Points read that may be advised, as the kernel sees them; all if None. Then it is a
            scout's choice in any case, and None if no reading that it holds is among them.
    """
    current = settled(engine)
    if current is None:
        return None
    algorithm, units, scout = current.algorithm, current.units, current.scout
    assert algorithm is not None
    if scout is None and among is not None:
        scout = current.scouting(2.0)
    x = None if scout is None else scout.incumbent(among)
    if x is None and among is not None:
        return None
    best = algorithm.recommend(units=units, x=x)
    if scout is not None:
        how = HEURISTIC if best.regret_bound is None else f"{HEURISTIC} {HOLDS}"
        best = replace(best, rule="scout", guarantee=f"{how} {best.guarantee}")
    if best.regret_bound is not None:
        words = [best.guarantee, overdrawn(current, best)]
        words.append(origin(engine.plan) if engine.is_fitted else "")
        best = replace(best, guarantee=" ".join(filter(None, words)))
    return best


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


def overdrawn(engine: Engine, best: Recommendation) -> str:
    """A warning where the readings that look like lies are off by more than the guarantee allows for.

    Not beyond N_DOUBTED readings.
    """
    if len(engine.told) > N_DOUBTED:
        return ""
    C = engine.units.scale * getattr(engine.algorithm, "C", 0.0)
    if best.levels:
        C = next(level.C for level in best.levels if level.regret_bound is not None)
    off = sum(abs(suspect.residual) for suspect in _scored(engine) if suspect.is_flagged)
    if off <= C:
        return ""
    word = "corruption" if engine.plan.known_or_zero is None else "known_or_zero"
    return (
        f"The flagged readings are off by {off:.3g} in all, more than the {C:.3g} that the guarantee "
        f"allows for: if they are lies, it does not hold; state a larger {word}=."
    )


def _listed(names: Sequence[str]) -> str:
    """ "Kernel was", "Kernel and B were"."""
    words = " and ".join([*([", ".join(names[:-1])] if len(names) > 1 else []), names[-1]])
    return f"{words[0].upper()}{words[1:]} {'were' if len(names) > 1 else 'was'}"


def doubt(engine: Engine, *, flagged_only: bool = False) -> tuple[Suspect, ...]:
    """The readings, most suspicious first, in the user's units."""
    current = settled(engine)
    if current is None:
        return ()
    units = current.units
    raw = {told.t: told.y for told in engine.told}
    low, high = units.interval(-units.limit, units.limit)
    found = []
    for suspect in _scored(current):
        y = raw[suspect.t]
        if not low <= y <= high:
            residual = y - suspect.expected
            score = min(abs(residual) / suspect.sd, 1e300)
            side = "above" if residual > 0.0 else "below"
            evidence = (
                f"beyond what f and noise can reach ([{low:.3g}, {high:.3g}]), and cut there",
                f"{score:.3g} standard deviations {side} what the other readings predict "
                f"({suspect.expected:.3g} +- {suspect.sd:.3g})",
            )
            suspect = replace(
                suspect, residual=residual, score=score, is_flagged=True, evidence=evidence
            )
        found.append(replace(suspect, y=y))
    found.sort(key=lambda suspect: (not suspect.is_certain, -suspect.score))
    return tuple(suspect for suspect in found if suspect.is_flagged or not flagged_only)


def assumed(engine: Engine) -> str:
    """What the guarantee rests on, in words, with the units in which it is said."""
    given = engine.plan.assumptions
    if given is not None:
        return given.in_words()
    current = settled(engine)
    if current is None:
        return "None yet: there is no reading to fit them to."
    found, units = current.assumptions, current.units
    assert found is not None
    return (
        f"{found.in_words(is_fitted=engine.is_fitted)} Here f and the readings are counted from "
        f"{units.center:.6g} in units of {units.scale:.6g}, and readings beyond +-{units.limit:.4g} of "
        f"these are cut there. {origin(engine.plan)}"
    )


def _scored(engine: Engine) -> tuple[Suspect, ...]:
    """Scores by what is most likely; what is certain, by what guarantees rest on.

    Where that was fitted nothing is certain: the fit saw the readings it would accuse. Kept until
    something is told: it costs O(m^3).
    """
    state = (len(engine.told), *engine.lost.items())
    if engine.scored is None or engine.scored[0] != state:
        engine.scored = (state, _score(engine))
    return engine.scored[1]


def _score(engine: Engine) -> tuple[Suspect, ...]:
    assert engine.algorithm is not None
    words: dict[str, Any] = {}
    if engine.fitted is not None:
        likely = engine.fitted.scores
        words = {"scored_by": likely.assumptions, "cut_at": likely.units.limit}
    found = suspects(engine.algorithm, units=engine.units, **words)
    if not engine.is_fitted:
        return found
    return tuple(
        replace(suspect, is_certain=False)
        if suspect.score >= FLAG_AT
        else replace(suspect, is_certain=False, is_flagged=False, evidence=())
        for suspect in found
    )


def settled(engine: Engine) -> Engine | None:
    """The engine, or, before its design is finished, one that is fitted to what there is."""
    if not engine.told:
        return None
    if not engine.is_ready:
        plan = replace(engine.plan, n_init=len(engine.told))
        early = Engine(engine.domain, plan, engine.seed)
        for told in engine.told:
            early.tell(told.t, told.x, told.y, told.drawn, told.is_foreign)
        early.lost = engine.lost
        engine = early
    return engine
