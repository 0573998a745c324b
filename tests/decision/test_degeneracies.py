"""Where a formula degenerates: no corruption, one layer, one candidate, extreme noise, repetition."""

import dataclasses
import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from contracts.members import algorithms

POINTS = np.random.default_rng(21).random((30, 2))
DOMAIN = ub.Grid(POINTS)
KERNEL = ub.SquaredExponential(0.5)
F = np.sin(4.0 * POINTS[:, 0]) + 0.3 * POINTS[:, 1]
F = F / np.abs(F).max()
ASSUMED = ub.Assumptions(KERNEL, B=3.0, B0=1.0, noise_std=0.1, lam=0.02, delta=0.1)

MAKERS = algorithms(C=2.0, T=50, seed=3)
ALL = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def numbers(query: ub.Query) -> tuple[Any, ...]:
    """Every field of a query."""
    plain = {**vars(query), "x": query.x.tolist(), "u": query.u.tolist()}
    return tuple(plain.values())


# --- no corruption, little corruption --------------------------------------------------------------


@pytest.mark.parametrize("width", ["exact", "capped", "paper"])
@pytest.mark.parametrize("noise", ["tight", "paper"])
@pytest.mark.parametrize("gain", ["realised", "certified"])
def test_zero_corruption_is_gp_ucb_bit_for_bit(width: str, noise: str, gain: str) -> None:
    """All fields of all queries, all bounds, recommendation and certificate."""
    words = {"width": width, "noise": noise, "gain": gain}
    plain = ub.GPUCB(DOMAIN, ASSUMED, **words)
    robust = ub.RobustGPUCB(DOMAIN, ASSUMED, C=0.0, **words)
    rng = np.random.default_rng(1)
    for _ in range(120):
        one, other = plain.ask(), robust.ask()
        assert numbers(one) == numbers(other)
        y = F[one.index] + 0.1 * rng.normal()
        plain.tell(one, y)
        robust.tell(other, y)
    main, double = plain.instances["main"], robust.instances["main"]
    for field in ("mu", "sigma", "noise", "width", "ucb_bar", "lcb_bar"):
        np.testing.assert_array_equal(getattr(main, field), getattr(double, field))
    one, other = plain.recommend(), robust.recommend()
    assert (one.index, one.lower, one.upper) == (other.index, other.lower, other.upper)
    assert one.regret_bound == other.regret_bound
    assert plain.regret_certificate().value == robust.regret_certificate().value


@pytest.mark.parametrize("C", [1e-6, 0.3, 1.0])
@pytest.mark.parametrize("tail", ["sharp", "paper"])
def test_little_corruption_plays_slow_only_with_budget_c(C: float, tail: str) -> None:
    """p = 1: fast never learns, slow and all hold every reading, both with budget C."""
    algorithm = ub.FastSlowGPUCB(DOMAIN, ASSUMED, C=C, seed=2, tail=tail)
    for _ in range(60):
        proposal = algorithm.propose()
        assert proposal.instances == ("slow",)
        assert proposal.probabilities.tolist() == [1.0]
        query = algorithm.ask()
        slow = algorithm.instances["slow"]
        assert query.index == int(np.argmax(slow.mu + 2.0 * slow.width))
        algorithm.tell(query, F[query.index])
    assert {label: i.C for label, i in algorithm.instances.items()} == {"fast": 0.0, "slow": C, "all": C}
    held = {label: i.n_readings for label, i in algorithm.instances.items()}
    assert held == {"fast": 0, "slow": 60, "all": 60}
    np.testing.assert_array_equal(
        algorithm.instances["slow"].ucb_bar, algorithm.instances["all"].ucb_bar
    )
    assert algorithm.detected is None


def test_just_above_one_fast_may_play() -> None:
    """The limit C = 1 belongs to slow alone."""
    proposal = ub.FastSlowGPUCB(DOMAIN, ASSUMED, C=1.25, seed=2).propose()
    assert proposal.instances == ("slow", "fast")
    np.testing.assert_allclose(proposal.probabilities, [0.8, 0.2])


