"""The paper's theorems as numbers, with every constant of their proofs (lam = 1, alpha = 2).

`gamma` is any upper bound on the maximum information gain as a function of the number of
readings (array in, array out): `MaxInformationGain(kernel, X, lam=1.0)`, or a closed form.

`noise` is the learner's option of that name. With "paper" the numbers are the paper's. The tight width,
which is the learners' default, fails if one of two events of delta/2 does. So with "tight" (ours)
delta/2 takes the place of delta in the logarithm of the noise, and nowhere else.
Proof. All that the theorems use of a width's noise part is that it is valid and at most (B + rho) sigma.
The tight one is valid with probability 1 - delta and at most sqrt(B^2 + rho^2) sigma <=
(B + rho) sigma with rho = rho(delta/2). QED
With "energy" it is at most that one, and one of three events of delta/3 each.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from unbribable.model import checks
from unbribable.model.checks import Floats
from unbribable.theory.assumptions import Assumptions
from unbribable.theory.budgets import (
    KAPPA,
    N_EVENTS,
    fast_slow_delta,
    finite_cap,
    ladder_budget,
    ladder_level,
    layer_delta,
    n_hands,
    number_of_layers,
    quorum_shares,
    robust_layer,
    shared_layer_delta,
    tail_paper_at,
)
from unbribable.theory.tails import tail_paper

Gamma = Callable[[Any], Any]

ALPHA = 2.0
"""The theorems' widening factor."""


@dataclass(frozen=True)
class RegretBound:
    """An explicit bound on the cumulative regret, and where it comes from."""

    value: float
    """The bound: the theorem's number, or 2 B0 T where that is smaller."""
    theorem_value: float
    """What the theorem alone says."""
    is_vacuous: bool
    """Whether the theorem says no more than |f| <= B0 does."""
    theorem: str
    threat: str


def theorem_5(
    assumptions: Assumptions,
    C: float,
    T: int,
    gamma: Gamma,
    *,
    width: str = "paper",
    noise: str = "paper",
) -> RegretBound:
    """Regret of Algorithm 1 with known corruption C [BKS20, Thm. 5].

        2 (C + B + noise_std sqrt(2 (gamma_{T-1} + ln 1/delta))) sqrt(4 T gamma_T)

    With width "capped" or "exact" (ours) sqrt(C min(C, c_max)) takes the place of C: every interval
    stays valid and is at most that wide.
    """
    C, T = _game(assumptions, C, T)
    checks.choice("width", width, ("paper", "capped", "exact"))
    spent = C if width == "paper" else math.sqrt(C * min(C, assumptions.c_max))
    beta = _beta(assumptions, gamma(T - 1), assumptions.delta, noise)
    value = 2.0 * (spent + beta) * _root(T, gamma)
    return _bound(value, assumptions, T, "Theorem 5", "weak or strong")


def theorem_9(
    assumptions: Assumptions,
    C: float,
    T: int,
    gamma: Gamma,
    *,
    is_corrupted: bool,
    noise: str = "paper",
    share: float = 1.0,
    trust: float = 0.0,
) -> RegretBound:
    """Regret of Fast-Slow GP-UCB for a corruption of C or zero [BKS20, Thm. 9].

    With b0 = B + noise_std sqrt(2 (gamma_{T-1} + ln 5/delta)), bS = b0 + 3 + c_max ln(5/delta) and
    N = C ln(5T/delta):

        clean:      (2 b0 + 2 alpha bS) sqrt(4 T gamma_T)
        corrupted:  (2 (C + b0) + 2 alpha bS) sqrt(4 T gamma_T)
                    + [C > 1] (2 B0 N + 40 alpha bS sqrt(4 N gamma_T T))

    With the dials (ours) N grows by 1/share and begins at C > share; at a share below 1 bS is at most
    b0 + C. "Clean" means a corruption of at most `trust`, and b0 becomes b0 + sqrt(trust min(trust,
    c_max)) in its first term: fast's capped or exact shift.

    # differs: the printed proof drops 3 and alpha from S's share.
    """
    C, T = _game(assumptions, C, T)
    share = checks.real("share", share, above=0.0, at_most=1.0)
    trust = checks.real("trust", trust, at_least=0.0, at_most=C)
    delta = fast_slow_delta(assumptions.delta)
    fast = _beta(assumptions, gamma(T - 1), delta, noise)
    slow = fast + tail_paper_at(share, C, finite_cap(assumptions), delta)
    root = _root(T, gamma)
    value = (2.0 * fast + 2.0 * ALPHA * slow) * root
    if is_corrupted:
        value += 2.0 * C * root
        if share < C:
            n_between = C / share * math.log(T / delta)
            value += _ruled_out_late(assumptions, slow, n_between, T, gamma)
        threat = "weak"
    else:
        value += 2.0 * math.sqrt(trust * min(trust, assumptions.c_max)) * root
        threat = "weak" if trust > 0.0 else "no"
    return _bound(value, assumptions, T, "Theorem 9", threat)


