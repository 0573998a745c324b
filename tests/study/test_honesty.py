"""What is said about the answer is true, says on what it rests, and is in the user's units."""

import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from doubted import suspects_of
from games import random_function
from printed import unwrapped
from study.scripted import (
    ASSUMED,
    BOX,
    GRID,
    PLANS,
    Scripted,
    answer_of,
    flagged,
    wave,
)
from unbribable.decision.proven.by_lies import ByLies
from unbribable.decision.proven.left_out import own_shares
from unbribable.decision.recommend import left_out
from unbribable.decision.units import MODEL_UNITS, Units
from unbribable.doubt.judge import FLAGGED
from unbribable.say.assumptions import CONDITIONAL
from unbribable.say.guarantee import HEURISTIC
from unbribable.study.advice import advise
from unbribable.study.engine import Engine
from unbribable.study.fitted import Model
from unbribable.study.plan import Plan

EVERY = pytest.mark.parametrize("words", PLANS.values(), ids=PLANS)


# --- on what it rests ----------------------------------------------------------------------------


@EVERY
def test_the_guarantee_says_whether_it_is_conditional_and_the_choice_a_heuristic(
    words: dict[str, Any],
) -> None:
    """Conditional where the model was fitted; a heuristic where the judge of readings chose."""
    run = ub.maximize(Scripted(), n_rounds=11, seed=0, **words)
    assert run.regret_bound is not None
    is_fitted = "assumptions" not in words
    is_heuristic = is_fitted or "explore" in words
    assert ("the fitted model is right" in unwrapped(run.summary())) == is_fitted
    for text in (run.guarantee, run.to_dict()["guarantee"]):
        assert (CONDITIONAL in text) == is_fitted
        assert ("only if this fit is right" in text) == is_fitted
        assert (HEURISTIC in text) == is_heuristic
        assert ("chosen by a heuristic" in text) == is_heuristic
        assert "With probability at least" in text
    assert (CONDITIONAL in str(run.assumptions)) == is_fitted
    assert run.recommendation is not None
    assert run.recommendation.rule == ("heuristic" if is_heuristic else "lcb")


def test_a_fitted_model_whose_learner_chooses_itself_is_conditional_and_no_heuristic() -> None:
    engine, f = Engine(BOX, Plan(20, 1.0, explore=None), 0), Scripted()
    for t in range(1, 10):
        asked = engine.ask(t)
        engine.take(engine.trial(t, asked.x, f(asked.x)))
    best = advise(engine)
    assert best is not None
    assert CONDITIONAL in best.guarantee
    assert HEURISTIC not in best.guarantee


def test_before_the_design_is_finished_the_answer_is_conditional_too() -> None:
    run = ub.maximize(Scripted(script={4: KeyboardInterrupt()}), BOX, 20, seed=0)
    assert not run.engine.is_ready
    assert CONDITIONAL in run.guarantee
    assert HEURISTIC in run.guarantee
    assert CONDITIONAL in str(run.assumptions)


def test_fitted_assumptions_are_not_said_to_have_been_fixed_before_the_data() -> None:
    run = ub.maximize(Scripted(), BOX, 8, seed=0)
    assert "fixed before the data" not in str(run.assumptions)


def test_given_assumptions_are_said_in_their_own_words() -> None:
    run = ub.maximize(Scripted(), GRID, 3, assumptions=ASSUMED, corruption=1.0)
    assert str(run.assumptions) == str(ASSUMED)


def test_refuted_assumptions_are_said_and_nothing_is_guaranteed() -> None:
    """Readings that no function of that norm explains, in the user's own model."""
    f = Scripted(script=dict.fromkeys(range(5, 9), -8.0))
    with pytest.warns(ub.AssumptionsRefuted, match="assumptions are refuted"):
        run = ub.maximize(f, GRID, 8, assumptions=ASSUMED, corruption=0)
    assert run.regret_bound is None
    assert run.refuted is not None
    assert run.refuted >= 5
    assert run.recommendation is not None
    assert run.recommendation.probability is None
    assert f"The assumptions are refuted by the readings up to round {run.refuted}" in run.guarantee
    assert "nothing is guaranteed" in run.guarantee
    assert CONDITIONAL not in run.guarantee
    assert "  worst case: none, the readings contradict what is assumed" in run.summary().splitlines()
    assert run.to_dict()["refuted"] == run.refuted
    assert run.to_dict()["regret_bound"] is None


