"""What a value can be: outside `reading_range` it is false for certain."""

import json
import math
import warnings

import optuna
import pytest

import unbribable as ub
from hosts.optuna_studies import f, fitted, new_study
from unbribable.decision.proven.conditions import InRange
from unbribable.doubt.suspect import Kind
from unbribable.hosts.optuna.sampler import UnbribableSampler
from unbribable.hosts.optuna.terms import add_replicate

FALSE = {3: math.inf, 5: -50.0, 6: 1e200}


def objective(trial):
    x = trial.suggest_float("x", -2.0, 2.0)
    return FALSE.get(trial.number, f(x))


@pytest.fixture(scope="module")
def lied_to():
    study = new_study(fitted(reading_range=(-1.0, 1.0)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is left out, so nothing is said
        study.optimize(objective, n_trials=10)
    return study


def test_values_outside_are_counted_and_not_missing(lied_to):
    best = lied_to.sampler.recommend(lied_to)
    assert best.promise.void is None
    assert InRange(-1.0, 1.0) in best.promise.conditions
    assert best.lies.least == 3
    assert "returned no finite value" not in best.guarantee
    found = lied_to.sampler.suspects(lied_to, flagged_only=True)
    certain = {each.number: each.y for each in found if each.is_certain}
    assert certain == FALSE
    assert all(each.reasons[0].kind == Kind.IMPOSSIBLE for each in found if each.is_certain)
    assert json.dumps([each.to_dict() for each in found], allow_nan=False)


def test_every_process_has_to_say_the_same(lied_to):
    again = UnbribableSampler.from_study(lied_to)
    assert again.plan.reading_range == (-1.0, 1.0)
    assert again.recommend(lied_to).params == lied_to.sampler.recommend(lied_to).params
    with pytest.raises(ValueError, match="reading_range must be what the study was started with"):
        fitted(reading_range=(-2.0, 1.0)).recommend(lied_to)


def test_a_study_from_before_goes_on():
    study = new_study(fitted())
    study.sampler.start(study)
    terms = study._storage.get_study_system_attrs(study._study_id)["unbribable"]
    del terms["plan"]["reading_range"]
    study._storage.set_study_system_attr(study._study_id, "unbribable", terms)
    assert UnbribableSampler.from_study(study).plan.reading_range is None
    fitted().start(study)


def test_an_audit_of_any_study_takes_infinite_values():
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(0))
    study.optimize(objective, n_trials=10)
    audit = ub.audit(study, reading_range=(-1.0, 1.0))
    assert audit.least_lies == 3
    assert {each.t - 1 for each in audit.suspects if each.is_certain} == FALSE.keys()


def test_replicates_and_known_noise_reach_the_engine():
    study = new_study(fitted())
    study.sampler.start(study)
    for k in range(4):
        trial = study.ask()
        x = trial.suggest_float("x", -2.0, 2.0)
        trial.set_user_attr("unbribable:sem", 0.05)
        study.tell(trial, f(x))
        add_replicate(study, study.trials[trial.number], None if k == 1 else f(x) + 0.01, {})
    result = study.sampler.result(study)
    assert [each.replicate_of for each in result.engine.log.values()] == [
        None,
        1,
        None,
        3,
        None,
        5,
        None,
        7,
    ]
    assert [each.sem for each in result.engine.readings] == [0.05, None, 0.05, 0.05, None, 0.05, None]
    assert result.engine.n_readings == 80
    assert not any(each.is_given or each.is_row for each in result.engine.log.values())


def test_a_noise_that_is_no_number_is_refused():
    study = new_study(fitted())
    trial = study.ask()
    trial.suggest_float("x", -2.0, 2.0)
    trial.set_user_attr("unbribable:sem", "little")
    study.tell(trial, 1.0)
    with pytest.raises(TypeError, match="sem must be a real number"):
        study.sampler.recommend(study)
