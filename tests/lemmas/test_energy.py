"""The norm already spent (ours): bounds by the energy of honest noise, and how large that can be."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import unbribable as ub
from games import Design, designs, is_too_often, law, random_function
from unbribable.decision.proven.energy import EnergyBounds
from unbribable.decision.recommend import left_out
from unbribable.theory.budgets import N_EVENTS, QuorumShares, n_hands, quorum_shares
from unbribable.theory.energy import (
    MULTIPLES,
    THETAS,
    energy_radius2,
    fictitious_noises,
    noise_energy,
    noise_level,
)

norms = st.floats(0.05, 20.0)
etas = st.sampled_from([1e-3, 0.02, 0.3, 1.0, 20.0])
deltas = st.floats(1e-6, 0.9)
stds = st.floats(1e-3, 3.0)


def quality_of(design: Design) -> np.ndarray:
    """The noise_std of every reading over the assumed one."""
    return np.sqrt(design.lams / design.lam)


def solved(design: Design, eta: float, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """mu_eta, sigma_eta at the candidates and q, by dense algebra."""
    system = design.K + np.diag(eta * quality_of(design) ** 2)
    cross = design.kernel(design.X[design.indices], design.X)
    weights = np.linalg.solve(system, cross)
    var = design.kernel.diag(design.X) - np.sum(cross * weights, axis=0)
    return weights.T @ y, np.sqrt(np.maximum(var, 0.0)), float(y @ np.linalg.solve(system, y))


# --- the width --------------------------------------------------------------------------------------


@law
@given(designs(), etas, norms, st.floats(0.0, 5.0))
def test_f_is_within_the_width_whatever_the_noises_of_that_energy(
    design: Design, eta: float, B: float, root: float
) -> None:
    f = random_function(design.kernel, design.X, design.rng, B)
    direction = design.rng.standard_normal(design.t)
    noise = root * direction / np.linalg.norm(direction)  # as if scaled to the assumed noise_std
    y = f[design.indices] + quality_of(design) * noise
    mu, sigma, q = solved(design, eta, y)
    radius2 = float(energy_radius2(B, root**2, eta, q))
    # rounding: the condition number, at most 24 / 1e-3 / 0.25, times 2e-16, of numbers like q
    slack = 1e-9 * (1.0 + q)
    assert radius2 >= -slack  # honest readings are never refuted
    assert np.all(
        np.abs(f - mu) <= math.sqrt(max(radius2, 0.0) + slack) * sigma + 1e-7 * max(1.0, B, root)
    )


@law
@given(designs(), etas, st.floats(0.1, 5.0))
def test_the_width_is_attained(design: Design, eta: float, radius: float) -> None:
    """f = mu + radius / sigma(x) cov(x, .) uses norm and energy up."""
    y = design.rng.standard_normal(design.t)
    mu, sigma, q = solved(design, eta, y)
    x = int(np.argmax(sigma))
    assume(sigma[x] > 1e-2)
    quality2 = quality_of(design) ** 2
    system = design.K + np.diag(eta * quality2)
    cross = design.kernel(design.X[design.indices], design.X[[x]])[:, 0]
    # f as a sum of kernel sections at the readings and at x
    centres = np.concatenate([design.X[design.indices], design.X[[x]]])
    push = radius / sigma[x]
    coefficients = np.append(np.linalg.solve(system, y - push * cross), push)
    K = design.kernel(centres, centres)
    norm2 = float(coefficients @ K @ coefficients)
    f = K @ coefficients
    energy = float(np.sum((y - f[:-1]) ** 2 / quality2))
    width = math.sqrt(float(energy_radius2(math.sqrt(norm2), energy, eta, q))) * sigma[x]
    assert f[-1] - mu[x] == pytest.approx(radius * sigma[x], rel=1e-6, abs=1e-8)
    assert f[-1] - mu[x] == pytest.approx(width, rel=1e-5)
    assert f[-1] - mu[x] > 0.99 * width  # so any smaller factor would be false


@law
@given(designs(), etas, norms)
def test_less_energy_less_norm_or_a_larger_q_is_a_smaller_radius(
    design: Design, eta: float, B: float
) -> None:
    low, high = np.sort(design.rng.random(2) * 4.0)
    assert energy_radius2(B, low, eta, 1.0) <= energy_radius2(B, high, eta, 1.0)
    assert energy_radius2(B, 1.0, eta, low) >= energy_radius2(B, 1.0, eta, high)
    assert energy_radius2(B * 0.5, 1.0, eta, low) <= energy_radius2(B, 1.0, eta, low)
    many = energy_radius2(B, 1.0, eta, np.array([low, high]))
    np.testing.assert_array_equal(many, [energy_radius2(B, 1.0, eta, q) for q in (low, high)])


def test_the_fictitious_noises_are_multiples_of_the_noise_and_lam_where_there_is_none() -> None:
    known = ub.Assumptions(ub.Linear(1.0), B=1.0, B0=1.0, noise_std=0.3, lam=0.7)
    assert fictitious_noises(known) == pytest.approx([0.09 * multiple for multiple in MULTIPLES])
    silent = ub.Assumptions(ub.Linear(1.0), B=1.0, B0=1.0, noise_std=0.0, lam=0.7)
    assert fictitious_noises(silent) == (0.7,)


# --- the bounds as they are kept ---------------------------------------------------------------------


def assumed(design: Design, noise_std: float, B: float = 1.0) -> ub.Assumptions:
    """With the design's kernel and lam."""
    return ub.Assumptions(design.kernel, B=B, B0=1.0, noise_std=noise_std, lam=design.lam)


