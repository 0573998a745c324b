"""What the sampler says where a study holds what it cannot reckon with."""

import json

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

from hosts.optuna_studies import (
    ASSUMED,
    X,
    f,
    fitted,
    learned,
    new_study,
    objective,
    sampler,
)
from unbribable.hosts.optuna.space import Space

pytestmark = pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
optuna.logging.set_verbosity(optuna.logging.WARNING)


# --- constraints --------------------------------------------------------------------------------


def constrained(trial):
    """Feasible below 0; the best feasible value is there."""
    x = trial.suggest_float("x", -2.0, 2.0)
    trial.storage.set_trial_system_attr(trial._trial_id, "constraints:c", x)
    return f(x)


def as_list(trial):
    """The same in the form of a sampler's constraints_func."""
    x = trial.suggest_float("x", -2.0, 2.0)
    trial.storage.set_trial_system_attr(trial._trial_id, "constraints", [x])
    return f(x)


@pytest.mark.parametrize("make", [sampler, fitted])
@pytest.mark.parametrize("objective", [constrained, as_list])
def test_of_a_study_with_constraints_a_trial_that_meets_them_is_recommended_and_this_is_said(
    objective, make
):
    study = new_study(make())
    with pytest.warns(UserWarning, match="constraints do not guide what is proposed") as said:
        study.optimize(objective, n_trials=12)
    assert len(said) == 1
    best = study.sampler.recommend(study)
    assert best.params["x"] <= 0.0
    assert best.params["x"] in [pytest.approx(trial.params["x"]) for trial in study.trials]
    assert "a trial whose constraints are met, as told: that is not guaranteed" in best.guarantee
    assert best.naive_params["x"] <= 0.0


def test_where_no_trial_meets_the_constraints_nothing_is_recommended():
    study = new_study(sampler())
    attrs = {"constraints": [1.0]}
    study.add_trial(create_trial(params={"x": 1.0}, distributions=X, value=0.2, system_attrs=attrs))
    with pytest.raises(RuntimeError, match="none that was learned and meets its constraints"):
        study.sampler.recommend(study)


@pytest.mark.skipif(not hasattr(optuna.trial.Trial, "set_constraint"), reason="of Optuna 5")
def test_constraints_are_found_where_optuna_stores_them():
    study = new_study(sampler())
    trial = study.ask(X)
    trial.set_constraint("c", -1.0)
    study.tell(trial, 0.5)
    assert "as told" in study.sampler.recommend(study).guarantee


# --- search spaces that change ------------------------------------------------------------------


def within(high):
    return lambda trial: -((trial.suggest_float("x", 0.0, high) - 0.7) ** 2)


def test_one_trial_with_another_range_is_said_once_and_the_search_goes_on():
    study = new_study(fitted(search_space=None, n_init=4))
    study.optimize(within(1.0), n_trials=8)
    study.optimize(within(1.5), n_trials=1)
    sentence = r"x must have one range in all trials, got .*high=1.5.* in trial 8 and .*in trial 7"
    with pytest.warns(UserWarning, match=sentence) as said:
        study.optimize(within(1.0), n_trials=6)
    assert len([one for one in said if "one range" in str(one.message)]) == 1
    assert max(abs(trial.params["x"] - 0.7) for trial in study.trials[11:]) < 0.1
    best = study.sampler.recommend(study)
    assert best.params["x"] == pytest.approx(0.7, abs=0.05)
    assert best.n_trials >= 14


def test_the_newest_range_counts_whatever_the_order_of_the_ends():
    study = new_study(fitted(search_space=None))
    first, second = study.ask(), study.ask()
    second.suggest_float("x", 0.0, 2.0)
    study.tell(second, 0.1)
    first.suggest_float("x", 0.0, 1.0)
    study.tell(first, 0.1)
    with pytest.warns(UserWarning, match="one range"), study.sampler._looked_at(study) as (_, _, space):
        assert space == Space({"x": FloatDistribution(0.0, 2.0)})


def test_a_trial_without_parameters_does_not_end_the_search():
    study = new_study(fitted(search_space=None))
    study.optimize(within(1.0), n_trials=3)
    study.add_trial(create_trial(value=0.5))
    with pytest.warns(UserWarning, match=r"must have all of the parameters x to be learned, got \[\]"):
        study.optimize(within(1.0), n_trials=1)
    assert learned(study.sampler, study)[0] == [0, 1, 2, 4]


