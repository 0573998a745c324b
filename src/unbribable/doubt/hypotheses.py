"""Hypotheses about all readings at once: what f is like, and which readings are lies (ours). Heuristic.

A hypothesis is a pair of theta and z. theta says what f is like: a Gaussian process with a Matern 5/2
kernel, one lengthscale per coordinate, a scale, a constant mean, and the standard deviation of honest
noise. z_i says whether reading i is a lie. Of an honest reading y_i = f(x_i) + noise, and what it shares
with others where they share something (`shared`); a lie may be anything, by a Cauchy density. Lies are
rare, and come together in time:

    p(z) ~ Beta-binomial(sum z; A, B) * exp(J * sum_i z_i z_{i-1}) / (its mean over as many lies)

Markov chains draw hypotheses from their posterior. Where they agree that is
likely, and where they differ it is in doubt: no reading is judged by one model and predicted by
another. Nothing proven rests on any of this.
"""

import copy
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import betaln, expit, gammaln, logsumexp

from unbribable.model.checks import Floats, Ints
from unbribable.model.kernels import Kernel, Matern
from unbribable.model.solve import inverses, lower_factors

N_HYPOTHESES = 16
"""Hypotheses, a chain each."""

BIG = 1e5
"""Variance of the noise of a lie, in robust units: what it says of f counts for nothing."""

LIE_SPREAD = 3.0
"""Scale of the Cauchy density of lies, in robust units."""

A, B = 1.0, 12.0
"""Of the Beta prior of the share of lies."""

J = 1.4
"""How much a lie makes the readings before and after it suspicious, in log odds."""

FARTHEST = 1e3
"""Readings are cut at so many robust units: beyond, all lies are alike."""

_JITTER = 1e-7
_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
_N_MOVES = 3
_MOVES = np.array([0.2, 1.0, 2.5])
_ACCEPTED = 0.3
_LENGTHSCALE, _SCALE, _NOISE, _MEAN = (0.4, 1.2), (0.0, 0.7), (-3.5, 1.0), (0.0, 1.0)
_LIMITS = ((math.log(0.005), math.log(200.0)), (-6.0, 6.0), (-9.0, 3.0), (-20.0, 20.0))
_MATERN = Matern(2.5, 1.0)
_CHUNK = 1 << 22


@dataclass(frozen=True)
class Known:
    """What the user said of f and the noise, and the hypotheses need not guess."""

    kernel: Kernel | None = None
    """On the unit cube."""
    noise_std: float | None = None
    """In the unit of the readings."""
    center: float | None = None
    """The mean of f, in the unit of the readings."""


class Data:
    """Readings in robust units, and what of them all hypotheses share. Never changed.

    Args:
        U: Points in the unit cube, (n, d).
        y: Their readings in any unit, (n,).
        rounds: When each was told, (n,): neighbours in time are lies together.
        doubt: What speaks against each besides its value, in log odds, (n,); math.inf if it is a lie.
        known: What need not be guessed.
        sem: The standard deviation of the noise of each, in the unit of the readings, (n,): NaN where it
            is not known for this one alone. None: of no one.
        shared: Features of what readings share besides f, (n, m), see `shared`; None if there are none.
    """

    def __init__(
        self,
        U: Floats,
        y: Floats,
        rounds: Ints,
        doubt: Floats,
        known: Known,
        sem: Floats | None = None,
        shared: Floats | None = None,
    ) -> None:
        self.n, self.d = U.shape
        self.U, self.known = U, known
        self.origin, unit = location_and_scale(y)
        self.unit = max(unit, 1.0 / FARTHEST * (known.noise_std or 0.0))  # differ by less than noise
        self.y: Floats = np.clip((y - self.origin) / self.unit, -FARTHEST, FARTHEST)
        self.doubt, self.is_certain = doubt, np.isinf(doubt)
        self.log_lie = _log_lie(self.y)
        sem = np.full(self.n, np.nan) if sem is None else sem
        self._is_like_all = np.isnan(sem)
        self._own_noise2: Floats = np.where(self._is_like_all, 0.0, sem / self.unit) ** 2
        order = np.argsort(rounds, kind="stable")
        self.before, self.after = np.full(self.n, self.n), np.full(self.n, self.n)
        self.before[order[1:]], self.after[order[:-1]] = order[:-1], order[1:]
        self.log_share = log_share(self.n)
        rows, columns = np.tril_indices(self.n)
        self.lower = rows * (self.n + 1) + columns  # places in a bordered matrix, (n + 1, n + 1)
        self.shared = shared
        self.together = None if shared is None else (shared @ shared.T)[rows, columns]
        self.gram: Floats | None = None
        if known.kernel is None:
            self.gaps: Floats = ((U[rows] - U[columns]) ** 2).T.copy()
        else:
            self.gram = known.kernel(U, U)[rows, columns]

    def noises(self, noise2: Floats) -> Floats:
        """Variances of the noise of each reading, where those of the others are noise2, (P,): (P, n)."""
        noises: Floats = np.where(self._is_like_all, noise2[:, None], self._own_noise2)
        return noises


