"""Tables of past experiments: what is a parameter, what is left out, what is refused and how."""

import datetime
import re
from decimal import Decimal

import numpy as np
import pytest

import unbribable as ub
from unbribable.auditing import table as tables
from unbribable.auditing.table import read_table

HEADER = "id,date,operator,temp (°C),n,kind,comment,yield [%]"
ROWS = [
    f"{k},2024-01-{k:02d},Ann,{300 + 7 * k}.5,{k % 3},{'ab'[k % 2]},note {k},{k}" for k in range(1, 12)
]
CSV = "\n".join([HEADER, *ROWS]) + "\n"


def table(tmp_path, text, encoding="utf-8", **words):
    """The table of a file with this text."""
    path = tmp_path / "data.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return read_table(path, **{"target": "y", **words})


def test_columns_become_parameters_and_the_others_are_named_with_the_reason(tmp_path):
    found = table(tmp_path, CSV, target="yield")
    assert found.target == "yield [%]"
    assert found.space.encoding.dimensions == {
        "temp (°C)": ub.Real(307.5, 377.5),
        "n": ub.Whole(0, 2),
        "kind": ub.Choice(("a", "b")),
    }
    assert found.points[1] == {"temp (°C)": 314.5, "n": 2, "kind": "a"}
    assert found.y == tuple(map(float, range(1, 12)))
    assert found.labels[:2] == ("line 2", "line 3")
    (note,) = found.notes
    for words in (
        "'id' only counts the rows",
        "'date' holds dates",
        "'operator' has one value, 'Ann'",
        "'comment' holds 11 different words in 11 rows",
    ):
        assert words in note
    assert found.parameters["kind"] == "one of a, b"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_other_encodings_are_read_or_said(tmp_path, encoding):
    found = table(tmp_path, CSV, encoding, target="yield")
    assert [*found.parameters] == ["temp (°C)", "n", "kind"]
    assert any("Windows-1252" in note for note in found.notes) == (encoding == "cp1252")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_separators_are_found_and_decimal_commas_understood(tmp_path, separator):
    rows = [("a", "y"), ("1,5", "2,25"), ("2,5", "-3,5e2")]
    quote = '"' if separator == "," else ""
    text = "\n".join(separator.join(quote + cell + quote for cell in row) for row in rows)
    found = table(tmp_path, text)
    assert [point["a"] for point in found.points] == [1.5, 2.5]
    assert found.y == (2.25, -350.0)


def test_missing_cells_leave_a_row_out_or_make_it_a_failure(tmp_path):
    found = table(tmp_path, "a,y\n1,\n2,3\n,4\n3,NaN\n5,6\n")
    assert found.y == (None, 3.0, None, 6.0)
    assert found.labels == ("line 2", "line 3", "line 5", "line 6")
    assert found.space.encoding.dimensions == {"a": ub.Whole(1, 5)}
    assert found.notes == (
        "Left out, since 'a' is missing: line 4.",
        "Counted as failed, since 'y' is missing: line 2, line 5.",
    )


def test_equal_rows_are_repeated_readings(tmp_path):
    assert table(tmp_path, "a,y\n1,5\n1,5\n2,6\n").y == (5.0, 5.0, 6.0)


def test_a_counter_that_is_the_only_parameter_is_one(tmp_path):
    assert [*table(tmp_path, "day,y\n1,5\n2,6\n3,7\n").parameters] == ["day"]


def test_numbers_over_several_magnitudes_have_a_logarithmic_scale(tmp_path):
    dimensions = table(tmp_path, "r,n,z,y\n1e-5,1,0,1\n1e-3,900,10,2\n1e-1,1000,2,3\n").space.encoding
    assert dimensions.dimensions == {
        "r": ub.Real(1e-5, 0.1, log=True),
        "n": ub.Whole(1, 1000),
        "z": ub.Whole(0, 10),
    }


