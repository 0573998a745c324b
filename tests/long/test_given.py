"""`maximize` with kernel, noise and B given and true: f stays inside what is printed.

Nothing that a bound depends on is fitted then, so this is a guarantee like any other: it fails with
probability 0.1 at most, and by bounds that are far from sharp hardly ever.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from unbribable.model.checks import Floats
from unbribable.model.kernels import Kernel

N_RUNS = 20
NOISE_STD = 0.02
MATERN = ub.Matern(2.5, 0.3)

World = Callable[[int], tuple[Kernel, float, Callable[[Floats], Floats]]]
"""Seed -> kernel, norm, and f of that norm from the unit square, (n, 2) to (n,)."""


def linear(seed: int) -> tuple[Kernel, float, Callable[[Floats], Floats]]:
    """a . x, whose best point is where it is largest: often the origin."""
    rng = np.random.default_rng([7, seed])
    slope = rng.choice([-1.0, 1.0]) * rng.uniform(0.2, 1.0, 2)
    return ub.Linear(np.sqrt(2.0)), float(np.sqrt(2.0) * np.linalg.norm(slope)), lambda X: X @ slope


def matern(seed: int, constant: float = 0.0) -> tuple[Kernel, float, Callable[[Floats], Floats]]:
    """The interpolant of random values, with a constant added to them."""
    rng = np.random.default_rng([8, seed])
    centres = rng.random((12, 2))
    values = constant + rng.standard_normal(12)
    gram = MATERN(centres, centres) + 1e-6 * np.eye(12)
    weights = np.linalg.solve(gram, values)
    norm = float(np.sqrt(weights @ MATERN(centres, centres) @ weights))
    return MATERN, norm, lambda X: MATERN(X, centres) @ weights


WORLDS: dict[str, World] = {
    "linear": linear,
    "matern": matern,
    "matern and a constant": lambda seed: matern(seed, 5.0),
    "matern and a negative constant": lambda seed: matern(seed, -5.0),
}


@pytest.mark.parametrize("words", [{"corruption": 0}, {}], ids=["no lies", "a tenth of lies"])
@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_with_kernel_noise_and_norm_given_f_is_inside_the_bounds(
    world: World, words: dict[str, Any]
) -> None:
    for seed in range(N_RUNS if words else min(6, N_RUNS)):
        kernel, B, f = world(seed)
        noise = np.random.default_rng([9, seed])
        run = ub.maximize(
            lambda x, f=f, noise=noise: float(f(x[None])[0] + NOISE_STD * noise.standard_normal()),
            ub.Box([0.0, 0.0], [1.0, 1.0], n_candidates=64),
            14,
            n_init=12,  # what is read where matters little here, and choosing takes time
            seed=seed,
            kernel=kernel,
            noise_std=NOISE_STD,
            B=B,
            **words,
        )
        assert run.regret_bound is not None, "all that was given is true"
        low, high = run.engine.algorithm().bounds()
        units = run.engine.model().units
        truth = f(run.engine.algorithm().candidates.coordinates)
        model = (truth - units.center) / units.scale
        assert np.all((low - 1e-9 <= model) & (model <= high + 1e-9))
        value = float(f(np.asarray(run.x)[None])[0])
        assert run.lower is not None
        assert run.upper is not None
        assert run.lower - 1e-9 <= value <= run.upper + 1e-9
        assert truth.max() - value <= run.regret_bound + 1e-9
