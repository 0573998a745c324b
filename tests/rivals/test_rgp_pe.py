"""RGP-PE: the design, the estimate of an epoch, its widths, and the elimination."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unbribable as ub
from games import Game, corruption, is_too_often, law, liars, random_function
from unbribable.decision.proven.conditions import NotProved
from unbribable.lab.rivals import RGPPE
from unbribable.lab.rivals.rgp_pe import Design, Estimate, design

X = np.linspace(0.0, 1.0, 12)[:, None]
DOMAIN = ub.Grid(X)
KERNEL = ub.SquaredExponential(0.3)
KNOWN = ub.Assumptions(KERNEL, B=1.0, B0=1.0, noise_std=0.05, lam=0.1, delta=0.2, c_max=1.0)
ARMS = np.arange(4.0)[:, None]
NO_KERNEL = ub.Assumptions(ub.SquaredExponential(0.01), B=1.0, B0=1.0, noise_std=0.1, lam=1.0)


# --- the design -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("length", "picks"),
    [(8, [2, 2, 2, 2]), (16, [6, 6, 2, 2]), (32, [14, 6, 6, 6]), (64, [22, 14, 14, 14])],
)
def test_arms_without_a_kernel_are_picked_2_then_4_then_8_times(length: int, picks: list[int]) -> None:
    """The determinant must more than double: at exactly twice, rounding does not decide."""
    plan = design(NO_KERNEL, ARMS, np.ones(4, bool), length, 2.0, 0.0)
    assert plan.points.tolist() == [0, 1, 2, 3]
    assert plan.repeats.tolist() == picks


SCATTERED = np.random.default_rng(8).random((12, 1))  # no symmetry, no ties


def one_by_one(known: ub.Assumptions, length: int, eta: float) -> list[int]:
    """Picks of each candidate, by the rule's letter: one pick at a time."""
    posterior, picks = ub.Posterior(known.kernel, SCATTERED, known.lam), [0] * 12
    j, ref, logdet = int(np.argmax(posterior.var)), 0.0, 0.0
    for _ in range(length):
        picks[j] += 1
        logdet += math.log1p(posterior.var[j] / known.lam)
        posterior.observe(j, 0.0)
        if logdet > ref + math.log(eta) + 1e-9:
            ref, j = logdet, int(np.argmax(posterior.var))
    return picks


@pytest.mark.parametrize("lam", [0.01, 0.37, 1.0])
@pytest.mark.parametrize("eta", [1.1, 2.0, 5.0])
def test_picking_at_once_between_refreshes_is_picking_one_by_one(lam: float, eta: float) -> None:
    known = ub.Assumptions(ub.Matern(2.5, [0.33]), B=1.0, B0=1.0, noise_std=0.1, lam=lam)
    for length in (1, 2, 16, 128):
        plan = design(known, SCATTERED, np.ones(12, bool), length, eta, 0.0)
        picks = np.zeros(12, int)
        picks[plan.points] = plan.repeats
        assert picks.tolist() == one_by_one(known, length, eta)


def test_a_point_is_read_at_least_a_share_psi_of_the_picks() -> None:
    plan = design(KNOWN, X, np.ones(len(X), bool), 16, 2.0, 0.3)
    assert plan.repeats.min() == math.ceil(0.3 * 16)
    only = design(KNOWN, X, np.arange(len(X)) == 5, 16, 2.0, 0.3)
    assert (only.points.tolist(), only.repeats.tolist()) == ([5], [16])


# --- the estimate and its widths --------------------------------------------------------------------


def test_averages_give_the_posterior_of_all_readings() -> None:
    plan = design(KNOWN, X, np.ones(len(X), bool), 32, 2.0, 0.1)
    rng = np.random.default_rng(0)
    told = [rng.standard_normal(n) for n in plan.repeats]
    at = Estimate(KNOWN, X, plan, np.array([y.mean() for y in told]))
    posterior = ub.Posterior(KERNEL, X, KNOWN.lam)
    for a, readings in zip(plan.points, told, strict=True):
        for y in readings:
            posterior.observe(int(a), float(y))
    for name in ("mu", "var", "noise_var"):
        np.testing.assert_allclose(getattr(at, name), getattr(posterior, name), atol=1e-10)
    dense = np.repeat(plan.points, plan.repeats)
    K = KERNEL(X[dense], X[dense]) + KNOWN.lam * np.eye(len(dense))
    np.testing.assert_allclose(
        at.mu, KERNEL(X, X[dense]) @ np.linalg.solve(K, np.concatenate(told)), atol=1e-10
    )


