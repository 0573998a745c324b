"""What really happened to a query: given up, read elsewhere, or to be tried again."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from study.scripted import ASSUMED, GRID, assert_refused, assert_same_run, wave

NAMED: dict[str, Any] = {"temp": (380.0, 460.0), "gas": ["N2", "Ar"]}
WAYS: dict[str, dict[str, Any]] = {
    "fitted": {"n_init": 3},
    "given, lies": {"assumptions": ASSUMED, "lies": 1},
    "given, a number": {"assumptions": ASSUMED, "corruption": 0.5},
}


def heat(params: Any) -> float:
    return 1.0 - ((params["temp"] - 430.0) / 50.0) ** 2 - 0.3 * (params["gas"] == "Ar")


def begun(way: str, n: int = 5, **words: Any) -> ub.Study:
    study = ub.Study(GRID, seed=2, **WAYS[way], **words)
    for _ in range(n):
        query = study.ask()
        study.tell(query, wave(query.x))
    return study


# --- given up ------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_a_query_given_up_is_asked_again_and_a_failed_one_is_not(way: str) -> None:
    study = begun(way)
    query = study.ask()
    assert study.forget(query) == query.t
    assert study.pending == ()
    again = study.ask()
    assert again.t == query.t + 1
    np.testing.assert_array_equal(again.x, query.x)
    study.tell(again, None)
    assert not np.array_equal(study.ask().x, query.x)


def test_nothing_is_learned_from_a_query_given_up() -> None:
    study, other = begun("fitted"), begun("fitted")
    study.forget(study.ask())
    one, two = study.recommend(), other.recommend()
    assert (one.x, one.estimate, one.lower, one.regret_bound) == (
        two.x,
        two.estimate,
        two.lower,
        two.regret_bound,
    )
    assert [suspect.t for suspect in study.suspects()] == [suspect.t for suspect in other.suspects()]


def test_what_is_guaranteed_goes_on_once_an_open_round_is_given_up() -> None:
    """While it is open, later readings wait for it; then the guarantee says what it supposes of it."""
    study = begun("given, a number", 3)
    query = study.ask()
    study.tell([0.3], wave([0.3]))
    assert "give it up" in str(study.price(0.1))
    study.forget(query)
    assert study.price(0.1).promise.void is None
    assert "the one missing reading is not missing because of its value" in study.result().guarantee


def test_a_query_given_up_by_its_point() -> None:
    study = ub.Study(NAMED, seed=0)
    query = study.ask()
    study.forget(query.params)
    assert study.trials[0].error == "forgotten"
    assert study.trials[0].may_repeat


def test_what_is_not_pending_cannot_be_given_up() -> None:
    study = begun("fitted")
    query = study.ask()
    study.tell(query, 0.5)
    assert_refused(lambda: study.forget(query), RuntimeError, (f"query {query.t} was told already",))
    assert_refused(lambda: study.forget([0.5]), RuntimeError, ("query must be pending", "[0.5]"))
    other = begun("fitted", 8).ask()
    assert_refused(lambda: study.forget(other), RuntimeError, ("was not asked here",))


# --- read elsewhere ------------------------------------------------------------------------------


@pytest.mark.parametrize("n_before", [0, 12])
def test_a_query_is_answered_with_what_was_really_set(n_before: int) -> None:
    """It is what a study would know had it asked for that very point."""
    study = ub.Study(NAMED, seed=0)
    for _ in range(n_before):
        query = study.ask()
        study.tell(query, heat(query.params))
    query = study.ask()
    assert query.params is not None
    really = {**query.params, "temp": 421.0}
    assert study.tell(query, heat(really), x=really) == query.t
    assert study.pending == ()
    told = study.trials[-1]
    assert told.params["temp"] == pytest.approx(421.0)
    assert not told.is_given
    other = ub.Study(NAMED, seed=0, initial=[(t.params, t.y) for t in study.trials])
    if n_before:
        np.testing.assert_allclose(
            study.predict([{"temp": 425.0, "gas": "N2"}]),
            other.predict([{"temp": 425.0, "gas": "N2"}]),
            atol=0.05,
        )


def test_several_readings_elsewhere_and_of_a_point_with_a_value_that_is_fixed() -> None:
    study = ub.Study(NAMED, seed=0)
    query = study.ask(fixed={"gas": "Ar"}, replicates=2)
    assert query.params is not None
    study.tell(query, [0.5, None], x={**query.params, "temp": 421.0})
    assert [round(trial.params["temp"], 9) for trial in study.trials] == [421.0, 421.0]
    assert [trial.y for trial in study.trials] == [0.5, None]
    assert study.recommend().params == pytest.approx({"temp": 421.0, "gas": "Ar"})


def test_a_query_may_fail_elsewhere_too() -> None:
    study = begun("fitted")
    query = study.ask()
    study.tell(query, None, x=[0.35])
    np.testing.assert_allclose(study.trials[-1].x, [0.35])
    np.testing.assert_array_equal(study.ask().x, query.x)  # which did not fail


def test_where_a_point_is_told_no_other_one_is_given_besides() -> None:
    study = begun("fitted")
    query = study.ask()
    assert_refused(
        lambda: study.tell([0.45], 1.0, x=[0.5]), ValueError, ("x must be left out", "tell(x, y)")
    )
    assert_refused(lambda: study.tell(query, 1.0, x=[7.0]), ValueError, ("candidate", "7.0"))
    assert study.pending == (query,)


# --- to be tried again ---------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_a_failed_point_may_be_asked_again_if_that_is_said(way: str) -> None:
    study = begun(way)
    query = study.ask()
    study.tell(query, None, error="the furnace tripped", again=True)
    assert study.trials[-1].error == "the furnace tripped"
    np.testing.assert_array_equal(study.ask().x, query.x)


def test_again_is_for_rounds_without_a_reading() -> None:
    study = begun("fitted")
    query = study.ask()
    assert_refused(lambda: study.tell(query, 1.0, again=True), ValueError, ("again", "y=1.0"))
    assert_refused(lambda: study.tell(query, None, again=1), TypeError, ("again", "1"))  # type: ignore[arg-type]
    assert study.pending == (query,)


# --- on disk -------------------------------------------------------------------------------------


def test_it_is_on_disk_before_the_call_returns_and_goes_on_exactly(tmp_path: Path) -> None:
    """A copy of the file after each call, as a kill would leave it, is the study as it then was."""
    file, copy = tmp_path / "study.json", tmp_path / "copy.json"
    study = ub.Study(GRID, seed=2, n_init=3, file=file)

    def check() -> None:
        shutil.copy(file, copy)
        left = ub.Study.load(copy)
        assert_same_run(left.result(), study.result())
        assert [query.t for query in left.pending] == [query.t for query in study.pending]

    for k in range(7):
        query = study.ask()
        if k % 4 == 1:
            study.forget(query)
        elif k % 4 == 2:
            study.tell(query, wave([0.65]), x=[0.65])
        elif k % 4 == 3:
            study.tell(query, None, again=True)
        else:
            study.tell(query, wave(query.x))
        check()
    shutil.copy(file, copy)
    np.testing.assert_array_equal(ub.Study.load(copy).ask().x, study.ask().x)


def test_a_file_from_before_is_read(tmp_path: Path) -> None:
    """Trials that say nothing of whether their point may be asked again."""
    file = tmp_path / "study.json"
    study = ub.Study(GRID, seed=2, n_init=3)
    for _ in range(4):
        query = study.ask()
        study.tell(query, None if query.t == 2 else wave(query.x))
    study.save(file)
    text = file.read_text(encoding="utf-8")
    assert ', "may_repeat": false' in text
    file.write_text(text.replace(', "may_repeat": false', ""), encoding="utf-8")
    np.testing.assert_array_equal(ub.Study.load(file).ask().x, study.ask().x)
