"""The choice on a box: as good as the best of a fine grid, where it may go, and a point that exists."""

from typing import Any

import numpy as np
import pytest

import unbribable as ub
from contracts.members import BY_INSTANCE, algorithms
from told import reading_of
from unbribable.decision.asking.anywhere import Anywhere
from unbribable.decision.asking.rule import Play, Surface, polish, spread
from unbribable.decision.asking.search import surface
from unbribable.model.checks import Floats

ASSUMED = ub.Assumptions(ub.Matern(2.5, 0.25), B=3.0, B0=1.5, noise_std=0.05, lam=0.05)
RTOL = 1e-3
"""What is asked of the search: its point is at most that much, relatively, below the best."""

MAKERS = algorithms(assumptions=ASSUMED, C=3.0, T=16, seed=1)
ALL = pytest.mark.parametrize("name", MAKERS)


def wavy(u: Floats) -> Floats:
    """A function on the unit cube with several peaks."""
    value: Floats = np.sin(5.0 * u).sum(axis=-1) / u.shape[-1] + 0.3 * np.cos(11.0 * u[..., 0])
    return value


def unit(d: int) -> ub.Box:
    return ub.Box([0.0] * d, [1.0] * d)


def play(algorithm: Any, n_rounds: int) -> Any:
    """Rounds at the best candidate, found without a search: what is read lies where it would lie."""
    rng = np.random.default_rng(0)
    for _ in range(n_rounds):
        t = algorithm.t + 1
        choice = algorithm._next_round(algorithm.t + 1)
        atom = choice.plays[choice.play_of(algorithm.drawn(t))]
        u = algorithm.candidates.coordinates[atom.index]
        y = float(wavy(u)) + 0.05 * rng.standard_normal()
        algorithm.tell(x=algorithm.candidates.x_of(u), y=y)
    return algorithm


def grid(d: int, n: int) -> Floats:
    """n points a side of the unit cube, faces included."""
    axes = np.meshgrid(*[np.linspace(0.0, 1.0, n)] * d, indexing="ij")
    return np.stack(axes, axis=-1).reshape(-1, d)


def best_of(rule: Surface, U: Floats) -> float:
    """The largest value of the rule among these points."""
    return max(float(rule.values(U[k : k + 20_000]).max()) for k in range(0, len(U), 20_000))


def searches(algorithm: Any) -> list[tuple[Play, Play, Surface]]:
    """Each atom somebody learns from: as chosen among the candidates, after the search, its rule."""
    choice = algorithm._next_round(algorithm.t + 1)
    return [
        (atom, choice.final(k), surface(atom.rule, choice))
        for k, atom in enumerate(choice.plays)
        if atom.learner is not None
    ]


# --- as good as a fine grid --------------------------------------------------------------------------

CASES = [
    *((name, d, n, 50) for d, n in ((1, 20_000), (2, 150), (3, 40)) for name in MAKERS),
    ("gp-ucb", 1, 20_000, 120),
    ("robust", 2, 150, 120),
]


@pytest.mark.long
@pytest.mark.parametrize(("name", "d", "n", "t"), CASES)
def test_no_point_of_a_fine_grid_is_better_by_a_thousandth(name: str, d: int, n: int, t: int) -> None:
    """For every player; in three dimensions the candidates alone are worse than that."""
    algorithm = play(MAKERS[name](unit(d)), t)
    found = searches(algorithm)
    assert len(found) == (len(algorithm.draws) if name in BY_INSTANCE else 1)
    gaps, gaps_before = [], []
    for before, atom, rule in found:
        best = best_of(rule, grid(d, n))
        gaps.append((best - atom.ucb) / abs(best))
        gaps_before.append((best - before.ucb) / abs(best))
        if atom.u is not None:
            assert atom.ucb == pytest.approx(float(rule.values(atom.u[None, :])[0]), rel=1e-12)
            assert ((atom.u >= 0.0) & (atom.u <= 1.0)).all()
    assert max(gaps) <= RTOL
    assert d < 3 or max(gaps_before) > 2.0 * RTOL