@law
@given(
    repeats=st.lists(st.integers(1, 40), min_size=1, max_size=6),
    lam=st.sampled_from([0.01, 0.3, 1.0, 30.0]),
    C=st.floats(0.1, 30.0),
    c_max=st.sampled_from([0.3, 1.0, math.inf]),
    seed=st.integers(0, 999),
)
def test_exact_lies_move_the_mean_by_the_exact_shift_which_is_the_smallest(
    repeats: list[int], lam: float, C: float, c_max: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    known = ub.Assumptions(KERNEL, B=1.0, B0=1.0, noise_std=0.05, lam=lam, c_max=c_max)
    points = rng.choice(len(X), len(repeats), replace=False).astype(np.intp)
    length = max(1, sum(repeats) // 2)
    plan, psi = Design(points, np.array(repeats, np.intp), length), min(repeats) / length
    means = rng.standard_normal(len(points))
    at = Estimate(known, X, plan, means)
    shifts = {}
    for width in ("exact", "lemma", "paper"):
        player = RGPPE(DOMAIN, known, C=C, width=width, psi=psi)
        player.plan = plan
        shifts[width] = player._shift(at)
    assert (shifts["exact"] <= shifts["lemma"] * (1 + 1e-6)).all()
    assert (shifts["lemma"] <= shifts["paper"] * (1 + 1e-12)).all()
    rows = np.repeat(np.arange(len(repeats)), repeats)
    for target in (0, 7):
        lies = corruption(at.R[rows, target] / lam, C, c_max)
        assert np.abs(lies).sum() <= C + 1e-9
        sums = np.zeros(len(repeats))
        np.add.at(sums, rows, lies)
        moved = Estimate(known, X, plan, means + sums / plan.repeats).mu[target] - at.mu[target]
        assert moved == pytest.approx(shifts["exact"][target], rel=1e-9, abs=1e-12)


def test_the_sharp_noise_part_is_never_above_the_papers() -> None:
    plan = design(KNOWN, X, np.ones(len(X), bool), 64, 2.0, 0.0)
    at = Estimate(KNOWN, X, plan, np.zeros(len(plan.points)))
    sharp, paper = (
        RGPPE(DOMAIN, KNOWN, C=1.0, noise=noise)._noise_part(at) for noise in ("sharp", "paper")
    )
    assert (sharp <= paper).all()
    assert sharp.max() < 0.9 * paper.max()


@pytest.mark.parametrize(("order", "n_events"), [("fixed", 2 * 12), ("random", 4 * 12)])
def test_the_noise_part_shares_delta_among_epochs_candidates_and_sides(
    order: str, n_events: int
) -> None:
    plan = design(KNOWN, X, np.ones(len(X), bool), 8, 2.0, 0.0)
    at = Estimate(KNOWN, X, plan, np.zeros(len(plan.points)))
    shares = []
    for epoch in range(3):
        player = RGPPE(DOMAIN, KNOWN, C=1.0, noise="paper", order=order, seed=0)
        player.epoch = epoch
        shares.append(6 * KNOWN.delta / math.pi**2 / (epoch + 1) ** 2)
        rate = math.sqrt(2 * math.log(n_events / shares[-1]))
        beta = KNOWN.B + KNOWN.noise_std / math.sqrt(KNOWN.lam) * rate
        np.testing.assert_allclose(player._noise_part(at), beta * at.sigma, rtol=1e-12)
    assert sum(shares) < KNOWN.delta


# --- the game ---------------------------------------------------------------------------------------


def indices(player: Any, f: np.ndarray, T: int, seed: int = 0) -> list[int]:
    game = Game(f, 0.05, np.random.default_rng(seed))
    return [game.round(player).index for _ in range(T)]


def test_without_corruption_all_widths_play_the_same() -> None:
    f = random_function(KERNEL, X, np.random.default_rng(1), 1.0)
    runs = [
        indices(RGPPE(DOMAIN, KNOWN, C=0.0, width=width, noise="sharp"), f, 200)
        for width in ("exact", "lemma", "paper", "practical")
    ]
    assert len(set(runs[0])) > 1
    assert runs[0] == runs[1] == runs[2] == runs[3]


def test_candidates_are_dropped_until_one_is_left_and_regret_stops() -> None:
    f = np.array([0.9, -0.5, -0.4, -0.8])
    player = RGPPE(ub.Grid(ARMS), NO_KERNEL, C=0.5, psi=0.0)
    rounds, sizes = [], []
    game = Game(f, 0.1, np.random.default_rng(0))
    for _ in range(600):
        rounds.append(game.round(player).index)
        sizes.append(int(player.details().maximisers[0]))
    assert sizes[0] == 4
    assert sizes == sorted(sizes, reverse=True)
    alone = sizes.index(1)
    assert alone < 500
    assert set(rounds[alone + 1 :]) == {0} == {player.recommend().index}


def test_an_unfinished_epoch_drops_nothing_and_claims_nothing_new() -> None:
    player = RGPPE(DOMAIN, KNOWN, C=0.5)
    game = Game(
        random_function(KERNEL, X, np.random.default_rng(1), 1.0), 0.05, np.random.default_rng(0)
    )
    n_changes = 0
    for _ in range(150):
        epoch, active, bounds = player.epoch, player.active.copy(), player.bounds()
        game.round(player)
        if player.epoch == epoch:
            np.testing.assert_array_equal(active, player.active)
            np.testing.assert_array_equal(bounds, player.bounds())
        else:
            n_changes += not np.array_equal(bounds, player.bounds())
    assert n_changes > 2


def test_queries_beyond_the_epoch_are_idle_until_all_of_it_is_told() -> None:
    player = RGPPE(DOMAIN, KNOWN, C=0.5)
    n = player.plan.n_readings
    queries = [player.ask() for _ in range(n + 2)]
    assert [query.instance for query in queries] == ["main"] * n + [None, None]
    for query in reversed(queries[1:]):
        player.tell(query, 5.0 if query.instance is None else 0.2)
    assert player.epoch == 0
    player.tell(queries[0], 0.2)
    assert player.epoch == 1
    assert np.abs(player.belief.mu).max() < 0.3  # what idle queries were told is not learned
    assert player.ask().instance == "main"


def test_a_practical_width_promises_nothing_and_the_others_say_what() -> None:
    practical = RGPPE(DOMAIN, KNOWN, C=3.0, width="practical")
    assert practical.guarantee.void == NotProved()
    assert practical.bounds() is practical.recommend().regret_bound is None
    assert RGPPE(DOMAIN, KNOWN, C=3.0, noise="practical").bounds() is None
    exact = RGPPE(DOMAIN, KNOWN, C=3.0)
    words = "against any adversary, weak or strong, with total corruption at most 3"
    assert str(exact.guarantee).startswith(
        f"With probability at least 0.8, {words} and no single lie above"
    )
    with pytest.raises(ValueError, match="width='paper' divides by psi"):
        RGPPE(DOMAIN, KNOWN, C=3.0, width="paper", psi=0.0)


def failures(told: float, spent: float, n_games: int, T: int = 120, **words: Any) -> int:
    """Games under several attacks in which f was ever outside the bounds claimed."""
    failed = 0
    for number in range(n_games):
        rng = np.random.default_rng([11, number])
        f = random_function(KERNEL, X, rng, 1.0)
        player = RGPPE(DOMAIN, KNOWN, C=told, seed=number, **words)
        lie = liars(KERNEL, X, f, rng)[("hide", "decoy", "down")[number % 3]]
        game = Game(f, 0.05, rng, lie, spent, 1.0, is_strong=player.threat == "strong")
        for _ in range(T):
            game.round(player)
        held = player._held
        failed += held.is_refuted or bool(np.any((f < held.lower - 1e-9) | (f > held.upper + 1e-9)))
    return failed


@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [{}, {"width": "lemma", "noise": "paper"}, {"width": "paper"}, {"order": "random"}],
    ids=["exact", "lemma", "paper", "random-order"],
)
def test_bounds_hold_within_the_budget(words: dict[str, str]) -> None:
    """200 games in all."""
    assert not is_too_often(failures(4.0, 4.0, 50, **words), 50, KNOWN.delta)


def test_these_games_refute_bounds_that_allow_for_no_corruption() -> None:
    assert is_too_often(failures(0.0, 8.0, 30), 30, KNOWN.delta)
