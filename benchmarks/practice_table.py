"""The tables of `benchmarks.practice`: what did not hold first, then medians over the seeds."""

import math
import statistics
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

from benchmarks.practice_players import PLAYERS
from benchmarks.practice_world import FUNCTIONS, KINDS

NAN = float("nan")


def table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


@dataclass(frozen=True)
class Claim:
    """What is to hold in a share of the cells: the cells in which it does not, of how many."""

    words: str
    share: float
    n_cells: int
    losses: list[str]

    def row(self) -> tuple[str, ...]:
        """Of the table of claims."""
        n_held = self.n_cells - len(self.losses)
        holds = self.n_cells > 0 and n_held >= self.share * self.n_cells - 1e-9
        verdict = "yes" if holds else "**NO**" if self.n_cells else "not played"
        return self.words, f"{n_held} of {self.n_cells}", verdict, "; ".join(self.losses)


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

    def regret(self, player: str, function: str, kind: str, beside: str | None = None) -> float:
        """The median; on the seeds that `beside` has played too, if given; NaN without a game."""
        games, seeds = self._of[player, function, kind], self.seeds(player, function, kind)
        if beside is not None:
            seeds &= self.seeds(beside, function, kind)
        return statistics.median(games[seed]["regret"] for seed in seeds) if seeds else NAN

    def seeds(self, player: str, function: str, kind: str) -> set[int]:
        """Which a player has played of a cell."""
        return set(self._of[player, function, kind])

    def seconds(self, player: str, function: str) -> float:
        """The median of all kinds."""
        found = [g["seconds"] for g in self.games if (g["player"], g["function"]) == (player, function)]
        return statistics.median(found) if found else NAN

    def claims(self) -> list[Claim]:
        """What the protocol says is to hold."""
        lies = [kind for kind in self.kinds if kind != "none"]
        claims = [self._against_clean(lies)]
        for rival, share in (("BoTorch", 9 / 10), ("relevance-pursuit", 2 / 3)):
            words = f"lies: regret below {rival}'s in {share:.0%} of the cells"
            claims.append(self._below(words, share, rival, lies, 1.0))
        words = "none: regret at most 1.5 times BoTorch's in 80% of the functions"
        claims.append(self._below(words, 4 / 5, "BoTorch", ["none"], 1.5))
        claims += [self._time(), self._accused()]
        return claims

    def bar(self, function: str) -> float:
        """What our regret with lies is to stay below."""
        return 2.0 * self.regret("maximize", function, "none") + 0.01

    def _against_clean(self, lies: list[str]) -> Claim:
        n_cells, losses = 0, []
        for function in self.functions:
            clean = self.regret("maximize", function, "none")
            for kind in lies:
                regret = self.regret("maximize", function, kind)
                if math.isnan(clean + regret):
                    continue
                n_cells += 1
                if regret > self.bar(function):
                    losses.append(f"{function} {kind} {percent(regret)} (clean {percent(clean)})")
        words = "lies: regret at most 2 times the clean one + 1 % in 80% of the cells"
        return Claim(words, 4 / 5, n_cells, losses)

    def reasons(self) -> list[tuple[str, ...]]:
        """Of each cell that lies have cost: regrets, told which are lies too, and how it came."""
        rows = []
        for function in self.functions:
            bar = self.bar(function)
            for kind in self.kinds:
                games = self._of["maximize", function, kind].values()
                regret = self.regret("maximize", function, kind)
                if kind == "none" or not regret > bar:
                    continue
                told = self.regret("told", function, kind)
                reason = "misled" if told <= bar else "lost all the same" if told > bar else "-"
                lost = [game for game in games if game["regret"] > bar]
                lies = sum(len(game["lied"]) for game in lost)
                found = sum(len({*game["lied"]} & {*game["flagged"]}) for game in lost)
                over = f"{len(lost)} of {len(games)}"
                share = percent(found / lies if lies else NAN)
                rows.append((f"{function} {kind}", percent(regret), percent(told), over, share, reason))
        return rows

    def _below(self, words: str, share: float, rival: str, kinds: list[str], factor: float) -> Claim:
        n_cells, losses = 0, []
        for function in self.functions:
            for kind in kinds:
                ours = self.regret("maximize", function, kind, rival)
                theirs = self.regret(rival, function, kind, "maximize")
                if math.isnan(ours + theirs):
                    continue
                n_cells += 1
                if ours > factor * theirs:
                    losses.append(f"{function} {kind} {percent(ours)} (theirs {percent(theirs)})")
        return Claim(words, share, n_cells, losses)

    def _time(self) -> Claim:
        n_cells, losses = 0, []
        for function in self.functions:
            times = self.seconds("relevance-pursuit", function) / self.seconds("maximize", function)
            if not math.isnan(times):
                n_cells += 1
                if times < 20.0:
                    losses.append(f"{function} {times:.0f} times")
        return Claim("processor time: relevance pursuit takes 20 times ours", 1.0, n_cells, losses)

    def _accused(self) -> Claim:
        losses = []
        for kind in self.kinds:
            accused, _ = self.accused(kind)
            if accused > 0.03:
                losses.append(f"{kind} {percent(accused)}")
        words = "at most 3 % of the honest readings of a kind are accused"
        return Claim(words, 1.0, len(self.kinds) if "maximize" in self.players else 0, losses)

    def accused(self, kind: str) -> tuple[float, float]:
        """Shares of the honest readings that are accused, and of the lies that are found."""
        count: Counter[str] = Counter()
        for game in self.games:
            if game["player"] == "maximize" and game["kind"] == kind:
                lied, flagged = set(game["lied"]), set(game["flagged"])
                count["honest"] += game["T"] - len(lied)
                count["accused"] += len(flagged - lied)
                count["lies"] += len(lied)
                count["found"] += len(flagged & lied)
        return count["accused"] / max(count["honest"], 1), (
            count["found"] / count["lies"] if count["lies"] else NAN
        )


def percent(share: float) -> str:
    """In words, with two significant digits."""
    return "-" if math.isnan(share) else f"{100.0 * share:.2g} %"


def page(games: list[dict[str, Any]]) -> str:
    """All tables."""
    if not games:
        return "No game was played."
    all_games = Games(games)
    claims = [claim.row() for claim in all_games.claims()]
    seeds = Counter((g["player"], g["function"], g["kind"]) for g in games)
    played = {
        name: {n for (player, _, _), n in seeds.items() if player == name} for name in all_games.players
    }
    codes = sorted({game["by"] for game in games if game["player"] == "maximize"})
    parts = [
        f"Our code: {', '.join(codes)}. Seeds: "
        + ", ".join(f"{name} {min(n)} to {max(n)}" for name, n in played.items())
        + ".",
        table(("claim", "cells", "holds", "where not"), claims),
    ]
    if reasons := all_games.reasons():
        header = ("lost with lies", "regret", "told", "games lost", "lies found in these", "reason")
        parts.append(table(header, reasons))
    for kind in all_games.kinds:
        rows = [
            (name, *(percent(all_games.regret(player, name, kind)) for player in all_games.players))
            for name in all_games.functions
        ]
        accused, found = all_games.accused(kind)
        text = f"Honest readings accused: {percent(accused)}. Lies found: {percent(found)}."
        parts.append(f"**{kind}**\n\n" + table(("median regret", *all_games.players), rows))
        parts.append(text)
    rows = [
        (name, *(f"{all_games.seconds(player, name):.1f} s" for player in all_games.players))
        for name in all_games.functions
    ]
    parts.append(table(("processor time of a game", *all_games.players), rows))
    return "\n\n".join(parts) + "\n"