def theorem_10(
    assumptions: Assumptions,
    C: float,
    T: int,
    gamma: Gamma,
    *,
    noise: str = "paper",
    with_all: bool = False,
) -> RegretBound:
    """Regret of the layers for an unknown corruption, if it is C [BKS20, Thm. 10].

    With d = delta / (4 (1 + log2 T)), bL = B + noise_std sqrt(2 (gamma_{T-1} + ln 1/d)) + 3 +
    c_max ln(1/d), l* = max(1, ceil(log2 C)) and N = 2 C ln(2T/delta):

        2 alpha bL sqrt(4 (n_layers - l* + 1) T gamma_T)
        + [l* > 1] (2 B0 N + 40 alpha bL sqrt(4 N gamma_T T)),   2 B0 T if l* > n_layers

    Layers that share their readings (ours, `with_all`) have d = delta / (2 (2 n_layers + 1)).

    # differs: l* is at least 1, which ceil(log2 C) is not for C <= 1.
    """
    C, T = _game(assumptions, C, T)
    n_layers, robust, delta = number_of_layers(T), robust_layer(C), assumptions.delta
    share = shared_layer_delta(delta, n_layers) if with_all else layer_delta(delta, T)
    layer = _beta(assumptions, gamma(T - 1), share, noise) + _tail(assumptions, share)
    if robust > n_layers:
        return _bound(math.inf, assumptions, T, "Theorem 10", "weak")
    value = 2.0 * ALPHA * layer * math.sqrt(n_layers - robust + 1) * _root(T, gamma)
    if robust > 1:
        n_between = 2.0 * C * math.log(2.0 * T / assumptions.delta)
        value += _ruled_out_late(assumptions, layer, n_between, T, gamma)
    return _bound(value, assumptions, T, "Theorem 10", "weak")


def theorem_10_told(
    assumptions: Assumptions, C: float, T: int, gamma: Gamma, *, noise: str = "paper"
) -> RegretBound:
    """Regret of layers that share their readings and are told C, for each T (ours).

    With L = max(1, ceil(log2 C)), d = delta / (2 (2 L + 1)), bL = B + noise_std sqrt(2 (gamma_{T-1} +
    ln 1/d)) + min(C, 3 + c_max ln(1/d)) and N = 2 C ln(2T/delta):

        2 alpha bL sqrt(4 T gamma_T) + [L > 1] (2 B0 N + 40 alpha bL sqrt(4 N gamma_T T))

    Up to C = 2 there is one layer, which is Algorithm 1, and this is Theorem 5.
    Proof. That of Theorem 10 with one layer that covers C, the top one. QED
    """
    C, T = _game(assumptions, C, T)
    n_layers = robust_layer(C)
    if n_layers == 1:
        return theorem_5(assumptions, C, T, gamma, noise=noise)
    share = shared_layer_delta(assumptions.delta, n_layers)
    layer = _beta(assumptions, gamma(T - 1), share, noise) + min(C, _tail(assumptions, share))
    n_between = 2.0 * C * math.log(2.0 * T / assumptions.delta)
    value = 2.0 * ALPHA * layer * _root(T, gamma)
    value += _ruled_out_late(assumptions, layer, n_between, T, gamma)
    return _bound(value, assumptions, T, "Theorem 10", "weak")


