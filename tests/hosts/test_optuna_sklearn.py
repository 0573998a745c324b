"""The sampler under scikit-learn's search interface, by way of optuna-integration."""

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna_integration import OptunaSearchCV
from sklearn.datasets import make_regression
from sklearn.linear_model import Ridge

from hosts.optuna_studies import new_study
from unbribable.hosts.optuna.sampler import UnbribableSampler


@pytest.mark.filterwarnings("ignore:`optuna.terminator` module has been deprecated:FutureWarning")
@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_a_search_with_cross_validation_takes_the_sampler():
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    X, y = make_regression(60, 5, noise=5.0, random_state=0)
    space = {
        "alpha": FloatDistribution(1e-3, 1e3, log=True),
        "fit_intercept": CategoricalDistribution((True, False)),
    }
    study = new_study(UnbribableSampler(n_trials=8, n_init=3, search_space=space, seed=1))
    search = OptunaSearchCV(Ridge(), space, cv=3, n_trials=8, study=study)
    search.fit(X, y)
    best = study.sampler.recommend(study)
    assert best.n_trials == 8
    assert best.params.keys() == space.keys()
    assert best.params["alpha"] < 10.0