def test_a_space_chooses_the_columns_and_their_bounds(tmp_path):
    space = {"temp": (0.0, 4.0), "k": ["1", "2"]}
    text = "temp [C],k,b,y\n1,1,x,2\n3,2,y,3\n"
    with pytest.raises(ValueError, match="space must be one of the columns"):
        table(tmp_path, text, space={"pressure": (0.0, 1.0)})
    found = table(tmp_path, text, space=space)
    assert found.points == ({"temp": 1.0, "k": "1"}, {"temp": 3.0, "k": "2"})
    assert found.notes == ("Columns left out, since the space does not name them: b.",)


def test_every_kind_of_source_gives_the_same_table():
    pandas = pytest.importorskip("pandas")
    columns = {"n": [1, 2, 4], "kind": ["a", "b", "a"], "y": [1.0, 2.0, 4.0]}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    frame = pandas.DataFrame(columns, index=[7, 8, 9])
    points = [(row["n"], row["kind"]) for row in rows]
    space = {"n": ub.Whole(1, 4), "kind": ["a", "b"]}
    sources = [
        ((columns,), {"target": "y"}),
        ((rows,), {"target": "y"}),
        ((frame,), {"target": "y"}),
        ((frame[["n", "kind"]], frame["y"]), {}),
        ((points, columns["y"], space), {}),
    ]
    for arguments, words in sources:
        found = read_table(*arguments, **words)
        assert found.space.to_plain() == ub.study.space.Space.of(space).to_plain()
        assert (found.points, found.y) == (({"n": 1, "kind": "a"}, {"n": 2, "kind": "b"},
                                            {"n": 4, "kind": "a"}), (1.0, 2.0, 4.0))  # fmt: skip
    assert read_table(frame, target="y").labels == ("row 7", "row 8", "row 9")


def test_a_data_frame_has_its_own_empty_cells_dates_and_truths():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "n": pandas.array([1, None, 3, 5], dtype="Int64"),
            "m": [1, None, 3, 5],
            "when": pandas.to_datetime(["2024-01-01", "2024-01-02", None, "2024-01-04"]),
            "is_wet": [True, False, True, False],
            "y": [Decimal("1.5"), Decimal(2), Decimal("NaN"), Decimal(4)],
        }
    )
    found = read_table(frame, target="y")
    assert found.space.encoding.dimensions == {
        "n": ub.Whole(1, 5),
        "m": ub.Whole(1, 5),
        "is_wet": ub.Choice((False, True)),
    }
    assert found.y == (1.5, None, 4.0)


def test_arrays_need_no_names():
    found = read_table([[0, np.nan], [3, 4.0], [5, 6]], [1, 2, None])
    assert [*found.space.domain.low, *found.space.domain.high] == [3, 4, 5, 6]
    assert np.array_equal(found.points, [[3, 4], [5, 6]])
    assert found.y == (2.0, None)
    assert found.labels == ()
    assert found.notes == (
        "Left out, since coordinates are missing: row 0.",
        "Counted as failed, since 'y' is missing: row 2.",
    )
    assert read_table([1.0, 2.0], [0, 0]).points[1] == [2.0]


