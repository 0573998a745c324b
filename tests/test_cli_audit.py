"""`unbribable audit`: a CSV file in; a verdict, JSON or a page out."""

import json
import unicodedata

import pytest

pytest.importorskip("typer")

from rich.console import Console
from typer.testing import CliRunner

from auditing.experiments import furnace, write
from printed import unwrapped
from unbribable.cli import show
from unbribable.cli.main import app


def call(*words):
    return CliRunner().invoke(app, ["audit", *map(str, words)])


@pytest.fixture
def data(tmp_path):
    return write(tmp_path / "furnace.csv", furnace(0)[0])


def test_lies_in_a_file_are_found_and_nobody_is_accused(data, tmp_path):
    page = tmp_path / "audit.html"
    result = call(data, "--target", "yield", "--json", "--html", page)
    assert result.exit_code == 0, result.output
    found, lies = json.loads(result.stdout), furnace(0)[1]
    flagged = {suspect["t"] - 1 for suspect in found["suspects"]}
    assert len(flagged) >= 4
    assert flagged <= set(lies)
    assert found["least_corruption"] > 1.0
    assert found["x"]["gas"] == "argon"
    assert found["html"] == str(page)
    assert "furnace.csv" in page.read_text(encoding="utf-8")


def test_people_read_the_summary_and_options_reach_the_audit(data):
    words = ("--minimize", "--ignore", "hours", "--corruption", 30, "--noise-std", 0.05)
    result = call(data, "--target", "yield", *words)
    assert result.exit_code == 0, result.output
    assert "of the 50 readings of yield look" in result.stdout
    assert "lies total at most 30" in result.stdout
    assert "hours" not in result.stdout
    best = next(line for line in result.stdout.splitlines() if line.startswith("best reading"))
    assert float(best.split()[2]) == min(furnace(0)[0]["yield"])


def test_the_number_of_lies_reaches_the_audit(data):
    result = call(data, "--target", "yield", "--lies", 7)
    assert ", 7 lies " in unwrapped(result.stdout)


def test_a_wrong_cell_and_a_run_number_that_is_there_twice(tmp_path):
    rows = ["run,temp,yield", "1,400,1.5", "2,410,1.6", "2,410,1.6", "3,420,abc", "4,430,1.2"]
    (tmp_path / "runs.csv").write_text("\n".join(rows), encoding="utf-8")
    result = call(tmp_path / "runs.csv", "--target", "yield")
    assert (result.exit_code, "got 'abc' in line 5;" in result.stderr) == (2, True)
    (tmp_path / "runs.csv").write_text("\n".join(rows).replace("abc", "1.3"), encoding="utf-8")
    result = call(tmp_path / "runs.csv", "--target", "yield")
    assert "use temp=410\n" in result.stdout
    assert "'run' only counts the rows" in result.stdout


def test_what_a_terminal_obeys_is_shown_and_does_not_reach_it(tmp_path):
    evil = "\x1b[31mgas\x1b]0;title\x07\x9b2J\r\x7f"
    rows = [f'temp,"{evil}",yield,"n{evil}"']
    rows += [f'{300 + 7 * k},"{evil if k % 2 else "argon"}",{k % 5},1' for k in range(12)]
    (tmp_path / "evil.csv").write_text("\n".join(rows), encoding="utf-8", newline="")
    answers = [
        call(tmp_path / "evil.csv", "--target", "yield"),
        call(tmp_path / "evil.csv", "--target", "yield", "--json"),
        call(tmp_path / "evil.csv", "--target", "nothing"),
    ]
    assert [answer.exit_code for answer in answers] == [0, 0, 2]
    for answer in answers:
        told = answer.stdout + answer.stderr
        assert not [found for found in told if unicodedata.category(found) == "Cc" and found != "\n"]
        assert "[31mgas" in told
    assert "\\u001b[31mgas\\u001b]0;title\\u0007\\u009b2J" in answers[0].stdout
    assert evil in json.loads(answers[1].stdout)["x"]


@pytest.mark.parametrize("is_terminal", [False, True])
def test_tables_and_notes_of_every_command_go_the_same_way(is_terminal, monkeypatch, capsys):
    monkeypatch.setattr(Console, "is_terminal", is_terminal)
    show.say(show.table("\x1b]0;a\x07", [{"na\x1bme": "ce\x9bll", "value": 1.5}]))
    show.say("file \udcff", is_note=True)
    told = capsys.readouterr()
    assert "\\u001b" in told.out
    assert "ce\\u009bll" in told.out
    assert "\x1b" not in told.out
    assert told.err == "file \\udcff\n"


def test_a_table_without_an_end_is_refused_at_once(tmp_path):
    path = tmp_path / "large.csv"
    path.write_text("a,y\n" + "1,2\n" * 40_000, encoding="utf-8")
    result = call(path, "--target", "y")
    assert "must have at most 10000 rows, got 40000" in result.stderr
    names = [f"x{k}" for k in range(1500)]
    rows = [",".join([*names, "y"]), *(",".join([f"0.{k}"] * 1501) for k in range(1, 4))]
    path.write_text("\n".join(rows), encoding="utf-8")
    result = call(path, "--target", "y")
    assert result.exit_code == 2
    assert "must have at most 100 parameters" in result.stderr
    assert "got 1500; ignore columns" in result.stderr


BAD = {
    "no file": (("nope.csv", "--target", "y"), "No such file"),
    "no column": (("DATA", "--target", "y"), "target must be one of the columns"),
    "no number": (("DATA", "--target", "gas"), "column 'gas' must hold numbers"),
    "no folder": (("DATA", "--target", "yield", "--html", "nowhere/a.html"), "--html must be in a"),
    "corruption": (("DATA", "--target", "yield", "--corruption", "-1"), "corruption must be"),
    "lies": (("DATA", "--target", "yield", "--lies", "-1"), "lies must be a whole number"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_mistake_is_one_line_and_exit_code_two(name, data):
    words, message = BAD[name]
    result = call(*[data if word == "DATA" else word for word in words])
    assert result.exit_code == 2
    assert message in result.output
    assert "Traceback" not in result.output


def test_the_range_of_honest_readings_reaches_the_audit(tmp_path):
    rows = ["temp,yield", *(f"{400 + k},{0.9 - 0.001 * k * k:.4f}" for k in range(12)), "405,-3"]
    (tmp_path / "t.csv").write_text("\n".join(rows), encoding="utf-8")
    result = call(tmp_path / "t.csv", "--target", "yield", "--reading-range", "0:1", "--json")
    found = json.loads(result.stdout)
    (suspect,) = [each for each in found["suspects"] if each["is_certain"]]
    assert (suspect["y"], suspect["reasons"][0]["kind"]) == (-3.0, "impossible")
    assert found["least_lies"] == 1
    assert found["by_lies"][-1][2] <= 1.0
    for wrong in ("0", "0:x", "2:1"):
        refused = call(tmp_path / "t.csv", "--target", "yield", "--reading-range", wrong)
        assert refused.exit_code == 2
        assert "range must" in refused.stderr or "low < high" in refused.stderr