def test_the_remedy_for_trials_with_nothing_in_common_works():
    study = new_study(fitted(search_space=None))
    study.optimize(within(1.0), n_trials=3)
    other = {"z": IntDistribution(0, 3)}
    study.add_trial(create_trial(params={"z": 1}, distributions=other, value=0.3))
    with pytest.warns(UserWarning, match="the complete trials must have a parameter in common"):
        study.optimize(within(1.0), n_trials=1)
    with pytest.raises(RuntimeError, match=r"or give search_space="):
        study.sampler.recommend(study)
    told_later = fitted(search_space={"x": FloatDistribution(0.0, 1.0)})
    with pytest.warns(UserWarning, match="must have all of the parameters x"):
        assert told_later.recommend(study).n_trials == 4
    assert len(told_later.suspects(study)) == 4
    study.sampler = told_later
    with pytest.raises(ValueError, match="search_space must be what the study was started with"):
        study.ask()


# --- refusals and words -------------------------------------------------------------------------


def test_a_refused_process_leaves_no_running_trial():
    study = new_study(sampler())
    study.optimize(objective, n_trials=1)
    study.sampler = sampler(n_trials=41)
    for _ in range(2):
        with pytest.raises(ValueError, match="n_trials must be what"):
            study.optimize(objective, n_trials=1)
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE] + 2 * [TrialState.FAIL]
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=sampler())
    with pytest.raises(ValueError, match="one objective"):
        study.ask()
    assert study.trials[0].state == TrialState.FAIL


def test_a_recommendation_says_what_it_rests_on():
    study = new_study(sampler())
    study.optimize(objective, n_trials=2)
    assert study.sampler.recommend(study).assumptions.assumptions == ASSUMED
    study = new_study(fitted())
    study.optimize(objective, n_trials=5)
    best = study.sampler.recommend(study)
    assert "A single lie is not capped" in str(best.assumptions)
    assert "fitted to the readings" in str(best.assumptions)
    assert json.loads(json.dumps(best.to_dict()))["assumptions"] == best.assumptions.to_dict()


# --- trials without a value ---------------------------------------------------------------------


def told_and(*states, **words):
    """A study of three values, then trials that ended so."""
    study = new_study(sampler(corruption=0, **words))
    study.optimize(objective, n_trials=3)
    for state in states:
        study.tell(study.ask(X), state=state)
    study.optimize(objective, n_trials=1)
    return study


def test_failed_trials_are_counted_in_the_guarantee():
    study = told_and(TrialState.FAIL, TrialState.FAIL)
    best = study.sampler.recommend(study)
    assert best.regret_bound is not None
    assert "if none of the 2 missing readings is missing because of its value" in best.guarantee


def test_a_pruned_trial_voids_the_guarantee_unless_its_value_was_not_the_reason():
    study = told_and(TrialState.PRUNED, TrialState.FAIL)
    for _ in range(2):
        best = study.sampler.recommend(study)
        assert best.regret_bound is None
        assert best.guarantee.startswith("No guarantee: 1 reading is missing because of its value")
        stated = study.sampler.recommend(study, unrelated_to_value=True)
        assert stated.regret_bound is not None
        assert "if none of the 2 missing readings is missing" in stated.guarantee
        assert stated.params == best.params
    with pytest.raises(TypeError, match="unrelated_to_value must be True or False"):
        study.sampler.recommend(study, unrelated_to_value=1)


@pytest.mark.filterwarnings("ignore:the value of a trial must be")
@pytest.mark.filterwarnings("ignore:a trial must have all of the parameters x")
def test_whatever_has_ended_without_being_learned_is_missing_and_holds_nothing_up():
    study = told_and(TrialState.FAIL)
    study.add_trial(create_trial(value=0.5))
    study.optimize(objective, n_trials=1)
    best = study.sampler.recommend(study)
    assert "if none of the 2 missing readings is missing because of its value" in best.guarantee
    assert "still open" not in best.guarantee
    study.ask(X)
    study.optimize(objective, n_trials=1)
    assert "still open" in study.sampler.recommend(study).guarantee


def test_a_pruner_that_cuts_low_values_short_leaves_no_guarantee():
    def cut(trial):
        value = objective(trial) + 0.3 * np.random.default_rng(trial.number).standard_normal()
        trial.report(value, 0)
        if trial.should_prune():
            raise optuna.TrialPruned
        return value

    pruner = optuna.pruners.ThresholdPruner(lower=0.3)
    study = new_study(fitted(), pruner=pruner)
    study.optimize(cut, n_trials=10)
    assert TrialState.PRUNED in [trial.state for trial in study.trials]
    best = study.sampler.recommend(study)
    assert (best.regret_bound, best.probability) == (None, None)
    assert "No guarantee" in best.guarantee
