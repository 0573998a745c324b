"""Coverage of levels: f leaves the bounds of a level that covers the lies in at most delta of the games.

The liars are strong: they know f and the algorithm, see point and noise of the round, and spend all they
have. The layers' own budgets are for weak ones, who commit before the draw.
"""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from games import Game, is_too_often, leaves, liars, random_function

N_GAMES = 300
X = np.linspace(0.0, 1.0, 16)[:, None]
KERNEL = ub.Matern(2.5, 0.4)
B, CAP, NOISE_STD, DELTA = 1.0, 0.5, 0.05, 0.25
KNOWN = ub.Assumptions(KERNEL, B=B, B0=B, c_max=CAP, noise_std=NOISE_STD, lam=0.05, delta=DELTA)
C, T = 2.0, 36

Lie = Callable[[Any, int, float, np.ndarray], float]
"""The algorithm, the point, the noise, f -> the lie as a share of the cap."""


@pytest.fixture(autouse=True)
def _refutations_are_counted_not_raised() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ub.AssumptionsRefuted)
        yield


def belief(algorithm: Any) -> Any:
    """The instance that holds every reading."""
    return algorithm.instances[algorithm.policy.holds_all]


def with_the_noise(algorithm: Any, i: int, noise: float, f: np.ndarray) -> float:
    return float(np.sign(noise))


def width_aware(algorithm: Any, i: int, noise: float, f: np.ndarray) -> float:
    """Pushes on where the mean is further off than the noise explains, in units of its width."""
    main = belief(algorithm)
    error = (main.mu - f) / (main.noise + 1e-12)
    target = int(np.argmax(np.abs(error)))
    near = KERNEL(X[[target]], X[[i]])[0, 0]
    return float(np.sign(error[target]) if near > 0.5 else 0.0)


def adaptive(algorithm: Any, i: int, noise: float, f: np.ndarray) -> float:
    """Lowers what the belief holds best among the good points, as far as it takes to look no better."""
    if f[i] < f.max() - 0.3 * np.ptp(f):
        return 0.0
    surplus = float(f[i] + noise - np.median(belief(algorithm).mu))
    return -float(np.clip(surplus / CAP, 0.0, 1.0))


LIES: tuple[Lie, ...] = (with_the_noise, width_aware, adaptive)


def attacked(make: Callable[[int], Any], run: int) -> tuple[Any, np.ndarray]:
    """Game number `run`, and the truth; all of C is spent if the liar finds an occasion."""
    rng = np.random.default_rng([1616, run])
    f = random_function(KERNEL, X, rng, B)
    algorithm, lie, left = make(run), LIES[run % len(LIES)], C
    for _ in range(T):
        query = algorithm.ask()
        noise = NOISE_STD * rng.standard_normal()
        c = min(CAP, left) * lie(algorithm, query.index, noise, f)
        left -= abs(c)
        algorithm.tell(query, float(f[query.index] + noise + c))
    assert left > -1e-9
    return algorithm, f


def test_levels_of_the_ladder_that_cover_the_lies_against_strong_adversaries() -> None:
    """All of them at once, those that have not begun included; control: the lowest one breaks."""
    n_out = n_out_below = n_lost = n_wrong = 0
    for run in range(N_GAMES):
        algorithm, f = attacked(lambda run: ub.LadderGPUCB(ub.Grid(X), KNOWN), run)
        named = [algorithm.policy.named(f"level-{level}") for level in range(1, 9)]
        covering = [level for level in named if level.C >= C]
        assert [level.C for level in covering] == [2.0, 4.0, 8.0, 16.0, 32.0]
        n_out += leaves(covering, f)
        n_out_below += leaves(named[:1], f)
        n_lost += not algorithm.maximisers[3:, np.argmax(f)].all()
        best = algorithm.recommend(C=C)
        is_void = best.regret_bound is None
        n_wrong += is_void or f.max() - f[best.index] > best.regret_bound
    for n_failures in (n_out, n_lost, n_wrong):
        assert not is_too_often(n_failures, N_GAMES, DELTA)
    assert is_too_often(n_out_below, N_GAMES, DELTA)


