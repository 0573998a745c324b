"""True functions: their norms, their maxima, and the properties they are made for."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import unbribable as ub
from games import law
from unbribable.lab.world.named_functions import TEST_FUNCTIONS
from unbribable.lab.world.objectives import (
    Objective,
    figure_1,
    gp_draw,
    kernel_sum,
    lower_bound_pair,
    random_rkhs,
)

ROUGH = ub.Matern(0.5, 0.2)
"""Well conditioned on any sensible set of points."""
GRID = np.linspace(0.0, 1.0, 30)[:, None]

kernels = st.sampled_from([ROUGH, ub.Matern(1.5, 0.3), ub.Matern(2.5, 0.2), ub.SquaredExponential(0.2)])
seeds = st.integers(0, 2**32 - 1)


def interpolation_norm(kernel, X, f):
    """sqrt(f' K^-1 f): the smallest norm of a function through these values."""
    return math.sqrt(f @ np.linalg.solve(kernel(X, X), f))


# --- Objective --------------------------------------------------------------------------------------


def test_the_best_of_several_maximisers_is_the_first():
    objective = Objective("ties", np.arange(4.0)[:, None], np.array([-3.0, 1.0, 0.0, 1.0]))
    assert (objective.best, objective.f_max, objective.B0) == (1, 1.0, 3.0)


@law
@given(seed=seeds, d=st.integers(1, 3), radius=st.floats(0.01, 1.5))
def test_near_is_euclidean(seed, d, radius):
    X = np.random.default_rng(seed).uniform(size=(15, d))
    objective = Objective("zero", X, np.zeros(15))
    for i in (0, 7):
        assert objective.near(i, radius).tolist() == [math.dist(x, X[i]) <= radius for x in X]


# --- norms ------------------------------------------------------------------------------------------


@law
@given(kernels, seeds, st.integers(1, 8))
def test_a_kernel_sum_is_the_sum_and_its_norm_the_quadratic_form(kernel, seed, n):
    rng = np.random.default_rng(seed)
    centres, weights = rng.uniform(size=(n, 1)), rng.standard_normal(n)
    objective = kernel_sum(kernel, GRID, centres, weights)
    values, norm2 = np.zeros(30), 0.0
    for w, centre in zip(weights, centres, strict=True):
        values += w * kernel(GRID, centre[None])[:, 0]
        for v, other in zip(weights, centres, strict=True):
            norm2 += w * v * float(kernel(centre[None], other[None])[0, 0])
    assert objective.f == pytest.approx(values)
    assert objective.norm == pytest.approx(math.sqrt(norm2), rel=1e-6)
    assert objective.kernel is kernel


@law
@given(seed=seeds, norm=st.floats(0.1, 10.0), n_centres=st.integers(1, 40))
def test_a_random_function_has_exactly_the_norm_asked_for(seed, norm, n_centres):
    """Its representer weights, solved for on a well conditioned grid, give the norm back."""
    objective = random_rkhs(ROUGH, GRID, np.random.default_rng(seed), norm=norm, n_centres=n_centres)
    weights = np.linalg.solve(ROUGH(GRID, GRID), objective.f)
    assert np.count_nonzero(np.abs(weights) > 1e-9 * norm) <= n_centres
    assert math.sqrt(weights @ ROUGH(GRID, GRID) @ weights) == pytest.approx(norm, rel=1e-9)
    assert objective.norm == norm


@law
@given(kernel=kernels, seed=seeds, norm=st.floats(0.1, 10.0), size=st.integers(1, 7))
def test_no_values_of_a_random_function_need_a_larger_norm(kernel, seed, norm, size):
    rng = np.random.default_rng(seed)
    objective = random_rkhs(kernel, GRID, rng, norm=norm)
    some = rng.choice(np.arange(0, 30, 4), size, replace=False)
    assert interpolation_norm(kernel, GRID[some], objective.f[some]) <= norm * (1.0 + 1e-6)
    assert norm * (1.0 + 1e-9) >= objective.B0  # |f| <= norm * sqrt(k(x,x))


def test_random_functions_depend_on_the_stream_alone():
    first, again = (random_rkhs(ROUGH, GRID, np.random.default_rng(4)).f for _ in range(2))
    assert first.tobytes() == again.tobytes()
    assert random_rkhs(ROUGH, GRID, np.random.default_rng(5)).f.tobytes() != first.tobytes()


@pytest.mark.parametrize(("word", "value"), [("norm", 0.0), ("norm", math.nan), ("n_centres", 0)])
def test_a_random_function_refuses_what_makes_no_sense(word, value):
    with pytest.raises(ValueError, match=f"{word} must be"):
        random_rkhs(ROUGH, GRID, np.random.default_rng(0), **{word: value})


@law
@given(seeds, st.sampled_from([ROUGH, ub.Matern(1.5, 0.1), ub.SquaredExponential(0.03)]))
def test_the_norm_of_a_draw_is_that_of_its_interpolant(seed, kernel):
    draw = gp_draw(kernel, GRID, np.random.default_rng(seed))
    assert draw.norm == pytest.approx(interpolation_norm(kernel, GRID, draw.f), rel=1e-6)


def test_the_covariance_of_many_draws_is_the_kernel():
    X = np.array([[0.0], [0.1], [0.3], [0.35], [0.9]])
    rng = np.random.default_rng(0)
    n = 4000
    draws = np.array([gp_draw(ROUGH, X, rng).f for _ in range(n)])
    K = ROUGH(X, X)
    std = np.sqrt((np.outer(K.diagonal(), K.diagonal()) + K**2) / n)  # of an entry of the estimate
    assert (np.abs(draws.T @ draws / n - K) < 4.5 * std).all()
    assert (np.abs(draws.mean(axis=0)) < 4.5 / math.sqrt(n)).all()


def test_a_draw_of_a_smooth_kernel_on_a_dense_grid_stays_finite():
    X = np.linspace(0.0, 1.0, 200)[:, None]
    kernel = ub.SquaredExponential(0.2)
    draw = gp_draw(kernel, X, np.random.default_rng(1))
    assert np.isfinite(draw.f).all()
    assert 0.0 < draw.norm < 200.0
    some = slice(0, 200, 25)
    assert interpolation_norm(kernel, X[some], draw.f[some]) <= draw.norm * (1.0 + 1e-6)


# --- the paper's functions --------------------------------------------------------------------------


def test_figure_1_has_its_maximum_of_one_at_the_right_and_a_lower_peak_at_the_left():
    figure = figure_1()
    x, f = figure.X[:, 0], figure.f
    assert figure.X.shape == (500, 1)
    assert (x[0], x[-1]) == (0.0, 1.0)
    assert figure.f_max == pytest.approx(1.0, abs=1e-12)
    peaks = [i for i in range(1, 499) if f[i - 1] < f[i] >= f[i + 1]]
    assert [round(x[i], 2) for i in peaks] == pytest.approx([0.25, 0.78], abs=0.02)
    assert 0.6 < f[peaks[0]] < 0.9
    assert peaks[1] == figure.best


def test_figure_1_is_the_sum_of_spec_10():
    figure = figure_1(101)
    raw = [
        0.8 * math.exp(-((x - 0.25) ** 2) / 0.02)
        + math.exp(-((x - 0.78) ** 2) / 0.02)
        - 0.3 * math.exp(-((x - 0.5) ** 2) / 0.02)
        for x in figure.X[:, 0]
    ]
    assert figure.f == pytest.approx(np.array(raw) / max(raw))
    some = figure.X[::10]
    assert interpolation_norm(figure.kernel, some, figure.f[::10]) <= figure.norm
    assert figure.norm == pytest.approx(
        interpolation_norm(figure.kernel, some, figure.f[::10]), rel=0.05
    )


@settings(law, max_examples=30)
@given(
    kernel=st.one_of(
        st.floats(0.02, 0.2).map(ub.SquaredExponential),
        st.floats(0.02, 0.22).map(lambda scale: ub.Matern(2.5, scale)),
    ),
    n=st.integers(9, 200),
)
def test_what_is_half_optimal_for_one_of_the_pair_is_half_sub_optimal_for_the_other(kernel, n):
    assume(kernel.lengthscale >= 0.5 / (n - 1))  # so that some point sees more than half of a bump
    X = np.linspace(0.0, 1.0, n)[:, None]
    first, second = lower_bound_pair(kernel, X)
    assert first.norm == second.norm == pytest.approx(1.0)
    assert first.B0 <= 1.0
    for one, other in ((first, second), (second, first)):
        for mine, theirs in zip(one.f, other.f, strict=True):
            if mine >= one.f_max - 0.5:
                assert theirs <= other.f_max - 0.5
    regrets = (first.f_max - first.f) + (second.f_max - second.f)
    assert regrets.min() >= 0.5


def test_a_pair_of_bumps_too_wide_to_tell_apart_is_refused():
    with pytest.raises(ValueError, match="the kernel must fall to 1/2 within 1/4 of a bump"):
        lower_bound_pair(ub.SquaredExponential(0.5), GRID)


# --- the test functions of the literature -----------------------------------------------------------

every_function = pytest.mark.parametrize("name", TEST_FUNCTIONS)


def local_maximum(test, x0):
    bounds = list(zip(test.low, test.high, strict=True))
    found = minimize(
        lambda x: -float(test(x[None])[0]),
        x0,
        bounds=bounds,
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-10},
    )
    return -float(found.fun)


