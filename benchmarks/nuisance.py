"""What a drift and blocks cost a run that is told of them, and one that is not.

Run as `python -m benchmarks.nuisance` (the table) or `python -m benchmarks.nuisance --tune` (the other
set). Rows go into benchmarks/nuisance.csv (`--out`) as they come; what it holds is not played again.

Protocol, written before the first game of the score:

* Functions on the unit square and the unit cube, three of our own for the score and four others for
  tuning; seeds 100 to 119 for the score, 0 to 3 for tuning. Whatever is chosen in the library (the prior
  standard deviations of offsets and drift, how many of them a guarantee has room for) is chosen on the
  tuning set.
* 60 rounds of a `Study` with everything fitted; Gaussian noise of 2 % of the function's range. The seed
  decides design and noise, and they are the same in all arms.
* Arms. `clean`: nothing besides. `drift`: a straight line from -15 % to +15 % of the range over the 60
  rounds, downwards for even seeds. `blocks`: five days of 12 rounds, with offsets of -25, -12.5, 0, 12.5
  and 25 % of the range in an order that the seed draws. `told`: the study is given drift=True, or the
  day with every reading; `untold`: it is not (seeds 100 to 109 alone).
* The same three arms with 6 of the 60 readings off by half the range, up or down, told (seeds 100 to
  109 alone).
* Regret: the maximum less f at the recommended point, in % of the range; offsets and drift are zero on
  average, so f itself is what an answer is about. The claim: the mean over the seeds of a function is
  at most twice that of `clean`, for `drift told` and for `blocks told`. Besides: how often the printed
  worst case does not hold f at the recommended point, how often an estimated offset of a reading is off
  by more than the guarantee supposes, and the width of the worst case, in % of the range.
* Other people's optimizers are not played: what they would need is a model of the same kind.

Changed while it was played:

* After seeds 100 to 107 the offsets were counted from the mean over the readings in place of that over
  the blocks, and the guarantee got room for each correction by itself, three standard deviations in
  place of twice the largest one: by tests and games of other functions, no game of the score was looked
  at for it. `blocks told` was played again from the first seed. A game with a drift is asked the same
  points and recommends the same one with both rules; of those already played only the regret counts, and
  what is said of their guarantee is missing ("nan" in the file).
* Games were stopped when the time was up. They are in the order above: seed by seed, the claim first.
"""

import argparse
import csv
import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

import unbribable as ub
from unbribable.model.checks import Floats

OUT = Path(__file__).parent / "nuisance.csv"
T, N_DAYS = 60, 5
NOISE, DRIFT, OFFSETS, LIE = 0.02, 0.3, (-0.25, -0.125, 0.0, 0.125, 0.25), 0.5
SEEDS = {"score": range(100, 120), "tune": range(4)}


def ridge(x: Floats) -> float:
    return float(np.sin(4 * x[0] + 1) * np.cos(2 * x[1]) + 0.5 * x[1])


def bowl(x: Floats) -> float:
    a, b = x[0] - 0.3, x[1] - 0.6
    return -float(a * a + 2 * b * b + 0.5 * a * b)


def bumps(x: Floats) -> float:
    first = np.exp(-((x[0] - 0.2) ** 2 + (x[1] - 0.7) ** 2) / 0.02)
    return float(first + 0.7 * np.exp(-((x[0] - 0.75) ** 2 + (x[1] - 0.25) ** 2) / 0.05))


def waves(x: Floats) -> float:
    return float(np.sin(3 * x[0]) + 0.7 * np.cos(5 * x[1]) + np.exp(-((x[2] - 0.4) ** 2) / 0.05))


def hills(x: Floats) -> float:
    wide = 0.8 * np.exp(-((x[0] - 0.25) ** 2 + (x[1] - 0.3) ** 2) / 0.15)
    return float(wide + np.exp(-((x[0] - 0.8) ** 2 + 2 * (x[1] - 0.65) ** 2) / 0.06))


def valley(x: Floats) -> float:
    return -float(np.log1p(20 * (x[1] - 0.2 - 0.8 * (x[0] - 0.4) ** 2) ** 2 + (x[0] - 0.65) ** 2))


def step(x: Floats) -> float:
    rise = np.tanh(4 * (x[0] + 0.5 * x[1] - 0.7))
    return float(rise - 1.5 * (x[0] - 0.6) ** 2 - (x[2] - 0.35) ** 2 - 0.5 * x[1] * x[2])


FUNCTIONS: dict[str, dict[str, tuple[Callable[[Floats], float], int]]] = {
    "score": {"hills": (hills, 2), "valley": (valley, 2), "step": (step, 3)},
    "tune": {"ridge": (ridge, 2), "bowl": (bowl, 2), "bumps": (bumps, 2), "waves": (waves, 3)},
}


@dataclass(frozen=True)
class Game:
    """What is played, and how."""

    set: str
    function: str
    seed: int
    kind: str
    """ "clean", "drift" or "blocks"."""
    is_told: bool
    n_lies: int = 0


@dataclass(frozen=True)
class Row(Game):
    """What came of it, in % of the range."""

    regret: float = 0.0
    width: float = 0.0
    is_missed: bool = False
    """Whether f is outside the worst case."""
    off: float = 0.0
    """By how much the estimate of an offset is off, the worst one measured by what is supposed."""
    within: float = 0.0
    """What the guarantee supposes of that one."""


