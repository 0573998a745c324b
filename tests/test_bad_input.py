"""Bad input as tables of (call, error, words in the message): the rule and the value.

After a refused call an algorithm's `state()` is what it was before.
"""

import json
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from contracts.members import ALGORITHMS, algorithms
from doubted import suspects_of
from told import reading_of

NAN, INF = math.nan, math.inf
KERNEL = ub.SquaredExponential(0.3)
GRID = ub.Grid(np.linspace(0.0, 1.0, 9)[:, None])
FACTS: dict[str, Any] = {"B": 1.0, "B0": 1.0, "noise_std": 0.1, "lam": 0.5, "delta": 0.1}
ASSUMED = ub.Assumptions(KERNEL, **FACTS)
UNCAPPED = ub.Assumptions(KERNEL, **FACTS, c_max=INF)

Row = tuple[Callable[[], Any], type[Exception], tuple[str, ...]]


def rows(table: dict[str, Row]) -> Any:
    """The table as pytest parameters."""
    return [pytest.param(*row, id=name) for name, row in table.items()]


def assume(**changes: Any) -> ub.Assumptions:
    """Good assumptions but for the changes."""
    return ub.Assumptions(**{"kernel": KERNEL, **FACTS, **changes})


def assert_refused(call: Callable[[], Any], error: type[Exception], words: tuple[str, ...]) -> None:
    """The call raises exactly this kind of error, and its message holds every word."""
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error
    for word in words:
        assert word in str(caught.value)


GRIDS: dict[str, Row] = {
    "nan": (lambda: ub.Grid([[0.0], [NAN]]), ValueError, ("finite", "nan", "[1, 0]")),
    "inf": (lambda: ub.Grid([[0.0, -INF]]), ValueError, ("finite", "-inf", "[0, 1]")),
    "flat": (lambda: ub.Grid([0.0, 1.0]), ValueError, ("(n, d)", "(2,)")),
    "number": (lambda: ub.Grid(1.0), ValueError, ("(n, d)", "()")),
    "cube": (lambda: ub.Grid(np.zeros((2, 2, 2))), ValueError, ("(n, d)", "(2, 2, 2)")),
    "no rows": (lambda: ub.Grid(np.zeros((0, 2))), ValueError, ("at least one", "(0, 2)")),
    "no columns": (lambda: ub.Grid(np.zeros((2, 0))), ValueError, ("at least one", "(2, 0)")),
    "ragged": (lambda: ub.Grid([[0.0], [1.0, 2.0]]), ValueError, ("regular", "unequal")),
    "twice": (lambda: ub.Grid([[0.5], [1.0], [0.5]]), ValueError, ("distinct", "0.5", "0 and 2")),
    "minus zero": (lambda: ub.Grid([[0.0], [-0.0]]), ValueError, ("distinct", "0.0", "0 and 1")),
    "strings": (lambda: ub.Grid([["a"], ["b"]]), TypeError, ("real numbers", "'a'")),
    "a string": (lambda: ub.Grid("ab"), TypeError, ("real numbers", "'ab'")),
    "none": (lambda: ub.Grid(None), TypeError, ("real numbers", "None")),
    "booleans": (lambda: ub.Grid([[True], [False]]), TypeError, ("real numbers", "bool")),
    "complex": (lambda: ub.Grid([[1j]]), TypeError, ("real numbers", "complex")),
    "objects": (lambda: ub.Grid([[{}]]), TypeError, ("real numbers", "object")),
    "index of nan": (lambda: GRID.index_of([NAN]), ValueError, ("finite", "nan")),
    "index of two": (lambda: GRID.index_of([0.0, 1.0]), ValueError, ("(1,)", "(2,)")),
    "index of number": (lambda: GRID.index_of(0.5), ValueError, ("(d,)", "()")),
    "index of stranger": (lambda: GRID.index_of([0.3]), ValueError, ("candidate", "0.3", "0.25")),
    "index of words": (lambda: GRID.index_of(["x"]), TypeError, ("real numbers", "'x'")),
}


@pytest.mark.parametrize(("call", "error", "words"), rows(GRIDS))
def test_a_grid_refuses(call: Callable[[], Any], error: type[Exception], words: Any) -> None:
    """With the rule and the value."""
    assert_refused(call, error, words)


