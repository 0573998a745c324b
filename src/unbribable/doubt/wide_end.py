"""A cautious model for guarantees to rest on: the wide end of the hypotheses."""

import math
from dataclasses import dataclass

import numpy as np

from unbribable.doubt.hypotheses import Hypotheses
from unbribable.model.checks import Floats
from unbribable.model.kernels import Kernel, Matern

N_WILDER = 2
"""Hypotheses that may be wilder than the wide end: one may be far from all others, and the answer should
not hang on it."""

B_FACTOR = 2.0
"""Safety factor of the guess of B."""

B0_FACTOR = 3.0
"""Safety factor of the guess of B0."""


@dataclass(frozen=True)
class WideEnd:
    """Readings are modelled as y = center + scale * (f(x) + noise). Guesses, not guarantees."""

    center: float
    scale: float
    kernel: Kernel
    """On the unit cube, or the one that was given."""
    noise_std: float
    """In units of scale."""
    B: float
    """Guess of the RKHS norm of f: B_FACTOR times that of the posterior mean, at least B0."""
    B0: float
    """Guess of max |f|: B0_FACTOR times the largest |posterior mean| at the points, the robust standard
    deviation of the readings, or the prior one of f, whichever is most; at least 1."""


def wide_end(chains: Hypotheses, center: float | None = None) -> WideEnd:
    """The wide end of what some hypotheses say; what is known of f and the noise is kept.

    Center and scale are those in the middle. Noise and prior standard deviation of f are the largest,
    and the kernel is that of the hypothesis with the shortest lengthscales, but for N_WILDER each.

    Args:
        chains: The hypotheses.
        center: Where the values of f are counted from, in the unit of the readings; in the middle of
            the hypotheses if None.
    """
    data, known = chains.data, chains.data.known
    lengthscales, scale2, noise2, _ = chains.parts()
    scale, _, middle = chains.typical()
    if center is None:
        center = data.origin + data.unit * middle
    norms, heights = chains.sizes((center - data.origin) / data.unit)
    if known.kernel is None:
        order = np.argsort(np.log(lengthscales).mean(axis=1), kind="stable")
        short = int(order[min(N_WILDER, len(order) - 1)])
        kernel: Kernel = Matern(2.5, tuple(lengthscales[short].tolist()))
        norm = max(float(norms[short]), float(np.median(norms)))
    else:
        kernel, norm = known.kernel, _largest(norms)
    largest = max(float(np.median(heights)), 1.0, math.sqrt(_largest(scale2)))
    B0 = max(1.0, B0_FACTOR * largest / scale)
    return WideEnd(
        center=center,
        scale=data.unit * scale,
        kernel=kernel,
        noise_std=math.sqrt(_largest(noise2)) / scale,
        B=max(B0, B_FACTOR * norm / scale),
        B0=B0,
    )


def _largest(values: Floats) -> float:
    """The largest but N_WILDER."""
    return float(np.sort(values)[max(0, len(values) - 1 - N_WILDER)])
