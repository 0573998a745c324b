"""Tables and pictures of a study, what is listed and what is taken back, from the command line."""

import csv
from pathlib import Path

import optuna
import pytest

from hosts.test_cli_study import as_json, call, here
from unbribable.hosts.optuna.sampler import UnbribableSampler

__all__ = ["here"]  # a fixture

FIGURES = [
    ("history", "png", b"\x89PNG"),
    ("posterior", "svg", b"<?xml"),
    ("suspects", "pdf", b"%PDF"),
    ("worst-case", "png", b"\x89PNG"),
]
HEADER = "id,temp (C),gas,note,yield [%]"


def oven(*words):
    call("create", "oven", "--param", "temp=200:500", "--param", "gas=N2,Ar", "--seed", 1, *words)


def row(k):
    return f"{k},{200 + 14 * k},{('N2', 'Ar')[k % 2]},note {k},{1.0 - (k / 20 - 0.6) ** 2}"


def past(*rows, name="past.csv", encoding="utf-8"):
    Path(name).write_bytes("\n".join([HEADER, *rows, ""]).encode(encoding))
    return name


def trials():
    return optuna.load_study(study_name="oven", storage="sqlite:///unbribable.db").get_trials()


def test_studies_are_listed_those_of_others_too():
    oven()
    optuna.create_study(study_name="theirs", storage="sqlite:///unbribable.db", direction="minimize")
    assert as_json("list") == [
        {"study": "oven", "direction": "maximize", "trials": 0, "started_with_unbribable": True},
        {"study": "theirs", "direction": "minimize", "trials": 0, "started_with_unbribable": False},
    ]
    assert "theirs" in call("list")
    assert "storage must exist" in call("list", "--storage", "none.db", code=2)


def test_a_table_is_imported_and_learned_and_its_lie_found():
    oven()
    rows = [row(k) for k in range(16)]
    rows[5] = "5,270,Ar,stuck,9.0"
    rows[7] = "7,298,Ar,no reading,"
    found = as_json("import", "oven", past(*rows), "--target", "yield")
    assert (found["imported"], found["failed"], found["there"]) == (15, 1, 0)
    assert "id, note" in found["notes"][0]
    assert trials()[1].params == {"temp": 214.0, "gas": "Ar"}
    assert as_json("status", "oven")["trials"] == {"complete": 15, "fail": 1}
    assert 5 in [each["number"] for each in as_json("suspects", "oven")]
    best = as_json("recommend", "oven")
    assert best["naive_number"] == 5
    assert best["params"]["gas"] == "N2" or best["estimate"] < 2.0
    assert as_json("ask", "oven")["number"] == 16


def test_what_is_imported_is_a_table_whose_order_says_nothing():
    oven()
    number = as_json("ask", "oven")["number"]
    call("tell", "oven", number, 0.5)
    call("import", "oven", past(*(row(k) for k in range(4))), "--target", "yield")
    study = optuna.load_study(study_name="oven", storage="sqlite:///unbribable.db")
    result = UnbribableSampler.from_study(study).result(study)
    assert [trial.is_row for trial in result.trials] == [False] + [True] * 4
    assert result.engine.n_table == 5


def test_importing_again_adds_only_what_is_new():
    oven()
    rows = [row(1), row(2), row(2)]
    call("import", "oven", past(*rows), "--target", "yield")
    assert len(trials()) == 3, "equal rows are repeated readings"
    found = as_json("import", "oven", past(*rows, row(2), row(3)), "--target", "yield")
    assert (found["imported"], found["there"]) == (2, 3)
    assert len(trials()) == 5


def test_an_import_that_was_interrupted_goes_on(monkeypatch):
    oven()
    add, left = optuna.study.Study.add_trial, iter([True, False])

    def interrupted(study, trial):
        if not next(left):
            raise KeyboardInterrupt
        add(study, trial)

    name = past(*(row(k) for k in range(4)))
    with monkeypatch.context() as patched:
        patched.setattr(optuna.study.Study, "add_trial", interrupted)
        assert "interrupted" in call("import", "oven", name, "--target", "yield", code=130)
    assert len(trials()) == 1
    assert as_json("import", "oven", name, "--target", "yield")["there"] == 1
    assert len(trials()) == 4


