"""The tables of `benchmarks.practice`: what did not hold first, then medians over the seeds."""

import math
import statistics
from collections import Counter

from benchmarks.practice_claims import Claim, percent
from benchmarks.practice_games import NAN, Games


def table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def seconds(number: float) -> str:
    """In words."""
    return "-" if math.isnan(number) else f"{number:.1f} s"


def reasons(games: Games) -> list[tuple[str, ...]]:
    """Of each cell that lies have cost: regrets, told which are lies too, and how it came."""
    rows = []
    for function in games.functions:
        bar = games.bar(function)
        for kind in games.lies:
            regret = games.regret("maximize", function, kind)
            if not regret > bar:
                continue
            told = games.regret("told", function, kind)
            reason = "misled" if told <= bar else "lost all the same" if told > bar else "-"
            ours = games.of("maximize", function, kind)
            lost = [game for game in ours if game["regret"] > bar]
            lies = sum(len(game["lied"]) for game in lost)
            found = sum(len({*game["lied"]} & {*game["flagged"]}) for game in lost)
            over = f"{len(lost)} of {len(ours)}"
            share = percent(found / lies if lies else NAN)
            rows.append((f"{function} {kind}", percent(regret), percent(told), over, share, reason))
    return rows


def estimates(games: Games) -> list[tuple[str, ...]]:
    """Of who says what to expect: how far off, in standard deviations, without lies and with them."""
    rows = []
    for player in games.players:
        for what, kinds in (("without lies", [*{*games.kinds} - {*games.lies}]), ("lies", games.lies)):
            if off := games.off(player, kinds):
                shares = (percent(sum(z > n_sd for z in off) / len(off)) for n_sd in (2.0, 5.0))
                rows.append(
                    (f"{player}, {what}", str(len(off)), *shares, f"{statistics.median(off):.2f}")
                )
    return rows


def page(games: Games, claims: list[Claim]) -> str:
    """All tables."""
    if not games.games:
        return "No game was played."
    count = Counter((g["player"], g["function"], g["kind"]) for g in games.games)
    played = {
        name: {n for (player, _, _), n in count.items() if player == name} for name in games.players
    }
    codes = sorted({game["by"] for game in games.games if game["player"] == "maximize"})
    parts = [
        f"Our code: {', '.join(codes) or 'not played'}. Seeds of a cell: "
        + ", ".join(f"{name} {min(n)} to {max(n)}" for name, n in played.items())
        + ".",
        table(("claim", "held", "holds", "where not"), [claim.row() for claim in claims]),
    ]
    if rows := reasons(games):
        header = ("lost with lies", "regret", "told", "games lost", "lies found in these", "reason")
        parts.append(table(header, rows))
    for kind in games.kinds:
        rows = [
            (name, *(percent(games.regret(player, name, kind)) for player in games.players))
            for name in games.functions
        ]
        parts.append(f"**{kind}**\n\n" + table(("median regret", *games.players), rows))
        if "maximize" in games.players:
            accused, found = games.accused(kind)
            parts.append(f"Honest readings accused: {percent(accused)}. Lies found: {percent(found)}.")
    if rows := estimates(games):
        header = ("expected value off by", "games", "more than 2 sd", "more than 5 sd", "median, sd")
        parts.append(table(header, rows))
    rows = [
        (name, *(seconds(games.seconds(player, name)) for player in games.players))
        for name in games.functions
    ]
    parts.append(table(("processor time of a game", *games.players), rows))
    return "\n\n".join(parts) + "\n"
