"""The command line: words in, tables or JSON out, and an exit code that tells the truth."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("typer")

from typer.testing import CliRunner

import unbribable as ub
from unbribable.cli import demo, main
from unbribable.cli.main import app
from unbribable.extras import missing
from unbribable.theory import compiled

SPEC = """
name = "tiny"
T = 10
seeds = 2
noise_std = {noise}
budgets = [2]
objective = {{ kind = "figure_1", n = 15 }}
assumptions = {{ lam = 0.05 }}
[[algorithms]]
label = "baseline"
kind = "GPUCB"
[[algorithms]]
kind = "RobustGPUCB"
[[adversaries]]
kind = "silent"
base = {{ kind = "flip" }}
[[adversaries]]
kind = "none"
[profiles.full]
seeds = 3
"""


def call(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def plain(result):
    """The JSON of a command that did its job."""
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(SPEC.format(noise=0.1))
    return path


# --- help and usage ----------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["demo", "run", "sweep", "report", "bound", "audit"])
def test_every_command_explains_itself_with_examples_and_offers_json(command):
    result = call(command, "--help")
    assert result.exit_code == 0
    assert f"unbribable {command}" in result.stdout.split("Examples:")[1]
    assert "--json" in result.stdout


def test_help_lists_every_command():
    result = call("--help")
    assert result.exit_code == 0
    for command in ("demo", "run", "sweep", "report", "bound", "audit"):
        assert f"\n  {command} " in result.stdout


BAD = [
    (["fly"], "fly"),
    (["sweep"], "spec"),
    (["sweep", "missing.toml", "--out", "out"], "missing.toml"),
    (["sweep", "{spec}", "--out", "out", "--profile", "big"], "profile must be one of 'full'"),
    (["sweep", "{spec}", "--out", "out", "--serial", "--workers", "2"], "--serial must come without"),
    (["sweep", "{spec}", "--out", "out", "--workers", "0"], "--workers"),
    (["sweep", "{spec}", "--out", "out", "--scheduler", "nonsense"], "scheduler must be the address of"),
    (
        ["sweep", "{spec}", "--out", "out", "--scheduler", "foo://bar"],
        "got scheduler='foo://bar': unknown",
    ),
    (
        ["sweep", "{plain}", "--out", "out", "--profile", "big"],
        "profile must be left out: this spec has",
    ),
    (["sweep", "{huge}", "--out", "out"], "seeds must be at most 100000, got seeds=3000000000"),
    (["run", "--algorithm", "UCB"], "'RobustGPUCB'"),
    (["run", "--adversary", "region_subtraction"], "adversaries[0].radius must be given"),
    (["run", "--set", "adversary.radius=1"], "got adversaries[0].radius"),
    (["run", "--set", "radius=1"], "--set must be SECTION.KEY=VALUE"),
    (["run", "--rounds", "0"], "--rounds must be >= 1"),
    (["run", "--corruption", "-1"], "--corruption must be finite and >= 0"),
    (["run", "--corruption", "nan"], "--corruption must be finite and >= 0"),
    (["run", "--seed", "-1"], "--seed must be >= 0"),
    (["run", "{spec}", "--rounds", "0"], "--rounds must be one of 10"),
    (["run", "--noise", "-1"], "noise_std must be"),
    (["run", "--profile", "full"], "--profile must come with a spec file"),
    (["run", "{spec}", "--algorithm", "x"], "--algorithm must be one of 'baseline', 'RobustGPUCB'"),
    (["run", "{spec}", "--noise", "0.1"], "must be left out where a spec is given"),
    (["run", "--rounds", "2", "--save", "{folder}"], "a-folder'"),
    (["run", "--save", "nowhere/record.npz"], "--save must be in a directory that exists"),
    (["bound", "--kernel", "cubic"], "kernel.kind must be one of"),
    (["bound", "--noise", "-1"], "noise_std must be"),
    (["bound", "--dimension", "9"], "must fit into 4 GiB, got 100^9 candidates and 10000 rounds"),
    (["bound", "--dimension", "1000000000"], "must fit into 4 GiB"),
    (["bound", "--points", "1", "--dimension", "1000000000"], "must fit into 4 GiB"),
    (["bound", "--points", "100000", "--rounds", "1000000"], "take fewer --points"),
    (["bound", "--points", "0"], "--points must be >= 1"),
    (["bound", "--kernel", "linear", "--lengthscale", "0.1"], "k(x, x) must be <= 1"),
    (["report", "nowhere"], "nowhere"),
    (["demo", "--seeds", "0"], "--seeds"),
]


@pytest.mark.parametrize(("words", "message"), BAD, ids=lambda value: str(value)[:60])
def test_wrong_use_exits_with_2_and_says_what_is_allowed(words, message, spec, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plain, huge = tmp_path / "plain.toml", tmp_path / "huge.toml"
    plain.write_text(SPEC.format(noise=0.1).split("[profiles")[0])
    huge.write_text(SPEC.format(noise=0.1).replace("seeds = 2", "seeds = 3000000000"))
    folder = tmp_path / "a-folder"
    folder.mkdir()
    places = {"spec": spec, "plain": plain, "huge": huge, "folder": folder}
    result = call(*(word.format(**places) for word in words))
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


# --- demo --------------------------------------------------------------------------------------


@pytest.mark.long
def test_demo_is_figure_1(tmp_path):
    pytest.importorskip("matplotlib")
    data = plain(call("demo", "--seeds", "4", "--out", tmp_path, "--json"))
    near = data["near_optimum"]
    assert list(near) == ["GP-UCB", "RobustGPUCB (paper)", "RobustGPUCB (exact)"]
    assert near["GP-UCB"] <= 0.05
    assert near["RobustGPUCB (paper)"] >= 0.5
    assert near["RobustGPUCB (exact)"] >= 0.9
    proven = {"FastSlowGPUCB", "LayeredGPUCB", "LadderGPUCB"}
    assert {row["learner"] for row in data["learners"]} == {*near, *proven}
    assert {row["games"] for row in data["learners"]} == {4}
    found = {row["learner"]: row["found_optimum"] for row in data["learners"]}
    assert found.pop("GP-UCB") <= 0.05
    assert min(found.values()) >= 0.9
    for row in data["learners"]:
        assert row["spent"] <= 3.5 + 1e-9
    assert {path.name for path in tmp_path.iterdir()} == {"figure1.png", "figure1.svg"}


def test_demo_prints_a_table(monkeypatch):
    monkeypatch.setitem(demo._GAME, "T", 20)
    result = call("demo", "--seeds", "1", "--no-figure")
    assert result.exit_code == 0
    for word in ("GP-UCB", "RobustGPUCB (exact)", "LayeredGPUCB", "last 10 of 20 near x*"):
        assert word in result.stdout


# --- run ---------------------------------------------------------------------------------------


def test_run_plays_the_game_of_the_flags(tmp_path):
    words = [
        "run",
        "--algorithm",
        "FastSlowGPUCB",
        "--adversary",
        "region_subtraction",
        "--rounds",
        "30",
    ]
    settings = ["--set", "adversary.radius=0.3", "--set", "objective.candidates.n=25"]
    budget = ["--corruption", "2", "--seed", "4"]
    data = plain(call(*words, *settings, *budget, "--save", tmp_path / "r.npz", "--json"))
    assert data["algorithm"] == "FastSlowGPUCB"
    assert data["rounds"] == 30
    assert data["seed"] == 4
    assert data["corruption"] == data["corruption_assumed"] == 2.0
    assert 0.0 < data["corruption_spent"] <= 2.0
    assert (tmp_path / "r.npz").is_file()


@pytest.mark.parametrize("objective", ["figure_1", "gp_draw", "lower_bound", "random_rkhs"])
def test_run_knows_every_objective_that_needs_no_more(objective):
    data = plain(call("run", "--objective", objective, "--rounds", "3", "--json"))
    assert data["objective"] == objective


def test_run_takes_values_of_tables_and_words():
    settings = ["algorithm.width=paper", "objective.kernel.lengthscale=0.5", "assumptions.B=4"]
    data = plain(call("run", "--rounds", "3", "--json", *(w for s in settings for w in ("--set", s))))
    other = plain(call("run", "--rounds", "3", "--json"))
    assert data["key"] != other["key"]


def test_run_prints_a_table_and_the_guarantee():
    result = call("run", "--rounds", "20")
    assert result.exit_code == 0
    assert "With probability at least 0.9" in result.stdout


def test_run_plays_a_cell_of_a_spec(spec):
    data = plain(call("run", spec, "--algorithm", "baseline", "--seed", "1", "--json"))
    assert (data["algorithm"], data["adversary"], data["seed"]) == ("baseline", "silent", 1)
    clean = plain(call("run", spec, "--adversary", "none", "--json"))
    assert (clean["adversary"], clean["corruption"]) == ("none", 0.0)


# --- sweep and report --------------------------------------------------------------------------


@pytest.mark.long
def test_sweep_then_report(spec, tmp_path):
    pytest.importorskip("matplotlib")
    out = tmp_path / "out"
    data = plain(call("sweep", spec, "--out", out, "--serial", "--json"))
    assert (data["total"], data["kept"], data["done"], data["failed"]) == (8, 0, 8, [])
    more = call("sweep", spec, "--out", out, "--serial", "--profile", "full")
    assert more.exit_code == 0
    assert "12 runs" in more.stdout
    assert "8 were there, 4 played" in more.stdout
    assert more.stderr == ""
    data = plain(call("report", out, "--json"))
    assert data["n_records"] == 12


def test_sweep_plays_a_damaged_run_again_and_says_so(spec, tmp_path):
    out = tmp_path / "out"
    plain(call("sweep", spec, "--out", out, "--serial", "--json"))
    victim = min((out / "runs").iterdir())
    victim.write_bytes(b"")
    renamed = spec.read_text().replace('"baseline"', '"other"')
    spec.write_text(renamed)
    result = call("sweep", spec, "--out", out, "--serial")
    assert result.exit_code == 0
    assert "7 were there, 1 played" in result.stdout
    assert f"played again: {victim}: this file is not a record" in result.stdout
    victim.write_bytes(b"oops")
    data = plain(call("sweep", spec, "--out", out, "--serial", "--json"))
    assert (data["kept"], data["done"]) == (7, 1)
    assert data["damaged"][0].startswith(str(victim))


def test_report_says_what_is_missing_and_what_to_do(spec, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr("unbribable.lab.report.all_figures", lambda *_: iter(()))
    out = tmp_path / "out"
    plain(call("sweep", spec, "--out", out, "--serial", "--json"))
    files = sorted((out / "runs").iterdir())
    files[0].unlink()
    files[1].write_bytes(b"")
    result = call("report", out)
    assert result.exit_code == 0
    assert "2 of the 8 runs of the spec are missing, 0 of them failed" in result.stderr
    assert "1 files skipped" in result.stderr
    (out / "spec.json").write_text("")
    result = call("report", out)
    assert result.exit_code == 2
    assert f"a damaged {out / 'spec.json'}" in result.stderr


def test_sweep_refuses_a_spec_whose_games_cannot_be_built(tmp_path):
    path, out = tmp_path / "broken.toml", tmp_path / "out"
    path.write_text(SPEC.format(noise=0.0))
    result = call("sweep", path, "--out", out, "--serial")
    assert result.exit_code == 2
    assert "adversaries[0]: noise_std must be finite and > 0, got noise_std=0.0" in result.stderr
    assert not out.exists()


def test_sweep_exits_with_1_and_names_the_file_of_each_run_that_failed(tmp_path, monkeypatch):
    def falls(*_):
        raise ZeroDivisionError

    monkeypatch.setattr("unbribable.lab.world.adversaries.Silent.commit", falls)
    path, out = tmp_path / "broken.toml", tmp_path / "out"
    path.write_text(SPEC.format(noise=0.1))
    result = call("sweep", path, "--out", out, "--serial")
    assert result.exit_code == 1
    assert "4 failed" in result.stdout
    files = sorted((out / "failed").iterdir())
    assert len(files) == 4
    for file in files:
        assert str(file) in result.stdout
    result = call("sweep", path, "--out", out, "--serial", "--json")
    assert result.exit_code == 1
    assert sorted(json.loads(result.stdout)["failed"]) == [str(file) for file in files]


# --- bound -------------------------------------------------------------------------------------


def test_bound_gives_gain_widths_budgets_and_regret():
    words = ["--rounds", "200", "--corruption", "5", "--points", "20", "--gap", "0.5"]
    data = plain(call("bound", *words, "--json"))
    assert 0.0 < data["information_gain"]["greedy"] <= data["information_gain"]["upper"]
    assert data["widths"]["corruption (paper)"] == 5.0
    assert data["widths"]["noise (tight)"] < data["widths"]["noise (paper)"]
    assert [(row["theorem"], row["widths"]) for row in data["regret"]] == [
        (theorem, widths)
        for theorem in (
            *("Theorem 5", *["Theorem 9"] * 4, *["Theorem 10"] * 3),
            *("Ladder", "Ladder", "Quorum", "Quorum"),
        )
        for widths in ("paper", "default")
    ]
    for row in data["regret"]:
        assert row["regret"] <= data["trivial"]
        assert row["is_vacuous"] is (row["regret"] == data["trivial"])
    assert len(data["budgets"]) == 1 + 8
    assert set(data["gap"]) == {
        "gap",
        "rounds_until_reported_point_is_within_gap",
        "plays_of_slow_until_worse_points_are_ruled_out",
    }


def test_bound_of_the_default_widths_is_above_the_papers_where_they_are_wider():
    words = ["--norm", "0.1", "--largest", "0.1", "--noise", "1", "--cap", "0.001"]
    sizes = ["--points", "5", "--rounds", "20", "--corruption", "0.001", "--gap", "6"]
    data = plain(call("bound", *words, *sizes, "--json"))
    assert data["widths"]["noise (tight)"] > data["widths"]["noise (paper)"]
    rows = data["regret"]
    for paper, default in zip(rows[::2], rows[1::2], strict=True):
        assert paper["learner"] == default["learner"]
        assert default["theorem_says"] > paper["theorem_says"]
    for name in ("rounds_until_reported", "plays_of_slow"):
        (found,) = [value for key, value in data["gap"].items() if key.startswith(name)]
        assert found["default"] > found["paper"]


def test_bound_counts_lies():
    """More of them cost more, where somebody lies most; their total does nothing."""
    words = ["--rounds", "2000", "--points", "3", "--kernel", "linear", "--lengthscale", "1", "--json"]
    found = {
        (lies, total): {
            (row["learner"], row["widths"]): row["theorem_says"]
            for row in plain(call("bound", *words, "--lies", lies, "--corruption", total))["regret"]
            if row["theorem"] == "Quorum"
        }
        for lies, total in ((2, 5), (2, 50), (4, 5))
    }
    assert found[2, 5] == found[2, 50]
    for widths in ("paper", "default"):
        two = found[2, 5]["QuorumGPUCB, n_lies=2", widths]
        clean = found[2, 5]["QuorumGPUCB, n_lies=2, nobody lies", widths]
        assert two == pytest.approx(3.0 * clean)
        assert two < found[4, 5]["QuorumGPUCB, n_lies=4", widths]
    assert call("bound", "--lies", "-1").exit_code == 2


def test_bound_says_which_widths_a_number_is_for():
    result = call("bound", "--rounds", "50", "--points", "5", "--gap", "0.5")
    assert "(paper widths), " in result.stdout
    assert "(default widths)" in result.stdout
    assert "delta/2 for delta" in result.stdout


@pytest.mark.parametrize("kernel", ["squared_exponential", "matern", "linear"])
def test_bound_prints_tables_for_every_kernel(kernel):
    result = call("bound", "--kernel", kernel, "--lengthscale", "1.0", "--rounds", "50", "--points", "5")
    assert result.exit_code == 0
    for word in ("Information gain of 50 readings", "layer-1", "Theorem 10", "vacuous"):
        assert word in result.stdout


def test_bound_with_uncapped_lies_leaves_out_what_does_not_hold():
    data = plain(call("bound", "--cap", "inf", "--rounds", "50", "--points", "5", "--json"))
    assert {row["theorem"] for row in data["regret"]} == {"Theorem 5", "Quorum"}
    assert data["budgets"] == []


# --- ways in -------------------------------------------------------------------------------------


def test_an_interrupt_exits_with_130(monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "play_demo", interrupted)
    assert call("demo").exit_code == 130


def test_a_missing_extra_exits_with_1_and_the_line_that_installs_it(monkeypatch):
    @main.door
    def command():
        raise missing("figures need", "matplotlib", "plot")

    with pytest.raises(main.typer.Exit) as caught:
        command()
    assert caught.value.exit_code == 1


def python(script):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=120
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.long
def test_without_typer_the_line_that_installs_it_is_printed():
    code, _, errors = python(
        """
        import sys
        sys.modules["typer"] = None
        from unbribable.__main__ import main
        main()
        """
    )
    assert code == 1
    assert 'the command line needs typer: pip install "unbribable[cli]"' in errors
    assert "Traceback" not in errors


@pytest.mark.long
def test_help_needs_neither_matplotlib_nor_dask_nor_rich_tables():
    code, output, errors = python(
        """
        import sys
        sys.argv = ["unbribable", "--help"]
        from unbribable.__main__ import main
        try:
            main()
        except SystemExit as stop:
            assert not stop.code, stop.code
        loaded = {"matplotlib", "distributed", "dask", "unbribable.lab.report"} & set(sys.modules)
        assert not loaded, loaded
        """
    )
    assert code == 0, errors
    assert "Usage: unbribable" in output


def test_the_module_is_the_console_script():
    done = subprocess.run(
        [sys.executable, "-m", "unbribable", "bound", "--kernel", "cubic"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "kernel.kind must be one of" in done.stderr


MISSING_PART = ", without its compiled part: slower, the same results"


def test_the_version_is_printed_and_whether_the_compiled_part_is_missing(monkeypatch):
    for library, words in ((object(), ""), (None, MISSING_PART)):
        monkeypatch.setattr(compiled, "LIBRARY", library)
        assert call("--version").stdout == f"unbribable {ub.__version__}{words}\n"


def test_a_sweep_says_that_a_spec_is_a_program():
    said = " ".join(call("sweep", "--help").stdout.split())
    assert "treat a spec from somebody else as a program" in said
    assert "a call that never returns is not ended" in said


@pytest.mark.long
def test_a_command_starts_without_what_only_others_need():
    script = """
        import sys
        import unbribable.cli.main
        heavy = {"optuna", "matplotlib", "scipy.stats", "pandas", "distributed", "rich", "clarabel"}
        sys.exit(f"imported: {sorted(heavy & sys.modules.keys())}" if heavy & sys.modules.keys() else 0)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.long
@pytest.mark.parametrize("words", [[], ["--json"]])
def test_at_a_terminal_a_bar_is_shown_but_not_under_json(words, spec, tmp_path):
    pty = pytest.importorskip("pty")
    terminal, standard_error = pty.openpty()
    command = [sys.executable, "-m", "unbribable", "sweep", spec, "--serial", "--out", tmp_path, *words]
    subprocess.run(command, stdout=subprocess.PIPE, stderr=standard_error, check=True)
    os.close(standard_error)
    try:
        written = os.read(terminal, 1000)
    except OSError:  # Linux says so where nothing was written
        written = b""
    os.close(terminal)
    assert bool(written) is (not words)
