"""Recommendation and certificates, from bounds that are valid for the threat at hand."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from unbribable.decision import words
from unbribable.decision.conditions import (
    Blind,
    Chosen,
    Condition,
    Missing,
    clauses,
    refutation,
    supposition,
    waits,
)
from unbribable.decision.levels import Believer
from unbribable.decision.proposal import Reading
from unbribable.decision.proven.by_lies import ByLies
from unbribable.decision.proven.counted import CountedLies
from unbribable.decision.proven.left_out import LeftOut
from unbribable.decision.units import MODEL_UNITS, Units
from unbribable.model import checks
from unbribable.model.box import Candidates
from unbribable.model.checks import Floats
from unbribable.theory.assumptions import Assumptions
from unbribable.theory.differences import paired_certificate

if TYPE_CHECKING:
    from unbribable.decision.algorithm import Algorithm


@dataclass(frozen=True)
class Guarantee:
    """Which instances may be trusted against a threat, and with what probability."""

    threat: str
    """ "none", "weak" or "strong"."""
    labels: tuple[str, ...]
    """The instances whose bounds hold, all on one event."""
    probability: float
    """Of that event, at least."""
    words: str
    """The threat and the budget, as the middle of a sentence; {C} and {cap} stand for their values."""
    C: float = 0.0
    """The budget."""
    void: str | None = None
    """Why nothing is guaranteed, if so."""
    reason: str = ""
    """The same in a short clause."""
    is_refuted: bool = False
    """Whether that is because the readings contradict the assumptions."""
    cap: float = math.inf
    """The largest single lie, c_max."""
    lies: CountedLies | None = None
    """The number of lies it allows for, where they are counted."""
    conditions: tuple[Condition, ...] = ()
    """What else it supposes, and what it does not rest on yet."""

    def said(self, units: Units = MODEL_UNITS) -> str:
        """The words, with the budget in these units, the cap where it says more, and the condition."""
        budget = f"{units.scale * self.C:g}"
        if self.cap < self.C:
            budget += f" and no single lie above {units.scale * self.cap:g}"
        words = self.words.replace("{C}", budget).replace("{cap}", f"{units.scale * self.cap:g}")
        clause = supposition(self.conditions)
        return f"{words}, and if {clause}" if clause else words

    def supposed(self, units: Units = MODEL_UNITS) -> str:
        """What it supposes, in a short clause without "if"."""
        if self.threat == "none":
            words = "no reading is a lie"
        elif self.lies is not None:
            words = self.lies.supposed.replace("{cap}", f"{units.scale * self.cap:.4g}")
        else:
            blind = ", told without knowing the draws," if self.threat == "weak" else ""
            words = f"lies{blind} total at most {units.scale * self.C:.4g}"
            if self.cap < self.C:
                words += f" and none exceeds {units.scale * self.cap:.4g} (c_max)"
        return ", ".join([words, *clauses(self.conditions)])

    @property
    def waits(self) -> str:
        """A sentence about the readings it does not rest on yet; empty if there are none."""
        return waits(self.conditions)


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

    @classmethod
    def of(cls, instances: Sequence[Believer], assumptions: Assumptions) -> "ValidBounds":
        """ucb_v = min of the ucb_bar, lcb_v = max of the lcb_bar."""
        upper = reduce(np.minimum, [instance.ucb_bar for instance in instances])
        lower = reduce(np.maximum, [instance.lcb_bar for instance in instances])
        B0 = assumptions.B0
        least, most = np.maximum(lower, -B0), np.minimum(upper, B0)
        is_refuted = bool((least > most + assumptions.tolerance).any())
        return cls(upper, lower, B0, is_refuted, tuple(instances))

    @property
    def cut(self) -> tuple[Floats, Floats]:
        """Lower and upper bounds of all candidates, cut, (n,) each."""
        return np.maximum(self.lower, -self.B0), np.minimum(self.upper, self.B0)

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
        return paired_certificate(i, upper - lower[i], sources)

    def regret(self, indices: Sequence[int]) -> float:
        """sum_t (max_x ucb_v(x) - lcb_v(x_t)): the regret of these rounds, in hindsight (ours).

        Any algorithm, no constants. Proof. f(x*) <= max ucb_v and f(x_t) >= lcb_v(x_t). QED
        """
        best = min(float(self.upper.max()), self.B0)
        lower = np.maximum(self.lower[np.asarray(indices, dtype=np.intp)], -self.B0)
        return float(np.sum(np.maximum(best - lower, 0.0)))


@dataclass(frozen=True)
class Level:
    """A certificate that holds if the unknown corruption is at most C."""

    C: float
    regret_bound: float | None
    """None where the bounds of this level leave some point no value. Then C is larger than this
    level's, or something else that `words` names is false."""
    threat: str = "weak"
    conditions: tuple[Condition, ...] = ()
    """What else it supposes."""

    @property
    def words(self) -> str:
        """When it holds, or that the readings contradict just that."""
        clause = supposition(self.conditions)
        whole = f"{self._premises}, and if {clause}" if clause else self._premises
        return f"{'contradicted' if self.regret_bound is None else 'valid'} if {whole}"

    @property
    def _premises(self) -> str:
        against = "against any adversary" if self.threat == "strong" else "and the adversary is weak"
        return f"C <= {self.C:g}, no single lie exceeds c_max, {against}"

    def in_units(self, units: Units) -> "Level":
        """The same in other units."""
        bound = None if self.regret_bound is None else units.scale * self.regret_bound
        return replace(self, C=units.scale * self.C, regret_bound=bound)


