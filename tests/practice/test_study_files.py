"""Study(file=...): on disk before the call returns, exact after any kill, one study at a time."""

import errno
import json
import os
import stat
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import unbribable as ub
from practice.scripted import PLANS, assert_refused, assert_same_run, trials_of, wave

WORDS: dict[str, Any] = {**PLANS["given, known or zero"], "seed": 4}
N_TOLD = 6


def opened(file: Any, **words: Any) -> ub.Study:
    arguments = {**WORDS, **words}
    return ub.Study(arguments.pop("domain"), file=file, **arguments)


def go_on(study: ub.Study) -> ub.Study:
    """Two or three pending, told in another order, one fails, one is of the user's own."""
    while len(study.trials) < N_TOLD:
        n = len(study.trials)
        if n == 4:
            study.tell([0.35], 0.2)
        elif len(study.pending) < 2 + n % 2:
            study.ask()
        else:
            query = study.pending[-1 if n % 2 else 0]
            study.tell(query, None if query.t == 3 else wave(query.x))
    return study


# --- killed at any moment ------------------------------------------------------------------------

KILLED = """
import json, os, signal, sys
from pathlib import Path
from practice.test_study_files import go_on, opened

folder, replace, outcomes = Path(sys.argv[1]), os.replace, []
for k in range(1, 99):
    file = folder / f"{k}.json"
    child = os.fork()
    if child == 0:
        calls = [0]
        def kill_or_replace(source, target):
            calls[0] += 1
            if calls[0] == k:
                os.kill(os.getpid(), signal.SIGKILL)
            replace(source, target)
        os.replace = kill_or_replace
        go_on(opened(file))
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        break
    go_on(opened(file)).close()
    outcomes.append(json.loads(file.read_text()))
print(json.dumps(outcomes))
"""


def run_script(text: str, *arguments: str) -> str:
    folders = [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text), *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
def test_killed_at_any_moment_it_goes_on_exactly(tmp_path: Path) -> None:
    """Each time before the file gets what was written: all that it can hold comes up. What is told
    and pending in the end is the same bit for bit."""
    go_on(opened(tmp_path / "whole.json"))
    whole = json.loads((tmp_path / "whole.json").read_text(encoding="utf-8"))
    outcomes = json.loads(run_script(KILLED, str(tmp_path)))
    assert len(outcomes) >= 2 * N_TOLD - 1
    for k, run in enumerate(outcomes, 1):
        for key in ("domain", "plan", "seed", "trials", "pending"):
            assert run[key] == whole[key], (k, key)


# --- one at a time -------------------------------------------------------------------------------

SECOND = """
import sys
from practice.test_study_files import opened

try:
    study = opened(sys.argv[1])
    study.tell(study.ask(), 0.5)
    print(len(study.trials))
except RuntimeError as error:
    print(error)
"""


def test_a_second_process_is_refused_until_the_first_is_done(tmp_path: Path) -> None:
    """Then it goes on; and nobody lost anything."""
    file = tmp_path / "study.json"
    study = opened(file)
    study.tell(study.ask(), 0.25)
    before = file.read_bytes()
    said = run_script(SECOND, str(file))
    for word in ("a file is for one run at a time", str(file), f"process {os.getpid()} "):
        assert word in said
    assert file.read_bytes() == before
    study.tell(study.ask(), 0.75)
    study.close()
    assert run_script(SECOND, str(file)) == "3\n"
    assert [trial.y for trial in opened(file).trials] == [0.25, 0.75, 0.5]


def test_a_second_study_in_the_same_process_is_refused_until_the_first_is_closed(
    tmp_path: Path,
) -> None:
    file = tmp_path / "study.json"
    with opened(file) as study:
        study.ask()
        with pytest.raises(RuntimeError, match="one run at a time"):
            opened(file)
    assert list(tmp_path.iterdir()) == [file]
    with pytest.raises(RuntimeError, match=r"the study must be open.*study\.json again"):
        study.tell(study.pending[0], 0.5)
    assert len(opened(file).pending) == 1


def test_a_study_that_nobody_holds_any_more_lets_go_of_its_file(tmp_path: Path) -> None:
    opened(tmp_path / "study.json").ask()
    assert len(opened(tmp_path / "study.json").pending) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["study.json"]


FORKED = """
import os, sys
from practice.test_study_files import opened

study = opened(sys.argv[1])
query = study.ask()
child = os.fork()
if child == 0:
    try:
        study.tell(query, 0.5)
    except RuntimeError as error:
        print(error, flush=True)
        sys.exit()
os.waitpid(child, 0)
study.tell(query, 0.5)
print(os.listdir(os.path.dirname(sys.argv[1])))
"""


def test_a_forked_child_neither_writes_nor_unlocks(tmp_path: Path) -> None:
    said = run_script(FORKED, str(tmp_path / "study.json"))
    assert "belongs to the process that opened it" in said
    assert ".study.json.lock" in said
    assert len(ub.Result.load(tmp_path / "study.json").trials) == 1


# --- the file ------------------------------------------------------------------------------------


def test_every_query_and_reading_is_on_disk_when_the_call_returns(tmp_path: Path) -> None:
    file = tmp_path / "study.json"
    study = opened(file)
    assert not file.exists()
    first, second = study.ask(2)
    assert [query.t for query in ub.Result.load(file).pending] == [1, 2]
    study.tell(second, 0.5)
    assert trials_of(ub.Result.load(file)) == trials_of(study.result())
    study.retract(2, "typing error", unrelated_to_value=True)
    assert_same_run(ub.Result.load(file), study.result())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    study.close()
    again = opened(file)
    again.tell(first, 0.75)  # a query of the process before
    assert [trial.y for trial in again.trials] == [None, 0.75]


def test_initial_readings_are_given_once_and_others_refused(tmp_path: Path) -> None:
    file, initial = tmp_path / "study.json", [([0.5], 0.1), ([0.25], 0.7)]
    opened(file, initial=initial).tell([0.3], 0.2)
    assert [trial.y for trial in opened(file, initial=initial).trials] == [0.1, 0.7, 0.2]
    words = (str(file), "other initial readings", "leave them out")
    assert_refused(lambda: opened(file, initial=[([0.5], 0.2)]), ValueError, words)
    assert len(opened(file).trials) == 3


def test_a_run_of_maximize_goes_on_as_a_study_and_back(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    ub.maximize(wave, n_rounds=4, file=file, **WORDS)
    study = opened(file)
    study.tell(study.ask(), 0.5)
    study.ask()
    study.close()
    run = ub.maximize(wave, n_rounds=7, file=file, **WORDS)
    assert [trial.t for trial in run.trials] == list(range(1, 8))
    assert run.trials[4].y == 0.5


def test_where_nothing_can_be_written_a_query_is_not_asked_and_a_reading_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "study.json"
    study = opened(file)
    query = study.ask()

    def fail(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match=r"No space left on device.*study\.json"):
        study.ask()
    assert study.pending == (query,)
    with pytest.raises(OSError, match="No space left") as caught:
        study.tell(query, 0.5)
    assert [trial.y for trial in study.trials] == [0.5]
    assert [trial.y for trial in caught.value.result.trials] == [0.5]  # type: ignore[attr-defined]
    assert study.pending == ()
    monkeypatch.undo()
    assert ub.Result.load(file).trials == ()
    study.ask()
    assert trials_of(ub.Result.load(file)) == trials_of(study.result())
