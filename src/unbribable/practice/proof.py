"""What can be proven of the lies in an engine's readings, in the user's units."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from unbribable.decision.conditions import Condition, FitIsRight, Missing, supposition, under
from unbribable.practice.engine import Engine
from unbribable.practice.fitted import reach
from unbribable.theory.least_corruption import LeastCorruption, require_clarabel

N_ASKED, WORK = 25, 10_000
"""Readings for which the least lie is worked out, at most, and that times the number of all readings:
each is a convex program."""

NOTICED = 6.0
"""Lies below about so many noise_std each are explained as noise."""


@dataclass(frozen=True)
class Proof:
    """How much lying there must have been, if the assumptions hold."""

    total: float
    """With `probability` the lies total at least that, in absolute value; 0 if nothing is proven,
    math.inf if no lies explain the readings."""
    asked: tuple[int, ...]
    """The readings of which it was tried to prove that they are lies."""
    lies: dict[int, float]
    """Reading -> its lie is at least that, in absolute value, for those of which that is more than 0."""
    lies_within: dict[int, float]
    """The same if lies total at most C; empty where no C was given, or one that is below `total`."""
    C: float
    """The total that was given; math.inf if none."""
    is_refuted: bool
    """Whether no lies explain the readings: an assumption is false."""
    is_fitted: bool
    """Whether assumptions were fitted to the very readings."""
    probability: float
    """Of an event of its own: beside intervals, both hold with the sum of both failures."""
    noise_std: float
    """The noise that is assumed."""
    n_readings: int
    """Readings that it rests on: those of the rounds before the first one that is still open."""
    n_waiting: int
    """The others. Which of them are there already may depend on their values."""
    conditions: tuple[Condition, ...] = ()
    """What it supposes of missing readings."""

    @property
    def words(self) -> str:
        """The total in a sentence, and what it rests on."""
        return self._total_words + self._waiting_words

    @property
    def _waiting_words(self) -> str:
        if not self.n_waiting:
            return ""
        return (
            f" This rests on {self.n_readings or 'none'} of the {self.n_readings + self.n_waiting} "
            "readings: those of the rounds before the first one that is still open."
        )

    @property
    def _total_words(self) -> str:
        if self.is_refuted:
            wrong = (
                f"No lies explain these readings: {self._model} is wrong (noise, smoothness, range or "
                "the size of a lie)."
            )
            return under(wrong, self.conditions) + (
                f" Were it right, that would happen with probability at most "
                f"{1.0 - self.probability:.3g}."
            )
        if self.total == 0.0:
            return (
                "Nothing proves that anybody lied. Lies of less than about "
                f"{NOTICED * self.noise_std:.3g} each ({NOTICED:g} times the noise) would not show."
            )
        more = "" if self.total <= self.C else f", more than the {self.C:.4g} that was stated"
        return (
            f"These readings cannot be explained without lies totalling at least {self.total:.4g}{more} "
            f"(with probability at least {self.probability:.4g}, if {self._supposed})."
        )

    def of(self, t: int) -> str:
        """What is proven of reading t, as a sentence; empty if nothing is."""
        words = []
        if self.lies.get(t):
            words.append(f"a lie of at least {self.lies[t]:.3g} for certain")
        if self.lies_within.get(t, 0.0) > 1.001 * self.lies.get(t, 0.0):
            words.append(f"of at least {self.lies_within[t]:.3g} if lies total at most {self.C:.4g}")
        if not words:
            return ""
        said = " and ".join(words)
        said = said if said.startswith("a lie") else f"a lie {said}"
        return f"{said}, if {self._supposed}"

    @property
    def _model(self) -> str:
        return "the fitted model" if self.is_fitted else "what is assumed"

    @property
    def _supposed(self) -> str:
        return supposition([FitIsRight(self._model), *self.conditions])


def prove(engine: Engine, doubted: Sequence[int]) -> Proof:
    """The least corruption of the readings that an engine was told.

    While a round is open, which later readings are there already may depend on their values: only those
    of the rounds before it count. A row of a table gets the noise limit of the last one, since in the
    order in which the rows were read it may have been that. Readings beyond the reach of a fitted model
    are cut there, which never enlarges a lie.

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
    n_rounds, last_row = engine.n_complete, max(engine.rows, default=0)
    told = sorted((each for each in engine.told if each.t <= n_rounds), key=lambda each: each.t)
    U = np.array([each.u for each in told]).reshape(-1, engine.domain.d)
    points, rows = np.unique(U, axis=0, return_inverse=True)
    y = np.array([units.to_model(each.y) for each in told])
    rounds = np.array([each.t for each in told], dtype=np.intp)
    is_selected = any(engine.lost.values()) or not all(engine.retracted.values())
    least = LeastCorruption(
        points,
        rows.reshape(-1),
        y,
        assumptions,
        number=np.maximum(rounds, last_row),
        n_told=n_rounds,
        is_selected=is_selected,
    )
    C = float(plan.corruption) if isinstance(plan.corruption, int | float) else math.inf
    found = least.explain()
    total, place = units.scale * found.total, {int(t): i for i, t in enumerate(rounds)}
    doubted = [] if found.is_refuted else [t for t in doubted if t in place]
    asked = doubted[: min(N_ASKED, WORK // max(1, len(y)))]

    def certain(within: float) -> dict[int, float]:
        sizes = {t: units.scale * least.certain_lie(place[t], within / units.scale) for t in asked}
        return {t: size for t, size in sizes.items() if size > 0.0}

    return Proof(
        total=total,
        asked=tuple(asked),
        lies=certain(math.inf),
        lies_within=certain(C) if total <= C < math.inf else {},
        C=C,
        is_refuted=found.is_refuted,
        is_fitted=bool(plan.fitted),
        probability=found.probability,
        noise_std=units.scale * assumptions.noise_std,
        n_readings=len(told),
        n_waiting=len(engine.told) - len(told),
        conditions=(Missing(len(engine.lost)),) if engine.lost and not is_selected else (),
    )
