"""Values equal to the last digit: evidence against a stuck sensor, and none against a coarse one."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from doubt.tables import GRID, NOISE, flags, judged, noisy
from unbribable.doubt.equal import PAIR, equal_doubt, step_of


def dispersed(seed: int, n: int = 40, d: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Points far apart, and a smooth function of theirs between -1 and 1 with noise."""
    rng = np.random.default_rng(seed)
    points = rng.random((n, d))
    return points, np.sin(2.0 * points.sum(axis=1)) + NOISE * rng.standard_normal(n)


@pytest.mark.parametrize("value", [-3.0, 0.2, 1.0])
@pytest.mark.parametrize(("n_equal", "doubt"), [(2, PAIR), (3, math.inf), (5, math.inf)])
def test_a_value_at_several_places_speaks_against_itself_and_at_three_for_sure(
    value: float, n_equal: int, doubt: float
) -> None:
    for seed in range(3):
        points, y = dispersed(seed)
        at = np.random.default_rng(seed).choice(40, n_equal, replace=False)
        y[at] = value
        expected = np.zeros(40)
        expected[at] = doubt
        np.testing.assert_array_equal(equal_doubt(points, y), expected)
        y[at] += 0.01 * np.arange(n_equal)
        assert not equal_doubt(points, y).any()


def test_equal_readings_of_one_point_are_no_evidence() -> None:
    """f without noise, read twice; a third one elsewhere is."""
    points, y = dispersed(0)
    points[[3, 17]], y[[3, 17]] = points[3], 0.2
    assert not equal_doubt(points, y).any()
    y[30] = 0.2
    assert np.flatnonzero(equal_doubt(points, y)).tolist() == [3, 17, 30]


def test_equal_readings_side_by_side_are_no_evidence() -> None:
    """As of a plateau of f, or of an instrument that cannot read less, in one corner."""
    points, y = dispersed(0)
    flat = np.argsort(points[:, 0])[-6:]
    points[flat] = points[flat[0]] + 0.02 * np.random.default_rng(0).random((6, 4))
    y[flat] = -1.0
    assert not equal_doubt(points, y).any()


def test_where_many_readings_agree_that_is_how_f_is() -> None:
    few_values = np.random.default_rng(0).integers(0, 6, 40).astype(float)
    assert not equal_doubt(dispersed(0)[0], few_values).any()


@pytest.mark.parametrize(("a", "b"), [(3.0, 7.0), (-0.25, 1e4), (1e-9, 0.0)])
def test_the_unit_and_the_origin_make_no_difference(a: float, b: float) -> None:
    points, y = dispersed(1)
    y[[4, 9, 20]] = 0.5
    np.testing.assert_array_equal(equal_doubt(points, a * y + b), equal_doubt(points, y))


INSTRUMENTS: dict[str, Callable[[Any, Any], Any]] = {
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
    """At most 1 of 100 is doubted that would not be on an instrument without steps."""
    n_doubted = n_readings = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        points = np.vstack([rng.random((20, 2)), 0.4 + 0.05 * rng.random((20, 2))])
        f = 1.2 * np.sin(2.0 * points.sum(axis=1))
        y = instrument(f + 2.0 * NOISE * rng.standard_normal(40), rng)
        n_doubted += int((equal_doubt(points, y) > 0.0).sum())
        n_readings += 40
    assert n_doubted <= 0.01 * n_readings


def test_the_step_of_a_grid_is_told_from_its_readings() -> None:
    rng = np.random.default_rng(0)
    assert step_of(np.array([3.0, 7.0, 12.0, 30.0])) == pytest.approx(1.0)
    assert step_of(np.round(rng.normal(800.0, 100.0, 50), 1)) == pytest.approx(0.1)
    assert step_of(rng.integers(0, 30, (3, 40)).mean(axis=0) / 30.0) == pytest.approx(1.0 / 90.0)
    assert step_of(rng.standard_normal(20)) < 1e-6
    assert step_of(np.ones(5)) == 0.0


# --- as the judge takes it -----------------------------------------------------------------------


def test_a_stuck_sensor_read_again_and_again_does_not_confirm_itself() -> None:
    """Three equal readings, two of them of one point, where the others say something else."""
    points = np.vstack([GRID, GRID[[5, 20, 20]]])
    y = noisy(points)
    y[[12, 32, 33]] = 1.5
    assert flags(points, y) == {12, 32, 33}


def test_two_equal_readings_are_doubted_more_than_two_that_nearly_agree() -> None:
    """At two places where f is the same, each three standard deviations of the noise too high."""
    points = np.vstack([GRID, [[0.1418], [0.3818]]])
    y = noisy(points)
    y[31:] = float(np.sin(6.0 * 0.1418)) + 3.2 * NOISE
    equal = judged(points, y).verdict().probability[31:]
    y[32] += 1e-5
    assert (equal > judged(points, y).verdict().probability[31:] + 0.1).all()
