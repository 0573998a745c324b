"""A posterior by the m x m system of the points read: what the one matrix is compared with."""

import numpy as np

from unbribable.model.checks import Floats
from unbribable.model.posterior import Posterior


def by_system(posterior: Posterior, X: Floats) -> tuple[Floats, Floats]:
    """Mean and variance at points X, (n, d), to full precision [BKS20, Eqs. 4, 5, 9]."""
    kernel = posterior.kernel
    if not posterior.m:
        return np.zeros(len(X)), kernel.diag(X)
    cross = kernel(posterior.X[posterior.u], X)
    solved = posterior.system().factor.solve(cross)
    return posterior.ybar @ solved, kernel.diag(X) - np.einsum("jx,jx->x", cross, solved)
