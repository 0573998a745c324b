"""The best candidate, by a belief and its widths."""

import numpy as np

from unbribable.decision.asking.ahead import NOTHING, Ahead
from unbribable.decision.instance import Instance
from unbribable.model.checks import Bools, Floats


def best(
    now: Instance, alpha: float, among: Bools | None = None, ahead: Ahead = NOTHING
) -> tuple[int, float]:
    """The candidate with the largest ucb, mu + alpha * width, and that value [BKS20, Eqs. 15, 29].

    Ties go to the lowest index.

    Args:
        now: Belief and widths of the instance that chooses.
        alpha: Widening factor.
        among: Candidates allowed, (n,); all if None.
        ahead: What else the choice takes into account.
    """
    factor = alpha * ahead.shrink
    if now.shift.is_open:
        base = ahead.allowed(now.mu + factor * now.noise, among)
        floor = np.max(base + factor * now.shift.low)
        now.shift.resolve(np.flatnonzero(base + factor * now.shift.high >= floor))
        ucb = base + factor * now.shift.high
    elif isinstance(factor, float) and factor == 1.0:
        ucb = ahead.allowed(now.ucb, among)
    else:
        ucb = now.mu + factor * (now.noise + now.shift.high)
        if now.energy is not None:
            ucb = np.minimum(ucb, now.energy.widened(factor))
        ucb = ahead.allowed(ucb, among)
    top = int(ucb.argmax())
    return top, float(ucb[top])


def promising(now: Instance, alpha: float, best: int, ahead: Ahead = NOTHING) -> Floats:
    """The ucb of `best`, (n,), roughly: exact at 64 candidates that lead, a closed form elsewhere.

    The closed form takes the shift as the multiple of sigma that it is at candidate `best`. It
    ranks starting points for a search, and does not depend on what else was solved before.
    """
    factor = alpha * ahead.shrink
    base: Floats = now.mu + factor * now.noise
    if now.energy is not None:
        return np.minimum(base, now.energy.widened(factor))
    if now.C == 0.0 or not now.posterior.m:
        return base
    now.shift.resolve(np.array([best]))
    ratio = float(now.shift.high[best] / max(now.sigma[best], np.finfo(float).tiny))
    ucb = base + factor * ratio * now.sigma
    top = np.argsort(-ucb, kind="stable")[:64]
    now.shift.resolve(top)
    ucb[top] = base[top] + np.broadcast_to(factor, base.shape)[top] * now.shift.high[top]
    return ucb
