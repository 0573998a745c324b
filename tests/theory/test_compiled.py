"""The knapsack in C: what NumPy gives, to the last bit, and an algorithm that does not notice."""

import importlib.util
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from unbribable.decision.proven.counted import largest_by_row, worst
from unbribable.theory import compiled
from unbribable.theory.elimination import rule_out
from unbribable.theory.exact_shift import ExactShift, Shift
from unbribable.theory.widths import shift_exact, shifts_exact

ROOT = Path(__file__).parents[2]
needs_library = pytest.mark.skipif(compiled.LIBRARY is None, reason="built without a C compiler")


@needs_library
def test_the_library_gives_what_numpy_gives_bit_for_bit_whatever_was_ranked_before() -> None:
    rng = np.random.default_rng(0)
    ranks, budgets = compiled.Ranks(), np.array([0.1, 0.7, 2.0, 5.0, 50.0, 1e6])
    R, n_compared = np.zeros((0, 30)), 0
    for step in range(60):
        R = np.concatenate([R, rng.normal(size=(step % 2, 30))]) if step else rng.normal(size=(5, 30))
        R = R + 0.1 * rng.normal(size=R.shape)
        wide = np.zeros((len(R), 41))  # R is kept in rows that are longer than it
        wide[:, :30] = R
        counts = rng.integers(1, 9, len(R)).astype(float)
        candidates = np.flatnonzero(rng.random(30) < (0.4 if step % 3 else 2.0))
        found = ranks.knapsacks(wide[:, :30], candidates, counts, budgets, 0.3)
        expected = shifts_exact(np.abs(R[:, candidates], order="F"), counts, budgets, 0.3)
        np.testing.assert_array_equal(found, expected)
        n_compared += found.size
    assert n_compared > 3000


@needs_library
def test_with_ties_too_the_library_gives_what_numpy_gives_bit_for_bit() -> None:
    rng, budgets = np.random.default_rng(1), np.array([0.1, 0.7, 2.0, 5.0])
    for _ in range(50):
        R = np.round(rng.normal(size=(12, 20)), 1) / 3.0
        counts = rng.integers(1, 9, len(R)).astype(float)
        found = compiled.Ranks().knapsacks(R, None, counts, budgets, 0.3)
        np.testing.assert_array_equal(found, shifts_exact(np.abs(R, order="F"), counts, budgets, 0.3))
        C, weights = 4.7, np.abs(R)
        single = 0.3 * compiled.knapsack(R, None, counts, C / 0.3, np.zeros(20, dtype=np.int64))
        np.testing.assert_array_equal(single, shift_exact(weights, counts, C, 0.3))


@needs_library
def test_bounds_that_the_library_tightens_are_those_of_numpy_bit_for_bit() -> None:
    rng = np.random.default_rng(4)
    ranks, budgets, lam = compiled.Ranks(), np.array([0.1, 0.7, 50.0]), 0.03
    upper, lower = np.full((3, 30), 4.0), np.full((3, 30), -4.0)
    by_numpy = upper.copy(), lower.copy()
    n_tighter = 0
    for _ in range(20):
        weights, counts = rng.normal(size=(6, 30)) / 50.0, rng.integers(1, 9, 6) / 1.0
        mu, noise = rng.normal(size=30), rng.random(30)
        found = ranks.knapsacks(weights, None, counts, budgets, 0.3, lam, (mu, noise, upper, lower))
        shifts = shifts_exact(np.abs(weights, order="F"), counts, budgets, 0.3) / lam
        np.testing.assert_array_equal(found, shifts)
        before = by_numpy[0].sum()
        by_numpy = (
            np.minimum(by_numpy[0], mu + (noise + shifts)),
            np.maximum(by_numpy[1], mu - (noise + shifts)),
        )
        n_tighter += by_numpy[0].sum() < before
        np.testing.assert_array_equal((upper, lower), by_numpy)
    assert n_tighter > 5


@needs_library
def test_ties_go_to_the_lower_number_so_that_the_past_does_not_matter() -> None:
    rng = np.random.default_rng(1)
    weights, counts = rng.integers(1, 4, (12, 20)) / 7.0, rng.integers(1, 9, 12) / 1.0
    everywhere, budgets = np.arange(20), np.array([0.1, 0.9, 2.5, 4.1])
    used = compiled.Ranks()
    used.knapsacks(rng.random((12, 20)), everywhere, counts, budgets, 0.1)
    fresh = compiled.Ranks().knapsacks(weights, everywhere, counts, budgets, 0.1)
    np.testing.assert_array_equal(used.knapsacks(weights, everywhere, counts, budgets, 0.1), fresh)


