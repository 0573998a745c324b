"""The scout: whom it believes, what it reads again, and that it can catch up."""

import itertools
from typing import Any

import numpy as np
import pytest
from unbribable.practice.estimate import N_HELD, held
from unbribable.practice.predictions import Verdict
from unbribable.practice.scout import LARGEST_SHARE, Scout, last_bulk, last_look

import unbribable as ub
from practice.scripted import ASSUMED, GRID, wave
from unbribable.decision.proposal import Reading
from unbribable.practice import scout as module

SHARP = ub.Assumptions(ASSUMED.kernel, B=2.0, B0=1.2, noise_std=0.05, lam=0.01)
SPREAD = [0, 2, 4, 5, 6, 8, 10, 12, 14, 15, 17, 18, 20]
"""Candidates that leave little of f open."""


def new_scout(domain: Any = GRID, beta: float = 2.0) -> Scout:
    return Scout(domain, SHARP, beta)


def told(t: int, u: Any, y: float) -> Reading:
    return Reading(t, u, y, drawn=None, learner="", lam=np.nan)


def reading(t: int, i: int, y: float | None = None) -> Reading:
    """Of candidate i in round t, honest unless said otherwise."""
    x = GRID.points[i]
    return told(t, x, wave(x) + 0.03 * (-1.0) ** t if y is None else y)


def honest(skip: tuple[int, ...] = ()) -> list[Reading]:
    return [reading(t, i) for t, i in enumerate(SPREAD, 1) if t not in skip]


def unsuspecting(points: Any, y: np.ndarray, assumed: Any) -> Verdict:
    """The verdict of one who believes everything."""
    return Verdict(y, np.ones(len(y)), np.zeros(len(y)), np.zeros(len(y), dtype=bool), ())


def assert_same(one: Scout, other: Scout, t: int = 50) -> None:
    """Bit for bit: the choice, alone and beside another one, and the incumbent."""
    for others in ([], [GRID.points[11]]):
        np.testing.assert_array_equal(one.choose(t, others), other.choose(t, others))
    np.testing.assert_array_equal(one.incumbent(), other.incumbent())


def lied_and_spared(k: int) -> tuple[Scout, Scout]:
    """One scout that was told a low lie in round k, and one that was not."""
    lied, spared = new_scout(), new_scout()
    for each in (lied, spared):
        each.learn(honest(skip=(k,)))
    lied.learn([reading(k, SPREAD[k - 1], -30.0)])
    assert lied.n_readings == spared.n_readings + 1
    return lied, spared


@pytest.mark.parametrize("k", [3, 7, 11])
def test_a_low_lie_is_as_if_it_had_never_been_told(k: int) -> None:
    assert_same(*lied_and_spared(k))


