"""When to stop: once nothing is left to gain, as it is thought, or as it is proven."""

from collections.abc import Sequence
from dataclasses import dataclass

from unbribable.decision.left_to_gain import LeftToGain
from unbribable.model import checks
from unbribable.model.checks import Floats
from unbribable.say.left_to_gain import nothing_left
from unbribable.study.advice import left_to_expect, left_to_prove
from unbribable.study.engine import Engine


@dataclass(frozen=True)
class Stop:
    """How much may be left where a run ends; None: it does not end on that."""

    below: float | None = None
    """As it is thought: a heuristic."""
    proven_below: float | None = None
    """As it is proven, if what the guarantee supposes holds."""

    def __post_init__(self) -> None:
        for name, eps in (("stop_below", self.below), ("stop_proven_below", self.proven_below)):
            if eps is not None:
                checks.real(name, eps, above=0.0)

    def met_by(self, engine: Engine, among: Sequence[Floats] | None = None) -> str | None:
        """What is met by all that was told, in words; None if nothing is.

        A function of the readings, so a run that is resumed ends where it would have ended.

        Args:
            engine: What was told.
            among: As in `advise`.
        """
        eps = self.below
        if eps is not None and LeftToGain(*left_to_expect(engine, among), None).is_below(eps):
            return nothing_left(eps, is_proven=False)
        eps = self.proven_below
        proven = None if eps is None else left_to_prove(engine, among)
        if eps is not None and proven is not None and proven <= eps:
            return nothing_left(eps, is_proven=True)
        return None
