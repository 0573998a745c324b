"""How close the choice on a box comes to the best of a million points, for every player.

Run as `python -m benchmarks.acquisition [--quick]`. A game of t rounds is played, told at the point
asked for; then what each player of the next round has found is compared with the best of 10^6 points
of a regular grid (10^4 with --quick). A gap is relative to that best value; a negative one means
that the search found a better point than the grid has. Beside it: the gap of the best candidate, which
is where a player would go without a search.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

import unbribable as ub
from unbribable.decision.algorithm import Algorithm
from unbribable.decision.asking.rule import Play, Surface
from unbribable.decision.asking.search import surface
from unbribable.model.checks import Floats

ASSUMED = ub.Assumptions(ub.Matern(2.5, 0.25), B=3.0, B0=1.5, noise_std=0.05, lam=0.05)
LEARNERS: dict[str, Callable[[ub.Box], Algorithm]] = {
    "GPUCB": lambda box: ub.GPUCB(box, ASSUMED),
    "RobustGPUCB": lambda box: ub.RobustGPUCB(box, ASSUMED, C=3.0),
    "FastSlowGPUCB": lambda box: ub.FastSlowGPUCB(box, ASSUMED, C=4.0, seed=1),
    "LayeredGPUCB": lambda box: ub.LayeredGPUCB(box, ASSUMED, T=200, seed=1),
}
TARGET = 1e-3
"""Largest gap allowed."""


def wavy(u: Floats) -> float:
    """A function on the unit cube with several peaks."""
    return float(np.sin(5.0 * u).mean() + 0.3 * np.cos(11.0 * u[0]))


def play(algorithm: Algorithm, n_rounds: int) -> float:
    """Rounds until there are n_rounds of them; returns the seconds that an ask took on average."""
    spent, n_before = 0.0, algorithm.t
    while algorithm.t < n_rounds:
        start = time.perf_counter()
        query = algorithm.ask()
        spent += time.perf_counter() - start
        noise = 0.05 * np.random.default_rng([1, query.t]).standard_normal()
        algorithm.tell(query, wavy(query.u) + noise)
    return spent / max(1, n_rounds - n_before)


def best_of(rule: Surface, d: int, n: int) -> float:
    """The largest value of the rule on a regular grid of about n points of the unit cube."""
    side = round(n ** (1.0 / d))
    axis = np.linspace(0.0, 1.0, side)
    best = -np.inf
    for start in range(0, side**d, 20_000):
        places = np.unravel_index(np.arange(start, min(start + 20_000, side**d)), (side,) * d)
        best = max(best, float(rule.values(np.stack([axis[k] for k in places], axis=1)).max()))
    return best


def gaps(algorithm: Algorithm, d: int, n: int) -> list[tuple[Play, float, float]]:
    """Each player's atom somebody learns from, its gap, and that of the best candidate."""
    found = []
    choice = algorithm._next_round(algorithm.t + 1)
    for k, atom in enumerate(choice.plays):
        if atom.learner is not None:
            best, chosen = best_of(surface(atom.rule, choice), d, n), choice.final(k)
            scale = max(abs(best), np.finfo(float).tiny)
            found.append((chosen, (best - chosen.ucb) / scale, (best - atom.ucb) / scale))
    return found


def table(rows: list[tuple[str, ...]]) -> str:
    """A Markdown table."""
    header = ("learner", "player", "d", "t", "m", "gap", "of the candidate", "search", "an ask")
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> None:
    """All learners in one, two and three dimensions, after 50 and 200 rounds; prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="10^4 points, 50 rounds only")
    is_quick = parser.parse_args().quick
    n, rounds = (10_000, (50,)) if is_quick else (1_000_000, (50, 200))
    rows, worst = [], -np.inf
    with threadpool_limits(1):
        for name, new in LEARNERS.items():
            for d in (1, 2, 3):
                algorithm = new(ub.Box([0.0] * d, [1.0] * d))
                for t in rounds:
                    seconds = play(algorithm, t)
                    for atom, gap, before in gaps(algorithm, d, n):
                        player = atom.rule.player
                        what = "moved" if atom.u is not None else "stayed"
                        numbers = (f"{player.posterior.m}", f"{gap:.1e}", f"{before:.1e}", what)
                        rows.append((name, player.label, f"{d}", f"{t}", *numbers, f"{seconds:.3f} s"))
                        worst = max(worst, gap)
                        print(" ".join(rows[-1]), flush=True)
    print(f"\n## The choice on a box against the best of {n:_} points\n")
    print(table(rows))
    print(f"\nLargest gap {worst:.1e}; at most {TARGET:g}: {'met' if worst <= TARGET else 'NOT met'}.")


if __name__ == "__main__":
    main()
