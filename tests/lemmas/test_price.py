"""The price of a bribe, and the cheapest one, against linear programs and dense posterior means."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import linprog

import unbribable as ub
from games import Design, designs, law, random_corruption
from pairs import differences_of, reading_rows, textbook
from unbribable.theory import price as prices
from unbribable.theory.price import Bribe, budgets, cheapest_bribe, price
from unbribable.theory.widths import shift_exact

caps = st.floats(0.05, 5.0)
shares = st.floats(0.0, 1.0)


def least_total(weights: np.ndarray, shift: float, cap: float) -> float:
    """min sum |c| with weights'c >= shift, |c_i| <= cap, by linear programming; inf if there is none."""
    largest = float(np.abs(weights).max())
    if shift <= 0.0:
        return 0.0
    if largest == 0.0:
        return math.inf
    unit = (
        shift / largest
    )  # lies are counted in it, or the solver's tolerance would be larger than a shift
    solved = linprog(
        np.ones(2 * len(weights)),
        A_ub=-np.concatenate([weights, -weights])[None, :] / largest,
        b_ub=[-1.0],
        bounds=[(0.0, None if math.isinf(cap) else cap / unit)] * (2 * len(weights)),
    )
    return unit * float(solved.fun) if solved.status == 0 else math.inf


def is_near_the_last_step(weights: np.ndarray, shift: float, cap: float) -> bool:
    """Whether all readings together just reach the shift: rounding decides between a number and inf."""
    return abs(cap * float(np.abs(weights).sum()) - shift) < 1e-6 * shift


# --- the knapsack inverted ----------------------------------------------------------------------------


@law
@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.floats(0.01, 20.0), caps)
def test_the_budget_is_the_least_one_with_that_shift(seed: int, n_items: int, shift: float, cap: float):
    rng = np.random.default_rng(seed)
    weights, counts = rng.random((n_items, 5)) ** 3, rng.integers(1, 6, n_items).astype(float)
    shifts = shift * rng.random(5)
    found = budgets(weights, counts, shifts, cap)
    most = cap * (counts @ weights)
    assert np.array_equal(np.isinf(found), shifts > most)
    for x in np.flatnonzero(np.isfinite(found)):
        column, C = weights[:, [x]], float(found[x])
        assert shift_exact(column, counts, C, cap)[0] == pytest.approx(shifts[x], rel=1e-9)
        assert shift_exact(column, counts, 0.999 * C, cap)[0] < shifts[x]
    np.testing.assert_allclose(budgets(weights, counts, shifts, math.inf), shifts / weights.max(axis=0))


def test_no_shift_costs_nothing_and_weights_of_zero_buy_nothing() -> None:
    weights, counts = np.array([[0.5, 0.0, 0.0]]), np.array([3.0])
    for cap in (1.0, math.inf):
        assert budgets(weights, counts, np.array([0.0, 0.0, 0.1]), cap).tolist() == [0.0, 0.0, math.inf]
    nothing = np.zeros((0, 2))
    assert budgets(nothing, np.zeros(0), np.array([0.0, 1.0]), 1.0).tolist() == [0.0, math.inf]


# --- the price ----------------------------------------------------------------------------------------


@law
@given(designs(n_max=6, t_max=10), shares, caps, st.floats(0.0, 4.0), st.floats(0.0, 1.0))
def test_the_price_is_the_cheapest_linear_program_of_all_candidates(
    design: Design, share: float, cap: float, spare: float, rho: float
) -> None:
    assume(len(design.X) > 1)
    rec = min(int(share * len(design.X)), len(design.X) - 1)
    y = design.rng.standard_normal(design.t)
    mu, _, weights = textbook(design, y)
    pairs = differences_of(design.posterior(y), rec, design)
    noise = pairs.noise(0.5, rho, "tight")
    least = price(pairs, noise, 0.0, cap).least_eps
    found = price(pairs, noise, least + spare, cap)
    totals, of_any_size = [], []
    for x in range(len(mu)):
        if x == rec:
            continue
        v = least + spare - (mu[x] - mu[rec]) - noise[x]
        of_l = weights[:, x] - weights[:, rec]
        assume(not is_near_the_last_step(of_l, v, cap))
        totals.append(least_total(of_l, v, cap))
        of_any_size.append(least_total(of_l, v, math.inf))
    assert found.value == pytest.approx(min(totals), rel=1e-6, abs=1e-8)
    assert found.without_cap == pytest.approx(min(of_any_size), rel=1e-6, abs=1e-8)
    assert found.without_cap <= found.value * (1 + 1e-9)