@dataclass(frozen=True, eq=False)
class Recommendation:
    """The point to use, its interval, and what is certain about it."""

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
    caution: str = ""
    """Why the estimate should not be relied on yet, in words; empty if nothing speaks against it."""
    remarks: tuple[str, ...] = ()
    """What to know of the worst case before relying on it, a short line each, the gravest first."""
    lower: float | None = None
    """f(x) is at least that (where guaranteed). None if the readings contradict the assumptions."""
    upper: float | None = None
    """f(x) is at most that (where guaranteed). None if the readings contradict the assumptions."""
    regret_bound: float | None = None
    """Certificate: f(x*) - f(x) is at most that, x* the best candidate. None where nothing is
    guaranteed."""
    probability: float | None = None
    """With which interval and certificate hold, at least; None where nothing is guaranteed."""
    threat: str = "none"
    supposed: str = ""
    """What interval and certificate suppose, in a short clause."""
    is_wide: bool = False
    """Whether the interval is wider than all readings that look honest together."""
    rule: str = "own"
    reason: str = ""
    """Why nothing is guaranteed, in a short clause; empty if something is."""
    guarantee: str = "No guarantee."
    """The guarantee, or why there is none, in words."""
    levels: tuple[Level, ...] = ()
    """For unknown corruption: the certificate of this point at every level."""
    between_candidates: float = 0.0
    """On a Box: by how much f may be higher between the candidates than at them, B times the largest
    kernel distance to a candidate. An estimate, found by search; not in `regret_bound`."""
    lies: ByLies | None = None
    """What the readings say of f(x) by the number of lies; None where there is no reading."""
    n_lies: int | None = None
    """The number of lies that `lower` and `upper` allow for, where lies are counted."""
    premise: str = ""
    """What they suppose besides that, in a short clause."""
    clearly_worse: float | None = None
    """A round value that is worse than the estimate by a quarter of the range of the honest readings, or
    by up to half as much again. None where they have no range."""

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
        return self.lies.table(max(N_SHOWN, self.n_lies or 0))

    def lies_needed(self, value: float) -> int:
        """So many readings at least must be lies if f(x) is worse than value; 0: none need be."""
        return 0 if self.lies is None else self.lies.needed(checks.real("value", value))

    @property
    def n_needed(self) -> int | None:
        """So many readings at least must be lies if f(x) is worse than `clearly_worse`."""
        return None if self.clearly_worse is None else self.lies_needed(self.clearly_worse)

    def claim(self, what: str = "f(x)") -> str:
        """That f(x) is clearly worse than the estimate: `f(x) < 1`."""
        assert self.lies is not None
        return f"{what} {'<' if self.lies.units.sign > 0.0 else '>'} {self.clearly_worse:.12g}"

    def needs(self, what: str = "f(x)") -> str:
        """How many false readings it would take for f(x) to be clearly worse, in words.

        Empty where the worst case does not count lies, or where the assumptions alone exclude it.

        Args:
            what: What the value is called.
        """
        lies = self.lies
        if lies is None or None in (self.n_lies, self.lower, self.probability):
            return ""
        n = self.n_needed
        if n is None or n > lies.n_readings:
            return ""
        claim = self.claim(what)
        if not n:
            return f"{claim} is not excluded even if no reading is false"
        readings = f"false reading{'s' * (n > 1)} of {lies.n_readings}"
        if n == lies.least:
            return f"{claim} is not excluded, since there must be {n} {readings}"
        chance = f"with the same probability{f' if {self.premise}' if self.premise else ''}"
        return f"{claim} would need at least {n} {readings}, {chance}"

    @property
    def interval(self) -> tuple[float, float]:
        """(lower, upper); NaN where there is none."""
        if self.lower is None or self.upper is None:
            return math.nan, math.nan
        return self.lower, self.upper

    def __str__(self) -> str:
        """The point, the value to expect there, the worst case, and what that supposes."""
        return "\n".join(self.lines())

    def lines(self, n_use: int = 3, n_remarks: int = 2, *, has_needs: bool = True) -> list[str]:
        """The same in lines of at most `words.WIDTH` characters.

        Args:
            n_use: Lines for the point, at most.
            n_remarks: Remarks, at most.
            has_needs: Whether to say how many false readings it would take for f(x) to be clearly worse.
        """
        lines = words.wrapped(f"use {words.point(self.x, self.params)}", most=n_use)
        if self.estimate is not None and self.estimate_sd is not None:
            n = "the one reading" if self.n_honest == 1 else f"the {self.n_honest} readings"
            which = f"{n} that look{'s' * (self.n_honest == 1)} honest"
            which = "all readings" if self.n_honest is None else which
            expected = words.plus_minus(self.estimate, self.estimate_sd)
            lines += words.wrapped(f"expected value: {expected} (an estimate from {which})", 2, 1)
        for text, most in [
            (self.caution, 2),
            (self._worst, None),  # a condition is never cut
            (self.needs() if has_needs else "", None),
            *((r, 1) for r in self.remarks[:n_remarks]),
        ]:
            lines += words.wrapped(text, 2, most)
        return lines

    @property
    def _worst(self) -> str:
        why = self.reason or "nothing is guaranteed"
        if self.lower is None:
            return f"worst case: none, {why}"
        if self.n_lies is not None and self.lies is not None and self.probability is not None:
            return self._worst_by_lies
        ends = f"worst case: {self.lower:.4g} to {self.upper:.4g}"
        if self.probability is None:
            return f"{ends}, not guaranteed: {why}"
        return f"{ends} ({self._condition})"

    @property
    def _condition(self) -> str:
        wide = f"{WIDE}, " if self.is_wide else ""
        return f"{wide}with probability at least {self.probability:.4g} if {self.supposed}"

    @property
    def _worst_by_lies(self) -> str:
        """By the number of lies: the least that there can be, one, and as many as are allowed for."""
        assert self.n_lies is not None
        rows = {k: (lower, upper) for k, lower, upper in self.by_lies}
        shown = sorted({min(rows, default=0), 1, self.n_lies} & rows.keys())
        if len(shown) < 2:
            return f"worst case: {self.lower:.4g} to {self.upper:.4g} ({self._condition})"
        ends = ", ".join(f"{_lied(k)} {rows[k][0]:.4g} to {rows[k][1]:.4g}" for k in shown)
        premise = f" if {self.premise}" if self.premise else ""
        wide = f"{WIDE}, " if self.is_wide else ""
        return f"worst case: {ends} ({wide}with probability at least {self.probability:.4g}{premise})"


