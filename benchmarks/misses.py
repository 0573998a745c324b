"""How often what a fitted run states is false, although nobody breaks what it allows for.

Run as `python -m benchmarks.misses` (the table) or `python -m benchmarks.misses --tune` (the other set).

Protocol, written before the first run:

* Functions on the unit interval and the unit square, ten of our own for the score and ten others (with
  named ones among them) for tuning; seeds 100 to 109 for the score, 0 to 4 for tuning. Nothing in the
  library may be chosen by looking at a run of the score.
* 30 rounds of `maximize` with everything fitted; Gaussian noise of 5 % of the function's standard
  deviation over the domain. The seed decides design, draws and noise.
* The points are chosen by the scout, which does not know what is said about the corruption. So one
  play serves all modes: its readings are judged anew under each of them. The modes: default, 0, 0.5
  standard deviations of f, "layers", and known_or_zero of 0.5 standard deviations, all on honest
  readings; and default again on a play of its own in which three rounds of 30, drawn at random, are
  lies: f's maximum plus 2 or 20 standard deviations, or the honest reading minus 10.
* A guarantee that is withheld cannot be missed. Where one is printed, a miss is:
  value: f(x) of the recommended x is outside [lower, upper];
  certificate: a candidate is better than x by more than `regret_bound`;
  somewhere: the truth is outside the trusted bounds (cut at B0) at some candidate.
  Nominally all three happen, together, in at most 10 % of the runs (5 % for "layers", 6 % for
  known_or_zero). Besides: how often the noise that the guarantee assumes is below half of the true
  one; the mean width of [lower, upper] and the median of `regret_bound`, both in standard deviations
  of f; and, of the choice itself, the mean regret of x in standard deviations of f.
"""

import argparse
import os
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from scipy.stats import qmc
from threadpoolctl import threadpool_limits

import unbribable as ub
from unbribable.practice.advice import advise
from unbribable.practice.engine import Engine
from unbribable.world.named_functions import TEST_FUNCTIONS

ROUNDS = 30
NOISE = 0.05
"""Standard deviation of the noise, in those of f."""
N_LIES = 3
SEEDS = {"score": range(100, 110), "tune": range(5)}

Function = Callable[[np.ndarray], np.ndarray]
"""(n, d) points of the unit cube to (n,) values."""


def bell(X: np.ndarray, center: tuple[float, ...], width: float) -> np.ndarray:
    """A bump of height 1."""
    values: np.ndarray = np.exp(-(((X - np.array(center)) / width) ** 2).sum(axis=1))
    return values


def rise(z: np.ndarray) -> np.ndarray:
    """From 0 to 1 around 0."""
    values: np.ndarray = 0.5 * (1.0 + np.tanh(0.5 * z))
    return values


def named(name: str) -> Function:
    """A named test function, from the unit cube."""
    test = TEST_FUNCTIONS[name]
    low, side = np.array(test.low), np.array(test.high) - np.array(test.low)
    return lambda X: test(low + X * side)


