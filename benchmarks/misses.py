"""How often what a fitted run states is false, although nobody breaks what it allows for.

Run as `python -m benchmarks.misses` (the table) or `python -m benchmarks.misses --tune` (the other set).
Rows go into benchmarks/misses.csv (`--out`) as they come; what it holds is not played again; `--out ""`
keeps nothing.

Protocol, written before the first run:

* Functions on the unit interval and the unit square, ten of our own for the score and ten others (with
  named ones among them) for tuning; seeds 100 to 109 for the score, 0 to 4 for tuning. Nothing in the
  library may be chosen by looking at a run of the score.
* 30 rounds of `maximize` with everything fitted; Gaussian noise of 5 % of the function's standard
  deviation over the domain. The seed decides design, draws and noise.
* The points are chosen by a heuristic, which does not know what is said about the corruption. So one
  play serves all modes: its readings are judged anew under each of them. The modes: default, 0, and
  0.5 standard deviations of f, all on honest readings (and two that draw in secret, until `maximize`
  dropped them); and default again on a play of its own in which three rounds of 30, drawn at random,
  are lies: f's maximum plus 2 or 20 standard deviations, or the honest reading minus 10.
* A guarantee that is withheld cannot be missed. Where one is printed, a miss is:
  value: f(x) of the recommended x is outside [lower, upper];
  certificate: a candidate is better than x by more than `regret_bound`;
  somewhere: the truth is outside the trusted bounds (cut at B0) at some candidate.
  Nominally all three happen, together, in at most 10 % of the runs. Besides: how often the noise that
  the guarantee assumes is below half of the true one; the mean width of [lower, upper] and the median
  of `regret_bound`, both in standard deviations of f; and, of the choice itself, the mean regret of x
  in standard deviations of f.

Counted lies, written on 19 November before their first run:

* The same functions and seeds, with 0, 1 and 3 lies as above, and each play judged with that number of
  lies allowed for. x is the recommended point.
* Nominally it fails, in any of the three ways, in at most 10 % of the runs, and no number of lies
  that is true is refuted ("withheld" in the table).
* Energy needs noise_std to be a true bound. The rule for fitted runs, whatever comes out: it stays if no
  count of `left out` is above 10 of 100; else it is switched off where the noise is fitted.

Changed later the same day, before the run that misses.csv holds, because the library did:

* All that is printed where lies are counted, `default` included, rests on leaving readings out, by
  energy (SPEC 17d). Gone are the forms `clipped`, which no longer exists, and `hands` with and without
  energy: no fitted run prints what they say.
* Such bounds are of single points. For them "somewhere" is looked at in x, in the best candidate, and in
  the first eight points of a Sobol sequence. By now they come with a certificate, which speaks of the
  candidates, as all certificates do.
* `left out` is `worst_case(n)` with n the number of lies that were told. What `default` prints allows
  for its own number: a tenth of the readings, or those that look false, or the least that there must be.
* Of the seeds the first three were played (`--seeds 3`): as many as there was time for.
"""

import argparse
import csv
import os
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import qmc
from threadpoolctl import threadpool_limits

import unbribable as ub
from unbribable.decision.proven.by_lies import ByLies
from unbribable.decision.recommend import trusted
from unbribable.lab.world.named_functions import TEST_FUNCTIONS
from unbribable.study.advice import advise
from unbribable.study.engine import Engine

ROUNDS = 30
NOISE = 0.05
"""Standard deviation of the noise, in those of f."""
N_LIES = (0, 1, 3)
"""Lies told in a play, and allowed for where they are counted."""
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
    n_lies: int
    result: ub.Result


def play(name: str, seed: int, n_lies: int) -> Play:
    """One run of the protocol."""
    d, f = FUNCTIONS[name]
    top, sd = moments(name)
    rng = np.random.default_rng([seed, sorted(FUNCTIONS).index(name), n_lies > 0])
    noise = NOISE * sd * rng.standard_normal(ROUNDS)
    lied = set(rng.choice(ROUNDS, n_lies, replace=False).tolist()) if n_lies else set()
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
    return Play(name, seed, n_lies, result)


def modes(sd: float) -> dict[str, dict[str, Any]]:
    """What is said about the corruption, by name."""
    return {
        "default": {},
        "corruption=0": {"corruption": 0.0},
        "corruption=0.5 sd": {"corruption": 0.5 * sd},
    }


