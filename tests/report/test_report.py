"""From real games to a report: every file, every figure, and what is said when something is missing."""

import csv
import json
import re
import shutil
import struct
import subprocess
import sys
import textwrap
from dataclasses import replace

import numpy as np
import pytest

from unbribable.lab.report import plots, report
from unbribable.lab.report.figures import folded, instance_panels, longest, posterior_figures
from unbribable.lab.report.numbers import spread
from unbribable.lab.report.outcomes import load, runs_of
from unbribable.lab.report.posterior import panel_of
from unbribable.lab.report.table import Table
from unbribable.lab.runs.record import Record
from unbribable.lab.runs.spec import read_spec
from unbribable.lab.runs.sweep import sweep
from unbribable.say.figures.drawing import looks

SPEC = {
    "name": "small",
    "T": [30, 60],
    "seeds": 3,
    "noise_std": 0.05,
    "budgets": [2.0, 4.0],
    "objective": {"kind": "figure_1", "n": 40},
    "assumptions": {"lam": 0.1},
    "algorithms": [
        {"label": "GP-UCB", "kind": "GPUCB"},
        {"label": "Robust", "kind": "RobustGPUCB"},
        {"label": "Fast-Slow", "kind": "FastSlowGPUCB"},
        {"label": "Layered", "kind": "LayeredGPUCB", "with_all": False},
    ],
    "adversaries": [
        {"kind": "none"},
        {"label": "near x*", "kind": "region_subtraction", "radius": 0.12},
    ],
}
N_RUNS = 2 * 3 * (4 * 2 + 2 + 2 * 2)  # horizons, seeds; attacked, clean, clean told each budget
FIGURES = {
    "frontier", "recommended",
    "regret_T30", "regret_T60", "regret_against_C", "regret_against_T", "corruption",
    "instances_fast_slow", "instances_layers", "maximisers", "coverage", "posterior_1", "posterior_2",
}  # fmt: skip
TABLES = {"cells", "paired", "slopes", "detection", "coverage"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A sweep with one broken file, its report, and what the report returned."""
    directory = tmp_path_factory.mktemp("sweep") / "small"
    sweep(read_spec(SPEC), directory, serial=True)
    victim = min((directory / "runs").iterdir())
    victim.write_bytes(victim.read_bytes()[:100])
    return directory, directory / "report", report(directory), victim


@pytest.mark.long
def test_the_report_counts_what_it_read_and_names_what_it_did_not(made):
    _, out, data, victim = made
    assert data["n_records"] == N_RUNS - 1
    assert [skip["file"] for skip in data["skipped"]] == [victim.name]
    assert data["baseline"] == "GP-UCB"
    text = (out / "report.md").read_text(encoding="utf-8")
    assert f"{N_RUNS - 1} games in" in text
    assert "1 files skipped, 0 runs failed" in text
    assert f"skipped `{victim.name}`" in text


@pytest.mark.long
def test_the_report_says_how_many_runs_are_missing_and_what_to_do(made):
    _, out, data, victim = made
    assert (data["n_runs"], data["missing"]) == (N_RUNS, [victim.stem])
    text = (out / "report.md").read_text(encoding="utf-8")
    assert (
        f"1 of the {N_RUNS} runs of the spec are missing, 0 of them failed. Call unbribable sweep"
        in text
    )


@pytest.mark.long
def test_all_files_are_there_and_listed(made):
    _, out, data, _ = made
    expected = {"report.md"} | {f"{name}.csv" for name in TABLES}
    expected |= {f"{name}.{kind}" for name in FIGURES for kind in ("png", "svg")}
    assert {path.name for path in out.iterdir()} == expected
    assert sorted(data["files"]) == sorted(str(path) for path in out.iterdir())


@pytest.mark.long
def test_the_data_is_json_and_what_the_tables_hold(made):
    _, out, data, _ = made
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert set(data["tables"]) == TABLES
    for name, rows in data["tables"].items():
        lines = (out / f"{name}.csv").read_text(encoding="utf-8").splitlines()
        assert len(lines) == len(rows) + 1
    slopes = {(row["against"], row["algorithm"]) for row in data["tables"]["slopes"]}
    assert slopes == {(a, b) for a in "CT" for b in ("GP-UCB", "Robust", "Fast-Slow", "Layered")}


@pytest.mark.long
def test_every_figure_of_the_text_exists(made):
    _, out, _, _ = made
    text = (out / "report.md").read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)]+)\)", text)
    assert len(targets) == 2 * len(FIGURES)
    assert all((out / target).is_file() for target in targets)


@pytest.mark.long
def test_figures_are_as_wide_as_a_column_or_a_page_at_200_dpi(made):
    _, out, _, _ = made
    for path in out.glob("*.png"):
        data = path.read_bytes()
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        width, height = struct.unpack(">II", data[16:24])
        assert width in (680, 1400), path.name
        assert 300 <= height <= 2200, path.name


WORDS = {
    "regret_T60": [
        "round t",
        "(units of f)",
        "GP-UCB",
        "Layered",
        "band: ± 1 standard error",
        "3 seeds",
    ],
    "regret_against_C": ["corruption budget C (units of f, log scale)", "slope", "least squares"],
    "regret_against_T": ["rounds T (log scale)", "slope"],
    "frontier": ["price: regret without lies (log scale)", "promise against weak adversaries, kept"],
    "recommended": ["regret of the recommended", "true regret", "certificate, not promised here"],
    "corruption": ["corruption spent", "budget C"],
    "instances_fast_slow": ["fast", "slow", "share of the rounds"],
    "instances_layers": ["layer-1", "share of the rounds"],
    "maximisers": ["potential maximisers", "layer-1", "band: smallest to largest seed"],
    "coverage": ["Clopper", "Robust", "1 − δ"],
    "posterior_1": ["posterior mean", "corrupted reading", "band: mean ± width", "value (units of f)"],
}


@pytest.mark.long
@pytest.mark.parametrize("name", WORDS)
def test_an_svg_says_in_words_what_it_shows(made, name):
    text = (made[1] / f"{name}.svg").read_text(encoding="utf-8")
    assert "<text" in text
    for words in WORDS[name]:
        assert words in text, words


@pytest.mark.long
def test_panels_that_show_the_same_are_one(made):
    collection = load(made[0])
    found = instance_panels(collection, longest(collection.settings))["_layers"]
    titles = ["Layered\nno adversary", "Layered\nnear x*, C = 2", "Layered\nnear x*, C = 4"]
    assert [*found] == titles, "the draw alone decides, whoever lies"
    assert [*folded(found)] == ["Layered\nno adversary; near x*, C = 2; near x*, C = 4"]
    other = {**found, titles[1]: replace(found[titles[1]], shares=found[titles[1]].shares[:, ::-1])}
    assert [*folded(other)] == ["Layered\nno adversary; near x*, C = 4", titles[1]]


@pytest.mark.long
def test_out_and_baseline_are_the_callers_choice(made, tmp_path, monkeypatch):
    directory = made[0]
    monkeypatch.setattr("unbribable.lab.report.all_figures", lambda *_: iter(()))  # the tables will do
    data = report(directory, tmp_path / "here", baseline="Robust")
    assert (tmp_path / "here" / "report.md").is_file()
    assert data["baseline"] == "Robust"
    assert {row["algorithm"] for row in data["tables"]["paired"]} == {"GP-UCB", "Fast-Slow", "Layered"}
    with pytest.raises(ValueError, match=r"baseline must be one of 'GP-UCB', .* got baseline='Best'"):
        report(directory, tmp_path / "there", baseline="Best")


@pytest.mark.long
def test_a_replay_believes_what_the_game_believed(made):
    """Fast-Slow with its draws: the replayed learner asks exactly what the record says."""
    directory = made[0]
    runs = runs_of(directory)
    for cell, some in load(directory).cells.items():
        path = some[0].file
        panel = panel_of(Record.load(path), runs[path.stem], 20)
        assert panel.t == 20
        assert len(panel.readings_x) == 20
        assert (panel.region is None) == cell.setting.is_clean


@pytest.mark.long
def test_a_replay_of_another_game_is_refused(made):
    directory = made[0]
    runs = runs_of(directory)
    cells = load(directory).cells
    (layered,) = [
        g
        for c, g in cells.items()
        if c.kind == "LayeredGPUCB" and c.setting.T == 60 and c.setting.C == 4.0
    ]
    record = Record.load(layered[0].file)
    with pytest.raises(ValueError, match="the record must be of this game"):
        panel_of(record, runs[layered[1].file.stem], 60)


# --- records and labels that are not to be trusted ------------------------------------------------

LABELS = [r"$\frac{$", r"$\frac{$ $x$", "=2+3", "two\nlines | x", r"$\delta$"]


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    """A report in which every label tries something."""
    odd = {
        **SPEC,
        "T": 8,
        "seeds": 1,
        "budgets": [2.0],
        "objective": {"kind": "figure_1", "n": 12, "label": LABELS[0]},
        "algorithms": [{"label": f"{label}", "kind": "LayeredGPUCB", "alpha": 2.0 + 0.01 * k}
                       for k, label in enumerate(LABELS)],
        "adversaries": [{"label": LABELS[1], "kind": "region_subtraction", "radius": 0.12}],
    }  # fmt: skip
    directory = tmp_path_factory.mktemp("sweep")
    sweep(read_spec(odd), directory, serial=True)
    report(directory)
    return directory / "report"


def test_a_label_that_is_a_broken_formula_is_drawn_as_it_is(labelled):
    for name in ("regret", "coverage", "maximisers", "corruption", "instances_layers"):
        assert r"$\frac{$" in (labelled / f"{name}.svg").read_text(encoding="utf-8"), name


def test_a_label_that_is_a_formula_is_still_drawn_as_one(labelled):
    text = (labelled / "regret.svg").read_text(encoding="utf-8")
    assert r"$\delta$" not in text.replace(r"<!-- $\delta$ -->", "")


def test_words_of_a_csv_file_are_never_formulas_and_numbers_stay_numbers(labelled):
    with (labelled / "cells.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    found = {row["algorithm"] for row in rows}
    assert {"'=2+3", "two\nlines | x"} <= found
    words = {"=1": "'=1", "+1": "'+1", "-1.5": "'-1.5", "@cmd": "'@cmd", "\t=1": "'\t=1", "a=1": "a=1"}
    for word, harmless in words.items():
        table = Table("t", "", "", {"a": "a", "b": "b"}, [{"a": -1.5, "b": word}])
        text = table.write_csv(labelled.parent / "t.csv").read_text(encoding="utf-8")
        assert text == f"a,b\n-1.5,{harmless}\n"


def test_a_label_of_two_lines_leaves_the_markdown_tables_whole(labelled):
    lines = (labelled / "report.md").read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if r"two lines \| x |" in line]
    assert len(rows) >= 3
    for line in rows:
        assert (line[:2], line[-2:]) == ("| ", " |")


@pytest.mark.long
def test_a_record_that_does_not_replay_costs_its_panel_alone(made, tmp_path):
    directory = tmp_path / "tampered"
    shutil.copytree(made[0], directory)
    cells = load(directory).cells
    setting = next(cell.setting for cell in cells if cell.setting.T == 60 and cell.setting.C == 2.0)
    games = next(g for c, g in cells.items() if c.setting == setting and c.algorithm == "Robust")
    record = Record.load(games[0].file)
    columns = {**record.columns, "index": record.columns["index"] + 10_000}
    Record(columns, record.meta).save(games[0].file)
    figures = posterior_figures(load(directory), runs_of(directory))
    captions = [caption for _, caption, _ in figures]
    assert "Left out, Robust (" in captions[0]
    assert "Left out" not in captions[1]


@pytest.mark.long
def test_failures_that_are_over_are_not_counted(made, tmp_path, monkeypatch):
    directory = tmp_path / "sweep"
    shutil.copytree(made[0], directory)
    monkeypatch.setattr("unbribable.lab.report.all_figures", lambda *_: iter(()))
    present = next(path.stem for path in (directory / "runs").iterdir() if path.stem != made[3].stem)
    for key in ("0123456789abcdef", present, made[3].stem):
        (directory / "failed" / f"{key}.json").write_text("{}")
    assert report(directory)["failed"] == [made[3].stem]


def test_without_matplotlib_the_message_is_the_line_that_installs_it(tmp_path):
    script = textwrap.dedent(
        """
        import sys

        class Blocker:
            def find_spec(self, name, path=None, target=None):
                if name.partition(".")[0] == "matplotlib":
                    raise ModuleNotFoundError(f"blocked: {name}", name=name)

        sys.meta_path.insert(0, Blocker())
        from unbribable.lab.report import report
        from unbribable.lab.report import plots

        for call in (lambda: report(sys.argv[1]), lambda: plots.regret({}, {})):
            try:
                call()
            except ModuleNotFoundError as error:
                assert 'pip install "unbribable[plot]"' in str(error), error
            else:
                raise SystemExit("no error")
        """
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("most", "scale"), [(19.0, "linear"), (21.0, "log")])
def test_regrets_are_drawn_on_a_log_scale_where_some_have_twenty_times_as_much(most, scale):
    pytest.importorskip("matplotlib")
    rounds = np.arange(1, 11)
    ends = {"a": 1.0, "b": 3.0, "c": most}
    curves = {name: spread([end * rounds / 10.0] * 2, rounds) for name, end in ends.items()}
    figure = plots.regret({"one": (curves, 1.0)}, looks(ends))
    (ax,) = figure.axes
    assert ax.get_yscale() == scale
    assert ("log scale" in ax.get_ylabel()) == (scale == "log")
