"""The ladder, for unknown corruption, any adversary and no horizon (ours)."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Unpack

import numpy as np

from unbribable.decision.algorithm import Algorithm
from unbribable.decision.asking.next_round import NextRound
from unbribable.decision.asking.rule import Play, Rule
from unbribable.decision.instance import Instance
from unbribable.decision.options import Options, OptionWords
from unbribable.decision.policy import Lessons, Policy
from unbribable.decision.proposal import Reading
from unbribable.decision.proven.conditions import Condition, Consistent, Note
from unbribable.decision.proven.guarantee import Guarantee, threat_of
from unbribable.decision.proven.levels import AtLevel, Believer
from unbribable.decision.recommend import Level, ValidBounds
from unbribable.model import checks
from unbribable.model.box import Box
from unbribable.model.checks import Bools
from unbribable.model.domain import Grid
from unbribable.theory.assumptions import Assumptions
from unbribable.theory.budgets import Budget, ladder_budget, ladder_level

UNIT = 0.25
"""The unit where none is given, as a share of c_max: level 1 allows for half of it, level 2 for all."""


class Ladder(Policy):
    """Holds changing state: "main", which learns everything, and which levels have begun.

    What is out of the question at a level follows from its bounds, which only ever tighten. See
    LadderGPUCB.
    """

    draws = (("main", 1.0),)
    holds_all = "main"
    knows = "that there are lies"

    def __init__(self, assumptions: Assumptions, options: Options, unit: float | None) -> None:
        super().__init__(assumptions, options)
        c_max = assumptions.c_max
        if math.isinf(c_max):
            raise ValueError(
                "c_max must be finite where levels take turns, got c_max=inf; clip the readings, or say "
                "how large a single lie can be"
            )
        self.unit = checks.real("unit", UNIT * c_max if unit is None else unit, at_least=1e-9 * c_max)
        self.budgets = {"main": Budget(0.0, assumptions.delta, levels=())}
        self.parameters = {"unit": self.unit}

    def begin(self, instances: Mapping[str, Instance], n: int) -> None:
        super().begin(instances, n)
        self._main = instances["main"]
        self.begun: tuple[AtLevel, ...] = ()
        self._is_refuted = False
        self.safe_up_to = 0.0

    # --- playing -------------------------------------------------------------------------------

    def plays(self, choice: NextRound) -> list[Play]:
        number, among = self._player(choice.turn)
        level = self._level(number)
        rule = Rule(level)
        if among is not None:
            among = None if among.all() else among
            rule = Rule(level, among=among, floors=partial(self._floors, level))
        return [Play(1.0, "main", rule, *choice.best(rule), number)]

    def _player(self, turn: int) -> tuple[int, Bools | None]:
        """The level that plays in this turn, and among which candidates; None: among all.

        It is the lowest one with potential maximisers from 1 + (how often 2 divides the turn) up. One
        that has not begun has them all. The sets are nested, so if the highest is empty all are: then
        the next one begins, unless no level can explain the readings.
        """
        number, n_begun = (turn & -turn).bit_length(), len(self.begun)
        if number > n_begun:
            return number, None
        sets = self.maximisers_now()
        if sets[-1].any():
            number = max(number, int(np.argmax(sets.any(axis=1))) + 1)
            return number, sets[number - 1]
        return n_begun + (not self._is_refuted), None

    def _floors(self, level: AtLevel) -> tuple[tuple[Believer, float], ...]:
        """What upper bounds of a potential maximiser of a level must reach, also off the candidates."""
        return ((level, float(level.lcb_bar.max()) - self.assumptions.tolerance),)

    def maximisers_now(self) -> Bools:
        """Potential maximisers of each level that has begun, (n_begun, n); nested, level 1 first."""
        levels = self._main.now.levels
        assert levels is not None
        best = levels.lower.max(axis=1, keepdims=True) - self.assumptions.tolerance
        sets: Bools = np.logical_and.accumulate((levels.upper >= best)[::-1], axis=0)[::-1]
        return sets

    # --- learning ------------------------------------------------------------------------------

    def learner_of(self, drawn: str) -> str | None:
        return "main"

    def lessons(self, reading: Reading) -> Lessons:
        return ((self._main, reading.y),)

    def before(self, reading: Reading, turn: Callable[[int], int]) -> Reading:
        """Start the level that plays in this round, before its reading is learned.

        If a host asked, that is the level whose turn it would be now. A point that somebody else chose
        takes no turn: otherwise, telling one after each query would use up all the even turns.
        """
        if reading.chosen_by != "algorithm":
            return reading
        if not reading.level:
            reading = replace(reading, level=self._player(turn(reading.t))[0])
        for number in range(len(self.begun) + 1, reading.level + 1):
            C = ladder_budget(self.unit, number)
            self._main.begin_level(C)
            self.begun += (AtLevel(self._main, _label(number), C, number - 1),)
        return reading

    def conclude(self, labels: Sequence[str], t: int) -> bool:
        """Look whether no lies within c_max explain the readings.

        A level that allows for a lie of c_max in every reading covers whatever was told. Its bounds are
        wider than those of the levels below, so it is looked at only if the highest is crossed.
        """
        self.safe_up_to = self.assumptions.c_max * self._main.n_readings  # no readings hold more
        top = self._covering_everything()
        has_begun = top <= len(self.begun)
        may_be = has_begun or not self.begun or self._is_crossed(len(self.begun))
        self._is_refuted = self._is_refuted or (may_be and self._is_crossed(top))
        return self._is_refuted

    def lcb_of(self, reading: Reading, i: int) -> float | None:
        if not reading.level:
            return None
        now = self._level(reading.level).now
        return float(now.mu[i]) - now.width_at(i)

    # --- trusting ------------------------------------------------------------------------------

    def trust(self, threat: str | None, C: float | None) -> Guarantee:
        threat = threat_of(threat, "strong")
        is_guess = C is None
        if C is None:
            number = self._lowest_consistent()
        else:
            number = self._covering(checks.real("C", C, at_least=0.0))
        C = max(C or 0.0, ladder_budget(self.unit, number))
        probability = 1.0 - self.assumptions.delta
        return Guarantee(threat, (_label(number),), probability, C, is_guess=is_guess)

    def is_trusted(self, reading: Reading, labels: Sequence[str]) -> bool:
        """Whether its level is the one in question or one above, which covers no less."""
        return reading.level >= _number(labels[0])

    def named(self, label: str) -> Believer:
        return self.instances[label] if label in self.instances else self._level(_number(label))

    def levels(self, i: int, threat: str, allowed: Bools | None) -> tuple[Level, ...]:
        levels = []
        for number in range(1, max(len(self.begun), self._covering_everything()) + 1):
            bounds = replace(self._bounds(number), allowed=allowed)
            value = None if bounds.is_refuted else bounds.simple_regret(i)
            levels.append(Level(ladder_budget(self.unit, number), value, "strong"))
        return tuple(levels)

    def notes(self, t: int, conditions: Sequence[Condition] | None) -> list[Note]:
        number = self._lowest_consistent()
        below = None if number == 1 else ladder_budget(self.unit, number - 1)
        held = None if conditions is None else tuple(conditions)
        return [Consistent(ladder_budget(self.unit, number), below, self.assumptions.delta, held)]

    def _level(self, number: int) -> AtLevel:
        """The level of that number. One that has not begun is shown as if it began now."""
        if number <= len(self.begun):
            return self.begun[number - 1]
        return AtLevel(self._main, _label(number), ladder_budget(self.unit, number), None)

    def _covering(self, C: float) -> int:
        """The lowest level that covers C, or as much as lies of c_max in all readings can amount to."""
        return ladder_level(self.unit, min(C, self.assumptions.c_max * self._main.n_readings))

    def _covering_everything(self) -> int:
        return self._covering(math.inf)

    def _lowest_consistent(self) -> int:
        last = self._covering_everything()
        return next((number for number in range(1, last) if not self._is_crossed(number)), last)

    def _is_crossed(self, number: int) -> bool:
        """Whether the level's bounds leave some candidate no value, which proves a larger corruption."""
        return self._bounds(number).is_refuted

    def _bounds(self, number: int) -> ValidBounds:
        return ValidBounds.of((self._level(number),), self.assumptions)


