"""Which parameters the estimate of f depends on, and how much."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import qmc

from unbribable.decision.algorithm import Algorithm
from unbribable.model.checks import Floats
from unbribable.say.figures.belief import N_SLICE, axes_of
from unbribable.say.figures.drawing import BLUE, styled
from unbribable.say.figures.marks import axes_of_one, finished
from unbribable.say.figures.run import Run, run_of
from unbribable.study.result import Result
from unbribable.study.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PALE = "#b9cfe0"

N_POINTS = 1024
"""Pairs of points at which the estimate is compared."""


@dataclass(frozen=True, eq=False)
class Importance:
    """Shares of the variance of the estimate over the domain, by parameter."""

    names: tuple[str, ...]
    total: Floats
    """What would be left of the variance if all the other parameters were known, (n,): the parameter
    alone and together with others. Sums to 1 where no two act together, else to more."""
    alone: Floats
    """What would go if the parameter was known, (n,). Sums to at most 1."""
    sd: float
    """Standard deviation of the estimate over the domain, in the user's units."""
    doubt: float
    """Standard deviation of f given the readings, root mean square over the domain."""


def importance(run: Run) -> Importance:
    """Sobol indices of the estimate, parameters uniform and independent in the model's coordinates.

    With u, v independent points, m the estimate and w_j = u with parameter j of v:
    alone_j = E[m(v) (m(w_j) - m(u))] / var and total_j = E[(m(u) - m(w_j))^2] / (2 var).
    """
    axes = axes_of(run.space, N_SLICE)
    unit = qmc.Sobol(2 * len(axes), scramble=False).random(N_POINTS).T  # the same figure every time
    pair = np.repeat(run.U[:1], N_POINTS, axis=0), np.repeat(run.U[:1], N_POINTS, axis=0)
    for k, axis in enumerate(axes):
        for points, place in zip(pair, unit[k :: len(axes)], strict=True):
            points[:, axis.part] = axis.blocks[(place * len(axis.values)).astype(int)]
    (m, sd), (other, _) = run.estimate(pair[0]), run.estimate(pair[1])
    variance = max(float(np.concatenate([m, other]).var()), np.finfo(float).tiny)
    total, alone = [], []
    for axis in axes:
        mixed = pair[0].copy()
        mixed[:, axis.part] = pair[1][:, axis.part]
        moved, _ = run.estimate(mixed)
        total.append(0.5 * float(np.mean((moved - m) ** 2)) / variance)
        alone.append(float(np.mean((other - other.mean()) * (moved - m))) / variance)
    shares = np.clip([total, alone], 0.0, None)
    doubt = float(np.sqrt(np.mean(sd**2)))
    names = tuple(axis.name for axis in axes)
    return Importance(names, shares[0], np.minimum(shares[1], shares[0]), variance**0.5, doubt)


@styled
def plot_importance(
    result: Result | Study | Algorithm, *, width: float | None = None, ax: "Axes | None" = None
) -> "Figure":
    """Which parameters the estimate depends on: shares of its variance over the domain.

    The bar is what the parameter causes, alone and together with others; its dark part, what it causes
    alone (total and first-order Sobol indices, by 1024 pairs of Sobol points). It is a picture of
    the estimate, without a guarantee: where the doubt that the legend names is not far below the
    estimate's own variation, more readings may change it.

    Args:
        result: A result or a study (ours, or Optuna's with our sampler), or an algorithm.
        width: Of the figure in inches.
        ax: Axes to draw in, in place of a figure of its own; the legend is then yours: `ax.legend()`.

    Returns:
        The figure. A notebook shows it; elsewhere: `figure.savefig("importance.png")`.
    """
    run = run_of(result)
    found = importance(run)
    order = np.argsort(found.total, kind="stable")
    panel = axes_of_one(ax, width, 0.55 + 0.22 * len(order))
    rows = np.arange(len(order))
    alone, total = found.alone[order], found.total[order]
    panel.barh(rows, alone, height=0.6, color=BLUE, label="the parameter alone")
    panel.barh(rows, total - alone, left=alone, height=0.6, color=PALE, label="together with others")
    panel.set_yticks(rows, [found.names[k] for k in order])
    panel.tick_params(axis="y", length=0.0)
    panel.grid(axis="y", visible=False)
    panel.set_xlim(0.0, max(1.0, 1.05 * float(found.total.max())))
    panel.set_xlabel("share of the estimate's variance over the domain")
    note = (
        f"the estimate varies by {found.sd:.2g} (sd over the domain) and is itself in doubt by "
        f"{found.doubt:.2g}; no guarantee"
    )
    return finished(panel, note, ax is not None)
