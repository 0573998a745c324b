"""Bounds on how much better one point is than another: the errors that both share cancel (ours).

Everything that is proven about f(x) is proven about any linear functional l(f) = sum_k a_k f(x_k), on
the same event and for all l and all times at once: a width rests on l only through its mean l(mu), its
variance and its weights, which are linear in l or a norm of it. Here l(f) = f(x) - f(x_rec). So

    |l(mu) - l(f)| <= noise(l) + shift(l)

with no further delta, and x, x_rec, C and the time may all be chosen after looking at the readings.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from unbribable.model.checks import Floats, Ints
from unbribable.model.posterior import DRIFT_TOLERANCE
from unbribable.theory.widths import ROUNDING, noise_width_tight, shift_exact

_ELEMENTS = 1 << 20
"""Entries of R looked at in one go: bounds the memory."""

N_BLOCK = 256
"""Candidates whose knapsack is solved in one go, the most promising ones first."""


class Differences:
    """What one instance believes of f(x) - f(x_rec), for every candidate x (ours).

        mu(l)    = mu(x) - mu(x_rec)
        var(l)   = var(x) + var(x_rec) - 2 Cov(x, x_rec)
        R[j, l]  = R[j, x] - R[j, x_rec],    weight of a reading of u_j with noise lam_i: R[j, l] / lam_i

    Under each root `DRIFT_TOLERANCE * (var(x) + var(x_rec))` is added, since var(l) is a difference and
    can be far smaller than the errors of its parts. So is a weight of l: ROUNDING times the largest
    weights at x and at x_rec is added to its size. O(m n).

    Args:
        rec: The candidate that the others are compared with.
        mu: Posterior mean, (n,).
        var: Posterior variance, (n,).
        covariance: Posterior covariance of every candidate with `rec`, (n,).
        columns: Candidates -> posterior covariance of the m points read with them, (m, k).
        prec: Precision gathered at each point read, (m,).
        rows: Of each item (readings of one point with one noise): which point read, (n_items,).
        lams: Its fictitious noise, (n_items,).
        counts: How many readings it stands for, (n_items,).

    Attributes:
        mu: mu(x) - mu(x_rec), (n,).
        sigma: Standard deviation of the difference, (n,).
        unlearned: Norm of what the readings leave open of l: B times that bounds the bias, (n,).
        largest: The largest `sizes` of one reading, (n,).
        counts: As given.
    """

    def __init__(
        self,
        rec: int,
        mu: Floats,
        var: Floats,
        covariance: Floats,
        columns: Callable[[Ints], Floats],
        prec: Floats,
        rows: Ints,
        lams: Floats,
        counts: Floats,
    ) -> None:
        self.rec = rec
        self.counts = counts
        self._columns = columns
        self._column = columns(np.array([rec]))
        self._rows, self._lams = rows, lams
        n, m = len(mu), len(prec)
        heaviest = np.zeros(m)  # 1 / lam of the heaviest item of each point
        np.maximum.at(heaviest, rows, 1.0 / lams)
        noise_var, self.largest, single = np.zeros(n), np.zeros(n), np.zeros(n)
        n_block = max(1, _ELEMENTS // max(1, m))
        for start in range(0, n, n_block):
            part = np.arange(start, min(start + n_block, n))
            column = columns(part)
            single[part] = np.max(np.abs(column) * heaviest[:, None], axis=0, initial=0.0)
            column = column - self._column
            noise_var[part] = np.einsum("j,jx,jx->x", prec, column, column)
            self.largest[part] = np.max(np.abs(column) * heaviest[:, None], axis=0, initial=0.0)
        self._rounding: Floats = ROUNDING * (single + single[rec])
        self.largest += self._rounding
        slack = DRIFT_TOLERANCE * (var + var[rec])
        var = var + var[rec] - 2.0 * covariance
        self.mu: Floats = mu - mu[rec]
        self.sigma: Floats = np.sqrt(np.maximum(var, 0.0) + slack)
        self.unlearned: Floats = np.sqrt(np.maximum(var - noise_var, 0.0) + slack)

    @property
    def others(self) -> Ints:
        """Every candidate but `rec`."""
        return np.delete(np.arange(len(self.mu)), self.rec)

    def weights(self, indices: Ints, rows: Ints | None = None, lams: Floats | None = None) -> Floats:
        """Weight of one reading of each item in the difference of the means: (n_items, k).

        Args:
            indices: The candidates x.
            rows: In place of the items, other readings: which point read each is of.
            lams: Their fictitious noises.
        """
        rows, lams = (self._rows, self._lams) if rows is None or lams is None else (rows, lams)
        weights: Floats = (self._columns(indices) - self._column)[rows] / lams[:, None]
        return weights

    def sizes(self, indices: Ints) -> Floats:
        """|weight| of a reading of each item, with what rounding may have taken off: (n_items, k)."""
        sizes: Floats = np.abs(self.weights(indices)) + self._rounding[indices]
        return sizes

    def noise(self, B: float, rho: float, kind: str) -> Floats:
        """The noise part of the width of the difference, (n,).

            "tight":  min( sqrt(B^2 + rho^2) * sigma, B * unlearned + rho * sigma ),   rho = rho(delta/2)
            "paper":  B * unlearned + rho * sigma,                                     rho = rho(delta)

        Proof. The two forms of `noise_width_tight` and Lemma 1's noise term hold for l as for a point:
        the ellipsoid |f - mu|_V bounds |l(f - mu)| by its dual norm sigma(l), and the bias is at most B
        times the norm of l less its weights, `rkhs_bias`. They are the instance's own events. QED
        """
        if kind == "paper":
            return B * self.unlearned + rho * self.sigma
        return noise_width_tight(B, rho, self.sigma, B * self.unlearned)

    def shift(self, indices: Ints, C: float, cap: float) -> Floats:
        """The worst shift of the difference by corruption C, at these candidates: as `shift_exact`."""
        return shift_exact(self.sizes(indices), self.counts, C, cap)


@dataclass(frozen=True, eq=False)
class DifferenceBounds:
    """An instance whose bounds hold: its differences, their noise part, and its budget."""

    differences: Differences
    noise: Floats
    """Noise part of the width of each difference, (n,)."""
    C: float
    """The corruption that can reach this instance."""
    cap: float
    """The largest single lie."""

    @property
    def ceiling(self) -> Floats:
        """An upper bound on f(x) - f(x_rec) that needs no knapsack, (n,): no lie moves more than the
        largest weight."""
        return self.differences.mu + self.noise + self.C * self.differences.largest

    def upper(self, indices: Ints) -> Floats:
        """D(x) = mu(l) + noise(l) + shift(l), at least f(x) - f(x_rec), at these candidates."""
        shift = self.differences.shift(indices, self.C, self.cap)
        return self.differences.mu[indices] + self.noise[indices] + shift


def paired_certificate(rec: int, single: Floats, sources: Sequence[DifferenceBounds]) -> float:
    """By how much any candidate can be better than `rec`, at most (ours).

        max( 0, max over x != rec of min( single(x), min over instances of D(x) ) )

    Proof. On the event of the trusted instances every term of the inner minimum is at least
    f(x) - f(x_rec), and x_rec is no better than itself. QED
    At most the certificate of the single bounds, whatever the pairs say. The knapsack is solved only
    where the maximum can still lie.

    Args:
        rec: The candidate recommended.
        single: min(ucb_v(x), B0) - max(lcb_v(rec), -B0) at every candidate, (n,).
        sources: One for each trusted instance; all of them hold on one event.
    """
    ceiling = np.min([single, *(source.ceiling for source in sources)], axis=0)
    ceiling[rec] = 0.0
    order = np.argsort(-ceiling, kind="stable")
    certificate = 0.0
    for start in range(0, len(order), N_BLOCK):
        part = order[start : start + N_BLOCK]
        part = part[ceiling[part] > certificate]
        if not len(part):
            break
        bounds = [ceiling[part], *(source.upper(part) for source in sources)]
        certificate = max(certificate, float(np.min(bounds, axis=0).max()))
    return certificate
