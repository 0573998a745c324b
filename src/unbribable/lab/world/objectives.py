"""True functions on a finite set of candidates, and what is known about them."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unbribable.model import checks
from unbribable.model.checks import Floats
from unbribable.model.kernels import Kernel, SquaredExponential


@dataclass(frozen=True, eq=False)
class Objective:
    """A function to maximise, by its values at the candidates. Frozen; lives only in the world."""

    name: str
    X: Floats
    """The candidates, (n, d)."""
    f: Floats
    """True values, (n,)."""
    norm: float | None = None
    """RKHS norm of the function, where it is known exactly."""
    kernel: Kernel | None = None
    """The kernel of that norm."""

    @cached_property
    def best(self) -> int:
        """Index of the maximiser (the lowest one of several)."""
        return int(np.argmax(self.f))

    @property
    def f_max(self) -> float:
        """The largest value on the candidates."""
        return float(self.f[self.best])

    @property
    def B0(self) -> float:
        """max |f| on the candidates."""
        return float(np.abs(self.f).max())

    def near(self, i: int, radius: float) -> np.ndarray:
        """Which candidates lie within `radius` of candidate i (Euclidean), (n,) booleans."""
        near: np.ndarray = np.linalg.norm(self.X - self.X[i], axis=1) <= radius
        return near


def kernel_sum(
    kernel: Kernel, X: Floats, centres: Floats, weights: Floats, *, name: str = "kernel sum"
) -> Objective:
    """f = sum_j weights[j] k(., centres[j]), whose norm is sqrt(weights' K weights)."""
    norm = math.sqrt(max(0.0, float(weights @ kernel(centres, centres) @ weights)))
    return Objective(name, X, kernel(X, centres) @ weights, norm, kernel)


def random_rkhs(
    kernel: Kernel, X: Floats, rng: np.random.Generator, *, norm: float = 1.0, n_centres: int = 10
) -> Objective:
    """A random sum of kernel sections at candidates, scaled to exactly the given RKHS norm."""
    norm = checks.real("norm", norm, above=0.0)
    n_centres = min(checks.integer("n_centres", n_centres, at_least=1), len(X))
    centres = X[rng.choice(len(X), size=n_centres, replace=False)]
    raw = kernel_sum(kernel, X, centres, rng.standard_normal(n_centres))
    assert raw.norm is not None
    return Objective("random RKHS function", X, raw.f * (norm / raw.norm), norm, kernel)


def gp_draw(kernel: Kernel, X: Floats, rng: np.random.Generator) -> Objective:
    """A draw of GP(0, k) on the candidates, with the norm of its interpolant.

    f = V sqrt(L) z for K = V L V'; the interpolant's norm sqrt(f' K^-1 f) is |z|. Directions
    that float64 does not resolve (eigenvalue below 1e-12 of the largest) are left out of both.
    """
    eigenvalues, vectors = np.linalg.eigh(kernel(X, X))
    is_kept = eigenvalues > 1e-12 * eigenvalues[-1]
    z = rng.standard_normal(len(X))[is_kept]
    f = vectors[:, is_kept] @ (np.sqrt(eigenvalues[is_kept]) * z)
    return Objective("GP draw", X, f, float(np.linalg.norm(z)), kernel)


def figure_1(n: int = 500) -> Objective:
    """A global and a local peak on [0, 1], maximum 1 [BKS20, Fig. 1].

    f = 0.8 k(., 0.25) + k(., 0.78) - 0.3 k(., 0.5), scaled; k squared exponential, 0.1.
    """
    kernel, weights = SquaredExponential(0.1), np.array([0.8, 1.0, -0.3])
    X = np.linspace(0.0, 1.0, checks.integer("n", n, at_least=2))[:, None]
    centres = np.array([[0.25], [0.78], [0.5]])
    top = kernel_sum(kernel, X, centres, weights).f_max
    return kernel_sum(kernel, X, centres, weights / top, name="figure 1")


def lower_bound_pair(kernel: Kernel, X: Floats) -> tuple[Objective, Objective]:
    """Two functions on [0, 1]: what is half-optimal for one is at least half sub-optimal for the other.

    A bump of height 1 at 1/4, or at 3/4 [BKS20, App. J]. The property is checked, and refused
    where the kernel is too wide for it.
    """
    pair = tuple(
        kernel_sum(kernel, X, np.array([[centre]]), np.ones(1), name=f"bump at {centre}")
        for centre in (0.25, 0.75)
    )
    for f, other in (pair, pair[::-1]):
        is_good = f.f >= f.f_max - 0.5
        if (other.f[is_good] > other.f_max - 0.5).any():
            raise ValueError(
                "the kernel must fall to 1/2 within 1/4 of a bump for the lower-bound pair, "
                f"got {kernel!r}"
            )
    return pair[0], pair[1]
