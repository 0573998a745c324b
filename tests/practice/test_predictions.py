"""Who is believed: lies do not accuse the honest, nor speak for each other, however they are told."""

import math
from typing import Any

import numpy as np
import pytest
from unbribable.practice.predictions import (
    FLAG_AT,
    is_stuck,
    judged,
    judgement,
    model_of,
    step_of,
    told_alike,
)

import unbribable as ub

KERNEL = ub.Matern(2.5, 0.2)
NOISE = 0.05
ASSUMED = ub.Assumptions(KERNEL, B=4.0, B0=2.0, noise_std=NOISE, lam=0.01)
GRID = np.linspace(0.0, 1.0, 31)[:, None]


def f(x: np.ndarray) -> np.ndarray:
    values: np.ndarray = np.sin(6.0 * x[:, 0])
    return values


def readings(points: np.ndarray, seed: int = 0) -> np.ndarray:
    return f(points) + NOISE * np.random.default_rng(seed).standard_normal(len(points))


def flags(points: np.ndarray, y: np.ndarray) -> set[int]:
    return set(np.flatnonzero(judgement(points, y, ASSUMED).is_flagged).tolist())


def test_a_flagged_lie_is_no_witness_against_the_honest_reading_beside_it() -> None:
    """Without it they agree; while it counts, however little, it accuses."""
    points = np.array([*np.linspace(0.0, 0.5, 11), 0.66, 0.7, 0.8])[:, None]
    y = readings(points)
    y[12] += 3.0
    plain = np.abs(y - model_of(points, y, np.full(14, NOISE), ASSUMED)(np.ones(14))[0])
    verdict = judgement(points, y, ASSUMED)
    assert set(np.flatnonzero(verdict.is_flagged)) == {12}
    spared = judgement(np.delete(points, 12, axis=0), np.delete(y, 12), ASSUMED)
    np.testing.assert_allclose(np.delete(verdict.expected, 12), spared.expected, atol=1e-6)
    assert plain[11] > 10.0 * np.abs(y - verdict.expected)[11]


def test_flags_agree_with_what_the_readings_without_a_flag_predict() -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        points = rng.random((40, 1))
        y = readings(points, seed)
        y[rng.choice(40, 6, replace=False)] += rng.uniform(-2.0, 2.0, 6)
        verdict = judgement(points, y, ASSUMED)
        np.testing.assert_array_equal(verdict.is_flagged, verdict.score >= FLAG_AT)


def test_a_stuck_sensor_read_again_and_again_does_not_confirm_itself() -> None:
    """Three equal readings of one point; that many which differ a little are believed instead."""
    points = np.vstack([GRID, GRID[[5, 20, 20]]])
    y = readings(points)
    y[[20, 32, 33]] = 1.5
    assert flags(points, y) == {20, 32, 33}
    y[[20, 32, 33]] += [0.03, -0.04, 0.05]
    assert not {20, 32, 33} <= flags(points, y)


def test_a_value_found_stuck_in_one_place_is_not_believed_elsewhere() -> None:
    """Where nothing else speaks against it."""
    points = np.vstack([GRID[:16], [[0.95]]])
    y = readings(points)
    y[[4, 16]] = -0.7
    assert flags(points, y) == {4, 16}
    y[16] -= 0.01
    assert flags(points, y) == {4}


