"""Parameters to points of the unit cube and back: the laws of the round trip, and what is refused."""

import json
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unbribable.model.dimensions import Choice, Real, Whole
from unbribable.model.encoding import Encoding

LAWS = settings(max_examples=80, deadline=None, derandomize=True)

finite = st.floats(-1e6, 1e6, allow_subnormal=False)


@st.composite
def reals(draw: st.DrawFn) -> Real:
    """Linear or log."""
    if draw(st.booleans()):
        low, high = sorted(draw(st.tuples(*[st.floats(1e-12, 1e12)] * 2)))
        return Real(low, high if high > low * 1.001 else low, log=True)
    return Real(*sorted(draw(st.tuples(finite, finite))))


@st.composite
def stepped(draw: st.DrawFn) -> Real:
    low, step = draw(st.floats(-1e4, 1e4)), draw(st.floats(1e-3, 1e3))
    return Real(low, low + step * draw(st.floats(0, 300)), step=step)


@st.composite
def wholes(draw: st.DrawFn) -> Whole:
    """Linear, with steps or log; small and large."""
    if draw(st.booleans()):
        low, high = sorted(draw(st.tuples(*[st.integers(1, 2**40)] * 2)))
        return Whole(low, min(high, low + draw(st.sampled_from([0, 1, 7, 2**40]))), log=True)
    low, step = draw(st.integers(-(10**15), 10**15)), draw(st.integers(1, 5))
    return Whole(low, low + draw(st.one_of(st.integers(0, 20), st.integers(0, 2**50 - 1))), step=step)


plain = st.one_of(st.text(max_size=3), st.integers(), finite, st.booleans(), st.none())
choices = st.lists(plain, min_size=1, max_size=5, unique_by=lambda v: (type(v) is bool, v)).map(
    lambda options: Choice(tuple(options))
)
dimensions = st.one_of(reals(), stepped(), wholes(), choices)
encodings = st.lists(dimensions, min_size=1, max_size=4).map(
    lambda chosen: Encoding({f"p{k}": dimension for k, dimension in enumerate(chosen)})
)


def some_value(dimension: Any, data: st.DataObject) -> Any:
    if isinstance(dimension, Choice):
        return data.draw(st.sampled_from(dimension.options))
    if isinstance(dimension, Whole):
        last = (dimension.high - dimension.low) // dimension.step
        return dimension.low + dimension.step * data.draw(st.integers(0, last))
    if dimension.step is not None:
        last = round((dimension.high - dimension.low) / dimension.step)
        k = data.draw(st.integers(0, last))
        return min(dimension.low + k * dimension.step, dimension.high)
    return data.draw(st.floats(dimension.low, dimension.high))


def some_points(encoding: Encoding, seed: int) -> np.ndarray:
    """Points in the cube, on its faces and outside it."""
    u = np.random.default_rng(seed).uniform(-0.3, 1.3, size=(40, encoding.d))
    u[::5] = np.round(u[::5])
    u[1::7] = 0.5
    return u


def bits(u: np.ndarray) -> bytes:
    return u.astype(np.float64).tobytes()


@LAWS
@given(encoding=encodings, data=st.data())
def test_decode_undoes_encode_and_snap_leaves_the_point(encoding: Encoding, data: st.DataObject) -> None:
    params = {name: some_value(dim, data) for name, dim in encoding.dimensions.items()}
    u = encoding.encode(params)
    assert u.shape == (encoding.d,)
    assert u.min() >= 0.0
    assert u.max() <= 1.0
    assert bits(encoding.snap(u[None, :])) == bits(u)
    back = encoding.decode(u)
    assert list(back) == list(encoding.names)
    for name, dim in encoding.dimensions.items():
        if isinstance(dim, Real):
            size = abs(params[name]) if dim.log else max(abs(dim.low), abs(dim.high))
            assert type(back[name]) is float
            assert dim.low <= back[name] <= dim.high
            assert abs(back[name] - params[name]) <= 1e-12 * size
        else:
            assert type(back[name]) is type(params[name])
            assert back[name] == params[name]
    is_finite = all(dim.count is not None for dim in encoding.dimensions.values())
    assert bits(encoding.encode(back)) == bits(u) or not is_finite


