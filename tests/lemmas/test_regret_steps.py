"""Lemma 4 and Appendix B: from widths to regret; the certificates, path by path."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unbribable as ub
from contracts.members import ALGORITHMS, BY_INSTANCE
from games import Design, Game, designs, law, leaves, liars, random_function

X = np.linspace(0.0, 1.0, 24)[:, None]
KERNEL = ub.Matern(2.5, 0.15)
B, B0 = 1.0, 1.0
NOISE_STD = 0.1


def assumptions(lam: float = 0.05, delta: float = 0.2) -> ub.Assumptions:
    return ub.Assumptions(KERNEL, B=B, B0=B0, noise_std=NOISE_STD, lam=lam, delta=delta)


def game(seed: int, name: str, C: float, *, is_strong: bool = False) -> Game:
    rng = np.random.default_rng(seed)
    f = random_function(KERNEL, X, rng, B)
    lie = liars(KERNEL, X, f, rng)[name]
    return Game(f, NOISE_STD, rng, lie, C, B0, is_strong)


# --- App. B: the sum of sigma along a path ----------------------------------------------------------


@law
@given(designs(t_max=40, has_own_noise=False, lam=st.sampled_from([1.0, 2.5, 10.0])))
def test_the_sum_of_sigma_along_any_path_is_at_most_the_root_of_four_t_lam_gain(design: Design) -> None:
    # For lam >= 1 = k_max each sigma^2/lam <= 1, where s <= ln(1 + s) / ln 2; with Cauchy-Schwarz the
    # realised gain itself serves, which gamma_T is not below.
    posterior = ub.Posterior(design.kernel, design.X, design.lam)
    total = 0.0
    for t, i in enumerate(design.indices, start=1):
        total += math.sqrt(max(posterior.var[i], 0.0))
        posterior.observe(int(i), 0.0)
        assert total <= math.sqrt(4.0 * t * design.lam * posterior.gain) + 1e-9
        assert total <= math.sqrt(2.0 / math.log(2.0) * t * design.lam * posterior.gain) + 1e-9


@law
@given(designs(t_max=30, n_max=8, has_own_noise=False, lam=st.just(1.0)))
def test_the_sum_of_sigma_is_at_most_its_bound_with_the_certified_gamma(design: Design) -> None:
    gamma = ub.MaxInformationGain(design.kernel, design.X, 1.0)
    posterior = ub.Posterior(design.kernel, design.X, 1.0)
    total = 0.0
    for i in design.indices:
        total += math.sqrt(max(posterior.var[i], 0.0))
        posterior.observe(int(i), 0.0)
    assert total <= math.sqrt(4.0 * design.t * gamma(design.t)) + 1e-9


# --- Lemma 4: instant regret ------------------------------------------------------------------------


@pytest.mark.parametrize("width", ["exact", "capped", "paper"])
@pytest.mark.parametrize("seed", range(4))
def test_instant_regret_of_algorithm_one_is_at_most_two_widths(seed: int, width: str) -> None:
    world = game(seed, ["hide", "decoy", "whisper", "noise"][seed], C=5.0, is_strong=True)
    algorithm = ub.RobustGPUCB(ub.Grid(X), assumptions(), C=5.0, width=width)
    main = algorithm.instances["main"]
    n_on_event = 0
    for _ in range(50):
        current = main.width.copy()
        is_valid = bool(np.all(np.abs(world.f - main.mu) <= current))
        first = int(np.argmax(main.mu + current))
        query = world.round(algorithm)
        assert query.index == first
        if is_valid:
            n_on_event += 1
            assert query.width == pytest.approx(current[query.index], rel=1e-12)
            regret = world.f.max() - world.f[query.index]
            assert regret <= 2.0 * query.width + 1e-12
    assert n_on_event > 25  # the event did happen, or nothing was tested


@pytest.mark.parametrize("with_all", [False, True])
@pytest.mark.parametrize("name", ["honest", "hide", "rare", "decoy"])
def test_instant_regret_of_fast_and_slow_is_at_most_two_widths(name: str, with_all: bool) -> None:
    world = game(11, name, C=4.0)
    algorithm = ub.FastSlowGPUCB(ub.Grid(X), assumptions(), C=4.0, seed=3, with_all=with_all)
    fast, slow, whole = (algorithm.instances[label] for label in ("fast", "slow", "all"))
    n_checked = dict.fromkeys(("fast", "slow", "all"), 0)
    for _ in range(80):
        trusted = [fast, slow, whole] if with_all else [fast, slow]
        is_valid = {
            "fast": not leaves(trusted, world.f),
            "slow": bool(np.all(np.abs(world.f - slow.mu) <= slow.width)),
            "all": bool(np.all(np.abs(world.f - whole.mu) <= whole.width)),
        }
        query = world.round(algorithm)
        label = str(query.instance)
        if is_valid[label]:
            n_checked[label] += 1
            alpha = algorithm.alpha if label == "slow" else 1.0
            regret = world.f.max() - world.f[query.index]
            assert regret <= 2.0 * alpha * query.width + 1e-9
    assert n_checked["slow"] > 5
    assert n_checked["fast"] + n_checked["all"] > 0


@pytest.mark.parametrize("name", ["honest", "hide", "rare"])
def test_instant_regret_of_a_layer_whose_set_holds_the_maximiser_is_at_most_two_alpha_widths(
    name: str,
) -> None:
    world = game(5, name, C=4.0)
    algorithm = ub.LayeredGPUCB(ub.Grid(X), assumptions(), T=80, seed=9, with_all=False)
    best = int(np.argmax(world.f))
    n_checked = 0
    for _ in range(80):
        is_valid = {
            label: bool(np.all(np.abs(world.f - layer.mu) <= layer.width))
            and bool(algorithm.maximisers[int(label.removeprefix("layer-")) - 1, best])
            for label, layer in algorithm.instances.items()
        }
        query = world.round(algorithm)
        if query.instance is not None and is_valid[query.instance]:
            n_checked += 1
            regret = world.f.max() - world.f[query.index]
            assert regret <= 2.0 * algorithm.alpha * query.width + 1e-9
    assert n_checked > 20


# --- certificates: on the event, path by path -------------------------------------------------------

ROBUST = [name for name in BY_INSTANCE if name != "gp-ucb"]


@pytest.mark.long
@pytest.mark.parametrize("name", ["honest", "hide", "decoy", "rare", "noise"])
@pytest.mark.parametrize("kind", ROBUST)
def test_certificates_bound_the_true_regret_whenever_the_truth_is_inside_the_valid_bounds(
    kind: str, name: str
) -> None:
    n_checked = 0
    for seed in range(2):
        algorithm = ALGORITHMS[kind](ub.Grid(X), assumptions(), C=4.0, T=60, seed=1)
        world = game(20 + seed, name, C=4.0)
        trusted = ALGORITHMS[kind].trusted
        asked = {} if trusted else {"C": 4.0}
        for t in range(60):
            world.round(algorithm)
            labels = trusted or algorithm.policy.trust("weak", 4.0).labels
            instances = [algorithm.policy.named(label) for label in labels]
            if t % 10 != 9 or leaves(instances, world.f):
                continue
            n_checked += 1
            for rule in ("lcb", "paper"):
                best = algorithm.recommend(rule=rule, **asked)
                assert best.regret_bound is not None
                assert world.f.max() - world.f[best.index] <= best.regret_bound + 1e-9
                assert best.lower - 1e-9 <= world.f[best.index] <= best.upper + 1e-9
            certificate = algorithm.regret_certificate(**asked)
            assert certificate.n_rounds == t + 1
            assert certificate.value is not None
            assert world.regret <= certificate.value + 1e-9
    assert n_checked >= 10  # of 12: the event is likely


def test_a_certificate_is_no_empty_promise() -> None:
    # it is far below what |f| <= B0 says alone, and it would be wrong for a naive learner under attack
    world = game(20, "hide", C=4.0, is_strong=True)
    robust = ub.RobustGPUCB(ub.Grid(X), assumptions(), C=4.0)
    for _ in range(400):
        world.round(robust)
    assert robust.recommend().regret_bound < 0.4 * 2 * B0
    assert robust.regret_certificate().value < 0.6 * 2 * B0 * 400


def test_the_papers_rule_reports_the_round_with_the_largest_lower_bound_at_the_choice() -> None:
    world = game(2, "hide", C=4.0, is_strong=True)
    algorithm = ub.RobustGPUCB(ub.Grid(X), assumptions(), C=4.0)
    queries = [world.round(algorithm) for _ in range(60)]
    lower = [query.mu - query.width for query in queries]
    assert algorithm.recommend(rule="paper").index == queries[int(np.argmax(lower))].index
