"""Studies for the tests of the sampler: cheap to ask, with every kind of parameter."""

import math

import optuna
from optuna.distributions import FloatDistribution

import unbribable as ub
from unbribable.hosts.optuna.sampler import UnbribableSampler

X = {"x": FloatDistribution(-2.0, 2.0)}
ASSUMED = ub.Assumptions(ub.SquaredExponential(0.2), B=2.0, B0=1.0, noise_std=0.05, lam=0.05)

ALGORITHMS = {
    "none": {"corruption": 0},
    "known": {"corruption": 2.0},
    "a tenth": {},
    "unknown": {"corruption": "unknown"},
}


def sampler(**words):
    """Without a fit: 30 ms a trial."""
    given = {"n_trials": 40, "assumptions": ASSUMED, "search_space": X, "seed": 5}
    return UnbribableSampler(**given | words)


def fitted(**words):
    """With an initial design of three, fits, and a scout."""
    given = {"n_trials": 40, "n_init": 3, "search_space": X, "seed": 5}
    return UnbribableSampler(**given | words)


def new_study(sampler, direction="maximize", **words):
    return optuna.create_study(direction=direction, sampler=sampler, **words)


def f(x):
    """Its maximum is 0.8, at 0.5."""
    return 0.8 * math.exp(-((x - 0.5) ** 2))


def objective(trial):
    """f with honest noise, the same in every process."""
    x = trial.suggest_float("x", -2.0, 2.0)
    return f(x) + 0.05 * math.sin(100.0 * trial.number)


def told(study):
    """What has to be the same in two studies."""
    return [
        (trial.number, trial.state, trial.params, trial.values, trial.system_attrs)
        for trial in study.get_trials(deepcopy=False)
    ]


def storage_at(url):
    """A storage for several processes at once."""
    words = {"connect_args": {"timeout": 60}} if url.startswith("sqlite") else {}
    return optuna.storages.RDBStorage(url, engine_kwargs=words)


def stored(study):
    return study._storage.get_study_system_attrs(study._study_id)["unbribable"]


def engine_of(sampler, study):
    with sampler._looked_at(study) as (_, engine, _):
        return engine


def learned(sampler, study):
    """Numbers of the trials that were learned, and of those that count as chosen by the user."""
    engine = engine_of(sampler, study)
    return [each.t - 1 for each in engine.told], [each.t - 1 for each in engine.told if each.is_given]