@pytest.mark.parametrize("T", [1, 2])
def test_one_or_two_rounds_have_one_layer(T: int) -> None:
    """It is drawn always, allows for a corruption of 2, and may go on past T."""
    algorithm = ub.LayeredGPUCB(DOMAIN, ASSUMED, T=T, seed=1, with_all=False)
    assert algorithm.n_layers == 1
    layer = algorithm.instances["layer-1"]
    assert layer.C == 2.0
    assert layer.delta == pytest.approx(0.1 / (4.0 * (1.0 + math.log2(T))))
    for _ in range(50):
        query = algorithm.ask()
        assert query.instance == "layer-1"
        allowed = np.where(algorithm.maximisers[0], layer.mu + 2.0 * layer.width, -np.inf)
        assert query.index == int(np.argmax(allowed))
        algorithm.tell(query, F[query.index])
    assert algorithm.recommend().regret_bound is not None
    assert len(algorithm.recommend().levels) == 1


@pytest.mark.parametrize("width", ["exact", "capped", "paper"])
def test_uncapped_lies_give_c_times_the_largest_weight(width: str) -> None:
    """Algorithm 1 takes c_max = inf; then exact is C max |weight| and capped is the paper's."""
    assumed = dataclasses.replace(ASSUMED, c_max=math.inf)
    algorithm = ub.RobustGPUCB(DOMAIN, assumed, C=3.0, width=width)
    for _ in range(40):
        query = algorithm.ask()
        algorithm.tell(query, F[query.index])
    main = algorithm.instances["main"]
    expected = 3.0 / math.sqrt(0.02) * main.sigma
    if width == "exact":
        expected = 3.0 * np.abs(main.posterior.R).max(axis=0) / 0.02
    np.testing.assert_allclose(main.width - main.noise, expected, rtol=1e-9)


def test_gp_ucb_does_not_mind_uncapped_lies() -> None:
    """It allows for none: the same run bit for bit."""
    one = ub.GPUCB(DOMAIN, ASSUMED)
    other = ub.GPUCB(DOMAIN, dataclasses.replace(ASSUMED, c_max=math.inf))
    for _ in range(30):
        query, double = one.ask(), other.ask()
        assert numbers(query) == numbers(double)
        one.tell(query, F[query.index])
        other.tell(double, F[query.index])


# --- one candidate, one point, one value -----------------------------------------------------------


@ALL
def test_one_candidate_is_read_recommended_and_certified_without_regret(
    make: Callable[[ub.Grid, ub.Assumptions], Any],
) -> None:
    """There is no other that could be better; its interval narrows with every reading."""
    algorithm = make(ub.Grid([[0.3, 0.7]]), ASSUMED)
    bounds = []
    for _ in range(30):
        query = algorithm.ask()
        assert query.index == 0
        algorithm.tell(query, 0.5)
        best = algorithm.recommend()
        assert best.index == 0
        assert best.regret_bound == 0.0
        bounds.append(best.upper - best.lower)
    assert algorithm.refuted is None
    assert algorithm.detected is None
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] < bounds[0]


