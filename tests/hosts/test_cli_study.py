"""A study from the command line: one step a command, on real databases."""

import json
import shlex
import sys
from pathlib import Path

import optuna
import pytest
from typer.testing import CliRunner

from hosts.postgres import PASSWORD, postgres
from printed import unwrapped
from unbribable.cli.main import app
from unbribable.cli.parameters import parameter
from unbribable.cli.storage import shown


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("UNBRIBABLE_STORAGE", raising=False)


def call(*words, code=0):
    done = CliRunner().invoke(app, ["study", *map(str, words)])
    assert done.exit_code == code, done.output
    return done.stdout if code == 0 else done.stderr


def as_json(*words):
    return json.loads(call(*words, "--json"))


def create(*words):
    return call("create", "laser", "--param", "power=0:5", "--trials", "20", "--seed", "1", *words)


def run(n, *words, is_lie=lambda number: False):
    """n rounds; a lie is a reading of 9."""
    for _ in range(n):
        asked = as_json("ask", "laser", *words)
        honest = 3.0 - (asked["params"]["power"] - 2.0) ** 2
        value = 9.0 if is_lie(asked["number"]) else honest
        call("tell", "laser", asked["number"], *words, "--", value)


@pytest.mark.long
def test_a_study_goes_from_create_to_recommend_and_sees_through_a_lie():
    create()
    run(11, is_lie=lambda number: number == 7)
    best = as_json("recommend", "laser")
    assert best["naive_number"] == 7
    assert best["naive_value"] == 9.0
    assert abs(best["params"]["power"] - 2.0) < 0.5
    assert best["lower"] <= 3.0 <= best["upper"]
    assert "heuristic" in best["guarantee"]
    assert [found["number"] for found in as_json("suspects", "laser")] == [7]
    assert len(as_json("suspects", "laser", "--all")) == 11
    status = as_json("status", "laser")
    assert status["trials"] == {"complete": 11}
    assert status["suspicious"] == [7]
    for step in ("suspects", "status"):
        assert "7" in call(step, "laser")
    lines = call("recommend", "laser").splitlines()
    assert lines[0].startswith("use power=")
    assert lines[1].startswith("  expected value: ")
    assert abs(best["estimate"] - 3.0) < 0.3
    assert lines[2].startswith("  worst case: ")
    assert f"f(x) < {best['clearly_worse']:g} " in "".join(lines)
    assert best["n_needed"] >= 0
    assert lines[-3].startswith("suspicious: 7 (9, expected ")
    assert "best reading: 9 in trial 7, at power=" in lines[-2]
    assert lines[-2].endswith("; it looks false")
    assert lines[-1] == "complete trials: 11; why: --why"
    assert len(lines) <= 9
    assert max(map(len, lines)) <= 120
    priced = unwrapped(call("recommend", "laser", "--eps", 50))
    assert "better by more than 50 (with probability at least 0.9 if the" in priced
    assert "% of the range read" in best["price"]["sentence"]
    assert (status["estimate"], status["recommended"]) == (best["estimate"], best["params"])


def test_ask_prints_a_line_that_a_shell_takes_apart():
    create("--param", "kind=a,b c")
    number, *params = shlex.split(call("ask", "laser"))
    assert number == "0"
    assert [param.partition("=")[0] for param in params] == ["power", "kind"]
    assert params[1] in ("kind=a", "kind=b c")


def test_parameters_come_in_the_order_in_which_they_were_declared_with_six_digits():
    call(
        "create",
        "oven",
        "--param",
        "temp=200:500",
        "--param",
        "gas=N2,Ar",
        "--param",
        "a=0:1",
        "--seed",
        1,
    )
    asked = as_json("ask", "oven")
    assert [*asked["params"]] == ["temp", "gas", "a"]
    said = call("ask", "oven").split()
    assert [word.partition("=")[0] for word in said[1:]] == ["temp", "gas", "a"]
    assert len(said[1].removeprefix("temp=")) <= len("123.456")
    call("tell", "oven", 0, 1.0)
    assert [*as_json("recommend", "oven")["params"]] == ["temp", "gas", "a"]
    temp = asked["params"]["temp"]
    assert call("recommend", "oven").startswith(f"use temp={temp:.6g} gas=")


def test_nan_is_a_reading_that_failed():
    create()
    call("ask", "laser")
    assert as_json("tell", "laser", 0, "nan") == {"number": 0, "value": None}
    assert as_json("status", "laser")["trials"] == {"fail": 1}


