"""Recommendation and certificates, from bounds that are valid for the threat at hand."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from unbribable.decision.proposal import Reading
from unbribable.decision.proven.by_lies import ByLies
from unbribable.decision.proven.conditions import (
    BetaGiven,
    Blind,
    Chosen,
    Condition,
    Crossed,
    Missing,
    Refuted,
    Void,
)
from unbribable.decision.proven.guarantee import NOTHING, Guarantee
from unbribable.decision.proven.left_out import LeftOut
from unbribable.decision.proven.levels import Believer
from unbribable.decision.proven.stated import NOTHING_STATED, Stated
from unbribable.decision.remarks import Caution, Remark
from unbribable.decision.units import Units
from unbribable.model import checks, spoken
from unbribable.model.box import Candidates
from unbribable.model.checks import Bools, Bounds, Floats
from unbribable.model.spoken import Spoken
from unbribable.theory.assumptions import Assumptions
from unbribable.theory.differences import paired_certificate

if TYPE_CHECKING:
    from unbribable.decision.algorithm import Algorithm


@dataclass(frozen=True, eq=False)
class ValidBounds:
    """The intersection of the trusted instances' bounds, and what it certifies.

    Upper bounds are cut at B0 and lower ones at -B0 in the certificates (in an acquisition that
    would tie everything).
    """

    upper: Floats
    lower: Floats
    B0: float
    is_refuted: bool
    """Whether they leave some candidate no value at all, which true assumptions hardly allow."""
    instances: tuple[Believer, ...] = ()
    """Those trusted: they bound differences, too."""
    allowed: Bools | None = None
    """The candidates that may be recommended, (n,), with which certificates compare; None: all."""

    @classmethod
    def of(
        cls,
        instances: Sequence[Believer],
        assumptions: Assumptions,
        allowed: Bools | None = None,
    ) -> "ValidBounds":
        """ucb_v = min of the ucb_bar, lcb_v = max of the lcb_bar."""
        upper = reduce(np.minimum, [instance.ucb_bar for instance in instances])
        lower = reduce(np.maximum, [instance.lcb_bar for instance in instances])
        return cls.between(lower, upper, assumptions, tuple(instances), allowed)

    @classmethod
    def between(
        cls,
        lower: Floats,
        upper: Floats,
        assumptions: Assumptions,
        instances: tuple[Believer, ...] = (),
        allowed: Bools | None = None,
    ) -> "ValidBounds":
        """Of bounds that hold already."""
        B0 = assumptions.B0
        least, most = np.maximum(lower, -B0), np.minimum(upper, B0)
        is_refuted = bool((least > most + assumptions.tolerance).any())
        return cls(upper, lower, B0, is_refuted, instances, allowed)

    @property
    def cut(self) -> tuple[Floats, Floats]:
        """Lower and upper bounds of all candidates, cut, (n,) each."""
        return np.maximum(self.lower, -self.B0), np.minimum(self.upper, self.B0)

    @property
    def highest(self) -> float:
        """f is at most that at every candidate allowed."""
        upper = self.upper if self.allowed is None else self.upper[self.allowed]
        return min(float(upper.max()), self.B0)

    def interval(self, i: int) -> tuple[float, float]:
        """The cut interval of candidate i."""
        return max(float(self.lower[i]), -self.B0), min(float(self.upper[i]), self.B0)

    def simple_regret(self, i: int) -> float:
        """f(x*) - f(x_i) is at most that, at any stopping time: `paired_certificate`, O(m n).

        At most max_x ucb_v(x) - lcb_v(x_i), on the same event: what an instance says of the difference
        of two points needs no further delta.
        """
        lower, upper = self.cut
        sources = [source for instance in self.instances if (source := instance.source(i))]
        single = upper - lower[i]
        if self.allowed is not None:
            single[~self.allowed] = -np.inf
        return paired_certificate(i, single, sources)

    def regret(self, indices: Sequence[int]) -> float:
        """sum_t (max_x ucb_v(x) - lcb_v(x_t)): the regret of these rounds, in hindsight (ours).

        Any algorithm, no constants. Proof. f(x*) <= max ucb_v and f(x_t) >= lcb_v(x_t). QED
        """
        best = self.highest
        lower = np.maximum(self.lower[np.asarray(indices, dtype=np.intp)], -self.B0)
        return float(np.sum(np.maximum(best - lower, 0.0)))


@dataclass(frozen=True)
class Level(Spoken):
    """A certificate that holds if the unknown corruption is at most C; it prints as when it holds."""

    C: float
    regret_bound: float | None
    """None where the bounds of this level leave some point no value. Then C is larger than this
    level's, or something else that it supposes is false."""
    threat: str = "weak"
    conditions: tuple[Condition, ...] = ()
    """What else it supposes."""

    def in_units(self, units: Units) -> "Level":
        """The same in other units."""
        bound = None if self.regret_bound is None else units.scale * self.regret_bound
        return replace(self, C=units.scale * self.C, regret_bound=bound)


