"""Values that are fixed for a trial: the others are chosen to go with them."""

import warnings

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from hosts.optuna_studies import new_study
from unbribable.hosts.optuna.sampler import UnbribableSampler

SPACE = {
    "gas": CategoricalDistribution(["N2", "Ar", "He"]),
    "temp": FloatDistribution(0.0, 1.0),
    "n": IntDistribution(1, 9),
}
PEAK = {"N2": 0.2, "Ar": 0.5, "He": 0.8}


def f(params):
    """Helium is best; each gas has its own best temperature."""
    return 0.5 * (params["gas"] == "He") - 2.0 * (params["temp"] - PEAK[params["gas"]]) ** 2


def begun(n, **words):
    study = new_study(UnbribableSampler(n_trials=40, search_space=SPACE, seed=3, **words))
    for _ in range(n):
        trial = study.ask(SPACE)
        study.tell(trial, f(trial.params))
    return study


def partially_fixed(study, fixed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study.sampler = optuna.samplers.PartialFixedSampler(fixed, study.sampler)


def test_with_optunas_partial_fixed_sampler_the_rest_is_chosen_for_that_value():
    """And the trials with other gases still teach what they teach."""
    study = begun(12)
    partially_fixed(study, {"gas": "Ar"})
    for _ in range(5):
        trial = study.ask(SPACE)
        assert trial.params["gas"] == "Ar"
        study.tell(trial, f(trial.params))
    assert trial.params["temp"] == pytest.approx(0.5, abs=0.1)
    study.sampler = study.sampler._base_sampler
    assert study.sampler.recommend(study).params["gas"] == "He"


def test_an_enqueued_trial_with_some_values_gets_others_that_go_with_them():
    study = begun(24)
    study.enqueue_trial({"gas": "Ar"})
    trial = study.ask(SPACE)
    assert trial.params["gas"] == "Ar"
    assert trial.params["temp"] == pytest.approx(0.5, abs=0.15)


def test_in_the_design_too():
    study = begun(0)
    partially_fixed(study, {"gas": "He", "n": 4})
    for _ in range(4):
        trial = study.ask(SPACE)
        assert (trial.params["gas"], trial.params["n"]) == ("He", 4)
        study.tell(trial, f(trial.params))


def test_a_value_that_is_not_possible_is_left_to_optuna():
    study = begun(12)
    partially_fixed(study, {"temp": 7.0, "pressure": 3})
    with pytest.warns(UserWarning, match="out of range"):
        assert study.ask(SPACE).params["temp"] == 7.0


def test_steps_of_optuna_are_steps():
    """Also for the kernel: the coordinates are those of the steps."""
    space = {"t": FloatDistribution(0.0, 2.0, step=0.5), "x": FloatDistribution(0.0, 1.0)}
    study = new_study(UnbribableSampler(n_trials=40, search_space=space, seed=3))
    for _ in range(12):
        trial = study.ask(space)
        assert trial.params["t"] in (0.0, 0.5, 1.0, 1.5, 2.0)
        study.tell(trial, -((trial.params["t"] - 1.4) ** 2) - trial.params["x"])
    found = study.sampler.recommend(study)
    assert found.params["t"] == 1.5
    assert found.x[0] == pytest.approx(0.7)  # the middle of the fourth of five cells
