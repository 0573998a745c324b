"""The sampler in a study of one process: what it proposes and learns, says and refuses."""

import math
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

from hosts.optuna_studies import (
    ALGORITHMS,
    ASSUMED,
    X,
    f,
    fitted,
    learned,
    new_study,
    objective,
    sampler,
)
from unbribable.hosts.optuna.sampler import UnbribableSampler

pytestmark = pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
optuna.logging.set_verbosity(optuna.logging.WARNING)


# --- what is proposed ---------------------------------------------------------------------------


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.parametrize("make", [sampler, fitted])
def test_it_finds_the_optimum_in_both_directions(direction, make):
    sign = 1.0 if direction == "maximize" else -1.0
    study = new_study(make(corruption=0), direction)
    study.optimize(lambda trial: sign * objective(trial), n_trials=15)
    best = study.sampler.recommend(study)
    assert best.params["x"] == pytest.approx(0.5, abs=0.35)
    assert best.lower <= sign * f(best.params["x"]) <= best.upper


SPACES = {
    "float": FloatDistribution(-1.0, 3.0),
    "log": FloatDistribution(1e-5, 10.0, log=True),
    "step": FloatDistribution(-1.0, 1.1, step=0.7),
    "int": IntDistribution(-3, 8),
    "int step": IntDistribution(1, 9, step=4),
    "int log": IntDistribution(1, 1000, log=True),
    "two choices": CategoricalDistribution(("a", None)),
    "choices": CategoricalDistribution((0.5, "b", True, None)),
}


@pytest.mark.parametrize("is_given", [True, False])
@pytest.mark.parametrize("kind", SPACES)
def test_what_is_proposed_lies_in_the_distribution_and_has_its_type(kind, is_given):
    distribution = SPACES[kind]
    space = {"p": distribution}
    study = new_study(fitted(n_init=1, search_space=space if is_given else None))
    for k in range(4):
        trial = study.ask(space)
        value = trial.params["p"]
        assert distribution._contains(distribution.to_internal_repr(value))
        assert type(value) is type(distribution.to_external_repr(distribution.to_internal_repr(value)))
        study.tell(trial, math.sin(k))
    assert learned(study.sampler, study)[0] == [0, 1, 2, 3]


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # Optuna says that databases refuse such choices
    OBJECTS = CategoricalDistribution((1.5, ("a", 1), frozenset({2})))


def test_choices_may_be_any_objects_in_memory():
    space = {"p": OBJECTS}
    study = new_study(fitted(n_init=1, search_space=None))
    for _ in range(3):
        trial = study.ask(space)
        assert trial.params["p"] in OBJECTS.choices
        study.tell(trial, 1.0)
    assert learned(study.sampler, study)[0] == [0, 1, 2]


def test_without_a_search_space_it_is_what_all_complete_trials_share():
    def branching(trial):
        x = trial.suggest_float("x", -2.0, 2.0)
        if trial.suggest_categorical("kind", ["a", "b"]) == "a":
            return f(x) + trial.suggest_float("only a", 0.0, 0.1)
        return f(x) - trial.suggest_int("only b", 0, 3) - trial.suggest_float("constant", 1.0, 1.0)

    study = new_study(fitted(n_init=2, search_space=None))
    with pytest.warns(
        UserWarning, match="got others: only a, only b; these are sampled uniformly"
    ) as said:
        study.optimize(branching, n_trials=8)
    assert len(said) == 1
    assert len({trial.params["kind"] for trial in study.trials}) == 2
    assert learned(study.sampler, study)[0] == [*range(8)]
    assert set(study.sampler.recommend(study).params) == {"x", "kind"}


