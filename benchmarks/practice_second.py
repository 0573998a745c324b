"""The functions of the second practice score; the protocol is benchmarks/practice/second.md.

A point is a row of numbers, an option of a categorical parameter its index.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unbribable.lab.world.named_functions import TestFunction

Rows = np.ndarray
"""Points (n, d)."""


@dataclass(frozen=True)
class Axis:
    """One parameter of a mixed space."""

    name: str
    low: float = 0.0
    high: float = 1.0
    log: bool = False
    whole: bool = False
    options: tuple[str, ...] = ()

    @property
    def n_values(self) -> int | None:
        """Number of values; None where they are not countable."""
        return len(self.options) or (round(self.high - self.low) + 1 if self.whole else None)

    def at(self, u: np.ndarray) -> np.ndarray:
        """From the unit interval: evenly, on a log scale where it has one."""
        if self.options:
            chosen: np.ndarray = np.minimum(np.floor(u * len(self.options)), len(self.options) - 1)
            return chosen
        low, high = self.low - 0.5 * self.whole, self.high + 0.5 * self.whole
        if self.log:
            low, high = np.log(low), np.log(high)
        inside = np.exp(low + u * (high - low)) if self.log else low + u * (high - low)
        values: np.ndarray = np.clip(np.round(inside) if self.whole else inside, self.low, self.high)
        return values


def _higdon(X: Rows) -> np.ndarray:
    x = X[:, 0]
    values: np.ndarray = np.sin(2.0 * np.pi * x / 10.0) + 0.2 * np.sin(2.0 * np.pi * x / 2.5)
    return values


def _franke(X: Rows) -> np.ndarray:
    a, b = 9.0 * X[:, 0], 9.0 * X[:, 1]
    values: np.ndarray = (
        0.75 * np.exp(-((a - 2.0) ** 2 + (b - 2.0) ** 2) / 4.0)
        + 0.75 * np.exp(-((a + 1.0) ** 2) / 49.0 - (b + 1.0) / 10.0)
        + 0.5 * np.exp(-((a - 7.0) ** 2 + (b - 3.0) ** 2) / 4.0)
        - 0.2 * np.exp(-((a - 4.0) ** 2) - (b - 7.0) ** 2)
    )
    return values


def _ishigami(X: Rows) -> np.ndarray:
    x, y, z = X.T
    values: np.ndarray = np.sin(x) + 7.0 * np.sin(y) ** 2 + 0.1 * z**4 * np.sin(x)
    return values


_FAST, _FAST_ENERGY = np.array([0.05, 0.02, 0.08, 0.03]), np.array([60.0, 45.0, 75.0, 65.0])
_SLOW, _SLOW_ENERGY = np.array([0.004, 0.003, 0.02, 0.003]), np.array([85.0, 60.0, 95.0, 70.0])
_POWER, _SELECTIVITY = np.array([0.8, 0.6, 0.5, 0.3]), np.array([0.9, 0.8, 0.95, 0.85])
_GAS, _REFERENCE = 8.314e-3, 360.0


def _reactor(X: Rows) -> np.ndarray:
    kelvin, minutes, loading = X[:, 0], X[:, 1], X[:, 2]
    which = X[:, 3].astype(int)
    warmer = (1.0 / _REFERENCE - 1.0 / kelvin) / _GAS
    fast = _FAST[which] * np.exp(_FAST_ENERGY[which] * warmer) * loading ** _POWER[which]
    slow = _SLOW[which] * np.exp(_SLOW_ENERGY[which] * warmer)
    more = (fast - slow) * minutes
    share = np.where(np.abs(more) < 1e-9, 1.0, -np.expm1(-more) / np.where(more == 0.0, 1.0, more))
    values: np.ndarray = (
        100.0
        * _SELECTIVITY[which]
        * (1.0 - 0.004 * loading**2)
        * fast
        * minutes
        * np.exp(-slow * minutes)
        * share
    )
    return values


def _friedman(X: Rows) -> np.ndarray:
    a, b, c, d, e = X.T
    values: np.ndarray = 10.0 * np.sin(np.pi * a * b) + 20.0 * (c - 0.5) ** 2 + 10.0 * d + 5.0 * e
    return values


_BEST_RATE, _BASE = np.array([-0.7, -1.5, -3.0]), np.array([0.0, 0.02, 0.015])


def _training(X: Rows) -> np.ndarray:
    rate, decay, batch, layers, dropout = X[:, :5].T
    which = X[:, 5].astype(int)
    best = _BEST_RATE[which] + 0.5 * np.log10(batch / 64.0) - 0.12 * (layers - 3.0)
    off = np.log10(rate) - best
    slow = 0.5 * (1.0 - np.exp(-((np.minimum(off, 0.0) / 2.0) ** 2)))
    burst = 0.6 * (1.0 - np.exp(-((np.maximum(off, 0.0) / 0.6) ** 2)))
    under = 0.25 * np.exp(-0.6 * layers) * (1.0 + dropout)
    over = 0.12 * (layers / 8.0) * np.exp(-2.5 * dropout)
    rest = 0.15 * dropout**2 + 0.02 * (np.log10(decay) + 3.5) ** 2 + 0.02 * np.log10(batch / 32.0) ** 2
    values: np.ndarray = 0.95 + _BASE[which] - slow - burst - under - over - rest
    return values


def _piston(X: Rows) -> np.ndarray:
    mass, area, volume, spring, pressure, ambient, filling = X.T
    force = pressure * area + 19.62 * mass - spring * volume / area
    gas = pressure * volume / filling * ambient
    room = area / (2.0 * spring) * (np.sqrt(force**2 + 4.0 * spring * gas) - force)
    values: np.ndarray = 2.0 * np.pi * np.sqrt(mass / (spring + area**2 * gas / room**2))
    return values


def _arm(X: Rows) -> np.ndarray:
    angles, lengths = np.cumsum(X[:, :4], axis=1), X[:, 4:]
    values: np.ndarray = np.hypot(
        (lengths * np.cos(angles)).sum(axis=1), (lengths * np.sin(angles)).sum(axis=1)
    )
    return values


def _kiln(X: Rows) -> np.ndarray:
    hot, soak, coats = X[:, 0], np.log10(X[:, 1]), X[:, 2]
    middle, width = np.array([1080.0, 1200.0])[X[:, 3].astype(int)], np.array([60.0, 110.0])
    fired = np.exp(-(((hot - middle + 40.0 * soak) / width[X[:, 3].astype(int)]) ** 2))
    values: np.ndarray = fired * (1.0 - 0.05 * (coats - 3.0) ** 2) + 0.1 * X[:, 3]
    return values


AXES: dict[str, tuple[Axis, ...]] = {
    "reactor": (
        Axis("kelvin", 300.0, 420.0),
        Axis("minutes", 1.0, 240.0, log=True),
        Axis("loading", 1.0, 8.0, whole=True),
        Axis("catalyst", options=("Pd", "Ni", "Cu", "Fe")),
    ),
    "training": (
        Axis("rate", 1e-5, 1.0, log=True),
        Axis("decay", 1e-6, 1e-1, log=True),
        Axis("batch", 8.0, 512.0, log=True, whole=True),
        Axis("layers", 1.0, 8.0, whole=True),
        Axis("dropout", 0.0, 0.6),
        Axis("optimizer", options=("sgd", "momentum", "adam")),
    ),
    "kiln": (
        Axis("hot", 900.0, 1300.0),
        Axis("soak", 1.0, 100.0, log=True),
        Axis("coats", 1.0, 6.0, whole=True),
        Axis("glaze", options=("ash", "tin")),
    ),
}
"""The parameters of the functions on mixed spaces."""


def _mixed(name: str, f_max: float, function: Callable[[Rows], np.ndarray]) -> TestFunction:
    sides = [(0.0, len(a.options) - 1.0) if a.options else (a.low, a.high) for a in AXES[name]]
    low, high = zip(*sides, strict=True)
    return TestFunction(name, low, high, f_max, function)


_PI = float(np.pi)
_PISTON_LOW = (30.0, 0.005, 0.002, 1000.0, 90000.0, 290.0, 340.0)
_PISTON_HIGH = (60.0, 0.020, 0.010, 5000.0, 110000.0, 296.0, 360.0)

SECOND: dict[str, TestFunction] = {
    test.name: test
    for test in (
        TestFunction("higdon", (0.0,), (10.0,), 1.1417483388086724, _higdon),
        TestFunction("franke", (0.0,) * 2, (1.0,) * 2, 1.220032571234521, _franke),
        TestFunction("ishigami", (-_PI,) * 3, (_PI,) * 3, 8.0 + 0.1 * _PI**4, _ishigami),
        _mixed("reactor", 81.4451274284135, _reactor),
        TestFunction("friedman", (0.0,) * 5, (1.0,) * 5, 30.0, _friedman),
        _mixed("training", 0.9051862748713492, _training),
        TestFunction("piston", _PISTON_LOW, _PISTON_HIGH, 1.199011223443494, _piston),
        TestFunction("arm", (0.0,) * 8, (2.0 * _PI,) * 4 + (1.0,) * 4, 4.0, _arm),
    )
}
"""For the second score; nothing in the library may be chosen by looking at a game of these."""

TRIED: dict[str, TestFunction] = {"kiln": _mixed("kiln", 1.1, _kiln)}
"""To try out mixed spaces, with the functions of the first score's tuning set."""
