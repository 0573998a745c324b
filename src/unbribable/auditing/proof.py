"""What can be proven of the lies in an engine's readings, in the user's units."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unbribable.decision.proven.conditions import FitIsRight, InRange, Missing, OwnNoise
from unbribable.decision.proven.lying import Proof
from unbribable.study.advice import corrected
from unbribable.study.engine import Engine
from unbribable.study.fitted import reach
from unbribable.theory.least_corruption import LeastCorruption, require_clarabel

N_ASKED, WORK = 25, 10_000
"""Readings for which the least lie is worked out, at most, and that times the number of all readings:
each is a convex program."""


def prove(engine: Engine, doubted: Sequence[int]) -> Proof:
    """The least corruption of the readings that an engine was told.

    While a round is open, which later readings are there already may depend on their values: only those
    of the rounds before it count. A row of a table gets the noise limit of the last one, since in the
    order in which the rows were read it may have been that. Readings beyond the reach of a fitted model
    are cut there, which never enlarges a lie. Where the user states between which values honest readings
    are, one outside takes a lie as large as it is outside, and one more to the honest value: the least
    of both is added up. An infinite one counts as far as the nearest possible reading.

    Args:
        engine: With a fit, see `Engine.settled`.
        doubted: Readings of which to prove that they are lies, the first ones if there are many.

    Raises:
        ModuleNotFoundError: The solver is not installed; with the line that installs it.
    """
    require_clarabel()
    model, plan = engine.fit(), engine.plan
    units, assumptions = model.units, model.assumptions
    if plan.fitted:
        units = replace(units, limit=reach(assumptions.B0, assumptions.noise_std))
        assumptions = replace(assumptions, c_max=2.0 * units.limit)
    n_rounds, last_row = engine.n_complete, engine.last_row
    readings, taken_off = engine.readings, corrected(engine)
    own = {each.t: each.sem for each in readings}
    stds = {t: assumptions.noise_std if sem is None else sem / units.scale for t, sem in own.items()}
    if taken_off is not None:  # of one that is false for certain only what it is outside by counts
        readings = engine.corrected
        stds = dict(
            zip([each.t for each in readings], engine.noise * assumptions.noise_std, strict=True)
        )
    every = [each for each in engine.readings if each.t <= n_rounds]
    told = sorted([each for each in readings if each.t <= n_rounds], key=lambda each: each.t)
    beyond = {each.t: abs(each.y - plan.nearest(each.y)) for each in every if plan.is_false(each.y)}
    beyond = {t: off for t, off in beyond.items() if off < math.inf}
    U = np.array([each.u for each in told]).reshape(-1, engine.domain.d)
    points, rows = np.unique(U, axis=0, return_inverse=True)
    y = np.array([units.to_model(plan.nearest(each.y)) for each in told])
    rounds = np.array([each.t for each in told], dtype=np.intp)
    is_selected = engine.is_selected
    least = LeastCorruption(
        points,
        rows.reshape(-1),
        y,
        assumptions,
        noise_std=np.array([stds[each.t] for each in told]),
        number=np.maximum(rounds, last_row),
        n_told=n_rounds if taken_off is None else max(n_rounds, len(engine.told)),  # see `room`
        is_selected=is_selected or taken_off is not None,  # that event 1 does not survive either
    )
    C = float(plan.corruption) if isinstance(plan.corruption, int | float) else math.inf
    found = least.explain()
    least_outside = sum(beyond.values())
    total, place = units.scale * found.total, {int(t): i for i, t in enumerate(rounds)}
    total += least_outside
    doubted = [] if found.is_refuted else [t for t in doubted if t in place]
    asked = doubted[: min(N_ASKED, WORK // max(1, len(y)))]

    def certain(within: float) -> dict[int, float]:
        within = max(0.0, within - least_outside) / units.scale
        sizes = {
            t: units.scale * least.certain_lie(place[t], within) + beyond.get(t, 0.0) for t in asked
        }
        return {t: size for t, size in sizes.items() if size > 0.0}

    missing = [Missing(len(engine.lost))] if engine.lost and not is_selected else []
    stated = [] if plan.reading_range is None else [InRange(*plan.reading_range)]
    n_own = sum(own[each.t] is not None for each in told)
    known = [OwnNoise(n_own)] if n_own else []
    return Proof(
        total=total,
        asked=tuple(asked),
        lies=certain(math.inf),
        lies_within=certain(C) if total <= C < math.inf else {},
        C=C,
        is_refuted=found.is_refuted,
        fit=FitIsRight(plan.fitted, plan.given),
        probability=found.probability,
        noise_std=units.scale * assumptions.noise_std,
        n_readings=len(told),
        n_waiting=len(engine.readings) - len(every),
        conditions=(*missing, *stated, *known, *(() if taken_off is None else (taken_off,))),
    )
