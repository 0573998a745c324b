"""What readings share besides f: against the textbook, and never without need."""

import numpy as np
import pytest

from unbribable.doubt.hypotheses import Belief, Data, Hypotheses, Known
from unbribable.doubt.judge import Judge
from unbribable.doubt.shared import codes, features
from unbribable.model.checks import Floats
from unbribable.model.kernels import Matern

N, D = 14, 2
BLOCKS = np.arange(N) // 5
ROUNDS = np.arange(1, N + 1)
_JITTER = 1e-7


def readings() -> tuple[Floats, Floats]:
    rng = np.random.default_rng(3)
    U = rng.random((N, D))
    U[9] = U[2]
    return U, np.sin(4.0 * U.sum(axis=1)) + np.array([0.0, 1.5, -1.0])[BLOCKS] + 0.02 * ROUNDS


def chains(has_drift: bool = True) -> Hypotheses:
    """Two of them, with a lie each."""
    U, y = readings()
    shared = features(BLOCKS, ROUNDS, has_drift=has_drift)
    data = Data(U, y, ROUNDS, np.zeros(N), Known(), shared=shared)
    theta = np.array([[-0.5, 0.3, 0.2, -2.0, 0.1], [0.4, 0.0, -0.3, -1.0, -0.4]])
    z = np.zeros((2, N))
    z[0, 4] = z[1, 7] = 1.0
    return Hypotheses(data, theta, z, np.full(2, 0.5))


class Dense:
    """One of them, by the textbook: lies are left out, everything is a matrix."""

    def __init__(self, found: Hypotheses, k: int, kept: Floats | None = None) -> None:
        data, theta = found.data, found.theta[k]
        self.kernel = Matern(2.5, tuple(np.exp(theta[:2]).tolist()))
        self.scale2, self.noise2, self.mean = np.exp(2 * theta[2]), np.exp(2 * theta[3]), theta[4]
        honest = found.z[k] < 0.5
        self.kept = honest if kept is None else honest & kept
        assert data.shared is not None
        self.U, self.phi, self.y = data.U[self.kept], data.shared[self.kept], data.y[self.kept]
        K = self.scale2 * (self.kernel(self.U, self.U) + _JITTER * np.eye(len(self.U)))
        self.K = K + self.phi @ self.phi.T + self.noise2 * np.eye(len(self.U))

    def at(self, X: Floats, phi: Floats | None = None) -> tuple[Floats, Floats]:
        """Mean and variance of f at X, or of what is read there without noise."""
        cross = self.scale2 * self.kernel(X, self.U)
        prior = np.full(len(X), self.scale2)
        if phi is not None:
            cross, prior = cross + phi @ self.phi.T, prior + (phi**2).sum(axis=1)
        solved = np.linalg.solve(self.K, cross.T)
        return self.mean + solved.T @ (self.y - self.mean), prior - (cross * solved.T).sum(axis=1)


def test_features_are_zero_on_average_over_the_readings() -> None:
    both = features(BLOCKS, ROUNDS, has_drift=True)
    assert both is not None
    assert both.shape == (N, 6)
    np.testing.assert_allclose(both.mean(axis=0), 0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("blocks", "rounds", "has_drift"),
    [(None, ROUNDS, False), (np.zeros(N, int), ROUNDS, False), (None, np.ones(N, int), True)],
)
def test_where_nothing_is_shared_there_is_no_feature(blocks, rounds, has_drift) -> None:  # type: ignore[no-untyped-def]
    assert features(blocks, rounds, has_drift=has_drift) is None


def test_blocks_are_numbered_by_their_first_reading_whatever_they_are_called() -> None:
    found = codes(["b", None, "b", 3, "a", None])
    assert found is not None
    assert found.tolist() == [0, 1, 0, 2, 3, 1]
    assert codes([None, None]) is None


