"""Layered Fast-Slow GP-UCB, for unknown corruption."""

from collections.abc import Mapping, Sequence
from functools import partial, reduce
from typing import Any, Unpack

import numpy as np

from unbribable.decision.algorithm import Algorithm
from unbribable.decision.asking.next_round import NextRound
from unbribable.decision.asking.rule import Play, Rule
from unbribable.decision.instance import Instance, crossed
from unbribable.decision.options import Options, OptionWords
from unbribable.decision.policies.gp_ucb import OneInstance
from unbribable.decision.policy import Lessons, Policy
from unbribable.decision.proposal import Reading
from unbribable.decision.proven.conditions import Condition, Note, PastHorizon
from unbribable.decision.proven.guarantee import Guarantee, threat_of
from unbribable.decision.proven.levels import Believer
from unbribable.decision.recommend import Level, ValidBounds
from unbribable.model import checks
from unbribable.model.box import Box
from unbribable.model.checks import Bools, Floats
from unbribable.model.domain import Grid
from unbribable.theory.assumptions import Assumptions
from unbribable.theory.budgets import drawn_layers, layer_budgets, told_layer_budgets
from unbribable.theory.elimination import rule_out

ONE_LEVEL = 2.0
"""Known corruption up to which there is one layer: Algorithm 1."""


