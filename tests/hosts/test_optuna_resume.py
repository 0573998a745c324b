"""What the sampler keeps, and how a study is stopped and gone on with."""

import copy
import pickle

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.trial import TrialState

import unbribable as ub
from hosts.optuna_studies import (
    ALGORITHMS,
    X,
    engine_of,
    f,
    fitted,
    learned,
    new_study,
    objective,
    sampler,
    stored,
    told,
)
from unbribable.hosts.optuna.sampler import UnbribableSampler

pytestmark = pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
optuna.logging.set_verbosity(optuna.logging.WARNING)


def test_a_retried_copy_counts_as_proposed_by_the_sampler():
    callbacks = optuna.storages
    retry = getattr(callbacks, "RetryHeartbeatStaleTrialCallback", None)
    retry = (retry or callbacks.RetryFailedTrialCallback)()
    study = new_study(sampler())
    study.optimize(objective, n_trials=2)
    study.ask(X)
    study._storage.set_trial_state_values(study.trials[2]._trial_id, TrialState.FAIL)
    retry(study, study.trials[2])
    study.optimize(objective, n_trials=1)
    assert study.trials[3].params == study.trials[2].params
    assert learned(study.sampler, study) == ([0, 1, 3], [])


# --- stopping and going on ----------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("make", [sampler, fitted])
@pytest.mark.parametrize("name", ["a tenth", "unknown"])
def test_a_study_that_is_stopped_after_every_round_goes_on_as_if_it_had_not_been(name, make, tmp_path):
    words = ALGORITHMS[name]
    url = f"sqlite:///{tmp_path / 'study.db'}"
    whole, n = new_study(make(**words)), 7
    whole.optimize(objective, n_trials=n)
    new_study(None, storage=url, study_name="s")
    for _ in range(n):
        study = optuna.load_study(study_name="s", storage=url, sampler=make(**words))
        study.optimize(objective, n_trials=1)
    assert told(study) == told(whole)
    resumed = UnbribableSampler.from_study(study)
    assert resumed.recommend(study).to_dict() == whole.sampler.recommend(whole).to_dict()
    found = resumed.suspects(study), whole.sampler.suspects(whole)
    assert [one.to_dict() for one in found[0]] == [one.to_dict() for one in found[1]]


@pytest.mark.filterwarnings("ignore:parameters must be in all trials")
def test_resuming_an_inferred_search_space_is_exact_too(tmp_path):
    def mixed(trial):
        x = trial.suggest_float("x", -2.0, 2.0)
        if trial.suggest_categorical("kind", ["a", "b"]) == "a":
            return f(x) + trial.suggest_float("only a", 0.0, 0.1)
        return f(x)

    url = f"sqlite:///{tmp_path / 'study.db'}"
    whole = new_study(fitted(search_space=None))
    whole.optimize(mixed, n_trials=6)
    new_study(None, storage=url, study_name="s")
    for _ in range(3):
        study = optuna.load_study(study_name="s", storage=url, sampler=fitted(search_space=None))
        study.optimize(mixed, n_trials=2)
    assert told(study) == told(whole)


def test_without_a_seed_the_study_chooses_one_and_keeps_it(tmp_path):
    url = f"sqlite:///{tmp_path / 'study.db'}"
    words = {"corruption": "unknown", "seed": None}
    new_study(None, storage=url, study_name="s")
    for _ in range(4):
        study = optuna.load_study(study_name="s", storage=url, sampler=sampler(**words))
        study.optimize(objective, n_trials=1)
    seed = ub.decision.asking.draws.Seed.from_plain(stored(study)["seed"])
    assert seed.entropy > 2**64
    assert {engine_of(each, study).seed for each in (sampler(**words), study.sampler)} == {seed}
    assert told(new_study(None)) != told(study)