@LAWS
@given(encoding=encodings, seed=st.integers(0, 10**6))
def test_snap_is_idempotent_and_decode_sees_through_it(encoding: Encoding, seed: int) -> None:
    u = some_points(encoding, seed)
    snapped = encoding.snap(u)
    assert bits(encoding.snap(snapped)) == bits(snapped)
    assert not np.signbit(snapped).any()  # nor is there a -0.0
    assert snapped.max() <= 1.0
    for k, row in enumerate(u):
        assert bits(encoding.snap(row[None, :])) == bits(snapped[k])  # alone as among others
        params = encoding.decode(row)
        assert params == encoding.decode(snapped[k])
        encoding.encode(params)  # is always inside the bounds


@LAWS
@given(encoding=encodings)
def test_the_plain_form_survives_json(encoding: Encoding) -> None:
    back = Encoding.from_plain(json.loads(json.dumps(encoding.to_plain())))
    assert back == encoding
    assert back.fingerprint == encoding.fingerprint
    assert hash(back) == hash(encoding)
    assert back.names == encoding.names
    assert repr(back) == repr(encoding)
    assert pickle.loads(pickle.dumps(encoding)) == encoding


@LAWS
@given(dimension=st.one_of(reals(), stepped(), wholes()))
def test_the_bounds_are_exact(dimension: Real | Whole) -> None:
    encoding = Encoding({"x": dimension})
    for bound in (dimension.low, dimension.high):
        assert encoding.decode(encoding.encode({"x": bound})) == {"x": bound}
    assert encoding.decode(np.array([-3.0])) == {"x": dimension.low}
    assert encoding.decode(np.array([3.0])) == {"x": dimension.high}


@pytest.mark.parametrize("dimension", [Whole(-3, 9), Whole(2, 30, step=5), Whole(1, 40, log=True)])
def test_every_whole_value_is_reached_in_its_own_cell(dimension: Whole) -> None:
    encoding = Encoding({"n": dimension})
    values = list(range(dimension.low, dimension.high + 1, dimension.step))
    u = np.linspace(0, 1, 20001)
    found = [encoding.decode(np.array([x]))["n"] for x in u[::10]]
    assert sorted(set(found)) == values
    assert found == sorted(found)
    assert dimension.count == len(values)
    for value in values:
        assert encoding.decode(encoding.encode({"n": value})) == {"n": value}


def test_the_places_of_whole_values() -> None:
    assert Encoding({"n": Whole(1, 4)}).encode({"n": 2}) == [1.5 / 4]
    assert Encoding({"n": Whole(0, 9, step=3)}).encode({"n": 9}) == [3.5 / 4]
    big = 10**18
    assert Encoding({"n": Whole(big, big + 5)}).decode(np.array([0.99])) == {"n": big + 5}


@pytest.mark.parametrize(("low", "high"), [(1, 2), (1, 100), (7, 9), (1, 2**40)])
def test_cells_of_a_log_scale_end_half_way_between_values(low: int, high: int) -> None:
    encoding = Encoding({"n": Whole(low, high, log=True)})
    a, b = math.log(low - 0.5), math.log(high + 0.5)
    for v in {low, low + 1, high}:
        assert encoding.encode({"n": v})[0] == pytest.approx((math.log(v) - a) / (b - a), rel=1e-14)
        if v > low and v < 10**6:
            edge = (math.log(v - 0.5) - a) / (b - a)
            assert encoding.decode(np.array([edge - 1e-9])) == {"n": v - 1}
            assert encoding.decode(np.array([edge + 1e-9])) == {"n": v}
    assert encoding.decode(np.array([0.0])) == {"n": low}
    assert encoding.decode(np.array([1.0])) == {"n": high}


def test_a_log_scale_is_even_in_ratios_and_never_leaves_its_bounds() -> None:
    encoding = Encoding.of({"lr": Real(1e-5, 1, log=True)})
    assert encoding.encode({"lr": 1e-3})[0] == pytest.approx(0.4, rel=1e-14)
    odd = Encoding.of({"lr": Real(0.1 + 0.2, 0.7 * 11, log=True)})
    for u in [0.0, 5e-324, 1e-17, 1e-16, 0.5, 1 - 1e-16, 1.0]:
        assert 0.1 + 0.2 <= odd.decode(np.array([u]))["lr"] <= 0.7 * 11
    assert odd.encode({"lr": 0.1 + 0.2}) == [0.0]
    assert odd.encode({"lr": 0.7 * 11}) == [1.0]


