"""A history that comes at once: the same belief, and bounds that hold."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from contracts.members import algorithms
from told import reading_of, told
from unbribable.decision.algorithm import Algorithm
from unbribable.decision.proposal import Reading

GRID = ub.Grid(np.random.default_rng(0).random((90, 2)))
BOX = ub.Box([0.0, 0.0], [1.0, 1.0], n_candidates=16)
KERNEL = ub.Matern(2.5, 0.4)
ASSUMED = ub.Assumptions(KERNEL, B=1.0, B0=1.0, noise_std=0.05, lam=0.01, c_max=1.0)
CENTRES = np.random.default_rng(1).random((5, 2))
HEIGHTS = np.array([1.0, -0.6, 0.5, 0.3, -0.4])
HEIGHTS = 0.9 * HEIGHTS / np.sqrt(HEIGHTS @ KERNEL(CENTRES, CENTRES) @ HEIGHTS)

each_domain = pytest.mark.parametrize("domain", [GRID, BOX], ids=["grid", "box"])
BUILDS = algorithms(C=0.5, T=60, seed=1)
each_build = pytest.mark.parametrize("build", BUILDS.values(), ids=BUILDS)
Build = Callable[..., Any]


def f(u: np.ndarray) -> np.ndarray:
    """Of norm 0.9."""
    values: np.ndarray = KERNEL(u, CENTRES) @ HEIGHTS
    return values


def readings(domain: Any, n: int = 63) -> list[tuple[np.ndarray, float]]:
    """Points and noisy values, some points twice."""
    rng = np.random.default_rng(2)
    found: list[tuple[np.ndarray, float]] = []
    for k in range(n):
        x = rng.random(2) if domain is BOX else GRID.points[rng.integers(90)]
        x = found[k // 2][0] if k % 7 == 6 else x
        found.append((x, float(f(x[None, :])[0] + 0.05 * rng.standard_normal())))
    return found


def play(build: Build, domain: Any) -> Algorithm:
    """A game in which the user chooses the points."""
    algorithm = build(domain, ASSUMED)
    for x, y in readings(domain):
        algorithm.tell(x=x, y=y)
    return algorithm


def past_of(algorithm: Algorithm) -> list[Reading]:
    """Its readings, as a history for another one."""
    return [
        Reading(one.t, one.u, one.y, algorithm.drawn(one.t), "", one.lam, None, "user")
        for one in algorithm.readings
    ]


@each_domain
@each_build
def test_a_history_at_once_gives_the_same_belief_and_bounds_that_hold(build: Build, domain: Any) -> None:
    """Every instance learns what its draw says; what is wider is only not intersected."""
    single, at_once = play(build, domain), build(domain, ASSUMED)
    at_once.learn(past_of(single))
    assert [(one.t, one.y, one.learner) for one in at_once.readings] == [
        (one.t, one.y, one.learner) for one in single.readings
    ]
    points = np.array([one.u for one in at_once.readings])
    here = [at_once.candidates.index_of(one.u) for one in at_once.readings]
    there = [single.candidates.index_of(one.u) for one in single.readings]
    for label, instance in at_once.instances.items():
        other = single.instances[label]
        assert instance.n_readings == other.n_readings
        np.testing.assert_allclose(instance.mu[here], other.mu[there], rtol=0.0, atol=1e-8)
        np.testing.assert_allclose(instance.sigma[here], other.sigma[there], rtol=1e-7)
        assert (instance.ucb_bar[here] >= other.ucb_bar[there] - 1e-8).all()
    for label in at_once.policy.trust(None, None).labels:
        assert (f(points) <= at_once.policy.named(label).ucb_bar[here] + 1e-9).all()
        assert (f(points) >= at_once.policy.named(label).lcb_bar[here] - 1e-9).all()
    resumed = build(domain, ASSUMED).restore(at_once.state())
    assert told(resumed) == told(at_once)


def test_lies_in_a_history_are_detected_at_its_end() -> None:
    """Three of them, all told to fast; from then on every reading goes to "all"."""
    fast_slow = ub.FastSlowGPUCB(GRID, ASSUMED, C=3.0, seed=1)
    near, far = (
        GRID.points[0],
        GRID.points[np.argmax(np.linalg.norm(GRID.points - GRID.points[0], axis=1))],
    )
    fast = [t for t in range(1, 121) if fast_slow.drawn(t) == "fast"]
    history = [
        reading_of(fast_slow, t, far if t in fast[3:] else near, 0.0 if t in fast else 0.9)
        for t in range(1, 121)
    ]
    fast_slow.learn(history)
    assert fast_slow.refuted is None
    assert fast_slow.detected in {past.t for past in history}
    assert {reading.learner for reading in fast_slow.readings} == {"fast", "slow"}
    fast_slow.learn(reading_of(fast_slow, 121, GRID.points[0], 0.0))
    assert fast_slow.readings[-1].learner == "all"


def test_the_papers_rule_needs_bounds_from_before_the_readings() -> None:
    """A history has none; rounds after it do, and only they count."""
    grid = ub.Grid(np.linspace(0.0, 1.0, 20)[:, None])
    assumed = ub.Assumptions(ub.Matern(2.5, 0.3), B=2.0, B0=2.0, noise_std=0.1, lam=0.05)
    algorithm = ub.RobustGPUCB(grid, assumed, C=0.5)
    algorithm.learn(
        [reading_of(algorithm, t, grid.points[3], 1.0, chosen_by="algorithm") for t in range(1, 30)]
    )
    with pytest.raises(RuntimeError, match=r"rule='paper' needs a reading .* with a bound from before"):
        algorithm.recommend(rule="paper")
    for t, i in ((30, 9), (31, 9), (32, 15)):
        algorithm.learn(reading_of(algorithm, t, grid.points[i], 0.5, chosen_by="algorithm"))
    lcbs = {algorithm.candidates.index_of(reading.u): reading.lcb for reading in algorithm.readings[29:]}
    assert algorithm.recommend(rule="paper").index == max(lcbs, key=lambda index: lcbs[index])


def test_a_used_algorithm_refuses_a_history() -> None:
    """It is for what came before everything else."""
    algorithm = ub.GPUCB(GRID, ASSUMED)
    algorithm.tell(algorithm.ask(), 0.1)
    with pytest.raises(RuntimeError, match=r"needs a new algorithm, this one is in round 1"):
        algorithm.learn([reading_of(algorithm, 2, GRID.points[0], 0.1)])
