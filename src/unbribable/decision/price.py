"""What it would have taken to bribe an algorithm."""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from unbribable.decision.instance import Instance
from unbribable.decision.recommend import best_now, trusted, why_void
from unbribable.decision.units import Units
from unbribable.model import checks
from unbribable.model.checks import Floats
from unbribable.theory.price import Bribe, cheapest_bribe
from unbribable.theory.price import Price as Proven
from unbribable.theory.price import price as proven_price

if TYPE_CHECKING:
    from unbribable.decision.algorithm import Algorithm


@dataclass(frozen=True, eq=False)
class Price:
    """How much lying it takes before another candidate can be better by more than eps."""

    x: Floats
    """The point in question."""
    index: int
    eps: float
    words: str
    """What is certain, or why nothing is."""
    value: float | None = None
    """If the lies total at most that and none exceeds c_max, no candidate is better by more than eps.
    math.inf: none is, however many readings are lies. None: open even without lies, or no guarantee."""
    without_cap: float | None = None
    """The same where a single lie may have any size."""
    least_eps: float | None = None
    """The smallest eps for which there is a value: what noise alone leaves open."""
    probability: float | None = None
    """With which this holds, at least; None where nothing is guaranteed."""
    bribe: float | None = None
    """The cheapest bribe: the least total of lies after which another candidate's expected value would
    have been as high as the highest one; math.inf if none within c_max are enough."""
    lies: dict[int, float] = field(default_factory=dict)
    """Round -> what the cheapest bribe would add to its reading."""


def price(algorithm: "Algorithm", eps: float, x: Any, units: Units) -> Price:
    """`Algorithm.price`: of the instance that holds every reading, or of the top layer."""
    eps = checks.real("eps", eps, at_least=0.0)
    guarantee, bounds = trusted(algorithm)
    candidates, policy = algorithm.search.candidates, algorithm.policy
    i = best_now(bounds) if x is None else candidates.at(x)
    if not algorithm.journal.readings:
        raise RuntimeError("a price needs a reading, there is none; tell one")
    point = candidates.x_of(candidates.coordinates[i])
    label = policy.holds_all or list(algorithm.instances)[-1]
    instance = algorithm.instances[label]
    source = instance.source(i)
    void = why_void(guarantee, bounds, units)
    if void is None and instance.is_behind:
        void = "No price yet: it must not rest on some of the readings alone." + guarantee.waits
    elif void is None and source is None:
        void = f"No price yet: it would rest on the readings of {label}, which has none."
    if void is not None or source is None:
        return Price(point, i, eps, void or "")
    found = proven_price(source.differences, source.noise, eps / units.scale, source.cap)
    bribe, lies = _bribe(algorithm, instance, source.cap, units)
    probability = 1.0 - policy.budgets[label].delta
    words = [
        _words(algorithm, found, eps, units, probability),
        _condition(guarantee.condition),
        _bribe_words(bribe, lies, instance, eps, units),
        "" if policy.holds_all else _share_words(instance),
    ]
    return Price(
        point,
        i,
        eps,
        " ".join(filter(None, words)),
        None if found.value is None else units.scale * found.value,
        None if found.without_cap is None else units.scale * found.without_cap,
        units.scale * found.least_eps,
        probability,
        None if bribe is None else units.scale * bribe.value,
        lies,
    )


def _bribe(
    algorithm: "Algorithm", instance: Instance, cap: float, units: Units
) -> tuple[Bribe | None, dict[int, float]]:
    """The cheapest bribe and its lies by round; None where a reading it changes would be cut."""
    source = instance.source(int(np.argmax(instance.mu)))
    assert source is not None
    told = [
        reading
        for reading in algorithm.journal.readings
        if reading.learner is not None and instance in algorithm.policy.learners(reading.learner)
    ]
    row = instance.posterior.tally.row
    points = [algorithm.search.index_of(reading.u) for reading in told]
    rows = np.array([row[point] for point in points if point is not None], dtype=np.intp)
    lams = np.array([reading.lam for reading in told])
    bribe = cheapest_bribe(source.differences, cap, rows, lams)
    lies = {}
    for reading, lie in zip(told, bribe.lies.tolist(), strict=True):
        if lie and abs(reading.y + lie) > units.limit:
            return None, {}
        if lie:
            lies[reading.t] = units.amount(lie)
    return bribe, lies


def _words(algorithm: "Algorithm", found: Proven, eps: float, units: Units, probability: float) -> str:
    """What is certain, and with which probability."""
    search = algorithm.search
    where = search.regret_words(units.scale * search.gap(algorithm.assumptions))
    other = "another point" if not where[1] else f"another of the {search.candidates.n} candidates"
    cap = units.scale * algorithm.assumptions.c_max
    if found.rival is None:
        return "There is no other point that could be better."
    if found.value is None or found.without_cap is None:
        return (
            f"Whether {other} is better by more than {eps:.4g} is open even if nobody lied: noise and "
            f"too few readings leave {units.scale * found.least_eps:.4g} open."
        )
    sure, without_cap = f"(with probability at least {probability:.4g})", units.scale * found.without_cap
    if math.isinf(found.value):
        words = (
            f"Even if every reading were off by as much as {cap:.4g} (c_max), {other} could not be "
            f"better by more than {eps:.4g} {sure}."
        )
        if math.isfinite(without_cap):
            words += (
                f" This rests on that cap: without it, lies totalling {without_cap:.4g} leave it open."
            )
        return words + where[1]
    words = (
        f"Lies totalling less than {units.scale * found.value:.4g}"
        f"{_in_readings(algorithm, found.value)} could not have made {other} better by more than "
        f"{eps:.4g} {sure}."
    )
    if math.isfinite(cap):
        words += (
            f" No single lie is taken to exceed {cap:.4g} (c_max); if one may have any size: less than "
            f"{without_cap:.4g}."
        )
    return words + where[1]


def _in_readings(algorithm: "Algorithm", value: float) -> str:
    """The price as a number of wholly wrong readings, in brackets."""
    flagged = {suspect.t for suspect in algorithm.suspects(flagged_only=True)}
    values = [reading.y for reading in algorithm.journal.readings if reading.t not in flagged]
    spread = max(values, default=0.0) - min(values, default=0.0)
    if spread <= 0.0:
        return ""
    n = value / spread
    if n < 1.5:
        return f" (one reading off by {100.0 * n:.2g} % of the whole range)"
    return f" (about {n:.0f} readings off by the whole range)"


def _bribe_words(
    bribe: Bribe | None, lies: dict[int, float], instance: Instance, eps: float, units: Units
) -> str:
    """The cheapest bribe, where the point that it lifts is not as good as the first one anyway."""
    if bribe is None or bribe.rival is None:
        return ""
    if math.isinf(bribe.value):
        return "No lies of at most c_max each would have changed which point looks best."
    if units.scale * float(instance.mu[bribe.winner] - instance.mu[bribe.rival]) <= eps:
        return ""
    n, rounds = len(lies), ", ".join(map(str, list(lies)[:10])) + (", ..." if len(lies) > 10 else "")
    which = f"{n} readings (rounds {rounds})" if n > 1 else f"the reading of round {rounds}"
    return (
        f"Had {which} been told differently, by {units.scale * bribe.value:.4g} in all, another point "
        "would look best. In hindsight only: other values would have led to other points."
    )


def _share_words(instance: Instance) -> str:
    n = instance.n_readings
    held = "the one reading" if n == 1 else f"the {n} readings"
    return f"All this is about {held} that {instance.label} holds, and about lies in them alone."


def _condition(condition: str) -> str:
    return f"It holds {condition.removeprefix('and ')}." if condition else ""