@pytest.mark.long
def test_a_failed_reading_is_told_as_such_and_teaches_nothing():
    create()
    run(3)
    before = as_json("recommend", "laser")
    asked = as_json("ask", "laser")
    assert as_json("status", "laser")["pending"] == [asked["number"]]
    call("tell", "laser", asked["number"], "--failed")
    assert as_json("status", "laser")["trials"] == {"complete": 3, "fail": 1}
    after = as_json("recommend", "laser")
    for said in (before, after):  # where lies are counted nothing is supposed of missing readings
        assert "missing" not in said.pop("guarantee")
    assert {key: value for key, value in after.pop("price").items() if key != "words"} == {
        key: value for key, value in before.pop("price").items() if key != "words"
    }
    assert after == before


@pytest.mark.long
def test_steps_in_processes_of_their_own_equal_one_long_run():
    create()
    run(9)
    stepped = optuna.load_study(study_name="laser", storage="sqlite:///unbribable.db")
    sampler = optuna.create_study(direction="maximize")
    from unbribable.hosts.optuna.sampler import UnbribableSampler

    space = {"power": optuna.distributions.FloatDistribution(0.0, 5.0)}
    sampler = UnbribableSampler(n_trials=20, seed=1, search_space=space)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(lambda trial: 3.0 - (trial.suggest_float("power", 0.0, 5.0) - 2.0) ** 2, n_trials=9)
    assert [trial.params for trial in stepped.trials] == [trial.params for trial in study.trials]


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """The database of a study with one pending query."""
    file = tmp_path_factory.mktemp("asked") / "laser.db"
    create("--storage", file)
    call("ask", "laser", "--storage", file)
    return file.read_bytes()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("tell", "laser", "5", "1.0"), "number must be one that ask printed, got 5"),
        (("tell", "laser", "0"), "tell needs a reading, or --failed"),
        (("tell", "laser", "0", "1.0", "--failed"), "and not both"),
        (("tell", "laser", "0", "inf"), "a reading must be finite, got inf"),
        (("create", "new", "--param", "x=5"), "param must have two values or more, got param='x=5'"),
        (("create", "new", "--param", "x=3:3:int"), "param must have two values or more"),
        (("create", "new", "--param", "x=1:1"), "param must have two values or more"),
        (("recommend", "laser", "--eps", "-1"), "--eps"),
        (("ask", "maser"), "study must be one of ['laser']"),
        (("create", "laser", "--param", "x=0:1"), "must have a new name"),
        (("create", "new", "--param", "x"), "param must be name=low:high"),
        (("create", "new", "--param", "x=0:1:step"), "param must be name=low:high"),
        (("create", "new", "--param", "x=2:1"), "param must be name=low:high"),
        (("create", "new", "--param", "x=0:1", "--corruption", "much"), "a number or 'unknown'"),
        (("create", "new", "--param", "x=0:1", "--corruption", "-1"), "corruption must be"),
        (("create", "new", "--param", "x=0:1", "--lies", "few"), "lies must be a number of readings"),
        (("create", "new", "--param", "x=0:1", "--lies", "1.5"), "lies must be a whole number"),
        (
            ("create", "new", "--param", "x=0:1", "--lies", "3", "--corruption", "2"),
            "corruption and lies exclude each other",
        ),
        (("create", "new", "--param", "x=0:1", "--direction", "up"), "direction must be"),
        (("recommend", "laser"), "recommend needs a reading"),
        (
            ("create", "new", "--param", "k=a,b,a"),
            "param must have different choices, got param='k=a,b,a'",
        ),
        (("create", "new", "--param", "x=0:1", "--param", "x=0:2"), "param must have a new name each"),
    ],
)
def test_bad_words_get_the_rule_and_exit_code_2_and_change_nothing(words, message, asked):
    file = Path("unbribable.db")
    file.write_bytes(asked)
    assert message in call(*words, code=2)
    assert file.read_bytes() == asked


def test_a_reading_that_is_refused_leaves_the_query_pending():
    create()
    call("ask", "laser")
    call("tell", "laser", "0", "inf", code=2)
    call("tell", "laser", "0", "1.5")
    call("tell", "laser", "0", "1.5", code=2)
    assert as_json("status", "laser")["trials"] == {"complete": 1}


def test_parameters_are_read_as_written():
    assert parameter("x=0:1") == ("x", optuna.distributions.FloatDistribution(0.0, 1.0))
    assert parameter("x=1e-3:1:log") == ("x", optuna.distributions.FloatDistribution(1e-3, 1, log=True))
    assert parameter("n=1:9:int") == ("n", optuna.distributions.IntDistribution(1, 9))
    assert parameter("n=1:9:log:int") == ("n", optuna.distributions.IntDistribution(1, 9, log=True))
    assert parameter("k=a,b") == ("k", optuna.distributions.CategoricalDistribution(("a", "b")))


