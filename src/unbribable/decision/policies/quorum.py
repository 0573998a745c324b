"""Counted lies: at most n_lies readings are lies, of any size, from any adversary (ours)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

import numpy as np

from unbribable.decision.algorithm import Algorithm
from unbribable.decision.asking.next_round import NextRound
from unbribable.decision.asking.rule import Landscape, Play, Rule
from unbribable.decision.instance import Instance
from unbribable.decision.options import Options, OptionWords
from unbribable.decision.policy import Lessons, Policy
from unbribable.decision.proposal import Reading
from unbribable.decision.proven.counted import Counted, CountedLies, kth_smallest
from unbribable.decision.proven.guarantee import Guarantee, threat_of
from unbribable.decision.proven.levels import Believer
from unbribable.model import checks
from unbribable.model.belief import BeliefAt, Slope
from unbribable.model.box import Box
from unbribable.model.checks import Bools, Floats
from unbribable.model.domain import Grid
from unbribable.model.elsewhere import Elsewhere
from unbribable.model.kernels import Kernel
from unbribable.theory.assumptions import Assumptions
from unbribable.theory.budgets import KAPPA, Budget, n_hands, quorum_shares


class Quorum(Policy):
    """Holds changing state: the hands, "all", and what follows from them; see QuorumGPUCB."""

    holds_all = "all"
    counts_lies = True

    def __init__(self, assumptions: Assumptions, options: Options, n_lies: int) -> None:
        super().__init__(assumptions, options, takes_energy=True)
        self.n_lies = checks.integer("n_lies", n_lies, at_least=0)
        self._shares = quorum_shares(assumptions.delta, self.n_lies)
        self._labels = tuple(f"hand-{g + 1}" for g in range(n_hands(self.n_lies)))
        # The hand of a round that was asked is fixed with its point; that of any other reading is drawn.
        self.draws = tuple((label, 1.0 / len(self._labels)) for label in self._labels)
        hands = {label: Budget(0.0, self._shares.hand) for label in self._labels}
        self.budgets = {**hands, "all": Budget(0.0, self._shares.every)}
        self.parameters = {"n_lies": self.n_lies}

    def options_of(self, label: str) -> Options:
        """The energy form is for honest readings alone, so not for "all", which holds the lies too."""
        is_energy = self.options.noise == "energy"
        return replace(self.options, noise="tight") if label == "all" and is_energy else self.options

    def begin(self, instances: Mapping[str, Instance], n: int) -> None:
        super().begin(instances, n)
        self.hands = tuple(instances[label] for label in self._labels)
        self._every = instances["all"]
        self.counted = Counted(
            self.hands,
            self._every,
            n_lies=self.n_lies,
            assumptions=self.assumptions,
            level_delta=self._shares.level,
        )

    # --- playing -------------------------------------------------------------------------------

    def plays(self, choice: NextRound) -> list[Play]:
        """argmax u among the candidates that the bounds do not rule out; refuted, as GP-UCB does."""
        counted, ahead = self.counted, choice.ahead(self._every)
        if counted.is_refuted:
            rule = Rule(self._every)
            index, ucb = choice.best(rule)
            return [Play(1.0, self._dealt_to(index).label, rule, index, ucb)]
        upper = counted.upper
        if ahead.expected is not None:
            upper = counted.mu + ahead.shrink * (upper - counted.mu)
        among = self.candidates()
        allowed = ahead.allowed(upper, among)
        index = int(np.argmax(allowed))
        hand = self._dealt_to(index)
        rule = Rule(hand, among=among, values=upper, surface=partial(QuorumSurface, self))
        ucb = float(upper[index])
        return [Play(1.0, hand.label, rule, index, ucb)]

    def candidates(self) -> Bools | None:
        """Those whose upper bound reaches the largest lower one; None: all, or none are left."""
        counted = self.counted
        is_left = counted.ucb_bar >= counted.lcb_bar.max() - self.assumptions.tolerance
        return None if is_left.all() else is_left

    def _dealt_to(self, index: int) -> Instance:
        """Who gets a reading of a candidate."""
        sigmas = np.array([hand.sigma[index] for hand in self.hands])
        return self.hands[self._binding(self.counted.U[:, index], sigmas)]

    def _binding(self, uppers: Floats, sigmas: Floats) -> int:
        """The hand whose upper bound is u at a point, or the one that knows least of it.

        Of equal bounds those of hands with more readings count as smaller: few hands learn sooner.
        """
        n_readings = np.array([-hand.n_readings for hand in self.hands])
        g = int(np.lexsort((n_readings, uppers))[self.n_lies])
        return g if KAPPA * sigmas[g] >= sigmas.max() else int(np.argmax(sigmas))

    def dealt(self, play: Play, u: Floats, choice: NextRound) -> Play:
        """Off the candidates, too, the hand is the binding one at the point; see `_binding`."""
        views = [choice.anywhere(hand) for hand in self.hands]
        uppers = np.array([view.ucb(u[None, :], 1.0)[0] for view in views])
        sigmas = np.array([view.describe(u)[1] for view in views])
        hand = self.hands[self._binding(uppers, sigmas)]
        return replace(play, learner=hand.label, rule=replace(play.rule, player=hand))

    # --- learning ------------------------------------------------------------------------------

    def learner_of(self, drawn: str) -> str | None:
        return drawn

    def lessons(self, reading: Reading) -> Lessons:
        assert reading.learner is not None
        heard = self.counted.heard(reading.t, reading.y, self._quality(reading))
        return ((self.instances[reading.learner], heard), (self._every, reading.y))

    def learned(self, reading: Reading, index: int) -> None:
        hand = self._labels.index(reading.learner or "")
        self.counted.add(index, reading.y, reading.t, self._quality(reading), hand)
        self.counted.look_at([hand])

    def _quality(self, reading: Reading) -> float:
        return math.sqrt(reading.lam / self.assumptions.lam)

    def shown(self) -> Mapping[str, Believer]:
        """The bounds by all hands: a hand's own may be spoilt by a lie."""
        return {"quorum": self.counted}

    def shares_of_lies(self) -> tuple[float, float]:
        """The shares set aside for that, so that it is one event with the bounds."""
        return self._shares.energy, self._shares.level

    def guide(self, learner: str | None) -> Believer | None:
        return self.counted

    def conclude(self, labels: Sequence[str], t: int) -> bool:
        self.counted.conclude()
        return self.counted.is_refuted

    def grown(self, n: int) -> None:
        self.counted.extend()

    def lcb_of(self, reading: Reading, i: int) -> float | None:
        return float(self.counted.lcb_bar[i])

    # --- trusting ------------------------------------------------------------------------------

    def trust(self, threat: str | None, C: float | None) -> Guarantee:
        threat = threat_of(threat, "strong")
        if C is not None:
            raise ValueError(f"C must be left out, lies are counted here, got C={C}")
        probability = 1.0 - self.assumptions.delta
        lies = CountedLies(self.n_lies)
        return Guarantee(threat, ("quorum",), probability, math.inf, lies=lies)

    def is_trusted(self, reading: Reading, labels: Sequence[str]) -> bool:
        """No: the recorded bound is that of one hand, which lies may have spoilt."""
        return False

    def named(self, label: str) -> Believer:
        return self.counted if label == "quorum" else self.instances[label]


