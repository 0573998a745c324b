"""Which instance is drawn how often, and what it allows for: a corruption and a share of delta."""

import math
from typing import NamedTuple

from unbribable.theory.assumptions import Assumptions
from unbribable.theory.tails import tail_paper, tail_sharp

N_EVENTS = {"paper": 1, "tight": 2, "energy": 3}
"""Events that each noise width rests on: Lemma 1, the mixture as well, the energy as well."""

Draws = tuple[tuple[str, float], ...]
"""Labels of instances and the probabilities with which they are drawn."""


class Budget(NamedTuple):
    """What the intervals of one instance allow for."""

    C: float
    """Corruption that reaches it, all rounds together."""
    delta: float
    """Probability with which its noise width may fail, and again its tail."""
    total: float | None = None
    """Corruption of the whole game of which no more than that reaches it; C if None."""
    is_secret: bool = False
    """Whether that is so only if the adversary does not see the draw."""
    levels: tuple[float, ...] | None = None
    """Corruptions, ascending, at each of which it keeps bounds besides; further ones may follow."""


def fast_slow_probabilities(C: float, share: float = 1.0) -> Draws:
    """Slow with min(1, share/C), else fast; the share is 1 in the paper [BKS20, Alg. 2]."""
    p = min(1.0, share / C)
    return (("slow", p), ("fast", 1.0 - p)) if p < 1.0 else (("slow", p),)


def fast_slow_delta(delta: float) -> float:
    """delta / 5, the share of each event of Theorem 9 [BKS20, Eqs. 25, 26].

    They are the widths of fast, slow and all, slow's tail, and how long slow can be left undrawn.
    """
    return delta / 5.0


def fast_slow_budgets(
    assumptions: Assumptions, C: float, tail: str, *, share: float = 1.0, trust: float = 0.0
) -> dict[str, Budget]:
    """Budgets of Fast-Slow for a corruption of C, or of at most `trust` (0 in the paper).

    Slow's is what can reach it. The paper's tail stands as it is printed at the paper's share of 1,
    even above C; at another share it is cut at C (ours). The sharp tail never exceeds C.
    """
    cap, delta = finite_cap(assumptions), fast_slow_delta(assumptions.delta)
    p = fast_slow_probabilities(C, share)[0][1]
    slow = tail_sharp(C, p, cap, delta)  # C itself where slow is always drawn
    if tail == "paper" and p < 1.0:
        slow = tail_paper_at(share, C, cap, delta)
    drawn = Budget(slow, delta, total=C, is_secret=True)
    return {"fast": Budget(trust, delta), "slow": drawn, "all": Budget(C, delta)}


def tail_paper_at(share: float, C: float, cap: float, delta: float) -> float:
    """Lemma 6's bound on what reaches an instance drawn with share/C; at most C where share < 1."""
    tail = tail_paper(cap, delta)
    return tail if share == 1.0 else min(C, tail)


def number_of_layers(T: int) -> int:
    """max(1, ceil(log2 T)) [BKS20, Alg. 3].  # differs: at least one layer, at T = 1 too."""
    return max(1, (T - 1).bit_length())


def robust_layer(C: float) -> int:
    """l* = max(1, ceil(log2 C)), the lowest layer that tolerates C [BKS20, Eqs. 114, 115]."""
    half, exponent = math.frexp(C)  # C = half * 2^exponent: no logarithm, which would round
    return max(1, exponent - (half == 0.5))


MAX_LEVEL = 1000
"""Of a ladder: beyond it budgets would overflow, and count as infinite."""


def ladder_budget(unit: float, level: int) -> float:
    """unit 2^l: the total corruption that level l = 1, 2, ... of a ladder allows for (ours)."""
    return unit * 2.0**level if level <= MAX_LEVEL else math.inf


def ladder_level(unit: float, C: float) -> int:
    """min { l >= 1 : unit 2^l >= C }, the lowest level of a ladder that covers C (ours)."""
    level = 1  # by comparison: a logarithm would round
    while ladder_budget(unit, level) < C:
        level += 1
    return level


def layer_probabilities(T: int) -> Draws:
    """Layer l with 2^-l; the remainder goes to layer 1 [BKS20, Alg. 3]."""
    return drawn_layers(number_of_layers(T))