@dataclass(frozen=True, eq=False)
class Recommendation(Spoken):
    """The point to use, its interval, and what is certain about it; it prints as an answer in lines."""

    x: Floats
    index: int
    params: dict[str, Any] | None = None
    """x by the names of a named space."""
    estimate: float | None = None
    """The value of f to expect there. Not guaranteed."""
    estimate_sd: float | None = None
    """Its standard deviation, likewise."""
    n_honest: int | None = None
    """Readings that look honest, on which the estimate rests; None: it rests on all."""
    cautions: tuple[Caution, ...] = ()
    """Why the estimate should not be relied on yet; empty if nothing speaks against it."""
    remarks: tuple[Remark, ...] = ()
    """What to know of the worst case before relying on it, the gravest first."""
    lower: float | None = None
    """f(x) is at least that (where guaranteed). None if the readings contradict the assumptions."""
    upper: float | None = None
    """f(x) is at most that (where guaranteed). None if the readings contradict the assumptions."""
    regret_bound: float | None = None
    """Certificate: f(x*) - f(x) is at most that, x* the best candidate. None where nothing is
    guaranteed."""
    probability: float | None = None
    """With which interval and certificate hold, at least; None where nothing is guaranteed."""
    promise: Guarantee = NOTHING
    """Against whom certificate and interval hold, and if what; or why nothing does."""
    is_wide: bool = False
    """Whether the interval is wider than all readings that look honest together."""
    rule: str = "own"
    levels: tuple[Level, ...] = ()
    """For unknown corruption: the certificate of this point at every level."""
    n_compared: int | None = None
    """On a Box: with how many candidates the certificate compares. None: with every point."""
    is_constrained: bool = False
    """Whether not every point is allowed: then the certificate compares with those that are."""
    between_candidates: float = 0.0
    """On a Box: by how much f may be higher between the candidates than at them, B times the largest
    kernel distance to a candidate. An estimate, found by search; not in `regret_bound`."""
    lies: ByLies | None = None
    """What the readings say of f(x) by the number of lies; None where there is no reading."""
    n_lies: int | None = None
    """The number of lies that `lower` and `upper` allow for, where lies are counted."""
    clearly_worse: float | None = None
    """A round value that is worse than the estimate by a quarter of the range of the honest readings, or
    by up to half as much again. None where they have no range."""
    n_at_point: int = 0
    """How many readings there are of the point itself."""
    n_flagged_at_point: int = 0
    """How many of these look false."""

    @property
    def threat(self) -> str:
        """Against whom the certificate holds: "none", "weak" or "strong"."""
        return self.promise.threat

    @property
    def guarantee(self) -> str:
        """What is guaranteed, or why nothing is, in words."""
        return spoken.guarantee(self)

    def worst_case(self, n_lies: int) -> tuple[float, float] | None:
        """What f(x) can be if at most so many readings are lies, of any size.

        None: the readings prove that there are more. All numbers of lies hold together, with the
        probability 1 - delta of the assumptions.
        """
        n_lies = checks.integer("n_lies", n_lies, at_least=0)
        if self.lies is None:
            return -math.inf, math.inf
        return self.lies.interval(n_lies)

    @property
    def by_lies(self) -> tuple[tuple[int, float, float], ...]:
        """(n_lies, lower, upper) from the least number on, to N_SHOWN or what was allowed for."""
        if self.lies is None:
            return ()
        return self.lies.table(max(N_SHOWN, self.n_lies or 0, self.lies.left_out.n_false))

    def lies_needed(self, value: float) -> int:
        """So many readings at least must be lies if f(x) is worse than value; 0: none need be."""
        return 0 if self.lies is None else self.lies.needed(checks.real("value", value))

    @property
    def n_needed(self) -> int | None:
        """So many readings at least must be lies if f(x) is worse than `clearly_worse`."""
        return None if self.clearly_worse is None else self.lies_needed(self.clearly_worse)

    @property
    def interval(self) -> tuple[float, float]:
        """(lower, upper); NaN where there is none."""
        if self.lower is None or self.upper is None:
            return math.nan, math.nan
        return self.lower, self.upper


