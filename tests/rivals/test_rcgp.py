"""Robust conjugate GP-UCB: what it becomes in its limits, and what our width for it covers."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import comb

import unbribable as ub
from contracts.members import ALGORITHMS
from unbribable import lab
from unbribable.decision.proven.conditions import InOrder, NoiseBlind, NotProved, TooMany
from unbribable.lab.rivals import RCGPUCB
from unbribable.lab.rivals.practice import practical_beta
from unbribable.lab.rivals.rcgp import _log_choices, reweighed
from unbribable.lab.world.adversaries import Burst
from unbribable.lab.world.objectives import random_rkhs
from unbribable.model.posterior import Posterior
from unbribable.theory.widths import shift_capped

X = np.linspace(0.0, 1.0, 25)[:, None]
KERNEL = ub.SquaredExponential(0.2)
LAM = 0.04
ASSUMED = ub.Assumptions(KERNEL, B=3.0, B0=1.5, noise_std=0.2, lam=LAM)
CENTRES: dict[str, dict[str, Any]] = {
    "fixed": {"centre": "fixed", "T": 100},
    "anchored": {"centre": "anchored", "T": 100},
    "online": {"centre": "online"},
}
NO_WEIGHTS = {
    "fixed": {"plateau": math.inf},
    "anchored": {"plateau": math.inf},
    "online": {"ell": math.inf},
}
EVERY = pytest.mark.parametrize("centre", CENTRES)


def new(centre: str, assumed: ub.Assumptions = ASSUMED, **words: Any) -> RCGPUCB:
    return RCGPUCB(ub.Grid(X), assumed, **{**CENTRES[centre], **words})


def play(player: Any, reading: Callable[[int, int], float], T: int = 40) -> list[int]:
    """The queries of a game in which `reading` says what is told of a candidate in a round."""
    played = []
    for t in range(T):
        query = player.ask()
        played.append(query.index)
        player.tell(query, reading(query.index, t))
    return played


def truth(i: int, t: int) -> float:
    return float(np.sin(6.0 * X[i, 0]) + 0.2 * np.random.default_rng(t).standard_normal())


def with_outliers(i: int, t: int) -> float:
    return truth(i, t) + (7.0 * (-1) ** t if t % 5 == 3 else 0.0)


def told(player: Any, i: int, y: float) -> None:
    """Tell a reading of a candidate of the test's choice."""
    query = ub.Query(t=player.ask().t, x=X[i], u=X[i], index=i)
    player._pending[query.t] = query
    player.tell(query, y)


def posterior_of(readings: list[tuple[int, float]], lam: float = LAM) -> Posterior:
    posterior = Posterior(KERNEL, X, lam)
    for i, y in readings:
        posterior.observe(i, y)
    return posterior


# --- limits -----------------------------------------------------------------------------------------


@EVERY
def test_without_an_edge_of_the_plateau_it_is_gp_ucb(centre: str) -> None:
    """Bit for bit, but for the anchored one, which is worked out from nothing in every round."""
    player = new(centre, **NO_WEIGHTS[centre])
    gp_ucb = ALGORITHMS["gp-ucb"](ub.Grid(X), ASSUMED, beta=lambda t: practical_beta(t - 1))
    assert play(player, with_outliers) == play(gp_ucb, with_outliers)
    exact, query = gp_ucb.ask(), player.ask()
    if centre == "anchored":
        assert (query.mu, query.width) == pytest.approx((exact.mu, exact.width), abs=1e-10)
    else:
        assert (query.mu, query.width) == (exact.mu, exact.width)


@EVERY
def test_a_wide_plateau_costs_nothing(centre: str) -> None:
    words = {"ell": 40.0} if centre == "online" else {"plateau": 10.0}
    gp_ucb = ALGORITHMS["gp-ucb"](ub.Grid(X), ASSUMED, beta=lambda t: practical_beta(t - 1))
    assert play(new(centre, **words), truth) == play(gp_ucb, truth)


@pytest.mark.parametrize("centre", ["fixed", "anchored"])
def test_a_flat_tail_is_the_ordinary_posterior(centre: str) -> None:
    player = new(centre, plateau=0.1, tail=1e9)
    play(player, with_outliers)
    assert player.belief is not None
    np.testing.assert_allclose(player.belief.mu, posterior_of(player.readings).mu, atol=1e-9)


