"""Each kernel against its formula: closed forms, Bessel functions, scikit-learn, limits."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as sk

import unbribable as ub
from contracts.members import KERNELS
from unbribable.model.kernels import Kernel, Stationary, matern_by_bessel

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


@pytest.mark.parametrize("kernel", [ub.SquaredExponential(0.3), ub.Matern(0.8, SCALES)], ids=repr)
def test_a_scaled_kernel_is_that_of_the_unit_cube_on_a_box(kernel: Any) -> None:
    """Wherever the box lies; on a cube of side 1 the kernel itself."""
    low, side = np.array([3.0, -1.0, 0.0]), np.array([2.0, 0.1, 7.0])
    U = np.random.default_rng(2).random((9, 3))
    found = kernel.scaled(side)(low + side * U, low + side * U)
    np.testing.assert_allclose(found, kernel(U, U), rtol=1e-9, atol=1e-12)
    assert kernel.scaled(np.ones(3)) is kernel


def test_only_a_stationary_kernel_can_be_scaled() -> None:
    with pytest.raises(TypeError, match=r"only a stationary kernel can be scaled, got Linear"):
        ub.Linear(3.0).scaled(np.array([2.0]))


# --- gradients --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RationalQuadratic(Stationary):
    """(1 + r^2 / 4)^-2: a kernel that says no more than its values."""

    lengthscale: Any

    def of_squared_distance(self, r2: np.ndarray) -> np.ndarray:
        return (1.0 + r2 / 4.0) ** -2


@dataclass(frozen=True)
class Quadratic(Kernel):
    """(1 + x.z)^2 / scale: not stationary, and says no more than its values."""

    scale: float

    def __call__(self, X: np.ndarray, other: np.ndarray) -> np.ndarray:
        return (1.0 + X @ other.T) ** 2 / self.scale

    def diag(self, X: np.ndarray) -> np.ndarray:
        return (1.0 + np.sum(X**2, axis=1)) ** 2 / self.scale


NUS = (0.3, 0.5, 0.8, 1.0, 1.2, 1.5, 2.0, 2.5, 3.3, 30.0, 99.9, 100.5, 101.0, 150.0, 1e4)
SMOOTH: dict[str, Any] = {
    **{name: build(3) for name, build in KERNELS.items()},
    **{f"matern {nu}": ub.Matern(nu, 0.9) for nu in NUS},
    **{f"matern {nu} per coordinate": ub.Matern(nu, SCALES) for nu in NUS},
    "custom stationary": RationalQuadratic(0.9),
    "custom stationary per coordinate": RationalQuadratic((0.5, 1.0, 2.0)),
    "custom": Quadratic(200.0),
}


def central(function: Any, x: np.ndarray) -> np.ndarray:
    """Derivatives by central differences of fourth order; the last axis is the coordinate."""
    h = 1e-3
    columns = []
    for step in np.eye(len(x)) * h:
        near, far = (
            function(x + step) - function(x - step),
            function(x + 2 * step) - function(x - 2 * step),
        )
        columns.append((8.0 * near - far) / (12.0 * h))
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("kernel", SMOOTH.values(), ids=SMOOTH)
def test_the_gradient_is_that_of_central_differences(kernel: Any) -> None:
    """Of k(X[i], x) in x, at points apart from X, where every kernel is smooth."""
    steepest = 0.0
    for x in np.random.default_rng(7).uniform(-1.0, 1.0, (6, 3)):
        apart = X[np.linalg.norm(X - x, axis=1) > 0.5]
        expected = central(lambda z, apart=apart: kernel(apart, z[None, :])[:, 0], x)
        found = kernel.gradient(apart, x)
        assert found.shape == apart.shape
        # 1e-8: h^4 times a fifth derivative
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=2e-8)
        steepest = max(steepest, float(np.abs(expected).max()))
    assert steepest > 0.01  # there is something to compare


@pytest.mark.parametrize("kernel", SMOOTH.values(), ids=SMOOTH)
def test_the_gradient_of_the_prior_variance_is_that_of_central_differences(kernel: Any) -> None:
    for x in np.random.default_rng(8).uniform(-2.0, 2.0, (6, 3)):
        expected = central(lambda z: kernel.diag(z[None, :])[0], x)
        found = kernel.diag_gradient(x)
        assert found.shape == (3,)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=2e-9)


@pytest.mark.parametrize("kernel", SMOOTH.values(), ids=SMOOTH)
def test_a_gradient_is_finite_everywhere_and_zero_where_a_distance_is(kernel: Any) -> None:
    """At the point itself, very near it and far away, without a warning."""
    x = X[4]
    away = np.array([1.0, -1.0, 0.5])
    around = np.concatenate([[x], *([x + s * away] for s in (1e-300, 1e-160, 1e-15, 1e-9, 1e-4, 1e3))])
    found = kernel.gradient(around, x)
    assert np.isfinite(found).all()
    if isinstance(kernel, Stationary):
        np.testing.assert_array_equal(found[0], 0.0)
        np.testing.assert_array_equal(kernel.diag_gradient(x), 0.0)
    assert kernel.gradient(around[:0], x).shape == (0, 3)


@pytest.mark.parametrize("nu", [1.2, 1.5, 2.0, 2.5, 3.3, 30.0, 100.5, 150.0])
def test_the_slope_of_a_smooth_matern_at_zero_is_its_limit(nu: float) -> None:
    """-nu / (2 (nu - 1)); the kernel's value falls by it for small r^2."""
    kernel = ub.Matern(nu, 1.0)
    expected = -nu / (2.0 * (nu - 1.0))
    assert kernel.slope_of_squared_distance(np.zeros(1))[0] == pytest.approx(expected, rel=1e-9)
    if nu >= 2.0:
        r2 = 1e-8
        fallen = kernel.of_squared_distance(np.array([r2]))[0] - 1.0
        assert fallen / r2 == pytest.approx(expected, rel=1e-3)


def test_a_kernel_that_says_only_its_values_has_the_gradient_of_its_formula() -> None:
    """Both fallbacks, against derivatives by hand, also at distance zero."""
    x = np.array([0.3, -0.4, 1.1])
    around = np.concatenate([[x, x + 1e-5], X])
    scales = np.array(SCALES)
    difference = (x - around) / scales
    r2 = np.sum(difference**2, axis=1)
    slope = -0.5 * (1.0 + r2 / 4.0) ** -3
    found = RationalQuadratic(tuple(SCALES)).gradient(around, x)
    np.testing.assert_allclose(found, 2.0 * slope[:, None] * difference / scales, rtol=1e-6, atol=1e-9)
    kernel = Quadratic(200.0)
    by_hand = 2.0 * (1.0 + around @ x)[:, None] * around / 200.0
    np.testing.assert_allclose(kernel.gradient(around, x), by_hand, rtol=1e-7, atol=1e-9)
    by_hand = 4.0 * (1.0 + x @ x) * x / 200.0
    np.testing.assert_allclose(kernel.diag_gradient(x), by_hand, rtol=1e-7, atol=1e-9)


def test_our_kernels_say_their_derivatives_themselves() -> None:
    """No differences, which cost six digits and, in d dimensions, 2 d evaluations."""
    for kind in (ub.SquaredExponential, ub.Matern):
        assert "slope_of_squared_distance" in vars(kind)
    for kind in (Stationary, ub.Linear):
        assert {"gradient", "diag_gradient"} <= set(vars(kind))