def test_steps_are_the_decimal_numbers_and_end_within_high() -> None:
    dimension = Real(0, 1, step=0.3)
    assert dimension == Real(0.0, 0.9, step=0.3)
    encoding = Encoding({"x": dimension})
    values = [encoding.decode(np.array([(k + 0.5) / 4]))["x"] for k in range(4)]
    assert values == [0.0, 0.3, 0.6, 0.9]
    assert encoding.encode({"x": 3 * 0.3}) == [3.5 / 4]  # 0.8999999999999999
    assert Real(0.1, 0.1 + 0.2, step=0.1).count == 3
    assert Real(0, 0.1 + 0.2, step=0.1).high == 0.3
    assert Real(-1, 1, step=5).width == 0
    assert Real(1e16, 1e16, step=0.1).count == 1
    assert Whole(1, 10, step=4) == Whole(1, 9, step=4)


@pytest.mark.parametrize("count", [2, 3, 7])
def test_two_options_are_at_distance_one(count: int) -> None:
    encoding = Encoding({"kind": Choice(tuple(range(count)))})
    assert encoding.d == (1 if count == 2 else count)
    points = np.array([encoding.encode({"kind": k}) for k in range(count)])
    distance = np.linalg.norm(points[:, None] - points[None, :], axis=2)
    np.testing.assert_allclose(distance, 1.0 - np.eye(count), rtol=1e-15)


def test_the_largest_coordinate_wins_and_ties_go_to_the_first() -> None:
    three = Encoding.of({"kind": ["a", "b", "c"]})
    assert three.decode(np.array([0.1, 0.3, 0.2])) == {"kind": "b"}
    assert three.decode(np.array([2.0, 3.0, 3.0])) == {"kind": "b"}
    assert three.decode(np.zeros(3)) == {"kind": "a"}
    two = Encoding.of({"kind": ("a", "b")})
    assert [two.decode(np.array([u]))["kind"] for u in (-1.0, 0.5, 0.6)] == ["a", "a", "b"]


def test_constants_take_no_coordinate() -> None:
    encoding = Encoding.of({"a": (2.0, 2.0), "x": (0.0, 1.0), "b": Whole(3, 3), "c": ["only"]})
    assert encoding.d == 1
    params = {"a": 2.0, "x": 0.25, "b": 3, "c": "only"}
    assert encoding.encode(params) == [0.25]
    assert encoding.decode(np.array([0.25])) == params
    with pytest.raises(ValueError, match=r"a must be in \[2.0, 2.0\], got a=3.0"):
        encoding.encode(params | {"a": 3.0})

    fixed = Encoding.of({"a": (2.0, 2), "c": ["only"]})
    assert fixed.d == 1
    assert fixed.encode({"a": 2, "c": "only"}) == [0.5]
    assert fixed.snap(np.array([[0.0], [1.0]])).tolist() == [[0.5], [0.5]]
    assert fixed.decode(np.array([0.9])) == {"a": 2.0, "c": "only"}


def test_every_combination_of_values_is_one_point() -> None:
    finite = Encoding.of({"n": Whole(1, 9), "x": Real(0, 1, step=0.25), "k": ["a", "b", "c"], "c": [5]})
    assert [dim.count for dim in finite.dimensions.values()] == [9, 5, 3, 1]
    u = np.random.default_rng(0).random((20000, finite.d))
    assert len(np.unique(finite.snap(u), axis=0)) == 9 * 5 * 3
    assert Encoding.of({"x": (0.0, 1)}).dimensions["x"].count is None


def test_friendly_bounds() -> None:
    encoding = Encoding.of(
        {
            "x": (0.0, 1),
            "layers": (1, 5),
            "width": [np.int64(2), 4],
            "y": [0.0, 2.0],
            "z": np.array([-1.0, 1.0]),
            "n": Whole(1, 9),
            "kind": ("a", "b"),
            "size": [16, 32, 64],
            "maybe": [None, 3],
            "flag": (True, False),
            "one": [7],
        }
    )
    assert encoding.dimensions == {
        "x": Real(0.0, 1.0),
        "layers": Whole(1, 5),
        "width": Whole(2, 4),
        "y": Real(0.0, 2.0),
        "z": Real(-1.0, 1.0),
        "n": Whole(1, 9),
        "kind": Choice(("a", "b")),
        "size": Choice((16, 32, 64)),
        "maybe": Choice((None, 3)),
        "flag": Choice((True, False)),
        "one": Choice((7,)),
    }
    assert encoding.names == tuple(encoding.dimensions)
    assert Encoding.of(encoding) is encoding
    assert encoding != Encoding.of(dict(reversed(encoding.dimensions.items())))


