"""Why cells of `benchmarks.practice` are lost: in the search, or in what is made of the readings.

Run as `python -m benchmarks.practice_why` after the games: it plays our games of the cells in which a
claim does not hold once more, and keeps what was read. Three regrets of the same games, medians over
the seeds: of the recommended point; of the point that BoTorch's plain model would choose among those
read honestly, given the honest readings alone; of the best of these points.

*not found*: even the best of them is above the limit. *not recognised*: the plain model with the honest
readings stays within the limit, so these would have sufficed. *not told apart*: a point within the
limit was read, and that model does not choose it either.
"""

import argparse
import statistics
from collections.abc import Iterator
from functools import cache

import numpy as np

from benchmarks.practice import HERE, load, start_worker
from benchmarks.practice_players import botorch_choice, ours
from benchmarks.practice_table import Games, percent, table
from benchmarks.practice_world import Game


class Watched(Game):
    """Holds changing state: a game that remembers its points and readings."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.X: list[np.ndarray] = []
        self.y: list[float] = []

    def read(self, x: object) -> float:
        """As in any game."""
        y = super().read(x)
        self.X.append(np.array(x, dtype=float))
        self.y.append(y)
        return y


@cache
def regrets(function: str, kind: str, seed: int) -> tuple[float, float, float]:
    """Of the recommended point, of BoTorch's choice after the honest readings, of the best of these."""
    game = Watched(function, kind, seed)
    found = game.regret(ours(game)["x"])
    is_honest = ~np.isin(np.arange(1, game.T + 1), game.lied)
    X, y = np.array(game.X)[is_honest], np.array(game.y)[is_honest]
    return found, game.regret(botorch_choice(game, X, y)), min(map(game.regret, X))


def lost(games: Games) -> Iterator[tuple[str, str, str, float, list[int]]]:
    """Cells in which a claim does not hold: which one, function, kind, the limit, the seeds."""
    for function in games.functions:
        for kind in games.kinds:
            limits = {"lies": games.bar(function)} if kind != "none" else {}
            for rival in ("BoTorch", "relevance-pursuit"):
                limits[rival] = games.regret(rival, function, kind, "maximize")
            if kind == "none":
                limits["BoTorch"] *= 1.5
            for claim, limit in limits.items():
                rival = "maximize" if claim == "lies" else claim
                if games.regret("maximize", function, kind, rival) > limit:
                    yield claim, function, kind, limit, sorted(games.seeds(rival, function, kind))


def main() -> None:
    """Play the lost games again and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.practice_why", description=__doc__)
    parser.add_argument("--seeds", type=int, default=20, help="how many")
    n_seeds = parser.parse_args().seeds
    start_worker()
    stored = load(HERE / "games.jsonl")
    rows = []
    for claim, *cell, limit, seeds in lost(Games([g for g in stored.values() if g["seed"] < n_seeds])):
        played = [regrets(*cell, seed) for seed in seeds]
        for seed, (found, _, _) in zip(seeds, played, strict=True):
            if found != (before := stored[*cell, seed, "maximize"]["regret"]):
                print(f"{' '.join(cell)} {seed}: {found} instead of {before}: another code or machine")
        median, plain, best = map(statistics.median, zip(*played, strict=True))
        reason = (
            "not found" if best > limit else "not recognised" if plain <= limit else "not told apart"
        )
        rows.append((claim, " ".join(cell), *map(percent, (limit, median, plain, best)), reason))
        print(*rows[-1], flush=True)
    what = ("limit", "recommended", "BoTorch's choice after the honest readings", "best read honestly")
    print(f"\n{table(('claim', 'lost', *what, 'reason'), rows)}")


if __name__ == "__main__":
    main()
