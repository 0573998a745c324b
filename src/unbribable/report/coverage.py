"""Games to how often the bounds held, and how often corruption was found. Draws nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta

from unbribable.report.games import Cell, Collection, Game

LEVEL = 0.95
"""Of the intervals of shares."""


@dataclass(frozen=True)
class Share:
    """k of n, with the Clopper-Pearson interval of the probability behind it."""

    k: int
    n: int
    low: float
    high: float

    @property
    def value(self) -> float:
        """k / n."""
        return self.k / self.n


@dataclass(frozen=True)
class Coverage:
    """In how many games the truth stayed inside an instance's bounds, everywhere and all the time."""

    cell: Cell
    instance: str
    share: Share
    is_promised: bool
    """Whether the instance's assumptions held in all the games, so that its bounds had to hold."""
    delta: float | None
    """Probability with which the learner's promise may fail."""


@dataclass(frozen=True)
class Detection:
    """In how many games corruption was detected; a false alarm where there was none."""

    cell: Cell
    share: Share
    median_round: float | None
    """Over the games with a detection."""


def share(k: int, n: int, level: float = LEVEL) -> Share:
    """k of n with its Clopper-Pearson interval: exact, at least `level`.

    low = the (1 - level)/2 quantile of Beta(k, n - k + 1), high = the other one of
    Beta(k + 1, n - k); 0 and 1 at the ends.
    """
    if not 0 <= k <= n or n < 1:
        raise ValueError(f"k must be 0..n with n >= 1, got k={k}, n={n}")
    tail = (1.0 - level) / 2.0
    low = float(beta.ppf(tail, k, n - k + 1)) if k else 0.0
    high = float(beta.ppf(1.0 - tail, k + 1, n - k)) if k < n else 1.0
    return Share(k, n, low, high)


def coverage(cell: Cell, games: Sequence[Game]) -> list[Coverage]:
    """One row an instance, over the games in which it claimed bounds."""
    claims: dict[str, list[Game]] = {}
    for game in games:
        for label in game.covered:
            claims.setdefault(label, []).append(game)
    return [
        Coverage(
            cell=cell,
            instance=label,
            share=share(sum(game.covered[label] for game in claiming), len(claiming)),
            is_promised=all(game.is_promised[label] for game in claiming),
            delta=claiming[0].delta,
        )
        for label, claiming in claims.items()
    ]


def detection(cell: Cell, games: Sequence[Game]) -> Detection | None:
    """None for a learner that does not look for corruption (it has no fast instance)."""
    if "fast" not in games[0].instances:
        return None
    rounds = [game.detected for game in games if game.detected is not None]
    median = float(np.median(rounds)) if rounds else None
    return Detection(cell, share(len(rounds), len(games)), median)


def coverages(collection: Collection) -> list[Coverage]:
    """Every instance of every cell."""
    return [row for cell, games in collection.cells.items() for row in coverage(cell, games)]


def detections(collection: Collection) -> list[Detection]:
    """Every cell of a learner that looks for corruption."""
    found = (detection(cell, games) for cell, games in collection.cells.items())
    return [row for row in found if row is not None]
