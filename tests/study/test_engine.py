"""The engine: a function of plan, seed and readings, however often and in whatever steps it is asked."""

from typing import Any

import numpy as np
import pytest

import unbribable as ub
from study.scripted import ASSUMED, BOX, GRID, PLANS, Scripted, answer_of, wave
from unbribable.decision.proposal import Query
from unbribable.doubt.hypotheses import Known
from unbribable.doubt.judge import Judge
from unbribable.say.reasons import evidence
from unbribable.study import engine as module
from unbribable.study.advice import advise, doubt
from unbribable.study.engine import Engine
from unbribable.study.plan import Plan

MADE: dict[str, dict[str, Any]] = {
    **PLANS,
    "fitted, no scout": {"domain": BOX, "corruption": 1.0, "explore": None},
    "confirming": {"domain": BOX, "confirm": 3},
    "given, confirming": {**PLANS["given, a number"], "confirm": 3},
    "given, with a design": {**PLANS["given, a number"], "domain": GRID, "n_init": 4},
}
N_ROUNDS = 12
pytestmark = pytest.mark.filterwarnings("ignore::unbribable.AssumptionsRefuted")  # by the lies


def made(name: str, seed: int = 3) -> Engine:
    words = dict(MADE[name])
    if "assumptions" in words:
        words.setdefault("explore", None)
    return Engine(words.pop("domain"), Plan(N_ROUNDS, **words), seed)


def play(engine: Engine, n_rounds: int = N_ROUNDS) -> list[tuple[Query, float]]:
    """Ask and tell by turns. Given assumptions get a smaller lie: theirs is not cut."""
    lies = {5: 1e6, 9: -1.5} if engine.plan.assumptions is None else {5: 1.5}
    f, rounds = Scripted(script=lies), []
    for t in range(1, n_rounds + 1):
        asked = engine.ask(t)
        rounds.append((asked, f(asked.x)))
        engine.take(engine.trial(t, asked.x, rounds[-1][1]))
    return rounds


def tell_all(engine: Engine, rounds: list[tuple[Query, float]]) -> None:
    for asked, y in rounds:
        engine.take(engine.trial(asked.t, asked.x, y))


def assert_same_point(one: Query, other: Query) -> None:
    """Bit for bit."""
    np.testing.assert_array_equal(one.u, other.u)
    np.testing.assert_array_equal(one.x, other.x)
    assert one.t == other.t


def assert_same_advice(one: Engine, other: Engine) -> None:
    """Bit for bit."""
    assert answer_of(advise(one)) == answer_of(advise(other))
    assert [suspect.to_dict() for suspect in doubt(one)] == [
        suspect.to_dict() for suspect in doubt(other)
    ]


# --- a function of the readings ------------------------------------------------------------------


@pytest.mark.parametrize("name", MADE)
def test_telling_all_and_then_asking_is_asking_in_between(name: str) -> None:
    """Bit for bit."""
    asking = made(name)
    rounds = play(asking)
    for k in (6, 10, 11):
        silent = made(name)
        tell_all(silent, rounds[:k])
        assert_same_point(silent.ask(k + 1), rounds[k][0])
    silent = made(name)
    tell_all(silent, rounds)
    assert_same_advice(silent, asking)


@pytest.mark.parametrize("name", ["fitted", "fitted, no scout", "given, unknown", "given, scout"])
def test_looking_at_anything_changes_nothing(name: str) -> None:
    """Asking twice, for other rounds, with points pending elsewhere, and for advice."""
    quiet, loud, f = made(name), made(name), Scripted(script={5: 1.5})
    for t in range(1, 10):
        loud.ask(t + 5)
        loud.ask(t, pending=[np.array([0.5]), np.array([0.25])])
        if loud.told:
            advise(loud)
            doubt(loud)
        one, other = quiet.ask(t), loud.ask(t)
        assert_same_point(one, other)
        assert_same_point(loud.ask(t), other)
        y = f(one.x)
        quiet.take(quiet.trial(t, one.x, y))
        loud.take(loud.trial(t, other.x, y))
    assert_same_advice(quiet, loud)


@pytest.mark.parametrize("name", ["fitted", "given, a number"])
def test_points_pending_elsewhere_are_left_to_others(name: str) -> None:
    engine = made(name)
    play(engine, 8)
    alone = engine.ask(9)
    beside = engine.ask(9, pending=[alone.u])
    assert np.abs(beside.u - alone.u).max() > 1e-3


