"""Adversaries, each a small class. The ledger alone enforces the budget."""

from unbribable.world.adversaries.base import Adversary, NoAdversary, Observation, View
from unbribable.world.adversaries.cunning import (
    AdaptiveStrength,
    InstanceTargeting,
    Later,
    RandomLies,
    Silent,
    WidthAware,
)
from unbribable.world.adversaries.few import Burst, FoundDecoy
from unbribable.world.adversaries.fixed import (
    AggressiveSubtraction,
    Clipping,
    Flip,
    HideAndDecoy,
    RegionSubtraction,
    Subtraction,
    TopK,
    ZeroOut,
)
from unbribable.world.adversaries.just_enough import JustEnough

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