@needs_library
def test_ranks_of_more_items_than_there_are_now_are_forgotten() -> None:
    rng = np.random.default_rng(2)
    ranks, budgets, everywhere = compiled.Ranks(), np.array([0.5, 3.0]), np.arange(4)
    for n_items in (9, 5):
        weights, counts = rng.random((n_items, 4)), np.ones(n_items)
        found = ranks.knapsacks(weights, everywhere, counts, budgets, 0.2)
        np.testing.assert_array_equal(found, shifts_exact(weights, counts, budgets, 0.2))


@needs_library
def test_ranks_follow_growing_candidates_and_changing_items_in_little_memory() -> None:
    rng = np.random.default_rng(5)
    ranks, budgets = compiled.Ranks(), np.array([0.5, 3.0])
    for n in range(3, 60):
        weights, counts = rng.random((4 + n % 3, n)), np.ones(4 + n % 3)
        found = ranks.knapsacks(weights, None, counts, budgets, 0.2)
        np.testing.assert_array_equal(found, shifts_exact(weights, counts, budgets, 0.2))


@needs_library
@pytest.mark.parametrize("has_ties", [False, True])
def test_one_knapsack_a_column_is_that_of_numpy_whatever_the_guess(has_ties: bool) -> None:
    rng = np.random.default_rng(3)
    for n_units in (0.3, 1.0, 2.0, 6.4, 19.0, 40.0, 1e9):
        for n_items in (1, 2, 7, 60):
            weights = rng.normal(size=(n_items, 19))  # two blocks of columns, and a part of one
            weights = np.round(2.0 * weights) if has_ties else weights
            counts = rng.integers(1, 9, n_items) / 1.0
            n_units = min(n_units, counts.sum())
            critical = np.zeros(19, dtype=np.intp)
            found = compiled.knapsack(weights, None, counts, n_units, critical)
            expected = shift_exact(np.abs(weights, order="F"), counts, n_units, 1.0)
            np.testing.assert_allclose(found, expected, rtol=1e-12)
            for guess in (critical, rng.integers(0, n_items, 19)):
                again = compiled.knapsack(weights, None, counts, n_units, guess)
                np.testing.assert_array_equal(again, found)


@needs_library
@pytest.mark.parametrize("has_ties", [False, True])
def test_a_bracket_holds_the_knapsack_and_is_it_to_the_last_bit_where_the_guess_is_right(
    has_ties: bool,
) -> None:
    rng, gaps, n_right = np.random.default_rng(7), [], 0
    for n_items, n in ((1, 3), (7, 40), (60, 150)) * 5:
        weights = rng.normal(size=(n_items, n))
        weights = np.round(2.0 * weights) if has_ties else weights
        counts = rng.integers(1, 9, n_items) / 1.0
        n_units = float(rng.uniform(0.3, counts.sum()))
        some = np.flatnonzero((rng.random(n) < 0.5) | (np.arange(n) == 1))
        critical = np.zeros(len(some), dtype=np.intp)
        exact = compiled.knapsack(weights, some, counts, n_units, critical)
        everywhere = compiled.knapsack(weights, None, counts, n_units, np.zeros(n, dtype=np.intp))
        np.testing.assert_array_equal(exact, everywhere[some])
        near = np.where(rng.random(len(some)) < 0.5, critical, rng.integers(0, n_items, len(some)))
        low, high = compiled.bracket(weights, some, counts, n_units, near)
        assert (low <= exact).all()
        assert (exact <= high).all()
        gaps += (high - low)[near != critical].tolist()
        if not has_ties:
            assert (low[near == critical] == high[near == critical]).all()
            n_right += int((near == critical).sum())
    assert has_ties or n_right > 200
    assert np.median(gaps) > 0.0


