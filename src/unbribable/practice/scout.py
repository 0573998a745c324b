"""A heuristic player: GP-UCB with a fixed beta on the readings that do not look like lies."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from unbribable.decision.ahead import is_among
from unbribable.decision.algorithm import AssumptionsRefuted
from unbribable.decision.estimate import held
from unbribable.decision.policies.gp_ucb import GPUCB
from unbribable.decision.proposal import Reading
from unbribable.decision.suspects import flagged
from unbribable.model.box import Box
from unbribable.model.checks import Floats, Ints
from unbribable.model.domain import Grid
from unbribable.theory.assumptions import Assumptions

LARGEST_SHARE = 0.2
"""Share of the readings that may be left out: more flags than that speak against the model."""

LEAST_NOISE_VAR = 1e-4
"""A scout's lam is the variance of the noise, at least this: below it float64 does not resolve sigma."""


class Scout:
    """Holds changing state: chooses points, and the one to recommend. Heuristic: guarantees nothing.

    It maximises mean + beta * sigma over the readings that are not flagged as suspicious. A flagged
    reading that would be the best of all is read again first: true or false, that settles it. Readings
    are flagged anew after each one up to fifty, then each time their number has grown by a fiftieth,
    and for the last time at nearly 2 000, since that costs O(m^3).
    """

    def __init__(self, domain: Grid | Box, assumptions: Assumptions, beta: float) -> None:
        self._domain = domain
        lam = max(LEAST_NOISE_VAR, assumptions.noise_std**2)
        self._assumptions = replace(assumptions, lam=lam)
        self._beta = beta
        self._readings: list[Reading] = []
        self._left_out: frozenset[int] = frozenset()
        self._player = self._new_player()

    @property
    def n_readings(self) -> int:
        """How many were taken in."""
        return len(self._readings)

    @property
    def kept(self) -> list[Reading]:
        """The readings that are not flagged; of very many, those that a choice may rest on."""
        return held([each for each in self._readings if each.t not in self._left_out])

    def learn(self, readings: Sequence[Reading]) -> None:
        """Take in further readings, in model units. One by one gives the same, bit for bit."""
        n = len(self._readings)
        self._readings += readings
        n_now = len(self._readings)
        look, bulk = last_look(n_now), last_bulk(n_now)
        left_out = self._flagged(look) if look > n else self._left_out
        if bulk > n or left_out != self._left_out:
            self._left_out = left_out
            self._player = self._new_player()
            kept = held([each for each in self._readings[:bulk] if each.t not in left_out])
            if kept:
                self._player.learn([self._numbered(each, t) for t, each in enumerate(kept, 1)])
            n = bulk
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AssumptionsRefuted)  # it allows for no corruption at all
            for each in self._readings[n:]:
                if each.t not in self._left_out:
                    self._player.learn(self._numbered(each, self._player.t + 1))

    def choose(self, t: int, pending: Sequence[Floats], avoid: Sequence[Floats] = ()) -> Floats:
        """The point of round t, as the kernel sees it.

        Args:
            t: The round.
            pending: Points that are being read elsewhere.
            avoid: Points that are not chosen unless there is no other.
        """
        doubtful = self._doubtful([*pending, *avoid])
        return self._player.query_at(t, "main", pending, avoid).u if doubtful is None else doubtful

    def incumbent(self, among: Sequence[Floats] | None = None) -> Floats | None:
        """The point read with the largest lower bound, mean - sigma, in the user's units.

        Only of those in `among`, as the kernel sees them, if given; None if it holds none of them.
        """
        candidates, read = self._player.candidates, self._read()
        if among is not None:
            read = read[is_among(candidates.coordinates[read], among)]
        return candidates.x_of(candidates.coordinates[self._best(read)]) if len(read) else None

    def _read(self) -> Ints:
        return np.sort(self._player.instances["main"].posterior.u)

    def _best(self, read: Ints) -> int:
        instance = self._player.instances["main"]
        return int(read[np.argmax(instance.mu[read] - instance.sigma[read])])

    def _doubtful(self, elsewhere: Sequence[Floats]) -> Floats | None:
        """The best flagged reading, if it beats the incumbent and its point was read only once."""
        if not self._left_out:
            return None
        bar = float(self._player.instances["main"].mu[self._best(self._read())])
        points = np.array([each.u for each in self._readings] + list(elsewhere))
        found = None
        for each in self._readings:
            is_better = each.t in self._left_out and each.y > bar
            if is_better and (np.abs(points - each.u).max(axis=1) < 1e-9).sum() == 1:
                bar, found = each.y, each.u
        return found

    def _flagged(self, n: int) -> frozenset[int]:
        """Rounds flagged among the first n, the most suspicious first, up to LARGEST_SHARE of them."""
        readings = self._readings[:n]
        points, y = np.array([each.u for each in readings]), np.array([each.y for each in readings])
        most = int(LARGEST_SHARE * n)
        return frozenset(readings[k].t for k in flagged(points, y, self._assumptions)[:most])

    def _numbered(self, reading: Reading, t: int) -> Reading:
        """The same under a number without gaps: the player would wait for the rounds left out."""
        return replace(reading, t=t, drawn="main", lam=self._assumptions.lam, chosen_by="scout")

    def _new_player(self) -> GPUCB:
        return GPUCB(self._domain, self._assumptions, beta=self._beta)


def last_look(n: int) -> int:
    """The last number of readings, at most n and 2 000, at which flags are set: 1, ..., 50, 52, ..."""
    return last_stop(min(n, 2000), 0, lambda at: at + 1 + at // 50)


def last_bulk(n: int) -> int:
    """The last number of readings, at most n, at which all of them are learned anew in one go.

    From 256 on, each time it has grown by a fourth, or by 256: one by one would take hours.
    """
    return last_stop(n, 256, lambda at: at + min(at // 4, 256))


def last_stop(n: int, first: int, following: Callable[[int], float]) -> int:
    """The last of first, following(first), ... that is at most n; 0 if none is."""
    at, then = 0, float(first)
    while then <= n:
        at = int(then)
        then = following(at)
    return at
