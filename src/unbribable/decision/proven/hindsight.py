"""What is certain, in hindsight, about the regret of the rounds told so far."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbribable.decision.proven.guarantee import Guarantee
from unbribable.decision.recommend import index_of, trusted
from unbribable.model.spoken import Spoken

if TYPE_CHECKING:
    from unbribable.decision.algorithm import Algorithm


@dataclass(frozen=True)
class RegretCertificate(Spoken):
    """What is certain, in hindsight, about the regret of the rounds told so far."""

    value: float | None
    """R_T is at most that, compared with the best candidate; None where nothing is guaranteed."""
    n_rounds: int
    promise: Guarantee
    """With what probability, against whom, and if what; or why nothing is guaranteed."""
    n_compared: int | None = None
    """On a Box: the number of candidates. None: it compares with the best point of the domain."""
    between_candidates: float = 0.0
    """On a Box: by how much more a round may fall short of the best point, which need not be a
    candidate. An estimate; not in `value`."""

    @property
    def probability(self) -> float | None:
        """With which it holds, at least; None where nothing is guaranteed."""
        return self.promise.probability if self.promise.void is None else None


def regret_certificate(
    algorithm: "Algorithm", *, threat: str | None, C: float | None
) -> RegretCertificate:
    """`Algorithm.regret_certificate`: of the rounds whose points the user did not choose."""
    guarantee, bounds = trusted(algorithm, threat, C)
    readings, search = algorithm.journal.readings, algorithm.search
    played = [index_of(algorithm, reading) for reading in readings if reading.chosen_by != "user"]
    return RegretCertificate(
        value=bounds.regret(played) if guarantee.void is None else None,
        n_rounds=len(played),
        promise=guarantee,
        n_compared=search.n_compared,
        between_candidates=search.gap(algorithm.assumptions),
    )
