"""What an algorithm has been told, and the instances that learned from it."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from unbribable.decision.draws import Seed
from unbribable.decision.instance import Instance
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
        self._retracted: dict[int, bool] = {}
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
    def _after(self, label: str, t: int) -> None:
        """What follows from the reading of round t, which `label` has learned from."""

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
        return tuple(self._readings)

    @property
    def retracted(self) -> tuple[int, ...]:
        """Ids of the readings that were taken back."""
        return tuple(self._retracted)

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
        found = [reading for reading in self._readings if reading.id == id_]
        if not found:
            told = [reading.id for reading in self._readings]
            raise RuntimeError(f"id must be that of a reading, got id={id_}; told are {told}")
        kept = [(reading, self._u_of(reading)) for reading in self._readings if reading.id != id_]
        was_refuted = self.refuted is not None
        self._begin()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AssumptionsRefuted)  # said when it happened
            for reading, u in kept:
                self._take(reading, u)
        if self.refuted is not None and not was_refuted and self.options.beta is None:
            warnings.warn(self._refutation(), AssumptionsRefuted, stacklevel=2)
        self._retracted[id_] = unrelated
        self._pending = {key: self._located(query) for key, query in self._pending.items()}
        return found[0]

    @property
    def is_selected(self) -> bool:
        """Whether a reading was taken out because of its value, which voids the bounds."""
        return not all(self._retracted.values())

    # --- stopping and going on -----------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Everything needed to go on later: JSON-able values and arrays. Holds the secret seed."""
        coordinates = self.candidates.coordinates if self.candidates.box else None
        return saved(
            self._identity(),
            self.seed,
            self.t,
            self._readings,
            self.pending,
            self._retracted,
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
        t, readings, pending, retracted = load_readings(state, self.candidates, self.instances)
        self.seed = seed
        self.t = t
        for reading, u in readings:
            self._take(reading, u)
        self._pending = {query.id: self._located(query) for query in pending}
        self._retracted = retracted
        return self

    # --- inside --------------------------------------------------------------------------------

    def _begin(self) -> None:
        """As before the first reading."""
        self.candidates = Candidates(self.domain)
        self.instances: dict[str, Instance] = {}
        self.detected: int | None = None
        self.refuted: int | None = None
        self._readings: list[Reading] = []
        self._told: set[int] = set()
        self._n_local = 0
        self._build()
        self._stale()

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
        self._readings.append(reading)
        self._told.add(reading.id)
        self._stale()
        if reading.instance is None:
            return
        for instance in self._learners(reading.instance):
            instance.learn(reading.index, reading.y, reading.lam)
        self._after(reading.instance, reading.id)
        if self.refuted is None and self._is_refuted():
            self.refuted = reading.id
            if self.options.beta is None:
                warnings.warn(self._refutation(), AssumptionsRefuted, stacklevel=3)

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
            rng = np.random.default_rng([3, len(self._readings)])
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
        if id_ in self._told:
            raise RuntimeError(f"query {id_} was told already; a reading is told once, or retracted")
        asked = self._pending.get(id_)
        if asked is None and id_ in self._retracted:
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
            f"The assumptions are refuted by the readings up to round {self.refuted}: no function "
            "fits all of them, so nothing is guaranteed. B, noise_std or the corruption is larger "
            "than assumed, or the kernel is wrong."
        )

    def _selection(self) -> str:
        gone = [id_ for id_, is_unrelated in self._retracted.items() if not is_unrelated]
        return (
            f"No guarantee: readings {gone} were taken out, and nobody stated that this had nothing to "
            "do with their values."
        )
