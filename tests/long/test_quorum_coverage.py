"""How often f leaves the bounds of a quorum, against liars who see the noise of their round.

300 games for each number of lies, in turn against each liar, with each kernel, with Gaussian noise and
with signs, half of them at delta = 0.5 and half at 0.1. A game fails if f has ever been outside, an
honest reading was found to be a lie, more lies than there are were proven, or an interval of the
recommendation or by leaving readings out is false. k failures of n are refused only if
P(Bin(n, delta) >= k) < 1e-3 (`is_too_often`). The bounds are conservative: none at all is normal. The
controls show what these games do to bounds that allow for fewer lies, or for less noise.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from games import is_too_often, random_function
from unbribable.decision.recommend import left_out

N_GAMES, T, NOISE_STD, LAM = 300, 20, 0.1, 0.05
KERNELS = (ub.Matern(2.5, 0.3), ub.SquaredExponential(0.25), ub.Linear(1.5))
X = np.linspace(-1.0, 1.0, 10)[:, None]


@dataclass
class Game:
    """Holds changing state: a quorum and what its liar knows."""

    quorum: Any
    f: np.ndarray
    other: np.ndarray
    noise: np.ndarray
    rng: np.random.Generator
    n_lies: int
    lies: set[int] = field(default_factory=set)
    spoilt: set[str] = field(default_factory=set)

    def told(self, t: int, index: int, label: str, liar: "Liar") -> float:
        """The reading of round t."""
        honest = float(self.f[index] + self.noise[t])
        if len(self.lies) == self.n_lies:
            return honest
        lie = liar(self, t, index, label)
        if lie is None:
            return honest
        self.lies.add(t)
        self.spoilt.add(label)
        return lie

    def extreme(self, t: int, index: int, side: float) -> float:
        """As far to that side as an honest reading may be for all that is known."""
        bounds = self.quorum.policy.counted
        r = bounds.level(t)
        return float(bounds.ucb_bar[index] + r if side > 0.0 else bounds.lcb_bar[index] - r) * (
            1.0 - 1e-9
        )

    def play(self, liar: "Liar") -> None:
        """T rounds, a third of them at points of the user's choice; fewer if it is refuted."""
        while self.quorum.t < T and self.quorum.refuted is None:
            t = self.quorum.t + 1
            if t % 3 == 0:
                index = int(self.rng.integers(len(X)))
                label = self.quorum.drawn(t)
                self.quorum.tell(x=X[index], y=self.told(t, index, label, liar))
            else:
                query = self.quorum.ask()
                self.quorum.tell(query, self.told(t, query.index, query.instance, liar))

    def fails(self, ks: tuple[int, ...]) -> bool:
        """Whether anything that was said is false; by leaving out for these numbers of lies."""
        bounds, f = self.quorum.policy.counted, self.f
        rounds = [reading.t for reading in self.quorum.readings]
        if bounds.is_refuted or not {rounds[j] for j in bounds.found} <= self.lies:
            return True
        if np.any(f > bounds.ucb_bar + 1e-9) or np.any(f < bounds.lcb_bar - 1e-9):
            return True
        outside, x = left_out(self.quorum), int(self.rng.integers(len(X)))
        for k in ks:
            found, certain = outside.interval(X[x], k), outside.certain(k)
            if found is None or not found[0] - 1e-9 <= f[x] <= found[1] + 1e-9:
                return True
            if k == self.n_lies and not {rounds[j] for j in certain} <= self.lies:
                return True
        if not ks:
            return False
        best = self.quorum.recommend()
        is_inside = best.lower is not None and best.lower - 1e-9 <= f[best.index] <= best.upper + 1e-9
        return not is_inside or f.max() - f[best.index] > best.regret_bound + 1e-9


Liar = Callable[[Game, int, int, str], float | None]


def gross(game: Game, t: int, index: int, label: str) -> float | None:
    """Anything, from the start."""
    return float(game.rng.choice([-1e6, 30.0, 1e6])) if t > 2 else None


