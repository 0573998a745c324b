"""The defaults fitted to readings: close to maximum likelihood on honest ones, steady under lies."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.stats import qmc
from unbribable.practice.fit import Fit, Fitting
from unbribable.practice.reading_model import DROP, ReadingModel

import unbribable as ub
from unbribable.lab.world.named_functions import TEST_FUNCTIONS
from unbribable.model.checks import Floats
from unbribable.model.kernels import Kernel, Linear, Matern, SquaredExponential, Stationary

NUMBERS = ("center", "scale", "noise_std", "B", "B0")


def readings(name: str, n: int, seed: int, noise: float = 0.02) -> tuple[Floats, Floats]:
    """Points of the unit cube and readings there, with noise in units of the function's range."""
    function = TEST_FUNCTIONS[name]
    rng = np.random.default_rng(seed)
    U = qmc.Halton(function.d, seed=rng).random(n)
    low, high = np.array(function.low), np.array(function.high)
    values = function(low + U * (high - low))
    return U, values + noise * np.ptp(values) * rng.standard_normal(n)


def fit(U: Floats, y: Floats, **given: Any) -> Fit:
    """What is most likely."""
    return Fitting(U, y, **given).likely


def ordinary_fit(U: Floats, y: Floats) -> Floats:
    """Lengthscale, scale and noise by plain maximum likelihood, every reading believed: (3,)."""
    z, d = y - y.mean(), U.shape[1]

    def loss(theta: Floats) -> float:
        lengthscale, scale, noise = np.exp(theta)
        covariance = scale**2 * Matern(2.5, lengthscale)(U, U) + (noise**2 + 1e-8) * np.eye(len(y))
        return float(0.5 * (z @ np.linalg.solve(covariance, z) + np.linalg.slogdet(covariance)[1]))

    start = np.log([0.3 * math.sqrt(d), y.std(), 0.1 * y.std()])
    found = minimize(loss, start, method="L-BFGS-B", bounds=[(s - 5, s + 5) for s in start])
    return np.exp(found.x)


def error_of(found: Fit, U: Floats, y: Floats, name: str) -> float:
    """Root mean square error of the posterior mean, in standard deviations of the function."""
    function = TEST_FUNCTIONS[name]
    X = np.random.default_rng(99).random((500, function.d))
    truth = function(np.array(function.low) + X * np.ptp([function.low, function.high], axis=0))
    gram = found.kernel(U, U) + (found.noise_std**2 + 1e-8) * np.eye(len(U))
    mean = found.kernel(X, U) @ np.linalg.solve(gram, (y - found.center) / found.scale)
    error = found.center + found.scale * mean - truth
    return float(np.sqrt(np.mean(error**2)) / truth.std())


def assert_close(a: Fit, b: Fit, rtol: float) -> None:
    for name in NUMBERS:
        assert getattr(a, name) == pytest.approx(getattr(b, name), rel=rtol), name
    assert isinstance(a.kernel, Matern)
    assert isinstance(b.kernel, Matern)
    np.testing.assert_allclose(a.kernel.lengthscale, b.kernel.lengthscale, rtol=rtol)


@pytest.mark.parametrize("gram", [None, "given"])
@pytest.mark.parametrize("noise", [None, 0.3])
def test_the_gradient_of_the_loss_is_that_of_differences(gram: str | None, noise: float | None) -> None:
    rng = np.random.default_rng(1)
    U, y = rng.random((14, 3)), rng.standard_normal(14)
    model = ReadingModel(U, y, None if gram is None else SquaredExponential(0.4)(U, U), noise)
    is_kept = np.arange(14) % 5 > 0
    for _ in range(3):
        theta = rng.normal(-0.5, 0.5, len(model.prior))
        numeric = approx_fprime(theta, lambda point: model.loss(point, is_kept)[0], 1e-6)
        np.testing.assert_allclose(model.loss(theta, is_kept)[1], numeric, rtol=1e-4, atol=1e-4)


