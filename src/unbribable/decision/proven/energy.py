"""The bounds that the energy of honest noise gives, at several fictitious noises at once (ours)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unbribable.model.checks import Floats
from unbribable.model.elsewhere import Elsewhere
from unbribable.model.posterior import DRIFT_TOLERANCE, Posterior
from unbribable.model.tally import Heard
from unbribable.theory.assumptions import Assumptions
from unbribable.theory.energy import energy_radius2, fictitious_noises, noise_energy
from unbribable.theory.widths import Proportional


@dataclass(eq=False)
class Form:
    """Holds changing state: the posterior at one fictitious noise eta, and q = y' (K + eta I)^-1 y."""

    posterior: Posterior
    q: float = 0.0

    def observe(self, i: int, y: float, omega: float, prior: Floats | None = None) -> None:
        """Take in a reading whose noise variance is omega times the assumed one. O(m n).

        `prior` as in `Posterior.observe`.
        """
        p, eta = self.posterior, self.posterior.lam * omega
        self.q += (y - float(p.mu[i])) ** 2 / (float(p.var[i]) + eta)
        p.observe(i, y, eta, prior)

    def observe_all(self, readings: Sequence[Heard]) -> None:
        """Take in readings (candidate, y, omega) at once, before any other. O(m^2 n)."""
        p = self.posterior
        scaled = [(i, y, p.lam * omega) for i, y, omega in readings]
        p.observe_all(scaled)
        ybar = p.ybar
        within = sum((y - ybar[p.tally.row[i]]) ** 2 / eta for i, y, eta in scaled)
        self.q = float(within + ybar @ p.system().factor.solve(ybar))


class EnergyBounds:
    """Holds changing state: what honest readings say by the norm they leave, see `energy_radius2`.

    Upper and lower bounds at every candidate, the best over the fictitious noises. Where some radius has
    no root a reading is certainly a lie: then upper is -inf and lower inf everywhere.

    Args:
        X: The candidates as the kernel sees them, (n, d).
        assumptions: What the bounds rest on.
        delta: The probability with which the noises may exceed their energy.
    """

    def __init__(self, X: Floats, assumptions: Assumptions, delta: float) -> None:
        self._B = assumptions.B
        self._noise_std = assumptions.noise_std
        self._delta = delta
        self._n = 0
        self.forms = [
            Form(Posterior(assumptions.kernel, X, eta, tracks_noise_var=False))
            for eta in fictitious_noises(assumptions)
        ]
        self._work_out()

    @property
    def is_spoilt(self) -> bool:
        """Whether a reading is certainly a lie."""
        return any(math.isnan(factor) for factor in self.factors)

    def intersected(self, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
        """The better of these bounds and its own."""
        return np.maximum(lower, self.lower), np.minimum(upper, self.upper)

    def widened(self, factor: Floats | float) -> Floats:
        """The upper bounds with widths of that many times their size, (n,); `factor` may be (n,)."""
        if self.is_spoilt:
            return self.upper
        upper: Floats = (self._mu + factor * self._width).min(axis=0)
        return upper

    def elsewhere(self) -> list["FormElsewhere"]:
        """The forms at points that need not be candidates; good until the next reading."""
        return [
            FormElsewhere(Elsewhere(form.posterior), factor)
            for form, factor in zip(self.forms, self.factors, strict=True)
        ]

    def observe(self, i: int, y: float, omega: float, prior: Floats | None = None) -> None:
        """Take in a reading whose noise variance is omega times the assumed one.

        `prior` as in `Posterior.observe`.
        """
        self._n += 1
        for form in self.forms:
            form.observe(i, y, omega, prior)
        self._work_out()

    def observe_all(self, readings: Sequence[Heard]) -> None:
        """Take in readings (candidate, y, omega) at once, before any other."""
        self._n = len(readings)
        for form in self.forms:
            form.observe_all(readings)
        self._work_out()

    def extend(self, X: Floats) -> None:
        """Take in further candidates: X is all of them, the old ones first."""
        for form in self.forms:
            form.posterior.extend(X)
        self._work_out()

    def _work_out(self) -> None:
        """The factor of sigma_eta in each form, NaN where there is none, and the best bounds.

        The drift that a posterior is allowed is allowed for, in q and in the variance.
        """
        energy = noise_energy(self._noise_std, self._n, self._delta)
        radii2 = [
            float(energy_radius2(self._B, energy, form.posterior.lam, form.q * (1.0 - DRIFT_TOLERANCE)))
            for form in self.forms
        ]
        self.factors = [
            math.sqrt(radius2 * (1.0 + DRIFT_TOLERANCE)) if radius2 >= 0.0 else math.nan
            for radius2 in radii2
        ]
        n = len(self.forms[0].posterior.mu)
        if self.is_spoilt:
            self.upper: Floats = np.full(n, -np.inf)
            self.lower: Floats = np.full(n, np.inf)
            return
        self._mu = np.array([form.posterior.mu for form in self.forms])
        var = np.array([form.posterior.var for form in self.forms])
        self._width = np.array(self.factors)[:, None] * np.sqrt(var)
        self.upper = (self._mu + self._width).min(axis=0)
        self.lower = (self._mu - self._width).max(axis=0)


@dataclass(frozen=True)
class FormElsewhere:
    """One form at any point of the space."""

    elsewhere: Elsewhere
    factor: float
    """Of sigma_eta; NaN where a reading is certainly a lie."""

    def upper(self, U: Floats, widening: Floats | float) -> Floats:
        """mu_eta + widening * width at points U, (k, d)."""
        at = self.elsewhere.at(U)
        if math.isnan(self.factor):
            return np.full(len(U), -np.inf)
        upper: Floats = at.mu + widening * self.factor * at.sigma
        return upper

    def upper_and_gradient(self, u: Floats, widening: float, widening_: Floats) -> tuple[float, Floats]:
        """The same at one point, (d,), with its gradient; `widening_` is that of the widening."""
        at = self.elsewhere.at(u[None, :])
        if math.isnan(self.factor):
            return -math.inf, np.zeros(len(u))
        width = Proportional(self.factor)
        mu_, _, width_ = self.elsewhere.gradients(u, at, width.slope(at))
        value = float(width.value(at)[0])
        return float(at.mu[0]) + widening * value, mu_ + widening * width_ + widening_ * value
