"""How a door numbers the rounds."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Counting:
    """What a round is called, and the number of the first one. Inside, rounds count from 1."""

    name: str = "round"
    first: int = 1
    labels: tuple[str, ...] = ()
    """Where each round stands elsewhere, such as "line 4" of a table; empty if nowhere."""

    def number(self, t: int) -> int:
        """The number of round t."""
        return t - 1 + self.first

    def numbered(self, t: int) -> str:
        """Its number, and where it stands: `3`, or `3 (line 4)`."""
        return f"{self.number(t)}" + (f" ({self.labels[t - 1]})" if self.labels else "")

    def one(self, t: int) -> str:
        """`round 3`, or `reading 3 (line 4)`."""
        return f"{self.name} {self.numbered(t)}"

    def several(self, rounds: Sequence[int], most: int | None = None) -> str:
        """`round 3`, `rounds 3, 9, 12`, or, of more than `most`, `rounds 3, 9 and 7 more`."""
        named = rounds if most is None or len(rounds) <= most + 1 else rounds[:most]
        n_more = len(rounds) - len(named)
        words = ", ".join(self.numbered(t) for t in named) + (f" and {n_more} more" if n_more else "")
        return f"{self.name}{'s' * (len(rounds) > 1)} {words}"

    def stretch(self, rounds: Sequence[int]) -> str:
        """`rounds 3 to 7`."""
        return f"{self.name}s {self.numbered(rounds[0])} to {self.numbered(rounds[-1])}"


ROUNDS = Counting()
"""Of `maximize`, `Study` and the algorithms."""

TRIALS = Counting("trial", first=0)
"""Of Optuna."""