def test_screening_sets_aside_what_it_would_if_every_density_were_computed_afresh() -> None:
    # The rank-one changes of the precision against plain conditioning on the readings kept.
    rng = np.random.default_rng(2)
    U = rng.random((24, 2))
    y = np.sin(5.0 * U[:, 0]) + 0.05 * rng.standard_normal(24)
    y[[3, 8, 15]] += [4.0, -6.0, 3.0]
    model = ReadingModel(U, y, None, None)
    theta = np.log([0.5, 0.7, 1.0, 0.1])
    is_kept = model.screen(theta, np.arange(24) != 5)  # an honest one set aside is taken back
    covariance = model.covariance(Matern(2.5, (0.5, 0.7))(U, U), 1.0, 0.1)
    for i in range(24):
        others = np.flatnonzero(is_kept & (np.arange(24) != i))
        weights = np.linalg.solve(covariance[np.ix_(others, others)], covariance[others, i])
        var = covariance[i, i] - weights @ covariance[others, i]
        log_density = -0.5 * ((y[i] - weights @ y[others]) ** 2 / var + math.log(2 * math.pi * var))
        assert is_kept[i] == (log_density > -model.costs[i])
    assert np.flatnonzero(~is_kept).tolist() == [3, 8, 15]


@pytest.mark.parametrize(("name", "n"), [("forrester", 25), ("branin", 20), ("hartmann6", 40)])
def test_one_huge_lie_hardly_moves_the_fit(name: str, n: int) -> None:
    U, y = readings(name, n, seed=0)
    lied = y.copy()
    lied[n // 2] = 1e6
    honest, bribed = fit(U, y), fit(U, lied)
    spread = float(np.std(y))
    assert bribed.center == pytest.approx(honest.center, abs=spread)
    for number in ("scale", "B", "B0"):
        assert getattr(bribed, number) == pytest.approx(getattr(honest, number), rel=0.5)
    assert abs(bribed.noise_std * bribed.scale - honest.noise_std * honest.scale) < 0.1 * spread


def test_one_huge_lie_ruins_an_ordinary_fit() -> None:
    U, y = readings("branin", 20, seed=0)
    lied = y.copy()
    lied[10] = 1e6
    assert ordinary_fit(U, lied)[1:].max() > 100.0 * ordinary_fit(U, y)[1:].max()


def test_how_huge_a_lie_is_makes_no_difference() -> None:
    U, y = readings("branin", 20, seed=1)
    y /= 1e4  # so that the largest lie overflows in units of the others
    fits = []
    for lie in (1e5, 1e6, 1e300, 1.7e308):
        y[[4, 9]] = lie, -lie
        fits.append(fit(U, y))
    assert fits[0] == fits[1] == fits[2] == fits[3]


def test_a_huge_lie_at_a_point_read_before_is_not_mistaken_for_the_honest_reading() -> None:
    U = np.array([[0.1], [0.3], [0.5], [0.5], [0.7], [0.9]])
    y = np.array([0.0, 1.0, 2.0, 1e6, 3.0, 4.0])
    for order in (slice(None), slice(None, None, -1)):
        found = fit(U[order], y[order])
        assert 0.0 < found.center < 4.0
        assert found.scale < 10.0


def test_a_quarter_of_lies_at_one_side_do_not_take_over() -> None:
    U, y = readings("branin", 40, seed=2)
    honest = fit(U, y)
    y[::4] = 1e5
    bribed = fit(U, y)
    assert bribed.center == pytest.approx(honest.center, abs=2.0 * float(honest.scale))
    assert bribed.scale == pytest.approx(honest.scale, rel=2.0)


def test_flipped_readings_among_many_are_seen_and_an_ordinary_fit_takes_them_for_noise() -> None:
    U, y = readings("branin", 60, seed=0)
    flipped = y.copy()
    flipped[::10] = 2.0 * np.median(y) - y[::10]
    noise = 0.02 * float(np.ptp(y))
    found = fit(U, flipped)
    assert found.noise_std * found.scale < 2.0 * noise
    assert ordinary_fit(U, flipped)[2] > 3.0 * noise


@pytest.mark.parametrize(
    ("name", "n", "error"), [("forrester", 12, 0.5), ("branin", 20, 0.5), ("branin", 60, 0.15)]
)
def test_the_mean_of_a_fit_to_honest_readings_is_close_to_the_function(
    name: str, n: int, error: float
) -> None:
    for seed in range(3):
        U, y = readings(name, n, seed)
        assert error_of(fit(U, y), U, y, name) < error


@pytest.mark.parametrize(("a", "b"), [(3.0, 7.0), (-0.25, 1e4), (1e-9, 0.0), (1e9, -1e3)])
def test_the_fit_moves_with_the_unit_and_the_origin_of_the_readings(a: float, b: float) -> None:
    U, y = readings("camelback", 18, seed=3)
    y[5] = 40.0
    plain, moved = fit(U, y), fit(U, a * y + b)
    expected = dataclasses.replace(plain, center=a * plain.center + b, scale=abs(a) * plain.scale)
    assert_close(moved, expected, rtol=1e-2)


def test_a_coordinate_without_effect_gets_a_long_lengthscale() -> None:
    U = qmc.Halton(2, seed=np.random.default_rng(0)).random(30)
    found = fit(U, np.sin(9.0 * U[:, 0]))
    assert isinstance(found.kernel, Matern)
    assert isinstance(found.kernel.lengthscale, tuple)
    assert found.kernel.lengthscale[1] > 5.0 * found.kernel.lengthscale[0]


def test_the_same_readings_give_the_same_fit_and_stay_as_they_were() -> None:
    U, y = readings("hartmann6", 30, seed=4)
    before = U.copy(), y.copy()
    assert fit(U, y) == fit(U, y)
    np.testing.assert_array_equal(U, before[0])
    np.testing.assert_array_equal(y, before[1])


def test_a_kernel_that_is_given_is_kept() -> None:
    U, y = readings("branin", 20, seed=0)
    kernels: list[Kernel] = [SquaredExponential(0.3), Matern(1.5, (0.2, 0.9)), Linear(2.0)]
    for kernel in kernels:
        found = fit(U, y, kernel=kernel)
        assert found.kernel is kernel
        assert np.std(y) / 10.0 < found.scale < np.std(y) * 100.0


@pytest.mark.parametrize("noise_std", [0.0, 1e-3, 2.5, 100.0])
def test_a_noise_that_is_given_is_kept_in_the_unit_of_the_readings(noise_std: float) -> None:
    U, y = readings("branin", 20, seed=0)
    found = fit(U, y, noise_std=noise_std)
    assert found.noise_std * found.scale == pytest.approx(noise_std, rel=1e-12)


def test_repeated_points_tell_the_noise() -> None:
    U = np.repeat(np.linspace(0.0, 1.0, 8)[:, None], 6, axis=0)
    noise = 0.2 * np.random.default_rng(5).standard_normal(48)
    found = fit(U, np.sin(6.0 * U[:, 0]) + noise)
    assert found.noise_std * found.scale == pytest.approx(0.2, rel=0.3)


@pytest.mark.parametrize("value", [0.0, 3.5, -1e9])
@pytest.mark.parametrize("n", [1, 2, 3, 20])
def test_constant_readings_give_a_fit_centred_on_them(value: float, n: int) -> None:
    U = np.random.default_rng(0).random((n, 2))
    y = np.full(n, value)
    found = fit(U, y)
    assert found.center == value
    assert found.scale > 0.0
    assert 1.0 <= found.B0 <= found.B < 2.0
    if n >= 3:
        y[0] = 1e6  # and one lie does not change that
        assert fit(U, y) == found


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7])
@pytest.mark.parametrize("is_one_point", [False, True])
def test_few_readings_give_a_usable_fit(n: int, is_one_point: bool) -> None:
    rng = np.random.default_rng(n)
    U = np.full((n, 6), 0.5) if is_one_point else rng.random((n, 6))
    for noise_std in (None, 0.0):
        found = fit(U, rng.standard_normal(n), noise_std=noise_std)
        assert all(math.isfinite(getattr(found, name)) for name in NUMBERS)
        assert found.scale > 0.0
        assert found.noise_std >= 0.0
        assert min(found.B, found.B0) >= 1.0


