"""Clipped GP-UCB: a bounded number of lies, of any size (ours)."""

import math
from dataclasses import replace
from typing import Any, Unpack

from unbribable.decision.options import OptionWords
from unbribable.decision.player import Bounds, Details, Player
from unbribable.decision.policies.gp_ucb import RobustGPUCB
from unbribable.decision.proposal import Proposal, Query
from unbribable.decision.recommend import Recommendation
from unbribable.model import checks
from unbribable.model.domain import Grid
from unbribable.theory.assumptions import Assumptions


class ClippedGPUCB(Player):
    """Holds changing state: RobustGPUCB, told readings clipped to what f and noise can be (ours).

        L = B0 + N,   N = noise_std sqrt(2 ln(2 T / (delta/2)))
        RobustGPUCB(C = 2 L n_lies, c_max = 2 L, delta/2) is told clip(y, -L, L)

    Proof. With probability 1 - delta/2 no noise of T readings exceeds N; then clipping changes no honest
    reading, and a lie moves a clipped one by at most 2 L. The rest is Algorithm 1 with delta/2. QED
    Its capped width gives R_T <= 2 (2 L sqrt(n_lies/lam) + beta_T) sqrt(2 T gamma_T/zeta) with
    beta_T = B + rho(delta/2), or rho(delta/4) for the tight noise width: sub-linear while
    n_lies gamma_T = o(T). It holds against liars who see the reading, too. A large lam suits it.

    Args:
        domain: A Grid.
        assumptions: What the guarantee rests on; c_max is not used, a lie may be of any size.
        n_lies: At most so many of the readings are lies.
        T: At most so many readings; beyond them nothing is promised.
        options: width, noise, tail, gain, beta, revisit, as of RobustGPUCB.

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
        delta = assumptions.delta / 2
        noise = assumptions.noise_std * math.sqrt(2.0 * math.log(2.0 * self.T / delta))
        self.L = assumptions.B0 + noise
        clipped = replace(assumptions, delta=delta, c_max=2.0 * self.L)
        self._robust = RobustGPUCB(domain, clipped, C=2.0 * self.L * self.n_lies, **options)
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
        best, void = self._robust.recommend(), self._void
        if void is not None:
            return replace(best, regret_bound=None, probability=None, guarantee=void)
        words = f"no point of the domain is better than this one by more than {best.regret_bound:.4g}."
        probability = 1.0 - self.assumptions.delta
        return replace(best, probability=probability, guarantee=f"{self._premises}, {words}")

    def bounds(self) -> Bounds | None:
        """Lower and upper bounds on f at the candidates, (n,) each; None where nothing is guaranteed."""
        return self._robust.bounds() if self._void is None else None

    @property
    def guarantee(self) -> str:
        """What `bounds` promise, or why they promise nothing, in words."""
        return self._void or f"{self._premises}, f lies within the bounds at every candidate."

    @property
    def knowledge(self) -> dict[str, Any]:
        """What it was told besides the candidates: assumptions without c_max, and the number of lies."""
        plain = self.assumptions.to_plain()
        del plain["c_max"]
        return {**plain, "n_lies": self.n_lies, "T": self.T, **self._robust.options.to_dict()}

    def details(self) -> Details:
        """What a record keeps of it besides what any player shows."""
        return Details(refuted=self._robust.refuted, tolerance=self.assumptions.tolerance)

    @property
    def _void(self) -> str | None:
        """Why nothing is guaranteed, if so."""
        if self._n_told > self.T:
            return f"No guarantee: it was for T={self.T} readings, and {self._n_told} were told."
        return self._robust.guarantee if self._robust.bounds() is None else None

    @property
    def _premises(self) -> str:
        return (
            f"With probability at least {1.0 - self.assumptions.delta:.4g}, against any adversary, weak "
            f"or strong, who corrupts at most {self.n_lies} of the first {self.T} readings by any amount"
        )
