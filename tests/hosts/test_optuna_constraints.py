"""Constraints on the points that the sampler may propose and recommend."""

import json
import pickle

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from typer.testing import CliRunner

import unbribable as ub
from hosts.optuna_studies import new_study, told
from unbribable.cli.main import app
from unbribable.cli.parameters import linear
from unbribable.hosts.optuna.sampler import UnbribableSampler

SPACE = {
    "a": FloatDistribution(0.0, 1.0),
    "b": FloatDistribution(0.0, 1.0),
    "gas": CategoricalDistribution(["N2", "Ar", "He"]),
    "lot": CategoricalDistribution([7]),
}
SUM = ub.LinearConstraint({"a": 1.0, "b": 1.0}, at_most=0.8)


def no_helium(params):
    return params["gas"] != "He" and params["lot"] == 7


def f(params):
    return -((params["a"] - 0.9) ** 2) - (params["b"] - 0.9) ** 2 + (params["gas"] == "He")


def made(*constraints, **words):
    return UnbribableSampler(
        n_trials=30, search_space=SPACE, seed=3, n_init=3, constraints=constraints, **words
    )


def played(study, n):
    for _ in range(n):
        trial = study.ask(SPACE)
        study.tell(trial, f(trial.params))
    return study


def test_nothing_forbidden_is_proposed_or_recommended():
    study = played(new_study(made(SUM, no_helium)), 7)
    assert all(SUM(trial.params) and no_helium(trial.params) for trial in study.trials)
    study.enqueue_trial({"a": 0.9, "b": 0.9, "gas": "He", "lot": 7})  # forbidden, and by far the best
    played(study, 1)
    assert study.trials[-1].params["gas"] == "He"
    best = study.sampler.recommend(study)
    assert SUM(best.params)
    assert best.params["gas"] != "He"
    assert "allowed candidates" in best.guarantee
    assert study.best_trial.params["gas"] == "He"
    study.enqueue_trial({"a": 0.7})
    params = study.ask(SPACE).params
    assert params["a"] == 0.7
    assert SUM(params)


def test_what_is_fixed_and_allowed_by_nothing_is_refused_and_leaves_no_trial_open():
    study = played(new_study(made(SUM, no_helium)), 4)
    study.enqueue_trial({"gas": "He"})
    with pytest.raises(ValueError, match="fixed must leave a point that has these values and keeps"):
        study.ask(SPACE)
    assert study.trials[-1].state.name == "FAIL"


def test_the_study_keeps_linear_ones_and_asks_for_functions_again(tmp_path):
    url = f"sqlite:///{tmp_path}/lab.db"
    study = played(new_study(made(SUM, no_helium), storage=url, study_name="s"), 5)
    with pytest.raises(ValueError, match="1 function, which nothing can keep, got 0; give them again"):
        UnbribableSampler.from_study(study)
    study.sampler = UnbribableSampler.from_study(study, constraints=[no_helium])
    played(study, 1)
    whole = played(new_study(made(SUM, no_helium)), 6)
    assert [row[2] for row in told(study)] == [row[2] for row in told(whole)]
    study.sampler = made(SUM)
    with pytest.raises(ValueError, match="constraints must be what the study was started with"):
        study.ask(SPACE)
    alone = new_study(made(SUM))
    played(alone, 1)
    assert UnbribableSampler.from_study(alone)._constraints == (SUM,)
    assert pickle.loads(pickle.dumps(made(SUM, no_helium)))._constraints == (SUM, no_helium)


def test_constraints_need_a_search_space():
    with pytest.raises(ValueError, match="constraints need a search_space"):
        UnbribableSampler(constraints=[SUM])
    with pytest.raises(ValueError, match="constraints must leave a point to ask"):
        made(lambda params: False)


def test_linear_constraints_in_words():
    assert linear("a + 2 b <= 3") == ub.LinearConstraint({"a": 1.0, "b": 2.0}, at_most=3.0)
    assert linear("-a+.5*b-1e-3 c2>=-1.5") == ub.LinearConstraint(
        {"a": -1.0, "b": 0.5, "c2": -1e-3}, at_least=-1.5
    )
    for text in (
        "a + b",
        "a < 3",
        "a <= b",
        "a b <= 1",
        "a + a <= 1",
        "2 <= 3",
        "<= 3",
        "0 <= a <= 3",
        "a* <= 1 +",
    ):
        with pytest.raises(ValueError, match=r"constraint|weights"):
            linear(text)


def test_a_study_of_the_shell_with_a_constraint(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("UNBRIBABLE_STORAGE", raising=False)

    def call(*words, code=0):
        done = CliRunner().invoke(app, ["study", *words])
        assert done.exit_code == code, done.output
        return done.stdout + done.stderr

    params = ["--param", "a=0:1", "--param", "b=0:1"]
    call("create", "mix", *params, "--seed", "1", "--constraint", "a + b <= 0.5")
    for number in range(3):
        asked = json.loads(call("ask", "mix", "--json"))
        assert asked["params"]["a"] + asked["params"]["b"] <= 0.5 + 1e-9
        call("tell", "mix", str(number), "0.5")
    assert "fixed must leave a point" in call("ask", "mix", "--fix", "a=0.9", code=2).replace("\n", " ")
    assert "must name some of" in call("create", "m", *params, "--constraint", "c <= 1", code=2).replace(
        "\n", " "
    )
    assert json.loads(call("status", "mix", "--json"))["pending"] == []
    assert optuna.load_study(study_name="mix", storage="sqlite:///unbribable.db") is not None
