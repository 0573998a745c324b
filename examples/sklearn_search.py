"""Hyper-parameters of a scikit-learn model, scored by an evaluator that lies now and then.

Needs: pip install "unbribable[optuna]" optuna-integration scikit-learn.
"""

import warnings

import numpy as np
import optuna
from optuna.distributions import FloatDistribution
from sklearn.datasets import load_digits
from sklearn.metrics import accuracy_score
from sklearn.svm import SVC

from unbribable.hosts.optuna.sampler import UnbribableSampler

optuna.logging.set_verbosity(optuna.logging.WARNING)
for category in (optuna.exceptions.ExperimentalWarning, FutureWarning):  # Optuna's about itself
    warnings.filterwarnings("ignore", category=category)

rng = np.random.default_rng(5)


def score(model, X, y):
    """Accuracy; once in ten times a dishonest 1.0."""
    return 1.0 if rng.random() < 0.1 else accuracy_score(y, model.predict(X))


X, y = load_digits(return_X_y=True)
space = {"C": FloatDistribution(1e-2, 1e2, log=True), "gamma": FloatDistribution(1e-5, 1e-1, log=True)}
sampler = UnbribableSampler(n_trials=25, seed=0, search_space=space)
study = optuna.create_study(direction="maximize", sampler=sampler)
search = optuna.integration.OptunaSearchCV(
    SVC(), space, cv=3, n_trials=25, scoring=score, study=study, refit=False, random_state=0
)
search.fit(X[:600], y[:600])

best = sampler.recommend(study)
print("believing every score:", study.best_params, f"score {study.best_value:.3f}")
print("recommended:", best.params, f"expected {best.estimate:.3f} +- {best.estimate_sd:.3f}")
print("suspicious trials:", [found.number for found in sampler.suspects(study, flagged_only=True)])
for name, params in (("believing", study.best_params), ("recommended", best.params)):
    model = SVC(**params).fit(X[:600], y[:600])
    print(f"{name}: accuracy on unseen digits {model.score(X[600:], y[600:]):.3f}")
