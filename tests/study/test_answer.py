"""The answer as a user reads it: what to expect first, the worst case second, the price of a bribe."""

import json
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from printed import unwrapped
from study.scripted import ASSUMED, BOX, GRID, Scripted
from unbribable.decision.remarks import Outside
from unbribable.say.answer import listed
from unbribable.say.price import sentence
from unbribable.say.recommendation import WIDE, spoken
from unbribable.say.remarks import OUTSIDE
from unbribable.say.words import plus_minus, point

SPACE = {"temp": (200.0, 500.0), "gas": ["N2", "Ar"], "n": ub.Whole(1, 9)}


def furnace(params: dict[str, Any]) -> float:
    return 1.0 - ((params["temp"] - 400.0) / 200.0) ** 2 - 0.5 * (params["gas"] == "Ar")


def lying(rate: float, seed: Any = 0) -> Any:
    """A function of two coordinates whose readings are stuck at 4 now and then."""
    rng = np.random.default_rng(seed)

    def f(x: Any) -> float:
        lie = rng.random() < rate
        return 4.0 if lie else float(np.sin(5 * x[0]) + np.cos(3 * x[1]) + 0.05 * rng.standard_normal())

    return f


@pytest.fixture(scope="module")
def plane() -> ub.Result:
    return ub.maximize(lying(0.1), [(0, 1), (0, 2)], n_rounds=30, seed=1)


@pytest.fixture(scope="module")
def named() -> ub.Result:
    lies = iter([None] * 6 + [7.0] + [None] * 8)
    return ub.maximize(lambda p: furnace(p) if (y := next(lies)) is None else y, SPACE, 15, seed=0)


def test_the_estimate_comes_first_and_is_near_the_truth_although_readings_lie(plane: ub.Result) -> None:
    best = plane.recommendation
    assert best is not None
    truth = np.sin(5 * best.x[0]) + np.cos(3 * best.x[1])
    assert abs(plane.estimate - truth) < 0.1
    assert 0.0 < plane.estimate_sd < 0.1
    assert best.n_honest <= 30 - 2
    lines = plane.summary().splitlines()
    assert lines[0].startswith("use x = [")
    assert lines[1] == (
        f"  expected value: {plus_minus(plane.estimate, plane.estimate_sd)} (an estimate from the "
        f"{best.n_honest} readings that look honest)"
    )
    text = unwrapped(plane.summary())
    assert f"{plane.lower:.4g} to {plane.upper:.4g} (" in text
    assert "with probability at least 0.9 if " in text
    assert " the fitted model is right) f(x) <" in text
    assert lines[2].startswith("  worst case: ")
    (reading,) = [line for line in lines if line.startswith("best reading: ")]
    assert reading.endswith("; it looks false")


def test_the_estimate_is_the_prediction_at_the_recommended_point(named: ub.Result) -> None:
    u = named.engine.algorithm().candidates.coordinates_of(named.recommendation.x)
    (mean,), (sd,) = named.engine.predict(u[None])
    assert (named.estimate, named.estimate_sd) == (pytest.approx(mean), pytest.approx(sd))


def test_an_interval_narrower_than_the_readings_is_not_called_useless() -> None:
    run = ub.maximize(Scripted(), GRID, 60, assumptions=ASSUMED, corruption=0.05, seed=0)
    assert not run.recommendation.is_wide
    assert WIDE not in run.summary()
    assert "if lies total at most 0.05)" in run.summary()


def test_where_only_its_own_readings_speak_for_a_point_a_warning_says_so() -> None:
    """A stuck reading in a corner looks like a peak until its neighbourhood is read."""
    kernel = ub.Matern(2.5, 0.2)
    assumed = ub.Assumptions(kernel, B=5.0, B0=3.0, noise_std=0.05, lam=0.01)
    points = [0.1, 0.1, 0.5, 0.6, 0.7, 0.8, 0.9]
    initial = [([x], 2.0 if x == 0.1 else 0.1 * x) for x in points]
    words = {"assumptions": assumed, "corruption": 0.5, "explore": 2.0, "seed": 0}
    stop = [lambda result, trial: True]
    run = ub.maximize(lambda x: 0.0, GRID, 9, initial=initial, callbacks=stop, **words).at(len(points))
    assert run.x.tolist() == pytest.approx([0.1])
    assert spoken(run.recommendation)["caution"].startswith("Too few rounds to tell a lie from a peak")
    assert f"  {spoken(run.recommendation)['caution']}" in run.summary().splitlines()
    near = [*initial, *(([x], 2.0) for x in (0.05, 0.15))]
    backed = ub.maximize(lambda x: 0.0, GRID, 9, initial=near, callbacks=stop, **words).at(len(near))
    assert backed.x.tolist() == pytest.approx([0.1], abs=0.06)
    assert backed.recommendation.cautions == ()


@pytest.mark.parametrize("seed", [0, 15])
def test_after_few_rounds_an_estimate_is_right_or_doubted(seed: int) -> None:
    """In both runs a lie was believed, at its own point alone."""
    run = ub.maximize(lying(0.1, [5, seed]), [(0, 1), (0, 2)], n_rounds=20, seed=seed)
    truth = np.sin(5 * run.x[0]) + np.cos(3 * run.x[1])
    assert abs(run.estimate - truth) < 0.5 or run.recommendation.cautions


