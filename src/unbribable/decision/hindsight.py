"""What is certain, in hindsight, about the regret of the rounds told so far."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbribable.decision.recommend import index_of, trusted, why_void

if TYPE_CHECKING:
    from unbribable.decision.algorithm import Algorithm


@dataclass(frozen=True)
class RegretCertificate:
    """What is certain, in hindsight, about the regret of the rounds told so far."""

    value: float | None
    """R_T is at most that, compared with the best candidate; None where nothing is guaranteed."""
    n_rounds: int
    probability: float | None
    threat: str
    guarantee: str
    between_candidates: float = 0.0
    """On a Box: by how much more a round may fall short of the best point, which need not be a
    candidate. An estimate; not in `value`."""


def regret_certificate(
    algorithm: "Algorithm", *, threat: str | None, C: float | None
) -> RegretCertificate:
    """`Algorithm.regret_certificate`: of the rounds whose points the user did not choose."""
    guarantee, bounds = trusted(algorithm, threat, C)
    readings = algorithm.journal.readings
    played = [index_of(algorithm, reading) for reading in readings if reading.chosen_by != "user"]
    words, n, gap = (
        why_void(guarantee, bounds),
        len(played),
        algorithm.search.gap(algorithm.assumptions),
    )
    value = None if words else bounds.regret(played)
    probability = None if words else guarantee.probability
    if words is None:
        than, beyond = algorithm.search.hindsight_words(n, gap)
        words = (
            f"With probability at least {probability:.4g}, {guarantee.said()}, the regret of "
            f"the {n} rounds told{than} is at most {value:.4g}.{beyond}{guarantee.waits}"
        )
    return RegretCertificate(value, n, probability, guarantee.threat, words, gap)
