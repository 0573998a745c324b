"""A sweep plays every run once, wherever it plays them, and survives what fails."""

import errno
import io
import itertools
import json
import logging
import subprocess
import sys
import zipfile
from dataclasses import replace

import distributed
import pytest

from runs.sweeps import assert_same, records
from unbribable.lab.runs import cluster, play
from unbribable.lab.runs.record import Record
from unbribable.lab.runs.spec import read_spec
from unbribable.lab.runs.sweep import Progress, failures, sweep


def spec(n_seeds=3, **changes):
    return read_spec(
        {
            "name": "small",
            "T": 12,
            "seeds": n_seeds,
            "noise_std": 0.1,
            "budgets": [2],
            "objective": {
                "kind": "random_rkhs",
                "kernel": {"kind": "squared_exponential", "lengthscale": 0.2},
                "candidates": {"n": 20},
            },
            "assumptions": {"lam": 0.05},
            "algorithms": [{"kind": "GPUCB"}, {"kind": "LayeredGPUCB"}],
            "adversaries": [{"kind": "top_k"}, {"kind": "none"}],
            **changes,
        }
    )


def test_a_sweep_writes_every_run_once_and_lists_them(tmp_path):
    seen = []
    tally = sweep(spec(), tmp_path, serial=True, on_change=seen.append)
    runs = spec().runs()
    assert (tally.total, tally.kept, tally.done, tally.failed, tally.left) == (12, 0, 12, (), 0)
    assert [state.left for state in seen] == list(range(12, -1, -1))
    assert list(records(tmp_path)) == sorted(run.key for run in runs)
    listed = json.loads((tmp_path / "spec.json").read_text())
    assert listed["runs"] == [run.to_plain() for run in runs]
    assert not failures(tmp_path)
    assert not list(tmp_path.rglob("*.tmp"))


def test_calling_again_plays_only_what_is_new(tmp_path):
    sweep(spec(2), tmp_path, serial=True)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").iterdir()}
    again = sweep(spec(2), tmp_path, serial=True)
    assert (again.kept, again.done) == (8, 0)
    more = sweep(spec(3), tmp_path, serial=True)
    assert (more.kept, more.done) == (8, 4)
    assert before == {path: path.stat().st_mtime_ns for path in before}


def test_renamed_labels_reach_the_records_without_playing_again(tmp_path):
    sweep(spec(1), tmp_path, serial=True)
    renamed = spec(1, algorithms=[{"kind": "GPUCB", "label": "baseline"}, {"kind": "LayeredGPUCB"}])
    assert sweep(renamed, tmp_path, serial=True).done == 0
    labels = {record.meta["run"]["algorithm"] for record in records(tmp_path).values()}
    assert labels == {"baseline", "LayeredGPUCB"}


def damage(path, how):
    """Break a record in place."""
    whole = path.read_bytes()
    if how == "another run's":
        other = next(other for other in sorted(path.parent.iterdir()) if other != path)
        path.write_bytes(other.read_bytes())
    elif how == "an earlier release's":
        record = Record.load(path)
        del record.meta["promised"]
        record.save(path)
    elif how == "one bit":
        with zipfile.ZipFile(path) as archive:  # of an array: zip looks at few bits of its own headers
            starts = sorted(member.header_offset for member in archive.infolist())
        start, end = max(itertools.pairwise(starts), key=lambda both: both[1] - both[0])
        middle = (start + end) // 2
        path.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
    else:
        broken = {"cut off": whole[:-100], "empty": b"", "garbage": bytes(range(256)) * 9}
        path.write_bytes(broken[how])


@pytest.mark.parametrize(
    "how", ["cut off", "empty", "garbage", "one bit", "another run's", "an earlier release's"]
)
def test_a_damaged_record_is_played_again_and_named(how, tmp_path):
    sweep(spec(1), tmp_path / "whole", serial=True)
    sweep(spec(1), tmp_path / "out", serial=True)
    victim = min((tmp_path / "out" / "runs").iterdir())
    damage(victim, how)
    tally = sweep(spec(1), tmp_path / "out", serial=True)
    assert (tally.kept, tally.done, tally.failed) == (3, 1, ())
    (words,) = tally.damaged
    assert str(victim) in words
    assert_same(records(tmp_path / "out"), records(tmp_path / "whole"))
    assert sweep(spec(1), tmp_path / "out", serial=True).damaged == ()


