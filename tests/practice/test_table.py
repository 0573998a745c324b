"""Tables of past experiments: what is a parameter, what is left out, what is refused and how."""

import datetime
from decimal import Decimal

import numpy as np
import pytest

import unbribable as ub
from unbribable.practice.table import read_table

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
        assert found.space.to_plain() == ub.practice.space.Space.of(space).to_plain()
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


def test_ten_thousand_rows_are_read_at_once(tmp_path):
    text = "a,y\n" + "".join(f"{k % 7},{k}\n" for k in range(10_000))
    assert len(table(tmp_path, text).y) == 10_000
