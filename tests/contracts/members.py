"""The members every law is checked on: a new kernel, algorithm or player adds one line here."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import unbribable as ub

KERNELS: dict[str, Callable[[int], Any]] = {
    "se": lambda d: ub.SquaredExponential(0.4),
    "se-per-coordinate": lambda d: ub.SquaredExponential([0.3 + 0.2 * k for k in range(d)]),
    "matern-1/2": lambda d: ub.Matern(0.5, 0.7),
    "matern-3/2": lambda d: ub.Matern(1.5, [0.5 + 0.1 * k for k in range(d)]),
    "matern-5/2": lambda d: ub.Matern(2.5, 0.6),
    "matern-0.8": lambda d: ub.Matern(0.8, 0.6),
    "matern-7/2": lambda d: ub.Matern(3.5, 0.6),
    "matern-40": lambda d: ub.Matern(40.0, 0.6),
    "linear": lambda d: ub.Linear(2.0 * d**0.5),
    "linear-per-coordinate": lambda d: ub.Linear([2.0 * d**0.5 + k for k in range(d)]),
}
"""By name: a kernel for d coordinates, with k(x, x) <= 1 on [-2, 2]^d."""

ALGORITHMS: dict[str, Callable[..., Any]] = {
    "gp-ucb": lambda domain, assumptions, seed=0, **options: ub.GPUCB(domain, assumptions, **options),
    "robust": lambda domain, assumptions, seed=0, **options: ub.RobustGPUCB(
        domain, assumptions, C=3.0, **options
    ),
    "fast-slow": lambda domain, assumptions, seed=0, **options: ub.FastSlowGPUCB(
        domain, assumptions, C=3.0, seed=seed, **options
    ),
    "fast-slow-with-all": lambda domain, assumptions, seed=0, **options: ub.FastSlowGPUCB(
        domain, assumptions, C=3.0, seed=seed, with_all=True, **options
    ),
    "layered": lambda domain, assumptions, seed=0, **options: ub.LayeredGPUCB(
        domain, assumptions, T=100, seed=seed, **options
    ),
}
"""By name: a new algorithm for a domain, assumptions, a seed (where it draws) and options."""


def _example(module: str, name: str) -> Any:
    """A class of an example, which is not on the path."""
    file = Path(__file__).parents[2] / "examples" / f"{module}.py"
    spec = importlib.util.spec_from_file_location(f"example_{module}", file)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return getattr(found, name)


EpsilonGreedy = _example("own_player", "EpsilonGreedy")

PLAYERS: dict[str, Callable[..., Any]] = {
    **ALGORITHMS,
    "epsilon-greedy": lambda domain, assumptions, seed=0: EpsilonGreedy(
        domain, assumptions, seed=seed, epsilon=0.3
    ),
}
"""By name: a new player for a domain, assumptions and a seed. The last one promises nothing."""
