"""The one-matrix posterior against dense formulas, scikit-learn, and itself."""

import math
import tracemalloc
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

import unbribable as ub
from by_system import by_system
from contracts.members import ALGORITHMS
from unbribable.model import posterior as posteriors
from unbribable.model.kernels import Kernel
from unbribable.model.posterior import CHECK_EVERY, DRIFT_TOLERANCE, Posterior

X = np.random.default_rng(4).random((40, 2))
KERNEL = ub.Matern(2.5, 0.4)
LAM = 0.03

Reading = tuple[int, float, float]


def covariance_with(posterior, X):
    """Posterior covariance of the points read with X, by a dense solve."""
    u = posterior.X[posterior.u]
    system = posterior.kernel(u, u) + np.diag(1.0 / posterior.prec)
    return np.linalg.solve(system, posterior.kernel(u, X)) / posterior.prec[:, None]


def some_readings(seed: int, n: int, own_noise: bool = False) -> list[Reading]:
    """Raw readings (index, y, lam) that repeat points, as a learner's do."""
    rng = np.random.default_rng(seed)
    points = rng.choice(len(X), size=min(12, n), replace=False)
    lams = [LAM, 4.0 * LAM, 0.1 * LAM] if own_noise else [LAM]
    return [(int(rng.choice(points)), float(rng.normal()), float(rng.choice(lams))) for _ in range(n)]


def told(readings: list[Reading], **words: Any) -> Posterior:
    """A posterior with these readings."""
    posterior = Posterior(KERNEL, X, LAM, **words)
    for i, y, lam in readings:
        posterior.observe(i, y, lam)
    return posterior


@dataclass
class Dense:
    """The textbook: one row per raw reading."""

    readings: list[Reading]
    at: np.ndarray = field(default_factory=lambda: X)

    def __post_init__(self) -> None:
        index = [i for i, _, _ in self.readings]
        y = np.array([value for _, value, _ in self.readings])
        self.lams = np.array([lam for _, _, lam in self.readings])
        K = KERNEL(X[index], X[index])
        k = KERNEL(X[index], self.at)
        self.weights = np.linalg.solve(K + np.diag(self.lams), k)
        self.mu = self.weights.T @ y
        self.var = 1.0 - np.sum(k * self.weights, axis=0)
        scaled = K / np.sqrt(np.outer(self.lams, self.lams))
        self.gain = 0.5 * np.linalg.slogdet(np.eye(len(y)) + scaled)[1]


counts = st.integers(1, 60)
seeds = st.integers(0, 10**6)
LAWS = settings(max_examples=30, deadline=None, derandomize=True)