def test_equal_readings_count_only_where_noise_would_make_them_differ() -> None:
    point, none = np.array([0, 0, 1, 2, 3, 4, 5, 6]), np.full(8, -1)
    y = np.array([1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    np.testing.assert_array_equal(told_alike(point, y), none)  # f without noise, read twice
    np.testing.assert_array_equal(told_alike(np.arange(8), y) >= 0, y == 1.0)
    noisy = np.array([0, 0, 1, 1, 2, 3, 4, 5])
    np.testing.assert_array_equal(told_alike(noisy, y) >= 0, y == 1.0)
    one_lie = np.array([0, 0, 1, 2, 3, 4, 5, 1])  # 2 and 7 of one point are too far apart for noise
    np.testing.assert_array_equal(told_alike(one_lie, y), none)
    few_values = np.array([1.0, 1.0, 2.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    np.testing.assert_array_equal(told_alike(np.arange(8), few_values), none)


def named(points: np.ndarray, y: np.ndarray, assumed: ub.Assumptions = ASSUMED) -> set[int]:
    """The readings flagged where equal values may be evidence by themselves."""
    model = model_of(points, y, np.full(len(y), assumed.noise_std), assumed)
    return set(np.flatnonzero(judged(model, np.arange(len(y)), math.inf).is_flagged).tolist())


def dispersed(seed: int, n: int = 40, d: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Points far apart, and a smooth function of theirs between -1 and 1 with noise."""
    rng = np.random.default_rng(seed)
    points = rng.random((n, d))
    return points, np.sin(2.0 * points.sum(axis=1)) + NOISE * rng.standard_normal(n)


@pytest.mark.parametrize("value", [-3.0, 0.2, 1.0])
def test_a_value_equal_to_the_last_digit_at_three_places_is_evidence_by_itself(value: float) -> None:
    """Nothing is known there, so nothing else speaks against them; two may be chance."""
    for seed in range(3):
        points, y = dispersed(seed)
        at = np.random.default_rng(seed).choice(40, 3, replace=False)
        y[at] = value
        assert named(points, y) == set(at.tolist())
        y[at] += [0.0, 0.0, 0.01]
        assert named(points, y) == set()


def test_equal_readings_are_no_evidence_without_noise_or_where_f_is_flat_or_read_only_there() -> None:
    points, y = dispersed(0)
    y[[3, 17, 30]] = 0.2
    exact = ub.Assumptions(KERNEL, B=4.0, B0=2.0, noise_std=0.0, lam=0.01)
    assert not named(points, y, exact) & {3, 17, 30}
    points, y = dispersed(0)
    flat = np.argsort(points[:, 0])[-6:]
    beside = points.copy()
    beside[flat] = points[flat[0]] + 0.02 * np.random.default_rng(0).random((6, 4))
    y[flat] = -1.0  # as of an instrument that cannot read less, in one corner
    assert not set(flat.tolist()) & named(beside, y)
    beside[flat] = points[flat[0]]
    assert not set(flat.tolist()) & named(beside, y)


INSTRUMENTS = {
    "whole steps of the noise": lambda y, rng: NOISE * np.round(y / NOISE),
    "tenths of the noise": lambda y, rng: 0.1 * NOISE * np.round(10.0 * y / NOISE),
    "three digits": lambda y, rng: np.array([float(f"{each:.3g}") for each in y]),
    "half precision": lambda y, rng: y.astype(np.float16).astype(np.float64),
    "an accuracy": lambda y, rng: rng.binomial(180, (y + 2.0) / 4.0) / 180.0 * 4.0 - 2.0,
    "a mean of three accuracies": lambda y, rng: (
        rng.binomial(30, (y + 2.0) / 4.0, (3, len(y))).mean(axis=0) / 30.0 * 4.0 - 2.0
    ),
    "clipped": lambda y, rng: np.clip(y, -0.8, 0.8),
}


@pytest.mark.parametrize("instrument", INSTRUMENTS.values(), ids=INSTRUMENTS)
def test_clean_readings_of_a_coarse_instrument_are_seldom_called_stuck(instrument: Any) -> None:
    """At most 1 of 100 is flagged that would not have been on an instrument without steps."""
    n_more = n_readings = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        points = np.vstack([rng.random((20, 2)), 0.4 + 0.05 * rng.random((20, 2))])
        f = 1.2 * np.sin(2.0 * points.sum(axis=1))
        y = instrument(f + 2.0 * NOISE * rng.standard_normal(40), rng)
        assumed = ub.Assumptions(ub.Matern(2.5, 0.4), B=6.0, B0=3.0, noise_std=2.0 * NOISE, lam=0.01)
        noise_std = np.full(40, 2.0 * NOISE)
        model = model_of(points, y, noise_std, assumed)
        alike = told_alike(model.group, y)
        n_more += sum(
            int((alike == value).sum())
            for value in np.unique(alike[alike >= 0])
            if is_stuck(model, alike == value)
        )
        n_readings += 40
    assert n_more <= 0.01 * n_readings


def test_the_step_of_a_grid_is_told_from_its_readings() -> None:
    rng = np.random.default_rng(0)
    assert step_of(np.array([3.0, 7.0, 12.0, 30.0])) == pytest.approx(1.0)
    assert step_of(np.round(rng.normal(800.0, 100.0, 50), 1)) == pytest.approx(0.1)
    assert step_of(rng.integers(0, 30, (3, 40)).mean(axis=0) / 30.0) == pytest.approx(1.0 / 90.0)
    assert step_of(rng.standard_normal(20)) < 1e-6
    assert step_of(np.ones(5)) == 0.0


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("is_drift", [False, True])
def test_a_burst_or_drift_at_one_place_is_found_although_its_readings_agree(
    side: float, is_drift: bool
) -> None:
    """Six readings in a row beside each other outnumber those taken there before."""
    rng = np.random.default_rng(3)
    close = 0.5 + 0.004 * np.arange(6)[:, None]
    points = np.vstack([rng.permutation(GRID), close, GRID[[3, 9, 14, 21, 27]]])
    y = readings(points)
    row = np.arange(31, 37)
    y[row] += side * (np.linspace(0.6, 1.0, 6) if is_drift else 0.8)
    verdict = judgement(points, y, ASSUMED)
    assert set(np.flatnonzero(verdict.is_flagged)) == set(row.tolist())
    assert [found.tolist() for found in verdict.rows] == [row.tolist()]


def test_the_same_readings_in_scattered_rounds_are_no_burst() -> None:
    grid = np.random.default_rng(3).permutation(GRID)
    points = np.vstack([grid, 0.5 + 0.004 * np.arange(6)[:, None]])
    y = readings(points)
    y[31:] += 0.8
    model = model_of(points, y, np.full(37, NOISE), ASSUMED)
    assert judged(model, np.arange(37)).rows
    assert not judged(model, np.concatenate([np.arange(0, 62, 2), np.arange(1, 62, 11)])).rows


def test_honest_readings_are_seldom_accused() -> None:
    """3 % are allowed; with repeats, clusters, and rounds in any order."""
    n_flags = n_readings = 0
    for seed in range(15):
        rng = np.random.default_rng(seed)
        points = np.vstack([rng.random((25, 1)), 0.3 + 0.02 * rng.random((10, 1))])
        points = rng.permutation(np.vstack([points, points[:5]]))
        n_flags += len(flags(points, readings(points, seed)))
        n_readings += len(points)
    assert n_flags <= 0.01 * n_readings