def test_a_parameter_added_midway_or_left_out_of_the_search_space_is_named_once():
    """It is sampled uniformly, so somebody must be told, with its name and a remedy."""

    def grown(trial):
        y = trial.suggest_float("y", 0.0, 1.0) if trial.number >= 3 else 0.5
        return f(trial.suggest_float("x", -2.0, 2.0)) - y - trial.suggest_float("one", 1.0, 1.0)

    for space, rule in ((None, "in all trials of the study"), (X, "in search_space")):
        study = new_study(fitted(n_init=2, search_space=space))
        study.optimize(grown, n_trials=4)  # no trial had it before the last one
        with pytest.warns(UserWarning, match="sampled uniformly") as said:
            study.optimize(grown, n_trials=4)
        (words,) = [str(each.message) for each in said]
        assert words.startswith(f"parameters must be {rule} to be optimized, got others: y; these are")
        assert words.endswith(
            "begin another study with search_space=..., and suggest each of its parameters in every "
            "trial, even where it has no effect"
        )
        assert "y" not in study.sampler.recommend(study).params


def test_first_trials_in_parallel_and_a_space_that_all_share_are_no_reason_to_warn():
    study = new_study(fitted(n_init=2, search_space=None))
    first = [study.ask() for _ in range(3)]
    for trial in first:
        study.tell(trial, f(trial.suggest_float("x", -2.0, 2.0)) + trial.suggest_int("n", 0, 1))
    study.optimize(lambda trial: trial.suggest_float("x", -2.0, 2.0) + trial.suggest_int("n", 0, 1), 3)
    assert study.sampler.recommend(study).n_trials == 6


def test_a_parameter_outside_the_search_space_is_a_function_of_seed_number_and_name():
    def values(seed):
        study = new_study(fitted(search_space=None, seed=seed))
        trials = [study.ask() for _ in range(30)]
        return [[trial.suggest_float(name, 0.0, 1.0) for name in ("a", "b")] for trial in trials]

    first = np.array(values(1))
    np.testing.assert_array_equal(first, values(1))
    assert (first != values(2)).all()
    assert len(np.unique(first)) == 60
    assert abs(first.mean() - 0.5) < 0.12


def test_pending_trials_are_spread_out():
    study = new_study(sampler(corruption=0))
    trials = [study.ask(X) for _ in range(6)]
    xs = np.sort([trial.params["x"] for trial in trials])
    assert np.diff(xs).min() > 0.2
    study.tell(trials[3], 0.5)
    assert abs(study.ask(X).params["x"] - xs).min() > 0.05


def test_a_proposal_that_is_not_stored_yet_counts_as_pending_in_its_process():
    study = new_study(sampler(corruption=0))
    asked = []
    for _ in range(4):  # as n_jobs threads do: all are asked before the first one stores its params
        trial_id = study._storage.create_new_trial(study._study_id)
        trial = study._storage.get_trial(trial_id)
        asked.append(study.sampler.sample_relative(study, trial, X)["x"])
    assert np.diff(np.sort(asked)).min() > 0.2


def test_threads_share_a_sampler():
    study = new_study(sampler())
    study.optimize(objective, n_trials=8, n_jobs=3)
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE] * 8
    assert sorted(learned(study.sampler, study)[0]) == [*range(8)]


NINE = {"n": IntDistribution(1, 9)}
WITHOUT_VALUE = {
    "failed": {"state": TrialState.FAIL},
    "pruned": {"state": TrialState.PRUNED},
    "infinite": {"values": math.inf},
    "too large": {"values": -1e200},
}


@pytest.mark.filterwarnings("ignore:the value of a trial must be")
@pytest.mark.parametrize("make", [sampler, fitted])
@pytest.mark.parametrize("name", WITHOUT_VALUE)
def test_a_point_without_a_value_is_not_proposed_again(name, make):
    study = new_study(make(search_space=NINE, n_init=2))
    for _ in range(14):
        trial = study.ask(NINE)
        n = trial.params["n"]
        study.tell(trial, **(WITHOUT_VALUE[name] if n == 8 else {"values": n / 10.0}))
    assert [trial.params["n"] for trial in study.trials].count(8) == 1


def test_a_point_is_proposed_again_where_all_have_failed():
    study = new_study(sampler(search_space=NINE))
    for _ in range(11):
        study.tell(study.ask(NINE), state=TrialState.FAIL)
    assert {trial.params["n"] for trial in study.trials[:9]} == {*range(1, 10)}


# --- what is learned ----------------------------------------------------------------------------