@ALL
def test_the_query_is_the_point_the_search_found(name: str) -> None:
    """With the value, the mean and the width there, of the player that the draw named."""
    algorithm = play(MAKERS[name](ub.Box([-1.0, 2.0], [1.0, 7.0], n_candidates=16)), 12)
    t = algorithm.t + 1
    k = algorithm._next_round(algorithm.t + 1).play_of(algorithm.drawn(t))
    before, atom, _ = searches(algorithm)[k]
    assert atom.u is not None
    assert atom.ucb > before.ucb
    query = algorithm.ask()
    np.testing.assert_array_equal(query.u, atom.u)
    np.testing.assert_array_equal(query.x, algorithm.candidates.x_of(atom.u))
    assert (query.instance, query.ucb, query.index) == (atom.learner, atom.ucb, None)
    believed = Anywhere(algorithm.policy.named(atom.rule.player.label)).describe(atom.u)
    assert (query.mu, query.sigma, query.width) == believed


# --- where a layer may not go ------------------------------------------------------------------------

SHARP = ub.Assumptions(ASSUMED.kernel, B=3.0, B0=1.5, noise_std=0.02, lam=0.02, c_max=0.01)


def two_layers(d: int, seed: int, n_candidates: int) -> Any:
    """Layer 2 has read a lot, layer 1 little: what layer 1 finds widest, layer 2 has ruled out."""
    rng = np.random.default_rng(seed)
    box = ub.Box([0.0] * d, [1.0] * d, n_candidates=n_candidates)
    algorithm = ub.LayeredGPUCB(box, SHARP, T=4, seed=1, with_all=False)
    for t in range(1, 44 * d + 1):
        x, noise = rng.random(d), 0.02 * rng.standard_normal()
        drawn = "layer-2" if t <= 40 * d else "layer-1"
        algorithm.learn(reading_of(algorithm, t, x, float(wavy(x)) + noise, drawn))
    return algorithm


@pytest.mark.parametrize(("d", "seed", "n"), [(1, 3, 2001), (2, 2, 200)])
def test_the_search_of_a_layer_stays_where_no_layer_above_rules_out(d: int, seed: int, n: int) -> None:
    """It moves, and would gain by going where it may not; so few candidates leave a lot to find."""
    algorithm = two_layers(d, seed, 16)
    before, atom, rule = searches(algorithm)[0]
    assert atom.u is not None
    assert before.ucb < atom.ucb
    assert len(rule.floors) == 2
    for layer in algorithm.instances.values():
        floor = layer.lcb_bar.max() - SHARP.tolerance
        assert Anywhere(layer).ucb(atom.u[None, :], 1.0)[0] >= floor
    free = Surface(rule.bounds)
    U = grid(d, n)
    best = U[np.argmax(free.values(U))]
    assert free.values(best[None, :])[0] > 1.01 * atom.ucb
    assert rule.values(best[None, :])[0] == -np.inf


@pytest.mark.parametrize(("d", "seed", "n"), [(1, 1, 100_000), (1, 3, 100_000), (2, 5, 300)])
def test_along_a_floor_the_choice_is_as_good_too(d: int, seed: int, n: int) -> None:
    """Where the best allowed point lies on the border of what is allowed."""
    _, atom, rule = searches(two_layers(d, seed, 1024))[0]
    U = grid(d, n)
    best = best_of(rule, U)
    assert best_of(Surface(rule.bounds), U) > best * (1.0 + 2.0 * RTOL)
    assert atom.ucb >= best - RTOL * abs(best)


