"""Student-t noise and outlier diagnostics: limits, fixed points, and who is taken for an outlier."""

from typing import Any

import numpy as np
import pytest

import unbribable as ub
from contracts.members import ALGORITHMS
from unbribable.lab.rivals import DiagnosticsUCB, StudentTUCB
from unbribable.lab.rivals.diagnostics import outliers
from unbribable.lab.rivals.practice import practical_beta
from unbribable.lab.rivals.student_t import student_t, student_t_weights
from unbribable.model.posterior import Posterior

X = np.linspace(0.0, 1.0, 20)[:, None]
KERNEL = ub.SquaredExponential(0.2)
STD = 0.1
LAM = STD**2
ASSUMED = ub.Assumptions(KERNEL, B=3.0, B0=1.5, noise_std=STD, lam=LAM)


def design(n: int = 30, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Honest readings of random candidates, with repetitions."""
    rng = np.random.default_rng(seed)
    indices = rng.integers(0, 20, n)
    return indices, np.sin(6.0 * X[indices, 0]) + STD * rng.standard_normal(n)


def gaussian(indices: Any, y: Any, lam: Any = LAM) -> Posterior:
    posterior = Posterior(KERNEL, X, LAM)
    noises = np.broadcast_to(lam, len(y)).tolist()
    posterior.observe_all(
        list(zip(np.asarray(indices).tolist(), np.asarray(y).tolist(), noises, strict=True))
    )
    return posterior


def test_with_many_degrees_of_freedom_the_noise_is_gaussian() -> None:
    indices, y = design()
    mu, var = student_t(KERNEL, X, indices, y, nu=1e9, lam=LAM)
    np.testing.assert_allclose(mu, gaussian(indices, y).mu, atol=1e-7)
    np.testing.assert_allclose(var, gaussian(indices, y).var, atol=1e-9)


def test_the_mean_is_a_mode() -> None:
    """At each point (nu + 1) r / (nu s^2 + r^2), summed over its readings, is (K^-1 f) there."""
    indices, y = design()
    y[::6] += 2.0
    nu = 4.0
    u, rows = np.unique(indices, return_inverse=True)
    mu, _ = student_t(KERNEL, X, indices, y, nu=nu, lam=LAM)
    residual = y - mu[indices]
    slopes = np.bincount(rows, (nu + 1.0) * residual / (nu * LAM + residual**2))
    K = KERNEL(X[u], X[u])
    np.testing.assert_allclose(K @ slopes, mu[u], atol=1e-5)


def test_gathering_readings_by_point_changes_nothing() -> None:
    """The same weights as with every reading as a point of its own."""
    indices, y = design()
    y[::6] += 2.0
    u, rows = np.unique(indices, return_inverse=True)
    gathered = student_t_weights(KERNEL(X[u], X[u]), rows, y, nu=4.0, lam=LAM)
    K = KERNEL(X[indices], X[indices])
    one_by_one = student_t_weights(K, np.arange(len(y)), y, nu=4.0, lam=LAM)
    np.testing.assert_allclose(gathered, one_by_one, rtol=1e-6)
    textbook = KERNEL(X, X[indices]) @ np.linalg.solve(K + np.diag(LAM / gathered), y)
    mu, _ = student_t(KERNEL, X, indices, y, nu=4.0, lam=LAM)
    np.testing.assert_allclose(mu, textbook, atol=1e-8)


def test_a_reading_that_moves_away_is_forgotten() -> None:
    indices, y = design()
    without = student_t(KERNEL, X, np.delete(indices, 7), np.delete(y, 7), nu=4.0, lam=LAM)[0]
    u, rows = np.unique(indices, return_inverse=True)
    weight, error = [], []
    for size in (10.0, 1e3, 1e5):
        y[7] = size
        weight.append(student_t_weights(KERNEL(X[u], X[u]), rows, y, nu=4.0, lam=LAM)[7])
        error.append(np.abs(student_t(KERNEL, X, indices, y, nu=4.0, lam=LAM)[0] - without).max())
    assert weight[2] < 1e-9 < weight[1] < 1e-6 < weight[0] < 1e-2
    assert error[2] < 1e-4
    assert error[2] < error[1] < error[0]


def test_an_outlier_is_no_reason_to_be_surer() -> None:
    """The curvature at an outlier is negative; the Fisher information that is used instead is not."""
    indices, y = design()
    y[7] = 50.0
    _, var = student_t(KERNEL, X, indices, y, nu=4.0, lam=LAM)
    assert (var > 0.0).all()
    np.testing.assert_allclose(var, gaussian(indices, y, LAM * 7.0 / 5.0).var, atol=1e-12)


# --- diagnostics ------------------------------------------------------------------------------------


def test_one_lie_among_ten_honest_readings_of_a_point_is_flagged_alone() -> None:
    rng = np.random.default_rng(1)
    y = 0.3 + STD * rng.uniform(-1.0, 1.0, 11)
    y[4] += 50.0 * STD
    flags = outliers(KERNEL, X, np.full(11, 9), y, nu=4.0, lam=LAM, level=0.05)
    assert np.flatnonzero(flags).tolist() == [4]


def test_a_reading_is_an_outlier_beyond_the_quantile_of_its_prediction() -> None:
    """2.776 is the 0.975 quantile at 4 degrees of freedom."""
    y = np.concatenate([np.zeros(30), np.linspace(0.2, 0.8, 25)])
    indices = np.full(55, 9)
    mu, var = student_t(KERNEL, X, indices, y, nu=4.0, lam=LAM)
    flags = outliers(KERNEL, X, indices, y, nu=4.0, lam=LAM, level=0.05)
    assert flags.tolist() == (y - mu[9] > 2.7764 * np.sqrt(var[9] + 2.0 * LAM)).tolist()
    assert 5 < flags.sum() < 22


def told(player: Any, readings: list[tuple[int, float]]) -> Any:
    """The player after readings of the test's choice."""
    for i, y in readings:
        query = ub.Query(t=player.ask().t, x=X[i], u=X[i], index=i)
        player._pending[query.t] = query
        player.tell(query, y)
    return player


def test_if_fewer_than_half_would_remain_all_are_kept() -> None:
    """Six equal lies of ten: flagged, and kept. Five of ten are dropped."""
    lies = [(9, 50.0 * STD)] * 6
    y = np.array([0.0] * 4 + [value for _, value in lies])
    flags = outliers(KERNEL, X, np.full(10, 9), y, nu=4.0, lam=LAM, level=0.05)
    assert flags.tolist() == [False] * 4 + [True] * 6
    player = told(DiagnosticsUCB(ub.Grid(X), ASSUMED), [(9, 0.0)] * 4 + lies)
    assert player.kept.all()
    fewer = told(DiagnosticsUCB(ub.Grid(X), ASSUMED), [(9, 0.0)] * 5 + lies[:5])
    assert fewer.kept.tolist() == [True] * 5 + [False] * 5
    np.testing.assert_allclose(fewer.belief.mu, gaussian([9] * 5, [0.0] * 5).mu, atol=1e-12)


def test_outliers_are_dropped_in_scheduled_rounds_alone() -> None:
    readings = [(9, 0.1), (9, 0.0), (9, 50.0), (9, -0.1), (9, 0.1), (9, 0.0), (9, 0.1)]
    player, dropped = DiagnosticsUCB(ub.Grid(X), ASSUMED, n_init=4, n_schedule=3), []
    for reading in readings:
        told(player, [reading])
        dropped.append(np.flatnonzero(~player.kept).tolist())
    assert dropped == [[], [], [], [2], [], [], [2]]


def test_if_nothing_is_an_outlier_it_is_gp_ucb() -> None:
    gp_ucb = ALGORITHMS["gp-ucb"](ub.Grid(X), ASSUMED, beta=lambda t: practical_beta(t - 6))
    player = DiagnosticsUCB(ub.Grid(X), ASSUMED, level=0.0)
    rng = np.random.default_rng(2)
    for t in range(30):
        one, other = player.ask(), gp_ucb.ask()
        assert one.index == other.index
        y = np.sin(6.0 * one.x[0]) + STD * rng.standard_normal() + 5.0 * (t % 7 == 3)
        player.tell(one, y)
        gp_ucb.tell(other, y)


def test_with_gaussian_noise_it_plays_as_gp_ucb() -> None:
    gp_ucb = ALGORITHMS["gp-ucb"](ub.Grid(X), ASSUMED, beta=lambda t: practical_beta(t - 1))
    player = StudentTUCB(ub.Grid(X), ASSUMED, nu=1e9)
    rng = np.random.default_rng(2)
    for _ in range(25):
        one, other = player.ask(), gp_ucb.ask()
        assert one.index == other.index
        y = np.sin(6.0 * one.x[0]) + STD * rng.standard_normal()
        player.tell(one, y)
        gp_ucb.tell(other, y)


def test_they_know_the_model_and_promise_nothing() -> None:
    for kind in (StudentTUCB, DiagnosticsUCB):
        player = kind(ub.Grid(X), ASSUMED)
        assert {"kernel", "lam", "nu"} <= player.knowledge.keys()
        assert not {"B", "B0", "C", "n_lies", "delta"} & player.knowledge.keys()
        assert str(player.guarantee) == "No guarantee."


@pytest.mark.parametrize(
    ("kind", "words", "rule"),
    [
        (StudentTUCB, {"nu": 0.0}, "nu must be"),
        (StudentTUCB, {"n_init": -1}, "n_init must be"),
        (DiagnosticsUCB, {"nu": 2.0}, "nu must be finite and > 2, got nu=2.0"),
        (DiagnosticsUCB, {"level": 1.0}, "level must be"),
        (DiagnosticsUCB, {"n_schedule": 0}, "n_schedule must be"),
    ],
)
def test_what_makes_no_sense_is_refused(kind: Any, words: dict[str, Any], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        kind(ub.Grid(X), ASSUMED, **words)