@pytest.mark.parametrize(("name", "lam"), [("gp-ucb", 1e-4), ("gp-ucb", 2.0), ("robust", 0.05)])
def test_a_point_read_ten_thousand_times_has_the_closed_form(name: str, lam: float) -> None:
    """var = k lam / (lam + n k), mean = sum y k / (lam + n k), after the last reading."""
    n = 10_000
    assumed = dataclasses.replace(ASSUMED, lam=lam)
    domain = ub.Grid(POINTS[:4])
    algorithm = MAKERS[name](domain, assumed)
    y = 0.4 + 0.1 * np.random.default_rng(3).normal(size=n)
    for value in y:
        algorithm.tell(x=POINTS[0], y=value)
    main = algorithm.instances["main"]
    assert main.posterior.m == 1
    k = KERNEL(POINTS[:1], POINTS[:4])[0]
    np.testing.assert_allclose(main.sigma[0] ** 2, lam / (lam + n), rtol=1e-6)
    np.testing.assert_allclose(main.sigma**2, 1.0 - n * k**2 / (lam + n), rtol=1e-6)
    np.testing.assert_allclose(main.mu, k * y.sum() / (lam + n), rtol=1e-9)
    assert main.posterior.gain == pytest.approx(0.5 * math.log1p(n / lam), rel=1e-9)
    if name == "robust":
        shift = main.width - main.noise
        np.testing.assert_allclose(shift, 2.0 * k / (lam + n), rtol=1e-5)


@pytest.mark.parametrize("name", ["fast-slow", "layered"])
def test_a_run_on_three_candidates_survives_a_thousand_readings(name: str) -> None:
    """Repetition alone refutes nothing, and the best one is certified."""
    domain = ub.Grid(POINTS[:3])
    algorithm = MAKERS[name](domain, ASSUMED)
    rng = np.random.default_rng(5)
    for _ in range(1000):
        query = algorithm.ask()
        algorithm.tell(query, F[query.index] + 0.1 * rng.normal())
    assert algorithm.refuted is None
    assert algorithm.detected is None
    best = algorithm.recommend()
    assert best.index == int(np.argmax(F[:3]))
    assert best.lower <= F[best.index] <= best.upper


@ALL
@pytest.mark.parametrize("value", [0.0, 0.7, -1.0])
def test_equal_readings_refute_nothing(
    make: Callable[[ub.Grid, ub.Assumptions], Any], value: float
) -> None:
    """A constant is a function like others; every number stays finite."""
    assumed = dataclasses.replace(ASSUMED, B=5.0)
    algorithm = make(DOMAIN, assumed)
    for _ in range(100):
        algorithm.tell(algorithm.ask(), value)
    assert algorithm.refuted is None
    for instance in algorithm.instances.values():
        assert np.isfinite([instance.mu, instance.width, instance.ucb_bar, instance.lcb_bar]).all()
        assert (instance.lcb_bar <= value).all()
        assert (instance.ucb_bar >= value).all()


# --- extreme noise ---------------------------------------------------------------------------------


def solve(system: list[list[Decimal]], right: list[list[Decimal]]) -> list[list[Decimal]]:
    """Gaussian elimination without pivots, which a positive definite system does not need."""
    rows = [left + more for left, more in zip(system, right, strict=True)]
    for k, pivot in enumerate(rows):
        for other in rows[k + 1 :]:
            factor = other[k] / pivot[k]
            for j in range(k, len(pivot)):
                other[j] -= factor * pivot[j]
    n = len(rows)
    for k in reversed(range(n)):
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for other in rows[:k]:
            factor = other[k]
            for j in range(k, len(other)):
                other[j] -= factor * rows[k][j]
    return [row[n:] for row in rows]


