"""How long an ask takes with many stored trials, against Optuna's own Gaussian-process sampler.

Run as `python -m benchmarks.ask`. Trials are random points of a 2-d space, added to a study in memory;
timed is what a worker waits for: learning the last trial, and proposing the next one.
"""

import argparse
import statistics
import time
import warnings

import numpy as np
import optuna
from optuna.distributions import FloatDistribution
from threadpoolctl import threadpool_limits

from unbribable.integrations.optuna_sampler import UnbribableSampler

SPACE = {"x": FloatDistribution(0.0, 1.0), "y": FloatDistribution(0.0, 1.0)}


def value(params, rng):
    """A smooth function with noise."""
    return np.sin(5 * params["x"]) * np.cos(4 * params["y"]) + 0.05 * rng.standard_normal()


def seconds(sampler, n_trials, n_asks):
    """Of the first ask (which learns all trials), and the median of the following ones."""
    rng = np.random.default_rng(0)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for _ in range(n_trials):
        params = {name: float(rng.random()) for name in SPACE}
        trial = optuna.trial.create_trial(params=params, distributions=SPACE, value=value(params, rng))
        study.add_trial(trial)
    times = []
    for _ in range(n_asks + 1):
        start = time.perf_counter()
        trial = study.ask(SPACE)
        times.append(time.perf_counter() - start)
        study.tell(trial, value(trial.params, rng))
    return times[0], statistics.median(times[1:])


def main():
    """Print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ask", description=__doc__)
    parser.add_argument("--trials", type=int, nargs="+", default=[1000, 5000])
    parser.add_argument("--asks", type=int, default=10)
    parser.add_argument("--no-rival", action="store_true", help="leave out Optuna's GPSampler")
    words = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    print("| sampler | trials | first ask, s | ask, ms |\n|---|---|---|---|")
    with threadpool_limits(1):
        for n_trials in words.trials:
            for corruption in (None, "unknown"):
                sampler = UnbribableSampler(
                    n_trials=n_trials + 100, corruption=corruption, seed=0, search_space=SPACE
                )
                first, median = seconds(sampler, n_trials, words.asks)
                row = f"| UnbribableSampler, corruption={corruption!r} | {n_trials} | {first:.1f} |"
                print(f"{row} {1e3 * median:.0f} |", flush=True)
            if n_trials <= 1000 and not words.no_rival:
                first, median = seconds(optuna.samplers.GPSampler(seed=0), n_trials, 3)
                print(f"| GPSampler | {n_trials} | {first:.1f} | {1e3 * median:.0f} |", flush=True)


if __name__ == "__main__":
    main()
