"""Points to avoid: no choice ends in one of them while there is another point."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from contracts.members import ALGORITHMS
from unbribable.decision.asking.ahead import Avoided

ASSUMED = ub.Assumptions(ub.Matern(2.5, 0.4), B=2.0, B0=1.0, noise_std=0.1, lam=0.05, c_max=0.5)
GRID = ub.Grid(np.random.default_rng(3).random((12, 2)))
BOX = ub.Box([0.0, 0.0], [1.0, 1.0], n_candidates=32)
WHOLE = ub.Box([0.0], [1.0], n_candidates=32, snap=lambda U: np.round(7.0 * U) / 7.0)
ALL = pytest.mark.parametrize("build", ALGORITHMS.values(), ids=ALGORITHMS)
Build = Callable[..., Any]


def played(build: Build, domain: ub.Grid | ub.Box, **words: Any) -> Any:
    """After some readings, so that layers have ruled points out."""
    algorithm = build(domain, ASSUMED, **words)
    for _ in range(10):
        query = algorithm.ask()
        algorithm.tell(query, float(np.sin(5.0 * query.u[0])) / 2.0)
    return algorithm


@pytest.mark.long
@ALL
@pytest.mark.parametrize(
    ("domain", "words"),
    [(GRID, {}), (GRID, {"width": "capped"}), (WHOLE, {})],
    ids=["grid", "capped", "whole"],
)
def test_every_point_of_the_domain_is_asked_before_one_to_avoid_is(
    build: Build, domain: ub.Grid | ub.Box, words: dict[str, Any]
) -> None:
    algorithm = played(build, domain, **words)
    n = 12 if isinstance(domain, ub.Grid) else 8
    for drawn, _ in algorithm.draws:
        plain = algorithm.query_at(99, drawn)
        avoid = [plain.u]
        while len(avoid) < n:
            u = algorithm.query_at(99, drawn, (), avoid).u
            assert min(np.abs(u - other).max() for other in avoid) > 1e-9
            avoid.append(u)
        assert algorithm.query_at(99, drawn, (), avoid).ucb == plain.ucb, "nothing is left: as ever"
        assert algorithm.query_at(99, drawn).u.tolist() == plain.u.tolist(), "and nothing is kept"


@ALL
def test_the_choice_among_the_other_points_is_the_best_one(build: Build) -> None:
    algorithm = played(build, GRID)
    for drawn, _ in algorithm.draws:
        first = algorithm.query_at(99, drawn)
        second = algorithm.query_at(99, drawn, (), [first.u])
        assert second.ucb <= first.ucb
        others = [point for k, point in enumerate(GRID.points) if k not in (first.index, second.index)]
        assert algorithm.query_at(99, drawn, (), [first.u, *others]).index == second.index


@pytest.mark.long
@ALL
def test_a_search_between_candidates_does_not_end_in_a_point_to_avoid(build: Build) -> None:
    algorithm = played(build, BOX)
    for drawn, _ in algorithm.draws:
        avoid = [algorithm.query_at(99, drawn).u]
        for _ in range(2):
            u = algorithm.query_at(99, drawn, (), avoid).u
            assert min(np.abs(u - other).max() for other in avoid) > 1e-9
            avoid.append(u)


def test_what_is_closer_to_a_point_to_avoid_than_to_a_reading_is_left_out_too() -> None:
    avoided = Avoided(np.array([[0.5]]), np.array([[0.4]]), ub.Matern(2.5, 0.5))
    U = np.array([[0.4], [0.45], [0.46], [0.5], [0.6], [0.9]])
    assert avoided.leaves_out(U).tolist() == [False, False, True, True, True, False]


def test_where_all_is_left_out_the_neighbours_of_a_point_to_avoid_come_before_the_point() -> None:
    avoided = Avoided(np.array([[0.5]]), np.empty((0, 1)), ub.Matern(2.5, 5.0))
    X = np.array([[0.4], [0.5], [0.6]])
    assert avoided.leaves_out(X).all()
    assert avoided.allowed(X).tolist() == [True, False, True]
    assert avoided.allowed(X[1:2]) is None
