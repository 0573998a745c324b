"""Study(file=...): on disk before the call returns, exact after any kill, one study at a time."""

import errno
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import unbribable as ub
from study.run_files import held, lines_of
from study.scripted import PLANS, assert_refused, assert_same_run, trials_of, wave

WORDS: dict[str, Any] = {**PLANS["given, unknown"], "seed": 4}
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
import json, os, signal, stat, sys
from pathlib import Path
from study.run_files import held
from study.test_study_files import go_on, opened

folder, fsync, outcomes = Path(sys.argv[1]), os.fsync, []
for k in range(1, 99):
    file = folder / f"{k}.json"
    child = os.fork()
    if child == 0:
        calls = [0]
        def kill_or_fsync(handle):
            calls[0] += 1
            if calls[0] == k:
                if stat.S_ISREG(os.fstat(handle).st_mode):
                    os.ftruncate(handle, os.fstat(handle).st_size - int(sys.argv[2]))
                os.kill(os.getpid(), signal.SIGKILL)
            fsync(handle)
        os.fsync = kill_or_fsync
        go_on(opened(file))
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        break
    go_on(opened(file)).close()
    outcomes.append(held(file))
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
@pytest.mark.parametrize("n_cut", [0, 1, 40])
def test_killed_at_any_moment_it_goes_on_exactly(n_cut: int, tmp_path: Path) -> None:
    """Each time before what was written is certainly on the disk, with the end of it or without: all
    that the file can hold comes up. What is told and pending in the end is the same bit for bit."""
    go_on(opened(tmp_path / "whole.json"))
    whole = held(tmp_path / "whole.json")
    outcomes = json.loads(run_script(KILLED, str(tmp_path), str(n_cut)))
    assert len(outcomes) >= 2 * N_TOLD - 1
    for k, run in enumerate(outcomes, 1):
        for key in ("domain", "plan", "seed", "trials", "pending"):
            assert run[key] == whole[key], (k, key)


# --- one at a time -------------------------------------------------------------------------------

SECOND = """
import sys
from study.test_study_files import opened

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
from study.test_study_files import opened

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


TOLD_BESIDE = """
import sys
from study.test_study_files import opened

with opened(sys.argv[1]) as study:
    study.tell([0.9], 9.0)
"""


@pytest.mark.parametrize("way", ["no lock", "another name"])
def test_what_another_process_told_the_same_file_is_never_dropped(way: str, tmp_path: Path) -> None:
    """Where the lock was removed by hand, or the file opened under a second name: both readings are
    kept, one in the file, one in the error."""
    file, beside = tmp_path / "study.json", tmp_path / "second.json"
    study = opened(file)
    study.tell([0.1], 1.0)
    if way == "no lock":
        beside = file
        (tmp_path / ".study.json.lock").unlink()
    else:
        beside.hardlink_to(file)
    run_script(TOLD_BESIDE, str(beside))
    for n_told, x in ((2, 0.3), (3, 0.5)):
        with pytest.raises(
            OSError, match=r"another run has written to this file.*study\.json"
        ) as caught:
            study.tell([x], 2.0)
        assert len(caught.value.result.trials) == n_told  # type: ignore[attr-defined]
    assert [trial.y for trial in ub.Result.load(file).trials] == [1.0, 9.0]


def test_a_file_that_was_removed_or_holds_no_more_than_is_known_is_written_anew(tmp_path: Path) -> None:
    file = tmp_path / "study.json"
    study = opened(file)
    study.tell([0.1], 1.0)
    file.unlink()
    study.tell([0.3], 2.0)
    study.save(file)  # without the steps that led there
    study.tell([0.5], 3.0)
    file.write_bytes(file.read_bytes() + b'{"told": [{"num')
    study.tell([0.7], 4.0)
    assert [trial.y for trial in ub.Result.load(file).trials] == [1.0, 2.0, 3.0, 4.0]
    study.close()
    assert len(opened(file).trials) == 4


# --- the file ------------------------------------------------------------------------------------


def test_a_step_is_a_line_at_the_end_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also a retraction; what stood there stays as it is, and the line is on the disk in the end."""
    file, fsync, synced = tmp_path / "study.json", os.fsync, [b""]

    def look(handle: int) -> None:
        fsync(handle)
        synced.append(file.read_bytes())

    study = opened(file)
    study.ask()
    contents = [file.read_bytes()]
    monkeypatch.setattr(os, "fsync", look)
    for step in (
        lambda: study.tell(study.pending[0], 0.5),
        lambda: study.ask(2),
        lambda: study.tell([0.3], None),
        lambda: study.retract(1, "typing error"),
        lambda: study.tell(study.pending[1], 0.25),
    ):
        step()
        contents.append(file.read_bytes())
        assert synced[-1] == contents[-1]
        assert contents[-1].startswith(contents[-2])
        assert contents[-1].count(b"\n") == contents[-2].count(b"\n") + 1
    steps = [next(iter(line)) for line in lines_of(file)]
    assert steps[-5:] == ["told", "asked", "told", "told", "told"]
    study.close()
    assert_same_run(opened(file).result(), study.result())
    assert len(file.read_bytes()) == len(contents[-1])


