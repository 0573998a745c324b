"""maximize: which learner it builds, what it does not depend on, initial readings and callbacks."""

import math
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from study.scripted import (
    ASSUMED,
    BOX,
    GRID,
    PLANS,
    Scripted,
    assert_refused,
    assert_same_run,
    trials_of,
    wave,
)

NAN, INF = math.nan, math.inf
EVERY = pytest.mark.parametrize("words", PLANS.values(), ids=PLANS)


def points_of(run: ub.Result) -> list[list[float]]:
    return [trial.x.tolist() for trial in run.trials]


# --- the learner ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scale", "facts"),
    [
        pytest.param(1.0, {"domain": GRID}, id="fitted"),
        pytest.param(1e4, {"domain": GRID}, id="fitted, large"),
        pytest.param(1.0, {"domain": GRID, "assumptions": ASSUMED}, id="given"),
    ],
)
def test_corruption_names_the_learner_and_counts_in_the_units_of_f(scale: float, facts: Any) -> None:
    def learner(**words: Any) -> tuple[Any, ub.Result]:
        told = Scripted(lambda x: scale * wave(x), noise_std=0.1 * scale)
        run = ub.maximize(told, n_rounds=8, seed=0, **facts, **words)
        return run.engine.algorithm(), run

    plain, _ = learner(corruption=0)
    assert type(plain) is ub.GPUCB

    known, run = learner(corruption=3.5 * scale)
    assert type(known) is ub.RobustGPUCB
    assert known.C * run.engine.fit().units.scale == pytest.approx(3.5 * scale, rel=1e-12)
    assert f"total corruption at most {3.5 * scale:g}" in run.guarantee

    tenth, run = learner()
    assert type(tenth) is ub.QuorumGPUCB
    assert tenth.n_lies == 1  # a tenth of 8 is at most one
    assert f"who corrupts at most {run.recommendation.n_lies} of the 8 readings" in run.guarantee

    ladder, run = learner(corruption="unknown")
    assert type(ladder) is ub.LadderGPUCB
    assert "against any adversary, weak or strong" in run.guarantee


def test_in_a_fitted_model_a_lie_can_be_what_is_left_of_it_after_cutting() -> None:
    """So the cap on lies is twice the limit: from one end of what is believed to the other."""
    run = ub.maximize(Scripted(), BOX, 12, seed=0, corruption=1.0)
    algorithm, units = run.engine.algorithm(), run.engine.model().units
    assert algorithm is not None
    assert algorithm.assumptions.c_max == 2.0 * units.limit
    assert units.limit == algorithm.assumptions.B0 + 6.0 * algorithm.assumptions.noise_std


def test_what_is_given_beside_the_fit_is_kept() -> None:
    """Kernel as it is; noise and B in the units of f; delta."""
    kernel = ub.Matern(1.5, 0.3)
    words: dict[str, Any] = {"kernel": kernel, "noise_std": 0.2, "B": 7.0, "delta": 0.03}
    run = ub.maximize(Scripted(lambda x: 10.0 * wave(x), noise_std=0.2), BOX, 8, seed=0, **words)
    assumed, scale = run.engine.algorithm().assumptions, run.engine.fit().units.scale
    assert assumed.kernel == kernel
    assert assumed.noise_std * scale == pytest.approx(0.2, rel=1e-12)
    assert assumed.B * scale == pytest.approx(7.0, rel=1e-12)
    assert assumed.delta == 0.03


def test_given_assumptions_are_used_as_they_are_and_the_learner_chooses_itself() -> None:
    """The run is the ask-and-tell loop of the learner, bit for bit."""
    run = ub.maximize(Scripted(), BOX, 10, assumptions=ASSUMED, corruption=1.5)
    learner, told = ub.RobustGPUCB(BOX, ASSUMED, C=1.5), Scripted()
    for trial in run.trials:
        query = learner.ask()
        np.testing.assert_array_equal(trial.x, query.x)
        learner.tell(query, told(query.x))
    assert run.engine.fit().assumptions is ASSUMED
    assert (run.x, run.regret_bound) == (learner.recommend().x, learner.recommend().regret_bound)