def drawn_layers(n_layers: int) -> Draws:
    """`layer_probabilities` of so many layers."""
    layers = [(f"layer-{level}", 0.5**level) for level in range(1, n_layers + 1)]
    layers[0] = (layers[0][0], layers[0][1] + 0.5**n_layers)
    return tuple(layers)


def layer_delta(delta: float, T: int) -> float:
    """delta / (4 (1 + log2 T)): a layer's share in each of its two events [BKS20, Thm. 10]."""
    return delta / (4.0 * (1.0 + math.log2(T)))


def shared_layer_delta(delta: float, n_layers: int) -> float:
    """delta / (2 (2 n_layers + 1)): for each layer's width and tail, and the width of "all" (ours)."""
    return delta / (2.0 * (2.0 * n_layers + 1.0))


def layer_budgets(
    assumptions: Assumptions, T: int, tail: str, *, with_all: bool = False
) -> dict[str, Budget]:
    """Budgets of the layers: layer l allows for what can reach it of a corruption of 2^l.

    [BKS20, Eq. 35]. With "all" (ours), which holds every reading, and allows for 2^l at level l.
    """
    n_layers = number_of_layers(T)
    totals = tuple(2.0**level for level in range(1, n_layers + 1))
    if with_all:
        return _sharing(assumptions, totals, tail)
    return _drawn(assumptions, totals, tail, layer_delta(assumptions.delta, T))


def told_layer_budgets(assumptions: Assumptions, C: float, tail: str) -> dict[str, Budget]:
    """Budgets of layers that share and are told C > 2, `robust_layer(C)` of them (ours).

    The top one allows for what can reach it of C.
    """
    totals = (*(2.0**level for level in range(1, robust_layer(C))), C)
    budgets = _sharing(assumptions, totals, tail)
    top = f"layer-{len(totals)}"
    return {**budgets, top: budgets[top]._replace(C=min(C, budgets[top].C))}


def _sharing(assumptions: Assumptions, totals: tuple[float, ...], tail: str) -> dict[str, Budget]:
    """Of the layers, and of "all" at the corruption of each."""
    share = shared_layer_delta(assumptions.delta, len(totals))
    every = Budget(totals[-1], share, levels=totals)
    return {**_drawn(assumptions, totals, tail, share), "all": every}


def _drawn(
    assumptions: Assumptions, totals: tuple[float, ...], tail: str, share: float
) -> dict[str, Budget]:
    cap, budgets = finite_cap(assumptions), {}
    for total, (label, p) in zip(totals, drawn_layers(len(totals)), strict=True):
        C = tail_paper(cap, share) if tail == "paper" else tail_sharp(total, p, cap, share)
        budgets[label] = Budget(C, share, total=total, is_secret=True)
    return budgets


KAPPA = 3.0
"""A hand gets a reading only if its sd there is at least the largest one's over this."""


class QuorumShares(NamedTuple):
    """Who may fail with what probability where lies are counted; they add up to delta (ours)."""

    hand: float
    """The honest bounds of one of the 2 n_lies + 1 hands."""
    every: float
    """The noise width of all readings."""
    level: float
    """Some honest noise exceeds its level."""
    energy: float
    """The honest noises of all readings exceed their energy."""

    def total(self, n_lies: int) -> float:
        """The probability that anything fails, at most."""
        return n_hands(n_lies) * self.hand + self.every + self.level + self.energy


def n_hands(n_lies: int) -> int:
    """2 n_lies + 1: so many that the lies spoil less than half of them."""
    return 2 * n_lies + 1


def quorum_shares(delta: float, n_lies: int) -> QuorumShares:
    """A quarter of delta for the hands together, and for each of the other three events (ours)."""
    quarter = delta / 4.0
    return QuorumShares(quarter / n_hands(n_lies), quarter, quarter, quarter)


def finite_cap(assumptions: Assumptions) -> float:
    """c_max, which bounds what a draw at random lets through only if it is finite.

    Raises:
        ValueError: It is infinite.
    """
    if math.isinf(assumptions.c_max):
        raise ValueError("c_max must be finite where an instance is drawn at random, got c_max=inf")
    return assumptions.c_max
