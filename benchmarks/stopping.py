"""When a run stops by itself: `python -m benchmarks.stopping [NAMES [FIRST_SEED [RUNS]]]`.

Four functions, noise of 2 % of their range, nobody lies or each reading is a lie with probability 0.1
(above the maximum by 30 % of the range, far below, or somewhere in the middle). A run has 60 rounds.
Prints Markdown tables: in how many runs nothing was expected to be left above a share of the range,
after how many rounds, and the regret of the recommended point then and at the end; and the same of what
is proven, where all is known. The rule was chosen with seeds 100 to 105.
"""

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import unbribable as ub
from unbribable.decision.left_to_gain import LeftToGain
from unbribable.study.advice import left_to_expect

ROUNDS, NOISE = 60, 0.02
SHARES = (0.1, 0.05, 0.02)
PROVEN = (0.05, 0.02)
ROUNDS_PROVEN, EVERY = 60, 20
"""Rounds where everything is known, and between two looks at what is proven then."""


def waves(x: np.ndarray) -> float:
    return float(np.sin(9 * x[0]) + 0.5 * np.sin(21 * x[0]))


def hidden(x: np.ndarray) -> float:
    wide = np.exp(-((x[0] - 0.25) ** 2 + (x[1] - 0.3) ** 2) / 0.08)
    return float(wide + 1.3 * np.exp(-((x[0] - 0.8) ** 2 + (x[1] - 0.75) ** 2) / 0.02))


def valley(x: np.ndarray) -> float:
    a, b = 4 * x[0] - 2, 4 * x[1] - 1
    return float(-np.log1p((1 - a) ** 2 + 20 * (b - a * a) ** 2))


def hill(x: np.ndarray) -> float:
    off = np.sum((x - np.array([0.3, 0.6, 0.5, 0.7])) ** 2)
    return float(np.exp(-off / 0.5) + 0.1 * np.sin(7 * x[0]))


FUNCTIONS: dict[str, tuple[Callable[[np.ndarray], float], int, str]] = {
    "waves": (waves, 1, "several hills, 1 parameter"),
    "valley": (valley, 2, "a curved valley, 2"),
    "hill": (hill, 4, "one hill with a ripple, 4"),
    "hidden": (hidden, 2, "a wide hill and a higher, narrow one, 2"),
    "known": (waves, 1, "from a known space, 1 parameter"),
}


@cache
def extremes(name: str) -> tuple[float, float]:
    """Maximum and range of a function."""
    f, d, _ = FUNCTIONS[name]
    X = np.random.default_rng(0).random((50_000, d))
    values = np.array([f(x) for x in X])
    x, best = X[values.argmax()], float(values.max())
    rng = np.random.default_rng(1)
    for reach in np.repeat([0.03, 0.01, 0.003, 0.001], 200):  # from there uphill
        near = np.clip(x + reach * rng.standard_normal(d), 0.0, 1.0)
        if f(near) > best:
            x, best = near, f(near)
    return best, best - float(values.min())


class World:
    """Holds changing state: a function with noise and lies, all of them functions of the seed."""

    def __init__(self, name: str, seed: int, share: float, most: int = ROUNDS) -> None:
        self.f, self.d, _ = FUNCTIONS[name]
        self.top, self.span = extremes(name)
        self._rng = np.random.default_rng([seed, 7])
        self._share = share
        self._left = most

    def read(self, x: np.ndarray) -> float:
        y = self.f(x) + NOISE * self.span * self._rng.standard_normal()
        u = self._rng.random()
        if u >= self._share or not self._left:
            return y
        self._left -= 1
        lies = (self.top + 0.3 * self.span, self.top - 1.2 * self.span, self.top - 0.5 * self.span)
        return lies[int(3 * u / self._share)]

    def regret(self, x: np.ndarray) -> float:
        """As a share of the range."""
        return (self.top - self.f(x)) / self.span


def play(name: str, seed: int, share: float) -> list[tuple[float, float]]:
    """After each round, what is expected to be left (inf: not known) and the regret, over the range."""
    world, found = World(name, seed, share), []
    study = ub.Study([(0.0, 1.0)] * world.d, n_rounds=ROUNDS, seed=seed)
    for _ in range(ROUNDS):
        query = study.ask()
        study.tell(query, world.read(query.x))
        known = np.inf
        if not any(left <= min(SHARES) for left, _ in found):  # else it has stopped for all of them
            left = LeftToGain(*left_to_expect(study.engine), None)
            if left.not_yet is None and left.expected is not None:
                known = left.expected
        found.append((known / world.span, world.regret(best(study))))
    return found