def test_failed_pruned_waiting_and_running_trials_are_not_learned():
    study = new_study(sampler())
    study.enqueue_trial({"x": 0.3})
    study.tell(study.ask(X), 0.5)  # the enqueued one
    study.tell(study.ask(X), state=TrialState.FAIL)
    study.tell(study.ask(X), state=TrialState.PRUNED)
    with pytest.warns(UserWarning, match="not acceptable"):
        study.tell(study.ask(X), math.nan)
    study.ask(X)
    study.add_trial(create_trial(params={"x": 1.0}, distributions=X, value=0.2))
    study.enqueue_trial({"x": 0.7})
    assert learned(study.sampler, study) == ([0, 5], [0, 5])
    study.tell(study.ask(X), 0.4)  # the other enqueued one
    study.tell(study.ask(X), 0.4)
    assert learned(study.sampler, study) == ([0, 5, 6, 7], [0, 5, 6])


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_an_infinite_value_is_not_learned_and_reported(value):
    study = new_study(sampler())
    study.tell(study.ask(X), 0.1)
    study.tell(study.ask(X), value)
    with pytest.warns(UserWarning, match=r"must be finite to be learned, got -?inf in trial 1"):
        study.tell(study.ask(X), value)
    study.tell(study.ask(X), 0.1)  # said once
    assert learned(study.sampler, study)[0] == [0, 3]
    first, second, *others = study.sampler.suspects(study)
    assert [first.number, second.number] == [1, 2]
    assert first.is_flagged
    assert first.y == value
    assert "not finite" in first.evidence[0]
    assert sorted(other.number for other in others) == [0, 3]
    assert (first.is_certain, second.is_certain) == (True, True)
    assert first.evidence == ("not finite, and was not learned",)
    assert study.sampler.recommend(study).n_trials == 2


def test_a_liar_who_returns_infinity_does_not_choose_what_the_guarantee_rests_on():
    """Low noise becomes -inf, so only high readings are left, which would speak for a false interval."""
    rng = np.random.default_rng(0)

    def biased(trial):
        noise = 0.1 * rng.standard_normal()
        return f(trial.suggest_float("x", -2.0, 2.0)) + noise if noise > 0.0 else -math.inf

    study = new_study(sampler(corruption=0))
    with pytest.warns(UserWarning, match="must be finite to be learned"):
        study.optimize(biased, n_trials=12)
    lost = [trial.number for trial in study.trials if trial.value == -math.inf]
    assert 3 <= len(lost) <= 9
    for words in ({}, {"unrelated_to_value": True}):
        best = study.sampler.recommend(study, **words)
        assert best.regret_bound is best.probability is None
        assert f"No guarantee: {len(lost)} readings are missing because of their val" in best.guarantee
        assert f"Trials {', '.join(map(str, lost[:5]))}" in best.guarantee
        assert "returned no finite value" in best.guarantee
        assert study.sampler.price(study, **words).probability is None
    assert study.sampler.result(study).recommendation.probability is None
    study.sampler.note(study)
    assert study.user_attrs["unbribable:guarantee"] == study.sampler.recommend(study).guarantee
    for number in lost:
        study.sampler.retract(study, number, "an overflow, seen in the log", unrelated_to_value=True)
    assert study.sampler.recommend(study).probability is not None


@pytest.mark.parametrize("value", [1e151, -1.7e308])
def test_a_value_too_large_is_not_learned_and_reported(value):
    study = new_study(sampler())
    study.tell(study.ask(X), 0.1)
    study.tell(study.ask(X), value)
    with pytest.warns(UserWarning, match=r"must be within \+-1e\+150 to be learned, got .* in trial 1"):
        study.tell(study.ask(X), 0.2)
    assert learned(study.sampler, study)[0] == [0, 2]
    first, *others = study.sampler.suspects(study)
    assert (first.number, first.t, first.y, first.is_flagged) == (1, 2, value, True)
    assert first.to_dict().keys() == others[0].to_dict().keys() >= {"number", "params", "evidence"}
    assert "beyond +-1e+150" in first.evidence[0]
    assert sorted(other.number for other in others) == [0, 2]