@pytest.mark.parametrize("words", [{}, {"explore": 2.0}, {"assumptions": None}])
def test_from_study_gives_the_sampler_it_was_started_with(words):
    space = {"x": FloatDistribution(-2.0, 2.0), "kind": CategoricalDistribution(("a", None, 3))}
    study = new_study(sampler(**{"corruption": "unknown", "search_space": space} | words), "minimize")
    study.tell(study.ask(space), 0.5)
    restored = UnbribableSampler.from_study(study)
    assert restored._agreed(study) == study.sampler._agreed(study)


def test_a_study_can_be_started_before_its_first_trial():
    study = new_study(sampler(corruption=1.5, seed=None))
    study.sampler.start(study)
    assert len(study.trials) == 0
    restored = UnbribableSampler.from_study(study)
    assert restored.search_space == X
    restored.start(study)
    with pytest.raises(ValueError, match="corruption must be what the study was started with"):
        sampler(corruption=2.5).start(study)


@pytest.mark.parametrize("lies", [3, 0.2])
def test_the_number_of_lies_is_kept_in_the_study(lies):
    study = new_study(sampler(lies=lies))
    study.optimize(objective, n_trials=2)
    study.sampler = UnbribableSampler.from_study(study)
    study.optimize(objective, n_trials=1)
    n_lies = lies if lies == 3 else 8
    assert f"corrupts at most {n_lies} of the" in study.sampler.recommend(study).guarantee
    study.sampler = sampler()
    with pytest.raises(ValueError, match=rf"lies must be .* lies={lies}, got lies=0\.1"):
        study.optimize(objective, n_trials=1)


def test_from_study_refuses_a_study_of_another_sampler():
    study = optuna.create_study(study_name="theirs")
    with pytest.raises(ValueError, match="started with UnbribableSampler, got 'theirs'"):
        UnbribableSampler.from_study(study)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"n_trials": 50}, r"n_trials must be .* n_trials=40, got n_trials=50; go on with the same"),
        ({"corruption": "unknown"}, r"corruption must be .* corruption=1\.5, got corruption='unknown'"),
        ({"n_init": 3}, r"n_init must be .* n_init=None, got n_init=3"),
        ({"assumptions": None}, r"assumptions must be .* assumptions=\{.*\}, got assumptions=None"),
        ({"search_space": None}, r"search_space must be .*, got search_space=None"),
        ({"seed": 6}, r"^seed must be .* seed=.*5.*, got seed=.*6.*; go on with the same"),
    ],
)
def test_other_arguments_are_refused_by_the_first_word_that_differs(words, sentence):
    study = new_study(sampler(corruption=1.5))
    study.optimize(objective, n_trials=1)
    study.sampler = sampler(**{"corruption": 1.5} | words)
    with pytest.raises(ValueError, match=sentence):
        study.optimize(objective, n_trials=1)
    with pytest.raises(ValueError, match="or begin another study"):
        study.sampler.recommend(study)


@pytest.mark.parametrize("other", [1, 3])
def test_a_study_of_another_format_is_refused_and_what_to_do_is_said(other):
    study = new_study(sampler())
    study.optimize(objective, n_trials=1)
    later = {**stored(study), "format": other}
    study._storage.set_study_system_attr(study._study_id, "unbribable", later)
    with pytest.raises(ValueError, match=f"the study's format must be 2, got {other}.* add its trials"):
        study.ask()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_a_copy_of_a_sampler_in_use_goes_on_the_same(copied):
    study = new_study(fitted(corruption="unknown"))
    study.optimize(objective, n_trials=5)
    whole = new_study(fitted(corruption="unknown"))
    whole.optimize(objective, n_trials=7)
    study.sampler = copied(study.sampler)
    study.optimize(objective, n_trials=2)
    assert told(study) == told(whole)


def test_a_study_whose_starter_died_is_started_by_the_next_one():
    study = new_study(sampler(seed=None))
    study._storage.create_new_trial(study._study_id)  # running, and nobody will ever write the seed
    study.tell(study.ask(X), 0.5)
    assert study.trials[1].state == TrialState.COMPLETE
    assert "seed" in stored(study)
