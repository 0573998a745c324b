"""A rival's rule in, a player out: other people's methods, and ours beside them, one a file."""

from unbribable.rivals.clipped import ClippedGPUCB
from unbribable.rivals.cw_gp_ucb import CWGPUCB
from unbribable.rivals.diagnostics import DiagnosticsUCB
from unbribable.rivals.median import MedianUCB
from unbribable.rivals.random_search import RandomSearch
from unbribable.rivals.rcgp import RCGPUCB
from unbribable.rivals.relevance_pursuit import RelevancePursuitUCB
from unbribable.rivals.rgp_pe import RGPPE
from unbribable.rivals.student_t import StudentTUCB

__all__ = [
    "CWGPUCB",
    "RCGPUCB",
    "RGPPE",
    "ClippedGPUCB",
    "DiagnosticsUCB",
    "MedianUCB",
    "RandomSearch",
    "RelevancePursuitUCB",
    "StudentTUCB",
]
