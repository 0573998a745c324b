"""The protocol every algorithm keeps: propose, ask, tell, recommend, summary, state, restore."""

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np

from unbribable.decision.draws import Seed
from unbribable.decision.instance import Instance
from unbribable.decision.options import Options
from unbribable.decision.proposal import Atom, Proposal, Query, Reading
from unbribable.decision.recommend import (
    Guarantee,
    Level,
    Recommendation,
    RegretCertificate,
    ValidBounds,
    best_when_chosen,
    recommendation,
    regret_certificate,
)
from unbribable.decision.saving import check_identity, load_readings, saved
from unbribable.model import checks
from unbribable.model.domain import Grid
from unbribable.theory.assumptions import Assumptions
from unbribable.theory.information_gain import MaxInformationGain


class AssumptionsRefuted(UserWarning):
    """The readings contradict the assumptions; every guarantee is void from here on."""


class Algorithm(ABC):
    """Abstract. Holds changing state: the instances, the pending queries and what was told.

    `ask` draws but learns nothing; only `tell` learns. Several queries may be pending, and they
    may be told in any order. A subclass says who may play (`_propose_atoms`), who learns
    (`_learners`), what follows (`_after`) and whom to trust (`_guarantee`).

    Attributes:
        domain: The candidates.
        assumptions: What the guarantee rests on.
        options: Which widths are used.
        instances: The learners by label.
        seed: Of the draws. Secret: an adversary who knows it is a strong one.
        t: Rounds so far: queries asked, and readings nobody asked for.
        detected: The round whose reading gave corruption away (Fast-Slow), or None.
        refuted: The round whose reading contradicted the assumptions, or None.
    """

    def __init__(
        self, domain: Grid, assumptions: Assumptions, options: Options, seed: Any = None
    ) -> None:
        if not isinstance(domain, Grid):
            raise TypeError(f"domain must be a Grid, got domain={domain!r}")
        if not isinstance(assumptions, Assumptions):
            raise TypeError(f"assumptions must be Assumptions, got assumptions={assumptions!r}")
        assumptions.kernel.check(domain.points)
        self.domain = domain
        self.assumptions = assumptions
        self.options = options
        self.seed = Seed.of(seed)
        self._is_seed_given = seed is not None
        self.instances: dict[str, Instance] = {}
        self.t = 0
        self.detected: int | None = None
        self.refuted: int | None = None
        self._pending: dict[int, Query] = {}
        self._readings: list[Reading] = []
        self._told: set[int] = set()
        self._atoms: list[Atom] | None = None
        self._gamma: MaxInformationGain | None = None
        if options.gain == "certified":
            self._gamma = MaxInformationGain(assumptions.kernel, domain.points, assumptions.lam)

    # --- what an algorithm decides -------------------------------------------------------------

    @abstractmethod
    def _propose_atoms(self) -> list[Atom]:
        """The atoms of the next round in the order in which the draw goes through them."""

    @abstractmethod
    def _learners(self, label: str) -> list[Instance]:
        """The instances that learn from a reading that belongs to `label`."""

    @abstractmethod
    def _after(self, label: str, t: int) -> None:
        """What follows from the reading of round t, which `label` has learned from."""

    @abstractmethod
    def _guarantee(self, threat: str | None, C: float | None) -> Guarantee:
        """Whom to trust against the threat (the default one if None) with corruption C."""

    @abstractmethod
    def _is_refuted(self) -> bool:
        """Whether bounds that can only fail with an assumption have failed."""

    @property
    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """What was chosen besides domain, assumptions and options: plain data."""

    # --- the protocol --------------------------------------------------------------------------

    def propose(self) -> Proposal:
        """The distribution from which the next `ask` draws. Changes nothing."""
        atoms = self._current_atoms()
        indices = np.array([atom.index for atom in atoms], dtype=np.intp)
        return Proposal(
            t=self.t + 1,
            points=self.domain.points[indices],
            indices=indices,
            probabilities=np.array([atom.probability for atom in atoms]),
            instances=tuple(atom.learner for atom in atoms),
        )

    def ask(self) -> Query:
        """Draw the next point from the proposal. Learns nothing; the query is pending until told."""
        atom = self._drawn()
        self.t += 1
        player = self.instances[atom.player]
        query = Query(
            id=self.t,
            t=self.t,
            x=self.domain.points[atom.index],
            index=atom.index,
            instance=atom.learner,
            mu=float(player.mu[atom.index]),
            sigma=float(player.sigma[atom.index]),
            width=player.width_at(atom.index),
            ucb=atom.ucb,
        )
        self._pending[query.id] = query
        return query

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
            y: The reading, a finite number.
            x: Instead of a query: a candidate, (d,).
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
        y = checks.real("y", y)
        lam = self._lam_of(noise_std)
        if query is None:
            index = self.domain.index_of(x)
            learner = self._drawn().learner
            self._foresee(learner)
            self.t += 1
            reading = Reading(self.t, index, y, learner, lam, math.nan, is_foreign=True)
        else:
            asked = self._pending_query(query)
            self._foresee(asked.instance)
            lcb = asked.mu - asked.width
            reading = Reading(asked.id, asked.index, y, asked.instance, lam, lcb, is_foreign=False)
            del self._pending[asked.id]
        self._take(reading)
        return reading.id

    @property
    def pending(self) -> tuple[Query, ...]:
        """Queries asked and not yet told, oldest first."""
        return tuple(self._pending.values())

    @property
    def readings(self) -> tuple[Reading, ...]:
        """Everything told, in the order of telling."""
        return tuple(self._readings)

    def recommend(
        self, *, threat: str | None = None, C: float | None = None, rule: str = "lcb"
    ) -> Recommendation:
        """The point to use, with a certificate on its simple regret.

        Args:
            threat: "none", "weak" or "strong"; the algorithm's own by default.
            C: Corruption to be safe against, where the algorithm does not know it (layers).
            rule: "lcb": the largest lower bound now (ours); "paper": the point x_t whose lower
                bound was largest when it was chosen [BKS20, App. C].
        """
        checks.choice("rule", rule, ("lcb", "paper"))
        guarantee = self._trusted(threat, C)
        bounds = self._bounds(guarantee)
        best = int(np.argmax(bounds.lower))
        if rule == "paper":
            best = best_when_chosen(self._readings, guarantee)
        levels = self._levels(best, guarantee.threat)
        return recommendation(self.domain, bounds, guarantee, best, rule, levels)

    def regret_certificate(
        self, *, threat: str | None = None, C: float | None = None
    ) -> RegretCertificate:
        """A bound on the regret of the rounds asked and told so far, in hindsight (ours)."""
        guarantee = self._trusted(threat, C)
        played = [reading.index for reading in self._readings if not reading.is_foreign]
        return regret_certificate(self._bounds(guarantee), guarantee, played)

    def summary(self) -> dict[str, Any]:
        """Where the run stands and what is guaranteed, as plain data (without the seed)."""
        best = self.recommend()
        return {
            **self._identity(),
            "assumptions": self.assumptions.in_words(),
            "rounds": self.t,
            "told": len(self._readings),
            "foreign": sum(reading.is_foreign for reading in self._readings),
            "pending": list(self._pending),
            "detected": self.detected,
            "refuted": self.refuted,
            "threat": best.threat,
            "guarantee": best.guarantee,
            "recommendation": {
                "x": best.x.tolist(),
                "lower": best.lower,
                "upper": best.upper,
                "regret_bound": best.regret_bound,
            },
            "regret_in_hindsight": self.regret_certificate().value,
            "instances": {label: instance.summary() for label, instance in self.instances.items()},
            "notes": self._notes(),
        }

    # --- stopping and going on -----------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Everything needed to go on later: JSON-able values and arrays. Holds the secret seed."""
        return saved(self._identity(), self.seed, self.t, self._readings, self.pending)

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
        check_identity(state, self._identity())
        seed = Seed.from_plain(state["seed"])
        if self._is_seed_given and seed != self.seed:
            raise ValueError("the seed must be the saved one (or left out), got another seed")
        t, readings, pending = load_readings(state, self.domain, self.instances)
        self.seed = seed
        self.t = t
        for reading in readings:
            self._take(reading)
        self._pending = {query.id: query for query in pending}
        return self

    # --- inside --------------------------------------------------------------------------------

    def _identity(self) -> dict[str, Any]:
        return {
            "algorithm": type(self).__name__,
            "domain": self.domain.fingerprint,
            **self.assumptions.to_plain(),
            **self.parameters,
            **self.options.to_dict(),
        }

    def _new_instance(self, label: str, *, C: float, delta: float) -> Instance:
        instance = Instance(
            label,
            self.domain,
            self.assumptions,
            self.options,
            C=C,
            delta=delta,
            gamma=self._gamma,
        )
        self.instances[label] = instance
        return instance

    def _current_atoms(self) -> list[Atom]:
        if self._atoms is None:
            self._atoms = self._propose_atoms()
        return self._atoms

    def _drawn(self) -> Atom:
        """The atom of round t + 1: the first one whose cumulated probability exceeds u_t."""
        atoms = self._current_atoms()
        if len(atoms) == 1:
            return atoms[0]
        u = self.seed.uniform(self.t + 1)
        cumulated = 0.0
        for atom in atoms:
            cumulated += atom.probability
            if u < cumulated:
                return atom
        return atoms[-1]

    def _pending_query(self, query: Any) -> Query:
        is_whole = isinstance(query, Query)
        id_ = query.id if is_whole else checks.integer("query", query, at_least=1)
        if id_ in self._told:
            raise RuntimeError(f"query {id_} was told already; a reading is told once")
        asked = self._pending.get(id_)
        if asked is None or (is_whole and query.index != asked.index):
            raise RuntimeError(
                f"query {id_} was not asked here, pending are {list(self._pending)}; "
                "use tell(x=..., y=...) for a point that was not asked for"
            )
        return asked

    def _lam_of(self, noise_std: Any) -> float:
        if noise_std is None:
            return self.assumptions.lam
        if self._gamma is not None:
            raise ValueError(
                "a reading with a noise_std of its own needs gain='realised', got gain='certified'"
            )
        return self.assumptions.lam_of(noise_std)

    def _foresee(self, label: str | None) -> None:
        """Let a given beta fail now if it is going to, before anything has changed."""
        if label is not None and callable(self.options.beta):
            for instance in self._learners(label):
                self.options.beta_at(instance.n_readings + 2)

    def _take(self, reading: Reading) -> None:
        """Let the instance the reading belongs to learn from it. The only place that learns."""
        self._readings.append(reading)
        self._told.add(reading.id)
        if reading.instance is None:
            return
        for instance in self._learners(reading.instance):
            instance.learn(reading.index, reading.y, reading.lam)
        self._atoms = None
        self._after(reading.instance, reading.id)
        if self.refuted is None and self._is_refuted():
            self.refuted = reading.id
            if self.options.beta is None:
                warnings.warn(self._refutation(), AssumptionsRefuted, stacklevel=3)

    def _bounds(self, guarantee: Guarantee) -> ValidBounds:
        return ValidBounds.of([self.instances[label] for label in guarantee.labels], self.assumptions)

    def _trusted(self, threat: str | None, C: float | None) -> Guarantee:
        """The guarantee, void where the run itself has voided it."""
        guarantee = self._guarantee(threat, C)
        if self.options.beta is not None:
            void = "No guarantee: beta was given, which replaces the proven noise width."
            return replace(guarantee, void=void)
        if self.refuted is not None:
            return replace(guarantee, void=self._refutation())
        return guarantee

    def _refutation(self) -> str:
        return (
            f"The assumptions are refuted by the readings up to round {self.refuted}: no function "
            "fits all of them, so nothing is guaranteed. B, noise_std or the corruption is larger "
            "than assumed, or the kernel is wrong."
        )

    def _levels(self, i: int, threat: str) -> tuple[Level, ...]:
        return ()

    def _notes(self) -> list[str]:
        return [self._refutation()] if self.refuted is not None else []