def _lied(k: int) -> str:
    return "nobody lied" if not k else f"{k} lie{'s' * (k > 1)}"


N_SHOWN = 3
"""Lies that a table goes to, at least."""

WIDE = "wider than all honest readings"
"""What is said of an interval that is."""


REFUTED = "the readings contradict what is assumed"
"""A refutation in a short clause."""


def threat_of(threat: str | None, default: str) -> str:
    """The threat, checked; the default one if None."""
    return checks.choice("threat", default if threat is None else threat, ("none", "weak", "strong"))


def refuted(algorithm: "Algorithm") -> str | None:
    """That the readings contradict the assumptions, in words; None if they do not."""
    if algorithm.refuted is None:
        return None
    journal, conditions = algorithm.journal, list[Condition]()
    if algorithm.policy.is_drawn:
        conditions.append(Blind())
    if journal.lost:
        conditions.append(Missing(len(journal.lost)))
    if journal.n_chosen:
        conditions.append(Chosen(journal.n_chosen))
    return refutation(algorithm.refuted, algorithm.assumptions.delta, conditions)


def trusted(
    algorithm: "Algorithm", threat: str | None = None, C: float | None = None
) -> tuple[Guarantee, ValidBounds]:
    """The guarantee, void where the run itself has voided it, and the bounds that it is about."""
    guarantee, journal, assumed = (
        algorithm.policy.trust(threat, C),
        algorithm.journal,
        algorithm.assumptions,
    )
    bounds = ValidBounds.of([algorithm.policy.named(label) for label in guarantee.labels], assumed)
    void = refuted(algorithm)
    reason = REFUTED if void else ""
    if algorithm.options.beta is not None:
        void = "No guarantee: beta was given, which replaces the proven noise width."
        reason = "beta was given"
    elif journal.is_selected:
        void = journal.selection()
        reason = "readings may be missing because of their values"
    guarantee = replace(
        guarantee,
        void=void,
        reason=reason,
        is_refuted=algorithm.refuted is not None,
        cap=assumed.c_max,
        conditions=journal.conditions,
    )
    return guarantee, bounds


