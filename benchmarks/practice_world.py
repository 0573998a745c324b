"""Functions to be maximised and the lies told about them: the games of `benchmarks.practice`."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from scipy.stats import qmc

from benchmarks.practice_second import AXES, SECOND, TRIED, Axis
from unbribable.lab.world.named_functions import TEST_FUNCTIONS, TestFunction

KINDS = ("none", "stuck", "flipped", "random", "aimed", "burst", "drift", "two", "fifth", "heavy")
"""The second score has them all, the first one those before "two"."""
HONEST = ("none", "heavy")
"""Kinds without a lie."""
OF_TWO = ("stuck", "flipped", "random", "burst", "drift")
OF_FIFTH = ("stuck", "flipped", "random")
NOISE = 0.01
"""Standard deviation of the noise, as a share of the function's range."""
SHARE = 0.1
"""Share of the rounds that stuck, flipped, random and burst lie in."""
BEST, AIMED, AIMED_MAX = 0.03, 0.3, 0.15
"""Aimed: the share of the domain it aims at, of the readings there it lowers, of the rounds at most."""
DRIFT = 0.15
"""Share of the rounds over which a drift grows."""
FREEDOM = 2.0
"""Degrees of freedom of heavy-tailed noise."""


def _gramacy_lee(X: np.ndarray) -> np.ndarray:
    x = X[:, 0]
    values: np.ndarray = -np.sin(10.0 * np.pi * x) / (2.0 * x) - (x - 1.0) ** 4
    return values


def _two_waves(X: np.ndarray) -> np.ndarray:
    values: np.ndarray = -np.sin(X[:, 0]) - np.sin(10.0 * X[:, 0] / 3.0)
    return values


def _log_goldstein(X: np.ndarray) -> np.ndarray:
    x, y = X[:, 0], X[:, 1]
    one = 19.0 - 14.0 * x + 3.0 * x**2 - 14.0 * y + 6.0 * x * y + 3.0 * y**2
    two = 18.0 - 32.0 * x + 12.0 * x**2 + 48.0 * y - 36.0 * x * y + 27.0 * y**2
    values: np.ndarray = -np.log(
        (1.0 + (x + y + 1.0) ** 2 * one) * (30.0 + (2.0 * x - 3.0 * y) ** 2 * two)
    )
    return values


def _mccormick(X: np.ndarray) -> np.ndarray:
    x, y = X[:, 0], X[:, 1]
    values: np.ndarray = -(np.sin(x + y) + (x - y) ** 2 - 1.5 * x + 2.5 * y + 1.0)
    return values


def _hartmann(
    scales: list[list[float]], centers: list[list[float]]
) -> Callable[[np.ndarray], np.ndarray]:
    a, p, weight = np.array(scales), 1e-4 * np.array(centers), np.array([1.0, 1.2, 3.0, 3.2])

    def function(X: np.ndarray) -> np.ndarray:
        values: np.ndarray = np.exp(-(a * (X[:, None, :] - p) ** 2).sum(axis=2)) @ weight
        return values

    return function


_hartmann3 = _hartmann(
    [[3.0, 10.0, 30.0], [0.1, 10.0, 35.0], [3.0, 10.0, 30.0], [0.1, 10.0, 35.0]],
    [[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]],
)
_hartmann4 = _hartmann(
    [[10.0, 3.0, 17.0, 3.5], [0.05, 10.0, 17.0, 0.1], [3.0, 3.5, 1.7, 10.0], [17.0, 8.0, 0.05, 10.0]],
    [
        [1312, 1696, 5569, 124],
        [2329, 4135, 8307, 3736],
        [2348, 1451, 3522, 2883],
        [4047, 8828, 8732, 5743],
    ],
)


def _styblinski(X: np.ndarray) -> np.ndarray:
    values: np.ndarray = -0.5 * (X**4 - 16.0 * X**2 + 5.0 * X).sum(axis=1)
    return values


