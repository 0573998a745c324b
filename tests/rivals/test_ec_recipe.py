"""EC-GP-UCB, for a bias of at most eps in every reading: RobustGPUCB with C = eps T and c_max = eps."""

import math
from dataclasses import replace

import numpy as np
import pytest

import unbribable as ub
from unbribable import lab
from unbribable.lab.world.adversaries import Adversary, View
from world import members

EPS, T = 0.05, 30
F = members.objective()
KNOWN = replace(members.assumptions(F), c_max=EPS)


def played(width: str) -> ub.RobustGPUCB:
    player = ub.RobustGPUCB(ub.Grid(F.X), KNOWN, C=EPS * T, width=width)
    rng = np.random.default_rng(0)
    for _ in range(T):
        query = player.ask()
        player.tell(query, float(F.f[query.index]) + 0.1 * rng.standard_normal())
    return player


def shift(player: ub.RobustGPUCB) -> np.ndarray:
    main = player.instances["main"]
    return main.width - main.noise


def test_its_width_is_ours_with_a_cap() -> None:
    player = played("capped")
    sigma = player.instances["main"].sigma
    assert shift(player) == pytest.approx(EPS * math.sqrt(T / KNOWN.lam) * sigma, rel=1e-9)


def test_beside_it_the_exact_width_is_eps_times_the_sum_of_the_weights() -> None:
    player = played("exact")
    posterior = player.instances["main"].posterior
    weights = posterior.prec @ np.abs(posterior.R)
    assert shift(player) == pytest.approx(EPS * weights, rel=1e-9)
    assert (shift(player) < EPS * math.sqrt(T / KNOWN.lam) * player.instances["main"].sigma).all()


class Biased(Adversary):
    """Raises what is low and lowers what is high, by eps, in every round."""

    def commit(self, view: View, rng: np.random.Generator) -> np.ndarray:
        return -EPS * np.sign(F.f[view.indices])


def test_its_bounds_hold_under_a_bias_in_every_reading_and_are_promised_then() -> None:
    for seed in range(20):
        player = ub.RobustGPUCB(ub.Grid(F.X), KNOWN, C=EPS * T)
        world = members.world(Biased(), C=EPS * T, c_max=EPS, threat="strong")
        record = lab.simulate(player, world, T, seed)
        assert record.spent[-1] == pytest.approx(EPS * T)
        assert record.meta["promised"] == {"main": True}
        assert record.meta["covered"] == {"main": True}
