"""Study: the laws of ask and tell, answers, and everything that is refused."""

import math
import sys
import threading
from collections.abc import Callable
from pathlib import Path
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
    answer_of,
    assert_refused,
    assert_same_run,
    wave,
)

NAMED: dict[str, Any] = {"z": (0.0, 1.0), "n": (1, 3), "kind": ["a", "b"]}
pytestmark = pytest.mark.filterwarnings("ignore::unbribable.AssumptionsRefuted")  # by the lies


def made(name: str = "fitted", **words: Any) -> ub.Study:
    arguments = {**PLANS[name], "seed": 3, **words}
    return ub.Study(arguments.pop("domain"), **arguments)


def play(study: ub.Study, n: int, f: Any = None) -> ub.Study:
    f = Scripted() if f is None else f
    for _ in range(n):
        query = study.ask()
        study.tell(query, f(query.x))
    return study


def assert_same_study(one: ub.Study, other: ub.Study) -> None:
    """Bit for bit: what was told, what follows, what is pending, and what is asked next."""
    assert_same_run(one.result(), other.result())
    for mine, theirs in zip(one.pending, other.pending, strict=True):
        assert (mine.t, mine.params) == (theirs.t, theirs.params)
        np.testing.assert_array_equal(mine.x, theirs.x)
    np.testing.assert_array_equal(one.ask().x, other.ask().x)


# --- asking and telling --------------------------------------------------------------------------


@pytest.mark.parametrize("name", PLANS)
def test_by_turns_it_is_maximize(name: str) -> None:
    run = ub.maximize(Scripted(script={5: 1.5}), n_rounds=10, seed=3, **PLANS[name])
    study = play(made(name, n_rounds=10), 10, Scripted(script={5: 1.5}))
    assert_same_run(study.result(), run)
    assert answer_of(study.recommend()) == answer_of(run.recommendation)


def test_without_a_number_of_rounds_a_tenth_of_the_readings_there_are_may_be_lies() -> None:
    study = play(made("given, none", corruption=None), 4)
    assert study.engine.algorithm().n_lies == 1
    play(study, 16)
    assert study.engine.algorithm().n_lies == 2
    assert made("fitted").engine.n_design == 6


@pytest.mark.parametrize("n_told", [65, 70, 72])
def test_never_less_than_a_tenth_of_them(n_told: int) -> None:
    """From 64 on in steps, each above what was told."""
    initial = [(GRID.points[k % 21], 0.1) for k in range(n_told)]
    study = ub.Study(GRID, assumptions=ASSUMED, initial=initial)
    assert study.engine.algorithm().n_lies == 7


@pytest.mark.parametrize("name", ["fitted", "given, a number", "given, unknown"])
def test_pending_queries_are_far_from_each_other_and_told_in_any_order(name: str) -> None:
    study = play(made(name), 8)
    queries = study.ask(3)
    assert [query.t for query in queries] == [9, 10, 11]
    assert len({tuple(query.x) for query in queries}) == 3
    assert study.pending == tuple(queries)
    with pytest.raises(ValueError, match="read-only"):
        queries[0].x[0] = 0.5
    for query in (queries[1], queries[2], queries[0]):
        assert study.tell(query, wave(query.x)) == query.t
    assert study.pending == ()
    assert [trial.t for trial in study.trials[8:]] == [10, 11, 9]
    assert study.ask().t == 12


def test_what_is_asked_is_a_function_of_what_was_asked_and_told_before(tmp_path: Path) -> None:
    """Failures told late included: they close rounds that readings were waiting for. So a study that
    is loaded goes on exactly."""
    name = "given, unknown"

    def steps(study: ub.Study, looks: bool) -> None:
        first, second = study.ask(2)
        study.tell(first, 0.5)
        for y in (0.9, -0.9, 0.9, -0.9):
            study.tell([0.5], y)
            if looks:
                study.recommend()
        study.tell(second, None)
        play(study, 3)

    one, other = made(name), made(name)
    steps(one, looks=True)
    steps(other, looks=False)
    one.save(tmp_path / "saved.json")
    again = ub.Study.load(tmp_path / "saved.json")
    assert_same_study(one, other)
    again.ask()
    assert_same_study(one, again)


