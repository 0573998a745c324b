"""The ledger: the one place where corruption is paid for."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from games import law
from unbribable.lab.world.ledger import Ledger

lies = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=4).map(np.array)
rounds = st.lists(lies, max_size=30)
budgets = st.floats(0.0, 50.0)
caps = st.one_of(st.just(math.inf), st.floats(1e-3, 10.0))


@law
@given(rounds, budgets, caps)
def test_the_sum_of_the_charges_never_exceeds_the_budget(rounds, C, c_max):
    ledger = Ledger(C, c_max)
    charges = []
    for wanted in rounds:
        charges.append(ledger.charge(wanted)[1])
        assert 0.0 <= ledger.left <= C
        assert ledger.spent == pytest.approx(math.fsum(charges), abs=1e-12 * max(1.0, C))
    assert math.fsum(charges) <= C + 1e-13 * max(1.0, C)


@law
@given(rounds, budgets, caps)
def test_a_round_is_charged_the_largest_lie_granted_whether_or_not_it_is_drawn(rounds, C, c_max):
    ledger = Ledger(C, c_max)
    for wanted in rounds:
        left = ledger.left
        granted, cost = ledger.charge(wanted)
        assert cost == np.abs(granted).max()
        assert ledger.left == left - cost


@law
@given(rounds, budgets, caps)
def test_whoever_wants_too_much_gets_the_cap_or_what_is_left(rounds, C, c_max):
    ledger = Ledger(C, c_max)
    for wanted in rounds:
        most = min(c_max, ledger.left)
        granted, _ = ledger.charge(wanted)
        for asked, given_ in zip(wanted, granted, strict=True):
            assert given_ == (asked if abs(asked) <= most else math.copysign(most, asked))


def test_overspending_takes_the_rest_and_then_nothing():
    ledger = Ledger(1.0, math.inf)
    granted, cost = ledger.charge(np.array([-0.75, 0.1]))
    assert (granted.tolist(), cost, ledger.left) == ([-0.75, 0.1], 0.75, 0.25)
    granted, cost = ledger.charge(np.array([-0.75, 0.1]))
    assert (granted.tolist(), cost, ledger.left) == ([-0.25, 0.1], 0.25, 0.0)
    granted, cost = ledger.charge(np.array([-0.75, 0.1]))
    assert (np.abs(granted).tolist(), cost, ledger.left) == ([0.0, 0.0], 0.0, 0.0)


def test_what_is_wanted_is_not_changed_in_place():
    wanted = np.array([5.0, -5.0])
    Ledger(1.0, 1.0).charge(wanted)
    assert wanted.tolist() == [5.0, -5.0]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_lie_that_is_not_finite_is_refused_and_nothing_is_charged(bad):
    ledger = Ledger(2.0, 1.0)
    with pytest.raises(ValueError, match="must be finite"):
        ledger.charge(np.array([0.5, bad]))
    assert (ledger.left, ledger.spent) == (2.0, 0.0)


@pytest.mark.parametrize(
    ("C", "c_max", "words"),
    [
        (-1.0, 1.0, "C must be finite and >= 0, got C=-1.0"),
        (math.nan, 1.0, "C must be"),
        (math.inf, 1.0, "C must be finite"),
        (1.0, 0.0, "c_max must be > 0, got c_max=0.0"),
        (1.0, math.nan, "c_max must be"),
    ],
)
def test_a_budget_that_makes_no_sense_is_refused(C, c_max, words):
    with pytest.raises(ValueError, match=words):
        Ledger(C, c_max)