def test_a_search_that_ends_below_a_floor_is_taken_back_on_its_way() -> None:
    """To a point that keeps the floor and is still better than the start."""
    player, judge = MAKERS["gp-ucb"](unit(1)), MAKERS["gp-ucb"](unit(1))
    for x in np.linspace(0.0, 1.0, 41):
        player.tell(x=[x], y=x)  # uphill all the way
        judge.tell(x=[x], y=0.5 - x)
    bounds = ((Anywhere(player.instances["main"]), 1.0),)
    strict = Surface(bounds, ((Anywhere(judge.instances["main"]), 0.1),))
    start = np.array([[0.2]])
    (end,) = polish(Surface(bounds), player.domain, start)
    assert end[0] > 0.9
    assert strict.values(end[None, :])[0] == -np.inf
    on_the_way = strict.values(polish(strict, player.domain, start))
    assert on_the_way.max() > strict.values(start)[0] > -np.inf


# --- points that exist -------------------------------------------------------------------------------


def whole_first(U: Floats) -> Floats:
    """The first coordinate in tenths."""
    return np.concatenate([np.round(10.0 * U[:, :1]) / 10.0, U[:, 1:]], axis=1)


@pytest.mark.long
@ALL
def test_where_not_every_point_exists_only_those_that_do_are_asked_for(name: str) -> None:
    """Whole numbers 0..10 beside a real one: candidates, proposals, queries and recommendations."""
    box = ub.Box([0.0, -1.0], [10.0, 1.0], n_candidates=16, snap=whole_first)
    algorithm = MAKERS[name](box)
    rng = np.random.default_rng(0)
    n_moved = 0
    for _ in range(16):
        proposal, query = algorithm.propose(), algorithm.ask()
        n_moved += query.index is None
        for points in (proposal.points, query.x[None, :]):
            np.testing.assert_allclose(points[:, 0], np.round(points[:, 0]), atol=1e-12)
        np.testing.assert_array_equal(whole_first(query.u[None, :])[0], query.u)
        algorithm.tell(query, float(wavy(query.u)) + 0.05 * rng.standard_normal())
    algorithm.tell(x=[3.4, 0.123], y=0.5)
    assert algorithm.candidates.x_of(algorithm.readings[-1].u) == pytest.approx([3.0, 0.123])
    U = algorithm.candidates.coordinates
    np.testing.assert_array_equal(whole_first(U), U)
    assert len(np.unique(U, axis=0)) == len(U)
    assert n_moved >= 2
    assert algorithm.recommend().x[0] == pytest.approx(np.round(algorithm.recommend().x[0]))


# --- when nothing is searched ------------------------------------------------------------------------


@ALL
def test_beside_pending_queries_the_search_goes_on(name: str) -> None:
    """To other points; and once all are told or forgotten, it finds what it found first."""
    algorithm = play(MAKERS[name](ub.Box([0.0, 0.0], [1.0, 1.0], n_candidates=16)), 10)
    first = algorithm.ask()
    assert first.index is None
    others = [algorithm.ask() for _ in range(4)]
    assert any(query.index is None for query in others)
    assert len({tuple(query.u) for query in (first, *others)}) == 5
    for query in algorithm.pending:
        algorithm.forget(query)
    again = algorithm.query_at(first.t, algorithm.drawn(first.t))
    np.testing.assert_array_equal(again.u, first.u)


def test_starts_are_the_best_that_are_not_close_to_a_better_one() -> None:
    """Close: correlated by 0.9 or more; taken greedily in the order given."""
    rng = np.random.default_rng(0)
    U = rng.random((300, 2))
    kernel = ub.Matern(2.5, 0.3)
    order = rng.permutation(300).tolist()
    chosen = spread(order, U, kernel, 10)
    expected: list[int] = []
    for k in order[:128]:
        if all(kernel(U[k : k + 1], U[j : j + 1])[0, 0] <= 0.9 for j in expected):
            expected.append(k)
    assert chosen == expected[:10]
    assert chosen[0] == order[0]
    assert len(chosen) == 10
    assert chosen != order[:10]
