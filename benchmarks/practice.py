"""Whole optimisations against BoTorch and Optuna, readings honest or a tenth of them lies.

Run as `python -m benchmarks.practice`. Every finished game is one line of the --json file, and a game
that is there already is not played again, so an interrupted run goes on where it stopped. A game of
ours is played again when our code has changed, a game of a rival when its library has.

What all methods of a seed share: the function, the noise of each round, and the rounds in which the
reading is replaced by a lie. Nobody is told which ones these are. BoTorch starts from the same points
as we do: on a function with two peaks, much depends on them.
"""

import argparse
import hashlib
import json
import logging
import multiprocessing
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import qmc
from threadpoolctl import threadpool_limits

import unbribable as ub
from unbribable.practice.engine import Engine
from unbribable.practice.plan import SHARE as ALLOWED
from unbribable.practice.plan import Plan
from unbribable.world.named_functions import TEST_FUNCTIONS, TestFunction

PROTOCOL = 1
"""To be raised when games of an older version of this file no longer count."""

ROUNDS = {"forrester": 25, "levy": 25, "branin": 40, "camelback": 40, "hartmann6": 60}
SETTINGS = ("clean", "corrupted")
NOISE = 0.01
"""Standard deviation of the noise, as a share of the function's range."""
SHARE = 0.1
"""Share of the rounds whose reading is a lie, where there are lies."""
RATIO_MAX = 2.0
"""Target: our regret on honest readings to BoTorch's, at most."""

HERE = Path(__file__).parent / "practice"


# --- the game ----------------------------------------------------------------------------------------


@cache
def value_range(name: str) -> tuple[float, float]:
    """Smallest value over 2^16 Sobol points and the corners of the box; the true maximum."""
    test = TEST_FUNCTIONS[name]
    low, high = np.array(test.low), np.array(test.high)
    U = qmc.Sobol(test.d, scramble=True, seed=np.random.default_rng(0)).random_base2(16)
    corners = (np.arange(2**test.d)[:, None] >> np.arange(test.d)) & 1
    X = low + (high - low) * np.vstack([U, corners])
    return float(test(X).min()), test.f_max


@dataclass
class Game:
    """Holds changing state: the rounds read so far, and the sum of the lies told in them."""

    function: str
    setting: str
    seed: int
    t: int = 0
    spent: float = 0.0
    noise: np.ndarray = field(init=False)
    lies: dict[int, str] = field(init=False)
    """The kind of lie told in a round, by rounds from 0."""

    def __post_init__(self) -> None:
        low, high = value_range(self.function)
        key = [self.seed, list(ROUNDS).index(self.function)]
        self.noise = NOISE * (high - low) * np.random.default_rng([*key, 0]).standard_normal(self.T)
        rng = np.random.default_rng([*key, 1])
        rounds = rng.choice(self.T, max(1, int(SHARE * self.T)), replace=False)
        kinds = rng.choice(["flipped", "clipped"], len(rounds))
        lies = dict(zip(rounds.tolist(), kinds.tolist(), strict=True))
        self.lies = lies if self.setting == "corrupted" else {}

    @property
    def test(self) -> TestFunction:
        """The function to be maximised."""
        return TEST_FUNCTIONS[self.function]

    @property
    def T(self) -> int:
        """Number of rounds."""
        return ROUNDS[self.function]

    @property
    def box(self) -> ub.Box:
        """Where to search."""
        return ub.Box(self.test.low, self.test.high)

    def design(self) -> np.ndarray:
        """The points of our initial design, from which BoTorch starts too."""
        engine = Engine(self.box, Plan(n_rounds=self.T), self.seed)
        return np.array([engine.ask(t).x for t in range(1, engine.n_design + 1)])

    def f(self, x: Any) -> float:
        """The true value."""
        return float(self.test(np.asarray(x, dtype=float)[None])[0])

    def read(self, x: Any) -> float:
        """The reading of the next round: the true value and noise, or a lie in its place."""
        honest = self.f(x) + float(self.noise[self.t])
        kind = self.lies.get(self.t)
        self.t += 1
        if kind is None:
            return honest
        low, high = value_range(self.function)
        middle = (low + high) / 2.0
        if kind == "flipped":
            lie = min(max(2.0 * middle - honest, low), high)
        else:
            lie = high if self.f(x) < middle else low
        self.spent += abs(lie - honest)
        return lie


# --- the methods: what each recommends after the last round ------------------------------------------

Found = dict[str, Any]
"""Recommended points by name; of ours also the result, under "result"."""


def ours(game: Game) -> Found:
    """One call, with default arguments."""
    words: Any = {"on_error": "raise", "progress": False}
    result = ub.maximize(game.read, game.box, game.T, seed=game.seed, **words)
    return {"maximize": result.x, "result": result}