@pytest.mark.long
def test_a_study_in_postgresql_by_its_address_whose_password_is_not_printed(monkeypatch):
    with postgres() as address:
        assert address.startswith(f"postgresql://postgres:{PASSWORD}@")
        said = [create("--storage", address)]
        run(3, "--storage", address)
        said.append(call("create", "laser", "--param", "x=0:1", "--storage", address, code=2))
        said.append(call("ask", "maser", "--storage", address, code=2))
        said.append(call("create", "new", "--param", "x=0:1", "--storage", address, "--json"))
        monkeypatch.setenv("UNBRIBABLE_STORAGE", address)
        assert as_json("status", "laser")["trials"] == {"complete": 3}
    said.append(call("status", "laser", code=2))
    assert "next, with the address in UNBRIBABLE_STORAGE: unbribable study ask laser" in said[0]
    assert "failed" in said[-1], "the server is gone"
    for words in said:
        assert PASSWORD not in words
        assert "postgresql://postgres:***@/postgres" in words
        assert len(words.splitlines()) == 1 or words.startswith("{")


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("lab.db", "lab.db"),
        ("postgresql://me@host/name", "postgresql://me@host/name"),
        ("postgresql://me:a:b@c/d@host:5/name", "postgresql://me:***@host:5/name"),
        ("postgresql+psycopg://:pw@/name?host=/tmp", "postgresql+psycopg://:***@/name?host=/tmp"),
        ("postgresql://host/name?password=pw&x=1", "postgresql://host/name?password=***&x=1"),
    ],
)
def test_an_address_is_shown_without_its_password(address, words):
    assert shown(address) == words


def test_a_path_is_an_sqlite_file():
    said = create("--storage", "lab.db")
    assert said.strip() == "created laser in lab.db; next: unbribable study ask laser --storage lab.db"
    assert Path("lab.db").read_bytes().startswith(b"SQLite")
    assert as_json("ask", "laser", "--storage", "lab.db")["number"] == 0
    assert as_json("ask", "laser", "--storage", "sqlite:///lab.db")["number"] == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("create", "--storage", "none/lab.db"),
            "storage must be in a folder that exists, got 'none/lab.db'",
        ),
        (("ask",), "storage must exist, got 'unbribable.db': go to its folder"),
        (("tell", "0", "1.0", "--storage", "other.db"), "storage must exist, got 'other.db'"),
        (
            ("create", "--storage", "postgresql://me:pw@127.0.0.1:1/x"),
            "me:***@127.0.0.1:1/x: connection",
        ),
        (
            ("create", "--storage", "postgresql://me:pw@host:port/x"),
            "storage must be an SQLite file such",
        ),
        (
            ("create", "--storage", "postgresql://me:p@w@127.0.0.1:1/x"),
            "written as %40, got postgresql://me:***@127.0.0.1:1/x",
        ),
        (
            ("create", "--storage", "postgresql://me:p@w/w@127.0.0.1:1/x"),
            "written as %40, got postgresql://me:***@127.0.0.1:1/x",
        ),
        (("create", "--storage", "nosuch://x"), "got nosuch://x: Can't load plugin"),
    ],
)
def test_a_database_that_cannot_be_opened_is_said_in_a_line_and_nothing_is_created(words, message):
    step, *others = words
    param = ["--param", "x=0:1"] if step == "create" else []
    said = call(step, "laser", *others, *param, code=2)
    assert message in said
    assert len(said.splitlines()) == 1
    assert list(Path().iterdir()) == []


def test_a_database_without_studies_is_said_to_have_none():
    create()
    optuna.delete_study(study_name="laser", storage="sqlite:///unbribable.db")
    words = "study must be created first, there is none in sqlite:///unbribable.db, got 'laser'"
    assert words in call("ask", "laser", code=2)


def test_without_a_driver_the_line_that_installs_it_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    said = call("create", "laser", "--param", "x=0:1", "--storage", "postgresql://me@host/x", code=1)
    assert said.strip() == (
        'unbribable: a database at postgresql:// needs its driver: pip install "unbribable[postgres]"'
    )


def test_a_reading_told_twice_names_the_number_and_what_was_told():
    create()
    call("ask", "laser")
    call("tell", "laser", "0", "-1.5")  # a negative reading is no option
    assert "got 0, which was told with -1.5; a reading is told once" in call(
        "tell", "laser", "0", "2", code=2
    )
    call("ask", "laser")
    call("tell", "laser", "1", "--failed")
    assert "got 1, which was told as failed" in call("tell", "laser", "1", "2", code=2)


