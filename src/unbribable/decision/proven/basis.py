"""What an answer in the user's units rests on."""

from dataclasses import dataclass

from unbribable.decision.proven.conditions import Corrected, FitIsRight
from unbribable.decision.units import Units
from unbribable.theory.assumptions import Assumptions


@dataclass(frozen=True)
class Basis:
    """Assumptions in units of the model, and how they came about."""

    assumptions: Assumptions
    units: Units | None = None
    """Those of the model, where they are not the user's."""
    fit: FitIsRight | None = None
    """What was fitted, and what was given; None where all was given whole."""
    corrected: Corrected | None = None
    """What was taken off the readings; None where nothing was."""