def far_grid() -> ub.Grid:
    """Points on which a linear kernel of scale 1 exceeds 1."""
    return ub.Grid([[0.0], [2.0]])


KERNELS: dict[str, Row] = {
    "zero": (lambda: ub.SquaredExponential(0.0), ValueError, ("lengthscale", "> 0", "0.0")),
    "negative": (lambda: ub.Matern(0.5, -1.0), ValueError, ("lengthscale", "> 0", "-1.0")),
    "nan": (lambda: ub.SquaredExponential(NAN), ValueError, ("lengthscale", "finite", "nan")),
    "inf": (lambda: ub.Linear(INF), ValueError, ("scale", "finite", "inf")),
    "string": (lambda: ub.SquaredExponential("1"), TypeError, ("lengthscale", "real", "'1'")),
    "none": (lambda: ub.SquaredExponential(None), TypeError, ("lengthscale", "real", "None")),
    "boolean": (lambda: ub.Linear(True), TypeError, ("scale", "real", "True")),
    "dict": (lambda: ub.Linear({}), TypeError, ("scale", "real", "{}")),
    "one is zero": (lambda: ub.Linear([1.0, 0.0]), ValueError, ("scale[1]", "> 0", "0.0")),
    "one is nan": (lambda: ub.Matern(1.5, [1.0, NAN]), ValueError, ("lengthscale", "finite", "nan")),
    "strings": (lambda: ub.Linear(["a"]), TypeError, ("scale", "real numbers", "'a'")),
    "matrix": (lambda: ub.Linear([[1.0]]), ValueError, ("scale", "(d,)", "(1, 1)")),
    "ragged": (lambda: ub.Linear([[1.0], [1.0, 2.0]]), ValueError, ("scale", "unequal")),
    "empty": (lambda: ub.SquaredExponential([]), ValueError, ("lengthscale",)),
    "nu zero": (lambda: ub.Matern(0.0, 1.0), ValueError, ("nu", "> 0", "0.0")),
    "nu nan": (lambda: ub.Matern(NAN, 1.0), ValueError, ("nu", "finite", "nan")),
    "nu inf": (lambda: ub.Matern(INF, 1.0), ValueError, ("nu", "finite", "inf")),
    "nu string": (lambda: ub.Matern("5/2", 1.0), TypeError, ("nu", "real", "'5/2'")),
    "nu list": (lambda: ub.Matern([2.5], 1.0), TypeError, ("nu", "real", "[2.5]")),
    "scales": (
        lambda: ub.GPUCB(GRID, assume(kernel=ub.SquaredExponential([1.0, 2.0]))),
        ValueError,
        ("one per coordinate", "d=1", "(1.0, 2.0)"),
    ),
    "too large": (
        lambda: ub.GPUCB(far_grid(), assume(kernel=ub.Linear(1.0))),
        ValueError,
        ("k(x, x) must be <= 1", "4", "[2.0]", "multiply its scale by 2"),
    ),
    "gain too large": (
        lambda: ub.MaxInformationGain(ub.Linear(1.0), far_grid().points, 1.0),
        ValueError,
        ("k(x, x) must be <= 1", "4"),
    ),
    "gain lam": (
        lambda: ub.MaxInformationGain(KERNEL, GRID.points, -1.0),
        ValueError,
        ("lam", "> 0", "-1.0"),
    ),
    "gain of -1": (
        lambda: ub.MaxInformationGain(KERNEL, GRID.points, 1.0).lower(-1),
        ValueError,
        ("t must be >= 0", "-1"),
    ),
}


@pytest.mark.parametrize(("call", "error", "words"), rows(KERNELS))
def test_a_kernel_refuses(call: Callable[[], Any], error: type[Exception], words: Any) -> None:
    """Alone, or when it meets the domain."""
    assert_refused(call, error, words)


