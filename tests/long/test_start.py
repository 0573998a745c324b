"""What a command loads before it does anything: a script calls one for every reading."""

import os
import subprocess
import sys

import pytest

COMPILED = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
"""As it is for users: modules are compiled once."""

CREATE = ["create", "laser", "--param", "power=0:5", "--param", "pulses=1:200:int:log"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    started("study", *CREATE, at=folder)
    for number in range(3):
        started("study", "ask", "laser", at=folder)
        started("study", "tell", "laser", number, 0.1 * number, at=folder)
    return folder


def started(*words, at, before=()):
    """What a command in a process of its own writes beside its answer."""
    told = [*before, "-m", "unbribable", *map(str, words)]
    done = subprocess.run([sys.executable, *told], cwd=at, env=COMPILED, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "not_needed"),
    [
        (["--help"], ["optuna", "sqlalchemy", "scipy.stats", "matplotlib"]),
        (["study", "ask", "laser"], ["scipy.stats", "matplotlib"]),
    ],
)
def test_a_command_loads_nothing_that_it_does_not_need(folder, words, not_needed):
    imported = started(*words, at=folder, before=["-X", "importtime"])
    modules = [line.rpartition("|")[2].strip() for line in imported.splitlines()]
    assert "numpy" in modules
    assert not set(not_needed) & set(modules)
