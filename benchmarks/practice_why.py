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

from benchmarks.practice import played, start_worker
from benchmarks.practice_botorch import choice
from benchmarks.practice_claims import percent
from benchmarks.practice_games import Games
from benchmarks.practice_players import ours
from benchmarks.practice_protocols import PROTOCOLS
from benchmarks.practice_table import table
from benchmarks.practice_world import Game


@cache
def regrets(function: str, kind: str, seed: int) -> tuple[float, float, float]:
    """Of the recommended point, of BoTorch's choice after the honest readings, of the best of these."""
    game = Game(function, kind, seed)
    found = game.regret(ours(game)["x"])
    is_honest = ~np.isin(np.arange(1, game.T + 1), game.lied)
    X, y = np.array(game.X)[is_honest], np.array(game.y)[is_honest]
    return found, game.regret(choice(game, X, y)), min(map(game.regret, X))


def lost(games: Games) -> Iterator[tuple[str, str, str, float, list[int]]]:
    """Cells in which a claim does not hold: which one, function, kind, the limit, the seeds."""
    for function in games.functions:
        for kind in games.kinds:
            is_attacked = kind in games.lies
            limits = {"lies": games.bar(function)} if is_attacked else {}
            for rival in ("BoTorch", "relevance-pursuit"):
                limits[rival] = games.regret(rival, function, kind, "maximize")
            if not is_attacked:
                limits["BoTorch"] *= 1.5
            for claim, limit in limits.items():
                rival = "maximize" if claim == "lies" else claim
                if games.regret("maximize", function, kind, rival) > limit:
                    yield claim, function, kind, limit, sorted(games.seeds(rival, function, kind))


def main() -> None:
    """Play the lost games again and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.practice_why", description=__doc__)
    parser.add_argument("--seeds", type=int, default=20, help="how many")
    parser.add_argument("--protocol", choices=(*PROTOCOLS,), default="first")
    words = parser.parse_args()
    start_worker()
    games = Games([g for g in played(PROTOCOLS[words.protocol]) if g["seed"] < words.seeds])
    rows = []
    for claim, function, kind, limit, seeds in lost(games):
        again = [regrets(function, kind, seed) for seed in seeds]
        before = {game["seed"]: game["regret"] for game in games.of("maximize", function, kind)}
        for seed, (found, _, _) in zip(seeds, again, strict=True):
            if found != before[seed]:
                print(
                    f"{function} {kind} {seed}: {found} instead of {before[seed]}: other code or machine"
                )
        median, plain, best = map(statistics.median, zip(*again, strict=True))
        reason = (
            "not found" if best > limit else "not recognised" if plain <= limit else "not told apart"
        )
        rows.append((claim, f"{function} {kind}", *map(percent, (limit, median, plain, best)), reason))
        print(*rows[-1], flush=True)
    what = ("limit", "recommended", "BoTorch's choice after the honest readings", "best read honestly")
    print(f"\n{table(('claim', 'lost', *what, 'reason'), rows)}")


if __name__ == "__main__":
    main()