N_SHOWN = 3
"""Lies that a table goes to, at least."""


def refuted(algorithm: "Algorithm") -> Refuted | None:
    """That the readings contradict the assumptions, with all that may be wrong; None if they do not."""
    if algorithm.refuted is None:
        return None
    journal, conditions = algorithm.journal, list[Condition]()
    if algorithm.policy.is_drawn:
        conditions.append(Blind())
    if journal.lost:
        conditions.append(Missing(len(journal.lost)))
    if journal.n_chosen:
        conditions.append(Chosen(journal.n_chosen))
    return Refuted(algorithm.refuted, algorithm.assumptions.delta, tuple(conditions))


def trusted(
    algorithm: "Algorithm", threat: str | None = None, C: float | None = None
) -> tuple[Guarantee, ValidBounds]:
    """The guarantee, void where the run itself has voided it, and the bounds that it is about."""
    guarantee, assumed = algorithm.policy.trust(threat, C), algorithm.assumptions
    instances = [algorithm.policy.named(label) for label in guarantee.labels]
    bounds = ValidBounds.of(instances, assumed, algorithm.search.candidates.allowed)
    beta = None if algorithm.options.beta is None else BetaGiven()
    void: Void | None = beta or algorithm.journal.selection or refuted(algorithm) or guarantee.void
    guarantee = replace(
        guarantee,
        void=void,
        is_refuted=algorithm.refuted is not None,
        cap=assumed.c_max,
        conditions=algorithm.journal.conditions,
    )
    return looked_at(guarantee, bounds), bounds


def looked_at(guarantee: Guarantee, bounds: ValidBounds) -> Guarantee:
    """The guarantee, void where its bounds leave some point no value."""
    is_void = guarantee.void is not None or not bounds.is_refuted
    return guarantee if is_void else replace(guarantee, void=Crossed())


def claim(bounds: ValidBounds, guarantee: Guarantee) -> Bounds | None:
    """Bounds of f at the candidates, where they are guaranteed."""
    return bounds.cut if looked_at(guarantee, bounds).void is None else None


def believed(bounds: ValidBounds, i: int, assumed: Assumptions) -> tuple[float, float]:
    """The posterior mean at candidate i, and how far noise alone moves it: noise_std/sqrt(lam) sigma.

    Of the instances trusted the one that knows most of it. The noise of the readings moves the mean by
    noise_std |weights| at most in the standard deviation, and |weights| <= sigma/sqrt(lam).
    """
    knows = min(bounds.instances, key=lambda instance: float(instance.posterior.var[i]))
    is_plain = knows.is_behind or bounds.is_refuted
    mean = (knows.now.mu if is_plain else knows.mu)[i]
    var = max(float(knows.posterior.var[i]), 0.0)
    return float(mean), assumed.noise_std * math.sqrt(var / assumed.lam)


def left_out(
    algorithm: "Algorithm",
    shares: tuple[float, float] | None = None,
    stated: Stated = NOTHING_STATED,
) -> LeftOut:
    """The algorithm's readings, to say what f can be if some of them are lies.

    Args:
        algorithm: With a reading.
        shares: The probabilities with which the honest noises may exceed their energy, and one its
            level; if None, those that the algorithm sets aside.
        stated: What is known besides. A reading that is false for certain is held apart.
    """
    journal, assumed = algorithm.journal, algorithm.assumptions
    rounds = np.array([reading.t for reading in journal.readings])
    if journal.n_table:  # rows have no order: each may have been the last one read
        rounds[: journal.n_table] = rounds[: journal.n_table].max()
    energy, level = shares or algorithm.policy.shares_of_lies()
    held = [k for k, reading in enumerate(journal.readings) if reading.t not in stated.false]
    readings = [journal.readings[k] for k in held]
    return LeftOut(
        np.array([reading.u for reading in readings]),
        np.array([reading.y for reading in readings]),
        np.sqrt([reading.lam / assumed.lam for reading in readings]),
        rounds[held],
        assumed,
        energy_delta=energy,
        level_delta=level,
        n_false=len(rounds) - len(held),
        low=stated.low,
        high=stated.high,
    )