def provable(algorithm: "Algorithm") -> tuple[Condition, ...] | None:
    """What a claim about the corruption supposes; None where nothing is guaranteed."""
    guarantee, _ = trusted(algorithm)
    return guarantee.conditions if guarantee.void is None else None


def claim(bounds: ValidBounds, guarantee: Guarantee) -> tuple[tuple[Floats, Floats] | None, str]:
    """What is guaranteed of f at the candidates: bounds and words, or None and why nothing is."""
    void = why_void(guarantee, bounds)
    words = void or (
        f"With probability at least {guarantee.probability:.4g}, {guarantee.said()}, f lies within the "
        f"bounds at every candidate.{guarantee.waits}"
    )
    return None if void else bounds.cut, words


def certified(
    algorithm: "Algorithm",
    *,
    threat: str | None = None,
    C: float | None = None,
    rule: str = "lcb",
    x: Any = None,
    units: Units = MODEL_UNITS,
) -> Recommendation:
    """`Algorithm.recommend`: a candidate, with its interval and certificate, in these units."""
    checks.choice("rule", rule, ("lcb", "paper"))
    search = algorithm.search
    guarantee, bounds = trusted(algorithm, threat, C)
    if x is not None:
        rule, i = "given", search.candidates.at(x)
    elif rule == "paper":
        i = index_of(algorithm, best_when_chosen(algorithm, guarantee))
    else:  # the choice may use every reading, the interval not yet
        i = best_now(bounds)
    is_silent = algorithm.options.beta is not None or algorithm.journal.is_selected
    levels = () if is_silent else algorithm.policy.levels(i, guarantee.threat)
    gap = units.scale * search.gap(algorithm.assumptions)
    where = search.regret_words(gap)
    lies = None
    if algorithm.readings:
        lies = ByLies(left_out(algorithm), search.candidates.coordinates, i, units)
    best = recommendation(search.candidates, bounds, guarantee, i, rule, levels, gap, units, where, lies)
    if not algorithm.readings:
        return best
    mean, sd = believed(bounds, i, algorithm.assumptions)
    return replace(best, estimate=units.from_model(mean), estimate_sd=units.scale * sd)


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