@every_function
def test_the_true_maximum_is_never_exceeded_and_is_attained(name):
    test = TEST_FUNCTIONS[name]
    low, high = np.array(test.low), np.array(test.high)
    if test.d <= 2:
        axes = [
            np.linspace(a, b, 10_001 if test.d == 1 else 201) for a, b in zip(low, high, strict=True)
        ]
        X = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, test.d)
    else:
        X = np.random.default_rng(0).uniform(low, high, (20_000, test.d))
    values = test(X)
    slack = 1e-9 * max(1.0, abs(test.f_max))
    assert values.max() <= test.f_max + slack
    tops = [local_maximum(test, X[i]) for i in np.argsort(-values)[:5]]
    assert max(tops) <= test.f_max + slack
    assert max(tops) == pytest.approx(test.f_max, abs=1e-7 * max(1.0, abs(test.f_max)))


@pytest.mark.parametrize(
    ("name", "x_best"),
    [
        ("1d", [[-0.8563627379]]),
        ("forrester", [[0.7572487562]]),
        ("forrester_up", [[1.0]]),
        ("levy", [[1.0]]),
        ("camelback", [[0.0898420, -0.7126564], [-0.0898420, 0.7126564]]),
        ("branin", [[-math.pi, 12.275], [math.pi, 2.275], [9.424778, 2.475]]),
        ("bohachevsky", [[0.0, 0.0]]),
        ("hartmann6", [[0.20168952, 0.15001069, 0.47687398, 0.27533243, 0.31165162, 0.65730054]]),
    ],
)
def test_the_maximum_is_where_the_literature_has_it(name, x_best):
    test, X = TEST_FUNCTIONS[name], np.array(x_best)
    assert test(X) == pytest.approx(test.f_max, abs=1e-6)
    assert (test.low <= X).all()
    assert (test.high >= X).all()
    assert all(local_maximum(test, x) <= test.f_max + 1e-9 * max(1.0, abs(test.f_max)) for x in X)


