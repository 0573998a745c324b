"""Kernels with k(x, x) <= 1. A kernel computes the rows asked for, never an n x n matrix by itself."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import gammaln, kve

from unbribable.model import checks
from unbribable.model.checks import Floats

Scale = float | tuple[float, ...]

_DIFFERENCE = 1e-6
"""Step of the differences that stand in for a derivative which a kernel does not give."""

_IN_CACHE = 1 << 16
"""Values computed at once, so that intermediate results stay in the processor's cache."""


def check_scale(name: str, value: Any) -> Scale:
    """A positive number, or one positive number per coordinate, as plain hashable data."""
    if not isinstance(value, list | tuple) and not getattr(value, "ndim", 0):
        return checks.real(name, value, above=0.0)
    entries = checks.array(name, value, ndim=1)
    if not len(entries):
        raise ValueError(f"{name} must be a number, or one per coordinate, got {name}={value!r}")
    return tuple(checks.real(f"{name}[{k}]", entry, above=0.0) for k, entry in enumerate(entries))


def _divide(X: Floats, scale: Scale) -> Floats:
    """X with each coordinate divided by its scale."""
    if isinstance(scale, tuple) and len(scale) != X.shape[1]:
        raise ValueError(
            f"a kernel needs one scale, or one per coordinate (d={X.shape[1]}), got {scale}"
        )
    scaled: Floats = X / np.asarray(scale)
    return scaled


def _differences(function: Callable[[Floats], Floats], x: Floats) -> Floats:
    """Central differences at x of a function of (d, d) points; the last axis is the coordinate."""
    steps = _DIFFERENCE * np.eye(len(x))
    values: Floats = (function(x + steps) - function(x - steps)) / (2.0 * _DIFFERENCE)
    return values


class Kernel(ABC):
    """Abstract. A positive definite function on pairs of points."""

    @abstractmethod
    def __call__(self, X: Floats, other: Floats) -> Floats:
        """The matrix k(X[i], other[j]), shape (len(X), len(other))."""

    @abstractmethod
    def diag(self, X: Floats) -> Floats:
        """The values k(X[i], X[i]), shape (len(X),)."""

    def gradient(self, X: Floats, x: Floats) -> Floats:
        """The derivatives of k(X[i], x) in x, shape (len(X), d).

        By differences unless overridden: a kernel of your own needs only its values.
        """
        return _differences(lambda at: self(X, at), x)

    def diag_gradient(self, x: Floats) -> Floats:
        """The derivatives of k(x, x), shape (d,)."""
        return _differences(self.diag, x)

    def rank(self, X: Floats) -> int | None:
        """Number of features that span the kernel on X, where it is finite and known."""
        return None

    def check(self, X: Floats) -> None:
        """Refuse points on which the kernel is undefined or k(x, x) > 1."""
        self(X[:1], X[:1])
        diag = self.diag(X)
        worst = int(np.argmax(diag))
        if diag[worst] > 1.0 + 1e-12:
            raise ValueError(
                f"k(x, x) must be <= 1 on the domain, got {diag[worst]:.6g} at x={X[worst].tolist()} "
                f"for {self!r}; multiply its scale by {np.sqrt(diag[worst]):.6g} or more"
            )

    def scaled(self, side: Floats) -> "Kernel":
        """This kernel of the unit cube on a box with these sides, wherever that lies; if stationary."""
        if np.all(side == 1.0):
            return self
        raise TypeError(f"only a stationary kernel can be scaled, got {self!r}")

    def to_plain(self) -> dict[str, Any]:
        """JSON-able: one of `KERNELS` by its name and fields, any other by its repr."""
        kind = type(self)
        if KERNELS.get(kind.__name__) is not kind:
            return {"kind": "custom", "repr": repr(self)}
        fields = {k: list(v) if isinstance(v, tuple) else v for k, v in vars(self).items()}
        return {"kind": kind.__name__, **fields}

    @staticmethod
    def from_plain(plain: Mapping[str, Any]) -> "Kernel":
        """Back from `to_plain`, if it is one of `KERNELS`."""
        fields = dict(plain)
        kind = fields.pop("kind", None)
        if kind not in KERNELS:
            raise ValueError(
                f"a stored kernel must be one of {', '.join(KERNELS)}, got {plain!r}; "
                "a kernel of your own has to be given again"
            )
        return KERNELS[kind](**fields)


