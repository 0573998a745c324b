"""What readings say if any few of them are lies, against every set of them left out one by one."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import naive_quorum as naive
import unbribable as ub
from games import Design, designs, is_too_often, law, random_function
from unbribable.decision.proven import left_out
from unbribable.decision.proven.better import Better
from unbribable.decision.proven.left_out import LeftOut

ENERGY, LEVEL = 0.05, 0.04
"""Shares of delta of the two events."""


def pair(
    design: Design, y: np.ndarray, noise_std: float, B0: float = 1.5
) -> tuple[LeftOut, naive.LeftOut]:
    """The fast and the naive one: readings of the design, told one after the other."""
    quality, number = np.sqrt(design.lams / design.lam), np.arange(1, design.t + 1)
    numbers = {"B": 1.0, "B0": B0, "noise_std": noise_std, "lam": design.lam}
    known = ub.Assumptions(design.kernel, **numbers)
    fast = LeftOut(
        design.X[design.indices], y, quality, number, known, energy_delta=ENERGY, level_delta=LEVEL
    )
    slow = naive.LeftOut(
        naive.Setting(design.kernel(design.X, design.X), **numbers, delta=0.1, n_lies=0),
        design.indices.tolist(),
        y.tolist(),
        quality.tolist(),
        naive.energy(noise_std, design.t, ENERGY),
        [float(q) * naive.level(noise_std, int(i), LEVEL) for q, i in zip(quality, number, strict=True)],
    )
    return fast, slow


def told(design: Design, noise_std: float, lies: dict[int, float]) -> tuple[np.ndarray, np.ndarray]:
    """f at the candidates, |f| <= 1, and readings, some of them lies."""
    f = random_function(design.kernel, design.X, design.rng, 1.0)
    y = f[design.indices] + noise_std * np.sqrt(design.lams / design.lam) * design.rng.uniform(
        -1.0, 1.0, design.t
    )
    for place, lie in lies.items():
        y[place % design.t] += lie
    return f, y


def close(found: tuple[float, float] | None, expected: tuple[float, float] | None) -> bool:
    """Equal up to rounding, or both None."""
    if found is None or expected is None:
        return found is expected
    # sigma^2 is right to 1e-9, and its slack is 1e-6: sigma to 1e-6, times a radius of up to 10
    return bool(np.allclose(found, expected, rtol=1e-5, atol=1e-5))


lies_told = st.dictionaries(
    st.integers(0, 8), st.sampled_from([-50.0, -2.0, -0.7, 0.4, 1.2, 1e4]), max_size=3
)
noises = st.sampled_from([0.0, 0.05, 0.3])
short = designs(t_max=9, n_max=6, lam=st.sampled_from([1e-2, 0.1, 1.0]))


@law
@given(short, noises, lies_told, st.integers(0, 4))
def test_every_set_left_out_in_turn_gives_the_same(
    design: Design, noise_std: float, lies: dict[int, float], k: int
) -> None:
    """Exactly, where there are few enough sets; own noise_std, repeats, one reading, no noise."""
    _, y = told(design, noise_std, lies)
    fast, slow = pair(design, y, noise_std)
    certain = fast.certain(k)
    for x in range(len(design.X)):
        found = fast.interval(design.X[x], k)
        if certain is None:
            assert found is None
            assert slow.interval(x, k) is None
        else:
            assert close(found, slow.interval(x, k, certain))


@law
@given(short, noises, lies_told, st.integers(0, 4))
def test_certain_readings_are_in_every_set_that_is_possible(
    design: Design, noise_std: float, lies: dict[int, float], k: int
) -> None:
    _, y = told(design, noise_std, lies)
    fast, slow = pair(design, y, noise_std)
    found, expected = fast.certain(k), slow.certain(k)
    assert (found is None) == (expected is None)
    if found is not None:
        assert set(found) <= expected
        assert list(found) == sorted(set(found))


@law
@given(short, noises, lies_told)
def test_what_holds_for_more_lies_holds_for_fewer(
    design: Design, noise_std: float, lies: dict[int, float]
) -> None:
    _, y = told(design, noise_std, lies)
    fast, _ = pair(design, y, noise_std)
    u = design.X[0]
    found = [fast.interval(u, k) for k in range(design.t + 2)]
    assert found[design.t] == found[design.t + 1] == (-1.5, 1.5)
    for fewer, more in pairwise(found):
        if fewer is not None:
            assert more is not None  # if k lies explain the readings, so do k + 1
            assert more[0] <= fewer[0] + 1e-6  # rounding is allowed for, and by how much depends on q
            assert more[1] >= fewer[1] - 1e-6


@law
@given(short, noises, lies_told, st.floats(-1.0, 1.0))
def test_f_is_inside_and_no_honest_reading_is_accused(
    design: Design, noise_std: float, lies: dict[int, float], shift: float
) -> None:
    """Noises here are within their levels and their energy: so nothing may fail."""
    f, y = told(design, noise_std, {place: lie + shift for place, lie in lies.items()})
    fast, _ = pair(design, y, noise_std)
    liars = {place % design.t for place in lies}
    for k in range(len(liars), min(len(liars) + 3, design.t + 1)):
        certain = fast.certain(k)
        assert certain is not None
        assert set(certain) <= liars
        for x in range(len(design.X)):
            lower, upper = fast.interval(design.X[x], k)
            assert lower - 1e-9 <= f[x] <= upper + 1e-9


@law
@given(short, noises, lies_told, st.floats(0.0, 0.5), st.integers(0, 3))
def test_readings_held_apart_are_in_every_set_and_f_ends_where_it_is_known_to(
    design: Design, noise_std: float, lies: dict[int, float], margin: float, n_apart: int
) -> None:
    """f is inside, nothing is wider than with all readings, and fewer lies than those are impossible."""
    f, y = told(design, noise_std, lies)
    liars = sorted({place % design.t for place in lies})
    apart = liars[:n_apart]
    held = [i for i in range(design.t) if i not in apart]
    assume(held)
    whole, _ = pair(design, y, noise_std)
    low, high = float(f.min()) - margin, float(f.max()) + margin
    known = LeftOut(
        design.X[design.indices[held]],
        y[held],
        np.sqrt(design.lams[held] / design.lam),
        np.array(held) + 1,
        whole.assumptions,
        energy_delta=ENERGY,
        level_delta=LEVEL,
        n_false=len(apart),
        low=low,
        high=high,
    )
    for k in range(len(liars), min(len(liars) + 3, design.t + 1)):
        assert {held[i] for i in known.certain(k - len(apart))} <= {*liars}
        for x in range(len(design.X)):
            lower, upper = known.interval(design.X[x], k)
            assert lower - 1e-9 <= f[x] <= upper + 1e-9
            assert max(low, -1.5) <= lower <= upper <= min(high, 1.5)
            widest = whole.interval(design.X[x], k)
            assert widest[0] - 1e-5 <= lower
            assert upper <= widest[1] + 1e-5
    assert all(known.interval(design.X[0], k) is None for k in range(len(apart)))
    assert Better(known, design.X, 0).most(len(liars)) >= f.max() - f[0] - 1e-9
    assert Better(known, design.X, 0).most(design.t) <= high - low + 1e-9


@pytest.mark.parametrize("n_lies", [1, 2, 3])
@pytest.mark.parametrize("n", [10, 24])
def test_gross_lies_are_certain_and_fewer_of_them_impossible(n: int, n_lies: int) -> None:
    rng = np.random.default_rng([n, n_lies])
    kernel, X = ub.Matern(2.5, 0.4), np.linspace(0.0, 1.0, 8)[:, None]
    design = Design(kernel, X, 0.1, rng.integers(0, 8, n), np.full(n, 0.1), rng)
    places = rng.choice(n, n_lies, replace=False).tolist()
    f, y = told(design, 0.1, {place: float(rng.choice([-1.0, 1.0]) * 40.0) for place in places})
    fast, _ = pair(design, y, 0.1)
    for k in range(n_lies):
        assert fast.interval(X[3], k) is None
    for k in (n_lies, n_lies + 1):
        assert fast.certain(k) == tuple(sorted(places))
        lower, upper = fast.interval(X[3], k)
        assert lower <= f[3] <= upper
    # at exactly their number it is as if they had never been told
    rest = np.delete(np.arange(n), places)
    honest = Design(kernel, X, 0.1, design.indices[rest], design.lams[rest], rng)
    alone, _ = pair(honest, y[rest], 0.1)
    lower, upper = fast.interval(X[3], n_lies)
    assert lower <= alone.interval(X[3], 0)[0] + 1e-9  # the energy is that of all
    assert upper >= alone.interval(X[3], 0)[1] - 1e-9
    assert upper - lower < 1.0


def test_no_noise_leaves_one_fictitious_noise_and_the_interpolant() -> None:
    """Nothing else is lost: a reading is f, and one that is not smooth enough is a lie."""
    kernel, X = ub.SquaredExponential(0.3), np.linspace(0.0, 1.0, 7)[:, None]
    design = Design(kernel, X, 1e-4, np.arange(7), np.full(7, 1e-4), np.random.default_rng(3))
    f, y = told(design, 0.0, {2: 0.4})
    fast, _ = pair(design, y, 0.0)
    assert fast.interval(X[0], 0) is None
    assert fast.certain(1) == (2,)
    for x in range(7):
        lower, upper = fast.interval(X[x], 1)
        assert lower <= f[x] <= upper
        assert upper - lower < 0.1


def test_one_reading_and_many_copies_of_one() -> None:
    kernel, X = ub.Matern(1.5, 0.5), np.zeros((1, 1))
    for t in (1, 6):
        design = Design(kernel, X, 0.1, np.zeros(t, int), np.full(t, 0.1), np.random.default_rng(1))
        fast, slow = pair(design, np.full(t, 0.5), 0.1)
        for k in range(t + 1):
            assert close(fast.interval(X[0], k), slow.interval(0, k))
    y = np.array([0.5, 0.5, 0.5, -0.9, 0.5, 0.5])
    fast, slow = pair(design, y, 0.05)
    assert fast.certain(1) == (3,)
    assert close(fast.interval(X[0], 1), slow.interval(0, 1))
    assert fast.interval(X[0], 0) is None


def test_at_half_the_readings_two_stories_are_told_and_both_count() -> None:
    """Three readings at 0.6 and three at -0.6 of one point: with three lies either may be true."""
    kernel, X = ub.Matern(1.5, 0.5), np.zeros((1, 1))
    design = Design(kernel, X, 0.1, np.zeros(6, int), np.full(6, 0.1), np.random.default_rng(1))
    fast, _ = pair(design, np.repeat([0.6, -0.6], 3), 0.05)
    assert fast.interval(X[0], 2) is None
    lower, upper = fast.interval(X[0], 3)
    assert lower < -0.55
    assert upper > 0.55
    assert fast.certain(3) == ()


def long_design(n: int, seed: int) -> Design:
    """Readings of a line."""
    rng = np.random.default_rng([n, seed])
    X = np.linspace(0.0, 1.0, 10)[:, None]
    return Design(ub.Matern(2.5, 0.3), X, 0.1, rng.integers(0, 10, n), np.full(n, 0.1), rng)


@pytest.mark.parametrize("k", [1, 2])
def test_groups_are_never_narrower_than_the_sets_they_cover(
    k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there are too many sets, groups of readings are left out."""
    design = long_design(14, k)
    _, y = told(design, 0.1, dict(list({4: 0.25, 9: -0.2}.items())[:k]))
    exact, _ = pair(design, y, 0.1)
    grouped, _ = pair(design, y, 0.1)
    points = design.X[::3]
    expected = [exact.interval(u, k) for u in points]
    monkeypatch.setattr(left_out, "N_SETS", math.comb(14, k) // 2)
    found = [grouped.interval(u, k) for u in points]
    for one, other in zip(found, expected, strict=True):
        assert one[0] <= other[0] + 1e-6
        assert one[1] >= other[1] - 1e-6
    assert any(
        one[1] - one[0] > other[1] - other[0] + 1e-3 for one, other in zip(found, expected, strict=True)
    )


@pytest.mark.long
@pytest.mark.parametrize(("n", "k"), [(40, 2), (40, 4), (70, 3), (200, 1), (200, 3)])
def test_f_is_inside_with_groups_too(n: int, k: int) -> None:
    """The lies are hidden well: within what honest readings could be."""
    design = long_design(n, k)
    lies = {int(i): 0.45 for i in design.rng.choice(n, k, replace=False)}
    f, y = told(design, 0.1, lies)
    fast, _ = pair(design, y, 0.1)
    for x in range(0, 10, 3):
        lower, upper = fast.interval(design.X[x], k)
        assert lower <= f[x] <= upper


def test_a_set_that_leaves_f_no_value_at_the_point_itself_is_refuted() -> None:
    """Where nobody read: what is said there never has its ends crossed."""
    kernel = ub.SquaredExponential(0.4)
    X = np.array([[0.1], [0.2], [0.3], [0.4], [0.5]])
    f = kernel(X, np.array([[1.1]]))[:, 0]  # of norm 1, and largest where nobody reads
    known = ub.Assumptions(kernel, B=1.0, B0=0.24, noise_std=0.0, lam=1e-6)
    assert f[3] < 0.24 < 0.32 < f[4]
    fast = LeftOut(
        X[:4], f[:4], np.ones(4), np.arange(1, 5), known, energy_delta=ENERGY, level_delta=LEVEL
    )
    lower, upper = fast.interval(X[2], 0)
    assert lower <= f[2] <= upper
    assert fast.interval(X[4], 0) is None  # f is above B0 there


def test_beyond_a_number_of_readings_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    design = long_design(12, 0)
    _, y = told(design, 0.1, {3: 99.0})
    monkeypatch.setattr(left_out, "N_READINGS", 12)
    assert pair(design, y, 0.1)[0].interval(design.X[0], 0) is None
    monkeypatch.setattr(left_out, "N_READINGS", 11)
    assert pair(design, y, 0.1)[0].interval(design.X[0], 0) == (-1.5, 1.5)


def test_as_many_lies_as_readings_say_nothing() -> None:
    design = long_design(5, 0)
    _, y = told(design, 0.1, {})
    fast, _ = pair(design, y, 0.1)
    for k in (5, 6, 100):
        assert fast.interval(design.X[0], k) == (-1.5, 1.5)
        assert fast.certain(k) == ()


def test_levels_refute_what_the_energy_allows() -> None:
    """A set is refuted by one reading that is out of reach of the rest, too."""
    kernel, X = ub.Matern(1.5, 0.5), np.zeros((1, 1))
    t = 60
    design = Design(kernel, X, 0.1, np.zeros(t, int), np.full(t, 0.1), np.random.default_rng(1))
    y = np.full(t, 0.2)
    y[-1] = 0.95  # 7.5 standard deviations: less than the energy of sixty noises, more than r_60
    fast, slow = pair(design, y, 0.1)
    assert slow.ellipsoids() is not None
    assert fast.certain(0) == ()
    assert fast.interval(X[0], 0) is None
    assert fast.interval(X[0], 1) is not None


def test_coverage_of_all_numbers_of_lies_at_once() -> None:
    """One event for every k: Gaussian noise, lies that imitate another function; delta is large."""
    kernel, X = ub.Matern(2.5, 0.4), np.linspace(0.0, 1.0, 6)[:, None]
    known = ub.Assumptions(kernel, B=1.0, B0=2.0, noise_std=0.15, lam=0.1)
    failures = 0
    for game in range(40):
        rng = np.random.default_rng([26, game])
        f, other = (random_function(kernel, X, rng, 1.0) for _ in range(2))
        index, number = rng.integers(0, 6, 10), np.arange(1, 11)
        y = f[index] + 0.15 * rng.standard_normal(10)
        n_lies = game % 3
        y[:n_lies] = other[index[:n_lies]]
        fast = LeftOut(X[index], y, np.ones(10), number, known, energy_delta=0.25, level_delta=0.25)
        found = [fast.interval(X[x], k) for k in (n_lies, n_lies + 1) for x in range(6)]
        failures += any(
            one is None or not one[0] - 1e-9 <= f[x % 6] <= one[1] + 1e-9 for x, one in enumerate(found)
        )
    assert not is_too_often(failures, 40, 0.5)


@law
@given(short, noises)
def test_a_point_that_is_no_candidate_of_any_reading_has_an_interval_too(
    design: Design, noise_std: float
) -> None:
    """With a candidate more, which nobody read."""
    assume(design.t > 1)
    _, y = told(design, noise_std, {})
    u = design.rng.uniform(-1.0, 1.0, design.X.shape[1])
    wider = Design(
        design.kernel, np.vstack([design.X, u]), design.lam, design.indices, design.lams, design.rng
    )
    fast, slow = pair(wider, y, noise_std)
    assert close(fast.interval(u, 1), slow.interval(len(design.X), 1, fast.certain(1)))
