"""Follow a run in MLflow, which has to be installed: a callback of five lines."""

import mlflow
import numpy as np

import unbribable as ub

rng = np.random.default_rng(0)


def measure(x):
    if rng.random() < 0.1:
        return 4.0  # a stuck sensor
    return np.sin(5 * x[0]) + np.cos(3 * x[1]) + 0.05 * rng.standard_normal()


def to_mlflow(result, trial):
    if trial.y is not None:  # else the evaluation failed
        mlflow.log_metric("reading", trial.y, step=trial.t)
        mlflow.log_metric("expected", result.estimate, step=trial.t)
        mlflow.log_metric("suspicious", result.n_suspects, step=trial.t)


with mlflow.start_run():
    mlflow.log_params({"n_rounds": 20, "seed": 1})
    result = ub.maximize(measure, [(0, 1), (0, 2)], n_rounds=20, seed=1, callbacks=[to_mlflow])
    mlflow.log_dict(result.to_dict(), "result.json")