def test_numpy_scalars_are_welcome_and_decode_to_plain_values() -> None:
    bounds = {
        "x": Real(np.float64(0), np.int64(2)),
        "n": Whole(np.int32(1), 5),
        "k": [np.str_("a"), "b"],
    }
    encoding = Encoding.of(bounds)
    params = {"x": np.float32(0.5), "n": np.int64(3), "k": np.str_("b")}
    back = encoding.decode(encoding.encode(params))
    assert back == {"x": 0.5, "n": 3, "k": "b"}
    assert [type(value) for value in back.values()] == [float, int, str]
    json.dumps(encoding.to_plain())


def test_true_is_not_one_but_one_point_zero_is() -> None:
    encoding = Encoding.of({"k": [1, True, "x"]})
    assert encoding.decode(encoding.encode({"k": True}))["k"] is True
    assert type(encoding.decode(encoding.encode({"k": 1.0}))["k"]) is int
    with pytest.raises(ValueError, match="distinct"):
        Choice((1, 1.0))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Real(1, 0), ValueError, "high must be finite and >= 1 and"),
        (lambda: Real(0, math.nan), ValueError, "high must be"),
        (lambda: Real(-math.inf, 0), ValueError, "low must be finite"),
        (lambda: Real(0, True), TypeError, "high must be a real number, got high=True"),
        (lambda: Real(0, 1, log=True), ValueError, "low must be > 0 on a log scale, got low=0.0"),
        (lambda: Real(1, 2, log=True, step=0.1), ValueError, "step must be None on a log scale"),
        (lambda: Real(1e300 - 1e285, 1e300, log=True), ValueError, r"ln\(low\) must be < ln\(high\)"),
        (lambda: Real(0, 1, step=0), ValueError, "step must be"),
        (lambda: Real(1e16, 1e16 + 8, step=1), ValueError, "step must be >= 32 for these bounds"),
        (lambda: Real(0, 1, log=1), TypeError, "log must be True or False"),
        (lambda: Whole(3, 2), ValueError, "high must be >= 3, got high=2"),
        (lambda: Whole(1.0, 2), TypeError, "low must be an integer, got low=1.0"),
        (lambda: Whole(True, 2), TypeError, "low must be an integer"),
        (lambda: Whole(0, 2, step=0), ValueError, "step must be >= 1"),
        (lambda: Whole(0, 2, log=True), ValueError, "low must be >= 1, .* got low=0"),
        (lambda: Whole(1, 9, log=True, step=2), ValueError, "step 1 on a log scale, .* step=2"),
        (lambda: Whole(1, 2**41, log=True), ValueError, r"high <= 2\*\*40"),
        (lambda: Whole(0, 2**50), ValueError, r"must be <= 2\*\*50 values"),
        (lambda: Choice(()), ValueError, "at least one"),
        (lambda: Choice("abc"), TypeError, "options must be a list or a tuple, got options='abc'"),
        (lambda: Choice(("a", "b", "a")), ValueError, "distinct, got 'a' twice"),
        (lambda: Choice(("a", ["b"])), TypeError, "an option must be text"),
        (lambda: Choice((1.0, math.nan)), ValueError, "an option must be finite"),
        (lambda: Encoding({}), ValueError, "at least one parameter"),
        (lambda: Encoding([("x", Real(0, 1))]), TypeError, "dimensions must be a mapping"),
        (lambda: Encoding({1: Real(0, 1)}), TypeError, "name of a parameter must be text, got 1"),
        (lambda: Encoding({"x": (0, 1)}), TypeError, "x must be a Real, Whole or Choice"),
        (lambda: Encoding.of([(0, 1)]), TypeError, "bounds must be a mapping"),
        (lambda: Encoding.of({"x": (0, 1, 0.1, 2)}), ValueError, "bounds of 'x': must be a pair"),
        (lambda: Encoding.of({"x": (1e-5, 1, "log")}), ValueError, "bounds of 'x': must be a pair"),
        (lambda: Encoding.of({"x": (1, 0)}), ValueError, "bounds of 'x': high must be"),
        (lambda: Encoding.of({"x": "ab"}), TypeError, "bounds of 'x': must be a Dimension"),
        (lambda: Encoding.of({"x": {"a", "b"}}), TypeError, "bounds of 'x': must be a Dimension"),
        (lambda: Encoding.of({"x": range(3)}), TypeError, "bounds of 'x': must be a Dimension"),
        (lambda: Encoding.of({"x": []}), ValueError, "bounds of 'x': options"),
    ],
)
def test_bad_dimensions_are_refused(make: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()


MIXED = Encoding.of(
    {
        "x": (0.0, 1.0),
        "lr": Real(1e-5, 1, log=True),
        "s": Real(0, 1, step=0.25),
        "n": Whole(1, 9),
        "m": Whole(0, 9, step=3),
        "k": ["a", "b", "c"],
    }
)
GOOD = {"x": 0.3, "lr": 1e-2, "s": 0.5, "n": 3, "m": 6, "k": "c"}


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"x": 1.0000001}, ValueError, r"x must be in \[0.0, 1.0\], got x=1.0000001"),
        ({"x": math.nan}, ValueError, "x must be finite, got x=nan"),
        ({"x": True}, TypeError, "x must be a real number, got x=True"),
        ({"x": "0.3"}, TypeError, "x must be a real number"),
        ({"x": None}, TypeError, "x must be a real number"),
        ({"lr": 0.0}, ValueError, "lr must be in"),
        ({"s": 0.3}, ValueError, r"s must be 0.0 \+ k \* 0.25 <= 1.0 with k >= 0, got s=0.3"),
        ({"s": 1.25}, ValueError, "s must be"),
        ({"s": -0.25}, ValueError, "s must be"),
        ({"n": 10}, ValueError, r"n must be in \[1, 9\], got n=10"),
        ({"n": 3.0}, TypeError, "n must be an integer, got n=3.0"),
        ({"n": True}, TypeError, "n must be an integer"),
        ({"n": np.bool_(True)}, TypeError, "n must be an integer"),
        ({"m": 4}, ValueError, r"m must be 0 \+ k \* 3 <= 9 with k >= 0, got m=4"),
        ({"m": 12}, ValueError, "m must be"),
        ({"k": "d"}, ValueError, "k must be one of 'a', 'b', 'c', got k='d'"),
        ({"k": ["a"]}, ValueError, "k must be one of"),
        ({"k": np.array(["a", "b"])}, ValueError, "k must be one of"),
        ({"other": 1}, ValueError, r"params must have the names \['x'.*got .*'other'"),
    ],
)
def test_bad_values_are_refused(change: dict[str, Any], error: type[Exception], words: str) -> None:
    MIXED.encode(GOOD)
    with pytest.raises(error, match=words):
        MIXED.encode(GOOD | change)


