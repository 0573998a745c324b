"""What it would have taken to bribe an algorithm."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from unbribable.decision.conditions import Condition, supposition
from unbribable.decision.instance import Instance
from unbribable.decision.proven.by_lies import ByLies
from unbribable.decision.proven.certain import certain
from unbribable.decision.recommend import best_now, left_out, trusted, why_void
from unbribable.decision.units import Units
from unbribable.model import checks
from unbribable.model.checks import Floats
from unbribable.theory.price import Bribe, cheapest_bribe
from unbribable.theory.price import Price as Proven
from unbribable.theory.price import price as proven_price

if TYPE_CHECKING:
    from unbribable.decision.algorithm import Algorithm

SHARES = (0.05, 0.1, 0.2, 0.5)
"""Shares of the range of the readings that look honest: the eps to ask a price for, by default."""

ROUNDS = ("round", 1)
"""What a round is called, and the number of the first one."""


@dataclass(frozen=True, eq=False)
class Price:
    """How much lying it takes before another candidate can be better by more than eps."""

    x: Floats
    """The point in question."""
    index: int
    eps: float | None
    """None where nothing is guaranteed and no eps was given."""
    words: str
    """What is certain, or why nothing is."""
    sentence: str
    """The first sentence of that, which says it plainly."""
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
    n_needed: int | None = None
    """So many readings at least must be lies, of any size, if a candidate is better by more than eps; 0:
    not even one. None where lies are not counted."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data, without the point; None for what has no limit."""
        plain = {name: value for name, value in asdict(self).items() if name not in ("x", "index")}
        plain = {name: None if value == math.inf else value for name, value in plain.items()}
        return {**plain, "lies": {str(t): lie for t, lie in self.lies.items()}}


