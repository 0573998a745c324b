"""The members every law is checked on: a new kernel or algorithm adds one line here."""

from collections.abc import Callable
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
