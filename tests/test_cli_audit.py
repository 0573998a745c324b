"""`unbribable audit`: a CSV file in; a verdict, JSON or a page out."""

import json

import pytest

pytest.importorskip("typer")

from typer.testing import CliRunner

from practice.experiments import furnace, write
from printed import unwrapped
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
    assert "if at most 7 of the first 50 readings are lies" in unwrapped(result.stdout)


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