def test_without_lies_nothing_is_said_to_be_refuted() -> None:
    for words in PLANS.values():
        run = ub.maximize(Scripted(), n_rounds=8, seed=0, **words)
        assert run.refuted is None
        assert "refuted" not in run.summary()


# --- in the user's units -------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_the_answer_is_the_learners_own_in_the_users_units(direction: str, words: Any) -> None:
    """center + sign * scale times what the learner says of that point in its own units."""
    f = Scripted(lambda x: 40.0 * wave(x) + 7.0 if "assumptions" not in words else wave(x))
    run = ub.maximize(f, n_rounds=10, seed=2, direction=direction, **words)
    model, units = run.engine.algorithm().recommend(x=run.recommendation.x), run.engine.fit().units
    sign = 1.0 if direction == "maximize" else -1.0
    counted, worst, most = run.recommendation.n_lies, (model.lower, model.upper), model.regret_bound
    if counted is not None:  # where lies are counted all is by their number, on an event of its own
        algorithm = run.engine.algorithm()
        readings = left_out(algorithm, own_shares(algorithm.assumptions.delta))
        own = ByLies(readings, algorithm.candidates.coordinates, model.index, MODEL_UNITS)
        worst, most = own.interval(counted), own.better(counted)
    ends = [units.center + sign * units.scale * value for value in worst]
    assert (units.scale == 1.0) == ("assumptions" in words)
    assert [run.lower, run.upper] == pytest.approx(sorted(ends), rel=1e-12)
    assert run.regret_bound == pytest.approx(units.scale * most, rel=1e-12)
    best = run.recommendation
    assert best.between_candidates == pytest.approx(units.scale * model.between_candidates, rel=1e-12)
    assert best.probability == model.probability
    for level, own in zip(best.levels, model.levels, strict=True):
        assert pytest.approx(units.scale * own.C, rel=1e-12) == level.C
        assert (level.regret_bound is None) == (own.regret_bound is None)
    np.testing.assert_allclose(run.x, model.x, rtol=0.0, atol=1e-12)
    if "explore" not in words and "assumptions" in words:
        own, of_engine = answer_of(run.engine.algorithm().recommend(units=units)), answer_of(best)
        expected = (
            "estimate",
            "estimate_sd",
            "n_honest",
            "n_at_point",
            "caution",
            "is_wide",
            "clearly_worse",
        )
        assert {name for name in own if own[name] != of_engine[name]} <= {*expected}


def test_where_the_bounds_leave_no_value_the_corruption_is_said_in_the_users_units() -> None:
    """All readings far above B0: more corruption than the level asked about, or a false assumption."""
    assumed = ub.Assumptions(ub.SquaredExponential(0.2), B=20.0, B0=1.0, noise_std=0.01, lam=0.01)
    learner = ub.LayeredGPUCB(GRID, assumed, T=16, seed=1, with_all=False)
    for _ in range(3):
        learner.tell(x=[0.25], y=2.0)
    assert learner.refuted is None
    best = learner.recommend(C=2.0, units=Units(scale=100.0))
    assert best.regret_bound is None
    assert "leave some point no value" in best.guarantee
    assert "total corruption at most 200 and no single lie above 100," in best.guarantee


# --- true ----------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "lies"),
    [
        pytest.param({"corruption": 0}, 0.0, id="none"),
        pytest.param({"corruption": 3.0}, 3.0, id="a number"),
        pytest.param({"corruption": 3.0, "explore": 2.0}, 3.0, id="a number, scout"),
        pytest.param({}, 0.1 * 30, id="a tenth of the rounds"),
    ],
)
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_where_the_assumptions_hold_so_does_the_answer(
    words: dict[str, Any], lies: float, direction: str
) -> None:
    """f of known norm, lies within the budget: interval and certificate hold for every seed of 4.

    They hold together with probability 0.9 at least, by bounds that are far from sharp.
    """
    kernel, sign = ub.SquaredExponential(0.15), 1.0 if direction == "maximize" else -1.0
    assumed = ub.Assumptions(kernel, B=1.5, B0=1.5, noise_std=0.05, lam=0.01, c_max=1.0)
    for seed in range(4):
        values = random_function(kernel, GRID.points, np.random.default_rng(seed), B=1.5)

        def f(x: Any, values: Any = values) -> float:
            return float(values[GRID.index_of(x)])

        rounds = np.random.default_rng([seed, 1]).choice(np.arange(1, 31), int(lies), replace=False)
        told = Scripted(f, noise_std=0.05)

        def lie(x: Any, told: Any = told, rounds: Any = rounds) -> float:
            y = told(x)
            return y - sign if told.round in rounds else y

        run = ub.maximize(lie, GRID, 30, assumptions=assumed, direction=direction, seed=seed, **words)
        truth, best = f(run.x), sign * (sign * values).max()
        assert run.lower is not None
        assert run.upper is not None
        assert run.regret_bound is not None
        assert run.lower <= truth <= run.upper
        assert sign * (best - truth) <= run.regret_bound
        assert run.regret_bound < 3.0, "and says something"


