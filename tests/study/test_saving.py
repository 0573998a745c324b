"""maximize(file=...): one run at a time, and what a failing disk leaves."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import pytest

import unbribable as ub
from study.scripted import PLANS, Scripted, assert_refused, assert_same_run, trials_of
from unbribable.study import files

WORDS: dict[str, Any] = {**PLANS["given, unknown"], "n_rounds": 9, "seed": 4}
IN_USE = ("a file is for one run at a time", "process", "wait until it has ended", "another file")


# --- one run at a time ---------------------------------------------------------------------------

HOLDS = """
import os, sys, time
import unbribable as ub
from study.scripted import PLANS, Scripted

told = Scripted()

def f(x):
    y = told(x)
    if told.round == 5:
        child = os.fork()
        if child == 0:
            time.sleep(600)
            os._exit(0)
        print(child, flush=True)
        sys.stdin.read()
    return y

ub.maximize(f, n_rounds=9, seed=4, file=sys.argv[1], **PLANS["given, unknown"])
"""


def test_a_file_in_use_is_refused_until_its_process_is_gone(tmp_path: Path) -> None:
    """With a sentence that names the process. Killed, it leaves nothing that stands in the way, even
    if a child of it lives on; and the run goes on exactly."""
    file = tmp_path / "run.json"
    folders = [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    owner = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(HOLDS), str(file)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert owner.stdout is not None
    child = int(owner.stdout.readline())
    try:
        before, f = file.read_bytes(), Scripted()
        words = (*IN_USE, str(file), f"process {owner.pid} ")
        assert_refused(lambda: ub.maximize(f, file=file, **WORDS), RuntimeError, words)
        assert f.points == []
        assert file.read_bytes() == before
        owner.kill()
        owner.wait()
        run = ub.maximize(Scripted(first=5), file=file, **WORDS)
    finally:
        os.kill(child, signal.SIGKILL)
        owner.kill()
        owner.communicate()
    assert_same_run(run, ub.maximize(Scripted(), **WORDS))
    assert list(tmp_path.iterdir()) == [file], "nothing else is left"


def test_of_four_threads_on_one_file_three_are_refused(tmp_path: Path) -> None:
    """With a sentence; f waits for that, so that all four want the file at once."""
    file, told, refused = tmp_path / "run.json", Scripted(), threading.Semaphore(0)
    outcomes: list[Any] = []

    def f(x: Any) -> Any:
        if not told.points:
            for _ in range(3):
                assert refused.acquire(timeout=60)
        return told(x)

    def run() -> None:
        try:
            outcomes.append(ub.maximize(f, file=file, **WORDS))
        except BaseException as error:
            outcomes.append(error)
            refused.release()

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    *errors, whole = outcomes
    assert [type(error) for error in errors] == [RuntimeError] * 3, errors
    for word in (*IN_USE, str(file), f"process {os.getpid()} "):
        assert all(word in str(error) for error in errors)
    assert_same_run(whole, ub.maximize(Scripted(), **WORDS))


def test_a_file_is_the_same_by_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link is followed when the run is written too: it is the file behind it that changes."""
    file, link = tmp_path / "run.json", tmp_path / "link.json"
    link.symlink_to(file)
    monkeypatch.chdir(tmp_path)

    def f(x: Any) -> float:
        for name in (file, "run.json", "link.json"):
            with pytest.raises(RuntimeError, match="one run at a time"):
                ub.maximize(Scripted(), file=name, **WORDS)
        return 0.1

    run = ub.maximize(f, file=link, **WORDS)
    assert run.n_failed == 0
    assert link.is_symlink()
    assert trials_of(ub.Result.load(file)) == trials_of(run)


def test_a_run_that_raises_leaves_the_file_free(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    for k, end in ((3, SystemExit(1)), (5, ZeroDivisionError())):
        first = 1 if k == 3 else 3
        with pytest.raises(type(end)):
            ub.maximize(Scripted(script={k: end}, first=first), file=file, **WORDS, on_error="raise")
        assert list(tmp_path.iterdir()) == [file]
    assert len(ub.maximize(Scripted(first=5), file=file, **WORDS).trials) == 9


def test_a_lock_that_the_run_before_removed_in_that_moment_is_not_taken_for_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opened before, locked after: then the next one would lock another file of that name."""
    beside, lock, calls = tmp_path / ".run.json.lock", files._lock, [0]

    def late(handle: int) -> None:
        calls[0] += 1
        if calls[0] == 1:
            beside.unlink()
        lock(handle)

    monkeypatch.setattr(files, "_lock", late)
    with files.locked(tmp_path / "run.json"):
        assert calls == [2]
        assert beside.read_text(encoding="utf-8") == f"{os.getpid()}\n"
    assert list(tmp_path.iterdir()) == []


def test_where_nothing_can_be_locked_the_run_goes_on_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on some network file systems."""

    def none(*_: Any) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "lockf", none)
    file = tmp_path / "run.json"
    with pytest.warns(RuntimeWarning, match=r"run\.json cannot be locked .*No locks") as caught:
        run = ub.maximize(Scripted(), file=file, **WORDS)
    assert caught[0].filename == __file__
    assert trials_of(ub.Result.load(file)) == trials_of(run)


