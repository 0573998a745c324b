"""A column of a table that says what a row was read with: a block, and no parameter."""

import datetime

import numpy as np
import optuna
import pytest

import unbribable as ub
from unbribable.auditing.table import read_table

OFF = {"Ann": -1.0, "Bo": 1.0}


def columns(n=16):
    """Two operators, one of whom reads 2 more than the other."""
    who = ["Ann" if k % 3 else "Bo" for k in range(n)]
    x = [round((0.37 * k) % 1.0, 3) for k in range(n)]
    y = [
        float(np.sin(4.0 * a)) + OFF[b] + 0.01 * (k % 2)
        for k, (a, b) in enumerate(zip(x, who, strict=True))
    ]
    return {"x": x, "operator": who, "y": y}


def test_a_column_is_a_block_and_no_parameter():
    audit = ub.audit(columns(), target="y", block="operator")
    assert audit.result.space.encoding.names == ("x",)
    assert {each.block for each in audit.result.trials} == {"Ann", "Bo"}
    offsets = audit.result.offsets
    assert {name: round(found) for name, (found, _) in offsets.items()} == {"Bo": 1, "Ann": -1}
    assert not audit.suspects
    assert "the offsets of 2 blocks are right to" in " ".join(str(audit).split())
    assert audit.study().offsets() == offsets


def test_a_file_has_it_too_whatever_the_case_and_a_gap_is_no_block(tmp_path):
    rows = columns()
    rows["operator"][3] = ""
    path = tmp_path / "data.csv"
    lines = [",".join(map(str, row)) for row in zip(*rows.values(), strict=True)]
    path.write_text("\n".join(["x,Operator,y", *lines]))
    found = read_table(path, target="y", block="operator")
    assert found.blocks == (*rows["operator"][:3], None, *rows["operator"][4:])
    assert found.space.encoding.names == ("x",)


def test_rows_that_are_left_out_take_their_blocks_with_them():
    rows = columns()
    rows["x"][0] = None
    found = read_table(rows, target="y", block="operator")
    assert found.blocks == tuple(rows["operator"][1:])


def test_labels_are_words_or_numbers_and_dates_become_words():
    rows = {**columns(4), "day": [1, 2.5, datetime.date(2026, 1, 2), True]}
    assert read_table(rows, target="y", block="day").blocks == (1, 2.5, "2026-01-02", "True")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"block": "day"}, r"block must be one of the columns \['x', 'operator'\], got 'day'"),
        ({"block": "operator", "corruption": 1.0}, "needs lies that are counted"),
        ({"block": "y"}, "block must be one of the columns"),
    ],
)
def test_what_is_no_block_is_refused(words, message):
    with pytest.raises(ValueError, match=message):
        ub.audit(columns(), target="y", **words)


def test_an_empty_column_and_points_without_names_have_none():
    with pytest.raises(ValueError, match="column 'operator' must hold the block of each row, got none"):
        read_table({**columns(4), "operator": [None] * 4}, target="y", block="operator")
    with pytest.raises(ValueError, match="block must be the name of a column, got block='day'"):
        ub.audit(np.arange(4.0), np.arange(4.0), block="day")
    with pytest.raises(ValueError, match="says everything itself, got block besides"):
        ub.audit(ub.audit(columns(), target="y").study(), block="operator")


def test_in_a_study_of_optuna_it_is_a_user_attribute():
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study, rows = optuna.create_study(direction="maximize"), columns()
    for x, who, y in zip(*rows.values(), strict=True):
        study.add_trial(
            optuna.create_trial(
                params={"x": x},
                distributions={"x": optuna.distributions.FloatDistribution(0.0, 1.0)},
                value=y,
                user_attrs={"who": who},
            )
        )
    audit = ub.audit(study, block="who")
    assert {name: round(found) for name, (found, _) in audit.result.offsets.items()} == {
        "Bo": 1,
        "Ann": -1,
    }
    with pytest.raises(ValueError, match="block must be a user attribute of a trial, got 'day'"):
        ub.audit(study, block="day")


def test_a_table_whose_rows_are_in_their_order_may_drift():
    rows = columns(20)
    del rows["operator"]
    rows["y"] = [y - OFF["Bo" if k % 3 == 0 else "Ann"] + 0.1 * k for k, y in enumerate(rows["y"])]
    engine = ub.audit(rows, target="y", drift=True).result.engine
    off = [each.y - counted.y for each, counted in zip(engine.told, engine.corrected, strict=True)]
    np.testing.assert_allclose(off, 0.1 * (np.arange(20) - 9.5), atol=0.1)
