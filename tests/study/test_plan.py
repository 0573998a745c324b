"""Plan and Units: plain values that can be stored, and what the user's units are to the model's."""

import inspect
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unbribable as ub
from games import law
from study.scripted import ASSUMED, assert_refused
from unbribable.decision.units import Units
from unbribable.model.kernels import Kernel
from unbribable.study.plan import Plan, Settings

# --- plans ---------------------------------------------------------------------------------------

PLANS: dict[str, Plan] = {
    "plain": Plan(20),
    "none": Plan(20, 0),
    "a number": Plan(7, 1.5, direction="minimize", explore=None),
    "unknown": Plan(20, "unknown", delta=0.01),
    "open-ended": Plan(),
    "confirming": Plan(20, confirm=3),
    "counted": Plan(20, lies=3, n_init=4, explore=0.5),
    "kept": Plan(20, kernel=ub.Matern(1.5, [0.1, 1 / 3]), noise_std=0.0, B=0.1 + 0.2),
    "given": Plan(20, 2.0, assumptions=ASSUMED),
    "given, scales": Plan(
        20,
        assumptions=ub.Assumptions(
            ub.SquaredExponential([0.1, 0.7]), B=1.0, B0=1.0, noise_std=0.1, c_max=3.0
        ),
    ),
    "given, no cap": Plan(
        20, 1.0, assumptions=ub.Assumptions(ub.Linear(2.0), B=1.0, B0=1.0, noise_std=0.1, c_max=math.inf)
    ),
}


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_a_plan_comes_back_from_json(plan: Plan) -> None:
    text = json.dumps(plan.to_plain(), allow_nan=False)
    back = Plan.from_plain(json.loads(text))
    assert back == plan
    assert json.dumps(back.to_plain()) == text


@pytest.mark.parametrize(
    "kernel",
    [
        ub.SquaredExponential(0.1),
        ub.SquaredExponential([0.1, 2.0]),
        ub.Matern(0.5, 0.3),
        ub.Matern(2.2, [1.0, 1e-3, 7.0]),
        ub.Linear(3.0),
        ub.Linear([1.0, 2.0]),
    ],
    ids=repr,
)
def test_a_kernel_of_ours_comes_back_from_json(kernel: Any) -> None:
    assert Kernel.from_plain(json.loads(json.dumps(kernel.to_plain()))) == kernel


def test_a_kernel_derived_from_ours_is_not_taken_for_ours() -> None:
    class Derived(ub.SquaredExponential):
        """Another function under the same fields."""

    plain = Derived(0.1).to_plain()
    assert plain["kind"] == "custom"
    with pytest.raises(ValueError, match="a kernel of your own has to be given again"):
        Kernel.from_plain(plain)


@pytest.mark.parametrize(
    ("words", "d", "expected"),
    [
        ({"n_rounds": 100}, 1, 6),
        ({"n_rounds": 100}, 5, 14),
        ({"n_rounds": 10}, 5, 5),
        ({"n_rounds": 1}, 5, 1),
        ({"n_rounds": 2}, 1, 1),
        ({"n_rounds": 100, "n_init": 30}, 1, 30),
        ({"n_rounds": 10, "n_init": 30}, 1, 10),
        ({"n_rounds": 100, "assumptions": ASSUMED}, 1, 0),
        ({"n_rounds": 100, "assumptions": ASSUMED, "n_init": 3}, 1, 3),
    ],
)
def test_the_design_has_two_d_plus_four_readings_and_at_most_half_the_rounds(
    words: dict[str, Any], d: int, expected: int
) -> None:
    """Unless said otherwise, and none where nothing is to be fitted."""
    assert Plan(**words).n_design(d) == expected


def test_inside_everything_is_maximised() -> None:
    assert (Plan(3).sign, Plan(3, direction="minimize").sign) == (1.0, -1.0)


# --- settings ------------------------------------------------------------------------------------


def test_the_settings_are_spelt_out_in_the_help_of_maximize() -> None:
    """A user sees every one of them in the signature, and reads what it means."""
    names = list(Settings.__annotations__)
    signature = inspect.signature(ub.maximize)
    assert list(signature.parameters)[-len(names) :] == names
    assert all(signature.parameters[name].kind is inspect.Parameter.KEYWORD_ONLY for name in names)
    for name in names:
        assert f"\n    {name}: " in inspect.getdoc(ub.maximize), name
    assert "{" not in inspect.getdoc(ub.maximize).replace('{"x"', "")


def test_what_explore_means_where_nothing_is_said() -> None:
    """A scout where the model is fitted; where it is given, the algorithm chooses."""
    assert Plan.of(9, {}).explore == Plan(9).explore == 2.0
    assert Plan.of(9, {"assumptions": ASSUMED}).explore is None
    assert Plan.of(9, {"assumptions": ASSUMED, "explore": 0.5}).explore == 0.5


Row = tuple[Callable[[], Any], type[Exception], tuple[str, ...]]