# --- minimising is maximising upside down ---------------------------------------------------------


@EVERY
def test_minimising_is_the_mirror_image_of_maximising(words: dict[str, Any]) -> None:
    """Bit for bit: the same points, readings, intervals and suspicions upside down."""
    lies = {5: 1.9, 9: -1e6} if "assumptions" not in words else {5: 1.9}
    f, g = Scripted(script=lies), Scripted(script=lies)
    up = ub.maximize(f, n_rounds=11, seed=5, **words)
    down = ub.maximize(lambda x: -g(x), n_rounds=11, seed=5, direction="minimize", **words)
    assert points_of(up) == points_of(down)
    assert [trial.y for trial in up.trials] == [-trial.y for trial in down.trials if trial.y is not None]
    np.testing.assert_array_equal(up.x, down.x)
    assert (up.lower, up.upper) == (-down.upper, -down.lower)
    assert up.regret_bound == down.regret_bound
    assert up.recommendation.guarantee == down.recommendation.guarantee
    assert up.naive is not None
    assert down.naive is not None
    assert up.naive.number == down.naive.number
    assert up.refuted == down.refuted
    for one, other in zip(up.suspects, down.suspects, strict=True):
        assert (one.t, one.is_flagged) == (other.t, other.is_flagged)
        assert (one.probability, one.expected_sd) == (other.probability, other.expected_sd)
        assert (one.y, one.expected) == (-other.y, -other.expected)


