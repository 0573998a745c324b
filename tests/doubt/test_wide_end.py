"""The wide end of the hypotheses: what guarantees rest on where nothing is assumed."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import qmc

from doubt.tables import judged
from unbribable.doubt.hypotheses import Hypotheses, Known
from unbribable.doubt.wide_end import B0_FACTOR, B_FACTOR, WideEnd, wide_end
from unbribable.lab.world.named_functions import TEST_FUNCTIONS
from unbribable.model.checks import Floats
from unbribable.model.kernels import Kernel, Linear, Matern, SquaredExponential

NUMBERS = ("center", "scale", "noise_std", "B", "B0")


def readings(name: str, n: int, seed: int, noise: float = 0.02) -> tuple[Floats, Floats]:
    """Points of the unit cube and readings there, with noise in units of the function's range."""
    function = TEST_FUNCTIONS[name]
    rng = np.random.default_rng(seed)
    U = qmc.Halton(function.d, seed=rng).random(n)
    low, high = np.array(function.low), np.array(function.high)
    values = function(low + U * (high - low))
    return U, values + noise * np.ptp(values) * rng.standard_normal(n)


def chains_of(U: Floats, y: Floats, **known: Any) -> Hypotheses:
    return judged(U, y, known=Known(**known)).chains


def wide(U: Floats, y: Floats, center: float | None = None, **known: Any) -> WideEnd:
    return wide_end(chains_of(U, y, **known), center)


def test_it_is_the_widest_of_all_but_two_hypotheses_and_its_norms_are_those_of_their_means() -> None:
    """Against dense solves, hypothesis by hypothesis."""
    U, y = readings("branin", 24, seed=0)
    y[5] += 500.0
    chains = chains_of(U, y)
    found, data = wide_end(chains), chains.data
    lengthscales, scale2, noise2, mean = chains.parts()
    assert found.scale == pytest.approx(data.unit * math.sqrt(np.median(scale2)))
    assert found.center == pytest.approx(data.origin + data.unit * np.median(mean))
    assert found.noise_std * found.scale == pytest.approx(data.unit * np.sqrt(np.sort(noise2)[-3]))
    norms, heights = [], []
    for p in range(len(chains.theta)):
        kept = chains.z[p] == 0.0
        K = Matern(2.5, tuple(lengthscales[p]))(U[kept], U[kept])
        noise = (noise2[p] + 1e-7 * scale2[p]) * np.eye(kept.sum())
        weights = np.linalg.solve(scale2[p] * K + noise, (data.y - np.median(mean))[kept])
        norms.append(scale2[p] * math.sqrt(weights @ K @ weights))
        everywhere = scale2[p] * Matern(2.5, tuple(lengthscales[p]))(U, U[kept]) @ weights
        heights.append(np.abs(everywhere).max())
    short = int(np.argsort(np.log(lengthscales).mean(axis=1))[2])
    np.testing.assert_allclose(found.kernel.lengthscale, lengthscales[short])
    largest = max(float(np.median(heights)), 1.0, math.sqrt(np.sort(scale2)[-3]))
    scale = found.scale / data.unit
    assert pytest.approx(max(1.0, B0_FACTOR * largest / scale), rel=1e-4) == found.B0
    B = B_FACTOR * max(norms[short], float(np.median(norms))) / scale
    assert pytest.approx(max(found.B0, B), rel=1e-4) == found.B


