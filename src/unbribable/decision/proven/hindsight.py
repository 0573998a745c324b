"""What is certain, in hindsight, about the regret of the rounds told so far."""

from dataclasses import dataclass

from unbribable.decision.proven.guarantee import Guarantee
from unbribable.model.spoken import Spoken


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
