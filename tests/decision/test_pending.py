"""Several queries at a time: they spread out, nothing is believed before it is told, in any order."""

from collections import defaultdict
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from by_system import by_system
from contracts.members import BY_INSTANCE, algorithms
from told import player_of
from unbribable.decision.asking.ahead import Ahead
from unbribable.model.checks import Floats

KERNEL = ub.Matern(2.5, 0.4)
ASSUMED = ub.Assumptions(KERNEL, B=2.0, B0=2.0, noise_std=0.1, lam=0.05, c_max=0.5)
DOMAINS: dict[str, Any] = {
    "grid": ub.Grid(np.random.default_rng(3).random((40, 2))),
    "box": ub.Box([0.0, 0.0], [1.0, 1.0], n_candidates=32),
}
MAKERS = algorithms(assumptions=ASSUMED, C=3.0, T=8, seed=2)
ALL = pytest.mark.parametrize("name", MAKERS)
EVERYWHERE = pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)
VARIANTS = ("fast-slow-with-all", "fast-slow-dials", "layered-with-all")
"""Of algorithms that are listed, too: long on a box, where a choice costs most."""
PAIRS = pytest.mark.parametrize(
    ("name", "domain"),
    [
        pytest.param(
            name,
            domain,
            id=f"{name}-{where}",
            marks=pytest.mark.long if where == "box" and name in VARIANTS else (),
        )
        for name in MAKERS
        for where, domain in DOMAINS.items()
    ],
)


def truth(u: Floats) -> float:
    return float(np.sin(5.0 * u[0]) * np.cos(3.0 * u[1]))


def played(name: str, domain: Any, n_rounds: int = 8, **words: Any) -> Any:
    """A run of some rounds, told at once; on a box it has read points that were no candidates."""
    algorithm = MAKERS[name](domain, **words)
    rng = np.random.default_rng(0)
    for _ in range(n_rounds):
        u = domain.points[rng.integers(domain.n)] if isinstance(domain, ub.Grid) else rng.random(2)
        algorithm.tell(x=u, y=truth(u) + 0.1 * rng.standard_normal())
    return algorithm


MISSING = ", and if none of the 3 missing readings is missing because of its value"


def beliefs(algorithm: Any) -> dict[str, Any]:
    """Every interval, and what is recommended."""
    found: dict[str, Any] = {
        label: np.stack([i.mu, i.sigma, i.noise, i.width, i.ucb_bar, i.lcb_bar])
        for label, i in algorithm.instances.items()
    }
    best = algorithm.recommend()
    found["maximisers"] = np.array(getattr(algorithm, "maximisers", []))
    found["best"] = (best.index, best.lower, best.upper, best.regret_bound, best.guarantee)
    found["candidates"] = algorithm.candidates.coordinates.copy()
    return found


def fields(query: ub.Query) -> dict[str, Any]:
    """A query as comparable data."""
    return {**vars(query), "x": query.x.tolist(), "u": query.u.tolist()}


def dense_var(algorithm: Any, label: str, pending: list[Floats], at: Floats | None = None) -> Floats:
    """An instance's variance if the pending points were told to it: raw readings.

    At the candidates, or at the points `at`.
    """
    U = algorithm.candidates.coordinates if at is None else at
    read = [reading for reading in algorithm.readings if label in ("all", reading.learner)]
    points = np.array([reading.u for reading in read] + pending).reshape(-1, 2)
    lams = np.array([reading.lam for reading in read] + [ASSUMED.lam] * len(pending))
    cross = KERNEL(points, U)
    var: Floats = 1.0 - np.sum(cross * np.linalg.solve(KERNEL(points, points) + np.diag(lams), cross), 0)
    return var


