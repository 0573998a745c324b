"""What a study answers besides the guarantee: estimate, price, what was taken out, a result."""

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.trial import TrialState, create_trial

import unbribable as ub
from hosts.optuna_studies import fitted as designed
from unbribable.hosts.optuna.sampler import UnbribableSampler

SPACE = {"x": FloatDistribution(-1.0, 1.0), "kind": CategoricalDistribution(("a", "b"))}
LIE = 4


def told(n=12, assumptions=None, lost=(), **words):
    """A study whose trial LIE tells 5 where nothing is above 1."""
    sampler = UnbribableSampler(
        n_trials=20, seed=0, search_space=SPACE, assumptions=assumptions, **words
    )
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for k in range(n):
        x, kind = -1.0 + 2.0 * ((0.37 * k) % 1.0), "ab"[k % 2]
        value = 5.0 if k == LIE else 1.0 - x * x - 0.3 * (kind == "b")
        state = TrialState.FAIL if k in lost else TrialState.COMPLETE
        study.add_trial(
            create_trial(
                params={"x": x, "kind": kind},
                distributions=SPACE,
                value=None if k in lost else value,
                state=state,
            )
        )
    return sampler, study


@pytest.fixture(scope="module")
def fitted():
    return told()


def test_a_recommendation_says_what_to_expect_and_speaks_in_names_as_declared(fitted):
    sampler, study = fitted
    best = sampler.recommend(study)
    assert abs(best.estimate - 1.0) < 0.2
    assert best.n_honest == 11
    assert [*best.params] == ["x", "kind"]
    assert str(best).startswith(f"use x={best.params['x']:.6g} kind=a\n  expected value: ")
    assert best.to_dict()["estimate"] == best.estimate
    assert best.to_dict()["supposed"].endswith("the fitted model is right")


def test_terms_keep_the_order_of_the_search_space_and_agree_in_any(fitted):
    sampler, study = fitted
    sampler.start(study)
    assert [*UnbribableSampler.from_study(study).search_space] == ["x", "kind"]
    other = UnbribableSampler(n_trials=20, seed=0, search_space=dict(reversed(SPACE.items())))
    assert other.recommend(study).estimate == sampler.recommend(study).estimate


def test_a_price_names_trials_by_their_numbers():
    kernel = ub.Matern(2.5, 0.6)
    assumptions = ub.Assumptions(kernel, B=3.0, B0=1.5, noise_std=0.01, lam=0.001, c_max=6.0)
    sampler, study = told(30, assumptions, corruption=4.5, explore=2.0)
    default = sampler.price(study)
    assert "of the range read" in str(default)
    found = sampler.price(study, 2.0 * default.least_eps)
    assert found.value > 0.0
    result = sampler.result(study).price(found.eps)
    assert found.value == result.value
    assert [*found.lies_by_trial] == [t - 1 for t in found.lies] == [t - 1 for t in result.lies] != []


def test_a_value_that_is_taken_out_is_gone_for_every_sampler():
    sampler, study = told()
    sampler.start(study)
    assert sampler.recommend(study).naive_number == LIE
    sampler.retract(study, LIE, "stuck")
    lost_sampler, lost_study = told(lost=(LIE,))
    for each in (sampler, UnbribableSampler.from_study(study)):
        best, lost = each.recommend(study), lost_sampler.recommend(lost_study)
        assert (best.estimate, best.params) == (lost.estimate, lost.params)
        assert best.naive_number != LIE
        assert best.regret_bound is None
        assert best.guarantee.endswith(
            "No guarantee: the reading of trial 4 was taken out, and nobody stated that this had "
            "nothing to do with its value."
        )
        assert LIE not in [suspect.number for suspect in each.suspects(study)]
        assert each.result(study).recommendation.regret_bound is None
    assert study.trials[LIE].value == 5.0, "Optuna keeps what was told"
    with pytest.raises(ValueError, match=r"complete trial, got 4, which is retracted already"):
        sampler.retract(study, LIE, "again")
    with pytest.raises(TypeError, match="reason must be words, got reason=''"):
        sampler.retract(study, 3, "")
    with pytest.raises(ValueError, match="reason must be words that UTF-8 can write"):
        sampler.retract(study, 3, "half a pair: \ud800")


