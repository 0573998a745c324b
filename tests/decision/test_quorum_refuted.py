"""More lies than the quorum was told of: it says so, and goes on."""

import numpy as np
import pytest

import unbribable as ub

KNOWN = ub.Assumptions(ub.Matern(2.5, 0.4), B=1.0, B0=1.0, noise_std=0.05, lam=0.01)
LINE = ub.Grid(np.linspace(0.0, 1.0, 30)[:, None])
SQUARE = ub.Box([0.0, 0.0], [1.0, 1.0])


@pytest.mark.filterwarnings("ignore::unbribable.AssumptionsRefuted")
@pytest.mark.parametrize("domain", [LINE, SQUARE], ids=["grid", "box"])
def test_once_refuted_it_goes_on_as_gp_ucb_and_promises_nothing(domain: ub.Grid | ub.Box) -> None:
    algorithm = ub.QuorumGPUCB(domain, KNOWN, n_lies=1, seed=0)
    rng = np.random.default_rng(3)
    for _ in range(12):
        algorithm.tell(algorithm.ask(), float(rng.uniform(-1.0, 1.0)))
    assert algorithm.refuted is not None
    assert algorithm.refuted < 12
    every, query = algorithm.instances["all"].now, algorithm.ask()
    assert query.ucb >= every.ucb.max()
    assert query.instance in algorithm.instances
    algorithm.tell(algorithm.ask(), 0.1)  # with one pending
    assert algorithm.bounds() is None
    assert algorithm.recommend().regret_bound is None
    resumed = ub.QuorumGPUCB(domain, KNOWN, n_lies=1, seed=0).restore(algorithm.state())
    np.testing.assert_array_equal(resumed.ask().x, algorithm.ask().x)