@pytest.mark.parametrize(("name", "n"), [("forrester", 25), ("branin", 20), ("hartmann6", 40)])
def test_one_huge_lie_hardly_moves_it(name: str, n: int) -> None:
    U, y = readings(name, n, seed=0)
    lied = y.copy()
    lied[n // 2] = 1e6
    honest, bribed = wide(U, y), wide(U, lied)
    spread = float(np.std(y))
    assert bribed.center == pytest.approx(honest.center, abs=spread)
    for number in ("B", "B0"):  # guesses by the shortest lengthscales of few chains
        ratio = bribed.scale * getattr(bribed, number) / (honest.scale * getattr(honest, number))
        assert 0.15 < ratio < 4.0
    assert abs(bribed.noise_std * bribed.scale - honest.noise_std * honest.scale) < 0.2 * spread


def test_how_huge_a_lie_is_makes_no_difference() -> None:
    U, y = readings("branin", 20, seed=1)
    y /= 1e4
    fits = []
    for lie in (1e8, 1e12, 1e300):
        y[[4, 9]] = lie, -lie
        fits.append(wide(U, y))
    assert fits[0] == fits[1] == fits[2]


def test_almost_a_quarter_of_lies_at_one_side_do_not_take_over() -> None:
    U, y = readings("branin", 40, seed=2)
    spread = float(np.ptp(y))
    y[np.random.default_rng(0).choice(40, 9, replace=False)] = 1e5
    bribed = wide(U, y)
    assert bribed.scale < 2.0 * spread
    assert bribed.noise_std * bribed.scale < spread


def test_it_moves_with_the_unit_and_the_origin_of_the_readings() -> None:
    """Exactly, by a power of two: else rounding sends the chains elsewhere."""
    U, y = readings("camelback", 18, seed=3)
    y[5] = 40.0
    plain, moved = wide(U, y), wide(U, 8.0 * y)
    assert moved.center == pytest.approx(8.0 * plain.center, rel=1e-9)
    assert moved.scale == pytest.approx(8.0 * plain.scale, rel=1e-9)
    for number in ("noise_std", "B", "B0"):
        assert getattr(moved, number) == pytest.approx(getattr(plain, number), rel=1e-9)
    assert moved.kernel == plain.kernel


def test_a_kernel_that_is_given_is_kept() -> None:
    U, y = readings("branin", 20, seed=0)
    kernels: list[Kernel] = [SquaredExponential(0.3), Matern(1.5, (0.2, 0.9)), Linear(2.0)]
    for kernel in kernels:
        found = wide(U, y, kernel=kernel)
        assert found.kernel is kernel
        assert np.std(y) / 10.0 < found.scale < np.std(y) * 100.0


@pytest.mark.parametrize("noise_std", [0.0, 1e-3, 2.5, 100.0])
def test_a_noise_or_a_center_that_is_given_is_kept_in_the_unit_of_the_readings(noise_std: float) -> None:
    U, y = readings("branin", 20, seed=0)
    found = wide(U, y, -3.0, noise_std=noise_std)
    assert found.noise_std * found.scale == pytest.approx(noise_std, rel=1e-12)
    assert found.center == -3.0


def test_repeated_points_tell_the_noise() -> None:
    U = np.repeat(np.linspace(0.0, 1.0, 8)[:, None], 6, axis=0)
    noise = 0.2 * np.random.default_rng(5).standard_normal(48)
    found = wide(U, np.sin(6.0 * U[:, 0]) + noise)
    assert 0.18 < found.noise_std * found.scale < 0.35


@pytest.mark.parametrize("value", [0.0, 3.5, -1e9])
@pytest.mark.parametrize("n", [1, 2, 3, 20])
def test_constant_readings_give_one_centred_near_them(value: float, n: int) -> None:
    U = np.random.default_rng(0).random((n, 2))
    found = wide(U, np.full(n, value))
    assert abs(found.center - value) <= 3.0 * (abs(value) or 1.0)
    assert all(math.isfinite(getattr(found, name)) for name in NUMBERS)
    assert found.scale > 0.0


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7])
@pytest.mark.parametrize("is_one_point", [False, True])
@pytest.mark.parametrize("noise_std", [None, 0.0])
def test_few_readings_give_a_usable_one(n: int, is_one_point: bool, noise_std: float | None) -> None:
    rng = np.random.default_rng(n)
    U = np.full((n, 6), 0.5) if is_one_point else rng.random((n, 6))
    for y in (rng.standard_normal(n), np.append(np.sin(np.arange(n - 1.0)), 1e300)):
        found = wide(U, y, noise_std=noise_std)
        assert all(math.isfinite(getattr(found, name)) for name in NUMBERS)
        assert found.scale > 0.0
        assert found.noise_std >= 0.0
        assert 1.0 <= found.B0 <= found.B


def test_the_guess_of_b_and_b0_hold_for_a_smooth_function_read_without_lies() -> None:
    # sin(5 x) + x, whose norm is that of its interpolant on a fine grid
    U = np.linspace(0.0, 1.0, 12)[:, None]
    grid = np.linspace(0.0, 1.0, 60)[:, None]
    found = wide(U, np.sin(5.0 * U[:, 0]) + U[:, 0])
    f = (np.sin(5.0 * grid[:, 0]) + grid[:, 0] - found.center) / found.scale
    gram = found.kernel(grid, grid) + 1e-8 * np.eye(60)
    assert math.sqrt(f @ np.linalg.solve(gram, f)) < found.B
    assert np.abs(f).max() < found.B0 < 15.0


def test_pure_noise_is_no_reason_to_think_f_small() -> None:
    U, y = np.random.default_rng(0).random((40, 2)), np.random.default_rng(1).standard_normal(40)
    found = wide(U, y)
    assert found.B0 * found.scale > 1.5 * np.std(y)
    assert found.B >= found.B0