# --- units ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (1024.0, 0.0, {}),
        (1e-6, 0.25, {}),
        (1e6, -3e7, {}),
        (3.0, 7.0, {"corruption": 2.0, "noise_std": 0.1}),
        (3.0, 0.0, {"corruption": 2.0, "noise_std": 0.1, "B": 5.0}),
    ],
)
def test_another_unit_of_f_asks_the_same_points(a: float, b: float, words: dict[str, float]) -> None:
    """f -> a f + b, amounts times a: everything the user sees follows, up to rounding."""
    script = {4: 1e6, 9: -2.0}
    f, g = Scripted(script=script), Scripted(script=script)
    run = ub.maximize(f, BOX, 12, seed=1, **words)
    other = ub.maximize(
        lambda x: a * g(x) + b, BOX, 12, seed=1, **{name: a * value for name, value in words.items()}
    )
    np.testing.assert_allclose(points_of(other), points_of(run), rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(other.x, run.x, rtol=0.0, atol=1e-6)
    assert run.lower is not None
    assert run.upper is not None
    assert run.regret_bound is not None
    assert other.lower == pytest.approx(a * run.lower + b, rel=1e-5, abs=1e-5 * a)
    assert other.upper == pytest.approx(a * run.upper + b, rel=1e-5, abs=1e-5 * a)
    assert other.regret_bound == pytest.approx(a * run.regret_bound, rel=1e-4)
    assert [s.t for s in other.suspects] == [s.t for s in run.suspects]
    assert [s.is_flagged for s in other.suspects] == [s.is_flagged for s in run.suspects]


def test_another_unit_of_the_coordinates_asks_the_same_points() -> None:
    """A Box is scaled to the unit cube, for a fitted kernel and for a given one."""
    wide = ub.Box([-50.0], [150.0], n_candidates=64)
    for words in ({}, {"assumptions": ASSUMED, "corruption": 1.0}):
        run = ub.maximize(Scripted(), BOX, 12, seed=1, **words)
        f = Scripted(lambda x: wave((x + 50.0) / 200.0))
        other = ub.maximize(f, wide, 12, seed=1, **words)
        units = [(np.array(x) + 50.0) / 200.0 for x in points_of(other)]
        np.testing.assert_allclose(units, points_of(run), rtol=0.0, atol=1e-6)


def test_another_unit_of_a_grid_asks_the_same_points_while_everything_is_fitted() -> None:
    far = ub.Grid(200.0 * GRID.points - 50.0)
    run = ub.maximize(Scripted(), GRID, 14, seed=1)
    other = ub.maximize(Scripted(lambda x: wave((x + 50.0) / 200.0)), far, 14, seed=1)
    units = [(np.array(x) + 50.0) / 200.0 for x in points_of(other)]
    np.testing.assert_allclose(units, points_of(run), rtol=0.0, atol=1e-9)


# --- the seed ------------------------------------------------------------------------------------


@EVERY
def test_the_same_seed_is_the_same_run(words: dict[str, Any]) -> None:
    runs = [ub.maximize(Scripted(), n_rounds=9, seed=7, **words) for _ in range(2)]
    assert_same_run(*runs)


@pytest.mark.parametrize("name", ["given, none", "given, a number", "given, scout"])
def test_where_the_model_is_given_the_seed_does_not_matter(name: str) -> None:
    runs = [ub.maximize(Scripted(), n_rounds=8, seed=seed, **PLANS[name]) for seed in (None, 1)]
    assert trials_of(runs[0]) == trials_of(runs[1])


def test_without_a_seed_two_runs_begin_differently() -> None:
    runs = [ub.maximize(Scripted(), n_rounds=2, **PLANS["fitted"]) for _ in range(2)]
    assert points_of(runs[0]) != points_of(runs[1])


# --- initial readings ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words", [{"domain": BOX, "n_init": 7}, PLANS["given, a number"]], ids=["fitted", "given"]
)
def test_initial_readings_are_learned_as_if_they_had_been_rounds(words: dict[str, Any]) -> None:
    """The rounds after them ask what the longer run asked there. They cost no evaluation.

    Up to rounding: in the longer run the bounds were intersected along the way, in a table they are not.
    Where a model is fitted the table is as long as the design was: judged together in both runs.
    Where a curve is flat at its top, half the digits of the place are lost: 3e-9 apart on one machine.
    """
    whole = ub.maximize(Scripted(), n_rounds=13, seed=2, **words)
    before = [(trial.params, trial.y) for trial in whole.trials[:7]]
    told = Scripted(first=8)
    run = ub.maximize(told, n_rounds=6, seed=2, initial=before, **words)
    np.testing.assert_allclose(points_of(run), points_of(whole), rtol=0.0, atol=1e-7)
    np.testing.assert_allclose(
        [trial.y for trial in run.trials], [trial.y for trial in whole.trials], rtol=0.0, atol=1e-7
    )
    assert [trial.is_given for trial in run.trials] == [True] * 7 + [False] * 6
    assert [trial.number for trial in run.trials] == list(range(1, 14))
    assert len(told.points) == 6
    assert [r.chosen_by == "user" for r in run.engine.algorithm().readings] == [True] * 7 + [False] * 6


def test_enough_initial_readings_replace_the_design() -> None:
    initial = [(x, wave([x])) for x in np.linspace(0.0, 1.0, 9)]
    run = ub.maximize(Scripted(first=10), BOX, 2, seed=0, initial=iter(initial))
    fresh = ub.maximize(Scripted(first=10), BOX, 2, seed=0)
    assert points_of(run)[9:] != points_of(fresh)


def test_an_initial_reading_is_given_as_f_takes_its_points() -> None:
    initial = [({"z": 0.25, "n": 2}, 0.5), ({"n": 3, "z": 0.75}, np.float32(1.0))]
    f = Scripted(lambda params: wave([params["z"]]))
    run = ub.maximize(f, {"z": (0.0, 1.0), "n": ub.Whole(1, 3)}, 2, initial=initial, seed=0)
    assert [trial.params for trial in run.trials[:2]] == [{"z": 0.25, "n": 2}, {"z": 0.75, "n": 3}]
    assert [trial.y for trial in run.trials[:2]] == [0.5, 1.0]