def told_anew(played: Play, words: dict[str, Any]) -> Engine:
    """The readings of a play, under other words about the lies, of which no hypothesis knows."""
    own = played.result.engine
    if not words:
        return own
    engine = own.replayed(own.log.values())
    engine.plan = replace(own.plan, **{"lies": None, **words})
    engine._judge = own.judge()
    return engine


def judged(played: Play, words: dict[str, Any]) -> dict[str, Any]:
    """What the readings of a play state under a mode, compared with the truth."""
    _, f = FUNCTIONS[played.name]
    _, sd = moments(played.name)
    engine = told_anew(played, words)
    best, algorithm = advise(engine), engine.algorithm()
    assert best is not None
    about = about_fit(engine, played, best.x)
    if best.is_by_lies:
        assert best.lies is not None
        assert best.n_lies is not None
        return by_lies(best.lies, best.n_lies, played, best.x) | about
    is_stated = None not in (best.regret_bound, best.lower, best.upper)
    truth, value = f(algorithm.candidates.coordinates), float(f(best.x[None])[0])
    units = engine.model().units
    lower, upper = trusted(algorithm)[1].cut
    lower, upper = (units.center + units.scale * side for side in (lower, upper))
    return {
        **compared(is_stated, (best.lower, best.upper), best.regret_bound, value, truth, sd),
        "somewhere": is_stated and is_outside(truth, lower, upper, sd),
        **about,
    }


def about_fit(engine: Engine, played: Play, x: np.ndarray) -> dict[str, Any]:
    """Of the noise that is assumed, and of the choice."""
    _, f = FUNCTIONS[played.name]
    top, sd = moments(played.name)
    model = engine.model()
    return {
        "noise": model.assumptions.noise_std * model.units.scale < 0.5 * NOISE * sd,
        "regret": (top - float(f(x[None])[0])) / sd,
    }


def compared(
    is_stated: bool,
    interval: tuple[float | None, float | None],
    certificate: float | None,
    value: float,
    truth: np.ndarray,
    sd: float,
) -> dict[str, Any]:
    """An interval of f(x) and a certificate against the truth."""
    nothing = {
        "is_stated": False,
        "value": False,
        "certificate": False,
        "width": np.nan,
        "bound": np.nan,
    }
    lower, upper = interval
    if not is_stated or lower is None or upper is None:
        return nothing
    bound = np.inf if certificate is None else certificate
    return {
        "is_stated": True,
        "value": is_outside(value, lower, upper, sd),
        "certificate": float(truth.max()) - value > bound + 1e-9 * sd,
        "width": (upper - lower) / sd,
        "bound": np.nan if certificate is None else certificate / sd,
    }


def is_outside(truth: Any, lower: Any, upper: Any, sd: float) -> bool:
    """Whether the truth is outside its bounds anywhere."""
    slack = 1e-9 * sd
    return bool(np.any((truth < lower - slack) | (truth > upper + slack)))


# --- counted lies ------------------------------------------------------------------------------


def counted(played: Play) -> dict[str, Any]:
    """What the readings of a play state if so many are lies as were told."""
    engine = told_anew(played, {"lies": played.n_lies})
    best = advise(engine)
    assert best is not None
    assert best.lies is not None
    about = about_fit(engine, played, best.x)
    return by_lies(best.lies, played.n_lies, played, best.x) | about


def by_lies(lies: ByLies, n_lies: int, played: Play, x: np.ndarray) -> dict[str, Any]:
    """What is stated for so many lies, compared with the truth at single points."""
    d, f = FUNCTIONS[played.name]
    _, sd = moments(played.name)
    truth = f(lies.U)
    places = np.concatenate([lies.U[[int(np.argmax(truth))]], looked_at(d)])
    value, interval, more = float(f(x[None])[0]), lies.interval(n_lies), lies.better(n_lies)
    if interval is None or more is None:
        return compared(False, (None, None), None, value, truth, sd) | {"somewhere": False}
    somewhere = is_outside(value, *interval, sd)
    for u, there in zip(places, f(places), strict=True):
        found = lies.left_out.interval(u, n_lies)
        somewhere |= found is None or is_outside(there, *lies.units.interval(*found), sd)
    return compared(True, interval, more, value, truth, sd) | {"somewhere": somewhere}


def looked_at(d: int) -> np.ndarray:
    """The first eight points of a Sobol sequence, (8, d)."""
    points: np.ndarray = qmc.Sobol(d, scramble=False).random_base2(3)
    return points


# --- rows --------------------------------------------------------------------------------------

