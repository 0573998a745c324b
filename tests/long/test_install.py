"""Installing: with a C compiler or without, the results are the same to the bit."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("hatchling")
pytest.importorskip("pip")

ROOT = Path(__file__).parents[2]
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="nothing to compare with")

PLAYED = """
import hashlib, json, warnings
import numpy as np
import unbribable as ub
from unbribable import lab
from unbribable.lab.world.adversaries import TopK
from unbribable.lab.world.objectives import figure_1
from unbribable.theory import compiled

warnings.simplefilter("ignore")
assert {root!r} in ub.__file__, ub.__file__


def bits(*parts):
    whole = b"".join(np.asarray(part, dtype=float).tobytes() for part in parts)
    return hashlib.sha256(whole).hexdigest()


objective, found = figure_1(80), {{}}
assumptions = ub.Assumptions(objective.kernel, B=objective.norm, B0=1.0, noise_std=0.05, lam=0.05)
domain = ub.Grid(objective.X)
for player in (
    ub.RobustGPUCB(domain, assumptions, C=3.5),
    ub.LadderGPUCB(domain, assumptions),
    ub.LayeredGPUCB(domain, assumptions, T=60, seed=1),
    ub.FastSlowGPUCB(domain, assumptions, C=3.5, seed=1),
    ub.QuorumGPUCB(domain, assumptions, n_lies=2),
):
    world = lab.Environment(objective, noise_std=0.05, adversary=TopK(objective, K=3), C=3.5)
    record = lab.simulate(player, world, T=60, seed=0)
    best = player.recommend()
    columns = (record.columns["index"], record.columns["y_tilde"])
    claims = (*player.bounds(), best.lower, best.upper, best.regret_bound)
    found[type(player).__name__] = bits(*columns, *claims)

rng = np.random.default_rng(0)


def measure(p):
    return 4.0 if rng.random() < 0.1 else np.sin(5 * p["a"]) + 0.05 * rng.standard_normal()


result = ub.maximize(measure, {{"a": (0.0, 1.0), "b": (0, 3)}}, n_rounds=14, seed=1)
table = [end for _, *ends in result.by_lies for end in ends]
trials = [trial.x for trial in result.trials]
found["maximize"] = bits(*trials, result.lower, result.upper, result.estimate, table)
print(json.dumps([compiled.LIBRARY is not None, found]))
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of what an installation reads, without a library that was built before."""
    tree = tmp_path_factory.mktemp("tree")
    shutil.copytree(ROOT / "src", tree / "src", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, tree / name)
    return tree


def installed(tree, compiler, tmp_path):
    """What an installation with this compiler calls itself, and what it finds."""
    place = tmp_path / "place"
    env = {name: value for name, value in os.environ.items() if name not in ("CC", "PYTHONPATH")}
    env |= {"CC": compiler, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    alone = ["--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check"]
    pip = [sys.executable, "-m", "pip", "install", "-q", *alone, "--target", str(place), str(tree)]
    subprocess.run(pip, env=env, check=True, capture_output=True)
    env["PYTHONPATH"] = str(place)

    def said(*words):
        command = [sys.executable, *words]
        done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    wheel = (next(place.glob("unbribable-*.dist-info")) / "WHEEL").read_text(encoding="utf-8")
    is_compiled, found = json.loads(said("-c", PLAYED.format(root=str(place))))
    return wheel, said("-m", "unbribable", "--version"), is_compiled, found


@pytest.mark.long
@needs_compiler
def test_without_a_compiler_the_results_are_the_same_to_the_bit_and_it_says_that_it_is_slower(
    tree, tmp_path
):
    (tmp_path / "with").mkdir()
    (tmp_path / "without").mkdir()
    wheel, version, is_compiled, found = installed(tree, "cc", tmp_path / "with")
    assert is_compiled
    assert "slower" not in version
    assert "Tag: py3-none-any" not in wheel
    pure, pure_version, is_compiled, pure_found = installed(tree, "false", tmp_path / "without")
    assert not is_compiled
    assert "without its compiled part: slower, the same results" in pure_version
    assert "Tag: py3-none-any" in pure
    assert pure_found == found
    assert len({*found.values()}) == 6


def test_wheels_are_built_once_a_system_and_tested_for_their_library():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
        "cibuildwheel"
    ]
    assert settings["build"] == "cp311-*"
    assert "LIBRARY is not None" in settings["test-command"]
    jobs = (ROOT / ".github/workflows/wheels.yml").read_text(encoding="utf-8")
    assert all(system in jobs for system in ("ubuntu-latest", "macos-latest", "windows-latest"))
    assert 'CC: "false"' in jobs, "the pure wheel"
    assert "upload-artifact" in jobs
    assert not any(word in jobs for word in ("twine", "publish", "https://")), "no index, no address"