def test_missing_names_wrong_shapes_and_nan_are_refused() -> None:
    with pytest.raises(ValueError, match="params must have the names"):
        MIXED.encode({"x": 0.3})
    with pytest.raises(TypeError, match="params must be a mapping"):
        MIXED.encode([0.3])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a point must have 8 coordinates, got 3"):
        MIXED.decode(np.zeros(3))
    with pytest.raises(ValueError, match="U must have shape"):
        MIXED.snap(np.zeros(8))
    with pytest.raises(ValueError, match="u must be finite"):
        MIXED.decode(np.full(8, np.nan))
    assert MIXED.snap(np.zeros((0, 8))).shape == (0, 8)


def test_bad_plain_data_is_refused() -> None:
    entry = {"name": "x", "kind": "real", "low": 0.0, "high": 1.0}
    assert Encoding.from_plain({"dimensions": [entry]}) == Encoding.of({"x": (0.0, 1.0)})
    with pytest.raises(
        ValueError, match="kind must be one of 'real', 'whole', 'choice', got kind='big'"
    ):
        Encoding.from_plain({"dimensions": [entry | {"kind": "big"}]})
    with pytest.raises(ValueError, match="names must be distinct, got 'x' twice"):
        Encoding.from_plain({"dimensions": [entry, entry]})


def test_points_are_decoded_together_as_one_by_one_whatever_the_order_of_the_names() -> None:
    dimensions = {"gas": Choice(["N2", "Ar"]), "n": Whole(1, 5), "temp": Real(200.0, 500.0)}
    encoding = Encoding(dimensions, ["temp", "gas", "n"])
    U = encoding.snap(np.random.default_rng(0).random((20, encoding.d)))
    assert encoding.decode_all(U) == [encoding.decode(u) for u in U]
    assert list(encoding.decode_all(U)[0]) == ["temp", "gas", "n"]