BAD_FILES = {
    "empty": ("", {}, "must have a header and rows, got an empty file"),
    "header alone": ("a,y\n", {}, "must have at least one row"),
    "one row": ("a,y\n1,2\n", {}, "can be a parameter, got none.*'a' has one value, 1"),
    "target alone": ("y\n1\n2\n", {}, "There is no column beside the target"),
    "no target": ("a,b\n1,2\n2,3\n", {"target": None}, "must name the column that was read, one of "),
    "target missing": (
        "a,b\n1,2\n2,3\n",
        {},
        r"target must be one of the columns \['a', 'b'\], got 'y'",
    ),
    "words in target": ("a,y\n1,high\n2,3\n", {}, "column 'y' must hold numbers.*'high' in line 2"),
    "infinite": ("a,y\n1,inf\n2,3\n", {}, "column 'y' must hold numbers.*'inf' in line 2"),
    "no reading": ("a,y\n1,\n2,\n", {}, "at least one reading of 'y', got none"),
    "ignored unknown": ("a,y\n1,2\n2,3\n", {"ignore": ["b"]}, r"ignore must be one of .*, got 'b'"),
    "unit in cells": ("a,y\n1 mL,2\n2 mL,3\n", {}, r"'1 mL' in line 2; put the unit .*'a \[unit\]'"),
    "mixed": ("a,y\n1,2\nx,3\n2,3\n", {}, "column 'a' must hold numbers, or words.*'x' in line 3"),
    "minority of numbers": ("a,y\nA,1\nB,2\n3,3\nA,4\n", {}, "'a' must hold .* got '3' in line 4"),
    "another unit": (
        "a [°C],y\n450,1\n723 K,2\n",
        {},
        "unit of its header or none, got '723 K' in line 3; convert it, leave it empty, or ignore",
    ),
    "another unit read": (
        "a,y (HV)\n1,450\n2,45 HRC\n",
        {"target": "y"},
        "'y .HV.' must hold .*, got '45 HRC' in line 3; convert it, or leave it empty$",
    ),
    "thousands with a unit": ("a (m);y\n1,500 m;2\n2,500 m;3\n", {}, "'1,500 m' in line 2; it could"),
    "endless digits": ("a,y\n1,2\n2," + "9" * 400 + "\n", {}, "'y' in line 3 must be finite"),
    "thousands": ("a;y\n1,500;2\n2,500;3\n", {}, "'1,500' in line 2; it could be a thousand times"),
    "ragged": ("a,y\n1,2\n1,2,3\n", {}, "must have 2 cells, like its header, got 3 in line 3"),
    "twice": ("a,a,y\n1,2,3\n", {}, "different names, got 'a' twice"),
    "binary": (b"PK\x03\x04\0\0", {}, "must be a text file.*export it as CSV UTF-8"),
    "no encoding": (b"a,y\n\x81,2\n", {}, "must be a text file"),
    "outside": (
        "a,y\n9,2\n",
        {"space": {"a": (0, 4)}},
        r"line 2: 'a' must be in \[0, 4\], got 'a'=9",
    ),
    "no names": ("a,y\n9,2\n", {"space": [(0, 4)]}, "space of a table must have names"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_refused_in_a_sentence(tmp_path, name):
    text, words, message = BAD_FILES[name]
    with pytest.raises(ValueError, match=message):
        table(tmp_path, text, **words)


BAD_SOURCES = {
    "lists": (([1.0, 2.0], [1.0]), {}, r"points must be \(n, d\)"),
    "words": (([["a", 2]], [1]), {}, "points must be numbers, or a table with names"),
    "no readings": (([[1, 2]],), {}, "points must come with their readings"),
    "nothing": (([], []), {}, "n, d >= 1"),
    "a number": ((5, [1]), {}, "n, d >= 1"),
    "constant": (([[1, 2], [3, 2]], [1, 2]), {}, "got one value in coordinate 1; leave it out"),
    "target of points": (([[1], [2]], [1, 2]), {"target": "a"}, "target and ignore must be left out"),
    "target twice": (({"a": [1, 2]}, [1, 2]), {"target": "a"}, "target must be left out where y"),
    "unequal": (({"a": [1, 2], "y": [1]},), {"target": "y"}, "must have the same length"),
    "few readings": (({"a": [1, 2]}, [1]), {}, "one reading per row, 2, got 1"),
    "lists in cells": (({"a": [[1], [2]]}, [1, 2]), {}, r"got \[1\] in row 0"),
    "dates read": (({"a": [1]}, [datetime.date(2024, 1, 1)]), {}, "must hold numbers, since it is"),
    "short points": (([(1,)], [1], {"a": (0, 1), "b": (0, 1)}), {}, "one value for each of"),
}


@pytest.mark.parametrize("name", BAD_SOURCES)
def test_a_bad_source_is_refused_in_a_sentence(name):
    arguments, words, message = BAD_SOURCES[name]
    with pytest.raises((TypeError, ValueError), match=message):
        read_table(*arguments, **words)


TEMP = ["400", "410", "420", "430", "440"]


def doors(tmp_path, columns):
    """The same table in a file, and as data of every kind."""
    pandas = pytest.importorskip("pandas")
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    text = "\n".join([",".join(columns), *(",".join(row.values()) for row in rows)])
    (tmp_path / "data.csv").write_text(text + "\n", encoding="utf-8")
    return {
        "line 4": tmp_path / "data.csv",
        "row 2": columns,
        "row 2 ": rows,
        "row c": pandas.DataFrame(columns, index=[*"abcde"[: len(rows)]]),
    }


@pytest.mark.parametrize("cell", ["abc", "overload", "n.d.", ">1100", "1.6.2", "12 HV"])
def test_the_cell_that_is_no_number_is_named_not_the_first_one(tmp_path, cell):
    yields = ["1.5", "1.6", cell, "1.2", "1.1"]
    for place, source in doors(tmp_path, {"temp": TEMP, "yield": yields}).items():
        with pytest.raises(ValueError, match=f"got '{re.escape(cell)}' in {place.strip()};"):
            read_table(source, target="yield")
    with pytest.raises(ValueError, match=f"got '{re.escape(cell)}' in row 2;"):
        read_table([[400], [410], [420]], yields[:3])
    numbers = [1.5, 1.6, cell]
    with pytest.raises(ValueError, match=f"got '{re.escape(cell)}' in row 2;"):
        read_table({"temp": [1, 2, 3]}, numbers)


def test_a_cell_that_equals_another_is_not_taken_for_it():
    with pytest.raises(ValueError, match="got True in row 2;"):
        read_table({"a": [1, 2, 3], "y": [1, 2, True]}, target="y")


def test_a_unit_that_the_header_has_may_stand_in_cells(tmp_path):
    columns = {
        "temp (°C)": ["400", "410 °C", "420°C", "430 ℃", "440 C"],
        "flow [W/(m K)]": ["1", "2.5 W/(m K)", "3", "4e-1 W/(m K)", "5"],
        "angle (°)": ["1°", "2 °", "4", "7", "9"],
        "yield [%]": ["1 %", "2%", "3", "4", "5"],
    }
    for source in doors(tmp_path, columns).values():
        found = read_table(source, target="yield")
        assert found.space.encoding.dimensions == {
            "temp (°C)": ub.Whole(400, 440),
            "flow [W/(m K)]": ub.Real(0.4, 5.0),
            "angle (°)": ub.Whole(1, 9),
        }
        assert found.y == (1.0, 2.0, 3.0, 4.0, 5.0)
        space = {"temp": ["400", "410 °C", "420", "430", "440"]}
        given = read_table(source, target="yield", space=space)
        assert [point["temp"] for point in given.points] == space["temp"]
        given = read_table(source, target="yield", space={"temp": (300.0, 500.0)})
        assert [point["temp"] for point in given.points] == [400.0, 410.0, 420.0, 430.0, 440.0]


COUNTERS = {
    "run": [1, 2, 2, 3, 4, 5],
    "one again at the end": [1, 2, 3, 4, 5, 2],
    "one empty": [7, 8, None, 10, 11, 12],
    "Run #": [1, 1, 2, 2, 3, 3],
    "Run (#)": [12, 3, 3, 8, 7, 1],
    "#": [3, 1, 4, 1, 5, 9],
    "No.": [10, 20, 20, 30, 40, 60],
    "ID": [812, 900, 900, 77, 5, 6],
    "sample_id": [3, 2, 3, 2, 3, 2],
    "ExpNo": [9, 8, 8, 6, 5, 4],
    "": [4, 2, 2, 1, 0, 9],
}
PARAMETERS = {
    "n": [1, 1, 2, 2, 3, 3],
    "no of passes": [4, 2, 2, 1, 0, 9],
    "run time": [1, 2, 2, 1, 3, 3],
    "nozzle": [3, 1, 2, 5, 4, 4],
    "ph": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
}


@pytest.mark.parametrize("name", [*COUNTERS, *PARAMETERS])
def test_what_counts_the_rows_is_no_parameter_even_if_some_are_there_twice(tmp_path, name):
    cells = {**COUNTERS, **PARAMETERS}[name]
    columns = {name: cells, "temp": [400, 410, 410, 420, 430, 440], "y": [1, 2, 2, 3, 2, 1]}
    rows = zip(*columns.values(), strict=True)
    text = "\n".join(",".join("" if cell is None else str(cell) for cell in row) for row in rows)
    (tmp_path / "data.csv").write_text(",".join(columns) + "\n" + text + "\n", encoding="utf-8")
    nan = [np.nan if cell is None else cell for cell in cells]
    for source in (columns, {**columns, name: nan}, tmp_path / "data.csv"):
        found = read_table(source, target="y")
        assert [*found.parameters] == ["temp"] if name in COUNTERS else [name, "temp"]
        assert any("only counts the rows" in note for note in found.notes) == (name in COUNTERS)
        assert len(found.y) == 6


def test_beside_a_run_number_a_parameter_that_counts_up_is_a_sweep():
    found = read_table({"run": [1, 2, 3, 4], "hour": [1, 2, 3, 4], "y": [1, 2, 3, 2]}, target="y")
    assert [*found.parameters] == ["hour"]


def test_a_table_that_is_too_large_is_refused_with_the_rule_and_the_value(tmp_path):
    n, d = tables.MAX_ROWS + 1, tables.MAX_COORDINATES + 1
    rows = f"must have at most {n - 1} rows, got {n}; take a part"
    text = "a,y\n" + "".join(f"{k % 7},{k}\n" for k in range(n))
    with pytest.raises(ValueError, match=rows):
        table(tmp_path, text)
    with pytest.raises(ValueError, match=rows):
        read_table({"a": np.arange(n), "y": np.arange(n)}, target="y")
    with pytest.raises(ValueError, match=rows):
        read_table(np.ones((n, 1)), np.ones(n))
    columns = f"at most {d - 1} parameters, .*, got {d}; ignore columns"
    wide = {f"x{k}": [0.1 * k, 0.5, 0.7] for k in range(d)}
    names, cells = ",".join([*wide, "y"]), zip(*wide.values(), strict=True)
    text = "\n".join([names, *(",".join(map(str, [*row, k])) for k, row in enumerate(cells))])
    with pytest.raises(ValueError, match=columns):
        table(tmp_path, text)
    assert len(table(tmp_path, text, ignore=["x0"]).parameters) == d - 1
    every = list(zip(*wide.values(), strict=True))
    with pytest.raises(ValueError, match=columns):
        ub.audit(wide, [1, 2, 3], space={name: (0.0, 20.0) for name in wide})
    with pytest.raises(ValueError, match=columns):
        ub.audit([[cell + 0.1 * k for cell in row] for k, row in enumerate(every)], [1, 2, 3])
    n, d = tables.MAX_CELLS // 50 + 1, 50
    cells = f"must be at most {tables.MAX_CELLS}, got {n} times {d}; take a part"
    many = {**{f"x{k}": [k, *[0.5] * (n - 1)] for k in range(d)}, "y": range(n)}
    with pytest.raises(ValueError, match=cells):
        read_table(many, target="y")


def test_the_options_of_choices_count_too():
    words = {f"w{k}": [*"abcdefghijkl", *"abcdefghijkl"] for k in range(9)}
    with pytest.raises(ValueError, match="for each option, got 108;"):
        read_table({**words, "y": range(24)}, target="y")


def test_ten_thousand_rows_are_read_at_once(tmp_path):
    text = "a,y\n" + "".join(f"{k % 7},{k}\n" for k in range(10_000))
    assert len(table(tmp_path, text).y) == 10_000