def _log_lie(y: Floats) -> Floats:
    """The log density of lies, in robust units."""
    density: Floats = -np.log(math.pi * LIE_SPREAD * (1.0 + (y / LIE_SPREAD) ** 2))
    return density


def location_and_scale(y: Floats) -> tuple[float, float]:
    """The median and a robust standard deviation > 0, by the quartiles.

    Where these agree, seven tenths of the distances from the median stand in, or |median|, or 1.
    """
    low, median, high = np.percentile(y, [25.0, 50.0, 75.0])
    spread = float(high - low) / 1.349
    if spread <= 1e-12 * abs(median):
        spread = float(np.quantile(np.abs(y - median), 0.7, method="lower")) / 1.0364
    if spread <= 1e-12 * abs(median):
        spread = float(abs(median)) or 1.0
    return float(median), spread


def log_share(n: int) -> Floats:
    """ln of C(n, k) over the sum of exp(J * neighbours that both are lies) over all sets of k: (n + 1,).

    So that lies come together, but not more of them: how many there are is as likely as without J. Of
    the sets of k lies in r stretches, each of which has k - r such neighbours, there are
    C(k - 1, r - 1) C(n - k + 1, r).
    """
    k, r = np.arange(1, n + 1)[:, None], np.arange(1, n + 1)
    is_possible = (r <= k) & (r <= n - k + 1)
    r = np.where(is_possible, r, 1)
    sets = _log_choose(k - 1, r - 1) + _log_choose(n - k + 1, r) + J * (k - r)
    sums = logsumexp(np.where(is_possible, sets, -np.inf), axis=1)
    return np.append(0.0, _log_choose(n, k[:, 0]) - sums)


def _log_choose(n: Ints | int, k: Ints) -> Floats:
    """ln C(n, k)."""
    found: Floats = gammaln(np.add(n, 1)) - gammaln(k + 1) - gammaln(np.subtract(n, k) + 1)
    return found


def prior(data: Data) -> Floats:
    """Mean, standard deviation, lower and upper limit of each column of theta: rows, (k, 4)."""
    known, mean = data.known, _LENGTHSCALE[0] + 0.5 * math.log(data.d)
    rows = [] if known.kernel is not None else [(mean, _LENGTHSCALE[1], *_LIMITS[0])] * data.d
    rows.append((*_SCALE, *_LIMITS[1]))
    rows += [] if known.noise_std is not None else [(*_NOISE, *_LIMITS[2])]
    rows += [] if known.center is not None else [(*_MEAN, *_LIMITS[3])]
    return np.array(rows)


