"""Medians over the games of `benchmarks.practice`, and what was said of readings and values in them."""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from benchmarks.practice_players import PLAYERS
from benchmarks.practice_world import FUNCTIONS, HONEST, KINDS

NAN = float("nan")
TIE = 0.001
"""Differences of regret up to that are ties where games are compared one by one."""


class Games:
    """Medians over the seeds of what was played.

    Args:
        games: As `benchmarks.practice` stores them.
    """

    def __init__(self, games: list[dict[str, Any]]) -> None:
        self.games = games
        self._of: dict[tuple[str, str, str], dict[int, dict[str, Any]]] = defaultdict(dict)
        for game in games:
            self._of[game["player"], game["function"], game["kind"]][game["seed"]] = game
        self.functions = [name for name in FUNCTIONS if any(g["function"] == name for g in games)]
        self.kinds = [kind for kind in KINDS if any(g["kind"] == kind for g in games)]
        self.players = [name for name in PLAYERS if any(g["player"] == name for g in games)]

    @property
    def lies(self) -> list[str]:
        """The kinds with lies."""
        return [kind for kind in self.kinds if kind not in HONEST]

    def of(self, player: str, function: str, kind: str) -> list[dict[str, Any]]:
        """The games of a cell."""
        return list(self._of[player, function, kind].values())

    def seeds(self, player: str, function: str, kind: str) -> set[int]:
        """Which a player has played of a cell."""
        return set(self._of[player, function, kind])

    def regret(self, player: str, function: str, kind: str, beside: str | None = None) -> float:
        """The median; on the seeds that `beside` has played too, if given; NaN without a game."""
        games, seeds = self._of[player, function, kind], self.seeds(player, function, kind)
        if beside is not None:
            seeds &= self.seeds(beside, function, kind)
        return statistics.median(games[seed]["regret"] for seed in seeds) if seeds else NAN

    def seconds(self, player: str, function: str) -> float:
        """The median of all kinds."""
        found = [g["seconds"] for g in self.games if (g["player"], g["function"]) == (player, function)]
        return statistics.median(found) if found else NAN

    def bar(self, function: str) -> float:
        """What our regret with lies is to stay below."""
        return 2.0 * self.regret("maximize", function, "none") + 0.01

    def accused(self, kind: str) -> tuple[float, float]:
        """Shares of the honest readings that ours accuses, and of the lies that it finds."""
        count: Counter[str] = Counter()
        for game in self.games:
            if game["player"] == "maximize" and game["kind"] == kind:
                lied, flagged = set(game["lied"]), set(game["flagged"])
                count["honest"] += game["T"] - len(lied)
                count["accused"] += len(flagged - lied)
                count["lies"] += len(lied)
                count["found"] += len(flagged & lied)
        return (
            count["accused"] / count["honest"] if count["honest"] else NAN,
            count["found"] / count["lies"] if count["lies"] else NAN,
        )

    def off(self, player: str, kinds: list[str]) -> list[float]:
        """By how many of its standard deviations each expected value is off; none where none is said."""
        return [
            abs(game["expected"] - game["value"]) / game["sd"] if game["sd"] else math.inf
            for game in self.games
            if game["player"] == player and game["kind"] in kinds and game.get("sd") is not None
        ]

    def differences(self, rival: str) -> Iterator[tuple[str, float]]:
        """Of each game with lies that both have played: which, and our regret less theirs."""
        for function in self.functions:
            for kind in self.lies:
                ours, theirs = self._of["maximize", function, kind], self._of[rival, function, kind]
                for seed in sorted(ours.keys() & theirs.keys()):
                    less = ours[seed]["regret"] - theirs[seed]["regret"]
                    yield f"{function} {kind} {seed}", less
