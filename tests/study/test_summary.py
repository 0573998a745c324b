"""A summary is short whatever happened, and begins with what is of use."""

import math
import re
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from printed import N_LINES, WIDTH, assert_short, unwrapped
from study.scripted import ASSUMED, BOX, GRID, PLANS, Scripted, wave
from unbribable.decision.proven.conditions import FitIsRight, Missing
from unbribable.decision.proven.guarantee import Guarantee
from unbribable.decision.recommend import Recommendation
from unbribable.decision.remarks import Alone, Growing, Outside, TooMuchLying
from unbribable.doubt.suspect import Kind, Reason, Suspect
from unbribable.say import answer as room
from unbribable.say.answer import BestReading, answer, listed
from unbribable.say.counting import TRIALS
from unbribable.say.guarantee import supposed
from unbribable.say.recommendation import spoken

LONG = {f"temperature_of_the_furnace_in_zone_{k}": (0.0, 1000.0) for k in range(10)}
"""Ten parameters with long names."""

RUNS: dict[str, dict[str, Any]] = {
    **PLANS,
    "no lies": {"domain": BOX, "lies": 0},
    "three lies": {"domain": BOX, "lies": 3},
    "a total": {"domain": BOX, "corruption": 0.5},
    "given, counted": {"domain": GRID, "assumptions": ASSUMED, "lies": 1},
}
SCRIPTS: dict[str, dict[int, Any]] = {
    "honest": {},
    "stuck and failed": {2: 4.0, 3: ValueError("no light"), 5: 4.0, 7: math.nan, 8: 4.0, 9: 4.0},
}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
@pytest.mark.parametrize("words", RUNS.values(), ids=RUNS)
def test_a_summary_is_short_in_any_run(words: dict[str, Any], script: dict[int, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ub.AssumptionsRefuted)
        warnings.filterwarnings("ignore", "round 3 failed", RuntimeWarning)
        run = ub.maximize(Scripted(script=script), n_rounds=11, seed=0, **words)
        text = run.summary()
    assert_short(text)
    assert_order(text)
    assert str(run) == repr(run) == text
    assert "print(result.guarantee)" in text
    assert unwrapped(str(run.recommendation)) in unwrapped(text)


def assert_order(text: str) -> None:
    """What to use, what to expect, the worst case, what to distrust."""
    heads = ["use ", "  expected value: ", "  worst case: ", "suspicious: ", "best reading: "]
    lines = text.splitlines()
    assert sorted(heads, key=heads.index) == [
        head for line in lines for head in heads if line.startswith(head)
    ]
    assert lines[0].startswith("use ")


def peak(params: dict[str, float]) -> float:
    return -sum((value / 1000.0 - 0.3) ** 2 for value in params.values())


@pytest.mark.parametrize("optimize", [ub.maximize, ub.minimize])
def test_ten_parameters_with_long_names_leave_the_summary_short(optimize: Any) -> None:
    run = optimize(lambda p: 7.0 if p[next(iter(p))] > 800.0 else peak(p), LONG, 4, seed=0)
    assert_short(run.summary())
    assert_order(run.summary())
    use = " ".join(line for line in run.summary().splitlines()[:3] if "temperature" in line)
    for name, value in run.x.items():
        if f"{name}=" in use:
            assert f"{name}={value:.6g}" in use
    assert use.count("=") >= 4
    assert use.count("=") == 10 or use.endswith(" ...")


def test_before_the_design_is_complete_and_after_ctrl_c_it_is_short_too() -> None:
    f = Scripted(lambda p: peak(p), {4: KeyboardInterrupt()})
    run = ub.maximize(f, LONG, 30, seed=0)
    assert not run.engine.is_ready
    assert_short(run.summary())
    assert "; stopped: Ctrl-C" in run.summary()


def test_a_summary_of_a_refuted_run_is_short() -> None:
    with pytest.warns(ub.AssumptionsRefuted):
        run = ub.maximize(
            Scripted(script=dict.fromkeys(range(5, 9), -8.0)), GRID, 8, assumptions=ASSUMED, corruption=0
        )
    assert run.refuted is not None
    assert_short(run.summary())
    assert "  worst case: none, the readings contradict what is assumed" in run.summary().splitlines()


# --- the worst that can come together ------------------------------------------------------------

LONGEST = Recommendation(
    x=np.arange(10.0),
    index=0,
    params={f"the_temperature_of_the_furnace_in_its_zone_{k}": -1.2345678e-10 for k in range(10)},
    estimate=-1.234567e10,
    estimate_sd=1.2e9,
    n_honest=123456,
    cautions=(Alone(-1.234567e10, 1.2e9),),
    remarks=(TooMuchLying(1.234e10, 1.235e10, "corruption"), Growing(0.123456, 123456)),
    lower=-1.2345678e10,
    upper=1.2345678e10,
    probability=0.9,
    promise=Guarantee("strong", ("main",), 0.9, 1.23456e10, 1.23451e10, conditions=(Missing(12),)),
    is_wide=False,
)


def suspect(t: int, y: float, expected: float = -1.234e10, is_equal: bool = False) -> Suspect:
    same = (Reason(Kind.EQUAL, (1, 2, 3)),) if is_equal else ()
    return Suspect(t, np.zeros(1), y, 0.9, expected, 1.2e9, True, False, same)


TWICE = replace(
    LONGEST,
    cautions=(*LONGEST.cautions, Outside()),
    promise=LONGEST.promise.supposing(FitIsRight(("kernel",))),
    is_wide=True,
)
"""Both cautions, and a longer condition."""


def test_a_condition_is_never_cut_however_much_there_is_to_say() -> None:
    naive = BestReading(90_003, -1.5e10, "somewhere")
    for best in (LONGEST, TWICE):
        lines = answer(best, naive, [suspect(90_000, -1.5e10)], ["rounds: 90030, failed: 12000"])
        assert_short("\n".join(lines))
        assert f"if {supposed(best.promise)})" in unwrapped("\n".join(lines))
        assert spoken(best)["caution"] in unwrapped("\n".join(lines))


@pytest.mark.parametrize("equal", [False, True])
def test_all_that_can_be_said_at_once_still_fits(equal: bool) -> None:
    flagged = [
        suspect(t, -1.5e10 - (0.0 if equal else t), is_equal=equal) for t in range(90_000, 90_030)
    ]
    naive = BestReading(
        90_003, -1.5e10, " ".join(f"{name}=-1.23457e-10" for name in LONGEST.params or {})
    )
    rest = [
        "rounds: 90030, failed: 12000",
        "ended by a timeout of 12345 s",
        "corruption detected",
        "why",
    ]
    lines = answer(LONGEST, naive, flagged, rest)
    assert_short("\n".join(lines))
    assert lines[0].startswith("use the_temp")
    assert any("The flagged readings are off by" in line for line in lines)
    assert any(line.startswith("suspicious: 90000") for line in lines)
    assert lines[-1].startswith("best reading: -1.5e+10 in round 90003")
    alone = answer(replace(LONGEST, cautions=(), remarks=()), naive, flagged[:1], rest)
    assert_short("\n".join(alone))
    assert [line[:3] for line in alone].count("use") == 1
    assert alone[-1] == "; ".join(rest)


def test_the_rooms_limits_are_those_that_are_tested() -> None:
    assert (room.N_LINES, room.WIDTH) == (N_LINES, WIDTH)


def test_readings_of_the_same_value_stand_together_with_that_for_a_reason() -> None:
    """Of a stuck sensor the last reading may be near what is expected: that alone would look absurd."""
    found = [
        suspect(37, 999.0, 500.0, is_equal=True),
        suspect(4, -3.0, 1.0),
        suspect(2, 999.0, 1004.0, is_equal=True),
    ]
    (line,) = listed(found)
    assert line.startswith("suspicious: 2, 37 (each time 999, expected 500 to 1004), 4 (-3, expected 1")
    (line,) = listed(found, TRIALS)
    assert line.startswith("suspicious: 1, 36 (each time 999, ")
    (line,) = listed(found[:1], TRIALS)
    assert line.endswith(", equal to trials 0, 1, 2)")


def test_in_a_run_with_a_stuck_sensor_the_reason_stands_beside_the_number() -> None:
    script = {5: 4.0, 9: 4.0, 12: 4.0}
    study = ub.Study(BOX, seed=0)
    for t, x in enumerate(np.linspace(0.0, 1.0, 24), 1):
        study.tell([x], script.get(t, wave([x])))
    run = study.result()
    (line,) = [line for line in run.summary().splitlines() if line.startswith("suspicious: ")]
    assert "(each time 4, expected " in line
    for t in script:
        assert f"{t}" in line.partition("(")[0]


def test_of_an_optuna_study_with_long_names_the_recommendation_is_short() -> None:
    optuna = pytest.importorskip("optuna")
    from unbribable.hosts.optuna.sampler import UnbribableSampler

    space = {name: optuna.distributions.FloatDistribution(*ends) for name, ends in LONG.items()}
    sampler = UnbribableSampler(n_trials=20, seed=0, search_space=space)
    study = optuna.create_study(direction="minimize", sampler=sampler)
    rng = np.random.default_rng(0)
    for _ in range(8):
        params = {name: float(rng.uniform(*ends)) for name, ends in LONG.items()}
        trial = optuna.trial.create_trial(params=params, distributions=space, value=-peak(params))
        study.add_trial(trial)
    assert_short(str(sampler.recommend(study)))
    said = str(sampler.recommend(study).assumptions)
    assert all(re.search(rf"{name} \d+\.?\d*[,)]", said) for name in LONG)
