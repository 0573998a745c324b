"""Lemma 7 (what fast never plays) and Lemma 8 (when slow rules a point out)."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unbribable as ub
from games import Game, law, liars, random_corruption, random_function
from unbribable.decision.asking.best import best
from unbribable.decision.instance import Instance
from unbribable.decision.options import Options
from unbribable.lab.theorems.regret_bounds import elimination_time
from unbribable.theory.tails import tail_paper

X = np.linspace(0.0, 1.0, 12)[:, None]
KERNEL = ub.Matern(2.5, 0.4)
B = 4.0
"""f is large against the lies (cap 1), so that slow does rule points out in a short run."""


@law
@given(
    seed=st.integers(0, 2**32 - 1),
    name=st.sampled_from(["honest", "hide", "decoy", "rare", "noise", "down", "flood"]),
    C=st.sampled_from([1.5, 3.0, 8.0]),
    lam=st.sampled_from([0.003, 0.05, 1.0]),
    with_all=st.booleans(),
    width=st.sampled_from(["exact", "paper"]),
    tail=st.sampled_from(["sharp", "paper"]),
    dials=st.sampled_from([(1.0, 0.0), (0.25, 0.0), (0.5, 1.5), (0.25, 1.0)]),
)
def test_fast_never_plays_a_point_that_slow_has_ruled_out(
    seed: int,
    name: str,
    C: float,
    lam: float,
    with_all: bool,
    width: str,
    tail: str,
    dials: tuple[float, float],
) -> None:
    rng = np.random.default_rng(seed)
    f = random_function(KERNEL, X, rng, B)
    # "flood" lies in every round, ten times as much as allowed: fast's bounds are then worthless
    lies = {**liars(KERNEL, X, f, rng), "flood": lambda i, labels: 0.0 if "slow" in labels else 1.0}
    world = Game(f, 0.05, rng, lies[name], 10 * C if name == "flood" else C, 1.0)
    algorithm = ub.FastSlowGPUCB(
        ub.Grid(X),
        ub.Assumptions(KERNEL, B=B, B0=B, c_max=1.0, noise_std=0.05, lam=lam, delta=0.3),
        C=C,
        seed=int(rng.integers(2**31)),
        with_all=with_all,
        share=dials[0],
        trust=dials[1],
        width=width,
        tail=tail,
    )
    slow, whole = algorithm.instances["slow"], algorithm.instances["all"]
    for _ in range(60):
        if algorithm.detected is not None or algorithm.refuted is not None:
            break
        proposal = algorithm.propose()
        if "fast" in proposal.instances:
            i = int(proposal.indices[proposal.instances.index("fast")])
            assert slow.ucb_bar[i] >= slow.lcb_bar.max() - 1e-9
            if with_all:
                upper = np.minimum(slow.ucb_bar, whole.ucb_bar)
                lower = np.maximum(slow.lcb_bar, whole.lcb_bar)
                if np.all(lower <= upper):  # else slow and all contradict each other
                    assert upper[i] >= lower.max() - 1e-9
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ub.AssumptionsRefuted)  # "flood" breaks them
            world.round(algorithm)


def test_slow_does_rule_points_out_that_fasts_own_rule_would_play() -> None:
    # the law above is about something: without slow's bound in its rule fast would break it
    n_ruled_out = n_broken = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        f = random_function(KERNEL, X, rng, B)
        assumptions = ub.Assumptions(KERNEL, B=B, B0=B, c_max=1.0, noise_std=0.05, lam=0.003, delta=0.3)
        algorithm = ub.FastSlowGPUCB(ub.Grid(X), assumptions, C=1.5, seed=seed)
        world = Game(f, 0.05, rng, liars(KERNEL, X, f, rng)["hide"], 1.5, 1.0)
        fast, slow = algorithm.instances["fast"], algorithm.instances["slow"]
        for _ in range(60):
            if algorithm.detected is None:
                is_ruled_out = slow.ucb_bar < slow.lcb_bar.max()
                n_ruled_out = max(n_ruled_out, int(is_ruled_out.sum()))
                n_broken += bool(is_ruled_out[np.argmax(fast.ucb_bar)])
            world.round(algorithm)
    assert n_ruled_out > 5
    assert n_broken > 0


def test_with_dials_too_slow_rules_points_out_that_fasts_own_rule_would_play() -> None:
    n_fast = n_broken = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        f = random_function(KERNEL, X, rng, B)
        assumptions = ub.Assumptions(KERNEL, B=B, B0=B, c_max=1.0, noise_std=0.05, lam=0.003, delta=0.3)
        algorithm = ub.FastSlowGPUCB(ub.Grid(X), assumptions, C=2.0, seed=seed, share=0.25, trust=0.5)
        # far more than C, and on fast's rounds alone: fast's bounds are then worthless
        world = Game(f, 0.05, rng, lambda i, labels: 0.0 if "slow" in labels else 1.0, 50.0, 1.0)
        fast, slow = algorithm.instances["fast"], algorithm.instances["slow"]
        for _ in range(120):
            if algorithm.detected is not None or algorithm.refuted is not None:
                break
            is_ruled_out = slow.ucb_bar < slow.lcb_bar.max()
            proposal = algorithm.propose()
            n_fast += 1
            n_broken += bool(is_ruled_out[np.argmax(fast.ucb_bar)])
            assert not is_ruled_out[proposal.indices[proposal.instances.index("fast")]]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ub.AssumptionsRefuted)
                world.round(algorithm)
    assert n_fast > 300
    assert n_broken > 20


@pytest.mark.parametrize("trust", [0.0, 3.0])
def test_up_to_its_trust_fast_holds_the_truth_and_raises_no_alarm(trust: float) -> None:
    n_out = n_alarms = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        f = random_function(KERNEL, X, rng, B)
        assumptions = ub.Assumptions(KERNEL, B=B, B0=B, c_max=1.0, noise_std=0.02, lam=0.003, delta=0.1)
        algorithm = ub.FastSlowGPUCB(ub.Grid(X), assumptions, C=3.0, seed=seed, share=0.5, trust=trust)
        best = int(np.argmax(f))
        # a total of 3, all of it on fast's rounds, early and where it hurts
        world = Game(
            f,
            0.02,
            rng,
            lambda i, labels, best=best: -1.0 if i == best and "slow" not in labels else 0.0,
            3.0,
            1.0,
        )
        fast = algorithm.instances["fast"]
        for _ in range(150):
            world.round(algorithm)
        n_out += bool((fast.ucb_bar < f - 1e-9).any() or (fast.lcb_bar > f + 1e-9).any())
        n_alarms += algorithm.detected is not None
        if trust:
            found = algorithm.recommend(C=trust)
            assert found.regret_bound >= f.max() - f[found.index]
            assert found.regret_bound <= algorithm.recommend(x=found.x).regret_bound
            assert "weak adversary" in found.guarantee
            assert found.probability == pytest.approx(1.0 - 0.8 * assumptions.delta)
    if trust:
        assert (n_out, n_alarms) == (0, 0)
    else:  # control: the same lies carry a fast that trusts nobody away, and slow gives them away
        assert n_out > 6
        assert n_alarms > 3


def test_the_note_says_how_much_corruption_was_more_than_fast_puts_up_with() -> None:
    assumptions = ub.Assumptions(KERNEL, B=B, B0=B, c_max=1.0, noise_std=0.02, lam=0.003, delta=0.1)
    found = {}
    for trust in (0.0, 0.25):
        algorithm = ub.FastSlowGPUCB(ub.Grid(X), assumptions, C=6.0, seed=0, share=0.9, trust=trust)
        rng = np.random.default_rng(0)
        f = random_function(KERNEL, X, rng, B)
        lie = liars(KERNEL, X, f, rng)["hide"]
        world = Game(
            f, 0.02, rng, lambda i, labels, lie=lie: 0.0 if "slow" in labels else lie(i, labels), 6.0
        )
        while algorithm.detected is None and algorithm.t < 300:
            world.round(algorithm)
        (note,) = algorithm.notes
        found[trust] = str(note)
    assert found[0.0].startswith("Corruption was detected in round ")
    assert found[0.0].endswith("Without any this happens with probability at most 0.1.")
    assert found[0.25].startswith("A corruption of more than 0.25 was detected in round ")
    assert "Without so much this happens with probability at most 0.1, if whoever lies" in found[0.25]


@pytest.mark.parametrize(("threat", "C"), [("weak", 0.6), ("strong", 0.5), ("strong", 4.0)])
def test_a_c_beyond_the_trust_is_refused(threat: str, C: float) -> None:
    assumptions = ub.Assumptions(KERNEL, B=B, B0=B, c_max=1.0, noise_std=0.02)
    algorithm = ub.FastSlowGPUCB(ub.Grid(X), assumptions, C=4.0, seed=0, trust=0.5)
    with pytest.raises(ValueError, match=r"C must be left out.* 4\.0 .*trust=0\.5.* got C="):
        algorithm.recommend(threat=threat, C=C)


def test_detection_is_the_first_round_in_which_fast_falls_below_slow() -> None:
    rng = np.random.default_rng(4)
    n_detected = 0
    for seed in range(12):
        f = random_function(KERNEL, X, rng, B)
        assumptions = ub.Assumptions(KERNEL, B=B, B0=B, c_max=1.0, noise_std=0.02, lam=0.003, delta=0.3)
        algorithm = ub.FastSlowGPUCB(ub.Grid(X), assumptions, C=6.0, seed=seed)
        fast, slow = algorithm.instances["fast"], algorithm.instances["slow"]
        lie = liars(KERNEL, X, f, rng)["hide"]
        # only fast's readings are lowered, so that slow sees the truth and contradicts it
        world = Game(
            f, 0.02, rng, lambda i, labels, lie=lie: 0.0 if "slow" in labels else lie(i, labels), 6.0
        )
        for t in range(1, 121):
            was = algorithm.detected
            world.round(algorithm)
            is_below = bool(np.min(fast.ucb_bar - slow.lcb_bar) < -assumptions.tolerance)
            assert algorithm.detected == (was if was is not None else t if is_below else None)
        n_detected += algorithm.detected is not None
    assert n_detected > 0


# --- Lemma 8 ----------------------------------------------------------------------------------------


def orthogonal() -> tuple[ub.Grid, ub.SquaredExponential]:
    """Three candidates that say nothing about each other."""
    return ub.Grid([[0.0], [100.0], [200.0]]), ub.SquaredExponential(1.0)


def line() -> tuple[ub.Grid, ub.Linear]:
    """A linear function on five candidates: one number to learn."""
    return ub.Grid([[-1.0], [-0.5], [0.1], [0.5], [1.0]]), ub.Linear(1.0)


@pytest.mark.parametrize("setting", [orthogonal, line])
@pytest.mark.parametrize("noise", ["paper", "tight"])
@pytest.mark.parametrize("width", ["paper", "exact"])
def test_slow_rules_out_every_point_worse_by_a_gap_by_the_elimination_time(
    setting: object, noise: str, width: str
) -> None:
    domain, kernel = setting()
    norm, noise_std, alpha = 20.0, 0.5, 2.0
    assumptions = ub.Assumptions(kernel, B=norm, B0=norm, noise_std=noise_std, delta=0.4, c_max=0.5)
    share = assumptions.delta / 5
    budget = tail_paper(assumptions.c_max, share)
    gamma = ub.MaxInformationGain(kernel, domain.points, 1.0)
    rng = np.random.default_rng(0)
    f = np.array([0.55, -0.1, 0.8]) * norm if setting is orthogonal else norm * domain.points[:, 0]
    options = Options(width=width, noise=noise)
    slow = Instance("slow", domain.points, assumptions, options, C=budget, delta=share)
    deadlines = {
        i: elimination_time(assumptions, gap, gamma)
        for i, gap in enumerate(f.max() - f)
        if gap > 0.4 * norm
    }
    assert len(deadlines) >= 1
    assert all(deadline is not None for deadline in deadlines.values())
    lies = np.abs(random_corruption(rng, 100, budget, assumptions.c_max))
    open_points, t = set(deadlines), 0
    while open_points:
        is_out = slow.ucb_bar < slow.lcb_bar.max()
        open_points = {i for i in open_points if not is_out[i]}
        assert all(t < deadlines[i] for i in open_points)
        i, _ = best(slow.now, alpha)
        # the corruption of slow is within its budget, and pulls down whatever is best
        c = -lies[t] if t < 100 and f[i] == f.max() else 0.0
        slow.learn(i, float(f[i] + noise_std * rng.standard_normal() + c))
        t += 1
    assert t > 2  # not at once: there was something to learn


@pytest.mark.parametrize("noise_std", [0.0, 0.3])
def test_the_elimination_time_is_the_first_that_satisfies_the_lemma(noise_std: float) -> None:
    _, kernel = line()
    norm, cap, delta, alpha, gap = 30.0, 0.25, 0.3, 2.5, 40.0
    assumptions = ub.Assumptions(kernel, B=norm, B0=norm, noise_std=noise_std, delta=delta, c_max=cap)

    def gamma(t: np.ndarray) -> np.ndarray:
        return 0.5 * np.log1p(t)

    def left_side(tau: int) -> float:
        noise = noise_std * np.sqrt(2 * (gamma(tau - 1) + np.log(5 / delta)))
        slow = norm + noise + 3 + cap * np.log(5 / delta)
        return 4 * alpha * slow * np.sqrt(gamma(tau) / tau)

    tau = elimination_time(assumptions, gap, gamma, alpha=alpha)
    assert left_side(tau) <= gap / 10 < left_side(tau - 1)


@law
@given(st.floats(15.0, 60.0), st.floats(1.0, 3.0))
def test_the_elimination_time_falls_with_the_gap(gap: float, factor: float) -> None:
    _, kernel = line()
    assumptions = ub.Assumptions(kernel, B=30.0, B0=30.0, noise_std=0.3, delta=0.3, c_max=0.25)

    def gamma(t: np.ndarray) -> np.ndarray:
        return 0.5 * np.log1p(t)

    later = elimination_time(assumptions, gap, gamma)
    assert elimination_time(assumptions, factor * gap, gamma) <= later
