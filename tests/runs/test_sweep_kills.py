"""A sweep of 200 runs loses its worker and its driver to SIGKILL, and nothing else."""

import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from runs.sweeps import assert_same, records
from unbribable.lab.runs.spec import load_spec
from unbribable.lab.runs.sweep import sweep

SPEC = """
name = "kills"
T = 40
seeds = 50
noise_std = 0.1
budgets = [2]

[objective]
kind = "random_rkhs"
kernel = { kind = "squared_exponential", lengthscale = 0.2 }
candidates = { n = 20 }

[assumptions]
lam = 0.05

[[algorithms]]
kind = "GPUCB"

[[algorithms]]
kind = "RobustGPUCB"

[[adversaries]]
kind = "top_k"

[[adversaries]]
kind = "none"
"""
N_RUNS = 200
PATIENCE = 240.0
"""Seconds until something that takes a few is given up: machines can be busy."""


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "kills.toml"
    path.write_text(SPEC)
    return path


def start(spec, out, *options):
    command = [sys.executable, "-m", "unbribable", "sweep", str(spec), "--out", str(out), *options]
    return subprocess.Popen(
        command,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # the background ignores it
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(condition, process=None):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


def n_done(out):
    return len(list((out / "runs").glob("*.npz")))


def workers(process):
    """The Dask workers among the children."""
    children = psutil.Process(process.pid).children(recursive=True)
    return [child for child in children if "spawn_main" in " ".join(child.cmdline())]


def is_gone(process):
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


@pytest.mark.long
def test_a_killed_worker_and_a_killed_driver_cost_nothing(spec, tmp_path):
    out = tmp_path / "killed"
    driver = start(spec, out, "--workers", "2")
    wait_for(lambda: n_done(out) >= 10, driver)
    first, *_ = workers(driver)
    first.kill()
    wait_for(lambda: n_done(out) >= 60, driver)
    left_behind = workers(driver)
    driver.kill()
    driver.communicate()
    n_before = n_done(out)
    assert 60 <= n_before < N_RUNS
    wait_for(lambda: all(is_gone(worker) for worker in left_behind))

    resumed = start(spec, out, "--workers", "2", "--json")
    output, errors = resumed.communicate(timeout=PATIENCE)
    assert resumed.returncode == 0, errors
    result = json.loads(output)
    assert result["failed"] == []
    assert result["kept"] >= n_before
    assert result["kept"] + result["done"] == N_RUNS

    tally = sweep(load_spec(spec), tmp_path / "serial", serial=True)
    assert tally.done == N_RUNS
    assert_same(records(out), records(tmp_path / "serial"))


@pytest.mark.long
def test_control_c_exits_with_130_and_the_line_that_resumes(spec, tmp_path):
    out = tmp_path / "interrupted"
    driver = start(spec, out, "--workers", "2")
    wait_for(lambda: n_done(out) >= 5, driver)
    os.killpg(driver.pid, signal.SIGINT)  # a terminal sends it to the whole group
    output, errors = driver.communicate(timeout=PATIENCE)
    assert driver.returncode == 130, errors
    assert f"unbribable sweep {spec} --out {out} --workers 2" in errors
    assert "Traceback" not in errors
    assert output == ""
    assert 5 <= n_done(out) < N_RUNS


@pytest.mark.long
def test_control_c_in_a_serial_sweep_does_the_same(spec, tmp_path):
    out = tmp_path / "interrupted"
    driver = start(spec, out, "--serial")
    wait_for(lambda: n_done(out) >= 5, driver)
    driver.send_signal(signal.SIGINT)
    _, errors = driver.communicate(timeout=PATIENCE)
    assert driver.returncode == 130, errors
    assert f"unbribable sweep {spec} --out {out} --serial" in errors
    assert "Traceback" not in errors
