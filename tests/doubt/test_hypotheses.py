"""The hypotheses against dense solves and loops (`naive`), and against sums over all verdicts."""

import copy
import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from doubt import naive
from unbribable.doubt.hypotheses import (
    FARTHEST,
    Belief,
    Data,
    Hypotheses,
    Known,
    location_and_scale,
    log_share,
    prior,
)
from unbribable.model.checks import Floats
from unbribable.model.kernels import Linear, Matern, SquaredExponential

KNOWN: dict[str, Known] = {
    "nothing": Known(),
    "kernel": Known(kernel=SquaredExponential(0.4)),
    "a kernel that is not stationary": Known(kernel=Linear(2.0), center=0.0),
    "noise": Known(noise_std=0.1),
    "center": Known(center=0.3),
    "all": Known(Matern(1.5, (0.3, 0.9)), 0.2, -0.1),
}
EACH = pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)


def data_of(known: Known = Known(), n: int = 9, d: int = 2, seed: int = 0) -> Data:  # noqa: B008
    """Readings in no order of time, two of one point, lies, doubts, and noises of their own."""
    rng = np.random.default_rng(seed)
    U = rng.random((n, d))
    U[4] = U[1]
    y = np.sin(4.0 * U.sum(axis=1)) + 0.1 * rng.standard_normal(n)
    y[[2, 5]] += [3.0, -2.0]
    doubt = np.zeros(n)
    doubt[[0, 3]] = 4.0, math.inf
    return Data(U, y, rng.permutation(n) + 1, doubt, known, rng.choice([0.05, np.nan, 0.3], n))


def states(data: Data, seed: int = 1, n_chains: int = 6) -> Hypotheses:
    """States that differ, about a third of the readings lies in each."""
    rng = np.random.default_rng(seed)
    start = Hypotheses.drawn(data, rng, n_chains)
    z = np.where(data.is_certain, 1.0, rng.random(start.z.shape) < 0.3)
    noise = 0 if data.known.noise_std is not None else 1
    theta = start.theta
    if noise:  # not so small that the naive solves lose their digits
        column = (data.d if data.known.kernel is None else 0) + 1
        theta[:, column] = rng.uniform(-3.0, 0.0, n_chains)
    return Hypotheses(data, theta, z, start._step)


# --- densities -----------------------------------------------------------------------------------


@EACH
def test_the_joint_density_is_the_naive_one_up_to_a_constant(known: Known) -> None:
    hypotheses = states(data_of(known), n_chains=12)
    assert len(set(hypotheses.z.sum(axis=1))) > 2
    expected = [
        naive.log_joint(hypotheses.data, theta, z)
        for theta, z in zip(hypotheses.theta, hypotheses.z, strict=True)
    ]
    np.testing.assert_allclose(np.ptp(hypotheses._log_joint() - expected), 0.0, atol=2e-3)


@EACH
def test_the_density_of_theta_is_the_naive_one_up_to_a_constant(known: Known) -> None:
    """By which moves of theta are accepted: the verdicts are the same in all chains."""
    hypotheses = states(data_of(known), n_chains=12)
    z = hypotheses.z[0]
    found = hypotheses._log_density(hypotheses.theta, np.tile(z, (12, 1)))
    expected = [naive.log_joint(hypotheses.data, theta, z) for theta in hypotheses.theta]
    np.testing.assert_allclose(np.ptp(found - expected), 0.0, atol=2e-3)


def test_theta_outside_its_limits_has_no_density() -> None:
    hypotheses = states(data_of())
    for column, (_, _, low, high) in enumerate(prior(hypotheses.data)):
        for value in (low - 0.01, high + 0.01):
            theta = hypotheses.theta.copy()
            theta[0, column] = value
            found = hypotheses._log_density(theta)
            assert found[0] == -np.inf
            assert np.isfinite(found[1:]).all()


@pytest.mark.parametrize("n", [1, 2, 3, 7, 12])
def test_that_lies_come_together_makes_no_number_of_them_more_likely(n: int) -> None:
    """Against a list of all sets; all being lies was as probable as none, before this was divided by."""
    found = log_share(n)
    for k in range(n + 1):
        assert found[k] == pytest.approx(-math.log(naive.mean_over_sets(n, k)), abs=1e-12)


def test_the_prior_of_lies_adds_up_to_one_and_their_number_is_beta_binomial() -> None:
    n, total = 8, np.zeros(9)
    order = np.random.default_rng(0).permutation(n)
    for z in itertools.product([0.0, 1.0], repeat=n):
        total[round(sum(z))] += math.exp(naive.log_prior_of_lies(np.array(z), order))
    weights = [math.exp(math.lgamma(12 + n - k) - math.lgamma(1 + n - k)) for k in range(n + 1)]
    np.testing.assert_allclose(total / total.sum(), np.array(weights) / sum(weights), rtol=1e-9)