@EVERY
def test_one_enormous_lie_is_as_good_as_no_reading(centre: str) -> None:
    words = {} if centre == "online" else {"plateau": 2.0}
    honest = [(3, 0.4), (12, 1.1), (20, -0.3), (12, 0.9)]
    beliefs = []
    for readings in (honest, [*honest[:2], (8, 1e9), *honest[2:]]):
        player = new(centre, **words)
        for i, y in readings:
            told(player, i, y)
        beliefs.append(player.belief)
    assert beliefs[0].mu == pytest.approx(beliefs[1].mu, abs=1e-6)
    assert beliefs[0].sigma ** 2 == pytest.approx(beliefs[1].sigma ** 2, abs=1e-12)


def test_with_an_anchor_at_zero_it_is_the_fixed_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RCGPUCB, "_anchor_mean", lambda self: np.zeros(len(X)))
    fixed, anchored = new("fixed", plateau=0.5), new("anchored", plateau=0.5)
    assert play(fixed, with_outliers) == play(anchored, with_outliers)
    assert fixed.belief is not None
    assert anchored.belief is not None
    np.testing.assert_allclose(anchored.belief.mu, fixed.belief.mu, atol=1e-10)


def test_the_anchor_is_the_fixed_posterior_of_all_readings_but_the_last() -> None:
    player, lagging = new("anchored", plateau=0.5), new("fixed", plateau=0.5)
    play(player, with_outliers, T=12)
    for i, y in player.readings[:-1]:
        told(lagging, i, y)
    assert lagging.belief is not None
    np.testing.assert_allclose(player._anchor_mean(), lagging.belief.mu, atol=1e-12)


@EVERY
def test_turning_all_readings_round_turns_the_mean_round(centre: str) -> None:
    words = {} if centre == "online" else {"plateau": 0.5}
    one, other = new(centre, **words), new(centre, **words)
    for t in range(15):
        i = (7 * t) % 25
        for player, sign in ((one, 1.0), (other, -1.0)):
            told(player, i, sign * with_outliers(i, t))
    assert one.belief is not None
    assert other.belief is not None
    np.testing.assert_allclose(one.belief.mu, -other.belief.mu, atol=1e-13)


def test_online_a_reading_is_weighed_by_what_was_expected_of_it() -> None:
    """Mean and tail are those of the moment, and do not change later."""
    player, readings = new("online", ell=0.5), [(3, 0.4), (4, 2.0), (12, -1.5), (3, 0.1)]
    weighed: list[tuple[int, float, float]] = []
    for i, y in readings:
        before = Posterior(KERNEL, X, LAM)
        before.observe_all(weighed)
        tail = math.sqrt(float(before.var[i]) + LAM)
        z, noise, _ = reweighed(y, float(before.mu[i]), 0.5 * tail, tail, LAM)
        weighed.append((i, float(z), float(noise)))
        told(player, i, y)
    after = Posterior(KERNEL, X, LAM)
    after.observe_all(weighed)
    assert sum(noise > LAM for *_, noise in weighed) >= 2
    assert player.belief is not None
    np.testing.assert_allclose(player.belief.mu, after.mu, atol=1e-10)
    np.testing.assert_allclose(player.belief.sigma**2, after.var, atol=1e-10)


def test_the_authors_width_counts_readings_after_the_design() -> None:
    assert practical_beta(0) == practical_beta(-3) == pytest.approx(1.7 * math.sqrt(2.0 * math.log(2.0)))
    assert practical_beta(98) == pytest.approx(1.7 * math.sqrt(2.0 * math.log(100.0)))
    player = new("online", n_init=4)
    play(player, truth, T=6)
    query = player.ask()
    assert query.width == practical_beta(2) * query.sigma


# --- the weight -------------------------------------------------------------------------------------


def test_on_the_plateau_a_reading_is_itself() -> None:
    z, noise, excess = reweighed(np.array([0.4, -0.4, 0.5]), 0.0, 0.5, 0.2, LAM)
    assert z.tolist() == [0.4, -0.4, 0.5]
    assert noise.tolist() == [LAM] * 3
    assert not excess.any()


def test_beyond_it_the_pseudo_reading_moves_outwards() -> None:
    z, noise, excess = reweighed(np.array([1.5, -1.5]), 0.2, 0.5, 0.3, LAM)
    assert excess == pytest.approx([0.8, 1.2])
    assert noise == pytest.approx(LAM * (1.0 + np.array([0.8, 1.2]) ** 2 / 0.09))
    push = 2.0 * LAM * np.array([0.8, 1.2]) / (0.09 + np.array([0.8, 1.2]) ** 2)
    assert z == pytest.approx(np.array([1.5 + push[0], -1.5 - push[1]]))


