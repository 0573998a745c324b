"""Bounds on f(x) - f(x_rec), and the certificate that rests on them: for any design and any x_rec."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unbribable as ub
from games import Design, corruption, designs, law, random_corruption, random_function
from pairs import differences_of, textbook
from unbribable.model.posterior import DRIFT_TOLERANCE
from unbribable.theory import differences
from unbribable.theory.differences import DifferenceBounds, Differences, paired_certificate
from unbribable.theory.widths import radius

budgets = st.floats(0.01, 30.0)
caps = st.floats(0.05, 5.0)
shares = st.floats(0.0, 1.0)

ROUNDING = 1e-8
"""Designs have lam >= 2.5e-4 and at most 24 readings: two ways to a number differ by far less."""


def chosen(design: Design, share: float) -> int:
    """Some candidate, read or not."""
    return min(int(share * len(design.X)), len(design.X) - 1)


# --- what is believed of a difference -----------------------------------------------------------------


@law
@given(designs(), shares)
def test_mean_variance_and_weights_of_a_difference_are_the_textbooks(
    design: Design, share: float
) -> None:
    rec, y = chosen(design, share), design.rng.standard_normal(design.t)
    posterior = design.posterior(y)
    mu, covariance, weights = textbook(design, y)
    pairs = differences_of(posterior, rec, design)
    var = np.diag(covariance) + covariance[rec, rec] - 2.0 * covariance[rec]
    slack = DRIFT_TOLERANCE * (np.diag(covariance) + covariance[rec, rec])
    of_l = weights - weights[:, [rec]]
    unlearned = var - design.lams @ of_l**2
    np.testing.assert_allclose(pairs.mu, mu - mu[rec], atol=ROUNDING)
    np.testing.assert_allclose(pairs.sigma**2, np.maximum(var, 0.0) + slack, atol=ROUNDING)
    np.testing.assert_allclose(pairs.unlearned**2, np.maximum(unlearned, 0.0) + slack, atol=ROUNDING)
    np.testing.assert_allclose(pairs.largest, np.abs(of_l).max(axis=0), atol=ROUNDING)
    rows = np.array([list(posterior.u).index(i) for i in design.indices])
    by_reading = pairs.weights(np.arange(len(design.X)), rows, design.lams)
    np.testing.assert_allclose(by_reading, of_l, atol=ROUNDING)


@law
@given(designs(n_max=6, t_max=12), shares, st.floats(0.1, 10.0))
def test_the_bias_of_a_difference_is_attained_on_the_rkhs_ball_and_never_exceeded(
    design: Design, share: float, B: float
) -> None:
    rec, n = chosen(design, share), len(design.X)
    pairs = differences_of(design.posterior(np.zeros(design.t)), rec, design)
    weights = design.weights()
    of_l = weights - weights[:, [rec]]
    centres = np.concatenate([design.X, design.X[design.indices]])
    K = design.kernel(centres, centres)
    for x in range(n):
        section = np.concatenate([np.zeros(n), -of_l[:, x]])  # l less its weights, as kernel sections
        section[x] += 1.0
        section[rec] -= 1.0
        norm = math.sqrt(max(section @ K @ section, 0.0))
        assert B * norm <= B * pairs.unlearned[x] + 1e-9 * B
        slack = DRIFT_TOLERANCE * (pairs.sigma[x] ** 2 + 2.0)  # var(x) + var(rec) <= 2
        assert pairs.unlearned[x] ** 2 <= norm**2 + slack
    for _ in range(5):
        f = random_function(design.kernel, design.X, design.rng, B)
        mu = design.posterior(f[design.indices]).mu
        error = np.abs((f - f[rec]) - (mu - mu[rec]))
        assert np.all(error <= B * pairs.unlearned + ROUNDING * B)


@law
@given(designs(), shares, budgets, caps)
def test_no_lies_move_a_difference_by_more_than_its_shift_and_some_move_it_as_far(
    design: Design, share: float, C: float, cap: float
) -> None:
    rec, y = chosen(design, share), design.rng.standard_normal(design.t)
    clean, _, weights = textbook(design, y)
    shift = differences_of(design.posterior(y), rec, design).shift(np.arange(len(design.X)), C, cap)
    slack = ROUNDING * max(1.0, C)

    def moved(c: np.ndarray) -> np.ndarray:
        mu = textbook(design, y + c)[0]
        return np.abs((mu - mu[rec]) - (clean - clean[rec]))

    for x in range(len(design.X)):
        c = corruption(weights[:, x] - weights[:, rec], C, cap)
        assert moved(c)[x] == pytest.approx(shift[x], abs=slack)
    for _ in range(5):
        assert np.all(moved(random_corruption(design.rng, design.t, C, cap)) <= shift + slack)


@law
@given(designs(has_own_noise=False), shares, st.floats(0.1, 10.0))
def test_the_ellipsoid_bounds_a_difference_by_its_standard_deviation(
    design: Design, share: float, B: float
) -> None:
    # |l(f - mu)| <= |f - mu|_V sigma(l) / sqrt(lam) for every f and y: the first form of the noise part
    rec, lam = chosen(design, share), design.lam
    f = random_function(design.kernel, design.X, design.rng, B)
    y = f[design.indices] + design.rng.standard_normal(design.t)
    solved = np.linalg.solve(design.K + lam * np.eye(design.t), y)
    ellipsoid = lam * B**2 + np.sum((f[design.indices] - y) ** 2) - lam * y @ solved
    posterior = design.posterior(y)
    error = np.abs((f - posterior.mu) - (f[rec] - posterior.mu[rec]))
    reach = math.sqrt(max(ellipsoid, 0.0) / lam) * differences_of(posterior, rec, design).sigma
    assert np.all(error <= reach + ROUNDING * max(1.0, B) / math.sqrt(lam))


@law
@given(designs(), shares, st.floats(0.1, 10.0), st.floats(0.0, 5.0))
def test_the_noise_part_of_a_difference_is_at_most_that_of_its_two_points(
    design: Design, share: float, B: float, rho: float
) -> None:
    rec = chosen(design, share)
    posterior = design.posterior(np.zeros(design.t))
    pairs = differences_of(posterior, rec, design)
    sigma = np.sqrt(posterior.var)
    for kind, factor in (("tight", math.hypot(B, rho)), ("paper", B + rho)):
        single = factor * (sigma + sigma[rec])
        assert np.all(pairs.noise(B, rho, kind) <= single * (1 + 1e-3) + 1e-9)


# --- the certificate ----------------------------------------------------------------------------------


def source_of(pairs: Differences, rho: float, kind: str, C: float, cap: float) -> DifferenceBounds:
    """The source of some differences, with B = 1."""
    return DifferenceBounds(pairs, pairs.noise(1.0, rho, kind), C, cap)


@law
@given(designs(), budgets, caps, st.sampled_from(["tight", "paper"]), st.floats(0.0, 2.0))
def test_no_candidate_is_better_than_any_recommended_one_by_more_than_its_certificate(
    design: Design, C: float, cap: float, kind: str, rho: float
) -> None:
    """Readings without noise, so that the noise event holds, and the lies that hurt a pair the most."""
    f = random_function(design.kernel, design.X, design.rng, 1.0)
    _, _, weights = textbook(design, np.zeros(design.t))
    nothing = np.full(len(design.X), np.inf)
    for rec in range(len(design.X)):
        rival = int(np.argmax(f))
        c = -corruption(weights[:, rival] - weights[:, rec], C, cap)
        posterior = design.posterior(f[design.indices] + c)
        source = source_of(differences_of(posterior, rec, design), rho, kind, C, cap)
        certificate = paired_certificate(rec, nothing, [source])
        assert f.max() - f[rec] <= certificate + ROUNDING * max(1.0, C)
        assert certificate >= 0.0


@law
@given(designs(n_max=40), shares, budgets, caps, st.floats(0.0, 2.0))
def test_the_certificate_is_the_formula_though_only_some_knapsacks_are_solved(
    design: Design, share: float, C: float, cap: float, rho: float
) -> None:
    rec, n = chosen(design, share), len(design.X)
    posterior = design.posterior(design.rng.standard_normal(design.t))
    pairs = differences_of(posterior, rec, design)
    sources = [
        source_of(pairs, rho, "tight", C, cap),
        source_of(pairs, 2 * rho, "tight", C / 2, cap),
    ]
    single = design.rng.uniform(0.0, 4.0, n)
    everywhere = [source.upper(np.arange(n)) for source in sources]
    formula = np.delete(np.min([single, *everywhere], axis=0), rec)
    expected = max(0.0, float(formula.max(initial=0.0)))
    for n_block in (2, 256):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(differences, "N_BLOCK", n_block)
            assert paired_certificate(rec, single, sources) == pytest.approx(expected, abs=1e-12)
    assert paired_certificate(rec, single, sources) <= max(0.0, float(single.max()))
    # and with each source alone: whichever bound is smaller counts
    for source in sources:
        assert paired_certificate(rec, single, sources) <= paired_certificate(rec, single, [source])


def test_near_points_share_their_errors_so_the_pair_says_far_more_than_the_two_single_bounds() -> None:
    X = np.array([[0.0], [0.05], [0.6]])
    kernel = ub.SquaredExponential(1.0)
    posterior = ub.Posterior(kernel, X, 0.01)
    for _ in range(4):
        posterior.observe(2, 0.0)
    rho = radius(0.1, 0.01, posterior.gain, 0.05)
    source = source_of(differences_of(posterior, 0), rho, "tight", 2.0, 1.0)
    sigma = np.sqrt(posterior.var)
    paired = float(source.upper(np.array([1]))[0])
    single = math.hypot(1.0, rho) * (sigma[0] + sigma[1])  # the noise parts of two points alone
    assert paired < single / 5


def test_a_candidate_compared_with_itself_adds_nothing() -> None:
    posterior = ub.Posterior(ub.Matern(2.5, 0.3), np.array([[0.0]]), 1.0)
    posterior.observe(0, 0.5)
    source = source_of(differences_of(posterior, 0), 1.0, "tight", 1.0, 1.0)
    assert paired_certificate(0, np.array([3.0]), [source]) == 0.0