@pytest.mark.long
@pytest.mark.parametrize(("noise_std", "n_max"), [(0.0, 0), (0.1, 4)])
def test_few_honest_readings_are_called_suspicious(noise_std: float, n_max: int) -> None:
    """Of 2 x 24; without noise none, although the readings crowd at the maximum."""
    found: list[int] = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        f = Scripted(lambda x, rng=rng: wave(x) + noise_std * rng.standard_normal(), noise_std=0.0)
        run = ub.maximize(f, BOX, 24, seed=seed)
        found += flagged(run)
        assert not any("beyond" in word for suspect in run.suspects for word in suspect.evidence)
    assert len(found) <= n_max


def test_nothing_is_deleted_and_every_reading_is_judged_once() -> None:
    run = ub.maximize(Scripted(script={4: 1e6, 7: -3.0}), BOX, 12, seed=0)
    assert len(run.trials) == len(run.engine.told) == 12
    assert (run.trials[3].y, run.trials[6].y) == (1e6, -3.0)
    assert sorted(suspect.t for suspect in run.suspects) == list(range(1, 13))
    by_round = {suspect.t: suspect for suspect in run.suspects}
    for trial in run.trials:
        suspect = by_round[trial.number]
        assert suspect.y == trial.y
        np.testing.assert_allclose(suspect.x, trial.x, rtol=0.0, atol=1e-9)
        assert 0.0 <= suspect.probability <= 1.0
        assert suspect.is_flagged == (suspect.probability >= FLAGGED)
        assert suspect.expected_sd > 0.0
        assert bool(suspect.evidence) == suspect.is_flagged
    assert run.n_suspects == len(flagged(run))
    (line,) = [line for line in run.summary().splitlines() if "suspicious: " in line]
    for t in flagged(run):
        assert f"{t} ({by_round[t].y:.4g}, expected " in line
    assert line.count("expected") == run.n_suspects


def test_the_naive_answer_is_the_best_reading_whatever_it_is() -> None:
    run = ub.maximize(Scripted(script={4: 1e6}), BOX, 8, seed=0)
    assert run.naive is run.trials[3]
    assert "best reading: 1e+06 in round 4" in run.summary()


def test_a_huge_lie_under_given_assumptions_is_judged_without_a_numerical_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", ub.AssumptionsRefuted)
        for k in range(12):
            learner = ub.GPUCB(GRID, ASSUMED)
            for i in range(12):
                learner.tell(x=GRID.points[i], y=1e6 if i == k else wave(GRID.points[i]))
            assert suspects_of(learner)[0].t == k + 1


# --- given and fitted ----------------------------------------------------------------------------

KERNEL = ub.Matern(2.5, 0.3)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({}, "Kernel, noise, B and B0 were fitted to the readings, not known before them"),
        ({"kernel": KERNEL}, "Kernel was given. Noise, B and B0 were fitted to the readings, not known"),
        ({"noise_std": 0.1}, "Noise was given. Kernel, B and B0 were fitted to the readings, not known"),
        ({"B": 9.0}, "B (so B0 = B) was given. Kernel and noise were fitted to the readings, not known"),
        (
            {"kernel": KERNEL, "noise_std": 0.1},
            "Kernel and noise were given. B and B0 were fitted to the readings, not known",
        ),
        (
            {"kernel": KERNEL, "B": 9.0},
            "Kernel and B (so B0 = B) were given. Noise was fitted to the readings, not known",
        ),
    ],
)
def test_it_is_said_which_assumptions_were_given_and_which_fitted(words: Any, said: str) -> None:
    run = ub.maximize(Scripted(), BOX, 8, seed=0, **words)
    for text in (run.guarantee, str(run.assumptions)):
        assert text.count(said) == 1
        assert CONDITIONAL in text
    assert "fixed before the data" not in str(run.assumptions)


def test_where_all_was_given_nothing_is_conditional() -> None:
    run = ub.maximize(Scripted(), BOX, 8, seed=0, kernel=KERNEL, noise_std=0.1, B=9.0)
    assert str(run.assumptions).endswith("Kernel, noise and B (so B0 = B) were given.")
    assert "B were fixed before the data" in str(run.assumptions)
    for text in (run.guarantee, str(run.assumptions)):
        assert "fitted" not in text