def test_a_trial_outside_the_search_space_is_not_learned_and_this_is_said_once():
    study = new_study(sampler())
    study.enqueue_trial({"x": 7.0})
    study.enqueue_trial({"x": -7.0})
    with pytest.warns(UserWarning, match="is out of range for distribution"):
        study.optimize(objective, n_trials=1)
    with pytest.warns(UserWarning, match="is out of range for distribution"):
        study.optimize(objective, n_trials=1)
    with pytest.warns(
        UserWarning, match="must lie in the search space to be learned, got .* in trial 0"
    ):
        study.optimize(objective, n_trials=1)
    study.optimize(objective, n_trials=1)
    assert learned(study.sampler, study)[0] == [2, 3]


def test_a_trial_without_a_parameter_of_the_search_space_is_not_learned():
    study = new_study(sampler())
    study.add_trial(create_trial(params={"z": 1}, distributions={"z": IntDistribution(0, 3)}, value=0.3))
    with pytest.warns(UserWarning, match="must have all of the parameters x to be learned"):
        study.tell(study.ask(X), 0.5)
    assert learned(study.sampler, study)[0] == [1]


def test_a_partly_fixed_trial_is_learned_where_it_was_read():
    space = {"x": FloatDistribution(-2.0, 2.0), "n": IntDistribution(0, 4)}
    study = new_study(fitted(n_init=1, search_space=space))
    study.tell(study.ask(space), 0.1)
    study.enqueue_trial({"n": 4})
    trial = study.ask(space)
    assert trial.params["n"] == 4
    study.tell(trial, 0.3)
    with study.sampler._looked_at(study) as (_, engine, parameters):
        assert parameters.decode(engine.told[-1].u) == pytest.approx(trial.params)


def test_an_interrupt_while_learning_leaves_nothing_half_learned(monkeypatch):
    study, undisturbed = new_study(sampler()), new_study(sampler())
    for each in (study, undisturbed):
        each.optimize(objective, n_trials=3)

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("unbribable.decision.instance.Instance.learn", interrupted)
        with pytest.raises(KeyboardInterrupt):
            study.optimize(objective, n_trials=1)
    assert study.trials[-1].state == TrialState.FAIL
    study.enqueue_trial({"x": 0.1})
    undisturbed.enqueue_trial({"x": 0.1})
    undisturbed.tell(undisturbed.ask(), state=TrialState.FAIL)
    undisturbed.enqueue_trial({"x": 0.1})
    for each in (study, undisturbed):
        each.optimize(objective, n_trials=3)
    assert [t.params for t in study.trials[4:]] == [t.params for t in undisturbed.trials[4:]]


def test_studies_of_the_same_name_are_not_mixed_up():
    one = sampler(corruption=0)
    alone = new_study(sampler(corruption=0), study_name="a")
    first, second = new_study(one, study_name="a"), new_study(one, study_name="a")
    alone.optimize(objective, n_trials=4)
    for _ in range(4):
        first.optimize(lambda trial: -objective(trial), n_trials=1)
        second.optimize(objective, n_trials=1)
    assert [trial.params for trial in second.trials] == [trial.params for trial in alone.trials]


