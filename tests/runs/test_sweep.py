"""A sweep plays every run once, wherever it plays them, and survives what fails."""

import json

import distributed
import pytest

from runs.sweeps import assert_same, records
from unbribable.runs import cluster, play
from unbribable.runs.spec import read_spec
from unbribable.runs.sweep import Tally, failures, sweep


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


def test_a_run_that_fails_is_reported_with_its_spec_and_the_rest_goes_on(tmp_path):
    silent = {"kind": "silent", "base": {"kind": "flip"}}
    broken = spec(1, noise_std=0.0, adversaries=[silent, {"kind": "none"}])
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
        patch.setattr("unbribable.runs.sweep.run_one", fails)
        tally = sweep(spec(1), tmp_path, serial=True)
    assert len(tally.failed) == len(failures(tmp_path)) == 4
    assert sweep(spec(1), tmp_path, serial=True).done == 4
    assert failures(tmp_path) == []


def test_a_record_that_the_driver_cannot_see_counts_as_failed(tmp_path, monkeypatch):
    monkeypatch.setattr("unbribable.runs.sweep.run_one", lambda run, out: run["key"])
    tally = sweep(spec(1), tmp_path, serial=True)
    assert len(tally.failed) == 4
    assert "must write into the driver's directory" in failures(tmp_path)[0]["traceback"]


def test_a_run_that_exists_is_not_played_again_by_a_worker(tmp_path, monkeypatch):
    (run, *_) = spec(1).runs()
    sweep(spec(1), tmp_path, serial=True)
    monkeypatch.setattr(play, "play", None)
    assert play.run_one(run.to_plain(), str(tmp_path)) == run.key


def test_a_missing_extra_says_how_to_install_it(tmp_path, monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(play.importlib, "import_module", missing)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'unbribable\[sweep\]'"):
        sweep(spec(1), tmp_path)


def test_the_tally_adds_up():
    tally = Tally(total=10, kept=3, done=4, failed=("a",))
    assert tally.left == 2


@pytest.mark.filterwarnings("default")
def test_workers_give_the_serial_table_bit_for_bit_and_one_that_dies_costs_only_its_run(
    tmp_path, monkeypatch
):
    """One cluster for both: starting one takes seconds."""
    sweep(spec(), tmp_path / "serial", serial=True)
    poisoned = spec().runs()[3].key
    real = cluster.run_one

    def run_one(run, out):  # a closure: Dask sends it to the workers by value
        import os
        import signal

        if run["key"] == poisoned:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(run, out)

    monkeypatch.setattr(cluster, "run_one", run_one)
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