@pytest.mark.parametrize("rest", [b"", b"\n", b"\x00\x00", b"{", b'{"told": [{"number": 3, "x"'])
def test_a_line_that_was_cut_off_costs_that_step_alone(rest: bytes, tmp_path: Path) -> None:
    """As a kill or a power cut leaves it. Reading it changes nothing; the next step puts it right."""
    file = tmp_path / "study.json"
    with opened(file) as study:
        study.tell([0.1], 1.0)
        study.tell([0.3], 2.0)
    whole = file.read_bytes()
    torn = whole[:-1] if rest == b"\n" else whole + rest
    file.write_bytes(torn)
    assert [trial.y for trial in ub.Result.load(file).trials] == [1.0, 2.0]
    with opened(file) as study:
        assert file.read_bytes() == torn
        study.tell([0.5], 3.0)
        study.tell([0.7], 4.0)
    assert [trial.y for trial in ub.Result.load(file).trials] == [1.0, 2.0, 3.0, 4.0]
    assert len(lines_of(file)) == 5


FULL = """
import os, resource, sys
from pathlib import Path
import unbribable as ub
from study.test_study_files import opened

file = Path(sys.argv[1])
study = opened(file)
study.tell([0.1], 1.0)
before = file.read_bytes()
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 30, most))
try:
    study.tell([0.3], 2.0)
except OSError as error:
    print(error.filename == str(file), len(error.result.trials), file.read_bytes() == before)
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
study.tell([0.5], 3.0)
print([trial.y for trial in ub.Result.load(file).trials])
print(*sorted(os.listdir(file.parent)))
"""


def test_a_file_that_takes_half_a_line_has_none_of_it(tmp_path: Path) -> None:
    """As on a full disk; the reading is kept in memory, and comes with the next one."""
    said = run_script(FULL, str(tmp_path / "study.json")).splitlines()
    assert said == ["True 2 True", "[1.0, 2.0, 3.0]", ".study.json.lock study.json"]


def test_a_name_too_long_to_be_written_is_refused_when_it_is_opened(tmp_path: Path) -> None:
    n_most = os.pathconf(tmp_path, "PC_NAME_MAX") - 38
    with opened(tmp_path / ("a" * n_most)) as study:
        study.tell([0.1], 1.0)
    words = ("name of a file must have at most", str(n_most), f"got {n_most + 1}")
    assert_refused(lambda: opened(tmp_path / ("a" * (n_most + 1))), ValueError, words)
    assert_refused(lambda: opened(tmp_path / ("a" * (n_most - 1) + "é")), ValueError, words)


@pytest.mark.parametrize("kind", ["device", "pipe", "folder"])
def test_a_file_that_is_none_is_refused_when_it_is_opened(kind: str, tmp_path: Path) -> None:
    """A device may never end, and a pipe waits for somebody to write."""
    file = tmp_path / "study.json"
    if kind == "device":
        file.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(file)
    else:
        file.mkdir()
    for call in (lambda: opened(file), lambda: ub.Result.load(file), lambda: ub.Study.load(file)):
        assert_refused(call, ValueError, ("must be a regular file", str(file)))
    assert list(tmp_path.iterdir()) == [file]


def test_what_a_killed_process_has_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    """But nothing that may still be written, and no file of anybody else's."""
    file, digits = tmp_path / "study.json", "0123456789abcdef" * 2
    ours = tmp_path / f".study.json.{digits}.tmp"
    others = [
        tmp_path / f".study.json.{digits[::-1]}.tmp",  # just written
        tmp_path / f".other.json.{digits}.tmp",
        tmp_path / f".study.json.{digits[1:]}.tmp",
        tmp_path / f".study-json.{digits}.tmp",
        tmp_path / f"study.json.{digits}.tmp",
    ]
    for path in (ours, *others):
        path.touch()
    for path in (ours, *others[1:]):
        os.utime(path, (0, 0))
    opened(file).close()
    assert sorted(tmp_path.iterdir()) == sorted(others)


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
