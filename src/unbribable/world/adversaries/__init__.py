"""Adversaries: each a small class; the budget is enforced by the ledger and nowhere else."""

from unbribable.world.adversaries.base import Adversary, NoAdversary, Observation, View
from unbribable.world.adversaries.cunning import InstanceTargeting, Silent, WidthAware
from unbribable.world.adversaries.pointwise import Flip, HideAndDecoy, RandomLies, TopK, ZeroOut
from unbribable.world.adversaries.regional import (
    AdaptiveStrength,
    AggressiveSubtraction,
    Clipping,
    RegionSubtraction,
    Subtraction,
)

__all__ = [
    "AdaptiveStrength",
    "Adversary",
    "AggressiveSubtraction",
    "Clipping",
    "Flip",
    "HideAndDecoy",
    "InstanceTargeting",
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