@pytest.mark.parametrize("k", [3, 7, 11])
def test_a_scout_that_flags_nothing_is_misled(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """So the test above is one."""
    monkeypatch.setattr(module, "judgement", unsuspecting)
    lied, spared = lied_and_spared(k)
    assert not np.array_equal(lied.choose(50, []), spared.choose(50, []))


def test_a_flagged_reading_that_would_be_the_best_is_read_again_once() -> None:
    """A lie is settled by one honest reading of the same point: then the choice moves on."""
    scout = new_scout()
    scout.learn(honest(skip=(7,)))
    before = scout.choose(20, [])
    scout.learn([reading(7, 10, 30.0)])
    np.testing.assert_array_equal(scout.choose(20, []), GRID.points[10])
    assert not np.array_equal(scout.incumbent(), GRID.points[10])
    assert not np.array_equal(scout.choose(20, [GRID.points[10]]), GRID.points[10]), "it is under way"
    scout.learn([reading(20, 10)])
    assert not np.array_equal(scout.choose(21, []), GRID.points[10])
    assert not np.array_equal(before, GRID.points[10])
    assert wave(scout.incumbent()) > 0.9


def test_a_peak_that_is_read_again_and_confirmed_is_believed() -> None:
    """What looked like a lie was true: two readings that agree are no lies."""
    scout = new_scout()
    scout.learn(honest(skip=(7,)))
    scout.learn([reading(7, 10, 1.15)])
    np.testing.assert_array_equal(scout.choose(20, []), GRID.points[10])
    assert not np.array_equal(scout.incumbent(), GRID.points[10])
    for t in range(20, 23):
        scout.learn([reading(t, 10, 1.15)])
    np.testing.assert_array_equal(scout.incumbent(), GRID.points[10])


def test_of_two_flagged_readings_the_higher_one_is_read_again_first() -> None:
    scout = new_scout()
    scout.learn(honest(skip=(3, 7)))
    scout.learn([reading(3, 10, 20.0), reading(7, 11, 30.0)])
    np.testing.assert_array_equal(scout.choose(20, []), GRID.points[11])
    np.testing.assert_array_equal(scout.choose(20, [GRID.points[11]]), GRID.points[10])


def test_a_low_flagged_reading_is_not_read_again() -> None:
    scout = new_scout()
    scout.learn(honest(skip=(7,)))
    before = scout.choose(20, [])
    scout.learn([reading(7, 10, -30.0)])
    np.testing.assert_array_equal(scout.choose(20, []), before)


def test_a_low_reading_where_the_others_predict_the_best_is_read_again() -> None:
    """The peak at 0.17 to 0.2 was lowered by less than it takes to be flagged."""
    lowered, spared = new_scout(), new_scout()
    points = [0, 1, 2, 5, 6, 8, 10, 12, 14]
    for scout, drop in ((lowered, 0.2), (spared, 0.0)):
        scout.learn([reading(t, i) for t, i in enumerate(points, 1)])
        scout.learn([reading(10, 4, wave(GRID.points[4]) - drop)])
        assert not scout._left_out
    np.testing.assert_array_equal(lowered.choose(21, []), GRID.points[4])
    assert not np.array_equal(lowered.choose(21, [GRID.points[4]]), GRID.points[4]), "it is under way"
    assert not np.array_equal(spared.choose(21, []), GRID.points[4])
    lowered.learn([reading(21, 4)])
    assert not np.array_equal(lowered.choose(22, []), GRID.points[4])


def test_a_best_reading_well_above_what_the_others_predict_is_read_again_once() -> None:
    """Not so far that it would be flagged."""
    scout = new_scout()
    points = [3, 10, 11, 12]
    scout.learn([reading(t, i) for t, i in enumerate(points, 1)])
    scout.learn([reading(10, 6, wave(GRID.points[6]) + 1.0)])
    assert not scout._left_out
    np.testing.assert_array_equal(scout.choose(11, []), GRID.points[6])
    assert scout._doubtful([GRID.points[6]]) is None
    scout.learn([reading(11, 6)])
    assert scout._doubtful([]) is None


def test_an_incumbent_read_twice_with_the_same_result_to_the_last_digit_is_read_a_third_time() -> None:
    scout = new_scout()
    scout.learn([reading(t, i) for t, i in enumerate([5, 6, 7, 8, 9], 1)])
    scout.learn([reading(6, 20, 1.1), reading(7, 20, 1.1)])
    np.testing.assert_array_equal(scout._doubtful([]), GRID.points[20])
    scout.learn([reading(8, 20, 1.1)])
    assert scout._doubtful([]) is None


def test_once_the_best_is_known_every_other_round_checks_what_may_hide_a_better_one() -> None:
    """The higher peak at 0.87 was hidden by its only reading; the rest is known too well to matter."""
    scout = new_scout(beta=1.0)
    first = [reading(t, i) for t, i in enumerate([*range(13), *[3] * 9, *[4] * 9], 1)]
    scout.learn([*first, reading(32, 18, -0.2)])
    chosen = {t: scout.choose(t, []).tolist() for t in (40, 41)}
    assert chosen[40] == GRID.points[18].tolist()
    assert chosen[41] != GRID.points[18].tolist()


@pytest.mark.parametrize("n_lies", [1, 2, 4, 6])
def test_no_more_than_a_fifth_is_left_out(n_lies: int) -> None:
    """However many are flagged; the most suspicious first."""
    scout = new_scout()
    lies = {t: (-1.0) ** t * (20.0 + 5.0 * t) for t in range(1, n_lies + 1)}
    scout.learn([reading(t, i, lies.get(t)) for t, i in enumerate(SPREAD, 1)])
    left_out = scout._left_out
    assert len(left_out) <= LARGEST_SHARE * len(SPREAD)
    assert left_out
    assert left_out <= set(lies)
    assert len(scout._player.readings) == len(SPREAD) - len(left_out)


@pytest.mark.parametrize(
    ("domain", "seed"),
    [(GRID, 0), (GRID, 1), (GRID, 2), (ub.Box([0.0], [1.0], n_candidates=32), 3)],
    ids=str,
)
def test_catching_up_in_one_go_is_going_along(domain: Any, seed: int) -> None:
    """In any steps, with lies that are flagged, and some that are later believed."""
    rng = np.random.default_rng(seed)
    readings: list[Reading] = []
    for t in range(1, 25):
        x = GRID.points[rng.integers(21)]
        lie = rng.choice([-3.0, 2.0, 20.0]) if rng.random() < 0.15 else 0.0
        readings.append(told(t, x, wave(x) + lie + 0.05 * float(rng.standard_normal())))
    at_once = new_scout(domain)
    at_once.learn(readings)
    one_by_one, in_steps = new_scout(domain), new_scout(domain)
    for each in readings:
        one_by_one.learn([each])
        one_by_one.choose(each.t + 1, [])
    cuts = [0, *sorted(rng.choice(np.arange(1, 24), 3, replace=False).tolist()), 24]
    for start, end in itertools.pairwise(cuts):
        in_steps.learn(readings[start:end])
    assert at_once._left_out
    assert_same(one_by_one, at_once)
    assert_same(in_steps, at_once)


def test_without_noise_in_the_model_it_still_works() -> None:
    silent = ub.Assumptions(ASSUMED.kernel, B=2.0, B0=1.2, noise_std=0.0, lam=1e-9)
    scout = Scout(GRID, silent, 2.0)
    for t, i in enumerate([*SPREAD, 3, 3, 3], 1):
        scout.learn([told(t, GRID.points[i], wave(GRID.points[i]))])
    assert wave(scout.incumbent()) > 0.9
    assert np.isfinite(scout.choose(50, [])).all()


def test_it_maximises_mean_plus_beta_sigma_and_recommends_mean_less_sigma() -> None:
    """Against the textbook, with no reading flagged."""
    readings = honest()
    X = np.array([one.u for one in readings])
    y = np.array([one.y for one in readings])
    gram = SHARP.kernel(X, X) + SHARP.noise_std**2 * np.eye(len(X))
    cross = SHARP.kernel(X, GRID.points)
    mean = cross.T @ np.linalg.solve(gram, y)
    sigma = np.sqrt(1.0 - np.einsum("ij,ij->j", cross, np.linalg.solve(gram, cross)))
    for beta in (0.0, 0.5, 2.0, 50.0):
        scout = new_scout(beta=beta)
        scout.learn(readings)
        best = int(np.argmax(mean + beta * sigma))
        np.testing.assert_array_equal(scout.choose(50, []), GRID.points[best])
        among = [i for i in range(21) if i in SPREAD]
        incumbent = among[int(np.argmax((mean - sigma)[among]))]
        np.testing.assert_array_equal(scout.incumbent(), GRID.points[incumbent])


# --- when it looks for lies ----------------------------------------------------------------------


def test_it_looks_for_lies_where_the_naive_loop_does() -> None:
    """After every reading up to fifty, then when they have grown by a fiftieth, and not beyond 2000."""
    looked_at = 0
    for n in range(1, 2600):
        if n <= 2000 and n - looked_at > looked_at // 50:
            looked_at = n
        assert last_look(n) == looked_at
        assert n > 50 or looked_at == n
    assert last_look(0) == 0
    assert looked_at > 1950


@pytest.mark.parametrize("step", [1, 3, 7])
def test_flags_are_set_at_these_numbers_and_at_no_others(
    step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catching up, only at the last of them."""
    looks: list[int] = []

    def judgement(points: Any, y: Any, assumed: Any) -> Verdict:
        looks.append(len(y))
        return unsuspecting(points, y, assumed)

    monkeypatch.setattr(module, "judgement", judgement)
    scout = new_scout(ub.Grid([[0.0], [0.5]]))
    expected, before = [], 0
    for n in range(step, 71, step):
        scout.learn([told(t, np.array([0.5]), 0.1) for t in range(n - step + 1, n + 1)])
        if last_look(n) > before:
            expected.append(last_look(n))
            before = n
    assert looks == expected


def test_a_long_history_is_learned_at_once_where_the_naive_loop_says() -> None:
    """From 256 on, each time it has grown by a fourth, or by 256."""
    learned_at = 0
    for n in range(3000):
        if n >= 256 and (not learned_at or n - learned_at >= min(256, learned_at // 4)):
            learned_at = n
        assert last_bulk(n) == learned_at


def test_of_a_long_history_as_many_are_held_as_can_be_learned_from_all_of_its_rounds() -> None:
    """In their order, the first and the last among them, whatever they say."""
    for n in (1, N_HELD, N_HELD + 1, 3000):
        history = [told(t, np.array([0.0]), 1.0) for t in range(1, n + 1)]
        kept = [one.t for one in held(history)]
        assert len(kept) == min(n, N_HELD)
        assert len(set(kept)) == len(kept)
        assert kept[0] == 1
        assert kept[-1] == n
        assert np.diff(kept).max(initial=1) <= -(-n // N_HELD)
        assert kept == sorted(kept)


def test_catching_up_with_a_long_history_is_going_along() -> None:
    """Beyond 256 readings, also where flags change after that."""
    rng = np.random.default_rng(0)
    readings: list[Reading] = []
    for t in range(1, 331):
        x = GRID.points[rng.integers(21)]
        lie = 20.0 if t in (40, 200, 270, 325) else 0.0
        readings.append(told(t, x, wave(x) + lie + 0.05 * float(rng.standard_normal())))
    at_once, one_by_one, late = new_scout(), new_scout(), new_scout()
    at_once.learn(readings)
    for each in readings:
        one_by_one.learn([each])
    late.learn(readings[:260])
    late.learn(readings[260:])
    assert {40, 200, 270} <= at_once._left_out
    assert_same(one_by_one, at_once, 400)
    assert_same(late, at_once, 400)
