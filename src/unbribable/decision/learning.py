"""The instances of an algorithm, and how they learn: one reading at a time, wholly or not at all."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unbribable.decision.draws import Seed
from unbribable.decision.instance import N_BLOCK, Instance
from unbribable.decision.journal import Journal, Lost
from unbribable.decision.options import Options
from unbribable.decision.proposal import Query, Reading
from unbribable.model.box import Box, Candidates
from unbribable.model.checks import Floats
from unbribable.model.domain import Grid
from unbribable.theory.assumptions import Assumptions
from unbribable.theory.information_gain import MaxInformationGain

N_LOCAL = 4
"""Candidates a reading adds on a Box round its point, and as many round the incumbent."""


class AssumptionsRefuted(UserWarning):
    """The readings contradict the assumptions; every guarantee is void from here on."""


class Learning(ABC):
    """Abstract. Holds changing state: candidates, instances, and the journal of the readings.

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

    def _learner_again(self, reading: Reading) -> str | None:
        """Who learns, once a reading is retracted, from one that was told after the refutation."""
        return reading.learner

    @abstractmethod
    def _stale(self) -> None:
        """Forget what was worked out for the next choice."""

    # --- learning ------------------------------------------------------------------------------

    def _begin(self) -> None:
        """As before the first reading."""
        self.candidates = Candidates(self.domain)
        self.instances: dict[str, Instance] = {}
        self.detected: int | None = None
        self.refuted: int | None = None
        self._n_local = self._n_at_once = 0
        self._changed: list[str] = []
        self._followed_at = 0
        self._build()
        self._stale()

    def _take(self, reading: Reading) -> None:
        """Let the instances the reading belongs to learn from it."""
        if self.candidates.box is not None:
            known, u = self.candidates.index_of(reading.u), reading.u
            if known is not None:
                u = self.candidates.coordinates[known]  # the scaling of x may have rounded it
            self._grow(u, reading.learner)
        index = self._noted(reading, is_alone=True)
        if reading.learner is not None:
            for instance in self._learners(reading.learner):
                instance.learn(index, reading.y, reading.lam, settles=False)
        self._settle()

    def _learn_at_once(self, readings: Sequence[Reading]) -> None:
        """Learn readings in one go, before any other; what follows from them follows at the end."""
        if self.candidates.box is not None:
            self.candidates.add(np.array([reading.u for reading in readings]))
            for instance in self.instances.values():
                instance.extend(self.candidates.coordinates)
            self._grown()
            self._n_local = self.candidates.box.n_candidates  # the points read take their place
        shares: dict[str, list[tuple[int, float, float]]] = {}
        for reading in readings:
            index = self._noted(reading, is_alone=False)
            if reading.learner is not None:
                for instance in self._learners(reading.learner):
                    share = shares.setdefault(instance.label, [])
                    share.append((index, reading.y, reading.lam))
        for label, instance in self.instances.items():
            instance.learn_all(shares.get(label, []))
        self._n_at_once = len(readings)
        self._settle()

    def _noted(self, reading: Reading, *, is_alone: bool) -> int:
        """Take down the reading, of a candidate by now, and return its index.

        A reading alone, chosen for us by a host, gets the bound there is before it.
        """
        index = self._index_of(reading)
        lcb = reading.lcb
        if is_alone and lcb is None and reading.learner is not None and reading.chosen_by != "user":
            lcb = self.instances[reading.learner].lcb_at(index)
        self.journal.add(replace(reading, u=self.candidates.coordinates[index], lcb=lcb))
        self._stale()
        return index

    def _settle(self) -> None:
        """Intersect the bounds and see what follows, if the journal is settled; see there.

        With a large instance, whose bounds wait, what follows waits for them, but not for long.
        """
        if not self.journal.is_settled:
            return
        new = [label for label, instance in self.instances.items() if instance.settle()]
        self._changed = [*self._changed, *(label for label in new if label not in self._changed)]
        n, is_large = len(self.journal.readings), [each.is_large for each in self.instances.values()]
        is_early = any(is_large) and n < self._followed_at + N_BLOCK
        if not self._changed or (is_early and not any(self.instances[each].is_large for each in new)):
            return
        changed, self._changed, self._followed_at = self._changed, [], n
        t = self.journal.readings[-1].t
        self._after(changed, t)
        if self.refuted is None and self._is_refuted():
            self.refuted = t

    def _grow(self, u: Floats, label: str | None) -> None:
        """Make u a candidate, and with it some points round it and round the learner's incumbent.

        As many local ones in all as there were Sobol points, and none once readings wait: the points
        read lie densely by then. They are drawn from a fixed stream, so they are a function of the
        readings alone.
        """
        box = self.candidates.box
        assert box is not None
        new = [u]
        if label is not None and self._n_local < box.n_candidates and not self.instances[label].is_large:
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

    # --- learning again -------------------------------------------------------------------------

    def _wholly(self, learn: Callable[[], None], pending: dict[int, Query] | None = None) -> None:
        """Learn something wholly or not at all, with these queries pending from then on.

        If it fails, what was held before is learned again. If it refutes the assumptions, that is said.
        """
        journal, n_at_once, was_refuted = self.journal, self._n_at_once, self.refuted is not None
        n = len(journal.readings)
        were_pending = self._pending
        self._pending = were_pending if pending is None else pending
        try:
            learn()
        except BaseException as error:
            self._pending = were_pending
            try:
                self._learn_again(journal.readings[:n], journal, n_at_once)
            except Exception as second:
                raise RuntimeError(
                    "after a failure an algorithm learns its readings again, and that failed too, "
                    f"got {second!r}; build another one and tell it the readings"
                ) from error
            raise
        self._warn_if_refuted(was_refuted, stacklevel=4)

    def _learn_again(self, readings: Sequence[Reading], journal: Journal, n_at_once: int) -> None:
        """Everything from the beginning: these readings, and what the journal says was lost, in turn.

        The first `n_at_once` readings are learned at once, as they were.
        """
        lost = list(journal.lost.items())
        self.journal = Journal(journal.retracted)
        self._begin()
        for n, reading in enumerate(readings):
            while lost and lost[0][1].n_told <= max(n, n_at_once):
                self._lose_again(*lost.pop(0))
            if n == 0 and n_at_once:
                self._learn_at_once(readings[:n_at_once])
            if n >= n_at_once:
                self._take(reading)
        for t, each in lost:
            self._lose_again(t, each)
        self._pending = {key: self._located(query) for key, query in self._pending.items()}

    def _lose_again(self, t: int, lost: Lost) -> None:
        self.journal.lose_again(t, lost)
        self._settle()

    def _warn_if_refuted(self, was_refuted: bool, stacklevel: int) -> None:
        if self.refuted is not None and not was_refuted and self.options.beta is None:
            warnings.warn(self._refutation(), AssumptionsRefuted, stacklevel=stacklevel)

    def _refutation(self) -> str:
        return (
            f"The assumptions are refuted by the readings up to round {self.refuted}, so nothing is "
            "guaranteed any more. True assumptions would be contradicted with probability at most "
            f"{self.assumptions.delta:g}; more likely B, noise_std or the corruption is larger than "
            "assumed, or the kernel is wrong."
        )

    # --- parts ---------------------------------------------------------------------------------

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

    def _index_of(self, reading: Reading) -> int:
        """The candidate that was read."""
        index = self.candidates.index_of(reading.u)
        assert index is not None
        return index

    def _located(self, query: Query) -> Query:
        return replace(query, index=self.candidates.index_of(query.u))