@cache
def ends(which: str, name: str) -> tuple[float, float]:
    """Minimum and maximum of a function: of a grid, and climbed from its best ten points."""
    f, d = FUNCTIONS[which][name]
    axis = np.linspace(0.0, 1.0, 101 if d == 2 else 31)
    points = np.stack(np.meshgrid(*[axis] * d, indexing="ij"), axis=-1).reshape(-1, d)
    values = np.array([f(x) for x in points])
    found = []
    for sign in (1.0, -1.0):
        starts = points[np.argsort(sign * values)[:10]]
        ended = [minimize(lambda x, s=sign: s * f(x), x, bounds=[(0, 1)] * d).fun for x in starts]
        found.append(sign * min(ended))
    return float(found[0]), float(found[1])


def play(game: Game) -> Row:
    """A run of T rounds."""
    f, d = FUNCTIONS[game.set][game.function]
    low, high = ends(game.set, game.function)
    scale, t = high - low, np.arange(T)
    rng = np.random.default_rng([game.seed, 7])
    noise, days = NOISE * rng.standard_normal(T), rng.permutation(OFFSETS)
    lies = np.zeros(T)
    lies[rng.choice(T, 6, replace=False)] = LIE * rng.choice([-1.0, 1.0], 6)
    shared = np.zeros(T)
    if game.kind == "drift":
        shared = DRIFT * (t / (T - 1) - 0.5) * (1.0 if game.seed % 2 else -1.0)
    elif game.kind == "blocks":
        shared = days[t * N_DAYS // T]
    has_drift = game.is_told and game.kind == "drift"
    study = ub.Study([(0.0, 1.0)] * d, n_rounds=T, seed=game.seed, drift=has_drift)
    for k in range(T):
        query = study.ask()
        y = f(query.x) + scale * float(noise[k] + shared[k] + (lies[k] if game.n_lies else 0.0))
        label = f"day {k * N_DAYS // T}" if game.is_told and game.kind == "blocks" else None
        study.tell(query, y, block=label)
    best, engine = study.recommend(), study.engine
    value = f(best.x)
    lower, upper = best.interval
    off = within = 0.0
    if engine.is_corrected:
        found = np.array(
            [told.y - each.y for told, each in zip(engine.told, engine.corrected, strict=True)]
        )
        worst = int(np.argmax(np.abs(found / scale - shared) / engine.within))
        off, within = abs(found / scale - shared)[worst], engine.within[worst] / scale
    return Row(
        **asdict(game),
        regret=100.0 * (high - value) / scale,
        width=100.0 * (upper - lower) / scale,
        is_missed=not lower <= value <= upper,
        off=100.0 * off,
        within=100.0 * within,
    )


def games(which: str) -> Iterator[Game]:
    """All that is to be played, the claim first."""
    few = SEEDS[which][:10]
    for n_lies, seeds in ((0, SEEDS[which]), (6, few)):
        for seed in seeds:
            for name in FUNCTIONS[which]:
                for kind in ("clean", "drift", "blocks"):
                    yield Game(which, name, seed, kind, kind != "clean", n_lies)
        if not n_lies:
            for seed in few:
                for name in FUNCTIONS[which]:
                    for kind in ("drift", "blocks"):
                        yield Game(which, name, seed, kind, False)


def read(path: Path) -> list[Row]:
    """The rows that there are."""
    if not path.exists():
        return []
    kinds = {each.name: each.type for each in fields(Row)}
    as_value = {int: int, float: float, str: str, bool: lambda text: text == "True"}
    with path.open(newline="") as file:
        return [
            Row(**{k: as_value[kinds[k]](v) for k, v in row.items()}) for row in csv.DictReader(file)
        ]  # type: ignore[index]


def table(rows: list[Row]) -> str:
    """An arm in each line."""
    lines = [
        "| lies | function | arm | games | regret, mean | of clean | median | worst case missed "
        "| width | correction off by more than supposed |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    names = [*dict.fromkeys(row.function for row in rows), "all"]
    for n_lies in sorted({row.n_lies for row in rows}):
        for name in names:
            own = [r for r in rows if r.n_lies == n_lies and name in (r.function, "all")]
            clean = [r.regret for r in own if r.kind == "clean"]
            for kind, is_told in dict.fromkeys((r.kind, r.is_told) for r in own):
                arm = [r for r in own if (r.kind, r.is_told) == (kind, is_told)]
                regret = [r.regret for r in arm]
                word = kind if kind == "clean" else f"{kind} {'told' if is_told else 'untold'}"
                stated = [r for r in arm if not math.isnan(r.width)]
                worse = sum(r.off > r.within for r in stated)
                width = f"{np.median([r.width for r in stated]):.0f}" if stated else ""
                missed = f"{sum(r.is_missed for r in stated)} of {len(stated)}"
                lines.append(
                    f"| {n_lies} | {name} | {word} | {len(arm)} | {np.mean(regret):.2f} | "
                    f"{np.mean(regret) / np.mean(clean):.2f} | {np.median(regret):.2f} | "
                    f"{missed} | {width} | {f'{worse}' if kind != 'clean' and is_told else ''} |"
                )
    return "\n".join(lines)


def main() -> None:
    """Play what is missing and print the table; or print it of the games there are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tune", action="store_true", help="the other functions and seeds")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--table", action="store_true", help="play nothing")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    said = parser.parse_args()
    which = "tune" if said.tune else "score"
    names = [each.name for each in fields(Game)]
    rows = [row for row in read(said.out) if row.set == which]
    there = {tuple(getattr(row, name) for name in names) for row in rows}
    left = [game for game in games(which) if tuple(asdict(game).values()) not in there]
    left = [] if said.table else left
    is_new = not said.out.exists()
    with said.out.open("a", newline="") as file, ProcessPoolExecutor(said.workers) as pool:
        writer = csv.DictWriter(file, [each.name for each in fields(Row)])
        if is_new:
            writer.writeheader()
        for row in pool.map(play, left):
            rows.append(row)
            writer.writerow(asdict(row))
            file.flush()
    print(table(rows))


if __name__ == "__main__":
    main()