def budgets_of(result: ub.Result) -> tuple[float, float]:
    """The lies a run allowed for, in units of the readings: the least of all its fits, and the last."""
    engine = Engine(result.engine.domain, result.engine.plan, result.engine.seed)
    budgets = []
    for told in result.engine.told:
        engine.tell(told.t, engine.x_of(told.u), told.y)
        if engine.is_ready:
            cap = engine.fit().judge.assumptions.c_max * engine.fit().scale
            budgets.append(ALLOWED * engine.plan.n_rounds * cap)
    return min(budgets), budgets[-1]


def botorch_ucb(game: Game) -> Found:
    """The standard loop: refit every round, mean + 2 sd, from our initial design.

    Matern 5/2 with a lengthscale per coordinate, as in our fit, under BoTorch's own lengthscale prior.
    """
    import torch
    from botorch.acquisition import UpperConfidenceBound
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Normalize, Standardize
    from botorch.models.utils.gpytorch_modules import get_covar_module_with_dim_scaled_prior
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood

    torch.manual_seed(game.seed)
    d = game.test.d
    bounds = torch.tensor([game.test.low, game.test.high], dtype=torch.float64)

    def fitted() -> SingleTaskGP:
        model = SingleTaskGP(
            X,
            y,
            covar_module=get_covar_module_with_dim_scaled_prior(ard_num_dims=d, use_rbf_kernel=False),
            input_transform=Normalize(d=d, bounds=bounds),
            outcome_transform=Standardize(m=1),
        )
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model

    X = torch.tensor(game.design(), dtype=torch.float64)
    y = torch.tensor([[game.read(x)] for x in X.numpy()], dtype=torch.float64)
    for _ in range(len(X), game.T):
        ucb = UpperConfidenceBound(fitted(), beta=4.0)  # beta multiplies the variance
        x, _ = optimize_acqf(ucb, bounds=bounds, q=1, num_restarts=5, raw_samples=128)
        X = torch.cat([X, x])
        y = torch.cat([y, torch.tensor([[game.read(x[0].numpy())]], dtype=torch.float64)])
    mean = fitted().posterior(X).mean[:, 0].detach()
    return {"BoTorch, best": X[y[:, 0].argmax()].numpy(), "BoTorch, mean": X[mean.argmax()].numpy()}


def _optuna(game: Game, name: str, label: str) -> Found:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = getattr(optuna.samplers, name)(seed=game.seed)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    sides = list(zip(game.test.low, game.test.high, strict=True))
    for _ in range(game.T):
        trial = study.ask()
        x = [trial.suggest_float(f"x{i}", low, high) for i, (low, high) in enumerate(sides)]
        study.tell(trial, game.read(x))
    best = study.best_trial.params
    return {label: [best[f"x{i}"] for i in range(game.test.d)]}


def optuna_gp(game: Game) -> Found:
    """GPSampler with default arguments."""
    return _optuna(game, "GPSampler", "Optuna GP")


def optuna_tpe(game: Game) -> Found:
    """TPESampler with default arguments."""
    return _optuna(game, "TPESampler", "Optuna TPE")


METHODS: dict[str, Callable[[Game], Found]] = {
    "maximize": ours,
    "BoTorch": botorch_ucb,
    "Optuna GP": optuna_gp,
    "Optuna TPE": optuna_tpe,
}
RECOMMENDATIONS = ("maximize", "BoTorch, best", "BoTorch, mean", "Optuna GP", "Optuna TPE")
BEST_READING = ("BoTorch, best", "Optuna GP", "Optuna TPE")


# --- playing -----------------------------------------------------------------------------------------

Job = tuple[str, str, int, str]
"""Function, setting, seed, method."""