@pytest.mark.parametrize("x", [[1.5], [0.5, 0.5], [np.nan]])
def test_a_point_outside_is_refused_and_nothing_is_kept(x: list[float]) -> None:
    for name in ("fitted", "given, none"):
        engine = made(name)
        with pytest.raises(ValueError, match=r"x must|x\["):
            engine.take(engine.trial(1, np.array(x), 0.0))
        assert engine.log == {}
        assert advise(engine) is None or engine.plan.assumptions is not None


# --- the initial design --------------------------------------------------------------------------


def test_in_the_design_round_t_reads_its_own_point_whatever_was_told() -> None:
    """A function of seed and round: the seed scrambles it, and no two points are alike."""
    told, silent = Engine(BOX, Plan(40), 3), Engine(BOX, Plan(40), 3)
    points = []
    for t in range(1, 7):
        asked = told.ask(t)
        assert_same_point(asked, silent.ask(t))
        told.take(told.trial(t, asked.x, 0.1 * t))
        points.append(float(asked.u[0]))
    assert len(set(points)) == 6
    assert np.sort(points)[0] < 0.25
    assert np.sort(points)[-1] > 0.75
    other = Engine(BOX, Plan(40), 4)
    assert [float(other.ask(t).u[0]) for t in range(1, 7)] != points


def test_on_a_grid_the_design_reads_the_nearest_candidates() -> None:
    """Also where the coordinates have other units."""
    far = ub.Grid(np.array([[-5.0, 1000.0]]) + GRID.points * [[10.0, 4000.0]])
    engine, plane = Engine(far, Plan(40), 3), Engine(ub.Box([0.0] * 2, [1.0] * 2), Plan(40), 3)
    for t in range(1, 9):
        u = plane.ask(t).u
        nearest = np.argmin(((GRID.points - u) ** 2).sum(axis=1))
        np.testing.assert_array_equal(engine.ask(t).x, far.points[nearest])


def test_the_model_comes_with_the_last_reading_of_the_design() -> None:
    engine, f = Engine(BOX, Plan(40), 0), Scripted()
    for t in range(1, 7):
        assert not engine.is_ready
        for method in (engine.fit, engine.judge, engine.algorithm):
            with pytest.raises(RuntimeError, match=f"needs (the )?6 readings.*, got {t - 1}"):
                method()
        engine.take(engine.trial(t, engine.ask(t).x, f([0.1 * t])))
    assert engine.n_design == 6
    assert engine.is_ready
    assert len(engine.algorithm().readings) == len(engine.judge().verdict().probability) == 6


# --- the schedule of fits ------------------------------------------------------------------------


def counted_fits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Fits are counted, by the number of readings that the hypotheses have followed."""
    calls: list[int] = []

    def counted(plan: Plan, chains: Any, points: Any, y: Any, side: Any) -> Any:
        calls.append(len(y))
        return fitted(plan, chains, points, y, side)

    fitted = module.fitted
    monkeypatch.setattr(module, "fitted", counted)
    return calls


def test_a_fit_is_made_each_time_the_hypotheses_have_moved_and_at_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls, moved = counted_fits(monkeypatch), []
    engine = Engine(GRID, Plan(200), 0)
    for t in range(1, 14):
        engine.take(engine.trial(t, GRID.points[t % 21], 0.1 * t))
        assert engine.is_ready == (t >= 6)
        if t >= 6 and t % 3:
            engine.algorithm()
            engine.algorithm()
            moved.append(engine.judge().n_followed)
    assert calls == moved == [7, 8, 10, 11, 13]


def test_catching_up_costs_one_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 81 readings the hypotheses were drawn anew for the last time."""
    calls = counted_fits(monkeypatch)
    engine = Engine(GRID, Plan(200), 0)
    for t in range(1, 90):
        engine.take(engine.trial(t, GRID.points[t % 21], 0.1 * (t % 7)))
    engine.fit()
    assert calls == [81]


def test_given_assumptions_are_never_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = counted_fits(monkeypatch)
    engine = made("given, a number")
    play(engine)
    assert engine.fit().assumptions is ASSUMED
    assert calls == []


