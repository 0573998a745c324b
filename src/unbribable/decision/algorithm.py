"""The protocol every algorithm keeps: propose, ask, tell, recommend, summary."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from unbribable.decision.anywhere import Anywhere
from unbribable.decision.learner import AssumptionsRefuted, Learner
from unbribable.decision.options import Options
from unbribable.decision.player import Bounds, Details
from unbribable.decision.proposal import CHOOSERS, Atom, Proposal, Query, Reading
from unbribable.decision.recommend import (
    Guarantee,
    Level,
    Recommendation,
    RegretCertificate,
    ValidBounds,
    best_now,
    best_when_chosen,
    claim,
    in_run,
    recommendation,
    regret_certificate,
)
from unbribable.decision.rule import M_POLISHED, Rule, polished
from unbribable.decision.summary import details, summary
from unbribable.decision.suspects import Suspect, suspects
from unbribable.decision.units import MODEL_UNITS, Units
from unbribable.model import checks
from unbribable.model.box import Box
from unbribable.model.checks import Bools, Floats
from unbribable.model.domain import Grid
from unbribable.theory.assumptions import Assumptions

__all__ = ["Algorithm", "AssumptionsRefuted"]


class Algorithm(Learner):
    """Abstract. Holds changing state: the instances, the pending queries and what was told.

    `ask` draws but learns nothing; only `tell` learns. Several queries may be pending, and they
    may be told in any order. A subclass says who may play (`_propose_atoms`, `_rule`), who learns
    (`_learners`), what follows (`_after`) and whom to trust (`_guarantee`).

    Attributes:
        domain: A Grid or a Box.
        candidates: The points compared: the Grid's, or those a Box has by now.
        assumptions: What the guarantee rests on.
        options: Which widths are used.
        instances: The learners by label.
        seed: Of the draws. Secret: an adversary who knows it is a strong one.
        t: Rounds so far: queries asked, and readings nobody asked for.
        detected: The round whose reading gave corruption away (Fast-Slow), or None.
        refuted: The round whose reading contradicted the assumptions, or None.
        maximisers: Potential maximisers (Layered), booleans over the candidates, or None.
    """

    maximisers: Bools | None = None

    def __init__(
        self, domain: Grid | Box, assumptions: Assumptions, options: Options, seed: Any = None
    ) -> None:
        super().__init__(domain, assumptions, options, seed)
        self._others: tuple[Floats, ...] = ()
        self._avoid: tuple[Floats, ...] = ()
        self._stale()

    # --- what an algorithm decides -------------------------------------------------------------

    @abstractmethod
    def _propose_atoms(self) -> list[Atom]:
        """The atoms of the next round: one for each of `draws`, or one alone if the draw is idle."""

    @abstractmethod
    def _rule(self, atom: Atom) -> tuple[Rule, Floats]:
        """What the atom's player maximises anywhere on a Box, and a ranking of the candidates for it.

        The ranking is in closed form, -inf where the player may not go.
        """

    @abstractmethod
    def _learner_of(self, drawn: str) -> str | None:
        """Who learns from a reading now, if the draw names `drawn`; None: nobody."""

    @abstractmethod
    def _guarantee(self, threat: str | None, C: float | None) -> Guarantee:
        """Whom to trust against the threat (the default one if None) with corruption C."""

    # --- the protocol --------------------------------------------------------------------------

    def propose(self) -> Proposal:
        """The distribution from which the next `ask` draws. Changes nothing."""
        atoms = [self._polished(k) for k in range(len(self._current_atoms()))]
        points = np.array([self._u_at(atom) for atom in atoms])
        return Proposal(
            t=self.t + 1,
            points=self.candidates.x_of(points),
            indices=np.array([-1 if atom.u is not None else atom.index for atom in atoms], np.intp),
            probabilities=np.array([atom.probability for atom in atoms]),
            instances=tuple(atom.learner for atom in atoms),
        )

    def ask(self) -> Query:
        """Draw the next point from the proposal. Learns nothing; the query is pending until told."""
        query = self.query_at(self.t + 1, self.drawn(self.t + 1))
        self.t += 1
        self._pending[query.t] = query
        self._stale()
        return query

    def drawn(self, t: int) -> str:
        """The instance that the draw of round t names: a pure function of seed and t."""
        return self.seed.choose(t, self.draws)

    def query_at(
        self, t: int, drawn: str, others: Sequence[Floats] = (), avoid: Sequence[Floats] = ()
    ) -> Query:
        """The query of round t if the draw names `drawn`. For hosts that number the rounds themselves.

        Changes nothing: `ask` is this with the next round and its draw, kept as pending.

        Args:
            t: The round.
            drawn: The instance its draw names, see `drawn`.
            others: Points pending elsewhere, as the kernel sees them, (d,) each.
            avoid: Points not to be asked for, unless there is no other.
        """
        if not len(others) and not len(avoid):
            return self._query(t, drawn)
        self._stale()
        self._others, self._avoid = tuple(others), tuple(avoid)
        query = self._query(t, drawn)
        self._stale()
        return query

    def _query(self, t: int, drawn: str) -> Query:
        atom = self._polished(self._atom_of(drawn))
        u = self._u_at(atom)
        player = self.instances[atom.player]
        if atom.u is None:
            now = player.now
            mu, sigma = float(now.mu[atom.index]), float(now.sigma[atom.index])
            width = now.width_at(atom.index)
        else:
            mu, sigma, width = self._anywhere(atom.player).describe(u)
        return Query(
            t=t,
            x=self.candidates.x_of(u),
            u=u,
            index=atom.index if atom.u is None else None,
            instance=atom.learner,
            mu=mu,
            sigma=sigma,
            width=width,
            ucb=atom.ucb,
            drawn=drawn,
        )

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
            query: The query or its id.
            y: The reading, a number of at most 1e150 in absolute value.
            x: Instead of a query: a point of the domain, (d,).
            noise_std: Of this reading, known before it was taken, if it differs from the
                assumed one; its fictitious noise becomes lam * (noise_std / assumed)^2.

        Returns:
            The id of the reading: its round.

        Raises:
            TypeError, ValueError: Bad values. Nothing was learned, and the query is still pending.
            RuntimeError: The query is unknown here, or was told already.
        """
        if (query is None) == (x is None):
            raise TypeError("tell takes either a query (or its id) or x=..., with y")
        y = checks.reading("y", y)
        lam = self._lam_of(noise_std)
        if query is None:
            return self.learn(self.t + 1, x, y, lam=lam)
        asked = self._pending_query(query)
        self._foresee(asked.instance)
        lcb = asked.mu - asked.width
        reading = Reading(asked.t, asked.u, y, asked.drawn, asked.instance, lam, lcb)
        others = dict(self._pending)
        del others[asked.t]
        self._wholly(lambda: self._take(reading), others)
        return reading.t

    def learn(
        self,
        t: int,
        x: Any,
        y: float,
        *,
        drawn: str | None = None,
        lam: float | None = None,
        chosen_by: str = "user",
    ) -> int:
        """Learn the reading of round t at x, for hosts that number the rounds themselves.

        Args:
            t: The round, not told before.
            x: A point of the domain, (d,).
            y: The reading.
            drawn: The instance that the round's draw names; by seed and t if None.
            lam: Fictitious noise, the assumed one if None.
            chosen_by: Who chose the point, one of CHOOSERS.
        """
        t, y = checks.integer("t", t, at_least=1), checks.reading("y", y)
        states = {
            "told already": self.journal.told,
            "asked here, tell its query": self._pending,
            "given up": self.journal.lost,
        }
        for state, rounds in states.items():
            if t in rounds:
                raise RuntimeError(f"round {t} was {state}; a reading is told once")
        u = self.candidates.coordinates_of(x)
        labels = [label for label, _ in self.draws]
        drawn = checks.choice("drawn", drawn or self.drawn(t), labels)
        learner = self._learner_of(drawn)
        self._foresee(learner)
        lam = self.assumptions.lam if lam is None else lam
        checks.choice("chosen_by", chosen_by, CHOOSERS)
        reading = Reading(t, u, y, drawn, learner, lam, None, chosen_by)
        self._wholly(lambda: self._take(reading))
        self.t = max(self.t, t)
        return t

    def recommend(
        self,
        *,
        threat: str | None = None,
        C: float | None = None,
        rule: str = "lcb",
        x: Any = None,
        units: Units = MODEL_UNITS,
    ) -> Recommendation:
        """The point to use, with a certificate on its simple regret.

        Args:
            threat: "none", "weak" or "strong"; the algorithm's own by default.
            C: Corruption to be safe against, where the algorithm does not know it (layers).
            rule: "lcb": the largest lower bound now (ours); "paper": the point x_t whose lower
                bound was largest when it was chosen [BKS20, App. C].
            x: Instead: a candidate of the user's own choice; interval and certificate hold for any.
            units: In which to say everything.
        """
        checks.choice("rule", rule, ("lcb", "paper"))
        guarantee = self._trusted(threat, C)
        bounds = self._bounds(guarantee)
        if x is not None:
            rule, best = "given", self.candidates.at(x)
        elif rule == "paper":
            best = self._index_of(best_when_chosen(self.journal.readings, guarantee))
        else:  # the choice may use every reading, the interval not yet
            best = best_now(bounds, [self.instances[label] for label in guarantee.labels])
        levels, between = self._levels(best, guarantee.threat), self._between
        return recommendation(self.candidates, bounds, guarantee, best, rule, levels, between, units)

    def regret_certificate(
        self, *, threat: str | None = None, C: float | None = None
    ) -> RegretCertificate:
        """A bound on the regret of the rounds asked and told so far, in hindsight (ours).

        On a Box it compares with the best candidate, as the words say.
        """
        guarantee = self._trusted(threat, C)
        readings = self.journal.readings
        played = [self._index_of(reading) for reading in readings if reading.chosen_by != "user"]
        bounds = self._bounds(guarantee)
        return regret_certificate(self.candidates, bounds, guarantee, played, self._between)

    def suspects(self, *, flagged_only: bool = False, units: Units = MODEL_UNITS) -> tuple[Suspect, ...]:
        """The readings that look like lies, most suspicious first, with evidence; deletes nothing."""
        return suspects(self, flagged_only=flagged_only, units=units)

    def bounds(self) -> Bounds | None:
        """Lower and upper bounds on f at the candidates, (n,) each; None where nothing is guaranteed."""
        return self._claim()[0]

    @property
    def guarantee(self) -> str:
        """What `bounds` promise, or why they promise nothing, in words."""
        return self._claim()[1]

    @property
    def knowledge(self) -> dict[str, Any]:
        """What it was told besides the candidates: assumptions and parameters, as plain data."""
        return {**self.assumptions.to_plain(), **self.parameters}

    def details(self) -> Details:
        """What a record keeps of it besides what any player shows."""
        return details(self)

    def summary(self) -> dict[str, Any]:
        """Where the run stands and what is guaranteed, as plain data (without the seed)."""
        return summary(self, self._identity(), self._notes())

    # --- inside --------------------------------------------------------------------------------

    @property
    def _is_parallel(self) -> bool:
        """Whether the choice reckons with other points, pending or to be avoided."""
        return bool(self._pending or self._others or self._avoid)

    def _stale(self) -> None:
        self._others, self._avoid = (), ()
        self._atoms: list[Atom] | None = None
        self._final: dict[int, Atom] = {}
        self._views: dict[str, Anywhere] = {}

    def _current_atoms(self) -> list[Atom]:
        if self._atoms is None:
            pending = [*(query.u for query in self.pending), *self._others]
            for instance in self.instances.values():
                instance.expect(pending, self._avoid)
            self._atoms = self._propose_atoms()
        return self._atoms

    def _atom_of(self, drawn: str) -> int:
        labels = [label for label, _ in self.draws]
        checks.choice("drawn", drawn, labels)
        return labels.index(drawn) if len(self._current_atoms()) > 1 else 0

    def _anywhere(self, label: str) -> Anywhere:
        if label not in self._views:
            self._views[label] = Anywhere(self.instances[label])
        return self._views[label]

    def _polished(self, k: int) -> Atom:
        """The k-th atom; on a Box moved to where a local search from the best candidates ends.

        Not beyond M_POLISHED points read: the candidates lie densely by then, and a search costs
        O(m^2) a step.
        """
        atom = self._current_atoms()[k]
        player = self.instances[atom.player]
        is_revisit = bool(self.options.revisit) and atom.index in player.posterior.u
        if self.candidates.box is None or is_revisit or player.posterior.m > M_POLISHED:
            return atom
        if k not in self._final:
            rule, hopes = self._rule(atom)
            width, stream = player.width_at(atom.index), len(self.journal.readings)
            self._final[k] = polished(atom, rule, hopes, self.candidates, width, stream, player.avoided)
        return self._final[k]

    def _u_at(self, atom: Atom) -> Floats:
        u: Floats = self.candidates.coordinates[atom.index] if atom.u is None else atom.u
        return u

    def _bounds(self, guarantee: Guarantee) -> ValidBounds:
        return ValidBounds.of([self.instances[label] for label in guarantee.labels], self.assumptions)

    def _claim(self) -> tuple[Bounds | None, str]:
        guarantee = self._trusted(None, None)
        return claim(self._bounds(guarantee), guarantee)

    def _trusted(self, threat: str | None, C: float | None) -> Guarantee:
        """The guarantee, void where the run itself has voided it."""
        guarantee, is_given = self._guarantee(threat, C), self.options.beta is not None
        refutation = None if self.refuted is None else self._refutation()
        return in_run(guarantee, self.journal, self.assumptions.c_max, is_given, refutation)

    @property
    def _between(self) -> float:
        """By how much f may be higher between the candidates than at them: an estimate."""
        return self.assumptions.B * self.candidates.discretisation(self.assumptions.kernel)

    def _levels(self, i: int, threat: str) -> tuple[Level, ...]:
        return ()

    def _notes(self) -> list[str]:
        notes = [self._refutation()] if self.refuted is not None else []
        if self.journal.is_selected:
            notes.append(self.journal.selection())
        return notes