SCORED: dict[str, tuple[int, Function]] = {
    "needle1": (1, lambda X: 0.4 * np.sin(4.0 * X[:, 0]) + 2.0 * bell(X, (0.63,), 0.03)),
    "twin1": (1, lambda X: bell(X, (0.2,), 0.1) + 1.15 * bell(X, (0.8,), 0.05)),
    "plateau1": (1, lambda X: rise(24.0 * (X[:, 0] - 0.3)) - 1.3 * rise(30.0 * (X[:, 0] - 0.75))),
    "steep1": (1, lambda X: 2.0 * X[:, 0] - 3.0 * rise(60.0 * (X[:, 0] - 0.7))),
    "wavy1": (1, lambda X: np.sin(22.0 * X[:, 0]) * (0.5 + X[:, 0])),
    "kink1": (1, lambda X: 0.3 * np.sin(9.0 * X[:, 0]) - np.abs(X[:, 0] - 0.37)),
    "bump2": (2, lambda X: bell(X, (0.7, 0.3), 0.12) + 0.3 * X[:, 1]),
    "hills2": (
        2,
        lambda X: (
            bell(X, (0.2, 0.8), 0.2)
            + 0.8 * bell(X, (0.8, 0.6), 0.3)
            + 1.3 * bell(X, (0.5, 0.15), 0.15)
            - 0.7 * bell(X, (0.4, 0.5), 0.25)
        ),
    ),
    "wavy2": (2, lambda X: np.cos(9.0 * X[:, 0]) + np.cos(7.0 * X[:, 1]) + X[:, 0] * X[:, 1]),
    "cliff2": (2, lambda X: rise(25.0 * (X.sum(axis=1) - 1.0)) * (1.5 - X[:, 0])),
}
TUNED: dict[str, tuple[int, Function]] = {
    "spike1": (1, lambda X: 1.0 / (1.0 + ((X[:, 0] - 0.3) / 0.03) ** 2) + 0.3 * X[:, 0]),
    "forrester": (1, named("forrester")),
    "levy": (1, named("levy")),
    "hat1": (1, lambda X: np.maximum(0.0, 1.0 - np.abs(X[:, 0] - 0.55) / 0.2)),
    "step1": (1, lambda X: rise(50.0 * (X[:, 0] - 0.45)) - 0.8 * X[:, 0]),
    "chirp1": (1, lambda X: np.sin(20.0 * X[:, 0] ** 2) + 0.3 * X[:, 0]),
    "camelback": (2, named("camelback")),
    "branin": (2, named("branin")),
    "peak2": (2, lambda X: bell(X, (0.25, 0.6), 0.1) + 0.2 * np.sin(3.0 * X[:, 0])),
    "eggs2": (2, lambda X: np.sin(11.0 * X[:, 0]) * np.cos(5.0 * X[:, 1])),
}
FUNCTIONS = {**SCORED, **TUNED}


@cache
def moments(name: str) -> tuple[float, float]:
    """Maximum and standard deviation over the domain."""
    d, f = FUNCTIONS[name]
    values = f(qmc.Sobol(d, scramble=False).random_base2(16))
    return float(values.max()), float(values.std())


@dataclass(frozen=True)
class Play:
    """The readings of a run, from which everything about it follows."""

    name: str
    seed: int
    has_lies: bool
    result: ub.Result


def play(name: str, seed: int, has_lies: bool) -> Play:
    """One run of the protocol."""
    d, f = FUNCTIONS[name]
    top, sd = moments(name)
    rng = np.random.default_rng([seed, sorted(FUNCTIONS).index(name), has_lies])
    noise = NOISE * sd * rng.standard_normal(ROUNDS)
    lied = set(rng.choice(ROUNDS, N_LIES, replace=False).tolist()) if has_lies else set()
    kinds = rng.integers(3, size=ROUNDS)
    t = -1

    def read(x: np.ndarray) -> float:
        nonlocal t
        t += 1
        y = float(f(x[None])[0] + noise[t])
        return [top + 2.0 * sd, top + 20.0 * sd, y - 10.0 * sd][kinds[t]] if t in lied else y

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ub.AssumptionsRefuted)
        result = ub.maximize(read, [(0.0, 1.0)] * d, ROUNDS, seed=seed, progress=False)
    return Play(name, seed, has_lies, result)


def modes(sd: float) -> dict[str, dict[str, Any]]:
    """What is said about the corruption, by name."""
    return {
        "default": {},
        "corruption=0": {"corruption": 0.0},
        "corruption=0.5 sd": {"corruption": 0.5 * sd},
        "layers": {"corruption": "layers"},
        "known_or_zero": {"known_or_zero": 0.5 * sd},
    }


