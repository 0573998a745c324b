"""What rivals share: rounds, pending queries, the choice by an upper bound, and their claims."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from unbribable.decision.asking.draws import Seed
from unbribable.decision.player import Details, Player
from unbribable.decision.proposal import Proposal, Query
from unbribable.decision.proven.guarantee import NOTHING, Guarantee
from unbribable.decision.recommend import (
    Level,
    Recommendation,
    ValidBounds,
    claim,
    looked_at,
    recommendation,
)
from unbribable.decision.units import MODEL_UNITS
from unbribable.model import checks
from unbribable.model.box import Candidates
from unbribable.model.checks import Bounds, Floats, Ints
from unbribable.model.domain import Grid
from unbribable.theory.assumptions import Assumptions

ALL = ("kernel", "B", "B0", "noise_std", "lam", "delta", "c_max")
"""The assumptions behind our guarantees."""


@dataclass(frozen=True, eq=False)
class Opinion:
    """What a rival thinks of the candidates, (n,) each."""

    mu: Floats
    sigma: Floats
    width: Floats
    """Of its interval: it plays the largest mu + width."""


class Rival(Player):
    """Abstract. Holds changing state: the rounds asked, the queries pending and the readings told.

    A subclass says which candidates may be played next (`_choices`), how a reading is learned
    (`_learn`), what it was told (`told`, `parameters`), and what it promises (`_promise`, with
    `_intersect` for the bounds); without these two it promises nothing. Several queries may be pending,
    and they may be told in any order.

    Args:
        domain: A Grid.
        assumptions: What the rival is told about f; it reads those named in `told`.
        seed: Of its draws; None for a rival that draws nothing.

    Attributes:
        X: The candidates, (n, d).
        t: Rounds asked so far.
        readings: Candidate and value of every reading, in the order of telling.
        counts: How often each candidate was read, (n,).
        is_in_order: Whether no query was told before an older one.
    """

    told: ClassVar[tuple[str, ...]] = ALL
    """The assumptions it makes use of."""
    no_promise: ClassVar[Guarantee] = NOTHING
    """Why nothing is promised, where nothing is."""
    is_ours: ClassVar[bool] = False
    """Whether the method is ours, not one that ours are compared with."""
    knows: str | None = None
    """What it was told of the lies, where `parameters` do not say so: see `Details`."""
    learns_uninvited: ClassVar[bool] = True
    """Whether it has a use for readings of points that it did not choose."""

    def __init__(self, domain: Grid, assumptions: Assumptions, *, seed: Seed | None = None) -> None:
        if not isinstance(domain, Grid):
            raise TypeError(f"domain must be a Grid, got domain={domain!r}")
        if not isinstance(assumptions, Assumptions):
            raise TypeError(f"assumptions must be Assumptions, got assumptions={assumptions!r}")
        self.domain, self.assumptions, self.seed = domain, assumptions, seed
        self.candidates = Candidates(domain)
        self.candidates.check_kernel(assumptions.kernel)
        self.X: Floats = domain.points
        self.t = 0
        self.readings: list[tuple[int, float]] = []
        self.counts: Ints = np.zeros(len(self.X), dtype=np.intp)
        self.is_in_order = True
        self._pending: dict[int, Query] = {}
        self._belief: Opinion | None = None
        self._lower: Floats = np.full(len(self.X), -np.inf)
        self._upper: Floats = np.full(len(self.X), np.inf)

    # --- what a rival decides ------------------------------------------------------------------

    @property
    def parameters(self) -> dict[str, Any]:
        """What was chosen besides domain, assumptions and seed: plain data."""
        return {}

    @abstractmethod
    def _choices(self) -> tuple[Ints, Floats]:
        """Candidates that may be played next, each once, and their probabilities, all > 0."""

    def _learn(self, query: Query, y: float) -> None:
        """Take in a reading, which `readings` and `counts` hold already, if there is more to keep."""

    def _believe(self) -> Opinion | None:
        """The belief after all readings; None for a rival that has none."""
        return None

    def _says_of(self, index: int) -> tuple[float, float, float]:
        """mu, sigma and width of a candidate, for its query; NaN for a rival that has none."""
        belief = self.belief
        if belief is None:
            return math.nan, math.nan, math.nan
        return float(belief.mu[index]), float(belief.sigma[index]), float(belief.width[index])

    def _learner(self) -> str | None:
        """The label of the next query: None if its reading will not be learned."""
        return "main"

    def _best(self) -> int:
        """The candidate to recommend: the largest mean among the points read."""
        belief = self.belief
        mu = np.zeros(len(self.X)) if belief is None else belief.mu
        return int(np.argmax(np.where(self.counts > 0, mu, -np.inf))) if self.readings else 0

    def _promise(self) -> Guarantee | None:
        """What is promised of the intersected bounds; None if nothing is."""
        return None

    def _levels(self, i: int) -> tuple[Level, ...]:
        """The certificate of candidate i for other amounts of corruption."""
        return ()

    # --- a player's members --------------------------------------------------------------------

    @property
    def belief(self) -> Opinion | None:
        """What it thinks of the candidates now; worked out once after each reading."""
        if self._belief is None:
            self._belief = self._believe()
        return self._belief

    @property
    def pending(self) -> tuple[Query, ...]:
        """Queries asked and not yet told, oldest first."""
        return tuple(self._pending.values())

    def propose(self) -> Proposal:
        """The distribution from which the next `ask` draws. Changes nothing."""
        indices, probabilities = self._choices()
        labels = (self._learner(),) * len(indices)
        return Proposal(self.t + 1, self.X[indices], indices, probabilities, labels)

    def ask(self) -> Query:
        """Draw the next point from the proposal. Learns nothing; the query is pending until told."""
        indices, probabilities = self._choices()
        index = int(indices[0])
        if len(indices) > 1:
            assert self.seed is not None, "a rival that draws needs a seed"
            drawn = np.searchsorted(np.cumsum(probabilities), self.seed.uniform(self.t + 1), "right")
            index = int(indices[min(int(drawn), len(indices) - 1)])
        x, label = self.X[index], self._learner()
        mu, sigma, width = self._says_of(index)
        self.t += 1
        query = Query(self.t, x, x, index, label, mu, sigma, width, mu + width, label)
        self._pending[query.t] = query
        return query

    def tell(self, query: Query | int | None = None, y: Any = None, *, x: Any = None) -> int:
        """Learn the reading y of a pending query, given as such or by its round, or of a point x.

        A reading that nobody asked for is a round of its own.

        Returns:
            The round.

        Raises:
            TypeError, ValueError: y is not one finite number, or x no candidate. Nothing was learned.
            RuntimeError: The query is not pending here.
        """
        if (query is None) == (x is None):
            raise TypeError("tell takes either a query (or its id) or x=..., with y")
        y = checks.reading("y", y)
        if query is None:
            index, self.t = self.domain.index_of(x), self.t + 1
            label = "main" if self.learns_uninvited else None
            query = Query(self.t, self.X[index], self.X[index], index, label)
            self._pending[self.t] = query
        t = query.t if isinstance(query, Query) else checks.integer("query", query, at_least=1)
        asked = self._pending.get(t)
        if asked is None or (isinstance(query, Query) and query.index != asked.index):
            raise RuntimeError(f"query {t} is not pending here, pending are {list(self._pending)}")
        assert asked.index is not None
        del self._pending[t]
        self.is_in_order &= min(self._pending, default=t) >= t
        self.readings.append((asked.index, y))
        self.counts[asked.index] += 1
        self._belief = None
        self._learn(asked, y)
        return t

    def recommend(self) -> Recommendation:
        """The point to use; with interval and certificate where something is promised."""
        return self._recommended(self._best(), self._promise(), self._held)

    def bounds(self) -> Bounds | None:
        """Lower and upper bounds on f at the candidates, (n,) each; None where nothing is promised."""
        promise = self._promise()
        return None if promise is None else claim(self._held, promise)

    @property
    def guarantee(self) -> Guarantee:
        """What `bounds` promise, or why they promise nothing."""
        promise = self._promise()
        return self.no_promise if promise is None else looked_at(promise, self._held)

    @property
    def knowledge(self) -> dict[str, Any]:
        """What it was told besides the candidates: the assumptions it uses, and parameters."""
        plain = self.assumptions.to_plain()
        return {**{name: plain[name] for name in self.told}, **self.parameters}

    def details(self) -> Details:
        """What a record keeps of it besides what any player shows."""
        seed = None if self.seed is None else self.seed.to_plain()
        return Details(
            seed=seed, tolerance=self.assumptions.tolerance, knows=self.knows, is_ours=self.is_ours
        )

    # --- inside --------------------------------------------------------------------------------

    @property
    def _held(self) -> ValidBounds:
        """The bounds intersected so far."""
        return ValidBounds.between(self._lower, self._upper, self.assumptions)

    def _intersect(self, lower: Floats, upper: Floats) -> None:
        """Tighten the bounds by others that hold on the same event."""
        self._lower, self._upper = np.maximum(self._lower, lower), np.minimum(self._upper, upper)

    def _recommended(self, i: int, promise: Guarantee | None, held: ValidBounds) -> Recommendation:
        """Candidate i with what these bounds certify of it."""
        if promise is None:
            return Recommendation(x=self.X[i], index=i, rule="mean", promise=self.no_promise)
        return recommendation(
            self.candidates, held, promise, i, "own", self._levels(i), 0.0, MODEL_UNITS
        )


class UpperBoundRival(Rival):
    """Abstract. Plays the largest mu + width of its belief, one query after the other.

    A subclass works out the belief from `readings` or from what `_learn` keeps. Pending queries are
    ignored.
    """

    @abstractmethod
    def _believe(self) -> Opinion:
        """The belief after all readings."""

    def _choices(self) -> tuple[Ints, Floats]:
        belief = self.belief
        assert belief is not None
        return np.array([np.argmax(belief.mu + belief.width)], dtype=np.intp), np.ones(1)
