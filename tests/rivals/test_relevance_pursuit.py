"""Relevance pursuit: noises of their own for a few readings, by the likelihood."""

from typing import Any

import numpy as np
import pytest

import unbribable as ub
from contracts.members import ALGORITHMS
from unbribable.lab.rivals import RelevancePursuitUCB, relevance_pursuit
from unbribable.lab.rivals.practice import practical_beta
from unbribable.lab.rivals.relevance_pursuit import Pursuit, pursue

N = 32
X = np.linspace(0.0, 1.0, N)[:, None]
KERNEL = ub.Matern(2.5, 0.2)
STD = 0.02
LAM = STD**2
ASSUMED = ub.Assumptions(KERNEL, B=3.0, B0=1.5, noise_std=STD, lam=LAM)
LIES = [4, 11, 19, 27]


def readings(lies: dict[int, float] | None = None, seed: int = 0) -> np.ndarray:
    """One of each candidate, some of them shifted."""
    y = np.sin(4.0 * np.pi * X[:, 0]) + STD * np.random.default_rng(seed).standard_normal(N)
    for i, lie in (lies or {}).items():
        y[i] += lie
    return y


def log_likelihood(K: np.ndarray, noises: np.ndarray, y: np.ndarray) -> float:
    """The textbook's, reading by reading."""
    system = K + np.diag(noises)
    _, log_det = np.linalg.slogdet(system)
    return float(-0.5 * (y @ np.linalg.solve(system, y) + log_det + len(y) * np.log(2.0 * np.pi)))


def mean(indices: Any, y: np.ndarray, noises: np.ndarray) -> np.ndarray:
    K = KERNEL(X[indices], X[indices])
    return KERNEL(X, X[indices]) @ np.linalg.solve(K + np.diag(noises), y)


def test_the_extra_noise_of_a_reading_is_the_best_one() -> None:
    """Against a search of the likelihood."""
    y = readings({11: 1.5})
    K = KERNEL(X, X)
    pursuit = Pursuit(K, np.arange(N), y, LAM)
    rho = pursuit.best_rho(11)

    def at(value: float) -> float:
        return log_likelihood(K, LAM + value * (np.arange(N) == 11), y)

    grid = rho * np.linspace(0.5, 2.0, 1501)
    found = grid[np.argmax([at(value) for value in grid])]
    assert rho == pytest.approx(found, rel=2e-3)
    assert rho > 0.5
    assert pursuit.best_rho(2) == 0.0
    assert log_likelihood(K, LAM + 1e-4 * (np.arange(N) == 2), y) < at(0.0)


def test_what_it_knows_follows_every_new_noise() -> None:
    """Likelihood, mean and predictions without a reading, as in the textbook; points are read twice."""
    rows = np.array([0, 1, 2, 0, 3, 2, 2, 4])
    y = np.array([0.3, 0.1, -0.2, 0.9, 0.4, -0.1, 2.0, 0.0])
    points = X[[2, 7, 12, 20, 30]]
    K = KERNEL(points, points)
    pursuit = Pursuit(K, rows, y, 0.04)
    for q, rho in ((3, 0.5), (6, 4.0), (3, 0.0), (1, 0.2)):
        pursuit.give(q, rho)
    noises = 0.04 + np.array([0.0, 0.2, 0.0, 0.0, 0.0, 0.0, 4.0, 0.0])
    every = K[np.ix_(rows, rows)]
    np.testing.assert_allclose(pursuit.mu, K[:, rows] @ np.linalg.solve(every + np.diag(noises), y))
    inverse = np.linalg.inv(every + np.diag(noises))
    residual, var = pursuit.left_out()
    np.testing.assert_allclose(residual, inverse @ y / np.diag(inverse))
    np.testing.assert_allclose(var, 1.0 / np.diag(inverse))
    before = pursuit.mu.copy()
    pursuit.refresh()
    np.testing.assert_allclose(pursuit.mu, before, atol=1e-12)
    assert pursuit.log_likelihood == pytest.approx(log_likelihood(every, noises, y))


def test_lies_are_found() -> None:
    y = readings(dict.fromkeys(LIES, 1.0) | {19: -0.8})
    rho = pursue(KERNEL(X, X), np.arange(N), y, LAM)
    assert set(LIES) <= set(np.flatnonzero(rho).tolist())
    assert min(rho[LIES]) > 100.0 * LAM
    wrong = np.abs(mean(np.arange(N), y, np.full(N, LAM)) - np.sin(4.0 * np.pi * X[:, 0]))
    right = np.abs(mean(np.arange(N), y, LAM + rho) - np.sin(4.0 * np.pi * X[:, 0]))
    assert right.mean() < 0.1 * wrong.mean()


