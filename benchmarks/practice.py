"""Whole optimisations while some readings are lies: `maximize` against BoTorch and Optuna.

Run as `python -m benchmarks.practice` (what is missing of the score, then the tables), as
`python -m benchmarks.practice table` (the tables alone, and the figure in docs/images) or with `--tune`
(the other set). Every finished game is one line of the results file, and a game that is there already
is not played again, so a run that is stopped loses the games under way and no more. A game of ours is
played again when our code has changed, a game of a rival when its library has.

Protocol, written before the first game of the score was played:

* Functions: eight for the score, from one to six coordinates, and six others for tuning; seeds 0 to 19
  for the score, 1000 and above for tuning. Nothing in the library may be chosen by looking at a game of
  the score. A cell is a function and a kind of lie.
* 40 rounds with one or two coordinates, 60 with more. Gaussian noise, standard deviation 1 % of the
  function's range (smallest to largest value).
* Kinds of lies. *stuck*: in a tenth of the rounds, drawn at random, one and the same value, drawn for
  each game between the smallest value and the largest plus half the range. *flipped*: in a tenth of the
  rounds the reading is reflected in the middle of the range. *random*: in a tenth of the rounds a value
  drawn from the range. *aimed*: of the readings in the best 3 % of the domain 30 % are the median of the
  function and noise instead, until 15 % of the rounds are lies; this liar sees the point. *burst*: a
  tenth of the rounds, in a row, are off by half the range, up or down. *drift*: 15 % of the rounds, in
  a row, are off by more and more, up to half the range, up or down; then the instrument is repaired.
  *none*: nobody lies. Nobody is told the kind, the share or the rounds. Whoever plays, noise and lies of
  a round depend on function, kind and seed alone.
* Players, all with default arguments: `maximize`; BoTorch (a Sobol design of its own, SingleTaskGP
  refitted every round, noisy expected improvement); the same loop with BoTorch's relevance pursuit;
  Optuna's GP and TPE samplers. Recommended: by ours what `maximize` returns, by BoTorch the point read
  with the best posterior mean, by Optuna the point of the best reading. If relevance pursuit takes too
  long for all seeds it plays the first ones, and is compared with ours on these.
* For the reasons of lost cells, and no part of the claims (added after the first five seeds): *told*,
  which is ours, told which readings are lies. It learns nothing from these rounds, and does not return
  to their points while there are others. What separates ours from it is the price of being misled; what
  separates it from the clean game is fewer readings, these points, and chance.
* Measured: regret of the recommended point, the true maximum less its true value, as a share of the
  range; processor time of a game on one thread; of ours also the share of honest readings accused and
  of lies found. Medians over the seeds.
* It holds if, with lies of each kind, our median regret is at most 2 times that without lies plus 1 % of
  the range in at least 4/5 of the cells; below BoTorch's in at least 9/10 and below relevance pursuit's
  in at least 2/3 of the cells with lies; without lies at most 1.5 times BoTorch's in at least 4/5 of the
  functions; at least 20 times less processor time than relevance pursuit; and at most 3 % of the honest
  readings of each kind are accused.
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

from threadpoolctl import threadpool_limits

from benchmarks.practice_figure import medians
from benchmarks.practice_players import PLAYERS, made_by
from benchmarks.practice_table import page
from benchmarks.practice_world import KINDS, SCORED, TUNED, Game
from unbribable.drawing import DPI

PROTOCOL = 2
"""To be raised when games of an older version of the protocol no longer count."""

HERE = Path(__file__).parent / "practice"
FIGURE = Path(__file__).parents[1] / "docs" / "images" / "practice.png"
FIRST_SEED = {"score": 0, "tune": 1000}

Job = tuple[str, str, int, str]
"""Function, kind, seed, player."""


def start_worker() -> None:
    """One thread per process, and quiet about what is known."""
    threadpool_limits(1)
    warnings.simplefilter("ignore")
    for name in ("optuna._gp.batched_lbfgsb", "botorch"):
        logging.getLogger(name).setLevel(logging.ERROR)


def play(job: Job) -> dict[str, Any]:
    """One game, as it is stored."""
    function, kind, seed, player = job
    game = Game(function, kind, seed)
    if player in ("BoTorch", "relevance-pursuit", "Optuna-GP"):
        import torch

        torch.set_num_threads(1)
    start = time.process_time()
    found = PLAYERS[player](game)
    seconds = time.process_time() - start
    assert game.t == game.T
    return {
        "function": function,
        "kind": kind,
        "seed": seed,
        "player": player,
        "regret": game.regret(found["x"]),
        "seconds": round(seconds, 3),
        "T": game.T,
        "lied": game.lied,
        "flagged": found.get("flagged"),
        "protocol": PROTOCOL,
        "by": made_by(player),
    }


def load(file: Path) -> dict[Job, dict[str, Any]]:
    """The last game of each job in the file; a line cut short by an interruption does not count."""
    games: dict[Job, dict[str, Any]] = {}
    for line in file.read_text().splitlines() if file.exists() else ():
        try:
            game = json.loads(line)
        except json.JSONDecodeError:
            continue
        if game["protocol"] == PROTOCOL:
            games[game["function"], game["kind"], game["seed"], game["player"]] = game
    return games


def play_all(jobs: list[Job], file: Path, n_workers: int) -> int:
    """Play the games and append each to the file; how many failed."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # for the workers, which are not started yet
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
                label = f"[{i}/{len(jobs)}, {time.perf_counter() - start:.0f} s] {futures[future]}"
                if (error := future.exception()) is not None:
                    n_failed += 1
                    print(f"{label}: FAILED, {error!r}", flush=True)
                    continue
                game = future.result()
                stream.write(json.dumps(game) + "\n")
                stream.flush()
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
    parser.add_argument("--tune", action="store_true", help="the functions and seeds for tuning")
    parser.add_argument("--seeds", type=int, default=20, help="how many")
    parser.add_argument("--functions", help="separated by commas; all if left out")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--players", default=",".join(PLAYERS))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--file", type=Path, default=HERE / "games.jsonl", help="results, a line a game")
    words = parser.parse_args()
    words.functions = words.functions or ",".join(TUNED if words.tune else SCORED)
    for name, known in (
        ("functions", TUNED if words.tune else SCORED),
        ("kinds", KINDS),
        ("players", PLAYERS),
    ):
        asked = getattr(words, name).split(",")
        if unknown := [each for each in asked if each not in known]:
            parser.error(f"{name} must be among {', '.join(known)}, got {', '.join(unknown)}")
        setattr(words, name, asked)
    return words


def main() -> None:
    """Play what is missing, seed by seed, then print the tables."""
    words = arguments()
    first = FIRST_SEED["tune" if words.tune else "score"]
    jobs = [
        (function, kind, seed, player)
        for seed in range(first, first + words.seeds)
        for player in words.players
        for function in words.functions
        for kind in words.kinds
    ]
    n_failed = 0
    if words.action == "play":
        done = load(words.file)
        missing = [job for job in jobs if job not in done or done[job]["by"] != made_by(job[3])]
        print(f"{len(jobs)} games, {len(jobs) - len(missing)} of them played already", flush=True)
        n_failed = play_all(missing, words.file, words.workers) if missing else 0
    done = load(words.file)
    games = [done[job] for job in jobs if job in done]
    print(page(games))
    if words.action == "table" and games and not words.tune:
        medians(games).savefig(FIGURE, dpi=DPI, metadata={"Software": None})
    if n_failed:
        sys.exit(f"{n_failed} games failed; run again to play them")


if __name__ == "__main__":
    main()