BAD = [
    ([], "yield", "a table must have at least one row"),
    (["1,250,N2,a,high"], "yield", "'yield [%]' must hold numbers, since it is the target, got 'high'"),
    (["1,250,N2,a,inf"], "yield", "'yield [%]' must hold numbers, since it is the target, got 'inf'"),
    (["1,250,N2,a,"], "yield", "a table must have at least one reading of 'yield [%]', got none"),
    ([row(1), "1,900,N2,a,0.5"], "yield", "line 3: 'temp' must be in [200.0, 500.0]"),
    (["1,250,He,a,0.5"], "yield", "line 2: 'gas' must be"),
    (["1,warm,N2,a,0.5"], "yield", "line 2: 'temp' must be"),
    ([row(1), "2,250,N2"], "yield", "must have 5 cells, like its header, got 3 in line 3"),
    ([row(1)], "profit", "target must be one of the columns"),
]


def test_a_bad_table_gets_a_sentence_and_nothing_is_added():
    oven()
    for rows, target, message in BAD:
        said = call("import", "oven", past(*rows), "--target", target, code=2)
        assert message in said
        assert len(said.splitlines()) == 1
    assert trials() == []


def test_a_file_that_is_no_table_gets_a_sentence():
    oven()
    Path("empty.csv").touch()
    Path("bytes.csv").write_bytes(bytes(range(256)))
    Path("other.csv").write_text("power,value\n1,2\n")
    for name, message in [
        ("none.csv", "No such file"),
        ("empty.csv", "must have a header and rows, got an empty file"),
        ("bytes.csv", "must be a text file"),
        ("other.csv", "space must be one of the columns"),
    ]:
        assert message in call("import", "oven", name, code=2)
    assert trials() == []


def test_one_row_in_another_encoding_is_imported():
    oven()
    for k, encoding in enumerate(["utf-8-sig", "utf-16", "cp1252"]):
        name = past(row(k), encoding=encoding)
        assert as_json("import", "oven", name, "--target", "yield")["imported"] == 1


def test_readings_that_are_all_equal_are_imported_and_answered():
    oven()
    rows = [f"{k},{200 + 14 * k},N2,x,0.5" for k in range(9)]
    assert as_json("import", "oven", past(*rows), "--target", "yield")["imported"] == 9
    assert as_json("recommend", "oven")["estimate"] == pytest.approx(0.5, abs=0.05)


def test_ten_thousand_rows_are_all_added(monkeypatch):
    oven()
    added = []
    monkeypatch.setattr(optuna.study.Study, "add_trial", lambda study, trial: added.append(trial))
    rows = [f"{k},{200 + k % 300},N2,x,{k % 7}" for k in range(10_000)]
    assert as_json("import", "oven", past(*rows), "--target", "yield")["imported"] == 10_000
    assert [trial.value for trial in added] == [k % 7 for k in range(10_000)]


