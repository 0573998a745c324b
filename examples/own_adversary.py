"""An adversary of your own: it lowers every reading that would be better than the one before it.

In a spec beside this file: kind = "own_adversary:Grudge" and height = 0.4 (see own_sweep.toml).
"""

import numpy as np

from unbribable.lab.world.adversaries import Adversary


class Grudge(Adversary):
    """Knows the true function, `objective`. The budget is the ledger's business, not its own."""

    def __init__(self, objective, *, height):
        self.f, self.height = objective.f, height
        self.last = -np.inf

    def commit(self, view, rng):
        return np.where(self.f[view.indices] > self.last, -self.height, 0.0)

    def saw(self, index, instance, observation):
        self.last = observation.f

    def reset(self):
        self.last = -np.inf