def test_one_enormous_lie_is_as_good_as_no_reading() -> None:
    y = readings({11: 1e6})
    rho = pursue(KERNEL(X, X), np.arange(N), y, LAM, levels=(0.0, 1 / N))
    assert np.flatnonzero(rho).tolist() == [11]
    others = np.delete(np.arange(N), 11)
    expected = mean(others, y[others], np.full(N - 1, LAM))
    np.testing.assert_allclose(mean(np.arange(N), y, LAM + rho), expected, atol=1e-6)


def test_without_lies_the_mean_is_about_as_good() -> None:
    errors = []
    for seed in range(10):
        y = readings(seed=seed)
        rho = pursue(KERNEL(X, X), np.arange(N), y, LAM, is_tempered=True)
        truth = np.sin(4.0 * np.pi * X[:, 0])
        errors.append(
            [
                np.abs(mean(np.arange(N), y, noise) - truth).mean()
                for noise in (np.full(N, LAM), LAM + rho)
            ]
        )
    plain, robust = np.mean(errors, axis=0)
    assert robust == pytest.approx(plain, rel=0.02)


def test_a_tempered_likelihood_finds_fewer_outliers() -> None:
    found = {True: 0, False: 0}
    for seed in range(5):
        y = readings(dict.fromkeys(LIES, 0.5), seed)
        for is_tempered in found:
            rho = pursue(KERNEL(X, X), np.arange(N), y, LAM, is_tempered=is_tempered)
            found[is_tempered] += np.count_nonzero(rho)
    assert 0 < found[True] < found[False]


def test_more_outliers_never_lower_the_likelihood_of_a_level() -> None:
    y = readings(dict.fromkeys(LIES, 1.0))
    pursuit = Pursuit(KERNEL(X, X), np.arange(N), y, LAM)
    seen = [pursuit.log_likelihood]
    for size in (1, 3, 6, 9):
        pursuit.grow(size)
        seen.append(pursuit.log_likelihood)
        assert len(pursuit.found) <= size
    assert seen == sorted(seen)


def test_noises_found_are_improved_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the sweeps no single noise can be improved by much; after the greedy search alone it can."""
    y = readings(dict.fromkeys(LIES, 1.0) | {5: 0.7})
    gaps = []
    for n_sweeps in (0, relevance_pursuit.N_SWEEPS):
        monkeypatch.setattr(relevance_pursuit, "N_SWEEPS", n_sweeps)
        pursuit = Pursuit(KERNEL(X, X), np.arange(N), y, LAM)
        pursuit.grow(6)
        rho = np.array([pursuit.best_rho(q) for q in pursuit.found])
        gaps.append(np.abs(rho - pursuit.rho[pursuit.found]).max())
    assert gaps[1] < 0.02 < 0.1 < gaps[0]


def test_no_reading_is_found_twice() -> None:
    for seed in range(5):
        pursuit = Pursuit(KERNEL(X, X), np.arange(N), readings({11: 1.0}, seed), LAM)
        for size in range(1, N):
            pursuit.grow(size)
        assert len(set(pursuit.found)) == len(pursuit.found)


def test_if_nothing_may_be_an_outlier_it_is_gp_ucb() -> None:
    gp_ucb = ALGORITHMS["gp-ucb"](ub.Grid(X), ASSUMED, beta=lambda t: practical_beta(t - 1))
    player = RelevancePursuitUCB(ub.Grid(X), ASSUMED, levels=[0.0])
    rng = np.random.default_rng(2)
    for t in range(30):
        one, other = player.ask(), gp_ucb.ask()
        assert one.index == other.index
        y = np.sin(6.0 * one.x[0]) + STD * rng.standard_normal() + 2.0 * (t % 7 == 3)
        player.tell(one, y)
        gp_ucb.tell(other, y)
    assert not player.rho.any()


def test_it_knows_the_model_and_promises_nothing() -> None:
    player = RelevancePursuitUCB(ub.Grid(X), ASSUMED)
    assert set(player.knowledge) == {"kernel", "lam", "levels", "is_tempered"}
    assert (player.bounds(), str(player.guarantee)) == (None, "No guarantee.")


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ({"levels": []}, "levels must have at least one share"),
        ({"levels": [1.5]}, "levels must be"),
        ({"n_init": -1}, "n_init must be"),
    ],
)
def test_what_makes_no_sense_is_refused(words: dict[str, Any], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        RelevancePursuitUCB(ub.Grid(X), ASSUMED, **words)
