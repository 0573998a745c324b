"""maximize(file=...), Result.save and load: what is on disk when, and going on exactly."""

import json
import math
import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from study.run_files import held, write_lines
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
from unbribable.model.checks import Floats
from unbribable.model.kernels import Stationary

N_ROUNDS = 12
SCRIPT: dict[int, Any] = {3: 2.5, 5: math.nan}
"""A lie, and a failure: both have to come back."""
NAMED: dict[str, Any] = {
    "domain": {"z": (0.0, 1.0), "n": ub.Whole(1, 3), "kind": ["a", "b"]},
    "direction": "minimize",
    "kernel": ub.Matern(1.5, 0.5),
    "corruption": 0,
}
GIVEN: dict[str, Any] = {"domain": GRID, "assumptions": ASSUMED, "corruption": 1.5, "seed": 4}
STORED = {**PLANS, "fitted, named": NAMED, "confirming": {"domain": BOX, "confirm": 3}}

pytestmark = [
    pytest.mark.filterwarnings("ignore:round 5 failed:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::unbribable.AssumptionsRefuted"),  # the lie, where none may be
]


def scripted(words: dict[str, Any], first: int = 1, **more: Any) -> Scripted:
    """The same readings in the same rounds, wherever the run starts."""
    is_named = isinstance(words["domain"], dict)
    f = (lambda params: wave([params["z"]])) if is_named else wave
    return Scripted(f, {**SCRIPT, **more.get("script", {})}, first=first)


@pytest.mark.parametrize("words", STORED.values(), ids=STORED)
def test_a_run_that_was_stopped_goes_on_exactly_as_if_it_had_not(
    words: dict[str, Any], tmp_path: Path
) -> None:
    """Stopped by Ctrl-C in several rounds, and gone on with each time by another call."""
    whole = ub.maximize(scripted(words), n_rounds=N_ROUNDS, seed=4, **words)
    file = tmp_path / "run.json"
    for first, k in ((1, 3), (3, 8), (8, 11)):
        f = scripted(words, first, script={k: KeyboardInterrupt()})
        seed = 4 if first == 1 else None  # the file knows it
        stopped = ub.maximize(f, n_rounds=N_ROUNDS, seed=seed, file=file, **words)
        assert stopped.is_interrupted
        assert ub.Result.load(file).is_interrupted
        assert trials_of(stopped) == trials_of(whole)[: k - 1]
    f = scripted(words, 11)
    run = ub.maximize(f, n_rounds=N_ROUNDS, seed=4, file=str(file), **words)
    assert len(f.points) == 2
    assert not run.is_interrupted
    assert_same_run(run, whole)


def test_after_every_round_everything_is_on_disk(tmp_path: Path) -> None:
    file, seen = tmp_path / "run.json", []

    def look(x: Any) -> float:
        seen.append(len(ub.Result.load(file).trials))
        return wave(x)

    def check(result: ub.Result, trial: ub.Trial) -> None:
        assert trials_of(ub.Result.load(file)) == trials_of(result)

    initial = [([0.5], 0.1), ([0.25], 0.7)]
    ub.maximize(look, n_rounds=4, initial=initial, file=file, callbacks=[check], **GIVEN)
    assert seen == [2, 3, 4, 5]
    assert list(tmp_path.iterdir()) == [file], "nothing else is left"


def test_initial_readings_are_not_given_twice(tmp_path: Path) -> None:
    words = {**GIVEN, "initial": [([0.5], 0.1), ([0.25], 0.7)], "file": tmp_path / "run.json"}
    whole = ub.maximize(Scripted(), n_rounds=6, **{**words, "file": None})
    ub.maximize(Scripted(script={4: KeyboardInterrupt()}), n_rounds=6, **words)
    run = ub.maximize(Scripted(first=4), n_rounds=6, **words)
    assert_same_run(run, whole)


def test_a_wrong_initial_reading_leaves_no_file_behind(tmp_path: Path) -> None:
    """Else the call with the typing error put right goes on without the rest of them."""
    words = {**GIVEN, "n_rounds": 3, "file": tmp_path / "run.json"}
    with pytest.raises(ValueError, match="finite"):
        ub.maximize(Scripted(), initial=[([0.5], 0.1), ([0.25], math.nan)], **words)
    run = ub.maximize(Scripted(), initial=[([0.5], 0.1), ([0.25], 0.7)], **words)
    assert [trial.y for trial in run.trials[:2]] == [0.1, 0.7]


