"""The ladder: what its theorem says of every round, whose turn it is, and what its levels prove.

The liars are strong: they know f, see the point and the noise of the round, and lie until their budget
is spent.
"""

import functools
import itertools
import math
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from games import is_too_often, leaves, random_function
from told import reading_of
from unbribable.lab.theorems.regret_bounds import theorem_ladder
from unbribable.theory.budgets import ladder_budget, ladder_level

X = np.linspace(0.0, 1.0, 14)[:, None]
KERNEL = ub.SquaredExponential(0.25)
CAP, UNIT = 0.5, 0.125
N_ROUNDS, N_LEVELS = 64, 9
KNOWN = ub.Assumptions(KERNEL, B=1.5, B0=1.5, c_max=CAP, noise_std=0.02, lam=0.01, delta=0.1)
LIES = ["hide", "decoy", "with the noise", "whisper"]


def turn(t: int) -> int:
    """1 + the number of times 2 divides t."""
    return 1 if t % 2 else 1 + turn(t // 2)


def lie(name: str, f: np.ndarray, i: int, noise: float) -> float:
    """The lie about candidate i, as a share of the cap."""
    is_near = f > f.max() - 0.25 * np.ptp(f)
    decoy = int(np.argmax(np.where(is_near, -np.inf, f)))
    if name == "with the noise":
        return float(np.sign(noise))
    strength = 0.2 if name == "whisper" else 1.0
    return strength * (float(name == "decoy" and i == decoy) - float(is_near[i]))


@dataclass(frozen=True, eq=False)
class Climb:
    """A game, and what each round looked like before its reading."""

    algorithm: Any
    f: np.ndarray
    played: list[int]
    spent: list[float]
    """Up to each round."""
    widths: np.ndarray
    """Of every level at the point played, whether or not it has begun, (N_ROUNDS, N_LEVELS)."""
    players: list[int]
    sets: list[np.ndarray]
    """The potential maximisers after each round."""

    @property
    def gaps(self) -> np.ndarray:
        return self.f.max() - self.f[self.played]

    def sum_bound(self, T: int) -> float:
        """The theorem's bound on the regret of the first T rounds."""
        robust = ladder_level(UNIT, self.spent[T - 1])
        value = 2.0 * KNOWN.B0 * (2.0 ** (robust - 1) - 1.0)
        for t in range(1, T + 1):
            value += 2.0 * self.widths[t - 1, max(turn(t), robust) - 1] + KNOWN.tolerance
            if turn(t) == robust:
                value += (2.0**robust - 2.0) * 2.0 * self.widths[t - 1, robust - 1]
        return value


def climb(seed: int, name: str, C: float, assumed: ub.Assumptions = KNOWN, **words: Any) -> Climb:
    rng = np.random.default_rng([16, seed])
    f = random_function(KERNEL, X, rng, KNOWN.B)
    algorithm = ub.LadderGPUCB(ub.Grid(X), assumed, unit=UNIT, **words)
    left, played, spent, widths, players, sets = C, [], [], [], [], []
    for _ in range(N_ROUNDS):
        query = algorithm.ask()
        levels = [algorithm.policy.named(f"level-{level}").now for level in range(1, N_LEVELS + 1)]
        widths.append([now.width_at(query.index) for now in levels])
        noise = 0.02 * rng.standard_normal()
        c = min(CAP, left) * lie(name, f, query.index, noise) if left > 0.0 else 0.0
        left -= abs(c)
        algorithm.tell(query, float(f[query.index] + noise + c))
        played.append(query.index)
        spent.append(C - left)
        players.append(query.level)
        sets.append(algorithm.maximisers)
    return Climb(algorithm, f, played, spent, np.array(widths), players, sets)


@functools.cache
def climbs() -> list[Climb]:
    """Two clean games, and every lie with several budgets."""
    rows = [("hide", 0.0)] * 2 + list(itertools.product(LIES, [0.4, 1.0, 3.0]))
    return [climb(seed, name, C) for seed, (name, C) in enumerate(rows)]


def test_the_best_point_stays_wherever_the_level_covers_the_lies_and_the_sets_are_nested() -> None:
    n_lost = n_lost_below = 0
    for one in climbs():
        best, robust = int(np.argmax(one.f)), ladder_level(UNIT, one.spent[-1])
        for sets in one.sets:
            assert not (sets[:-1] & ~sets[1:]).any()
        n_lost += not one.sets[-1][robust - 1 :, best].all()
        n_lost_below += not one.sets[-1][: robust - 1, best].all()
    assert not is_too_often(n_lost, len(climbs()), KNOWN.delta)
    assert is_too_often(n_lost_below, len(climbs()), KNOWN.delta)  # control: smaller budgets lose it


def test_the_truth_stays_within_the_bounds_of_every_level_that_covers_the_lies() -> None:
    n_out = n_out_below = 0
    for one in climbs():
        robust = ladder_level(UNIT, one.spent[-1])
        outside = [leaves([level], one.f) for level in one.algorithm.policy.begun]
        n_out += any(outside[robust - 1 :])
        n_out_below += any(outside[: robust - 1])
    assert not is_too_often(n_out, len(climbs()), KNOWN.delta)
    assert is_too_often(n_out_below, len(climbs()), KNOWN.delta)  # control


def test_the_regret_is_at_most_the_sum_of_realised_widths_after_every_round() -> None:
    n_broken = n_below_trivial = 0
    for one in climbs():
        bounds = np.array([one.sum_bound(T) for T in range(1, N_ROUNDS + 1)])
        n_broken += bool(np.any(np.cumsum(one.gaps) > bounds))
        n_below_trivial += bool(np.any(bounds < 2.0 * KNOWN.B0 * np.arange(1, N_ROUNDS + 1)))
    assert not is_too_often(n_broken, len(climbs()), KNOWN.delta)
    assert n_below_trivial > len(climbs()) / 2


def test_each_round_costs_what_the_proof_says() -> None:
    n_broken = n_tight = 0
    for one in climbs():
        robust, last, is_broken = ladder_level(UNIT, one.spent[-1]), None, False
        for t, gap in enumerate(one.gaps, start=1):
            own = 2.0 * one.widths[t - 1, max(turn(t), robust) - 1]
            if one.players[t - 1] >= robust:
                is_broken |= gap > own + 1e-8
            elif last is not None:
                is_broken |= gap > own + 2.0 * last + 1e-8
            n_tight += gap > 2.0 * one.widths[t - 1, 0]
            if turn(t) == robust:
                last = one.widths[t - 1, robust - 1]
        n_broken += is_broken
    assert not is_too_often(n_broken, len(climbs()), KNOWN.delta)
    assert n_tight > 10  # control: the widths of the lowest level would not do


def test_a_crossed_level_proves_more_corruption_and_covering_levels_certify_begun_or_not() -> None:
    n_wrong = n_crossed = 0
    for one in climbs():
        C, is_wrong = one.spent[-1], False
        found = one.algorithm.recommend(C=C)
        assert found.probability == 1.0 - KNOWN.delta
        assert [level.C for level in found.levels] == [UNIT * 2.0**k for k in range(1, 9)]
        for level in found.levels:
            assert str(level).endswith("against any adversary")
            if level.regret_bound is None:
                is_wrong |= level.C >= C
                n_crossed += 1
            elif level.C >= C:
                is_wrong |= one.f.max() - one.f[found.index] > level.regret_bound
        n_wrong += is_wrong
    assert not is_too_often(n_wrong, len(climbs()), KNOWN.delta)
    assert n_crossed > 5


def test_a_summary_says_which_levels_the_readings_are_consistent_with() -> None:
    clean, lied_to = climbs()[0], climbs()[-1]
    (note,) = clean.algorithm.notes
    assert str(note) == "The readings are consistent with a corruption of 0.25, the lowest level."
    (note,) = next(
        one.algorithm.notes
        for one in reversed(climbs())
        if one.algorithm.recommend().levels[0].regret_bound is None
    )
    assert "there is more than that, with probability at least 0.9" in str(note)
    assert "heuristic choice" in str(lied_to.algorithm.guarantee)


@pytest.mark.parametrize("noise", ["paper", "tight"])
def test_the_closed_form_is_at_least_the_sum_of_realised_widths(noise: str) -> None:
    """With the realised gain in place of the largest one."""
    assumed = replace(KNOWN, lam=1.0)
    one = climb(3, "hide", 2.0, assumed, width="capped", noise=noise)
    K = KERNEL(X[one.played], X[one.played])
    gains = [0.5 * np.linalg.slogdet(np.eye(T) + K[:T, :T])[1] for T in range(N_ROUNDS + 1)]
    for T in range(1, N_ROUNDS + 1):
        C = one.spent[T - 1]
        found = theorem_ladder(assumed, C, T, lambda t: gains[t], unit=UNIT, noise=noise)
        assert one.sum_bound(T) <= found.theorem_value + T * KNOWN.tolerance
        if ladder_level(UNIT, C) == 1:
            assert found.theorem_value <= 9.0 * one.sum_bound(T)  # of the same size


# --- turns and beginnings ----------------------------------------------------------------------------


def test_levels_take_turns_and_begin_with_the_first_one() -> None:
    clean = climbs()[0]
    assert clean.players == [turn(t) for t in range(1, N_ROUNDS + 1)]
    assert [len(sets) for sets in clean.sets] == [t.bit_length() for t in range(1, N_ROUNDS + 1)]


def test_a_reading_nobody_asked_for_takes_no_turn() -> None:
    """Or whoever tells one after each query would leave level 1 all turns."""
    algorithm = ub.LadderGPUCB(ub.Grid(X), KNOWN)
    levels = []
    for _ in range(8):
        query = algorithm.ask()
        levels.append(query.level)
        algorithm.tell(query, 0.1)
        algorithm.tell(x=X[3], y=0.1)
    assert levels == [1, 2, 1, 3, 1, 2, 1, 4]
    assert algorithm.instances["main"].n_readings == 16


def test_pending_queries_and_rounds_given_up_keep_their_turns() -> None:
    algorithm = ub.LadderGPUCB(ub.Grid(X), KNOWN)
    queries = [algorithm.ask() for _ in range(4)]
    assert [query.level for query in queries] == [1, 2, 1, 3]
    assert len(algorithm.maximisers) == 0  # asking learns nothing
    algorithm.forget(queries[2])
    algorithm.tell(queries[1], 0.1)
    algorithm.tell(queries[3], 0.1)
    assert len(algorithm.maximisers) == 3
    top = algorithm.policy.begun[2]  # began while round 1 was open, when no bound could rest on round 2
    assert np.isinf(top.ucb_bar).all()
    algorithm.tell(queries[0], 0.2)
    assert np.isfinite(top.ucb_bar).all()
    assert algorithm.ask().level == 1


def test_readings_that_a_host_brings_are_those_of_the_levels_whose_turn_it_is() -> None:
    asked, brought = (ub.LadderGPUCB(ub.Grid(X), KNOWN) for _ in range(2))
    for t in range(1, 17):
        query = asked.ask()
        host = brought.query_at(t, "main")
        assert (host.index, host.level) == (query.index, query.level)
        y = float(np.sin(5.0 * query.x[0])) / 2.0
        asked.tell(query, y)
        brought.learn(reading_of(brought, t, query.x, y, "main", "algorithm"))
    assert [one.level for one in brought.readings] == [one.level for one in asked.readings]
    assert [one.lcb for one in brought.readings] == [one.lcb for one in asked.readings]
    np.testing.assert_array_equal(brought.maximisers, asked.maximisers)


def test_readings_that_no_lies_within_the_cap_explain_refute_the_assumptions() -> None:
    algorithm = ub.LadderGPUCB(ub.Grid(X), KNOWN)
    n_warned = 0
    for _ in range(40):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            algorithm.tell(algorithm.ask(), 5.0)
        n_warned += len(found)
    assert n_warned == 1
    assert algorithm.refuted is not None
    assert algorithm.bounds() is None
    n_begun = len(algorithm.maximisers)
    for _ in range(8):
        algorithm.tell(algorithm.ask(), 5.0)
    assert len(algorithm.maximisers) <= max(n_begun, 6)  # none begins for want of maximisers


# --- budgets -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("C", "level"), [(0.0, 1), (0.5, 1), (math.nextafter(0.5, 1.0), 2), (1.0, 2), (1e9, 32)]
)
def test_the_covering_level_is_found_by_comparison(C: float, level: int) -> None:
    assert ladder_level(0.25, C) == level
    assert ladder_budget(0.25, level) >= C


@pytest.mark.parametrize("C", [0.0, 3.0, 1e12])
def test_there_is_a_certificate_for_any_corruption_before_and_after_readings(C: float) -> None:
    algorithm = ub.LadderGPUCB(ub.Grid(X), KNOWN)
    for _ in range(3):
        best = algorithm.recommend(C=C)
        assert best.regret_bound <= 2.0 * KNOWN.B0
        assert best.threat == "strong"
        algorithm.tell(algorithm.ask(), 0.1)


def test_the_unit_is_a_quarter_of_the_cap_where_none_is_given() -> None:
    assert ub.LadderGPUCB(ub.Grid(X), KNOWN).unit == 0.25 * CAP
