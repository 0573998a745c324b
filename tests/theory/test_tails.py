"""Who gets which budget: the tails as the algorithms use them."""

import math

import numpy as np
import pytest

import unbribable as ub
from unbribable.theory.tails import tail_paper, tail_sharp

DOMAIN = ub.Grid(np.linspace(0, 1, 5)[:, None])


def assumptions(**changes: float) -> ub.Assumptions:
    return ub.Assumptions(ub.Matern(1.5, 0.3), **{"B": 1.0, "B0": 1.0, "noise_std": 0.1, **changes})


def test_the_papers_tail_is_three_plus_cap_times_log() -> None:
    assert tail_paper(0.5, 0.1) == pytest.approx(3 + 0.5 * math.log(10))


@pytest.mark.parametrize("cap", [0.5, 2.0])
def test_slow_has_the_tail_at_a_fifth_of_delta(cap: float) -> None:
    known = assumptions(delta=0.25, c_max=cap)
    sharp = ub.FastSlowGPUCB(DOMAIN, known, C=20.0)
    paper = ub.FastSlowGPUCB(DOMAIN, known, C=20.0, tail="paper")
    budgets = [algorithm.instances["slow"].C for algorithm in (sharp, paper)]
    assert budgets == pytest.approx([tail_sharp(20.0, 0.05, cap, 0.05), 3 + cap * math.log(20)])
    for algorithm in (sharp, paper):
        assert algorithm.instances["fast"].C == 0.0
        assert algorithm.instances["all"].C == 20.0
        assert {instance.delta for instance in algorithm.instances.values()} == {0.05}


@pytest.mark.parametrize("C", [0.3, 1.0])
@pytest.mark.parametrize("tail", ["sharp", "paper"])
def test_up_to_one_slow_is_always_drawn_and_has_the_whole_budget(C: float, tail: str) -> None:
    algorithm = ub.FastSlowGPUCB(DOMAIN, assumptions(), C=C, tail=tail)
    assert algorithm.instances["slow"].C == C
    assert algorithm.propose().instances == ("slow",)


@pytest.mark.parametrize("T", [1, 2, 3, 64, 100])
def test_layer_l_has_the_tail_of_two_to_the_l_with_its_own_probability(T: int) -> None:
    algorithm = ub.LayeredGPUCB(DOMAIN, assumptions(delta=0.2), T=T, with_all=False)
    n_layers = max(1, math.ceil(math.log2(T)))
    share = 0.2 / (4 * (1 + math.log2(T)))
    assert list(algorithm.instances) == [f"layer-{level}" for level in range(1, n_layers + 1)]
    p = [2.0**-level for level in range(1, n_layers + 1)]
    p[0] += 2.0**-n_layers
    assert sum(p) == 1.0
    np.testing.assert_array_equal(algorithm.propose().probabilities, p)
    budgets = [instance.C for instance in algorithm.instances.values()]
    expected = [tail_sharp(2.0**level, p[level - 1], 1.0, share) for level in range(1, n_layers + 1)]
    assert budgets == pytest.approx(expected, rel=1e-12)
    for instance in algorithm.instances.values():
        assert instance.delta == pytest.approx(share, rel=1e-12)
    paper = ub.LayeredGPUCB(DOMAIN, assumptions(delta=0.2), T=T, tail="paper", with_all=False)
    budgets = [instance.C for instance in paper.instances.values()]
    assert budgets == pytest.approx([3 + math.log(1 / share)] * n_layers)


def test_an_uncapped_liar_is_refused_where_instances_are_drawn_at_random() -> None:
    unbounded = assumptions(c_max=math.inf)
    with pytest.raises(ValueError, match="c_max must be finite"):
        ub.FastSlowGPUCB(DOMAIN, unbounded, C=5.0)
    with pytest.raises(ValueError, match="c_max must be finite"):
        ub.LayeredGPUCB(DOMAIN, unbounded, T=10, with_all=False)
    assert ub.RobustGPUCB(DOMAIN, unbounded, C=5.0).instances["main"].C == 5.0