def test_a_finished_run_is_returned_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    run = ub.maximize(Scripted(), n_rounds=5, file=file, **GIVEN)
    f = Scripted()
    again = ub.maximize(f, n_rounds=5, file=file, **GIVEN)
    assert f.points == []
    assert_same_run(again, run)


def test_without_a_seed_the_file_keeps_the_one_that_was_drawn(tmp_path: Path) -> None:
    words = {**PLANS["fitted"], "n_rounds": 16, "file": tmp_path / "run.json"}
    stopped = ub.maximize(Scripted(script={5: KeyboardInterrupt()}), **words)
    run = ub.maximize(Scripted(first=5), **words)
    whole = ub.maximize(Scripted(), **{**words, "file": None, "seed": stopped.engine.seed})
    assert_same_run(run, whole)


# --- another run's file --------------------------------------------------------------------------

OTHERS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "n_rounds": ({"n_rounds": 2}, ("n_rounds must be >= 3", "n_rounds=2")),
    "corruption": ({"corruption": 2.0}, ("corruption", "was 1.5", "got 2.0", "another file")),
    "no corruption": ({"corruption": 0}, ("corruption", "was 1.5", "got 0")),
    "lies": ({"corruption": None, "lies": 3}, ("corruption", "was 1.5", "got None")),
    "direction": ({"direction": "minimize"}, ("direction", "'maximize'", "'minimize'")),
    "assumptions": (
        {"assumptions": ub.Assumptions(ASSUMED.kernel, B=3.0, B0=1.2, noise_std=0.1, lam=0.05)},
        ("assumptions", "'B': 2.0", "'B': 3.0"),
    ),
    "kernel": (
        {"assumptions": None, "kernel": ASSUMED.kernel},
        ("assumptions", "'B': 2.0", "None"),
    ),
    "n_init": ({"n_init": 3}, ("n_init", "was None", "got 3")),
    "explore": ({"explore": 1.0}, ("explore", "was None", "got 1.0")),
    "confirm": ({"confirm": 2}, ("confirm", "was 0", "got 2")),
    "points": ({"domain": GRID.points[1:]}, ("domain points", "[0.0]")),
    "kind": ({"domain": [(0.0, 1.0)]}, ("domain kind", "'grid'", "'box'")),
    "seed": ({"seed": 5}, ("another seed", "leave the seed out")),
}


@pytest.mark.parametrize(("changes", "words"), OTHERS.values(), ids=OTHERS)
def test_another_runs_file_is_refused_and_the_difference_named(
    changes: dict[str, Any], words: tuple[str, ...], tmp_path: Path
) -> None:
    """f is not asked, and the file stays as it is."""
    file = tmp_path / "run.json"
    arguments = {**GIVEN, "n_rounds": 6, "file": file}
    ub.maximize(Scripted(script={4: KeyboardInterrupt()}), **arguments)
    before, f = file.read_bytes(), Scripted()
    call = lambda: ub.maximize(f, **{**arguments, **changes})  # noqa: E731
    assert_refused(call, ValueError, (str(file), *words))
    assert f.points == []
    assert file.read_bytes() == before


def test_a_file_in_another_format_is_refused_with_the_format_that_was_found(tmp_path: Path) -> None:
    file, whole = stored(tmp_path)
    file.write_text(json.dumps({**whole, "format": 1}))
    words = ("format must be 4, got 1", "go on with that one, or give its readings to a new run")
    assert_refused(lambda: ub.Result.load(file), ValueError, words)
    file.write_text("[]")
    with pytest.raises(ValueError, match="must be a run saved"):
        ub.Result.load(file)


@pytest.mark.parametrize("name", ["fitted", "given, a number"])
def test_a_run_goes_on_with_more_rounds_on_the_same_file(name: str, tmp_path: Path) -> None:
    """As if it had been the longer run from the start, where that has the same initial design."""
    words, file = STORED[name], tmp_path / "run.json"
    first = ub.maximize(scripted(words), n_rounds=13, seed=4, file=file, **words)
    f = scripted(words, 14)
    run = ub.maximize(f, n_rounds=16, file=file, **words)
    assert len(f.points) == 3
    assert trials_of(run)[:13] == trials_of(first)
    assert_same_run(ub.Result.load(file), run)
    whole = ub.maximize(scripted(words), n_rounds=16, seed=4, **words)
    assert_same_run(run, whole)