def _cosines(X: np.ndarray) -> np.ndarray:
    values: np.ndarray = (0.1 * np.cos(5.0 * np.pi * X) - X**2).sum(axis=1)
    return values


def _bumps3(X: np.ndarray) -> np.ndarray:
    high = ((X - np.array([0.7, 0.3, 0.6])) ** 2).sum(axis=1) / 0.1
    low = ((X - np.array([0.2, 0.8, 0.3])) ** 2).sum(axis=1) / 0.1
    values: np.ndarray = np.exp(-high) + 0.6 * np.exp(-low)
    return values


SCORED: dict[str, TestFunction] = {
    test.name: test
    for test in (
        TestFunction("gramacy-lee", (0.5,), (2.5,), 0.8690111349894997, _gramacy_lee),
        TestFunction("two-waves", (2.7,), (7.5,), 1.8995993491521136, _two_waves),
        TestFunction("log-goldstein", (-2.0,) * 2, (2.0,) * 2, -float(np.log(3.0)), _log_goldstein),
        TestFunction("mccormick", (-1.5, -3.0), (4.0, 4.0), 1.9132229549810362, _mccormick),
        TestFunction("hartmann3", (0.0,) * 3, (1.0,) * 3, 3.862779787332661, _hartmann3),
        TestFunction("hartmann4", (0.0,) * 4, (1.0,) * 4, 3.7298405844855917, _hartmann4),
        TestFunction("styblinski5", (-5.0,) * 5, (5.0,) * 5, 5 * 39.16616570377142, _styblinski),
        TestFunction("cosines6", (-1.0,) * 6, (1.0,) * 6, 0.6, _cosines),
    )
}
"""For the first score; nothing in the library may be chosen by looking at a game of these."""

TUNED: dict[str, TestFunction] = {
    **{name: TEST_FUNCTIONS[name] for name in ("forrester", "levy", "branin", "camelback", "hartmann6")},
    "bumps3": TestFunction("bumps3", (0.0,) * 3, (1.0,) * 3, 1.0016598963559327, _bumps3),
}
"""To choose by."""

FUNCTIONS = {**SCORED, **TUNED, **SECOND, **TRIED}


def axes_of(name: str) -> tuple[Axis, ...]:
    """The parameters of a function."""
    test = FUNCTIONS[name]
    sides = zip(test.low, test.high, strict=True)
    return AXES.get(name) or tuple(Axis(f"x{i}", *side) for i, side in enumerate(sides))


@cache
def landscape(name: str) -> tuple[float, float, float, float]:
    """Smallest value, median, value that the best 3 % of the domain exceed, and the true maximum.

    Over 2^16 Sobol points; the smallest value, where there are no options, over the corners too.
    """
    test, axes = FUNCTIONS[name], axes_of(name)
    U = qmc.Sobol(test.d, scramble=True, seed=np.random.default_rng(0)).random_base2(16)
    values = test(np.column_stack([axis.at(u) for axis, u in zip(axes, U.T, strict=True)]))
    smallest = values.min()
    if not any(axis.options for axis in axes):
        low, high = np.array(test.low), np.array(test.high)
        corners = (np.arange(2**test.d)[:, None] >> np.arange(test.d)) & 1
        smallest = min(smallest, test(low + (high - low) * corners).min())
    return float(smallest), float(np.median(values)), float(np.quantile(values, 1.0 - BEST)), test.f_max