class QuorumSurface(Landscape):
    """u at any point: by the hands, by those without a found lie, and by the posterior of all readings.

    Args:
        policy: With the current bounds.
        choice: What is pending.
    """

    def __init__(self, policy: Quorum, choice: NextRound) -> None:
        counted = policy.counted
        self._hands = [choice.anywhere(hand) for hand in policy.hands]
        self._firsts = [hand.now.first_width for hand in policy.hands]
        self._ranks = [(np.arange(len(self._hands)), counted.n_lies)]
        others, left = counted.unspoilt
        if left < counted.n_lies and len(others) > left:
            self._ranks.append((others, left))
        self._repair = None if counted.is_behind else counted.repair
        self._noise = counted.now.noise_width
        self._elsewhere = Elsewhere(counted.posterior)
        self._expected = choice.ahead(counted).expected

    @property
    def kernel(self) -> Kernel:
        return self._hands[0].kernel

    @property
    def m(self) -> int:
        return max(hand.m for hand in self._hands)

    def values(self, U: Floats) -> Floats:
        uppers = np.array([hand.ucb(U, 1.0) for hand in self._hands])
        uppers = np.minimum(uppers, [first(U) for first in self._firsts])
        least = np.min([kth_smallest(uppers[hands], k) for hands, k in self._ranks], axis=0)
        if self._repair is None:
            return self._shrunk(least, U, None)
        at = self._elsewhere.at(U)
        mean = self._repair.pull @ at.columns
        above = self._noise.value(at) + self._repair.moves(at.columns)[0]
        least = np.minimum(least, mean + above)
        return self._shrunk(least, U, at)

    def value_and_gradient(self, u: Floats) -> tuple[float, Floats]:
        U = u[None, :]
        ups = [hand.ucb_and_gradient(u, 1.0) for hand in self._hands]
        for g, first in enumerate(self._firsts):
            width = float(first(U)[0])
            if ups[g][0] > width:  # as before any reading
                share_ = self.kernel.diag_gradient(u) / (2.0 * float(self.kernel.diag(U)[0]))
                ups[g] = (width, width * share_)
        uppers = np.array([upper for upper, _ in ups])
        found = [ups[hands[np.argsort(uppers[hands], kind="stable")[k]]] for hands, k in self._ranks]
        if self._repair is None:
            least: tuple[float, Floats] = min(found, key=lambda one: one[0])
            return least
        at = self._elsewhere.at(U)
        column = at.columns[:, 0]
        push = self._noise.slope(at) + Slope(columns=self._repair.slope(column))
        mean = float(self._repair.pull @ column)
        ucb = mean + float(self._noise.value(at)[0] + self._repair.moves(at.columns)[0, 0])
        found.append((ucb, self._elsewhere.gradients(u, at, push)[2]))
        value, gradient = min(found, key=lambda one: one[0])
        if self._expected is None:
            return value, gradient
        var_ = self._elsewhere.gradients(u, at, Slope(var=1.0))[2]
        mean_ = self._elsewhere.gradients(u, at, Slope(columns=self._repair.pull))[2]
        share, share_ = self._expected.shrink_and_gradient(u, at, var_)
        above = value - mean
        slope: Floats = mean_ + share_ * above + share * (gradient - mean_)
        return mean + share * above, slope

    def _shrunk(self, upper: Floats, U: Floats, at: BeliefAt | None) -> Floats:
        """The bound with the distance from the mean shrunk to what pending queries will leave."""
        if self._expected is None:
            return upper
        at = self._elsewhere.at(U) if at is None else at
        mean = 0.0 if self._repair is None else self._repair.pull @ at.columns
        shrunk: Floats = mean + self._expected.shrink(U, at) * (upper - mean)
        return shrunk