def test_a_result_of_a_study_has_names_and_does_not_follow_it(fitted):
    sampler, study = told(lost=(7,))
    result = sampler.result(study)
    assert result.naive.params == study.trials[LIE].params
    assert [trial.t for trial in result.trials] == list(range(1, 13))
    assert result.n_failed == 1
    best = sampler.recommend(study)
    assert (result.x, result.estimate, result.lower) == (best.params, best.estimate, best.lower)
    study.add_trial(create_trial(params={"x": 0.0, "kind": "a"}, distributions=SPACE, value=1.0))
    sampler.recommend(study)
    assert len(result.engine.told) == 11


def test_what_is_void_names_trials_and_not_rounds():
    sampler, study = told()
    sampler.start(study)
    sampler.retract(study, LIE, "stuck")
    best, price = sampler.recommend(study), sampler.price(study)
    for said in (best.guarantee, str(price), best.to_dict()["guarantee"]):
        assert f"No guarantee: the reading of trial {LIE} was taken out" in said
    sampler.retract(study, 7, "stuck, too")
    assert "the readings of trials 4, 7 were taken out" in sampler.recommend(study).guarantee


def test_a_note_is_what_the_sampler_answers_by_the_numbers_of_trials(fitted):
    sampler, study = fitted
    sampler.note(study)
    best, notes = sampler.recommend(study), study.user_attrs
    assert notes["unbribable:recommended"] == best.params
    assert notes["unbribable:expected"] == [best.estimate, best.estimate_sd]
    assert notes["unbribable:worst case"] == [best.lower, best.upper]
    assert notes["unbribable:guarantee"] == best.guarantee
    flagged = sampler.suspects(study, flagged_only=True)
    assert notes["unbribable:suspicious"].keys() == {str(LIE)} == {str(each.number) for each in flagged}


def test_a_note_of_nothing_says_so_and_a_running_trial_does_not_count():
    sampler = designed()
    study = optuna.create_study(direction="maximize", sampler=sampler)
    sampler.note(study)
    assert "needs a complete trial" in study.user_attrs["unbribable:recommended"]
    study.optimize(lambda trial: trial.suggest_float("x", -2.0, 2.0), 4, callbacks=[sampler.note])
    before = dict(study.user_attrs)
    running = study.ask()
    running.suggest_float("x", -2.0, 2.0)
    sampler.note(study)
    assert study.user_attrs == before


def test_conditional_parameters_are_those_of_the_nearest_trial_with_the_same_choices():
    sampler = UnbribableSampler(n_trials=20, seed=0)
    study = optuna.create_study(direction="maximize", sampler=sampler)

    def conditional(trial):
        x, kind = trial.suggest_float("x", -1.0, 1.0), trial.suggest_categorical("kind", ["a", "b"])
        more = (
            trial.suggest_float("only_a", 0.0, 1.0) if kind == "a" else trial.suggest_int("only_b", 1, 9)
        )
        return (kind == "a") - x * x + 0.0 * more

    with pytest.warns(UserWarning, match="got others: only_a, only_b; these are sampled uniformly"):
        study.optimize(conditional, 10)
    best = sampler.recommend(study)
    assert [*best.params] == ["x", "kind"], "in the order in which they were suggested"
    assert best.params["kind"] == "a"
    nearest = min(
        (trial for trial in study.trials if trial.params["kind"] == "a"),
        key=lambda trial: abs(trial.params["x"] - best.params["x"]),
    )
    assert best.conditional == {"only_a": nearest.params["only_a"]}
    assert best.guarantee.startswith("only_a is outside the search space, since not all trials have it")
    sampler.note(study)
    assert study.user_attrs["unbribable:recommended"] == {**best.params, **best.conditional}


def test_figures_are_made_of_a_study_and_count_as_optuna_does(fitted):
    _, study = fitted
    figure = ub.plot_suspects(study, 3)
    assert "round t is trial t − 1" in figure.legends[0].get_title().get_text()
    assert figure.axes[0].get_yticklabels()[0].get_text() == f"round {LIE + 1}"
    for plot in (ub.plot_history, ub.plot_posterior):
        note = plot(study).legends[0].get_title().get_text()
        assert note.replace("\n", " ").endswith("; round t is trial t − 1")
    note = ub.plot_worst_case(study).legends[0].get_title().get_text()
    assert note.startswith("The point: x=")
    other = optuna.create_study(direction="maximize")
    with pytest.raises(TypeError, match="needs UnbribableSampler as its sampler, got TPESampler"):
        ub.plot_history(other)
