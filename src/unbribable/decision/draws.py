"""The secret draws: a pure function of the seed and the round."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from unbribable.model import checks


@dataclass(frozen=True)
class Seed:
    """Entropy of the draws. Secret: an adversary who knows it is a strong one."""

    entropy: int | tuple[int, ...]
    spawn_key: tuple[int, ...] = ()

    @classmethod
    def of(cls, seed: Any) -> "Seed":
        """From None (fresh entropy), an integer >= 0, a SeedSequence, or a Seed."""
        if isinstance(seed, Seed):
            return seed
        if seed is None:
            seed = np.random.SeedSequence()
        if isinstance(seed, np.random.SeedSequence):
            entropy = seed.entropy
            if entropy is None:
                raise ValueError("seed must have entropy, got a SeedSequence without")
            return cls(_whole(entropy), tuple(int(k) for k in seed.spawn_key))
        allowed = "; an integer >= 0, a SeedSequence or None for fresh entropy is allowed"
        return cls(checks.integer("seed", seed, at_least=0, hint=allowed))

    def uniform(self, t: int) -> float:
        """The draw of round t, in [0, 1): the same whenever and wherever it is made."""
        sequence = np.random.SeedSequence(self.entropy, spawn_key=(*self.spawn_key, t))
        return float(np.random.default_rng(sequence).random())

    def choose(self, t: int, draws: tuple[tuple[str, float], ...]) -> str:
        """The label that the draw of round t names, of labels with probabilities that sum to 1."""
        if len(draws) > 1:
            u = self.uniform(t)
            cumulated = 0.0
            for label, probability in draws:
                cumulated += probability
                if u < cumulated:
                    return label
        return draws[-1][0]

    def to_plain(self) -> dict[str, Any]:
        """As JSON-able data."""
        entropy = self.entropy if isinstance(self.entropy, int) else list(self.entropy)
        return {"entropy": entropy, "spawn_key": list(self.spawn_key)}

    @classmethod
    def from_plain(cls, plain: Any) -> "Seed":
        """Back from `to_plain`."""
        keys = tuple(checks.integer("spawn_key", key, at_least=0) for key in plain["spawn_key"])
        return cls(_whole(plain["entropy"]), keys)


def _whole(entropy: Any) -> int | tuple[int, ...]:
    if isinstance(entropy, list | tuple | np.ndarray):
        return tuple(checks.integer("entropy", part, at_least=0) for part in entropy)
    return checks.integer("entropy", entropy, at_least=0)