def test_where_all_was_given_no_bound_depends_on_what_was_fitted() -> None:
    """In the user's units: assumptions, cut and budget are the same whatever was read."""
    found = []
    for told in (Scripted(), Scripted(lambda x: 3.0 - 5.0 * x[0])):
        run = ub.maximize(told, BOX, 9, seed=0, kernel=KERNEL, noise_std=0.1, B=9.0)
        algorithm = run.engine.algorithm()
        assert isinstance(algorithm, ub.QuorumGPUCB)
        found.append((algorithm.assumptions, run.engine.model().units, algorithm.n_lies))
    assert found[0] == found[1]
    assumed, units, n_lies = found[0]
    assert (units.center, units.scale, assumed.B, assumed.B0) == (0.0, 9.0, 1.0, 1.0)
    assert assumed.noise_std == pytest.approx(0.1 / 9.0, rel=1e-12)
    assert assumed.c_max == units.limit == math.inf
    assert n_lies == 1, "in nine readings"


@pytest.mark.parametrize("words", [{"kernel": KERNEL}, {"B": 30.0}, {"kernel": KERNEL, "B": 30.0}])
def test_a_kernel_or_a_norm_that_is_given_speaks_of_f_itself(words: dict[str, Any]) -> None:
    """Not of f less a center: a constant of 20 is a part of it that B has to pay for."""
    run = ub.maximize(Scripted(lambda x: 20.0 + wave(x)), BOX, 9, seed=0, **words)
    assert run.engine.fit().units.center == 0.0
    assert run.engine.fit().assumptions.B * run.engine.fit().units.scale >= 20.0


@pytest.mark.parametrize("words", [{"kernel": KERNEL}, {"B": 30.0}])
def test_choices_do_not_suffer_from_a_constant_part(words: dict[str, Any]) -> None:
    """What chooses counts from a center of its own."""
    runs = [
        ub.maximize(Scripted(lambda x, c=c: c + wave(x)), BOX, 10, seed=0, **words) for c in (0.0, 64.0)
    ]
    points = [[trial.x for trial in run.trials] for run in runs]
    np.testing.assert_allclose(points[0], points[1], rtol=0.0, atol=1e-4)


def test_a_fitted_run_does_not_claim_to_fail_with_probability_delta() -> None:
    words = str(ub.maximize(Scripted(), BOX, 8, seed=0).assumptions)
    assert "fails with probability at most" not in words
    assert "Had all this been known before the data" in words
    assert "would fail with probability at most delta=0.1" in words
    assert "no bound on the failures is proven then" in words
    assert "the documentation's page on results" in words
    assert "fails with probability at most delta=0.1" in str(ASSUMED)


# --- readings that were there before -------------------------------------------------------------


def readings_with_lies(seed: int) -> list[tuple[list[float], float]]:
    """Fifty readings of a smooth function in the plane, five of them lies of 2 to 4."""
    rng = np.random.default_rng(seed)
    X = rng.random((50, 2)) * [1.0, 2.0]
    y = np.sin(5.0 * X[:, 0]) + np.cos(3.0 * X[:, 1]) + 0.05 * rng.standard_normal(50)
    y[rng.choice(50, 5, replace=False)] = rng.choice([4.0, 2.0, -3.0], 5)
    return [(x.tolist(), float(value)) for x, value in zip(X, y, strict=True)]


def judged(n_rounds: int, seed: int, **words: Any) -> ub.Result:
    """A table of readings, and one round."""

    def f(x: Any) -> float:
        return float(np.sin(5.0 * x[0]) + np.cos(3.0 * x[1]))

    box = ub.Box([0.0, 0.0], [1.0, 2.0], n_candidates=64)
    initial = readings_with_lies(seed)
    end = [lambda result, trial: True]
    return ub.maximize(f, box, n_rounds, initial=initial, seed=0, callbacks=end, **words)


@pytest.mark.parametrize("n_rounds", [1, 10, 50])
def test_a_tenth_of_the_readings_may_be_lies_initial_ones_included(n_rounds: int) -> None:
    run = judged(n_rounds, 0)
    algorithm = run.engine.algorithm()
    assert isinstance(algorithm, ub.QuorumGPUCB)
    assert algorithm.n_lies == (50 + n_rounds) // 10


