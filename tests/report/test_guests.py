"""Players of any kind in a report: what they show is shown, what they do not claim is not asked."""

from pathlib import Path

import pytest

from report.hand_made import record, write
from unbribable.lab.report import report

pytest.importorskip("matplotlib")

SHY = {"kind": "Shy", "covered": {}, "certificate": None}


def guest(seed, regret=0.5, **words):
    return record([regret] * 6, seed=seed, **{**SHY, **words})


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    games = [record([0.1] * 6, seed=seed) for seed in (0, 1)]
    games += [guest(seed, algorithm="says nothing") for seed in (0, 1)]
    two, three = ("explore", "exploit"), ("a", "b", "c")
    turns = [0, 1, 1, 0, 1, -1]
    games += [guest(seed, algorithm="two", instances=two, instance=turns) for seed in (0, 1)]
    games += [guest(seed, algorithm="three", instances=three, instance=turns) for seed in (0, 1)]
    games += [
        guest(0, algorithm="claims once", covered={"main": False}),
        guest(1, algorithm="claims once"),
    ]
    return report(write(tmp_path_factory.mktemp("guests"), games))


def test_nobody_is_left_out_of_the_tables_of_regret(data):
    assert data["skipped"] == []
    labels = {"GP-UCB", "says nothing", "two", "three", "claims once"}
    assert {row["algorithm"] for row in data["tables"]["cells"]} == labels
    assert {row["algorithm"] for row in data["tables"]["paired"]} == labels - {"GP-UCB"}
    assert data["baseline"] == "GP-UCB"
    quiet = next(row for row in data["tables"]["cells"] if row["algorithm"] == "says nothing")
    assert quiet["regret_mean"] == pytest.approx(3.0)
    assert quiet["certificate_mean"] is quiet["coverage"] is quiet["detection_rate"] is None


def test_coverage_counts_the_games_in_which_bounds_were_claimed(data):
    rows = {row["algorithm"]: row for row in data["tables"]["coverage"]}
    assert rows.keys() == {"GP-UCB", "claims once"}
    assert (rows["GP-UCB"]["n_covered"], rows["GP-UCB"]["n_seeds"]) == (2, 2)
    assert (rows["claims once"]["n_covered"], rows["claims once"]["n_seeds"]) == (0, 1)


def test_players_with_other_instances_have_figures_of_their_own(data):
    figures = {Path(file).name for file in data["files"]}
    assert {"instances_own_1.png", "instances_own_2.png", "coverage.png", "regret.png"} <= figures


def test_a_sweep_in_which_nobody_claims_bounds_has_a_report_without_a_figure_of_them(tmp_path):
    data = report(write(tmp_path, [guest(0), guest(1)]))
    assert data["tables"]["coverage"] == []
    figures = {Path(file).name for file in data["files"]}
    assert "regret.png" in figures
    assert "coverage.png" not in figures