@pytest.mark.parametrize("k", [0, 1])
def test_f_is_predicted_as_by_the_textbook(k: int) -> None:
    found, X = chains(), np.random.default_rng(1).random((6, D))
    mean, var = Belief(found.data, found).each(X)
    mean_, var_ = Dense(found, k).at(X)
    np.testing.assert_allclose(mean[k], mean_, atol=2e-3)  # a lie has a large variance, and is there
    np.testing.assert_allclose(var[k], var_, atol=2e-3)


@pytest.mark.parametrize("k", [0, 1])
def test_so_is_what_others_say_of_a_point(k: int) -> None:
    found = chains()
    kept = np.ones(N, bool)
    kept[[2, 9]] = False
    mean, var = found.elsewhere(np.array([2, 9]))
    mean_, var_ = Dense(found, k, kept).at(found.data.U[2:3])
    np.testing.assert_allclose([mean[k, 0], var[k, 0]], [mean_[0], var_[0]], atol=2e-3)


@pytest.mark.parametrize("k", [0, 1])
def test_a_further_reading_is_compared_with_what_its_block_would_read(k: int) -> None:
    found, X = chains(), np.random.default_rng(1).random((3, D))
    assert found.data.shared is not None
    phi = found.data.shared[[1, 6, 12]]
    _, mean, var = found.further(X, np.zeros(3), np.zeros(3), shared=phi)
    dense = Dense(found, k)
    mean_, var_ = dense.at(X, phi)
    np.testing.assert_allclose(mean[k], mean_, atol=2e-3)
    np.testing.assert_allclose(var[k], var_ + dense.noise2, atol=2e-3)


@pytest.mark.parametrize("k", [0, 1])
def test_offsets_are_estimated_as_by_the_textbook(k: int) -> None:
    found, dense = chains(), Dense(chains(), k)
    mean, covariance = found.weights()
    solved = np.linalg.solve(dense.K, dense.phi)
    np.testing.assert_allclose(mean[k], solved.T @ (dense.y - dense.mean), atol=2e-3)
    expected = np.eye(dense.phi.shape[1]) - dense.phi.T @ solved
    np.testing.assert_allclose(covariance[k], expected, atol=2e-3)


@pytest.mark.parametrize("k", [0, 1])
def test_the_norm_of_f_does_not_count_what_is_shared(k: int) -> None:
    found, dense = chains(), Dense(chains(), k)
    dual = np.linalg.solve(dense.K, dense.y - 0.2)
    norm2 = dense.scale2**2 * dual @ dense.kernel(dense.U, dense.U) @ dual
    assert found.sizes(0.2)[0][k] == pytest.approx(np.sqrt(norm2), rel=2e-3)


def test_in_how_many_steps_they_are_told_makes_no_difference() -> None:
    U, y = readings()
    said = []
    for stops in ((N,), (6, 9, N)):
        judge = Judge(Known(), 6, has_drift=True)
        for n in stops:
            judge.learn(U[:n], y[:n], ROUNDS[:n], blocks=BLOCKS[:n])
        said.append([*judge.predict(U[:3]), *judge.offsets(), *judge.of_blocks()])
    for one, other in zip(*said, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.long
def test_beyond_the_readings_that_are_compared_with_each_other_each_still_has_its_offset() -> None:
    rng = np.random.default_rng(0)
    n = 1100
    U, blocks = rng.random((n, 1)), np.arange(n) % 3
    off = np.array([-1.0, 0.0, 1.0])[blocks]
    y = np.sin(5.0 * U[:, 0]) + off + 0.05 * rng.standard_normal(n)
    judge = Judge(Known(noise_std=0.05), n)
    judge.learn(U, y, np.arange(1, n + 1), blocks=blocks)
    assert np.abs(judge.offsets()[0] - off).max() < 0.1
    assert not judge.verdict().is_flagged.any()
    np.testing.assert_allclose(judge.of_blocks()[0], [-1.0, 0.0, 1.0], atol=0.1)
