"""What reading the recommended point again is worth: `python -m benchmarks.confirm [FIRST_SEED [RUNS]]`.

Six functions of our own in one to three dimensions, 30 rounds of `maximize` each, noise 3 % of the
function's range. Played with several values of `confirm`, where nobody lies, and where a sensor sticks
half a range above the maximum, in a tenth of the readings but three times at most. Prints a Markdown
table: the regret, and the width of the worst case if none or three of the readings are lies, both in
shares of the range.
"""

import sys
from collections.abc import Callable

import numpy as np
from scipy.stats import qmc
from threadpoolctl import threadpool_limits

import unbribable as ub

ROUNDS, NOISE, N_LIES = 30, 0.03, 3
CONFIRM = (0, 3, 5)
SHARES = (0.0, 0.1)
"""Of readings that lie."""


def bell(x: np.ndarray, centre: tuple[float, ...], width: float) -> float:
    """A peak of height 1."""
    return float(np.exp(-0.5 * ((x - np.array(centre)) ** 2).sum() / width**2))


FUNCTIONS: dict[str, tuple[int, Callable[[np.ndarray], float]]] = {
    "ridge1": (1, lambda x: float(np.sin(7.0 * x[0]) + 0.6 * np.cos(15.0 * x[0]))),
    "tilt1": (1, lambda x: bell(x, (0.3,), 0.08) + 0.7 * float(x[0])),
    "dome2": (2, lambda x: float(1.0 - 1.5 * (x[0] - 0.6) ** 2 - 3.0 * (x[1] - 0.35) ** 2)),
    "twin2": (2, lambda x: bell(x, (0.25, 0.3), 0.15) + 0.8 * bell(x, (0.75, 0.7), 0.2)),
    "wave2": (2, lambda x: float(np.sin(5.0 * x[0] + 2.0 * x[1]) + 0.5 * np.cos(6.0 * x[1]))),
    "cube3": (3, lambda x: bell(x, (0.4, 0.6, 0.5), 0.3) + 0.3 * float(x[2])),
}


def play(name: str, seed: int, share: float, confirm: int) -> dict[str, float]:
    """One run; what `measure` does in a round does not depend on confirm."""
    d, f = FUNCTIONS[name]
    values = [f(x) for x in qmc.Sobol(d, scramble=False).random_base2(12)]
    top, span = max(values), max(values) - min(values)
    rng, n_left = np.random.default_rng(seed), N_LIES

    def measure(x: np.ndarray) -> float:
        nonlocal n_left
        is_lie, noise = rng.random() < share and n_left > 0, rng.standard_normal()
        n_left -= is_lie
        return top + 0.5 * span if is_lie else f(x) + NOISE * span * noise

    result = ub.maximize(measure, [(0.0, 1.0)] * d, ROUNDS, seed=seed, confirm=confirm, progress=False)
    there = f(result.x)
    found = {"regret": (top - there) / span, "inside": 1.0}
    for k in (N_LIES, 0) if share == 0.0 else (N_LIES,):  # true numbers
        interval = result.worst_case(k)
        found["inside"] *= interval is not None and interval[0] <= there <= interval[1]
        found[str(k)] = np.nan if interval is None else (interval[1] - interval[0]) / span
    return found


HEADS = (
    "lies", "confirm", "regret: mean, worst", "width for no lies: median, mean",
    "width for 3 lies: median, mean", "f(x) inside",
)  # fmt: skip


def main(first: int = 1000, n: int = 4) -> None:
    print("| " + " | ".join(HEADS) + " |")
    print("|---" * len(HEADS) + "|")
    for share in SHARES:
        for confirm in CONFIRM:
            games = [(name, seed) for name in FUNCTIONS for seed in range(first, first + n)]
            runs = [play(*game, share, confirm) for game in games]
            regret = [run["regret"] for run in runs]
            cells = ["none" if share == 0.0 else "3 at most", f"{confirm}"]
            cells.append(f"{np.mean(regret):.3f}, {max(regret):.3f}")
            for k in (0, N_LIES):
                width = [run[str(k)] for run in runs if str(k) in run]
                cells.append(f"{np.nanmedian(width):.2f}, {np.nanmean(width):.2f}" if width else "–")
            cells.append(f"{sum(run['inside'] for run in runs):.0f} of {len(runs)}")
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        main(*map(int, sys.argv[1:]))