def price(
    algorithm: "Algorithm",
    eps: float | None,
    x: Any,
    units: Units,
    *,
    spread: float | None = None,
    supposed: Sequence[Condition] = (),
    counted: tuple[str, int] = ROUNDS,
    lies: ByLies | None = None,
) -> Price:
    """`Algorithm.price`: of the instance that holds every reading, or of the top layer.

    Args:
        algorithm: With its readings.
        eps: By how much another candidate may be better; if None, the smallest of SHARES for which a
            price is established.
        x: A candidate; the recommended one if None.
        units: In which to give eps, and to say everything.
        spread: Range of the readings that look honest, in these units; of those that are no lies for
            certain if None.
        supposed: What it supposes besides the assumptions and of missing readings.
        counted: What a round is called, and the number of the first one.
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
    void = why_void(guarantee, bounds, units)
    if lies is not None and not algorithm.journal.is_selected:  # says itself how many there must be
        void = None
    if void is None and instance.is_behind:
        void = "No price yet: it must not rest on some of the readings alone." + guarantee.waits
    elif void is None and source is None:
        void = f"No price yet: it would rest on the readings of {label}, which has none."
    if void is not None or source is None:
        return Price(point, i, eps, void or "", void or "")
    if lies is None and guarantee.lies is not None:
        lies = ByLies(left_out(algorithm), candidates.coordinates, i, units)
    if spread is None:
        spread = units.scale * _spread(algorithm)
    by = ""
    if eps is None:
        least = units.scale * proven_price(source.differences, source.noise, 0.0, source.cap).least_eps
        if lies is not None:
            least = min(least, lies.better(lies.least) or math.inf)
        share = next((share for share in SHARES if share * spread >= least), SHARES[-1])
        eps, by = share * spread, f"{100.0 * share:g} % of the range read"
    found = proven_price(source.differences, source.noise, eps / units.scale, source.cap)
    bribe, changed = None, dict[int, float]()
    if lies is None:  # else what looks best is no matter of one belief that trusts every reading
        bribe, changed = _bribe(algorithm, instance, source.cap, units)
    changed = {t - 1 + counted[1]: lie for t, lie in changed.items()}
    budget = policy.budgets[label]
    probability = 1.0 - budget.delta
    clause = supposition([*supposed, *guarantee.conditions])
    sure = f"with probability at least {probability:.4g}" + (f" if {clause}" if clause else "")
    sentence, more = _words(algorithm, found, (f"{eps:.4g}", by), units, sure, spread)
    n_needed = None
    if lies is not None:
        probability = lies.probability
        n_needed = lies.needed_for_better(eps)
        by_number = _number_words(algorithm, lies, n_needed, (f"{eps:.4g}", by), clause)
        sentence, more = by_number, " ".join(filter(None, [sentence if found.value else "", more]))
    words = [
        sentence,
        more,
        _bribe_words(bribe, changed, instance, eps, units, counted[0]),
        "" if policy.holds_all else _share_words(instance),
    ]
    return Price(
        point,
        i,
        eps,
        " ".join(filter(None, words)),
        sentence,
        None if found.value is None else units.scale * found.value,
        None if found.without_cap is None else units.scale * found.without_cap,
        units.scale * found.least_eps,
        probability,
        None if bribe is None else units.scale * bribe.value,
        changed,
        n_needed,
    )


def _bribe(
    algorithm: "Algorithm", instance: Instance, cap: float, units: Units
) -> tuple[Bribe | None, dict[int, float]]:
    """The cheapest bribe and its lies by round; None where a reading it changes was or would be cut.

    What it would take to change a reading that was cut depends on what was told, not on what counts.
    """
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
        if lie and (abs(reading.y) >= units.limit or abs(reading.y + lie) > units.limit):
            return None, {}
        if lie:
            lies[reading.t] = units.amount(lie)
    return bribe, lies


def _words(
    algorithm: "Algorithm",
    found: Proven,
    eps: tuple[str, str],
    units: Units,
    sure: str,
    spread: float,
) -> tuple[str, str]:
    """What is certain, and with which probability, in a sentence; and what else there is to say.

    A total that rests on c_max is not said without it.
    """
    search = algorithm.search
    by = f"{eps[0]} ({eps[1]})" if eps[1] else eps[0]
    where = search.regret_words(units.scale * search.gap(algorithm.assumptions))
    other = _other(algorithm)
    cap = units.scale * algorithm.assumptions.c_max
    if found.rival is None:
        return "There is no other point that could be better.", ""
    if found.value is None or found.without_cap is None:
        return (
            f"Whether {other} is better by more than {by} is open even if nobody lied: noise and "
            f"too few readings leave {units.scale * found.least_eps:.4g} open."
        ), ""
    by = ", ".join(filter(None, eps))
    value, without_cap, more = units.scale * found.value, units.scale * found.without_cap, ""
    if math.isinf(value):
        sentence = (
            f"Even if every reading were off by as much as {cap:.4g} (c_max), {other} could not be "
            f"better by more than {by} ({sure})."
        )
        if math.isfinite(without_cap):
            more = f"This rests on that cap: without it, lies totalling {without_cap:.4g} leave it open."
        return sentence, more + where[1]
    sentence = (
        f"Lies totalling less than {without_cap:.4g}{_in_readings(without_cap, spread)} could not have "
        f"made {other} better by more than {by} ({sure})."
    )
    if without_cap < value and value > cap:
        more = f"If no single lie exceeds {cap:.4g} (c_max): less than {value:.4g}."
    return sentence, more + where[1]


def _other(algorithm: "Algorithm") -> str:
    """Which point could be better."""
    search = algorithm.search
    has_words = search.regret_words(search.gap(algorithm.assumptions))[1]
    return f"another of the {search.candidates.n} candidates" if has_words else "another point"


def _number_words(algorithm: "Algorithm", lies: ByLies, n: int, by: tuple[str, str], clause: str) -> str:
    """How many readings would have to be lies, in a sentence."""
    other, than = _other(algorithm), f"{by[0]} ({by[1]})" if by[1] else by[0]
    if n <= lies.least:
        known = f"even if only the {n} that must be false are" if n else "even if nobody lied"
        left = lies.better(lies.least)
        much = "" if left is None else f": noise and too few readings leave {left:.4g} open"
        return f"Whether {other} is better by more than {than} is open {known}{much}."
    sure = f"with probability at least {lies.probability:.4g}" + (f" if {clause}" if clause else "")
    return (
        f"At least {n} of the {lies.n_readings} readings would have to be lies, of any size, for "
        f"{other} to be better by more than {than} ({sure})."
    )


def _spread(algorithm: "Algorithm") -> float:
    """The range of the readings that are no lies for certain, in model units."""
    lies = certain(algorithm)
    values = [reading.y for reading in algorithm.journal.readings if reading.t not in lies]
    return max(values, default=0.0) - min(values, default=0.0)


def _in_readings(value: float, spread: float) -> str:
    """A total, which may all be in one reading, as a number of wholly wrong readings; in brackets."""
    if spread <= 0.0:
        return ""
    n = value / spread
    if n < 1.5:
        return f" (one reading off by {100.0 * n:.3g} % of the whole range)"
    many = "one reading" if n < 2.0 else f"{math.floor(n)} readings"
    return f" ({many} off by the whole range)"


def _bribe_words(
    bribe: Bribe | None, lies: dict[int, float], instance: Instance, eps: float, units: Units, name: str
) -> str:
    """The cheapest bribe, where the point that it lifts is not as good as the first one anyway."""
    if bribe is None or bribe.rival is None:
        return ""
    if math.isinf(bribe.value):
        return "No lies of at most c_max each would have changed which point looks best."
    if units.scale * float(instance.mu[bribe.winner] - instance.mu[bribe.rival]) <= eps:
        return ""
    n, rounds = len(lies), ", ".join(map(str, list(lies)[:10])) + (", ..." if len(lies) > 10 else "")
    which = f"{n} readings ({name}s {rounds})" if n > 1 else f"the reading of {name} {rounds}"
    return (
        f"Had {which} been told differently, by {units.scale * bribe.value:.4g} in all, another point "
        "would look best. In hindsight only: other values would have led to other points."
    )


def _share_words(instance: Instance) -> str:
    n = instance.n_readings
    held = "the one reading" if n == 1 else f"the {n} readings"
    return f"All this is about {held} that {instance.label} holds, and about lies in them alone."
