"""How much better another point can be if a few readings are lies, against every set of them in turn."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unbribable as ub
from decision.test_left_out import lies_told, long_design, noises, pair, short, told
from games import Design, is_too_often, law, random_function
from unbribable.decision.proven import better, left_out
from unbribable.decision.proven.better import Better
from unbribable.decision.proven.left_out import LeftOut


@law
@given(short, noises, lies_told, st.integers(0, 4), st.integers(0, 5))
def test_every_set_left_out_in_turn_gives_the_same(
    design: Design, noise_std: float, lies: dict[int, float], k: int, rec: int
) -> None:
    """Exactly, where there are few enough sets; own noise_std, repeats, one reading, no noise."""
    _, y = told(design, noise_std, lies)
    fast, slow = pair(design, y, noise_std)
    rec, certain = rec % len(design.X), fast.certain(k)
    found = Better(fast, design.X, rec).most(k)
    expected = None if certain is None else slow.better(rec, k, certain)
    assert (found is None) == (expected is None)
    if found is not None:
        # var is right to 1e-9, and its slack is 1e-6: its root to 1e-6, times a radius of up to 10
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-5)


@law
@given(short, noises, lies_told, st.integers(0, 5))
def test_no_point_is_better_by_more_and_more_lies_allow_for_more(
    design: Design, noise_std: float, lies: dict[int, float], rec: int
) -> None:
    """Noises here are within their levels and their energy: so nothing may fail."""
    f, y = told(design, noise_std, lies)
    fast, _ = pair(design, y, noise_std)
    rec, n_lies = rec % len(design.X), len({place % design.t for place in lies})
    points = Better(fast, design.X, rec)
    found = [points.most(k) for k in range(design.t + 2)]
    assert found[design.t] == found[design.t + 1] == 2.0 * 1.5
    for k, (fewer, more) in enumerate(pairwise(found)):
        if k >= n_lies:
            assert fewer is not None
            assert fewer >= f.max() - f[rec] - 1e-9
        if fewer is not None:
            assert more is not None
            assert more >= fewer - 1e-6


@law
@given(short, noises, lies_told, st.integers(0, 3))
def test_it_is_never_more_than_the_intervals_say(
    design: Design, noise_std: float, lies: dict[int, float], k: int
) -> None:
    """Those are the worst sets for either point, it is the worst one for both."""
    _, y = told(design, noise_std, lies)
    fast, _ = pair(design, y, noise_std)
    found = Better(fast, design.X, 0).most(k)
    if found is not None:
        intervals = [fast.interval(u, k) for u in design.X]
        upper = max(1.5 if one is None else one[1] for one in intervals)
        lower = -1.5 if intervals[0] is None else intervals[0][0]
        assert found <= max(0.0, upper - lower) + 1e-6


def test_errors_that_both_points_share_cancel() -> None:
    """Beside the point read alone f is open, but not by how much it is higher there than here."""
    kernel, X = ub.SquaredExponential(1.0), np.array([[0.0], [0.01], [0.02]])
    known = ub.Assumptions(kernel, B=1.0, B0=1.0, noise_std=0.3, lam=0.1)
    lone = LeftOut(
        X[:1], np.array([0.1]), np.ones(1), np.ones(1, int), known, energy_delta=0.05, level_delta=0.04
    )
    lower, upper = lone.interval(X[0], 0)
    assert upper - lower > 1.0
    assert Better(lone, X, 0).most(0) < 0.05


def test_in_few_numbers_at_once_it_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets are looked at in parts, and worked out to the end a few at a time."""
    design = long_design(14, 3)
    _, y = told(design, 0.1, {4: 0.25, 9: -0.2})
    fast, _ = pair(design, y, 0.1)
    expected = [Better(fast, design.X, 2).most(k) for k in range(4)]
    monkeypatch.setattr(better, "N_AT_ONCE", 50)
    monkeypatch.setattr(better, "N_WORKED_OUT", 1)
    assert [Better(fast, design.X, 2).most(k) for k in range(4)] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("k", [1, 2])
def test_groups_never_allow_for_less_than_the_sets_they_cover(
    k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    design = long_design(14, k)
    _, y = told(design, 0.1, dict(list({4: 0.25, 9: -0.2}.items())[:k]))
    fast, _ = pair(design, y, 0.1)
    expected = [Better(fast, design.X, rec).most(k) for rec in range(0, 10, 3)]
    monkeypatch.setattr(left_out, "N_SETS", math.comb(14, k) // 4)
    found = [Better(fast, design.X, rec).most(k) for rec in range(0, 10, 3)]
    assert all(one >= other - 1e-6 for one, other in zip(found, expected, strict=True))
    assert any(one > other + 1e-3 for one, other in zip(found, expected, strict=True))


def test_where_nothing_is_said_f_may_be_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many readings, or too much work even with few groups."""
    design = long_design(12, 0)
    _, y = told(design, 0.1, {})
    fast, _ = pair(design, y, 0.1)
    assert Better(fast, design.X, 0).most(1) < 3.0
    monkeypatch.setattr(left_out, "N_SETS", 0)
    assert Better(fast, design.X, 0).most(1) == 3.0
    monkeypatch.setattr(better, "N_READINGS", 11)
    assert Better(fast, design.X, 0).most(1) == 3.0


def test_coverage_of_all_numbers_of_lies_at_once() -> None:
    """On one event for every k and point, that of the intervals; lies imitate another function."""
    kernel, X = ub.Matern(2.5, 0.4), np.linspace(0.0, 1.0, 6)[:, None]
    known = ub.Assumptions(kernel, B=1.0, B0=2.0, noise_std=0.15, lam=0.1)
    failures = 0
    for game in range(40):
        rng = np.random.default_rng([27, game])
        f, other = (random_function(kernel, X, rng, 1.0) for _ in range(2))
        index, number, n_lies = rng.integers(0, 6, 10), np.arange(1, 11), game % 3
        y = f[index] + 0.15 * rng.standard_normal(10)
        y[:n_lies] = other[index[:n_lies]]
        fast = LeftOut(X[index], y, np.ones(10), number, known, energy_delta=0.25, level_delta=0.25)
        found = [(x, Better(fast, X, x).most(k)) for k in (n_lies, n_lies + 1) for x in range(0, 6, 2)]
        failures += any(most is None or f.max() - f[x] > most + 1e-9 for x, most in found)
    assert not is_too_often(failures, 40, 0.5)