# --- verdicts ------------------------------------------------------------------------------------


class Unmoved:
    """Draws by which every verdict stays as it is."""

    def __init__(self, z: Floats) -> None:
        self._z = z

    def permuted(self, ranks: Floats, axis: int) -> Floats:
        return ranks

    def random(self, shape: Any) -> Floats:
        return 1.0 - self._z


@EACH
def test_the_chance_of_a_lie_is_that_of_the_two_joint_densities(known: Known) -> None:
    hypotheses = states(data_of(known))
    z = hypotheses.z.copy()
    hypotheses.judge(Unmoved(z))  # type: ignore[arg-type]
    np.testing.assert_array_equal(hypotheses.z, z)
    for p, (theta, z) in enumerate(zip(hypotheses.theta, hypotheses.z, strict=True)):
        for i in range(hypotheses.data.n):
            if not hypotheses.data.is_certain[i]:
                expected = naive.chance(hypotheses.data, theta, z, i)
                assert hypotheses.chance[p, i] == pytest.approx(expected, abs=2e-4)


@EACH
@pytest.mark.parametrize("seed", range(3))
def test_a_pass_of_verdicts_with_rank_one_flips_is_one_that_solves_afresh(
    known: Known, seed: int
) -> None:
    """By the same draws. A flip changes what is thought of the next ones."""
    hypotheses = states(data_of(known, seed=seed), seed)
    data, before = hypotheses.data, hypotheses.z.copy()
    rng = np.random.default_rng(seed)
    ranks = rng.permuted(np.tile(np.arange(data.n), (len(before), 1)), axis=1)
    draws = rng.random(before.shape)
    hypotheses.judge(np.random.default_rng(seed))
    for p, theta in enumerate(hypotheses.theta):
        expected = naive.verdicts(data, theta, before[p], ranks[p], draws[p])
        np.testing.assert_array_equal(hypotheses.z[p], expected)
    assert (hypotheses.z != before).sum() > 3
    fresh = Hypotheses(data, hypotheses.theta, hypotheses.z, hypotheses._step)
    np.testing.assert_allclose(hypotheses._density, fresh._density, atol=1e-6)
    fresh._solve()
    for own, other in zip(hypotheses._inverse, fresh._inverse, strict=True):
        np.testing.assert_allclose(own, other, atol=1e-5 * np.abs(other).max())


def test_the_chances_after_a_pass_are_those_of_the_verdicts_that_it_left() -> None:
    """Of readings, too, whose verdict has just changed; noise so large that flips lose no digits."""
    hypotheses = states(data_of(Known(noise_std=0.5)))
    before = hypotheses.z.copy()
    hypotheses.judge(np.random.default_rng(2))
    assert (hypotheses.z != before).any(axis=0).sum() >= 5
    fresh = Hypotheses(hypotheses.data, hypotheses.theta, hypotheses.z, hypotheses._step)
    fresh.judge(Unmoved(fresh.z.copy()))  # type: ignore[arg-type]
    np.testing.assert_allclose(hypotheses.chance, fresh.chance, atol=2e-3)


@pytest.mark.parametrize("noise_std", [0.1, 0.03, 0.001])
def test_flips_lose_no_digits_where_noise_is_small(noise_std: float) -> None:
    hypotheses, rng = states(data_of(Known(noise_std=noise_std))), np.random.default_rng(0)
    for _ in range(3):
        hypotheses.judge(rng)
    fresh = Hypotheses(hypotheses.data, hypotheses.theta, hypotheses.z, hypotheses._step)
    fresh.judge(Unmoved(fresh.z.copy()))  # type: ignore[arg-type]
    np.testing.assert_allclose(hypotheses.chance, fresh.chance, atol=1e-6)


def test_neighbours_are_those_in_time_and_not_in_the_order_of_telling() -> None:
    rounds = np.array([30, 10, 20, 60, 50, 40])
    data = Data(np.zeros((6, 1)), np.arange(6.0), rounds, np.zeros(6), Known())
    assert naive.in_time(data) == [1, 2, 0, 5, 4, 3]
    assert data.before.tolist() == [2, 6, 1, 4, 5, 0]