class LadderGPUCB(Algorithm):
    """One belief at the corruptions unit * 2, unit * 4, unit * 8, ...; the levels play in turn (ours).

    For unknown corruption. It holds against any adversary, strong ones included; it is told neither C
    nor a horizon, draws nothing and has no secret.

    Level l = 1, 2, ... has bounds mu +- (noise + shift at the corruption b_l = unit 2^l), intersected
    over time, and the set M(l) of candidates whose upper bound reaches the largest lower one. Level l
    plays every 2^l-th turn, 1 2 1 3 1 2 1 4 ..., the argmax of its current upper bound among M(l); if
    that is empty, the lowest level above it with a potential maximiser plays. Levels begin with their
    first turn, or when all that have begun are empty. A turn is a round that was asked for.

    Theorem. Let C be the sum of |lie| in the readings up to round T, l* = min { l : b_l >= C } and w_l
    the width of level l before the reading. With probability at least 1 - delta, for every T and every
    adversary, even one who sees the noise of its round, the maximiser is in M(l) for all l >= l* and

        R_T <= sum over turns of levels l >= l* of 2 w_l(x_t)  +  sum over the others of 2 w_l*(x_t)
               + (2^l* - 2) * sum over turns s of level l* of 2 w_l*(x_s)  +  2 B0 (2^(l*-1) - 1)

    up to the tolerance in each round; in closed form `theorem_ladder`.
    Proof. One noise event serves all levels and times, so the bounds of each level l >= l* hold and the
    maximiser x* is never removed from M(l). (i) If level j >= l* plays, ucb_j(x_t) >= ucb_j(x*) >= f(x*)
    and the instant regret is at most 2 w_j(x_t); if that was not its turn, all sets from l(t) to j - 1
    are empty, so j = l*. (ii) If level j < l* plays, x_t is in M(j), a subset of M(l*), so its instant
    regret is at most 2 w_l*(x_t) + f(x*) - max lcb_bar_l*; at the last turn s of l* itself lcb_l*(x_s)
    >= f(x*) - 2 w_l*(x_s), and lcb_bar only grows. Between two turns of l* lie 2^l* - 1 others, one of
    them of a higher level; before the first one 2^(l*-1) - 1 turns cost at most 2 B0 each. QED

    Args:
        domain: A Grid or a Box.
        assumptions: What the guarantee rests on; c_max must be finite.
        unit: Half the corruption that the lowest level allows for; a quarter of c_max if None.
            Smaller: less regret without lies, more with them.
        options: width, noise, tail, gain, beta: see Options (tail does nothing here).
    """

    policy: Ladder

    def __init__(
        self,
        domain: Grid | Box,
        assumptions: Assumptions,
        *,
        unit: float | None = None,
        **options: Unpack[OptionWords],
    ) -> None:
        policy = Ladder(assumptions, Options(**options), unit)
        self.unit = policy.unit
        super().__init__(domain, policy)

    @property
    def maximisers(self) -> Bools:
        """Potential maximisers of each level that has begun, (n_begun, n); nested, level 1 first."""
        return self.policy.maximisers_now()


def _label(number: int) -> str:
    return f"level-{number}"


def _number(label: str) -> int:
    return int(label.split("-")[1])
