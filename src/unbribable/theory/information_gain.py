"""Certified bounds on the largest possible information gain."""

import math
from typing import Any

import numpy as np

from unbribable.model import checks
from unbribable.model.checks import Floats
from unbribable.model.kernels import Kernel
from unbribable.model.posterior import Posterior
from unbribable.model.solve import Factor

_N_GREEDY = 512
"""Largest anchor that starts from a greedy design; a later one starts from the one before, doubled."""

_N_STEPS = 12
"""Frank-Wolfe steps per anchor."""


class MaxInformationGain:
    """Bounds on gamma_t over a finite candidate set. Holds changing state: what it has computed.

    gamma_t = max over x_1..x_t of 0.5 ln det(I + K_t / lam) [BKS20, Eq. 6]. `upper(t)` is the least of

    * t/2 * ln(1 + k_max / lam);
    * greedy(t) / (1 - 1/e), the gain being submodular;
    * (ours) F(w) + t * max_i g_i - sum_i w_i g_i for weights w >= 0, where
      F(w) = 0.5 ln det(I + lam^-1 W^(1/2) K W^(1/2)) is concave, g_i = 0.5 Var_w(x_i) / lam is its
      gradient and Var_w the posterior variance under noise lam / w_i.
      Proof. A design of t readings is a w' >= 0 of sum t, and F(w') <= F(w) + g'(w' - w)
      <= F(w) + t max g - g'w. QED  w need not sum to t, so a few anchors serve every t; they are
      greedy designs improved by Frank-Wolfe steps;
    * r/2 * ln(1 + t k_max / (lam r)) for a kernel of r features.
    """

    def __init__(self, kernel: Kernel, X: Floats, lam: float) -> None:
        kernel.check(X)
        self.kernel = kernel
        self.X = X
        self.lam = checks.real("lam", lam, above=0.0)
        self._k_max = float(kernel.diag(X).max())
        self._rank = kernel.rank(X)
        self._greedy = Posterior(kernel, X, self.lam, tracks_noise_var=False)
        self._gains = [0.0]
        self._lines: list[tuple[float, float]] = []
        self._anchor = 0
        self._weights: Floats = np.zeros(len(X))

    def __call__(self, t: Any) -> Any:
        """`upper(t)`."""
        return self.upper(t)

    def lower(self, t: int) -> float:
        """Gain of the greedy design of t readings: at most gamma_t."""
        t = checks.integer("t", t, at_least=0)
        while len(self._gains) <= t:
            self._greedy.observe(int(np.argmax(self._greedy.var)), 0.0)
            self._gains.append(self._greedy.gain)
        return self._gains[t]

    def upper(self, t: Any) -> Any:
        """A number that gamma_t does not exceed; for a number or an array of them."""
        times = np.asarray(t, dtype=np.float64)
        self._extend(int(times.max(initial=0)))
        bound, r = 0.5 * times * math.log1p(self._k_max / self.lam), self._rank
        if r:
            bound = np.minimum(bound, 0.5 * r * np.log1p(times * self._k_max / (self.lam * r)))
        for offset, slope in self._lines:
            bound = np.minimum(bound, offset + slope * times)
        is_known = times < len(self._gains)
        greedy = np.asarray(self._gains)[np.where(is_known, times, 0).astype(int)] / (1 - 1 / math.e)
        bound = np.where(is_known, np.minimum(bound, greedy), bound)
        return float(bound) if np.ndim(t) == 0 else bound

    def _extend(self, t: int) -> None:
        """Anchors at 1, 2, 4, ... until one is at least t."""
        while self._anchor < t:
            self._anchor = max(1, 2 * self._anchor)
            if self._anchor <= _N_GREEDY:
                self.lower(self._anchor)
                weights = np.zeros(len(self.X))
                weights[self._greedy.u] = self._greedy.prec * self.lam
            else:
                weights = 2.0 * self._weights
            self._improve(weights)

    def _improve(self, weights: Floats) -> None:
        """Frank-Wolfe steps from the given weights; each one adds its line to the bounds.

        A step first moves mass within the support towards larger gradients (w_i *= g_i / average g),
        then a share of it to the candidate of largest gradient.
        """
        total = weights.sum()
        for step in range(_N_STEPS):
            weights = np.where(weights > 1e-12 * total, weights, 0.0)
            value, gradient = self._value_and_gradient(weights)
            used = float(weights @ gradient)
            if used <= 0.0:  # nothing to learn anywhere: the kernel vanishes on the domain
                break
            best = int(np.argmax(gradient))
            self._lines.append((value - used, float(gradient[best])))
            weights = weights * gradient * (total / used)
            share = 0.0 if weights[best] > 0.0 else 1.0 / (step + 2.0) / max(2.0, total)
            weights = (1.0 - share) * weights
            weights[best] += share * total
        self._weights = weights

    def _value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        used = np.flatnonzero(weights)
        prec = weights[used] / self.lam
        cross = self.kernel(self.X[used], self.X)
        system = cross[:, used].copy()
        system[np.diag_indices(len(used))] += 1.0 / prec
        factor = Factor(system)
        var = self.kernel.diag(self.X) - np.einsum("jx,jx->x", cross, factor.solve(cross))
        value = factor.half_log_det + 0.5 * float(np.sum(np.log(prec)))
        return value, 0.5 * np.maximum(var, 0.0) / self.lam