class Layers(Policy):
    """Holds changing state: the layers, and the potential maximisers of each. See LayeredGPUCB."""

    maximisers: Bools
    """(n_layers, n); nested, layer 1 first."""

    def __init__(
        self,
        assumptions: Assumptions,
        options: Options,
        *,
        T: int | None,
        C: float | None,
        alpha: float,
        with_all: bool,
    ) -> None:
        super().__init__(assumptions, options)
        if T is not None:
            self.budgets = layer_budgets(assumptions, T, options.tail, with_all=with_all)
        elif C is not None:
            self.budgets = told_layer_budgets(assumptions, C, options.tail)
        totals = (budget.total for budget in self.budgets.values())
        self._totals = tuple(total for total in totals if total is not None)
        self.draws = drawn_layers(len(self._totals))
        told = {"C": C} if T is None else {"T": T}
        self.parameters = {**told, "alpha": alpha, "with_all": with_all}
        self.safe_up_to = self._totals[-1]
        self.holds_all = "all" if with_all else None
        self.knows = "that there are lies" if C is None else "C"
        self._T, self._alpha, self._with_all = T, alpha, with_all
        self._levels = {label: k for k, (label, _) in enumerate(self.draws)}

    def begin(self, instances: Mapping[str, Instance], n: int) -> None:
        super().begin(instances, n)
        self._layers = tuple(instances[label] for label, _ in self.draws)
        self._all = instances["all"] if self._with_all else None
        self.maximisers = np.ones((len(self._layers), n), dtype=np.bool_)
        self._lowest: int | None
        self._among: list[Bools | None]
        self._look()
        # upper and lower bounds: of the layers, (2, n_layers, n), and of the top one with "all", (2, n)
        self._bars: Floats | None = None
        self._top: Floats
        self._nothing = (None,) * len(self.draws)
        # with the player's readings by then
        self._kept: list[tuple[Instance, int, Play] | None] = list(self._nothing)

    def plays(self, choice: NextRound) -> list[Play]:
        if self._lowest is None:  # every set is empty: the assumptions are refuted
            top = self._layers[-1]
            rule = Rule(top, self._alpha)
            return [Play(1.0, top.label, rule, *choice.best(rule))]
        known = self._kept if choice.is_plain else self._nothing
        return [
            self._play(k, max(k, self._lowest), choice)
            if kept is None or kept[0].n_readings != kept[1]
            else kept[2]
            for k, kept in enumerate(known)
        ]

    def _play(self, k: int, player: int, choice: NextRound) -> Play:
        """argmax over M(l) of ucb_l(.; alpha), kept until the layer that plays or its set changes.

        The sets are nested: all layers from the lowest open one up are open.
        """
        layer, (label, probability) = self._layers[player], self.draws[k]
        rule = Rule(layer, self._alpha, (), self._among[player], partial(self._floors, player))
        play = Play(probability, label if player == k else None, rule, *choice.best(rule))
        if choice.is_plain:
            self._kept[k] = (layer, layer.n_readings, play)
        return play

    def learner_of(self, drawn: str) -> str | None:
        if self._lowest is None:
            return self._layers[-1].label
        return drawn if self._levels[drawn] >= self._lowest else None

    def lessons(self, reading: Reading) -> Lessons:
        learner, y = reading.learner, reading.y
        layers = () if learner is None else ((self.instances[learner], y),)
        return layers if self._all is None else (*layers, (self._all, y))

    def conclude(self, labels: Sequence[str], t: int) -> bool:
        """M(i) &= {ucb_bar_l >= max lcb_bar_l} for i <= l [BKS20, Eqs. 33, 34].

        # differs: the listing forgets to intersect M(l) with M(l+1); the definition does.
        """
        if self._all is not None:
            n_changed = self._rule_out_by_all(self._all, labels)
        else:
            n_changed = max(self._rule_out(self._levels[label]) for label in labels)
        if n_changed:
            self._kept[:n_changed] = self._nothing[:n_changed]
            self._look()
        if self._lowest is None:
            return True
        top = self._layers[-1]
        upper, lower = (top.ucb_bar, top.lcb_bar) if self._all is None else self._top
        return crossed(upper, lower, self.assumptions.B0, self.assumptions.tolerance)

    def _rule_out(self, k: int) -> int:
        """Remove the points layer k rules out from the sets 1..k. Returns how many may have changed."""
        may_be_best = self._may_be_best(k)
        is_any_lost = (self.maximisers[k] > may_be_best).any()  # they are nested
        self.maximisers[: k + 1] &= may_be_best
        return k + 1 if is_any_lost else 0

    def _rule_out_by_all(self, every: Instance, labels: Sequence[str]) -> int:
        """The same for what layers and "all" rule out together; these labels have new bounds."""
        changed = [self._layers[self._levels[label]] for label in labels if label in self._levels]
        if self._bars is None:
            self._bars, self._top = np.empty((2, *self.maximisers.shape)), np.empty((2, len(every.mu)))
            changed = [*self._layers]
        for layer in changed:
            k = self._levels[layer.label]
            self._bars[0, k], self._bars[1, k] = layer.ucb_bar, layer.lcb_bar
        levels = every.levels
        assert levels is not None
        own, other = tuple(self._bars), (levels.upper, levels.lower)
        return rule_out(own, other, self.assumptions.tolerance, self.maximisers, self._top)

    def grown(self, n: int) -> None:
        """A new candidate is a potential maximiser of layer l unless a layer from l up rules it out."""
        first = self.maximisers.shape[1]
        may_be_best = np.array([self._may_be_best(k)[first:] for k in range(len(self._layers))])
        nested = np.logical_and.accumulate(may_be_best[::-1], axis=0)[::-1]
        self.maximisers = np.concatenate([self.maximisers, nested], axis=1)
        self._bars, self._kept = None, list(self._nothing)
        self._look()

    def _may_be_best(self, k: int) -> Bools:
        upper, lower = self._level_bounds(k)
        found: Bools = upper >= lower.max() - self.assumptions.tolerance
        return found

    def _at(self, k: int) -> tuple[Believer, ...]:
        """The bounds that level k rules points out with: its layer's, and those of "all" at its C."""
        layer = self._layers[k]
        return (layer,) if self._all is None else (layer, self._all.at_levels[k])

    def _level_bounds(self, k: int) -> tuple[Floats, Floats]:
        """Upper and lower bounds of level k, (n,) each."""
        upper = reduce(np.minimum, [each.ucb_bar for each in self._at(k)])
        lower = reduce(np.maximum, [each.lcb_bar for each in self._at(k)])
        return upper, lower

    def _floors(self, k: int) -> tuple[tuple[Believer, float], ...]:
        """What upper bounds of a potential maximiser of level k must reach, also off the candidates."""
        tolerance = self.assumptions.tolerance
        return tuple(
            (each, float(self._level_bounds(level)[1].max()) - tolerance)
            for level in range(k, len(self._layers))
            for each in self._at(level)
        )

    def _look(self) -> None:
        """Find the lowest layer that has a potential maximiser, and who plays among all candidates."""
        self._among = [None if among.all() else among for among in self.maximisers]
        is_open = self.maximisers.any(axis=1)
        self._lowest = int(np.argmax(is_open)) if is_open.any() else None

    def learner_again(self, learner: str | None) -> str | None:
        """Nobody: with every set empty the top layer learned from all rounds, not from its share."""
        return None

    def trust(self, threat: str | None, C: float | None) -> Guarantee:
        threat = threat_of(threat, "weak")
        probability = 1.0 - self.assumptions.delta / 2.0
        if threat == "strong":
            return self._trust_against_strong(C, probability)
        n_layers, is_guess = len(self._layers), C is None
        if C is None:
            agreeing = [k for k in range(n_layers) if not self._bounds(k).is_refuted]
            level = agreeing[0] if agreeing else n_layers - 1
        else:
            C = checks.real("C", C, at_least=0.0)
            if self._totals[-1] < C:
                most = (
                    f"2^n_layers = {2**n_layers}" if self._T else f"the {self._totals[-1]:g} it was told"
                )
                hint = "; a larger T gives more layers" if self._T else ""
                raise ValueError(f"C must be at most {most}, got C={C:g}{hint}")
            level = next(k for k, total in enumerate(self._totals) if total >= C)
        labels = tuple(each.label for each in self._from(level))
        return Guarantee(threat, labels, probability, self._totals[level], is_guess=is_guess)

    def _trust_against_strong(self, C: float | None, probability: float) -> Guarantee:
        if C is None:
            raise ValueError("C must be given for threat='strong': layers do not know it")
        C = checks.real("C", C, at_least=0.0)
        labels = tuple(each.label for each in self._against_strong(C))
        if not labels:
            largest = max(budget.C for budget in self.budgets.values())
            raise ValueError(
                f"C must be at most {largest:.4g}, the largest budget of a layer, for "
                f"threat='strong', got C={C:g}; RobustGPUCB is made for that"
            )
        return Guarantee("strong", labels, probability, C)

    def _against_strong(self, C: float) -> tuple[Believer, ...]:
        """The layers whose budget covers C even with every lie, and the lowest such level of "all"."""
        layers = tuple(layer for layer in self._layers if layer.C >= C)
        levels = () if self._all is None else self._all.at_levels
        return (*layers, *[level for level in levels if level.C >= C][:1])

    def _from(self, k: int) -> tuple[Believer, ...]:
        """Those whose bounds hold against a weak adversary if level k covers the corruption."""
        layers = self._layers[k:]
        return layers if self._all is None else (*layers, self._all.at_levels[k])

    def _bounds(self, k: int) -> ValidBounds:
        """What level k and the layers above it leave."""
        return ValidBounds.of(self._from(k), self.assumptions)

    def named(self, label: str) -> Believer:
        levels = () if self._all is None else self._all.at_levels
        return {level.label: level for level in levels}.get(label) or self.instances[label]

    def levels(self, i: int, threat: str, allowed: Bools | None) -> tuple[Level, ...]:
        is_strong, levels = threat == "strong", []
        if is_strong and self._all is None:
            return ()
        for k, C in enumerate(self._totals):
            trusted = self._against_strong(C) if is_strong else self._from(k)
            bounds = ValidBounds.of(trusted, self.assumptions, allowed)
            value = None if bounds.is_refuted else bounds.simple_regret(i)
            levels.append(Level(C, value, "strong" if is_strong else "weak"))
        return tuple(levels)

    def notes(self, t: int, conditions: Sequence[Condition] | None) -> list[Note]:
        return [] if self._T is None or t <= self._T else [PastHorizon(self._T)]