def number_rows(name: str, build: Callable[..., Any], below: tuple[float, ...], rule: str) -> Any:
    """What every real parameter refuses, and what lies outside this one's limits."""
    table: dict[str, Row] = {
        "string": (lambda: build(**{name: "1"}), TypeError, (name, "real number", "'1'")),
        "list": (lambda: build(**{name: [1.0]}), TypeError, (name, "real number", "[1.0]")),
        "array": (lambda: build(**{name: np.ones(2)}), TypeError, (name, "real number", "array")),
        "boolean": (lambda: build(**{name: True}), TypeError, (name, "real number", "True")),
        "np.bool": (lambda: build(**{name: np.True_}), TypeError, (name, "real number", "True")),
        "complex": (lambda: build(**{name: 1j}), TypeError, (name, "real number", "1j")),
        "unhashable": (lambda: build(**{name: {}}), TypeError, (name, "real number", "{}")),
        "nan": (lambda: build(**{name: NAN}), ValueError, (name, "nan")),
        "minus inf": (lambda: build(**{name: -INF}), ValueError, (name, "-inf")),
        "huge int": (lambda: build(**{name: 10**400}), ValueError, (name,)),
    }
    for value in below:
        table[f"{value}"] = (
            lambda value=value: build(**{name: value}),
            ValueError,
            (name, rule, repr(float(value))),
        )
    return [pytest.param(*row, id=f"{name}-{case}") for case, row in table.items()]


ASSUMPTION_ROWS = [
    *number_rows("B", assume, (0.0, -1.0, INF), "> 0"),
    *number_rows("B0", assume, (0, -1.0, INF), "> 0"),
    *number_rows("noise_std", assume, (-0.1, INF), ">= 0"),
    *number_rows("lam", assume, (0.0, -1.0, INF), "> 0"),
    *number_rows("delta", assume, (0.0, 1.0, 2, -0.5), "< 1"),
    *number_rows("c_max", assume, (0.0, -1.0), "> 0"),
    *rows(
        {
            "kernel none": (lambda: assume(kernel=None), TypeError, ("kernel", "Kernel", "None")),
            "kernel class": (lambda: assume(kernel=ub.Linear), TypeError, ("kernel", "Linear")),
            "kernel string": (lambda: assume(kernel="se"), TypeError, ("kernel", "Kernel", "'se'")),
            "lam none": (lambda: assume(lam=None), TypeError, ("lam", "real", "None")),
        }
    ),
]


@pytest.mark.parametrize(("call", "error", "words"), ASSUMPTION_ROWS)
def test_assumptions_refuse(call: Callable[[], Any], error: type[Exception], words: Any) -> None:
    """At construction."""
    assert_refused(call, error, words)


MAKERS = algorithms(domain=GRID, assumptions=ASSUMED, C=2.0, T=50, seed=1)
gp_ucb, robust, fast_slow, layered = (
    MAKERS[name] for name in ("gp-ucb", "robust", "fast-slow", "layered")
)

OPTION_ROWS = [
    *number_rows("beta", gp_ucb, (-1.0, INF), ">= 0"),
    *rows(
        {
            f"{name} {value!r}": (
                lambda name=name, value=value: gp_ucb(**{name: value}),
                ValueError,
                (f"{name} must be one of", word, repr(value)),
            )
            for name, word in (
                ("width", "'exact', 'capped', 'paper'"),
                ("noise", "'tight', 'paper'"),
                ("tail", "'sharp', 'paper'"),
                ("gain", "'realised', 'certified'"),
            )
            for value in ("Exact", "", None, 1, True, ["exact"], NAN)
        }
    ),
    *rows(
        {
            "unknown": (lambda: gp_ucb(wdith="exact"), TypeError, ("wdith",)),
            "beta function": (
                lambda: gp_ucb(beta=lambda t: -1.0),
                ValueError,
                ("beta(1)", ">= 0", "-1"),
            ),
            "beta word": (lambda: gp_ucb(beta=lambda t: "2"), TypeError, ("beta(1)", "real", "'2'")),
        }
    ),
]


@pytest.mark.parametrize(("call", "error", "words"), OPTION_ROWS)
def test_options_refuse(call: Callable[[], Any], error: type[Exception], words: Any) -> None:
    """At construction."""
    assert_refused(call, error, words)


SEEDED = {name: make for name, make in MAKERS.items() if "seed" in ALGORITHMS[name].takes}

