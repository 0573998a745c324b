"""Layered Fast-Slow GP-UCB, for unknown corruption."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from unbribable.decision.algorithm import Algorithm
from unbribable.decision.choice import Choice
from unbribable.decision.instance import Instance
from unbribable.decision.options import Options, OptionWords
from unbribable.decision.policy import Policy
from unbribable.decision.recommend import Guarantee, Level, ValidBounds, threat_of
from unbribable.decision.rule import Play, Rule
from unbribable.model import checks
from unbribable.model.box import Box
from unbribable.model.checks import Bools
from unbribable.model.domain import Grid
from unbribable.theory.assumptions import Assumptions
from unbribable.theory.budgets import layer_budgets, layer_probabilities, robust_layer


class Layers(Policy):
    """Holds changing state: the layers, and the potential maximisers of each. See LayeredGPUCB."""

    maximisers: Bools
    """(n_layers, n); nested, layer 1 first."""

    def __init__(self, assumptions: Assumptions, options: Options, *, T: int, alpha: float) -> None:
        super().__init__(assumptions, options)
        self.draws = layer_probabilities(T)
        self.budgets = layer_budgets(assumptions, T, options.tail)
        self.parameters = {"T": T, "alpha": alpha}
        self.safe_up_to = 2.0 ** len(self.draws)
        self._T, self._alpha = T, alpha
        self._levels = {label: k for k, (label, _) in enumerate(self.draws)}

    def begin(self, instances: Mapping[str, Instance], n: int) -> None:
        super().begin(instances, n)
        self._layers = tuple(instances.values())
        self.maximisers = np.ones((len(self._layers), n), dtype=np.bool_)
        self._lowest: int | None = 0
        self._kept: dict[int, tuple[int, tuple[Rule, int, float]]] = {}  # with the readings by then

    def plays(self, choice: Choice) -> list[Play]:
        if self._lowest is None:  # every set is empty: the assumptions are refuted
            top = self._layers[-1]
            rule = Rule(top, self._alpha)
            return [Play(1.0, top.label, rule, *choice.best(rule))]
        plays = []
        for k, (label, probability) in enumerate(self.draws):
            player = max(k, self._lowest)  # the sets are nested: all layers from there up are open
            learner = label if player == k else None
            plays.append(Play(probability, learner, *self._best(player, choice)))
        return plays

    def _best(self, k: int, choice: Choice) -> tuple[Rule, int, float]:
        """argmax over M(l) of ucb_l(.; alpha), kept until the layer or its set changes."""
        layer, among = self._layers[k], self.maximisers[k]
        is_kept = choice.is_plain and not layer.is_large
        if is_kept and k in self._kept and self._kept[k][0] == layer.n_readings:
            return self._kept[k][1]
        rule = Rule(layer, self._alpha, (), None if among.all() else among, self._layers[k:])
        found = (rule, *choice.best(rule))
        if is_kept:
            self._kept[k] = (layer.n_readings, found)
        return found

    def learner_of(self, drawn: str) -> str | None:
        if self._lowest is None:
            return self._layers[-1].label
        return drawn if self._levels[drawn] >= self._lowest else None

    def learners(self, label: str) -> tuple[Instance, ...]:
        return (self.instances[label],)

    def after(self, labels: Sequence[str], t: int) -> None:
        """M(i) &= {ucb_bar_l >= max lcb_bar_l} for i <= l [BKS20, Eqs. 33, 34].

        # differs: the listing forgets to intersect M(l) with M(l+1); the definition does.
        """
        for k in (self._levels[label] for label in labels):
            may_be_best = self._may_be_best(k)
            for i in range(k + 1):
                if (self.maximisers[i] & ~may_be_best).any():
                    self.maximisers[i] &= may_be_best
                    self._kept.pop(i, None)
        self._look()

    def grown(self, n: int) -> None:
        """A new candidate is a potential maximiser of layer l unless a layer from l up rules it out.

        A large layer, where readings wait, says so later; until then it takes in what others allow.
        """
        first = self.maximisers.shape[1]
        may_be_best = np.array(
            [
                np.full(n - first, self.maximisers[k].any())
                if layer.is_large
                else self._may_be_best(k)[first:]
                for k, layer in enumerate(self._layers)
            ]
        )
        nested = np.logical_and.accumulate(may_be_best[::-1], axis=0)[::-1]
        self.maximisers = np.concatenate([self.maximisers, nested], axis=1)
        self._kept = {}
        self._look()

    def _may_be_best(self, k: int) -> Bools:
        layer = self._layers[k]
        found: Bools = layer.ucb_bar >= layer.lcb_bar.max() - self.assumptions.tolerance
        return found

    def _look(self) -> None:
        """Find the lowest layer that has a potential maximiser."""
        is_open = self.maximisers.any(axis=1)
        self._lowest = int(np.argmax(is_open)) if is_open.any() else None

    def learner_again(self, learner: str | None) -> str | None:
        """Nobody: once every set is empty the top layer learns from all rounds, not from its share."""
        return None

    def is_refuted(self) -> bool:
        return self._layers[-1].is_crossed or not self.maximisers[-1].any()

    def trust(self, threat: str | None, C: float | None) -> Guarantee:
        threat = threat_of(threat, "weak")
        probability = 1.0 - self.assumptions.delta / 2.0
        if threat == "strong":
            return self._trust_against_strong(C, probability)
        n_layers, chosen = len(self._layers), ""
        if C is None:
            agreeing = [k for k in range(n_layers) if not self._bounds(k).is_refuted]
            level = agreeing[0] if agreeing else n_layers - 1
            chosen = " (the lowest level whose bounds agree: a heuristic choice)"
        else:
            level = robust_layer(checks.real("C", C, at_least=0.0)) - 1
            if level >= n_layers:
                raise ValueError(
                    f"C must be at most 2^n_layers = {2**n_layers}, got C={C:g}; "
                    "a larger T gives more layers"
                )
        words = (
            "against a weak adversary (who does not see the draw) with total corruption at most "
            f"{{C}}{chosen}"
        )
        labels = tuple(layer.label for layer in self._layers[level:])
        return Guarantee(threat, labels, probability, words, 2.0 ** (level + 1))

    def _trust_against_strong(self, C: float | None, probability: float) -> Guarantee:
        if C is None:
            raise ValueError("C must be given for threat='strong': layers do not know it")
        C = checks.real("C", C, at_least=0.0)
        labels = tuple(label for label, budget in self.budgets.items() if budget.C >= C)
        if not labels:
            largest = max(budget.C for budget in self.budgets.values())
            raise ValueError(
                f"C must be at most {largest:.4g}, the largest budget of a layer, for "
                f"threat='strong', got C={C:g}; RobustGPUCB is made for that"
            )
        words = "against any adversary with total corruption at most {C}"
        return Guarantee("strong", labels, probability, words, C)

    def _bounds(self, k: int) -> ValidBounds:
        """What layer k and those above it leave."""
        return ValidBounds.of(self._layers[k:], self.assumptions)

    def levels(self, i: int) -> tuple[Level, ...]:
        levels = []
        for k in range(len(self._layers)):
            bounds = self._bounds(k)
            value = None if bounds.is_refuted else bounds.simple_regret(i)
            levels.append(Level(2.0 ** (k + 1), value))
        return tuple(levels)

    def notes(self, t: int) -> list[str]:
        if t <= self._T:
            return []
        return [f"Past the horizon T={self._T}: intervals hold, the regret theorem not."]


class LayeredGPUCB(Algorithm):
    """Layers drawn with probability 2^-l, each safe against a corruption of 2^l [BKS20, Alg. 3].

    The layer that is drawn plays argmax ucb(.; alpha) among its potential maximisers and learns.
    A point that layer l rules out is ruled out for every layer below it too. If the drawn layer
    has no potential maximiser left, the lowest layer above that has one plays, and nobody learns.

    The budgets hold against a weak adversary, who does not see the draw.

    Args:
        domain: A Grid or a Box.
        assumptions: What the guarantee rests on; c_max must be finite.
        T: Horizon: decides the number of layers. Intervals stay valid past it, the regret theorem
            does not.
        alpha: Widening of the rule, > 9/5; the theorem uses 2.
        seed: Of the draws, secret; fresh entropy if None.
        options: width, noise, tail, gain, beta, revisit: see Options.

    Attributes:
        probabilities: Of each layer, (n_layers,).
    """

    policy: Layers

    def __init__(
        self,
        domain: Grid | Box,
        assumptions: Assumptions,
        *,
        T: int,
        alpha: float = 2.0,
        seed: Any = None,
        **options: Unpack[OptionWords],
    ) -> None:
        self.T = checks.integer("T", T, at_least=1)
        self.alpha = checks.real("alpha", alpha, above=1.8)
        policy = Layers(assumptions, Options(**options), T=self.T, alpha=self.alpha)
        self.n_layers = len(policy.draws)
        self.probabilities = np.array([probability for _, probability in policy.draws])
        super().__init__(domain, policy, seed)

    @property
    def maximisers(self) -> Bools:
        """Potential maximisers of each layer, (n_layers, n); nested, layer 1 first."""
        return self.policy.maximisers
