"""Tables of readings, some of which are lies."""

from typing import Any

import numpy as np

from unbribable.doubt.hypotheses import Known
from unbribable.doubt.judge import Judge
from unbribable.model.checks import Floats

NOISE = 0.05
GRID = np.linspace(0.0, 1.0, 31)[:, None]


def wave(points: Floats) -> Floats:
    values: Floats = np.sin(6.0 * points[:, 0])
    return values


def noisy(points: Floats, seed: int = 0) -> Floats:
    """Readings of the wave, with noise."""
    return wave(points) + NOISE * np.random.default_rng(seed).standard_normal(len(points))


def drawn(d: int, rng: np.random.Generator) -> Any:
    """A smooth function on the unit cube, about a draw of a Gaussian process."""
    lengthscale = (0.25, 0.35, 0.5, 0.65, 0.8, 0.95)[d - 1]
    waves, phases = rng.standard_normal((400, d)) / lengthscale, 2.0 * np.pi * rng.random(400)
    heights = rng.standard_normal(400)
    return lambda X: np.cos(X @ waves.T + phases) @ heights


def off_by_half(d: int, seed: int, is_bump: bool, n_lies: int = 6) -> tuple[Floats, Floats, set[int]]:
    """Sixty rows at random, noise of 1 % of the range, lies of half the range; and which are lies."""
    rng = np.random.default_rng([seed, d, 41 - is_bump])
    X = rng.random((60, d))
    if is_bump:
        centre = rng.uniform(0.2, 0.8, d)
        f = np.exp(-2.0 * ((X - centre) ** 2).sum(axis=1))
    else:
        f = drawn(d, rng)(X)
    y = f + 0.01 * np.ptp(f) * rng.standard_normal(60)
    lies = rng.choice(60, n_lies, replace=False)
    y[lies] += 0.5 * np.ptp(f) * rng.choice([-1.0, 1.0], n_lies)
    return X, y, set(lies.tolist())


def judged(U: Floats, y: Floats, rounds: Any = None, known: Known = Known()) -> Judge:  # noqa: B008
    """A judgement of a table."""
    judge = Judge(known, len(y))
    judge.learn(U, y, np.arange(1, len(y) + 1) if rounds is None else np.asarray(rounds))
    return judge


def flags(U: Floats, y: Floats, rounds: Any = None, known: Known = Known()) -> set[int]:  # noqa: B008
    """The places of the readings flagged in a table."""
    return set(np.flatnonzero(judged(U, y, rounds, known).verdict().is_flagged).tolist())
