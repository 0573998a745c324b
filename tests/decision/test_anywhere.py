"""The upper confidence bound between the candidates: the dense formula, and its own gradient."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
import unbribable as ub
from games import Design, designs
from unbribable.decision.asking.anywhere import Anywhere
from unbribable.decision.instance import Instance
from unbribable.decision.options import Options
from unbribable.model.checks import Floats
from unbribable.model.expected import Expected
from unbribable.theory.widths import knapsack, shift_exact

B, B0, NOISE_STD, DELTA, CAP = 2.0, 1.0, 0.2, 0.05, 0.8

FAMILIES: dict[str, dict[str, Any]] = {
    "exact-tight": {"width": "exact", "noise": "tight"},
    "exact-paper": {"width": "exact", "noise": "paper"},
    "capped-tight": {"width": "capped", "noise": "tight"},
    "capped-paper": {"width": "capped", "noise": "paper"},
    "paper-tight": {"width": "paper", "noise": "tight"},
    "paper-paper": {"width": "paper", "noise": "paper"},
    "exact-beta": {"width": "exact", "beta": 1.5},
    "capped-beta": {"width": "capped", "beta": lambda t: 1.0 + 0.1 * math.log(t)},
}
ALL = pytest.mark.parametrize("words", FAMILIES.values(), ids=FAMILIES)
LAWS = settings(derandomize=True, deadline=None, max_examples=20)
CORRUPTIONS = st.sampled_from([0.0, 0.5, 2.0, 3.7, 40.0])
ALPHAS = st.sampled_from([1.0, 2.0])


def learned(design: Design, y: Floats, words: dict[str, Any], C: float) -> Instance:
    """An instance that has taken in the design's readings."""
    assumed = ub.Assumptions(
        design.kernel, B=B, B0=B0, noise_std=NOISE_STD, lam=design.lam, delta=DELTA, c_max=CAP
    )
    instance = Instance("it", design.X, assumed, Options(**words), C=C, delta=DELTA)
    for i, value, lam in zip(design.indices, y, design.lams, strict=True):
        instance.learn(int(i), float(value), float(lam))
    return instance


def dense(design: Design, y: Floats, words: dict[str, Any], C: float, U: Floats) -> naive.Belief:
    """What the raw readings say at the points U, by dense solves; nothing of the library's."""
    K = design.kernel(np.concatenate([design.X, U]), np.concatenate([design.X, U]))
    setting = naive.Setting(K, B, B0, NOISE_STD, design.lam, DELTA, CAP, **words)
    ratio = NOISE_STD / math.sqrt(design.lam)
    readings = [
        naive.Reading(int(i), float(value), float(lam), ratio * math.sqrt(lam))
        for i, value, lam in zip(design.indices, y, design.lams, strict=True)
    ]
    belief = naive.believe(setting, readings, C, DELTA)
    return naive.Belief(*(part[len(design.X) :] for part in belief))


def readings_of(design: Design) -> tuple[Floats, Floats]:
    """Readings of the design, and five points that are none of its candidates."""
    d = design.X.shape[1]
    return design.rng.uniform(-1.0, 1.0, design.t), design.rng.uniform(-1.0, 1.0, (5, d))


@ALL
@LAWS
@given(design=designs(lam=st.sampled_from([1e-2, 0.1, 1.0])), C=CORRUPTIONS, alpha=ALPHAS)
def test_the_bound_anywhere_is_the_dense_formula(
    words: dict[str, Any], design: Design, C: float, alpha: float
) -> None:
    """mu + alpha (noise part + shift), for any design, noise per reading and corruption."""
    y, U = readings_of(design)
    belief = dense(design, y, words, C, U)
    anywhere = Anywhere(learned(design, y, words, C))
    expected = belief.mu + alpha * (belief.noise + belief.shift)
    np.testing.assert_allclose(anywhere.ucb(U, alpha), expected, rtol=1e-6, atol=1e-8)
    for u, mu, sigma, width in zip(U, belief.mu, belief.sigma, belief.width, strict=True):
        np.testing.assert_allclose(anywhere.describe(u), (mu, sigma, width), rtol=1e-6, atol=1e-8)