def test_weights_are_those_of_the_generalised_posterior() -> None:
    """mu = k' (K + lam J)^-1 (y - m), J = lam / (2 w^2), m = lam (ln w^2)', w^2 ~ 1 / (c^2 + e^2)."""
    rng = np.random.default_rng(3)
    indices, y, c, s2 = rng.integers(0, 25, 9), rng.normal(0.0, 3.0, 9), 0.7, LAM
    K = KERNEL(X[indices], X[indices])

    def log_w2(value: np.ndarray) -> np.ndarray:
        return np.log(s2 / 2.0 / (1.0 + value**2 / c**2))

    widened = np.diag(s2 / 2.0 / np.exp(log_w2(y)))
    m = s2 * (log_w2(y + 1e-6) - log_w2(y - 1e-6)) / 2e-6
    expected = KERNEL(X, X[indices]) @ np.linalg.solve(K + s2 * widened, y - m)
    z, noise, _ = reweighed(y, 0.0, 0.0, c, s2)
    found = KERNEL(X, X[indices]) @ np.linalg.solve(K + np.diag(noise), z)
    np.testing.assert_allclose(found, expected, atol=1e-7)


@pytest.mark.parametrize("plateau", [0.0, 1.0])
@pytest.mark.parametrize("tail", [0.1, 0.2, 1.0])
def test_no_lie_moves_the_mean_further_than_a_bound(plateau: float, tail: float) -> None:
    """Per lie |Cov| / lam (L + gap + c/2 + 0.65 lam/c), the others' mean gap away from its centre."""
    before = posterior_of([(3, 0.4), (12, 1.1), (20, -0.3)])
    covariance = np.abs(before.system().covariance(X[9:10], X)[0])
    gap = abs(float(before.mu[9]))
    bound = covariance / LAM * (plateau + gap + tail / 2.0 + 0.65 * LAM / tail)
    most = np.zeros(len(X))
    for y in [*np.linspace(-4.0, 4.0, 81), 1e3, -1e6]:
        after = posterior_of([(3, 0.4), (12, 1.1), (20, -0.3)])
        z, noise, _ = reweighed(float(y), 0.0, plateau, tail, LAM)
        after.observe(9, float(z), float(noise))
        most = np.maximum(most, np.abs(after.mu - before.mu))
    assert (most <= bound).all()
    assert most.max() > 0.05 * bound.max()


# --- our width --------------------------------------------------------------------------------------


def ours(assumed: ub.Assumptions = ASSUMED, **words: Any) -> RCGPUCB:
    return RCGPUCB(ub.Grid(X), assumed, **{"centre": "fixed", "width": "ours", "T": 60, **words})


def test_without_lies_our_width_is_that_of_gp_ucb_at_half_the_delta() -> None:
    half = ub.Assumptions(KERNEL, B=3.0, B0=1.5, noise_std=0.2, lam=LAM, delta=0.05)
    gp_ucb = ALGORITHMS["gp-ucb"](ub.Grid(X), half)
    assert play(ours(), truth) == play(gp_ucb, truth)


def test_our_width_lies_below_its_closed_form() -> None:
    player, plain = ours(n_lies=3), ours(n_lies=0)
    play(player, with_outliers)
    for i, y in player.readings:
        told(plain, i, y)
    assert player.belief is not None
    assert plain.belief is not None
    shift = player.belief.width - plain.belief.width
    reach = player.plateau + ASSUMED.B0 + player.tail + LAM / player.tail
    assert (shift > 0.0).all()
    assert (shift <= reach * shift_capped(3.0, 1.0, LAM, player.belief.sigma) + 1e-12).all()


def test_our_shift_is_that_of_the_worst_lies_reading_by_reading() -> None:
    player = ours(n_lies=4, tail=0.6)
    for t in range(25):
        told(player, (7 * t) % 10, with_outliers((7 * t) % 10, t) + (1.3 * t if t % 6 == 1 else 0.0))
    indices, y = (np.array(part) for part in zip(*player.readings, strict=True))
    z, noise, excess = reweighed(y, 0.0, player.plateau, 0.6, LAM)
    assert 3 < np.count_nonzero(excess) < 20
    weights = np.linalg.solve(KERNEL(X[indices], X[indices]) + np.diag(noise), KERNEL(X[indices], X))
    reach = player.plateau + ASSUMED.B0 + excess + 2.0 * LAM * excess / (0.36 + excess**2)
    each = np.sort(np.abs(weights) * reach[:, None], axis=0)
    np.testing.assert_allclose(player._shift(player._posterior), each[-4:].sum(axis=0), atol=1e-10)
    assert player.belief is not None
    np.testing.assert_allclose(player.belief.mu, z @ weights, atol=1e-10)


