"""Space: points as the user knows them, and back; the domain as JSON-able data, and back."""

import json
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from study.scripted import BOX, GRID, assert_refused
from unbribable.model.encoding import Encoding
from unbribable.study.space import Space

FORMS: dict[str, Any] = {
    "pairs": [(-1.0, 1.0), (0.0, 1e-3)],
    "box": BOX,
    "grid": GRID,
    "candidates": np.random.default_rng(0).standard_normal((7, 3)),
    "names": {
        "z": (-3.0, 0.1),
        "rate": ub.Real(1e-6, 1.0, log=True),
        "step": ub.Real(0.0, 1.0, step=0.1),
        "n": ub.Whole(1, 1000, log=True),
        "even": ub.Whole(0, 10, step=2),
        "kind": ["a", None, 2.5],
        "flag": (True, False),
        "one": ub.Choice(("only",)),
    },
}
ALL = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def points_of(space: Space, n: int = 40) -> list[np.ndarray]:
    """Some points of the domain."""
    rng = np.random.default_rng(1)
    if isinstance(space.domain, ub.Grid):
        return list(space.domain.points)
    U = space.domain.snap(rng.random((n, space.domain.d)))
    return list(space.domain.from_unit(U))


@ALL
def test_shown_and_given_back_is_the_same_point(form: Any) -> None:
    space = Space.of(form)
    for x in points_of(space):
        np.testing.assert_allclose(space.given(space.shown(x)), x, rtol=0.0, atol=1e-9)


@ALL
def test_given_and_shown_again_is_the_same_value(form: Any) -> None:
    """Up to the rounding of a logarithm; whole numbers and options exactly."""
    space = Space.of(form)
    for x in points_of(space):
        shown = space.shown(x)
        again = space.shown(space.given(shown))
        if not isinstance(shown, dict):
            np.testing.assert_array_equal(again, shown)
            continue
        for name, value in shown.items():
            is_real = type(value) is float
            assert again[name] == (pytest.approx(value, rel=1e-9, abs=1e-12) if is_real else value)
            assert type(again[name]) is type(value)


@ALL
def test_a_space_comes_back_from_json(form: Any) -> None:
    space = Space.of(form)
    text = json.dumps(space.to_plain(), allow_nan=False)
    back = Space.from_plain(json.loads(text))
    assert json.loads(json.dumps(back.to_plain())) == json.loads(text)
    assert back.domain.fingerprint == space.domain.fingerprint
    assert (back.encoding is None) == (space.encoding is None)
    for x in points_of(space):
        assert str(back.shown(x)) == str(space.shown(x))


def test_the_number_of_candidates_of_a_box_comes_back() -> None:
    back = Space.from_plain(Space.of(BOX).to_plain()).domain
    assert isinstance(back, ub.Box)
    assert back.n_candidates == BOX.n_candidates == 64


def test_what_is_shown_is_a_copy() -> None:
    space, x = Space.of(BOX), np.array([0.5])
    space.shown(x)[:] = 7.0
    assert x.tolist() == [0.5]


def test_a_number_is_a_point_of_one_coordinate() -> None:
    assert Space.of(BOX).given(0.5).tolist() == [0.5]


def snapped() -> ub.Box:
    return ub.Box([0.0], [1.0], snap=lambda U: np.round(U, 1))


REFUSED: dict[str, Any] = {
    "a snap of one's own": (
        lambda: Space.of(snapped()).to_plain(),
        ValueError,
        ("a snap of its own", "named bounds"),
    ),
    "another kind": (
        lambda: Space.from_plain({"kind": "sphere"}),
        ValueError,
        ("a box, a grid or an encoding", "'sphere'"),
    ),
    "no kind": (lambda: Space.from_plain({}), ValueError, ("a box, a grid or an encoding", "None")),
    "a name missing": (
        lambda: Space.of({"a": (0.0, 1.0), "b": (0.0, 1.0)}).given({"a": 0.5}),
        ValueError,
        ("names ['a', 'b']", "['a']"),
    ),
    "no names": (
        lambda: Space.of({"a": (0.0, 1.0)}).given([0.5]),
        TypeError,
        ("mapping from name to value", "[0.5]"),
    ),
    "a stored name twice": (
        lambda: Space.from_plain(
            {
                "kind": "encoding",
                "dimensions": 2 * Encoding.of({"a": (0.0, 1.0)}).to_plain()["dimensions"],
            }
        ),
        ValueError,
        ("distinct", "'a'"),
    ),
}


@pytest.mark.parametrize(("call", "error", "words"), REFUSED.values(), ids=REFUSED)
def test_a_space_refuses(call: Any, error: type[Exception], words: tuple[str, ...]) -> None:
    assert_refused(call, error, words)
