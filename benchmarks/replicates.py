"""Three readings of each point, one a lie at every third point: is the answer as good as without?

    python -m benchmarks.replicates

Protocol, written before the first run. Twenty functions of two parameters, one for each seed: three
Gaussian bumps with centres in [0.1, 0.9]^2, heights in [0.5, 1] and widths in [0.1, 0.35], all uniform.
Noise: 1 % of the range. A game is `ub.Study` with nothing else said, 16 points, told three readings
each. At points 3, 6, 9, 12 and 15 one of the three, at random, is a lie: off by 0.5 to 1 of the range,
up or down. Noise and lies of a seed are the same in all arms:

* clean: three readings told one by one, no lies;
* lied to: the same with the lies;
* mean: the mean of the same three readings, lies included, told as one, as laboratories do.

Added after the first run, since no threshold above says what chance alone does:

* clean again: as clean, with other noise.

Score: simple regret of the recommended point, in % of the range. The claim, "as good as without lies",
holds if the mean with lies is at most the mean without plus 1 %, and in at least 16 of 20 games the
regret with lies is at most that without plus 1 %. Also: lies found, and honest readings accused.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

import unbribable as ub
from unbribable.model.checks import Floats

SEEDS, N_POINTS, N_READINGS, EACH = 20, 16, 3, 3
ARMS = ("clean", "lied to", "mean", "clean again")


@dataclass(frozen=True)
class Bumps:
    """The function of a seed."""

    centres: Floats
    heights: Floats
    widths: Floats
    top: float
    spread: float

    @classmethod
    def of(cls, seed: int) -> "Bumps":
        """With its maximum, found from every centre, and its range."""
        rng = np.random.default_rng([seed, 1])
        centres, heights = rng.uniform(0.1, 0.9, (3, 2)), rng.uniform(0.5, 1.0, 3)
        raw = cls(centres, heights, rng.uniform(0.1, 0.35, 3), 0.0, 0.0)
        bounds = [(0.0, 1.0)] * 2
        ends = [minimize(lambda x: -raw(x), start, bounds=bounds).fun for start in centres]
        values = [raw(x) for x in rng.random((4000, 2))]
        top = max(-min(ends), *values)
        return cls(raw.centres, raw.heights, raw.widths, top, top - min(values))

    def __call__(self, x: Floats) -> float:
        r2 = ((x - self.centres) ** 2).sum(axis=1)
        return float(self.heights @ np.exp(-0.5 * r2 / self.widths**2))


@dataclass(frozen=True)
class Outcome:
    """What a game came to."""

    regret: float
    """Of the recommended point, in % of the range."""
    n_found: int
    """Lies that were flagged."""
    n_accused: int
    """Honest readings that were."""


def game(seed: int, arm: str) -> Outcome:
    """One game."""
    f, rng = Bumps.of(seed), np.random.default_rng([seed, 3 if arm == "clean again" else 2])
    study, lies = ub.Study([(0.0, 1.0)] * 2, seed=seed), set[int]()
    for k in range(1, N_POINTS + 1):
        query = study.ask(replicates=N_READINGS)
        y = f(query.x) + 0.01 * f.spread * rng.standard_normal(N_READINGS)
        which, off = rng.integers(N_READINGS), rng.uniform(0.5, 1.0) * rng.choice([-1.0, 1.0])
        if k % EACH == 0 and not arm.startswith("clean"):
            y[which] += off * f.spread
            first = study.trials[-1].t + 1 if study.trials else 1
            lies.add(first + (0 if arm == "mean" else int(which)))
        study.tell(query, float(y.mean()) if arm == "mean" else y)
    flagged = {each.t for each in study.suspects(flagged_only=True)}
    regret = 100.0 * (f.top - f(study.recommend().x)) / f.spread
    return Outcome(regret, len(flagged & lies), len(flagged - lies))


def main(say: Callable[[str], None] = print) -> None:
    """All games, and whether the claim holds."""
    games = {arm: [game(seed, arm) for seed in range(SEEDS)] for arm in ARMS}
    regrets = {arm: np.array([each.regret for each in games[arm]]) for arm in ARMS}
    for arm in ARMS:
        values, found = regrets[arm], sum(each.n_found for each in games[arm])
        n_lies = 0 if arm.startswith("clean") else SEEDS * (N_POINTS // EACH)
        accused = sum(each.n_accused for each in games[arm])
        say(
            f"{arm:11s} regret mean {values.mean():.2f} %, median {np.median(values):.2f} %, worst "
            f"{values.max():.2f} %; lies found {found} of {n_lies}; honest accused {accused}"
        )
    clean, lied = regrets["clean"], regrets["lied to"]
    n, by_chance = (int((each <= clean + 1.0).sum()) for each in (lied, regrets["clean again"]))
    holds = lied.mean() <= clean.mean() + 1.0 and n >= 16
    say(
        f"lied to is at most 1 % worse than clean in {n} of {SEEDS} games, clean again in {by_chance}: "
        f"the claim {'holds' if holds else 'fails'}"
    )


if __name__ == "__main__":
    main()
