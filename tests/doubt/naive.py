"""Hypotheses by dense solves and loops, written from SPEC 18: slow, and without any cleverness."""

import functools
import itertools
import math
from dataclasses import dataclass

import numpy as np

from unbribable.doubt.hypotheses import Data, Hypotheses, J
from unbribable.model.checks import Floats

LIE_SPREAD, A, B = 3.0, 1.0, 12.0
JITTER = 1e-7


def matern(x: Floats, other: Floats, lengthscales: Floats) -> float:
    """Matern 5/2."""
    r = math.sqrt(5.0 * sum(((a - b) / s) ** 2 for a, b, s in zip(x, other, lengthscales, strict=True)))
    return (1.0 + r + r * r / 3.0) * math.exp(-r)


@dataclass(frozen=True)
class Process:
    """A Gaussian process with noise, in the unit of its readings."""

    lengthscales: Floats
    scale: float
    noise: float
    mean: float
    kernel: object = None

    @classmethod
    def of(cls, data: Data, theta: Floats) -> "Process":
        """What one row of theta says, in robust units."""
        rest = list(theta)
        if data.known.kernel is None:
            lengthscales = np.array([math.exp(rest.pop(0)) for _ in range(data.d)])
        else:
            lengthscales = np.ones(data.d)
        scale = math.exp(rest.pop(0))
        known = data.known.noise_std
        noise = math.exp(rest.pop(0)) if known is None else known / data.unit
        center = data.known.center
        mean = rest.pop(0) if center is None else (center - data.origin) / data.unit
        assert not rest
        return cls(lengthscales, scale, noise, mean, data.known.kernel)

    def covariance(self, X: Floats, U: Floats) -> Floats:
        """Of f at X with f at U."""
        if self.kernel is not None:
            found: Floats = self.scale**2 * self.kernel(X, U)  # type: ignore[operator]
            return found
        return np.array([[self.scale**2 * matern(x, y, self.lengthscales) for y in U] for x in X])

    def noises(self, known: Floats) -> Floats:
        """Variances of the noise: those that are known, and its own where one is NaN."""
        return np.where(np.isnan(known), self.noise**2, known)

    def noisy(self, X: Floats, noise2: Floats) -> Floats:
        """Of readings at X."""
        own = self.noises(noise2) + JITTER * self.scale**2
        return self.covariance(X, X) + np.diag(own)

    def posterior(self, X: Floats, U: Floats, y: Floats, noise2: Floats) -> tuple[Floats, Floats]:
        """Mean and variance of f at X by readings y of U."""
        prior = np.diag(self.covariance(X, X))
        if not len(y):
            return np.full(len(X), self.mean), prior
        cross = self.covariance(X, U)
        weights = np.linalg.solve(self.noisy(U, noise2), cross.T)
        return self.mean + (y - self.mean) @ weights, prior - np.einsum("xi,ix->x", cross, weights)


def log_prior_of_theta(data: Data, theta: Floats) -> float:
    """Up to a constant: normal, each entry by itself."""
    means, sds = [], []
    if data.known.kernel is None:
        means += [0.4 + math.log(data.d) / 2.0] * data.d
        sds += [1.2] * data.d
    means.append(0.0)
    sds.append(0.7)
    if data.known.noise_std is None:
        means.append(-3.5)
        sds.append(1.0)
    if data.known.center is None:
        means.append(0.0)
        sds.append(1.0)
    return -0.5 * sum(((t - m) / s) ** 2 for t, m, s in zip(theta, means, sds, strict=True))


def log_prior_of_lies(z: Floats, order: Floats) -> float:
    """How many are lies is Beta-binomial; which, by how many of them are neighbours in time.

    Args:
        z: Which are, (n,).
        order: The places of the readings in their order in time, (n,).
    """
    n, k = len(z), round(sum(z))
    in_time = [z[i] for i in order]
    pairs = sum(a * b for a, b in itertools.pairwise(in_time))
    log_beta = math.lgamma(A + k) + math.lgamma(B + n - k) - math.lgamma(A + B + n)
    return log_beta + J * pairs - math.log(mean_over_sets(n, k))


