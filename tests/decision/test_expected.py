"""What an algorithm expects at a point."""

import numpy as np
import pytest

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
        assert (best.n_honest, best.cautions, best.clearly_worse) == (None, (), None)
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


def test_units_change_numbers_and_nothing_else() -> None:
    algorithm, _ = told("robust", n_rounds=20)
    best, other = algorithm.recommend(), algorithm.recommend(units=Units(10.0, 4.0, -1.0))
    assert other.estimate == pytest.approx(10.0 - 4.0 * best.estimate)
    assert other.estimate_sd == pytest.approx(4.0 * best.estimate_sd)


def test_before_any_reading_nothing_is_expected() -> None:
    best = ub.RobustGPUCB(ub.Grid(X), ASSUMED, C=1.0).recommend()
    assert (best.estimate, best.estimate_sd, best.n_honest) == (None, None, None)
    assert "expected" not in str(best)
