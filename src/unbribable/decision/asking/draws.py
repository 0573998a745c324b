"""The secret draws: a pure function of the seed and the round."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbribable.model import checks

_N_BLOCK = 256
"""Rounds whose draws are worked out at once."""
_PCG = 0x2360ED051FC65DA44385DF649FCCF645
_64, _128 = (1 << 64) - 1, (1 << 128) - 1


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
        if t >> 32:
            sequence = np.random.SeedSequence(self.entropy, spawn_key=(*self.spawn_key, t))
            return float(np.random.default_rng(sequence).random())
        block, place = divmod(t, _N_BLOCK)
        return _uniforms(self.entropy, self.spawn_key, block)[place]

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


@lru_cache(maxsize=64)
def _uniforms(entropy: int | tuple[int, ...], spawn_key: tuple[int, ...], block: int) -> list[float]:
    """`default_rng(SeedSequence(entropy, spawn_key=(*spawn_key, t))).random()` for a block of rounds t.

    The generators themselves are not made: making one costs as much as all else that a round takes to
    draw. A seed sequence hashes its words into a pool, the round last, and that into the state of a
    PCG-64, whose first number is taken.
    """
    words = _words(*(entropy if isinstance(entropy, tuple) else (entropy,)))
    words = [*words, *[0] * (4 - len(words)), *_words(*spawn_key)]
    pool = np.random.SeedSequence(words).pool
    t = np.arange(block * _N_BLOCK, (block + 1) * _N_BLOCK, dtype=np.uint32)
    n_hashed = 4 * len(words)
    hashed = [_hash(t, 0x43B0D7E5, 0x931E8875, n_hashed + k) for k in range(4)]
    mixed = [
        pool[k : k + 1] * np.uint32(0xCA01F9DD) - hashed[k] * np.uint32(0x4973F715) for k in range(4)
    ]
    mixed = [each ^ each >> np.uint32(16) for each in mixed]
    state = [_hash(mixed[k % 4], 0x8B51F9DD, 0x58F38DED, k).tolist() for k in range(8)]
    found = []
    for low, high, low2, high2, low3, high3, low4, high4 in zip(*state, strict=True):
        start = high << 96 | low << 64 | high2 << 32 | low2
        step = (high3 << 96 | low3 << 64 | high4 << 32 | low4) << 1 & _128 | 1
        number = ((step + start) * _PCG + step & _128) * _PCG + step & _128
        folded, turn = number >> 64 ^ number & _64, number >> 122
        folded = (folded >> turn | folded << 64 - turn) & _64
        found.append((folded >> 11) * 2.0**-53)
    return found


def _hash(words: NDArray[np.uint32], first: int, factor: int, k: int) -> NDArray[np.uint32]:
    """The k-th hash of a seed sequence."""
    constant = first * pow(factor, k, 1 << 32) % (1 << 32)
    hashed = (words ^ np.uint32(constant)) * np.uint32(constant * factor % (1 << 32))
    return hashed ^ hashed >> np.uint32(16)


def _words(*numbers: int) -> list[int]:
    """Numbers in words of 32 bits each, the lowest first."""
    return [
        number >> shift & 0xFFFFFFFF
        for number in numbers
        for shift in range(0, max(number.bit_length(), 1), 32)
    ]


def _whole(entropy: Any) -> int | tuple[int, ...]:
    if isinstance(entropy, list | tuple | np.ndarray):
        return tuple(checks.integer("entropy", part, at_least=0) for part in entropy)
    return checks.integer("entropy", entropy, at_least=0)