@needs_library
def test_where_a_bracket_decides_nothing_is_solved_and_nothing_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A run of an algorithm whose R is not small, with brackets and without."""
    domain = ub.Grid(np.linspace(0.0, 1.0, 900)[:, None])
    known = ub.Assumptions(ub.Matern(2.5, 0.05), B=3.0, B0=1.0, c_max=1.0, noise_std=0.05, lam=0.01)
    solve, games = compiled.knapsack, []
    for narrow in (ExactShift.narrow, Shift.narrow):
        n_solved = [0]

        def count(weights: Any, candidates: Any, *rest: Any, n_solved: list[int] = n_solved) -> Any:
            n_solved[0] += 0 if candidates is None else len(candidates)  # None: while R is small
            return solve(weights, candidates, *rest)

        monkeypatch.setattr(compiled, "knapsack", count)
        monkeypatch.setattr(ExactShift, "narrow", narrow)
        algorithm = ub.RobustGPUCB(domain, known, C=5.0)
        rng, queries = np.random.default_rng(8), []
        for _ in range(150):
            query = algorithm.ask()
            algorithm.tell(query, np.sin(7.0 * query.x[0]) + 0.05 * rng.standard_normal())
            queries.append(query.index)
        main = algorithm.instances["main"]
        games.append((queries, main.ucb_bar.tolist(), main.lcb_bar.tolist()))
        games.append(n_solved[0])
    assert games[0] == games[2]
    assert 2 * games[1] < games[3]


@needs_library
@pytest.mark.parametrize("has_own_noise", [False, True])
@pytest.mark.parametrize("label", ["all", "main"], ids=["sharing-layers", "ladder"])
def test_levels_are_the_same_with_and_without_the_library(
    monkeypatch: pytest.MonkeyPatch, label: str, has_own_noise: bool
) -> None:
    domain = ub.Grid(np.linspace(0.0, 1.0, 15)[:, None])
    known = ub.Assumptions(ub.Matern(2.5, 0.3), B=3.0, B0=1.0, c_max=1.0, noise_std=0.05, lam=0.01)
    games = []
    for library in (compiled.LIBRARY, None):
        monkeypatch.setattr(compiled, "LIBRARY", library)
        algorithm = (
            ub.LayeredGPUCB(domain, known, T=150, seed=3, with_all=True)
            if label == "all"
            else ub.LadderGPUCB(domain, known)
        )
        rng, queries = np.random.default_rng(4), []
        for _ in range(150):
            query = algorithm.ask()
            noise_std = float(rng.choice([0.02, 0.05])) if has_own_noise else None
            y = np.sin(7.0 * query.x[0]) + 0.05 * rng.standard_normal()
            algorithm.tell(query, y, noise_std=noise_std)
            queries.append(query.index)
        levels = algorithm.instances[label].now.levels
        games.append((queries, levels.upper, levels.lower))
    (queries, *bounds), (own_queries, *own_bounds) = games
    assert queries == own_queries
    np.testing.assert_allclose(bounds, own_bounds, rtol=1e-12, atol=1e-12)
    assert len(bounds[0]) > 5
    assert len(set(queries)) > 3


def test_without_a_compiler_there_is_no_library_and_nothing_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    interface = SimpleNamespace(BuildHookInterface=object)
    monkeypatch.setitem(sys.modules, "hatchling.builders.hooks.plugin.interface", interface)
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    source, library = tmp_path / "knapsack.c", tmp_path / "knapsack.so"
    source.write_text("int broken(")
    assert not hook.compiles(source, library)
    source.write_text("int whole(void) { return 0; }")
    assert hook.compiles(source, library) == library.exists()
    monkeypatch.setenv("CC", str(tmp_path / "no-compiler"))
    library.write_text("made of this source")
    assert not hook.compiles(source, library)
    assert library.read_text() == "made of this source"
    os.utime(library, (0, 0))
    assert not hook.compiles(source, library)
    assert sorted(tmp_path.iterdir()) == [source]


@needs_library
def test_the_library_rules_out_whom_numpy_rules_out(monkeypatch: pytest.MonkeyPatch) -> None:
    library, rng, n_lost, n_kept = compiled.LIBRARY, np.random.default_rng(6), 0, 0
    for n_levels, n in ((1, 1), (1, 9), (3, 8), (6, 29), (11, 100)) * 20:
        lower = np.round(rng.normal(size=(2, n_levels, n)), 1)  # with ties
        upper = lower + rng.choice([0.0, 3.0, 4.0, np.inf], (2, n_levels, n))
        nested = np.logical_and.accumulate(rng.random((n_levels, n)) < 0.9, axis=0)[::-1].copy()
        found = []
        for each in (library, None):
            monkeypatch.setattr(compiled, "LIBRARY", each)
            sets, top = nested.copy(), np.empty((2, n))
            n_changed = rule_out((upper[0], lower[0]), (upper[1], lower[1]), 0.1, sets, top)
            found.append((n_changed, sets.tolist(), top.tolist()))
        assert found[0] == found[1]
        is_changed = np.flatnonzero((nested != sets).any(axis=1))
        assert n_changed == max(is_changed + 1, default=0)
        assert (sets[:-1] <= sets[1:]).all()
        n_lost, n_kept = n_lost + nested.sum() - sets.sum(), n_kept + sets.sum()
    assert min(n_lost, n_kept) > 1000


def sums_of_largest(R: Any, above: Any, below: Any) -> Any:
    """Of the prices of single lies, upwards and downwards: (2, n)."""
    found = []
    for up, down in ((above, below), (below, above)):
        prices = np.abs(R) * np.where(R > 0.0, up[:, :, None], down[:, :, None])  # (k, m, n)
        ranked = np.sort(prices.reshape(-1, R.shape[1]), axis=0)[::-1]
        found.append(ranked[: len(above)].sum(axis=0))
    return np.array(found)


@needs_library
@pytest.mark.parametrize("has_ties", [False, True])
def test_the_worst_few_lies_are_those_of_numpy_bit_for_bit(
    monkeypatch: pytest.MonkeyPatch, has_ties: bool
) -> None:
    library, rng, n_compared = compiled.LIBRARY, np.random.default_rng(9), 0
    for n_readings, m, n, k in (
        (0, 0, 5, 2),
        (5, 3, 1, 0),
        (1, 1, 33, 1),
        (9, 4, 70, 3),
        (60, 30, 40, 5),
    ) * 4:
        row = rng.permutation(np.concatenate([np.arange(m), rng.integers(0, max(m, 1), n_readings - m)]))
        prices = rng.normal(size=(2, n_readings)).clip(0.0)
        R = rng.normal(size=(m, n + 3))[:, :n]  # in rows that are longer than it
        if has_ties:
            prices, R = np.round(prices), np.round(R)
        R = np.asfortranarray(R) if n == 70 else R
        found = []
        for each in (library, None):
            monkeypatch.setattr(compiled, "LIBRARY", each)
            above, below = (largest_by_row(row, price, m, k) for price in prices)
            found.append((above.tolist(), below.tolist(), worst(R, above, below).tolist()))
        assert found[0] == found[1]
        assert above.tolist() == [
            [sorted([*prices[0, row == j], *[0.0] * k], reverse=True)[r] for j in range(m)]
            for r in range(k)
        ]
        np.testing.assert_allclose(found[0][2], sums_of_largest(R, above, below), rtol=1e-13)
        n_compared += np.count_nonzero(found[0][2])
    assert n_compared > 800


@needs_library
def test_counted_lies_are_bounded_the_same_with_and_without_the_library_bit_for_bit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    domain = ub.Grid(np.linspace(0.0, 1.0, 40)[:, None])
    known = ub.Assumptions(ub.Matern(2.5, 0.3), B=3.0, B0=1.0, noise_std=0.05, lam=0.01)
    games = []
    for library in (compiled.LIBRARY, None):
        monkeypatch.setattr(compiled, "LIBRARY", library)
        algorithm, rng = ub.QuorumGPUCB(domain, known, n_lies=2, seed=3), np.random.default_rng(4)
        queries = []
        for t in range(60):
            query = algorithm.ask()
            noise_std = float(rng.choice([0.02, 0.05]))
            y = 0.5 * np.sin(5.0 * query.x[0]) + noise_std * rng.standard_normal() - 2.0 * (t in (6, 20))
            algorithm.tell(query, y, noise_std=noise_std)
            queries.append(query.index)
        counted = algorithm.policy.counted
        assert len(counted.found) == 2
        bounds = counted.ucb_bar, counted.lcb_bar, counted.upper, counted.lower
        games.append((queries, *(bound.tolist() for bound in bounds)))
    assert games[0] == games[1]
