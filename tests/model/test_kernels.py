"""Each kernel against its formula: closed forms, Bessel functions, scikit-learn, limits."""

import math

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as sk

import unbribable as ub
from unbribable.model.kernels import matern_by_bessel

X = np.random.default_rng(1).uniform(-2.0, 2.0, (15, 3))
SCALES = [0.5, 1.0, 2.0]


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_closed_forms_of_matern_are_the_bessel_form(nu: float) -> None:
    """From tiny to large distances."""
    r = np.concatenate([[0.0], np.logspace(-9, 2.5, 200)])
    closed = ub.Matern(nu, 1.0)(np.zeros((1, 1)), r[:, None])[0]
    np.testing.assert_allclose(closed, matern_by_bessel(nu, math.sqrt(2 * nu) * r), rtol=1e-11)


def test_matern_seven_halves_has_its_polynomial() -> None:
    """(1 + s + 2 s^2 / 5 + s^3 / 15) e^-s, a closed form the library does not use."""
    r = np.linspace(0.0, 20.0, 300)
    s = math.sqrt(7.0) * r
    expected = (1.0 + s + 2.0 * s**2 / 5.0 + s**3 / 15.0) * np.exp(-s)
    actual = ub.Matern(3.5, 1.0)(np.zeros((1, 1)), r[:, None])[0]
    np.testing.assert_allclose(actual, expected, rtol=1e-12)


@pytest.mark.parametrize("nu", [0.3, 0.5, 1.0, 1.5, 2.0, 2.5, 4.2, 11.0])
def test_matern_is_scikit_learns(nu: float) -> None:
    """With one lengthscale per coordinate."""
    expected = sk.Matern(length_scale=SCALES, nu=nu)(X)
    np.testing.assert_allclose(ub.Matern(nu, SCALES)(X, X), expected, rtol=1e-10, atol=1e-14)


def test_squared_exponential_is_scikit_learns() -> None:
    """With one lengthscale per coordinate."""
    expected = sk.RBF(length_scale=SCALES)(X)
    np.testing.assert_allclose(ub.SquaredExponential(SCALES)(X, X), expected, rtol=1e-12)


def test_linear_is_the_inner_product() -> None:
    """Of the scaled points."""
    scales = np.array(SCALES) * 4.0
    expected = np.array(
        [[sum(a * b / s**2 for a, b, s in zip(x, z, scales, strict=True)) for z in X] for x in X]
    )
    np.testing.assert_allclose(ub.Linear(scales)(X, X), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("nu", [50.0, 200.0, 500.0, 1000.0, 1e4, 1e6])
def test_a_smooth_matern_is_almost_the_squared_exponential(nu: float) -> None:
    """The difference is at most 0.25 / nu, at any distance: ln k differs by about r^4 / (8 nu)."""
    r = np.linspace(0.0, 12.0, 241)[:, None]
    origin = np.zeros((1, 1))
    values = ub.Matern(nu, 1.0)(origin, r)[0]
    difference = np.abs(values - ub.SquaredExponential(1.0)(origin, r)[0])
    assert difference.max() <= 0.25 / nu
    assert difference.max() >= 1e-3 / nu
    assert (values >= 0.0).all()


@pytest.mark.parametrize("nu", [0.01, 0.5, 0.7, 3.0, 30.0, 100.0])
def test_matern_falls_from_one_to_zero_without_a_jump(nu: float) -> None:
    """Where Bessel functions overflow and where they underflow, without a warning."""
    r = np.concatenate([[0.0], np.logspace(-150, 3, 2000)])[:, None]
    values = ub.Matern(nu, 1.0)(np.zeros((1, 1)), r)[0]
    assert values[0] == 1.0
    assert np.isfinite(values).all()
    assert (np.diff(values) <= 1e-12).all()
    assert 0.0 <= values[-1] < 1e-6
