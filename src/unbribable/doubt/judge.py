"""One judge of all readings: which look false, and what value to expect where. Heuristic."""

from dataclasses import dataclass

import numpy as np

from unbribable.doubt.equal import equal_doubt
from unbribable.doubt.hypotheses import Belief, Data, Hypotheses, Known, mixed
from unbribable.doubt.shared import features, of_blocks
from unbribable.model.checks import Bools, Floats, Ints

FLAGGED = 0.5
"""Probability of a lie from which a reading is flagged."""

N_EACH = 64
"""Up to so many readings the hypotheses move on after each one; then they are drawn anew each time the
number has grown by an eighth."""

N_HEARD = 128
"""Readings that decide on the smoothness, scale and noise, at most."""

N_WHOLE = 256
"""Readings beyond which every fourth hypothesis alone is compared with all of them."""

N_COMPARED = 1024
"""Readings that are compared with each other, at most, evenly over the rounds. Others are compared
with these alone."""

N_START, N_SWEEPS = 60, 6
"""Sweeps after the first states were drawn, and after each further reading."""

_COMPETE = (15, 30, 45)
_KEY = 18
"""Of the random streams: with the number of readings they make all that is drawn a function of these."""


@dataclass(frozen=True)
class Verdict:
    """What is thought of each reading, (n,) each, in the unit of the readings."""

    probability: Floats
    """Of a lie."""
    expected: Floats
    """What the others predict."""
    sd: Floats
    """Standard deviation of the reading around it, honest noise included."""
    is_equal: Bools
    """Which are told with others to the last digit, where honest ones would differ."""

    @property
    def is_flagged(self) -> Bools:
        """Which look like lies."""
        return self.probability >= FLAGGED


@dataclass(frozen=True, eq=False)
class _Look:
    """All readings, and what the chains say of those that are compared with each other."""

    U: Floats
    y: Floats
    doubt: Floats
    data: Data
    """Of those compared."""
    chains: Hypotheses
    """Likewise."""
    compared: Ints | None
    """Where they stand among all; None: they are all."""
    sem: Floats | None = None
    """What is known of the noise of each."""
    blocks: Ints | None = None
    """The block of each reading; None if there are no blocks."""
    shared: Floats | None = None
    """Of all readings, the features of what they share besides f; None if there are none."""

    @property
    def others(self) -> Ints:
        """The places of the readings that are not compared with each other."""
        every = np.arange(len(self.y))
        return every[:0] if self.compared is None else np.setdiff1d(every, self.compared)


@dataclass(frozen=True)
class Typical:
    """What a hypothesis in the middle says of f and the noise, in the unit of the readings."""

    center: float
    scale: float
    """Standard deviation of f around it."""
    noise_std: float