def test_a_record_that_may_not_be_read_is_not_played_over(tmp_path, monkeypatch):
    sweep(spec(1), tmp_path, serial=True)

    def forbidden(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("unbribable.lab.runs.sweep.Record.load", forbidden)
    before = {path: path.read_bytes() for path in (tmp_path / "runs").iterdir()}
    with pytest.raises(PermissionError, match=r"\.npz"):
        sweep(spec(1), tmp_path, serial=True)
    assert before == {path: path.read_bytes() for path in (tmp_path / "runs").iterdir()}


def test_labels_reach_the_records_past_a_spec_without_these_runs(tmp_path):
    sweep(spec(1), tmp_path, serial=True)
    sweep(spec(1, T=13), tmp_path, serial=True)
    renamed = spec(1, algorithms=[{"kind": "GPUCB", "label": "mine"}, {"kind": "LayeredGPUCB"}])
    assert sweep(renamed, tmp_path, serial=True).done == 0
    found = records(tmp_path)
    for run in renamed.runs():
        assert found[run.key].meta["run"]["algorithm"] == run.labels["algorithm"]


def test_swapped_labels_are_swapped_in_the_records(tmp_path):
    learners = [{"kind": "GPUCB", "label": "one"}, {"kind": "GPUCB", "beta": 2.0, "label": "two"}]
    sweep(spec(1, algorithms=learners), tmp_path, serial=True)
    before = {key: record.meta["run"]["algorithm"] for key, record in records(tmp_path).items()}
    (tmp_path / "spec.json").unlink()
    swapped = [{**learners[0], "label": "two"}, {**learners[1], "label": "one"}]
    assert sweep(spec(1, algorithms=swapped), tmp_path, serial=True).done == 0
    other = {"one": "two", "two": "one"}
    after = {key: record.meta["run"]["algorithm"] for key, record in records(tmp_path).items()}
    assert after == {key: other[label] for key, label in before.items()}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"runs": 3}', "[" * 100_000])
def test_a_damaged_list_of_runs_is_written_anew(text, tmp_path):
    sweep(spec(1), tmp_path, serial=True)
    (tmp_path / "spec.json").write_text(text)
    assert sweep(spec(1), tmp_path, serial=True).kept == 4
    assert json.loads((tmp_path / "spec.json").read_text())["name"] == "small"


def test_failures_of_runs_that_the_spec_no_longer_has_are_forgotten(tmp_path):
    silent = {"kind": "silent", "base": {"kind": "flip"}}
    sweep(replace(spec(1, adversaries=[silent]), noise_std=0.0), tmp_path, serial=True)
    assert len(failures(tmp_path)) == 2
    assert sweep(spec(1, adversaries=[silent]), tmp_path, serial=True).failed == ()
    assert failures(tmp_path) == []


def test_a_failure_is_forgotten_once_another_sweep_has_played_the_run(tmp_path):
    sweep(spec(1), tmp_path, serial=True)
    (run, *_) = spec(1).runs()
    note = tmp_path / "failed" / f"{run.key}.json"
    note.write_text(json.dumps({**run.to_plain(), "traceback": "old"}))
    sweep(spec(1), tmp_path, serial=True)
    assert failures(tmp_path) == []