def by_lies(
    algorithm: "Algorithm",
    i: int,
    units: Units,
    shares: tuple[float, float] | None = None,
    stated: Stated = NOTHING_STATED,
) -> ByLies:
    """What the readings say of candidate i, and of those that may be better, by the number of lies.

    Args:
        algorithm: With a reading.
        i: The candidate.
        units: In which to say everything.
        shares: As in `left_out`.
        stated: Likewise.
    """
    candidates, U = algorithm.search.candidates, algorithm.search.candidates.coordinates
    if candidates.allowed is not None:
        U, i = np.concatenate([U[[i]], candidates.compared]), 0
    return ByLies(left_out(algorithm, shares, stated), U, i, units)


def recommendation(
    candidates: Candidates,
    bounds: ValidBounds,
    guarantee: Guarantee,
    i: int,
    rule: str,
    levels: tuple[Level, ...],
    gap: float,
    units: Units,
    n_compared: int | None = None,
    lies: ByLies | None = None,
) -> Recommendation:
    """Candidate i with its interval and certificate, in these units."""
    guarantee = looked_at(guarantee, bounds)
    is_void = guarantee.void is not None
    certificate = None if is_void else units.scale * bounds.simple_regret(i)
    is_refuted = guarantee.is_refuted or bounds.is_refuted
    lower, upper = (None, None) if is_refuted else units.interval(*bounds.interval(i))
    n_lies = None if guarantee.lies is None else guarantee.lies.n_lies
    return Recommendation(
        x=candidates.x_of(candidates.coordinates[i]),
        index=i,
        lower=lower,
        upper=upper,
        regret_bound=certificate,
        probability=None if is_void else guarantee.probability,
        promise=guarantee.in_units(units.scale),
        rule=rule,
        levels=tuple(
            replace(level.in_units(units), conditions=guarantee.conditions) for level in levels
        ),
        n_compared=n_compared,
        is_constrained=bounds.allowed is not None,
        between_candidates=gap,
        lies=lies,
        n_lies=n_lies,
    )


def tightened(best: Recommendation, bounds: ValidBounds, lies: ByLies, units: Units) -> Recommendation:
    """The recommendation, tightened by what leaving readings out says; on one event with the bounds."""
    if best.lower is None or best.upper is None or best.n_lies is None:
        return best
    found, more = lies.interval(best.n_lies), lies.better(best.n_lies)
    lower, upper = best.lower, best.upper
    if found is not None:
        lower, upper = max(lower, found[0]), min(upper, found[1])
    certificate = best.regret_bound
    if certificate is not None:
        highest = units.from_model(bounds.highest)
        worst = lower if units.sign > 0.0 else upper
        certificate = min(certificate, max(0.0, units.sign * (highest - worst)))
        certificate = certificate if more is None else min(certificate, more)
    return replace(best, lower=lower, upper=upper, regret_bound=certificate)


def best_now(bounds: ValidBounds) -> int:
    """The candidate with the largest lower bound (ours).

    It counts readings that the certified bounds cannot use yet.
    """
    now = [instance.mu - instance.width for instance in bounds.instances if instance.is_behind]
    lower = np.max([bounds.lower, *now], axis=0)
    return int(np.argmax(lower if bounds.allowed is None else np.where(bounds.allowed, lower, -np.inf)))


def best_when_chosen(algorithm: "Algorithm", guarantee: Guarantee) -> Reading:
    """x_{t*}, t* = argmax_t lcb_{t-1}(x_t) over rounds of trusted instances [BKS20, Eq. 61].

    Rounds that were learned as part of a long history have no bound of their own, and do not count.
    """
    rounds = [
        (reading.lcb, -reading.t, reading)
        for reading in algorithm.journal.readings
        if algorithm.policy.is_trusted(reading, guarantee.labels) and reading.chosen_by != "user"
        if reading.lcb is not None
    ]
    if not rounds:
        raise RuntimeError(
            "rule='paper' needs a reading of a trusted instance with a bound from before it, there is "
            "none; tell one, or use rule='lcb'"
        )
    return max(rounds, key=lambda one: one[:2])[2]
