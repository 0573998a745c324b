"""Containment: alpha = 1 in alpha = 2, intersected in current; nested and shrinking maximiser sets."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unbribable as ub
from contracts.members import ALGORITHMS
from games import Game, law, leaves, liars, random_function
from unbribable.decision.asking.best import best

X = np.linspace(0.0, 1.0, 12)[:, None]
KERNEL = ub.Matern(2.5, 0.4)
B = 4.0
"""f is large against the lies (cap 1), so that sets do shrink in a short run."""

kinds = st.sampled_from(list(ALGORITHMS))
words = st.fixed_dictionaries(
    {
        "width": st.sampled_from(["exact", "capped", "paper"]),
        "noise": st.sampled_from(["tight", "paper"]),
        "gain": st.sampled_from(["realised", "certified"]),
    }
)


def build(kind: str, lam: float, seed: int, options: dict[str, object]) -> ub.RobustGPUCB:
    domain = ub.Grid(X)
    assumptions = ub.Assumptions(KERNEL, B=B, B0=B, c_max=1.0, noise_std=0.1, lam=lam, delta=0.3)
    return ALGORITHMS[kind](domain, assumptions, C=3.0, T=40, seed=seed, **options)


@law
@given(
    kinds,
    words,
    st.sampled_from([0.01, 1.0]),
    st.sampled_from(["honest", "hide", "decoy", "noise"]),
    st.integers(0, 2**31),
)
def test_intersected_bounds_are_monotone_inside_the_current_ones_and_those_inside_alpha_two(
    kind: str, options: dict[str, object], lam: float, name: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    f = random_function(KERNEL, X, rng, B)
    world = Game(f, 0.1, rng, liars(KERNEL, X, f, rng)[name], 3.0, 1.0)
    algorithm = build(kind, lam, seed, options)
    before = {
        label: (instance.ucb_bar.copy(), instance.lcb_bar.copy())
        for label, instance in algorithm.instances.items()
    }
    for _ in range(25):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ub.AssumptionsRefuted)  # GP-UCB is lied to as well
            world.round(algorithm)
        for label, instance in algorithm.instances.items():
            upper, lower = before[label]
            assert np.all(instance.ucb_bar <= upper)
            assert np.all(instance.lcb_bar >= lower)
            # 1e-12: by that much an exact width may tighten a bound without its being recorded
            width = instance.width
            assert np.all(instance.ucb_bar <= instance.mu + width + 1e-12)
            assert np.all(instance.lcb_bar >= instance.mu - width - 1e-12)
            assert np.all(width >= 0.0)
            for alpha in (1.0, 2.0):  # alpha stands on the whole width
                _, ucb = best(instance.now, alpha)
                assert ucb == pytest.approx(np.max(instance.mu + alpha * width), abs=1e-12)
            before[label] = instance.ucb_bar.copy(), instance.lcb_bar.copy()


@pytest.mark.parametrize("kind", ALGORITHMS)
def test_intersected_bounds_are_the_running_extremes_of_the_current_ones(kind: str) -> None:
    rng = np.random.default_rng(8)
    f = random_function(KERNEL, X, rng, B)
    world = Game(f, 0.1, rng, liars(KERNEL, X, f, rng)["hide"], 3.0, 1.0)
    algorithm = build(kind, 0.05, 2, {})
    extremes = {
        label: (instance.ucb_bar.copy(), instance.lcb_bar.copy())
        for label, instance in algorithm.instances.items()
    }
    for _ in range(40):
        world.round(algorithm)
        for label, instance in algorithm.instances.items():
            upper, lower = extremes[label]
            width = instance.width  # solves what was left open
            upper = np.minimum(upper, np.minimum(instance.mu + width, instance.now.ucb))
            lower = np.maximum(lower, np.maximum(instance.mu - width, instance.now.lcb))
            extremes[label] = upper, lower
            np.testing.assert_allclose(instance.ucb_bar, upper, rtol=0, atol=1e-11)
            np.testing.assert_allclose(instance.lcb_bar, lower, rtol=0, atol=1e-11)


@law
@given(
    st.sampled_from(["honest", "hide", "decoy", "rare", "noise", "down"]),
    st.sampled_from([1.0, 4.0, 50.0]),
    st.sampled_from([0.003, 0.05]),
    st.integers(0, 2**31),
)
def test_maximiser_sets_are_nested_and_only_shrink(name: str, C: float, lam: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    f = random_function(KERNEL, X, rng, B)
    world = Game(f, 0.05, rng, liars(KERNEL, X, f, rng)[name], C, 1.0)
    assumptions = ub.Assumptions(KERNEL, B=B, B0=B, c_max=1.0, noise_std=0.05, lam=lam, delta=0.3)
    algorithm = ub.LayeredGPUCB(ub.Grid(X), assumptions, T=64, seed=seed, with_all=False)
    before = algorithm.maximisers.copy()
    assert before.all()
    for _ in range(64):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ub.AssumptionsRefuted)  # C = 50 exceeds what layers allow
            query = world.round(algorithm)
        sets = algorithm.maximisers
        assert np.all(sets[:-1] <= sets[1:])  # M(1) <= M(2) <= ...
        assert np.all(sets <= before)
        if query.instance is not None and before[-1].any():
            assert before[int(query.instance.removeprefix("layer-")) - 1, query.index]
        # the definition: M(l) is what no layer from l on has ruled out
        ruled_out = [
            layer.ucb_bar < layer.lcb_bar.max() - assumptions.tolerance
            for layer in algorithm.instances.values()
        ]
        for k in range(len(sets)):
            assert np.array_equal(sets[k], ~np.any(ruled_out[k:], axis=0))
        before = sets.copy()


def test_the_maximiser_stays_in_every_robust_layers_set_while_their_bounds_hold() -> None:
    rng = np.random.default_rng(3)
    n_shrunk = n_on_event = 0
    for seed in range(12):
        f = random_function(KERNEL, X, rng, B)
        name = ["hide", "decoy", "rare", "down"][seed % 4]
        world = Game(f, 0.05, rng, liars(KERNEL, X, f, rng)[name], 4.0, 1.0)
        assumptions = ub.Assumptions(KERNEL, B=B, B0=B, c_max=1.0, noise_std=0.05, lam=0.003, delta=0.3)
        algorithm = ub.LayeredGPUCB(ub.Grid(X), assumptions, T=128, seed=seed, with_all=False)
        robust = [algorithm.instances[f"layer-{level}"] for level in range(2, algorithm.n_layers + 1)]
        best = int(np.argmax(f))
        for _ in range(128):
            world.round(algorithm)
            if not leaves(robust, f):
                n_on_event += 1
                assert algorithm.maximisers[1:, best].all()
        n_shrunk += not algorithm.maximisers[1].all()
    assert n_on_event > 1000
    assert n_shrunk > 0  # sets did shrink, or nothing was tested