class Judge:
    """Holds changing state: the hypotheses about the readings told so far.

    A function of these in their order, and of nothing else: in how many steps they are told, and when
    somebody asks, does not matter. Chains begin with draws of the prior, once there are n_first
    readings, and the better ones are taken on by the others; then they follow the readings one by one.
    From N_EACH readings on they begin anew each time the number has grown by an eighth, by N_HEARD of
    the readings, evenly over the rounds; in between, every reading gets its verdict by what they say.

    Args:
        known: What the user said of f and the noise.
        n_first: Readings from which there is a judgement; those of a table are judged together.
        has_drift: Whether the instrument may drift.

    Attributes:
        n_first: The same, at least 1.
    """

    def __init__(self, known: Known, n_first: int, *, has_drift: bool = False) -> None:
        self._known = known
        self._has_drift = has_drift
        self.n_first = max(1, n_first)
        self._n = 0  # readings that the chains have followed
        self._chains: Hypotheses | None = None
        self._heard: Ints | None = None  # those that they are about, if not all
        self._state: _Look | None = None

    def learn(
        self,
        U: Floats,
        y: Floats,
        rounds: Ints,
        sem: Floats | None = None,
        blocks: Ints | None = None,
    ) -> None:
        """Judge these readings: the ones told before, and further ones after them.

        Args:
            U: Points in the unit cube, (n, d), n >= n_first.
            y: Their readings, (n,).
            rounds: The round of each, (n,).
            sem: The standard deviation of the noise of each, (n,): NaN where it is like that of the
                others. None: for all.
            blocks: The block of each, numbered by its first reading, (n,); None if there are no blocks.
        """
        if self._state is not None and len(self._state.y) == len(y):
            return
        stop = last_stop(len(y), self.n_first)
        start = stop if stop > N_EACH else self.n_first  # beyond, states before do not matter
        for n in range(max(start, self._n + 1), stop + 1):
            own = None if sem is None else sem[:n]
            self._follow(U[:n], y[:n], rounds[:n], own, None if blocks is None else blocks[:n])
        self._look(U, y, rounds, sem, blocks)

    # --- what is thought ---------------------------------------------------------------------------

    def verdict(self) -> Verdict:
        """On all readings."""
        now = self._now
        data, chains, others = now.data, now.chains, now.others
        mean, sd = mixed(*chains.predicted())
        chance: Floats = chains.chance.mean(axis=0)
        if now.compared is not None:
            sem = None if now.sem is None else now.sem[others]
            shared = None if now.shared is None else now.shared[others]
            chances, means, vars_ = chains.further(
                now.U[others], now.y[others], now.doubt[others], sem, shared
            )
            mean_, sd_ = mixed(means, vars_)
            order = np.argsort(np.concatenate([now.compared, others]), kind="stable")
            chance = np.concatenate([chance, chances.mean(axis=0)])[order]
            mean, sd = np.concatenate([mean, mean_])[order], np.concatenate([sd, sd_])[order]
        return Verdict(
            probability=chance,
            expected=data.origin + data.unit * mean,
            sd=data.unit * sd,
            is_equal=now.doubt > 0.0,
        )

    def predict(self, U: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation of f at points of the unit cube, (k, d): (k,) each."""
        data, chains = self._now.data, self._now.chains
        mean, sd = Belief(data, chains).at(U)
        return data.origin + data.unit * mean, data.unit * sd

    def elsewhere(self, places: Ints) -> tuple[float, float]:
        """Mean and standard deviation of f at a point, by all readings but its own, which are these."""
        now = self._now
        data, chains = now.data, now.chains
        own = places if now.compared is None else np.flatnonzero(np.isin(now.compared, places))
        if len(own):
            mean, sd = mixed(*chains.elsewhere(own))
        else:
            mean, sd = Belief(data, chains).at(now.U[places[:1]])
        return data.origin + data.unit * float(mean[0]), data.unit * float(sd[0])

    def offsets(self) -> tuple[Floats, Floats]:
        """By how much each reading is off because of its block and the drift, and the sd of that.

        (n,) each, in the unit of the readings; zeros where there are neither.
        """
        now = self._now
        if now.shared is None:
            return np.zeros(len(now.y)), np.zeros(len(now.y))
        return self._off(now.shared)

    def of_blocks(self) -> tuple[Floats, Floats]:
        """The offset of each block, by its number, and its sd, (m,) each, likewise."""
        blocks = self._now.blocks
        if blocks is None or not blocks.any():
            return np.zeros(1), np.zeros(1)
        return self._off(of_blocks(blocks))

    @property
    def n_followed(self) -> int:
        """Readings that the chains have followed: all, or those up to the last time they began anew."""
        return self._n

    @property
    def chains(self) -> Hypotheses:
        """The hypotheses, as they were after the reading `n_followed`."""
        assert self._chains is not None
        return self._chains

    def typical(self) -> Typical:
        """The medians of all hypotheses."""
        data, chains = self._now.data, self._now.chains
        scale, noise_std, mean = chains.typical()
        return Typical(data.origin + data.unit * mean, data.unit * scale, data.unit * noise_std)

    def belief(self, pending: Floats | None = None) -> Belief:
        """What is thought of f in robust units, given that the pending points will be read."""
        return Belief(self._now.data, self._now.chains, pending)

    @property
    def _now(self) -> _Look:
        if self._state is None:
            raise RuntimeError("a judgement needs a reading, there is none yet; tell one")
        return self._state

    def _off(self, features: Floats) -> tuple[Floats, Floats]:
        """What the first of the features, (k, m), add to a reading, and the sd of that: (k,) each."""
        m, unit = features.shape[1], self._now.data.unit
        weights, covariance = self._now.chains.weights()
        var = ((features @ covariance[:, :m, :m]) * features).sum(axis=2)
        mean, sd = mixed(weights[:, :m] @ features.T, np.maximum(var, 0.0))
        return unit * mean, unit * sd

    # --- how it comes about ------------------------------------------------------------------------

    def _follow(
        self, U: Floats, y: Floats, rounds: Ints, sem: Floats | None, blocks: Ints | None
    ) -> None:
        """Let the chains come to the state that they have after the last of these readings."""
        n = len(y)
        rng = np.random.default_rng([_KEY, n])
        heard = evenly(n, N_HEARD) if n > N_HEARD else None
        shared = features(blocks, rounds, has_drift=self._has_drift)
        data = self._data(U, y, rounds, equal_doubt(U, y), sem, shared, heard)
        if self._chains is None or n > N_EACH or n == self.n_first:
            chains = Hypotheses.drawn(data, rng)
            for k in range(N_START):
                if k in _COMPETE:
                    chains.compete(rng)
                chains.sweep(rng)
        else:
            chains = self._chains.continued(data)
            for _ in range(N_SWEEPS):
                chains.sweep(rng)
        self._chains, self._heard, self._n = chains, heard, n  # last: an interrupt leaves all as it was

    def _look(self, U: Floats, y: Floats, rounds: Ints, sem: Floats | None, blocks: Ints | None) -> None:
        """Have every reading judged by what the chains say now."""
        chains, n, doubt, compared = self._chains, len(y), equal_doubt(U, y), None
        assert chains is not None
        data = chains.data
        shared = features(blocks, rounds, has_drift=self._has_drift)
        if data.n < n:
            heard = self._heard
            if n > N_COMPARED:
                heard = np.arange(data.n) if heard is None else heard
                compared = np.union1d(evenly(n, N_COMPARED - len(heard)), heard)
                heard = np.searchsorted(compared, heard)
            data = self._data(U, y, rounds, doubt, sem, shared, compared)
            if n > N_WHOLE:
                chains = chains.thinned(len(chains.theta) // 4)
            chains = chains.continued(data, heard)
            rng = np.random.default_rng([_KEY, n, 1])
            for _ in range(2):
                chains.judge(rng)
        self._state = _Look(U, y, doubt, data, chains, compared, sem, blocks, shared)

    def _data(
        self,
        U: Floats,
        y: Floats,
        rounds: Ints,
        doubt: Floats,
        sem: Floats | None,
        shared: Floats | None,
        kept: Ints | None,
    ) -> Data:
        if kept is not None:
            U, y, rounds, doubt = U[kept], y[kept], rounds[kept], doubt[kept]
            sem = None if sem is None else sem[kept]
            shared = None if shared is None else shared[kept]
        return Data(U, y, rounds, doubt, self._known, sem, shared)


def last_stop(n: int, first: int) -> int:
    """The last number of readings, at most n, at which the chains change: each up to N_EACH, then ..."""
    at = max(first, N_EACH)
    if n <= at:
        return n
    while at + at // 8 <= n:
        at += at // 8
    return at


def evenly(n: int, n_kept: int) -> Ints:
    """n_kept of n readings, evenly over the rounds."""
    return np.linspace(0, n - 1, min(n, n_kept)).astype(np.intp)