@cache
def made_by(method: str) -> str:
    """What a method's games depend on: the version of its library, or a hash of our code."""
    if method == "BoTorch":
        return f"{version('botorch')}, our design"
    if method != "maximize":
        return version("optuna")
    root = Path(ub.__file__).parent
    parts = ("decision", "model", "practice", "theory", "world")
    files = sorted(file for part in parts for file in (root / part).rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


def start_worker() -> None:
    """One thread per process, and quiet about what is known."""
    import torch

    threadpool_limits(1)
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", message="GPSampler is experimental")
    slower = logging.getLogger("optuna._gp.batched_lbfgsb")  # says that greenlet would make it faster
    slower.setLevel(logging.ERROR)


def play(job: Job) -> dict[str, Any]:
    """One game, as it is stored."""
    function, setting, seed, method = job
    game = Game(function, setting, seed)
    start = time.process_time()
    found = METHODS[method](game)
    seconds = time.process_time() - start
    assert game.t == game.T
    low, high = value_range(function)
    result = found.pop("result", None)
    budget = None if result is None or setting == "clean" else budgets_of(result)
    return {
        "function": function,
        "setting": setting,
        "seed": seed,
        "method": method,
        "T": game.T,
        "value": {name: game.f(x) for name, x in found.items()},
        "regret": {name: (high - game.f(x)) / (high - low) for name, x in found.items()},
        "spent": game.spent,
        "budget": budget,
        "seconds": round(seconds, 3),
    }


def load(file: Path) -> dict[Job, dict[str, Any]]:
    """The games of a file that still count; a line cut short by an interruption does not."""
    games: dict[Job, dict[str, Any]] = {}
    for line in file.read_text().splitlines() if file.exists() else ():
        try:
            game = json.loads(line)
        except json.JSONDecodeError:
            continue
        job = (game["function"], game["setting"], game["seed"], game["method"])
        is_current = game["protocol"] == PROTOCOL and game["T"] == ROUNDS.get(game["function"])
        if is_current and job[3] in METHODS and game["by"] == made_by(job[3]):
            games[job] = game
    return games


def play_all(jobs: list[Job], file: Path, n_workers: int) -> int:
    """Play the games and append each to the file; how many failed."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # for the workers, which are not started yet
    by = {method: made_by(method) for method in METHODS}
    context = multiprocessing.get_context("spawn")
    start, n_failed = time.perf_counter(), 0
    file.parent.mkdir(parents=True, exist_ok=True)
    is_cut = file.exists() and file.read_bytes()[-1:] not in (b"", b"\n")
    with (
        file.open("a") as stream,
        ProcessPoolExecutor(n_workers, mp_context=context, initializer=start_worker) as pool,
    ):
        if is_cut:
            stream.write("\n")
        futures = {pool.submit(play, job): job for job in jobs}
        try:
            for i, future in enumerate(as_completed(futures), 1):
                job = futures[future]
                label = (
                    f"[{i}/{len(jobs)}, {time.perf_counter() - start:.0f} s] {' '.join(map(str, job))}"
                )
                if (error := future.exception()) is not None:
                    n_failed += 1
                    print(f"{label}: FAILED, {error!r}", flush=True)
                    continue
                game = future.result() | {"protocol": PROTOCOL, "by": by[job[3]]}
                stream.write(json.dumps(game) + "\n")
                stream.flush()
                regrets = ", ".join(f"{value:.4f}" for value in game["regret"].values())
                print(f"{label}: regret {regrets}, {game['seconds']:.1f} s", flush=True)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return n_failed


# --- the report --------------------------------------------------------------------------------------


def table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


class Results:
    """Medians over the seeds of what was played."""

    def __init__(self, games: list[dict[str, Any]]) -> None:
        self.games = games

    def of(self, function: str, setting: str) -> list[dict[str, Any]]:
        """The games of a function in a setting."""
        return [g for g in self.games if (g["function"], g["setting"]) == (function, setting)]

    def median(self, what: str, name: str, function: str, setting: str) -> float:
        """Of "regret" or "value" of a recommendation; NaN where nothing was played."""
        found = [game[what][name] for game in self.of(function, setting) if name in game[what]]
        return statistics.median(found) if found else float("nan")

    def seconds(self, method: str, function: str) -> float:
        """Of a game, in either setting."""
        found = [g["seconds"] for g in self.games if (g["method"], g["function"]) == (method, function)]
        return statistics.median(found) if found else float("nan")


def clean_section(results: Results, functions: list[str]) -> str:
    """Median regret on honest readings, and the ratio to BoTorch."""
    rows = []
    for function in functions:
        regret = {name: results.median("regret", name, function, "clean") for name in RECOMMENDATIONS}
        ratios = [regret["maximize"] / regret[name] for name in ("BoTorch, best", "BoTorch, mean")]
        verdicts = [f"{ratio:.2f}, {'met' if ratio <= RATIO_MAX else 'NOT met'}" for ratio in ratios]
        rows.append((function, *(f"{100.0 * value:.3f} %" for value in regret.values()), *verdicts))
    header = ("function", *RECOMMENDATIONS, "ours / BoTorch, best", "ours / BoTorch, mean")
    text = f"Target of the ratios: at most {RATIO_MAX:g}."
    return "## Honest readings: median regret\n\n" + table(header, rows) + "\n\n" + text


def corrupted_section(results: Results, functions: list[str]) -> str:
    """Median regret and true value with lies, and whether ours is best; whether the budget was kept."""
    rows = []
    for function in functions:
        regret = {
            name: results.median("regret", name, function, "corrupted") for name in RECOMMENDATIONS
        }
        cells = [
            f"{100.0 * value:.2f} % ({results.median('value', name, function, 'corrupted'):.4g})"
            for name, value in regret.items()
        ]
        is_best = all(regret["maximize"] < regret[name] for name in BEST_READING)
        is_better = regret["maximize"] < regret["BoTorch, mean"]
        words = ["yes" if holds else "NO" for holds in (is_best, is_better)]
        rows.append((function, f"{value_range(function)[1]:.4g}", *cells, *words))
    header = (
        "function",
        "maximum",
        *RECOMMENDATIONS,
        "ours beats every best",
        "ours beats BoTorch, mean",
    )
    lines = ["## A tenth of the readings are lies: median regret (median true value)", ""]
    lines += [table(header, rows), "", budget_line(results, functions)]
    return "\n".join(lines)


def budget_line(results: Results, functions: list[str]) -> str:
    """Whether the lies told to us stayed within what our runs allowed for."""
    played = [g for f in functions for g in results.of(f, "corrupted") if g["budget"] is not None]
    if not played:
        return "No game of ours was played."
    over_last = sum(game["spent"] > game["budget"][1] for game in played)
    over_least = sum(game["spent"] > game["budget"][0] for game in played)
    share = max(game["spent"] / game["budget"][1] for game in played)
    return (
        f"The lies told to `maximize` summed to more than its budget in {over_last} of {len(played)} "
        f"games by the budget of its last fit, in {over_least} by the least budget of all its fits; at "
        f"most {100.0 * share:.0f} % of the last budget was told."
    )


def time_section(results: Results, functions: list[str]) -> str:
    """Median processor time of a game."""
    rows = [
        (function, *(f"{results.seconds(method, function):.1f} s" for method in METHODS))
        for function in functions
    ]
    return "## Processor time of a game, one thread\n\n" + table(("function", *METHODS), rows)


def report(results: Results, functions: list[str], n_seeds: int) -> str:
    """The whole page."""
    shown = ", ".join(f"{name} {version(name)}" for name in ("botorch", "optuna", "numpy", "scipy"))
    rounds = ", ".join(f"{function} {ROUNDS[function]}" for function in functions)
    command = " ".join(["python -m benchmarks.practice", *sys.argv[1:]])
    intro = (
        f"By `{command}`, with unbribable {ub.__version__}, {shown}. {n_seeds} seeds. Rounds: {rounds}. "
        f"Noise: {100.0 * NOISE:g} % of the function's range. Regret: the true maximum less the true "
        "value of the recommended point, as a share of that range.\n\n"
        "Every method meets the same noise and the same lies, each within the range of the function: "
        "the reading flipped about the middle of the range, or replaced by the end of the range that is "
        "further from the truth. `maximize` and Optuna have default arguments. BoTorch: Matern 5/2 with "
        "its own lengthscale prior, refitted every round, mean + 2 sd, the same initial design as ours, "
        "5 restarts from 128 raw samples. *best* and Optuna recommend the point of the best reading, "
        "*mean* the point read whose posterior mean is best."
    )
    parts = ["# In practice", intro, clean_section(results, functions)]
    parts += [corrupted_section(results, functions), time_section(results, functions)]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Play what is missing, then write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.practice", description=__doc__)
    parser.add_argument("--seeds", type=int, default=20, help="seeds 0, 1, ... of every game")
    parser.add_argument("--functions", default=",".join(ROUNDS), help="separated by commas")
    parser.add_argument("--methods", default=",".join(METHODS), help="to be played, by commas")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=HERE / "results.md", help="the page")
    parser.add_argument("--json", type=Path, default=HERE / "games.jsonl", help="the games, a line each")
    words = parser.parse_args()
    functions = words.functions.split(",")
    if unknown := [name for name in functions if name not in ROUNDS]:
        parser.error(f"functions must be among {', '.join(ROUNDS)}, got {', '.join(unknown)}")
    jobs = [
        (function, setting, seed, method)
        for seed in range(words.seeds)
        for function in functions
        for setting in SETTINGS
        for method in METHODS
    ]
    done = load(words.json)
    wanted = words.methods.split(",")
    missing = [job for job in jobs if job not in done and job[3] in wanted]
    print(f"{len(jobs)} games, {len(jobs) - len(missing)} of them played already", flush=True)
    n_failed = play_all(missing, words.json, words.workers) if missing else 0
    done = load(words.json)
    results = Results([done[job] for job in jobs if job in done])
    page = report(results, functions, words.seeds)
    words.out.parent.mkdir(parents=True, exist_ok=True)
    words.out.write_text(page)
    print(page)
    if n_failed:
        sys.exit(f"{n_failed} games failed; run again to play them")


if __name__ == "__main__":
    main()
