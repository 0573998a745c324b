"""One seed into named streams, so that changing one part of a game leaves the others alone."""

import numpy as np

from unbribable.model import checks

STREAMS = {"objective": 0, "noise": 1, "adversary": 2, "algorithm": 3, "opening": 4}


def stream(seed: int, name: str) -> np.random.SeedSequence:
    """The seed of one named part of the game."""
    checks.choice("name", name, tuple(STREAMS))
    return np.random.SeedSequence(checks.integer("seed", seed, at_least=0), spawn_key=(STREAMS[name],))


def generator(seed: int, name: str) -> np.random.Generator:
    """A generator on the named stream."""
    return np.random.default_rng(stream(seed, name))
