"""Every example runs, in a new directory, and says what it promises."""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(path, *words, cwd):
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    program = {".py": [sys.executable], ".sh": ["sh"]}.get(path.suffix, [])
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


@pytest.mark.long
def test_a_noisy_function(tmp_path):
    said = run(EXAMPLES / "noisy_function.py", cwd=tmp_path)
    assert said.startswith("use x = [")
    assert "best reading: 4 " in said, "the naive best is a lie"


@pytest.mark.long
def test_an_optuna_study_goes_on_when_it_is_run_again(tmp_path):
    first = run(EXAMPLES / "optuna_study.py", "s.db", cwd=tmp_path)
    assert first.startswith("20 trials")
    assert "value -1" in first, "Optuna's best is a lie"
    assert "'layers': 3" in first
    assert run(EXAMPLES / "optuna_study.py", "s.db", cwd=tmp_path).startswith("40 trials")


@pytest.mark.long
def test_a_shell_driven_instrument(tmp_path):
    said = run(EXAMPLES / "instrument.sh", "3", cwd=tmp_path)
    assert "use power=" in said
    assert (tmp_path / "unbribable.db").exists()


@pytest.mark.long
def test_hyper_parameters_with_a_lying_evaluator(tmp_path):
    pytest.importorskip("optuna_integration")
    said = run(EXAMPLES / "sklearn_search.py", cwd=tmp_path)
    assert "recommended: accuracy on unseen digits 0.9" in said


STAND_IN = """
import contextlib, json

def _write(*row):
    with open("logged.jsonl", "a") as file:
        file.write(json.dumps(row) + chr(10))

def log_metric(key, value, step):
    _write("metric", key, float(value), step)

def log_params(params):
    _write("params", params)

def log_dict(dictionary, artifact_file):
    _write("dict", artifact_file, dictionary)

@contextlib.contextmanager
def start_run():
    _write("began")
    yield
    _write("ended")
"""
"""What the example uses of MLflow, with MLflow's names of the arguments."""


@pytest.mark.long
def test_a_run_that_mlflow_follows(tmp_path):
    (tmp_path / "mlflow.py").write_text(STAND_IN)
    example = tmp_path / "mlflow_callback.py"
    example.write_text((EXAMPLES / example.name).read_text())
    run(example, cwd=tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "logged.jsonl").read_text().splitlines()]
    kinds = [row[0] for row in rows]
    assert kinds[:2] == ["began", "params"]
    assert kinds[-2:] == ["dict", "ended"]
    steps = {
        key: [row[3] for row in rows if row[:2] == ["metric", key]] for key in ("reading", "expected")
    }
    assert steps["reading"] == steps["expected"] == list(range(1, 21))
    assert rows[-2][2]["left_to_gain"]["not_yet"] in (None, "alone", "false")


@pytest.mark.long
def test_a_player_and_an_adversary_of_ones_own_in_a_sweep(tmp_path):
    """Copied beside their spec, played by two workers; the report needs neither of the classes."""
    pytest.importorskip("distributed")
    pytest.importorskip("matplotlib")
    beside, here = tmp_path / "spec", tmp_path / "here"
    beside.mkdir()
    here.mkdir()
    files = ["own_sweep.toml", "own_player.py", "own_adversary.py"]
    for name in files:
        (beside / name).write_text((EXAMPLES / name).read_text())
    command = Path(sys.executable).parent / "unbribable"
    sweep = run(command, "sweep", beside / files[0], "--out", "out", "--workers", "2", cwd=here)
    assert sweep.startswith("18 runs in out: 0 were there, 18 played")
    for name in files:
        (beside / name).unlink()
    data = json.loads(run(command, "report", "out", "--json", cwd=here))
    assert (data["n_records"], data["missing"], data["skipped"], data["failed"]) == (18, [], [], [])
    cells = {(row["algorithm"], row["adversary"]): row for row in data["tables"]["cells"]}
    assert len(cells) == 6
    guest = cells["epsilon-greedy", "grudge"]
    assert guest["n_seeds"] == 3
    assert guest["spent_mean"] == pytest.approx(3.0)
    assert guest["certificate_mean"] is guest["coverage"] is None
    covered = {row["algorithm"] for row in data["tables"]["coverage"]}
    assert covered == {"GP-UCB", "RobustGPUCB"}
    figures = {Path(file).name for file in data["files"]}
    assert figures >= {"regret.png", "corruption.png", "coverage.png", "posterior_1.png"}
    text = (here / "out" / "report" / "report.md").read_text()
    assert "Left out, epsilon-greedy" in text
    assert "a report does not load own_player:EpsilonGreedy" in text


def test_an_own_player_is_as_short_as_promised():
    assert len((EXAMPLES / "own_player.py").read_text().splitlines()) <= 40


def test_there_is_a_test_for_every_example():
    text = Path(__file__).read_text(encoding="utf-8")
    assert all(path.name in text for path in EXAMPLES.iterdir() if path.is_file())


def outputs(name, folder):
    """What each code cell of a notebook shows, by its source."""
    notebook = nbformat.read(EXAMPLES / name, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "outputs are not kept"
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    return {cell.source: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}


def printed(shown):
    """All that was printed, in one text."""
    return "".join(each.text for cell in shown.values() for each in cell if each.output_type == "stream")


@pytest.mark.long
def test_a_notebook_shows_a_bar_and_every_figure_without_being_told_to(tmp_path):
    shown = outputs("stuck.ipynb", tmp_path)
    figures = [source for source in shown if source.startswith("ub.plot_")]
    assert len(figures) == 5
    for source in figures:
        (only,) = shown[source]
        assert base64.b64decode(only.data["image/png"]).startswith(b"\x89PNG"), source
        assert only.metadata["image/png"]["width"] > 300
    bar, answer = next(iter(shown.values()))
    assert bar.data["text/plain"].startswith("round 24/24 ██████████ ")
    assert "use temp=" in answer.data["text/plain"]
    said = printed(shown)
    assert said.count(" 5.0 expected ") >= 2, "stuck readings are flagged"
    assert "use temp=4" in said, "and the study goes on to the oven's best"


@pytest.mark.long
def test_the_audit_of_a_mess_finds_the_false_readings_and_says_what_it_left_out(tmp_path):
    said = printed(outputs("mess.ipynb", tmp_path))
    assert "got 'overload' in line 32" in said
    assert "'Run #' only counts the rows" in said
    assert "false: 5, of these found: 5, honest readings flagged: 0" in said
    assert (tmp_path / "audit.html").exists()


@pytest.mark.long
def test_an_attack_on_a_method_of_ones_own_shows_who_is_fooled_and_for_how_little(tmp_path):
    said = printed(outputs("attack.ipynb", tmp_path))
    rows = [line.split() for line in said.splitlines() if line.startswith(("nobody", "hide the top 3"))]
    clean, hidden, _, spent = ([float(word) for word in row[-4:]] for row in rows)
    mean, median, plain, robust = hidden
    assert max(clean) < 0.02
    assert robust < 0.05 < min(mean, median, plain)
    assert spent[2] < spent[3] / 2, "GP-UCB is fooled for less than half of what RobustGPUCB withstands"
