"""What a simulated game and a sweep cost beyond the learner itself."""

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from unbribable.decision.algorithm import Algorithm
from unbribable.lab.runs.kinds import build_game
from unbribable.lab.runs.record import Record
from unbribable.lab.runs.simulate import simulate
from unbribable.lab.runs.spec import read_spec
from unbribable.lab.runs.sweep import sweep
from unbribable.lab.world.environment import Environment


def spec(T: int, seeds: int) -> dict[str, Any]:
    """Algorithm 1 with the exact width against the top-5 attack on 100 candidates."""
    return {
        "name": "throughput",
        "T": T,
        "seeds": seeds,
        "noise_std": 0.02,
        "budgets": [50],
        "objective": {
            "kind": "gp_draw",
            "kernel": {"kind": "squared_exponential", "lengthscale": 2.0},
            "candidates": {"low": [-5, -5], "high": [5, 5], "n": 10},
        },
        "assumptions": {"lam": 0.01},
        "algorithms": [{"label": "RobustGPUCB", "kind": "RobustGPUCB"}],
        "adversaries": [{"label": "top-5", "kind": "top_k", "K": 5}],
    }


def new_game(T: int) -> tuple[Algorithm, Environment]:
    """A fresh learner and world."""
    run = read_spec(spec(T, 1)).runs()[0]
    return build_game(run.game)[:2]


def whole_game(T: int) -> Record:
    """The game with its adversary, ledger and record."""
    algorithm, environment = new_game(T)
    return simulate(algorithm, environment, T, 0)


def bare_loop(T: int, record: Record) -> None:
    """The learner alone, told the very same values."""
    algorithm, _ = new_game(T)
    for t in range(T):
        query = algorithm.ask()
        assert query.index == record.columns["index"][t]
        algorithm.tell(query, record.columns["y_tilde"][t])


def sweep_overhead(T: int, seeds: int) -> tuple[float, float]:
    """Seconds a run takes by its own record, and seconds a run takes in a sweep (one process)."""
    with tempfile.TemporaryDirectory() as directory:
        start = time.perf_counter()
        sweep(read_spec(spec(T, seeds)), directory, serial=True)
        wall = time.perf_counter() - start
        played = [
            float(Record.load(path).columns["seconds"].sum())
            for path in Path(directory, "runs").glob("*.npz")
        ]
    return float(np.mean(played)), wall / seeds
