"""Callbacks that stop a study once nothing is left to gain, and the order of its parameters."""

import logging

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution

import unbribable as ub
from hosts.optuna_studies import ASSUMED, X, fitted, new_study, objective, sampler
from unbribable.decision.left_to_gain import NotYet
from unbribable.hosts.optuna.sampler import UnbribableSampler
from unbribable.say.figures.belief import axes_of

STOPPED = "nothing is left to gain above 0.2 (a heuristic)"


def test_a_study_stops_once_nothing_is_expected_to_be_left(caplog):
    study = new_study(fitted())
    with caplog.at_level(logging.INFO, "unbribable"):
        study.optimize(objective, 40, callbacks=[study.sampler.stop_below(0.2)])
    assert 8 <= len(study.trials) < 40
    assert study.user_attrs["unbribable:stopped"] == STOPPED
    assert f"stopped: {STOPPED}" in [record.getMessage() for record in caplog.records]
    left = study.sampler.left_to_gain(study)
    assert left.is_below(0.2)
    assert left.proven == study.sampler.recommend(study).regret_bound
    assert left.expected == study.sampler.result(study).left_to_gain.expected


def test_a_study_goes_on_while_more_is_left():
    study = new_study(fitted())
    study.optimize(objective, 9, callbacks=[study.sampler.stop_below(1e-6)])
    assert len(study.trials) == 9
    assert "unbribable:stopped" not in study.user_attrs


def test_a_study_stops_once_it_is_proven():
    study = new_study(sampler(corruption=0))
    study.optimize(objective, 40, callbacks=[study.sampler.stop_proven_below(1.0)])
    assert len(study.trials) < 40
    said = "nothing is left to gain above 1 (proven, if what the guarantee supposes holds)"
    assert study.user_attrs["unbribable:stopped"] == said
    assert study.sampler.recommend(study).regret_bound <= 1.0


def test_a_callback_waits_for_a_complete_trial():
    def fails_first(trial):
        if trial.number == 0:
            raise ValueError("the lid was open")
        return objective(trial)

    study = optuna.create_study(direction="maximize", sampler=UnbribableSampler(seed=0, n_trials=9))
    callbacks = [study.sampler.stop_below(0.1), study.sampler.stop_proven_below(1e-6)]
    study.optimize(fails_first, 3, callbacks=callbacks, catch=ValueError)
    assert len(study.trials) == 3
    assert study.sampler.left_to_gain(study).not_yet == NotYet.EARLY


@pytest.mark.parametrize("eps", [0.0, -1.0, float("nan"), "0.1"])
def test_what_may_be_left_is_a_number_above_zero(eps):
    for name in ("stop_below", "stop_proven_below"):
        with pytest.raises((TypeError, ValueError), match=f"{name} must be .*, got {name}="):
            getattr(sampler(), name)(eps)


@pytest.mark.skipif(not hasattr(optuna.trial.Trial, "set_constraint"), reason="of Optuna 5")
def test_only_trials_that_meet_their_constraints_are_the_one_to_beat():
    def constrained(trial):
        x = trial.suggest_float("x", -2.0, 2.0)
        trial.set_constraint("c", x)
        return 0.4 * x

    given = {"assumptions": ASSUMED, "corruption": 0, "explore": 2.0}
    study = new_study(UnbribableSampler(n_trials=9, search_space=X, seed=5, **given))
    with pytest.warns(UserWarning, match="constraints do not guide"):
        study.optimize(constrained, 9)
    left, best = study.sampler.left_to_gain(study), study.sampler.recommend(study)
    assert best.params["x"] <= 0.0
    assert left.expected > study.sampler.result(study).left_to_gain.expected + 0.2
    assert left.proven == best.regret_bound


# --- the order of parameters -----------------------------------------------------------------------

SPACE = {
    "z": FloatDistribution(0.0, 1.0),
    "one": CategoricalDistribution(["only"]),
    "b": CategoricalDistribution(["r", "s", "t"]),
    "a": FloatDistribution(-1.0, 1.0),
}


def suggested(trial):
    z = trial.suggest_float("z", 0.0, 1.0)
    trial.suggest_categorical("one", ["only"])
    b = trial.suggest_categorical("b", ["r", "s", "t"])
    return z + (b == "s") - trial.suggest_float("a", -1.0, 1.0) ** 2


@pytest.mark.parametrize("space", [SPACE, None], ids=["declared", "suggested"])
@pytest.mark.parametrize("storage", [None, "sqlite"])
def test_parameters_are_in_the_order_in_which_they_were_declared_or_suggested(space, storage, tmp_path):
    at = None if storage is None else f"sqlite:///{tmp_path}/s.db"
    mine = UnbribableSampler(n_trials=8, search_space=space, seed=0, n_init=3)
    study = optuna.create_study(direction="maximize", sampler=mine, storage=at)
    study.optimize(suggested, 5)
    if at is not None:
        study = optuna.load_study(study_name=study.study_name, storage=at)
        mine = UnbribableSampler.from_study(study)
    names = [name for name in SPACE if name != "one"]
    best, result = mine.recommend(study), mine.result(study)
    assert [name for name in best.params if name != "one"] == names
    mine.note(study)
    assert [*study.user_attrs["unbribable:recommended"]] == [*best.params]
    assert [*result.x] == [*result.suspects[0].params] == [*result.trials[0].params] == names
    assert [axis.name for axis in axes_of(result.space, 5)] == names
    assert result.x == {name: best.params[name] for name in names}
    assert [axis.part for axis in axes_of(result.space, 5)] == [slice(4, 5), slice(1, 4), slice(0, 1)]


def test_the_order_moves_no_point():
    """What the kernel sees is in alphabetical order, whatever is shown."""
    there = [new_study(UnbribableSampler(n_trials=8, search_space=each, seed=0)) for each in spaces()]
    for study in there:
        study.optimize(suggested, 5)
    assert [trial.params for trial in there[0].trials] == [trial.params for trial in there[1].trials]


def spaces():
    return SPACE, dict(reversed(SPACE.items()))


def test_names_that_are_shown_are_those_of_the_parameters():
    encoding = ub.Study({"b": (0.0, 1.0), "a": (1, 3)}).space.encoding
    shown = type(encoding)(encoding.dimensions, ("a", "b"))
    assert [*shown.decode(shown.encode({"b": 0.5, "a": 2}))] == ["a", "b"]
    assert shown == encoding
    for names in (("a",), ("a", "b", "b"), ("a", "c")):
        with pytest.raises(ValueError, match=r"names must be \['b', 'a'\] in some order, got"):
            type(encoding)(encoding.dimensions, names)
