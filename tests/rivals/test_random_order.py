"""Readings in random order: what a weak adversary, who commits before the draw, can do to them."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

import unbribable as ub
from games import is_too_often
from unbribable.lab.rivals import RGPPE
from unbribable.lab.rivals.random_order import _tilt, random_order_shift
from unbribable.lab.rivals.rgp_pe import Estimate
from unbribable.theory.widths import shift_exact

X = np.linspace(0.0, 1.0, 12)[:, None]
DOMAIN = ub.Grid(X)
KNOWN = ub.Assumptions(
    ub.SquaredExponential(0.3), B=1.0, B0=1.0, noise_std=0.05, lam=0.1, delta=0.2, c_max=0.1
)


def test_each_round_draws_uniformly_from_the_readings_left() -> None:
    player = RGPPE(DOMAIN, KNOWN, C=2.0, order="random", seed=1)
    for _ in range(100):
        plan, drawn = player.plan, list(player._drawn)
        left = plan.repeats - np.bincount(drawn, minlength=len(plan.points))
        proposal = player.propose()
        np.testing.assert_array_equal(proposal.indices, plan.points[left > 0])
        np.testing.assert_allclose(proposal.probabilities, left[left > 0] / left.sum())
        player.tell(player.ask(), 0.1)


def test_the_shift_is_the_formula_with_the_probabilities_of_each_round() -> None:
    rng = np.random.default_rng(2)
    weights, repeats, C, cap, delta = rng.random((3, 4)), np.array([5, 3, 9]), 1.25, 0.5, 0.2
    drawn = rng.permutation(np.repeat(np.arange(3), repeats)).tolist()
    theta, room = _tilt(weights, repeats / 17, cap, C / cap, math.log(4 / delta)), math.log(4 / delta)
    shift = random_order_shift(weights, repeats, drawn, C, cap, delta)
    for x in range(4):
        left, psi = repeats.copy(), []
        for row in drawn:
            p = left / left.sum()
            psi.append(math.log(sum(p[a] * math.exp(theta[x] * cap * weights[a, x]) for a in range(3))))
            left[row] -= 1
        psi.sort(reverse=True)
        expected = (psi[0] + psi[1] + 0.5 * psi[2] + room) / theta[x]
        assert shift[x] == pytest.approx(expected, rel=1e-12)


def shift_after(player: RGPPE, n_epochs: int) -> tuple[np.ndarray, np.ndarray]:
    """The shift of the last of some epochs, and the exact one."""
    while player.epoch < n_epochs - 1 or player._n_told < player.plan.n_readings - 1:
        player.tell(player.ask(), 0.1)
    player.ask()
    at = Estimate(KNOWN, X, player.plan, np.zeros(len(player.plan.points)))
    counts = player.plan.repeats.astype(float)
    return player._shift(at), shift_exact(np.abs(at.R) / KNOWN.lam, counts, player.C, KNOWN.c_max)


@pytest.mark.parametrize("n_epochs", [1, 3, 7])
def test_the_shift_is_never_above_the_exact_one_and_in_long_epochs_below(n_epochs: int) -> None:
    shift, exact = shift_after(RGPPE(DOMAIN, KNOWN, C=4.0, order="random", seed=1), n_epochs)
    assert (shift <= exact).all()
    assert (shift < 0.8 * exact).any() == (n_epochs == 7)


def test_half_of_an_epochs_failures_are_the_shifts() -> None:
    player = RGPPE(DOMAIN, KNOWN, C=4.0, order="random", seed=1)
    shift, exact = shift_after(player, 7)
    at = Estimate(KNOWN, X, player.plan, np.zeros(len(player.plan.points)))
    delta = 6 * KNOWN.delta / (math.pi * 7) ** 2 / 2
    by_draws = random_order_shift(
        np.abs(at.R) / KNOWN.lam, player.plan.repeats, player._drawn, 4.0, KNOWN.c_max, delta
    )
    np.testing.assert_allclose(shift, np.minimum(exact, by_draws), rtol=1e-12)


def test_against_a_strong_adversary_random_order_uses_the_exact_shift() -> None:
    player = RGPPE(DOMAIN, KNOWN, C=4.0, order="random", threat="strong", seed=1)
    shift, exact = shift_after(player, 7)
    np.testing.assert_array_equal(shift, exact)
    assert player.guarantee.threat == "strong"
    weak = RGPPE(DOMAIN, KNOWN, C=4.0, order="random", seed=1)
    assert weak.guarantee.threat == "weak"
    assert weak.recommend().threat == "weak"


def test_what_has_no_proof_in_random_order_is_refused() -> None:
    for words in ({"width": "lemma"}, {"width": "practical"}, {"noise": "practical"}):
        with pytest.raises(ValueError, match="needs width='exact' and a proved noise part"):
            RGPPE(DOMAIN, KNOWN, C=1.0, order="random", **words)
    with pytest.raises(ValueError, match="threat must be one of 'strong'"):
        RGPPE(DOMAIN, KNOWN, C=1.0, threat="weak")


def test_large_exponents_do_not_overflow() -> None:
    weights = np.array([[1e3, 1e-9], [1e-3, 0.0]])
    shift = random_order_shift(weights, np.array([1, 50]), [1] * 50 + [0], 1e4, 1e2, 0.1)
    assert np.isfinite(shift).all()
    assert (shift >= 1e2 * weights[0]).all()  # the last reading is sure to be the heavy one


Strategy = Callable[[np.ndarray, float, int, int], bool]
"""Probabilities of the rows, that of the heaviest, the round, and the rounds left -> lie now?"""

STRATEGIES: dict[str, Strategy] = {
    "at once": lambda p, heavy, i, left: True,
    "late": lambda p, heavy, i, left: left <= 12,
    "when likely": lambda p, heavy, i, left: heavy >= 0.12,
    "when very likely": lambda p, heavy, i, left: heavy >= 0.3 or left <= 6,
}
WEIGHTS = np.array([[0.9, 0.02], [0.3, 0.5], [0.05, 0.4], [0.02, 0.4]])
REPEATS = np.array([4, 10, 16, 30])


def shifts(strategy: Strategy, C: float, cap: float, n_epochs: int, delta: float) -> tuple[int, int]:
    """Of some epochs: how often the lies moved some mean beyond the shift, and beyond their own mean."""
    n_beyond = n_beyond_mean = 0
    mean = C * (REPEATS @ WEIGHTS) / REPEATS.sum()
    for epoch in range(n_epochs):
        rng = np.random.default_rng([5, epoch])
        drawn = rng.permutation(np.repeat(np.arange(4), REPEATS)).tolist()
        left, budget, moved = REPEATS.copy(), C, np.zeros(2)
        for i, row in enumerate(drawn):
            p = left / left.sum()
            if budget > 0.0 and strategy(p, float(p[0]), i, len(drawn) - i):
                lie = min(cap, budget)
                budget -= lie
                moved += lie * WEIGHTS[row]
            left[row] -= 1
        shift = random_order_shift(WEIGHTS, REPEATS, drawn, C, cap, delta)
        n_beyond += bool((moved > shift + 1e-12).any())
        n_beyond_mean += bool((moved > mean).any())
    return n_beyond, n_beyond_mean


@pytest.mark.long
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_lies_committed_before_the_draw_stay_within_the_shift(strategy: str) -> None:
    n_beyond_mean = 0
    for C, cap in itertools.product((2.0, 9.0), (0.2, 0.5, math.inf)):
        n_beyond, n_more = shifts(STRATEGIES[strategy], C, min(C, cap), 100, 0.1)
        assert not is_too_often(n_beyond, 100, 0.1)
        n_beyond_mean += n_more
    assert n_beyond_mean > 60  # of 600: the readings lied about are not always the light ones
