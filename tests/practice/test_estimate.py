"""What to expect at a point: of the algorithms, and by the readings that look honest."""

import numpy as np
import pytest
from unbribable.practice.estimate import Estimate

import unbribable as ub
from contracts.members import ALGORITHMS
from games import random_function
from unbribable.decision.proven.certain import certain
from unbribable.decision.units import Units

X = np.linspace(0.0, 1.0, 14)[:, None]
KERNEL = ub.Matern(2.5, 0.4)
ASSUMED = ub.Assumptions(KERNEL, B=2.0, B0=1.5, noise_std=0.05, lam=0.02, c_max=3.0)


def told(name: str, lies: tuple[int, ...] = (), n_rounds: int = 40) -> tuple[ub.RobustGPUCB, np.ndarray]:
    """An algorithm after rounds with noise, in some of which 2.5 was added; and the truth."""
    rng = np.random.default_rng(3)
    f = random_function(KERNEL, X, rng, 1.0)
    algorithm = ALGORITHMS[name](ub.Grid(X), ASSUMED, C=5.0, T=64)
    for t in range(1, n_rounds + 1):
        query = algorithm.ask()
        lie = 2.5 * (t in lies)
        algorithm.tell(query, float(f[query.index] + 0.05 * rng.standard_normal() + lie))
    return algorithm, f


@pytest.mark.filterwarnings("ignore::unbribable.AssumptionsRefuted")
@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_estimate_of_an_algorithm_is_the_posterior_mean_of_bounds_that_it_trusts(name: str) -> None:
    """And no heuristic: its sd is how far noise alone moves that mean."""
    algorithm, f = told(name)
    for i in (algorithm.recommend().index, 3):
        best = algorithm.recommend(x=X[i])
        assert (best.n_honest, best.caution, best.clearly_worse) == (None, "", None)
        assert abs(best.estimate - f[i]) < 0.3
        read = np.array([each.u for each in algorithm.readings])
        weights = np.linalg.solve(KERNEL(read, read) + 0.02 * np.eye(40), KERNEL(read, X[i : i + 1]))
        if algorithm.policy.holds_all:
            y = np.array([each.y for each in algorithm.readings])
            assert best.estimate == pytest.approx(float(y @ weights[:, 0]), abs=1e-3)
            assert best.estimate_sd >= 0.05 * np.linalg.norm(weights) * (1.0 - 1e-9)
        assert str(best).splitlines()[1].endswith("(an estimate from all readings)")


def test_a_reading_that_is_certainly_a_lie_does_not_widen_the_default_of_a_price() -> None:
    algorithm, _ = told("robust")
    before = algorithm.price()
    algorithm.tell(x=X[0], y=2.9)
    assert [*certain(algorithm)] == [41]
    assert algorithm.price().eps == pytest.approx(before.eps, rel=0.5)


def test_an_estimate_is_the_textbook_posterior_with_prior_sd_b0_and_the_noise_of_each_reading() -> None:
    rng = np.random.default_rng(0)
    algorithm = ub.RobustGPUCB(ub.Grid(X), ASSUMED, C=1.0)
    noise_std = []
    for k in (2, 2, 5, 9, 9, 9, 12):
        noise_std.append(float(rng.choice([0.05, 0.2])))
        algorithm.tell(x=X[k], y=float(np.sin(6 * X[k, 0])), noise_std=noise_std[-1])
    U = X[[2, 4, 13]]
    read, y = X[[2, 2, 5, 9, 9, 9, 12]], np.array([each.y for each in algorithm.readings])
    K = 1.5**2 * KERNEL(read, read) + np.diag(np.square(noise_std))
    cross = 1.5**2 * KERNEL(read, U)
    mean, sd = Estimate(algorithm.readings, ASSUMED).at(U)
    np.testing.assert_allclose(mean, cross.T @ np.linalg.solve(K, y), atol=1e-10)
    left = 1.5**2 - np.einsum("jx,jx->x", cross, np.linalg.solve(K, cross))
    np.testing.assert_allclose(sd, np.sqrt(left), rtol=1e-9)


def test_what_is_said_elsewhere_of_a_point_leaves_its_own_readings_out() -> None:
    algorithm, _ = told("robust", n_rounds=12)
    u = algorithm.readings[-1].u
    others = [each for each in algorithm.readings if each.u.tolist() != u.tolist()]
    (mean,), (sd,) = Estimate(others, ASSUMED).at(u[None])
    assert Estimate(algorithm.readings, ASSUMED).elsewhere(u) == (
        pytest.approx(mean, abs=1e-9), pytest.approx(sd),
    )  # fmt: skip


def test_units_change_numbers_and_nothing_else() -> None:
    algorithm, _ = told("robust", n_rounds=20)
    best, other = algorithm.recommend(), algorithm.recommend(units=Units(10.0, 4.0, -1.0))
    assert other.estimate == pytest.approx(10.0 - 4.0 * best.estimate)
    assert other.estimate_sd == pytest.approx(4.0 * best.estimate_sd)


def test_before_any_reading_nothing_is_expected() -> None:
    best = ub.RobustGPUCB(ub.Grid(X), ASSUMED, C=1.0).recommend()
    assert (best.estimate, best.estimate_sd, best.n_honest) == (None, None, None)
    assert "expected" not in str(best)
