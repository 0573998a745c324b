"""Whole optimisations while some readings are lies: `maximize` against BoTorch and Optuna.

Run as `python -m benchmarks.practice` (what is missing of the first score, then the tables), as
`python -m benchmarks.practice table` (the tables alone, and the figure in docs/images), with `--tune`
(the functions for tuning, whose games are not kept with the others), or with `--protocol second`.

Every finished game is one line of a file, one for each player, and a game that is there already is not
played again, so a run that is stopped loses the games under way and no more. A game of ours is played
again when our code has changed, a game of a rival when its library has.

The protocols, benchmarks/practice/first.md and second.md, were written before the first games.
"""

import argparse
import json
import logging
import multiprocessing
import os
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.practice_figure import medians
from benchmarks.practice_games import Games
from benchmarks.practice_players import PLAYERS, made_by
from benchmarks.practice_protocols import FIRST_SEED, PROTOCOLS, ROOT, Job, Protocol
from benchmarks.practice_table import page
from benchmarks.practice_world import Game
from unbribable.say.figures.drawing import DPI


def start_worker() -> None:
    """One thread per process, and quiet about what is known."""
    threadpool_limits(1)
    warnings.simplefilter("ignore")
    for name in ("optuna._gp.batched_lbfgsb", "botorch"):
        logging.getLogger(name).setLevel(logging.ERROR)


def play(job: Job, version: int) -> dict[str, Any]:
    """One game, as it is stored."""
    function, kind, seed, player = job
    game = Game(function, kind, seed)
    start = time.process_time()
    found = PLAYERS[player](game)
    seconds = time.process_time() - start
    assert game.t == game.T
    x = np.asarray(found.pop("x"), dtype=float)
    if "flagged" in found:
        there = [t for t, read in enumerate(game.X, 1) if np.array_equal(read, x)]
        found["is_only_flagged"] = bool(there) and {*there} <= {*found["flagged"]}
    return {
        "function": function,
        "kind": kind,
        "seed": seed,
        "player": player,
        "regret": game.regret(x),
        "value": game.f(x),
        **found,
        "seconds": round(seconds, 3),
        "T": game.T,
        "lied": game.lied,
        "protocol": version,
        "by": made_by(player),
    }


def load(folder: Path, version: int) -> dict[Job, dict[str, Any]]:
    """The last game of each job in its files; a line cut short by an interruption does not count."""
    games: dict[Job, dict[str, Any]] = {}
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_text().splitlines():
            try:
                game = json.loads(line)
            except json.JSONDecodeError:
                continue
            if game["protocol"] == version:
                games[game["function"], game["kind"], game["seed"], game["player"]] = game
    return games


def store(folder: Path, game: dict[str, Any]) -> None:
    """Append a game to the file of its player."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{game['player']}.jsonl"
    is_cut = file.exists() and file.read_bytes()[-1:] not in (b"", b"\n")
    with file.open("a") as stream:
        stream.write("\n" * is_cut + json.dumps(game) + "\n")


def play_all(jobs: list[Job], version: int, folder: Path, n_workers: int) -> int:
    """Play the games and store each; how many failed."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # for the workers, which are not started yet
    context = multiprocessing.get_context("spawn")
    start, n_failed = time.perf_counter(), 0
    with ProcessPoolExecutor(n_workers, mp_context=context, initializer=start_worker) as pool:
        futures = {pool.submit(play, job, version): job for job in jobs}
        try:
            for i, future in enumerate(as_completed(futures), 1):
                label = f"[{i}/{len(jobs)}, {time.perf_counter() - start:.0f} s] {futures[future]}"
                if (error := future.exception()) is not None:
                    n_failed += 1
                    print(f"{label}: FAILED, {error!r}", flush=True)
                    continue
                game = future.result()
                store(folder, game)
                print(f"{label}: {game['regret']:.4f}, {game['seconds']:.1f} s", flush=True)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return n_failed


def arguments() -> argparse.Namespace:
    """From the command line, checked."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.practice",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("action", nargs="?", choices=("play", "table"), default="play")
    parser.add_argument("--protocol", choices=(*PROTOCOLS,), default="first")
    parser.add_argument("--tune", action="store_true", help="the functions and seeds for tuning")
    parser.add_argument("--seeds", type=int, default=20, help="how many")
    parser.add_argument("--functions", help="separated by commas; all of the protocol if left out")
    parser.add_argument("--kinds", help="separated by commas; all of the protocol if left out")
    parser.add_argument("--players", default=",".join(PLAYERS))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="results, a line a game")
    words = parser.parse_args()
    protocol = PROTOCOLS[words.protocol]
    functions = protocol.tuned if words.tune else protocol.scored
    words.functions = words.functions or ",".join(functions)
    words.kinds = words.kinds or ",".join(protocol.kinds)
    words.folder = words.folder or (ROOT / "results" / "practice" if words.tune else protocol.folder)
    for name, known in (("functions", functions), ("kinds", protocol.kinds), ("players", PLAYERS)):
        asked = getattr(words, name).split(",")
        if unknown := [each for each in asked if each not in known]:
            parser.error(f"{name} must be among {', '.join(known)}, got {', '.join(unknown)}")
        setattr(words, name, asked)
    return words


def played(protocol: Protocol) -> list[dict[str, Any]]:
    """All games of a score that are stored."""
    return [*load(protocol.folder, protocol.version).values()]


def main() -> None:
    """Play what is missing, seed by seed, then print the tables."""
    words = arguments()
    protocol = PROTOCOLS[words.protocol]
    first = FIRST_SEED["tune" if words.tune else "score"]
    seeds = range(first, first + words.seeds)
    jobs = list(protocol.jobs(words.functions, words.kinds, words.players, seeds))
    n_failed = 0
    if words.action == "play":
        done = load(words.folder, protocol.version)
        missing = [job for job in jobs if job not in done or done[job]["by"] != made_by(job[3])]
        print(f"{len(jobs)} games, {len(jobs) - len(missing)} of them played already", flush=True)
        if missing:
            n_failed = play_all(missing, protocol.version, words.folder, words.workers)
    done = load(words.folder, protocol.version)
    games = Games([done[job] for job in jobs if job in done])
    print(page(games, protocol.claims(games)))
    if words.action == "table" and games.games and not words.tune:
        file = ROOT / "docs" / "images" / protocol.figure
        medians(games).savefig(file, dpi=DPI, metadata={"Software": None})
    if n_failed:
        sys.exit(f"{n_failed} games failed; run again to play them")


if __name__ == "__main__":
    main()
