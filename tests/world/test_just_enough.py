"""The attack that works out how much it must lie."""

import numpy as np
import pytest

import unbribable as ub
from unbribable import lab
from unbribable.lab.world.adversaries import HideAndDecoy, JustEnough, Observation
from unbribable.lab.world.environment import Environment
from unbribable.lab.world.objectives import Objective
from world.members import KERNEL, objective, view_of

f = objective()
RADIUS = 0.2
IS_NEAR = f.near(f.best, RADIUS)
ELSEWHERE = float(f.f[~IS_NEAR].max())


def attack(lam: float = 1.0, noise_std: float = 0.0, margin: float = 0.1) -> JustEnough:
    return JustEnough(f, kernel=KERNEL, lam=lam, noise_std=noise_std, radius=RADIUS, margin=margin)


def learner(lam: float = 1.0, noise_std: float = 0.0) -> ub.GPUCB:
    assert f.norm is not None
    known = ub.Assumptions(KERNEL, B=f.norm, B0=f.B0, noise_std=noise_std, lam=lam)
    return ub.GPUCB(ub.Grid(f.X), known)


@pytest.mark.parametrize("lam", [0.1, 1.0])
def test_after_a_lie_the_learners_bound_is_just_below_the_best_value_elsewhere(lam: float) -> None:
    liar, player = attack(lam), learner(lam)
    world = Environment(f, noise_std=0.0, adversary=liar, C=1e6, c_max=1e6, threat="strong")
    n_lies = 0
    for _ in range(30):
        query = player.ask()
        world.face(np.array([query.index]), np.ones(1), (query.instance,))
        told = world.answer(query.index)
        player.tell(query, told.y_tilde)
        assert told.c <= 0.0
        assert told.c == 0.0 or IS_NEAR[query.index]
        if told.c < 0.0:
            n_lies += 1
            main = player.instances["main"]
            assert main.mu[query.index] + main.width[query.index] == pytest.approx(
                ELSEWHERE - 0.1, abs=1e-5
            )
    assert n_lies >= 2


def test_it_tells_the_truth_elsewhere_and_where_the_bound_is_low_already() -> None:
    liar = attack()
    assert not liar.commit(view_of(f, np.flatnonzero(~IS_NEAR)), np.random.default_rng(0)).any()
    for _ in range(30):
        liar.saw(f.best, None, Observation(f.f_max, 0.0, -2.0, -1.0, 2.0))
    assert not liar.commit(view_of(f, [f.best]), np.random.default_rng(0)).any()
    assert not attack().commit(view_of(f, [f.best], left=0.0), np.random.default_rng(0)).any()


def test_it_carries_gp_ucb_away_for_less_than_hiding_the_maximiser_costs() -> None:
    spent, last = {}, {}
    hide = HideAndDecoy(f, radius=RADIUS, low=-1.0, high=-1e6)
    for name, liar in {"hide": hide, "just enough": attack(noise_std=0.02)}.items():
        world = Environment(f, noise_std=0.02, adversary=liar, C=100.0, threat="strong")
        record = lab.simulate(learner(noise_std=0.02), world, 300, 0)
        spent[name] = record.spent[-1]
        last[name] = record.instant_regret[-100:].min()
    assert min(last.values()) > 0.3
    assert spent["just enough"] < 0.9 * spent["hide"]


def test_it_needs_the_norm_and_somewhere_else_to_go() -> None:
    with pytest.raises(ValueError, match="needs the norm"):
        JustEnough(Objective("g", f.X, f.f), kernel=KERNEL, lam=1.0, noise_std=0.1, radius=0.2)
    with pytest.raises(ValueError, match="radius must leave points"):
        JustEnough(f, kernel=KERNEL, lam=1.0, noise_std=0.1, radius=2.0)
