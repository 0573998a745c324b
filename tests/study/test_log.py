"""The logger named "unbribable": what happened in a run, for those who follow it; nothing by default."""

import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import unbribable as ub
from study.scripted import BOX, Scripted, trials_of
from unbribable.study.engine import Engine

SPACE = {"x": (0.0, 1.0), "k": ["a", "b"]}


def f(p: dict[str, Any]) -> float:
    return -((p["x"] - 0.3) ** 2)


def lines(caplog: pytest.LogCaptureFixture, level: int) -> list[str]:
    assert {record.name for record in caplog.records} <= {"unbribable"}, "one logger"
    return [record.getMessage() for record in caplog.records if record.levelno == level]


def test_a_round_is_a_line_with_the_point_the_reading_and_what_was_expected(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO, "unbribable"):
        run = ub.maximize(f, SPACE, 6, seed=0, n_init=3)
    told = lines(caplog, logging.INFO)
    assert len(told) == 6
    assert not lines(caplog, logging.DEBUG)
    for trial, line in zip(run.trials, told, strict=True):
        where = f"x={trial.params['x']:.6g} k={trial.params['k']}"
        assert line.startswith(f"round {trial.t}: {where}, read {trial.y:.6g}")
        assert (", expected " in line) == (trial.t > 3), "nothing is expected before the design is read"
    before = run.at(5)
    (mean,), (sd,) = before.predict([run.trials[5].params])
    expected = told[5].rpartition("expected ")[2].split(" +- ")
    assert [float(word) for word in expected] == [
        pytest.approx(mean, abs=sd),
        pytest.approx(sd, rel=0.1),
    ]


def test_a_failure_a_retraction_and_a_table_are_said(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "unbribable"):
        study = ub.Study(BOX, seed=0, initial=[([0.1], 1.0), ([0.2], 1.1)])
        study.tell([0.5], None, error="the lid was open")
        study.tell([0.6], 2.0)
        study.retract(4, "the wrong sample")
    assert lines(caplog, logging.INFO) == [
        "a table of 2 readings",
        "round 3: x = [0.5], no reading: the lid was open",
        "round 4: x = [0.6], read 2",
        "round 4: x = [0.6], no reading: retracted, was 2.0: the wrong sample",
    ]


def test_files_stops_and_times(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "run.json"
    with caplog.at_level(logging.DEBUG, "unbribable"):
        ub.maximize(f, SPACE, 3, seed=0, file=file)
        ub.maximize(f, SPACE, 4, seed=0, file=file, callbacks=[lambda result, trial: True])
        ub.maximize(f, SPACE, 6, seed=0, file=file, callbacks=[lambda result, trial: True])
    told = [line for line in lines(caplog, logging.INFO) if not line.startswith("round")]
    assert told == [
        f"saved to {file}, after every step",
        f"resumed from {file}: 3 rounds, 0 pending",
        f"resumed from {file}: 4 rounds, 0 pending",
        "stopped: a callback",
    ]
    times = lines(caplog, logging.DEBUG)
    assert sum(line.startswith("asked 1, up to round ") for line in times) == 5
    assert sum(line.startswith(f"saved to {file} in 0.") for line in times) >= 10


def test_who_follows_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    silent = ub.maximize(Scripted(), BOX, 8, seed=0)
    with caplog.at_level(logging.DEBUG, "unbribable"):
        followed = ub.maximize(Scripted(), BOX, 8, seed=0)
    assert trials_of(followed) == trials_of(silent)


def test_a_line_that_cannot_be_worked_out_stops_no_reading(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def predict(*_: Any) -> Any:
        raise ValueError("an amount that is given exceeds what the readings differ by")

    study = ub.Study(BOX, seed=0, n_init=1)
    study.tell([0.1], 1.0)
    monkeypatch.setattr(Engine, "predict", predict)
    with caplog.at_level(logging.INFO, "unbribable"):
        study.tell([0.2], 1.5)
    assert lines(caplog, logging.INFO) == ["round 2: x = [0.2], read 1.5"]
    assert len(study.trials) == 2


def test_nothing_is_printed_unless_somebody_asks_for_it() -> None:
    script = "import unbribable as ub; ub.maximize(lambda x: x[0], [(0, 1)], 3, seed=0, progress=False)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout + done.stderr == ""