def test_what_is_exported_can_be_imported():
    oven()
    call("import", "oven", past(*(row(k) for k in range(6)), "6,290,N2,failed,"), "--target", "yield")
    assert call("export", "oven", "out.csv").strip() == "wrote 7 trials to out.csv"
    with Path("out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [*rows[0]] == ["trial", "temp", "gas", "value", "state", "suspicious"]
    assert (rows[6]["value"], rows[6]["state"], rows[6]["suspicious"]) == ("", "fail", "")
    first = [(trial.params, trial.values) for trial in trials()]
    call("create", "again", "--param", "gas=N2,Ar", "--param", "temp=200:500", "--seed", 2)
    assert as_json("import", "again", "out.csv")["imported"] == 6
    again = optuna.load_study(study_name="again", storage="sqlite:///unbribable.db")
    assert [(trial.params, trial.values) for trial in again.get_trials()] == first


def test_a_file_that_exists_is_not_replaced_unless_that_is_said():
    oven()
    Path("mine.csv").write_text("mine")
    assert "file must be a new one" in call("export", "oven", "mine.csv", code=2)
    assert Path("mine.csv").read_text() == "mine"
    assert as_json("export", "oven", "mine.csv", "--force")["trials"] == 0
    assert Path("mine.csv").read_text() == "trial,temp,gas,value,state,suspicious\n"
    assert "none/x.csv" in call("export", "oven", "none/x.csv", code=2)


def test_a_parameter_may_have_the_name_of_a_column():
    call("create", "oven", "--param", "value=0:1", "--param", "trial=1:3:int", "--seed", 1)
    call("ask", "oven")
    call("tell", "oven", 0, 5)
    call("export", "oven", "out.csv")
    assert Path("out.csv").read_text().splitlines()[0] == "trial_,value,trial,value_,state,suspicious"


def with_readings(n, lie=None):
    oven()
    rows = [row(k) for k in range(n)]
    if lie is not None:
        rows[lie] = f"{lie},{200 + 14 * lie},N2,stuck,9.0"
    call("import", "oven", past(*rows), "--target", "yield")


@pytest.mark.long
def test_a_retracted_reading_is_as_if_it_had_never_been_told():
    with_readings(9, lie=5)
    before = as_json("recommend", "oven")
    assert before["naive_number"] == 5
    assert "nothing is guaranteed any more" in call("retract", "oven", 5, "stuck")
    after = as_json("recommend", "oven")
    assert after["naive_number"] != 5
    assert after["n_trials"] == before["n_trials"] - 1
    assert after["regret_bound"] is None
    assert "No guarantee: the reading of trial 5 was taken out" in after["guarantee"]
    assert 5 not in [each["number"] for each in as_json("suspects", "oven", "--all")]
    assert "number must be that of a complete trial, got 5, which is retracted already" in call(
        "retract", "oven", 5, "stuck", code=2
    )
    assert as_json("ask", "oven")["number"] == 9
    call("export", "oven", "out.csv")
    assert Path("out.csv").read_text().splitlines()[6].endswith(",,retracted,")


def test_a_retraction_for_another_reason_keeps_the_guarantee():
    with_readings(5)
    call("retract", "oven", 2, "wrong sample", "--unrelated-to-value")
    assert as_json("recommend", "oven")["regret_bound"] is not None
    for number, reason, message in [(5, "x", "number must be"), (1, "", "reason must be")]:
        assert message in call("retract", "oven", number, reason, code=2)


def test_a_study_whose_only_reading_was_retracted_has_none():
    with_readings(1)
    call("retract", "oven", 0, "stuck")
    assert as_json("status", "oven")["recommended"] is None
    assert "recommend needs a reading" in call("recommend", "oven", code=2)
    assert as_json("suspects", "oven") == []


@pytest.mark.long
def test_figures_are_drawn_with_the_names_of_the_parameters():
    pytest.importorskip("matplotlib")
    oven()
    call("import", "oven", past(*(row(k) for k in range(10))), "--target", "yield")
    for kind, ending, begin in FIGURES:
        assert as_json("plot", "oven", f"a.{ending}", "--kind", kind) == {"file": f"a.{ending}"}
        assert Path(f"a.{ending}").read_bytes().startswith(begin)
    assert "<!-- temp -->" in Path("a.svg").read_text()


def test_a_figure_of_nothing_and_of_another_kind_are_refused():
    oven()
    assert "plot needs a reading" in call("plot", "oven", "a.png", code=2)
    assert "kind must be one of" in call("plot", "oven", "a.png", "--kind", "bars", code=2)
    assert "the ending of file must be one of" in call("plot", "oven", "a.doc", code=2)