def test_the_bounds_of_a_box_are_compared_too(tmp_path: Path) -> None:
    words: dict[str, Any] = {"n_rounds": 2, "assumptions": ASSUMED, "file": tmp_path / "run.json"}
    ub.maximize(Scripted(), [(0.0, 1.0)], **words)
    with pytest.raises(ValueError, match=r"domain high was \[1.0\], got \[2.0\]"):
        ub.maximize(Scripted(), [(0.0, 2.0)], **words)


def test_other_initial_readings_are_refused(tmp_path: Path) -> None:
    words = {**GIVEN, "n_rounds": 3, "file": tmp_path / "run.json"}
    ub.maximize(Scripted(script={2: KeyboardInterrupt()}), initial=[([0.5], 0.1)], **words)
    with pytest.raises(ValueError, match="initial"):
        ub.maximize(Scripted(first=2), initial=[([0.5], 0.9)], **words)


# --- arguments that a file has to hold -----------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"n_rounds": np.int64(3)},
        {"corruption": np.float32(1.5)},
        {"corruption": None, "lies": np.int64(2)},
        {"n_init": np.int32(2)},
        {"explore": np.float32(2.0)},
        {"confirm": np.int64(1)},
    ],
    ids=str,
)
def test_a_number_of_numpy_is_as_good_as_pythons(changes: dict[str, Any], tmp_path: Path) -> None:
    words = {**GIVEN, "n_rounds": 3, **changes, "file": tmp_path / "run.json"}
    run = ub.maximize(Scripted(), **words)
    assert_same_run(ub.maximize(Scripted(), **words), run)


@dataclass(frozen=True)
class Mine(Stationary):
    """A kernel of the user's own."""

    lengthscale: float

    def of_squared_distance(self, r2: Floats) -> Floats:
        values: Floats = np.exp(-0.5 * r2)
        return values


def test_a_run_with_a_kernel_of_ones_own_goes_on_if_the_kernel_is_given_again(tmp_path: Path) -> None:
    assumed = ub.Assumptions(Mine(0.2), B=2.0, B0=1.2, noise_std=0.1, lam=0.05)
    words = {**GIVEN, "assumptions": assumed, "n_rounds": 5}
    whole = ub.maximize(Scripted(), **words)
    file = tmp_path / "run.json"
    ub.maximize(Scripted(script={3: KeyboardInterrupt()}), file=file, **words)
    assert_same_run(ub.maximize(Scripted(first=3), file=file, **words), whole)