def test_a_point_that_is_pending_answers_its_query() -> None:
    study = made()
    first, second = study.ask(2)
    assert study.tell(second.x, 0.5) == second.t
    assert study.tell(list(first.x), 0.25) == first.t
    assert [trial.is_given for trial in study.trials] == [False, False]
    assert study.pending == ()


def test_a_point_of_ones_own_is_a_round_of_its_own() -> None:
    study = play(made(), 6)
    query = study.ask()
    assert study.tell([0.123], 0.5) == 8
    assert study.pending == (query,)
    assert study.trials[-1].is_given
    assert study.engine.told[-1].is_given


@pytest.mark.parametrize("y", [None, math.nan, np.float32("nan"), np.array([np.nan])])
def test_no_reading_is_a_failure_that_teaches_nothing(y: Any) -> None:
    study = play(made("given, a number"), 3)
    query = study.ask()
    study.tell(query, y, error="the furnace is cold")
    assert study.trials[-1].y is None
    assert study.trials[-1].error == "the furnace is cold"
    assert len(study.engine.told) == 3
    assert not np.array_equal(study.ask().x, query.x)
    assert "the one missing reading" in study.recommend().guarantee
    assert study.tell([0.3], y) == 6
    assert study.trials[-1].error == "no reading"


def test_named_spaces_speak_in_names() -> None:
    study = ub.Study(NAMED, seed=0)
    for _ in range(11):
        query = study.ask()
        assert query.params is not None
        assert [type(value) for value in query.params.values()] == [float, int, str]
        study.tell(query, wave([query.params["z"]]) + query.params["n"])
    assert study.tell({"z": 0.5, "n": 3, "kind": "b"}, 3.0) == 12
    best = study.recommend().params
    assert best is not None
    assert best["n"] == 3
    assert study.suspects()[0].params is not None
    mean, sd = study.predict([best, {"z": 0.5, "n": 1, "kind": "a"}])
    assert mean[0] > mean[1]
    assert (sd > 0.0).all()


# --- retracting ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fitted", "given, a number", "given, unknown"])
def test_what_was_retracted_might_never_have_been_told(name: str) -> None:
    """Choice and answer are those of a study that was not told; only the guarantee knows."""
    study, other = made(name), made(name)
    play(study, 9, Scripted(script={4: 1.4}))
    study.recommend()
    study.retract(4, "the wrong sample", unrelated_to_value=True)
    for trial in play(made(name), 9, Scripted(script={4: 1.4})).trials:
        other.tell(other.ask(), None) if trial.t == 4 else other.tell(trial.x, trial.y)
    assert [told.t for told in study.engine.told] == [1, 2, 3, 5, 6, 7, 8, 9]
    told = [(each.t, each.y) for each in study.engine.algorithm().readings]
    assert told == [(each.t, each.y) for each in other.engine.algorithm().readings]
    assert study.recommend().regret_bound is not None
    assert study.trials[3].error == "retracted, was 1.4: the wrong sample"


def test_a_retraction_that_may_be_because_of_the_value_voids_the_guarantee() -> None:
    study = play(made("given, a number"), 6)
    assert study.recommend().regret_bound is not None
    study.retract(2, "it looked wrong")
    assert study.recommend().regret_bound is None
    assert "the reading of round 2 was taken out" in study.recommend().guarantee
    assert len(study.suspects()) == 5
    study.tell(study.trials[1].x, 0.3)
    assert len(study.suspects()) == 6


# --- answers -------------------------------------------------------------------------------------


def test_answers_change_nothing_that_is_asked() -> None:
    quiet, loud = made(), made()
    f, g = Scripted(script={4: 40.0}), Scripted(script={4: 40.0})
    for _ in range(9):
        play(quiet, 1, f)
        play(loud, 1, g)
        if len(loud.trials) in (3, 8):
            loud.recommend()
            loud.suspects()
            loud.predict([[0.5]])
            loud.result().summary()
    assert_same_study(quiet, loud)


def test_a_prediction_is_that_of_the_engine_also_before_the_design_is_read() -> None:
    study = play(made(), 3)
    assert [part.shape for part in study.predict([[0.1], [0.2]])] == [(2,), (2,)]
    play(study, 20)
    np.testing.assert_array_equal(study.predict([0.25])[0], study.engine.predict(np.array([[0.25]]))[0])
    assert study.predict([[0.17]])[0] == pytest.approx(wave([0.17]), abs=0.3)