def left_out(algorithm: "Algorithm", shares: tuple[float, float] | None = None) -> LeftOut:
    """The algorithm's readings, to say what f can be if some of them are lies.

    Args:
        algorithm: With a reading.
        shares: With what probabilities the honest noises may exceed their energy, and one its level; as
            the algorithm sets them aside if None.
    """
    journal, assumed = algorithm.journal, algorithm.assumptions
    rounds = np.array([reading.t for reading in journal.readings])
    if journal.n_table:  # rows have no order: each may have been the last one read
        rounds[: journal.n_table] = rounds[: journal.n_table].max()
    energy, level = shares or algorithm.policy.shares_of_lies()
    return LeftOut(
        np.array([reading.u for reading in journal.readings]),
        np.array([reading.y for reading in journal.readings]),
        np.sqrt([reading.lam / assumed.lam for reading in journal.readings]),
        rounds,
        assumed,
        energy_delta=energy,
        level_delta=level,
    )


def recommendation(
    candidates: Candidates,
    bounds: ValidBounds,
    guarantee: Guarantee,
    i: int,
    rule: str,
    levels: tuple[Level, ...],
    gap: float,
    units: Units,
    where: tuple[str, str] = ("no point of the domain", ""),
    lies: ByLies | None = None,
) -> Recommendation:
    """Candidate i with its interval and certificate, in these units; `where` as a search says it."""
    void = why_void(guarantee, bounds, units)
    certificate = None if void else units.scale * bounds.simple_regret(i)
    is_refuted = guarantee.is_refuted or bounds.is_refuted
    lower, upper = (None, None) if is_refuted else units.interval(*bounds.interval(i))
    n_lies = None if guarantee.lies is None else guarantee.lies.n_lies
    if isinstance(guarantee.lies, CountedLies) and lies is not None and lower is not None:
        assert upper is not None
        found = lies.interval(guarantee.lies.n_lies)  # one event with the bounds
        if found is not None:
            lower, upper = max(lower, found[0]), min(upper, found[1])
        if certificate is not None:
            best = units.from_model(float(bounds.cut[1].max()))
            worst = lower if units.sign > 0.0 else upper
            certificate = min(certificate, max(0.0, units.sign * (best - worst)))
            more = lies.better(guarantee.lies.n_lies)
            certificate = certificate if more is None else min(certificate, more)
    said = void or (
        f"With probability at least {guarantee.probability:.4g}, {guarantee.said(units)}, "
        f"{where[0]} is better than this one by more than {certificate:.4g}.{where[1]}{guarantee.waits}"
    )
    return Recommendation(
        x=candidates.x_of(candidates.coordinates[i]),
        index=i,
        lower=lower,
        upper=upper,
        regret_bound=certificate,
        probability=None if void else guarantee.probability,
        threat=guarantee.threat,
        supposed=guarantee.supposed(units),
        rule=rule,
        reason=guarantee.reason or (REFUTED if void else ""),
        guarantee=said,
        levels=tuple(
            replace(level.in_units(units), conditions=guarantee.conditions) for level in levels
        ),
        between_candidates=gap,
        lies=lies,
        n_lies=n_lies,
    )


def index_of(algorithm: "Algorithm", reading: Reading) -> int:
    """The candidate that was read."""
    index = algorithm.search.index_of(reading.u)
    assert index is not None
    return index


def best_now(bounds: ValidBounds) -> int:
    """The candidate with the largest lower bound, of readings too that the bounds wait for (ours)."""
    now = [instance.mu - instance.width for instance in bounds.instances if instance.is_behind]
    return int(np.argmax(np.max([bounds.lower, *now], axis=0)))


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


def why_void(guarantee: Guarantee, bounds: ValidBounds, units: Units = MODEL_UNITS) -> str | None:
    """Why nothing is guaranteed, in words; None if something is."""
    if guarantee.void is None and bounds.is_refuted:
        return (
            f"No guarantee: {guarantee.said(units)}, the bounds leave some point no value at all. Under "
            f"true assumptions that happens with probability at most {1.0 - guarantee.probability:.4g}."
        )
    return guarantee.void