@functools.cache
def mean_over_sets(n: int, k: int) -> float:
    """Of exp(J * neighbours that both are lies), over all sets of k lies among n."""
    values = [
        math.exp(J * sum(a + 1 == b for a, b in itertools.pairwise(chosen)))
        for chosen in itertools.combinations(range(n), k)
    ]
    return sum(values) / len(values)


def in_time(data: Data) -> list[int]:
    """The places of the readings in their order in time."""
    (first,) = {int(i) for i in range(data.n)} - {int(i) for i in data.after if i < data.n}
    order = [first]
    while data.after[order[-1]] < data.n:
        order.append(int(data.after[order[-1]]))
    return order


def log_joint(data: Data, theta: Floats, z: Floats) -> float:
    """ln p(theta, z, y) up to a constant; data has readings in robust units."""
    process = Process.of(data, theta)
    honest = np.flatnonzero(z == 0.0)
    value = log_prior_of_theta(data, theta)
    if len(honest):
        K = process.noisy(data.U[honest], known_of(data)[honest])
        off = data.y[honest] - process.mean
        value -= 0.5 * (off @ np.linalg.solve(K, off) + np.linalg.slogdet(2.0 * math.pi * K)[1])
    for i in np.flatnonzero(z):
        value -= math.log(math.pi * LIE_SPREAD * (1.0 + (data.y[i] / LIE_SPREAD) ** 2))
        value += 0.0 if data.is_certain[i] else data.doubt[i]
    return value + log_prior_of_lies(z, in_time(data))


def chance(data: Data, theta: Floats, z: Floats, i: int) -> float:
    """The probability that reading i is a lie given the verdicts on all others."""
    lie, honest = z.copy(), z.copy()
    lie[i], honest[i] = 1.0, 0.0
    odds = log_joint(data, theta, lie) - log_joint(data, theta, honest)
    return 1.0 / (1.0 + math.exp(-odds)) if odds > -700.0 else 0.0


def alone(data: Data, theta: Floats, z: Floats, i: int) -> tuple[float, float]:
    """What the honest readings but i say of reading i, and the variance of it around that."""
    process = Process.of(data, theta)
    others = np.array([j for j in range(data.n) if j != i and not z[j]], dtype=int)
    mean, var = process.posterior(data.U[[i]], data.U[others], data.y[others], known_of(data)[others])
    own = process.noises(known_of(data)[i]) + JITTER * process.scale**2
    return float(mean[0]), float(var[0] + own)


def verdicts(data: Data, theta: Floats, z: Floats, rank: Floats, draws: Floats) -> Floats:
    """A pass over all readings by their rank, everything solved afresh at each."""
    z = z.copy()
    for i in np.argsort(rank):
        if not data.is_certain[i]:
            z[i] = float(draws[i] < chance(data, theta, z, i))
    return z


def prediction(hypotheses: Hypotheses, X: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation of f at X of all hypotheses together, in robust units."""
    data, means, squares = hypotheses.data, [], []
    for theta, z in zip(hypotheses.theta, hypotheses.z, strict=True):
        kept = z == 0.0
        mean, var = Process.of(data, theta).posterior(
            X, data.U[kept], data.y[kept], known_of(data)[kept]
        )
        means.append(mean)
        squares.append(var + mean**2)
    mean = np.mean(means, axis=0)
    return mean, np.sqrt(np.maximum(np.mean(squares, axis=0) - mean**2, 0.0))


def known_of(data: Data) -> Floats:
    """The known variances of the noise of the readings, in robust units; NaN where one is like all."""
    variances = data.noises(np.array([-1.0]))[0]
    return np.where(variances < 0.0, np.nan, variances)