CONSTRUCTOR_ROWS = [
    *(row for make in (robust,) for row in number_rows("C", make, (-1.0, INF), ">= 0")),
    *number_rows("C", fast_slow, (0.0, -1.0, INF), "> 0"),
    *number_rows("alpha", fast_slow, (1.8, 1, -2.0, INF), "> 1.8"),
    *number_rows("unit", MAKERS["ladder"], (0.0, -1.0, INF), ">= 1e-09"),
    *number_rows("alpha", layered, (1.8, 1, -2.0, INF), "> 1.8"),
    *rows(
        {
            f"{label} {case}": row
            for label, make in MAKERS.items()
            for case, row in {
                "domain array": (
                    lambda make=make: make(domain=np.zeros((2, 1))),
                    TypeError,
                    ("domain must be a Grid", "array"),
                ),
                "domain none": (
                    lambda make=make: make(domain=None),
                    TypeError,
                    ("domain must be a Grid", "None"),
                ),
                "assumptions dict": (
                    lambda make=make: make(assumptions={"B": 1.0}),
                    TypeError,
                    ("assumptions must be Assumptions", "{'B': 1.0}"),
                ),
            }.items()
        }
    ),
    *rows(
        {
            f"{label} seed {value!r}": (
                lambda make=make, value=value: make(seed=value),
                error,
                ("seed", rule, repr(value)),
            )
            for label, make in SEEDED.items()
            for value, error, rule in (
                (-1, ValueError, ">= 0"),
                (1.0, TypeError, "integer"),
                ("1", TypeError, "integer"),
                (True, TypeError, "integer"),
                ([1], TypeError, "integer"),
                (NAN, TypeError, "integer"),
            )
        }
    ),
    *rows(
        {
            f"T {value!r}": (lambda value=value: layered(T=value), error, ("T", rule, repr(value)))
            for value, error, rule in (
                (0, ValueError, ">= 1"),
                (-5, ValueError, ">= 1"),
                (10.0, TypeError, "integer"),
                ("10", TypeError, "integer"),
                (None, TypeError, "integer"),
                (True, TypeError, "integer"),
                ([10], TypeError, "integer"),
                (INF, TypeError, "integer"),
                (NAN, TypeError, "integer"),
            )
        }
    ),
    *rows(
        {
            **{
                f"{label} C unknown": (
                    lambda make=make: make(C="unknown"),
                    TypeError,
                    ("C must be a real number", "'unknown'", "LayeredGPUCB"),
                )
                for label, make in {"robust": robust, "fast-slow": fast_slow}.items()
            },
            "seed generator": (
                lambda: layered(seed=np.random.default_rng(0)),
                TypeError,
                ("seed must be an integer", "Generator", "an integer >= 0, a SeedSequence or None"),
            ),
            "fast-slow uncapped": (
                lambda: fast_slow(assumptions=UNCAPPED),
                ValueError,
                ("c_max", "finite", "inf"),
            ),
            "layered uncapped": (
                lambda: layered(assumptions=UNCAPPED),
                ValueError,
                ("c_max", "finite", "inf"),
            ),
            "layers' with_all": (lambda: layered(with_all=1), TypeError, ("with_all", "1")),
            "with_all word": (lambda: fast_slow(with_all="no"), TypeError, ("with_all", "'no'")),
            **{
                f"{name} {value!r}": (lambda name=name, value=value: fast_slow(**{name: value}), *words)
                for name, value, *words in (
                    ("share", 0.0, ValueError, ("share must be finite and > 0 and <= 1", "share=0.0")),
                    ("share", 1.01, ValueError, ("share must be", "<= 1", "1.01")),
                    ("share", float("nan"), ValueError, ("share", "nan")),
                    ("share", "half", TypeError, ("share must be a real number", "'half'")),
                    ("trust", -0.1, ValueError, ("trust must be", ">= 0", "-0.1")),
                    ("trust", 1e9, ValueError, ("trust must be", "<= ", "1000000000.0")),
                    ("trust", True, TypeError, ("trust must be a real number", "True")),
                )
            },
            "with_all none": (lambda: fast_slow(with_all=None), TypeError, ("with_all", "None")),
        }
    ),
]


@pytest.mark.parametrize(("call", "error", "words"), CONSTRUCTOR_ROWS)
def test_an_algorithm_refuses(call: Callable[[], Any], error: type[Exception], words: Any) -> None:
    """At construction."""
    assert_refused(call, error, words)


