"""The widths on numbers one can check by hand."""

import math

import numpy as np
import pytest

import unbribable as ub
from unbribable.decision.instance import Instance
from unbribable.decision.options import Options
from unbribable.theory.widths import (
    noise_width_paper,
    noise_width_tight,
    radius,
    rkhs_bias,
    shift_capped,
    shift_exact,
    shift_paper,
)

SIGMA = np.array([0.5, 0.25, 0.0])


def test_the_radius_is_lemma_ones() -> None:
    # 0.2 / 0.5 * sqrt(2 (3 + ln 100))
    assert radius(0.2, 0.25, 3.0, 0.01) == pytest.approx(0.4 * math.sqrt(2 * (3 + math.log(100))))
    assert radius(0.0, 0.25, 3.0, 0.01) == 0.0


def test_the_papers_noise_width_is_b_plus_rho_times_sigma() -> None:
    np.testing.assert_allclose(noise_width_paper(2.0, 3.0, SIGMA), [2.5, 1.25, 0.0])


def test_the_tight_noise_width_takes_the_smaller_of_its_two_forms_point_by_point() -> None:
    # first form 5 sigma = 2.5, 1.25, 0; second form bias + 4 sigma = 2.1, 2.0, 0.3
    bias = np.array([0.1, 1.0, 0.3])
    np.testing.assert_allclose(noise_width_tight(3.0, 4.0, SIGMA, bias), [2.1, 1.25, 0.0])


def test_the_bias_is_b_times_the_root_of_what_noise_leaves_and_never_rounds_to_less() -> None:
    var, noise_var = np.array([0.5, 0.3]), np.array([0.25, 0.3 + 1e-17])
    np.testing.assert_allclose(rkhs_bias(2.0, var, noise_var, tolerance=0.0), [1.0, 0.0], atol=1e-12)
    with_slack = rkhs_bias(2.0, var, noise_var)
    assert np.all(with_slack > rkhs_bias(2.0, var, noise_var, tolerance=0.0))
    assert with_slack[1] == pytest.approx(2.0 * math.sqrt(1e-6 * 0.3))


def test_the_papers_and_the_capped_shift_are_multiples_of_sigma() -> None:
    np.testing.assert_allclose(shift_paper(6.0, 4.0, SIGMA), 3.0 * SIGMA)
    np.testing.assert_allclose(shift_capped(6.0, 1.5, 4.0, SIGMA), 1.5 * SIGMA)  # sqrt(6 * 1.5 / 4)
    np.testing.assert_allclose(shift_capped(6.0, 9.0, 4.0, SIGMA), 3.0 * SIGMA)  # the cap is idle
    np.testing.assert_allclose(shift_capped(6.0, math.inf, 4.0, SIGMA), 3.0 * SIGMA)


@pytest.mark.parametrize(
    ("C", "cap", "shift"),
    [
        (0.0, 1.0, 0.0),
        (0.5, 1.0, 0.5 * 0.9),  # part of the largest
        (1.0, 1.0, 0.9),
        (2.5, 1.0, 0.9 + 0.4 + 0.5 * 0.4),  # the item of count 3 offers three readings
        (4.0, 1.0, 0.9 + 3 * 0.4),
        (4.5, 1.0, 0.9 + 3 * 0.4 + 0.5 * 0.1),
        (99.0, 1.0, 0.9 + 3 * 0.4 + 2 * 0.1),  # more budget than readings
        (3.0, 2.0, 2 * 0.9 + 1 * 0.4),
        (3.0, math.inf, 3 * 0.9),
    ],
)
def test_the_exact_shift_fills_the_largest_weights_first(C: float, cap: float, shift: float) -> None:
    weights = np.array([[0.1], [0.9], [0.4]])
    counts = np.array([2.0, 1.0, 3.0])
    assert shift_exact(weights, counts, C, cap)[0] == pytest.approx(shift, rel=1e-12, abs=1e-15)


def test_the_exact_shift_is_the_same_whichever_way_it_is_solved() -> None:
    # many copies force the selection by index, few the sorting of values; columns at random
    rng = np.random.default_rng(0)
    weights = rng.random((40, 30))
    for counts in (np.ones(40), rng.integers(1, 4, 40) * 1.0, rng.integers(1, 90, 40) * 1.0):
        for C in (0.3, 1.0, 2.5, 7.0, 33.3, 5000.0):
            copies = np.repeat(weights, counts.astype(int), axis=0)
            falling = -np.sort(-copies, axis=0)
            amounts = np.clip(C - np.arange(len(falling)), 0.0, 1.0)
            np.testing.assert_allclose(
                shift_exact(weights, counts, C, 1.0), amounts @ falling, rtol=1e-11
            )


def test_no_readings_no_shift() -> None:
    assert np.array_equal(shift_exact(np.zeros((0, 4)), np.zeros(0), 5.0, 1.0), np.zeros(4))


@pytest.mark.parametrize("width", ["exact", "capped", "paper"])
@pytest.mark.parametrize("noise", ["tight", "paper"])
@pytest.mark.parametrize("gain", ["realised", "certified"])
def test_an_instance_assembles_its_width_from_these_parts(width: str, noise: str, gain: str) -> None:
    # one point read four times: sigma^2 = lam / (lam + 4), weight of a reading 1 / (lam + 4)
    lam, B, noise_std, C, delta = 0.5, 2.0, 0.3, 2.5, 0.1
    domain = ub.Grid([[0.0]])
    kernel = ub.SquaredExponential(1.0)
    assumptions = ub.Assumptions(kernel, B=B, B0=1.0, noise_std=noise_std, lam=lam, delta=0.5)
    gamma = ub.MaxInformationGain(kernel, domain.points, lam) if gain == "certified" else None
    options = Options(width=width, noise=noise)
    instance = Instance("one", domain.points, assumptions, options, C=C, delta=delta, gamma=gamma)
    for y in (1.0, 0.0, 2.0, 1.0):
        instance.learn(0, y)
    sigma = math.sqrt(lam / (lam + 4))
    shift = {
        "exact": 2.5 / (lam + 4),
        "capped": math.sqrt(C * 1.0 / lam) * sigma,
        "paper": C / math.sqrt(lam) * sigma,
    }[width]
    information = gamma(4) if gamma else 0.5 * math.log(1 + 4 / lam)
    share = delta if noise == "paper" else delta / 2
    rho = noise_std * math.sqrt(2 * (information + math.log(1 / share)) / lam)
    bias = B * lam / (lam + 4)
    by_noise = {
        "paper": (B + rho) * sigma,
        "tight": min(math.hypot(B, rho) * sigma, bias + rho * sigma),
    }[noise]
    # 1e-5: the drift tolerance that is added under the root of the bias
    assert instance.width[0] == pytest.approx(by_noise + shift, rel=1e-5)
    assert instance.mu[0] == pytest.approx(4.0 / (4 + lam))