REFUSED: dict[str, Row] = {
    "both": (
        lambda: Plan(9, 1.0, lies=2),
        ValueError,
        ("exclude each other", "corruption=1.0", "lies=2"),
    ),
    "unknown and counted": (
        lambda: Plan(9, "unknown", lies=2),
        ValueError,
        ("exclude each other", "'unknown'", "lies=2"),
    ),
    "secret draws": (
        lambda: Plan(9, "layers"),
        ValueError,
        ("corruption must be a number in the units of f, or 'unknown'", "corruption='layers'"),
    ),
    "a kernel besides": (
        lambda: Plan(9, assumptions=ASSUMED, kernel=ASSUMED.kernel),
        ValueError,
        ("assumptions say ['kernel'] already",),
    ),
    "everything besides": (
        lambda: Plan(9, assumptions=ASSUMED, kernel=ASSUMED.kernel, noise_std=0.1, B=1.0),
        ValueError,
        ("assumptions say ['kernel', 'noise_std', 'B'] already",),
    ),
    "another kind of kernel": (
        lambda: Kernel.from_plain({"kind": "Periodic", "lengthscale": 1.0}),
        ValueError,
        ("SquaredExponential, Matern, Linear", "'Periodic'"),
    ),
    "no kind of kernel": (lambda: Kernel.from_plain({}), ValueError, ("a stored kernel must be", "{}")),
    "fewer than no rounds that confirm": (
        lambda: Plan(9, confirm=-1),
        ValueError,
        ("confirm must be >= 0", "confirm=-1"),
    ),
    "half a round that confirms": (
        lambda: Plan(9, confirm=1.5),  # type: ignore[arg-type]
        TypeError,
        ("confirm must be an integer", "confirm=1.5"),
    ),
    "the last of nobody knows how many": (
        lambda: Plan(confirm=2),
        ValueError,
        ("confirm must be 0 where n_rounds is not said", "confirm=2"),
    ),
    "a stored plan of another run": (
        lambda: Plan.from_plain({**Plan(9, 1.0).to_plain(), "corruption": -1.0}),
        ValueError,
        ("corruption must be", ">= 0", "-1.0"),
    ),
}


@pytest.mark.parametrize(("call", "error", "words"), REFUSED.values(), ids=REFUSED)
def test_a_plan_refuses(call: Callable[[], Any], error: type[Exception], words: tuple[str, ...]) -> None:
    assert_refused(call, error, words)


# --- units ---------------------------------------------------------------------------------------

finite = st.floats(-1e6, 1e6)
units = st.builds(
    Units,
    center=finite,
    scale=st.floats(1e-6, 1e6),
    sign=st.sampled_from([1.0, -1.0]),
    limit=st.one_of(st.just(math.inf), st.floats(0.1, 100.0)),
)


def slack(u: Units, *values: float) -> float:
    """What rounding may do, in the user's units."""
    return 1e-14 * (abs(u.center) + sum(abs(value) for value in values) + u.scale)


@law
@given(units, finite)
def test_to_the_model_and_back_is_the_reading_or_where_it_was_cut(u: Units, y: float) -> None:
    low, high = u.interval(-u.limit, u.limit)
    back = u.from_model(u.to_model(y))
    assert abs(back - min(max(y, low), high)) <= slack(u, y) + 1e-14 * u.scale * min(u.limit, 1e12)


@law
@given(units, finite, finite)
def test_a_lie_is_never_larger_to_the_model_than_in_the_units_of_the_scale(
    u: Units, a: float, b: float
) -> None:
    """Cutting never enlarges a lie: |to_model(a) - to_model(b)| <= |a - b| / scale."""
    moved = abs(u.to_model(a) - u.to_model(b))
    assert moved * u.scale <= abs(a - b) + slack(u, a, b)
    assert moved <= 2.0 * u.limit


@law
@given(units, finite, finite)
def test_the_larger_reading_stays_the_larger_one_or_with_minus_the_smaller(
    u: Units, a: float, b: float
) -> None:
    if a <= b:
        assert u.sign * u.to_model(a) <= u.sign * u.to_model(b)


@law
@given(units, st.floats(-100.0, 100.0), st.floats(0.0, 100.0))
def test_an_interval_has_its_lower_end_first_and_the_width_of_an_amount(
    u: Units, lower: float, width: float
) -> None:
    low, high = u.interval(lower, lower + width)
    assert low <= high
    assert {low, high} == {u.from_model(lower), u.from_model(lower + width)}
    assert high - low == pytest.approx(abs(u.amount(width)), rel=1e-9, abs=1e3 * slack(u))


@law
@given(units, finite, finite)
def test_an_amount_is_a_difference_of_values(u: Units, a: float, b: float) -> None:
    expected = u.from_model(a) - u.from_model(b)
    assert u.amount(a - b) == pytest.approx(expected, rel=1e-9, abs=1e-9 * u.scale + 10 * slack(u))


def test_readings_at_the_ends_of_the_floats_are_cut_too() -> None:
    u = Units(center=1.0, scale=0.5, limit=4.0)
    largest = float(np.finfo(np.float64).max)
    assert (u.to_model(largest), u.to_model(-largest)) == (4.0, -4.0)
    assert (u.to_model(2.9), u.to_model(3.1)) == pytest.approx((3.8, 4.0))


def test_the_models_own_units_change_nothing() -> None:
    u = Units()
    for y in (0.0, -1.5, 1e300):
        assert u.to_model(y) == u.from_model(y) == u.amount(y) == y
