"""What the sampler draws and keeps, and how a study is stopped and gone on with."""

import copy
import pickle

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.trial import TrialState, create_trial

import unbribable as ub
from integrations.optuna_studies import (
    ALGORITHMS,
    INSTANCE,
    SECRET,
    X,
    engine_of,
    f,
    fitted,
    instances,
    learned,
    new_study,
    objective,
    sampler,
    stored,
    told,
)
from unbribable.integrations.optuna_sampler import UnbribableSampler
from unbribable.theory.budgets import layer_probabilities

pytestmark = pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
optuna.logging.set_verbosity(optuna.logging.WARNING)


# --- the draw -----------------------------------------------------------------------------------


def test_the_instance_is_a_function_of_seed_and_number_and_in_the_trial_from_the_start():
    study = new_study(sampler(corruption="layers"))
    expected = [ub.decision.draws.Seed(5).choose(t, layer_probabilities(40)) for t in range(1, 9)]
    assert len(set(expected)) > 1
    for number, label in enumerate(expected):
        trial = study.ask()
        assert study.trials[number].system_attrs[INSTANCE] == label  # before any parameter is asked for
        trial.suggest_float("x", -2.0, 2.0)
        study.tell(trial, 0.5)
    engine = engine_of(study.sampler, study)
    assert [engine.drawn(t) for t in range(1, 9)] == expected
    assert [reading.learner for reading in engine.judge().readings] == expected


@pytest.mark.parametrize("name", ["none", "known", "a tenth"])
def test_an_algorithm_with_one_instance_says_main(name):
    study = new_study(sampler(**ALGORITHMS[name]))
    study.optimize(objective, n_trials=2)
    assert instances(study) == ["main", "main"]


def test_fast_slow_does_not_know_its_instance_before_the_fit():
    study = new_study(fitted(known_or_zero=3.0))
    study.optimize(objective, n_trials=6)
    assert instances(study)[:3] == [None] * 3
    assert set(instances(study)[3:]) <= {"fast", "slow"}
    assert all(INSTANCE in trial.system_attrs for trial in study.trials)


def test_a_retried_copy_keeps_the_instance_it_was_proposed_under():
    callbacks = optuna.storages
    retry = getattr(callbacks, "RetryHeartbeatStaleTrialCallback", None)
    retry = (retry or callbacks.RetryFailedTrialCallback)()
    study = new_study(sampler(corruption="layers"))
    drawn = [study.sampler._agreed(study).drawn(number) for number in range(20)]
    stale = next(k for k in range(19) if drawn[k] != drawn[k + 1])
    study.optimize(objective, n_trials=stale)
    study.ask(X)
    study._storage.set_trial_state_values(study.trials[stale]._trial_id, TrialState.FAIL)
    retry(study, study.trials[stale])
    study.optimize(objective, n_trials=1)
    copied = study.trials[stale + 1]
    assert copied.params == study.trials[stale].params
    assert copied.system_attrs[INSTANCE] == drawn[stale]
    engine = engine_of(study.sampler, study)
    assert engine.judge().readings[-1].learner == drawn[stale]
    assert learned(study.sampler, study)[1] == []


def test_an_instance_of_other_terms_does_not_count():
    study = new_study(sampler(corruption="layers"))
    attrs = {INSTANCE: "layer-77"}
    study.add_trial(create_trial(params={"x": 1.0}, distributions=X, value=0.2, system_attrs=attrs))
    study.optimize(objective, n_trials=1)
    engine = engine_of(study.sampler, study)
    assert engine.judge().readings[0].learner == study.sampler._agreed(study).drawn(0)


def test_reveal_after_keeps_seed_and_draw_out_of_the_storage_until_the_value_is_told(tmp_path):
    path = tmp_path / "study.db"
    words = {"corruption": "layers", "seed": SECRET, "reveal": "after", "explore": 2.0}
    study = new_study(sampler(**words), storage=f"sqlite:///{path}", study_name="s")
    drawn = []
    for number in range(5):
        trial = study.ask(X)
        assert INSTANCE not in study.trials[number].system_attrs
        study.tell(trial, 0.5)
        drawn.append(study.trials[number].system_attrs[INSTANCE])
    assert drawn == [study.sampler._agreed(study).drawn(number) for number in range(5)]
    trial = study.ask(X)
    study.tell(trial, state=TrialState.FAIL)
    assert INSTANCE not in study.trials[5].system_attrs
    assert "seed" not in stored(study)
    assert str(SECRET).encode() not in path.read_bytes()