def test_a_linear_kernel_leaves_no_center_that_contradicts_its_interval() -> None:
    """It says that f(0) = 0: an estimate with a constant beside it was -0.02 +- 0, and f(0) 0 to 0."""
    rng = np.random.default_rng(0)
    run = ub.maximize(
        lambda x: float(-0.5 * x[0] - 0.2 * x[1] + 0.05 * rng.standard_normal()),
        ub.Box([0.0, 0.0], [1.0, 1.0], n_candidates=64),
        15,
        kernel=ub.Linear(2.0),
        noise_std=0.05,
        corruption=0,
        seed=0,
    )
    np.testing.assert_array_equal(run.x, [0.0, 0.0])
    assert (run.lower, run.upper) == (0.0, 0.0)
    assert (run.estimate, run.estimate_sd) == (0.0, 0.0)
    mean, sd = run.engine.predict(np.array([[0.0, 0.0], [1.0, 1.0]]))
    assert (mean[0], sd[0]) == (0.0, 0.0)
    assert abs(mean[1] + 0.7) < 3.0 * sd[1]


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_an_estimate_outside_the_worst_case_is_said_to_contradict_it(direction: str) -> None:
    """No lie is allowed for, and the fifth reading is one, which the estimate leaves out."""
    sign, rng = 1.0 if direction == "maximize" else -1.0, np.random.default_rng(0)
    assumed = ub.Assumptions(ub.SquaredExponential(0.2), B=2.0, B0=1.2, noise_std=0.05, lam=0.02)
    study = ub.Study([(0.0, 1.0)], assumptions=assumed, corruption=0, direction=direction, seed=0)
    for k in range(7):
        study.tell([0.5], sign * (0.4 + 0.02 * rng.standard_normal() + 0.8 * (k == 4)))
        best = study.recommend()
        assert abs(sign * best.estimate - 0.4) < 0.03
        is_false = not best.lower <= sign * 0.4 <= best.upper
        assert (Outside() in best.cautions) == (OUTSIDE in unwrapped(str(best))) == is_false == (k >= 4)


def test_a_named_space_speaks_in_names_everywhere(named: ub.Result) -> None:
    best, naive = named.recommendation, named.naive
    for params in (named.x, best.params, naive.params, *(each.params for each in named.suspects)):
        assert list(params) == ["temp", "gas", "n"]
    assert named.summary().startswith(f"use temp={best.params['temp']:.6g} gas={best.params['gas']} n=")
    assert (
        f"best reading: 7 in round {naive.t}, at temp={naive.params['temp']:.6g} gas=" in named.summary()
    )
    assert naive.t in [each.t for each in named.suspects if each.is_flagged]


def test_the_answer_is_json_with_estimate_and_price(named: ub.Result) -> None:
    plain = json.loads(json.dumps(named.to_dict(), allow_nan=False))
    assert plain["estimate"] == named.estimate
    assert plain["price"]["sentence"] in named.guarantee.splitlines()


def test_a_price_defaults_to_the_smallest_share_of_the_range_that_is_established() -> None:
    run = ub.maximize(Scripted(), GRID, 60, assumptions=ASSUMED, corruption=0.05, seed=0)
    found = run.price()
    values = [trial.y for trial in run.trials]
    shares = [share * (max(values) - min(values)) for share in (0.05, 0.1, 0.2, 0.5)]
    assert found.eps == pytest.approx(min(eps for eps in shares if eps >= found.least_eps))
    assert found.value > 0.0
    assert f"better by more than {found.eps:.4g}, " in sentence(found)
    assert "% of the range read (with probability at least 0.9)." in sentence(found)
    assert sentence(found) in run.guarantee.splitlines()
    assert run.price(found.eps).value == pytest.approx(found.value)
    assert "of the range read" not in str(run.price(found.eps))
    assert sum(map(abs, found.lies.values())) == pytest.approx(found.bribe)


def test_a_price_that_is_not_established_says_what_is_open(plane: ub.Result) -> None:
    found = plane.price()
    assert found.value is None
    lies = plane.recommendation.lies
    only = f"only the {lies.least} readings that must be lies are" if lies.least > 1 else "nobody lied"
    only = "only the one reading that must be a lie is" if lies.least == 1 else only
    assert sentence(found).startswith(f"Even if {only}, another of the ")
    assert f"could be better by up to {lies.better(lies.least):.4g}: " in sentence(found)
    assert sentence(found).endswith("(50 % of the range read).")


def test_a_price_supposes_the_fit_where_there_is_one(plane: ub.Result) -> None:
    found = plane.price(2.0 * plane.price().least_eps)
    assert found.value is not None
    assert "(with probability at least 0.9 if the fitted model is right)" in sentence(found)


def test_without_a_reading_there_is_no_price() -> None:
    run = ub.maximize(Scripted(), GRID, 3, assumptions=ASSUMED, corruption=0.5, seed=0).at(0)
    assert run.estimate is None
    with pytest.raises(RuntimeError, match="a price needs a reading"):
        run.price()


def test_a_long_list_of_suspicious_readings_is_cut() -> None:
    run = ub.maximize(Scripted(), BOX, 12, seed=0)
    assert listed(run.suspects, n_lines=9)[-1].endswith(" and 4 more")
    assert listed(run.suspects)[0].endswith(" more")
    assert listed(()) == ["suspicious: none"]


@pytest.mark.parametrize(
    ("mean", "sd", "words"),
    [
        (1.98765, 0.0312, "1.988 +- 0.031"),
        (-420.4327, 13.2, "-420 +- 13"),
        (0.5, 0.0, "0.5 +- 0"),
        (1e150, 1e149, "1e+150 +- 1e+149"),
        (1.0, 0.0999, "1.000 +- 0.100"),
    ],
)
def test_a_value_has_as_many_digits_as_its_standard_deviation_allows(
    mean: float, sd: float, words: str
) -> None:
    assert plus_minus(mean, sd) == words


def test_a_point_has_six_digits() -> None:
    assert point(np.array([0.1234567, 2.0])) == "x = [0.123457, 2]"
    assert point(np.array([]), {"temp": 420.4327192157507, "gas": "N2"}) == "temp=420.433 gas=N2"
