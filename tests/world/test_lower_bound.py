"""No learner can do better than linear in C: the lower bound, seen at work [BKS20, App. J]."""

import math

import numpy as np
import pytest

import unbribable as ub
from unbribable.lab.world.adversaries import ZeroOut
from unbribable.lab.world.environment import Environment
from unbribable.lab.world.objectives import lower_bound_pair
from world.members import play

KERNEL = ub.SquaredExponential(0.18)
X = np.linspace(0.0, 1.0, 9)[:, None]
PAIR = lower_bound_pair(KERNEL, X)
BUDGETS = [4.0, 8.0, 16.0, 32.0]
N_ROUNDS = 120


def game(f, C, *, assumed=None, seed=0):
    """RobustGPUCB against the budget C, which it knows unless it assumes another."""
    assumed = C if assumed is None else assumed
    made = ub.Assumptions(KERNEL, B=1.0, B0=1.0, noise_std=0.1, lam=0.1)
    environment = Environment(f, noise_std=0.1, adversary=ZeroOut(f), C=C, c_max=1.0)
    return play(ub.RobustGPUCB(ub.Grid(X), made, C=assumed), environment, N_ROUNDS, seed)


@pytest.fixture(scope="module")
def records():
    """For each budget the games on the two functions, same seed."""
    return {C: [game(f, C) for f in PAIR] for C in BUDGETS}


@pytest.mark.parametrize("C", BUDGETS)
def test_while_the_budget_lasts_the_learner_cannot_tell_the_two_functions_apart(records, C):
    first, second = (record.columns for record in records[C])
    n_zeroed = math.floor(C)
    assert first["index"][: n_zeroed + 1].tolist() == second["index"][: n_zeroed + 1].tolist()
    for columns in (first, second):
        told, noise = columns["y_tilde"][:n_zeroed], columns["noise"][:n_zeroed]
        assert told == pytest.approx(noise, abs=1e-12)


@pytest.mark.parametrize("C", BUDGETS)
def test_the_regret_averaged_over_the_pair_is_at_least_a_quarter_of_the_budget(records, C):
    """In every zeroed round the two regrets add up to at least 1/2, wherever the learner looks."""
    regrets = [record.cumulative_regret for record in records[C]]
    assert np.mean([r[math.floor(C) - 1] for r in regrets]) >= math.floor(C) / 4
    assert np.mean([r[-1] for r in regrets]) >= math.floor(C) / 4


def test_every_further_unit_of_budget_costs_the_same_learner_at_least_a_quarter():
    """The same learner, the same seed: the games are one until the smaller budget is spent."""
    at_end = []
    for C in BUDGETS:
        pair = [game(f, C, assumed=BUDGETS[-1]) for f in PAIR]
        at_end.append(np.mean([record.cumulative_regret[math.floor(C) - 1] for record in pair]))
    assert (np.diff(at_end) / np.diff(BUDGETS) >= 0.25).all()


def test_the_budget_is_kept(records):
    for C, pair in records.items():
        for record in pair:
            assert record.spent[-1] <= C + 1e-12
            assert record.columns["c"].any()
