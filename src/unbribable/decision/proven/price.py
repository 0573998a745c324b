"""What it would have taken to bribe an algorithm."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from unbribable.decision.instance import Instance
from unbribable.decision.proven.by_lies import ByLies
from unbribable.decision.proven.certain import certain
from unbribable.decision.proven.conditions import Condition, NothingHeld, NotYet
from unbribable.decision.proven.guarantee import Guarantee
from unbribable.decision.recommend import best_now, by_lies, trusted
from unbribable.decision.units import Units
from unbribable.model import checks
from unbribable.model.checks import Floats
from unbribable.model.spoken import Spoken
from unbribable.theory.price import cheapest_bribe
from unbribable.theory.price import price as proven_price

if TYPE_CHECKING:
    from unbribable.decision.algorithm import Algorithm

SHARES = (0.05, 0.1, 0.2, 0.5)
"""Shares of the range of the readings that look honest: the eps to ask a price for, by default."""


@dataclass(frozen=True, eq=False)
class Bribe:
    """The cheapest change of the readings after which another point would look best."""

    value: float
    """The least total of lies after which another candidate's expected value would have been as high as
    the highest one; math.inf if none within c_max are enough."""
    lies: dict[int, float]
    """Round -> what it would add to its reading."""
    gap: float | None
    """By how much the expected value of that candidate is lower; None if there is no other."""


@dataclass(frozen=True)
class InLies:
    """How many readings must be lies, of any size, before another candidate can be better by eps."""

    n_needed: int
    """So many at least; 0: not even one."""
    least: int
    """So many must be lies in any case."""
    n_readings: int
    left_open: float | None
    """By how much another candidate can be better if no more than these are."""

    @classmethod
    def of(cls, lies: ByLies, eps: float) -> "InLies":
        """By what the readings say."""
        return cls(lies.needed_for_better(eps), lies.least, lies.n_readings, lies.better(lies.least))

    @property
    def is_open(self) -> bool:
        """Whether no more lies are needed than there must be anyway."""
        return self.n_needed <= self.least


@dataclass(frozen=True, eq=False)
class Price(Spoken):
    """How much lying it takes before another candidate can be better by more than eps."""

    x: Floats
    """The point in question."""
    index: int
    eps: float | None
    """None where nothing is guaranteed and no eps was given."""
    promise: Guarantee
    """What it supposes; or why there is no price."""
    share: float | None = None
    """eps as a share of the range of the readings, where no eps was given."""
    value: float | None = None
    """If the lies total at most that and none exceeds c_max, no candidate is better by more than eps.
    math.inf: none is, however many readings are lies. None: open even without lies, or no guarantee."""
    without_cap: float | None = None
    """The same where a single lie may have any size."""
    least_eps: float | None = None
    """The smallest eps for which there is a value: what noise alone leaves open."""
    probability: float | None = None
    """With which this holds, at least; None where nothing is guaranteed."""
    cheapest: Bribe | None = None
    """The cheapest bribe; None where it would change a reading that was cut, or would be, and where lies
    have a number: what looks best is no matter of one belief that trusts every reading then."""
    cap: float = math.inf
    """The largest single lie, c_max."""
    in_lies: "InLies | None" = None
    """The same by the number of lies, of any size; None where lies are not counted."""
    has_other: bool = True
    """Whether there is another candidate."""
    spread: float = 0.0
    """The range of the readings that look honest."""
    n_compared: int | None = None
    """On a Box: the number of candidates that are compared. None: every point of the domain is."""
    is_constrained: bool = False
    """Whether not every point is allowed: then those that are are compared."""
    between_candidates: float = 0.0
    """On a Box: by how much f may be higher between the candidates than at them; an estimate."""
    held_by: tuple[str, int] | None = None
    """The instance about whose readings alone all this is, and their number; None: about all of them."""

    @property
    def n_needed(self) -> int | None:
        """So many readings must be lies before another candidate can be better by eps; None: unknown."""
        return None if self.in_lies is None else self.in_lies.n_needed

    @property
    def bribe(self) -> float | None:
        """The total of the cheapest bribe; None where it is not known."""
        return None if self.cheapest is None else self.cheapest.value

    @property
    def lies(self) -> dict[int, float]:
        """Round -> what the cheapest bribe would add to its reading."""
        return {} if self.cheapest is None else self.cheapest.lies


def price(
    algorithm: "Algorithm",
    eps: float | None,
    x: Any,
    units: Units,
    *,
    spread: float | None = None,
    supposed: Sequence[Condition] = (),
    lies: ByLies | None = None,
) -> Price:
    """`Algorithm.price`: of the instance that holds every reading, or of the top layer.

    Args:
        algorithm: With its readings.
        eps: By how much another candidate may be better; if None, the smallest of SHARES for which a
            price is established.
        x: A candidate; the recommended one if None.
        units: In which to give eps, and all amounts.
        spread: Range of the readings that look honest, in these units; of those that are no lies for
            certain if None.
        supposed: What it supposes besides the assumptions and of missing readings.
        lies: What the readings say of the candidate by the number of lies; if None, what the algorithm
            says of it if it counts lies.
    """
    eps = None if eps is None else checks.real("eps", eps, at_least=0.0)
    guarantee, bounds = trusted(algorithm)
    candidates, policy = algorithm.search.candidates, algorithm.policy
    i = best_now(bounds) if x is None else candidates.at(x)
    if not algorithm.journal.readings:
        raise RuntimeError("a price needs a reading, there is none; tell one")
    point = candidates.x_of(candidates.coordinates[i])
    label = policy.holds_all or list(algorithm.instances)[-1]
    instance = algorithm.instances[label]
    source = instance.source(i)
    promise = guarantee.in_units(units.scale)
    promise = replace(promise, conditions=(*supposed, *guarantee.conditions))
    if lies is None and policy.counts_lies:
        lies = by_lies(algorithm, i, units)
    elif lies is not None and algorithm.journal.selection is None:
        promise = replace(promise, void=None)  # it says itself how many lies there must be
    if promise.void is None and instance.is_behind:
        promise = replace(promise, void=NotYet())
    elif promise.void is None and source is None:
        promise = replace(promise, void=NothingHeld(label))
    if promise.void is not None or source is None:
        return Price(point, i, eps, promise)
    of_total = partial(
        proven_price, source.differences, source.noise, cap=source.cap, among=candidates.allowed
    )
    if spread is None:
        spread = units.scale * _spread(algorithm)
    share = None
    if eps is None:
        least = units.scale * of_total(0.0).least_eps
        if lies is not None:
            least = min(least, lies.better(lies.least) or math.inf)
        share = next((share for share in SHARES if share * spread >= least), SHARES[-1])
        eps = share * spread
    found = of_total(eps / units.scale)
    budget = policy.budgets[label]
    return Price(
        x=point,
        index=i,
        eps=eps,
        promise=promise,
        share=share,
        value=None if found.value is None else units.scale * found.value,
        without_cap=None if found.without_cap is None else units.scale * found.without_cap,
        least_eps=units.scale * found.least_eps,
        probability=1.0 - budget.delta if lies is None else lies.probability,
        cheapest=None if lies is not None else _bribe(algorithm, instance, source.cap, units),
        cap=units.scale * algorithm.assumptions.c_max,
        in_lies=None if lies is None else InLies.of(lies, eps),
        has_other=found.rival is not None,
        spread=spread,
        n_compared=algorithm.search.n_compared,
        is_constrained=candidates.allowed is not None,
        between_candidates=units.scale * algorithm.search.gap(algorithm.assumptions),
        held_by=None if policy.holds_all else (label, instance.n_readings),
    )


def _bribe(algorithm: "Algorithm", instance: Instance, cap: float, units: Units) -> Bribe | None:
    """The cheapest bribe; None where a reading it changes was or would be cut.

    What it would take to change a reading that was cut depends on what was told, not on what counts.
    """
    source = instance.source(int(np.argmax(instance.mu)))
    assert source is not None
    told = [
        reading
        for reading in algorithm.journal.readings
        if reading.learner is not None
        and any(each is instance for each, _ in algorithm.policy.lessons(reading))
    ]
    row = instance.posterior.tally.row
    rows = np.array([row[algorithm.search.located(each)[0]] for each in told], dtype=np.intp)
    lams = np.array([reading.lam for reading in told])
    bribe = cheapest_bribe(source.differences, cap, rows, lams)
    lies = {}
    for reading, lie in zip(told, bribe.lies.tolist(), strict=True):
        if lie and (abs(reading.y) >= units.limit or abs(reading.y + lie) > units.limit):
            return None
        if lie:
            lies[reading.t] = units.amount(lie)
    gap = None
    if bribe.rival is not None:
        gap = units.scale * float(instance.mu[bribe.winner] - instance.mu[bribe.rival])
    return Bribe(units.scale * bribe.value, lies, gap)


def _spread(algorithm: "Algorithm") -> float:
    """The range of the readings that are no lies for certain, in model units."""
    lies = certain(algorithm)
    values = [reading.y for reading in algorithm.journal.readings if reading.t not in lies]
    return max(values, default=0.0) - min(values, default=0.0)
