"""Every example runs, in a new directory, and says what it promises."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(path, *words, cwd):
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    program = [sys.executable] if path.suffix == ".py" else ["sh"]
    done = subprocess.run(
        [*program, path, *words],
        cwd=cwd,
        env={**os.environ, "PATH": beside},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_noisy_function(tmp_path):
    said = run(EXAMPLES / "noisy_function.py", cwd=tmp_path)
    assert said.startswith("use x = [")
    assert "best reading: 4 " in said, "the naive best is a lie"


def test_an_optuna_study_goes_on_when_it_is_run_again(tmp_path):
    first = run(EXAMPLES / "optuna_study.py", "s.db", cwd=tmp_path)
    assert first.startswith("20 trials")
    assert "value -1" in first, "Optuna's best is a lie"
    assert "'layers': 3" in first
    assert run(EXAMPLES / "optuna_study.py", "s.db", cwd=tmp_path).startswith("40 trials")


def test_a_shell_driven_instrument(tmp_path):
    said = run(EXAMPLES / "instrument.sh", "3", cwd=tmp_path)
    assert "use power=" in said
    assert (tmp_path / "unbribable.db").exists()


def test_hyper_parameters_with_a_lying_evaluator(tmp_path):
    pytest.importorskip("optuna_integration")
    said = run(EXAMPLES / "sklearn_search.py", cwd=tmp_path)
    assert "recommended: accuracy on unseen digits 0.9" in said


def test_there_is_a_test_for_every_example():
    text = Path(__file__).read_text(encoding="utf-8")
    assert all(path.name in text for path in EXAMPLES.iterdir())
