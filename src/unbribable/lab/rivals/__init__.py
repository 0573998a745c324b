"""A rival's rule in, a player out: other people's methods, and ours beside them, one a file."""

from unbribable.lab.rivals.clipped import ClippedGPUCB
from unbribable.lab.rivals.cw_gp_ucb import CWGPUCB
from unbribable.lab.rivals.diagnostics import DiagnosticsUCB
from unbribable.lab.rivals.median import MedianUCB
from unbribable.lab.rivals.random_search import RandomSearch
from unbribable.lab.rivals.rcgp import RCGPUCB
from unbribable.lab.rivals.relevance_pursuit import RelevancePursuitUCB
from unbribable.lab.rivals.rgp_pe import RGPPE
from unbribable.lab.rivals.student_t import StudentTUCB

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
