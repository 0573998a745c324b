"""Lemma 2 and the exact shift: for any points, kernel, lam and corruption."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import unbribable as ub
from games import Design, corruption, designs, law, random_corruption
from unbribable.model.posterior import Update
from unbribable.theory.exact_shift import ExactShift
from unbribable.theory.widths import shift_capped, shift_exact, shift_paper

budgets = st.floats(0.01, 30.0)
caps = st.floats(0.05, 5.0)

ROUNDING = 1e-9
"""The designs have lam >= 2.5e-4 and at most 24 readings, so K + lam I has a condition number below
1e5: two ways to the same number differ by 1e5 * 2e-16 * (a few), far below this."""


def exact(posterior: ub.Posterior, C: float, cap: float) -> np.ndarray:
    """The exact shift from the posterior's own weights, at every candidate."""
    weights = posterior.tally.weights(posterior.columns(slice(None)))
    return shift_exact(weights, posterior.tally.item_counts, C, cap) / posterior.lam


def knapsack(weights: np.ndarray, C: float, cap: float) -> np.ndarray:
    """The exact shift from dense weights (t, n), reading by reading, by its definition."""
    falling = -np.sort(-np.abs(weights), axis=0)
    amounts = np.clip(C - cap * np.arange(len(falling)), 0.0, min(C, cap))
    return amounts @ falling


@law
@given(designs(), budgets, caps)
def test_exact_is_at_most_capped_is_at_most_the_papers(design: Design, C: float, cap: float) -> None:
    posterior = design.posterior(np.zeros(design.t))
    sigma, lam = np.sqrt(posterior.var), posterior.tally.lam_min
    capped = shift_capped(C, cap, lam, sigma)
    assert np.all(exact(posterior, C, cap) <= capped * (1 + ROUNDING))
    assert np.all(capped <= shift_paper(C, lam, sigma) * (1 + 1e-15))


@law
@given(designs(), budgets, caps)
def test_the_exact_shift_is_attained_by_an_explicit_corruption(
    design: Design, C: float, cap: float
) -> None:
    y = design.rng.standard_normal(design.t)
    weights = design.weights()
    clean = design.posterior(y)
    shift = exact(clean, C, cap)
    for x in range(len(design.X)):
        c = corruption(weights[:, x], C, cap)
        assert np.abs(c).max() <= cap  # admissible
        assert np.abs(c).sum() <= C * (1 + 1e-12)
        moved = design.posterior(y + c).mu[x] - clean.mu[x]
        assert moved == pytest.approx(shift[x], abs=ROUNDING * max(1.0, C))


@law
@given(designs(), budgets, caps)
def test_no_admissible_corruption_moves_the_mean_by_more_than_the_exact_shift(
    design: Design, C: float, cap: float
) -> None:
    y = design.rng.standard_normal(design.t)
    clean = design.posterior(y)
    shift = exact(clean, C, cap)
    for _ in range(10):
        c = random_corruption(design.rng, design.t, C, cap)
        moved = np.abs(design.posterior(y + c).mu - clean.mu)
        assert np.all(moved <= shift + ROUNDING * max(1.0, C))


@law
@given(designs(), budgets, caps)
def test_repeated_readings_of_one_noise_are_one_item_with_a_count(
    design: Design, C: float, cap: float
) -> None:
    posterior = design.posterior(np.zeros(design.t))
    reading_by_reading = knapsack(design.weights(), C, cap)
    np.testing.assert_allclose(
        exact(posterior, C, cap), reading_by_reading, rtol=ROUNDING, atol=ROUNDING
    )


@law
@given(designs(n_max=4, t_max=8), budgets, caps)
def test_the_exact_shift_equals_a_linear_program(design: Design, C: float, cap: float) -> None:
    shift = exact(design.posterior(np.zeros(design.t)), C, cap)
    for x, weights in enumerate(design.weights().T):
        # c = plus - minus with plus, minus in [0, cap]; maximise weights'c, sum |c| <= C
        best = linprog(
            -np.concatenate([weights, -weights]),
            A_ub=np.ones((1, 2 * design.t)),
            b_ub=[C],
            bounds=[(0.0, cap)] * (2 * design.t),
        )
        # 1e-7: the solver's own optimality tolerance
        assert shift[x] == pytest.approx(-best.fun, rel=1e-7, abs=1e-7)


@law
@given(designs(), budgets, caps, st.floats(0.0, 3.0))
def test_every_tau_of_the_dual_bounds_the_exact_shift_and_the_best_one_equals_it(
    design: Design, C: float, cap: float, tau: float
) -> None:
    weights = np.abs(design.weights())
    shift = exact(design.posterior(np.zeros(design.t)), C, cap)

    def dual(tau: np.ndarray | float) -> np.ndarray:
        return C * tau + cap * np.maximum(weights - tau, 0.0).sum(axis=0)

    assert np.all(shift <= dual(tau) + ROUNDING * max(1.0, C))
    # piecewise linear and convex in tau: its minimum is at a weight or at zero
    best = np.min([dual(0.0), *(dual(weights[i]) for i in range(design.t))], axis=0)
    np.testing.assert_allclose(shift, best, rtol=ROUNDING, atol=ROUNDING * max(1.0, C))


