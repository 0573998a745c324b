"""The price of a bribe: how much lying it takes to make a recommendation wrong (ours)."""

from dataclasses import dataclass

import numpy as np

from unbribable.model.checks import Bools, Floats, Ints
from unbribable.theory.differences import N_BLOCK, Differences
from unbribable.theory.widths import knapsack


@dataclass(frozen=True)
class Price:
    """What lies would have to cost, at least, for another candidate to be better by more than eps."""

    eps: float
    value: float | None
    """If the lies total at most that and none exceeds the cap, no candidate is better by more than eps.
    math.inf: none is, however many readings are lies. None: not established, not even without lies."""
    without_cap: float | None
    """The same where a single lie may have any size."""
    rival: int | None
    """The candidate that is cheapest to lift, or that rules a price out; None if there is no other."""
    least_eps: float
    """The smallest eps for which a price is established: what noise alone leaves open."""


@dataclass(frozen=True, eq=False)
class Bribe:
    """The cheapest change of the readings that topples the maximiser of the posterior mean."""

    value: float
    """The lies in all; math.inf if none within the cap are enough."""
    winner: int
    """The maximiser of the posterior mean."""
    rival: int | None
    """The candidate that would draw level; None if there is no other."""
    lies: Floats
    """What would have to be added to each reading, (t,); zero everywhere if value is infinite."""


def price(
    differences: Differences, noise: Floats, eps: float, cap: float, among: Bools | None = None
) -> Price:
    """The corruption up to which no candidate is better than `rec` by more than eps (ours).

        price(eps) = min over x != rec of sup { C : shift_C(l) <= v },   v = eps - mu(l) - noise(l)

    *With probability at least 1 - delta: if the lies in these readings total at most price(eps) and
    none exceeds the cap, no candidate is better than rec by more than eps.*
    Proof. The noise event does not depend on C, so on it the bounds for all C hold together, and C may
    be chosen last. With C <= price(eps), f(x) - f(x_rec) <= mu(l) + noise(l) + shift_C(l) <= eps. QED
    The readings must be all that were told: those of one instance that holds every one.

    Args:
        differences: Of every candidate to `rec`.
        noise: Their noise part, `Differences.noise`, at the instance's own share of delta.
        eps: By how much another candidate may be better.
        cap: The largest single lie, c_max; may be inf.
        among: The candidates in question, (n,); all if None.
    """
    others = differences.others
    if among is not None:
        others = others[among[others]]
    left_open = differences.mu + noise
    if not len(others):
        return Price(eps, np.inf, np.inf, None, 0.0)
    worst = int(others[np.argmax(left_open[others])])
    least_eps = max(0.0, float(left_open[worst]))
    if eps < least_eps:
        return Price(eps, None, None, worst, least_eps)
    spare = eps - left_open
    moved = others[differences.largest[others] > 0.0]  # the others stay where they are, whatever is told
    value, rival = _cheapest(differences, moved, spare, cap)
    without_cap = float(np.min(spare[moved] / differences.largest[moved], initial=np.inf))
    return Price(eps, value, without_cap, worst if rival is None else rival, least_eps)


def cheapest_bribe(differences: Differences, cap: float, rows: Ints, lams: Floats) -> Bribe:
    """The least total of lies after which `rec` is not the only maximiser of the mean (ours).

        min over x != rec of inf { C : shift_C(l) >= mu(x_rec) - mu(x) },   x_rec = argmax mu

    *Had these readings been told differently by this much in all, at the same points, x_rec would no
    longer be the only maximiser of the posterior mean; by any smaller total it would be.* Proof.
    `shift_exact` is the most that lies of total C add to mu(x) - mu(x_rec), and it is attained. QED
    In hindsight only: other values would have led to other points.

    Args:
        differences: Of every candidate to the maximiser of the posterior mean.
        cap: The largest single lie, c_max; may be inf.
        rows: Of each reading: which point read, (t,).
        lams: Its fictitious noise, (t,).

    Raises:
        ValueError: The candidate compared with does not maximise the mean.
    """
    gaps = -differences.mu
    if gaps.min() < 0.0:
        raise ValueError(
            "rec must maximise the posterior mean, or there is nothing to topple, got a rec with "
            f"another candidate's mean higher by {-gaps.min():.4g}; take rec=argmax(mu)"
        )
    value, rival = _cheapest(differences, differences.others, gaps, cap)
    lies = np.zeros(len(rows))
    if rival is not None and 0.0 < value < np.inf:
        weights = differences.weights(np.array([rival]), rows, lams)[:, 0]
        lies = np.sign(weights) * knapsack(np.abs(weights), np.ones(len(rows)), value, cap)
    return Bribe(value, differences.rec, rival, lies)


def budgets(weights: Floats, counts: Floats, shifts: Floats, cap: float) -> Floats:
    """The least C with shift_C >= the shift wanted, column by column: `shift_exact` inverted (ours).

    With w_1 >= w_2 >= ... and S_k = cap * (w_1 + ... + w_k) reading by reading,

        S_k < shift <= S_(k+1):  C = k cap + (shift - S_k) / w_(k+1);   shift > S_last: inf

    Proof. shift_C is piecewise linear in C, with slope w_(k+1) between k cap and (k+1) cap. QED

    Args:
        weights: |weight| of one reading of each item, (n_items, k).
        counts: Readings each item stands for, (n_items,).
        shifts: The shift wanted of each column, >= 0, (k,).
        cap: The largest single lie, may be inf.
    """
    if not len(weights):
        return np.where(shifts > 0.0, np.inf, 0.0)
    order = np.argsort(-weights, axis=0)
    weights, counts = np.take_along_axis(weights, order, axis=0), counts[order]
    columns = np.arange(len(shifts))
    whole = np.zeros(len(shifts), dtype=np.intp)  # items that are taken whole
    reached = spent = np.zeros((1 + len(weights), len(shifts)))
    if np.isfinite(cap):
        none = np.zeros((1, len(shifts)))
        reached = np.concatenate([none, np.cumsum(cap * counts * weights, axis=0)])
        spent = np.concatenate([none, np.cumsum(cap * counts, axis=0)])
        whole = np.sum(reached[1:] < shifts, axis=0)
    is_enough = whole < len(weights)
    last = weights[np.minimum(whole, len(weights) - 1), columns]
    rest = np.full(len(shifts), np.inf)
    np.divide(shifts - reached[whole, columns], last, out=rest, where=is_enough & (last > 0.0))
    return np.where(shifts > 0.0, spent[whole, columns] + rest, 0.0)


def _cheapest(
    differences: Differences, among: Ints, shifts: Floats, cap: float
) -> tuple[float, int | None]:
    """The smallest budget that shifts one of these candidates as far as wanted, and which; exact.

    No budget is below shift / largest weight, so candidates are taken in this order until none can be
    cheaper.
    """
    floor = np.full(len(among), np.inf)
    np.divide(shifts[among], differences.largest[among], out=floor, where=differences.largest[among] > 0)
    floor[shifts[among] <= 0.0] = 0.0
    order = np.argsort(floor, kind="stable")
    best, rival = np.inf, int(among[order[0]]) if len(among) else None
    for start in range(0, len(order), N_BLOCK):
        part = order[start : start + N_BLOCK]
        part = part[floor[part] < best]
        if not len(part):
            break
        sizes = differences.sizes(among[part])
        found = budgets(sizes, differences.counts, shifts[among[part]], cap)
        cheapest = int(np.argmin(found))
        if found[cheapest] < best:
            best, rival = float(found[cheapest]), int(among[part[cheapest]])
    return best, rival