@pytest.mark.parametrize(
    ("domain", "name"),
    [
        pytest.param(GRID, "no/such/folder/run.json", id="no folder"),
        pytest.param(ub.Box([0.0], [1.0], snap=lambda U: np.round(U, 1)), "run.json", id="own snap"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_f_is_asked(
    domain: Any, name: str, tmp_path: Path
) -> None:
    f = Scripted()
    with pytest.raises((OSError, ValueError)):
        ub.maximize(f, domain, 3, assumptions=ASSUMED, file=tmp_path / name)
    assert f.points == []


# --- damage --------------------------------------------------------------------------------------


def stored(tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    file = tmp_path / "run.json"
    ub.maximize(Scripted(script={4: KeyboardInterrupt()}), n_rounds=6, file=file, **GIVEN)
    return file, held(file)


def assert_file_refused(file: Path) -> None:
    """By load, and by a run that would go on: with a sentence that names the file, and no harm done."""
    before, f = file.read_bytes(), Scripted()
    assert_refused(lambda: ub.Result.load(file), ValueError, (str(file), "must be a run saved"))
    again = lambda: ub.maximize(f, n_rounds=6, file=file, **GIVEN)  # noqa: E731
    assert_refused(again, ValueError, (str(file), "must be a run saved"))
    assert f.points == []
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda whole: b"", id="empty"),
        pytest.param(lambda whole: whole[: whole.index(b"\n") // 2], id="cut off"),
        pytest.param(lambda whole: whole[: whole.index(b"\n") - 1], id="cut off by a byte"),
        pytest.param(lambda whole: whole.replace(b"}\n", b"\n", 3), id="lines cut off within"),
        pytest.param(lambda whole: whole + b"\n", id="an empty line"),
        pytest.param(lambda whole: whole + whole, id="twice"),
        pytest.param(lambda whole: whole.split(b"\n", 1)[1], id="no run"),
        pytest.param(lambda whole: whole + b'{"tell": []}\n', id="another step"),
        pytest.param(lambda whole: whole + b'{"told": {}}\n', id="a step without rows"),
        pytest.param(lambda whole: whole + b"[]\n", id="a step that is a list"),
        pytest.param(lambda whole: whole + b"3", id="a number at the end"),
        pytest.param(lambda whole: b"\xff\xfe" + whole, id="no text"),
        pytest.param(lambda whole: b"[1, 2]", id="a list"),
        pytest.param(lambda whole: b'"run"', id="text"),
        pytest.param(lambda whole: b"{}", id="nothing in it"),
        pytest.param(lambda whole: whole.replace(b'"format": 4', b'"format": 99'), id="the future"),
        pytest.param(lambda whole: b"[" * 100_000 + b"]" * 100_000, id="nested a lot"),
        pytest.param(
            lambda whole: whole.replace(b"null", b"[" * 100_000 + b"]" * 100_000, 1), id="nested within"
        ),
        pytest.param(
            lambda whole: whole.replace(b'"number": 1', b'"number": ' + b"1" * 5000, 1), id="digits"
        ),
    ],
)
def test_a_damaged_file_is_refused_with_a_sentence(damage: Any, tmp_path: Path) -> None:
    file, _ = stored(tmp_path)
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    assert file.read_bytes() != whole
    assert_file_refused(file)


def without(key: str) -> Any:
    return lambda run: {name: value for name, value in run.items() if name != key}


def with_trial(**changes: Any) -> Any:
    return lambda run: {**run, "trials": [{**run["trials"][0], **changes}, *run["trials"][1:]]}


WRONG: dict[str, Any] = {
    "no domain": without("domain"),
    "no plan": without("plan"),
    "no seed": without("seed"),
    "a plan with more": lambda run: {**run, "plan": {**run["plan"], "more": 1}},
    "a plan with less": lambda run: {**run, "plan": {}},
    "rounds as text": lambda run: {**run, "plan": {**run["plan"], "n_rounds": "6"}},
    "a seed alone": lambda run: {**run, "seed": 4},
    "trials that are none": lambda run: {**run, "trials": 3},
    "a trial with nothing": lambda run: {**run, "trials": [{}]},
    "a trial with more": with_trial(more=1),
    "a reading as text": with_trial(y="1.0"),
    "a reading that is nan": with_trial(y=math.nan),
    "a round twice": with_trial(number=2),
    "a point outside": with_trial(x=[7.0]),
    "a failure outside": with_trial(x=[7.0], y=None, error="ValueError: no"),
    "a point as text": with_trial(x=["0.5"]),
    "a point with a hole": with_trial(x=[None]),
    "a reading as truth": with_trial(y=True),
    "a reading too large": with_trial(y=1e200),
    "a reading of many digits": with_trial(y=10**400),
    "a round by halves": with_trial(number=1.0),
    "given perhaps": with_trial(is_given="no"),
    "given by number": with_trial(is_given=1),
    "a reading and an error": with_trial(error="ValueError: no"),
    "neither reading nor error": with_trial(y=None),
    "an error that is no text": with_trial(y=None, error=3),
    "more trials than rounds": lambda run: {
        **run,
        "trials": [{**run["trials"][0], "number": k} for k in range(1, 8)],
    },
    "a domain that is a list": lambda run: {**run, "domain": [1]},
    "a plan that is a list": lambda run: {**run, "plan": [1]},
    "stopped by a number": lambda run: {**run, "stopped": 3},
    "a round told and pending": lambda run: {**run, "pending": [{"number": 1, "x": [0.5]}]},
    "a query outside": lambda run: {**run, "pending": [{"number": 4, "x": [7.0]}]},
    "retracted perhaps": with_trial(y=None, error="retracted", retracted="no"),
    "a time as text": lambda run: {**run, "seconds_per_ask": "1"},
}


@pytest.mark.parametrize("damage", WRONG.values(), ids=WRONG)
def test_a_file_with_wrong_entries_is_refused_with_a_sentence(damage: Any, tmp_path: Path) -> None:
    file, run = stored(tmp_path)
    write_lines(file, damage(run))
    assert_file_refused(file)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="told again"),
        pytest.param({"y": None, "error": "no"}, id="a failure later"),
        pytest.param({"y": None, "error": "no", "retracted": True, "x": [0.5]}, id="elsewhere"),
        pytest.param({"y": None, "error": "no", "retracted": True, "number": 2}, id="of another"),
    ],
)
def test_a_round_is_told_once_unless_it_is_taken_back(changes: dict[str, Any], tmp_path: Path) -> None:
    file, run = stored(tmp_path)
    write_lines(file, run)
    row = {"told": [{**run["trials"][0], **changes}]}
    with file.open("a") as opened:
        opened.write(json.dumps(row) + "\n")
    assert_file_refused(file)


