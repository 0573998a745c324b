"""Which points may be asked: constraints, fixed values, steps."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from contracts.members import ALGORITHMS
from study.scripted import assert_refused, assert_same_run
from unbribable.decision.asking.anywhere import Anywhere
from unbribable.decision.recommend import trusted
from unbribable.model.box import Candidates
from unbribable.study.space import Space

NAMED: dict[str, Any] = {"a": (0.0, 1.0), "b": (0.0, 1.0), "gas": ["N2", "Ar", "He"]}
SUM = ub.LinearConstraint({"a": 1.0, "b": 1.0}, at_most=1.0)
GRID = ub.Grid(np.stack(np.meshgrid(np.linspace(0, 1, 9), np.linspace(0, 1, 9)), -1).reshape(-1, 2))
BOX = ub.Box([0.0, 0.0], [1.0, 2.0], n_candidates=64)
ASSUMED = ub.Assumptions(
    ub.Matern(2.5, 0.5), B=3.0, B0=2.0, noise_std=0.01, lam=0.01, delta=0.1, c_max=4.0
)
WAYS: dict[str, dict[str, Any]] = {
    "fitted": {},
    "given, lies": {"assumptions": ASSUMED, "lies": 1},
    "given, none": {"assumptions": ASSUMED, "corruption": 0},
    "given, a number": {"assumptions": ASSUMED, "corruption": 0.5},
    "given, unknown": {"assumptions": ASSUMED, "corruption": "unknown"},
}
pytestmark = pytest.mark.filterwarnings("ignore::unbribable.AssumptionsRefuted")  # by few candidates


def no_helium(point: Any) -> bool:
    return point["gas"] != "He"


def below(point: Any) -> bool:
    return bool(point[0] + point[1] <= 0.8)


def bump(x: Any) -> float:
    """Largest where nothing that `below` allows is."""
    return float(1.0 - (x[0] - 0.9) ** 2 - (x[1] - 0.9) ** 2)


def yields(point: Any) -> float:
    return bump((point["a"], point["b"])) + 0.3 * (point["gas"] == "He")


def played(study: ub.Study, f: Callable[[Any], float], n: int, **words: Any) -> ub.Study:
    for _ in range(n):
        query = study.ask(**words)
        study.tell(query, f(study.space.shown(query.x)))
    return study


# --- constraints ---------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("domain", [GRID, BOX], ids=["grid", "box"])
def test_nothing_forbidden_is_asked_or_recommended(way: str, domain: Any) -> None:
    """By the design, the heuristic or the algorithm, with queries pending and others that failed."""
    study = ub.Study(domain, constraints=[below], seed=0, n_init=3, **WAYS[way])
    asked = []
    for k in range(5):
        first, second = study.ask(2)
        asked += [first.x, second.x]
        study.tell(first, None if k % 4 == 1 else bump(first.x))
        study.tell(second, bump(second.x))
    assert all(below(x) for x in asked)
    study.tell([0.75, 0.75], 1.9)  # forbidden, and the best reading by far
    best = study.recommend()
    assert below(best.x)
    assert best.is_constrained
    assert below(study.ask().x)
    assert study.trials[-1].y == 1.9


def test_a_run_finds_the_best_allowed_point_at_the_edge() -> None:
    """The unconstrained best one is forbidden; the best allowed is a = b = 0.5."""
    result = ub.maximize(yields, NAMED, 24, constraints=[SUM, no_helium], seed=1)
    assert all(SUM(trial.params) and no_helium(trial.params) for trial in result.trials)
    best = yields({"a": 0.5, "b": 0.5, "gas": "Ar"})
    assert yields(result.x) >= best - 0.02
    assert "allowed candidates is better" in result.guarantee


@pytest.mark.parametrize("way", ["given, lies", "given, none", "given, a number", "given, unknown"])
def test_the_certificate_is_about_the_best_allowed_point(way: str) -> None:
    """True of it, and less than that of a study that may recommend the forbidden maximum, too."""

    def near(x: Any) -> float:
        return 0.5 * float(np.exp(-8.0 * (x[0] - 0.9) ** 2 - 8.0 * (x[1] - 0.9) ** 2))

    bounds = []
    for constraints in ([below], []):
        study = ub.Study(GRID, constraints=constraints, seed=0, **WAYS[way])
        for x in GRID.points[::2]:
            if below(x):
                study.tell(x, near(x))
        best = study.recommend()
        assert below(best.x)
        assert best.regret_bound is not None
        most = max(near(x) for x in GRID.points if not constraints or below(x))
        assert most - near(best.x) <= best.regret_bound
        bounds.append(best.regret_bound)
    assert bounds[0] < bounds[1] - 0.05


def test_a_candidate_read_although_forbidden_is_no_rival_in_the_certificate() -> None:
    study = ub.Study(BOX, constraints=[below], assumptions=ASSUMED, lies=0, seed=0)
    played(study, bump, 12)
    n_before = study.recommend().n_compared
    study.tell([0.9, 0.9], bump([0.9, 0.9]))  # better by a half than what is allowed
    after = study.recommend()
    assert after.regret_bound is not None
    assert after.regret_bound < 0.2
    assert n_before is not None
    assert n_before <= (after.n_compared or 0) < study.engine.algorithm().candidates.n


def test_a_price_is_about_allowed_points() -> None:
    for way in ("given, none", "fitted"):
        study = played(ub.Study(GRID, constraints=[below], seed=0, n_init=3, **WAYS[way]), bump, 9)
        assert "another allowed point" in str(study.price(0.5))


def test_without_a_reading_of_an_allowed_point_nothing_is_recommended() -> None:
    study = ub.Study(NAMED, constraints=[SUM])
    study.tell({"a": 0.9, "b": 0.9, "gas": "Ar"}, 1.0)
    with pytest.raises(RuntimeError, match="a reading of an allowed point, there is none"):
        study.recommend()
    assert "none of the 1 readings is of a point that is allowed" in study.result().summary()
    query = study.ask()
    study.tell(query, 0.5)
    assert study.recommend().params == query.params


def test_if_every_allowed_candidate_failed_an_allowed_one_is_asked_again() -> None:
    for way in WAYS:
        grid = ub.Grid([[0.0, 0.0], [0.5, 0.2], [1.0, 1.0]])
        study = ub.Study(grid, constraints=[below], seed=0, n_init=2, **WAYS[way])
        study.tell([1.0, 1.0], 1.0)
        study.tell([0.0, 0.0], 0.1)
        for _ in range(4):
            query = study.ask()
            assert below(query.x)
            study.tell(query, None)


def test_where_few_points_are_allowed_they_are_found() -> None:
    """A mixture of eight: a share of 1/40320 of the cube."""
    space = {name: (0.0, 1.0) for name in "abcdefgh"}
    mixture = ub.LinearConstraint(dict.fromkeys(space, 1.0), at_most=1.0)
    study = ub.Study(space, constraints=[mixture], seed=0)
    assert study.space.domain.allows is not None
    found = Candidates(study.space.domain)
    assert found.n >= 256
    assert found.allowed is not None
    assert found.allowed.all()
    for _ in range(24):
        query = study.ask()
        assert mixture(query.params)
        study.tell(query, query.params["a"] if query.params is not None else 0.0)
    assert study.recommend().params["a"] > 0.8  # type: ignore[index]


def test_the_largest_distance_to_a_candidate_is_that_of_allowed_points() -> None:
    """A corner of the box that is forbidden, and far from all candidates, counts for nothing."""
    kernel = ub.SquaredExponential(0.3)
    corner = ub.Box([0, 0], [1, 1], n_candidates=64, allows=lambda U: (U <= 0.3).all(axis=1))
    assert Candidates(corner).discretisation(kernel) < 0.5
    whole = Candidates(ub.Box([0, 0], [1, 1], n_candidates=64))
    whole.coordinates = Candidates(corner).coordinates
    whole._n_first = whole.n
    assert whole.discretisation(kernel) > 1.0


# --- constraints: values, files, bad input -------------------------------------------------------


def test_a_linear_constraint_allows_what_rounding_exceeds() -> None:
    shares = ub.LinearConstraint({"a": 1.0, "b": 1.0, "c": 1.0}, at_most=0.6, at_least=0.6)
    assert shares({"a": 0.1, "b": 0.2, "c": 0.3})  # 0.6000000000000001
    assert not shares({"a": 0.1, "b": 0.2, "c": 0.31})
    assert not shares({"a": 0.1, "b": 0.2, "c": 0.29})
    assert ub.LinearConstraint({0: 1.0, 1: -1.0}, at_least=0.0)(np.array([2.0, 1.0]))
    assert ub.LinearConstraint.from_plain(json.loads(json.dumps(shares.to_plain()))) == shares


def test_linear_constraints_are_stored_and_functions_asked_for_again(tmp_path: Path) -> None:
    file, given = tmp_path / "study.json", [no_helium, SUM]
    with ub.Study(NAMED, constraints=given, seed=3, file=file) as study:
        played(study, yields, 11)
        study.ask()
    whole = played(ub.Study(NAMED, constraints=given, seed=3), yields, 11)
    whole.ask()
    with ub.Study(NAMED, constraints=given, file=file) as resumed:
        assert_same_run(resumed.result(), whole.result())
        np.testing.assert_array_equal(resumed.ask().x, whole.ask().x)
    for constraints in ([], [SUM], [no_helium], [SUM, no_helium, no_helium]):
        with pytest.raises(ValueError, match=r"constraints were.*'n_functions': 1.*of functions"):
            ub.Study(NAMED, constraints=constraints, file=file)
    with pytest.raises(ValueError, match="1 function, which nothing can keep, got 0; give them again"):
        ub.Result.load(file)
    loaded = ub.Study.load(file, constraints=[no_helium])
    assert loaded.space.constraints == (SUM, no_helium)
    assert loaded.recommend().params == whole.recommend().params


def test_a_study_with_linear_constraints_alone_is_read_without_giving_them(tmp_path: Path) -> None:
    file = tmp_path / "study.json"
    with ub.Study([(0.0, 1.0), (0.0, 2.0)], constraints=[ub.LinearConstraint({0: 1, 1: 1}, 1)]) as study:
        study.ask()
        study.save(file)
    again = ub.Study.load(file)
    assert again.space.constraints == study.space.constraints
    assert again.ask().x.sum() <= 1.0


def test_a_file_without_constraints_is_refused_under_some(tmp_path: Path) -> None:
    file = tmp_path / "study.json"
    ub.Study(NAMED, file=file).close()
    ub.Study(NAMED, file=file).ask()
    with pytest.raises(ValueError, match="constraints were None"):
        ub.Study(NAMED, constraints=[SUM], file=file)


CONSTRAINTS: dict[str, Any] = {
    "one alone": (SUM, TypeError, ("must be a list", "[constraint]")),
    "a function alone": (no_helium, TypeError, ("must be a list", "[constraint]")),
    "text": ("a + b <= 1", TypeError, ("must be a list", "a + b <= 1")),
    "no function": ([3], TypeError, ("constraints[0]", "LinearConstraint", "3")),
    "a number": ([lambda p: p["a"] - 1], TypeError, ("constraints[0]", "True", "<= 0")),
    "nothing": ([lambda p: None], TypeError, ("constraints[0]", "True", "None")),
    "excludes all": ([lambda p: False], ValueError, ("constraints must leave a point", "none of")),
    "contradict": (
        [SUM, ub.LinearConstraint({"a": 1, "b": 1}, at_least=1.5)],
        ValueError,
        ("constraints must leave a point", "none of"),
    ),
    "unknown": ([ub.LinearConstraint({"c": 1}, 1)], ValueError, ("weights", "'a', 'b', 'gas'", "'c'")),
    "a choice": ([ub.LinearConstraint({"gas": 1}, 1)], ValueError, ("are numbers", "'gas'")),
}


@pytest.mark.parametrize(("constraints", "error", "words"), CONSTRAINTS.values(), ids=CONSTRAINTS)
def test_bad_constraints_are_refused(constraints: Any, error: Any, words: Any) -> None:
    assert_refused(lambda: ub.Study(NAMED, constraints=constraints), error, words)
    assert_refused(lambda: ub.maximize(yields, NAMED, 3, constraints=constraints), error, words)


LINEAR: dict[str, Any] = {
    "a list": (lambda: ub.LinearConstraint([1.0], 1.0), TypeError, ("weights", "[1.0]")),  # type: ignore[arg-type]
    "empty": (lambda: ub.LinearConstraint({}, 1.0), ValueError, ("weights", "none")),
    "text": (lambda: ub.LinearConstraint({"a": "1"}, 1.0), TypeError, ("weights['a']", "'1'")),  # type: ignore[dict-item]
    "nan": (lambda: ub.LinearConstraint({"a": 1.0}, float("nan")), ValueError, ("at_most", "nan")),
    "no bound": (lambda: ub.LinearConstraint({"a": 1.0}), ValueError, ("at_most or at_least",)),
    "crossed": (lambda: ub.LinearConstraint({"a": 1}, 1, 2), ValueError, ("at_least=2", "at_most=1")),
    "an index": (
        lambda: ub.Study(BOX, constraints=[ub.LinearConstraint({2: 1}, 1)]),
        ValueError,
        ("index", "0 to 1", "2"),
    ),
}


@pytest.mark.parametrize(("call", "error", "words"), LINEAR.values(), ids=LINEAR)
def test_bad_linear_constraints_are_refused(call: Any, error: Any, words: Any) -> None:
    assert_refused(call, error, words)


def test_a_grid_that_allows_nothing_is_refused() -> None:
    def call() -> None:
        ub.Study(GRID, constraints=[lambda x: False])

    assert_refused(call, ValueError, ("constraints must leave a point", "none of 81 candidates"))


def test_four_at_a_time_ask_nothing_forbidden() -> None:
    asked = []

    def f(point: Any) -> float:
        asked.append(point)
        return yields(point)

    result = ub.maximize(f, NAMED, 12, constraints=[SUM, no_helium], seed=0, n_jobs=4)
    assert all(SUM(point) and no_helium(point) for point in asked)
    assert len(result.trials) == len(asked) == 12


# --- fixed values --------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("domain", [GRID, BOX], ids=["grid", "box"])
def test_a_point_has_the_values_that_are_fixed(way: str, domain: Any) -> None:
    """In the design, by the heuristic and by the algorithm, also under constraints."""
    study = ub.Study(domain, constraints=[below], seed=0, n_init=3, **WAYS[way])
    for k in range(8):
        for query in study.ask(2, fixed={0: 0.25} if k % 2 else {1: 0.5, 0: 0.125}):
            np.testing.assert_allclose(query.x[0], 0.25 if k % 2 else 0.125, atol=1e-12)
            if not k % 2:
                np.testing.assert_allclose(query.x[1], 0.5, atol=1e-12)
            assert below(query.x)
            study.tell(query, bump(query.x))
    assert below(study.ask().x)


def test_with_a_value_fixed_the_rest_is_optimised() -> None:
    study = played(ub.Study(NAMED, seed=0), yields, 16, fixed={"gas": "Ar", "a": 0.25})
    assert {trial.params["gas"] for trial in study.trials} == {"Ar"}
    assert study.trials[-1].params["a"] == pytest.approx(0.25, abs=1e-12)
    best = study.recommend().params
    assert best is not None
    assert best["b"] == pytest.approx(0.9, abs=0.03)


def test_the_algorithm_maximises_its_own_bound_in_the_part_that_is_left() -> None:
    """Beside points by the thousand in that part, what it asks has the largest bound."""
    study = ub.Study(BOX, assumptions=ASSUMED, corruption=0, seed=0)
    played(study, bump, 6)
    query = study.ask(fixed={0: 0.4})
    line = np.stack([np.full(2001, 0.4), np.linspace(0.0, 2.0, 2001)], axis=1)
    view = Anywhere(study.engine.algorithm().instances["main"])
    assert view.ucb(query.u[None], 1.0)[0] >= view.ucb(BOX.to_unit(line), 1.0).max() - 1e-4


def test_what_is_fixed_counts_for_one_question_alone() -> None:
    one, other = ub.Study(NAMED, seed=5), ub.Study(NAMED, seed=5)
    for k in range(12):
        query = one.ask(fixed={"gas": "He"}) if k in (3, 10) else one.ask()
        one.tell(query, yields(query.params))
        other.tell(query.params, yields(query.params))
    np.testing.assert_array_equal(one.ask().x, other.ask().x)
    assert [trial.params["gas"] for trial in one.trials if trial.t in (4, 11)] == ["He", "He"]


def test_the_best_of_the_points_that_have_a_value() -> None:
    study = played(ub.Study(NAMED, seed=0), yields, 14)
    assert study.recommend().params["gas"] == "He"  # type: ignore[index]
    found = study.recommend(fixed={"gas": "Ar"})
    assert found.params["gas"] == "Ar"  # type: ignore[index]
    read = [trial.y for trial in study.trials if trial.params["gas"] == "Ar"]
    assert found.estimate == pytest.approx(max(read), abs=0.1)
    with pytest.raises(RuntimeError, match=r"an allowed point with fixed=\{'a': 0.123\}, there is none"):
        study.recommend(fixed={"a": 0.123})


def test_a_study_with_fixed_values_goes_on_exactly(tmp_path: Path) -> None:
    file = tmp_path / "study.json"
    whole = ub.Study(NAMED, seed=7)
    for k in range(12):
        fixed = {"gas": "Ar"} if k % 3 == 0 else None
        with ub.Study(NAMED, seed=7, file=file) as study:
            query, same = study.ask(fixed=fixed), whole.ask(fixed=fixed)
            assert query.params == same.params
        with ub.Study(NAMED, seed=7, file=file) as study:
            assert study.pending[0].params == same.params
            study.tell(study.pending[0], yields(query.params))
        whole.tell(same, yields(same.params))


FIXED: dict[str, Any] = {
    "no mapping": ("Ar", TypeError, ("fixed must be a mapping", "'Ar'")),
    "empty": ({}, ValueError, ("fixed", "at least one")),
    "unknown": ({"pressure": 1.0}, ValueError, ("fixed", "'a', 'b', 'gas'", "'pressure'")),
    "no option": ({"gas": "Xe"}, ValueError, ("gas must be one of", "'Xe'")),
    "outside": ({"a": 1.5}, ValueError, ("a must be in [0.0, 1.0]", "1.5")),
    "text": ({"a": "x"}, TypeError, ("a must be", "'x'")),
    "forbidden": (
        {"a": 0.9, "b": 0.9},
        ValueError,
        ("fixed must leave a point that has these values and keeps the constraints", "none of"),
    ),
}


@pytest.mark.parametrize(("fixed", "error", "words"), FIXED.values(), ids=FIXED)
def test_bad_fixed_values_are_refused(fixed: Any, error: Any, words: Any) -> None:
    study = ub.Study(NAMED, constraints=[SUM])
    assert_refused(lambda: study.ask(fixed=fixed), error, words)
    assert not study.pending


def test_fixed_coordinates_without_names_are_checked_too() -> None:
    for fixed, error, words in (
        ({2: 0.5}, ValueError, ("must be < 2", "2")),
        ({"x": 0.5}, TypeError, ("integer", "'x'")),
        ({0: 1.5}, ValueError, ("fixed[0] must be in [0, 1]", "1.5")),
    ):
        assert_refused(lambda fixed=fixed: ub.Study(BOX).ask(fixed=fixed), error, words)  # type: ignore[misc]
    with pytest.raises(ValueError, match="fixed must leave a point that has these values: none of 81"):
        ub.Study(GRID).ask(fixed={0: 0.3})


# --- steps ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("bound", [(0.0, 2.0, 0.5), ub.Real(0.0, 2.0, step=0.5)])
def test_points_are_on_the_steps_and_so_is_what_the_kernel_sees(bound: Any) -> None:
    space = {"t": bound, "n": (0, 40, 10), "x": (0.0, 1.0)}
    study = ub.Study(space, seed=0)
    for _ in range(14):
        query = study.ask()
        assert query.params is not None
        assert query.params["t"] in (0.0, 0.5, 1.0, 1.5, 2.0)
        assert query.params["n"] in (0, 10, 20, 30, 40)
        assert isinstance(query.params["n"], int)
        assert 5.0 * query.u[0] - 0.5 == pytest.approx(query.params["t"] / 0.5, abs=1e-9)
        study.tell(query, -((query.params["t"] - 1.4) ** 2) - query.params["x"])
    assert study.recommend().params["t"] == 1.5  # type: ignore[index]


def test_a_mixture_in_steps_may_have_an_equality() -> None:
    space = {name: (0.0, 1.0, 0.1) for name in "abc"}
    whole = ub.LinearConstraint(dict.fromkeys(space, 1.0), at_most=1.0, at_least=1.0)
    study = ub.Study(space, constraints=[whole], seed=0)
    for _ in range(14):
        query = study.ask()
        assert query.params is not None
        assert round(sum(query.params.values()), 9) == 1.0
        study.tell(query, query.params["a"] - query.params["b"] ** 2)


@pytest.mark.parametrize(
    "triple", [(8, 16, 32), (-1, 0, 1), (0.1, 0.5, 1.0), (0.0, 1.0, 0.0), (1, 9, -2)]
)
def test_three_options_in_a_tuple_are_not_taken_for_steps(triple: Any) -> None:
    words = ("bounds of 'x'", "(low, high, step) with three values at least", "list of options")
    assert_refused(lambda: Space.of({"x": triple}), ValueError, words)


# --- algorithms alone ----------------------------------------------------------------------------


def low(U: Any) -> Any:
    return U.sum(axis=1) <= 0.8


def near(x: Any) -> float:
    return 0.5 * float(np.exp(-8.0 * (x[0] - 0.9) ** 2 - 8.0 * (x[1] - 0.9) ** 2))


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("kind", ["grid", "box"])
def test_algorithms_keep_to_what_their_domain_allows(name: str, kind: str) -> None:
    """They learn what is told of other points, and recommend none of these."""
    grid = ub.Grid(GRID.points, allows=low)
    box = ub.Box([0, 0], [1, 1], n_candidates=64, allows=low)
    learner = ALGORITHMS[name](grid if kind == "grid" else box, ASSUMED, C=0.5, T=20)
    learner.tell(x=[0.875, 0.875], y=near([0.875, 0.875]))
    for _ in range(6):
        first, second = learner.ask(), learner.ask()
        assert low(np.array([first.x, second.x])).all()
        learner.tell(first, near(first.x))
        learner.tell(second, near(second.x))
    assert low(learner.recommend().x[None])[0]
    assert low(learner.propose().points).all()


@pytest.mark.parametrize("name", ["gp-ucb", "robust", "ladder", "quorum"])
def test_what_they_certify_and_its_price_are_about_allowed_points(name: str) -> None:
    found = []
    for domain in (ub.Grid(GRID.points, allows=low), GRID):
        learner = ALGORITHMS[name](domain, ASSUMED, C=0.5)
        for x in GRID.points[low(GRID.points)]:
            learner.tell(x=x, y=near(x))
        best = learner.recommend(x=[0.375, 0.375])
        price = learner.price(0.3, x=[0.375, 0.375])
        levels = [level.regret_bound for level in best.levels]
        highest = trusted(learner)[1].highest
        found.append((best.regret_bound, price.least_eps, levels, highest))
    (bound, least, levels, highest), (all_bound, all_least, all_levels, all_highest) = found
    assert bound < all_bound - 0.05
    assert least < all_least - 0.05
    assert all(ours <= theirs for ours, theirs in zip(levels, all_levels, strict=True))
    assert not levels or levels[0] < all_levels[0]
    assert highest < all_highest