def learned(design: Design, y: np.ndarray, bounds: EnergyBounds) -> EnergyBounds:
    """The same, with the design's readings told one by one."""
    for i, value, lam in zip(design.indices, y, design.lams, strict=True):
        bounds.observe(int(i), float(value), float(lam / design.lam))
    return bounds


@law
@given(designs(), st.sampled_from([0.0, 0.1, 1.0]))
def test_q_by_innovations_is_the_dense_one_and_so_are_the_bounds(
    design: Design, noise_std: float
) -> None:
    f = random_function(design.kernel, design.X, design.rng, 1.0)
    y = f[design.indices] + noise_std * quality_of(design) * design.rng.uniform(-1.0, 1.0, design.t)
    known = assumed(design, noise_std)
    one_by_one = learned(design, y, EnergyBounds(design.X, known, 0.1))
    at_once = EnergyBounds(design.X, known, 0.1)
    at_once.observe_all(
        [
            (int(i), float(value), float(lam / design.lam))
            for i, value, lam in zip(design.indices, y, design.lams, strict=True)
        ]
    )
    later = EnergyBounds(design.X[: design.indices.max() + 1], known, 0.1)
    learned(design, y, later).extend(design.X)  # further candidates
    limit = noise_energy(noise_std, design.t, 0.1)
    uppers, lowers = [], []
    for k, eta in enumerate(fictitious_noises(known)):
        mu, sigma, q = solved(design, eta, y)
        for bounds in (one_by_one, at_once, later):
            assert bounds.forms[k].q == pytest.approx(q, rel=1e-6, abs=1e-9)
        # q, and the variance, may have drifted
        width = math.sqrt((1.0 + limit / eta - q * (1.0 - 1e-6)) * (1.0 + 1e-6)) * sigma
        uppers.append(mu + width)
        lowers.append(mu - width)
    for bounds in (one_by_one, at_once, later):
        assert not bounds.is_spoilt
        # sigma^2 is right to 1e-9, and so sigma to 3e-5 where it is none
        np.testing.assert_allclose(bounds.upper, np.min(uppers, axis=0), rtol=1e-5, atol=1e-4)
        np.testing.assert_allclose(bounds.lower, np.max(lowers, axis=0), rtol=1e-5, atol=1e-4)


