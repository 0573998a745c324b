"""An Optuna study in an SQLite file whose values are sometimes lies. Run it again to continue it.

Needs: pip install "unbribable[optuna]".
"""

import sys

import optuna

from unbribable.hosts.optuna.sampler import UnbribableSampler

optuna.logging.set_verbosity(optuna.logging.WARNING)


def objective(trial):
    rate = trial.suggest_float("rate", 1e-4, 1.0, log=True)
    layers = trial.suggest_int("layers", 1, 5)
    loss = (rate - 0.02) ** 2 + 0.05 * (layers - 3) ** 2
    return -1.0 if trial.number % 10 == 5 else loss  # one in ten is a lie


path = sys.argv[1] if len(sys.argv) > 1 else "study.db"
sampler = UnbribableSampler(n_trials=60, seed=0)
study = optuna.create_study(
    storage=f"sqlite:///{path}",
    study_name="example",
    direction="minimize",
    sampler=sampler,
    load_if_exists=True,
)
study.optimize(objective, n_trials=20)

best = sampler.recommend(study)
print(f"{len(study.trials)} trials; Optuna's best: {study.best_params}, value {study.best_value:.4g}")
print(f"recommended: {best.params}, expected {best.estimate:.4g} +- {best.estimate_sd:.2g}")
print("suspicious trials:", [found.number for found in sampler.suspects(study, flagged_only=True)])