def test_a_full_disk_is_named_with_the_file_and_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("unbribable.files.os.fsync", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*spec\.json'"):
        sweep(spec(1), tmp_path, serial=True)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_run_that_fails_is_reported_with_its_spec_and_the_rest_goes_on(tmp_path):
    silent = {"kind": "silent", "base": {"kind": "flip"}}
    broken = replace(spec(1, adversaries=[silent, {"kind": "none"}]), noise_std=0.0)
    tally = sweep(broken, tmp_path, serial=True)
    assert (tally.done, len(tally.failed), tally.left) == (2, 2, 0)
    notes = failures(tmp_path)
    assert [note["key"] for note in notes] == sorted(tally.failed)
    for note in notes:
        assert note["game"]["adversary"]["kind"] == "silent"
        assert "noise_std must be finite and > 0" in note["traceback"]


def test_a_failure_is_forgotten_once_the_run_succeeds(tmp_path, monkeypatch):
    def fails(run, out):
        raise RuntimeError("out of luck")

    with monkeypatch.context() as patch:
        patch.setattr("unbribable.lab.runs.sweep.run_one", fails)
        tally = sweep(spec(1), tmp_path, serial=True)
    assert len(tally.failed) == len(failures(tmp_path)) == 4
    assert sweep(spec(1), tmp_path, serial=True).done == 4
    assert failures(tmp_path) == []


def test_a_record_that_the_driver_cannot_see_counts_as_failed(tmp_path, monkeypatch):
    monkeypatch.setattr("unbribable.lab.runs.sweep.run_one", lambda run, out: run["key"])
    tally = sweep(spec(1), tmp_path, serial=True)
    assert len(tally.failed) == 4
    assert "must write into the driver's directory" in failures(tmp_path)[0]["traceback"]


def test_a_run_that_exists_is_not_played_again_by_a_worker(tmp_path, monkeypatch):
    (run, *_) = spec(1).runs()
    sweep(spec(1), tmp_path, serial=True)
    monkeypatch.setattr(play, "play", None)
    assert play.run_one(run.to_plain(), str(tmp_path)) == run.key


def test_a_missing_extra_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(
        ModuleNotFoundError, match=r'needs distributed: pip install "unbribable\[sweep\]"'
    ):
        sweep(spec(1), tmp_path)


def test_the_tally_adds_up():
    tally = Progress(total=10, kept=3, done=4, failed=("a",))
    assert tally.left == 2


@pytest.mark.long
@pytest.mark.filterwarnings("default")
def test_workers_give_the_serial_table_bit_for_bit_and_one_that_dies_costs_only_its_run(
    tmp_path, monkeypatch
):
    """One cluster for both: starting one takes seconds."""
    sweep(spec(), tmp_path / "serial", serial=True)
    poisoned = spec().runs()[3].key
    real = cluster.run_or_end

    def run_or_end(run, out):  # a closure: Dask sends it to the workers by value
        import os
        import signal

        if run["key"] == poisoned:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(run, out)

    monkeypatch.setattr(cluster, "run_or_end", run_or_end)
    monkeypatch.setitem(cluster._CONFIG, "distributed.scheduler.allowed-failures", 1)
    tally = sweep(spec(), tmp_path / "dask", n_workers=2)
    assert tally.failed == (poisoned,)
    assert (tally.done, tally.left) == (11, 0)
    (note,) = failures(tmp_path / "dask")
    assert note["key"] == poisoned
    assert "KilledWorker" in note["traceback"]
    expected = records(tmp_path / "serial")
    del expected[poisoned]
    assert_same(records(tmp_path / "dask"), expected)


@pytest.mark.filterwarnings("default")
def test_a_scheduler_that_is_there_already_is_used_and_left_running(tmp_path):
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
    ) as there:
        tally = sweep(spec(1), tmp_path / "dask", scheduler=there.scheduler_address)
        again = sweep(spec(2), tmp_path / "dask", scheduler=there.scheduler_address)
    assert (tally.done, tally.failed) == (4, ())
    assert (again.kept, again.done, again.failed) == (4, 4, ())
    sweep(spec(2), tmp_path / "serial", serial=True)
    assert_same(records(tmp_path / "dask"), records(tmp_path / "serial"))


SCHEDULER = """
import distributed, time
if __name__ == "__main__":
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, protocol="tcp",
        dashboard_address="127.0.0.1:0",
    ) as there:
        print(there.scheduler_address, flush=True)
        time.sleep(600)
"""


@pytest.mark.long
@pytest.mark.filterwarnings("default")
def test_a_scheduler_that_is_lost_ends_the_sweep_in_a_sentence(tmp_path):
    said = io.StringIO()
    handler = logging.StreamHandler(said)
    command = [sys.executable, "-c", SCHEDULER]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as there:
        logging.getLogger("distributed").addHandler(handler)
        try:
            address = there.stdout.readline().strip()
            with pytest.raises(RuntimeError, match=r"the scheduler must stay .* call again"):
                sweep(
                    spec(100),  # more than are handed to the scheduler at a time
                    tmp_path,
                    scheduler=address,
                    on_change=lambda tally: there.kill() if tally.done == 2 else None,
                )
        finally:
            there.kill()
            logging.getLogger("distributed").removeHandler(handler)
    assert said.getvalue() == ""
    assert handler.level == logging.NOTSET
    assert 2 <= len(records(tmp_path)) < 400
