"""Clipped GP-UCB: a bounded number of lies, of any size (ours)."""

import math
from dataclasses import replace
from typing import Unpack

from unbribable.decision.algorithm import Algorithm
from unbribable.decision.options import Options, OptionWords
from unbribable.decision.player import Details
from unbribable.decision.policies.gp_ucb import OneInstance
from unbribable.decision.policy import Lessons
from unbribable.decision.proposal import Reading
from unbribable.decision.proven.conditions import TooMany
from unbribable.decision.proven.counted import CountedLies
from unbribable.decision.proven.guarantee import Guarantee
from unbribable.model import checks
from unbribable.model.domain import Grid
from unbribable.theory.assumptions import Assumptions


def clip_of(assumptions: Assumptions, n: int) -> float:
    """L = B0 + N, N = noise_std sqrt(2 ln(2 n / (delta/2))): n honest readings stay within that (ours).

    With probability 1 - delta/2. Proof. The noise of a reading exceeds N with probability at most
    2 exp(-N^2 / (2 noise_std^2)) = delta/(2 n). QED
    """
    noise = math.sqrt(2.0 * math.log(2.0 * n / (assumptions.delta / 2)))
    return assumptions.B0 + assumptions.noise_std * noise


class Clipped(OneInstance):
    """Holds changing state: Algorithm 1 on readings clipped to [-L, L], the first T of them.

    Where no honest reading is beyond L, clipping changes none, and moves what a liar tells to within
    2 L of what would have been told: corruption of at most 2 L n_lies in total and 2 L in each reading,
    whether or not the liar sees the reading first.
    """

    def __init__(self, assumptions: Assumptions, options: Options, n_lies: int, T: int) -> None:
        self.L = clip_of(assumptions, T)
        self._lies = CountedLies(n_lies, T)
        self._probability = 1.0 - assumptions.delta
        known = replace(assumptions, delta=assumptions.delta / 2, c_max=2.0 * self.L)
        super().__init__(known, options, 2.0 * self.L * n_lies)
        self.parameters = {"n_lies": n_lies, "T": T}
        self._T = T

    def lessons(self, reading: Reading) -> Lessons:
        return ((self.instances["main"], min(max(reading.y, -self.L), self.L)),)

    def trust(self, threat: str | None, C: float | None) -> Guarantee:
        """Of Algorithm 1, less the half of delta that clipping takes; void beyond T readings."""
        n = self.instances["main"].n_readings
        void = TooMany(self._T, n) if n > self._T else None
        promise = super().trust(threat, C)
        return replace(promise, probability=self._probability, lies=self._lies, void=void)


class ClippedGPUCB(Algorithm):
    """Holds changing state: Algorithm 1, told readings clipped to what f and noise can be (ours).

        L = B0 + N,   N = noise_std sqrt(2 ln(2 T / (delta/2)))
        RobustGPUCB(C = 2 L n_lies, c_max = 2 L, delta/2) is told clip(y, -L, L)

    Proof: `Clipped`, and Algorithm 1 with delta/2. QED
    Its capped width gives R_T <= 2 (2 L sqrt(n_lies/lam) + beta_T) sqrt(2 T gamma_T/zeta) with
    beta_T = B + rho(delta/2), or rho(delta/4) for the tight noise width: sub-linear while
    n_lies gamma_T = o(T). It holds against liars who see the reading, too. A large lam suits it.

    Args:
        domain: A Grid.
        assumptions: What the guarantee rests on; c_max is not used, a lie may be of any size.
        n_lies: At most so many of the readings are lies.
        T: At most so many readings; beyond them nothing is promised.
        options: width, noise, tail, gain, beta, as of RobustGPUCB.

    Attributes:
        L: Where readings are clipped, as they are learned.
    """

    def __init__(
        self,
        domain: Grid,
        assumptions: Assumptions,
        *,
        n_lies: int,
        T: int,
        **options: Unpack[OptionWords],
    ) -> None:
        if not isinstance(domain, Grid):
            raise TypeError(f"domain must be a Grid, got domain={domain!r}")
        self.n_lies = checks.integer("n_lies", n_lies, at_least=0)
        self.T = checks.integer("T", T, at_least=1)
        policy = Clipped(assumptions, Options(**options), self.n_lies, self.T)
        self.L = policy.L
        super().__init__(domain, policy)
        told = assumptions.to_plain()
        del told["c_max"]
        self.knowledge = {**told, **policy.parameters, **policy.options.to_dict()}

    def details(self) -> Details:
        """What a record keeps of it besides what any player shows."""
        return Details(refuted=self.refuted, tolerance=self.assumptions.tolerance, is_ours=True)