# --- a killed process ----------------------------------------------------------------------------

KILLED = """
import os, signal, sys
import unbribable as ub
from study.scripted import PLANS, Scripted

file, where, k = sys.argv[1], sys.argv[2], int(sys.argv[3])
told = Scripted()

def f(x):
    y = told(x)
    if told.round == k and where == "f":
        os.kill(os.getpid(), signal.SIGKILL)
    return y

if where == "save":
    fsync = os.fsync
    def kill_or_fsync(handle):
        if told.round == k:
            os.ftruncate(handle, os.fstat(handle).st_size - 7)
            os.kill(os.getpid(), signal.SIGKILL)
        fsync(handle)
    os.fsync = kill_or_fsync

ub.maximize(f, n_rounds=9, seed=4, file=file, **PLANS["given, unknown"])
"""


@pytest.mark.parametrize("where", ["f", "save"])
def test_a_killed_process_loses_the_round_under_way_and_no_more(where: str, tmp_path: Path) -> None:
    file, k = tmp_path / "run.json", 6
    folders = [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(KILLED), str(file), where, str(k)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert len(ub.Result.load(file).trials) == k - 1
    words = {**PLANS["given, unknown"], "n_rounds": 9, "seed": 4}
    run = ub.maximize(Scripted(first=k), file=file, **words)
    assert_same_run(run, ub.maximize(Scripted(), **words))


# --- save and load -------------------------------------------------------------------------------


@pytest.mark.parametrize("words", STORED.values(), ids=STORED)
def test_a_result_comes_back_from_its_file(words: dict[str, Any], tmp_path: Path) -> None:
    run = ub.maximize(
        scripted(words, script={9: KeyboardInterrupt()}), n_rounds=N_ROUNDS, seed=4, **words
    )
    run.save(tmp_path / "saved.json")
    back = ub.Result.load(tmp_path / "saved.json")
    assert_same_run(back, run)
    assert back.to_dict() == run.to_dict()
    assert back.is_interrupted
    assert back.seconds_per_ask == run.seconds_per_ask
    assert back.summary() == run.summary()
    assert back.assumptions == run.assumptions
    assert (back.engine.plan, back.engine.seed) == (run.engine.plan, run.engine.seed)
    back.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "saved.json").read_bytes()


def test_a_result_without_a_reading_comes_back_too(tmp_path: Path) -> None:
    run = ub.maximize(Scripted(script={1: KeyboardInterrupt()}), BOX, 3)
    run.save(tmp_path / "saved.json")
    assert ub.Result.load(tmp_path / "saved.json").recommendation is None


def test_a_file_that_is_not_there_is_said_to_be_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none\.json"):
        ub.Result.load(tmp_path / "none.json")


@pytest.mark.parametrize("words", STORED.values(), ids=STORED)
def test_the_result_as_data_is_json(words: dict[str, Any]) -> None:
    run = ub.maximize(scripted(words), n_rounds=7, seed=4, **words)
    data = run.to_dict()
    back = json.loads(json.dumps(data, allow_nan=False))
    assert len(back["trials"]) == 7
    assert back["trials"][4]["error"] == "ValueError: y must be finite, got y=nan"
    assert back["x"] == (run.x if isinstance(run.x, dict) else run.x.tolist())
    assert (back["lower"], back["upper"]) == (run.lower, run.upper)
    assert back["guarantee"] == run.recommendation.guarantee


@pytest.mark.parametrize("lie", [1e150, -1e150])
def test_the_largest_lies_are_json_too(lie: float) -> None:
    """Finite as they are, and in front of the suspects."""
    run = ub.maximize(Scripted(script={4: lie}), BOX, 8, seed=0)
    back = json.loads(json.dumps(run.to_dict(), allow_nan=False))
    assert back["trials"][3]["y"] == lie
    assert (back["suspects"][0]["t"], back["suspects"][0]["y"]) == (4, lie)