@LAWS
@given(seed=seeds, n=counts, own_noise=st.booleans(), deferred=st.sampled_from([1, 3, 16]))
def test_the_posterior_is_the_dense_formula(seed: int, n: int, own_noise: bool, deferred: int) -> None:
    """Mean, variance, gain, weights and the noise's share of the variance."""
    readings = some_readings(seed, n, own_noise)
    posterior, dense = told(readings, n_deferred_max=deferred), Dense(readings)
    np.testing.assert_allclose(posterior.mu, dense.mu, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(posterior.var, dense.var, rtol=1e-7, atol=1e-12)
    assert posterior.gain == pytest.approx(dense.gain, rel=1e-9)
    noise_var = np.sum(dense.lams[:, None] * dense.weights**2, axis=0)
    np.testing.assert_allclose(posterior.noise_var, noise_var, rtol=1e-6, atol=1e-12)
    rows = {int(i): row for row, i in enumerate(posterior.u)}
    for (i, _, lam), weights in zip(readings, dense.weights, strict=True):
        np.testing.assert_allclose(posterior.R[rows[i]] / lam, weights, rtol=0.0, atol=1e-7)
    assert (posterior.tally.n_readings, posterior.m) == (n, len(rows))


@pytest.mark.parametrize("own_noise", [False, True])
def test_the_posterior_is_scikit_learns(own_noise: bool) -> None:
    """Mean and standard deviation with the noise as alpha, no fitting of parameters."""
    readings = some_readings(3, 80, own_noise)
    posterior = told(readings)
    index, y, lams = (list(column) for column in zip(*readings, strict=True))
    peer = GaussianProcessRegressor(
        sk.Matern(length_scale=0.4, nu=2.5), alpha=np.array(lams), optimizer=None
    )
    peer.fit(X[index], y)
    mean, std = peer.predict(X, return_std=True)
    np.testing.assert_allclose(posterior.mu, mean, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(np.sqrt(posterior.var), std, rtol=1e-7)


def test_before_any_reading_it_is_the_prior() -> None:
    """Everywhere, and rebuilding it is harmless."""
    posterior = Posterior(KERNEL, X, LAM)
    posterior.rebuild()
    mean, var = by_system(posterior, X + 5.0)
    np.testing.assert_array_equal(posterior.mu, 0.0)
    np.testing.assert_array_equal(posterior.var, 1.0)
    np.testing.assert_array_equal(mean, 0.0)
    np.testing.assert_array_equal(var, 1.0)
    assert covariance_with(posterior, X).shape == (0, len(X))
    assert posterior.R.shape == (0, len(X))
    assert (posterior.gain, posterior.m, posterior.drift(), posterior.n_rebuilds) == (0.0, 0, 0.0, 0)


@LAWS
@given(seed=seeds, n=counts, own_noise=st.booleans())
def test_arbitrary_points_are_served_too(seed: int, n: int, own_noise: bool) -> None:
    """at() by the m x m system is the dense formula at points that are no candidates."""
    readings = some_readings(seed, n, own_noise)
    posterior = told(readings)
    elsewhere = np.random.default_rng(seed).uniform(-0.5, 1.5, (25, 2))
    mean, var = by_system(posterior, elsewhere)
    dense = Dense(readings, elsewhere)
    np.testing.assert_allclose(mean, dense.mu, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(var, dense.var, rtol=1e-7, atol=1e-12)
    mean, var = by_system(posterior, X)
    np.testing.assert_allclose(mean, posterior.mu, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(var, posterior.var, rtol=1e-7, atol=1e-12)


@LAWS
@given(seed=seeds, n=counts, own_noise=st.booleans())
def test_covariance_with_arbitrary_points_continues_the_matrix(
    seed: int, n: int, own_noise: bool
) -> None:
    """R's columns at candidates, and the mean is their sum with precision times reading."""
    posterior = told(some_readings(seed, n, own_noise))
    np.testing.assert_allclose(covariance_with(posterior, X), posterior.R, rtol=0.0, atol=1e-9)
    elsewhere = np.random.default_rng(seed).random((10, 2))
    columns = covariance_with(posterior, elsewhere)
    mean, _ = by_system(posterior, elsewhere)
    np.testing.assert_allclose((posterior.prec * posterior.ybar) @ columns, mean, rtol=0.0, atol=1e-9)


@LAWS
@given(seed=seeds, n=counts, own_noise=st.booleans())
def test_rebuilding_is_what_updating_gave(seed: int, n: int, own_noise: bool) -> None:
    """From the sufficient statistics alone: mean, variance, R, noise share, gain."""
    posterior = told(some_readings(seed, n, own_noise))
    before = posterior.mu.copy(), posterior.var.copy(), posterior.R.copy(), posterior.noise_var.copy()
    gain = posterior.gain
    posterior.rebuild()
    after = posterior.mu, posterior.var, posterior.R, posterior.noise_var
    for one, other in zip(before, after, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-10)
    assert posterior.gain == pytest.approx(gain, rel=1e-9)
    assert posterior.n_rebuilds == 1
    assert posterior.n_floored == 0


@LAWS
@given(seed=seeds, n=counts, deferred=st.integers(2, 40))
def test_deferred_updates_are_immediate_ones(seed: int, n: int, deferred: int) -> None:
    """After every reading, whatever is still waiting."""
    now = Posterior(KERNEL, X, LAM, n_deferred_max=1)
    later = Posterior(KERNEL, X, LAM, n_deferred_max=deferred)
    for i, y, lam in some_readings(seed, n, own_noise=True):
        one, other = now.observe(i, y, lam), later.observe(i, y, lam)
        np.testing.assert_allclose(one.step, other.step, rtol=0.0, atol=1e-10)
        np.testing.assert_allclose(now.mu, later.mu, rtol=0.0, atol=1e-10)
        np.testing.assert_allclose(now.var, later.var, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(now.noise_var, later.noise_var, rtol=1e-7, atol=1e-12)
        np.testing.assert_allclose(now.R, later.R, rtol=0.0, atol=1e-10)
    assert now.gain == pytest.approx(later.gain, rel=1e-10)


@LAWS
@given(seed=seeds, n=counts, own_noise=st.booleans())
def test_items_are_the_readings_of_one_point_with_one_noise(seed: int, n: int, own_noise: bool) -> None:
    """Their weights times lam, each as often as it was read: the multiset of all |weights|."""
    readings = some_readings(seed, n, own_noise)
    posterior, dense = told(readings), Dense(readings)
    columns = np.array([0, 7, 39])
    repeated = np.repeat(
        posterior.tally.weights(posterior.columns(columns)),
        posterior.tally.item_counts.astype(int),
        axis=0,
    )
    expected = np.abs(dense.weights[:, columns]) * LAM
    np.testing.assert_allclose(np.sort(repeated, axis=0), np.sort(expected, axis=0), rtol=0.0, atol=1e-9)
    assert posterior.tally.lam_min == min(lam for _, _, lam in readings)


def test_a_posterior_without_noise_share_has_the_same_mean() -> None:
    """tracks_noise_var only decides whether noise_var is kept."""
    readings = some_readings(2, 50)
    one, other = told(readings), told(readings, tracks_noise_var=False)
    np.testing.assert_allclose(one.mu, other.mu, rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(one.var, other.var, rtol=1e-9)
    np.testing.assert_array_equal(other.noise_var, 0.0)


# --- drift -----------------------------------------------------------------------------------------


def test_drift_measures_an_injected_error_of_the_variance() -> None:
    """Its relative size, at the points read."""
    posterior = told(some_readings(1, 40))
    assert posterior.drift() < DRIFT_TOLERANCE / 100.0
    posterior.var[posterior.u[3]] *= 1.0 + 1e-4
    assert posterior.drift() == pytest.approx(1e-4, rel=1e-3)


def test_the_next_check_mends_a_drifted_posterior() -> None:
    """At the latest CHECK_EVERY readings later, without a new point."""
    readings = some_readings(1, 40)
    posterior = told(readings)
    posterior.var *= 1.0 + 1e-4
    posterior.mu += 0.01
    points = posterior.u.tolist()
    is_rebuilt = False
    for k in range(CHECK_EVERY):
        assert not is_rebuilt
        readings.append((points[0], 0.1 * (k % 3), LAM))
        is_rebuilt = posterior.observe(*readings[-1]).is_rebuilt
        if is_rebuilt:
            break
    assert is_rebuilt
    assert posterior.n_rebuilds == 1
    dense = Dense(readings)
    np.testing.assert_allclose(posterior.mu, dense.mu, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(posterior.var, dense.var, rtol=1e-6)
    assert posterior.drift() < DRIFT_TOLERANCE


@pytest.mark.parametrize("spoilt", ["matrix", "variance", "nothing"])
def test_with_many_points_some_rows_show_the_drift(monkeypatch: pytest.MonkeyPatch, spoilt: str) -> None:
    """They are computed from all the others; no m x m system is factored."""
    monkeypatch.setattr(posteriors, "M_SMALL", 2)
    readings = some_readings(1, 300)
    posterior = told(readings[:200])
    assert posterior.m > 8
    posterior._R.flush()
    posterior._R.blocks[0][: posterior.m] *= 1.0 + 1e-4 * (spoilt == "matrix")
    posterior.var *= 1.0 + 1e-4 * (spoilt == "variance")
    monkeypatch.setattr(Posterior, "drift", None)
    assert posterior._is_off() == (spoilt != "nothing")
    posterior._checked_at = (posterior.m, posterior.tally.n_readings - CHECK_EVERY)
    assert posterior.observe(*readings[200]).is_rebuilt == (spoilt != "nothing")
    np.testing.assert_allclose(posterior.var, Dense(readings[:201]).var, rtol=1e-6)


def test_a_new_point_shows_an_error_of_the_matrix_at_once() -> None:
    """The new row would multiply it by the precision: it is rebuilt first."""
    readings = some_readings(1, 40)
    posterior = told(readings, n_deferred_max=1)
    posterior._R.blocks[0][: posterior.m] += 1e-3
    new = next(i for i in range(len(X)) if i not in posterior.u)
    readings.append((new, 0.3, LAM))
    assert posterior.observe(*readings[-1]).is_rebuilt
    dense = Dense(readings)
    np.testing.assert_allclose(posterior.mu, dense.mu, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(posterior.var, dense.var, rtol=1e-6)


def test_a_negative_variance_is_mended_not_clamped() -> None:
    """It is a sign of drift: the next reading rebuilds."""
    readings = some_readings(1, 40)
    posterior = told(readings)
    posterior.var[0] = -0.5
    readings.append((readings[0][0], 0.0, LAM))
    assert posterior.observe(*readings[-1]).is_rebuilt
    np.testing.assert_allclose(posterior.var, Dense(readings).var, rtol=1e-6)


def test_a_long_run_at_tiny_noise_stays_within_the_drift_tolerance() -> None:
    """lam = 1e-6, thousands of readings: sigma against the m x m system."""
    posterior = Posterior(ub.SquaredExponential(0.3), X, 1e-6)
    rng = np.random.default_rng(0)
    for _ in range(3000):
        posterior.observe(int(rng.integers(len(X))), float(rng.normal()))
    _, var = by_system(posterior, X)
    np.testing.assert_allclose(np.sqrt(posterior.var), np.sqrt(var), rtol=1e-5)
    assert (posterior.var > 0.0).all()
    assert posterior.drift() < 10.0 * DRIFT_TOLERANCE


def test_an_unresolvable_system_is_named_not_guessed() -> None:
    """Two points float64 cannot tell apart and no noise to speak of: the message names lam."""
    twins = np.array([[0.0], [1e-9], [1.0]])
    posterior = Posterior(ub.SquaredExponential(1.0), twins, 1e-20)
    posterior.observe(0, 0.0)
    with pytest.raises(np.linalg.LinAlgError, match=r"raise lam \(now 1e-20\)"):
        posterior.observe(1, 0.0)


# --- further candidates ----------------------------------------------------------------------------


def assert_same_beliefs(posterior: Posterior, whole: Posterior) -> None:
    """Of the candidates there are, as in a posterior that had all of them from the start."""
    n = len(posterior.X)
    assert len(posterior.mu) == len(posterior.var) == len(posterior.noise_var) == n
    np.testing.assert_array_equal(posterior.X, whole.X[:n])
    np.testing.assert_array_equal(posterior.u, whole.u)
    np.testing.assert_allclose(posterior.mu, whole.mu[:n], rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(posterior.var, whole.var[:n], rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(posterior.noise_var, whole.noise_var[:n], rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(posterior.R, whole.R[:, :n], rtol=0.0, atol=1e-9)
    columns = np.arange(n)
    weights = posterior.tally.weights(posterior.columns(columns))
    own = whole.tally.weights(whole.columns(columns))
    np.testing.assert_allclose(weights, own, rtol=0.0, atol=1e-9)
    assert posterior.gain == pytest.approx(whole.gain, rel=1e-9)


# A number below 4 takes in so many candidates more, any other reads one.
steps = st.lists(st.integers(0, 12), min_size=1, max_size=60)


@LAWS
@given(
    seed=seeds,
    n_first=st.integers(1, 20),
    steps=steps,
    own_noise=st.booleans(),
    deferred=st.sampled_from([1, 3, 16]),
    tracks=st.booleans(),
)
def test_candidates_taken_in_later_are_as_if_they_had_been_there_from_the_start(
    seed: int, n_first: int, steps: list[int], own_noise: bool, deferred: int, tracks: bool
) -> None:
    """After any interleaving of readings and further candidates, before the first reading too."""
    rng = np.random.default_rng(seed)
    words = {"n_deferred_max": deferred, "tracks_noise_var": tracks}
    posterior = Posterior(KERNEL, X[:n_first], LAM, **words)
    whole = Posterior(KERNEL, X, LAM, **words)
    n = n_first
    for step in steps:
        if step < 4:
            n = min(len(X), n + step)
            assert not posterior.extend(X[:n])
        else:
            lam = float(rng.choice([LAM, 4.0 * LAM, 0.1 * LAM])) if own_noise else LAM
            i, y = int(rng.integers(n)), float(rng.normal())
            update, other = posterior.observe(i, y, lam), whole.observe(i, y, lam)
            np.testing.assert_allclose(update.step, other.step[:n], rtol=0.0, atol=1e-9)
        if step % 3 == 0:
            assert_same_beliefs(posterior, whole)
    posterior.extend(X)
    assert_same_beliefs(posterior, whole)
    assert (posterior.n_rebuilds, posterior.n_floored) == (0, 0)


@LAWS
@given(seed=seeds, n=counts, own_noise=st.booleans(), deferred=st.sampled_from([1, 3, 16]))
def test_columns_elsewhere_are_a_dense_solve_by_rows_and_by_columns(
    seed: int, n: int, own_noise: bool, deferred: int
) -> None:
    """With readings that wait, and with room for candidates that are not there yet."""
    posterior = Posterior(KERNEL, X[:36], LAM, n_deferred_max=deferred)
    readings = [(i % 36, y, lam) for i, y, lam in some_readings(seed, n, own_noise)]
    for k, reading in enumerate(readings):
        posterior.observe(*reading)
        if 2 * k == n:
            posterior.extend(X[:38])
    elsewhere = np.random.default_rng(seed).uniform(-0.5, 1.5, (3, 2))
    expected = covariance_with(posterior, elsewhere)
    cross = KERNEL(X[posterior.u], elsewhere)
    for m_small in (512, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("unbribable.model.posterior.M_SMALL", m_small)
            columns = posterior.columns_for(cross)
        np.testing.assert_allclose(columns, expected, rtol=0.0, atol=1e-9)


def test_before_the_first_reading_further_candidates_have_the_prior() -> None:
    """Many times over, and the first reading then reaches them."""
    posterior = Posterior(KERNEL, X[:1], LAM)
    for n in (1, 2, 7, 40):
        assert not posterior.extend(X[:n])
        np.testing.assert_array_equal(posterior.mu, np.zeros(n))
        np.testing.assert_array_equal(posterior.var, np.ones(n))
        assert posterior.R.shape == (0, n)
    posterior.observe(33, 0.7)
    np.testing.assert_allclose(posterior.mu, 0.7 / (1.0 + LAM) * KERNEL(X[33:34], X)[0], atol=1e-12)


def test_no_further_candidates_change_nothing() -> None:
    posterior = told(some_readings(5, 30))
    before = posterior.mu.copy(), posterior.var.copy(), posterior.noise_var.copy(), posterior.R.copy()
    assert not posterior.extend(X)
    after = posterior.mu, posterior.var, posterior.noise_var, posterior.R
    for one, other in zip(before, after, strict=True):
        np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-12)


def test_a_candidate_taken_in_later_may_be_read() -> None:
    """Its row, and what is told of it, go on as those of any other."""
    readings = some_readings(6, 25)
    known = max(i for i, _, _ in readings) + 1
    posterior = Posterior(KERNEL, X[:known], LAM)
    for reading in readings:
        posterior.observe(*reading)
    rng = np.random.default_rng(0)
    for n in range(known + 1, len(X) + 1):
        posterior.extend(X[:n])
        for i in (n - 1, int(rng.integers(n)), n - 1):
            readings.append((i, float(rng.normal()), LAM))
            posterior.observe(*readings[-1])
    dense = Dense(readings)
    np.testing.assert_allclose(posterior.mu, dense.mu, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(posterior.var, dense.var, rtol=1e-6)


def test_a_spoiled_matrix_is_noticed_by_the_witness_column_and_rebuilt() -> None:
    """Of the point read last: it is computed along with the new ones, and known already."""
    readings = [reading for reading in some_readings(1, 60) if reading[0] < 30]
    posterior = Posterior(KERNEL, X[:30], LAM, n_deferred_max=1)
    for reading in readings:
        posterior.observe(*reading)
    posterior._R.blocks[0][: posterior.m, :30] += 1e-3
    assert posterior.extend(X)
    assert posterior.n_rebuilds == 1
    dense = Dense(readings)
    np.testing.assert_allclose(posterior.mu, dense.mu, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(posterior.var, dense.var, rtol=1e-6)
    np.testing.assert_allclose(covariance_with(posterior, X), posterior.R, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize(("size", "n_noticed"), [(1e-15, 0), (1e-7, 8), (1e-4, 8)])
def test_one_wrong_entry_between_points_read_is_noticed_if_it_matters(
    size: float, n_noticed: int
) -> None:
    """In any row: the new candidates are right, whether it was noticed or too small to matter."""
    readings = [reading for reading in some_readings(1, 60) if reading[0] < 30]
    dense = Dense(readings)
    found = 0
    for row in range(8):
        posterior = Posterior(KERNEL, X[:30], LAM, n_deferred_max=1)
        for reading in readings:
            posterior.observe(*reading)
        posterior._R.blocks[0][row, posterior.u[(row + 3) % posterior.m]] += size
        found += posterior.extend(X)
        np.testing.assert_allclose(posterior.mu[30:], dense.mu[30:], rtol=0.0, atol=1e-8)
        np.testing.assert_allclose(posterior.var[30:], dense.var[30:], rtol=1e-6)
    assert found == n_noticed


@pytest.mark.parametrize(("lam", "tolerance"), [(0.1, 1e-9), (1e-2, 1e-7)])
def test_candidates_taken_in_during_a_long_run_have_the_variance_of_the_m_by_m_system(
    lam: float, tolerance: float
) -> None:
    """Thousands of readings, hundreds of each point."""
    posterior = Posterior(ub.SquaredExponential(0.3), X[:10], lam)
    rng = np.random.default_rng(0)
    n = 10
    for k in range(2000):
        posterior.observe(int(rng.integers(n)), float(rng.normal()))
        if k % 60 == 0 and n < len(X):
            n += 1
            assert not posterior.extend(X[:n])
            mean, var = by_system(posterior, X[:n])
            np.testing.assert_allclose(posterior.var, var, rtol=tolerance)
            assert (np.abs(posterior.mu - mean) <= 10.0 * tolerance * np.sqrt(var)).all()
    assert n == len(X)


def test_a_further_candidate_that_float64_cannot_tell_from_a_point_read_is_floored() -> None:
    """A distance of 1e-9 at lam = 1e-16: its variance, a difference, would be rounding alone."""
    posterior = Posterior(ub.SquaredExponential(0.3), X[:10], 1e-16)
    for i in range(3):
        posterior.observe(i, 0.5)
    assert posterior.extend(np.concatenate([X[:10], X[1:2] + 1e-9]))
    assert posterior.n_floored == 1
    assert (posterior.var > 0.0).all()
    assert posterior.mu[10] == pytest.approx(0.5, abs=1e-6)


# --- memory ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spy(Kernel):
    """A squared exponential that remembers the shapes it was asked for."""

    shapes: list[tuple[int, int]] = field(default_factory=list)

    def __call__(self, X: np.ndarray, other: np.ndarray) -> np.ndarray:
        self.shapes.append((len(X), len(other)))
        return ub.SquaredExponential(0.2)(X, other)

    def diag(self, X: np.ndarray) -> np.ndarray:
        return np.ones(len(X))


@pytest.mark.parametrize(
    ("name", "words"),
    [*((name, {}) for name in ALGORITHMS), ("gp-ucb", {"beta": 2.0}), ("gp-ucb", {"gain": "certified"})],
    ids=str,
)
def test_no_n_by_n_matrix_is_ever_asked_for(name: str, words: dict[str, Any]) -> None:
    """On 30 000 candidates nothing larger than m rows; memory stays a small multiple of m n."""
    n, n_rounds = 30_000, 24
    side = math.ceil(math.sqrt(n))
    axis = np.linspace(0.0, 1.0, side)
    points = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)[:n]
    spy = Spy()
    assumed = ub.Assumptions(spy, B=1.0, B0=1.0, noise_std=0.1, lam=0.05)
    tracemalloc.start()
    algorithm = ALGORITHMS[name](ub.Grid(points), assumed, C=2.0, T=40, **words)
    for k in range(n_rounds):
        query = algorithm.ask()
        algorithm.tell(query, 0.1 * (k % 3))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    m = max(instance.posterior.m for instance in algorithm.instances.values())
    assert m <= n_rounds
    assert max(rows * columns for rows, columns in spy.shapes) <= 2 * n_rounds * n
    assert peak < 8 * n * 150 * (1 + len(algorithm.instances))
    assert peak < 8 * n * n / 10


def test_a_point_without_prior_variance_does_not_blind_the_drift_check() -> None:
    """A linear kernel knows f(0) = 0: reading the origin teaches nothing and divides by nothing."""
    X = np.linspace(-1.0, 1.0, 5)[:, None]
    posterior = Posterior(ub.Linear(1.0), X, 0.1)
    for i in (2, 2, 0, 2, 1, 3, 4, 2):
        posterior.observe(i, 0.3)
    assert posterior.var[2] == 0.0
    assert posterior.mu[2] == 0.0
    assert posterior.drift() < 1e-12
    posterior.var[0] *= 1.01
    assert posterior.drift() > 1e-3
