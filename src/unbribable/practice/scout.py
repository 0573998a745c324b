"""A heuristic player: GP-UCB with a fixed beta on the readings that do not look like lies."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from unbribable.decision.ahead import is_among
from unbribable.decision.algorithm import AssumptionsRefuted
from unbribable.decision.policies.gp_ucb import GPUCB
from unbribable.decision.proposal import Reading
from unbribable.model.box import Box
from unbribable.model.checks import Floats, Ints
from unbribable.model.domain import Grid
from unbribable.practice.estimate import held
from unbribable.practice.predictions import NOTICE_AT, Verdict, judgement
from unbribable.theory.assumptions import Assumptions

LARGEST_SHARE = 0.2
"""Share of the readings that may be left out: more flags than that speak against the model."""

LEAST_NOISE_VAR = 1e-4
"""A scout's lam is the variance of the noise, at least this: below it float64 does not resolve sigma."""

KNOWN = 0.5
"""A choice whose value is known to this many standard deviations of the noise can wait a round."""

N_AGAIN = 3
"""Readings of a point, at most, that doubt alone asks for."""


class Scout:
    """Holds changing state: chooses points, and the one to recommend. Heuristic: guarantees nothing.

    It maximises mean + beta * sigma over the readings that are not flagged as suspicious. Where the
    answer hinges on one reading, that is read again first, a flagged one that would be the best as well
    as a low one where the others predict the best: true or false, that settles it. Once the best choice
    is known better than the noise, every other round checks a reading that may hide the maximum.
    Readings are flagged anew after each one up to fifty, then each time their number has grown by a
    fiftieth, and for the last time at nearly 2 000, since that costs O(m^3).
    """

    def __init__(self, domain: Grid | Box, assumptions: Assumptions, beta: float) -> None:
        self._domain = domain
        lam = max(LEAST_NOISE_VAR, assumptions.noise_std**2)
        self._assumptions = replace(assumptions, lam=lam)
        self._beta = beta
        self._readings: list[Reading] = []
        self._left_out: frozenset[int] = frozenset()
        self._verdict: Verdict | None = None  # on the readings up to the last look
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
        left_out = self._left_out
        if look > n:
            self._verdict, left_out = self._look(look)
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
        elsewhere = [*pending, *avoid]
        doubtful = self._doubtful(elsewhere)
        if doubtful is not None:
            return doubtful
        u = self._player.query_at(t, "main", pending, avoid).u
        closest = np.argmin(((self._player.candidates.coordinates - u) ** 2).sum(axis=1))
        sigma = float(self._player.instances["main"].sigma[closest])
        is_known = sigma < KNOWN * np.sqrt(self._assumptions.lam)
        unchecked = self._unchecked(elsewhere) if is_known and t % 2 == 0 else None
        return u if unchecked is None else unchecked

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
        """The point to be read again, if the answer hinges on a reading that may be a lie.

        High: none of the readings of a point is believed, one of them would be the best, and there are
        fewer than N_AGAIN; or the incumbent rests on one reading, which the others do not bear out, or
        on two that agree to the last digit, as of a stuck sensor.
        Low: the only reading of a point is well below what the others predict, and that would be the
        best. Of several the most promising.
        """
        if self._verdict is None:
            return None
        mu, read, verdict = self._player.instances["main"].mu, self._read(), self._verdict
        best = self._best(read)
        bar, second = float(mu[best]), float(np.max(mu[read[read != best]], initial=-np.inf))
        points, n_here = self._points()
        is_incumbent = is_among(points, [self._player.candidates.coordinates[best]])
        may = ~is_among(points, elsewhere)
        if may[is_incumbent].all() and self._is_fragile(np.flatnonzero(is_incumbent), second):
            return self._readings[int(np.argmax(is_incumbent))].u
        found = None
        for k in np.flatnonzero(may[: len(verdict.score)] & (n_here[: len(verdict.score)] < N_AGAIN)):
            each, expected, promise = self._readings[k], float(verdict.expected[k]), -np.inf
            same = np.flatnonzero(is_among(points, [each.u]))
            if all(self._readings[i].t in self._left_out for i in same):
                promise = each.y
            elif n_here[k] == 1 and each.y < expected and verdict.score[k] >= NOTICE_AT:
                promise = expected
            if promise > bar:
                bar, found = promise, each.u
        return found

    def _is_fragile(self, own: Ints, second: float) -> bool:
        """Whether the incumbent's own readings, these, may be wrong and make it the best.

        Two that are equal, or one that is well above what the others predict, which is less than the
        second best.
        """
        verdict, y = self._verdict, [self._readings[k].y for k in own]
        if len(own) == 2:
            return bool(y[0] == y[1])
        if verdict is None or len(own) > 2 or own[0] >= len(verdict.score):
            return False
        k = own[0]
        is_high = verdict.score[k] >= NOTICE_AT and verdict.expected[k] < min(second, y[0])
        return bool(is_high)

    def _unchecked(self, elsewhere: Sequence[Floats]) -> Floats | None:
        """The point read once, with less than the others predict, most likely to be the best if that
        was a lie. None if none has a chance of a sixth."""
        if self._verdict is None:
            return None
        verdict, n = self._verdict, len(self._verdict.score)
        bar = float(self._player.instances["main"].mu[self._best(self._read())])
        points, n_here = self._points()
        y = np.array([each.y for each in self._readings[:n]])
        may = (n_here[:n] == 1) & (y < verdict.expected) & ~is_among(points[:n], elsewhere)
        chance = np.where(may, (verdict.expected - bar) / verdict.sd, -np.inf)
        k = int(np.argmax(chance))
        return points[k] if chance[k] > -1.0 else None

    def _points(self) -> tuple[Floats, Ints]:
        """Where each reading was taken, and how many were taken there."""
        points = np.array([each.u for each in self._readings])
        _, group, n = np.unique(points, axis=0, return_inverse=True, return_counts=True)
        return points, n[group.reshape(-1)]

    def _look(self, n: int) -> tuple[Verdict, frozenset[int]]:
        """What is thought of the first n readings, and the rounds left out of them.

        Those are the flagged ones, the most suspicious first, up to LARGEST_SHARE of all.
        """
        readings = self._readings[:n]
        points, y = np.array([each.u for each in readings]), np.array([each.y for each in readings])
        verdict = judgement(points, y, self._assumptions)
        worst = [k for k in np.argsort(-verdict.score, kind="stable") if verdict.is_flagged[k]]
        return verdict, frozenset(readings[k].t for k in worst[: int(LARGEST_SHARE * n)])

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
