"""A heuristic player: GP-UCB with a fixed beta on the readings that do not look like lies."""

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unbribable.decision.ahead import is_among
from unbribable.decision.algorithm import AssumptionsRefuted
from unbribable.decision.policies.gp_ucb import GPUCB
from unbribable.decision.proposal import Reading as ModelReading
from unbribable.decision.suspects import flagged
from unbribable.model.box import Box
from unbribable.model.checks import Floats, Ints
from unbribable.model.domain import Grid
from unbribable.theory.assumptions import Assumptions

LARGEST_SHARE = 0.2
"""Of the readings that may be left out: beyond that the flags speak against the model."""

LAM = 1e-4
"""Smallest fictitious noise."""

N_HELD = 1024
"""Readings that are learned anew at once, at most."""

Reading = tuple[int, Floats, float]
"""Round, point as the kernel sees it, value in model units."""


class Scout:
    """Holds changing state: chooses points, and the one to recommend. Heuristic: guarantees nothing.

    It maximises mean + beta * sigma, with the readings that are not flagged as suspicious. A flagged
    reading that would be the best of all is read again first: true or false, that settles it. Flags
    are set after every reading up to fifty, then each time their number has grown by a fiftieth, and
    for the last time at nearly 2 000: they cost O(m^3). Of a longer history it holds about N_HELD.
    """

    def __init__(self, domain: Grid | Box, assumptions: Assumptions, beta: float) -> None:
        self._domain = domain
        self._assumptions = replace(assumptions, lam=max(LAM, assumptions.noise_std**2))
        self._beta = beta
        self._readings: list[Reading] = []
        self._left_out: frozenset[int] = frozenset()
        self._player = self._new_player()

    @property
    def n_readings(self) -> int:
        """How many were taken in."""
        return len(self._readings)

    def learn(self, readings: Sequence[Reading]) -> None:
        """Take in further readings. Taking them in one by one gives the same, bit for bit."""
        n = len(self._readings)
        self._readings += readings
        n_now = len(self._readings)
        look, bulk = last_look(n_now), last_bulk(n_now)
        left_out = self._flagged(look) if look > n else self._left_out
        if bulk > n or left_out != self._left_out:
            self._left_out = left_out
            self._player = self._new_player()
            kept = [reading for reading in self._readings[:bulk] if reading[0] not in left_out]
            if kept:
                numbered = enumerate(held(kept), 1)  # without gaps: a player waits for open rounds
                self._player.learn([self._reading(k, u, y) for k, (_, u, y) in numbered])
            n = bulk
        self._learn(self._readings[n:])

    def choose(self, t: int, others: Sequence[Floats], avoid: Sequence[Floats] = ()) -> Floats:
        """The point of round t, as the kernel sees it; none to avoid, unless there is no other."""
        doubtful = self._doubtful([*others, *avoid])
        return self._player.query_at(t, "main", others, avoid).u if doubtful is None else doubtful

    def incumbent(self, among: Sequence[Floats] | None = None) -> Floats | None:
        """The point read whose lower bound, mean - sigma, is largest, in the user's units.

        Of those among the given ones, as the kernel sees them, if any are given; None if it holds none.
        """
        candidates, read = self._player.candidates, self._read
        if among is not None:
            read = read[is_among(candidates.coordinates[read], among)]
        return candidates.x_of(candidates.coordinates[self._best(read)]) if len(read) else None

    @property
    def _read(self) -> Ints:
        return np.sort(self._player.instances["main"].posterior.u)

    def _best(self, read: Ints) -> int:
        instance = self._player.instances["main"]
        return int(read[np.argmax(instance.mu[read] - instance.sigma[read])])

    def _doubtful(self, others: Sequence[Floats]) -> Floats | None:
        """The best flagged reading, if it beats the incumbent and its point was read only once."""
        if not self._left_out:
            return None
        bar = float(self._player.instances["main"].mu[self._best(self._read)])
        points = np.array([u for _, u, _ in self._readings] + list(others))
        found = None
        for t, u, y in self._readings:
            if t in self._left_out and y > bar and (np.abs(points - u).max(axis=1) < 1e-9).sum() == 1:
                bar, found = y, u
        return found

    def _flagged(self, n: int) -> frozenset[int]:
        """Flagged among the first n, the most suspicious first, as far as that is little enough."""
        readings = self._readings[:n]
        points, y = np.array([u for _, u, _ in readings]), np.array([y for _, _, y in readings])
        most = int(LARGEST_SHARE * n)
        return frozenset(readings[k][0] for k in flagged(points, y, self._assumptions)[:most])

    def _learn(self, readings: Sequence[Reading]) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AssumptionsRefuted)  # it allows for no corruption at all
            for t, u, y in readings:
                if t not in self._left_out:
                    self._player.learn(self._reading(self._player.t + 1, u, y))

    def _reading(self, t: int, u: Floats, y: float) -> ModelReading:
        return ModelReading(t, u, y, "main", "", self._assumptions.lam, None, "scout")

    def _new_player(self) -> GPUCB:
        return GPUCB(self._domain, self._assumptions, beta=self._beta)


def last_look(n: int) -> int:
    """The last number of readings, at most n and 2 000, at which flags are set: 1, ..., 50, 52, ..."""
    at = following = 0
    while following <= min(n, 2000):
        at = following
        following = at + 1 + at // 50
    return at


def last_bulk(n: int) -> int:
    """The last number of readings, at most n, at which all of them are learned anew at once.

    From 256 on, each time it has grown by a fourth, or by 256. One by one, a long history would take
    hours.
    """
    at, following = 0, 256
    while following <= n:
        at = following
        following = at + min(at // 4, 256)
    return at


def held(readings: Sequence[Reading]) -> list[Reading]:
    """The readings that a choice rests on: all, or N_HELD of a long history, evenly over the rounds.

    Learning all would take O(n^3). Their values do not enter: picking high readings would favour
    those that noise has raised.
    """
    n = len(readings)
    return [readings[k] for k in np.linspace(0, n - 1, min(n, N_HELD)).astype(int)]