def theorem_ladder(
    assumptions: Assumptions,
    C: float,
    T: int,
    gamma: Gamma,
    *,
    unit: float,
    width: str = "exact",
    noise: str = "paper",
) -> RegretBound:
    """Regret of the ladder, which is told neither C nor T, if the corruption is C (ours).

    With b_l = unit 2^l, b = B + noise_std sqrt(2 (gamma_{T-1} + ln 1/delta)), a_l = b +
    sqrt(b_l min(b_l, c_max)) (b + b_l for the paper's width), l* = min { l : b_l >= C } and N_l =
    floor(T/2^l + 1/2), the turns of level l:

        2 sqrt(4 gamma_T) sqrt( sum_{l > l*} N_l a_l^2 + (N_l* (2^l* - 1)^2 + sum_{l < l*} N_l) a_l*^2 )
        + 2 B0 (2^(l*-1) - 1),   2 B0 T if 2^(l*-1) > T

    Proof. The sum of widths in the docstring of LadderGPUCB, w_l <= a_l sigma, one Cauchy-Schwarz over
    all rounds, and sum sigma_{t-1}(x_t)^2 <= 4 gamma_T at lam = 1. QED
    With unit = c_max that is Theorem 5's number up to b sqrt(C / c_max) and c_max sqrt(ln T) in place of
    b and 1.
    """
    C, T = _game(assumptions, C, T)
    cap, unit = finite_cap(assumptions), checks.real("unit", unit, above=0.0)
    robust, total = ladder_level(unit, C), 0.0
    if 2 ** (robust - 1) > T:
        return _bound(math.inf, assumptions, T, "Ladder", "weak or strong")
    beta = _beta(assumptions, gamma(T - 1), assumptions.delta, noise)
    for level in range(1, T.bit_length() + 1):  # while 2^(l-1) <= T
        n_turns = (T + 2 ** (level - 1)) // 2**level
        n_turns *= (2**robust - 1) ** 2 if level == robust else 1
        budget = ladder_budget(unit, max(level, robust))
        shift = budget if width == "paper" else math.sqrt(budget * min(budget, cap))
        total += n_turns * (beta + shift) ** 2
    value = 2.0 * math.sqrt(4.0 * float(gamma(T))) * math.sqrt(total)
    value += 2.0 * assumptions.B0 * (2.0 ** (robust - 1) - 1.0)
    return _bound(value, assumptions, T, "Ladder", "weak or strong")


def theorem_quorum(
    assumptions: Assumptions,
    n_lies: int,
    T: int,
    gamma: Gamma,
    *,
    noise: str = "paper",
    is_lied_to: bool = True,
) -> RegretBound:
    """Regret of QuorumGPUCB if at most n_lies readings are lies, of any size (ours).

    With m = 2 n_lies + 1 hands, whose noise width may fail with delta / (4 m) each, and beta = B +
    noise_std sqrt(2 (gamma_{T-1} + ln(4 m/delta))):

        2 kappa beta sqrt(2 m T gamma_T / ln 2),   kappa = KAPPA, or 1 if nobody lies

    Neither B0 nor the size of a lie enters, but in 2 B0 T. Proof. In the docstring of QuorumGPUCB, which
    lets kappa = 1 where no hand is spoilt: then the bound of the binding hand is u itself. QED
    """
    _check_lam(assumptions)
    n_lies = checks.integer("n_lies", n_lies, at_least=0)
    T = checks.integer("T", T, at_least=1)
    m, kappa = n_hands(n_lies), KAPPA if is_lied_to and n_lies else 1.0
    beta = _beta(assumptions, gamma(T - 1), quorum_shares(assumptions.delta, n_lies).hand, noise)
    value = 2.0 * kappa * beta * math.sqrt(2.0 * m * T * float(gamma(T)) / math.log(2.0))
    return _bound(value, assumptions, T, "Quorum", "weak or strong" if n_lies else "no")