def judged(played: Play, words: dict[str, Any]) -> dict[str, Any]:
    """What the readings of a play state under a mode, compared with the truth."""
    _, f = FUNCTIONS[played.name]
    top, sd = moments(played.name)
    own = played.result.engine
    engine = Engine(own.domain, replace(own.plan, **words), own.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ub.AssumptionsRefuted)
        for told in own.told:
            engine.tell(told.t, own.x_of(told.u), told.y, engine.drawn(told.t), told.chosen_by)
        best, algorithm = advise(engine), engine.judge()
    assert best is not None
    assert algorithm is not None
    units, is_stated = engine.fit().judge.units, best.regret_bound is not None
    truth, value = f(algorithm.candidates.coordinates), float(f(best.x[None])[0])
    bounds = algorithm._bounds(algorithm._trusted(None, None))
    lower = units.center + units.scale * np.maximum(bounds.lower, -bounds.B0)
    upper = units.center + units.scale * np.minimum(bounds.upper, bounds.B0)
    slack = 1e-9 * sd
    return {
        "is_stated": is_stated,
        "value": is_stated and not best.lower - slack <= value <= best.upper + slack,
        "certificate": is_stated and float(truth.max()) - value > (best.regret_bound or 0.0) + slack,
        "somewhere": is_stated and bool(np.any((truth < lower - slack) | (truth > upper + slack))),
        "noise": algorithm.assumptions.noise_std * units.scale < 0.5 * NOISE * sd,
        "width": (best.upper - best.lower) / sd if is_stated else np.nan,
        "bound": (best.regret_bound or np.nan) / sd,
        "regret": (top - value) / sd,
    }


def rows_of(job: tuple[str, int, bool]) -> list[tuple[str, str, dict[str, Any]]]:
    """All modes of one play: name of the function, mode, and what was found."""
    with threadpool_limits(1):
        played = play(*job)
        _, sd = moments(played.name)
        if played.has_lies:
            return [(played.name, "default, a tenth of lies", judged(played, {}))]
        return [(played.name, mode, judged(played, words)) for mode, words in modes(sd).items()]


def table(rows: list[tuple[str, str, dict[str, Any]]]) -> str:
    """One line for each mode."""
    lines = [
        "| run | guarantee printed | value missed | certificate false | truth outside somewhere "
        "| noise below half | mean width / sd | median certificate / sd | mean regret / sd |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for mode in dict.fromkeys(mode for _, mode, _ in rows):
        found = [row for _, each, row in rows if each == mode]
        n = sum(row["is_stated"] for row in found)
        misses = [sum(row[key] for row in found) for key in ("value", "certificate", "somewhere")]
        cells = [f"{count} ({100.0 * count / max(n, 1):.0f} %)" for count in misses]
        cells.append(f"{100.0 * np.mean([row['noise'] for row in found]):.0f} %")
        cells.append(f"{np.nanmean([row['width'] for row in found]):.2f}")
        cells.append(f"{np.nanmedian([row['bound'] for row in found]):.2f}")
        cells.append(f"{np.mean([row['regret'] for row in found]):.3f}")
        lines.append(f"| {mode} | {n} of {len(found)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def by_function(rows: list[tuple[str, str, dict[str, Any]]]) -> str:
    """Where the misses are: false certificates and truth outside, by function and mode."""
    lines = []
    for name in dict.fromkeys(name for name, _, _ in rows):
        parts = []
        for mode in dict.fromkeys(mode for _, mode, _ in rows):
            found = [row for other, each, row in rows if (other, each) == (name, mode)]
            counts = [sum(row[key] for row in found) for key in ("value", "certificate", "somewhere")]
            parts.append("/".join(map(str, counts)))
        lines.append(f"{name:12} " + "  ".join(parts))
    return "\n".join(lines)


def main() -> None:
    """Play, judge, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--tune", action="store_true", help="the functions and seeds for tuning")
    parser.add_argument("--seeds", type=int, help="fewer seeds")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    which = "tune" if options.tune else "score"
    names = TUNED if options.tune else SCORED
    seeds = list(SEEDS[which])[: options.seeds]
    jobs = [(name, seed, has_lies) for name in names for seed in seeds for has_lies in (False, True)]
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with ProcessPoolExecutor(options.processes) as pool:
        rows = [row for found in pool.map(rows_of, jobs) for row in found]
    print(f"{which}: {len(names)} functions x {len(seeds)} seeds, {ROUNDS} rounds\n\n{table(rows)}\n")
    print(f"missed value / certificate / somewhere, in the order of the table\n{by_function(rows)}")


if __name__ == "__main__":
    main()
