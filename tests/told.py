"""Everything a reading changes in an algorithm."""

from typing import Any

from unbribable.decision.algorithm import Algorithm
from unbribable.decision.instance import Instance
from unbribable.decision.proposal import Query, Reading


def reading_of(
    algorithm: Algorithm,
    t: int,
    x: Any,
    y: float,
    drawn: str | None = None,
    chosen_by: str = "user",
) -> Reading:
    """As a host brings it: the algorithm decides who learns."""
    u = algorithm.candidates.coordinates_of(x)
    return Reading(t, u, y, drawn, "", algorithm.assumptions.lam, None, chosen_by)


def player_of(algorithm: Algorithm, query: Query) -> Instance:
    """What whoever plays in the round of a query believes: an instance, or a level."""
    label = f"level-{query.level}" if query.level else query.instance
    assert label is not None
    return algorithm.policy.named(label).now


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