def test_center_b_and_b0_are_those_of_the_posterior() -> None:
    # nothing is set aside here; c ~ N(median, unit^2), so its posterior mean is known
    U, y = readings("forrester", 25, seed=0)
    found = fit(U, y)
    median = float(np.median(y))
    unit = np.sort(np.abs(y - median))[16] / 1.0364
    gram = found.kernel(U, U)
    alpha = np.linalg.solve(
        gram + (found.noise_std**2 + 1e-6) * np.eye(25), (y - found.center) / found.scale
    )
    center = median + unit**2 / found.scale * alpha.sum()
    B, B0 = 2.0 * math.sqrt(alpha @ gram @ alpha), 3.0 * np.abs(gram @ alpha).max()
    np.testing.assert_allclose([found.center, found.B, found.B0], [center, B, B0], rtol=1e-6)


def test_pure_noise_is_no_reason_to_think_f_small() -> None:
    U, y = np.random.default_rng(0).random((40, 2)), np.random.default_rng(1).standard_normal(40)
    found = fit(U, y)
    assert found.B0 * found.scale > 1.5 * np.std(y)
    assert found.B >= found.B0


def test_the_guess_of_b_and_b0_hold_for_a_smooth_function_read_without_lies() -> None:
    # sin(5 x) + x, whose norm is that of its interpolant on a fine grid
    U = np.linspace(0.0, 1.0, 12)[:, None]
    grid = np.linspace(0.0, 1.0, 60)[:, None]
    found = fit(U, np.sin(5.0 * U[:, 0]) + U[:, 0])
    f = (np.sin(5.0 * grid[:, 0]) + grid[:, 0] - found.center) / found.scale
    gram = found.kernel(grid, grid) + 1e-8 * np.eye(60)
    assert math.sqrt(f @ np.linalg.solve(gram, f)) < found.B < 20.0
    assert np.abs(f).max() < found.B0 < 10.0