@pytest.mark.parametrize(
    ("name", "x", "value"),
    [
        ("1d", [-0.5], -25.0 * math.sin(-10.0)),
        ("forrester", [0.0], -4.0 * math.sin(-4.0)),
        ("forrester", [1.0], -16.0 * math.sin(8.0)),
        ("forrester_up", [1.0], 16.0 * math.sin(8.0) / 5.0),
        ("levy", [-3.0], -(math.sin(0.0) ** 2 + 1.0 * (1.0 + 0.0))),
        ("levy", [-1.0], -(1.0 + 0.25 * (1.0 + math.sin(math.pi) ** 2))),
        ("camelback", [1.0, 1.0], -(4.0 - 2.1 + 1.0 / 3.0 + 1.0)),
        ("camelback", [0.0, 0.5], 1.0 - 0.25),
        ("branin", [0.0, 0.0], -55.602112642270262),
        ("bohachevsky", [1.0, 1.0], -4e-5 * 3.6),
        ("bohachevsky", [100.0, -100.0], -4e-5 * 30_000.0),
        ("hartmann6", [0.0] * 6, 0.00508911288366444),
    ],
)
def test_a_test_function_is_the_negative_of_the_usual_one(name, x, value):
    assert TEST_FUNCTIONS[name](np.array([x]))[0] == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("1d", (-1.0,), (1.0,)),
        ("forrester", (0.0,), (1.0,)),
        ("levy", (-15.0,), (2.5,)),
        ("camelback", (-2.0, -1.0), (2.0, 1.0)),
        ("branin", (-5.0, 0.0), (10.0, 15.0)),
        ("bohachevsky", (-100.0, -100.0), (100.0, 100.0)),
        ("hartmann6", (0.0,) * 6, (1.0,) * 6),
    ],
)
def test_a_test_function_lives_on_its_usual_box(name, low, high):
    assert (TEST_FUNCTIONS[name].low, TEST_FUNCTIONS[name].high) == (low, high)


@pytest.mark.parametrize(
    ("name", "region", "best_inside"),
    [
        ("1d", ((-0.5, 0.5),), 15.909),
        ("forrester", ((0.0, 0.5),), 0.9863),
        ("levy", ((-4.915, -0.915),), -0.97938),
    ],
)
def test_the_target_regions_of_the_literature_have_the_values_of_the_literature(
    name, region, best_inside
):
    """f(x~), the best value inside the region the learner is lured into."""
    test = TEST_FUNCTIONS[name]
    X = np.stack([np.linspace(a, b, 20_001) for a, b in region], axis=-1)
    assert test(X).max() == pytest.approx(best_inside, rel=2e-4)


@every_function
def test_a_test_function_on_candidates_is_an_objective(name):
    test = TEST_FUNCTIONS[name]
    X = np.random.default_rng(1).uniform(test.low, test.high, (20, test.d))
    on = test.on(X)
    assert (on.name, on.norm, on.X.shape) == (name, None, (20, test.d))
    assert on.f == pytest.approx([float(test(x[None])[0]) for x in X])
