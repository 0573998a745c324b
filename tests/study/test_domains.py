"""maximize: every way to say where to search, and what f is given there."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from study.scripted import ASSUMED, BOX, GRID, Scripted, assert_refused, trials_of, wave
from unbribable.model.encoding import Encoding
from unbribable.study.space import Space

NAN, INF = math.nan, math.inf
MIXED: dict[str, Any] = {
    "rate": ub.Real(1e-5, 1e-1, log=True),
    "n": ub.Whole(1, 6),
    "kind": ub.Choice(("a", "b", "c")),
    "share": (0.0, 0.5),
    "flag": [True, False],
    "constant": ub.Whole(3, 3),
}


def mixed(params: dict[str, Any]) -> float:
    """Best at rate 1e-3, n 4, kind "b"."""
    bonus = {"a": 0.0, "b": 1.0, "c": 0.3}[params["kind"]]
    return bonus - (math.log10(params["rate"]) + 3.0) ** 2 - 0.2 * (params["n"] - 4) ** 2


def plane(x: Any) -> float:
    return -((x[0] - 0.3) ** 2) - (x[1] - 3.0) ** 2


ARRAYS: dict[str, tuple[Any, Callable[[Any], bool]]] = {
    "pairs": ([(0, 1), (2.0, 4.0)], lambda x: 0.0 <= x[0] <= 1.0 and 2.0 <= x[1] <= 4.0),
    "a tuple of lists": (([0, 1], [2, 4]), lambda x: 0.0 <= x[0] <= 1.0 and 2.0 <= x[1] <= 4.0),
    "pairs as arrays": (
        [np.array([0, 1]), np.array([2, 4])],
        lambda x: 0.0 <= x[0] <= 1.0 and 2.0 <= x[1] <= 4.0,
    ),
    "Box": (ub.Box([0.0, 2.0], [1.0, 4.0]), lambda x: 0.0 <= x[0] <= 1.0 and 2.0 <= x[1] <= 4.0),
    "Grid": (ub.Grid([[0.0, 2.0], [0.5, 3.0], [1.0, 4.0]]), lambda x: x[1] == 2.0 * x[0] + 2.0),
    "candidates": (np.array([[0, 2], [1, 4], [2, 6]]), lambda x: x[1] == 2.0 * x[0] + 2.0),
}


@pytest.mark.parametrize(("domain", "is_inside"), ARRAYS.values(), ids=ARRAYS)
def test_without_names_f_gets_an_array_in_the_domain(
    domain: Any, is_inside: Callable[[Any], bool]
) -> None:
    told = Scripted(plane)
    run = ub.maximize(told, domain, 4, seed=0)
    assert len(told.points) == len(run.trials) == 4
    for x, trial in zip(told.points, run.trials, strict=True):
        assert isinstance(x, np.ndarray)
        assert (x.shape, x.dtype) == ((2,), np.float64)
        assert is_inside(x)
        np.testing.assert_array_equal(trial.params, x)
        np.testing.assert_array_equal(trial.x, x)
    assert isinstance(run.x, np.ndarray)
    assert is_inside(run.x)


def test_with_names_f_gets_a_dict_of_plain_values_and_the_best_is_found() -> None:
    told = Scripted(mixed, noise_std=0.02)
    run = ub.maximize(told, MIXED, 22, seed=0)
    for params, trial in zip(told.points, run.trials, strict=True):
        assert list(params) == list(MIXED)
        assert type(params["rate"]) is float
        assert 1e-5 <= params["rate"] <= 1e-1
        assert type(params["n"]) is int
        assert 1 <= params["n"] <= 6
        assert params["kind"] in ("a", "b", "c")
        assert 0.0 <= params["share"] <= 0.5
        assert type(params["flag"]) is bool
        assert params["constant"] == 3
        assert trial.params == params
        assert trial.x.shape == (7,)
    assert set(run.x) == set(MIXED)
    for name in ("kind", "n", "flag"):
        assert len({params[name] for params in told.points}) > 1, f"{name} is tried out"
    encoding = run.space.encoding
    assert encoding is not None
    for trial in run.trials:  # the model sees the very points that f was asked at
        np.testing.assert_allclose(encoding.encode(trial.params), trial.x, rtol=0.0, atol=1e-12)
    assert mixed(run.x) > 0.4
    assert run.x["kind"] == "b"
    assert run.recommendation is not None
    assert run.recommendation.params == run.x, "the answer and the suspects speak in names too"
    assert all(one.params == run.trials[one.t - 1].params for one in run.suspects)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param([(0, 1), (2, 4)], ub.Box([0.0, 2.0], [1.0, 4.0]), id="pairs are a Box"),
        pytest.param(GRID.points, GRID, id="candidates are a Grid"),
        pytest.param(
            {"z": (0.0, 1.0), "n": ub.Whole(1, 4)},
            Encoding({"z": ub.Real(0.0, 1.0), "n": ub.Whole(1, 4)}),
            id="named bounds are an Encoding",
        ),
        pytest.param(BOX, Space.of(BOX), id="a Space is itself"),
    ],
)
def test_two_ways_to_say_the_same_are_the_same_run(one: Any, other: Any) -> None:
    def f(x: Any) -> float:
        return wave([x["z"] if isinstance(x, dict) else x[0]])

    runs = [ub.maximize(Scripted(f), domain, 6, seed=2) for domain in (one, other)]
    assert trials_of(runs[0]) == trials_of(runs[1])


def test_a_log_scale_searches_the_logarithm() -> None:
    """The run is that over the logarithm itself, as the kernel sees it."""
    low, high = 1e-5, 1e-1

    def of_log(params: Any) -> float:
        return wave([(params["z"] - math.log(low)) / math.log(high / low)])

    rates = Scripted(lambda params: of_log({"z": math.log(params["rate"])}))
    run = ub.maximize(rates, {"rate": ub.Real(low, high, log=True)}, 12, seed=0)
    plain = ub.maximize(Scripted(of_log), {"z": (math.log(low), math.log(high))}, 12, seed=0)
    for trial, other in zip(run.trials, plain.trials, strict=True):
        np.testing.assert_allclose(trial.x, other.x, rtol=0.0, atol=1e-6)
        assert math.log(trial.params["rate"]) == pytest.approx(other.params["z"], abs=1e-4)


# --- what f is given is its own ------------------------------------------------------------------


def test_an_f_that_spoils_its_array_changes_nothing() -> None:
    def spoil(x: Any) -> float:
        y = wave(x)
        x[:] = 99.0
        return y

    for domain in (GRID, BOX):
        words: dict[str, Any] = {"assumptions": ASSUMED, "corruption": 1.0, "seed": 0}
        spoilt = ub.maximize(Scripted(spoil), domain, 6, **words)
        assert trials_of(spoilt) == trials_of(ub.maximize(Scripted(wave), domain, 6, **words))


def test_an_f_that_spoils_its_dict_changes_nothing() -> None:
    def spoil(params: Any) -> float:
        y = wave([params.pop("z")])
        params["n"] = 77
        return y

    bounds = {"z": (0.0, 1.0), "n": ub.Whole(1, 3)}
    spoilt = ub.maximize(Scripted(spoil), bounds, 6, seed=0)
    whole = ub.maximize(Scripted(lambda params: wave([params["z"]])), bounds, 6, seed=0)
    assert trials_of(spoilt) == trials_of(whole)


def test_spoiling_the_answer_changes_nothing() -> None:
    """The point to use is handed out as a copy."""
    run = ub.maximize(Scripted(), BOX, 4, assumptions=ASSUMED, corruption=1.0)
    before = run.x.copy()
    run.x[:] = 99.0
    np.testing.assert_array_equal(run.x, before)


def test_a_callback_that_spoils_its_trial_changes_nothing_that_follows() -> None:
    def spoil(result: ub.Result, trial: ub.Trial) -> None:
        if trial.x.flags.writeable:
            trial.x[:] = 0.5

    words: dict[str, Any] = {"assumptions": ASSUMED, "corruption": 1.0}
    spoilt = ub.maximize(Scripted(), BOX, 6, callbacks=[spoil], **words)
    whole = ub.maximize(Scripted(), BOX, 6, **words)
    assert [trial.y for trial in spoilt.trials] == [trial.y for trial in whole.trials]


# --- what is no domain ---------------------------------------------------------------------------

Row = tuple[Any, type[Exception], tuple[str, ...]]

NO_DOMAINS: dict[str, Row] = {
    "nothing": (None, TypeError, ("domain must be", "a Box, a Grid", "None")),
    "a number": (3, TypeError, ("domain must be", "3")),
    "text": ("01", TypeError, ("domain must be", "'01'")),
    "an empty list": ([], TypeError, ("domain must be", "[]")),
    "a generator": ((pair for pair in [(0, 1)]), TypeError, ("domain must be", "generator")),
    "a set": ({0, 1}, TypeError, ("domain must be", "{0, 1}")),
    "one pair alone": ((0, 1), ValueError, ("one pair (low, high) per coordinate", "(0, 1)")),
    "triples": ([(0, 1, 2)], ValueError, ("one pair (low, high) per coordinate", "(0, 1, 2)")),
    "candidates in a list": (
        [[0.0], [0.5]],
        ValueError,
        ("one pair (low, high) per coordinate", "an array of shape (n, d)", "[0.5]"),
    ),
    "a pair upside down": ([(0, 1), (2, 2)], ValueError, ("low must be below high", "coordinate 1")),
    "an endless pair": ([(0, INF)], ValueError, ("high must be finite", "inf")),
    "a pair with nan": ([(NAN, 1)], ValueError, ("low must be finite", "nan")),
    "a pair of words": ([("a", "b")], TypeError, ("low must hold real numbers", "'a'")),
    "words of two letters": (["ab"], TypeError, ("low must hold real numbers", "'a'")),
    "a flat array": (np.linspace(0, 1, 5), ValueError, ("points must have shape (n, d)", "(5,)")),
    "an empty array": (np.zeros((0, 2)), ValueError, ("at least one candidate", "(0, 2)")),
    "a candidate twice": (np.zeros((2, 1)), ValueError, ("points must be distinct", "0 and 1")),
    "an array of words": (np.array([["a"]]), TypeError, ("points must hold real numbers", "'a'")),
    "no names": ({}, ValueError, ("at least one parameter", "none")),
    "a name that is none": ({1: (0, 1)}, TypeError, ("name of a parameter must be text", "1")),
    "three bounds": ({"z": (0, 1, 2)}, ValueError, ("bounds of 'z'", "pair (low, high)", "(0, 1, 2)")),
    "a bound alone": ({"z": 3.0}, TypeError, ("bounds of 'z'", "pair of numbers", "3.0")),
    "bounds upside down": ({"z": (1.0, 0.0)}, ValueError, ("bounds of 'z'", "high must be", "0.0")),
    "no options": ({"z": []}, ValueError, ("bounds of 'z'", "options must hold at least one")),
    "an option twice": ({"z": ["a", "a"]}, ValueError, ("bounds of 'z'", "distinct", "'a'")),
    "an option of objects": ({"z": ["a", {}]}, TypeError, ("bounds of 'z'", "an option must be", "{}")),
}


@pytest.mark.parametrize(("domain", "error", "words"), NO_DOMAINS.values(), ids=NO_DOMAINS)
def test_what_is_no_domain_is_refused_before_f_is_asked(
    domain: Any, error: type[Exception], words: tuple[str, ...]
) -> None:
    told = Scripted()
    assert_refused(lambda: ub.maximize(told, domain, 3), error, words)
    assert told.points == []
