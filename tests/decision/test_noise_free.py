"""Worlds with next to no noise: the intervals are as narrow as rounding, and f is inside."""

import warnings
from collections.abc import Callable

import numpy as np
import pytest

import unbribable as ub
from contracts.members import ALGORITHMS
from unbribable.decision.algorithm import Algorithm
from unbribable.decision.proven.certain import certain

X = np.linspace(0, 1, 60)[:, None]


@pytest.mark.parametrize("lam", [1e-5, 1e-6, 1e-7])
@pytest.mark.parametrize("d", [2, 3, 5])
def test_a_linear_world_without_noise_is_not_refuted(d: int, lam: float) -> None:
    """Eight of them: f stays within its bounds at every candidate, and no reading is called a lie."""
    X = np.random.default_rng(0).random((80, d))
    kernel = ub.Linear(np.sqrt(d))
    assumptions = ub.Assumptions(kernel, B=1.0, B0=1.0, noise_std=0.0, lam=lam)
    for seed in range(8):
        slope = np.random.default_rng(seed).standard_normal(d)
        f = X @ slope / np.linalg.norm(slope) / np.sqrt(d)
        algorithm = ub.RobustGPUCB(ub.Grid(X), assumptions, C=1e-9)
        with warnings.catch_warnings():
            warnings.simplefilter("error", ub.AssumptionsRefuted)
            for _ in range(30):
                query = algorithm.ask()
                algorithm.tell(query, float(f[query.index]))
        main = algorithm.instances["main"]
        assert (f <= main.ucb_bar).all()
        assert (f >= main.lcb_bar).all()
        assert not certain(algorithm)


@pytest.mark.parametrize("lam", [1e-5, 1e-6, 1e-8])
def test_the_variance_is_right_where_nobody_has_read(lam: float) -> None:
    """At every candidate, relatively, after as many points as the space has dimensions."""
    X = np.random.default_rng(0).random((80, 3))
    posterior = ub.Posterior(ub.Linear(np.sqrt(3)), X, lam)
    for i in range(3):
        posterior.observe(i, 0.1)
    exact = np.linalg.inv(X[:3].T @ X[:3] + 3.0 * lam * np.eye(3))  # the same by the slopes, 3 x 3
    var = lam * np.einsum("xi,ij,xj->x", X, exact, X)
    np.testing.assert_allclose(posterior.var, var, rtol=1e-6)
    assert posterior.n_rebuilds == 0


Told = dict[int, tuple[int, float]]
"""Round -> candidate and lie."""

PLAYERS: dict[str, Callable[[ub.Assumptions], Algorithm]] = {
    "robust": lambda known: ALGORITHMS["robust"](ub.Grid(X), known, C=3.0 * known.c_max),
    "ladder": lambda known: ALGORITHMS["ladder"](ub.Grid(X), known, unit=0.5 * known.c_max),
    "fast-slow": lambda known: ALGORITHMS["fast-slow"](ub.Grid(X), known, C=3.0 * known.c_max, seed=1),
    "layers": lambda known: ub.LayeredGPUCB(ub.Grid(X), known, C=3.0 * known.c_max, seed=1),
}


def with_liar(name: str, lam: float, cap: float, seed: int) -> tuple[Algorithm, np.ndarray, Told]:
    """Thirty rounds with next to no noise and three lies as large as can be; f, and what was told."""
    kernel = [ub.Matern(2.5, 0.2), ub.SquaredExponential(0.1), ub.SquaredExponential(0.5)][seed % 3]
    rng = np.random.default_rng([seed, 1])
    centres, h = X[rng.integers(60, size=4)], rng.standard_normal(4)
    f = kernel(X, centres) @ (h / np.sqrt(h @ kernel(centres, centres) @ h))
    noise_std = 1e-4 * lam**0.5
    known = ub.Assumptions(kernel, B=1.0, B0=1.0, noise_std=noise_std, lam=lam, delta=0.1, c_max=cap)
    algorithm, told = PLAYERS[name](known), {}
    lies = dict.fromkeys(rng.choice(np.arange(1, 11), 3, replace=False).tolist(), cap)
    for t in range(1, 31):
        query = algorithm.ask()
        told[t] = (query.index, lies.get(t, 0.0) * float(rng.choice([-1.0, 1.0])))
        noise = noise_std * float(rng.standard_normal())
        algorithm.tell(query, float(f[query.index]) + noise + told[t][1])
    return algorithm, f, told


@pytest.mark.parametrize("cap", [1.0, 1e3])
@pytest.mark.parametrize("lam", [1e-8, 1e-12])
@pytest.mark.parametrize("name", PLAYERS)
def test_what_is_said_is_true_where_somebody_lies_and_lam_is_tiny(
    name: str, lam: float, cap: float
) -> None:
    """Intervals and certificates of points read and not read, prices, and who is called a liar."""
    for seed in range(3):
        algorithm, f, told = with_liar(name, lam, cap, seed)
        words = {"C": 3.0 * cap} if name in ("ladder", "layers") else {}
        assert algorithm.refuted is None
        for i in {0, 30, *(index for index, _ in told.values())}:
            found = algorithm.recommend(x=X[i], **words)
            assert found.probability is not None
            assert found.lower <= f[i] <= found.upper
            assert f.max() - f[i] <= found.regret_bound
        for eps in (1e-6, 1e-3, 0.1):
            for i in (0, told[30][0]):
                value = algorithm.price(eps=eps, x=X[i]).value
                assert value is None or value < 3.0 * cap or f.max() - f[i] <= eps
        assert certain(algorithm).keys() <= {t for t, (_, lie) in told.items() if lie}
