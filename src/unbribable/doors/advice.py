"""What an engine advises, in the user's units: the point to use, and which readings to doubt."""

from collections.abc import Sequence
from dataclasses import replace

from unbribable.decision.algorithm import Algorithm
from unbribable.decision.recommend import Recommendation
from unbribable.decision.suspects import Suspect
from unbribable.decision.units import Units
from unbribable.doors.engine import Engine
from unbribable.doors.scout import Scout
from unbribable.model.checks import Floats

CONDITIONAL = (
    "Kernel, noise, B and B0 were fitted to the readings, not known before them: what is guaranteed "
    "is so on condition that they are right."
)

HEURISTIC = (
    "The point was chosen by a heuristic: the best lower bound on the readings that do not look like "
    "lies."
)
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
    algorithm, units, scout = current
    if scout is None and among is not None:
        scout = Scout(engine.domain, algorithm.assumptions, beta=2.0)
        scout.learn([(told.t, told.u, units.to_model(told.y)) for told in engine.told])
    x = None if scout is None else scout.incumbent(among)
    if x is None and among is not None:
        return None
    best = algorithm.recommend(units=units, x=x)
    if scout is not None:
        how = HEURISTIC if best.regret_bound is None else f"{HEURISTIC} {HOLDS}"
        best = replace(best, rule="scout", guarantee=f"{how} {best.guarantee}")
    if best.regret_bound is not None and engine.is_fitted:
        best = replace(best, guarantee=f"{best.guarantee} {CONDITIONAL}")
    return best


def doubt(engine: Engine, *, flagged_only: bool = False) -> tuple[Suspect, ...]:
    """The readings, most suspicious first, in the user's units; `id` is the round.

    Where the model was fitted nothing is certain: the fit saw the readings it would accuse.
    """
    current = settled(engine)
    if current is None:
        return ()
    algorithm, units, _ = current
    raw = {told.t: told.y for told in engine.told}
    low, high = units.interval(-units.limit, units.limit)
    found = []
    for suspect in algorithm.suspects(units=units):
        y = raw[suspect.id]
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
        found.append(replace(suspect, y=y, is_certain=suspect.is_certain and not engine.is_fitted))
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
    algorithm, units, _ = current
    return (
        f"{algorithm.assumptions.in_words(is_fitted=True)} Here f and the readings are counted from "
        f"{units.center:.6g} in units of {units.scale:.6g}, and readings beyond +-{units.limit:.4g} of "
        f"these are cut there. {CONDITIONAL}"
    )


def settled(engine: Engine) -> tuple[Algorithm, Units, Scout | None] | None:
    """The engine's algorithm, or one fitted to what there is where the design is not finished."""
    if not engine.told:
        return None
    if engine.algorithm is None:
        plan = replace(engine.plan, n_init=len(engine.told))
        early = Engine(engine.domain, plan, engine.seed)
        for told in engine.told:
            early.tell(told.t, told.x, told.y, told.drawn, told.is_foreign)
        early.lost = engine.lost
        engine = early
    assert engine.algorithm is not None
    return engine.algorithm, engine.units, engine.scout