class QuorumGPUCB(Algorithm):
    """At most n_lies readings are lies, of any size, from an adversary who sees everything (ours).

    Readings are dealt into 2 n_lies + 1 hands, each with a belief of its own that trusts every reading
    it holds; n_lies lies spoil at most n_lies hands. So f lies between the (n_lies + 1)-th largest lower
    and the (n_lies + 1)-th smallest upper bound u of the hands; found lies and a posterior of all
    readings tighten that (`proven.counted`). It plays argmax u among the candidates not ruled out. The
    reading goes to the hand whose bound is u there, fixed when the point is asked for; a reading of a
    point that somebody else chose goes to a hand that is drawn.

    Theorem. With probability at least 1 - delta, for every such adversary and all T, with
    zeta = ln(1 + 1/lam), beta_T = B + noise_std/sqrt(lam) sqrt(2 (gamma_T + ln(m/delta'))), m hands
    with delta' in all,

        R_T <= 2 kappa beta_T sqrt(2 m T gamma_T / zeta),    kappa = KAPPA

    in which neither the size of a lie nor B0 enters. Proof. x* is never ruled out, so f(x*) <= u(x_t).
    At least n_lies + 1 hands have U_g(x_t) >= u(x_t), and one of them, h, is unspoilt: f(x*) - f(x_t) <=
    U_h - f <= 2 beta_T sigma_h(x_t) <= 2 beta_T kappa sigma_g(x_t), g the hand that gets the reading.
    Sum over a hand's rounds: at most sqrt(T_g 2 gamma_T / zeta); over hands by Cauchy-Schwarz. QED

    Args:
        domain: A Grid or a Box.
        assumptions: What the guarantee rests on. B0 only cuts; c_max does nothing here.
        n_lies: How many readings may be lies, those of points you chose included.
        seed: Of the draws for readings that it did not ask for; fresh entropy if None.
        options: width, noise, tail, gain, beta: see Options. `noise="energy"` by default,
            for which noise_std must be a true bound.
    """

    policy: Quorum

    def __init__(
        self,
        domain: Grid | Box,
        assumptions: Assumptions,
        *,
        n_lies: int,
        seed: Any = None,
        **options: Unpack[OptionWords],
    ) -> None:
        options.setdefault("noise", "energy")
        policy = Quorum(assumptions, Options(**options), n_lies)
        self.n_lies = policy.n_lies
        super().__init__(domain, policy, seed)