def test_what_is_certain_stays_a_lie() -> None:
    hypotheses, rng = states(data_of()), np.random.default_rng(0)
    for _ in range(5):
        hypotheses.sweep(rng)
        assert (hypotheses.z[:, 3] == 1.0).all()
        assert (hypotheses.chance[:, 3] == 1.0).all()


@EACH
def test_what_the_others_say_of_a_reading_is_the_posterior_without_it(known: Known) -> None:
    hypotheses = states(data_of(known))
    mean, var = hypotheses.predicted()
    for p, (theta, z) in enumerate(zip(hypotheses.theta, hypotheses.z, strict=True)):
        for i in range(hypotheses.data.n):
            expected, expected_var = naive.alone(hypotheses.data, theta, z, i)
            assert mean[p, i] == pytest.approx(expected, abs=1e-3)
            assert var[p, i] == pytest.approx(expected_var, rel=1e-3, abs=1e-4)


@EACH
def test_elsewhere_is_the_posterior_with_the_points_own_readings_deleted(known: Known) -> None:
    hypotheses = states(data_of(known))
    data = hypotheses.data
    for own in (np.array([1, 4]), np.array([0])):
        mean, var = hypotheses.elsewhere(own)
        for p, (theta, z) in enumerate(zip(hypotheses.theta, hypotheses.z, strict=True)):
            kept = np.array([i for i in range(data.n) if i not in own and not z[i]], dtype=int)
            m, v = naive.Process.of(data, theta).posterior(
                data.U[own[:1]], data.U[kept], data.y[kept], naive.known_of(data)[kept]
            )
            assert mean[p, 0] == pytest.approx(m[0], abs=2e-3)
            assert var[p, 0] == pytest.approx(v[0], abs=2e-3)


@pytest.mark.parametrize("n", [1, 2])
def test_without_noise_equal_points_and_few_readings_nothing_divides_by_zero(n: int) -> None:
    U, y = np.full((n + 3, 1), 0.5), np.append(np.zeros(n + 2), 1.0)
    data = Data(U, y, np.arange(n + 3), np.zeros(n + 3), Known(noise_std=0.0))
    hypotheses, rng = Hypotheses.drawn(data, np.random.default_rng(0)), np.random.default_rng(1)
    for _ in range(20):
        hypotheses.sweep(rng)
    assert np.isfinite(hypotheses.chance).all()
    mean, sd = Belief(data, hypotheses).at(U)
    assert np.isfinite(mean).all()
    assert (sd >= 0.0).all()


# --- the right posterior -------------------------------------------------------------------------


def enumerated(data: Data, thetas: Floats) -> tuple[Floats, Floats]:
    """P(lie) of each reading, and the weight of each theta, by a sum over all of both."""
    verdicts = [
        np.array(z)
        for z in itertools.product([0.0, 1.0], repeat=data.n)
        if all(z[i] for i in np.flatnonzero(data.is_certain))
    ]
    logs = np.array([[naive.log_joint(data, theta, z) for z in verdicts] for theta in thetas])
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    return weights.sum(axis=0) @ np.array(verdicts), weights.sum(axis=1)


def six_readings(known: Known) -> Data:
    """Honest ones, two in doubt side by side in time, one odd value."""
    U = np.array([[0.0], [0.2], [0.4], [0.6], [0.8], [1.0]])
    y = np.array([0.0, 0.35, 1.5, 0.6, -0.6, 0.5])
    doubt = np.array([0.0, 0.0, 0.5, 1.0, 0.0, 0.0])
    return Data(U, y, np.array([3, 5, 1, 2, 4, 6]), doubt, known)


def test_the_share_of_lies_over_many_passes_is_the_sum_over_all_verdicts() -> None:
    data = six_readings(Known(Matern(2.5, 0.3), 0.2, 0.2))
    theta = np.full((64, 1), 0.1)
    expected, _ = enumerated(data, theta[:1])
    assert ((expected > 0.04) & (expected < 0.96)).sum() >= 4
    rng = np.random.default_rng(0)
    hypotheses = Hypotheses(data, theta, np.zeros((64, 6)), np.full(64, 0.5))
    share = np.zeros(6)
    for k in range(170):
        hypotheses.judge(rng)
        share += hypotheses.z.mean(axis=0) * (k >= 20) / 150
    np.testing.assert_allclose(share, expected, atol=0.025)