def reference(lam: float, indices: list[int], y: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance at all candidates in fifty digits.

    Readings of one point are one row: their mean, with noise lam / count.
    """
    with localcontext() as context:
        context.prec = 50
        X = [[Decimal(float(v)) for v in row] for row in POINTS]

        def k(i: int, j: int) -> Decimal:
            r2 = sum(((a - b) * 2) ** 2 for a, b in zip(X[i], X[j], strict=True))
            return (-r2 / 2).exp()

        points = list(dict.fromkeys(indices))
        told = {
            i: [Decimal(float(v)) for j, v in zip(indices, y, strict=True) if j == i] for i in points
        }
        system = [[k(i, j) for j in points] for i in points]
        for a, i in enumerate(points):
            system[a][a] += Decimal(float(lam)) / len(told[i])
        cross = [[k(i, x) for x in range(len(POINTS))] for i in points]
        solved = solve(system, [list(row) for row in cross])
        mu = [
            sum(row[x] * sum(told[i]) / len(told[i]) for row, i in zip(solved, points, strict=True))
            for x in range(len(POINTS))
        ]
        var = [
            1 - sum(row[x] * other[x] for row, other in zip(cross, solved, strict=True))
            for x in range(len(POINTS))
        ]
    return np.array([float(v) for v in mu]), np.array([float(v) for v in var])


@pytest.mark.parametrize("lam", [1e-8, 1e-6, 1e-4, 1e-2, 1.0, 1e2])
@pytest.mark.parametrize("name", ["gp-ucb", "robust"])
def test_every_lam_gives_the_posterior_of_fifty_digits(name: str, lam: float) -> None:
    """To the drift tolerance in sigma (1e-6 of the variance, plus what float64 resolves of k)."""
    assumed = dataclasses.replace(ASSUMED, lam=lam, B=10.0)
    algorithm = MAKERS[name](DOMAIN, assumed)
    rng = np.random.default_rng(2)
    for _ in range(80):
        query = algorithm.ask()
        algorithm.tell(query, F[query.index] + 0.1 * rng.normal())
    readings = algorithm.readings
    mu, var = reference(
        lam, [algorithm.candidates.index_of(r.u) for r in readings], [r.y for r in readings]
    )
    main = algorithm.instances["main"]
    for array in (main.mu, main.sigma, main.width, main.ucb_bar, main.lcb_bar):
        assert np.isfinite(array).all()
    resolution = 1e-13
    np.testing.assert_allclose(main.sigma**2, var, rtol=1e-5, atol=resolution)
    # At lam = 1e-8 the system's condition is 1e9: rounding moves the mean, but by nothing beside sigma.
    np.testing.assert_allclose(main.mu, mu, rtol=0.0, atol=1e-3 * np.sqrt(var.max() + resolution))
    assert algorithm.refuted is None


@ALL
@pytest.mark.parametrize("lam", [1e-8, 1e-5, 1e2])
def test_no_lam_warns_or_gives_nan(make: Callable[[ub.Grid, ub.Assumptions], Any], lam: float) -> None:
    """Warnings are errors here; 150 rounds of all algorithms."""
    algorithm = make(DOMAIN, dataclasses.replace(ASSUMED, lam=lam, B=10.0))
    rng = np.random.default_rng(2)
    for _ in range(150):
        query = algorithm.ask()
        assert np.isfinite([query.mu, query.sigma, query.width, query.ucb]).all()
        assert query.sigma > 0.0
        algorithm.tell(query, F[query.index] + 0.1 * rng.normal())
    for instance in algorithm.instances.values():
        assert np.isfinite([instance.mu, instance.width, instance.ucb_bar, instance.lcb_bar]).all()
    assert algorithm.refuted is None


@ALL
def test_without_noise_the_truth_stays_in_every_bound(
    make: Callable[[ub.Grid, ub.Assumptions], Any],
) -> None:
    """noise_std = 0: rho is 0, the width is bias and shift alone, with certainty."""
    coefficients = np.array([0.5, -0.4, 0.3])
    f = KERNEL(POINTS, POINTS[:3]) @ coefficients
    norm = math.sqrt(coefficients @ KERNEL(POINTS[:3], POINTS[:3]) @ coefficients)
    assumed = dataclasses.replace(ASSUMED, noise_std=0.0, B=norm)
    algorithm = make(DOMAIN, assumed)
    for _ in range(100):
        query = algorithm.ask()
        algorithm.tell(query, f[query.index])
        for instance in algorithm.instances.values():
            assert (instance.lcb_bar <= f + assumed.tolerance).all()
            assert (instance.ucb_bar >= f - assumed.tolerance).all()
    best = algorithm.recommend()
    assert f.max() - f[best.index] <= best.regret_bound
    assert algorithm.detected is None
