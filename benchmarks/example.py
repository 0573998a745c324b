"""README's example over and over: `python -m benchmarks.example [FIRST_SEED [RUNS]]`.

A function with values between -2 and 2, noise 0.05, and a sensor that sticks at 4 in a tenth of the
readings. Prints a Markdown table: how good the recommended points are, which lies were found, and
which honest readings were accused. The heuristics were looked at with seeds 0 to 19 and 100 to 119.
"""

import sys

import numpy as np
from threadpoolctl import threadpool_limits

import unbribable as ub

ROUNDS = (20, 30)


def f(x: np.ndarray) -> float:
    return float(np.sin(5 * x[0]) + np.cos(3 * x[1]))


def play(seed: int, n_rounds: int) -> dict[str, float]:
    """One run: the value of the recommended point, the best reading, and who was accused."""
    rng, is_lie = np.random.default_rng(seed), []

    def measure(x: np.ndarray) -> float:
        is_lie.append(rng.random() < 0.1)
        return 4.0 if is_lie[-1] else f(x) + 0.05 * rng.standard_normal()

    result = ub.maximize(measure, [(0, 1), (0, 2)], n_rounds=n_rounds, seed=seed)
    flagged = {suspect.t for suspect in result.suspects if suspect.is_flagged}
    lies = {t for t, one in enumerate(is_lie, 1) if one}
    return {
        "robust": f(result.x),
        "naive": f(np.asarray(result.naive.x)),
        "found": len(flagged & lies),
        "lies": len(lies),
        "accused": len(flagged - lies),
        "honest": n_rounds - len(lies),
        "warned": result.recommendation.cautions != (),
    }


HEADS = (
    "rounds",
    "f at the recommended point: mean, worst",
    "f at the best reading: mean",
    "lies found",
    "honest readings accused",
    "runs with a warning",
)


def main(first: int = 1000, n: int = 20) -> None:
    print("| " + " | ".join(HEADS) + " |")
    print("|---" * len(HEADS) + "|")
    for n_rounds in ROUNDS:
        runs = [play(seed, n_rounds) for seed in range(first, first + n)]
        total = {key: sum(run[key] for run in runs) for key in runs[0]}
        worst = min(run["robust"] for run in runs)
        print(
            f"| {n_rounds} | {total['robust'] / n:.2f}, {worst:.2f} | {total['naive'] / n:.2f} | "
            f"{total['found']} of {total['lies']} | {total['accused']} of {total['honest']} | "
            f"{total['warned']} of {n} |"
        )


if __name__ == "__main__":
    with threadpool_limits(1):
        main(*map(int, sys.argv[1:]))