@pytest.mark.parametrize(
    ("n_sweeps", "atol"), [(40, 0.06), pytest.param(600, 0.015, marks=pytest.mark.long)]
)
@pytest.mark.parametrize("center", [0.2, None])
def test_sweeps_draw_theta_and_verdicts_from_their_posterior(
    n_sweeps: int, atol: float, center: float | None
) -> None:
    """The scale is free, and the mean: against sums over a grid of them."""
    data = six_readings(Known(Matern(2.5, 0.3), 0.2, center))
    means = [] if center is not None else [np.linspace(-3.5, 3.5, 15)]
    grid = np.array(list(itertools.product(np.linspace(-2.2, 2.2, 12), *means)))
    expected, weights = enumerated(data, grid)
    rng = np.random.default_rng(5)
    hypotheses = Hypotheses.drawn(data, rng, 256)
    share, mean = np.zeros(6), np.zeros(grid.shape[1])
    for k in range(n_sweeps + 40):
        hypotheses.sweep(rng)
        share += hypotheses.z.mean(axis=0) * (k >= 40) / n_sweeps
        mean += hypotheses.theta.mean(axis=0) * (k >= 40) / n_sweeps
    np.testing.assert_allclose(share, expected, atol=atol)
    np.testing.assert_allclose(mean, weights @ grid, atol=2.0 * atol)


# --- units ---------------------------------------------------------------------------------------


def test_robust_units_are_median_and_quartiles() -> None:
    y = np.array([5.0, 1.0, 2.0, 4.0, 3.0])
    assert location_and_scale(y) == (3.0, pytest.approx(2.0 / 1.349))
    assert location_and_scale(np.append(y, [3.0, 1e9, -1e9, 3.0])) == (
        3.0,
        pytest.approx(2.0 / 1.349),
    )


@pytest.mark.parametrize(
    ("y", "location", "scale"),
    [
        ([7.0] * 9 + [8.0], 7.0, 7.0),  # |median|: seven tenths agree, too
        ([2.0] * 6 + [1.0, 3.0, 4.0, 5.0], 2.0, None),
        ([0.0] * 9, 0.0, 1.0),
        ([3.5], 3.5, 3.5),
    ],
)
def test_where_the_quartiles_agree_others_stand_in(
    y: list[float], location: float, scale: float | None
) -> None:
    found = location_and_scale(np.array(y))
    assert found[0] == location
    assert found[1] > 0.0
    if scale is not None:
        assert found[1] == scale


@pytest.mark.parametrize(("a", "b"), [(2.0, 0.0), (0.25, 8.0), (-4.0, 1.0)])
def test_readings_in_robust_units_do_not_depend_on_unit_and_origin(a: float, b: float) -> None:
    data = data_of()
    told = data.origin + data.unit * data.y
    moved = Data(data.U, a * told + b, np.arange(data.n), data.doubt, Known())
    np.testing.assert_allclose(moved.y, np.sign(a) * data.y, rtol=1e-9, atol=1e-9)


def test_readings_are_cut_far_away() -> None:
    y = np.array([0.0, 1.0, 2.0, 3.0, 1e300, -1e300])
    found = Data(np.zeros((6, 1)), y, np.arange(6), np.zeros(6), Known()).y
    assert found.max() == FARTHEST
    assert found.min() == -FARTHEST


# --- chains --------------------------------------------------------------------------------------


@EACH
def test_chains_go_on_about_more_readings_with_the_same_f_and_noise(known: Known) -> None:
    """In the unit of the readings; robust units are others."""
    hypotheses, data = states(data_of(known)), data_of(known)
    U = np.concatenate([data.U, [[0.5, 0.5], [0.1, 0.9]]])
    y = np.append(data.origin + data.unit * data.y, [7.0, 9.0])
    doubt = np.append(data.doubt, [0.0, math.inf])
    more = Data(U, y, np.arange(11), doubt, known)
    assert more.unit != data.unit
    further = hypotheses.continued(more)
    for old, new in zip(hypotheses.theta, further.theta, strict=True):
        before, after = naive.Process.of(data, old), naive.Process.of(more, new)
        np.testing.assert_allclose(after.lengthscales, before.lengthscales)
        assert after.scale * more.unit == pytest.approx(before.scale * data.unit)
        assert after.noise * more.unit == pytest.approx(before.noise * data.unit)
        means = (more.origin + more.unit * after.mean, data.origin + data.unit * before.mean)
        assert means[0] == pytest.approx(means[1])
    np.testing.assert_array_equal(further.z[:, :9], hypotheses.z)
    np.testing.assert_array_equal(further.z[:, 9:], np.tile([0.0, 1.0], (6, 1)))
    further.z[:] = 1.0
    further.theta[:] = 0.0
    assert hypotheses.z.min() == 0.0
    assert np.abs(hypotheses.theta).min() > 0.0


