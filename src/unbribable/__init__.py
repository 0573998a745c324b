"""Bayesian optimization that cannot be bribed."""

from typing import TYPE_CHECKING, Any

from unbribable.auditing.audit import Audit, audit
from unbribable.decision.algorithm import AssumptionsRefuted
from unbribable.decision.left_to_gain import LeftToGain
from unbribable.decision.player import Player
from unbribable.decision.policies.fast_slow import FastSlowGPUCB
from unbribable.decision.policies.gp_ucb import GPUCB, RobustGPUCB
from unbribable.decision.policies.ladder import LadderGPUCB
from unbribable.decision.policies.layered import LayeredGPUCB
from unbribable.decision.policies.quorum import QuorumGPUCB
from unbribable.decision.proposal import Proposal, Query, Reading
from unbribable.decision.proven.hindsight import RegretCertificate
from unbribable.decision.proven.price import Price
from unbribable.decision.recommend import Recommendation
from unbribable.doubt.suspect import Suspect
from unbribable.model.box import Box
from unbribable.model.dimensions import Choice, Real, Whole
from unbribable.model.domain import Grid
from unbribable.model.kernels import Linear, Matern, SquaredExponential
from unbribable.model.posterior import Posterior
from unbribable.study.constraints import LinearConstraint
from unbribable.study.maximize import maximize, minimize
from unbribable.study.result import Result
from unbribable.study.study import Study
from unbribable.study.trial import Trial
from unbribable.theory.assumptions import Assumptions
from unbribable.theory.information_gain import MaxInformationGain

if TYPE_CHECKING:
    from unbribable.say.figures.plots import (
        plot_history,
        plot_importance,
        plot_posterior,
        plot_suspects,
        plot_worst_case,
    )

__version__ = "0.1.0"

__all__ = [
    "GPUCB",
    "Assumptions",
    "AssumptionsRefuted",
    "Audit",
    "Box",
    "Choice",
    "FastSlowGPUCB",
    "Grid",
    "LadderGPUCB",
    "LayeredGPUCB",
    "LeftToGain",
    "Linear",
    "LinearConstraint",
    "Matern",
    "MaxInformationGain",
    "Player",
    "Posterior",
    "Price",
    "Proposal",
    "Query",
    "QuorumGPUCB",
    "Reading",
    "Real",
    "Recommendation",
    "RegretCertificate",
    "Result",
    "RobustGPUCB",
    "SquaredExponential",
    "Study",
    "Suspect",
    "Trial",
    "Whole",
    "audit",
    "maximize",
    "minimize",
    "plot_history",
    "plot_importance",
    "plot_posterior",
    "plot_suspects",
    "plot_worst_case",
]

_PLOTS = ("plot_history", "plot_importance", "plot_posterior", "plot_suspects", "plot_worst_case")


def __getattr__(name: str) -> Any:
    """Loaded when they are asked for: the figures, which need matplotlib."""
    if name in _PLOTS:
        from unbribable.say.figures import plots

        return getattr(plots, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
