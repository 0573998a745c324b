"""A continuous domain: what it refuses, its two scales, and the candidates that stand for it."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unbribable as ub
from unbribable.model.box import Box, Candidates
from unbribable.model.dimensions import Whole
from unbribable.model.encoding import Encoding

NAN, INF = math.nan, math.inf
BOX = Box([0.0, -5.0], [1.0, 15.0], n_candidates=64)
MIXED = Encoding.of({"x": (0.0, 1.0), "n": Whole(1, 4), "kind": ["a", "b", "c"]})
LAWS = settings(max_examples=50, deadline=None, derandomize=True)

Row = tuple[Callable[[], Any], type[Exception], tuple[str, ...]]

REFUSED: dict[str, Row] = {
    "low nan": (lambda: Box([0.0, NAN], [1.0, 1.0]), ValueError, ("low", "finite", "nan", "[1]")),
    "high inf": (lambda: Box([0.0], [INF]), ValueError, ("high", "finite", "inf", "[0]")),
    "low above high": (
        lambda: Box([0.0, 2.0], [1.0, 1.5]),
        ValueError,
        ("low must be below high", "low=2.0", "high=1.5", "coordinate 1"),
    ),
    "no length": (lambda: Box([0.5], [0.5]), ValueError, ("low must be below high", "high=0.5")),
    "unequal": (
        lambda: Box([0.0, 0.0], [1.0]),
        ValueError,
        ("one entry per coordinate", "(2,)", "(1,)"),
    ),
    "empty": (lambda: Box([], []), ValueError, ("one entry per coordinate", "(0,)")),
    "matrix": (lambda: Box([[0.0]], [[1.0]]), ValueError, ("low", "(d,)", "(1, 1)")),
    "words": (lambda: Box(["a"], [1.0]), TypeError, ("low", "real numbers", "'a'")),
    "none": (lambda: Box([0.0], None), TypeError, ("high", "real numbers", "None")),
    "truths": (lambda: Box([False], [True]), TypeError, ("low", "real numbers", "bool")),
    "few candidates": (
        lambda: Box([0.0], [1.0], n_candidates=1),
        ValueError,
        ("n_candidates must be >= 2", "n_candidates=1"),
    ),
    "odd candidates": (
        lambda: Box([0.0], [1.0], n_candidates=100),
        ValueError,
        ("n_candidates must be a power of two", "n_candidates=100"),
    ),
    "broken candidates": (
        lambda: Box([0.0], [1.0], n_candidates=64.0),
        TypeError,
        ("n_candidates must be an integer", "64.0"),
    ),
    "a true number of candidates": (
        lambda: Box([0.0], [1.0], n_candidates=True),
        TypeError,
        ("n_candidates must be an integer", "True"),
    ),
    "x outside": (
        lambda: BOX.check([0.5, 15.1]),
        ValueError,
        ("x must lie in the box", "x[1]=15.1", "[-5.0, 15.0]"),
    ),
    "x below": (lambda: BOX.check([-0.1, 0.0]), ValueError, ("x[0]=-0.1", "[0.0, 1.0]")),
    "x short": (lambda: BOX.check([0.5]), ValueError, ("(2,)", "(1,)")),
    "x matrix": (lambda: BOX.check([[0.5, 0.5]]), ValueError, ("(d,)", "(1, 2)")),
    "x nan": (lambda: BOX.check([0.5, NAN]), ValueError, ("x must be finite", "nan", "[1]")),
    "x words": (lambda: BOX.check(["a", "b"]), TypeError, ("real numbers", "'a'")),
}


@pytest.mark.parametrize(("call", "error", "words"), REFUSED.values(), ids=REFUSED)
def test_a_box_refuses_with_the_rule_and_the_value(
    call: Callable[[], Any], error: type[Exception], words: tuple[str, ...]
) -> None:
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error
    for word in words:
        assert word in str(caught.value)


def test_a_number_is_a_box_of_one_coordinate() -> None:
    box = Box(-2, 3)
    assert (box.d, box.low.tolist(), box.high.tolist()) == (1, [-2.0], [3.0])
    assert repr(box) == "Box(low=[-2.0], high=[3.0])"


def test_a_box_keeps_copies_of_its_bounds_that_nobody_can_change() -> None:
    low, high = np.zeros(2), np.ones(2)
    box = Box(low, high)
    low[0] = -9.0
    assert box.low.tolist() == [0.0, 0.0]
    for bound in (box.low, box.high):
        with pytest.raises(ValueError, match="read-only"):
            bound[0] = 0.5


# --- two scales -------------------------------------------------------------------------------------

sides = st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6)), min_size=1, max_size=4)


@LAWS
@given(sides=sides, seed=st.integers(0, 10**6))
def test_the_unit_cube_and_back_is_the_same_point(sides: list[tuple[float, float]], seed: int) -> None:
    low = np.array([start for start, _ in sides])
    high = low + np.array([length for _, length in sides])
    box = Box(low, high)
    U = np.random.default_rng(seed).random((20, box.d))
    U[0], U[1] = 0.0, 1.0
    X = box.from_unit(U)
    np.testing.assert_array_equal(np.clip(X, low, high), X)  # also at the bounds, whatever rounding does
    # 1e-15: float64's resolution; a side of 1e-3 at 1e6 has 1e-7 of it left
    slack = 4e-16 * np.maximum(np.abs(low), np.abs(high)) / (high - low) + 1e-15
    assert (np.abs(box.to_unit(X) - U) <= slack).all()
    for x, u in zip(X, U, strict=True):
        np.testing.assert_array_equal(box.from_unit(u), x)  # one point as among others
        checked = box.check(x)
        assert (np.abs(checked - u) <= slack).all()
        assert ((checked >= 0.0) & (checked <= 1.0)).all()


def test_the_bounds_are_the_corners_of_the_unit_cube() -> None:
    np.testing.assert_array_equal(BOX.to_unit(BOX.low), [0.0, 0.0])
    np.testing.assert_array_equal(BOX.to_unit(BOX.high), [1.0, 1.0])
    np.testing.assert_array_equal(BOX.to_unit(np.array([0.25, 0.0])), [0.25, 0.25])
    np.testing.assert_array_equal(BOX.from_unit(np.array([0.25, 0.25])), [0.25, 0.0])


@pytest.mark.parametrize(("low", "high"), [(-0.1, 0.2), (-10.0, 0.1)])
def test_rounding_never_leads_out_of_the_box(low: float, high: float) -> None:
    """low + (high - low) is above high for the first of them in float64, below it for the other."""
    box = Box(low, high)
    x = box.from_unit(np.ones(1))
    assert high - 1e-15 <= x[0] <= high
    np.testing.assert_array_equal(box.check(x), [1.0])


def test_rounding_outside_the_box_is_taken_for_its_face() -> None:
    np.testing.assert_array_equal(BOX.check([1.0 + 1e-12, -5.0 - 1e-10]), [1.0, 0.0])


# --- candidates -------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 3, 7, 12])
@pytest.mark.parametrize("n", [2, 64, 1024])
def test_candidates_are_inside_distinct_and_always_the_same(d: int, n: int) -> None:
    box = Box(np.full(d, -3.0), np.arange(d) + 1.0, n_candidates=n)
    candidates = Candidates(box)
    U = candidates.coordinates
    assert candidates.n == len(U) >= n
    assert ((U >= 0.0) & (U <= 1.0)).all()
    distance = np.abs(U[:, None] - U[None]).max(axis=2)[np.triu_indices(len(U), 1)]
    assert distance.min() > 1e-9
    again = Box(box.low, box.high, n_candidates=n)
    np.testing.assert_array_equal(Candidates(again).coordinates, U)
    assert again.fingerprint == box.fingerprint
    X = candidates.x_of(U)
    np.testing.assert_array_equal(np.clip(X, box.low, box.high), X)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_every_corner_of_a_small_box_is_a_candidate(d: int) -> None:
    candidates = Candidates(Box(np.zeros(d), np.ones(d), n_candidates=8))
    for k in range(2**d):
        assert candidates.index_of(np.array([k >> j & 1 for j in range(d)], dtype=float)) is not None


@pytest.mark.parametrize("n", [8, 64, 512])
def test_candidates_fill_every_cell_of_an_even_division(n: int) -> None:
    """Sobol points: one in each of n intervals, in every coordinate."""
    sobol = Box(np.zeros(3), np.ones(3)).sobol(n, 0)
    for column in sobol.T:
        assert sorted(np.floor(column * n)) == list(range(n))


def test_another_seed_is_another_design() -> None:
    assert not np.isin(BOX.sobol(64, 0), BOX.sobol(64, 1)).any()


@pytest.mark.parametrize(
    "other",
    [
        Box([0.0, -5.0], [1.0, 15.5], n_candidates=64),
        Box([0.1, -5.0], [1.0, 15.0], n_candidates=64),
        Box([0.0, -5.0], [1.0, 15.0], n_candidates=128),
        Box([0.0, -5.0], [1.0, 15.0], n_candidates=64, snap=np.round),
    ],
    ids=["high", "low", "n_candidates", "snap"],
)
def test_another_box_has_another_fingerprint(other: Box) -> None:
    assert other.fingerprint != BOX.fingerprint


def test_a_grids_candidates_are_its_points() -> None:
    points = np.random.default_rng(0).random((9, 2)) * 50.0
    grid = ub.Grid(points)
    candidates = Candidates(grid)
    assert candidates.box is None
    assert candidates.n == 9
    np.testing.assert_array_equal(candidates.coordinates, points)
    np.testing.assert_array_equal(candidates.x_of(points[3]), points[3])
    np.testing.assert_array_equal(candidates.coordinates_of(points[3]), points[3])
    assert [candidates.index_of(point) for point in points] == list(range(9))
    assert candidates.index_of(points[3] * (1.0 + 1e-12)) == 3
    assert candidates.index_of(points[3] + 0.1) is None
    with pytest.raises(ValueError, match="x must be a candidate of the domain"):
        candidates.coordinates_of(points[3] + 0.1)


def test_a_point_of_the_box_is_checked_and_scaled() -> None:
    candidates = Candidates(BOX)
    np.testing.assert_array_equal(candidates.coordinates_of([0.25, 0.0]), [0.25, 0.25])
    with pytest.raises(ValueError, match=r"x must lie in the box, got x\[0\]=2.0"):
        candidates.coordinates_of([2.0, 0.0])


def test_a_point_is_found_up_to_rounding_and_added_once() -> None:
    candidates = Candidates(BOX)
    before = candidates.coordinates.copy()
    n = candidates.n
    new, near = np.array([0.123, 0.456]), np.array([0.123 + 5e-10, 0.456])
    assert candidates.index_of(new) is None
    assert candidates.add(np.array([new, near, before[5], before[5] + 5e-10, new])) == 1
    assert candidates.n == n + 1
    assert candidates.index_of(new) == candidates.index_of(near) == n
    assert candidates.index_of(new + 2e-9) is None
    np.testing.assert_array_equal(candidates.coordinates[:n], before)  # the old ones keep their index
    np.testing.assert_array_equal(candidates.coordinates[n], new)
    assert candidates.add(np.array([new])) == 0
    assert candidates.add(np.zeros((0, 2))) == 0
    assert candidates.add(np.array([[0.3, 0.31], [0.32, 0.33]])) == 2
    assert [candidates.index_of(u) for u in candidates.coordinates] == list(range(n + 3))


def test_two_sets_of_candidates_of_one_box_grow_apart() -> None:
    one, other = Candidates(BOX), Candidates(BOX)
    one.add(np.array([[0.123, 0.456]]))
    assert other.index_of(np.array([0.123, 0.456])) is None


@pytest.mark.parametrize("d", [2, 9])
def test_a_kernel_must_be_at_most_one_in_the_far_corner_too(d: int) -> None:
    """k(x, x) = |x|^2 / scale^2 is d / scale^2 there, also where it is no candidate."""
    candidates = Candidates(Box(np.full(d, -7.0), np.full(d, 9.0), n_candidates=4))
    candidates.check_kernel(ub.Linear(math.sqrt(d)))
    with pytest.raises(ValueError, match=r"k\(x, x\) must be <= 1"):
        candidates.check_kernel(ub.Linear(math.sqrt(d - 0.5)))
    with pytest.raises(ValueError, match=rf"one per coordinate \(d={d}\)"):
        candidates.check_kernel(ub.Matern(2.5, [0.1, 0.2, 0.3]))


# --- snapping ---------------------------------------------------------------------------------------


def test_snapped_candidates_stand_for_parameters() -> None:
    box = Box(np.zeros(MIXED.d), np.ones(MIXED.d), n_candidates=256, snap=MIXED.snap)
    assert box.is_snapped
    assert not BOX.is_snapped
    candidates = Candidates(box)
    U = candidates.coordinates
    np.testing.assert_array_equal(MIXED.snap(U), U)
    assert len(np.unique(U, axis=0)) == len(U)
    assert {MIXED.decode(u)["kind"] for u in U} == {"a", "b", "c"}
    assert {MIXED.decode(u)["n"] for u in U} == {1, 2, 3, 4}


def test_a_box_of_finitely_many_points_has_no_more_candidates_than_points() -> None:
    three = Encoding.of({"n": Whole(1, 3)})
    candidates = Candidates(Box([0.0], [1.0], n_candidates=64, snap=three.snap))
    assert sorted(candidates.coordinates[:, 0]) == pytest.approx([1 / 6, 3 / 6, 5 / 6])
    assert candidates.discretisation(ub.SquaredExponential(0.1)) == 0.0
    assert candidates.add(three.snap(np.array([[0.2], [0.9]]))) == 0


def test_a_point_between_the_parameters_is_taken_for_the_nearest() -> None:
    box = Box([0.0], [8.0], n_candidates=8, snap=lambda U: np.round(U * 4.0) / 4.0)
    np.testing.assert_array_equal(box.check([4.3]), [0.5])
    np.testing.assert_array_equal(box.check([8.0]), [1.0])


# --- between the candidates -------------------------------------------------------------------------

KERNELS = [ub.SquaredExponential(0.2), ub.Matern(0.5, 0.3), ub.Matern(2.5, 0.5)]


def supremum(candidates: Candidates, kernel: Any) -> float:
    """In one dimension: half the widest gap away from both ends, or an end away from its neighbour."""
    u = np.sort(candidates.coordinates[:, 0])
    farthest = max(float(np.diff(u).max()) / 2.0, u[0], 1.0 - u[-1])
    return math.sqrt(2.0 - 2.0 * float(kernel(np.zeros((1, 1)), np.array([[farthest]]))[0, 0]))


def brute(candidates: Candidates, kernel: Any, tests: np.ndarray) -> float:
    """The largest kernel distance of a test point to its nearest candidate, point by point."""
    largest = 0.0
    for x in tests:
        to_x = [
            kernel.diag(x[None])[0] + kernel.diag(z[None])[0] - 2.0 * kernel(x[None], z[None])[0, 0]
            for z in candidates.coordinates
        ]
        largest = max(largest, min(to_x))
    return math.sqrt(largest)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("n", [4, 32])
def test_the_discretisation_is_the_distance_to_the_middle_of_the_widest_gap(kernel: Any, n: int) -> None:
    """From below, and nearly: the design has a point within 1/500 of any other."""
    candidates = Candidates(Box([-1.0], [4.0], n_candidates=n))
    found, exact = candidates.discretisation(kernel), supremum(candidates, kernel)
    assert 0.0 < found <= exact * (1.0 + 1e-9)
    near = np.array([[1 / 500]])
    slack = math.sqrt(2.0 - 2.0 * float(kernel(np.zeros((1, 1)), near)[0, 0]))
    assert found >= exact - slack
    line = np.linspace(0.0, 1.0, 1001)[:, None]
    assert brute(candidates, kernel, line) == pytest.approx(exact, abs=slack)


def test_the_discretisation_of_a_kernel_that_is_not_stationary() -> None:
    """The linear one on [0, 1]^2: |x - z| / scale, no less than on 1024 points, and not more."""
    box = Box([0.0, 0.0], [1.0, 1.0], n_candidates=8)
    candidates = Candidates(box)
    corners = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1]])
    line = np.linspace(0.0, 1.0, 401)
    fine = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)

    def farthest(tests: np.ndarray) -> float:
        scaled = (tests[:, None] - candidates.coordinates) / np.array([2.0, 3.0])
        return float(np.sqrt((scaled**2).sum(axis=2)).min(axis=1).max())

    found = candidates.discretisation(ub.Linear([2.0, 3.0]))
    assert found >= farthest(np.concatenate([box.sobol(1024, 1), corners])) * (1.0 - 1e-7)
    assert found == pytest.approx(farthest(fine), rel=0.01)


@pytest.mark.parametrize(("d", "n"), [(1, 1024), (2, 64), (2, 1024), (3, 256), (6, 256), (12, 64)])
@pytest.mark.parametrize("kind", ["smooth", "rough", "linear"])
def test_no_search_finds_a_much_larger_gap_between_the_candidates(kind: str, d: int, n: int) -> None:
    """Many random points, the farthest of them moved uphill: at most a twentieth farther."""
    root = math.sqrt(d)
    kernels = {"smooth": ub.SquaredExponential(0.3 * root), "rough": ub.Matern(0.5, 0.3)}
    kernel = kernels.get(kind, ub.Linear(root))
    candidates = Candidates(Box([0.0] * d, [1.0] * d, n_candidates=n))
    X, rng = candidates.coordinates, np.random.default_rng(d)

    def squares(U: np.ndarray) -> np.ndarray:
        return kernel.diag(U) + (kernel.diag(X) - 2.0 * kernel(U, X)).min(axis=1)

    U = rng.random((4000, d))
    U[:500] = np.round(U[:500])
    far = squares(U)
    U, far = U[np.argsort(-far)[:40]], np.sort(far)[::-1][:40]
    reach = np.full((40, 1), 0.3 * n ** (-1.0 / d))
    for _ in range(120):
        tries = np.clip(U + reach * rng.standard_normal(U.shape), 0.0, 1.0)
        found = squares(tries)
        is_farther = found > far
        U[is_farther], far = tries[is_farther], np.maximum(far, found)
        reach[~is_farther] *= 0.97
    assert candidates.discretisation(kernel) >= 0.95 * math.sqrt(far.max())


def test_the_discretisation_of_a_grid_is_zero() -> None:
    assert Candidates(ub.Grid([[0.0], [1.0]])).discretisation(ub.Matern(0.5, 0.1)) == 0.0


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_discretisation_falls_as_candidates_are_added(kernel: Any) -> None:
    candidates = Candidates(Box([0.0, 0.0], [1.0, 1.0], n_candidates=16))
    rng = np.random.default_rng(0)
    found = [candidates.discretisation(kernel)]
    for _ in range(6):
        candidates.add(rng.random((40, 2)))
        found.append(candidates.discretisation(kernel))
    assert found == sorted(found, reverse=True)
    assert found[-1] < 0.8 * found[0]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_no_function_is_higher_between_the_candidates_than_norm_times_discretisation(
    kernel: Any,
) -> None:
    candidates = Candidates(Box([0.0], [1.0], n_candidates=8))
    exact = supremum(candidates, kernel)
    line = np.linspace(0.0, 1.0, 401)[:, None]
    rng = np.random.default_rng(1)
    shares = []
    for _ in range(200):
        centres = rng.random((int(rng.integers(1, 5)), 1))
        a = rng.standard_normal(len(centres))
        norm = math.sqrt(float(a @ kernel(centres, centres) @ a))
        f, at = kernel(line, centres) @ a, kernel(candidates.coordinates, centres) @ a
        shares.append((f.max() - at.max()) / (norm * exact))
    assert max(shares) <= 1.0 + 1e-9
    assert max(shares) > 0.05  # the bound is not idle