def used(make: Callable[..., Any]) -> Any:
    """An algorithm with five readings, one of them foreign, and two pending queries (6 and 7)."""
    algorithm = make()
    for k in range(4):
        algorithm.tell(algorithm.ask(), 0.1 * k)
    algorithm.tell(x=[0.5], y=0.2)
    algorithm.ask()
    algorithm.ask()
    return algorithm


def plain(algorithm: Any) -> str:
    """The state as text, and with it what each instance believes."""
    state = algorithm.state()
    columns = {
        name: column.tolist() if isinstance(column, np.ndarray) else column
        for name, column in state["readings"].items()
    }
    beliefs = {
        label: [*instance.mu.tolist(), *instance.sigma.tolist(), *instance.ucb_bar.tolist()]
        for label, instance in algorithm.instances.items()
    }
    return json.dumps([{**state, "readings": columns}, beliefs, algorithm.detected, algorithm.refuted])


def other_query() -> ub.Query:
    """A query that bears a pending id but another point."""
    other = ub.GPUCB(ub.Grid(np.linspace(3.0, 4.0, 7)[:, None]), ASSUMED)
    for _ in range(5):
        other.tell(other.ask(), 0.0)
    query = other.ask()
    changed = vars(query) | {"index": 99}
    return ub.Query(**changed)