def ucb_with(algorithm: Any, query: ub.Query, pending: list[Floats]) -> Floats:
    """What whoever plays maximises over the candidates, -inf where it may not go."""
    player, label = player_of(algorithm, query), query.instance
    left = np.sqrt(dense_var(algorithm, label, pending) / dense_var(algorithm, label, []))
    if label == "fast":
        current: Floats = player.mu + left * player.width
        caps = [algorithm.instances[label] for label in ("slow", "all")[: 1 + algorithm.with_all]]
        if algorithm.candidates.box is not None:
            return np.min([current, *(cap.mu + cap.width for cap in caps)], axis=0)
        return np.min([player.ucb_bar, *(cap.ucb_bar for cap in caps), current], axis=0)
    alpha = 1.0 if label == "main" else 2.0
    ucb: Floats = player.mu + alpha * left * player.width
    if label.startswith("layer"):
        ucb[~algorithm.maximisers[int(label[-1]) - 1]] = -np.inf
    if 0 < query.level <= len(getattr(algorithm, "maximisers", ())):
        ucb[~algorithm.maximisers[query.level - 1]] = -np.inf
    return ucb


@pytest.mark.long
@EVERYWHERE
@pytest.mark.parametrize("name", BY_INSTANCE)
@pytest.mark.parametrize("words", [{}, {"width": "capped", "noise": "paper"}], ids=["exact", "capped"])
def test_the_choice_reckons_with_the_variance_that_dense_solves_leave(
    name: str, domain: Any, words: dict[str, Any]
) -> None:
    """The width counts by sqrt(var' / var), var' with all pending points among the readings."""
    algorithm = played(name, domain, **words)
    players, n_polished = set(), 0
    algorithm.ask()
    for _ in range(8):
        pending = [query.u for query in algorithm.pending]
        query = algorithm.ask()
        ucb = ucb_with(algorithm, query, pending)
        if query.index is not None:
            assert query.ucb == pytest.approx(ucb[query.index], rel=1e-9)
            assert query.ucb == pytest.approx(ucb.max(), rel=1e-9)
        else:
            at = query.u[None, :]
            ratio = dense_var(algorithm, query.instance, pending, at) / dense_var(
                algorithm, query.instance, [], at
            )
            alpha = 2.0 if query.instance.startswith(("slow", "layer")) else 1.0
            own = query.mu + alpha * float(np.sqrt(ratio[0])) * query.width
            n_polished += 1
            assert ucb.max() < query.ucb <= own + 1e-9
            if query.instance != "fast":  # whom slow's bound may cap
                assert query.ucb == pytest.approx(own, rel=1e-7)
        for label, instance in algorithm.instances.items():
            ratio = dense_var(algorithm, label, pending) / dense_var(algorithm, label, [])
            shrink = Ahead.of(instance.posterior, pending, ()).shrink
            np.testing.assert_allclose(shrink, np.sqrt(ratio), rtol=1e-7)
        players.add(query.instance)
    assert len(players) == len(algorithm.draws)
    assert (n_polished > 0) == isinstance(domain, ub.Box)


@pytest.mark.long
@EVERYWHERE
@pytest.mark.parametrize("name", BY_INSTANCE)
def test_whoever_is_drawn_twice_asks_for_two_points(name: str, domain: Any) -> None:
    """While sigma matters; alone, without what was asked before, it would ask for the same one."""
    algorithm = played(name, domain, 3)
    silent = played(name, domain, 3)
    asked: dict[Any, list[tuple[float, ...]]] = defaultdict(list)
    alone: dict[Any, set[tuple[float, ...]]] = defaultdict(set)
    for _ in range(8):
        query = algorithm.ask()
        asked[query.instance, query.level].append(tuple(query.u))
        found = silent.query_at(query.t, silent.drawn(query.t))
        alone[found.instance, found.level].add(tuple(found.u))
    repeated = [label for label, points in asked.items() if len(points) > 1]
    assert repeated
    for label in repeated:
        assert len(alone[label]) == 1
        assert asked[label][0] != asked[label][1]
        assert len(set(asked[label])) >= min(3, len(asked[label]))


@PAIRS
def test_no_interval_and_no_certificate_knows_of_pending_queries(name: str, domain: Any) -> None:
    """And a query tells mean, sigma and width as they are, not as they will be."""
    algorithm = played(name, domain)
    before = beliefs(algorithm)
    for _ in range(6):
        query = algorithm.ask()
        player = player_of(algorithm, query)
        if query.index is not None:
            believed = [values[query.index] for values in (player.mu, player.sigma, player.width)]
            assert [query.mu, query.sigma, query.width] == believed
    np.testing.assert_equal(beliefs(algorithm), before)
    assert len(algorithm.readings) == 8