@law
@given(designs(), budgets, caps, st.floats(1.0, 4.0))
def test_the_exact_shift_grows_with_the_budget_and_with_the_cap(
    design: Design, C: float, cap: float, factor: float
) -> None:
    posterior = design.posterior(np.zeros(design.t))
    shift = exact(posterior, C, cap)
    slack = 1e-12 * max(1.0, factor * C)  # summation order
    assert np.all(exact(posterior, factor * C, cap) >= shift - slack)
    assert np.all(exact(posterior, C, factor * cap) >= shift - slack)
    # concave in C with value 0 at 0: never more than in proportion
    assert np.all(exact(posterior, factor * C, cap) <= factor * shift + slack)


@law
@given(designs(), budgets)
def test_without_a_cap_the_exact_shift_is_the_budget_times_the_largest_weight(
    design: Design, C: float
) -> None:
    largest = C * np.abs(design.weights()).max(axis=0)
    shift = exact(design.posterior(np.zeros(design.t)), C, math.inf)
    np.testing.assert_allclose(shift, largest, rtol=ROUNDING, atol=ROUNDING)


@law
@given(designs(), budgets, caps)
def test_the_shift_of_a_column_does_not_depend_on_the_other_columns(
    design: Design, C: float, cap: float
) -> None:
    posterior = design.posterior(np.zeros(design.t))
    shift = exact(posterior, C, cap)
    some = np.flatnonzero(design.rng.random(len(design.X)) < 0.5)
    weights = posterior.tally.weights(posterior.columns(some))
    alone = shift_exact(weights, posterior.tally.item_counts, C, cap) / posterior.lam
    assert np.array_equal(alone, shift[some])


@law
@given(designs(), budgets, caps)
def test_a_guess_at_the_critical_items_changes_no_bit_and_is_put_right(
    design: Design, C: float, cap: float
) -> None:
    posterior = design.posterior(np.zeros(design.t))
    weights, counts = np.abs(posterior.R), design.rng.integers(1, 40, posterior.m).astype(float)
    plain = shift_exact(weights, counts, C, cap)
    critical = design.rng.integers(0, len(weights), weights.shape[1])
    assert np.array_equal(shift_exact(weights, counts, C, cap, critical), plain)
    settled = critical.copy()
    assert np.array_equal(shift_exact(weights, counts, C, cap, critical), plain)
    assert np.array_equal(settled, critical)  # a right guess stays


@pytest.mark.parametrize(
    "kernel", [ub.SquaredExponential(0.2), ub.Matern(0.5, 0.3), ub.Matern(2.5, 0.2)]
)
@pytest.mark.parametrize("lam", [1e-6, 1e-2, 1.0])
@pytest.mark.parametrize(("C", "cap"), [(0.7, 1.0), (6.3, 1.0), (40.0, 0.5), (3.0, math.inf)])
@pytest.mark.parametrize("n_small", [0, 200, 10_000], ids=["bracket", "both", "solved everywhere"])
def test_the_bracket_contains_the_exact_shift_and_resolve_gives_it(
    kernel: ub.SquaredExponential,
    lam: float,
    C: float,
    cap: float,
    n_small: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("unbribable.theory.exact_shift.N_SMALL", n_small)
    rng = np.random.default_rng([int(10 * C), int(1 / lam)])
    X = np.linspace(0.0, 1.0, 25)[:, None]
    posterior = ub.Posterior(kernel, X, lam, n_deferred_max=1)
    bracket = ExactShift(posterior, C, cap)
    slack = 1e-10  # for rounding, at tiny lam too: the weights are followed, not computed anew
    crowd = rng.choice(25, 8, replace=False)
    n_solved = 0
    for t in range(90):
        i = int(rng.choice(crowd)) if rng.random() < 0.7 else int(rng.integers(25))
        own = lam * float(rng.choice([1.0, 1.0, 4.0]))
        bracket.resolve(np.array([i]))
        update = posterior.observe(i, float(rng.standard_normal()), own)
        if t % 31 == 30:
            posterior.rebuild()
            update = Update(update.step, is_rebuilt=True)
        bracket.follow(i, update)
        truth = exact(posterior, C, cap)
        assert np.all(bracket.low <= truth * (1 + slack))
        assert np.all(bracket.high >= truth * (1 - slack))
        asked = np.flatnonzero(rng.random(25) < rng.choice([0.1, 0.9]))
        bracket.resolve(asked)
        n_solved += len(asked)
        np.testing.assert_allclose(bracket.low[asked], truth[asked], rtol=slack)
        np.testing.assert_allclose(bracket.high[asked], truth[asked], rtol=slack)
        assert np.all(bracket.low <= bracket.high * (1 + slack))
        assert bracket.is_open == (25 * len(posterior.tally.item_counts) > n_small)
    assert n_solved < 90 * 25  # some candidates did stay open, or nothing was tested


def test_the_bracket_still_knows_something_after_ten_readings_nobody_asked_about(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("unbribable.theory.exact_shift.N_SMALL", 0)
    X = np.linspace(0.0, 1.0, 50)[:, None]
    posterior = ub.Posterior(ub.Matern(2.5, 0.1), X, 1.0, n_deferred_max=1)
    bracket = ExactShift(posterior, 5.0, 1.0)
    for i in [3, 8, 40, 45, 3, 8, 40, 45, 3, 8]:
        bracket.resolve(np.array([i]))
        update = posterior.observe(i, 0.0)
        bracket.follow(i, update)
    truth = exact(posterior, 5.0, 1.0)
    capped = shift_capped(5.0, 1.0, 1.0, np.sqrt(posterior.var))
    assert np.all(bracket.high <= capped * (1 + 1.01e-6))  # the drift tolerance is added
    assert np.any(bracket.high < 0.5 * capped)  # better than the closed form somewhere
    assert np.any(bracket.low[truth > 0] > 0.0)
