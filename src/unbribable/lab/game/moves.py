"""A game's address: the setting, and what the visitor did in each round, as text and back.

`moves` has a part per round, separated by dots. A part is a preset liar's letter, with the number of
rounds it plays if there are several (`h10`), or the visitor's own lies in hundredths: players separated
by `_`, the points of a proposal by `~`, what is left out is 0. So `-50_-50~20.h3` is a lie of -0.5 to
the first player, of -0.5 and 0.2 at the two points of the second one, then three rounds of liar h.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from unbribable.model import checks

Move = str | tuple[tuple[float, ...], ...]
"""A round: the letter of a preset liar, or the visitor's own lies, for each player one per point."""

MAX_ROUNDS = 100
_LIAR = re.compile(r"([a-z])(\d{1,3})?")
_LIES = re.compile(r"[-\d~_]*")
_HUNDREDTHS = re.compile(r"-?\d{1,3}")


@dataclass(frozen=True)
class Setting:
    """What a game begins with."""

    seed: int = 1
    """Of the noise, the preset liars and the players' draws."""
    threat: str = "weak"
    budget: float = 2.0
    """Of the liar, for each player; the players are told it."""
    rounds: int = 40

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", checks.integer("seed", self.seed, at_least=0))
        checks.choice("threat", self.threat, ("weak", "strong"))
        object.__setattr__(self, "budget", checks.real("budget", self.budget, above=0.0, at_most=20.0))
        rounds = checks.integer("rounds", self.rounds, at_least=1)
        if rounds > MAX_ROUNDS:
            raise ValueError(f"rounds must be at most {MAX_ROUNDS}, got rounds={rounds}")


def setting_of(words: Mapping[str, str]) -> Setting:
    """The setting in an address; what is left out has its default."""
    try:
        return Setting(
            seed=int(words.get("seed", "1")),
            threat=words.get("threat", "weak"),
            budget=float(words.get("budget", "2")),
            rounds=int(words.get("rounds", "40")),
        )
    except ValueError as error:
        raise ValueError(f"the address must hold a game, got {error}") from None


def moves_of(text: str, n_rounds: int) -> tuple[Move, ...]:
    """The moves in an address, one for each round played."""
    moves: list[Move] = []
    for part in text.split(".") if text else []:
        liar = _LIAR.fullmatch(part)
        if liar:
            moves += [liar[1]] * int(liar[2] or "1")
        elif _LIES.fullmatch(part):
            moves.append(tuple(tuple(map(_lie, lies.split("~"))) for lies in part.split("_")))
        else:
            raise ValueError(f"a move must be a liar's letter or lies in hundredths, got {part!r}")
        if len(moves) > n_rounds:
            raise ValueError(f"moves must be at most rounds={n_rounds}, got more")
    return tuple(moves)


def _lie(word: str) -> float:
    if word and not _HUNDREDTHS.fullmatch(word):
        raise ValueError(f"a lie must be a whole number of hundredths of at most 3 digits, got {word!r}")
    return int(word or "0") / 100.0