@pytest.mark.parametrize("known_or_zero", [3.0, 0.5])
def test_reveal_after_writes_what_was_proposed(known_or_zero):
    words = {"known_or_zero": known_or_zero, "seed": SECRET}
    before, after = new_study(fitted(**words)), new_study(fitted(**words, reveal="after"))
    for study in (before, after):
        study.optimize(objective, n_trials=7)
    assert told(before) == told(after)


# --- stopping and going on ----------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("make", [sampler, fitted])
@pytest.mark.parametrize("name", ["a tenth", "unknown", "known or zero"])
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
    words = {"corruption": "layers", "seed": None}
    new_study(None, storage=url, study_name="s")
    for _ in range(4):
        study = optuna.load_study(study_name="s", storage=url, sampler=sampler(**words))
        study.optimize(objective, n_trials=1)
    seed = ub.decision.draws.Seed.from_plain(stored(study)["seed"])
    assert seed.entropy > 2**64
    assert instances(study) == [seed.choose(t, layer_probabilities(40)) for t in range(1, 5)]
    assert told(new_study(None)) != told(study)


@pytest.mark.parametrize(
    "words", [{}, {"reveal": "after", "seed": SECRET, "explore": 2.0}, {"assumptions": None}]
)
def test_from_study_gives_the_sampler_it_was_started_with(words):
    space = {"x": FloatDistribution(-2.0, 2.0), "kind": CategoricalDistribution(("a", None, 3))}
    study = new_study(sampler(**{"corruption": "layers", "search_space": space} | words), "minimize")
    study.tell(study.ask(space), 0.5)
    seed = words.get("seed")
    restored = UnbribableSampler.from_study(study, seed=seed)
    assert restored._agreed(study) == study.sampler._agreed(study)
    if seed is not None:
        with pytest.raises(ValueError, match="seed must be given, the one the study was started with"):
            UnbribableSampler.from_study(study)
    with pytest.raises(ValueError, match="must be what the study was started with"):
        UnbribableSampler.from_study(study, seed=2**70)


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
    assert f"corrupts at most {n_lies} of the first 40" in study.sampler.recommend(study).guarantee
    study.sampler = sampler()
    with pytest.raises(ValueError, match=rf"lies must be .* lies={lies}, got lies=0\.1"):
        study.optimize(objective, n_trials=1)


@pytest.mark.parametrize("words", [{}, {"corruption": 1.5}])
def test_a_study_from_before_lies_could_be_stated_goes_on(words):
    study = new_study(sampler(**words))
    study.optimize(objective, n_trials=1)
    before = stored(study)
    assert before["plan"].pop("lies") == (None if words else 0.1)
    study._storage.set_study_system_attr(study._study_id, "unbribable", before)
    study.optimize(objective, n_trials=1)
    study.sampler = UnbribableSampler.from_study(study)
    study.optimize(objective, n_trials=1)
    whole = new_study(sampler(**words))
    whole.optimize(objective, n_trials=3)
    assert told(study) == told(whole)


def test_from_study_refuses_a_study_of_another_sampler():
    study = optuna.create_study(study_name="theirs")
    with pytest.raises(ValueError, match="started with UnbribableSampler, got 'theirs'"):
        UnbribableSampler.from_study(study)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"n_trials": 50}, r"n_trials must be .* n_trials=40, got n_trials=50; go on with the same"),
        ({"corruption": "layers"}, r"corruption must be .* corruption=1\.5, got corruption='layers'"),
        ({"n_init": 3}, r"n_init must be .* n_init=None, got n_init=3"),
        ({"assumptions": None}, r"assumptions must be .* assumptions=\{.*\}, got assumptions=None"),
        ({"search_space": None}, r"search_space must be .*, got search_space=None"),
        ({"seed": 6}, "^seed must be what the study was started with, got another one; go on"),
        ({"reveal": "after", "seed": SECRET}, r"reveal must be .* reveal='before', got reveal='after'"),
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


def test_a_study_of_a_later_format_is_refused():
    study = new_study(sampler())
    study.optimize(objective, n_trials=1)
    later = {**stored(study), "format": 2}
    study._storage.set_study_system_attr(study._study_id, "unbribable", later)
    with pytest.raises(ValueError, match="the study's format must be 1, got 2"):
        study.ask()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_a_copy_of_a_sampler_in_use_goes_on_the_same(copied):
    study = new_study(fitted(corruption="layers"))
    study.optimize(objective, n_trials=5)
    whole = new_study(fitted(corruption="layers"))
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