class Hypotheses:
    """Holds changing state: Markov chains whose states are hypotheses about some readings.

    Args:
        data: The readings.
        theta: (P, k): logarithms of the lengthscales, the scale, the noise; the mean. What is known has
            no column.
        z: Which readings are lies, (P, n) of 0 and 1.
        step: The size of the moves of each chain, (P,).

    Attributes:
        data, theta, z: The same.
        chance: The probability that each reading is a lie given the verdicts on all others, (P, n), as
            the last look at them found it.
    """

    def __init__(self, data: Data, theta: Floats, z: Floats, step: Floats) -> None:
        self.data, self.theta, self.z, self._step = data, theta, z, step
        self._prior = prior(data)
        self.chance: Floats = z.copy()
        self._density: Floats = self._log_density(theta)
        self._inverse: Floats = np.empty((len(theta), data.n, data.n))
        self._is_stale = np.ones(len(theta), dtype=bool)

    @classmethod
    def drawn(cls, data: Data, rng: np.random.Generator, n: int = N_HYPOTHESES) -> "Hypotheses":
        """Chains that begin with draws of the prior, and with no lies but the certain ones."""
        mean, sd, low, high = prior(data).T
        theta = np.clip(mean + sd * rng.standard_normal((n, len(mean))), low, high)
        return cls(
            data, theta, np.repeat(data.is_certain[None].astype(float), n, axis=0), np.full(n, 0.5)
        )

    # --- the parts of theta ------------------------------------------------------------------------

    def parts(self, theta: Floats | None = None) -> tuple[Floats, Floats, Floats, Floats]:
        """Lengthscales (P, d), squares of scale and noise, and the mean, (P,) each, in robust units."""
        theta = self.theta if theta is None else theta
        data, known = self.data, self.data.known
        d = data.d if known.kernel is None else 0
        lengthscales, scale2 = np.exp(theta[:, :d]), np.exp(2.0 * theta[:, d])
        n = len(theta)
        if known.noise_std is None:
            noise2 = np.exp(2.0 * theta[:, d + 1])
        else:
            noise2 = np.full(n, (known.noise_std / data.unit) ** 2)
        mean = (
            theta[:, -1]
            if known.center is None
            else np.full(n, (known.center - data.origin) / data.unit)
        )
        return lengthscales, scale2, noise2, mean

    def _bordered(self, theta: Floats, z: Floats) -> Floats:
        """Covariances of the readings, below the diagonal, bordered by what they are off the mean."""
        data = self.data
        lengthscales, scale2, noise2, mean = self.parts(theta)
        n = data.n
        matrix = np.zeros((len(theta), (n + 1) ** 2))
        if data.gram is None:
            values = _MATERN.of_squared_distance(lengthscales**-2.0 @ data.gaps)
            values *= scale2[:, None]
        else:
            values = scale2[:, None] * data.gram
        if data.together is not None:
            values += data.together
        matrix[:, data.lower] = values
        matrix = matrix.reshape(-1, n + 1, n + 1)
        places = np.arange(n)
        matrix[:, places, places] += data.noises(noise2) + _JITTER * scale2[:, None] + BIG * z
        matrix[:, n, :n] = (1.0 - z) * (data.y - mean[:, None])
        matrix[:, n, n] = 1e300
        return matrix

    def _log_density(self, theta: Floats, z: Floats | None = None) -> Floats:
        """ln p(theta) p(honest readings | theta, z), up to a constant, (P,)."""
        z = self.z if z is None else z
        factors = lower_factors(self._bordered(theta, z))
        n = self.data.n
        off, diag = factors[:, n, :n], np.diagonal(factors, axis1=1, axis2=2)[:, :n]
        mean, sd, low, high = self._prior.T
        value = -0.5 * np.einsum("pi,pi->p", off, off) - np.log(diag).sum(axis=1)
        value += 0.5 * math.log(BIG) * z.sum(axis=1)
        value -= 0.5 * (((theta - mean) / sd) ** 2).sum(axis=1)
        inside = ((theta >= low) & (theta <= high)).all(axis=1)
        return np.where(inside & np.isfinite(value), value, -np.inf)

    def _log_joint(self) -> Floats:
        """The same with the lies and their prior: ln p(theta, z, y), up to a constant, (P,)."""
        data, z = self.data, self.z
        n_lies = z.sum(axis=1)
        n_honest = data.n - n_lies
        together = (np.column_stack([z, np.zeros(len(z))])[:, data.before] * z).sum(axis=1)
        alone = data.log_lie + np.where(data.is_certain, 0.0, data.doubt)
        value: Floats = self._density - _HALF_LOG_2PI * n_honest + z @ alone
        value += betaln(A + n_lies, B + n_honest) + J * together + data.log_share[n_lies.astype(int)]
        return value

    # --- moves -------------------------------------------------------------------------------------

    def sweep(self, rng: np.random.Generator) -> None:
        """Three Metropolis moves of theta, then every verdict once, given all others."""
        n = len(self.theta)
        for _ in range(_N_MOVES):
            size = self._step * _MOVES[rng.integers(0, 3, n)]
            is_moved = rng.random(self.theta.shape) < 0.5
            moved = self.theta + size[:, None] * is_moved * rng.standard_normal(self.theta.shape)
            density = self._log_density(moved)
            is_accepted = np.log(rng.random(n)) < density - self._density
            self.theta = np.where(is_accepted[:, None], moved, self.theta)
            self._density = np.where(is_accepted, density, self._density)
            self._is_stale |= is_accepted
            self._step = np.clip(self._step * np.exp(0.15 * (is_accepted - _ACCEPTED)), 0.02, 2.0)
        self.judge(rng)

    def judge(self, rng: np.random.Generator) -> None:
        """Draw every verdict once, in an order of each chain's own, given all others."""
        data, z = self.data, self.z
        n_chains, n = z.shape
        rank = rng.permuted(np.tile(np.arange(n), (n_chains, 1)), axis=1)
        draws = rng.random((n_chains, n))
        self._solve()
        _, scale2, noise2, mean = self.parts()
        least = data.noises(noise2) + _JITTER * scale2[:, None]
        inverse, off = self._inverse, data.y - mean[:, None]
        read = (1.0 - z) * off
        dual = np.einsum("pij,pj->pi", inverse, read)
        start, chains = np.zeros(n_chains, dtype=np.intp), np.arange(n_chains)
        has_flipped = np.zeros(n_chains, dtype=bool)
        while True:
            honest = self._alone(off, read, dual, least)
            chance = self._chances(honest)
            flips = ((draws < chance) != (z > 0.5)) & ~data.is_certain & (rank >= start[:, None])
            place = np.where(flips, rank, n)
            i = place.argmin(axis=1)
            at = place[chains, i]
            who = np.flatnonzero(at < n)
            if not len(who):
                break
            i, k = i[who], who
            column = inverse[k, :, i].copy()
            own = column[np.arange(len(k)), i]
            is_lie = 1.0 - z[k, i]
            change = np.where(is_lie > 0.5, BIG, -BIG)
            kept = own * np.maximum(1.0 / own - BIG, least[k, i])  # of a lie that is honest from now on
            left = np.where(is_lie > 0.5, 1.0 + BIG * own, kept)
            inverse[k] -= (change / left)[:, None, None] * column[:, :, None] * column[:, None, :]
            column /= left[:, None]  # exact; as a difference, what is told of a lie loses its digits
            inverse[k, :, i] = inverse[k, i, :] = column
            told = np.where(is_lie > 0.5, 0.0, off[k, i]) - read[k, i]
            dual[k] -= (change * dual[k, i] - told)[:, None] * column
            read[k, i] += told
            z[k, i] = is_lie
            start[k] = at[who] + 1
            has_flipped[k] = True
        self.chance = chance
        k = np.flatnonzero(has_flipped)
        if len(k):
            self._density[k] = self._log_density(self.theta[k], z[k])

    def _without(self, off: Floats, read: Floats, dual: Floats, least: Floats) -> tuple[Floats, Floats]:
        """By how much each reading misses what all others say, and the variance of that, (P, n) each.

        The variance is at least that of the reading's own noise, (P, n): rounding may not take it below.
        """
        own = np.diagonal(self._inverse, axis1=1, axis2=2)
        var = np.maximum(1.0 / own - BIG * self.z, least)
        return off - read + dual / own, var

    def _alone(self, off: Floats, read: Floats, dual: Floats, least: Floats) -> Floats:
        """The log density of each reading given the others, if it is honest, (P, n)."""
        error, var = self._without(off, read, dual, least)
        alone: Floats = -0.5 * (error * error / var + np.log(var)) - _HALF_LOG_2PI
        return alone

    def _chances(self, honest: Floats) -> Floats:
        """The probability that each reading is a lie given the verdicts on all others, (P, n)."""
        data, z = self.data, self.z
        rest = z.sum(axis=1)[:, None] - z
        k = rest.astype(np.intp)
        among = np.column_stack([z, np.zeros(len(z))])
        near = among[:, data.before] + among[:, data.after]
        odds = np.log((A + rest) / (B + data.n - 1.0 - rest)) + J * near
        odds += data.log_share[k + 1] - data.log_share[k]
        chances: Floats = expit(data.log_lie - honest + odds + data.doubt)
        return chances

    def predicted(self) -> tuple[Floats, Floats]:
        """What all other readings say of each, and the variance of it around that, (P, n) each."""
        self._solve()
        _, scale2, noise2, mean = self.parts()
        least = self.data.noises(noise2) + _JITTER * scale2[:, None]
        off = self.data.y - mean[:, None]
        read = (1.0 - self.z) * off
        dual = np.einsum("pij,pj->pi", self._inverse, read)
        error, var = self._without(off, read, dual, least)
        return self.data.y - error, var

    def further(
        self,
        U: Floats,
        y: Floats,
        doubt: Floats,
        sem: Floats | None = None,
        shared: Floats | None = None,
    ) -> tuple[Floats, Floats, Floats]:
        """Of further readings, each compared with these alone: as if the others were not there.

        Args:
            U: Their points, (k, d).
            y: The readings, in the unit of the readings, (k,).
            doubt: As of `Data`, (k,).
            sem: Likewise.
            shared: Likewise, (k, m).

        Returns:
            The probability of a lie, what is expected, and the variance of it around that, (P, k) each.
        """
        data = self.data
        y = np.clip((y - data.origin) / data.unit, -FARTHEST, FARTHEST)
        mean, var = Belief(data, self).each(U, shared)
        noises = np.repeat(self.parts()[2][:, None], len(y), axis=1)
        if sem is not None:
            noises = np.where(np.isnan(sem), noises, (sem / data.unit) ** 2)
        var = var + noises
        honest = -0.5 * ((y - mean) ** 2 / var + np.log(var)) - _HALF_LOG_2PI
        n_lies = self.z.sum(axis=1)[:, None]
        odds = np.log((A + n_lies) / (B + data.n - n_lies))
        return expit(_log_lie(y) - honest + odds + doubt), mean, var

    def elsewhere(self, places: Ints) -> tuple[Floats, Floats]:
        """Mean and variance of f at a point by all readings but its own, these ones: (P, 1) each."""
        self._solve()
        if self.data.shared is not None:
            return Belief(self.data, self).without(places).each(self.data.U[places[:1]])
        _, scale2, noise2, mean = self.parts()
        read = (1.0 - self.z) * (self.data.y - mean[:, None])
        dual = np.einsum("pij,pj->pi", self._inverse, read)[:, places]
        block = np.linalg.inv(self._inverse[:, places[:, None], places])  # of readings, given the others
        off = read[:, places] - np.einsum("pij,pj->pi", block, dual)
        noise = self.data.noises(noise2)[:, places[0]] + _JITTER * scale2 + BIG * self.z[:, places[0]]
        var = np.maximum(block[:, 0, 0] - noise, 1e-12)
        return (mean + off[:, 0])[:, None], var[:, None]

    def sizes(self, center: float) -> tuple[Floats, Floats]:
        """RKHS norm of the posterior mean less a constant, and the largest |value| of that: (P,) each.

        Of f = sum_i dual_i s^2 k(., x_i), whose norm in k is s sqrt(dual' s^2 K dual).
        """
        self._solve()
        _, scale2, noise2, _ = self.parts()
        read = (1.0 - self.z) * (self.data.y - center)
        dual = np.einsum("pij,pj->pi", self._inverse, read)
        noise = self.data.noises(noise2) + _JITTER * scale2[:, None] + BIG * self.z
        values = read - noise * dual
        if self.data.shared is not None:
            values = values - dual @ self.data.shared @ self.data.shared.T
        norm2 = scale2 * (dual * values).sum(axis=1)
        return np.sqrt(np.maximum(norm2, 0.0)), np.abs(values).max(axis=1)

    def weights(self) -> tuple[Floats, Floats]:
        """Mean, (P, m), and covariance, (P, m, m), of the weights of what readings share besides f."""
        shared = self.data.shared
        assert shared is not None
        self._solve()
        read = (1.0 - self.z) * (self.data.y - self.parts()[3][:, None])
        mean: Floats = np.einsum("pij,pj->pi", self._inverse, read) @ shared
        covariance: Floats = np.eye(shared.shape[1]) - shared.T @ self._inverse @ shared
        return mean, covariance

    def typical(self) -> tuple[float, float, float]:
        """Scale, noise and mean, the median of each."""
        _, scale2, noise2, mean = self.parts()
        return math.sqrt(np.median(scale2)), math.sqrt(np.median(noise2)), float(np.median(mean))

    def continued(self, data: Data, places: Ints | None = None) -> "Hypotheses":
        """The same chains about more readings, of which no further one is a lie yet.

        Args:
            data: All of them.
            places: Where those that the chains are about stand among them; they come first if None.
        """
        own, known = self.data, data.known
        theta, d = self.theta.copy(), data.d if known.kernel is None else 0
        ratio = own.unit / data.unit  # from the old robust units to the new ones
        theta[:, d] += math.log(ratio)
        if known.noise_std is None:
            theta[:, d + 1] += math.log(ratio)
        if known.center is None:
            theta[:, -1] = (own.origin + own.unit * theta[:, -1] - data.origin) / data.unit
        theta = np.clip(theta, self._prior[:, 2], self._prior[:, 3])
        z = np.zeros((len(theta), data.n))
        z[:, slice(own.n) if places is None else places] = self.z
        return Hypotheses(data, theta, np.where(data.is_certain, 1.0, z), self._step.copy())

    def thinned(self, n: int) -> "Hypotheses":
        """n of the chains, evenly."""
        kept = np.linspace(0, len(self.theta) - 1, n).astype(int)
        return Hypotheses(self.data, self.theta[kept], self.z[kept].copy(), self._step[kept])

    def compete(self, rng: np.random.Generator) -> None:
        """Draw all chains anew, each with a probability as the square root of its joint density."""
        value = 0.5 * self._log_joint()
        weights = np.exp(value - value.max())
        kept = rng.choice(len(weights), len(weights), p=weights / weights.sum())
        self.theta, self.z = self.theta[kept], self.z[kept]
        self.chance = self.chance[kept]
        self._step, self._density = self._step[kept], self._density[kept]
        self._inverse, self._is_stale = self._inverse[kept], self._is_stale[kept]

    def _solve(self) -> None:
        """Bring the inverses of the covariances of the readings up to date."""
        stale = np.flatnonzero(self._is_stale)
        if len(stale):
            n = self.data.n
            matrix = self._bordered(self.theta[stale], self.z[stale])[:, :n, :n]
            self._inverse[stale] = inverses(matrix)
            self._is_stale[:] = False


