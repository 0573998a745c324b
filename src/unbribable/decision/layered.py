"""Layered Fast-Slow GP-UCB, for unknown corruption."""

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from unbribable.decision.algorithm import Algorithm
from unbribable.decision.instance import Instance
from unbribable.decision.options import Options, OptionWords
from unbribable.decision.proposal import Atom, Reading
from unbribable.decision.recommend import Guarantee, Level, ValidBounds
from unbribable.decision.rule import Rule
from unbribable.model import checks
from unbribable.model.box import Box
from unbribable.model.checks import Bools, Floats
from unbribable.model.domain import Grid
from unbribable.theory.assumptions import Assumptions
from unbribable.theory.budgets import layer_budgets, layer_probabilities, robust_layer


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
        maximisers: Potential maximisers of each layer, (n_layers, n); nested, layer 1 first.
        probabilities: Of each layer, (n_layers,).
    """

    draws: tuple[tuple[str, float], ...] = ()

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
        super().__init__(domain, assumptions, Options(**options), seed)
        self.T = checks.integer("T", T, at_least=1)
        self.alpha = checks.real("alpha", alpha, above=1.8)
        self.draws = layer_probabilities(self.T)
        self.probabilities = np.array([probability for _, probability in self.draws])
        self.n_layers = len(self.draws)
        self.budgets = layer_budgets(assumptions, self.T, self.options.tail)
        self._begin()

    def _build(self) -> None:
        self._layers: list[Instance] = [
            self._new_instance(label, C=budget.C, delta=budget.delta)
            for label, budget in self.budgets.items()
        ]
        self.maximisers: Bools = np.ones((self.n_layers, self.candidates.n), dtype=np.bool_)
        self._choices: list[tuple[int, float] | None] = [None] * self.n_layers

    def _grown(self) -> None:
        """A new candidate is a potential maximiser of layer l unless a layer from l up rules it out.

        A large layer, where readings wait, says so later; until then it takes in what others allow.
        """
        n = self.maximisers.shape[1]
        may_be_best = np.array(
            [
                np.full(self.candidates.n - n, self.maximisers[k].any())
                if layer.is_large
                else layer.ucb_bar[n:] >= layer.lcb_bar.max() - self.assumptions.tolerance
                for k, layer in enumerate(self._layers)
            ]
        )
        nested = np.logical_and.accumulate(may_be_best[::-1], axis=0)[::-1]
        self.maximisers = np.concatenate([self.maximisers, nested], axis=1)
        self._choices = [None] * self.n_layers

    @property
    def parameters(self) -> dict[str, Any]:
        return {"T": self.T, "alpha": self.alpha}

    def _propose_atoms(self) -> list[Atom]:
        lowest = self._lowest_open()
        if lowest is None:  # every set is empty: the assumptions are refuted
            top = self._layers[-1]
            index, ucb = top.best(self.alpha)
            return [Atom(index, 1.0, top.label, top.label, ucb)]
        atoms = []
        for k, probability in enumerate(self.probabilities):
            player = max(k, lowest)  # the sets are nested: all layers from `lowest` up are open
            index, ucb = self._choice(player)
            label = self._layers[player].label
            learner = label if player == k else None
            atoms.append(Atom(index, float(probability), learner, label, ucb))
        return atoms

    def _rule(self, atom: Atom) -> tuple[Rule, Floats]:
        alpha = self.alpha
        k = self._level(atom.player)
        bounds = ((self._anywhere(atom.player), alpha),)
        hopes = self._layers[k].promising(alpha, atom.index)
        if self._lowest_open() is None:
            return Rule(bounds), hopes
        floors = tuple(
            (self._anywhere(layer.label), float(layer.lcb_bar.max()) - self.assumptions.tolerance)
            for layer in self._layers[k:]
            if layer.n_readings
        )
        return Rule(bounds, floors), np.where(self.maximisers[k], hopes, -np.inf)

    def _choice(self, k: int) -> tuple[int, float]:
        """argmax over M(l) of ucb_l(.; alpha), kept until the layer or its set changes."""
        choice = self._choices[k]
        layer = self._layers[k]
        is_kept = not (self._is_parallel or layer.is_behind or layer.is_large)
        if choice is None or not is_kept:
            among = None if self.maximisers[k].all() else self.maximisers[k]
            choice = self._layers[k].best(self.alpha, among)
            self._choices[k] = choice if is_kept else None
        return choice

    def _lowest_open(self) -> int | None:
        is_open = self.maximisers.any(axis=1)
        return int(np.argmax(is_open)) if is_open.any() else None

    def _learner_of(self, drawn: str) -> str | None:
        lowest = self._lowest_open()
        if lowest is None:
            return self._layers[-1].label
        return drawn if self.maximisers[self._level(drawn)].any() else None

    @staticmethod
    def _level(label: str) -> int:
        return int(label.removeprefix("layer-")) - 1

    def _learners(self, label: str) -> list[Instance]:
        return [self.instances[label]]

    def _after(self, labels: Sequence[str], t: int) -> None:
        """M(i) &= {ucb_bar_l >= max lcb_bar_l} for i <= l [BKS20, Eqs. 33, 34].

        # differs: the listing forgets to intersect M(l) with M(l+1); the definition does.
        """
        for k in map(self._level, labels):
            layer = self._layers[k]
            may_be_best = layer.ucb_bar >= layer.lcb_bar.max() - self.assumptions.tolerance
            self._choices[k] = None
            for i in range(k + 1):
                if (self.maximisers[i] & ~may_be_best).any():
                    self.maximisers[i] &= may_be_best
                    self._choices[i] = None

    def _learner_again(self, reading: Reading) -> str | None:
        """Nobody: once every set is empty the top layer learns from all rounds, not from its share."""
        return None

    def _is_refuted(self) -> bool:
        return self._layers[-1].is_crossed or not self.maximisers[-1].any()

    def _guarantee(self, threat: str | None, C: float | None) -> Guarantee:
        threat = checks.choice(
            "threat", "weak" if threat is None else threat, ("none", "weak", "strong")
        )
        probability = 1.0 - self.assumptions.delta / 2.0
        if threat == "strong":
            return self._strong_guarantee(C, probability)
        chosen = ""
        if C is None:
            agreeing = [k for k in range(self.n_layers) if not self._level_bounds(k).is_refuted]
            level = agreeing[0] if agreeing else self.n_layers - 1
            chosen = "(the lowest level whose bounds agree: a heuristic choice)"
        else:
            level = robust_layer(checks.real("C", C, at_least=0.0)) - 1
            if level >= self.n_layers:
                raise ValueError(
                    f"C must be at most 2^n_layers = {2**self.n_layers}, got C={C:g}; "
                    "a larger T gives more layers"
                )
        words = (
            "against a weak adversary (who does not see the draw) with total corruption at most "
            f"{{C}} {chosen}"
        ).strip()
        labels = tuple(layer.label for layer in self._layers[level:])
        return Guarantee(threat, labels, probability, words, 2.0 ** (level + 1))

    def _strong_guarantee(self, C: float | None, probability: float) -> Guarantee:
        budgets = [layer.C for layer in self._layers]
        if C is None:
            raise ValueError("C must be given for threat='strong': layers do not know it")
        C = checks.real("C", C, at_least=0.0)
        labels = tuple(layer.label for layer in self._layers if layer.C >= C)
        if not labels:
            raise ValueError(
                f"C must be at most {max(budgets):.4g}, the largest budget of a layer, for "
                f"threat='strong', got C={C:g}; RobustGPUCB is made for that"
            )
        words = "against any adversary with total corruption at most {C}"
        return Guarantee("strong", labels, probability, words, C)

    def _level_bounds(self, k: int) -> ValidBounds:
        return ValidBounds.of(self._layers[k:], self.assumptions)

    def _levels(self, i: int, threat: str) -> tuple[Level, ...]:
        if threat == "strong" or self.options.beta is not None or self.journal.is_selected:
            return ()
        levels = []
        for k in range(self.n_layers):
            bounds = self._level_bounds(k)
            value = None if bounds.is_refuted else bounds.simple_regret(i)
            levels.append(Level(2.0 ** (k + 1), value))
        return tuple(levels)

    def _notes(self) -> list[str]:
        notes = super()._notes()
        if self.t > self.T:
            notes.append(f"Past the horizon T={self.T}: intervals hold, the regret theorem not.")
        return notes
