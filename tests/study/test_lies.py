"""A stated number or share of lies, of any size."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from games import is_too_often, random_function
from study.scripted import (
    ASSUMED,
    BOX,
    GRID,
    Scripted,
    answer_of,
    assert_refused,
    flagged,
    wave,
)
from unbribable.say.guarantee import supposed
from unbribable.study.plan import Plan

ANY_SIZE = replace(ASSUMED, c_max=math.inf)
KERNEL = ub.SquaredExponential(0.2)
KNOWN = replace(ANY_SIZE, B=1.2, delta=0.2)
GIVEN: dict[str, Any] = {"kernel": KERNEL, "noise_std": 0.1, "B": 2.0}
"""Nothing that a bound depends on is fitted."""


# --- how many ------------------------------------------------------------------------------------


def test_where_nothing_is_said_of_lies_a_tenth_of_the_readings_may_be() -> None:
    assert Plan(20) == Plan(20, lies=0.1)
    assert Plan(20, 0.0).lies is Plan(20, "unknown").lies is None


@pytest.mark.parametrize(
    ("share", "n_rounds", "number"), [(0.1, 19, 2), (0.1, 18, 1), (0.29, 99, 29), (0.1, 3, 1)]
)
def test_a_share_is_the_largest_number_within_it_or_one(
    share: float, n_rounds: int, number: int
) -> None:
    found = []
    for lies in (share, number):
        study = ub.Study(GRID, n_rounds=n_rounds, lies=lies, assumptions=ANY_SIZE)
        study.tell([0.25], 0.3)
        best = study.recommend()
        assert best is not None
        assert study.engine.algorithm().parameters["n_lies"] == number
        found.append(answer_of(best))
    assert found[0] == found[1]


def test_more_lies_than_readings_are_no_more_than_readings() -> None:
    study = ub.Study(GRID, lies=9, assumptions=ANY_SIZE, initial=[([0.25], 0.3), ([0.5], 0.1)])
    assert study.engine.algorithm().parameters["n_lies"] == 2


@pytest.mark.parametrize("n_told", [64, 100])
def test_readings_that_were_planned_are_counted_as_they_are(n_told: int) -> None:
    """Only beyond them in steps."""
    initial = [(GRID.points[k % 21], 0.1) for k in range(n_told - 1)]
    study = ub.Study(GRID, n_rounds=1, assumptions=ASSUMED, initial=initial)
    assert study.engine.n_readings == n_told
    study.tell(study.ask(), 0.1)
    assert study.engine.n_readings == n_told


REFUSED = {
    "negative": (-1, ValueError, ("lies must be a whole number of readings >= 0", "lies=-1")),
    "more than all": (1.5, ValueError, ("or a share of them > 0 and < 1", "lies=1.5")),
    "all": (1.0, ValueError, ("or a share of them > 0 and < 1", "lies=1.0")),
    "none, as a share": (0.0, ValueError, ("a whole number", "lies=0.0")),
    "truth": (True, TypeError, ("lies must be a real number", "lies=True")),
    "nan": (math.nan, ValueError, ("lies must be finite", "lies=nan")),
    "a word": ("10%", TypeError, ("lies must be a real number", "lies='10%'")),
}


@pytest.mark.parametrize(("value", "error", "words"), REFUSED.values(), ids=REFUSED)
def test_any_other_number_of_lies_is_refused(value: Any, error: Any, words: tuple[str, ...]) -> None:
    assert_refused(lambda: ub.Study(GRID, lies=value), error, words)


@pytest.mark.parametrize("other", [{"corruption": 0}, {"corruption": "unknown"}])
def test_one_thing_is_said_of_lies(other: dict[str, Any]) -> None:
    ((name, value),) = other.items()
    words = (f"{name} and lies exclude each other, got {name}={value!r}, lies=0.2",)
    assert_refused(lambda: ub.Study(GRID, lies=0.2, **other), ValueError, words)


# --- of any size ---------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::unbribable.AssumptionsRefuted")
@pytest.mark.parametrize(
    "facts", [{"assumptions": ANY_SIZE}, {"explore": 2.0, "n_init": 9, **GIVEN}], ids=["given", "judged"]
)
def test_how_large_a_lie_is_makes_no_difference_to_what_is_guaranteed(facts: Any) -> None:
    def told(largest: float, smallest: float) -> ub.Study:
        study = ub.Study(GRID, lies=2, seed=0, **facts)
        for k, x in enumerate(GRID.points[::2]):
            study.tell(x, {2: largest, 6: smallest}.get(k, wave(x)))
        return study

    huge, large = told(1e12, -1e140), told(1e6, -1e6)
    assert huge.engine.model().units.limit == math.inf
    best, same = huge.recommend(), large.recommend()
    assert best.index == same.index
    assert best.regret_bound == pytest.approx(same.regret_bound, rel=1e-9)
    assert best.interval == pytest.approx(same.interval, rel=1e-9)
    assert best.n_lies == same.n_lies == best.lies.least == 2


def test_a_cap_on_lies_that_the_assumptions_state_is_not_used() -> None:
    capped, free = (
        ub.maximize(Scripted(), GRID, 10, assumptions=known, lies=2, seed=0)
        for known in (ASSUMED, ANY_SIZE)
    )
    assert (capped.x, capped.regret_bound) == (free.x, free.regret_bound)
    assert (capped.lower, capped.upper) == free.worst_case(2) == capped.worst_case(2)


def test_with_many_lies_readings_are_not_dealt_into_hands_unless_the_algorithm_plays() -> None:
    """Hands of a few readings each say nothing, and cost as much as all."""
    for lies, explore, kind in (
        (20, 2.0, "QuorumGPUCB"),
        (21, 2.0, "RobustGPUCB"),
        (21, None, "QuorumGPUCB"),
    ):
        plan = Plan(200, lies=lies, explore=explore)
        algorithm = plan.algorithm(
            GRID, ANY_SIZE, 1.0, plan.n_lies(200), ub.Study(GRID, seed=0).engine.seed
        )
        assert type(algorithm).__name__ == kind
    assert plan.n_lies(200) == 21


# --- in words ------------------------------------------------------------------------------------


def test_the_guarantee_says_how_many_lies_of_any_size_and_on_what_that_rests() -> None:
    run = ub.maximize(Scripted(script={4: 1e12}), BOX, 12, seed=0, lies=1)
    best = run.recommendation
    assert best is not None
    said = (
        "With probability at least 0.9, against any adversary, weak or strong, who corrupts at most 1 "
        "of the 12 readings by any amount, and if the fitted model is right, none of the ",
        f" {run.engine.algorithm().candidates.n} candidates is better than this one by more than ",
        "only if this fit is right",
    )
    assert "clipped" not in run.guarantee
    for words in said:
        assert words in run.guarantee
    assert (
        supposed(best.promise) == "at most 1 of the 12 readings is a lie, and the fitted model is right"
    )
    assert "A single lie is not capped." in str(run.assumptions)


def test_a_price_is_in_lies_too() -> None:
    study = ub.Study(GRID, lies=1, assumptions=ANY_SIZE)
    for x in GRID.points[::2]:
        study.tell(x, wave(x))
    lies = study.recommend().lies
    found = study.price(eps=1.01 * lies.better(1))
    assert found.n_needed >= 2
    assert lies.better(found.n_needed) > found.eps
    assert found.probability == pytest.approx(1.0 - ASSUMED.delta)


def test_flagged_readings_beyond_the_number_of_lies_are_said_to_be() -> None:
    run = ub.maximize(Scripted(script={4: 3.0}), BOX, 12, seed=0, lies=0)
    assert flagged(run) == [4]
    assert "by any amount" in run.guarantee
    assert "who corrupts at most 1 of the 12 readings" in run.guarantee
    (line,) = [line for line in run.summary().splitlines() if "the worst case allows for" in line]
    assert line == "  1 reading looks false, more than the 0 of lies=0: the worst case allows for 1"
    assert (run.lower, run.upper) == run.worst_case(1)
    run = ub.maximize(Scripted(script={4: 3.0}), BOX, 12, seed=0, lies=1)
    assert "looks false, more than" not in run.summary()


THREE = {4: 5.0, 9: -5.5, 14: 6.0}
"""Lies of three rounds, where the truth goes from 0 to 1."""


def arch(x: Any) -> float:
    return float(np.sin(3.0 * x[0]))


def readings(script: Any) -> list[tuple[list[float], float]]:
    """Twenty readings over the interval, with those of the script in place of the truth."""
    noise = 0.02 * np.random.default_rng(3).standard_normal(20)
    points = [[x] for x in np.linspace(0.0, 1.0, 20).tolist()]
    return [(x, script.get(t, arch(x) + float(noise[t - 1]))) for t, x in enumerate(points, 1)]


def by_maximize(script: Any) -> str:
    end = [lambda result, trial: True]
    initial = readings(script)
    return ub.maximize(arch, BOX, 1, initial=initial, seed=0, callbacks=end).summary()


def by_minimize(script: Any) -> str:
    end = [lambda result, trial: True]
    initial = [(x, -y) for x, y in readings(script)]
    return ub.minimize(lambda x: -arch(x), BOX, 1, initial=initial, seed=0, callbacks=end).summary()


def by_study(script: Any) -> str:
    study = ub.Study(BOX, seed=0)
    for x, y in readings(script):
        study.tell(x, y)
    assert str(study.recommend()).splitlines()[-2:] == study.result().summary().splitlines()[-5:-3]
    return str(study.recommend())


def by_optuna(script: Any) -> str:
    optuna = pytest.importorskip("optuna")
    from unbribable.hosts.optuna.sampler import UnbribableSampler

    space = {"x": optuna.distributions.FloatDistribution(0.0, 1.0)}
    sampler = UnbribableSampler(n_trials=20, lies=2, seed=0, search_space=space)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for (x,), y in readings(script):
        trial = optuna.trial.create_trial(params={"x": x}, distributions=space, value=y)
        study.add_trial(trial)
    return str(sampler.recommend(study))


def by_audit(script: Any) -> str:
    points, y = zip(*readings(script), strict=True)
    return ub.audit(np.array(points), list(y)).summary()


@pytest.mark.parametrize(
    "summary_of",
    [by_maximize, by_minimize, by_study, by_optuna, by_audit],
    ids=["maximize", "minimize", "study", "optuna", "audit"],
)
def test_every_door_says_that_more_readings_look_false_than_are_allowed_for(
    summary_of: Callable[[Any], str],
) -> None:
    """A tenth of twenty readings is two, by default."""
    lies = 2 if summary_of is by_optuna else 0.1
    said = f"  3 readings look false, more than the 2 of lies={lies}: the worst case allows for 3"
    assert said in summary_of(THREE).splitlines()
    assert "look false, more than" not in summary_of({4: THREE[4], 9: THREE[9]})


# --- stored --------------------------------------------------------------------------------------


def test_a_file_with_another_number_of_lies_is_another_run(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    study = ub.Study(GRID, lies=3, assumptions=ASSUMED, file=file)
    study.tell([0.5], 0.1)
    study.close()
    assert ub.Study.load(file).engine.plan.lies == 3
    with pytest.raises(ValueError, match=r"plan lies was 3, got 0\.1"):
        ub.Study(GRID, assumptions=ASSUMED, file=file)


# --- true ----------------------------------------------------------------------------------------


def failures(n_told: int, n_games: int, n_rounds: int | None = None, **words: Any) -> int:
    """Games of 20 rounds of which some bound failed at some time.

    A strong liar, who sees point and noise, spends three lies, huge or just within reach of f, near
    the maximum. The study is told that there are n_told.
    """
    failed = 0
    for game in range(n_games):
        rng = np.random.default_rng([5, game])
        f = random_function(KERNEL, GRID.points, rng, KNOWN.B)
        top, left, is_held = int(np.argmax(f)), 3, True
        study = ub.Study(GRID, n_rounds=n_rounds, assumptions=KNOWN, lies=n_told, **words)
        for _ in range(20):
            query = study.ask()
            index = GRID.index_of(query.x)
            y = f[index] + 0.1 * rng.standard_normal()
            if left and abs(index - top) <= 3:
                y, left = (-1e12, -1.2, 1e140)[game % 3], left - 1
            study.tell(query, float(y))
            bounds = study.engine.algorithm().bounds()
            is_held &= bounds is None or bool(np.all((f >= bounds[0] - 1e-9) & (f <= bounds[1] + 1e-9)))
        failed += not is_held or bounds is None
    return failed


@pytest.mark.filterwarnings("ignore::unbribable.AssumptionsRefuted")
def test_bounds_hold_against_so_many_lies_of_any_size_and_not_against_more() -> None:
    assert not is_too_often(failures(3, 15, 20), 15, KNOWN.delta)
    assert not is_too_often(failures(3, 6), 6, KNOWN.delta)
    assert is_too_often(failures(0, 15, 20), 15, KNOWN.delta)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::unbribable.AssumptionsRefuted")
@pytest.mark.parametrize("words", [{"n_rounds": 20}, {}, {"explore": 2.0}])
def test_they_hold_in_many_games_whoever_chooses_the_points(words: dict[str, Any]) -> None:
    assert not is_too_often(failures(3, 80, **words), 80, KNOWN.delta)


# --- the worst case by the number of lies ------------------------------------------------------------


def told(readings: Any, **words: Any) -> ub.Result:
    """A run of nothing but these readings."""
    return ub.Study(BOX, initial=readings, seed=0, **words).result()


def test_the_worst_case_by_the_number_of_lies_is_one_table_at_every_door(tmp_path: Path) -> None:
    """Nested, from the least number that there must be, with f inside from the true one on."""
    script = {4: 5.0, 9: -5.5}
    run = told(readings(script))
    audit = ub.audit(run)
    rows = run.by_lies
    assert rows == run.recommendation.by_lies == audit.by_lies
    assert [k for k, _, _ in rows] == [2, 3]
    assert audit.least_lies == 2
    assert run.worst_case(0) is run.worst_case(1) is audit.worst_case(1) is None
    for k, lower, upper in rows:
        assert (lower, upper) == run.worst_case(k)
        assert lower <= arch(run.x) <= upper
    assert rows[1][1] < rows[0][1] < rows[0][2] < rows[1][2]
    assert run.recommendation.n_lies == 2
    assert (run.lower, run.upper) == rows[0][1:]
    assert run.to_dict()["by_lies"] == [list(row) for row in rows]
    assert audit.to_dict()["least_lies"] == 2


def test_the_number_of_lies_that_it_takes_is_where_the_worst_case_passes_the_value() -> None:
    run = told(readings({}))
    for value in (0.99, 0.8, 0.0, -1.0):
        needed = run.lies_needed(value)
        assert run.worst_case(needed)[0] < value
        assert needed == 0 or run.worst_case(needed - 1)[0] >= value
        assert ub.audit(run).lies_needed(value) == needed
    assert run.lies_needed(2.0) == 0
    assert run.lies_needed(-1.0) > run.lies_needed(0.99)
    least = told([(x, -y) for x, y in readings({})], direction="minimize")
    assert least.lies_needed(-0.8) == run.lies_needed(0.8)
    lower, upper = run.worst_case(2)
    assert least.worst_case(2) == pytest.approx((-upper, -lower), rel=1e-9)


def test_a_worst_case_of_no_number_of_lies_is_refused() -> None:
    run = told(readings({}))
    for bad, error in ((-1, ValueError), (1.5, TypeError), ("1", TypeError)):
        with pytest.raises(error, match="n_lies"):
            run.worst_case(bad)
    with pytest.raises(TypeError, match="value"):
        run.lies_needed("1")


def test_the_worst_case_is_there_before_anything_is_known_and_whyever_readings_are_missing() -> None:
    empty = ub.Study(BOX, seed=0).result()
    assert (empty.worst_case(1), empty.by_lies, empty.lies_needed(0.0)) == (None, (), 0)
    study = ub.Study(GRID, assumptions=ANY_SIZE, seed=0)
    for k in range(12):
        asked = study.ask()
        study.tell(asked, None if k % 4 == 3 else wave(asked.x))
    best = study.recommend()
    lower, upper = best.worst_case(0)
    assert lower <= wave(best.x) <= upper
