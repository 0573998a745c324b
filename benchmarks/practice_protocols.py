"""The two protocols of `benchmarks.practice`: what is played by whom, and what is to hold.

In words they are benchmarks/practice/first.md and second.md, written before the first game of each.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.practice_claims import Claim, claims_of_first, claims_of_second
from benchmarks.practice_games import Games
from benchmarks.practice_second import SECOND, TRIED
from benchmarks.practice_world import HONEST, KINDS, SCORED, TUNED

ROOT = Path(__file__).parents[1]
FIRST_SEED = {"score": 0, "tune": 1000}
SLOW = "relevance-pursuit"
"""It plays the cells with lies alone, in an order drawn once, so that where it stops is no choice."""

Job = tuple[str, str, int, str]
"""Function, kind, seed, player."""


@dataclass(frozen=True)
class Protocol:
    """Functions, kinds of lies and claims of a score; players and measures are the same in all."""

    name: str
    version: int
    """Games of other versions do not count."""
    scored: tuple[str, ...]
    tuned: tuple[str, ...]
    kinds: tuple[str, ...]
    claims: Callable[[Games], list[Claim]]
    figure: str
    """File of the figure, in docs/images."""

    @property
    def folder(self) -> Path:
        """Where the games are, a file for each player."""
        return ROOT / "benchmarks" / "practice" / self.name

    def jobs(
        self, functions: list[str], kinds: list[str], players: list[str], seeds: range
    ) -> Iterator[Job]:
        """Seed by seed, so that whoever stops has played whole seeds."""
        cells = [(function, kind) for function in functions for kind in kinds]
        attacked = [cell for cell in cells if cell[1] not in HONEST]
        order = np.random.default_rng(0).permutation(len(attacked))
        for seed in seeds:
            for player in players:
                for function, kind in [attacked[i] for i in order] if player == SLOW else cells:
                    yield function, kind, seed, player


PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        Protocol("first", 2, (*SCORED,), (*TUNED,), KINDS[:7], claims_of_first, "practice.png"),
        Protocol(
            "second",
            1,
            (*SECOND,),
            (*TUNED, *TRIED),
            KINDS,
            claims_of_second,
            "practice_second.png",
        ),
    )
}
