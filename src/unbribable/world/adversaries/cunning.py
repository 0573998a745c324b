"""Attacks that follow the learner: its posterior, its residuals, or the instance it drew."""

import numpy as np

from unbribable.model import checks
from unbribable.model.checks import Floats
from unbribable.model.kernels import Kernel
from unbribable.model.posterior import Posterior
from unbribable.world.adversaries.base import Adversary, Observation, View
from unbribable.world.adversaries.pointwise import default_decoy
from unbribable.world.objectives import Objective


class WidthAware(Adversary):
    """Spends where it moves the learner's mean most: down at x*, up at a decoy.

    It keeps the learner's posterior of all readings itself (kernel, lam and the past are public).
    A lie c at x moves the mean at z by c * Cov(x, z) / (Var(x) + lam); the full cap is spent, in
    the direction that lowers mu(x*) - mu(decoy), where that difference moves by at least
    `threshold` times the lie.

    Args:
        objective: The true function.
        kernel: The learner's.
        lam: The learner's.
        decoy: Its index; by default the best point at least `decoy_distance` from x*.
        decoy_distance: See decoy.
        threshold: Smallest effect per unit of budget that is worth it.
    """

    def __init__(
        self,
        objective: Objective,
        *,
        kernel: Kernel,
        lam: float,
        decoy: int | None = None,
        decoy_distance: float = 0.2,
        threshold: float = 0.1,
    ) -> None:
        self._objective = objective
        self._kernel = kernel
        self._lam = checks.real("lam", lam, above=0.0)
        self._decoy = default_decoy(objective, decoy_distance) if decoy is None else decoy
        self._threshold = checks.real("threshold", threshold, at_least=0.0)
        self._posterior = Posterior(kernel, objective.X, self._lam, tracks_noise_var=False)

    def commit(self, view: View, rng: np.random.Generator) -> Floats:
        if view.left <= 0.0:
            return np.zeros(len(view.indices))
        goals = np.array([self._objective.best, self._decoy])
        covariance = self._covariance(view.indices, goals)
        effect = (covariance[:, 0] - covariance[:, 1]) / (self._posterior.var[view.indices] + self._lam)
        most = min(view.c_max, view.left)
        return np.where(np.abs(effect) >= self._threshold, -np.sign(effect) * most, 0.0)

    def saw(self, index: int, instance: str | None, observation: Observation) -> None:
        self._posterior.observe(index, observation.y_tilde)

    def reset(self) -> None:
        self._posterior = Posterior(self._kernel, self._objective.X, self._lam, tracks_noise_var=False)

    def _covariance(self, rows: np.ndarray, columns: np.ndarray) -> Floats:
        """Posterior covariance between candidates: k - k_u' D R, (len(rows), len(columns))."""
        X, posterior = self._objective.X, self._posterior
        prior = self._kernel(X[rows], X[columns])
        if not posterior.m:
            return prior
        pull = self._kernel(X[rows], X[posterior.u]) * posterior.prec
        covariance: Floats = prior - pull @ posterior.R[:, columns]
        return covariance


class Silent(Adversary):
    """Another attack's lies, cut so that no reading stands out.

    No lie exceeds `n_std` standard deviations of the noise, so each residual looks like noise.

    Args:
        base: The attack whose lies are cut.
        noise_std: Of the noise.
        n_std: Half-width of the band.
    """

    def __init__(self, base: Adversary, *, noise_std: float, n_std: float = 2.0) -> None:
        self._base = base
        self.needs_strong = base.needs_strong
        noise_std = checks.real("noise_std", noise_std, above=0.0)
        self._band = checks.real("n_std", n_std, above=0.0) * noise_std

    def commit(self, view: View, rng: np.random.Generator) -> Floats:
        lies: Floats = np.clip(self._base.commit(view, rng), -self._band, self._band)
        return lies

    def saw(self, index: int, instance: str | None, observation: Observation) -> None:
        self._base.saw(index, instance, observation)

    def reset(self) -> None:
        self._base.reset()


class InstanceTargeting(Adversary):
    """Another attack's lies, told only to one instance. Strong only: it must see the draw.

    Args:
        base: The attack whose lies are told.
        instance: The label it waits for, for example "slow".
    """

    needs_strong = True

    def __init__(self, base: Adversary, *, instance: str) -> None:
        self._base = base
        self._instance = instance

    def commit(self, view: View, rng: np.random.Generator) -> Floats:
        lies = self._base.commit(view, rng)
        is_target = [self._instance in labels for labels in view.instances]
        return np.where(is_target, lies, 0.0)

    def saw(self, index: int, instance: str | None, observation: Observation) -> None:
        self._base.saw(index, instance, observation)

    def reset(self) -> None:
        self._base.reset()