Row = dict[str, Any]
"""Function, seed, number of lies, run, and what was found."""


def rows_of(job: tuple[str, int, int]) -> list[Row]:
    """All that one play is judged by."""
    name, seed, n_lies = job
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ub.AssumptionsRefuted)
        played = play(name, seed, n_lies)
        found: dict[str, dict[str, Any]] = {}
        if n_lies == 0:
            found = {mode: judged(played, words) for mode, words in modes(moments(name)[1]).items()}
        if n_lies == 3:
            found = {"default, a tenth of lies": judged(played, {})}
        found[f"{n_lies} lies, left out"] = counted(played)
    about = {"function": name, "seed": seed, "n_lies": n_lies}
    return [{**about, "run": run, **row} for run, row in found.items()]


COLUMNS = {
    "function": str, "seed": int, "n_lies": int, "run": str, "is_stated": int, "value": int,
    "certificate": int, "somewhere": int, "noise": int, "width": float, "bound": float, "regret": float,
}  # fmt: skip
"""Of the file, with their types."""


def stored(file: Path) -> list[Row]:
    """The rows of a file."""
    with file.open(encoding="utf-8", newline="") as lines:
        return [{key: COLUMNS[key](row[key]) for key in COLUMNS} for row in csv.DictReader(lines)]


def store(file: Path, rows: list[Row]) -> None:
    """Add rows to a file."""
    is_new = not file.exists()
    with file.open("a", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        if is_new:
            writer.writerow(COLUMNS)
        for row in rows:
            cells = [(kind, row[key]) for key, kind in COLUMNS.items()]
            writer.writerow([f"{cell:.5g}" if kind is float else kind(cell) for kind, cell in cells])


def table(rows: list[Row]) -> str:
    """One line for each mode."""
    lines = [
        "| run | guarantee printed | value missed | certificate false | truth outside somewhere "
        "| noise below half | mean, median width / sd | median certificate / sd | mean regret / sd |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for mode in dict.fromkeys(row["run"] for row in rows):
        found = [row for row in rows if row["run"] == mode]
        n = sum(row["is_stated"] for row in found)
        misses = [sum(row[key] for row in found) for key in ("value", "certificate", "somewhere")]
        cells = [f"{count} ({100.0 * count / max(n, 1):.0f} %)" for count in misses]
        cells.append(f"{100.0 * np.mean([row['noise'] for row in found]):.0f} %")
        widths, bounds = (
            [row[key] for row in found if row[key] == row[key]] for key in ("width", "bound")
        )
        cells.append(f"{np.mean(widths):.2f}, {np.median(widths):.2f}" if widths else "–")
        cells.append(f"{np.median(bounds):.2f}" if bounds else "–")
        cells.append(f"{np.mean([row['regret'] for row in found]):.3f}")
        lines.append(f"| {mode} | {n} of {len(found)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def by_function(rows: list[Row]) -> str:
    """Where the misses are: false certificates and truth outside, by function and mode."""
    lines = []
    for name in dict.fromkeys(row["function"] for row in rows):
        parts = []
        for mode in dict.fromkeys(row["run"] for row in rows):
            found = [row for row in rows if (row["function"], row["run"]) == (name, mode)]
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
    parser.add_argument(
        "--out", default=str(Path(__file__).with_suffix(".csv")), help="where rows are kept"
    )
    options = parser.parse_args()
    which = "tune" if options.tune else "score"
    names = TUNED if options.tune else SCORED
    seeds = list(SEEDS[which])[: options.seeds]
    file = Path(options.out) if options.out else None
    rows = stored(file) if file is not None and file.exists() else []
    there = {(row["function"], row["seed"], row["n_lies"]) for row in rows}
    jobs = [(name, seed, n_lies) for seed in seeds for name in names for n_lies in N_LIES]
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with ProcessPoolExecutor(options.processes) as pool:
        for found in pool.map(rows_of, [job for job in jobs if job not in there]):
            rows += found
            if file is not None:
                store(file, found)
    rows = [row for row in rows if row["function"] in names and row["seed"] in seeds]
    order = list(dict.fromkeys(row["run"] for row in rows))
    rows.sort(key=lambda row: order.index(row["run"]))
    print(f"{which}: {len(names)} functions x {len(seeds)} seeds, {ROUNDS} rounds\n\n{table(rows)}\n")
    print(f"missed value / certificate / somewhere, in the order of the table\n{by_function(rows)}")


if __name__ == "__main__":
    main()
