"""What an algorithm has been told, and the instances that learned from it."""

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from unbribable.decision.draws import Seed
from unbribable.decision.instance import Instance
from unbribable.decision.journal import Journal, Lost
from unbribable.decision.options import Options
from unbribable.decision.proposal import Query, Reading
from unbribable.decision.saving import check_identity, load_readings, saved
from unbribable.model import checks
from unbribable.model.box import Box, Candidates
from unbribable.model.checks import Floats
from unbribable.model.domain import Grid
from unbribable.theory.assumptions import Assumptions
from unbribable.theory.information_gain import MaxInformationGain

N_LOCAL = 4
"""Candidates a reading adds on a Box round its point, and as many round the incumbent."""


class AssumptionsRefuted(UserWarning):
    """The readings contradict the assumptions; every guarantee is void from here on."""


class Learner(ABC):
    """Abstract. Holds changing state: candidates, instances, readings; can unlearn, stop and go on.

    Everything but the draws is a function of the readings in the order in which they were taken,
    so learning them again gives the same state bit for bit.
    """

    def __init__(
        self, domain: Grid | Box, assumptions: Assumptions, options: Options, seed: Any
    ) -> None:
        if not isinstance(domain, Grid | Box):
            raise TypeError(f"domain must be a Grid or a Box, got domain={domain!r}")
        if not isinstance(assumptions, Assumptions):
            raise TypeError(f"assumptions must be Assumptions, got assumptions={assumptions!r}")
        if options.gain == "certified" and isinstance(domain, Box):
            raise ValueError(
                "gain='certified' needs a Grid: the bound is on finitely many candidates, got a Box"
            )
        self.domain = domain
        self.assumptions = assumptions
        self.options = options
        self.seed = Seed.of(seed)
        self._is_seed_given = seed is not None
        self.t = 0
        self._pending: dict[int, Query] = {}
        self.journal = Journal()
        self.candidates = Candidates(domain)
        self.candidates.check_kernel(assumptions.kernel)
        self._gamma: MaxInformationGain | None = None
        if options.gain == "certified":
            X = self.candidates.coordinates
            self._gamma = MaxInformationGain(assumptions.kernel, X, assumptions.lam)

    # --- what an algorithm decides -------------------------------------------------------------

    @abstractmethod
    def _build(self) -> None:
        """Make the instances, and whatever else changes with the readings, as they are at the start."""

    @abstractmethod
    def _learners(self, label: str) -> list[Instance]:
        """The instances that learn from a reading that belongs to `label`."""

    @abstractmethod
    def _after(self, labels: Sequence[str], t: int) -> None:
        """What follows from new bounds of these instances; the last reading told is that of round t."""

    @abstractmethod
    def _is_refuted(self) -> bool:
        """Whether bounds that can only fail with an assumption have failed."""

    def _grown(self) -> None:
        """What follows from further candidates, which all instances have taken in."""

    @property
    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """What was chosen besides domain, assumptions and options: plain data."""

    # --- readings ------------------------------------------------------------------------------

    @property
    def pending(self) -> tuple[Query, ...]:
        """Queries asked and not yet told, oldest first."""
        return tuple(self._pending.values())

    @property
    def readings(self) -> tuple[Reading, ...]:
        """Everything told and not retracted, in the order of telling."""
        return tuple(self.journal.readings)

    @property
    def retracted(self) -> tuple[int, ...]:
        """Ids of the readings that were taken back."""
        return tuple(self.journal.retracted)

    def points_of(self, readings: Sequence[Reading]) -> Floats:
        """Where these readings were taken, in the user's units, (k, d)."""
        indices = np.array([reading.index for reading in readings], dtype=np.intp)
        return self.candidates.x_of(self.candidates.coordinates[indices])

    def retract(self, id_: int, *, unrelated_to_value: bool = False) -> Reading:
        """Unlearn a reading: everything is as if it had never been told, given the same queries.

        Whether a reading is kept must not depend on its value, or the bounds do not hold: from now on
        nothing is guaranteed, unless the caller states that the reason had nothing to do with the
        value (a wrong sample was mounted, the wrong number was typed in). Learns all others again.

        Args:
            id_: The id of the reading.
            unrelated_to_value: The statement that the reason had nothing to do with the value.

        Returns:
            The reading that was taken out. To put it right, tell(x=..., y=...).
        """
        id_ = checks.integer("id", id_, at_least=1)
        unrelated = checks.truth("unrelated_to_value", unrelated_to_value)
        found = [reading for reading in self.journal.readings if reading.id == id_]
        if not found:
            told = [reading.id for reading in self.journal.readings]
            raise RuntimeError(f"id must be that of a reading, got id={id_}; told are {told}")
        kept, is_after = [], False
        for reading in self.journal.readings:
            if reading.id != id_:
                again = replace(reading, instance=self._learner_again(reading)) if is_after else reading
                kept.append((again, self._u_of(reading)))
            is_after |= reading.id == self.refuted
        was_refuted = self.refuted is not None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AssumptionsRefuted)  # said when it happened
            self._learn_again(kept, self.journal.without(id_, unrelated))
        if self.refuted is not None and not was_refuted and self.options.beta is None:
            warnings.warn(self._refutation(), AssumptionsRefuted, stacklevel=2)
        self._pending = {key: self._located(query) for key, query in self._pending.items()}
        return found[0]

    def forget(self, query: Query | int) -> Query:
        """Give up a pending query: it will not be told. Its round stays counted; nothing is learned.

        The guarantee says from then on that it supposes the reading not to be missing because of its
        value.
        """
        asked = self._pending_query(query)
        self.lose(asked.id)
        return asked

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
            self._pending.pop(t, None)
            self.t = max(self.t, t)
            self._stale()
            self._settle()

    @property
    def is_selected(self) -> bool:
        """Whether a reading is missing because of its value, which voids the bounds."""
        return self.journal.is_selected

    # --- stopping and going on -----------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Everything needed to go on later: JSON-able values and arrays. Holds the secret seed."""
        coordinates = self.candidates.coordinates if self.candidates.box else None
        return saved(
            self._identity(),
            self.seed,
            self.t,
            self.journal,
            self.pending,
            coordinates,
        )

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
        loaded = load_readings(state, self.candidates, self.instances)
        self.seed = seed
        self.t = loaded.t
        self._learn_again(loaded.readings, Journal(loaded.retracted, loaded.lost))
        self._pending = {query.id: self._located(query) for query in loaded.pending}
        return self

    # --- inside --------------------------------------------------------------------------------

    def _begin(self) -> None:
        """As before the first reading."""
        self.candidates = Candidates(self.domain)
        self.instances: dict[str, Instance] = {}
        self.detected: int | None = None
        self.refuted: int | None = None
        self._n_local = 0
        self._build()
        self._stale()

    def _learn_again(self, readings: Sequence[tuple[Reading, Floats]], journal: Journal) -> None:
        """Everything from the beginning: these readings, and what the journal says was lost, in turn."""
        lost = list(journal.lost.items())
        self.journal = Journal(journal.retracted)
        self._begin()
        for n, (reading, u) in enumerate(readings):
            while lost and lost[0][1].n_told <= n:
                self._lose_again(*lost.pop(0))
            self._take(reading, u)
        for t, each in lost:
            self._lose_again(t, each)

    def _lose_again(self, t: int, lost: Lost) -> None:
        self.journal.lose_again(t, lost)
        self._settle()

    def _learner_again(self, reading: Reading) -> str | None:
        """Who learns, once a reading is retracted, from one that was told after the refutation."""
        return reading.instance

    @abstractmethod
    def _stale(self) -> None:
        """Forget what was worked out for the next choice."""

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
            self.candidates.coordinates,
            self.assumptions,
            self.options,
            C=C,
            delta=delta,
            gamma=self._gamma,
        )
        self.instances[label] = instance
        return instance

    def _u_of(self, reading: Reading) -> Floats:
        u: Floats = self.candidates.coordinates[reading.index]
        return u

    def _located(self, query: Query) -> Query:
        return replace(query, index=self.candidates.index_of(query.u))

    def _take(self, reading: Reading, u: Floats) -> None:
        """Let the instance the reading belongs to learn from it. The only place that learns."""
        if self.candidates.box is not None:
            known = self.candidates.index_of(u)
            if known is not None:
                u = self.candidates.coordinates[known]  # the scaling of x may have rounded it
            self._grow(u, reading.instance)
            index = self.candidates.index_of(u)
            assert index is not None
            reading = replace(reading, index=index)
        if math.isnan(reading.lcb) and reading.instance is not None and not reading.is_foreign:
            learner = self.instances[reading.instance]  # a host chose: the bound as it is before
            lcb = float(learner.mu[reading.index]) - learner.width_at(reading.index)
            reading = replace(reading, lcb=lcb)
        self.journal.add(reading)
        self._stale()
        if reading.instance is not None:
            for instance in self._learners(reading.instance):
                instance.learn(reading.index, reading.y, reading.lam, settles=False)
        self._settle()

    def _settle(self) -> None:
        """Intersect the bounds and see what follows, if the journal is settled; see there."""
        if not self.journal.is_settled:
            return
        changed = [label for label, instance in self.instances.items() if instance.is_behind]
        if not changed:
            return
        for label in changed:
            self.instances[label].settle()
        t = self.journal.readings[-1].id
        self._after(changed, t)
        if self.refuted is None and self._is_refuted():
            self.refuted = t
            if self.options.beta is None:
                warnings.warn(self._refutation(), AssumptionsRefuted, stacklevel=4)

    def _grow(self, u: Floats, label: str | None) -> None:
        """Make u a candidate, and with it some points round it and round the learner's incumbent.

        As many local ones in all as there were Sobol points. They are drawn from a fixed stream, so
        they are a function of the readings alone.
        """
        box = self.candidates.box
        assert box is not None
        new = [u]
        if label is not None and self._n_local < box.n_candidates:
            incumbent = self.candidates.coordinates[np.argmax(self.instances[label].lcb_bar)]
            rng = np.random.default_rng([3, len(self.journal.readings)])
            reach = 0.2 * 0.5 ** rng.integers(0, 5, size=(2 * N_LOCAL, 1))
            centres = np.repeat([u, incumbent], N_LOCAL, axis=0)
            local = np.clip(centres + reach * rng.standard_normal(centres.shape), 0.0, 1.0)
            new += list(box.snap(local))
            self._n_local += len(local)
        if self.candidates.add(np.array(new)):
            for instance in self.instances.values():
                instance.extend(self.candidates.coordinates)
            self._grown()

    def _pending_query(self, query: Any) -> Query:
        is_whole = isinstance(query, Query)
        hint = "; use tell(x=..., y=...) for a point"
        id_ = query.id if is_whole else checks.integer("query", query, at_least=1, hint=hint)
        if id_ in self.journal.told:
            raise RuntimeError(f"query {id_} was told already; a reading is told once, or retracted")
        asked = self._pending.get(id_)
        if asked is None and id_ in self.journal.retracted:
            raise RuntimeError(f"query {id_} was retracted; put it right with tell(x=..., y=...)")
        if asked is None or (is_whole and not np.array_equal(query.u, asked.u)):
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

    def _refutation(self) -> str:
        return (
            f"The assumptions are refuted by the readings up to round {self.refuted}, so nothing is "
            "guaranteed any more. True assumptions would be contradicted with probability at most "
            f"{self.assumptions.delta:g}; more likely B, noise_std or the corruption is larger than "
            "assumed, or the kernel is wrong."
        )
