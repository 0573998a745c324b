"""Adversaries, each a small class. The ledger alone enforces the budget."""

from unbribable.lab.world.adversaries.base import Adversary, NoAdversary, Observation, View
from unbribable.lab.world.adversaries.cunning import (
    AdaptiveStrength,
    InstanceTargeting,
    Later,
    RandomLies,
    Silent,
    WidthAware,
)
from unbribable.lab.world.adversaries.few import Burst, FoundDecoy
from unbribable.lab.world.adversaries.fixed import (
    AggressiveSubtraction,
    Clipping,
    Flip,
    HideAndDecoy,
    RegionSubtraction,
    Subtraction,
    TopK,
    ZeroOut,
)
from unbribable.lab.world.adversaries.just_enough import JustEnough

__all__ = [
    "AdaptiveStrength",
    "Adversary",
    "AggressiveSubtraction",
    "Burst",
    "Clipping",
    "Flip",
    "FoundDecoy",
    "HideAndDecoy",
    "InstanceTargeting",
    "JustEnough",
    "Later",
    "NoAdversary",
    "Observation",
    "RandomLies",
    "RegionSubtraction",
    "Silent",
    "Subtraction",
    "TopK",
    "View",
    "WidthAware",
    "ZeroOut",
]
