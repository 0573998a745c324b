"""The posterior at points that are no candidates: the m x m system, and central differences."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unbribable as ub
from by_system import by_system
from contracts.members import KERNELS
from unbribable.model.belief import BeliefAt, Slope
from unbribable.model.elsewhere import Elsewhere
from unbribable.model.posterior import Posterior

X = np.random.default_rng(3).random((30, 2))
LAM = 0.03
LAWS = settings(max_examples=30, deadline=None, derandomize=True)
SMOOTH = [ub.SquaredExponential(0.4), ub.Matern(2.5, [0.3, 0.6]), ub.Matern(1.5, 0.4), ub.Linear(2.0)]


def told(
    kernel: Any, n: int, seed: int = 0, own_noise: bool = False, lam: float = LAM, **words: Any
) -> Posterior:
    """A posterior with n readings that repeat some points."""
    posterior = Posterior(kernel, X, lam, **words)
    rng = np.random.default_rng(seed)
    points = rng.choice(len(X), size=10, replace=False)
    for _ in range(n):
        factor = float(rng.choice([1.0, 4.0, 0.2])) if own_noise else 1.0
        posterior.observe(int(rng.choice(points)), float(rng.normal()), factor * lam)
    return posterior


@LAWS
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 60),
    own_noise=st.booleans(),
    deferred=st.sampled_from([1, 3, 16]),
    kernel=st.sampled_from([build(2) for build in KERNELS.values()]),
)
def test_elsewhere_is_the_posterior_of_the_m_by_m_system(
    seed: int, n: int, own_noise: bool, deferred: int, kernel: Any
) -> None:
    """Mean and variance are those of at(), the columns those of a dense solve, at any points."""
    posterior = told(kernel, n, seed, own_noise, n_deferred_max=deferred)
    points = np.random.default_rng(seed).uniform(-0.5, 1.5, (20, 2))
    belief = Elsewhere(posterior).at(points)
    mean, var = by_system(posterior, points)
    u = X[posterior.u]
    system = kernel(u, u) + np.diag(1.0 / posterior.prec)
    columns = np.linalg.solve(system, kernel(u, points)) / posterior.prec[:, None]
    assert belief.columns.shape == (posterior.m, 20)
    np.testing.assert_allclose(belief.mu, mean, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(belief.var, var, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(belief.columns, columns, rtol=0.0, atol=1e-9)
    noise_var = np.sum(posterior.prec[:, None] * columns**2, axis=0)
    np.testing.assert_allclose(belief.noise_var, noise_var, rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize("kernel", SMOOTH, ids=repr)
def test_at_the_candidates_it_is_what_the_posterior_keeps(kernel: Any) -> None:
    posterior = told(kernel, 40, own_noise=True)
    belief = Elsewhere(posterior).at(X)
    np.testing.assert_allclose(belief.mu, posterior.mu, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(belief.var, posterior.var, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(belief.noise_var, posterior.noise_var, rtol=1e-6, atol=1e-10)
    np.testing.assert_allclose(belief.columns, posterior.R, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("kernel", SMOOTH, ids=repr)
def test_before_any_reading_it_is_the_prior(kernel: Any) -> None:
    points = np.random.default_rng(1).random((5, 2))
    elsewhere = Elsewhere(Posterior(kernel, X, LAM))
    belief = elsewhere.at(points)
    np.testing.assert_array_equal(belief.mu, 0.0)
    np.testing.assert_array_equal(belief.var, kernel.diag(points))
    np.testing.assert_array_equal(belief.noise_var, 0.0)
    assert belief.columns.shape == (0, 5)
    slope = Slope(noise_var=1.0, columns=np.zeros(0))
    mu_, var_, other_ = elsewhere.gradients(points[0], elsewhere.at(points[:1]), slope)
    np.testing.assert_array_equal(var_, kernel.diag_gradient(points[0]))
    for gradient in (mu_, other_):
        np.testing.assert_array_equal(gradient, np.zeros(2))


def test_one_point_is_what_it_is_among_others() -> None:
    elsewhere = Elsewhere(told(SMOOTH[1], 30))
    points = np.random.default_rng(2).random((7, 2))
    together = elsewhere.at(points)
    for k in range(7):
        alone = elsewhere.at(points[k : k + 1])
        for name in ("mu", "var", "noise_var"):
            np.testing.assert_allclose(getattr(alone, name)[0], getattr(together, name)[k], rtol=1e-9)
        np.testing.assert_allclose(alone.columns[:, 0], together.columns[:, k], rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("deferred", [1, 16])
def test_looking_changes_nothing(deferred: int) -> None:
    """Bit for bit: neither what is said at once, nor what the next readings give."""
    looked, alone = (told(SMOOTH[0], 21, n_deferred_max=deferred) for _ in range(2))
    elsewhere = Elsewhere(looked)
    belief = elsewhere.at(X[:3] + 0.01)
    elsewhere.gradients(X[0], elsewhere.at(X[:1]), Slope(columns=np.ones(looked.m)))
    again = elsewhere.at(X[:3] + 0.01)
    np.testing.assert_array_equal(again.mu, belief.mu)
    np.testing.assert_array_equal(again.columns, belief.columns)
    for i in range(20):
        for posterior in (looked, alone):
            posterior.observe(i, 0.1 * i)
        for name in ("mu", "var", "noise_var", "R"):
            np.testing.assert_array_equal(getattr(looked, name), getattr(alone, name))


# --- gradients --------------------------------------------------------------------------------------


def central(function: Any, x: np.ndarray) -> np.ndarray:
    """Derivatives by central differences of fourth order, (d,)."""
    h = 1e-3
    return np.array(
        [
            (8.0 * (function(x + s) - function(x - s)) - function(x + 2 * s) + function(x - 2 * s))
            / (12.0 * h)
            for s in np.eye(len(x)) * h
        ]
    )


@pytest.mark.parametrize("own_noise", [False, True])
@pytest.mark.parametrize("kernel", SMOOTH, ids=repr)
def test_gradients_are_those_of_central_differences(kernel: Any, own_noise: bool) -> None:
    """Of mean, variance, noise share and a linear form of the column of R, all at one point."""
    posterior = told(kernel, 40, seed=5, own_noise=own_noise)
    elsewhere = Elsewhere(posterior)
    rng = np.random.default_rng(6)
    push = rng.standard_normal(posterior.m)
    read = X[posterior.u]

    def together(at: BeliefAt) -> float:
        return float(1.5 * at.var[0] + 2.0 * at.noise_var[0] + 2.0 * push @ at.columns[:, 0])

    n_compared = 0
    for x in rng.random((12, 2)):
        if np.linalg.norm(read - x, axis=1).min() < 0.03:
            continue  # a Matern 3/2 has a kink in its second derivative there
        belief = elsewhere.at(x[None, :])
        slopes = (
            *elsewhere.gradients(x, belief, Slope(var=3.0))[:2],
            elsewhere.gradients(x, belief, Slope(var=3.0))[2] / 3.0,
            elsewhere.gradients(x, belief, Slope(noise_var=1.0))[2],
            elsewhere.gradients(x, belief, Slope(columns=push))[2],
            elsewhere.gradients(x, belief, Slope(1.0, 2.0, push) + Slope(0.5, 0.0, push))[2],
        )
        values = (
            lambda z: elsewhere.at(z[None, :]).mu[0],
            lambda z: elsewhere.at(z[None, :]).var[0],
            lambda z: elsewhere.at(z[None, :]).var[0],
            lambda z: elsewhere.at(z[None, :]).noise_var[0],
            lambda z: push @ elsewhere.at(z[None, :]).columns[:, 0],
            lambda z: together(elsewhere.at(z[None, :])),
        )
        for slope, value in zip(slopes, values, strict=True):
            assert slope.shape == (2,)
            # 1e-6: h^4 times a fifth derivative, at a distance of 0.03 from a point read
            np.testing.assert_allclose(slope, central(value, x), rtol=1e-5, atol=1e-6)
        n_compared += 1
    assert n_compared > 4


def test_at_a_point_read_often_the_gradient_of_its_variance_vanishes_with_the_noise() -> None:
    """The variance has its minimum near there, and the mean follows the reading."""
    posterior = Posterior(ub.Matern(2.5, 0.3), X, LAM)
    for _ in range(500):
        posterior.observe(7, 0.5)
    elsewhere = Elsewhere(posterior)
    belief = elsewhere.at(X[7:8])
    mu_, var_, _ = elsewhere.gradients(X[7], belief, Slope())
    assert belief.mu[0] == pytest.approx(0.5, abs=1e-4)
    np.testing.assert_allclose(mu_, 0.0, atol=1e-12)
    np.testing.assert_allclose(var_, 0.0, atol=1e-12)
