"""Honest tables in any order, with more noise than signal, and what is false of what is said of them."""

from typing import Any

import numpy as np

import unbribable as ub
from unbribable.decision.algorithm import Algorithm
from unbribable.model.checks import Floats

KERNEL = ub.SquaredExponential(0.3)
_CENTRES = np.array([[0.2], [0.7]])
_HEIGHTS = np.array([0.4, 1.0])
X = np.linspace(0.0, 1.0, 7)[:, None]
GRID = ub.Grid(X)
B = float(np.sqrt(_HEIGHTS @ KERNEL(_CENTRES, _CENTRES) @ _HEIGHTS))
NOISE_STD = 0.4

ORDERS = ("worst first", "best first", "as measured")


def f(points: Floats) -> Floats:
    """Of norm B."""
    return np.asarray(KERNEL(np.atleast_2d(points), _CENTRES) @ _HEIGHTS)


B0 = float(np.abs(f(np.linspace(0.0, 1.0, 999)[:, None])).max()) + 1e-4
ASSUMED = ub.Assumptions(KERNEL, B=B, B0=B0, noise_std=NOISE_STD, lam=NOISE_STD**2, delta=0.1)


def table(seed: int, order: str, n_each: int = 50) -> tuple[Floats, Floats]:
    """Each of the seven points read so often, by nobody who lies."""
    rng = np.random.default_rng([25, seed])
    points = np.repeat(X, n_each, axis=0)[rng.permutation(len(X) * n_each)]
    y = f(points) + NOISE_STD * rng.standard_normal(len(points))
    places = {"worst first": np.argsort(y), "best first": np.argsort(-y)}
    at = places.get(order, np.arange(len(y)))
    return points[at], y[at]


def wrong(algorithm: Algorithm, scale: float = 1.0, sign: float = 1.0) -> str:
    """What its bounds say that is false; nothing if all is true.

    Args:
        algorithm: That was told a table.
        scale: Its unit.
        sign: -1 where it was told to minimise.
    """
    truth = sign * f(algorithm.candidates.coordinates) / scale
    if algorithm.refuted is not None:
        return "refuted"
    bounds = algorithm.bounds()
    assert bounds is not None
    lower, upper = bounds
    return "f is outside" if (truth < lower - 1e-7).any() or (truth > upper + 1e-7).any() else ""


def said(study: ub.Study, sign: float = 1.0) -> str:
    """The same of a study."""
    engine = study.engine
    return wrong(engine.algorithm(), engine.model().units.scale, sign)


def pairs(points: Floats, y: Floats) -> list[tuple[Any, float]]:
    """As `initial` takes them."""
    return list(zip(points, y.tolist(), strict=True))
