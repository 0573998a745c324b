"""What is to hold by the protocols of `benchmarks.practice`, and where it does not."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.practice_games import TIE, Games

FOUND = {"stuck": 0.95, "flipped": 0.75, "random": 0.65, "burst": 0.7, "aimed": 0.5, "drift": 0.5}
"""Share of the lies of a kind that are to be found in the second score."""


def percent(share: float) -> str:
    """In words, with two significant digits."""
    return "-" if math.isnan(share) else f"{100.0 * share:.2g} %"


@dataclass(frozen=True)
class Claim:
    """What is to hold in a share of the cells or games: in how many it does not, and where."""

    words: str
    share: float
    n: int
    n_lost: int
    where: str

    @classmethod
    def of(cls, words: str, share: float, n: int, losses: list[str]) -> "Claim":
        """With each loss named."""
        return cls(words, share, n, len(losses), "; ".join(losses))

    def row(self) -> tuple[str, ...]:
        """Of the table of claims."""
        n_held = self.n - self.n_lost
        holds = n_held >= self.share * self.n - 1e-9
        verdict = "not played" if self.n == 0 else "yes" if holds else "**NO**"
        return self.words, f"{n_held} of {self.n}", verdict, self.where


def claims_of_first(games: Games) -> list[Claim]:
    """What benchmarks/practice/first.md says is to hold."""
    return [
        against_clean(games, 0.8),
        below(games, "BoTorch", 0.9),
        below(games, "relevance-pursuit", 2 / 3),
        honest(games, "none", 0.8),
        processor_time(games),
        accused(games, 0.03),
    ]


def claims_of_second(games: Games) -> list[Claim]:
    """What benchmarks/practice/second.md says is to hold."""
    return [
        against_clean(games, 0.85),
        below(games, "BoTorch", 0.95),
        below(games, "Optuna-TPE", 0.95),
        paired(games, "relevance-pursuit"),
        honest(games, "none", 0.85),
        honest(games, "heavy", 0.85),
        accused(games, 0.01),
        found(games),
        calibrated(games, 2.0, 0.08),
        calibrated(games, 5.0, 0.01),
        consistent(games),
    ]


def against_clean(games: Games, share: float) -> Claim:
    """What lies cost."""
    n, losses = 0, []
    for function in games.functions:
        clean = games.regret("maximize", function, "none")
        for kind in games.lies:
            regret = games.regret("maximize", function, kind)
            if math.isnan(clean + regret):
                continue
            n += 1
            if regret > games.bar(function):
                losses.append(f"{function} {kind} {percent(regret)} (clean {percent(clean)})")
    words = f"lies: regret at most 2 times the clean one + 1 % in {share:.0%} of the cells"
    return Claim.of(words, share, n, losses)


def below(games: Games, rival: str, share: float) -> Claim:
    """Medians with lies, on the seeds that both have played; equal is not below."""
    words = f"lies: regret below {rival}'s in {share:.0%} of the cells"
    n, losses = _beside(games, rival, games.lies)
    lost = [name for name, ours, theirs in losses if ours >= theirs]
    return Claim.of(words, share, n, lost)


def honest(games: Games, kind: str, share: float) -> Claim:
    """Medians where nobody lies."""
    words = f"{kind}: regret at most 1.5 times BoTorch's in {share:.0%} of the functions"
    n, cells = _beside(games, "BoTorch", [kind])
    return Claim.of(words, share, n, [name for name, ours, theirs in cells if ours > 1.5 * theirs])


def _beside(
    games: Games, rival: str, kinds: Iterable[str]
) -> tuple[int, list[tuple[str, float, float]]]:
    """Of each cell that both have played: what it is, our median and theirs."""
    cells = []
    for function in games.functions:
        for kind in kinds:
            ours = games.regret("maximize", function, kind, rival)
            theirs = games.regret(rival, function, kind, "maximize")
            if not math.isnan(ours + theirs):
                name = f"{function} {kind} {percent(ours)} (theirs {percent(theirs)})"
                cells.append((name, ours, theirs))
    return len(cells), cells


def paired(games: Games, rival: str) -> Claim:
    """Game by game; a difference below a tenth of the noise counts for neither."""
    differences = list(games.differences(rival))
    lost = [name for name, less in differences if less > TIE]
    n_won = sum(less < -TIE for _, less in differences)
    n_ties = len(differences) - n_won - len(lost)
    words = f"lies: at least as many games won as lost against {rival}, {n_ties} ties left out"
    return Claim.of(words, 0.5, n_won + len(lost), lost)


def processor_time(games: Games) -> Claim:
    """Of the model that finds outliers best."""
    n, losses = 0, []
    for function in games.functions:
        times = games.seconds("relevance-pursuit", function) / games.seconds("maximize", function)
        if not math.isnan(times):
            n += 1
            if times < 20.0:
                losses.append(f"{function} {times:.0f} times")
    return Claim.of("processor time: relevance pursuit takes 20 times ours", 1.0, n, losses)


def accused(games: Games, share: float) -> Claim:
    """Honest readings of a kind."""
    shares = {kind: games.accused(kind)[0] for kind in games.kinds}
    played = {kind: found for kind, found in shares.items() if not math.isnan(found)}
    losses = [f"{kind} {percent(found)}" for kind, found in played.items() if found > share]
    words = f"at most {share:.0%} of the honest readings of a kind are accused".replace("%", " %")
    return Claim.of(words, 1.0, len(played), losses)


def found(games: Games) -> Claim:
    """Lies of a kind."""
    shares = {kind: games.accused(kind)[1] for kind in FOUND}
    played = {kind: share for kind, share in shares.items() if not math.isnan(share)}
    losses = [
        f"{kind} {percent(share)} ({percent(FOUND[kind])} asked for)"
        for kind, share in played.items()
        if share < FOUND[kind]
    ]
    return Claim.of("lies of a kind are found, in the share asked for", 1.0, len(played), losses)


def calibrated(games: Games, n_sd: float, share: float) -> Claim:
    """Expected values at the recommended points."""
    off = games.off("maximize", games.kinds)
    by_kind = Counter(
        {kind: sum(z > n_sd for z in games.off("maximize", [kind])) for kind in games.kinds}
    )
    where = "; ".join(f"{kind} {count}" for kind, count in by_kind.most_common() if count)
    words = f"the estimate is off by more than {n_sd:.0f} sd in at most {share:.0%} of the games"
    return Claim(words, 1.0 - share, len(off), sum(z > n_sd for z in off), where)


def consistent(games: Games) -> Claim:
    """What one and the same answer says."""
    ours = [game for game in games.games if game["player"] == "maximize" and "n_honest" in game]
    losses = [
        f"{game['function']} {game['kind']} {game['seed']}"
        for game in ours
        if game["is_only_flagged"] or game["n_honest"] + len(game["flagged"]) != game["T"]
    ]
    words = "no point is recommended whose readings are all flagged; honest and flagged add up"
    return Claim.of(words, 1.0, len(ours), losses)