@law
@given(designs(n_max=40), shares, st.floats(0.02, 0.5), st.floats(0.01, 4.0))
def test_the_price_is_the_cheapest_budget_though_only_some_are_worked_out(
    design: Design, share: float, cap: float, spare: float
) -> None:
    n = len(design.X)
    rec = min(int(share * n), n - 1)
    pairs = differences_of(design.posterior(design.rng.standard_normal(design.t)), rec, design)
    noise = pairs.noise(0.5, 0.1, "tight")
    eps = price(pairs, noise, 0.0, cap).least_eps + spare
    wanted = (eps - (pairs.mu + noise))[pairs.others]
    everywhere = budgets(pairs.sizes(pairs.others), pairs.counts, wanted, cap)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prices, "N_BLOCK", 1)
        found = price(pairs, noise, eps, cap)
    assert found.value == pytest.approx(min(everywhere, default=math.inf), rel=1e-12)


@law
@given(designs(), shares, caps, st.floats(0.01, 4.0), st.floats(0.0, 1.0))
def test_up_to_the_price_every_difference_is_at_most_eps_and_beyond_it_one_is_not(
    design: Design, share: float, cap: float, spare: float, rho: float
) -> None:
    n = len(design.X)
    rec = min(int(share * n), n - 1)
    pairs = differences_of(design.posterior(design.rng.standard_normal(design.t)), rec, design)
    noise = pairs.noise(0.5, rho, "tight")
    eps = price(pairs, noise, 0.0, cap).least_eps + spare
    found = price(pairs, noise, eps, cap)
    for cap_said, C in ((cap, found.value), (math.inf, found.without_cap)):
        total = min(C, 1e3)  # shift_exact wants a number
        upper = pairs.mu + noise + pairs.shift(np.arange(n), total, cap_said)
        assert np.all(upper[pairs.others] <= eps + 1e-9 * max(1.0, eps))
        if C < 1e3:
            beyond = pairs.mu + noise + pairs.shift(np.arange(n), 1.01 * C + 1e-6, cap_said)
            assert found.rival != rec
            assert beyond[pairs.others].max() > eps


@law
@given(designs(), shares, caps, st.floats(0.0, 1.0))
def test_below_what_noise_leaves_open_no_price_is_established_and_the_candidate_is_named(
    design: Design, share: float, cap: float, rho: float
) -> None:
    n = len(design.X)
    rec = min(int(share * n), n - 1)
    pairs = differences_of(design.posterior(design.rng.standard_normal(design.t)), rec, design)
    noise = pairs.noise(0.5, rho, "tight")
    least = price(pairs, noise, 0.0, cap).least_eps
    assume(least > 1e-3)
    found = price(pairs, noise, 0.99 * least, cap)
    assert found.value is None
    assert found.without_cap is None
    assert found.least_eps == pytest.approx(least)
    assert (pairs.mu + noise)[found.rival] == pytest.approx(least)
    assert price(pairs, noise, 1.01 * least, cap).value is not None


@law
@given(designs(), shares, caps, st.floats(0.0, 2.0), st.floats(1.0, 4.0))
def test_a_larger_eps_and_a_smaller_cap_raise_the_price(
    design: Design, share: float, cap: float, spare: float, factor: float
) -> None:
    n = len(design.X)
    pairs = differences_of(
        design.posterior(design.rng.standard_normal(design.t)), min(int(share * n), n - 1), design
    )
    noise = pairs.noise(0.5, 0.1, "tight")
    eps = price(pairs, noise, 0.0, cap).least_eps + spare
    value = price(pairs, noise, eps, cap).value
    assert price(pairs, noise, factor * eps, cap).value >= value
    assert price(pairs, noise, eps, cap / factor).value >= value * (1 - 1e-12)


def test_where_all_readings_together_are_not_enough_the_price_rests_on_the_cap() -> None:
    posterior = ub.Posterior(ub.Matern(2.5, 0.2), np.array([[0.0], [1.0]]), 0.01)
    for _ in range(50):
        posterior.observe(0, 1.0)
        posterior.observe(1, 0.0)
    pairs = differences_of(posterior, 0)
    found = price(pairs, pairs.noise(1.0, 0.1, "tight"), 0.5, 0.01)
    assert found.value == math.inf
    assert 0.0 < found.without_cap < math.inf


def test_one_candidate_has_no_rival() -> None:
    posterior = ub.Posterior(ub.Matern(2.5, 0.2), np.array([[0.0]]), 0.01)
    posterior.observe(0, 1.0)
    pairs = differences_of(posterior, 0)
    found = price(pairs, pairs.noise(1.0, 0.1, "tight"), 0.1, 1.0)
    assert (found.value, found.without_cap, found.rival, found.least_eps) == (
        math.inf,
        math.inf,
        None,
        0.0,
    )


