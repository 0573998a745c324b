"""Rivals on the protocol of few lies: their regret is what separate code found, on other seeds.

Mean regret over 100 rounds, in the units of the function itself.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unbribable.lab.runs.play import play
from unbribable.lab.runs.spec import load_spec

P4 = Path(__file__).parents[2] / "experiments" / "leaderboard" / "p4.toml"
N_SEEDS = 8
FOUND = {
    ("GP-UCB, practical", "none"): 17.0,
    ("RCGP online", "none"): 18.0,
    ("Student-t UCB", "none"): 16.0,
    ("Relevance pursuit", "none"): 29.0,
    ("Relevance pursuit", "authors"): 31.0,
    ("random search", "none"): 1535.0,
    ("GP-UCB, practical", "burst"): 1306.0,
    ("Relevance pursuit", "burst"): 1311.0,
    ("Student-t UCB", "burst"): 1201.0,
    ("ClippedGPUCB", "none"): 881.0,
}


@pytest.mark.parametrize(("player", "attack"), FOUND)
def test_the_regret_of_a_rival_is_what_other_code_found(player: str, attack: str) -> None:
    spec = load_spec(P4, seeds=range(N_SEEDS))
    spec = replace(
        spec,
        budgets=(4,),
        algorithms=tuple(one for one in spec.algorithms if one.label == player),
        adversaries=tuple(one for one in spec.adversaries if one.label == attack),
    )
    regrets = [5.0 * play(run.to_plain()).cumulative_regret[-1] for run in spec.runs()]
    error = np.std(regrets, ddof=1) / N_SEEDS**0.5
    expected = FOUND[player, attack]
    assert abs(np.mean(regrets) - expected) < 3.0 * error + 0.02 * expected
