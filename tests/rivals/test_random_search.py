"""Random search: every candidate equally likely, the best mean reading recommended."""

import numpy as np

import unbribable as ub
from unbribable import lab

DOMAIN = ub.Grid(np.linspace(0.0, 1.0, 5)[:, None])
ASSUMED = ub.Assumptions(ub.SquaredExponential(0.3), B=1.0, B0=1.0, noise_std=0.1)


def test_every_candidate_is_equally_likely_in_every_round() -> None:
    player = lab.rivals.RandomSearch(DOMAIN, ASSUMED, seed=1)
    for _ in range(300):
        np.testing.assert_allclose(player.propose().probabilities, 0.2)
        player.tell(player.ask(), 0.0)
    assert player.counts.sum() == 300
    assert player.counts.min() > 35  # 60 expected, standard deviation 7
    assert player.knowledge == {}


def test_the_best_mean_is_recommended_and_ties_go_to_the_lowest_index() -> None:
    player = lab.rivals.RandomSearch(DOMAIN, ASSUMED, seed=0)
    assert player.recommend().index == 0
    for _ in range(40):
        query = player.ask()
        player.tell(query, [0.0, 1.0, 0.5, 1.0, 0.2][query.index])
    best = player.recommend()
    assert (best.index, best.regret_bound, best.rule) == (1, None, "mean")
