"""Studies from the command line: steps, fixed values, and what really happened to a point."""

import optuna
import pytest
from optuna.distributions import FloatDistribution, IntDistribution

from hosts.optuna_studies import new_study, sampler
from hosts.test_cli_study import as_json, call, here  # noqa: F401
from unbribable.auditing import optuna_table
from unbribable.cli.parameters import parameter
from unbribable.hosts.optuna import terms


def create(*words):
    call("create", "oven", "--param", "t=0:10:step=2", "--param", "gas=N2,Ar", "--seed", "1", *words)


def test_steps_of_a_parameter():
    assert parameter("t=0:10:step=2") == ("t", FloatDistribution(0.0, 10.0, step=2.0))
    assert parameter("n=0:40:int:step=10") == ("n", IntDistribution(0, 40, step=10))
    assert parameter("n=0:40:step=10:int") == ("n", IntDistribution(0, 40, step=10))
    for text in (
        "t=0:1:step=",
        "t=0:1:step=x",
        "t=0:1:step=.5:step=.5",
        "n=0:9:int:step=1.5",
        "t=1:9:log:step=1",
    ):
        with pytest.raises(ValueError, match="param must be name=low:high"):
            parameter(text)


def test_a_point_with_a_value_that_is_fixed():
    create()
    for _ in range(3):
        asked = as_json("ask", "oven", "--fix", "gas=Ar", "--fix", "t=4")
        assert asked["params"] == {"t": 4.0, "gas": "Ar"}
        call("tell", "oven", asked["number"], "0.5")
    for words, text in (
        ("gas=He", "gas must be one of"),
        ("t=5", "--fix: t must be 0.0 + k * 2.0"),
        ("t=x", "must be a number"),
        ("p=1", "--fix must be name=value of one of ['t', 'gas'], got --fix='p=1'"),
        ("gas", "--fix must be name=value"),
    ):
        assert text in call("ask", "oven", "--fix", words, code=2).replace("\n", " ")
    assert as_json("status", "oven")["pending"] == []


def test_a_point_given_up_may_be_asked_again_and_one_that_failed_is_not():
    create("--trials", "6")
    for value in range(3):
        asked = as_json("ask", "oven")
        call("tell", "oven", asked["number"], value / 10)
    first = as_json("ask", "oven")
    assert "may be asked again" in call("forget", "oven", first["number"])
    second = as_json("ask", "oven")
    assert second["params"] == first["params"]
    call("tell", "oven", second["number"], "--failed", "--again")
    third = as_json("ask", "oven")
    assert third["params"] == first["params"]
    call("tell", "oven", third["number"], "--failed")
    assert as_json("ask", "oven")["params"] != first["params"]
    assert "was told as failed" in call("forget", "oven", first["number"], code=2)
    assert "--again must come with --failed" in call("tell", "oven", "12", "1.0", "--again", code=2)


def test_a_reading_where_it_was_really_taken():
    """The sampler learns it there, and so do the tables that are written."""
    create()
    asked = as_json("ask", "oven", "--fix", "t=4")
    call("tell", "oven", asked["number"], "0.5", "--at", "t=6")
    assert as_json("recommend", "oven")["params"] == {**asked["params"], "t": 6.0}
    twice = as_json("ask", "oven", "--fix", "t=2")
    call("tell", "oven", twice["number"], "0.1", "0.2", "--at", "t=8")
    call("export", "oven", "trials.csv")
    with open("trials.csv", encoding="utf-8") as file:
        assert "6.0" in file.read().splitlines()[1]
    study = optuna.load_study(study_name="oven", storage="sqlite:///unbribable.db")
    assert terms.params_of(study.trials[0])["t"] == 6.0
    second = as_json("ask", "oven")
    assert "t must be" in call("tell", "oven", second["number"], "0.5", "--at", "t=61", code=2)
    assert as_json("status", "oven")["pending"] == [second["number"]]
    call("tell", "oven", second["number"], "0.25")
    assert optuna_table.AT_KEY == terms.AT_KEY
    table, *_ = optuna_table.read_optuna(study)
    assert [point["t"] for point in table.points] == [6.0, 8.0, 8.0, second["params"]["t"]]


def test_forgetting_a_trial_of_a_study_in_python():
    study = new_study(sampler())
    space = {"x": FloatDistribution(-2.0, 2.0)}
    for _ in range(3):
        study.tell(study.ask(space), 0.1)
    first = study.ask(space)
    study.sampler.forget(study, first.number)
    assert study.trials[-1].state.name == "FAIL"
    second = study.ask(space)
    assert second.params == first.params
    study.tell(second, state=optuna.trial.TrialState.FAIL)
    assert study.ask(space).params != first.params
    with pytest.raises(ValueError, match="number must be that of a running trial, got 0; these are"):
        study.sampler.forget(study, 0)