@pytest.mark.long
def test_a_failing_reading_is_not_asked_for_again():
    call("create", "laser", "--param", "n=1:4:int", "--trials", "10", "--seed", "1")
    asked = []
    for _ in range(9):
        point = as_json("ask", "laser")
        asked.append(point["params"]["n"])
        value = ["--failed"] if asked[-1] == 4 else [asked[-1]]
        call("tell", "laser", point["number"], *value)
    assert asked.count(4) == 1


@pytest.mark.long
def test_recommend_says_what_the_guarantee_rests_on():
    create()
    run(4)
    best = as_json("recommend", "laser")
    assert "A single lie is not capped" in best["assumptions"]["words"]
    assert "lengthscales as shares of the ranges: power " in best["assumptions"]["words"]
    short = call("recommend", "laser").removesuffix("; why: --why\n")
    whole = call("recommend", "laser", "--why")
    assert whole.count("\nLeft to gain (a heuristic): ") == whole.count("\nLeft to gain (proven): ") == 1
    assert [*as_json("recommend", "laser", "--why")["left_to_gain"]] == ["expected", "not_yet", "proven"]
    assert whole.startswith(short)
    assumed = f"Assumed: {best['assumptions']['words']}"
    for words in (best["guarantee"], best["price"]["sentence"], assumed):
        assert words in whole.splitlines()
        assert words not in short


@pytest.mark.parametrize(("lies", "n_lies"), [("2", 2), ("0.25", 5)])
def test_a_number_or_a_share_of_lies_reaches_the_guarantee(lies, n_lies):
    create("--lies", lies)
    run(2)
    assert f"corrupts at most {n_lies} of the" in call("recommend", "laser", "--why")


@pytest.mark.long
def test_a_pruned_trial_voids_the_guarantee_unless_it_is_said_to_have_another_reason():
    create()
    run(3)
    study = optuna.load_study(study_name="laser", storage="sqlite:///unbribable.db")
    call("ask", "laser")
    study.tell(3, state=optuna.trial.TrialState.PRUNED)
    assert as_json("recommend", "laser")["regret_bound"] is None
    assert as_json("recommend", "laser", "--unrelated-to-value")["regret_bound"] is not None
    value = next(line for line in call("recommend", "laser").splitlines() if "worst case" in line)
    assert value.endswith(", not guaranteed: readings are missing because of their values")
    assert "not guaranteed" not in call("recommend", "laser", "--unrelated-to-value")


@pytest.mark.long
def test_recommend_says_that_more_readings_look_false_than_are_allowed_for():
    create("--lies", "0")
    run(11, is_lie=lambda number: number == 7)
    said = "  1 reading looks false, more than the 0 of lies=0: the worst case allows for 1"
    assert said in call("recommend", "laser").splitlines()


def test_a_reading_outside_its_range_is_false_for_certain():
    create("--reading-range", "-10:10")
    for value in (1.0, 2.0, "inf", 1.5):
        number = as_json("ask", "laser")["number"]
        call("tell", "laser", number, "--", value)
    (suspect,) = as_json("suspects", "laser")
    assert (suspect["number"], suspect["y"], suspect["is_certain"]) == (2, "inf", True)
    assert "outside reading_range, -10 to 10" in unwrapped(call("suspects", "laser"))
    assert as_json("recommend", "laser")["by_lies"][0][0] == 1
    assert "must be low:high" in call(
        "create", "other", "--param", "x=0:1", "--reading-range", "5", code=2
    )


def test_several_readings_of_a_point_and_their_noise():
    create()
    number = as_json("ask", "laser")["number"]
    told = as_json("tell", "laser", number, "-0.2", "-0.3", "nan", "--sem", "0.1")
    assert told == {"number": 0, "value": -0.2, "values": [-0.2, -0.3, None]}
    trials = optuna.load_study(study_name="laser", storage="sqlite:///unbribable.db").trials
    assert [each.values for each in trials] == [[-0.2], [-0.3], None]
    assert [each.user_attrs["unbribable:sem"] for each in trials] == [0.1] * 3
    assert trials[1].params == trials[0].params
    number = as_json("ask", "laser")["number"]
    assert number == 3
    assert "sem must be finite and > 0" in call("tell", "laser", number, 1.0, "--sem", 0, code=2)
    assert "--sem must come with a reading" in call(
        "tell", "laser", number, "--failed", "--sem", 1, code=2
    )
    call("tell", "laser", number, 0.5)
