"""maximize: minimising, running out of time, and several evaluations at a time."""

import inspect
import math
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from study.scripted import ASSUMED, GRID, Scripted, assert_refused, assert_same_run, wave
from unbribable.study import maximize as module

GIVEN: dict[str, Any] = {"domain": GRID, "assumptions": ASSUMED, "corruption": 1.5, "seed": 0}


def test_minimize_is_maximize_in_the_other_direction() -> None:
    words: dict[str, Any] = {**GIVEN, "n_rounds": 8}
    assert_same_run(
        ub.minimize(Scripted(), **words), ub.maximize(Scripted(), direction="minimize", **words)
    )
    named = {*inspect.signature(ub.maximize).parameters} - {*inspect.signature(ub.minimize).parameters}
    assert named == {"direction"}
    with pytest.warns(RuntimeWarning, match="round 2 failed") as caught:
        ub.minimize(Scripted(script={2: math.nan}), **words)
    assert caught[0].filename == __file__


# --- time ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_after_the_timeout_no_evaluation_begins_and_those_that_run_count(
    n_jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a clock that each evaluation moves on by a second."""
    seconds, lock = [0], threading.Lock()
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: float(seconds[0])))

    def f(x: Any) -> float:
        with lock:
            seconds[0] += 1
        return wave(x)

    file = tmp_path / "run.json"
    run = ub.maximize(f, n_rounds=500, timeout=3.5, n_jobs=n_jobs, file=file, **GIVEN)
    assert len(run.trials) == seconds[0]
    assert 4 <= seconds[0] <= 3 + n_jobs
    assert run.stopped == "the timeout of 3.5 s"
    assert run.recommendation is not None
    assert "stopped: the timeout of 3.5 s" in run.summary()
    assert ub.Result.load(file).stopped == run.stopped
    assert run.pending == ()
    more = ub.maximize(wave, n_rounds=len(run.trials) + 2, timeout=60.0, file=file, **GIVEN)
    assert more.stopped is None
    assert len(more.trials) == len(run.trials) + 2


# --- several at a time ---------------------------------------------------------------------------


@pytest.mark.filterwarnings(r"ignore:round \d failed:RuntimeWarning")
def test_several_evaluations_run_at_a_time_and_none_is_lost(tmp_path: Path) -> None:
    """The first four wait for each other; then never more than four; each round once, failures too."""
    lock, all_four = threading.Lock(), threading.Barrier(4, timeout=30.0)
    n_begun, n_running, most, heard = [0], [0], [0], []

    def f(x: Any) -> float:
        with lock:
            n_begun[0] += 1
            n_running[0] += 1
            most[0], number = max(most[0], n_running[0]), n_begun[0]
        if number <= 4:
            all_four.wait()
        with lock:
            n_running[0] -= 1
        return math.nan if number == 2 else wave(x)

    words = {**GIVEN, "n_rounds": 18, "n_jobs": 4, "file": tmp_path / "run.json"}
    run = ub.maximize(f, callbacks=[lambda result, trial: heard.append(trial.t)], **words)
    assert most == [4]
    assert run.n_failed == 1
    assert heard == [trial.t for trial in run.trials]
    assert sorted(heard) == list(range(1, 19))
    assert_same_run(ub.Result.load(words["file"]), run)
    assert len({tuple(trial.x) for trial in run.trials[:4]}) == 4, "pending points are left alone"


def test_one_job_is_the_run_without_threads() -> None:
    words: dict[str, Any] = {**GIVEN, "n_rounds": 6}
    assert_same_run(ub.maximize(Scripted(), n_jobs=1, **words), ub.maximize(Scripted(), **words))


def test_a_callback_that_ends_a_run_of_several_waits_for_those_that_run() -> None:
    n_begun = [0]

    def f(x: Any) -> float:
        n_begun[0] += 1
        time.sleep(0.02)
        return wave(x)

    run = ub.maximize(f, n_rounds=50, n_jobs=3, callbacks=[lambda r, trial: len(r.trials) >= 5], **GIVEN)
    assert run.stopped == "a callback"
    assert len(run.trials) == n_begun[0] <= 8
    assert run.pending == ()


def test_what_was_running_when_ctrl_c_came_is_evaluated_again(tmp_path: Path) -> None:
    """The queries are in the file: a call again begins with them, at the same points."""
    held = threading.Event()

    def f(x: Any) -> float:
        if threading.current_thread() is not threading.main_thread() and n_told[0] >= 3:
            held.wait(10.0)
        return wave(x)

    n_told = [0]

    def interrupt(result: ub.Result, trial: ub.Trial) -> None:
        n_told[0] += 1
        if n_told[0] == 4:
            raise KeyboardInterrupt

    words = {**GIVEN, "n_rounds": 9, "file": tmp_path / "run.json"}
    run = ub.maximize(f, n_jobs=3, callbacks=[interrupt], **words)
    held.set()
    assert run.stopped == "Ctrl-C"
    left = {query.t: query.x.tolist() for query in run.pending}
    assert left
    more = ub.maximize(wave, **words)
    assert sorted(trial.t for trial in more.trials) == list(range(1, 10))
    for trial in more.trials[len(run.trials) :][: len(left)]:
        assert trial.x.tolist() == left[trial.t]


def test_an_error_that_is_to_be_raised_is_raised_from_its_thread() -> None:
    def f(x: Any) -> float:
        if x[0] > 0.5:
            raise ZeroDivisionError("the furnace is cold")
        return wave(x)

    with pytest.raises(ZeroDivisionError, match="furnace"):
        ub.maximize(f, n_rounds=30, n_jobs=3, on_error="raise", **GIVEN)


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"timeout": 0.0}, ValueError, ("timeout must be", "> 0", "0.0")),
        ({"timeout": math.nan}, ValueError, ("timeout must be", "nan")),
        ({"timeout": "1 h"}, TypeError, ("timeout must be a real number", "'1 h'")),
        ({"n_jobs": 0}, ValueError, ("n_jobs must be >= 1", "n_jobs=0")),
        ({"n_jobs": 1.5}, TypeError, ("n_jobs must be an integer", "1.5")),
    ],
    ids=str,
)
def test_a_wrong_time_or_number_is_refused_before_f_is_asked(
    changes: dict[str, Any], error: type[Exception], words: tuple[str, ...]
) -> None:
    f = Scripted()
    assert_refused(lambda: ub.maximize(f, n_rounds=3, **GIVEN, **changes), error, words)
    assert f.points == []


def test_integer_pairs_of_a_dict_space_are_integers_to_f() -> None:
    seen: list[Any] = []

    def f(params: dict[str, Any]) -> float:
        seen.append(params["layers"])
        return float(len(range(params["layers"])))

    run = ub.maximize(f, {"layers": (1, 5), "rate": (0.0, 1)}, 14, seed=0)
    assert {type(value) for value in seen} == {int}
    assert np.isin(seen, range(1, 6)).all()
    assert run.n_failed == 0