def test_a_result_stays_as_it_is_while_the_study_goes_on() -> None:
    study = play(made(), 7)
    result = study.result()
    play(study, 2)
    assert len(result.trials) == 7
    assert_same_run(result, study.result().at(7))


def test_a_price_is_that_of_the_result() -> None:
    study = play(made("given, a number"), 12)
    assert str(study.price(0.5)) == str(study.result().price(0.5))
    assert study.price().eps == study.result().price().eps


def test_flagged_only_leaves_out_the_rest() -> None:
    study = play(made(), 12, Scripted(script={5: 40.0}))
    assert [suspect.t for suspect in study.suspects(flagged_only=True)] == [5]
    assert len(study.suspects()) == 12
    assert [suspect.t for suspect in study.audit().suspects if suspect.is_flagged] == [5]


def test_the_table_has_a_row_for_each_round() -> None:
    pandas = pytest.importorskip("pandas")
    study = ub.Study(NAMED, seed=0)
    assert len(study.to_dataframe()) == 0
    for y in (0.5, None, 0.25):
        study.tell(study.ask(), y)
    table = study.to_dataframe()
    assert isinstance(table, pandas.DataFrame)
    assert list(table.columns[:5]) == ["round", "z", "n", "kind", "y"]
    assert table["error"].notna().tolist() == [False, True, False]
    assert table["y"].isna().tolist() == [False, True, False]
    assert table["probability"].notna().tolist() == [True, False, True]


def test_without_pandas_the_table_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match="pip install pandas"):
        made().to_dataframe()


# --- what is refused -----------------------------------------------------------------------------

Row = tuple[Callable[[ub.Study, ub.Query], Any], type[Exception], tuple[str, ...]]

REFUSED: dict[str, Row] = {
    "none of them": (lambda s, q: s.ask(0), ValueError, ("n must be >= 1", "n=0")),
    "halves": (lambda s, q: s.ask(1.5), TypeError, ("n must be an integer", "1.5")),
    "an infinite reading": (lambda s, q: s.tell(q, math.inf), ValueError, ("y must be finite", "inf")),
    "too large": (lambda s, q: s.tell(q, 1e200), ValueError, ("y must be at most 1e+150", "1e+200")),
    "text": (lambda s, q: s.tell(q, "1.0"), TypeError, ("y must be a real number", "'1.0'")),
    "two readings": (lambda s, q: s.tell(q, (0.1, 0.2)), TypeError, ("y must be a real number",)),
    "a reading and an error": (
        lambda s, q: s.tell(q, 0.5, error="no"),
        ValueError,
        ("error must be None where there is a reading", "'no'", "0.5"),
    ),
    "told twice": (
        lambda s, q: s.tell(s.told, 0.5),  # type: ignore[attr-defined]
        RuntimeError,
        ("query 1 was told already", "tell(query.x, y)"),
    ),
    "another study's query": (
        lambda s, q: s.tell(made(seed=9).ask(), 0.5),
        RuntimeError,
        ("query 1 was told already",),
    ),
    "a query not asked": (
        lambda s, q: s.tell(made().ask(5)[4], 0.5),
        RuntimeError,
        ("query 5 was not asked here", "pending are [2]"),
    ),
    "outside": (lambda s, q: s.tell([1.5], 0.5), ValueError, ("x must lie in the box", "1.5")),
    "too long": (lambda s, q: s.tell([0.5, 0.5], 0.5), ValueError, ("shape (1,)", "(2,)")),
    "a point as text": (lambda s, q: s.tell("0.5", 0.5), TypeError, ("x must hold real numbers",)),
    "a point by name": (lambda s, q: s.tell({"z": 0.5}, 0.5), TypeError, ("x must hold real numbers",)),
    "a point with a hole": (lambda s, q: s.tell([math.nan], 0.5), ValueError, ("x must be finite",)),
    "nothing": (lambda s, q: s.tell(None, 0.5), TypeError, ("x must hold real numbers",)),
    "retracting what is pending": (
        lambda s, q: s.retract(2, "typing error"),
        RuntimeError,
        ("t must be the round of a reading", "t=2", "told are [1]"),
    ),
    "retracting without a reason": (lambda s, q: s.retract(1, ""), TypeError, ("reason must be words",)),
    "retracting with half a pair of surrogates": (
        lambda s, q: s.retract(1, "no\ud800"),
        ValueError,
        ("reason must be words that UTF-8 can write", "'no\\ud800'"),
    ),
    "retracting a word": (lambda s, q: s.retract("1", "no"), TypeError, ("t must be an integer", "'1'")),
    "related perhaps": (
        lambda s, q: s.retract(1, "no", unrelated_to_value="yes"),  # type: ignore[arg-type]
        TypeError,
        ("unrelated_to_value must be True or False", "'yes'"),
    ),
    "a prediction of one point": (
        lambda s, q: s.predict({"z": 0.5}),
        TypeError,
        ("X must be a list of points", "one alone is [x]"),
    ),
    "a prediction of text": (lambda s, q: s.predict("ab"), TypeError, ("X must be a list of points",)),
    "a prediction outside": (lambda s, q: s.predict([[7.0]]), ValueError, ("x must lie in the box",)),
}