def lied(seed: int, size: float, n_lies: int, T: int = 60) -> bool:
    """Whether our bounds hold in a game with this many lies about the best points."""
    f = random_rkhs(KERNEL, X, np.random.default_rng(seed), norm=2.0)
    assumed = ub.Assumptions(KERNEL, B=2.0, B0=f.B0, noise_std=0.2, lam=LAM)
    environment = lab.Environment(
        f,
        noise_std=0.2,
        adversary=Burst(f, radius=0.3, value=-size),
        n_lies=n_lies,
        threat="strong",
    )
    record = lab.simulate(ours(assumed, n_lies=n_lies, T=T), environment, T, seed)
    assert record.meta["promised"] == {"main": True}
    return bool(record.meta["covered"]["main"])


@pytest.mark.parametrize("size", [1.0, 3.0, 1e6])
def test_our_bounds_hold_whatever_the_size_of_the_lies(size: float) -> None:
    assert all(lied(seed, size, n_lies=4) for seed in range(6))


def n_held(sees_noise: bool, n_games: int = 10, n_lies: int = 100, T: int = 400) -> int:
    """Games in which our interval holds f at a point that is read T times.

    f = k(., x) there, and the readings with the highest noise are told as low as the plateau allows:
    both parts of the width are used up, and the noise of what remains is far below zero.
    """
    held = 0
    assumed = ub.Assumptions(KERNEL, B=1.0, B0=1.0, noise_std=1.0, lam=1.0)
    for seed in range(n_games):
        y = 1.0 + np.random.default_rng(seed).standard_normal(T)
        player = ours(assumed, T=T, n_lies=n_lies, sees_noise=sees_noise)
        y[np.argsort(-y)[:n_lies]] = -player.plateau
        posterior = player._posterior
        for value in y:
            player._observe(posterior, 12, float(value))
        width = player._noise(posterior, np.sqrt(posterior.var)) + player._shift(posterior)
        held += bool(abs(posterior.mu[12] - 1.0) <= width[12])
    return held


def test_a_liar_who_sees_the_noise_must_be_told_of() -> None:
    assert n_held(sees_noise=False) == 0
    assert n_held(sees_noise=True) == 10
    assert ours(n_lies=2).guarantee.conditions == (NoiseBlind(),)
    assert ours(n_lies=2, sees_noise=True).guarantee.conditions == ()


def test_the_choices_of_a_liar_are_counted() -> None:
    expected = math.log(sum(comb(50, k) for k in range(4)))
    assert _log_choices(50, 3) == pytest.approx(expected)
    assert _log_choices(5, 9) == pytest.approx(5 * math.log(2.0))


def test_the_promise_ends_with_the_rounds_it_was_made_for() -> None:
    player = ours(T=3)
    play(player, truth, T=3)
    assert player.bounds() is not None
    assert player.recommend().regret_bound is not None
    play(player, truth, T=1)
    assert player.bounds() is None
    assert player.guarantee.void == TooMany(3, 4)


def test_readings_told_out_of_order_are_a_condition_of_the_promise() -> None:
    player = ours(n_lies=2)
    first, second = player.ask(), player.ask()
    player.tell(first, 0.1)
    assert InOrder() not in player.guarantee.conditions
    third = player.ask()
    player.tell(third, 0.2)
    player.tell(second, 0.3)
    assert InOrder() in player.guarantee.conditions


def test_only_our_width_promises_anything() -> None:
    for centre in CENTRES:
        player = new(centre)
        play(player, truth, T=3)
        assert player.bounds() is None
        assert player.guarantee.void == NotProved()
        assert "n_lies" not in player.knowledge
    assert "corrupts at most 4 of the 60 readings by any amount" in str(ours(n_lies=4).guarantee)
    assert ours(n_lies=4).knowledge["n_lies"] == 4
    assert set(new("online").knowledge) == {"kernel", "lam", "centre", "width", "ell"}


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ({"centre": "moving"}, "centre must be one of"),
        ({"width": "paper"}, "width must be one of"),
        ({"centre": "online", "width": "ours", "T": 9}, "centre must be 'fixed' for width='ours'"),
        ({"centre": "fixed"}, "T must be given"),
        ({"centre": "fixed", "width": "ours", "plateau": 9.0}, "T must be given"),
        ({"centre": "fixed", "width": "ours", "T": 9, "plateau": 1.0}, r"plateau must be >= B0 \+ N"),
        ({"centre": "online", "plateau": 1.0}, "plateau must be left out"),
        ({"centre": "fixed", "T": 9, "tail": 0.0}, "tail must be"),
        ({"n_lies": -1}, "n_lies must be"),
    ],
)
def test_what_makes_no_sense_is_refused(words: dict[str, Any], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        RCGPUCB(ub.Grid(X), ASSUMED, **words)
