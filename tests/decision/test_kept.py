"""What is kept from one round to the next is what would be worked out anew."""

from collections.abc import Callable

import numpy as np
import pytest

import unbribable as ub

KNOWN = ub.Assumptions(ub.Matern(2.5, 0.3), B=2.0, B0=1.0, c_max=1.0, noise_std=0.05, lam=0.01)
GRID = ub.Grid(np.linspace(0.0, 1.0, 25)[:, None])
Drawing = ub.FastSlowGPUCB | ub.LayeredGPUCB


def check(algorithm: Drawing, new: Callable[[], Drawing]) -> None:
    """Who has kept nothing must choose the same among the candidates."""
    plays = [
        [(play.index, play.ucb, play.learner) for play in each._next_round(each.t + 1).plays]
        for each in (algorithm, new().restore(algorithm.state()))
    ]
    assert plays[0] == plays[1]


@pytest.mark.parametrize("name", ["fast-slow", "layered", "sharing"])
def test_every_play_is_that_of_one_who_kept_nothing(name: str) -> None:
    new = {
        "fast-slow": lambda: ub.FastSlowGPUCB(GRID, KNOWN, C=4.0, seed=0),
        "layered": lambda: ub.LayeredGPUCB(GRID, KNOWN, T=30, seed=0, with_all=False),
        "sharing": lambda: ub.LayeredGPUCB(GRID, KNOWN, T=30, seed=0, with_all=True),
    }[name]
    algorithm = new()
    for _ in range(30):
        query = algorithm.ask()
        algorithm.tell(query, np.sin(5.0 * query.x[0]) / 2.0)
        check(algorithm, new)