@ALL
@LAWS
@given(design=designs(lam=st.sampled_from([1e-2, 0.1, 1.0])), C=CORRUPTIONS, alpha=ALPHAS)
def test_at_a_candidate_it_is_what_the_instance_says_there(
    words: dict[str, Any], design: Design, C: float, alpha: float
) -> None:
    """The two ways to the same number: by R's columns anew, and by what was kept."""
    y, _ = readings_of(design)
    instance = learned(design, y, words, C)
    own = instance.mu + alpha * instance.width
    np.testing.assert_allclose(Anywhere(instance).ucb(design.X, alpha), own, rtol=1e-6, atol=1e-8)


@ALL
@pytest.mark.parametrize("C", [0.0, 2.0])
def test_before_any_reading_the_bound_is_the_priors(words: dict[str, Any], C: float) -> None:
    """The mean is zero, sigma is one, and no lie has been told; only a closed form shifts anyway."""
    design = Design(
        ub.Matern(2.5, 0.3),
        np.zeros((1, 2)),
        0.1,
        np.zeros(0, int),
        np.zeros(0),
        np.random.default_rng(0),
    )
    U = design.rng.random((4, 2))
    belief = dense(design, np.zeros(0), words, C, U)
    anywhere = Anywhere(learned(design, np.zeros(0), words, C))
    assert anywhere.m == 0
    np.testing.assert_allclose(anywhere.ucb(U, 2.0), 2.0 * belief.width, rtol=1e-12)
    value, gradient = anywhere.ucb_and_gradient(U[0], 2.0)
    assert value == pytest.approx(2.0 * belief.width[0])
    np.testing.assert_array_equal(gradient, np.zeros(2))


@pytest.mark.parametrize("lam", [1e-3, 1e-4, 1e-5, 1e-6])
def test_readings_of_high_precision_leave_the_bound_precise(lam: float) -> None:
    """To a thousandth of the width; the dense solves are good to 1e-8 here."""
    X, lams = np.linspace(0.0, 1.0, 13)[:, None], np.full(13, lam)
    design = Design(ub.Matern(2.5, 0.3), X, lam, np.arange(13), lams, np.random.default_rng(0))
    y, U = np.sin(5.0 * X[:, 0]), np.linspace(0.0, 1.0, 401)[:, None]
    belief = dense(design, y, FAMILIES["exact-tight"], 1.0, U)
    anywhere = Anywhere(learned(design, y, FAMILIES["exact-tight"], 1.0))
    error = anywhere.ucb(U, 1.0) - belief.mu - belief.width
    assert np.abs(error / belief.width).max() < 1e-3


