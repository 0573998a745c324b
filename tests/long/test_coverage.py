"""Coverage: the truth leaves the bounds of valid instances in at most a delta share of runs.

Each run draws a new f of RKHS norm exactly B, new noise, new secret draws, and one of several
attacks that know f. A run fails if f is ever outside the intersected bounds of the instances that
docs/threats.md calls valid. Runs are independent and each fails with probability at most the row's
share of delta, so k failures in n runs are refused only if P(Bin(n, share) >= k) < 1e-3
(`is_too_often`).
The widths are conservative: far fewer failures are normal. That these tests can fail at all is
shown by the controls, which play the very same games with the corruption part halved or left out.
"""

import warnings
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import unbribable as ub
from contracts.members import ALGORITHMS
from games import Design, Game, corruption, is_too_often, leaves, liars, random_function

N_RUNS = 300
X = np.linspace(0.0, 1.0, 20)[:, None]
DOMAIN = ub.Grid(X)
KERNEL = ub.Matern(2.5, 0.4)
B, B0, NOISE_STD, LAM, DELTA = 1.0, 1.0, 0.05, 0.05, 0.25
KNOWN = ub.Assumptions(KERNEL, B=B, B0=B0, noise_std=NOISE_STD, lam=LAM, delta=DELTA)
C, T = 4.0, 36

Make = Callable[[int], ub.RobustGPUCB]

ONLINE = ["hide", "decoy", "whisper", "rare", "down"]
"""Attacks on what the algorithm asks for, decided round by round."""


