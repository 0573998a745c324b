"""A study from the command line: one step a command, on real databases."""

import json

import optuna
import pytest
from typer.testing import CliRunner

from integrations.postgres import postgres
from unbribable.cli import app
from unbribable.cli_study import parameter


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
    for step in ("recommend", "suspects", "status"):
        assert "7" in call(step, "laser")


def test_ask_prints_a_line_that_a_shell_takes_apart():
    create("--param", "kind=a,b c")
    number, *params = call("ask", "laser").strip().split(" ", 1)
    assert number == "0"
    assert params[0].startswith(("power=", "'kind=", "kind="))


def test_a_failed_reading_is_told_as_such_and_teaches_nothing():
    create()
    run(3)
    before = as_json("recommend", "laser")
    asked = as_json("ask", "laser")
    assert as_json("status", "laser")["pending"] == [asked["number"]]
    call("tell", "laser", asked["number"], "--failed")
    assert as_json("status", "laser")["trials"] == {"complete": 3, "fail": 1}
    assert as_json("recommend", "laser") == before


def test_steps_in_processes_of_their_own_equal_one_long_run():
    create()
    run(9)
    stepped = optuna.load_study(study_name="laser", storage="sqlite:///unbribable.db")
    sampler = optuna.create_study(direction="maximize")
    from unbribable.integrations.optuna_sampler import UnbribableSampler

    space = {"power": optuna.distributions.FloatDistribution(0.0, 5.0)}
    sampler = UnbribableSampler(n_trials=20, seed=1, search_space=space)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(lambda trial: 3.0 - (trial.suggest_float("power", 0.0, 5.0) - 2.0) ** 2, n_trials=9)
    assert [trial.params for trial in stepped.trials] == [trial.params for trial in study.trials]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("tell", "laser", "5", "1.0"), "number must be one that ask printed, got 5"),
        (("tell", "laser", "0"), "tell needs a reading, or --failed"),
        (("tell", "laser", "0", "1.0", "--failed"), "and not both"),
        (("tell", "laser", "0", "nan"), "a reading must be finite, got nan"),
        (("ask", "maser"), "study must be one of ['laser']"),
        (("create", "laser", "--param", "x=0:1"), "must have a new name"),
        (("create", "new", "--param", "x"), "param must be name=low:high"),
        (("create", "new", "--param", "x=0:1:step"), "param must be name=low:high"),
        (("create", "new", "--param", "x=2:1"), "param must be name=low:high"),
        (("create", "new", "--param", "x=0:1", "--corruption", "much"), "a number or 'unknown'"),
        (("create", "new", "--param", "x=0:1", "--corruption", "-1"), "corruption must be"),
        (("create", "new", "--param", "x=0:1", "--direction", "up"), "direction must be"),
        (("create", "new", "--param", "x=0:1", "--reveal", "after"), "seed"),
        (("recommend", "laser"), "recommend needs a reading"),
    ],
)
def test_bad_words_get_the_rule_and_exit_code_2(words, message):
    create()
    call("ask", "laser")
    assert message in call(*words, code=2)


def test_a_reading_that_is_refused_leaves_the_query_pending():
    create()
    call("ask", "laser")
    call("tell", "laser", "0", "nan", code=2)
    call("tell", "laser", "0", "1.5")
    call("tell", "laser", "0", "1.5", code=2)
    assert as_json("status", "laser")["trials"] == {"complete": 1}


def test_parameters_are_read_as_written():
    assert parameter("x=0:1") == ("x", optuna.distributions.FloatDistribution(0.0, 1.0))
    assert parameter("x=1e-3:1:log") == ("x", optuna.distributions.FloatDistribution(1e-3, 1, log=True))
    assert parameter("n=1:9:int") == ("n", optuna.distributions.IntDistribution(1, 9))
    assert parameter("n=1:9:log:int") == ("n", optuna.distributions.IntDistribution(1, 9, log=True))
    assert parameter("k=a,b") == ("k", optuna.distributions.CategoricalDistribution(("a", "b")))


def test_a_study_in_postgresql_by_its_address(monkeypatch):
    with postgres() as address:
        create("--storage", address)
        run(3, "--storage", address)
        monkeypatch.setenv("UNBRIBABLE_STORAGE", address)
        assert as_json("status", "laser")["trials"] == {"complete": 3}


def test_a_secret_seed_is_asked_for_where_the_study_does_not_hold_it():
    secret = str(2**80 + 1)
    create("--reveal", "after", "--corruption", "unknown", "--seed", secret)
    assert "seed" in call("ask", "laser", code=2)
    assert as_json("ask", "laser", "--seed", secret)["number"] == 0