def test_with_and_without_a_factorisation_bound_and_gradient_are_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At prec = 100 both are precise."""
    rng = np.random.default_rng(3)
    X, lams = rng.random((15, 2)), np.full(25, 0.01)
    design = Design(ub.Matern(2.5, 0.4), X, 0.01, rng.integers(0, 15, 25), lams, rng)
    y, U = rng.uniform(-1.0, 1.0, 25), rng.random((20, 2))
    for words in FAMILIES.values():
        plain = Anywhere(learned(design, y, words, 1.5))
        with monkeypatch.context() as patch:
            patch.setattr("unbribable.model.elsewhere.PREC_MAX", 0.0)
            precise = Anywhere(learned(design, y, words, 1.5))
        assert plain._elsewhere._system is None
        assert precise._elsewhere._system is not None
        np.testing.assert_allclose(precise.ucb(U, 2.0), plain.ucb(U, 2.0), rtol=1e-9)
        for u in U:
            value, gradient = precise.ucb_and_gradient(u, 2.0)
            expected, expected_gradient = plain.ucb_and_gradient(u, 2.0)
            assert value == pytest.approx(expected, rel=1e-9)
            np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-6, atol=1e-8)


# --- the gradient ----------------------------------------------------------------------------------

KERNELS: dict[str, Callable[[int], Any]] = {
    "se": lambda d: ub.SquaredExponential(0.4),
    "se-per-coordinate": lambda d: ub.SquaredExponential([0.3 + 0.2 * k for k in range(d)]),
    "matern-1/2": lambda d: ub.Matern(0.5, 0.7),
    "matern-5/2": lambda d: ub.Matern(2.5, 0.5),
    "linear": lambda d: ub.Linear(2.0 * math.sqrt(d)),
}


@ALL
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("own_noise", [False, True])
def test_the_gradient_is_that_of_central_differences(
    words: dict[str, Any], kernel: Callable[[int], Any], own_noise: bool
) -> None:
    """At a kink between x - h and x + h central differences err, by no more than the second ones say."""
    h, n_smooth, n = 1e-5, 0, 0
    for d, C, alpha in ((1, 0.0, 2.0), (2, 2.0, 2.0), (3, 3.7, 1.0)):
        rng = np.random.default_rng([d, own_noise])
        t, lam = 18, 0.05
        lams = lam * rng.choice([0.25, 1.0, 4.0], t) if own_noise else np.full(t, lam)
        X = rng.uniform(0.0, 1.0, (12, d))
        design = Design(kernel(d), X, lam, rng.integers(0, 12, t), lams, rng)
        anywhere = Anywhere(learned(design, rng.uniform(-1.0, 1.0, t), words, C))
        for u in rng.uniform(0.05, 0.95, (6, d)):
            value, gradient = anywhere.ucb_and_gradient(u, alpha)
            middle = float(anywhere.ucb(u[None, :], alpha)[0])
            assert value == pytest.approx(middle, rel=1e-10, abs=1e-12)
            ahead, behind = (anywhere.ucb(u + sign * h * np.eye(d), alpha) for sign in (1.0, -1.0))
            kink = np.abs(ahead + behind - 2.0 * middle) / h
            error = np.abs(gradient - (ahead - behind) / (2.0 * h))
            scale = 1.0 + np.abs(gradient)
            assert (error <= kink + 1e-5 * scale).all()
            n_smooth += int((kink < 1e-2 * scale).sum())
            n += d
    assert n_smooth >= 0.9 * n


def test_both_branches_of_the_tight_noise_part_have_their_gradient() -> None:
    """Far from every reading it is a multiple of sigma, close to a point read often it is less."""
    rng = np.random.default_rng(0)
    X = np.array([[0.3, 0.3], [0.7, 0.6]])
    design = Design(ub.SquaredExponential(0.3), X, 0.05, np.array([0, 1] * 20), np.full(40, 0.05), rng)
    y, words = rng.uniform(-0.1, 0.1, 40), FAMILIES["exact-tight"]
    U = np.array([[0.0, 1.0], [1.0, 0.0], [0.303, 0.301]])
    belief = dense(design, y, words, 1.0, U)
    multiples = belief.noise / belief.sigma
    assert multiples[0] == pytest.approx(multiples[1])
    assert multiples[2] < 0.99 * multiples[0]
    anywhere, h = Anywhere(learned(design, y, words, 1.0)), 1e-6
    for u in U:
        _, gradient = anywhere.ucb_and_gradient(u, 1.0)
        ahead, behind = (anywhere.ucb(u + sign * h * np.eye(2), 1.0) for sign in (1.0, -1.0))
        np.testing.assert_allclose(gradient, (ahead - behind) / (2.0 * h), rtol=1e-4, atol=1e-5)


@ALL
@pytest.mark.parametrize("kernel", [KERNELS["se"], KERNELS["matern-5/2"], KERNELS["linear"]])
def test_beside_pending_queries_the_width_shrinks_with_sigma_and_so_does_the_gradient(
    words: dict[str, Any], kernel: Callable[[int], Any]
) -> None:
    rng = np.random.default_rng(7)
    X, lam, t = rng.random((10, 2)), 0.05, 14
    design = Design(kernel(2), X, lam, rng.integers(0, 10, t), np.full(t, lam), rng)
    y, pending, U = rng.uniform(-1.0, 1.0, t), rng.random((3, 2)), rng.uniform(0.05, 0.95, (8, 2))
    instance = learned(design, y, words, 1.5)
    among = Expected(instance.posterior, pending)
    anywhere, h = Anywhere(instance), 1e-5
    points = np.concatenate([X[design.indices], pending])
    var = []
    for seen in (points[:t], points):
        cross = design.kernel(seen, U)
        solved = np.linalg.solve(design.kernel(seen, seen) + lam * np.eye(len(seen)), cross)
        var.append(design.kernel.diag(U) - np.sum(cross * solved, axis=0))
    belief = dense(design, y, words, 1.5, U)
    expected = belief.mu + 2.0 * np.sqrt(var[1] / var[0]) * belief.width
    np.testing.assert_allclose(anywhere.ucb(U, 2.0, among), expected, rtol=1e-6)
    assert (expected < belief.mu + 2.0 * belief.width).all()
    n_smooth = 0
    for u in U:
        value, gradient = anywhere.ucb_and_gradient(u, 2.0, among)
        around = [u + sign * h * np.eye(2) for sign in (1.0, -1.0)]
        ahead, behind = (anywhere.ucb(points, 2.0, among) for points in around)
        kink = np.abs(ahead + behind - 2.0 * value) / h
        assert (np.abs(gradient - (ahead - behind) / (2.0 * h)) <= kink + 1e-5).all()
        n_smooth += int((kink < 1e-2).sum())
    assert n_smooth >= 8


# --- the knapsack ----------------------------------------------------------------------------------


@LAWS
@given(
    rows=st.lists(
        st.tuples(st.sampled_from([0.0, 0.5, 1.0]) | st.floats(0.0, 2.0), st.integers(1, 9)),
        min_size=1,
        max_size=12,
    ),
    C=st.floats(0.01, 60.0),
    cap=st.floats(0.05, 5.0) | st.just(math.inf),
)
def test_the_knapsacks_lies_are_admissible_and_attain_the_exact_shift(
    rows: list[tuple[float, int]], C: float, cap: float
) -> None:
    """No item takes more than its readings can, all of them no more than C; ties do not matter."""
    weights, counts = np.array(rows, dtype=float).T
    lies = knapsack(weights, counts, C, cap)
    assert (lies >= 0.0).all()
    assert (lies <= counts * min(C, cap) * (1.0 + 1e-12)).all()
    assert lies.sum() <= C * (1.0 + 1e-12)
    assert lies.sum() == pytest.approx(min(C, counts.sum() * min(C, cap)))
    assert lies @ weights == pytest.approx(float(shift_exact(weights[:, None], counts, C, cap)[0]))
    single = np.repeat(weights, counts.astype(int))
    assert lies @ weights == pytest.approx(naive.worst_shift(single, C, cap))


def test_an_instance_can_be_lied_to_by_exactly_its_shift() -> None:
    """Told the knapsack's lies on top, its mean moves by the shift, which is all that they can do."""
    rng = np.random.default_rng(3)
    X, lams = rng.random((8, 2)), np.full(20, 0.05)
    design = Design(ub.Matern(2.5, 0.4), X, 0.05, rng.integers(0, 8, 20), lams, rng)
    y, u, C = rng.uniform(-1.0, 1.0, 20), rng.random((1, 2)), 3.7
    weights = np.linalg.solve(design.K + np.diag(lams), design.kernel(X[design.indices], u))[:, 0]
    lies = knapsack(np.abs(weights), np.ones(20), C, CAP) * np.sign(weights)
    assert np.abs(lies).sum() == pytest.approx(C)
    belief = dense(design, y, FAMILIES["exact-tight"], C, u)
    lied_to = Anywhere(learned(design, y + lies, FAMILIES["exact-tight"], C))
    assert lied_to.describe(u[0])[0] - belief.mu[0] == pytest.approx(belief.shift[0])