def test_levels_of_all_readings_that_cover_the_lies_against_strong_adversaries() -> None:
    share = DELTA / (2 * (2 * 6 + 1))
    n_out = n_out_below = 0
    for run in range(N_GAMES):
        algorithm, f = attacked(
            lambda run: ub.LayeredGPUCB(ub.Grid(X), KNOWN, T=T, seed=run, with_all=True), run
        )
        levels = algorithm.instances["all"].at_levels
        assert algorithm.instances["all"].delta == pytest.approx(share)
        n_out += leaves(list(levels), f)  # all cover C = 2
        n_out_below += leaves([ub_at_zero(algorithm)], f)
    assert not is_too_often(n_out, N_GAMES, share)
    assert is_too_often(n_out_below, N_GAMES, share)


def ub_at_zero(algorithm: Any) -> Any:
    """What a GP-UCB makes of the same readings: the control."""
    other = ub.GPUCB(ub.Grid(X), KNOWN)
    for reading in algorithm.readings:
        other.tell(x=reading.u, y=reading.y)
    return other.instances["main"]


def test_layers_that_share_and_cover_the_lies_against_weak_adversaries() -> None:
    names = ["hide", "decoy", "whisper", "rare", "down"]
    n_out = n_lost = 0
    for run in range(N_GAMES):
        rng = np.random.default_rng([1617, run])
        f = random_function(KERNEL, X, rng, B)
        algorithm = ub.LayeredGPUCB(ub.Grid(X), KNOWN, T=T, seed=run, with_all=True)
        game = Game(f, NOISE_STD, rng, liars(KERNEL, X, f, rng)[names[run % 5]], 4.0, CAP)
        for _ in range(T):
            game.round(algorithm)
        trusted = [algorithm.policy.named(label) for label in algorithm.policy.trust("weak", 4.0).labels]
        n_out += leaves(trusted, f)
        n_lost += not algorithm.maximisers[1:, np.argmax(f)].all()
    assert not is_too_often(n_out, N_GAMES, DELTA / 2)
    assert not is_too_often(n_lost, N_GAMES, DELTA / 2)


# --- Fast-Slow's dials ------------------------------------------------------------------------------

DIALS = {"C": 20.0, "share": 0.25, "trust": 8.0}


@pytest.mark.parametrize("seed", range(2))
def test_up_to_its_trust_fast_holds_the_truth_in_a_long_game(seed: int) -> None:
    """The lies, 8 in all, are told to fast alone, low and early; with trust 0 they carry it away."""
    n_alarms = {8.0: 0, 0.0: 0}
    for trust in n_alarms:
        rng = np.random.default_rng([14, seed])
        f = random_function(KERNEL, X, rng, B)
        algorithm = ub.FastSlowGPUCB(ub.Grid(X), KNOWN, **{**DIALS, "trust": trust}, seed=seed)
        game = Game(f, NOISE_STD, rng, lambda i, labels: -1.0 if "slow" not in labels else 0.0, 8.0, CAP)
        for _ in range(2000):
            query = game.round(algorithm)
            slow = algorithm.instances["slow"]
            if query.instance == "fast":  # Lemma 7
                assert slow.ucb_bar[query.index] >= slow.lcb_bar.max() - 1e-6
        is_out = leaves([algorithm.instances["fast"]], f)
        assert is_out == (trust == 0.0)
        n_alarms[trust] += algorithm.detected is not None
    assert n_alarms[8.0] == 0


def test_with_lies_up_to_its_trust_fast_seldom_loses_the_truth_or_raises_an_alarm() -> None:
    """Control: the same lies carry a fast that trusts nobody away."""
    n_out, n_alarms = {8.0: 0, 0.0: 0}, {8.0: 0, 0.0: 0}
    for run in range(N_GAMES):
        for trust in n_out if run < 60 else (8.0,):
            rng = np.random.default_rng([18, run])
            f = random_function(KERNEL, X, rng, B)
            lie = liars(KERNEL, X, f, rng)[["hide", "decoy", "down"][run % 3]]
            algorithm = ub.FastSlowGPUCB(ub.Grid(X), KNOWN, **{**DIALS, "trust": trust}, seed=run)
            game = Game(f, NOISE_STD, rng, lie, 8.0, CAP)
            for _ in range(T):
                game.round(algorithm)
            n_out[trust] += leaves([algorithm.instances["fast"]], f)
            n_alarms[trust] += algorithm.detected is not None
    assert not is_too_often(n_out[8.0], N_GAMES, DELTA)
    assert not is_too_often(n_alarms[8.0], N_GAMES, DELTA)
    assert is_too_often(n_out[0.0], 60, DELTA)