@law
@given(designs(t_max=12), st.floats(0.0, 3.0))
def test_a_width_of_another_size_has_the_same_middle_in_each_form(design: Design, factor: float) -> None:
    """What pending queries leave of the width: between the best mean and the bound itself."""
    f = random_function(design.kernel, design.X, design.rng, 1.0)
    bounds = learned(design, f[design.indices], EnergyBounds(design.X, assumed(design, 0.2), 0.1))
    limit = noise_energy(0.2, design.t, 0.1)
    uppers = []
    for eta in fictitious_noises(assumed(design, 0.2)):
        mu, sigma, q = solved(design, eta, f[design.indices])
        uppers.append(mu + factor * math.sqrt(1.0 + limit / eta - q) * sigma)
    np.testing.assert_allclose(bounds.widened(factor), np.min(uppers, axis=0), rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(bounds.widened(1.0), bounds.upper)


def test_a_gross_lie_leaves_no_radius() -> None:
    X = np.linspace(0.0, 1.0, 9)[:, None]
    known = ub.Assumptions(ub.Matern(2.5, 0.3), B=1.0, B0=1.0, noise_std=0.1, lam=0.05)
    bounds = EnergyBounds(X, known, 0.1)
    for i in range(9):
        bounds.observe(i, 0.0, 1.0)
    assert not bounds.is_spoilt
    bounds.observe(4, 8.0, 1.0)
    assert bounds.is_spoilt
    assert np.all(np.isneginf(bounds.upper))
    assert np.all(np.isposinf(bounds.lower))
    assert np.all(np.isneginf(bounds.widened(0.5)))
    assert all(
        np.isneginf(form.upper(X, 1.0)).all() for form in bounds.elsewhere() if math.isnan(form.factor)
    )


# --- how large honest noise can be -------------------------------------------------------------------

N_GAMES, N_LONG, DELTA = 3000, 150, 0.2


def sequences(kind: str) -> np.ndarray:
    """Honest noises of scale 1, (N_GAMES, N_LONG)."""
    rng = np.random.default_rng([17, len(kind)])
    shape = (N_GAMES, N_LONG)
    if kind == "signs":
        return rng.choice([-1.0, 1.0], shape)
    noise = rng.standard_normal(shape)
    if kind == "of the past":  # silent after a loud one, and no smaller than allowed otherwise
        for i in range(1, N_LONG):
            noise[:, i] *= np.abs(noise[:, i - 1]) < 1.5
    return noise


KINDS = pytest.mark.parametrize("kind", ["gaussian", "signs", "of the past"])


@KINDS
@pytest.mark.parametrize("noise_std", [0.3, 4.0])
def test_the_squares_of_honest_noises_stay_below_the_energy_at_all_times(
    kind: str, noise_std: float
) -> None:
    spent = np.cumsum((noise_std * sequences(kind)) ** 2, axis=1)
    limit = np.array([noise_energy(noise_std, n, DELTA) for n in range(1, N_LONG + 1)])
    assert not is_too_often(int((spent > limit).any(axis=1).sum()), N_GAMES, DELTA)


def test_the_energy_would_not_hold_for_noise_that_is_fifteen_percent_louder() -> None:
    """The statement above can fail."""
    spent = np.cumsum(sequences("gaussian") ** 2, axis=1) * 1.15**2
    limit = np.array([noise_energy(1.0, n, 0.9) for n in range(1, N_LONG + 1)])
    assert is_too_often(int((spent > limit).any(axis=1).sum()), N_GAMES, DELTA)


@law
@given(stds, st.integers(0, 2000), deltas)
def test_the_energy_is_the_least_of_its_martingales(noise_std: float, n: int, delta: float) -> None:
    found = noise_energy(noise_std, n, delta)
    each = [
        noise_std**2 * (2 * math.log(6 / delta) - n * math.log(1 - theta)) / theta for theta in THETAS
    ]
    assert len(THETAS) == 6
    assert found == pytest.approx(min(each), rel=1e-12)
    assert found >= n * noise_std**2  # the mean of the squares
    assert noise_energy(noise_std, n + 1, delta) > found
    assert noise_energy(noise_std, n, delta / 2) > found
    assert noise_energy(2.0 * noise_std, n, delta) == pytest.approx(4.0 * found, rel=1e-12)


@KINDS
def test_honest_noises_stay_below_their_levels_at_all_times(kind: str) -> None:
    levels = noise_level(1.0, np.arange(1, N_LONG + 1), DELTA)
    assert not is_too_often(int((np.abs(sequences(kind)) > levels).any(axis=1).sum()), N_GAMES, DELTA)


def test_one_level_for_all_would_be_too_low() -> None:
    """The statement above can fail: without the growth it does."""
    first = noise_level(1.0, 1, DELTA)
    assert is_too_often(int((np.abs(sequences("gaussian")) > first).any(axis=1).sum()), N_GAMES, DELTA)


def test_the_tails_beyond_the_levels_sum_to_delta() -> None:
    """2 exp(-r_i^2 / 2), summed: all of them but about 6 delta / (pi^2 n)."""
    n = 10**5
    levels = noise_level(1.0, np.arange(1, n + 1), 0.3)
    assert float(np.sum(2.0 * np.exp(-(levels**2) / 2.0))) == pytest.approx(0.3, rel=1e-5)
    assert noise_level(2.0, 7, 0.3) == pytest.approx(2.0 * levels[6], rel=1e-12)


def test_readings_with_a_noise_of_their_own_count_as_if_scaled() -> None:
    """f stays within the bounds at all times, with a noise_std per reading known before it."""
    kernel, X = ub.Matern(2.5, 0.4), np.linspace(0.0, 1.0, 8)[:, None]
    known = ub.Assumptions(kernel, B=1.0, B0=1.0, noise_std=0.2, lam=0.1)
    failures = careless = 0
    for game in range(60):
        rng = np.random.default_rng([9, game])
        f = random_function(kernel, X, rng, 1.0)
        own, as_assumed = (EnergyBounds(X, known, 0.5) for _ in range(2))
        is_out, is_out_as_assumed = False, False
        for _ in range(15):
            i, quality = int(rng.integers(8)), float(rng.choice([0.3, 1.0, 4.0]))
            y = float(f[i] + 0.2 * quality * rng.standard_normal())
            own.observe(i, y, quality**2)
            as_assumed.observe(i, y, 1.0)
            is_out |= bool(np.any((f > own.upper) | (f < own.lower)))
            is_out_as_assumed |= bool(np.any((f > as_assumed.upper) | (f < as_assumed.lower)))
        failures += is_out
        careless += is_out_as_assumed
    assert not is_too_often(failures, 60, 0.5)
    assert is_too_often(careless, 60, 0.5)  # control: the scale does matter


# --- shares of delta --------------------------------------------------------------------------------


@pytest.mark.parametrize("n_lies", range(21))
def test_the_shares_of_a_quorum_add_up_to_delta(n_lies: int) -> None:
    shares = quorum_shares(0.1, n_lies)
    assert shares.total(n_lies) == pytest.approx(0.1, rel=1e-14)
    hands = n_hands(n_lies)
    assert hands == 2 * n_lies + 1
    np.testing.assert_allclose(shares, [0.1 / 4 / hands, 0.1 / 4, 0.1 / 4, 0.1 / 4], rtol=1e-14)
    assert len(QuorumShares._fields) == 4  # each of them is read from a built one below


def radius_delta(rho: float, known: ub.Assumptions) -> float:
    """The delta at which the noise reaches so far before any reading."""
    return math.exp(-((rho / known.noise_std) ** 2) * known.lam / 2.0)


@pytest.mark.parametrize("n_lies", [0, 1, 4])
@pytest.mark.parametrize("noise", ["energy", "tight", "paper"])
def test_what_a_built_quorum_spends_are_these_shares(noise: str, n_lies: int) -> None:
    """Every event is read off the numbers that rest on it, and they add up to delta."""
    X = np.linspace(0.0, 1.0, 5)[:, None]
    known = ub.Assumptions(ub.Matern(2.5, 0.3), B=1.3, B0=1.0, noise_std=0.2, lam=0.05, delta=0.17)
    algorithm = ub.QuorumGPUCB(ub.Grid(X), known, n_lies=n_lies, seed=1, noise=noise)
    algorithm.tell(x=X[2], y=0.3)
    events: list[float] = []
    for label, instance in ub.QuorumGPUCB(
        ub.Grid(X), known, n_lies=n_lies, seed=1, noise=noise
    ).instances.items():
        is_energy = noise == "energy" and label != "all"
        width = instance.now.noise_width
        if noise == "paper":
            events.append(radius_delta(width.factor - known.B, known))
            continue
        events += [radius_delta(width.rho_half, known)] * 2
        if is_energy:  # at no reading E^2 = 2 noise_std^2 ln(6 / delta) / 0.8
            form = instance.now.energy.forms[0]
            radius2 = instance.now.energy.factors[0] ** 2 / (1.0 + 1e-6)
            energy = (radius2 - known.B**2) * form.posterior.lam
            events.append(6.0 * math.exp(-0.8 * energy / (2.0 * known.noise_std**2)))
    hands = n_hands(n_lies)
    each = {"energy": 3, "tight": 2, "paper": 1}
    assert each == N_EVENTS
    assert len(events) == hands * each[noise] + (1 if noise == "paper" else 2)
    assert sum(events) == pytest.approx(0.17 / 2, rel=1e-9)
    # the levels, and the energy of all: once for the bounds and for leaving out
    r_1 = algorithm.policy.counted.level(1)
    levels = math.pi**2 / 3.0 * math.exp(-((r_1 / known.noise_std) ** 2) / 2.0)
    outside = left_out(algorithm)
    np.testing.assert_allclose(outside._levels, [r_1], rtol=1e-12)
    # at one reading the energy is that of theta = 0.8
    energy = outside._energy / known.noise_std**2
    of_all = 6.0 * math.exp(-(0.8 * energy + math.log(0.2)) / 2.0)
    assert sum(events) + levels + of_all == pytest.approx(known.delta, rel=1e-9)
