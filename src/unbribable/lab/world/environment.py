"""The game's other side: truth, noise, the adversary and its ledger."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from unbribable.lab.world.adversaries.base import (
    Adversary,
    NoAdversary,
    Observation,
    View,
    no_bounds,
)
from unbribable.lab.world.ledger import CountLedger, Ledger
from unbribable.lab.world.objectives import Objective
from unbribable.model import checks
from unbribable.model.checks import Bounds, Floats, Ints


class Environment:
    """Holds changing state: the streams of noise and of the adversary, the ledger, what is committed.

    A round is `face(...)`, where the adversary commits on the learner's proposal if it is weak and on
    the one point that was drawn if it is strong, and then `answer(index)`.

    Args:
        objective: The true function.
        noise_std: Standard deviation of the Gaussian noise.
        adversary: Nobody lies if None.
        C: The adversary's true budget (the learner may assume another).
        c_max: Largest single lie, inf allowed. By default max |f|, and inf if lies are counted.
        threat: "weak" or "strong".
        n_lies: In place of C: how many rounds may be lied about.
    """

    def __init__(
        self,
        objective: Objective,
        *,
        noise_std: float,
        adversary: Adversary | None = None,
        C: float = 0.0,
        c_max: float | None = None,
        threat: str = "weak",
        n_lies: int | None = None,
    ) -> None:
        self.objective = objective
        self.noise_std = checks.real("noise_std", noise_std, at_least=0.0)
        self.adversary = NoAdversary() if adversary is None else adversary
        self.C = checks.real("C", C, at_least=0.0)
        self.n_lies = None if n_lies is None else checks.integer("n_lies", n_lies, at_least=0)
        if n_lies is not None and C != 0.0:
            raise ValueError(f"the budget must be C or n_lies, not both, got C={C}, n_lies={n_lies}")
        default = objective.B0 if n_lies is None else math.inf
        cap = default if c_max is None else c_max
        self.c_max = checks.real("c_max", cap, above=0.0, may_be_inf=True)
        self.threat = checks.choice("threat", threat, ("weak", "strong"))
        if self.adversary.needs_strong and threat != "strong":
            raise ValueError(
                f"threat must be 'strong' for {type(self.adversary).__name__}, got threat={threat!r}"
            )
        self.reset(np.random.default_rng(0), np.random.default_rng(0))

    def reset(self, noise: np.random.Generator, adversary: np.random.Generator) -> None:
        """Begin a new game with these two streams of randomness."""
        self.ledger: Ledger | CountLedger = Ledger(self.C, self.c_max)
        if self.n_lies is not None:
            self.ledger = CountLedger(self.n_lies, self.c_max)
        self.adversary.reset()
        self._noise_rng, self._adversary_rng = noise, adversary
        self.t = 0
        self._committed: tuple[Ints, Floats, float] | None = None

    def view(
        self,
        indices: Ints,
        probabilities: Floats,
        instances: Sequence[str | None],
        bounds: Callable[[], Bounds | None] = no_bounds,
    ) -> View:
        """What the adversary sees of the next round: a proposal (weak), or what was drawn (strong)."""
        points, chances = np.unique(indices), probabilities
        labels: list[tuple[str | None, ...]] = [(label,) for label in instances]
        if len(points) == len(indices):
            points = indices
        else:
            atoms = [np.flatnonzero(indices == point) for point in points]
            chances = np.array([probabilities[same].sum() for same in atoms])
            labels = [tuple(instances[int(k)] for k in same) for same in atoms]
        return View(
            t=self.t + 1,
            indices=points,
            points=self.objective.X[points],
            probabilities=chances,
            instances=tuple(labels),
            left=self.ledger.left,
            c_max=self.c_max,
            bounds=bounds,
        )

    def face(
        self,
        indices: Ints,
        probabilities: Floats,
        instances: Sequence[str | None],
        bounds: Callable[[], Bounds | None] = no_bounds,
    ) -> None:
        """Let the adversary commit on these atoms: a proposal (weak), or what was drawn (strong)."""
        view = self.view(indices, probabilities, instances, bounds)
        points = view.indices
        wanted = np.asarray(self.adversary.commit(view, self._adversary_rng), dtype=np.float64)
        if wanted.shape != points.shape:
            raise ValueError(
                f"commit must return one corruption per point, shape {points.shape}, got {wanted.shape}"
            )
        granted, charge = self.ledger.charge(wanted)
        self._committed = points, granted, charge

    def answer(self, index: int, instance: str | None = None) -> Observation:
        """What is told about the point that was drawn, with the truth beside it [BKS20, Eq. 1].

        Raises:
            RuntimeError: The adversary has not committed; call `face` first.
        """
        if self._committed is None:
            raise RuntimeError("the adversary has not committed on this round; call face() first")
        points, granted, charge = self._committed
        where = np.flatnonzero(points == index)
        if not len(where):
            raise RuntimeError(f"candidate {index} is not among the points faced, {points.tolist()}")
        self._committed = None
        self.t += 1
        f = float(self.objective.f[index])
        noise = self.noise_std * self._noise_rng.standard_normal()
        c = float(granted[where[0]])
        observation = Observation(f, noise, c, f + noise + c, charge)
        self.adversary.saw(index, instance, observation)
        return observation