def elimination_time(
    assumptions: Assumptions,
    gap: float,
    gamma: Gamma,
    *,
    alpha: float = ALPHA,
    noise: str = "paper",
    T_max: int = 10**6,
) -> int | None:
    """Plays of S after which every point worse by `gap` is ruled out [BKS20, Lem. 8].

    The first tau with 4 alpha bS(tau) sqrt(gamma_tau / tau) <= gap / 10; None if there is none
    up to T_max. The constant 10 needs alpha > 9/5.
    """
    _check_lam(assumptions)
    share = fast_slow_delta(assumptions.delta)
    tail, alpha = _tail(assumptions, share), checks.real("alpha", alpha, above=1.8)

    def excess(tau: Floats) -> Floats:
        slow = _beta(assumptions, gamma(tau - 1), share, noise) + tail
        values: Floats = 4.0 * alpha * slow * np.sqrt(gamma(tau) / tau)
        return values

    return _first(excess, checks.real("gap", gap, above=0.0) / 10.0, T_max)


def simple_regret_horizon(
    assumptions: Assumptions,
    C: float,
    gap: float,
    gamma: Gamma,
    *,
    noise: str = "paper",
    T_max: int = 10**6,
) -> int | None:
    """Rounds after which Algorithm 1's reported point is within `gap` of the best [BKS20, App. C].

    The first T with 2 (C + beta_T) sqrt(4 gamma_T / T) <= gap; None if there is none up to T_max.
    """
    _check_lam(assumptions)
    C = checks.real("C", C, at_least=0.0)

    def excess(tau: Floats) -> Floats:
        beta = _beta(assumptions, gamma(tau - 1), assumptions.delta, noise)
        values: Floats = 2.0 * (C + beta) * np.sqrt(4.0 * gamma(tau) / tau)
        return values

    return _first(excess, checks.real("gap", gap, above=0.0), T_max)


def _beta(assumptions: Assumptions, gain: Any, delta: float, noise: str) -> Any:
    """B + noise_std sqrt(2 (gain + ln 1/delta)), for numbers or arrays, at lam = 1 [BKS20, Eq. 7].

    # differs: ln 2/delta for noise "tight", ln 3/delta for "energy"; see the head of this file.
    """
    delta /= N_EVENTS[checks.choice("noise", noise, tuple(N_EVENTS))]
    return assumptions.B + assumptions.noise_std * np.sqrt(2.0 * (gain + math.log(1.0 / delta)))


def _tail(assumptions: Assumptions, delta: float) -> float:
    return tail_paper(finite_cap(assumptions), delta)


def _root(T: int, gamma: Gamma) -> float:
    """sqrt(4 T gamma_T), which sum sigma_{t-1}(x_t) does not exceed at lam = 1 [BKS20, Eq. 56]."""
    return math.sqrt(4.0 * T * float(gamma(T)))


def _ruled_out_late(
    assumptions: Assumptions, beta: float, n_between: float, T: int, gamma: Gamma
) -> float:
    """Regret of the instances below the robust one, which rules points out late [BKS20, Eq. 108]."""
    late = 40.0 * ALPHA * beta * math.sqrt(n_between) * _root(T, gamma)
    return 2.0 * assumptions.B0 * n_between + late


def _bound(value: float, assumptions: Assumptions, T: int, theorem: str, threat: str) -> RegretBound:
    value, trivial = float(value), 2.0 * assumptions.B0 * T
    return RegretBound(min(value, trivial), value, value >= trivial, theorem, threat)


def _game(assumptions: Assumptions, C: float, T: int) -> tuple[float, int]:
    _check_lam(assumptions)
    return checks.real("C", C, at_least=0.0), checks.integer("T", T, at_least=1)


def _check_lam(assumptions: Assumptions) -> None:
    if assumptions.lam != 1.0:
        raise ValueError(f"lam must be 1 in the regret theorems, got lam={assumptions.lam}")


def _first(excess: Callable[[Floats], Floats], limit: float, T_max: int) -> int | None:
    """The first tau in 1..T_max with excess(tau) <= limit, looked for in blocks."""
    T_max = checks.integer("T_max", T_max, at_least=1)
    for start in range(1, T_max + 1, 1 << 16):
        tau = np.arange(start, min(start + (1 << 16), T_max + 1), dtype=np.float64)
        hits = np.flatnonzero(excess(tau) <= limit)
        if len(hits):
            return int(tau[hits[0]])
    return None
