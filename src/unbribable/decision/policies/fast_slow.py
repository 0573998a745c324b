"""Fast-Slow GP-UCB, for a corruption that is either known or zero."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from unbribable.decision.algorithm import Algorithm
from unbribable.decision.asking.next_round import NextRound
from unbribable.decision.asking.rule import Play, Rule
from unbribable.decision.instance import Instance
from unbribable.decision.options import Options, OptionWords
from unbribable.decision.policy import Lessons, Policy
from unbribable.decision.proposal import Reading
from unbribable.decision.proven.conditions import Blind, Condition, Detected, Note, settled
from unbribable.decision.proven.guarantee import Guarantee, threat_of
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
    knows = "C or 0"

    def __init__(
        self,
        assumptions: Assumptions,
        options: Options,
        *,
        C: float,
        alpha: float,
        with_all: bool,
        share: float,
        trust: float,
    ) -> None:
        super().__init__(assumptions, options)
        self.draws = fast_slow_probabilities(C, share)
        self.budgets = fast_slow_budgets(assumptions, C, options.tail, share=share, trust=trust)
        self.parameters = {
            "C": C,
            "alpha": alpha,
            "with_all": with_all,
            "share": share,
            "trust": trust,
        }
        self._C, self._alpha, self._with_all, self._trusted = C, alpha, with_all, trust

    def begin(self, instances: Mapping[str, Instance], n: int) -> None:
        super().begin(instances, n)
        self._fast, self._slow, self._all = (instances[label] for label in ("fast", "slow", "all"))
        self._robust = (self._slow, self._all) if self._with_all else (self._slow,)
        self._rules = {
            "slow": Rule(self._slow, self._alpha),
            "fast": Rule(self._fast, others=self._robust),
            "all": Rule(self._all),
        }
        self._kept_slow: tuple[int, Play] | None = None  # with slow's readings by then

    def plays(self, choice: NextRound) -> list[Play]:
        if self.detected is not None:
            return [self._play(choice, "all", 1.0)]  # [BKS20, Alg. 1]
        return [self._play(choice, label, probability) for label, probability in self.draws]

    def _play(self, choice: NextRound, label: str, probability: float) -> Play:
        rule, kept = self._rules[label], self._kept_slow
        is_kept = label == "slow" and choice.is_plain
        if is_kept and kept is not None and kept[0] == self._slow.n_readings:
            return kept[1]
        play = Play(probability, label, rule, *choice.best(rule))
        if is_kept:
            self._kept_slow = self._slow.n_readings, play
        return play

    def learner_of(self, drawn: str) -> str | None:
        return drawn if self.detected is None else "all"

    def lessons(self, reading: Reading) -> Lessons:
        learner, every = reading.learner, (self._all, reading.y)
        if learner is None or learner == "all":
            return (every,)
        return ((self.instances[learner], reading.y), every)

    def conclude(self, labels: Sequence[str], t: int) -> bool:
        if self.detected is None:
            lower = self._robust[0].lcb_bar
            for other in self._robust[1:]:
                lower = np.maximum(lower, other.lcb_bar)
            if (self._fast.ucb_bar - lower).min() < -self.assumptions.tolerance:  # [BKS20, Eq. 19]
                self.detected = t
        slow, every = self._slow, self._all
        if slow.is_crossed or every.is_crossed:
            return True
        gap = np.minimum(slow.ucb_bar, every.ucb_bar) - np.maximum(slow.lcb_bar, every.lcb_bar)
        return bool(gap.min() < -self.assumptions.tolerance)

    def grown(self, n: int) -> None:
        self._kept_slow = None

    def trust(self, threat: str | None, C: float | None) -> Guarantee:
        threat = threat_of(threat, "weak")
        delta = self.budgets["all"].delta
        if C is not None:
            C = checks.real("C", C, at_least=0.0)
            if threat == "strong" or self._trusted < C:
                raise ValueError(
                    f"C must be left out, it is {self._C} by construction, or be at most "
                    f"trust={self._trusted:g} with threat='weak', got C={C}"
                )
            return Guarantee(threat, ("fast", "slow", "all"), 1.0 - 4.0 * delta, self._trusted)
        if threat == "strong":
            return Guarantee(threat, ("all",), 1.0 - delta, self._C)
        return Guarantee(threat, ("slow", "all"), 1.0 - 3.0 * delta, self._C)

    def notes(self, t: int, conditions: Sequence[Condition] | None) -> list[Note]:
        if self.detected is None:
            return []
        if conditions is not None:
            blind = (Blind(),) if self._trusted > 0.0 else ()  # a strong liar could send slow all of it
            conditions = (*blind, *settled(conditions))
        return [Detected(self.detected, self._trusted, self.assumptions.delta, conditions)]


class FastSlowGPUCB(Algorithm):
    """A fast instance that trusts, a slow one that does not, and a check [BKS20, Alg. 2].

    * "fast" allows for a corruption of `trust`; "slow" is drawn with probability min(1, share/C) and
      allows for what can then reach it; "all" holds every reading and allows for C.
    * Until corruption is detected slow plays argmax ucb_slow(.; alpha), fast plays argmax
      min(ucb_bar_fast, ucb_bar_slow).
    * Detected: ucb_bar_fast < lcb_bar_slow somewhere, which means a corruption of more than `trust`.
      From then on Algorithm 1 on "all", for good.

    Only against a weak adversary, who does not see the draw, is "slow" safe. Against a strong one
    `recommend(threat="strong")` uses "all" alone; `recommend(C=trust)` uses all three, and is valid
    against a weak adversary whose total is at most that.

    The dials `share` and `trust` are ours. Proof that with total corruption at most `trust` a detection
    has probability at most delta: fast holds no more lies than there are, so its bounds hold, as slow's
    and those of "all" do, and bounds that hold do not cross; these are four of the five events. Lemma 7
    does not ask what fast allows for, nor how often slow is drawn. QED

    Args:
        domain: A Grid or a Box.
        assumptions: What the guarantee rests on; c_max must be finite.
        C: Total corruption if there is any, > 0.
        alpha: Widening of slow's rule, > 9/5 (the constant of Lemma 8 needs it); the theorems
            use 2.
        seed: Of the draws, secret; fresh entropy if None.
        with_all: Use slow and "all" together where slow alone stands, see FastSlow.
        share: How often to check, in (0, 1]: slow is drawn with probability min(1, share/C).
        trust: How much corruption fast puts up with, in [0, C].
        options: width, noise, tail, gain, beta: see Options.
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
        share: float = 1.0,
        trust: float = 0.0,
        **options: Unpack[OptionWords],
    ) -> None:
        self.C = checks.real("C", C, above=0.0, hint="; LayeredGPUCB needs no C")
        self.alpha = checks.real("alpha", alpha, above=1.8)
        self.with_all = checks.truth("with_all", with_all)
        self.share = checks.real("share", share, above=0.0, at_most=1.0)
        self.trust = checks.real("trust", trust, at_least=0.0, at_most=self.C)
        policy = FastSlow(
            assumptions,
            Options(**options),
            C=self.C,
            alpha=self.alpha,
            with_all=self.with_all,
            share=self.share,
            trust=self.trust,
        )
        self.p = policy.draws[0][1]
        super().__init__(domain, policy, seed)
