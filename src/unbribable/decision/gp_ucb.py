"""One instance that plays its own upper confidence bound: GP-UCB, and Algorithm 1."""

from collections.abc import Sequence
from typing import Any, Unpack

from unbribable.decision.algorithm import Algorithm
from unbribable.decision.instance import Instance
from unbribable.decision.options import Options, OptionWords
from unbribable.decision.proposal import Atom
from unbribable.decision.recommend import Guarantee
from unbribable.decision.rule import Rule
from unbribable.model import checks
from unbribable.model.box import Box
from unbribable.model.checks import Floats
from unbribable.model.domain import Grid
from unbribable.theory.assumptions import Assumptions


class _OneInstance(Algorithm):
    """Abstract. Plays argmax mu + width of its only instance, which learns from everything."""

    draws = (("main", 1.0),)

    def __init__(
        self, domain: Grid | Box, assumptions: Assumptions, *, C: float, options: Options
    ) -> None:
        super().__init__(domain, assumptions, options)
        self.C = C
        self._begin()

    def _build(self) -> None:
        self._main = self._new_instance("main", C=self.C, delta=self.assumptions.delta)

    def _propose_atoms(self) -> list[Atom]:
        index, ucb = self._main.best(alpha=1.0)  # [BKS20, Eq. 13]
        return [Atom(index, 1.0, "main", "main", ucb)]

    def _rule(self, atom: Atom) -> tuple[Rule, Floats]:
        return Rule(((self._anywhere("main"), 1.0),)), self._main.promising(1.0, atom.index)

    def _learner_of(self, drawn: str) -> str | None:
        return "main"

    def _learners(self, label: str) -> list[Instance]:
        return [self._main]

    def _after(self, labels: Sequence[str], t: int) -> None:
        pass

    def _is_refuted(self) -> bool:
        return self._main.is_crossed


class GPUCB(_OneInstance):
    """GP-UCB, the baseline: argmax mu + noise width. Not robust: it trusts every reading.

    Args:
        domain: A Grid or a Box.
        assumptions: What the guarantee rests on.
        options: width, noise, tail, gain, beta, revisit: see Options (width and tail do
            nothing here).
    """

    def __init__(
        self, domain: Grid | Box, assumptions: Assumptions, **options: Unpack[OptionWords]
    ) -> None:
        super().__init__(domain, assumptions, C=0.0, options=Options(**options))

    @property
    def parameters(self) -> dict[str, Any]:
        return {}

    def _guarantee(self, threat: str | None, C: float | None) -> Guarantee:
        threat = checks.choice("threat", "none" if threat is None else threat, ("none",))
        if C is not None:
            raise ValueError(f"C must be left out, GP-UCB tolerates no corruption, got C={C}")
        probability = 1.0 - self.assumptions.delta
        return Guarantee(threat, ("main",), probability, "if no reading was corrupted")


class RobustGPUCB(_OneInstance):
    """GP-UCB with enlarged confidence bounds, for known corruption [BKS20, Alg. 1].

    Its guarantee covers weak and strong adversaries. `C=0` is GP-UCB bit for bit.

    Args:
        domain: A Grid or a Box.
        assumptions: What the guarantee rests on.
        C: Total corruption, sum over the rounds of the largest lie, at most that.
        options: width, noise, tail, gain, beta, revisit: see Options (tail does nothing here).
    """

    def __init__(
        self, domain: Grid | Box, assumptions: Assumptions, *, C: float, **options: Unpack[OptionWords]
    ) -> None:
        C = checks.real("C", C, at_least=0.0, hint="; LayeredGPUCB needs no C")
        super().__init__(domain, assumptions, C=C, options=Options(**options))

    @property
    def parameters(self) -> dict[str, Any]:
        return {"C": self.C}

    def _guarantee(self, threat: str | None, C: float | None) -> Guarantee:
        threat = checks.choice(
            "threat", "strong" if threat is None else threat, ("none", "weak", "strong")
        )
        if C is not None:
            raise ValueError(f"C must be left out, it is {self.C} by construction, got C={C}")
        words = "against any adversary, weak or strong, with total corruption at most {C}"
        return Guarantee(threat, ("main",), 1.0 - self.assumptions.delta, words, self.C)
