"""Layers that share their readings: one belief of all of them, at every level's corruption."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unbribable as ub
from games import Game, law, liars, random_function
from unbribable.lab.theorems.regret_bounds import theorem_10
from unbribable.theory.budgets import layer_budgets, number_of_layers, robust_layer
from unbribable.theory.widths import shift_exact, shifts_exact

X = np.linspace(0.0, 1.0, 12)[:, None]
KERNEL = ub.Matern(2.5, 0.4)
B = 4.0
KNOWN = ub.Assumptions(KERNEL, B=B, B0=B, c_max=1.0, noise_std=0.05, lam=0.01, delta=0.2)
T = 64


def layers(seed: int, **words: object) -> ub.LayeredGPUCB:
    return ub.LayeredGPUCB(ub.Grid(X), KNOWN, T=T, seed=seed, with_all=True, **words)


@law
@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.sampled_from([0.1, 0.3, 1.0, 2.5]))
def test_one_sort_gives_every_levels_exact_shift(seed: int, n_items: int, cap: float) -> None:
    rng = np.random.default_rng(seed)
    weights, counts = rng.random((n_items, 6)), rng.integers(1, 9, n_items).astype(float)
    weights[:, 0] = 0.5  # ties
    budgets = np.sort(np.concatenate([[0.05, 0.3], cap * rng.integers(1, 80, 6), [1e6]]))
    found = shifts_exact(weights, counts, budgets, cap)
    alone = [shift_exact(weights, counts, float(C), cap) for C in budgets]
    np.testing.assert_allclose(found, alone, rtol=1e-12)
    assert (np.diff(found, axis=0) >= 0.0).all()


@pytest.mark.parametrize("seed", range(6))
def test_the_maximiser_stays_at_every_level_that_covers_the_lies_and_the_sets_are_nested(
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    f = random_function(KERNEL, X, rng, B)
    algorithm = layers(seed)
    total, n_gone = 6.0, 0
    world = Game(f, 0.05, rng, liars(KERNEL, X, f, rng)["hide"], total, 1.0)
    for t in range(1, 151):
        world.round(algorithm)
        sets = algorithm.maximisers
        assert not (sets[:-1] & ~sets[1:]).any()
        assert sets[robust_layer(total) - 1 :, np.argmax(f)].all()
        n_gone = max(n_gone, int((~sets).sum()))
        every = algorithm.instances["all"]
        assert every.n_readings == t
        n_drawn = sum(
            instance.n_readings for label, instance in algorithm.instances.items() if label != "all"
        )
        assert n_drawn == t - sum(reading.learner is None for reading in algorithm.readings)
    assert n_gone > 5


def test_sharing_rules_out_more_than_the_layers_alone() -> None:
    n_left = {}
    for with_all in (False, True):
        rng = np.random.default_rng(3)
        f = random_function(KERNEL, X, rng, B)
        algorithm = ub.LayeredGPUCB(ub.Grid(X), KNOWN, T=T, seed=3, with_all=with_all)
        world = Game(f, 0.05, rng)
        for _ in range(150):
            world.round(algorithm)
        n_left[with_all] = int(algorithm.maximisers.sum())
    assert n_left[True] < 0.8 * n_left[False]


@pytest.mark.parametrize("seed", range(4))
def test_against_a_strong_adversary_all_readings_certify_at_every_level_that_covers(seed: int) -> None:
    rng = np.random.default_rng([7, seed])
    f = random_function(KERNEL, X, rng, B)
    algorithm, total = layers(seed), 3.0
    best = int(np.argmax(f))
    # sees the draw, and lies to the top layers alone: their budgets break, that of all readings holds
    world = Game(
        f,
        0.05,
        rng,
        lambda i, labels: -1.0 if i == best and "layer-1" not in labels else 0.0,
        total,
        1.0,
    )
    for _ in range(120):
        world.round(algorithm)
        for level in algorithm.instances["all"].at_levels:
            if total <= level.C:
                assert (level.lcb_bar <= f + 1e-9).all()
                assert (level.ucb_bar >= f - 1e-9).all()
    found = algorithm.recommend(threat="strong", C=total)
    assert f.max() - f[found.index] <= found.regret_bound
    assert found.probability == 1.0 - KNOWN.delta / 2.0
    assert [level.C for level in found.levels] == [2.0, 4.0, 8.0, 16.0, 32.0, 64.0]
    for level in found.levels[1:]:
        assert f.max() - f[found.index] <= level.regret_bound
        assert str(level).endswith("against any adversary")
    assert all("weak" in str(level) for level in algorithm.recommend().levels)
    with pytest.raises(ValueError, match="C must be at most 64"):
        algorithm.recommend(threat="strong", C=64.1)


def test_a_reading_nobody_asked_for_is_learned_by_all() -> None:
    algorithm = layers(0)
    for x in X[::3]:
        algorithm.tell(x=x, y=0.1)
    assert algorithm.instances["all"].n_readings == 4


@pytest.mark.parametrize("n_rounds", [1, 2, 64, 20_000])
def test_every_width_and_tail_has_an_equal_share_of_half_of_delta(n_rounds: int) -> None:
    budgets = layer_budgets(KNOWN, n_rounds, "sharp", with_all=True)
    n_layers = number_of_layers(n_rounds)
    n_events = sum(1 if label == "all" else 2 for label in budgets)
    for budget in budgets.values():
        assert budget.delta * n_events == pytest.approx(KNOWN.delta / 2)
    assert budgets["all"].levels == tuple(2.0**level for level in range(1, n_layers + 1))


@pytest.mark.parametrize(
    ("C", "level"), [(0.0, 1), (2.0, 1), (math.nextafter(8.0, 9.0), 4), (8.0, 3), (8.5, 4)]
)
def test_the_robust_layer_is_found_by_comparison_and_not_by_a_rounded_logarithm(
    C: float, level: int
) -> None:
    assert robust_layer(C) == level
    assert 2.0**level >= C


@pytest.mark.parametrize(
    ("C", "totals"), [(2.5, (2.0, 2.5)), (8.0, (2.0, 4.0, 8.0)), (9.0, (2.0, 4.0, 8.0, 9.0))]
)
def test_layers_that_are_told_c_end_with_one_that_allows_for_it(
    C: float, totals: tuple[float, ...]
) -> None:
    for tail in ("sharp", "paper"):
        algorithm = ub.LayeredGPUCB(ub.Grid(X), KNOWN, C=C, with_all=True, tail=tail)
        budgets = algorithm.policy.budgets
        assert tuple(budget.total for budget in budgets.values()) == (*totals, None)
        assert budgets["all"].levels == totals
        assert budgets[f"layer-{len(totals)}"].C <= C
        assert algorithm.probabilities[-1] == 2.0 ** -len(totals)
        assert len({budget.delta for budget in budgets.values()}) == 1
        assert budgets["all"].delta * (2 * len(totals) + 1) == pytest.approx(KNOWN.delta / 2)
    assert [level.C for level in algorithm.recommend(C=1.0).levels] == list(totals)
    with pytest.raises(ValueError, match=f"C must be at most the {C:g} it was told"):
        algorithm.recommend(C=C + 0.1)


def test_up_to_two_layers_that_are_told_c_are_algorithm_one() -> None:
    told = ub.LayeredGPUCB(ub.Grid(X), KNOWN, C=2.0, with_all=True)
    robust = ub.RobustGPUCB(ub.Grid(X), KNOWN, C=2.0)
    for y in (0.3, 1.2, -0.4, 0.1, 0.9):
        one, other = told.ask(), robust.ask()
        assert (one.index, one.ucb) == (other.index, other.ucb)
        told.tell(one, y)
        robust.tell(other, y)
    assert told.recommend(threat="strong").regret_bound == robust.recommend().regret_bound
    assert told.maximisers.all()


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ({"C": 3.0, "T": 10, "with_all": True}, "T must be left out where C is given, got T=10"),
        ({"C": 3.0, "with_all": False}, "with_all must be True where C is given, got with_all=False"),
        ({"C": 0.0, "with_all": True}, "C must be finite and > 0"),
        ({"C": "much", "with_all": True}, "C must be a real number"),
    ],
)
def test_layers_are_told_either_t_or_c(words: dict[str, Any], rule: str) -> None:
    with pytest.raises((TypeError, ValueError), match=rule):
        ub.LayeredGPUCB(ub.Grid(X), KNOWN, **words)


@pytest.mark.parametrize("seed", range(3))
def test_after_a_sure_play_of_a_covering_layer_what_is_left_is_nearly_as_good(seed: int) -> None:
    """Lemma 8 for layers that share: every point left has a gap below 20 alpha times its width."""
    rng = np.random.default_rng([8, seed])
    f = random_function(KERNEL, X, rng, 10.0)
    assumed = ub.Assumptions(KERNEL, B=10.0, B0=10.0, c_max=0.5, noise_std=0.02, lam=0.01, delta=0.2)
    algorithm = ub.LayeredGPUCB(ub.Grid(X), assumed, T=256, seed=seed, with_all=True)
    world = Game(f, 0.02, rng, liars(KERNEL, X, f, rng)["hide"], 2.0, 0.5)
    n_sure = 0
    for _ in range(256):
        query = world.round(algorithm)
        if query.instance is None:
            continue
        left = algorithm.maximisers[int(query.instance.removeprefix("layer-")) - 1]
        most = 20.0 * algorithm.alpha * query.width
        assert (f.max() - f[left] < most).all()
        n_sure += most < np.ptp(f)
    assert n_sure > 10  # else it would say nothing


def test_theorem_ten_of_sharing_layers_has_their_share() -> None:
    known = ub.Assumptions(ub.Linear(1.0), B=1.5, B0=0.8, noise_std=0.2, delta=0.1)
    n_rounds, gain = 10**7, 9.0
    d = 0.1 / (2 * (2 * 24 + 1))
    layer = 1.5 + 0.2 * math.sqrt(2 * (gain + math.log(1 / d))) + 3 + 0.8 * math.log(1 / d)
    bound = theorem_10(known, 1.0, n_rounds, lambda t: gain, with_all=True)
    assert bound.theorem_value == pytest.approx(4 * layer * math.sqrt(4 * 24 * n_rounds * gain))