TELLS: dict[str, tuple[Callable[[Any], Any], type[Exception], tuple[str, ...]]] = {
    "y nan": (lambda a: a.tell(6, NAN), ValueError, ("y must be finite", "nan")),
    "y inf": (lambda a: a.tell(6, INF), ValueError, ("y must be finite", "inf")),
    "y -inf": (lambda a: a.tell(6, -INF), ValueError, ("y must be finite", "-inf")),
    "y none": (lambda a: a.tell(6), TypeError, ("y must be a real number", "None")),
    "y string": (lambda a: a.tell(6, "1"), TypeError, ("y must be a real number", "'1'")),
    "y boolean": (lambda a: a.tell(6, True), TypeError, ("y must be a real number", "True")),
    "y list": (lambda a: a.tell(6, [1.0]), TypeError, ("y must be a real number", "[1.0]")),
    "y array": (lambda a: a.tell(6, np.ones(2)), TypeError, ("y must be a real number", "array")),
    "y masked": (lambda a: a.tell(6, np.ma.masked), TypeError, ("y must be a real number", "masked")),
    "y large": (lambda a: a.tell(6, 1e151), ValueError, ("y must be at most 1e+150", "y=1e+151")),
    "x y large": (lambda a: a.tell(x=[0.5], y=-1e300), ValueError, ("at most 1e+150", "-1e+300")),
    "learned large": (
        lambda a: a.learn(reading_of(a, 8, [0.5], 1e200)),
        ValueError,
        ("at most 1e+150", "1e+200"),
    ),
    "query a point": (
        lambda a: a.tell(np.array([0.5]), 0.0),
        TypeError,
        ("query must be an integer", "array([0.5])", "use tell(x=..., y=...)"),
    ),
    "y complex": (lambda a: a.tell(6, 1j), TypeError, ("y must be a real number", "1j")),
    "y huge int": (lambda a: a.tell(6, 10**400), ValueError, ("y",)),
    "id unknown": (lambda a: a.tell(8, 0.0), RuntimeError, ("8", "not asked", "[6, 7]")),
    "id told": (lambda a: a.tell(1, 0.0), RuntimeError, ("1", "told already")),
    "id foreign": (lambda a: a.tell(5, 0.0), RuntimeError, ("5", "told already")),
    "id zero": (lambda a: a.tell(0, 0.0), ValueError, ("query must be >= 1", "0")),
    "id float": (lambda a: a.tell(6.0, 0.0), TypeError, ("query must be an integer", "6.0")),
    "id string": (lambda a: a.tell("6", 0.0), TypeError, ("query must be an integer", "'6'")),
    "id boolean": (lambda a: a.tell(True, 0.0), TypeError, ("query must be an integer", "True")),
    "id unhashable": (lambda a: a.tell([6], 0.0), TypeError, ("query must be an integer", "[6]")),
    "other's query": (lambda a: a.tell(other_query(), 0.0), RuntimeError, ("6", "not asked here")),
    "both": (lambda a: a.tell(6, 0.0, x=[0.5]), TypeError, ("either a query", "x=")),
    "neither": (lambda a: a.tell(y=0.0), TypeError, ("either a query", "x=")),
    "x stranger": (lambda a: a.tell(x=[0.3], y=0.0), ValueError, ("candidate", "0.3")),
    "x nan": (lambda a: a.tell(x=[NAN], y=0.0), ValueError, ("x must be finite", "nan")),
    "x number": (lambda a: a.tell(x=0.5, y=0.0), ValueError, ("x must have shape", "()")),
    "x long": (lambda a: a.tell(x=[0.5, 0.5], y=0.0), ValueError, ("x must have shape", "(2,)")),
    "x string": (lambda a: a.tell(x="0.5", y=0.0), TypeError, ("x must hold real", "'0.5'")),
    "x y nan": (lambda a: a.tell(x=[0.5], y=NAN), ValueError, ("y must be finite", "nan")),
    "noise zero": (lambda a: a.tell(6, 0.0, noise_std=0.0), ValueError, ("noise_std", "> 0", "0.0")),
    "noise nan": (lambda a: a.tell(6, 0.0, noise_std=NAN), ValueError, ("noise_std", "nan")),
    "noise inf": (lambda a: a.tell(6, 0.0, noise_std=INF), ValueError, ("noise_std", "inf")),
    "noise huge": (lambda a: a.tell(6, 0.0, noise_std=1e200), ValueError, ("noise_std", "1e+200")),
    "noise tiny": (lambda a: a.tell(6, 0.0, noise_std=1e-200), ValueError, ("noise_std", "1e-200")),
    "noise string": (lambda a: a.tell(6, 0.0, noise_std="1"), TypeError, ("noise_std", "real", "'1'")),
    "rule": (lambda a: a.recommend(rule="best"), ValueError, ("rule", "'lcb', 'paper'", "'best'")),
    "rule none": (lambda a: a.recommend(rule=None), ValueError, ("rule", "None")),
    "threat": (lambda a: a.recommend(threat="mild"), ValueError, ("threat", "'none'", "'mild'")),
    "threat list": (lambda a: a.recommend(threat=["weak"]), ValueError, ("threat", "['weak']")),
    "threat empty": (lambda a: a.recommend(threat=""), ValueError, ("threat", "''")),
    "threat zero": (lambda a: a.recommend(threat=0), ValueError, ("threat", "0")),
    "regret threat": (lambda a: a.regret_certificate(threat="x"), ValueError, ("threat", "'x'")),
    "C negative": (lambda a: a.recommend(C=-1.0), ValueError, ("C must be", "-1")),
    "C large": (lambda a: a.recommend(C=1e9), ValueError, ("C must be", "1e+09")),
    "eps negative": (lambda a: a.price(-0.1), ValueError, ("eps must be", ">= 0", "-0.1")),
    "eps nan": (lambda a: a.price(NAN), ValueError, ("eps must be finite", "nan")),
    "eps inf": (lambda a: a.price(INF), ValueError, ("eps must be finite", "inf")),
    "eps string": (lambda a: a.price("0.1"), TypeError, ("eps must be a real", "'0.1'")),
    "price of stranger": (lambda a: a.price(0.1, x=[0.3]), ValueError, ("candidate", "0.3")),
    "price of words": (lambda a: a.price(0.1, x="x"), TypeError, ("x must hold real", "'x'")),
    "restore used": (lambda a: a.restore(a.state()), RuntimeError, ("new algorithm", "round 7")),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize(
    ("call", "error", "words"), [pytest.param(*row, id=name) for name, row in TELLS.items()]
)
def test_a_refused_call_changes_nothing(
    make: Callable[..., Any], call: Callable[[Any], Any], error: type[Exception], words: Any
) -> None:
    """The rule and the value in the message, the same state, and the query can still be told."""
    algorithm = used(make)
    before = plain(algorithm)
    if words == ("C must be", "1e+09") and isinstance(algorithm, ub.LadderGPUCB):
        return  # has a level for any C
    if words == ("C must be", "1e+09") and not isinstance(algorithm, ub.LayeredGPUCB):
        words = ("C must be left out", "1000000000.0")
    assert_refused(lambda: call(algorithm), error, words)
    assert plain(algorithm) == before
    algorithm.tell(6, 0.0)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_there_is_no_price_without_a_reading(make: Callable[..., Any]) -> None:
    assert_refused(lambda: make().price(0.1), RuntimeError, ("a price needs a reading", "tell one"))


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("y", [Decimal("0.25"), Fraction(1, 4), np.array([0.25])], ids=repr)
def test_whatever_is_one_number_is_told_as_that_number(make: Callable[..., Any], y: Any) -> None:
    algorithm = used(make)
    algorithm.tell(6, y)
    algorithm.tell(x=[0.5], y=y)
    told = [reading.y for reading in algorithm.readings[-2:]]
    assert told == [0.25, 0.25]
    assert [type(y) for y in told] == [float, float]


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_state_with_a_reading_too_large_is_refused(make: Callable[..., Any]) -> None:
    state = used(make).state()
    state["readings"]["y"][0] = 1e200
    assert_refused(lambda: make().restore(state), ValueError, ("at most 1e+150", "1e+200"))


@pytest.mark.filterwarnings("ignore::unbribable.AssumptionsRefuted")
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("y", [1e150, -1e150])
def test_the_largest_reading_that_is_taken_overflows_nowhere(make: Callable[..., Any], y: float) -> None:
    algorithm = used(make)
    for _ in range(3):
        algorithm.tell(algorithm.ask(), y)
    best = algorithm.recommend()
    assert math.isfinite(best.lower)
    assert math.isfinite(best.upper)
    assert len(suspects_of(algorithm)) == len(algorithm.readings)


LAYER_ROWS: dict[str, Row] = {
    "strong without C": (
        lambda: used(layered).recommend(threat="strong"),
        ValueError,
        ("C must be given", "'strong'"),
    ),
    "strong beyond": (
        lambda: used(layered).recommend(threat="strong", C=500.0),
        ValueError,
        ("C must be at most", "C=500", "RobustGPUCB"),
    ),
    "beyond the top": (
        lambda: used(layered).recommend(C=65.0),
        ValueError,
        ("at most 2^n_layers = 64", "C=65"),
    ),
    "C nan": (lambda: used(layered).recommend(C=NAN), ValueError, ("C must be", "nan")),
    "C inf": (lambda: used(layered).recommend(C=INF), ValueError, ("C must be", "inf")),
    "C string": (lambda: used(layered).recommend(C="2"), TypeError, ("C must be a real", "'2'")),
    "C boolean": (lambda: used(layered).recommend(C=True), TypeError, ("C must be a real", "True")),
    "gp-ucb weak": (
        lambda: used(gp_ucb).recommend(threat="weak"),
        ValueError,
        ("threat must be one of 'none'", "'weak'"),
    ),
    "paper without readings": (
        lambda: gp_ucb().recommend(rule="paper"),
        RuntimeError,
        ("needs a reading", "rule='lcb'"),
    ),
    "noise of a reading when none is assumed": (
        lambda: gp_ucb(assumptions=assume(noise_std=0.0)).tell(x=[0.5], y=0.0, noise_std=0.1),
        ValueError,
        ("noise_std", "> 0", "0.1"),
    ),
    "noise of a reading with the certified gain": (
        lambda: gp_ucb(gain="certified").tell(x=[0.5], y=0.0, noise_std=0.1),
        ValueError,
        ("gain='realised'", "'certified'"),
    ),
}


@pytest.mark.parametrize(("call", "error", "words"), rows(LAYER_ROWS))
def test_what_only_some_refuse(call: Callable[[], Any], error: type[Exception], words: Any) -> None:
    """What one algorithm or one option cannot do."""
    assert_refused(call, error, words)


def test_a_beta_that_fails_later_leaves_the_query_pending() -> None:
    """beta(4) is needed once three readings are held: the third tell is refused as a whole."""
    algorithm = gp_ucb(beta=lambda t: 2.0 if t < 4 else -1.0)
    for _ in range(2):
        algorithm.tell(algorithm.ask(), 0.1)
    algorithm.ask()
    before = plain(algorithm)
    assert_refused(lambda: algorithm.tell(3, 0.1), ValueError, ("beta(4)", ">= 0", "-1"))
    assert plain(algorithm) == before
