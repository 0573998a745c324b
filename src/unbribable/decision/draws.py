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
            whole = tuple(int(e) for e in entropy) if not isinstance(entropy, int) else entropy
            return cls(whole, tuple(int(k) for k in seed.spawn_key))
        return cls(checks.integer("seed", seed, at_least=0))

    def uniform(self, t: int) -> float:
        """The draw of round t, in [0, 1): the same whenever and wherever it is made."""
        sequence = np.random.SeedSequence(self.entropy, spawn_key=(*self.spawn_key, t))
        return float(np.random.default_rng(sequence).random())

    def to_plain(self) -> dict[str, Any]:
        """As JSON-able data."""
        entropy = self.entropy if isinstance(self.entropy, int) else list(self.entropy)
        return {"entropy": entropy, "spawn_key": list(self.spawn_key)}

    @classmethod
    def from_plain(cls, plain: Any) -> "Seed":
        """Back from `to_plain`."""
        entropy = plain["entropy"]
        whole = entropy if isinstance(entropy, int) else tuple(entropy)
        return cls(whole, tuple(plain["spawn_key"]))
