"""How long asking, advice and telling take with many readings, beside Optuna's own Gaussian process.

Run as `python -m benchmarks.ask`. Trials are random points of a 2-d space, added to a study in memory.
Timed is what a worker waits for (learning the last trial, and proposing the next one), what `recommend`
and `study status` do in a process that knows nothing yet, and telling readings to RobustGPUCB on a Box.
With `--study 60 200 1000` only an ask of a `Study` with so many random readings of three parameters,
each followed by a tell. All in processor time, which other work on the machine hardly changes.
"""

import argparse
import multiprocessing
import resource
import statistics
import time
import warnings

import numpy as np
import optuna
from optuna.distributions import FloatDistribution
from threadpoolctl import threadpool_limits

import unbribable as ub
from unbribable.hosts.optuna.sampler import UnbribableSampler

SPACE = {"x": FloatDistribution(0.0, 1.0), "y": FloatDistribution(0.0, 1.0)}


def value(params, rng):
    """A smooth function with noise."""
    return np.sin(5 * params["x"]) * np.cos(4 * params["y"]) + 0.05 * rng.standard_normal()


def study_of(sampler, n_trials, rng):
    """A study in memory with so many complete trials."""
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for _ in range(n_trials):
        params = {name: float(rng.random()) for name in SPACE}
        trial = optuna.trial.create_trial(params=params, distributions=SPACE, value=value(params, rng))
        study.add_trial(trial)
    return study


def seconds(sampler, n_trials, n_asks):
    """Of the first ask (which learns all trials), and the median of the following ones."""
    rng = np.random.default_rng(0)
    study = study_of(sampler, n_trials, rng)
    times = []
    for _ in range(n_asks + 1):
        start = time.process_time()
        trial = study.ask(SPACE)
        times.append(time.process_time() - start)
        study.tell(trial, value(trial.params, rng))
    return times[0], statistics.median(times[1:])


def seconds_of_advice(sampler, n_trials):
    """Of a first `recommend`, and of what `study status` does: that and the suspicious readings."""
    study = study_of(sampler, n_trials, np.random.default_rng(0))
    start = time.process_time()
    sampler.recommend(study)
    recommended = time.process_time() - start
    sampler.suspects(study, flagged_only=True)
    return recommended, time.process_time() - start


def seconds_of_study(n_readings, n_asks):
    """Of the first ask of a `Study` with so many readings, and the median of the following ones."""
    names = ("x", "y", "z")
    rng = np.random.default_rng(0)
    study = ub.Study({name: (0.0, 1.0) for name in names}, seed=0)
    for _ in range(n_readings):
        params = {name: float(rng.random()) for name in names}
        study.tell(params, value(params, rng) + params["z"])
    times = []
    for _ in range(n_asks + 1):
        start = time.process_time()
        query = study.ask()
        times.append(time.process_time() - start)
        study.tell(query, value(query.params, rng) + query.params["z"])
    return times[0], statistics.median(times[1:])


def tell_many(n_tells):
    """Seconds and megabytes of telling RobustGPUCB so many readings of a 2-d Box, and of a recommend."""
    with threadpool_limits(1):
        assumed = ub.Assumptions(ub.Matern(2.5, 0.2), B=2.0, B0=1.0, noise_std=0.05, lam=0.01)
        algorithm = ub.RobustGPUCB(ub.Box([0.0, 0.0], [1.0, 1.0]), assumed, C=2.0)
        rng, start = np.random.default_rng(0), time.process_time()
        for _ in range(n_tells):
            x = rng.random(2)
            algorithm.tell(x=x, y=0.5 * value({"x": x[0], "y": x[1]}, rng))
        told = time.process_time()
        algorithm.recommend()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return told - start, time.process_time() - told, peak


def main():
    """Print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ask", description=__doc__)
    parser.add_argument("--trials", type=int, nargs="+", default=[1000, 5000])
    parser.add_argument("--asks", type=int, default=10)
    parser.add_argument("--no-rival", action="store_true", help="leave out Optuna's GPSampler")
    parser.add_argument("--study", type=int, nargs="+", help="readings of a Study; nothing else is run")
    parser.add_argument("--tells", type=int, default=10_000, help="none if 0")
    words = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    if words.study:
        print("| readings | first ask, s | ask, s |\n|---|---|---|")
        for n_readings in words.study:
            with threadpool_limits(1):
                first, median = seconds_of_study(n_readings, words.asks)
            print(f"| {n_readings} | {first:.2f} | {median:.2f} |", flush=True)
        return
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
        print("\n| trials | first recommend, s | and the suspicious ones, s |\n|---|---|---|")
        for n_trials in words.trials:
            sampler = UnbribableSampler(n_trials=n_trials + 100, seed=0, search_space=SPACE)
            recommended, status = seconds_of_advice(sampler, n_trials)
            print(f"| {n_trials} | {recommended:.1f} | {status:.1f} |", flush=True)
    if words.tells:
        print("\n| tells | s | recommend after them, s | peak, MB |\n|---|---|---|---|")
        with multiprocessing.get_context("spawn").Pool(1) as pool:  # a process of its own, for the peak
            told, recommended, peak = pool.apply(tell_many, (words.tells,))
        print(f"| {words.tells} | {told:.0f} | {recommended:.0f} | {peak:.0f} |")


if __name__ == "__main__":
    main()
