"""What an algorithm has been told: it can unlearn, stop and go on."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from unbribable.decision.draws import Seed
from unbribable.decision.journal import Journal
from unbribable.decision.learning import AssumptionsRefuted, Learning
from unbribable.decision.proposal import Query, Reading
from unbribable.decision.saving import check_identity, load_readings, saved
from unbribable.model import checks
from unbribable.model.checks import Floats
from unbribable.theory.budgets import Budget

__all__ = ["AssumptionsRefuted", "Learner"]


class Learner(Learning):
    """Abstract. Holds changing state: what was told, and the queries that are pending."""

    budgets: Mapping[str, Budget] = MappingProxyType({})
    """What each instance allows for, where they do not all allow for C."""

    @property
    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """What was chosen besides domain, assumptions and options: plain data."""

    @property
    @abstractmethod
    def draws(self) -> tuple[tuple[str, float], ...]:
        """Which instance a round's draw may name, with the probability, in the order of the draw."""

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
        points = np.array([reading.u for reading in readings])
        return self.candidates.x_of(points.reshape(-1, self.domain.d))

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
        found = [reading for reading in self.journal.readings if reading.t == id_]
        if not found:
            told = [reading.t for reading in self.journal.readings]
            raise RuntimeError(f"id must be that of a reading, got id={id_}; told are {told}")
        kept, is_after = [], False
        for reading in self.journal.readings:
            if reading.t != id_:
                again = replace(reading, learner=self._learner_again(reading)) if is_after else reading
                kept.append(again)
            is_after |= reading.t == self.refuted
        n_at_once = self._n_at_once - (found[0] in self.journal.readings[: self._n_at_once])
        journal = self.journal.without(id_, unrelated)
        self._wholly(lambda: self._learn_again(kept, journal, n_at_once))
        return found[0]

    def forget(self, query: Query | int) -> Query:
        """Give up a pending query: it will not be told. Its round stays counted; nothing is learned.

        The guarantee says from then on that it supposes the reading not to be missing because of its
        value.
        """
        asked = self._pending_query(query)
        self.lose(asked.t)
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
            was_refuted = self.refuted is not None
            self._settle()
            self._warn_if_refuted(was_refuted, stacklevel=3)

    @property
    def is_selected(self) -> bool:
        """Whether a reading is missing because of its value, which voids the bounds."""
        return self.journal.is_selected

    # --- stopping and going on -----------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Everything needed to go on later: JSON-able values and arrays. Holds the secret seed."""
        state = saved(self._identity(), self.seed, self.t, self.journal, self.pending, self.candidates)
        return {**state, "at_once": self._n_at_once} if self._n_at_once else state

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
        loaded = load_readings(
            state, self.candidates, self.instances, lambda t: seed.choose(t, self.draws)
        )
        n_at_once = checks.integer("at_once", state.get("at_once", 0), at_least=0)
        journal = Journal(loaded.retracted, loaded.lost)
        self._wholly(lambda: self._learn_again(loaded.readings, journal, n_at_once))
        self.seed = seed
        self.t = loaded.t
        self._pending = {query.t: self._located(query) for query in loaded.pending}
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
