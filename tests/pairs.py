"""Differences for the tests: as the library makes them, from a posterior's arrays."""

from functools import partial

import numpy as np

import unbribable as ub
from games import Design
from unbribable.model.checks import Floats, Ints
from unbribable.theory.differences import Differences


def differences_of(posterior: ub.Posterior, rec: int, design: Design | None = None) -> Differences:
    """Of every candidate of a posterior to candidate `rec`, read or not.

    The design says what was read with which noise; without it, all readings have the usual one.
    """
    rows, lams = np.arange(posterior.m), np.full(posterior.m, posterior.lam)
    counts = np.round(posterior.prec * posterior.lam)
    if design is not None:
        readings = np.column_stack([reading_rows(posterior, design.indices), design.lams])
        items, counts = np.unique(readings, axis=0, return_counts=True)
        rows, lams, counts = items[:, 0].astype(np.intp), items[:, 1], counts.astype(float)
    return Differences(
        rec,
        posterior.mu,
        posterior.var,
        posterior.system().covariance(posterior.X[[rec]], posterior.X)[0],
        partial(np.take, posterior.R, axis=1),
        posterior.prec,
        rows,
        lams,
        counts,
    )


def reading_rows(posterior: ub.Posterior, indices: Ints) -> Ints:
    """Which point read, of 0..m-1, each reading is of."""
    row_of = {int(i): row for row, i in enumerate(posterior.u)}
    return np.array([row_of[int(i)] for i in indices], dtype=np.intp)


def textbook(design: Design, y: Floats) -> tuple[Floats, Floats, Floats]:
    """Dense mean (n,), posterior covariance of all candidates (n, n) and weights (t, n)."""
    weights = design.weights()
    cross = design.kernel(design.X[design.indices], design.X)
    return weights.T @ y, design.kernel(design.X, design.X) - cross.T @ weights, weights