def test_a_pruner_with_brackets_sees_to_nothing_being_lost():
    def steps(trial):
        y = objective(trial)
        for step in range(3):
            trial.report(y, step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return y

    study = new_study(sampler(), pruner=optuna.pruners.HyperbandPruner(1, 3))
    study.optimize(steps, n_trials=6)
    complete = [trial.number for trial in study.trials if trial.state == TrialState.COMPLETE]
    assert learned(study.sampler, study)[0] == complete


# --- what is said -------------------------------------------------------------------------------

LIES = (4, 9, 13)


def lied_to(trial):
    honest = objective(trial)
    return 30.0 if trial.number in LIES else honest


@pytest.mark.filterwarnings("ignore::unbribable.AssumptionsRefuted")  # those of GP-UCB are
@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_recommendation_is_not_the_best_lie_and_the_suspects_are_the_lies(name):
    study = new_study(fitted(n_trials=30, n_init=6, **ALGORITHMS[name]))
    study.optimize(lied_to, n_trials=18)
    best = study.sampler.recommend(study)
    assert study.best_trial.number in LIES
    assert (best.naive_number, best.naive_value) == (study.best_trial.number, 30.0)
    assert best.naive_params == study.best_trial.params
    assert f(best.params["x"]) > 0.7
    assert best.n_trials == 18
    flagged = study.sampler.suspects(study, flagged_only=True)
    assert {suspect.number for suspect in flagged[:3]} == set(LIES)
    assert len(flagged) <= 4  # the fit guesses the noise
    assert all(suspect.params == study.trials[suspect.number].params for suspect in flagged)
    assert len(study.sampler.suspects(study)) == 18


def test_a_study_of_another_sampler_is_judged_and_left_as_it_is():
    study = new_study(optuna.samplers.RandomSampler(seed=1))
    study.optimize(lied_to, n_trials=16)
    judge = fitted(search_space=None, seed=None)
    assert judge.recommend(study).naive_number in LIES
    assert {suspect.number for suspect in judge.suspects(study, flagged_only=True)} == set(LIES)
    assert "unbribable" not in study._storage.get_study_system_attrs(study._study_id)


def test_what_is_said_is_plain_data():
    study = new_study(sampler())
    study.optimize(objective, n_trials=2)
    assert study.sampler.recommend(study).to_dict()["params"].keys() == {"x"}
    assert study.sampler.suspects(study)[0].to_dict()["number"] in (0, 1)


# --- what is refused ----------------------------------------------------------------------------


def test_before_the_first_value_there_is_nothing_to_say():
    study = new_study(sampler())
    with pytest.raises(RuntimeError, match="recommend needs a complete trial"):
        study.sampler.recommend(study)
    assert study.sampler.suspects(study) == ()
    study.sampler = fitted(search_space=None)
    with pytest.raises(RuntimeError, match="parameters with several values"):
        study.sampler.recommend(study)


def test_several_objectives_are_refused():
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=sampler())
    with pytest.raises(ValueError, match="must have one objective for this sampler, got 2"):
        study.ask()


@pytest.mark.parametrize(
    ("words", "error", "sentence"),
    [
        ({"n_trials": 0}, ValueError, "n_trials must be >= 1"),
        ({"corruption": "some"}, ValueError, "corruption must be a number"),
        ({"corruption": 1.0, "lies": 2}, ValueError, "exclude each other"),
        ({"seed": -1}, ValueError, "seed must be >= 0"),
        ({"search_space": {}}, ValueError, "must hold at least one parameter"),
        ({"direction": "minimize"}, TypeError, "keywords must be among"),
        ({"search_space": {"x": (0, 1)}}, TypeError, "x must have a float, int or categorical"),
        ({"search_space": {"x": IntDistribution(0, 2**60)}}, ValueError, "values"),
        ({"search_space": {"x": OBJECTS}}, TypeError, "choices in search_space must be text, numbers"),
    ],
)
def test_bad_arguments_are_refused_at_once(words, error, sentence):
    with pytest.raises(error, match=sentence):
        sampler(**words)


def test_numbers_of_numpy_are_numbers():
    words = {"n_trials": np.int64(40), "corruption": np.float32(1.5), "n_init": np.int64(2)}
    study = new_study(sampler(**words))
    study.optimize(objective, n_trials=1)
    study.sampler = sampler(corruption=1.5, n_init=2)
    study.optimize(objective, n_trials=1)
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE] * 2, "the same arguments"
    study.sampler = sampler(corruption=2.5)
    with pytest.raises(ValueError, match="corruption"):
        study.optimize(objective, n_trials=1)


def test_without_optuna_the_import_says_what_to_install():
    script = textwrap.dedent(
        """
        import sys

        class Blocker:
            def find_spec(self, name, path=None, target=None):
                if name.partition(".")[0] == "optuna":
                    raise ModuleNotFoundError(f"No module named {name!r}", name="optuna")

        sys.meta_path.insert(0, Blocker())
        try:
            import unbribable.hosts.optuna.sampler
        except ImportError as error:
            print(error)
        """
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == 'the sampler needs optuna: pip install "unbribable[optuna]"'
    assert done.returncode == 0, done.stderr


def test_the_assumptions_of_the_helpers_are_storable():
    assert UnbribableSampler(assumptions=ASSUMED)._plan.to_plain()["assumptions"]["B"] == 2.0