NO_INITIALS: dict[str, Any] = {
    "outside": (BOX, [([1.5], 0.0)], ValueError, ("x must lie in the box", "1.5", "[0.0, 1.0]")),
    "no candidate": (GRID, [([0.51], 0.0)], ValueError, ("must be a candidate", "0.51", "0.5")),
    "too long": (BOX, [([0.5, 0.5], 0.0)], ValueError, ("shape (1,)", "(2,)")),
    "nan": (BOX, [([0.5], NAN)], ValueError, ("initial reading must be finite", "nan")),
    "inf": (BOX, [([0.5], -INF)], ValueError, ("initial reading must be finite", "-inf")),
    "masked": (BOX, [([0.5], np.ma.masked)], TypeError, ("initial reading must be a real", "masked")),
    "large": (BOX, [([0.5], -2e150)], ValueError, ("initial reading must be at most 1e+150", "-2e+150")),
    "text": (BOX, [([0.5], "1")], TypeError, ("initial reading must be a real number", "'1'")),
    "nothing": (BOX, [([0.5], None)], TypeError, ("initial reading must be a real number", "None")),
    "another name": ({"z": (0.0, 1.0)}, [({"y": 0.5}, 0.0)], ValueError, ("names ['z']", "['y']")),
    "no name": ({"z": (0.0, 1.0)}, [([0.5], 0.0)], TypeError, ("mapping from name", "[0.5]")),
    "another option": ({"k": ["a", "b"]}, [({"k": "c"}, 0.0)], ValueError, ("'a', 'b'", "'c'")),
}


@pytest.mark.parametrize(("domain", "initial", "error", "words"), NO_INITIALS.values(), ids=NO_INITIALS)
def test_a_wrong_initial_reading_is_refused_before_f_is_asked(
    domain: Any, initial: Any, error: type[Exception], words: tuple[str, ...]
) -> None:
    told = Scripted()
    assert_refused(lambda: ub.maximize(told, domain, 3, initial=initial), error, words)
    assert told.points == []


# --- callbacks -----------------------------------------------------------------------------------


def test_every_callback_hears_the_result_and_the_trial_after_every_round() -> None:
    heard: list[tuple[str, int, int]] = []

    def hear(name: str) -> Any:
        def callback(result: ub.Result, trial: ub.Trial) -> None:
            assert result.trials[-1] is trial
            assert result.recommendation is not None
            assert not result.is_interrupted
            heard.append((name, len(result.trials), trial.number))

        return callback

    words: dict[str, Any] = {"assumptions": ASSUMED, "initial": [([0.5], 0.0)]}
    ub.maximize(Scripted(), GRID, 3, callbacks=iter([hear("a"), hear("b")]), **words)
    assert heard == [(name, k, k) for k in (2, 3, 4) for name in "ab"]


def test_a_callback_that_returns_true_ends_the_run_and_all_others_hear_of_it() -> None:
    heard: list[int] = []
    run = ub.maximize(
        told := Scripted(),
        GRID,
        9,
        assumptions=ASSUMED,
        callbacks=[
            lambda result, trial: trial.number == 4,
            lambda result, trial: heard.append(trial.number),
        ],
    )
    assert len(told.points) == len(run.trials) == 4
    assert heard == [1, 2, 3, 4]
    assert run.is_interrupted


@pytest.mark.parametrize("answer", [None, False, 0, np.False_])
def test_a_callback_that_does_not_return_true_ends_nothing(answer: Any) -> None:
    run = ub.maximize(Scripted(), GRID, 3, assumptions=ASSUMED, callbacks=[lambda *_: answer])
    assert len(run.trials) == 3


def test_ending_in_the_last_round_is_no_interruption() -> None:
    end = lambda result, trial: trial.number == 3  # noqa: E731
    run = ub.maximize(Scripted(), GRID, 3, assumptions=ASSUMED, callbacks=[end])
    assert not run.is_interrupted


