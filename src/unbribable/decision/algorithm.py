"""The protocol every algorithm keeps: propose, ask, tell, recommend, and going on later."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from unbribable.decision.asking.draws import Seed
from unbribable.decision.asking.next_round import NextRound
from unbribable.decision.asking.search import Search, search_on
from unbribable.decision.journal import Journal
from unbribable.decision.learning import Learning
from unbribable.decision.player import Details
from unbribable.decision.policy import Policy
from unbribable.decision.proposal import Proposal, Query, Reading
from unbribable.decision.proven.conditions import Note
from unbribable.decision.proven.guarantee import Guarantee, to_plain
from unbribable.decision.proven.hindsight import RegretCertificate
from unbribable.decision.proven.price import Price, price
from unbribable.decision.proven.stated import NOTHING_STATED, Stated
from unbribable.decision.recommend import (
    Recommendation,
    believed,
    best_now,
    best_when_chosen,
    by_lies,
    claim,
    recommendation,
    refuted,
    tightened,
    trusted,
)
from unbribable.decision.saving import check_state, identity, load, saved
from unbribable.decision.units import MODEL_UNITS, Units
from unbribable.model import checks
from unbribable.model.box import Box
from unbribable.model.checks import Bounds, Floats
from unbribable.model.domain import Grid


class AssumptionsRefuted(UserWarning):
    """The readings contradict the assumptions; every guarantee is void from here on."""


class Algorithm:
    """Holds changing state: a journal of the rounds, and what follows from it.

    `ask` draws but learns nothing; only `tell` learns. Several queries may be pending, and they may be
    told in any order. A subclass chooses a policy, and nothing else.

    Args:
        domain: A Grid or a Box.
        policy: Who is drawn, plays and learns, and which bounds to trust.
        seed: Of the draws; fresh entropy if None.

    Attributes:
        draws: Which instance a round's draw may name, with the probability, in the order of the draw.
        parameters: What was chosen besides domain, assumptions and options, as plain data.
        knowledge: What it was told besides the candidates: assumptions and parameters, as plain data.
        seed: Of the draws. Secret: an adversary who knows it is a strong one.
        t: Rounds so far: queries asked, and readings nobody asked for.
        journal: What became of every round.
        search: Where to look.
        candidates: The points compared: the Grid's, or those a Box has by now.
        instances: The learners by label.
        is_quiet: Whether it does not warn where the readings refute the assumptions: the host does.
    """

    is_quiet = False
    _choice: NextRound | None = None  # of the next round, good until something is asked, told or lost

    def __init__(self, domain: Grid | Box, policy: Policy, seed: Any = None) -> None:
        search = search_on(domain)
        self.domain = domain
        self.policy = policy
        self.assumptions = policy.assumptions
        self.options = policy.options
        self.draws = policy.draws
        self.parameters = dict(policy.parameters)
        self.knowledge: Mapping[str, Any] = {**self.assumptions.to_plain(), **self.parameters}
        self.seed = Seed.of(seed)
        self._is_seed_given = seed is not None
        search.candidates.check_kernel(self.assumptions.kernel)
        is_certified = self.options.gain == "certified"
        self._gamma = search.certified_gain(self.assumptions) if is_certified else None
        self.t = 0
        self._replay(Journal(), search)

    @property
    def detected(self) -> int | None:
        """The round whose reading gave corruption away (Fast-Slow), or None."""
        return self.policy.detected

    @property
    def refuted(self) -> int | None:
        """The round whose reading contradicted the assumptions, or None."""
        return self._learning.refuted

    @property
    def pending(self) -> tuple[Query, ...]:
        """Queries asked and not yet told, oldest first."""
        return tuple(self.journal.pending.values())

    @property
    def readings(self) -> tuple[Reading, ...]:
        """Everything told and not retracted, in the order of telling."""
        return tuple(self.journal.readings)

    # --- asking --------------------------------------------------------------------------------

    def propose(self) -> Proposal:
        """The distribution from which the next `ask` draws. Changes nothing."""
        return self._next_round(self.t + 1).proposal()

    def ask(self) -> Query:
        """Draw the next point from the proposal. Learns nothing; the query is pending until told."""
        t = self.t + 1
        query = self._next_round(t).query(self.drawn(t))
        self.t = t
        self.journal.pending[t] = query
        self._choice = None
        return query

    def drawn(self, t: int) -> str:
        """The instance that the draw of round t names: a pure function of seed and t."""
        return self.seed.choose(t, self.draws)

    def query_at(
        self,
        t: int,
        drawn: str,
        others: Sequence[Floats] = (),
        avoid: Sequence[Floats] = (),
        where: Grid | Box | None = None,
    ) -> Query:
        """The query of round t if the draw names `drawn`. For hosts that number the rounds themselves.

        Changes nothing: `ask` is this with the next round and its draw, kept as pending.

        Args:
            t: The round.
            drawn: The instance its draw names, see `drawn`.
            others: Points pending elsewhere, as the kernel sees them, (d,) each.
            avoid: Points not to be asked for, unless there is no other.
            where: The part of the domain in which to ask, see `Box.holding`; all of it if None.
        """
        checks.choice("drawn", drawn, [label for label, _ in self.draws])
        return self._next_round(t, others, avoid, where).query(drawn)

    def _next_round(
        self,
        t: int,
        others: Sequence[Floats] = (),
        avoid: Sequence[Floats] = (),
        where: Grid | Box | None = None,
    ) -> NextRound:
        """What each draw would play in round t; the last three as in `query_at`. Changes nothing."""
        is_own = not (len(others) or len(avoid)) and where is None
        if is_own and self._choice is not None and self._choice.t == t:
            return self._choice
        choice = NextRound(self.policy, self.search, self.journal, t, others, avoid, where)
        if is_own:
            self._choice = choice
        return choice

    # --- learning ------------------------------------------------------------------------------

    def tell(
        self,
        query: Query | int | None = None,
        y: Any = None,
        *,
        x: Any = None,
        noise_std: Any = None,
    ) -> int:
        """Learn the reading y of a pending query, or of a point nobody asked for.

        A reading nobody asked for, `tell(x=..., y=...)`, is a round in which the user chose the
        point (ours): the instance that learns from it is drawn as in any other round, after the lie
        (if it is one) was committed. So each instance still sees a random share of all readings, its
        corruption budget holds, and so do its intervals.

        Args:
            query: The query or its round.
            y: The reading, a number of at most 1e150 in absolute value.
            x: Instead of a query: a point of the domain, (d,).
            noise_std: Of this reading, known before it was taken, if it differs from the
                assumed one; its fictitious noise becomes lam * (noise_std / assumed)^2.

        Returns:
            The round.

        Raises:
            TypeError, ValueError: Bad values. Nothing was learned, and the query is still pending.
            RuntimeError: The query is unknown here, or was told already.
        """
        if (query is None) == (x is None):
            raise TypeError("tell takes either a query (or its id) or x=..., with y")
        y = checks.reading("y", y)
        lam = self.assumptions.lam
        if noise_std is not None:
            if self._gamma is not None:
                raise ValueError(
                    "a reading with a noise_std of its own needs gain='realised', got gain='certified'"
                )
            lam = self.assumptions.lam_of(noise_std)
        if query is None:
            t, u = self.t + 1, self.candidates.coordinates_of(x)
            self.learn(Reading(t, u, y, None, "", lam, None, "user"))
            return t
        asked = self.journal.asked(query)
        t, lcb = asked.t, asked.mu - asked.width
        self.learn(Reading(t, asked.u, y, asked.drawn, asked.instance, lam, lcb, level=asked.level))
        return t

    def learn(self, readings: Reading | Sequence[Reading]) -> None:
        """Learn a reading, or a history at once. Every reading comes in here, whoever brings it.

        A reading of a round that was not asked here, as hosts bring it, has the learner "". It then
        belongs to the instance that its draw names now; where `drawn` is None, seed and round decide.

        A history needs a new algorithm. It costs O(m^2 n) instead of O(m n) a reading and a pass. The
        belief is the same up to rounding, and the bounds hold: those after the last reading, not
        intersected with earlier ones. Nothing is detected or ruled out before the end. On a Box no
        local candidates are added from then on: the points read take their place.

        Raises:
            RuntimeError: The round was told or given up, or a history came too late.
        """
        learning = self._learning
        if isinstance(readings, Reading):
            asked = self.journal.pending.get(readings.t) if readings.learner != "" else None
            reading = readings if asked is not None else learning.decided(readings, self.drawn)
            self._wholly(learning.learn, reading, asked=asked)
            self.t = max(self.t, reading.t)
        elif self.t:
            raise RuntimeError(f"a history needs a new algorithm, this one is in round {self.t}")
        elif len(readings):
            history = [learning.decided(reading, self.drawn) for reading in readings]
            self._wholly(learning.learn_all, history)
            self.t = max(reading.t for reading in history)

    def lose(self, t: int, *, because_of_value: bool = False) -> None:
        """State that round t has no reading and will have none, for hosts that number the rounds.

        The bounds hold if no reading is missing because of its value. So the guarantee says how many are
        missing; nothing is guaranteed where one is missing because of its value.

        Args:
            t: A round that was not told. Saying it again changes the reason alone.
            because_of_value: Whether the value is the reason, as in a pruned trial.
        """
        t = checks.integer("t", t, at_least=1)
        because = checks.truth("because_of_value", because_of_value)
        if t in self.journal.told:
            raise RuntimeError(f"round {t} was told already; retract takes a reading back")
        if self.journal.lose(t, because):
            self.journal.pending.pop(t, None)
            self.t = max(self.t, t)
            self._wholly(self._learning.settle)

    def forget(self, query: Query | int) -> Query:
        """Give up a pending query: it will not be told. Its round stays counted; nothing is learned.

        The guarantee says from then on that it supposes the reading not to be missing because of its
        value.
        """
        asked = self.journal.asked(query)
        self.lose(asked.t)
        return asked

    def retract(self, id_: int, *, unrelated_to_value: bool = False) -> Reading:
        """Unlearn a reading: everything is as if it had never been told, given the same queries.

        Whether a reading is kept must not depend on its value, or the bounds do not hold: from now on
        nothing is guaranteed, unless the caller states that the reason had nothing to do with the
        value (a wrong sample was mounted, the wrong number was typed in). Learns all others again.

        Args:
            id_: The round of the reading.
            unrelated_to_value: The statement that the reason had nothing to do with the value.

        Returns:
            The reading that was taken out. To put it right, tell(x=..., y=...).
        """
        t = checks.integer("id", id_, at_least=1)
        unrelated = checks.truth("unrelated_to_value", unrelated_to_value)
        told = {reading.t: reading for reading in self.journal.readings}
        if t not in told:
            raise RuntimeError(f"id must be that of a reading, got id={t}; told are {list(told)}")
        past = self.journal.without(told[t], unrelated, self.refuted, self.policy.learner_again)
        self._wholly(self._replay, past)
        return told[t]

    def _replay(self, past: Journal, search: Search | None = None) -> None:
        """Start again, and learn another journal the way it was learned there."""
        search = search or search_on(self.domain)
        journal = Journal(dict(past.retracted), n_table=past.n_table)
        learning = Learning(journal, search, self.policy, self._gamma)
        learning.learn_again(past)
        journal.pending = {
            t: replace(query, index=search.index_of(query.u)) for t, query in past.pending.items()
        }
        self._learning, self.journal, self.search = learning, journal, search
        self._choice = None
        self.candidates, self.instances = search.candidates, learning.instances

    def _wholly(self, act: Callable[..., None], *arguments: Any, asked: Query | None = None) -> None:
        """Learn something wholly or not at all; `asked` is the query that it answers.

        If it fails, what was held before is learned again. If it refutes the assumptions, that is said.
        """
        journal, was_refuted = self.journal, self._learning.refuted is not None
        n = len(journal.readings)
        try:
            act(*arguments)
            if asked is not None:
                del journal.pending[asked.t]
        except BaseException as error:
            try:
                self._replay(journal.before(n, asked))
            except Exception as second:
                raise RuntimeError(
                    "after a failure an algorithm learns its readings again, and that failed too, "
                    f"got {second!r}; build another one and tell it the readings"
                ) from error
            raise
        self._choice = None
        is_said = self.options.beta is None and not self.is_quiet
        if self._learning.refuted is not None and not was_refuted and is_said:
            warnings.warn(AssumptionsRefuted(refuted(self)), stacklevel=4)

    # --- answers -------------------------------------------------------------------------------

    def recommend(
        self,
        *,
        threat: str | None = None,
        C: float | None = None,
        rule: str = "lcb",
        x: Any = None,
        units: Units = MODEL_UNITS,
        stated: Stated = NOTHING_STATED,
    ) -> Recommendation:
        """The point to use, its interval, and a certificate on its simple regret.

        Its `estimate` is the posterior mean there, by the trusted instance that knows most about it;
        `estimate_sd` is how far noise alone moves that mean.

        Args:
            threat: "none", "weak" or "strong"; the algorithm's own by default.
            C: Corruption to be safe against, where the algorithm does not know it (layers).
            rule: "lcb": the largest lower bound now (ours); "paper": the point x_t whose lower
                bound was largest when it was chosen [BKS20, App. C].
            x: Instead: a candidate of the user's own choice; interval and certificate hold for any.
            units: In which to say everything.
            stated: What is known of single readings; it concerns the recommendation's `lies` alone.
        """
        checks.choice("rule", rule, ("lcb", "paper"))
        guarantee, bounds = trusted(self, threat, C)
        if x is not None:
            rule, i = "given", self.candidates.at(x)
        elif rule == "paper":
            i, _ = self.search.located(best_when_chosen(self, guarantee))
        else:  # the choice may use every reading, the interval not yet
            i = best_now(bounds)
        is_silent = self.options.beta is not None or self.journal.selection is not None
        levels = () if is_silent else self.policy.levels(i, guarantee.threat, bounds.allowed)
        gap = units.scale * self.search.gap(self.assumptions)
        lies = None
        if self.journal.readings:
            lies = by_lies(self, i, units, stated=stated)
        best = recommendation(
            self.candidates, bounds, guarantee, i, rule, levels, gap, units, self.search.n_compared, lies
        )
        if lies is None:
            return best
        if self.policy.counts_lies:
            best = tightened(best, bounds, lies, units)
        mean, sd = believed(bounds, i, self.assumptions)
        return replace(best, estimate=units.from_model(mean), estimate_sd=units.scale * sd)

    def regret_certificate(
        self, *, threat: str | None = None, C: float | None = None
    ) -> RegretCertificate:
        """A bound on the regret of the rounds asked and told so far, in hindsight (ours).

        Rounds whose points the user chose do not count. On a Box it compares with the best candidate.
        """
        guarantee, bounds = trusted(self, threat, C)
        asked = [reading for reading in self.journal.readings if reading.chosen_by != "user"]
        played = [self.search.located(reading)[0] for reading in asked]
        return RegretCertificate(
            value=bounds.regret(played) if guarantee.void is None else None,
            n_rounds=len(played),
            promise=guarantee,
            n_compared=self.search.n_compared,
            between_candidates=self.search.gap(self.assumptions),
        )

    def price(self, eps: float | None = None, x: Any = None, *, units: Units = MODEL_UNITS) -> Price:
        """How much lying it takes before another candidate can be better than x by more than eps (ours).

        Against any adversary, whatever corruption the algorithm was built for. Changes nothing.

        Args:
            eps: By how much another one may be better, >= 0. If None, the smallest of 5, 10, 20 and 50 %
                of the range of the readings (without certain lies) for which a price is established.
            x: A candidate; the recommended one if None.
            units: In which to give eps, and to say everything.
        """
        return price(self, eps, x, units)

    def bounds(self) -> Bounds | None:
        """Lower and upper bounds on f at the candidates, (n,) each; None where nothing is guaranteed."""
        guarantee, bounds = trusted(self)
        return claim(bounds, guarantee)

    @property
    def guarantee(self) -> Guarantee:
        """What `bounds` promise, or why they promise nothing; it prints in words."""
        return trusted(self)[0]

    @property
    def notes(self) -> tuple[Note, ...]:
        """What there is to say of the corruption besides the bounds, the gravest first; they print."""
        guarantee = self.guarantee
        provable = guarantee.conditions if guarantee.void is None else None
        found = [refuted(self), self.journal.selection, *self.policy.notes(self.t, provable)]
        return tuple(note for note in found if note is not None)

    def details(self) -> Details:
        """What a record keeps of it besides what any player shows."""
        maximisers, shown = self.policy.maximisers, self.policy.shown()
        return Details(
            instances=tuple(dict.fromkeys([*self.instances, *shown])),
            instance_bounds=lambda: {label: (one.lcb_bar, one.ucb_bar) for label, one in shown.items()},
            budgets=self.policy.budgets,
            maximisers=None if maximisers is None else maximisers.sum(axis=1),
            detected=self.detected,
            refuted=self.refuted,
            seed=self.seed.to_plain(),
            tolerance=self.assumptions.tolerance,
            summary=self.summary,
            knows=self.policy.knows,
            is_ours=self.policy.is_ours,
        )

    def summary(self) -> dict[str, Any]:
        """What was chosen and told, and what is guaranteed: JSON-able, without the seed."""
        best, regret, journal = self.recommend(), self.regret_certificate(), self.journal
        return {
            **identity(self),
            "rounds": self.t,
            "told": len(journal.readings),
            "foreign": sum(reading.chosen_by == "user" for reading in journal.readings),
            "pending": list(journal.pending),
            "retracted": list(journal.retracted),
            "lost": list(journal.lost),
            "waiting": journal.n_waiting,
            "detected": self.detected,
            "refuted": self.refuted,
            "threat": best.threat,
            "guarantee": best.promise.to_plain(),
            "recommendation": {
                "x": best.x.tolist(),
                "estimate": best.estimate,
                "estimate_sd": best.estimate_sd,
                "lower": best.lower,
                "upper": best.upper,
                "regret_bound": best.regret_bound,
                "between_candidates": best.between_candidates,
            },
            "regret_in_hindsight": {
                "value": regret.value,
                "between_candidates": regret.between_candidates,
                "guarantee": regret.promise.to_plain(),
            },
            "candidates": self.candidates.n,
            "instances": {label: instance.summary() for label, instance in self.instances.items()},
            "notes": [to_plain(note) for note in self.notes],
        }

    # --- stopping and going on -----------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Everything needed to go on later: JSON-able values and arrays. Holds the secret seed."""
        return saved(self)

    def restore(self, state: Mapping[str, Any]) -> Self:
        """Go on from `state()`: learn the same readings again, in the same order.

        To be called on a new algorithm built with the same arguments. It continues exactly as the
        one that was saved. A reading costs what it cost the first time, less the asking.

        Returns:
            The algorithm itself.

        Raises:
            RuntimeError: This algorithm has been used already.
            ValueError: The state belongs to other arguments; the message names the first one.
        """
        if self.t:
            raise RuntimeError(
                f"restore needs a new algorithm, this one is in round {self.t}; build another"
            )
        check_state(state, self)
        seed = Seed.from_plain(state["seed"])
        if self._is_seed_given and seed != self.seed:
            raise ValueError("the seed must be the saved one (or left out), got another seed")
        t, past = load(state, self, seed)
        self._wholly(self._replay, past)
        self.seed, self.t = seed, t
        return self