def play_proven(seed: int, n_lies: int, corruption: float | None) -> list[tuple[float, float]]:
    """The same of what is proven, every few rounds, where kernel, norm and noise are known.

    f is drawn from the kernel's space: 20 bumps with weights of both signs. One of the first 20 readings
    is too high by the range, where n_lies is 1.
    """
    rng, kernel = np.random.default_rng([seed, 8]), ub.SquaredExponential(0.2)
    X = np.linspace(0.0, 1.0, 101)[:, None]
    centres, weights = rng.random((20, 1)), rng.standard_normal(20)
    values, norm2 = kernel(X, centres) @ weights, weights @ kernel(centres, centres) @ weights
    span, lie_at = float(np.ptp(values)), int(rng.integers(1, 21)) if n_lies else 0
    known = ub.Assumptions(
        kernel,
        B=float(np.sqrt(norm2)),
        B0=float(np.abs(values).max()),
        noise_std=NOISE * span,
        lam=0.01,
        c_max=np.inf,
    )
    lies: dict[str, Any] = {"lies": n_lies} if corruption is None else {"corruption": corruption * span}
    study = ub.Study(ub.Grid(X), assumptions=known, seed=seed, **lies)
    found = []
    for t in range(1, ROUNDS_PROVEN + 1):
        query = study.ask()
        y = values[int(np.argmin(np.abs(X[:, 0] - query.x[0])))] + NOISE * span * rng.standard_normal()
        study.tell(query, y + span * (t == lie_at))
        if t % EVERY == 0:
            at = study.recommend()
            left = np.inf if at.regret_bound is None else at.regret_bound
            regret = values.max() - values[int(np.argmin(np.abs(X[:, 0] - at.x[0])))]
            found.append((left / span, float(regret) / span))
    return found


def best(study: ub.Study) -> np.ndarray:
    """The recommended point, without what is certain about it."""
    engine = study.engine.settled()
    assert engine is not None
    x = engine.incumbent()
    assert x is not None
    return x


HEADS = (
    "function", "lies", "left at most", "stopped", "after rounds: mean",
    "regret then: mean, worst", "regret at the end: mean, worst",
)  # fmt: skip


def table(
    runs: dict[tuple[str, str], list[list[tuple[float, float]]]], shares: tuple[float, ...], step: int
) -> None:
    """In how many runs, given by function and lies, no more than these shares was left."""
    print("| " + " | ".join(HEADS) + " |")
    print("|---" * len(HEADS) + "|")
    for (name, lies), games in runs.items():
        for share in shares:
            ends = [
                next((k for k, (left, _) in enumerate(game) if left <= share), None) for game in games
            ]
            stopped = [(game, k) for game, k in zip(games, ends, strict=True) if k is not None]
            cells = [FUNCTIONS[name][2], lies, f"{100 * share:g} %", f"{len(stopped)} of {len(games)}"]
            if stopped:
                cells.append(f"{np.mean([step * (k + 1) for _, k in stopped]):.0f}")
                for at in ([game[k][1] for game, k in stopped], [game[-1][1] for game, _ in stopped]):
                    cells.append(f"{100 * np.mean(at):.1f} %, {100 * np.max(at):.1f} %")
            print("| " + " | ".join([*cells, *["-"] * (len(HEADS) - len(cells))]) + " |", flush=True)


def main(names: list[str], first: int = 0, n: int = 10) -> None:
    seeds = range(first, first + n)
    for name in names:
        lied = {(name, "none"): 0.0, (name, "a tenth"): 0.1}
        table({key: [play(name, seed, p) for seed in seeds] for key, p in lied.items()}, SHARES, 1)
    cases = {"corruption=0": (0, 0.0), "lies=0": (0, None), "one, lies=1": (1, None)}
    cases["one, corruption=the range"] = (1, 1.0)
    given = {
        ("known", words): [play_proven(seed, *case) for seed in seeds] for words, case in cases.items()
    }
    table(given, PROVEN, EVERY)


if __name__ == "__main__":
    with threadpool_limits(limits=1):
        main(sys.argv[1].split(",") if len(sys.argv) > 1 else [*FUNCTIONS][:-1], *map(int, sys.argv[2:]))