def test_a_result_that_a_callback_keeps_stays_as_it_was() -> None:
    kept: list[ub.Result] = []
    words: dict[str, Any] = {"assumptions": ASSUMED, "corruption": 1.0}
    run = ub.maximize(Scripted(), GRID, 8, callbacks=[lambda r, trial: kept.append(r)], **words)
    for n, result in enumerate(kept, 1):
        assert_same_run(result, run.at(n))


@pytest.mark.parametrize("name", ["fitted", "given, unknown"])
def test_the_result_as_it_was_is_what_a_callback_saw_then(name: str) -> None:
    seen: list[Any] = []

    def see(result: ub.Result, trial: ub.Trial) -> None:
        seen.append((result.lower, result.upper, result.regret_bound, result.n_suspects))

    run = ub.maximize(Scripted(), n_rounds=9, seed=1, callbacks=[see], **PLANS[name])
    for n in (1, 5, 9):
        was = run.at(n)
        assert (was.lower, was.upper, was.regret_bound, was.n_suspects) == seen[n - 1]
        assert trials_of(was) == trials_of(run)[:n]


# --- what else is refused ------------------------------------------------------------------------

Row = tuple[dict[str, Any], type[Exception], tuple[str, ...]]

REFUSED: dict[str, Row] = {
    "a misspelt setting": (
        {"noise": 0.1},
        TypeError,
        ("keywords must be among", "'noise_std'", "['noise']"),
    ),
    "f": ({"f": 3}, TypeError, ("f must be callable", "f=3")),
    "no rounds": ({"n_rounds": 0}, ValueError, ("n_rounds must be >= 1", "n_rounds=0")),
    "rounds by halves": ({"n_rounds": 2.5}, TypeError, ("n_rounds must be an integer", "2.5")),
    "true rounds": ({"n_rounds": True}, TypeError, ("n_rounds must be an integer", "True")),
    "negative": ({"corruption": -1.0}, ValueError, ("corruption must be", ">= 0", "-1.0")),
    "nan": ({"corruption": NAN}, ValueError, ("corruption must be", "nan")),
    "endless": ({"corruption": INF}, ValueError, ("corruption must be finite", "inf")),
    "a word": (
        {"corruption": "10%"},
        ValueError,
        ("corruption must be a number in the units of f, or 'unknown'", "corruption='10%'", "lies="),
    ),
    "a list": (
        {"corruption": [1.0]},
        TypeError,
        ("corruption must be a real number", "[1.0]", "'unknown' is allowed"),
    ),
    "truth": ({"corruption": True}, TypeError, ("corruption must be a real number", "True")),
    "both": (
        {"corruption": 1.0, "lies": 2},
        ValueError,
        ("exclude each other", "corruption=1.0", "lies=2"),
    ),
    "zero twice": (
        {"corruption": 0, "lies": 0},
        ValueError,
        ("exclude each other", "corruption=0", "lies=0"),
    ),
    "a setting that draws in secret": (
        {"known_or_zero": 2.0},
        TypeError,
        ("keywords must be among", "['known_or_zero']"),
    ),
    "direction": ({"direction": "up"}, ValueError, ("'maximize', 'minimize'", "direction='up'")),
    "delta": ({"delta": 1.0}, ValueError, ("delta must be", "> 0", "< 1", "1.0")),
    "assumptions": ({"assumptions": ASSUMED.kernel}, TypeError, ("assumptions must be Assumptions",)),
    "kernel": ({"kernel": "rbf"}, TypeError, ("kernel must be a Kernel", "'rbf'")),
    "noise": ({"noise_std": -0.1}, ValueError, ("noise_std must be", ">= 0", "-0.1")),
    "B": ({"B": 0.0}, ValueError, ("B must be", "> 0", "0.0")),
    "n_init": ({"n_init": 0}, ValueError, ("n_init must be >= 1", "n_init=0")),
    "explore": ({"explore": -1.0}, ValueError, ("explore must be", ">= 0", "-1.0")),
    "on_error": ({"on_error": "ignore"}, ValueError, ("'record', 'raise'", "on_error='ignore'")),
    "seed": ({"seed": -1}, ValueError, ("seed must be >= 0", "seed=-1")),
    "seed by halves": ({"seed": 0.5}, TypeError, ("seed must be an integer", "0.5")),
    "seed of another kind": (
        {"seed": np.random.default_rng(0)},
        TypeError,
        ("seed must be an integer", "Generator", "an integer >= 0, a SeedSequence or None"),
    ),
    "a callback alone": (
        {"callbacks": print},
        TypeError,
        ("callbacks must be a list of functions", "<built-in function print>", "[f]"),
    ),
    "no callbacks": ({"callbacks": 3}, TypeError, ("callbacks must be a list of", "callbacks=3")),
    "no callback": ({"callbacks": [print, 3]}, TypeError, ("callbacks[1] must be callable", "=3")),
    "no readings": ({"initial": 3}, TypeError, ("initial must be a list of pairs", "initial=3")),
    "four": (
        {"initial": [([0.5], 0.1), ([0.25], 0.2, "Monday", 0.05)]},
        ValueError,
        ("initial[1] must be a pair (point, reading)", "([0.25], 0.2, 'Monday', 0.05)"),
    ),
    "points alone": ({"initial": [0.5]}, ValueError, ("initial[0] must be a pair", "initial[0]=0.5")),
    "said twice": (
        {"assumptions": ASSUMED, "kernel": ASSUMED.kernel, "B": 1.0, "delta": 0.2},
        ValueError,
        ("assumptions say", "'kernel'", "'B'", "'delta'", "already"),
    ),
    "scales": (
        {"assumptions": ub.Assumptions(ub.Matern(0.5, [1.0, 2.0]), B=1.0, B0=1.0, noise_std=0.1)},
        ValueError,
        ("one per coordinate", "d=1", "(1.0, 2.0)"),
    ),
}


