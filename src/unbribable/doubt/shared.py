"""What readings share besides f: the offset of their block, and a slow drift of the instrument (ours).

    reading i = f(x_i) + offset of its block + drift(its round) + noise

Both are Gaussian and sums of few features, phi(i) . w with w ~ N(0, 1), in robust units. Both have mean
zero over the readings, since that mean could not be told from a constant in f: so f is what an average
reading is of. The drift is a line and the first waves of a cosine series, the longer ones the larger.
"""

from collections.abc import Hashable, Sequence

import numpy as np

from unbribable.model.checks import Floats, Ints

OFFSET_SD = 2.0
"""Standard deviation of an offset, in robust units of the readings, which offsets widen themselves."""

LINE_SD = 2.0
"""Standard deviation of how much a straight drift changes from the first round to the last, likewise."""

WAVE_SD = (0.5, 0.25)
"""Of the waves of half a period and of a whole one over all rounds, likewise."""


def codes(blocks: Sequence[Hashable | None]) -> Ints | None:
    """A number for each block, by its first reading: (n,). None where no reading has a block.

    Readings without one are a block of their own beside those that have one.
    """
    if all(block is None for block in blocks):
        return None
    number: dict[Hashable | None, int] = {}
    return np.array([number.setdefault(block, len(number)) for block in blocks], dtype=np.intp)


def of_blocks(blocks: Ints) -> Floats:
    """The features of each block, (m, m), given the blocks of all readings, (n,)."""
    share = np.bincount(blocks) / len(blocks)
    return OFFSET_SD * (np.eye(len(share)) - share)


def features(blocks: Ints | None, rounds: Ints, *, has_drift: bool) -> Floats | None:
    """The features of each reading, (n, m); None where there are none.

    Args:
        blocks: Of each reading, as `codes` numbers them, (n,); None if there are no blocks.
        rounds: When each was read, (n,).
        has_drift: Whether the instrument may drift.
    """
    parts = []
    if blocks is not None and blocks.max() > 0:
        parts.append(of_blocks(blocks)[blocks])
    if has_drift and rounds.max() > rounds.min():
        when = (rounds - rounds.min()) / (rounds.max() - rounds.min())
        waves = [sd * np.cos((k + 1) * np.pi * when) for k, sd in enumerate(WAVE_SD)]
        drift = np.stack([LINE_SD * when, *waves], axis=1)
        parts.append(drift - drift.mean(axis=0))
    return np.concatenate(parts, axis=1) if parts else None