@pytest.mark.parametrize(("call", "error", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_wrong_is_refused_with_a_sentence_and_nothing_is_lost(
    call: Any, error: type[Exception], words: tuple[str, ...]
) -> None:
    study, other = made(), made()
    for each in (study, other):
        told = each.ask()
        each.tell(told, 0.5)
        each.told = told  # type: ignore[attr-defined]
    query = study.ask()
    other.ask()
    assert_refused(lambda: call(study, query), error, words)
    assert_same_study(study, other)
    study.tell(query, 0.25)


WRONG: dict[str, tuple[Any, dict[str, Any], type[Exception], tuple[str, ...]]] = {
    "no parameter": ({}, {}, ValueError, ("at least one parameter",)),
    "no pair": ([], {}, TypeError, ("domain must be", "[]")),
    "text": ("x", {}, TypeError, ("domain must be", "'x'")),
    "a number": (3, {}, TypeError, ("domain must be", "3")),
    "bounds as text": ({"x": "ab"}, {}, TypeError, ("bounds of 'x'", "'ab'")),
    "direction": (BOX, {"direction": "up"}, ValueError, ("'maximize', 'minimize'", "'up'")),
    "rounds": (BOX, {"n_rounds": 0}, ValueError, ("n_rounds must be >= 1", "n_rounds=0")),
    "a misspelt setting": (BOX, {"noise": 0.1}, TypeError, ("keywords must be among", "['noise']")),
    "seed": (BOX, {"seed": -1}, ValueError, ("seed must be >= 0", "-1")),
    "no pairs": (BOX, {"initial": [0.5]}, ValueError, ("initial[0] must be a pair",)),
    "an initial failure": (BOX, {"initial": [([0.5], None)]}, TypeError, ("initial reading must be",)),
    "no folder": (BOX, {"file": "no/such/run.json"}, ValueError, ("a folder that exists",)),
    "an unknown name": (
        NAMED,
        {"initial": [({"zz": 0.5, "n": 1, "kind": "a"}, 0.5)]},
        ValueError,
        ("names ['z', 'n', 'kind']", "'zz'"),
    ),
    "halves of an integer": (
        NAMED,
        {"initial": [({"z": 0.5, "n": 1.5, "kind": "a"}, 0.5)]},
        TypeError,
        ("n must be an integer", "1.5"),
    ),
}


@pytest.mark.parametrize(("space", "words", "error", "said"), WRONG.values(), ids=WRONG)
def test_a_wrong_argument_is_refused(
    space: Any, words: dict[str, Any], error: type[Exception], said: tuple[str, ...]
) -> None:
    assert_refused(lambda: ub.Study(space, **words), error, said)


def test_before_the_first_reading_there_is_no_answer() -> None:
    study = made()
    study.tell(study.ask(), None)
    with pytest.raises(ValueError, match="at least 3 readings"):
        study.audit()
    for call in (study.recommend, study.price, lambda: study.predict([[0.5]])):
        with pytest.raises(RuntimeError, match="an answer needs a reading"):
            call()
    assert study.suspects() == ()
    assert study.result().recommendation is None


# --- threads -------------------------------------------------------------------------------------


def test_four_threads_lose_nothing(tmp_path: Path) -> None:
    """Every round is asked once and told once, in memory and on disk."""
    study = made("given, none", file=tmp_path / "study.json")
    errors: list[BaseException] = []

    def work() -> None:
        try:
            play(study, 6)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sorted(trial.t for trial in study.trials) == list(range(1, 25))
    assert_same_run(ub.Result.load(tmp_path / "study.json"), study.result())
