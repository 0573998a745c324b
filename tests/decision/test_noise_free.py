"""Worlds with next to no noise: the intervals are as narrow as rounding, and f is inside."""

import warnings

import numpy as np
import pytest

import unbribable as ub


@pytest.mark.parametrize("lam", [1e-5, 1e-6, 1e-7])
@pytest.mark.parametrize("d", [2, 3, 5])
def test_a_linear_world_without_noise_is_not_refuted(d: int, lam: float) -> None:
    """Eight of them: f stays within its bounds at every candidate, and no reading is called a lie."""
    X = np.random.default_rng(0).random((80, d))
    kernel = ub.Linear(np.sqrt(d))
    assumptions = ub.Assumptions(kernel, B=1.0, B0=1.0, noise_std=0.0, lam=lam)
    for seed in range(8):
        slope = np.random.default_rng(seed).standard_normal(d)
        f = X @ slope / np.linalg.norm(slope) / np.sqrt(d)
        algorithm = ub.RobustGPUCB(ub.Grid(X), assumptions, C=1e-9)
        with warnings.catch_warnings():
            warnings.simplefilter("error", ub.AssumptionsRefuted)
            for _ in range(30):
                query = algorithm.ask()
                algorithm.tell(query, float(f[query.index]))
        main = algorithm.instances["main"]
        assert (f <= main.ucb_bar).all()
        assert (f >= main.lcb_bar).all()
        assert not any(suspect.is_certain for suspect in algorithm.suspects())


@pytest.mark.parametrize("lam", [1e-5, 1e-6, 1e-8])
def test_the_variance_is_right_where_nobody_has_read(lam: float) -> None:
    """At every candidate, relatively, after as many points as the space has dimensions."""
    X = np.random.default_rng(0).random((80, 3))
    posterior = ub.Posterior(ub.Linear(np.sqrt(3)), X, lam)
    for i in range(3):
        posterior.observe(i, 0.1)
    exact = np.linalg.inv(X[:3].T @ X[:3] + 3.0 * lam * np.eye(3))  # the same by the slopes, 3 x 3
    var = lam * np.einsum("xi,ij,xj->x", X, exact, X)
    np.testing.assert_allclose(posterior.var, var, rtol=1e-6)
    assert posterior.n_rebuilds == 0