@pytest.mark.parametrize(
    ("U", "y", "words"),
    [
        (np.zeros((3, 2)), np.zeros(4), r"with n, d >= 1, got shapes \(3, 2\) and \(4,\)"),
        (np.zeros((0, 2)), np.zeros(0), "n, d >= 1"),
        (np.zeros((2, 0)), np.zeros(2), "n, d >= 1"),
        (np.zeros(3), np.zeros(3), r"U must have shape \(n, d\)"),
        (np.full((2, 1), 1.5), np.zeros(2), "U must lie in the unit cube, got entries from 1.5 to 1.5"),
        (np.zeros((2, 1)), np.array([0.0, np.nan]), r"y must be finite, got nan at \[1\]"),
    ],
)
def test_what_is_not_one_reading_per_point_of_the_unit_cube_is_refused(
    U: Floats, y: Floats, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        fit(U, y)


def test_a_kernel_or_a_noise_that_cannot_be_is_refused() -> None:
    U, y = np.random.default_rng(0).random((4, 2)), np.arange(4.0)
    with pytest.raises(TypeError, match="kernel must be a Kernel, got kernel='rbf'"):
        fit(U, y, kernel="rbf")
    with pytest.raises(ValueError, match="one per coordinate"):
        fit(U, y, kernel=Matern(2.5, (0.1, 0.2, 0.3)))
    with pytest.raises(ValueError, match=r"k\(x, x\) must be <= 1"):
        fit(U, y, kernel=Linear(0.1))
    with pytest.raises(ValueError, match="noise_std must be finite and >= 0"):
        fit(U, y, noise_std=-1.0)


# --- the wide end ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("entries", "sign"), [([0, 1], -1.0), ([2], 1.0), ([3], 1.0)])
def test_a_wide_end_is_as_far_as_the_readings_allow(entries: list[int], sign: float) -> None:
    """Against the loss on a ladder of steps, its other entries at their best by another method."""
    U, y = readings("branin", 24, seed=0)
    model = ReadingModel(U, (y - np.median(y)) / y.std(), None, None)
    theta, is_kept = model.solve()
    best, rest = model.loss(theta, is_kept)[0], np.setdiff1d(np.arange(4), entries)

    def profile(step: float) -> float:
        moved = theta.copy()
        moved[entries] += sign * step

        def loss(other: Floats) -> float:
            moved[rest] = np.clip(other, *model.prior[rest, 2:].T)
            return model.loss(moved, is_kept)[0]

        return float(minimize(loss, theta[rest], method="Nelder-Mead").fun)

    step = float((model.wide_end(theta, is_kept, entries, sign) - theta)[entries[0]]) * sign
    assert 0.1 < step < 3.9
    assert profile(step - 0.07) < best + DROP < profile(step + 0.14)


@pytest.mark.parametrize("name", ["forrester", "branin"])
def test_caution_widens_and_keeps_center_and_scale(name: str) -> None:
    for seed in range(3):
        U, y = readings(name, 20, seed)
        fitting = Fitting(U, y)
        likely, cautious = fitting.likely, fitting.cautious()
        assert (cautious.center, cautious.scale) == (likely.center, likely.scale)
        assert isinstance(likely.kernel, Matern)
        assert isinstance(cautious.kernel, Matern)
        assert np.all(np.less(cautious.kernel.lengthscale, likely.kernel.lengthscale))
        assert cautious.noise_std > 1.2 * likely.noise_std
        assert cautious.B >= likely.B
        assert cautious.B0 >= likely.B0


def test_caution_covers_a_peak_that_was_not_read() -> None:
    """A slope with noise, and between the points a bump three times its range."""
    U = np.linspace(0.0, 1.0, 9)[:, None]
    y = U[:, 0] + 0.02 * np.random.default_rng(0).standard_normal(9)
    fitting = Fitting(U, y)
    need = (3.0 - fitting.likely.center) / fitting.likely.scale
    assert fitting.likely.B0 < need < fitting.cautious().B0


@pytest.mark.long
def test_the_cautious_noise_is_seldom_far_below_the_true_one_and_never_far_above() -> None:
    """All readings tell it, also those that a fit of the shape leaves out: 40 around the maximum."""
    ratios = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        U = np.concatenate([rng.random((8, 1)), 0.3 + 0.02 * rng.standard_normal((40, 1))])
        y = np.sin(5.0 * U[:, 0]) + 0.1 * rng.standard_normal(48)
        found = Fitting(U[:10], y[:10], every=(U, y)).cautious()
        ratios.append(found.noise_std * found.scale / 0.1)
    assert np.mean(np.array(ratios) < 0.9) <= 0.1
    assert 0.7 < min(ratios) < max(ratios) < 2.0


@pytest.mark.parametrize("noise_std", [0.0, 0.3])
def test_caution_keeps_what_is_given(noise_std: float) -> None:
    U, y = readings("forrester", 12, seed=0)
    kernel = SquaredExponential(0.2)
    found = Fitting(U, y, kernel=kernel, noise_std=noise_std, center=0.0).cautious()
    assert found.kernel is kernel
    assert found.center == 0.0
    assert found.noise_std * found.scale == pytest.approx(noise_std, rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 20])
def test_caution_is_usable_with_few_or_equal_readings_and_huge_lies(n: int) -> None:
    U = np.random.default_rng(n).random((n, 2))
    for y in (np.zeros(n), np.arange(float(n)), np.append(np.sin(np.arange(n - 1.0)), 1e300)):
        found = Fitting(U, y).cautious()
        assert all(math.isfinite(getattr(found, name)) for name in NUMBERS)
        assert 1.0 <= found.B0 <= found.B


@dataclasses.dataclass(frozen=True)
class RationalQuadratic(Stationary):
    """A stationary kernel that is not ours."""

    lengthscale: Any

    def of_squared_distance(self, r2: Floats) -> Floats:
        return (1.0 + r2 / 4.0) ** -2


def test_a_stationary_kernel_of_ones_own_can_be_given_on_a_grid() -> None:
    """The fit scales it to the unit cube; the guarantee rests on it as it was given."""
    points = np.linspace(10.0, 30.0, 41)[:, None]
    kernel = RationalQuadratic(4.0)
    run = ub.maximize(lambda x: -abs(float(x[0]) - 17.0), ub.Grid(points), 14, kernel=kernel, seed=0)
    assert abs(run.x[0] - 17.0) <= 2.0
    assert repr(kernel) in run.assumptions
