"""What a command loads before it does anything: a script calls one for every reading."""

import contextlib
import os
import subprocess
import sys

import pytest

pytest.importorskip("typer")

from typer.testing import CliRunner

from unbribable.cli.main import app

COMPILED = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
"""As it is for users: modules are compiled once."""

CREATE = ["create", "laser", "--param", "power=0:5", "--param", "pulses=1:200:int:log"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """With a study of three readings."""
    folder = tmp_path_factory.mktemp("study")
    readings = [words for n in "012" for words in (["ask", "laser"], ["tell", "laser", n, f"0.{n}"])]
    with contextlib.chdir(folder):
        for words in (CREATE, *readings):
            assert CliRunner().invoke(app, ["study", *words]).exit_code == 0
    return folder


def imported(*words, at):
    """What a command in a process of its own imports."""
    command = [sys.executable, "-X", "importtime", "-m", "unbribable", *words]
    done = subprocess.run(command, cwd=at, env=COMPILED, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}


@pytest.mark.parametrize(
    ("words", "not_needed"),
    [
        (
            ["--help"],
            ["optuna", "sqlalchemy", "scipy.stats", "scipy.optimize", "scipy.spatial", "matplotlib"],
        ),
        (["study", "ask", "laser"], ["scipy.stats", "matplotlib"]),
    ],
)
def test_a_command_loads_nothing_that_it_does_not_need(folder, words, not_needed):
    modules = imported(*words, at=folder)
    assert "numpy" in modules
    assert not set(not_needed) & modules
