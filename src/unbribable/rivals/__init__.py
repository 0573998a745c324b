"""A rival's rule in, a player out: other people's methods, and ours beside them, one a file."""

from unbribable.rivals.clipped import ClippedGPUCB
from unbribable.rivals.cw_gp_ucb import CWGPUCB
from unbribable.rivals.random_search import RandomSearch
from unbribable.rivals.rgp_pe import RGPPE

__all__ = ["CWGPUCB", "RGPPE", "ClippedGPUCB", "RandomSearch"]