def test_chains_about_some_readings_go_on_about_all() -> None:
    whole = data_of()
    places = np.array([0, 2, 3, 5, 8])
    y = (whole.origin + whole.unit * whole.y)[places]
    part = Data(whole.U[places], y, np.arange(5), whole.doubt[places], Known())
    hypotheses = states(part)
    further = hypotheses.continued(whole, places)
    np.testing.assert_array_equal(further.z[:, places], hypotheses.z)
    assert not further.z[:, [1, 4, 6, 7]].any()


def test_thinned_chains_are_every_so_many_of_them() -> None:
    hypotheses = states(data_of(), n_chains=16)
    few = hypotheses.thinned(4)
    np.testing.assert_array_equal(few.theta, hypotheses.theta[[0, 5, 10, 15]])
    np.testing.assert_array_equal(few.z, hypotheses.z[[0, 5, 10, 15]])
    few.z[:] = 1.0
    assert hypotheses.z.min() == 0.0


def test_chains_are_taken_on_by_the_square_root_of_their_density_with_all_that_is_theirs() -> None:
    hypotheses, rng = states(data_of()), np.random.default_rng(0)
    hypotheses._solve()
    own = [
        naive.log_joint(hypotheses.data, *each)
        for each in zip(hypotheses.theta, hypotheses.z, strict=True)
    ]
    weights = np.exp(0.5 * (np.array(own) - max(own)))
    counts = np.zeros(6)
    for _ in range(300):
        drawn = copy.copy(hypotheses)
        drawn.compete(rng)
        for p, theta in enumerate(drawn.theta):
            k = int(np.argmin(np.abs(hypotheses.theta - theta).sum(axis=1)))
            counts[k] += 1.0 / 1800.0
            np.testing.assert_array_equal(drawn.z[p], hypotheses.z[k])
            np.testing.assert_array_equal(drawn._inverse[p], hypotheses._inverse[k])
            assert drawn._density[p] == hypotheses._density[k]
    np.testing.assert_allclose(counts, weights / weights.sum(), atol=0.04)


# --- belief --------------------------------------------------------------------------------------

X = np.random.default_rng(9).random((5, 2))


@EACH
def test_a_prediction_is_that_of_a_dense_mixture(known: Known) -> None:
    hypotheses = states(data_of(known))
    mean, sd = Belief(hypotheses.data, hypotheses).at(X)
    expected, expected_sd = naive.prediction(hypotheses, X)
    np.testing.assert_allclose(mean, expected, atol=1e-3)
    np.testing.assert_allclose(sd, expected_sd, atol=1e-3)


@EACH
def test_the_gradient_is_that_of_differences_and_the_value_that_of_the_prediction(known: Known) -> None:
    hypotheses = states(data_of(known))
    belief = Belief(hypotheses.data, hypotheses, X[:1])
    for x in X[1:]:
        value, gradient = belief.value_and_gradient(x, 2.0)
        mean, sd = belief.at(x[None])
        assert value == pytest.approx(float(mean[0] + 2.0 * sd[0]), rel=1e-8)

        def promise(point: Any) -> float:
            mean, sd = belief.at(np.asarray(point)[None])
            return float(mean[0] + 2.0 * sd[0])

        np.testing.assert_allclose(gradient, approx_fprime(x, promise, 1e-6), rtol=1e-3, atol=1e-4)


@EACH
def test_pending_points_are_as_if_read_with_what_is_expected_there(known: Known) -> None:
    """In each hypothesis by itself: its mean stays, its variance is that of further readings."""
    hypotheses = states(data_of(known))
    data, pending = hypotheses.data, X[:2]
    mean, var = Belief(data, hypotheses, pending).each(X[2:])
    before, _ = Belief(data, hypotheses).each(X[2:])
    np.testing.assert_allclose(mean, before, atol=1e-6)
    for p, (theta, z) in enumerate(zip(hypotheses.theta, hypotheses.z, strict=True)):
        kept = z == 0.0
        U = np.concatenate([data.U[kept], pending])
        noise2 = np.append(naive.known_of(data)[kept], [np.nan, np.nan])
        _, expected = naive.Process.of(data, theta).posterior(X[2:], U, np.zeros(len(U)), noise2)
        np.testing.assert_allclose(var[p], expected, atol=1e-3)


def test_many_points_are_predicted_as_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    hypotheses = states(data_of())
    belief = Belief(hypotheses.data, hypotheses)
    whole = belief.at(X)
    monkeypatch.setattr("unbribable.doubt.hypotheses._CHUNK", 120)
    for one, other in zip(belief.at(X), whole, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