# --- in which order ------------------------------------------------------------------------------


def test_the_content_is_on_the_disk_before_the_name_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a file is written as a whole; steps that are appended reach the disk one by one."""
    file, replace, fsync, seen = tmp_path / "run.json", os.replace, os.fsync, []

    def synced(handle: int) -> None:
        seen.append("fsync")
        fsync(handle)

    def look(source: Any, target: Any) -> None:
        seen.append("replace")
        assert Path(target) == file
        replace(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", look)
    run = ub.maximize(Scripted(), file=file, **WORDS)
    assert seen == ["fsync", "replace", "fsync"] + ["fsync"] * 17  # asked and told, nine times
    run.save(file)
    assert seen[20:] == ["fsync", "replace", "fsync"]


# --- a failing disk ------------------------------------------------------------------------------

TROUBLE = {"full": errno.ENOSPC, "read-only": errno.EROFS, "gone": errno.EIO}


def failing(monkeypatch: pytest.MonkeyPatch, step: str, number: int) -> None:
    """From now on a step of saving fails."""

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, step, fail)


@pytest.mark.parametrize("number", TROUBLE.values(), ids=TROUBLE)
@pytest.mark.parametrize("step", ["open", "fsync"])
def test_where_the_run_cannot_be_saved_the_error_names_the_file_and_has_the_result(
    step: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rounds before stay on disk, nothing half done beside them; and the run can go on elsewhere
    from the result in the error, exactly."""
    file, told = tmp_path / "run.json", Scripted()

    def f(x: Any) -> Any:
        if told.round == 5:
            failing(monkeypatch, step, number)
        return told(x)

    with pytest.raises(OSError, match=r"run\.json") as caught:
        ub.maximize(f, file=file, **WORDS)
    monkeypatch.undo()
    assert (caught.value.errno, caught.value.filename) == (number, str(file))
    assert "`result` of this error" in caught.value.__notes__[0]
    assert list(tmp_path.iterdir()) == [file]
    assert len(ub.Result.load(file).trials) == 5
    saved = caught.value.result  # type: ignore[attr-defined]
    assert saved.is_interrupted
    assert len(saved.trials) == 6
    saved.save(tmp_path / "elsewhere.json")
    run = ub.maximize(Scripted(first=7), file=tmp_path / "elsewhere.json", **WORDS)
    assert_same_run(run, ub.maximize(Scripted(), **WORDS))


def test_control_c_on_a_full_disk_has_the_result_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, told = tmp_path / "run.json", Scripted()

    def f(x: Any) -> Any:
        if told.round == 5:
            failing(monkeypatch, "fsync", errno.ENOSPC)
            raise KeyboardInterrupt
        return told(x)

    with pytest.raises(OSError, match=r"No space left on device.*run\.json") as caught:
        ub.maximize(f, file=file, **WORDS)
    assert len(caught.value.result.trials) == 5  # type: ignore[attr-defined]
    assert len(ub.Result.load(file).trials) == 5


def test_control_c_while_saving_keeps_the_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, told, fsync, done = tmp_path / "run.json", Scripted(), os.fsync, []

    def interrupted(handle: int) -> None:
        if told.round == 5 and not done:
            done.append(5)
            raise KeyboardInterrupt
        fsync(handle)

    monkeypatch.setattr(os, "fsync", interrupted)
    run = ub.maximize(told, file=file, **WORDS)
    assert run.is_interrupted
    assert len(run.trials) == 5
    assert trials_of(ub.Result.load(file)) == trials_of(run)
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("step", ["open", "fsync", "replace"])
def test_a_folder_where_nothing_can_be_written_is_refused_before_f_is_asked(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, step, errno.EROFS)
    f, file = Scripted(), tmp_path / "run.json"
    with pytest.raises(OSError, match=r"Read-only file system: .*run\.json'"):
        ub.maximize(f, file=file, **WORDS)
    assert f.points == []
    assert [path for path in tmp_path.iterdir() if path.suffix == ".tmp"] == []