@pytest.fixture(autouse=True)
def _refutations_are_counted_not_raised() -> Iterator[None]:
    """A run whose bounds cross is a failure like any other here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ub.AssumptionsRefuted)
        yield


def attacked_run(make: Make, run: int, *, is_strong: bool) -> tuple[ub.RobustGPUCB, np.ndarray]:
    """Run number `run` of an algorithm under the attack whose turn it is, and the truth."""
    rng = np.random.default_rng([2020, run])
    f = random_function(KERNEL, X, rng, B)
    algorithm = make(run)
    turn = run % (len(ONLINE) + 1)
    if turn < len(ONLINE):
        lie = liars(KERNEL, X, f, rng)[ONLINE[turn]]
        game = Game(f, NOISE_STD, rng, lie, C, B0, is_strong)
        for _ in range(T):
            game.round(algorithm)
        assert game.left > -1e-9
    else:
        optimally_attacked(algorithm, f, rng)
    return algorithm, f


def optimally_attacked(
    algorithm: ub.RobustGPUCB, f: np.ndarray, rng: np.random.Generator, n_readings: int = T
) -> None:
    """Readings of a fixed design, moved by the lies that attain the exact shift at a target.

    The liar knows the design, the noise and f (not the draws): it aims where the noise and the bias
    have carried the mean away from f the most already, and pushes further. One lie a round, so the
    charge is sum |c| <= C.
    """
    indices = rng.integers(0, len(X), n_readings)
    design = Design(KERNEL, X, LAM, indices, np.full(n_readings, LAM), rng)
    y = f[indices] + NOISE_STD * rng.standard_normal(n_readings)
    weights = design.weights()
    error = weights.T @ y - f
    target = int(np.argmax(np.abs(error)))
    c = np.sign(error[target]) * corruption(weights[:, target], C, B0)
    assert np.abs(c).sum() <= C + 1e-9
    for i, value in zip(indices, y + c, strict=True):
        algorithm.tell(x=X[i], y=float(value))


def n_failures(
    make: Make, *sets: Callable[[ub.RobustGPUCB], list[str]], is_strong: bool
) -> tuple[int, ...]:
    """In how many of N_RUNS runs f leaves the bounds of these sets of instances."""
    failures = np.zeros(len(sets), dtype=int)
    for run in range(N_RUNS):
        algorithm, f = attacked_run(make, run, is_strong=is_strong)
        for k, labels in enumerate(sets):
            failures[k] += leaves([algorithm.instances[label] for label in labels(algorithm)], f)
    return tuple(failures.tolist())


def seeded(name: str) -> Make:
    """An algorithm whose seed is the number of the run."""
    return lambda run: ALGORITHMS[name](DOMAIN, KNOWN, C=C, T=T, seed=run)


robust, fast_slow, layers = (seeded(name) for name in ("robust", "fast-slow", "layered"))


# --- the rows of docs/threats.md ---


@pytest.mark.parametrize("noise", ["tight", "paper"])
def test_gp_ucb_without_corruption(noise: str) -> None:
    failures = 0
    for run in range(N_RUNS):
        rng = np.random.default_rng([1, run])
        game = Game(random_function(KERNEL, X, rng, B), NOISE_STD, rng)
        algorithm = ub.GPUCB(DOMAIN, KNOWN, noise=noise)
        for _ in range(T):
            game.round(algorithm)
        failures += leaves([algorithm.instances["main"]], game.f)
    assert not is_too_often(failures, N_RUNS, DELTA)


def test_algorithm_one_against_a_strong_adversary() -> None:
    (failures,) = n_failures(robust, lambda _: ["main"], is_strong=True)
    assert not is_too_often(failures, N_RUNS, DELTA)


def test_fast_slow_against_a_weak_adversary() -> None:
    failures, of_fast = n_failures(
        fast_slow, lambda _: ["slow", "all"], lambda _: ["fast"], is_strong=False
    )
    assert not is_too_often(failures, N_RUNS, 3 * DELTA / 5)
    assert is_too_often(of_fast, N_RUNS, DELTA)  # control: these attacks do carry fast away


def test_the_instance_of_all_readings_against_a_strong_adversary() -> None:
    (failures,) = n_failures(fast_slow, lambda _: ["all"], is_strong=True)
    assert not is_too_often(failures, N_RUNS, DELTA / 5)


def test_layers_from_the_robust_one_up_against_a_weak_adversary() -> None:
    # C = 4 = 2^2: layers 2 ... n_layers, all at once
    (failures,) = n_failures(
        layers, lambda a: [f"layer-{level}" for level in range(2, a.n_layers + 1)], is_strong=False
    )
    assert not is_too_often(failures, N_RUNS, DELTA / 2)


def test_layers_whose_budget_is_large_enough_against_a_strong_adversary() -> None:
    assert any(layer.C >= C for layer in layers(0).instances.values())
    (failures,) = n_failures(
        layers,
        lambda a: [label for label, layer in a.instances.items() if layer.C >= C],
        is_strong=True,
    )
    assert not is_too_often(failures, N_RUNS, DELTA / 2)


# --- controls: the same games, with the corruption part halved or left out --------------------------


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_control_a_smaller_corruption_part_does_not_survive_the_optimal_attack(share: float) -> None:
    n_lost = n_kept = 0
    for run in range(60):
        for allowed in (share * C, C):
            rng = np.random.default_rng([3, run])
            f = random_function(KERNEL, X, rng, B)
            algorithm = ub.RobustGPUCB(DOMAIN, KNOWN, C=allowed)
            optimally_attacked(algorithm, f, rng)
            is_out = leaves([algorithm.instances["main"]], f)
            n_kept += is_out and allowed == C
            n_lost += is_out and allowed < C
    assert not is_too_often(n_kept, 60, DELTA)
    assert is_too_often(n_lost, 60, DELTA)


def test_control_gp_ucb_does_not_survive_the_attacks() -> None:
    (failures,) = n_failures(lambda run: ub.GPUCB(DOMAIN, KNOWN), lambda _: ["main"], is_strong=True)
    assert is_too_often(failures, N_RUNS, DELTA)


def test_control_a_tenth_of_the_noise_width_does_not_cover_the_noise() -> None:
    failures = 0
    for run in range(100):
        rng = np.random.default_rng([1, run])
        game = Game(random_function(KERNEL, X, rng, B), NOISE_STD, rng)
        algorithm = ub.GPUCB(DOMAIN, KNOWN, beta=0.3)
        for _ in range(T):
            game.round(algorithm)
        failures += leaves([algorithm.instances["main"]], game.f)
    assert is_too_often(failures, 100, DELTA)


# --- false alarms -----------------------------------------------------------------------------------


def test_without_corruption_fast_slow_seldom_raises_an_alarm() -> None:
    n_alarms = 0
    for run in range(N_RUNS):
        rng = np.random.default_rng([4, run])
        game = Game(random_function(KERNEL, X, rng, B), NOISE_STD, rng)
        algorithm = ub.FastSlowGPUCB(DOMAIN, KNOWN, C=2.0, seed=run, with_all=run % 2 == 1)
        for _ in range(T):
            game.round(algorithm)
        n_alarms += algorithm.detected is not None
    assert not is_too_often(n_alarms, N_RUNS, DELTA)


def test_control_with_corruption_the_alarm_does_sound() -> None:
    n_alarms = 0
    for run in range(30):
        rng = np.random.default_rng([5, run])
        f = random_function(KERNEL, X, rng, B)
        game = Game(f, NOISE_STD, rng, liars(KERNEL, X, f, rng)["hide"], 3.0, B0)
        algorithm = ub.FastSlowGPUCB(DOMAIN, KNOWN, C=3.0, seed=run)
        for _ in range(2 * T):
            game.round(algorithm)
        n_alarms += algorithm.detected is not None
    assert n_alarms > 3