def test_the_learner_calls_no_honest_reading_of_a_table_certain() -> None:
    """With a tenth of the rounds alone for a budget, 23 were, in twenty tables."""
    for seed in range(4):
        run, initial = judged(1, seed), readings_with_lies(seed)
        for suspect in suspects_of(run.engine.algorithm()):
            if suspect.is_certain and suspect.t <= 50:
                x, y = initial[suspect.t - 1]
                assert abs(y - np.sin(5.0 * x[0]) - np.cos(3.0 * x[1])) > 0.5


def test_flagged_readings_that_exceed_the_budget_are_said_to() -> None:
    run = judged(1, 0, corruption=4.69)
    off = sum(abs(each.y - each.expected) for each in run.suspects if each.is_flagged)
    assert run.regret_bound is not None
    assert off > 4.69
    said = f"The flagged readings are off by {off:.3g} in all, more than the 4.69 that the"
    short = f"  {said} worst case allows for: raise corruption="
    assert short in run.summary().splitlines()
    for text in (run.guarantee, run.to_dict()["guarantee"]):
        assert f"{said} guarantee allows for" in text
        assert "if they are lies, it does not hold; state a larger corruption=." in text
    for words in ({"corruption": 1.5 * off}, {}):
        assert "off by" not in judged(1, 0, **words).guarantee


def test_a_lie_of_any_size_counts_with_what_is_left_of_it_after_cutting() -> None:
    run = ub.maximize(Scripted(script={4: 1e6}), BOX, 12, seed=0)
    assert 4 in flagged(run)
    assert "off by" not in run.guarantee


# --- caution -------------------------------------------------------------------------------------


def test_what_is_said_about_the_corruption_and_caution_change_no_choice() -> None:
    """These change what is guaranteed; where to read is chosen by what is most likely."""
    words: list[dict[str, Any]] = [
        {},
        {"corruption": 0},
        {"corruption": "unknown"},
        {"lies": 3},
    ]
    runs = [ub.maximize(Scripted(), BOX, 10, seed=0, **each) for each in words]
    for run in runs[1:]:
        assert [trial.x.tolist() for trial in run.trials] == [
            trial.x.tolist() for trial in runs[0].trials
        ]
    engine = runs[0].engine
    cautious, likely = engine.fit(), engine.judge().typical()
    assert cautious.units.center == pytest.approx(likely.center, rel=1e-12)
    assert cautious.units.scale == pytest.approx(likely.scale, rel=1e-12)
    assert cautious.units.scale * cautious.assumptions.B0 > 2.0 * likely.scale
    assert cautious.units.scale * cautious.assumptions.noise_std > likely.noise_std
    for run in runs[1:]:
        model = run.engine.fit()
        assumed = replace(model.assumptions, c_max=cautious.assumptions.c_max)
        units = replace(model.units, limit=cautious.units.limit)
        assert Model(assumed, units) == cautious


def test_readings_are_judged_by_what_is_most_likely() -> None:
    """By the wide end more would be open, although the judge counts what hypotheses disagree about."""
    run = ub.maximize(Scripted(script={5: 2.5}), BOX, 14, seed=2)
    assert flagged(run) == [5]
    units, likely = run.engine.fit().units, {suspect.t: suspect.expected_sd for suspect in run.suspects}
    cautious = {each.t: units.scale * each.expected_sd for each in suspects_of(run.engine.algorithm())}
    assert np.mean([cautious[t] > likely[t] for t in likely]) > 0.8
    assert sum(cautious.values()) > 1.05 * sum(likely.values())


@pytest.mark.xfail(
    strict=True,
    reason="what was read is taken for smooth: 4 of 4 certificates miss the unread peak, and with half "
    "the lengthscales still do. The guarantee is conditional on the fit",
)
@pytest.mark.long
def test_a_narrow_peak_that_was_not_read_is_mostly_within_the_certificate() -> None:
    """In none of these runs if the most likely model decides. Nobody can be sure of what is unseen."""

    def spike(x: Any) -> float:
        return float(1.0 / (1.0 + ((x[0] - 0.3) / 0.03) ** 2) + 0.3 * x[0])

    n_false = 0
    for seed in (1, 2, 4, 6):
        run = ub.maximize(Scripted(spike, noise_std=0.01), BOX, 20, seed=seed, corruption=0)
        assert run.regret_bound is not None
        best = max(spike(x) for x in run.engine.algorithm().candidates.coordinates)
        assert best - spike(run.x) > 0.5, "else it was read"
        n_false += best - spike(run.x) > run.regret_bound
    assert n_false <= 1
