"""How much corruption can reach an instance that is drawn at random."""

import math

from scipy.special import rel_entr


def tail_paper(cap: float, delta: float) -> float:
    """3 + cap * ln(1/delta): corruption seen by an instance drawn with probability <= 1/C.

    With probability 1 - delta, when each lie is at most `cap` (the paper's B0) and all of them
    together at most C. [BKS20, Lem. 6]
    """
    return 3.0 + cap * math.log(1.0 / delta)


def tail_sharp(budget: float, p: float, cap: float, delta: float) -> float:
    """Corruption seen by an instance drawn with probability p, at all times at once (ours).

    The smallest a in [p * budget, budget] with

        (budget / b) * kl(a / budget, p) >= ln(1 / delta),   b = min(cap, budget),

    and `budget` if there is none; kl(q, p) = q ln(q/p) + (1-q) ln((1-q)/(1-p)) is the relative entropy
    of two coins.

    Proof. For a lie of size |c| <= b and theta > 0, ln E exp(theta |c| 1{drawn}) =
    ln(1 + p (e^(theta |c|) - 1)) is convex in |c| and 0 at 0, so at most
    (|c|/b) ln(1 + p (e^(theta b) - 1)). Hence exp(theta S_t - (sum |c_i| / b)
    ln(1 + p (e^(theta b) - 1))) is a non-negative supermartingale from 1, where S_t is what the
    instance has seen and sum |c_i| <= budget. Ville's inequality at the best theta. QED

    Args:
        budget: Total corruption over all rounds.
        p: Probability of the draw, independent of what a weak adversary knows.
        cap: Largest single lie.
        delta: Failure probability.
    """
    if budget == 0.0 or p >= 1.0:
        return budget
    n_lies = budget / min(cap, budget)

    def shortfall(share: float) -> float:
        kl = float(rel_entr(share, p) + rel_entr(1.0 - share, 1.0 - p))
        return n_lies * kl - math.log(1.0 / delta)

    if shortfall(1.0) < 0.0:
        return budget
    from scipy.optimize import brentq  # late, as in `polish`

    share = float(brentq(shortfall, p, 1.0, xtol=1e-14))
    return min(budget, budget * (share + 1e-13))  # to the valid side of the root