def accomplice(game: Game, t: int, index: int, label: str) -> float | None:
    """Where the noise is loud already it is made louder, by as much as can be."""
    noise = game.noise[t]
    return game.extreme(t, index, noise) if abs(noise) >= NOISE_STD else None


def imitator(game: Game, t: int, index: int, label: str) -> float | None:
    """Another function, where they differ most."""
    gap = np.abs(game.other - game.f)
    return float(game.other[index] + game.noise[t]) if gap[index] >= np.median(gap) else None


def many_hands(game: Game, t: int, index: int, label: str) -> float | None:
    """One lie in each hand, all of them downwards."""
    return None if label in game.spoilt else game.extreme(t, index, -1.0)


def one_hand(game: Game, t: int, index: int, label: str) -> float | None:
    """All of them in one hand, upwards."""
    return game.extreme(t, index, 1.0) if label in (game.spoilt or {label}) else None


def hider(game: Game, t: int, index: int, label: str) -> float | None:
    """What is best looks a little worse; the worse the noise, the better."""
    is_good = game.f[index] >= np.quantile(game.f, 0.7)
    return float(game.f[index] - 0.5) - abs(game.noise[t]) if is_good else None


def late(game: Game, t: int, index: int, label: str) -> float | None:
    """At the end, to the side of the noise."""
    return game.extreme(t, index, game.noise[t]) if t > T - game.n_lies else None


LIARS = (gross, accomplice, imitator, many_hands, one_hand, hider, late)


@pytest.fixture(autouse=True)
def _refutations_are_counted_not_raised() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ub.AssumptionsRefuted)
        yield


def played(
    number: int, n_lies: int, *, allowed: int | None = None, louder: float = 1.0
) -> tuple[Game, float]:
    """Game `number`, and its delta."""
    rng = np.random.default_rng([2617, n_lies, number])
    kernel, delta = KERNELS[number % 3], (0.5, 0.1)[number // 2 % 2]
    f, other = (random_function(kernel, X, rng, 1.0) for _ in range(2))
    noise = NOISE_STD * louder * rng.standard_normal(T + 1)
    if number % 2:
        noise = NOISE_STD * louder * rng.choice([-1.0, 1.0], T + 1)
    known = ub.Assumptions(
        kernel, B=1.0, B0=float(np.abs(f).max()), noise_std=NOISE_STD, lam=LAM, delta=delta
    )
    quorum = ub.QuorumGPUCB(
        ub.Grid(X), known, n_lies=n_lies if allowed is None else allowed, seed=number
    )
    game = Game(quorum, f, other, noise, rng, n_lies)
    game.play(LIARS[number % len(LIARS)])
    return game, delta


@pytest.mark.parametrize("n_lies", [1, 2, 3, 5])
def test_f_leaves_the_bounds_at_most_as_often_as_delta_says(n_lies: int) -> None:
    failures, n_games = {0.5: 0, 0.1: 0}, {0.5: 0, 0.1: 0}
    for number in range(N_GAMES):
        game, delta = played(number, n_lies)
        # Leaving out many at once takes long: then in some of the games.
        ks: tuple[int, ...] = (n_lies, n_lies + 1) if n_lies < 3 else (n_lies,)
        failures[delta] += game.fails(ks if n_lies < 3 or number % 15 == 0 else ())
        n_games[delta] += 1
    for delta, n in n_games.items():
        assert not is_too_often(failures[delta], n, delta)


def test_bounds_that_allow_for_fewer_lies_fail() -> None:
    """Control: these liars do harm."""
    games = [played(number, 4, allowed=1) for number in range(40)]
    assert is_too_often(sum(game.fails(()) for game, _ in games), 40, 0.5)


def test_bounds_that_allow_for_less_noise_fail() -> None:
    """Control: the noise counts."""
    games = [played(number, 1, louder=4.0) for number in range(40)]
    assert is_too_often(sum(game.fails(()) for game, _ in games), 40, 0.5)