class LayeredGPUCB(Algorithm):
    """Layers drawn with probability 2^-l, each safe against a corruption of 2^l [BKS20, Alg. 3].

    The layer that is drawn plays argmax ucb(.; alpha) among its potential maximisers and learns.
    A point that layer l rules out is ruled out for every layer below it too. If the drawn layer
    has no potential maximiser left, the lowest layer above that has one plays, and nobody learns.

    The budgets hold against a weak adversary, who does not see the draw.

    `with_all` (ours): "all" learns from every reading, and keeps bounds at each corruption 2^l. Level l
    then rules points out by the layer's bounds and those of "all" at 2^l together, after every reading.
    The layers play and learn as before. Each width and tail has the share delta / (2 (2 n_layers + 1)).
    Proof that Theorem 10 holds with that share. At the levels l >= l* that cover C both kinds of bounds
    hold, so the maximiser stays among M(l), and an instant regret is at most 2 alpha times the layer's
    own width, as before. Lemma 8: if a learned play x_i of l* has 2 alpha width <= D/10, every x left in
    M(l*) after it has a gap below D, since ucb(x; alpha) <= ucb(x_i; alpha) where x was allowed, the
    maximiser is in M(l*), and the layer's own bounds cut points of a larger gap. What is drawn below l*
    plays inside M(l*). QED
    With C in place of T the same proof, with one covering layer, gives for each T `theorem_10_told`.
    The bounds of "all" hold against strong adversaries too: see `recommend(threat="strong", C=...)`.

    Args:
        domain: A Grid or a Box.
        assumptions: What the guarantee rests on; c_max must be finite.
        T: Horizon: decides the number of layers. Intervals stay valid past it, the regret theorem
            does not.
        C: Instead of T, with `with_all`: total corruption, at most that (ours). The layers then end with
            one that allows for it, and there is no horizon; up to C = 2 this is Algorithm 1.
        alpha: Widening of the rule, > 9/5; the theorem uses 2.
        seed: Of the draws, secret; fresh entropy if None.
        with_all: Rule points out by the readings of all layers together, too. False: the paper's letter.
        options: width, noise, tail, gain, beta: see Options.

    Attributes:
        probabilities: Of each layer, (n_layers,).
    """

    policy: Layers | OneInstance

    def __init__(
        self,
        domain: Grid | Box,
        assumptions: Assumptions,
        *,
        T: int | None = None,
        C: float | None = None,
        alpha: float = 2.0,
        seed: Any = None,
        with_all: bool = True,
        **options: Unpack[OptionWords],
    ) -> None:
        self.alpha = checks.real("alpha", alpha, above=1.8)
        self.with_all = checks.truth("with_all", with_all)
        if T is not None and C is not None:
            raise ValueError(f"T must be left out where C is given, got T={T!r}, C={C!r}")
        if C is not None and not self.with_all:
            raise ValueError(f"with_all must be True where C is given, got with_all=False, C={C!r}")
        self.T = checks.integer("T", T, at_least=1, hint="; or give C") if C is None else None
        self.C = None if C is None else checks.real("C", C, above=0.0)
        chosen = Options(**options)
        policy: Layers | OneInstance
        if self.C is not None and self.C <= ONE_LEVEL:
            policy = OneInstance(assumptions, chosen, self.C)
        else:
            policy = Layers(
                assumptions, chosen, T=self.T, C=self.C, alpha=self.alpha, with_all=self.with_all
            )
        self.n_layers = len(policy.draws)
        self.probabilities = np.array([probability for _, probability in policy.draws])
        super().__init__(domain, policy, seed)

    @property
    def maximisers(self) -> Bools:
        """Potential maximisers of each layer, (n_layers, n); nested, layer 1 first."""
        found = self.policy.maximisers
        return np.ones((1, self.candidates.n), dtype=np.bool_) if found is None else found
