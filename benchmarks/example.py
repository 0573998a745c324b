"""README's example over and over: `python -m benchmarks.example [FIRST_SEED [RUNS]]`.

A function with values between -2 and 2, noise 0.05, and a sensor that sticks at 4 in a tenth of the
readings. Prints a Markdown table: how good the recommended points are, which lies were found, and
which honest readings were accused. The heuristics were looked at with seeds 0 to 19 and 100 to 119.

Then another one: the worst case after 30 rounds if no reading is a lie, where nobody lies, and if three
of them are, where the sensor sticks three times at most; as it is, and where the last three rounds read
the recommended point again.
"""

import sys

import numpy as np
from threadpoolctl import threadpool_limits

import unbribable as ub

ROUNDS = (20, 30)
N_LIES, CONFIRM = (0, 3), (0, 3)


def f(x: np.ndarray) -> float:
    return float(np.sin(5 * x[0]) + np.cos(3 * x[1]))


def played(
    seed: int, n_rounds: int, most: float = np.inf, confirm: int = 0
) -> tuple[ub.Result, list[bool]]:
    """One run, and which readings were lies: so many at most."""
    rng, is_lie = np.random.default_rng(seed), list[bool]()

    def measure(x: np.ndarray) -> float:
        is_lie.append(rng.random() < 0.1 and sum(is_lie) < most)
        return 4.0 if is_lie[-1] else f(x) + 0.05 * rng.standard_normal()

    domain = [(0, 1), (0, 2)]
    return ub.maximize(measure, domain, n_rounds=n_rounds, seed=seed, confirm=confirm), is_lie


def play(seed: int, n_rounds: int) -> dict[str, float]:
    """One run: the value of the recommended point, the best reading, and who was accused."""
    result, is_lie = played(seed, n_rounds)
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


def worst_case(seed: int, n_lies: int, confirm: int) -> tuple[float, bool, float]:
    """Its width for so many lies, told at most, whether f(x) is inside, and f(x)."""
    result, _ = played(seed, ROUNDS[-1], n_lies, confirm)
    value, interval = f(result.x), result.worst_case(n_lies)
    if interval is None:
        return np.nan, False, value
    lower, upper = interval
    return upper - lower, lower <= value <= upper, value


HEADS = (
    "rounds",
    "f at the recommended point: mean, worst",
    "f at the best reading: mean",
    "lies found",
    "honest readings accused",
    "runs with a warning",
)

HEADS_WORST = (
    "lies: told at most, and allowed for",
    "last rounds that read the recommended point",
    "width of the worst case: median, largest",
    "f inside",
    "f at the recommended point: mean, worst",
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
    print("\n| " + " | ".join(HEADS_WORST) + " |")
    print("|---" * len(HEADS_WORST) + "|")
    for n_lies in N_LIES:
        for confirm in CONFIRM:
            cases = [worst_case(seed, n_lies, confirm) for seed in range(first, first + n)]
            widths, values = [case[0] for case in cases], [case[2] for case in cases]
            print(
                f"| {n_lies} | {confirm} | {np.nanmedian(widths):.2f}, {np.nanmax(widths):.2f} | "
                f"{sum(case[1] for case in cases)} of {n} | {np.mean(values):.2f}, {min(values):.2f} |"
            )


if __name__ == "__main__":
    with threadpool_limits(1):
        main(*map(int, sys.argv[1:]))
