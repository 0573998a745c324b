"""An attack that computes how much it must lie, and lies no more."""

import math

import numpy as np

from unbribable.lab.world.adversaries.base import Adversary, Observation, View
from unbribable.lab.world.objectives import Objective
from unbribable.model import checks
from unbribable.model.checks import Floats
from unbribable.model.kernels import Kernel
from unbribable.model.posterior import Posterior


class JustEnough(Adversary):
    """Lies within `radius` of the maximiser by the least that makes the learner look elsewhere for good.

    It keeps the posterior of all readings itself, as a learner without corruption in mind does, and its
    upper bound mu + B sqrt(var - noise_var) + rho sigma (at delta = 0.1). After a reading y of x, with
    k = var / (var + lam), the mean there is (1 - k) mu + k y, sigma sqrt(1 - k) times and the bias 1 - k
    times what they were. So the largest y is known for which the bound at x falls below the best value
    of f elsewhere, less `margin`: there the learner settles. It tells that, and the truth where the
    truth is lower.
    """

    def __init__(
        self,
        objective: Objective,
        *,
        kernel: Kernel,
        lam: float,
        noise_std: float,
        radius: float,
        margin: float = 0.1,
    ) -> None:
        if objective.norm is None:
            raise ValueError(f"just_enough needs the norm of f, that of {objective.name} is not known")
        self._objective, self._kernel = objective, kernel
        self._B = objective.norm
        self._lam = checks.real("lam", lam, above=0.0)
        self._scale = checks.real("noise_std", noise_std, at_least=0.0) / math.sqrt(self._lam)
        self._is_near = objective.near(objective.best, checks.real("radius", radius, above=0.0))
        if self._is_near.all():
            raise ValueError(f"radius must leave points to look at, got radius={radius}")
        elsewhere = objective.f[~self._is_near].max()
        self._ceiling = float(elsewhere) - checks.real("margin", margin, at_least=0.0)
        self.reset()

    def commit(self, view: View, rng: np.random.Generator) -> Floats:
        posterior, rows, f = self._posterior, view.indices, self._objective.f[view.indices]
        if view.left <= 0.0 or not self._is_near[rows].any():
            return np.zeros(len(rows))
        rho = self._scale * math.sqrt(2.0 * (posterior.gain + math.log(2.0 / 0.1)))
        var = posterior.var[rows]
        k = var / (var + self._lam)
        bias = (1.0 - k) * self._B * np.sqrt(np.maximum(var - posterior.noise_var[rows], 0.0))
        width = bias + rho * np.sqrt((1.0 - k) * var)
        told = (self._ceiling - width - (1.0 - k) * posterior.mu[rows]) / np.maximum(k, 1e-12)
        return np.where(self._is_near[rows], np.minimum(told - f, 0.0), 0.0)

    def saw(self, index: int, instance: str | None, observation: Observation) -> None:
        self._posterior.observe(index, observation.y_tilde)

    def reset(self) -> None:
        self._posterior = Posterior(self._kernel, self._objective.X, self._lam)
