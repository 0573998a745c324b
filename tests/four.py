"""The four algorithms, and everything a reading changes in one."""

from collections.abc import Callable
from typing import Any

import unbribable as ub
from unbribable.decision.algorithm import Algorithm

Build = Callable[[Any, ub.Assumptions], Algorithm]
BUILDS: dict[str, Build] = {
    "gp-ucb": lambda domain, assumed: ub.GPUCB(domain, assumed),
    "robust": lambda domain, assumed: ub.RobustGPUCB(domain, assumed, C=0.5),
    "fast-slow": lambda domain, assumed: ub.FastSlowGPUCB(domain, assumed, C=3.0, seed=1),
    "layered": lambda domain, assumed: ub.LayeredGPUCB(domain, assumed, T=60, seed=1),
}


def told(algorithm: Algorithm) -> dict[str, Any]:
    """Everything that a reading changes."""
    parts: dict[str, Any] = {
        "readings": [(one.t, one.u.tolist(), one.y, one.learner, one.lam) for one in algorithm.readings],
        "pending": [query.id for query in algorithm.pending],
        "t": algorithm.t,
        "marks": (algorithm.detected, algorithm.refuted),
        "candidates": algorithm.candidates.coordinates.tolist(),
    }
    for label, instance in algorithm.instances.items():
        parts[label] = (
            instance.n_readings,
            instance.mu.tolist(),
            instance.sigma.tolist(),
            instance.ucb_bar.tolist(),
            instance.lcb_bar.tolist(),
        )
    return parts
