"""Information gain: realised, and greedy <= gamma_t <= upper against exhaustive search."""

import math
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unbribable as ub
from games import Design, designs, law
from unbribable.model.kernels import Kernel


def realised_gain(K: np.ndarray, lam: float) -> float:
    """0.5 ln det(I + K / lam) of the readings with kernel matrix K."""
    return 0.5 * float(np.linalg.slogdet(np.eye(len(K)) + K / lam)[1])


def gamma_by_search(kernel: Kernel, X: np.ndarray, lam: float, t: int) -> float:
    """The largest gain over all multisets of t candidates."""
    K = kernel(X, X)
    chosen = combinations_with_replacement(range(len(X)), t)
    return max((realised_gain(K[np.ix_(c, c)], lam) for c in map(list, chosen)), default=0.0)


tiny_kernels = st.sampled_from(
    [
        ub.SquaredExponential(0.3),
        ub.SquaredExponential(2.0),
        ub.Matern(0.5, 0.5),
        ub.Matern(1.5, 1.0),
        ub.Matern(2.5, 0.1),
        ub.Linear(1.5),
    ]
)


@law
@given(designs(has_own_noise=False))
def test_the_realised_gain_is_that_of_the_posterior(design: Design) -> None:
    # lam >= 1e-3 and t <= 24: the determinant is accurate to 1e5 * 2e-16
    gain = realised_gain(design.K, design.lam)
    assert design.posterior(np.zeros(design.t)).gain == pytest.approx(gain, rel=1e-9, abs=1e-12)


@law
@given(designs())
def test_the_gain_of_the_posterior_counts_each_noise_as_it_is(design: Design) -> None:
    scaled = design.K / np.sqrt(np.outer(design.lams, design.lams))
    posterior = design.posterior(np.zeros(design.t))
    assert posterior.gain == pytest.approx(realised_gain(scaled, 1.0), rel=1e-9, abs=1e-12)


@law
@given(
    tiny_kernels,
    st.integers(1, 4),
    st.integers(1, 2),
    st.sampled_from([0.01, 0.3, 1.0, 10.0]),
    st.integers(0, 2**16),
)
def test_greedy_is_at_most_gamma_is_at_most_upper_by_exhaustive_search(
    kernel: Kernel, n: int, d: int, lam: float, seed: int
) -> None:
    X = np.random.default_rng(seed).uniform(-1.0, 1.0, (n, d))
    bounds = ub.MaxInformationGain(kernel, X, lam)
    for t in range(6):
        gamma = gamma_by_search(kernel, X, lam, t)
        assert bounds.lower(t) <= gamma + 1e-12  # both are the same sums of logarithms, rounded
        assert gamma <= bounds.upper(t) + 1e-12
        # submodularity, which justifies greedy / (1 - 1/e)
        assert bounds.lower(t) >= (1 - 1 / math.e) * gamma - 1e-12


@law
@given(tiny_kernels, st.integers(1, 30), st.sampled_from([0.01, 1.0, 10.0]), st.integers(0, 2**16))
def test_upper_grows_with_t_and_stays_above_any_design(
    kernel: Kernel, n: int, lam: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, 2))
    bounds = ub.MaxInformationGain(kernel, X, lam)
    times = np.arange(0, 120)
    upper = bounds.upper(times)
    assert upper[0] == 0.0
    assert np.all(np.diff(upper) >= 0.0)
    posterior = ub.Posterior(kernel, X, lam)
    for t in range(1, 60):
        posterior.observe(int(rng.integers(n)), 0.0)
        assert posterior.gain <= upper[t] * (1 + 1e-12)


@pytest.mark.parametrize("kernel", [ub.Matern(2.5, 0.2), ub.Linear(1.0)])
def test_an_array_of_times_gives_what_each_time_gives(kernel: Kernel) -> None:
    X = np.linspace(0, 1, 40)[:, None]
    times = np.array([0, 1, 2, 3, 7, 64, 65, 511, 512, 513, 1500])
    bounds = ub.MaxInformationGain(kernel, X, 0.5)
    upper = bounds(times)
    assert upper.shape == times.shape
    assert [bounds(int(t)) for t in times] == upper.tolist()
    assert isinstance(bounds(7), float)


@law
@given(st.integers(1, 4), st.sampled_from([0.1, 1.0]), st.integers(0, 2**16), st.integers(1, 10**6))
def test_the_linear_kernels_bound_is_its_closed_form_or_less(
    d: int, lam: float, seed: int, t: int
) -> None:
    X = np.random.default_rng(seed).uniform(-1.0, 1.0, (12, d))
    kernel = ub.Linear(math.sqrt(d))
    k_max = float((X**2).sum(axis=1).max() / d)
    closed = d / 2 * math.log1p(t * k_max / (lam * d))
    assert ub.MaxInformationGain(kernel, X, lam).upper(t) <= closed * (1 + 1e-12)


def test_the_linear_kernels_closed_form_is_attained_on_a_basis() -> None:
    # equal readings of d orthogonal points of norm 1 have gain d/2 ln(1 + t/(lam d)) exactly
    d, lam = 3, 0.7
    bounds = ub.MaxInformationGain(ub.Linear(1.0), np.eye(d), lam)
    for t in (3, 9, 300):
        closed = d / 2 * math.log1p(t / (lam * d))
        assert bounds.lower(t) == pytest.approx(closed, rel=1e-9)
        assert bounds.upper(t) == pytest.approx(closed, rel=1e-9)


def test_one_candidate_has_the_gain_of_its_repetition() -> None:
    bounds = ub.MaxInformationGain(ub.SquaredExponential(1.0), np.zeros((1, 1)), 2.0)
    for t in (1, 2, 5, 100):
        gain = 0.5 * math.log1p(t / 2.0)
        assert bounds.lower(t) == pytest.approx(gain, rel=1e-12)
        assert gain <= bounds.upper(t) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("kernel", "lam", "ratio"),
    [
        (ub.SquaredExponential(0.2), 1.0, 1.03),
        (ub.Matern(2.5, 0.2), 1.0, 1.03),
        (ub.Matern(2.5, 0.2), 0.01, 1.03),
        (ub.Matern(0.5, 0.2), 1.0, 1.08),
    ],
)
def test_upper_is_within_a_few_percent_of_greedy_on_a_plain_grid(
    kernel: Kernel, lam: float, ratio: float
) -> None:
    # measured: at most 1.013 for the first three and 1.050 for the rough one, at these t
    X = np.linspace(0, 1, 200)[:, None]
    bounds = ub.MaxInformationGain(kernel, X, lam)
    for t in (50, 100, 250, 500):
        assert bounds.lower(t) <= bounds.upper(t) <= ratio * bounds.lower(t)


def test_upper_is_far_below_the_trivial_bound_and_below_greedys_for_long_runs() -> None:
    X = np.linspace(0, 1, 200)[:, None]
    bounds = ub.MaxInformationGain(ub.SquaredExponential(0.2), X, 1.0)
    assert bounds.upper(500) < 0.1 * 250 * math.log(2.0)
    assert bounds.upper(500) < bounds.lower(500) / (1 - 1 / math.e) * 0.8
