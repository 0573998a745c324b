"""Several processes on one study in a real database, one of which is killed."""

import json
import multiprocessing
import multiprocessing.forkserver
import os
import signal
import time
from pathlib import Path

import optuna
import pytest
from optuna.trial import TrialState

from hosts.optuna_studies import new_study, objective, sampler, storage_at
from hosts.optuna_worker import work
from hosts.postgres import postgres

PATIENCE = 120.0


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def url(request, tmp_path_factory):
    if request.param == "postgresql":
        with postgres() as address:
            yield address
    else:
        yield f"sqlite:///{tmp_path_factory.mktemp('sqlite') / 'study.db'}"


@pytest.fixture
def connect(url):
    """Opens the database; psycopg warns of connections that nobody closes."""
    opened = []

    def one():
        opened.append(storage_at(url))
        return opened[-1]

    yield one
    for storage in opened:
        storage.remove_session()
        storage.engine.dispose()


@pytest.fixture(scope="module")
def start():
    """Starts `work` in a process; they are born of a clean one that has done the imports."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["hosts.optuna_worker", "optuna.storages._rdb.storage"])
    started = []
    with pytest.MonkeyPatch.context() as patched:
        folders = [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
        patched.setenv("PYTHONPATH", os.pathsep.join(folders))  # it does not take over sys.path
        multiprocessing.forkserver.ensure_running()

    def one(*words):
        started.append(context.Process(target=work, args=words))
        started[-1].start()
        return started[-1]

    yield one
    for process in started:
        process.kill()
        process.join()


def wait_for(file, process):
    deadline = time.monotonic() + PATIENCE
    while not (file.exists() and file.read_text()):
        assert process.is_alive()
        assert time.monotonic() < deadline, "the worker did not get there"
        time.sleep(0.02)
    return int(file.read_text())


@pytest.mark.long
def test_four_processes_one_of_them_killed_lose_nothing(url, connect, start, tmp_path):
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    new_study(None, storage=connect(), study_name="s")
    outs = [tmp_path / f"worker-{k}" for k in range(4)]
    # Nobody gives a seed: the first of them chooses one for all.
    victim = start(url, 9, None, outs[0], 2)
    workers = [start(url, 3, None, out) for out in outs[1:]]
    left = wait_for(outs[0].with_suffix(".inside"), victim)
    os.kill(victim.pid, signal.SIGKILL)
    for process in [victim, *workers]:
        process.join(PATIENCE)
    assert [process.exitcode for process in [victim, *workers]] == [-signal.SIGKILL, 0, 0, 0]
    told = [json.loads(line) for out in outs for line in out.read_text().splitlines()]
    assert len(told) == 1 + 3 * 3

    words = {"corruption": "unknown", "seed": None}
    resumed = optuna.load_study(study_name="s", storage=connect(), sampler=sampler(**words))
    resumed.optimize(objective, n_trials=3)
    trials = resumed.get_trials(deepcopy=False)

    # No trial is lost, and none is there twice.
    assert [trial.number for trial in trials] == [*range(14)]
    numbers = [number for number, _ in told]
    assert len(set(numbers)) == len(numbers)
    assert [trials[number].state for number in numbers] == [TrialState.COMPLETE] * 10
    assert [trials[number].values for number in numbers] == [[value] for _, value in told]
    assert [trial.number for trial in trials if trial.state == TrialState.RUNNING] == [left]
    assert resumed.sampler.recommend(resumed).n_trials == 13