# --- the cheapest bribe -------------------------------------------------------------------------------


def bribe_of(design: Design, y: np.ndarray, cap: float) -> Bribe:
    posterior = design.posterior(y)
    pairs = differences_of(posterior, int(np.argmax(posterior.mu)), design)
    return cheapest_bribe(pairs, cap, reading_rows(posterior, design.indices), design.lams)


@law
@given(designs(n_max=6, t_max=10), caps)
def test_the_cheapest_bribe_is_the_cheapest_linear_program(design: Design, cap: float) -> None:
    assume(len(design.X) > 1)
    y = design.rng.standard_normal(design.t)
    mu, _, weights = textbook(design, y)
    top = int(np.argmax(mu))
    found = bribe_of(design, y, cap)
    totals = []
    for x in range(len(mu)):
        if x == top:
            continue
        of_l = weights[:, x] - weights[:, top]
        assume(not is_near_the_last_step(of_l, mu[top] - mu[x], cap))
        totals.append(least_total(of_l, mu[top] - mu[x], cap))
    assert found.winner == top
    assert found.value == pytest.approx(min(totals), rel=1e-6, abs=1e-8)


@law
@given(designs(), st.one_of(caps, st.just(math.inf)))
def test_telling_exactly_the_cheapest_bribe_moves_the_argmax(design: Design, cap: float) -> None:
    y = design.rng.standard_normal(design.t)
    found = bribe_of(design, y, cap)
    assume(math.isfinite(found.value))
    assert np.abs(found.lies).sum() == pytest.approx(found.value, rel=1e-9, abs=1e-12)
    assert np.all(np.abs(found.lies) <= cap * (1 + 1e-12))
    slack = 1e-8 * max(1.0, found.value)
    level = textbook(design, y + found.lies)[0]
    assert level[found.rival] == pytest.approx(level[found.winner], abs=slack)
    beyond = textbook(design, y + 1.01 * found.lies + 1e-6 * np.sign(found.lies))[0]
    if found.value > 0.0:
        assert beyond[found.rival] > beyond[found.winner]


@law
@given(designs(), caps, st.floats(0.0, 0.999))
def test_any_smaller_total_leaves_the_maximiser_alone(design: Design, cap: float, part: float) -> None:
    y = design.rng.standard_normal(design.t)
    found = bribe_of(design, y, cap)
    assume(found.value > 1e-6)
    total = part * min(found.value, 100.0)
    for lies in (
        found.lies * part,
        *(random_corruption(design.rng, design.t, max(total, 1e-9), cap) for _ in range(5)),
    ):
        mu = textbook(design, y + lies)[0]
        assert np.all(np.delete(mu, found.winner) < mu[found.winner] + 1e-9)


def test_a_bribe_names_the_earliest_of_equal_readings() -> None:
    indices = np.array([0, 1, 0, 1, 0, 1])
    design = Design(
        ub.Matern(2.5, 0.1),
        np.array([[0.0], [5.0]]),
        0.1,
        indices,
        np.full(6, 0.1),
        np.random.default_rng(0),
    )
    found = bribe_of(design, np.array([1.0, 0.0] * 3), 1.0)
    # both points have the mean of their readings, times 30/31: the sum of lies must be 3
    assert found.value == pytest.approx(3.0, rel=1e-6)
    np.testing.assert_allclose(np.abs(found.lies), [1.0, 1.0, 1.0, 0.0, 0.0, 0.0], atol=1e-6)
    assert np.sign(found.lies[:3]).tolist() == [-1.0, 1.0, -1.0]


def test_a_bribe_is_only_said_of_the_maximiser_of_the_mean() -> None:
    posterior = ub.Posterior(ub.Matern(2.5, 0.2), np.array([[0.0], [1.0]]), 0.01)
    posterior.observe(0, 1.0)
    pairs = differences_of(posterior, 1)
    with pytest.raises(ValueError, match=r"rec must maximise the posterior mean.*take rec=argmax"):
        cheapest_bribe(pairs, 1.0, np.array([0]), np.array([0.01]))


def test_a_tie_costs_nothing_even_where_no_reading_could_make_one() -> None:
    X = np.array([[0.0], [1e4], [1e5]])  # too far apart: k is zero in float64
    posterior = ub.Posterior(ub.Matern(2.5, 0.2), X, 0.01)
    posterior.observe(2, -1.0)
    pairs = differences_of(posterior, 0)
    assert pairs.largest[1] == 0.0
    found = cheapest_bribe(pairs, 1.0, np.array([0]), np.array([0.01]))
    assert (found.value, found.rival, found.lies.tolist()) == (0.0, 1, [0.0])
