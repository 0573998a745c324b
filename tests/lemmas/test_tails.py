"""Lemma 6 and the sharp tail: how much corruption reaches an instance that is drawn at random."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from games import is_too_often, law
from unbribable.theory.tails import tail_paper, tail_sharp

budgets = st.floats(0.05, 200.0)
chances = st.floats(1e-3, 0.999)
caps = st.floats(0.05, 5.0)
deltas = st.floats(1e-9, 0.9)


def evidence(a: float, budget: float, p: float, cap: float) -> float:
    """(budget / b) kl(a / budget, p), written out anew."""
    q, b = a / budget, min(cap, budget)
    kl = (q * math.log(q / p) if q > 0 else 0.0) + (
        (1 - q) * math.log((1 - q) / (1 - p)) if q < 1 else 0
    )
    return budget / b * kl


@law
@given(budgets, chances, caps, deltas)
def test_sharp_is_the_smallest_value_with_the_defining_inequality(
    budget: float, p: float, cap: float, delta: float
) -> None:
    a = tail_sharp(budget, p, cap, delta)
    target = math.log(1 / delta)
    assert p * budget <= a * (1 + 1e-12)
    assert a <= budget
    if a < budget:
        assert evidence(a, budget, p, cap) >= target
    below = a - 1e-6 * budget  # far more than the 1e-13 by which the root is rounded upwards
    if below > p * budget:
        assert evidence(below, budget, p, cap) < target


@law
@given(budgets, chances, caps, deltas, st.floats(1.0, 5.0))
def test_sharp_grows_with_the_budget_and_falls_with_delta(
    budget: float, p: float, cap: float, delta: float, factor: float
) -> None:
    a = tail_sharp(budget, p, cap, delta)
    slack = 1e-9 * max(1.0, factor * budget)  # the root is found to 1e-13 of the budget
    assert tail_sharp(factor * budget, p, cap, delta) >= a - slack
    assert tail_sharp(budget, p, cap, delta / factor) >= a - slack
    assert tail_sharp(budget, p, factor * cap, delta) >= a - slack
    assert tail_sharp(budget, p / factor, cap, delta) <= a + slack


def test_sharp_is_what_the_spec_quotes() -> None:
    assert tail_sharp(20.0, 1 / 20, 1.0, 0.02) == pytest.approx(4.67, abs=0.005)
    assert tail_paper(1.0, 0.02) == pytest.approx(6.91, abs=0.005)


@law
@given(st.floats(1.01, 1e4), caps, st.floats(1e-6, 0.9))
def test_sharp_is_at_most_the_papers_tail_for_fast_slow(C: float, cap: float, delta: float) -> None:
    # Provable: kl(q, p) >= q ln(q/p) - q + p, so at a = 3 + cap ln(1/delta) <= C the evidence is at
    # least (a ln a - a + 1) / b, and a ln a - a + 1 >= a - 3 = cap ln(1/delta) for every a >= 3.
    assert tail_sharp(C, 1 / C, cap, delta) <= min(C, tail_paper(cap, delta)) * (1 + 1e-9)


@pytest.mark.parametrize(("budget", "p"), [(0.0, 0.3), (5.0, 1.0)])
def test_no_budget_reaches_nobody_and_an_instance_always_drawn_sees_all(budget: float, p: float) -> None:
    assert tail_sharp(budget, p, 1.0, 0.1) == budget


# --- simulated adversaries --------------------------------------------------------------------------
# A strategy sees, in every game, what is left of the budget, what the instance has seen so far, and
# the tail it wants to exceed; it commits a size before the draw.

Strategy = Callable[[np.ndarray, np.ndarray, float, float], np.ndarray]

STRATEGIES: dict[str, Strategy] = {
    "all at once": lambda left, seen, a, cap: np.full(len(left), cap),
    "many small lies": lambda left, seen, a, cap: np.full(len(left), cap / 7),
    "stop after a hit": lambda left, seen, a, cap: np.where(seen > 0, 0.0, cap),
    "double after a hit": lambda left, seen, a, cap: np.where(seen > 0, cap, cap / 4),
    "just over the line": lambda left, seen, a, cap: np.clip(a * (1 + 1e-9) - seen, 0.0, cap),
    "equal steps to the line": lambda left, seen, a, cap: np.full(
        len(left), a * (1 + 1e-9) / math.ceil(a / cap)
    ),
    "only while it can still win": lambda left, seen, a, cap: np.where(seen + left > a, cap, 0.0),
    "large when behind": lambda left, seen, a, cap: np.where(seen < 0.5 * a, cap, cap / 3),
}

N_GAMES = 20_000


def exceedances(strategy: Strategy, C: float, p: float, cap: float, a: float) -> int:
    """In how many of N_GAMES games the instance sees more than `a`."""
    rng = np.random.default_rng([int(100 * C), int(1e6 * p)])
    left, seen = np.full(N_GAMES, C), np.zeros(N_GAMES)
    for _ in range(10 * math.ceil(C / cap)):
        size = np.minimum(np.minimum(strategy(left, seen, a, cap), cap), left)
        left -= size
        seen += size * (rng.random(N_GAMES) < p)
    return int(np.sum(seen > a))


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("delta", [0.02, 0.2])
@pytest.mark.parametrize(
    ("C", "p", "cap"), [(20.0, 1 / 20, 1.0), (8.0, 1 / 8, 3.0), (4.0, 0.25, 1.0), (2.0, 0.625, 1.0)]
)
def test_no_simulated_adversary_exceeds_the_sharp_tail_more_often_than_delta(
    name: str, delta: float, C: float, p: float, cap: float
) -> None:
    a = tail_sharp(C, p, cap, delta)
    assert not is_too_often(exceedances(STRATEGIES[name], C, p, cap, a), N_GAMES, delta, 1e-6)


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("delta", [0.02, 0.2])
@pytest.mark.parametrize(("C", "cap"), [(20.0, 1.0), (8.0, 3.0), (50.0, 0.5)])
def test_no_simulated_adversary_exceeds_the_papers_tail_more_often_than_delta(
    name: str, delta: float, C: float, cap: float
) -> None:
    a = tail_paper(cap, delta)
    assert not is_too_often(exceedances(STRATEGIES[name], C, 1 / C, cap, a), N_GAMES, delta, 1e-6)


@pytest.mark.parametrize(("C", "p"), [(20.0, 1 / 20), (4.0, 0.25), (100.0, 0.01)])
def test_half_the_sharp_tail_is_exceeded_more_often_than_delta(C: float, p: float) -> None:
    # the simulations above can fail
    a = tail_sharp(C, p, 1.0, 0.02)
    n_hits = exceedances(STRATEGIES["all at once"], C, p, 1.0, a / 2)
    assert is_too_often(n_hits, N_GAMES, 0.02, 1e-6)
