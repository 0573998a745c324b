"""Scrambled Sobol points, those of SciPy to the bit, without `scipy.stats`, which is slow to load."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unbribable.model.checks import Floats

N_BITS = 30
"""Digits of a coordinate."""

Words = NDArray[np.uint32]


def scrambled_sobol(n: int, d: int, seed: int) -> Floats:
    """The first n points of a scrambled Sobol sequence in the unit cube, n a power of two; (n, d)."""
    table = _table()
    if table is None or d > len(table[0]):
        from scipy.stats import qmc

        return np.asarray(qmc.Sobol(d, rng=np.random.default_rng(seed)).random(n), dtype=np.float64)
    rng = np.random.default_rng(seed).spawn(1)[0]  # as SciPy does
    words, first = _scrambled(_direction_numbers(d, *table), rng)
    counts = np.arange(1, n)
    zeros = np.log2(counts & -counts).astype(
        np.int64
    )  # at the end of i: the digit that Gray's code flips
    steps = np.concatenate([first[None, :], words[:, zeros].T])
    points: Floats = np.bitwise_xor.accumulate(steps, axis=0) * 2.0**-N_BITS
    return points


@cache
def _table() -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """SciPy's primitive polynomials and first direction numbers, a row a dimension; None: not there."""
    spec = find_spec("scipy")
    if spec is None or spec.origin is None:
        return None
    try:
        with np.load(Path(spec.origin).parent / "stats" / "_sobol_direction_numbers.npz") as file:
            return file["poly"], file["vinit"]
    except (OSError, KeyError):
        return None


def _direction_numbers(d: int, poly: NDArray[np.int64], first: NDArray[np.int64]) -> Words:
    """The direction numbers of d dimensions, as binary fractions of N_BITS digits; shape (d, N_BITS)."""
    found = np.ones((d, N_BITS), dtype=np.uint32)
    for k in range(1, d):
        polynomial = int(poly[k])
        degree = polynomial.bit_length() - 1
        m = [int(word) for word in first[k, :degree]]
        for j in range(degree, N_BITS):
            word = m[j - degree]
            for i in range(1, degree + 1):
                if polynomial >> (degree - i) & 1:
                    word ^= m[j - i] << i
            m.append(word)
        found[k] = m
    return found << np.arange(N_BITS - 1, -1, -1, dtype=np.uint32)


def _scrambled(words: Words, rng: np.random.Generator) -> tuple[Words, Words]:
    """Direction numbers times a random lower triangular matrix of digits, and a random shift."""
    d = len(words)
    shift = rng.integers(0, 2, size=(d, N_BITS), dtype=np.uint32)
    lower = np.tril(rng.integers(0, 2, size=(d, N_BITS, N_BITS), dtype=np.uint32), -1)
    lower += np.eye(N_BITS, dtype=np.uint32)
    places = np.arange(N_BITS - 1, -1, -1, dtype=np.uint32)  # the first digit counts most
    digits = words[:, :, None] >> places & 1
    mixed = np.einsum("dpk,djk->djp", lower, digits) & 1
    return _word(mixed << places), _word(shift << places[::-1])


def _word(digits: Words) -> Words:
    whole: Words = np.sum(digits, axis=-1, dtype=np.uint32)
    return whole