class Belief:
    """What some hypotheses say of f, together: a mixture of Gaussian processes. Never changed.

    Args:
        data: The readings.
        hypotheses: Whose states are taken as they are now.
        pending: Points that are being read elsewhere, (p, d): each will be known, by whatever value.
    """

    def __init__(self, data: Data, hypotheses: "Hypotheses", pending: Floats | None = None) -> None:
        self._data = data
        self._kernel = data.known.kernel
        theta = hypotheses.theta
        lengthscales, self._scale2, noise2, self._mean = hypotheses.parts(theta)
        self._inverse_scales: Floats = 1.0 / lengthscales
        hypotheses._solve()
        self._inverse = hypotheses._inverse
        off = (1.0 - hypotheses.z) * (data.y - self._mean[:, None])
        self._dual: Floats = np.einsum("pij,pj->pi", self._inverse, off)
        self._U = data.U
        if pending is not None and len(pending):
            self._extend(pending, noise2)

    @property
    def n(self) -> int:
        """Number of readings, pending ones included."""
        return len(self._U)

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel of a hypothesis in the middle, without its scale."""
        middle = np.exp(-np.log(self._inverse_scales).mean(axis=0))
        return self._kernel or Matern(2.5, tuple(middle.tolist()))

    def _extend(self, pending: Floats, noise2: Floats) -> None:
        """Condition on readings at the pending points that are what is expected there."""
        cross = self._covariances(pending)
        weights = np.einsum("pij,pjk->pik", self._inverse, cross.transpose(0, 2, 1))
        U, n, p = self._U, len(self._U), len(pending)
        self._U = pending
        own = self._covariances(pending)
        self._U = np.concatenate([U, pending])
        own -= np.einsum("pkj,pjl->pkl", cross, weights)
        places = np.arange(p)
        own[:, places, places] += noise2[:, None] + _JITTER * self._scale2[:, None]
        corner = inverses(own)
        inverse = np.empty((len(cross), n + p, n + p))
        side = np.einsum("pik,pkl->pil", weights, corner)
        inverse[:, :n, :n] = self._inverse + np.einsum("pik,pjk->pij", side, weights)
        inverse[:, :n, n:] = -side
        inverse[:, n:, :n] = -side.transpose(0, 2, 1)
        inverse[:, n:, n:] = corner
        self._inverse = inverse
        self._dual = np.concatenate([self._dual, np.zeros((len(cross), p))], axis=1)

    def _covariances(self, X: Floats) -> Floats:
        """Of f at X, (k, d), with f at the points read, in each hypothesis: (P, k, n)."""
        if self._kernel is not None:
            values: Floats = self._scale2[:, None, None] * self._kernel(X, self._U)
            return values
        scales = self._inverse_scales[:, None, :]
        left, right = X * scales, self._U * scales
        r2 = (left * left).sum(axis=2)[:, :, None] + (right * right).sum(axis=2)[:, None, :]
        r2 -= 2.0 * left @ right.transpose(0, 2, 1)
        values = _MATERN.of_squared_distance(np.maximum(r2, 0.0))
        values *= self._scale2[:, None, None]
        return values

    def without(self, places: Ints) -> "Belief":
        """The same but for these of the readings."""
        other = copy.copy(self)
        kept = np.setdiff1d(np.arange(len(self._U)), places)
        corner = np.linalg.inv(self._inverse[:, places[:, None], places])
        side = self._inverse[:, kept[:, None], places]
        pulled = np.einsum("pij,pjk->pik", side, corner)
        other._U = self._U[kept]
        other._inverse = self._inverse[:, kept[:, None], kept] - np.einsum("pik,pjk->pij", pulled, side)
        other._dual = self._dual[:, kept] - np.einsum("pik,pk->pi", pulled, self._dual[:, places])
        return other

    def each(self, X: Floats, shared: Floats | None = None) -> tuple[Floats, Floats]:
        """Mean and variance of f at X, (k, d), in each hypothesis: (P, k) each, in robust units.

        Of what is read there without noise, where `shared` has the features of readings at X, (k, m).
        """
        size = max(1, _CHUNK // (len(self._scale2) * len(self._U)))
        if len(X) > size:
            cuts = [slice(start, start + size) for start in range(0, len(X), size)]
            parts = [self.each(X[cut], None if shared is None else shared[cut]) for cut in cuts]
            means, vars_ = zip(*parts, strict=True)
            return np.concatenate(means, axis=1), np.concatenate(vars_, axis=1)
        values = self._covariances(X)
        prior = self._scale2[:, None] * (1.0 if self._kernel is None else self._kernel.diag(X))
        if shared is not None and self._data.shared is not None:
            values += shared @ self._data.shared.T
            prior = prior + (shared * shared).sum(axis=1)
        mean = np.einsum("pkn,pn->pk", values, self._dual) + self._mean[:, None]
        var = prior - np.einsum("pkn,pkn->pk", values @ self._inverse, values)
        return mean, np.maximum(var, 0.0)

    def at(self, X: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation of f at X, (k, d), of all hypotheses together: robust units."""
        return mixed(*self.each(X))

    def value_and_gradient(self, x: Floats, beta: float) -> tuple[float, Floats]:
        """Mean + beta * standard deviation at x, (d,), of all hypotheses together, and its gradient."""
        if self._kernel is None:
            scaled = (x - self._U) * self._inverse_scales[:, None, :]
            r2 = np.einsum("pnd,pnd->pn", scaled, scaled)
            values = self._scale2[:, None] * _MATERN.of_squared_distance(r2)
            slope = (2.0 * self._scale2)[:, None] * _MATERN.slope_of_squared_distance(r2)
            scaled *= slope[:, :, None] * self._inverse_scales[:, None, :]
            steps, prior, prior_ = scaled, self._scale2, np.zeros((len(self._scale2), len(x)))
        else:
            values = self._scale2[:, None] * self._kernel(self._U, x[None])[:, 0]
            steps = self._scale2[:, None, None] * self._kernel.gradient(self._U, x)
            prior = self._scale2 * self._kernel.diag(x[None])[0]
            prior_ = self._scale2[:, None] * self._kernel.diag_gradient(x)
        pulled = np.einsum("pij,pj->pi", self._inverse, values)
        mean = (values * self._dual).sum(axis=1) + self._mean
        var = np.maximum(prior - (values * pulled).sum(axis=1), 1e-12)
        mean_ = np.einsum("pn,pnd->pd", self._dual, steps)
        var_ = prior_ - 2.0 * np.einsum("pn,pnd->pd", pulled, steps)
        middle, middle_ = mean.mean(), mean_.mean(axis=0)
        total = max(float((var + mean * mean).mean() - middle * middle), 1e-12)
        total_ = (var_ + 2.0 * mean[:, None] * mean_).mean(axis=0) - 2.0 * middle * middle_
        sd = math.sqrt(total)
        return float(middle + beta * sd), middle_ + 0.5 * beta / sd * total_


def mixed(mean: Floats, var: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation of equal shares of Gaussians, (P, k) each: (k,) each."""
    middle = mean.mean(axis=0)
    return middle, np.sqrt(var.mean(axis=0) + ((mean - middle) ** 2).mean(axis=0))
