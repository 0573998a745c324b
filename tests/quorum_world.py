"""Games in which every honest width of a quorum is the smallest that is true: what is left is its logic.

An oracle knows f and the honest noises. In place of each noise width, energy and level it puts the
least one that would be valid if all readings were honest, each of them in the hand that it was dealt to
when it was asked for. Then any bound that is wrong is wrong because of how lies are counted.
"""

import copy
import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np

import unbribable as ub
from games import random_function
from unbribable.decision import instance
from unbribable.decision.proven import counted, energy, left_out
from unbribable.decision.proven.better import Better
from unbribable.decision.recommend import left_out as left_out_of
from unbribable.theory.widths import Proportional

KERNEL = ub.Matern(2.5, 0.35)
X = np.linspace(0.0, 1.0, 9)[:, None]
N_SETS = 3000
"""Sets of readings that are left out at the end of a game, at most."""

TOLERANCE = 1e-6
"""Bounds that touch f are right up to rounding, which is far less."""


@dataclass
class Oracle:
    """Holds changing state: who was dealt what, and what the noises are. f is that of the game."""

    f: np.ndarray
    noise: np.ndarray
    """By round, (T + 1,)."""
    lam: float
    dealt: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """(candidate, round) by label."""

    def deal(self, labels: tuple[str, ...], index: int, t: int) -> None:
        """The reading of a round, and who has it."""
        for label in labels:
            self.dealt.setdefault(label, []).append((index, t))

    def factor(self, label: str) -> float:
        """The least s such that f is within s sigma of the mean that honest readings would give."""
        held = self.dealt.get(label, [])
        sigma, mu = np.sqrt(KERNEL.diag(X)), np.zeros(len(X))
        if held:
            index = [i for i, _ in held]
            y = self.f[index] + self.noise[[t for _, t in held]]
            K = KERNEL(X[index], X[index]) + self.lam * np.eye(len(index))
            weights = np.linalg.solve(K, KERNEL(X[index], X))
            mu = weights.T @ y
            sigma = np.sqrt(KERNEL.diag(X) - np.sum(weights * KERNEL(X[index], X), axis=0))
        return float(np.max(np.abs(self.f - mu) / sigma))

    def energy(self, label: str) -> float:
        """Of the honest noises."""
        return float(sum(self.noise[t] ** 2 for _, t in self.dealt.get(label, [])))


class _Current:
    """The oracle of the game that is built, the energy that is asked for, and the noises."""

    oracle: Oracle
    energy: float


