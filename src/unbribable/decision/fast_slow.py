"""Fast-Slow GP-UCB, for a corruption that is either known or zero."""

from collections.abc import Sequence
from functools import reduce
from typing import Any, Unpack

import numpy as np

from unbribable.decision.algorithm import Algorithm
from unbribable.decision.instance import Instance
from unbribable.decision.options import Options, OptionWords
from unbribable.decision.proposal import Atom
from unbribable.decision.recommend import Guarantee, ValidBounds
from unbribable.decision.rule import Rule
from unbribable.model import checks
from unbribable.model.box import Box
from unbribable.model.checks import Floats
from unbribable.model.domain import Grid
from unbribable.theory.assumptions import Assumptions
from unbribable.theory.budgets import fast_slow_budgets, fast_slow_probabilities


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
        with_all: Use slow and "all" together where slow alone stands, in fast's rule and in the
            check (ours). "all" is in the union bound already, so Theorem 9 holds verbatim.
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
        super().__init__(domain, assumptions, Options(**options), seed)
        self.C = checks.real("C", C, above=0.0, hint="; LayeredGPUCB needs no C")
        self.alpha = checks.real("alpha", alpha, above=1.8)
        self.with_all = checks.truth("with_all", with_all)
        self.p = self.draws[0][1]
        self.budgets = fast_slow_budgets(assumptions, self.C, self.options.tail)
        self._begin()

    def _build(self) -> None:
        self._fast, self._slow, self._all = (
            self._new_instance(label, C=budget.C, delta=budget.delta)
            for label, budget in self.budgets.items()
        )

    @property
    def draws(self) -> tuple[tuple[str, float], ...]:
        return fast_slow_probabilities(self.C)

    @property
    def parameters(self) -> dict[str, Any]:
        return {"C": self.C, "alpha": self.alpha, "with_all": self.with_all}

    def _propose_atoms(self) -> list[Atom]:
        if self.detected is not None:
            index, ucb = self._all.best(alpha=1.0)  # [BKS20, Alg. 1]
            return [Atom(index, 1.0, "all", "all", ucb)]
        index, ucb = self._slow.best(self.alpha)
        atoms = [Atom(index, self.p, "slow", "slow", ucb)]
        if self.p < 1.0:
            index, ucb = self._fast_choice()
            atoms.append(Atom(index, 1.0 - self.p, "fast", "fast", ucb))
        return atoms

    def _fast_choice(self) -> tuple[int, float]:
        """argmax of min(ucb_bar_fast, ucb_bar_slow) [BKS20, Alg. 2, line 6].

        On a Box (ours) the current bounds instead, which are known at every point: with intersected
        ones at the candidates alone, an old candidate would seem worse than the points beside it.
        They are valid too, and wherever min(ucb_fast, ucb_slow) is largest, ucb_slow reaches
        max lcb_bar_slow, as Lemma 7 needs.
        """
        robust_ucb, robust_lcb = self._robust_bounds()
        is_box = self.candidates.box is not None
        bounds = [self._fast.ucb_bar, robust_ucb]
        if is_box:
            bounds = [robust.mu + robust.width for robust in self._robust]
        if is_box or self._is_parallel:
            bounds.append(self._fast.mu + self._fast.shrink * self._fast.width)
        ucb = self._fast.allowed(reduce(np.minimum, bounds))
        best = int(np.argmax(ucb))
        if self.options.revisit:
            # Only points that slow has not ruled out, or Lemma 7 would fail.
            read = self._fast.posterior.u
            read = read[robust_ucb[read] >= robust_lcb.max()]
            best = self._fast.revisited(ucb, best, read)
        return best, float(ucb[best])

    def _rule(self, atom: Atom) -> tuple[Rule, Floats]:
        if atom.player != "fast":
            alpha = self.alpha if atom.player == "slow" else 1.0
            hopes = self.instances[atom.player].promising(alpha, atom.index)
            return Rule(((self._anywhere(atom.player), alpha),)), hopes
        instances = [self._fast, *self._robust]
        hopes = np.min([instance.promising(1.0, atom.index) for instance in instances], axis=0)
        return Rule(tuple((self._anywhere(instance.label), 1.0) for instance in instances)), hopes

    @property
    def _robust(self) -> list[Instance]:
        """The instances that bound what fast may hope for."""
        return [self._slow, self._all] if self.with_all else [self._slow]

    def _robust_bounds(self) -> tuple[Floats, Floats]:
        if not self.with_all:
            return self._slow.ucb_bar, self._slow.lcb_bar
        return (
            np.minimum(self._slow.ucb_bar, self._all.ucb_bar),
            np.maximum(self._slow.lcb_bar, self._all.lcb_bar),
        )

    def _learner_of(self, drawn: str) -> str | None:
        return drawn if self.detected is None else "all"

    def _learners(self, label: str) -> list[Instance]:
        return [self._all] if label == "all" else [self.instances[label], self._all]

    def _after(self, labels: Sequence[str], t: int) -> None:
        if self.detected is None:
            margin = np.min(self._fast.ucb_bar - self._robust_bounds()[1])
            if margin < -self.assumptions.tolerance:  # [BKS20, Eq. 19]
                self.detected = t

    def _is_refuted(self) -> bool:
        return ValidBounds.of([self._slow, self._all], self.assumptions).is_refuted

    def _guarantee(self, threat: str | None, C: float | None) -> Guarantee:
        threat = checks.choice(
            "threat", "weak" if threat is None else threat, ("none", "weak", "strong")
        )
        if C is not None:
            raise ValueError(f"C must be left out, it is {self.C} by construction, got C={C}")
        share = self.budgets["all"].delta
        budget = "with total corruption at most {C}"
        if threat == "strong":
            return Guarantee(threat, ("all",), 1.0 - share, f"against any adversary {budget}", self.C)
        words = f"against a weak adversary (who does not see the draw) {budget}"
        return Guarantee(threat, ("slow", "all"), 1.0 - 3.0 * share, words, self.C)

    def _notes(self) -> list[str]:
        notes = super()._notes()
        if self.detected is not None:
            notes.append(
                f"Corruption detected in round {self.detected}; since then Algorithm 1 on all "
                "readings. Without corruption this happens with probability at most delta."
            )
        return notes