@pytest.mark.parametrize(("changes", "error", "words"), REFUSED.values(), ids=REFUSED)
def test_a_wrong_argument_is_refused_before_f_is_asked(
    changes: dict[str, Any], error: type[Exception], words: tuple[str, ...]
) -> None:
    told = Scripted()
    arguments = {"f": told, "domain": BOX, "n_rounds": 14, **changes}
    assert_refused(lambda: ub.maximize(**arguments), error, words)
    assert told.points == []


LATE: dict[str, Row] = {
    "scales of a kernel": (
        {"kernel": ub.SquaredExponential([0.1, 0.2])},
        ValueError,
        ("one per coordinate", "d=1", "(0.1, 0.2)"),
    ),
    "a kernel too large": (
        {"kernel": ub.Linear(1.0), "domain": 5.0 * GRID.points},
        ValueError,
        ("k(x, x) must be <= 1", "Linear"),
    ),
    "a cap that the ladder needs": (
        {
            "corruption": "unknown",
            "n_init": 3,
            "assumptions": ub.Assumptions(ASSUMED.kernel, B=1.0, B0=1.0, noise_std=0.1, c_max=INF),
        },
        ValueError,
        ("c_max must be finite", "inf"),
    ),
}


@pytest.mark.parametrize(("changes", "error", "words"), LATE.values(), ids=LATE)
def test_a_wrong_model_is_refused_before_f_is_asked(
    changes: dict[str, Any], error: type[Exception], words: tuple[str, ...]
) -> None:
    told = Scripted()
    arguments = {"f": told, "domain": BOX, "n_rounds": 14, **changes}
    assert_refused(lambda: ub.maximize(**arguments), error, words)
    assert told.points == []


def test_one_round_is_a_run() -> None:
    for words in PLANS.values():
        run = ub.maximize(Scripted(), n_rounds=1, seed=0, **words)
        assert len(run.trials) == 1
        assert run.recommendation is not None
        assert "use x = [" in run.summary()