@PAIRS
def test_pending_queries_told_in_any_order_give_the_same_posterior(name: str, domain: Any) -> None:
    """Anywhere; the candidates of a box may differ, since they lie round what was read when."""
    tests = np.random.default_rng(9).random((50, 2))
    finals = []
    for order in ([0, 1, 2, 3, 4, 5], [5, 2, 0, 4, 1, 3]):
        algorithm = played(name, domain)
        queries = [algorithm.ask() for _ in range(6)]
        for k in order:
            algorithm.tell(queries[k], truth(queries[k].u) + 0.1 * k)
        assert algorithm.pending == ()
        finals.append(algorithm)
    one, other = finals
    for label, instance in one.instances.items():
        double = other.instances[label]
        assert instance.n_readings == double.n_readings
        beliefs = (by_system(each.posterior, tests) for each in (instance, double))
        for mine, theirs in zip(*beliefs, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)
        assert instance.posterior.gain == pytest.approx(double.posterior.gain, rel=1e-10)
        n = domain.n if isinstance(domain, ub.Grid) else 36  # the candidates both began with
        np.testing.assert_allclose(instance.width[:n], double.width[:n], rtol=1e-8)


@PAIRS
def test_a_forgotten_query_leaves_no_trace_in_what_is_asked(name: str, domain: Any) -> None:
    """One of several, or all of them: the next choice is that of a run which never asked it."""
    algorithm, never = played(name, domain), played(name, domain)
    first, second, third = (algorithm.ask() for _ in range(3))
    assert fields(algorithm.forget(second)) == fields(second)
    others = [first.u, third.u]
    drawn = algorithm.drawn(4)
    without = never.query_at(4, drawn, others=others)
    assert fields(algorithm.query_at(4, drawn)) == fields(without)
    algorithm.forget(first.id)
    algorithm.forget(third)
    assert algorithm.pending == ()
    assert fields(algorithm.query_at(4, drawn)) == fields(never.query_at(4, drawn))
    if name != "ladder":  # whose levels take turns, also those given up
        np.testing.assert_array_equal(algorithm.propose().points, never.propose().points)
    believed, expected = beliefs(algorithm), beliefs(never)
    *numbers, words = believed.pop("best")
    assert (*numbers, words.replace(MISSING, "")) == expected.pop("best")
    assert MISSING in words
    np.testing.assert_equal(believed, expected)
    for query in (first, second.id):
        with pytest.raises(RuntimeError, match="not asked here"):
            algorithm.tell(query, 0.0)
        with pytest.raises(RuntimeError, match="not asked here"):
            algorithm.forget(query)
    assert algorithm.ask().id == algorithm.t == 12


@PAIRS
def test_points_pending_elsewhere_count_as_ones_own(name: str, domain: Any) -> None:
    """query_at(t, drawn, others=...) is the query that asking for these points first would lead to."""
    asking, host = played(name, domain), played(name, domain)
    before = beliefs(host)
    others: list[Floats] = []
    for _ in range(4):
        query = asking.ask()
        assert fields(host.query_at(query.t, host.drawn(query.t), others=others)) == fields(query)
        others.append(query.u)
    np.testing.assert_equal(beliefs(host), before)
    assert host.pending == ()
    assert host.t == 8
    first = asking.pending[0]
    assert fields(host.query_at(9, host.drawn(9))) == fields(first)
    assert fields(host.ask()) == fields(first)


@PAIRS
def test_own_and_foreign_pending_points_count_together(name: str, domain: Any) -> None:
    """In whatever order they came."""
    asking, host = played(name, domain), played(name, domain)
    mine, theirs = asking.ask(), asking.ask()
    third = asking.ask()
    assert fields(host.ask()) == fields(mine)
    found = host.query_at(11, host.drawn(11), others=[theirs.u])
    assert fields(found) == fields(third)


@PAIRS
def test_a_look_at_points_pending_elsewhere_does_not_change_the_proposal(name: str, domain: Any) -> None:
    """query_at changes nothing; what is proposed is what the next ask draws from."""
    algorithm = played(name, domain)
    before = algorithm.propose()
    algorithm.query_at(9, algorithm.drawn(9), others=list(before.points))
    np.testing.assert_array_equal(algorithm.propose().points, before.points)
