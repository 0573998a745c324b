"""Trials that a study has already count among the readings a tenth of which may be lies."""

import optuna
import pytest

from hosts.optuna_studies import X, engine_of, f, new_study, objective, sampler

optuna.logging.set_verbosity(optuna.logging.ERROR)


def added(study: optuna.Study, n: int) -> None:
    """Complete trials that the sampler did not propose."""
    for k in range(n):
        x = -2.0 + 4.0 * k / n
        study.add_trial(optuna.create_trial(params={"x": x}, distributions=X, value=f(x)))


@pytest.mark.parametrize(("n_before", "n_after"), [(0, 3), (12, 0), (12, 3)])
def test_a_tenth_of_all_trials_may_be_lies_those_there_before_included(
    n_before: int, n_after: int
) -> None:
    study, ours = new_study(sampler()), sampler()
    added(study, n_before)
    study.optimize(objective, n_after)
    algorithm = engine_of(ours, study).algorithm()
    assert algorithm.n_lies == (40 + n_before) // 10


def test_trials_that_come_later_count_too_whenever_it_is_asked() -> None:
    """The engine that followed the study and a new one allow for the same."""
    following = sampler(n_trials=6)
    study = new_study(following)
    study.optimize(objective, 2)
    assert engine_of(following, study).n_readings == 6
    added(study, 20)
    study.optimize(objective, 2)
    asked_before, asked_now = engine_of(following, study), engine_of(sampler(n_trials=6), study)
    assert asked_before.n_readings == asked_now.n_readings == 26
    assert asked_before.algorithm().n_lies == asked_now.algorithm().n_lies
    learned = [[each.t for each in asked.algorithm().readings] for asked in (asked_before, asked_now)]
    assert learned[0] == learned[1] == [*range(1, 25)]
