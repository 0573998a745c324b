"""Readings taken before, handed over as a table: the column that was read has to be named."""

from pathlib import Path
from typing import Any

import pytest

import unbribable as ub
from study.scripted import BOX, trials_of

SPACE = {"temp": (200.0, 500.0), "gas": ["N2", "Ar"]}
CELLS = {"gas": ["N2", "Ar", "N2"], "temp (°C)": [200, 300.0, 450.0], "yield": [0.1, 0.5, 0.7]}
PAIRS = [
    ({"temp": 200.0, "gas": "N2"}, 0.1),
    ({"temp": 300.0, "gas": "Ar"}, 0.5),
    ({"temp": 450.0, "gas": "N2"}, 0.7),
]


def study(initial: Any, **words: Any) -> ub.Study:
    return ub.Study(SPACE, seed=0, initial=initial, **words)


def test_a_table_is_what_its_pairs_are(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame, file = pandas.DataFrame(CELLS), tmp_path / "past.csv"
    frame.to_csv(file, index=False)
    expected = study(PAIRS)
    for table in (frame, CELLS, str(file), file, frame.to_dict("records")):
        found = study((table, "yield"))
        assert trials_of(found.result()) == trials_of(expected.result())
    assert found.ask().x.tolist() == expected.ask().x.tolist()


def test_two_pairs_are_no_table() -> None:
    assert len(study(tuple(PAIRS[:2])).trials) == 2
    assert len(ub.Study(BOX, initial=(([0.1], 1.0), ([0.2], 2.0))).trials) == 2


def test_a_run_with_a_table_resumes(tmp_path: Path) -> None:
    words: dict[str, Any] = {"initial": (CELLS, "yield"), "file": tmp_path / "run.json", "seed": 0}
    f = {"f": lambda p: p["temp"] / 500.0, "domain": SPACE}
    assert len(ub.maximize(n_rounds=2, **f, **words).trials) == 5
    assert len(ub.maximize(n_rounds=3, **f, **words).trials) == 6
    other = {**CELLS, "yield": [0.1, 0.5, 0.8]}
    with pytest.raises(ValueError, match="holds a run with other initial readings"):
        ub.maximize(n_rounds=4, **f, **{**words, "initial": (other, "yield")})


def test_what_is_left_out_is_said() -> None:
    cells = {**CELLS, "yield": [0.1, None, 0.7], "operator": ["kb", "kb", "tm"]}
    said = r"does not name them: operator. Counted as failed, since 'yield' is missing: row 1\."
    with pytest.warns(UserWarning, match=said):
        found = study((cells, "yield"))
    assert [trial.y for trial in found.trials] == [0.1, None, 0.7]
    assert found.trials[1].error == "no reading"
    cells = {**CELLS, "gas": ["N2", None, "N2"]}
    with pytest.warns(UserWarning, match="Left out, since 'gas' is missing: row 1"):
        assert len(study((cells, "yield")).trials) == 2


@pytest.mark.parametrize(
    ("initial", "error", "message"),
    [
        (CELLS, TypeError, r"initial as a table must come with the name .*'yield'\), got a dict alone"),
        ("past.csv", TypeError, "the name of the column that was read, .* got 'past.csv' alone"),
        ((CELLS, "yeld"), ValueError, r"target must be one of the columns \[.*\], got 'yeld'"),
        (({"temp": [1.0], "yield": [2.0]}, "yield"), ValueError, "space must be one of the columns"),
        (({**CELLS, "gas": ["N2", "Ne", "N2"]}, "yield"), ValueError, "row 1: 'gas' must be "),
        (([1.0, 2.0], "yield"), TypeError, r"or a list of dicts, got initial=\(\[1.0, 2.0\], 'yield'\)"),
        ([("a",)], ValueError, r"initial\[0\] must be .*\(point, reading"),
        (3, TypeError, "initial must be a list of pairs"),
        ([(PAIRS[0][0], None)], (TypeError, ValueError), "initial reading must be"),
    ],
)
def test_anything_else_is_refused_with_a_sentence(initial: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        study(initial)


def test_a_data_frame_alone_asks_for_the_column() -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(TypeError, match=r"\(table, 'yield'\), got a DataFrame alone"):
        study(pandas.DataFrame(CELLS))


def test_a_table_needs_a_space_with_names() -> None:
    with pytest.raises(ValueError, match="space of a table must have names"):
        ub.Study(BOX, initial=(CELLS, "yield"))