class Stationary(Kernel):
    """Abstract. A kernel that is a function of the scaled distance, with k(x, x) = 1."""

    lengthscale: Scale

    @abstractmethod
    def of_squared_distance(self, r2: Floats) -> Floats:
        """The kernel's value at squared scaled distance r2; 1 at r2 = 0."""

    def slope_of_squared_distance(self, r2: Floats) -> Floats:
        """The derivative of `of_squared_distance`, anything finite where it has none; by differences."""
        low, high = np.maximum(r2 - _DIFFERENCE, 0.0), r2 + _DIFFERENCE
        return (self.of_squared_distance(high) - self.of_squared_distance(low)) / (high - low)

    def scaled(self, side: Floats) -> "Stationary":
        if np.all(side == 1.0):
            return self
        lengthscale = tuple(np.asarray(self.lengthscale) * side)
        return replace(self, lengthscale=lengthscale)  # type: ignore[type-var]

    def __call__(self, X: Floats, other: Floats) -> Floats:
        from scipy.spatial.distance import cdist  # late: a command that needs no kernel starts faster

        X, other = _divide(X, self.lengthscale), _divide(other, self.lengthscale)
        n_rows = max(1, _IN_CACHE // max(1, len(other)))
        if len(X) <= n_rows:
            return self.of_squared_distance(cdist(X, other, "sqeuclidean"))
        values = np.empty((len(X), len(other)))
        for start in range(0, len(X), n_rows):
            part = slice(start, start + n_rows)
            values[part] = self.of_squared_distance(cdist(X[part], other, "sqeuclidean"))
        return values

    def diag(self, X: Floats) -> Floats:
        return np.ones(len(X))

    def gradient(self, X: Floats, x: Floats) -> Floats:
        difference = _divide(x[None, :] - X, self.lengthscale)
        slope = self.slope_of_squared_distance(np.einsum("ij,ij->i", difference, difference))
        return 2.0 * slope[:, None] * _divide(difference, self.lengthscale)

    def diag_gradient(self, x: Floats) -> Floats:
        return np.zeros(len(x))


@dataclass(frozen=True)
class SquaredExponential(Stationary):
    """k(x, z) = exp(-r^2 / 2), r^2 = sum ((x - z) / lengthscale)^2.

    Args:
        lengthscale: A positive number, or one per coordinate.
    """

    lengthscale: Scale

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengthscale", check_scale("lengthscale", self.lengthscale))

    def of_squared_distance(self, r2: Floats) -> Floats:
        values: Floats = np.exp(-0.5 * r2)
        return values

    def slope_of_squared_distance(self, r2: Floats) -> Floats:
        values: Floats = -0.5 * np.exp(-0.5 * r2)
        return values


@dataclass(frozen=True)
class Matern(Stationary):
    """k(x, z) = 2^(1-nu) / Gamma(nu) * s^nu * K_nu(s), s = sqrt(2 nu) r, K_nu the Bessel function.

    Closed forms for nu = 1/2, 3/2, 5/2.

    Args:
        nu: Smoothness, any number > 0.
        lengthscale: A positive number, or one per coordinate.
    """

    nu: float
    lengthscale: Scale

    def __post_init__(self) -> None:
        object.__setattr__(self, "nu", checks.real("nu", self.nu, above=0.0))
        object.__setattr__(self, "lengthscale", check_scale("lengthscale", self.lengthscale))

    def of_squared_distance(self, r2: Floats) -> Floats:
        s = np.sqrt(2.0 * self.nu * r2)
        if self.nu == 0.5:
            return np.exp(-s)
        if self.nu == 1.5:
            return (1.0 + s) * np.exp(-s)
        if self.nu == 2.5:
            return (1.0 + s + s * s / 3.0) * np.exp(-s)
        if self.nu > 100.0:
            return _matern_of_large_nu(self.nu, r2)
        return matern_by_bessel(self.nu, s)

    def slope_of_squared_distance(self, r2: Floats) -> Floats:
        """-nu / (2 (nu - 1)) times the kernel of nu - 1 at the same s: (s^nu K_nu)' = -s^nu K_(nu-1).

        For nu <= 1 the same as -nu 2^(1-nu) / Gamma(nu) s^(nu-1) K_(1-nu)(s), which has a pole at 0.
        """
        if self.nu > 1.0:
            lower = Matern(self.nu - 1.0, 1.0)
            return -0.5 * self.nu / lower.nu * lower.of_squared_distance(r2 * self.nu / lower.nu)
        s = np.maximum(np.sqrt(2.0 * self.nu * r2), 1e-12)
        log_factor = (1.0 - self.nu) * np.log(2.0) - gammaln(self.nu) + (self.nu - 1.0) * np.log(s)
        slope: Floats = -self.nu * np.exp(log_factor - s) * kve(1.0 - self.nu, s)
        return slope


def matern_by_bessel(nu: float, s: Floats) -> Floats:
    """2^(1-nu) / Gamma(nu) * s^nu * K_nu(s), computed in logarithms.

    Where K_nu overflows (s near 0 for this nu), the ascending series
    sum_j (s^2/4)^j / (j! (1-nu)(2-nu)...(j-nu)) takes its place; what that leaves out of K_nu is below
    1e-300 there.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        bessel = kve(nu, s)
        log_value = (1.0 - nu) * np.log(2.0) - gammaln(nu) + nu * np.log(s) + np.log(bessel) - s
    series = term = np.ones_like(s)
    for j in range(1, min(30, int(np.ceil(nu)))):
        term = term * (s * s / 4.0) / (j * (j - nu))
        series = series + term
    return np.minimum(np.where(np.isfinite(bessel), np.exp(log_value), series), 1.0)


def _matern_of_large_nu(nu: float, r2: Floats) -> Floats:
    """The same function for large nu, where K_nu itself overflows.

    Debye's uniform expansion of K_nu(nu z), z = r sqrt(2 / nu), over Stirling's series of Gamma(nu).
    With w = sqrt(1 + z^2) everything large cancels: ln k = nu (1 - w + ln((1 + w) / 2)) - ln(w) / 2 +
    O(1 / nu). With the terms kept the error is below 1e-10 for nu > 100.
    """
    z2 = 2.0 * r2 / nu
    w = np.sqrt(1.0 + z2)
    excess = z2 / (1.0 + w)  # w - 1
    t = 1.0 / w
    t2 = t * t
    u1 = t * (3.0 - 5.0 * t2) / 24.0
    u2 = t2 * (81.0 - 462.0 * t2 + 385.0 * t2**2) / 1152.0
    u3 = t * t2 * (30375.0 - 369603.0 * t2 + 765765.0 * t2**2 - 425425.0 * t2**3) / 414720.0
    debye = 1.0 - u1 / nu + u2 / nu**2 - u3 / nu**3
    stirling = 1.0 / (12.0 * nu) - 1.0 / (360.0 * nu**3)
    log_value = nu * (np.log1p(excess / 2.0) - excess) - 0.5 * np.log(w) + np.log(debye) - stirling
    return np.minimum(np.exp(log_value), 1.0)


@dataclass(frozen=True)
class Linear(Kernel):
    """k(x, z) = sum_k x_k z_k / scale_k^2: f is linear through the origin.

    Args:
        scale: What each coordinate is divided by, one number or one per coordinate; large
            enough that k(x, x) <= 1 on the domain (checked when domain and kernel meet).
    """

    scale: Scale

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", check_scale("scale", self.scale))

    def __call__(self, X: Floats, other: Floats) -> Floats:
        values: Floats = _divide(X, self.scale) @ _divide(other, self.scale).T
        return values

    def diag(self, X: Floats) -> Floats:
        values: Floats = np.sum(_divide(X, self.scale) ** 2, axis=1)
        return values

    def gradient(self, X: Floats, x: Floats) -> Floats:
        return _divide(_divide(X, self.scale), self.scale)

    def diag_gradient(self, x: Floats) -> Floats:
        values: Floats = 2.0 * _divide(_divide(x[None, :], self.scale), self.scale)[0]
        return values

    def rank(self, X: Floats) -> int | None:
        return int(np.linalg.matrix_rank(_divide(X, self.scale)))


KERNELS: dict[str, type[Kernel]] = {kind.__name__: kind for kind in (SquaredExponential, Matern, Linear)}
"""The kernels that can be stored and read back, by name."""
