"""Fast-Slow GP-UCB, for a corruption that is either known or zero."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from unbribable.decision.algorithm import Algorithm
from unbribable.decision.choice import Choice
from unbribable.decision.instance import Instance
from unbribable.decision.options import Options, OptionWords
from unbribable.decision.policy import Policy
from unbribable.decision.recommend import Guarantee, ValidBounds, threat_of
from unbribable.decision.rule import Play, Rule
from unbribable.model import checks
from unbribable.model.box import Box
from unbribable.model.domain import Grid
from unbribable.theory.assumptions import Assumptions
from unbribable.theory.budgets import fast_slow_budgets, fast_slow_probabilities


class FastSlow(Policy):
    """Holds changing state: the instances, and the round in which corruption was detected.

    `with_all` (ours): slow and "all" together stand where slow alone stands, in fast's rule and in the
    check. "all" is in the union bound already, so Theorem 9 holds verbatim. See FastSlowGPUCB.
    """

    holds_all = "all"

    def __init__(
        self, assumptions: Assumptions, options: Options, *, C: float, alpha: float, with_all: bool
    ) -> None:
        super().__init__(assumptions, options)
        self.draws = fast_slow_probabilities(C)
        self.budgets = fast_slow_budgets(assumptions, C, options.tail)
        self.parameters = {"C": C, "alpha": alpha, "with_all": with_all}
        self._C, self._alpha, self._with_all = C, alpha, with_all

    def begin(self, instances: Mapping[str, Instance], n: int) -> None:
        super().begin(instances, n)
        self._fast, self._slow, self._all = (instances[label] for label in ("fast", "slow", "all"))
        self._robust = (self._slow, self._all) if self._with_all else (self._slow,)

    def plays(self, choice: Choice) -> list[Play]:
        if self.detected is not None:
            return [_play(choice, 1.0, "all", Rule(self._all))]  # [BKS20, Alg. 1]
        rules = {"slow": Rule(self._slow, self._alpha), "fast": Rule(self._fast, others=self._robust)}
        return [_play(choice, p, label, rules[label]) for label, p in self.draws]

    def learner_of(self, drawn: str) -> str | None:
        return drawn if self.detected is None else "all"

    def learners(self, label: str) -> tuple[Instance, ...]:
        return (self._all,) if label == "all" else (self.instances[label], self._all)

    def after(self, labels: Sequence[str], t: int) -> None:
        if self.detected is None:
            lower = self._robust[0].lcb_bar
            for other in self._robust[1:]:
                lower = np.maximum(lower, other.lcb_bar)
            if (self._fast.ucb_bar - lower).min() < -self.assumptions.tolerance:  # [BKS20, Eq. 19]
                self.detected = t

    def is_refuted(self) -> bool:
        return ValidBounds.of([self._slow, self._all], self.assumptions).is_refuted

    def trust(self, threat: str | None, C: float | None) -> Guarantee:
        threat = threat_of(threat, "weak")
        if C is not None:
            raise ValueError(f"C must be left out, it is {self._C} by construction, got C={C}")
        share, budget = self.budgets["all"].delta, "with total corruption at most {C}"
        if threat == "strong":
            return Guarantee(threat, ("all",), 1.0 - share, f"against any adversary {budget}", self._C)
        words = f"against a weak adversary (who does not see the draw) {budget}"
        return Guarantee(threat, ("slow", "all"), 1.0 - 3.0 * share, words, self._C)

    def notes(self, t: int) -> list[str]:
        if self.detected is None:
            return []
        return [
            f"Corruption detected in round {self.detected}; since then Algorithm 1 on all "
            "readings. Without corruption this happens with probability at most delta."
        ]


class FastSlowGPUCB(Algorithm):
    """A fast instance that trusts, a slow one that does not, and a check [BKS20, Alg. 2].

    * "fast" allows for no corruption; "slow" is drawn with probability min(1, 1/C) and allows for
      what can then reach it; "all" holds every reading and allows for C.
    * Until corruption is detected slow plays argmax ucb_slow(.; alpha), fast plays argmax
      min(ucb_bar_fast, ucb_bar_slow).
    * Detected: ucb_bar_fast < lcb_bar_slow somewhere. From then on Algorithm 1 on "all", for good.

    Only against a weak adversary, who does not see the draw, is "slow" safe. Against a strong one
    `recommend(threat="strong")` uses "all" alone.

    Args:
        domain: A Grid or a Box.
        assumptions: What the guarantee rests on; c_max must be finite.
        C: Total corruption if there is any, > 0.
        alpha: Widening of slow's rule, > 9/5 (the constant of Lemma 8 needs it); the theorems
            use 2.
        seed: Of the draws, secret; fresh entropy if None.
        with_all: Use slow and "all" together where slow alone stands, see FastSlow.
        options: width, noise, tail, gain, beta, revisit: see Options.
    """

    def __init__(
        self,
        domain: Grid | Box,
        assumptions: Assumptions,
        *,
        C: float,
        alpha: float = 2.0,
        seed: Any = None,
        with_all: bool = False,
        **options: Unpack[OptionWords],
    ) -> None:
        self.C = checks.real("C", C, above=0.0, hint="; LayeredGPUCB needs no C")
        self.alpha = checks.real("alpha", alpha, above=1.8)
        self.with_all = checks.truth("with_all", with_all)
        policy = FastSlow(
            assumptions, Options(**options), C=self.C, alpha=self.alpha, with_all=self.with_all
        )
        self.p = policy.draws[0][1]
        super().__init__(domain, policy, seed)


def _play(choice: Choice, probability: float, label: str, rule: Rule) -> Play:
    return Play(probability, label, rule, *choice.best(rule))
