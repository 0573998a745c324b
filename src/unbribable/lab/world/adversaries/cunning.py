"""Attacks that depend on chance, on the learner's posterior, or on another attack."""

import numpy as np

from unbribable.lab.world.adversaries.base import Adversary, Observation, View
from unbribable.lab.world.adversaries.fixed import check_target, default_decoy
from unbribable.lab.world.objectives import Objective
from unbribable.model import checks
from unbribable.model.checks import Bools, Floats
from unbribable.model.kernels import Kernel
from unbribable.model.posterior import Posterior


class RandomLies(Adversary):
    """Normal lies of the given mean and standard deviation, with a given frequency. Knows nothing."""

    def __init__(self, *, std: float, mean: float = 0.0, frequency: float = 1.0) -> None:
        self._std = checks.real("std", std, at_least=0.0)
        self._mean = checks.real("mean", mean)
        self._frequency = checks.real("frequency", frequency, at_least=0.0, at_most=1.0)

    def commit(self, view: View, rng: np.random.Generator) -> Floats:
        size = len(view.indices)
        lies = rng.normal(self._mean, self._std, size)
        lies[rng.random(size) >= self._frequency] = 0.0
        return lies


class WidthAware(Adversary):
    """Spends where it moves the learner's mean most: down at x*, up at a decoy.

    It computes the learner's posterior of all readings itself: the learner's kernel, its lam and the
    past are public. A lie c at x moves the mean at z by c * Cov(x, z) / (Var(x) + lam). The full cap is
    spent, in the direction that lowers mu(x*) - mu(decoy), where that difference moves by at least
    `threshold` times the lie. The decoy is a candidate's index, by default the best one at least
    `decoy_distance` from x*.
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
        self._kernel = kernel
        self._X = objective.X
        self._lam = checks.real("lam", lam, above=0.0)
        decoy = default_decoy(objective, decoy_distance) if decoy is None else decoy
        self._goals = np.array([objective.best, decoy])
        self._threshold = checks.real("threshold", threshold, at_least=0.0)
        self.reset()

    def commit(self, view: View, rng: np.random.Generator) -> Floats:
        if view.left <= 0.0:
            return np.zeros(len(view.indices))
        posterior, rows = self._posterior, self._X[view.indices]
        covariance = self._kernel(rows, self._X[self._goals])
        if posterior.m:
            pull = self._kernel(rows, self._X[posterior.u]) * posterior.prec
            covariance = covariance - pull @ posterior.R[:, self._goals]
        effect = (covariance[:, 0] - covariance[:, 1]) / (posterior.var[view.indices] + self._lam)
        most = min(view.c_max, view.left)
        return np.where(np.abs(effect) >= self._threshold, -np.sign(effect) * most, 0.0)

    def saw(self, index: int, instance: str | None, observation: Observation) -> None:
        self._posterior.observe(index, observation.y_tilde)

    def reset(self) -> None:
        self._posterior = Posterior(self._kernel, self._X, self._lam, tracks_noise_var=False)


class Wrapper(Adversary):
    """Abstract. Another attack's lies, changed; what that attack is told is passed on."""

    _base: Adversary

    def saw(self, index: int, instance: str | None, observation: Observation) -> None:
        self._base.saw(index, instance, observation)

    def reset(self) -> None:
        self._base.reset()


class Silent(Wrapper):
    """Another attack's lies, cut at `n_std` standard deviations of the noise: no reading stands out."""

    def __init__(self, base: Adversary, *, noise_std: float, n_std: float = 2.0) -> None:
        self._base, self.needs_strong = base, base.needs_strong
        noise_std = checks.real("noise_std", noise_std, above=0.0)
        self._band = checks.real("n_std", n_std, above=0.0) * noise_std

    def commit(self, view: View, rng: np.random.Generator) -> Floats:
        lies: Floats = np.clip(self._base.commit(view, rng), -self._band, self._band)
        return lies


class Later(Wrapper):
    """Another attack's lies, from the round on in which the player's own bounds rule somebody out.

    A candidate is ruled out if its upper bound is below another's lower bound. Against a player that
    claims no bounds it waits for round `start`.
    """

    def __init__(self, base: Adversary, *, start: int = 1000) -> None:
        self._base, self.needs_strong = base, base.needs_strong
        self._start = checks.integer("start", start, at_least=1)
        self._has_begun = False

    def commit(self, view: View, rng: np.random.Generator) -> Floats:
        lies = self._base.commit(view, rng)
        if not self._has_begun:
            bounds = view.bounds()
            self._has_begun = (
                view.t >= self._start if bounds is None else bool((bounds[1] < bounds[0].max()).any())
            )
        return lies if self._has_begun else np.zeros(len(view.indices))

    def reset(self) -> None:
        super().reset()
        self._has_begun = False


class InstanceTargeting(Wrapper):
    """Another attack's lies, told only to one instance, such as "slow". It must see the draw."""

    needs_strong = True

    def __init__(self, base: Adversary, *, instance: str) -> None:
        self._base, self._instance = base, instance

    def commit(self, view: View, rng: np.random.Generator) -> Floats:
        is_target = [self._instance in labels for labels in view.instances]
        return np.where(is_target, self._base.commit(view, rng), 0.0)


class AdaptiveStrength(Adversary):
    """Another attack's lies, weaker while the learner stays in the target, stronger when it leaves.

    The strength multiplies the lies themselves. It is multiplied by (1 - step) when the last `patience`
    rounds were all in the target, else by (1 + step). The target is (n,) booleans.
    """

    def __init__(self, base: Adversary, target: Bools, *, step: float = 0.1, patience: int = 3) -> None:
        self._base, self.needs_strong = base, base.needs_strong
        self.target: Bools = check_target(target, len(target))
        self._step = checks.real("step", step, above=0.0, below=1.0)
        self._patience = checks.integer("patience", patience, at_least=1)
        self.strength, self._n_inside = 1.0, 0

    def commit(self, view: View, rng: np.random.Generator) -> Floats:
        return self.strength * self._base.commit(view, rng)

    def saw(self, index: int, instance: str | None, observation: Observation) -> None:
        self._base.saw(index, instance, observation)
        self._n_inside = self._n_inside + 1 if self.target[index] else 0
        is_won = self._n_inside >= self._patience
        self.strength *= 1.0 - self._step if is_won else 1.0 + self._step
        self.strength = min(max(self.strength, 1e-6), 1e6)  # a long game must not overflow

    def reset(self) -> None:
        self._base.reset()
        self.strength, self._n_inside = 1.0, 0
