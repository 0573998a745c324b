"""The golden games: twenty rounds per algorithm and seed, with noise and lies.

To store new queries after a change that is meant to move them, look at the difference and run

    .venv/bin/python tests/golden/games.py

Tests never write the file.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import unbribable as ub

PATH = Path(__file__).with_name("queries.json")
N_ROUNDS = 20
SEEDS = (0, 1, 2)


def play(build: Any, seed: int) -> list[dict[str, Any]]:
    """The first twenty queries on a fixed function; the second third of the readings is lied about."""
    points = np.random.default_rng(100).random((30, 2))
    kernel = ub.SquaredExponential(0.4)
    f = kernel(points, points[[4, 17]]) @ np.array([0.7, -0.5])
    assumptions = ub.Assumptions(kernel, B=1.0, B0=1.0, noise_std=0.05, lam=0.02)
    lies = {"n_lies": 6} if "n_lies" in build.words else {}
    algorithm = build(ub.Grid(points), assumptions, seed=seed, **lies)
    rng = np.random.default_rng(seed)
    queries = []
    for t in range(N_ROUNDS):
        query = algorithm.ask()
        lie = -0.5 if 7 <= t < 13 else 0.0
        algorithm.tell(query, f[query.index] + 0.05 * rng.normal() + lie)
        queries.append({"index": query.index, "instance": query.instance, "ucb": query.ucb})
    return queries


def all_games() -> dict[str, list[dict[str, Any]]]:
    """Every algorithm of the contracts' list with every seed."""
    from contracts.members import ALGORITHMS

    return {f"{name}/{seed}": play(build, seed) for name, build in ALGORITHMS.items() for seed in SEEDS}


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    lines = [
        f"{json.dumps(name)}: [\n" + ",\n".join(f"  {json.dumps(query)}" for query in queries) + "\n]"
        for name, queries in all_games().items()
    ]
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")
