"""Where to read next: the maximum of mean + beta * sd, by local searches, and not where it is no use."""

import numpy as np
import pytest

import unbribable as ub
from doubt.tables import drawn, judged
from unbribable.decision.asking.ahead import is_among
from unbribable.model.checks import Floats
from unbribable.study.choose import Promise, best_candidate, best_point


def told(d: int, seed: int = 0, n: int = 18) -> tuple[Promise, Floats]:
    """What some readings promise with beta = 2, and their points, the best one first."""
    rng = np.random.default_rng([seed, d])
    U = rng.random((n, d))
    y = drawn(d, rng)(U) + 0.1 * rng.standard_normal(n)
    y[3] += 60.0
    judge = judged(U, y)
    return Promise(judge.belief(), 2.0), U[np.argsort(-judge.predict(U)[0])]


NOTHING = np.zeros((0, 1))


def box(d: int) -> ub.Box:
    return ub.Box([0.0] * d, [1.0] * d)


def test_the_promise_is_mean_plus_beta_sd_of_what_is_thought() -> None:
    rng = np.random.default_rng(0)
    U = rng.random((12, 2))
    judge, X = judged(U, np.sin(5.0 * U[:, 0])), rng.random((6, 2))
    data = judge.chains.data
    for beta in (0.0, 0.5, 2.0, 50.0):
        mean, sd = judge.predict(X)
        expected = (mean + beta * sd - data.origin) / data.unit
        np.testing.assert_allclose(Promise(judge.belief(), beta).values(X), expected, rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_in_one_dimension_nothing_on_a_fine_grid_promises_more(seed: int) -> None:
    promise, read = told(1, seed)
    best = best_point(promise, box(1), read, NOTHING, 7)
    values = promise.values(np.linspace(0.0, 1.0, 4001)[:, None])
    assert promise.values(best[None])[0] >= values.max() - 1e-4 * np.ptp(values)


@pytest.mark.parametrize("d", [2, 3, 5])
def test_in_several_dimensions_hardly_any_of_many_points_promises_more(d: int) -> None:
    promise, read = told(d)
    best = best_point(promise, box(d), read, np.zeros((0, d)), 7)
    values = promise.values(np.random.default_rng(1).random((4000, d)))
    assert best.min() >= 0.0
    assert best.max() <= 1.0
    assert promise.values(best[None])[0] >= values.max()


def test_the_choice_depends_on_the_stream_and_on_nothing_else() -> None:
    promise, read = told(2)
    none = np.zeros((0, 2))
    first = best_point(promise, box(2), read, none, 7)
    np.testing.assert_array_equal(best_point(promise, box(2), read, none, 7), first)


def test_a_candidate_is_the_best_of_all() -> None:
    promise, read = told(2)
    candidates = np.random.default_rng(2).random((50, 2))
    chosen = best_candidate(promise, candidates, read, np.zeros((0, 2)))
    assert chosen == np.argmax(promise.values(candidates))


@pytest.mark.parametrize("d", [1, 2])
def test_a_point_to_avoid_is_not_chosen_nor_what_is_close_to_it(d: int) -> None:
    promise, read = told(d)
    none = np.zeros((0, d))
    best = best_point(promise, box(d), read, none, 7)
    away = best_point(promise, box(d), read, best[None], 7)
    assert np.abs(away - best).max() > 0.01
    candidates = np.concatenate([best[None], best[None] + 1e-6, np.random.default_rng(3).random((9, d))])
    assert best_candidate(promise, candidates, read, best[None]) > 1


def test_where_every_candidate_is_to_be_avoided_one_is_chosen_all_the_same() -> None:
    promise, read = told(1)
    candidates = np.array([[0.1], [0.9]])
    chosen = best_candidate(promise, candidates, read, candidates)
    assert is_among(candidates[chosen][None], candidates).all()


def test_a_coordinate_of_whole_steps_stays_on_them() -> None:
    """In the coordinates that the kernel sees."""
    space = {"n": ub.Whole(1, 5), "gas": ["N2", "Ar"], "x": (0.0, 1.0)}
    study, rng = ub.Study(space, seed=0), np.random.default_rng(0)
    for _ in range(12):
        asked = study.ask()
        study.tell(asked, float(asked.params["x"]) + 0.1 * rng.standard_normal())
    asked = study.ask()
    assert asked.params["n"] in range(1, 6)
    assert asked.params["gas"] in ("N2", "Ar")
