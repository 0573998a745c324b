"""What stands in the tables, as data, CSV and Markdown."""

import csv

import pytest

from report.hand_made import record, write
from unbribable.lab.report.outcomes import load
from unbribable.lab.report.table import Table
from unbribable.lab.report.tables import all_tables

FAST_SLOW = {
    "algorithm": "Fast-Slow",
    "kind": "FastSlowGPUCB",
    "instances": ("fast", "slow", "all"),
    "C_assumed": 1.0,
}


@pytest.fixture
def tables(tmp_path):
    records = [
        record([1.0, 0.0], seed=0, charge=[0.5, 0.0], certificate=None),
        record([1.0, 2.0], seed=1, charge=[0.5, 0.5], simple=0.75, certificate=None),
        record([0.5, 0.0], seed=0, detected=2, **FAST_SLOW),
        record([0.5, 0.5], seed=1, covered={"fast": False, "slow": False, "all": True}, **FAST_SLOW),
    ]
    found = all_tables(load(write(tmp_path, records)), "GP-UCB")
    return {table.name: table for table in found}


def test_the_row_of_a_cell_by_hand(tables):
    gp_ucb, fast_slow = tables["cells"].rows
    assert gp_ucb | {"ms_per_round": 0.0} == {
        "objective": "bump", "T": 2, "adversary": "liar", "C": 1.0, "n_lies": None, "told": None,
        "algorithm": "GP-UCB", "C_assumed": None, "n_seeds": 2,
        "regret_mean": 2.0, "regret_standard_error": pytest.approx(1.0), "regret_median": 2.0,
        "regret_worst": 3.0, "simple_regret_mean": 0.5, "certificate_mean": None, "spent_mean": 0.75,
        "detection_rate": None, "detection_round_median": None, "coverage": None,
        "ms_per_round": 0.0,
    }  # fmt: skip
    assert gp_ucb["ms_per_round"] == pytest.approx(10.0)
    assert fast_slow["detection_rate"] == 0.5
    assert fast_slow["detection_round_median"] == 2.0
    assert fast_slow["coverage"] == 0.5  # slow is promised and failed once; fast is not promised
    assert fast_slow["certificate_mean"] == 0.5
    assert fast_slow["C_assumed"] == 1.0


def test_paired_detection_and_coverage_rows(tables):
    (row,) = tables["paired"].rows
    assert row["algorithm"] == "Fast-Slow"
    assert row["difference_mean"] == pytest.approx((-0.5 - 2.0) / 2)
    assert row["share_better"] == 1.0
    assert row["ratio"] == pytest.approx(0.75 / 2.0)
    (row,) = tables["detection"].rows
    assert (row["n_detected"], row["rate"], row["is_false_alarm"]) == (1, 0.5, False)
    by_instance = {(r["algorithm"], r["instance"]): r for r in tables["coverage"].rows}
    assert by_instance["Fast-Slow", "slow"]["coverage"] == 0.5
    assert by_instance["Fast-Slow", "slow"]["promise"] == pytest.approx(0.9)
    assert by_instance["GP-UCB", "main"]["promise"] is None
    assert tables["slopes"].rows == []


def test_every_row_has_every_column(tables):
    for table in tables.values():
        for row in table.rows:
            assert list(row) == list(table.columns)


def test_csv_keeps_full_precision_and_empty_for_nothing(tables, tmp_path):
    path = tables["cells"].write_csv(tmp_path / "cells.csv")
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == list(tables["cells"].columns)
    assert float(rows[0]["regret_standard_error"]) == tables["cells"].rows[0]["regret_standard_error"]
    assert rows[0]["certificate_mean"] == ""
    assert rows[1]["algorithm"] == "Fast-Slow"


def test_markdown_names_constant_columns_once_and_aligns_the_rest(tables):
    text = tables["cells"].markdown()
    assert "In all rows: objective = bump, T = 2." in text
    head, rule, first, _ = [line for line in text.splitlines() if line.startswith("|")]
    assert head.startswith("| adversary | C | algorithm | C assumed | seeds | R_T mean |")
    assert rule.startswith("| --- | ---: | --- | ---: |")
    assert first.startswith("| liar | 1 | GP-UCB | – | 2 | 2 | 1 | 2 | 3 |")
    assert tables["slopes"].markdown().endswith("Nothing to show.\n")


def test_markdown_escapes_what_would_break_the_table():
    table = Table("t", "T", "note", {"a": "A", "b": "B"}, [{"a": "x* | y", "b": 123456.0}])
    assert table.markdown().splitlines()[-1] == "| x\\* \\| y | 123456 |"