@dataclass(frozen=True)
class Lies:
    """Of one kind, as drawn for a game: in which rounds, counted from 0, and how large."""

    kind: str
    rounds: frozenset[int]
    """Where they are in rounds drawn at random."""
    start: int
    """The first round, where they are in a row."""
    n_row: int
    level: float
    offset: float

    @classmethod
    def drawn(
        cls, kind: str, rng: np.random.Generator, T: int, low: float, high: float, factor: float = 1.0
    ) -> "Lies":
        """In `factor` times as many rounds as usual."""
        rounds = frozenset(rng.choice(T, round(SHARE * factor * T), replace=False).tolist())
        n_row = round((DRIFT if kind == "drift" else SHARE) * factor * T)
        start = int(rng.integers(T - n_row + 1))
        level = float(rng.uniform(low, high + 0.5 * (high - low)))
        return cls(
            kind, rounds, start, n_row, level, 0.5 * (high - low) * float(rng.choice([-1.0, 1.0]))
        )

    def in_place_of(self, honest: float, t: int, low: float, high: float, chance: float) -> float | None:
        """What is told in round t; None if it is the honest reading."""
        if self.kind in ("burst", "drift"):
            k = t - self.start
            share = 1.0 if self.kind == "burst" else (k + 1) / self.n_row
            return honest + share * self.offset if 0 <= k < self.n_row else None
        if self.kind in HONEST or t not in self.rounds:
            return None
        if self.kind == "stuck":
            return self.level
        return low + high - honest if self.kind == "flipped" else low + (high - low) * chance


@dataclass
class Game:
    """Holds changing state: the rounds read so far, and which of their readings were lies."""

    function: str
    kind: str
    seed: int
    X: list[np.ndarray] = field(default_factory=list)
    """What was read, a row each, an option as its index."""
    y: list[float] = field(default_factory=list)
    lied: list[int] = field(default_factory=list)
    """Rounds whose reading was a lie, from 1."""

    def __post_init__(self) -> None:
        low, _, _, high = landscape(self.function)
        stream = [self.seed, list(FUNCTIONS).index(self.function)]
        rng, scale = np.random.default_rng([*stream, 0]), NOISE * (high - low)
        is_heavy = self.kind == "heavy"
        self.noise = scale * (
            rng.standard_t(FREEDOM, self.T) if is_heavy else rng.standard_normal(self.T)
        )
        rng = np.random.default_rng([*stream, 1 + KINDS.index(self.kind)])
        kinds, factor = [self.kind], 1.0
        if self.kind == "two":
            kinds, factor = rng.choice(OF_TWO, 2, replace=False).tolist(), 0.5
        if self.kind == "fifth":
            kinds, factor = [str(rng.choice(OF_FIFTH))], 2.0
        self.lies = [Lies.drawn(kind, rng, self.T, low, high, factor) for kind in kinds]
        self.chance = rng.random(self.T)

    @property
    def test(self) -> TestFunction:
        """The function to be maximised."""
        return FUNCTIONS[self.function]

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Its parameters."""
        return axes_of(self.function)

    @property
    def is_mixed(self) -> bool:
        """Whether they are more than a box."""
        return self.function in AXES

    @property
    def T(self) -> int:
        """Number of rounds."""
        return 40 if self.test.d <= 2 else 60

    @property
    def t(self) -> int:
        """How many are read."""
        return len(self.y)

    def f(self, x: object) -> float:
        """The true value."""
        return float(self.test(np.asarray(x, dtype=float)[None])[0])

    def regret(self, x: object) -> float:
        """As a share of the function's range."""
        low, _, _, high = landscape(self.function)
        return (high - self.f(x)) / (high - low)

    def read(self, x: object) -> float:
        """The reading of the next round: the true value and noise, or a lie in its place."""
        t, f = self.t, self.f(x)
        honest = f + float(self.noise[t])
        lie = self._aimed(f) if self.kind == "aimed" else self._lie(honest)
        if lie is not None:
            self.lied.append(t + 1)
        self.X.append(np.array(x, dtype=float))
        self.y.append(honest if lie is None else lie)
        return self.y[-1]

    def _lie(self, honest: float) -> float | None:
        low, _, _, high = landscape(self.function)
        t = self.t
        told = (lies.in_place_of(honest, t, low, high, float(self.chance[t])) for lies in self.lies)
        return next((lie for lie in told if lie is not None), None)

    def _aimed(self, f: float) -> float | None:
        _, median, best, _ = landscape(self.function)
        is_wanted = (
            f >= best and self.chance[self.t] < AIMED and len(self.lied) < int(AIMED_MAX * self.T)
        )
        return median + float(self.noise[self.t]) if is_wanted else None