def test_rows_of_a_table_are_judged_together_in_however_many_parts_they_come() -> None:
    """The last part starts the judgement anew, so that looking in between leaves no trace."""
    at_once, in_parts = Engine(GRID, Plan(200), 0), Engine(GRID, Plan(200), 0)
    for engine in (at_once, in_parts):
        for t in range(1, 13):
            engine.take(
                engine.trial(t, GRID.points[t], wave(GRID.points[t]) + 2.0 * (t == 4), is_row=True)
            )
            if engine is in_parts and t >= 6:
                engine.judge()
    assert_same_advice(at_once, in_parts)


# --- seeds ---------------------------------------------------------------------------------------


def test_without_a_seed_every_engine_has_its_own() -> None:
    assert Engine(GRID, Plan(3)).seed != Engine(GRID, Plan(3)).seed


# --- advice --------------------------------------------------------------------------------------


def test_before_the_first_reading_there_is_no_advice() -> None:
    engine = made("fitted")
    assert advise(engine) is None
    assert doubt(engine) == ()


def test_flagged_only_leaves_out_the_rest() -> None:
    engine = made("fitted")
    play(engine)
    everything = doubt(engine)
    assert [s.t for s in doubt(engine, flagged_only=True)] == [s.t for s in everything if s.is_flagged]
    assert 0 < len(doubt(engine, flagged_only=True)) < len(everything)


def test_a_reading_that_was_cut_is_judged_by_what_was_told() -> None:
    """Value and distance from what is expected are those of the raw reading."""
    engine = Engine(BOX, Plan(N_ROUNDS, corruption=1.0), 3)
    rounds = play(engine)
    units = engine.model().units
    low, high = units.interval(-units.limit, units.limit)
    cut = [asked.t for asked, y in rounds if not low <= y <= high]
    assert 5 in cut
    for suspect in doubt(engine):
        if suspect.t in cut:
            assert suspect.is_flagged
            assert suspect.y == rounds[suspect.t - 1][1]
            far = (suspect.y - suspect.expected) / suspect.expected_sd
            assert f"{far:.3g} standard deviations above" in " ".join(evidence(suspect))


@pytest.mark.parametrize("kernel", [ub.Linear(10.0)])
def test_a_kernel_that_cannot_be_scaled_to_a_grid_is_refused_before_any_reading(kernel: Any) -> None:
    grid = ub.Grid(np.linspace(3.0, 5.0, 5)[:, None])
    with pytest.raises(TypeError, match=r"Matern or a SquaredExponential.*got kernel=Linear"):
        Engine(grid, Plan(5, kernel=kernel), seed=0)


# --- predictions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_a_prediction_is_that_of_the_judge_of_the_readings_told(direction: str) -> None:
    """Turned round where f is minimised."""
    plan = Plan(N_ROUNDS, direction=direction)
    engine, rounds = Engine(BOX, plan, 3), np.arange(1, 13)
    points, y = np.linspace(0.0, 1.0, 12)[:, None], np.sin(np.arange(12.0))
    for t in rounds:
        engine.take(engine.trial(int(t), points[t - 1], float(y[t - 1])))
    judge, U = Judge(Known(), 6), np.array([[0.0], [0.4], [1.0]])
    judge.learn(points, plan.sign * y, rounds)
    mean, sd = judge.predict(U)
    np.testing.assert_array_equal(engine.predict(U)[0], plan.sign * mean)
    np.testing.assert_array_equal(engine.predict(U)[1], sd)
    best = points[np.argmax(np.where(judge.verdict().is_flagged, -np.inf, judge.predict(points)[0]))]
    np.testing.assert_array_equal(engine.incumbent(), best)


def test_a_prediction_comes_near_the_truth_and_follows_what_is_told() -> None:
    engine, f = Engine(BOX, Plan(40), 0), Scripted(script={4: 40.0}, noise_std=0.05)
    U = np.linspace(0.0, 1.0, 11)[:, None]
    for t in range(1, 26):
        engine.take(engine.trial(t, [(0.37 * t) % 1.0], f([(0.37 * t) % 1.0])))
    mean, sd = engine.predict(U)
    truth = np.array([wave(u) for u in U])
    assert np.abs(mean - truth).max() < 0.25
    assert (np.abs(mean - truth) < 4.0 * sd).all()
    engine.take(engine.trial(26, U[3], wave(U[3])))
    assert engine.predict(U)[1][3] < sd[3]


def test_a_prediction_without_a_reading_is_refused() -> None:
    for name in ("fitted", "given, none"):
        with pytest.raises(RuntimeError, match="reading"):
            made(name).predict(np.array([[0.5]]))
