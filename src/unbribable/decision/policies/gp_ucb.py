"""One instance that plays its own upper confidence bound: GP-UCB, and Algorithm 1."""

from collections.abc import Sequence
from typing import Unpack

from unbribable.decision.algorithm import Algorithm
from unbribable.decision.asking.next_round import NextRound
from unbribable.decision.asking.rule import Play, Rule
from unbribable.decision.options import Options, OptionWords
from unbribable.decision.policy import Lessons, Policy
from unbribable.decision.proposal import Reading
from unbribable.decision.proven.guarantee import Guarantee, threat_of
from unbribable.model import checks
from unbribable.model.box import Box
from unbribable.model.domain import Grid
from unbribable.theory.assumptions import Assumptions
from unbribable.theory.budgets import Budget


class OneInstance(Policy):
    """Holds changing state: "main", which learns from everything and plays argmax mu + width.

    It allows for a corruption of C; with None it trusts every reading.
    """

    draws = (("main", 1.0),)
    holds_all = "main"

    def __init__(self, assumptions: Assumptions, options: Options, C: float | None) -> None:
        super().__init__(assumptions, options, takes_energy=not C)
        self._C = C
        self.is_ours = C is not None
        self.parameters = {} if C is None else {"C": C}
        self.budgets = {"main": Budget(C or 0.0, assumptions.delta)}

    def plays(self, choice: NextRound) -> list[Play]:
        rule = Rule(self.instances["main"])
        index, ucb = choice.best(rule)  # [BKS20, Eq. 13]
        return [Play(1.0, "main", rule, index, ucb)]

    def learner_of(self, drawn: str) -> str | None:
        return "main"

    def lessons(self, reading: Reading) -> Lessons:
        return ((self.instances["main"], reading.y),)

    def conclude(self, labels: Sequence[str], t: int) -> bool:
        return self.instances["main"].is_crossed

    def trust(self, threat: str | None, C: float | None) -> Guarantee:
        probability = 1.0 - self.assumptions.delta
        if self._C is None:
            threat = checks.choice("threat", "none" if threat is None else threat, ("none",))
            if C is not None:
                raise ValueError(f"C must be left out, GP-UCB tolerates no corruption, got C={C}")
            return Guarantee(threat, ("main",), probability)
        threat = threat_of(threat, "strong")
        if C is not None:
            raise ValueError(f"C must be left out, it is {self._C} by construction, got C={C}")
        return Guarantee(threat, ("main",), probability, self._C)


class GPUCB(Algorithm):
    """GP-UCB, the baseline: argmax mu + noise width. Not robust: it trusts every reading.

    Args:
        domain: A Grid or a Box.
        assumptions: What the guarantee rests on.
        options: width, noise, tail, gain, beta: see Options (width and tail do
            nothing here).
    """

    C = 0.0

    def __init__(
        self, domain: Grid | Box, assumptions: Assumptions, **options: Unpack[OptionWords]
    ) -> None:
        super().__init__(domain, OneInstance(assumptions, Options(**options), None))


class RobustGPUCB(Algorithm):
    """GP-UCB with enlarged confidence bounds, for known corruption [BKS20, Alg. 1].

    Its guarantee covers weak and strong adversaries. `C=0` is GP-UCB bit for bit.

    Args:
        domain: A Grid or a Box.
        assumptions: What the guarantee rests on.
        C: Total corruption, sum over the rounds of the largest lie, at most that.
        options: width, noise, tail, gain, beta: see Options (tail does nothing here).
    """

    def __init__(
        self,
        domain: Grid | Box,
        assumptions: Assumptions,
        *,
        C: float,
        **options: Unpack[OptionWords],
    ) -> None:
        self.C = checks.real("C", C, at_least=0.0, hint="; LayeredGPUCB needs no C")
        super().__init__(domain, OneInstance(assumptions, Options(**options), self.C))
