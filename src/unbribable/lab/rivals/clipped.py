"""Clipped GP-UCB: a bounded number of lies, of any size (ours)."""

import math
from dataclasses import replace
from typing import Any, Unpack

from unbribable.decision.algorithm import Algorithm
from unbribable.decision.options import Options, OptionWords
from unbribable.decision.player import Details, Player
from unbribable.decision.policies.gp_ucb import OneInstance
from unbribable.decision.proposal import Proposal, Query
from unbribable.decision.proven.conditions import TooMany
from unbribable.decision.proven.counted import CountedLies
from unbribable.decision.proven.guarantee import Guarantee
from unbribable.decision.recommend import Recommendation
from unbribable.model import checks
from unbribable.model.checks import Bounds
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

    def trust(self, threat: str | None, C: float | None) -> Guarantee:
        """Of Algorithm 1, less the half of delta that clipping takes."""
        return replace(super().trust(threat, C), probability=self._probability, lies=self._lies)


class ClippedGPUCB(Player):
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
        L: Where readings are clipped.
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
        self.domain, self.assumptions = domain, assumptions
        policy = Clipped(assumptions, Options(**options), self.n_lies, self.T)
        self.L = policy.L
        self._robust = Algorithm(domain, policy)
        self._n_told = 0

    @property
    def t(self) -> int:
        """Rounds asked so far."""
        return self._robust.t

    @property
    def pending(self) -> tuple[Query, ...]:
        """Queries asked and not yet told, oldest first."""
        return self._robust.pending

    def propose(self) -> Proposal:
        """The distribution from which the next `ask` draws. Changes nothing."""
        return self._robust.propose()

    def ask(self) -> Query:
        """The point of the largest upper bound. Learns nothing; the query is pending until told."""
        return self._robust.ask()

    def tell(self, query: Query | int | None = None, y: Any = None, *, x: Any = None) -> int:
        """Learn the reading y of a pending query, or of a point x, clipped. See `RobustGPUCB.tell`."""
        y = checks.reading("y", y)
        t = self._robust.tell(query, min(max(y, -self.L), self.L), x=x)
        self._n_told += 1
        return t

    def recommend(self) -> Recommendation:
        """The point with the largest lower bound, with its certificate."""
        best = self._robust.recommend()
        if not self._is_over:
            return best
        return replace(best, regret_bound=None, probability=None, promise=self.guarantee)

    def bounds(self) -> Bounds | None:
        """Lower and upper bounds on f at the candidates, (n,) each; None where nothing is guaranteed."""
        return None if self._is_over else self._robust.bounds()

    @property
    def guarantee(self) -> Guarantee:
        """What `bounds` promise, or why they promise nothing."""
        promise = self._robust.guarantee
        return replace(promise, void=TooMany(self.T, self._n_told)) if self._is_over else promise

    @property
    def knowledge(self) -> dict[str, Any]:
        """What it was told besides the candidates: assumptions without c_max, and the number of lies."""
        plain = self.assumptions.to_plain()
        del plain["c_max"]
        return {**plain, "n_lies": self.n_lies, "T": self.T, **self._robust.options.to_dict()}

    def details(self) -> Details:
        """What a record keeps of it besides what any player shows."""
        return Details(refuted=self._robust.refuted, tolerance=self.assumptions.tolerance, is_ours=True)

    @property
    def _is_over(self) -> bool:
        """Whether it was told more than T readings, beyond which nothing is guaranteed."""
        return self._n_told > self.T