@contextmanager
def sharp(oracle: Oracle) -> Iterator[None]:
    """Every honest width, energy and level is the least true one in here."""
    now = _Current()
    now.oracle = oracle
    begin, work_out, width = (
        instance.Instance.__init__,
        energy.EnergyBounds._work_out,
        instance.Instance._new_noise_width,
    )

    def begins(self: Any, label: str, *words: Any, **more: Any) -> None:
        begin(self, label, *words, **more)
        self.oracle = now.oracle
        if self.energy is not None:
            self.energy.oracle, self.energy.label = now.oracle, label
            self.energy._work_out()
        self._work_out()

    def works_out(self: Any) -> None:
        now.energy = self.oracle.energy(self.label) if hasattr(self, "oracle") else 0.0
        work_out(self)

    def widths(self: Any) -> Any:
        return Proportional(self.oracle.factor(self.label)) if hasattr(self, "oracle") else width(self)

    def levels(noise_std: float, t: Any, delta: float) -> Any:
        return np.abs(oracle.noise)[np.asarray(t, dtype=int)]

    def of_all(noise_std: float, n: int, delta: float) -> float:
        return float(np.sum(oracle.noise[1 : n + 1] ** 2))

    with (
        patch.object(instance.Instance, "__init__", begins),
        patch.object(energy.EnergyBounds, "_work_out", works_out),
        patch.object(instance.Instance, "_new_noise_width", widths),
        patch.object(energy, "noise_energy", lambda *words: now.energy),
        patch.object(counted, "noise_level", levels),
        patch.object(left_out, "noise_level", levels),
        patch.object(left_out, "noise_energy", of_all),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", ub.AssumptionsRefuted)
        yield


@dataclass
class Game:
    """Holds changing state: a quorum, what is under way, and which readings are lies."""

    quorum: Any
    oracle: Oracle
    rng: np.random.Generator
    n_lies: int
    T: int
    other: np.ndarray
    """Another function of the same norm."""
    twice: bool = False
    """Whether two hands are dealt each reading (a mutant's)."""
    lies: set[int] = field(default_factory=set)
    plan: set[int] = field(default_factory=set)
    """Rounds at which a liar who does not look lies."""

    @property
    def left(self) -> int:
        """Lies left."""
        return self.n_lies - len(self.lies)

    def honest(self, t: int, index: int) -> float:
        """What would be told."""
        return float(self.oracle.f[index] + self.oracle.noise[t])

    def allowed(self, t: int, index: int) -> tuple[float, float]:
        """What an honest reading can be, as far as is known."""
        bounds, r = self.quorum.policy.counted, abs(self.oracle.noise[t])
        return float(bounds.lcb_bar[index] - r), float(bounds.ucb_bar[index] + r)

    def labels(self, label: str) -> tuple[str, ...]:
        """Who learns from a reading that was dealt to a hand."""
        hands = list(self.quorum.instances)[:-1]
        second = (hands[(hands.index(label) + 1) % len(hands)],) if self.twice else ()
        return (label, *second, "all")

    def tell(self, label: str, index: int, t: int, told: Callable[[], Any]) -> None:
        """Let everybody learn."""
        self.oracle.deal(self.labels(label), index, t)
        told()

    def mistakes(self) -> list[str]:
        """What is wrong with what is said now."""
        bounds, f = self.quorum.policy.counted, self.oracle.f
        if bounds.is_refuted:
            return ["refuted"]
        told = [reading.t for reading in self.quorum.readings]
        wrong = ["accused"] if not {told[j] for j in bounds.found} <= self.lies else []
        wrong += ["over time"] if slack(self.quorum, f) < -TOLERANCE else []
        if np.any(f > bounds.upper + TOLERANCE) or np.any(f < bounds.lower - TOLERANCE):
            wrong.append("now")
        return wrong

    def mistakes_at_the_end(self) -> list[str]:
        """Of the intervals by leaving readings out, and of the recommendation."""
        outside, f = left_out_of(self.quorum), self.oracle.f
        wrong: list[str] = []
        if math.comb(self.T, self.n_lies) > N_SETS:
            return wrong  # that takes long, and says no more
        for k in (self.n_lies, self.n_lies + 1) if self.n_lies < 3 else (self.n_lies,):
            for x in range(0, len(X), 2):
                found = outside.interval(X[x], k)
                if found is None or not found[0] - TOLERANCE <= f[x] <= found[1] + TOLERANCE:
                    wrong.append(f"without {k}")
                most = Better(outside, X, x).most(k) if x % 4 == 0 else math.inf
                if most is None or f.max() - f[x] > most + TOLERANCE:
                    wrong.append(f"better without {k}")
        best = self.quorum.recommend()
        if best.lower is None or not best.lower - TOLERANCE <= f[best.index] <= best.upper + TOLERANCE:
            wrong.append("recommended")
        elif f.max() - f[best.index] > best.regret_bound + TOLERANCE:
            wrong.append("certificate")
        return wrong


def slack(quorum: Any, f: np.ndarray) -> float:
    """How far the bounds over time are from f where they are closest; below zero they are wrong."""
    bounds = quorum.policy.counted
    return float(min(np.min(bounds.ucb_bar - f), np.min(f - bounds.lcb_bar)))


# --- liars: what is told in place of an honest reading, None: the truth -------------------------------

Liar = Callable[[Game, int, int, str], float | None]


def gross(game: Game, t: int, index: int, label: str) -> float | None:
    """Far beyond everything, at any time."""
    return float(game.rng.choice([-1.0, 1.0]) * 1e3) if t in game.plan else None


def huge_burst(game: Game, t: int, index: int, label: str) -> float | None:
    """At once."""
    return 1e8


def quiet_high(game: Game, t: int, index: int, label: str) -> float | None:
    """As high as an honest reading could be."""
    return game.allowed(t, index)[1] - 1e-6 if t in game.plan else None


def quiet_low(game: Game, t: int, index: int, label: str) -> float | None:
    """As low as one could be."""
    return game.allowed(t, index)[0] + 1e-6 if t in game.plan else None


def imitator(game: Game, t: int, index: int, label: str) -> float | None:
    """An honest reading of another function."""
    return float(game.other[index] + game.oracle.noise[t]) if t in game.plan else None


def in_one_hand(game: Game, t: int, index: int, label: str) -> float | None:
    """All in one hand: the others are fine."""
    return game.allowed(t, index)[1] - 1e-6 if label == "hand-1" else None


def in_many_hands(game: Game, t: int, index: int, label: str) -> float | None:
    """One in each hand, upwards, and just not to be found."""
    spoilt = {
        name
        for name, held in game.oracle.dealt.items()
        if name != "all" and {s for _, s in held} & game.lies
    }
    return None if label in spoilt else game.allowed(t, index)[1] - 1e-6


def late(game: Game, t: int, index: int, label: str) -> float | None:
    """When it is too late to notice."""
    return game.allowed(t, index)[t % 2] if t > game.T - game.n_lies else None


def hider(game: Game, t: int, index: int, label: str) -> float | None:
    """Lowers what is best."""
    f = game.oracle.f
    return game.honest(t, index) - 0.4 if f[index] > f.max() - 0.2 else None


def mixed(game: Game, t: int, index: int, label: str) -> float | None:
    """A lie that is found, and then one that need not be, in another hand."""
    if t not in game.plan:
        return None
    if not game.lies:
        return float(game.rng.choice([-1.0, 1.0]) * 50.0)
    low, high = game.allowed(t, index)
    return float(game.rng.choice([low + 1e-6, high - 1e-6]))


def just_found(game: Game, t: int, index: int, label: str) -> float | None:
    """Just beyond what an honest reading could be: it is found, and says as much as a lie can."""
    low, high = game.allowed(t, index)
    return float(game.rng.choice([low - 1e-3, high + 1e-3])) if t in game.plan else None


def forecaster(game: Game, t: int, index: int, label: str) -> float | None:
    """Tries lies on copies of the algorithm, and tells the one that leaves the least slack."""
    if t not in game.plan:
        return None
    low, high = game.allowed(t, index)
    lies = [
        low - 0.01,
        low + 1e-6,
        0.7 * low + 0.3 * high,
        0.3 * low + 0.7 * high,
        high - 1e-6,
        high + 0.01,
    ]
    found = []
    for lie in lies:
        there = copy.deepcopy(game)
        query = there.quorum.pending[0] if there.quorum.pending else None
        there.lies.add(t)
        if query is not None and query.t == t:
            there.tell(label, index, t, lambda a=there, q=query, y=lie: a.quorum.tell(q, y))
        else:
            there.tell(label, index, t, lambda a=there, y=lie: a.quorum.tell(x=X[index], y=y))
        found.append(-1.0 if there.mistakes() else slack(there.quorum, game.oracle.f))
    return lies[int(np.argmin(found))]


LIARS: dict[str, Liar] = {
    liar.__name__: liar
    for liar in (
        gross,
        huge_burst,
        quiet_high,
        quiet_low,
        imitator,
        in_one_hand,
        in_many_hands,
        late,
        hider,
        mixed,
        just_found,
        forecaster,
    )
}

Order = Callable[[Game, list[ub.Query]], int]
"""Which of the queries under way is told next, by its place."""


def oldest(game: Game, pending: list[ub.Query]) -> int:
    """As they were asked."""
    return 0


def noisiest(game: Game, pending: list[ub.Query]) -> int:
    """The liar chooses: the loudest noise first."""
    return int(np.argmax([game.oracle.noise[query.t] for query in pending]))


def play(
    seed: int,
    liar: Liar,
    n_lies: int,
    *,
    T: int = 18,
    order: Order = oldest,
    n_pending: int = 1,
    twice: bool = False,
    noise_std: float = 0.15,
    allowed: int | None = None,
    fault: AbstractContextManager[None] | None = None,
) -> list[str]:
    """What was wrong in a game; nothing, unless the logic is (or a fault is planted).

    Args:
        seed: Of everything.
        liar: Who is told, in each round, what would be read.
        n_lies: Lies at most.
        T: Rounds.
        order: In which queries under way are told.
        n_pending: How many are, at most.
        twice: Whether two hands learn (a mutant's).
        noise_std: Of the noise.
        allowed: For so many lies the quorum allows; for n_lies if None.
        fault: Planted while it plays.
    """
    rng = np.random.default_rng([26, seed, n_lies])
    f, other = (random_function(KERNEL, X, rng, 1.0) for _ in range(2))
    noise = noise_std * rng.standard_normal(T + 2)
    if seed % 3 == 0:
        noise = noise_std * rng.choice([-1.0, 1.0], T + 2)
    known = ub.Assumptions(KERNEL, B=1.0, B0=float(np.abs(f).max()), noise_std=noise_std, lam=0.05)
    oracle = Oracle(f, noise, known.lam)
    with sharp(oracle), fault or nullcontext():
        game = Game(
            ub.QuorumGPUCB(ub.Grid(X), known, n_lies=n_lies if allowed is None else allowed, seed=seed),
            oracle,
            rng,
            n_lies,
            T,
            other,
            twice,
        )
        game.plan = set(rng.choice(np.arange(2, T + 1), min(n_lies, T - 1), replace=False).tolist())
        pending: list[ub.Query] = []
        wrong: list[str] = []
        while game.quorum.t < T or pending:
            if game.quorum.t < T and len(pending) < n_pending:
                if n_pending == 1 and rng.random() < 0.5:  # sharp bounds alone would look nowhere else
                    t, index = game.quorum.t + 1, int(rng.integers(len(X)))
                    label = game.quorum.drawn(t)
                    y = _told(game, liar, t, index, label)
                    game.tell(label, index, t, lambda i=index, y=y: game.quorum.tell(x=X[i], y=y))
                    wrong += game.mistakes()
                    continue
                pending.append(game.quorum.ask())
                continue
            query = pending.pop(order(game, pending))
            y = _told(game, liar, query.t, query.index, query.instance)
            game.tell(query.instance, query.index, query.t, lambda q=query, y=y: game.quorum.tell(q, y))
            wrong += game.mistakes()
            if "refuted" in wrong:
                return wrong
        return wrong + game.mistakes_at_the_end()


def _told(game: Game, liar: Liar, t: int, index: int, label: str) -> float:
    """A lie, if there is one left and the liar wants to; the truth otherwise."""
    lie = liar(game, t, index, label) if game.left else None
    if lie is None:
        return game.honest(t, index)
    game.lies.add(t)
    return lie
