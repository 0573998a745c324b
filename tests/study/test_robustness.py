"""A tenth of the readings are lies, one of them enormous: the answer is good all the same."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from study.scripted import BOX

SEEDS = (0, 1, 2)
HUGE = 1e6
N_ROUNDS = 26


def hills(x: Any) -> float:
    """One coordinate: the better hill, 1 high, at 0.7, a lower one at 0.2."""
    return float(np.exp(-(((x[0] - 0.7) / 0.15) ** 2)) + 0.5 * np.exp(-(((x[0] - 0.2) / 0.15) ** 2)))


def ridges(x: Any) -> float:
    """Two coordinates: the better hill, 1 high, at (0.7, 0.3), a lower one at (0.2, 0.8)."""
    high = ((x[0] - 0.7) ** 2 + (x[1] - 0.3) ** 2) / 0.09
    low = ((x[0] - 0.2) ** 2 + (x[1] - 0.8) ** 2) / 0.09
    return float(np.exp(-high) + 0.5 * np.exp(-low))


@dataclass(frozen=True)
class Game:
    """A run, the truth beside it, and the rounds in which was lied, the huge lie first."""

    run: ub.Result
    f: Any
    lied: tuple[int, ...]

    @property
    def flagged(self) -> set[int]:
        return {suspect.t for suspect in self.run.suspects if suspect.is_flagged}


def game(f: Any, d: int, seed: int) -> Game:
    """One reading is 1e6, early and at a bad point; two later ones are upside down."""
    rng = np.random.default_rng([seed, d])
    flips = np.sort(rng.choice(np.arange(8, N_ROUNDS - 2), 2, replace=False)).tolist()
    lied: list[int] = []
    calls = [0]

    def told(x: Any) -> float:
        calls[0] += 1
        y = f(x) + 0.03 * float(rng.standard_normal())
        if not lied and f(x) < 0.4:
            lied.append(calls[0])
            return HUGE
        if calls[0] in flips:
            lied.append(calls[0])
            return 1.0 - y
        return y

    domain = ub.Box([0.0] * d, [1.0] * d, n_candidates=128)
    return Game(ub.maximize(told, domain, N_ROUNDS, seed=seed), f, tuple(lied))


@pytest.mark.long
@pytest.mark.parametrize(("f", "d"), [(hills, 1), (ridges, 2)], ids=["one coordinate", "two"])
def test_a_tenth_of_lies_does_not_spoil_the_answer_and_is_found_out(f: Any, d: int) -> None:
    games = [game(f, d, seed) for seed in SEEDS]
    assert_answers_are_good(games)
    assert_most_lies_are_found(games)
    for each in games:
        assert_the_huge_lie_is_called_what_it_is(each)
        assert_nothing_is_deleted(each)
        assert_interval_and_certificate_hold(each)


def assert_answers_are_good(games: list[Game]) -> None:
    """Better than the best reading, and close to the optimum, which is 1."""
    robust = np.array([each.f(each.run.x) for each in games])
    naive = np.array([each.f(each.run.naive.x) for each in games])
    assert np.median(robust) > 0.95, robust
    assert robust.min() > 0.8, robust
    assert np.median(naive) < 0.4, naive
    assert (robust > naive).all(), (robust, naive)


def assert_most_lies_are_found(games: list[Game]) -> None:
    """And most of what is flagged is a lie."""
    n_found = sum(len(each.flagged & set(each.lied)) for each in games)
    assert [len(each.lied) for each in games] == [3] * len(games)
    assert n_found >= 2 / 3 * sum(len(each.lied) for each in games)
    assert n_found >= 2 / 3 * sum(len(each.flagged) for each in games)


def assert_the_huge_lie_is_called_what_it_is(played: Game) -> None:
    """First of all suspects, with the words that say why, and never the answer."""
    run, first = played.run, played.run.suspects[0]
    assert (first.t, first.y) == (played.lied[0], HUGE)
    assert first.is_flagged
    outside = [words for words in first.evidence if words.startswith("outside the bounds on f [")]
    assert bool(outside) == (run.engine.algorithm().refuted is None), "else there are no bounds"
    assert all(words.endswith(f" by {HUGE:.3g}") for words in outside)
    assert "standard deviations above what the other readings predict" in first.evidence[-1]
    assert -1.0 < first.expected < 2.0
    assert not np.allclose(run.x, run.trials[first.t - 1].x, rtol=0.0, atol=1e-6)
    assert run.upper < 10.0


def assert_nothing_is_deleted(played: Game) -> None:
    run = played.run
    assert [trial.number for trial in run.trials] == list(range(1, N_ROUNDS + 1))
    assert all(trial.y is not None for trial in run.trials)
    assert run.trials[played.lied[0] - 1].y == HUGE
    assert len(run.engine.algorithm().readings) == len(run.suspects) == N_ROUNDS


def assert_interval_and_certificate_hold(played: Game) -> None:
    """Conditional on the fit, which is good enough here."""
    run, truth = played.run, played.f(played.run.x)
    assert run.lower <= truth <= run.upper
    assert 1.0 - truth <= run.regret_bound


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_how_large_the_lie_is_does_not_matter(sign: float) -> None:
    """Beyond what f can reach all lies are alike: the points asked are the same."""
    points = []
    for lie in (1e3, 1e6, 1e100):
        calls = [0]

        def told(x: Any, lie: float = sign * lie, calls: list[int] = calls) -> float:
            calls[0] += 1
            return lie if calls[0] == 3 else hills(x)

        run = ub.maximize(told, ub.Box([0.0], [1.0], n_candidates=64), 10, seed=0)
        points.append([trial.x.tolist() for trial in run.trials])
    np.testing.assert_allclose(points[1], points[0], rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(points[2], points[0], rtol=0.0, atol=1e-6)


def test_with_a_known_budget_the_learner_itself_withstands_a_decoy() -> None:
    """Given assumptions, no scout: lies lift the lower hill to 1.1 until 2.0 is spent; GP-UCB falls."""
    grid = np.linspace(0.0, 1.0, 31)[:, None]
    assumed = ub.Assumptions(ub.SquaredExponential(0.15), B=1.5, B0=1.1, noise_std=0.03, lam=0.01)

    def decoy() -> Any:
        left, rng = [2.0], np.random.default_rng(0)

        def told(x: Any) -> float:
            y = hills(x) + 0.03 * float(rng.standard_normal())
            lie = min(left[0], max(0.0, 1.1 - hills(x))) if x[0] < 0.45 else 0.0
            left[0] -= lie
            return y + lie

        return told

    robust = ub.maximize(decoy(), grid, 60, assumptions=assumed, corruption=2.0)
    assert robust.refuted is None
    assert hills(robust.x) > 0.95
    assert robust.lower is not None
    assert robust.upper is not None
    assert robust.lower <= hills(robust.x) <= robust.upper
    assert robust.naive is not None
    assert hills(robust.naive.x) < 0.6
    with pytest.warns(ub.AssumptionsRefuted, match="assumptions are refuted"):
        trusting = ub.maximize(decoy(), grid, 60, assumptions=assumed, corruption=0)
    assert hills(trusting.x) < 0.6
    assert trusting.regret_bound is None


def test_a_narrow_peak_on_which_two_readings_agree_is_no_lie() -> None:
    """Nobody lies. The design hits the slope, the scout reads it again, and both say 0.54."""
    rng = np.random.default_rng(5)

    def peak(x: Any) -> float:
        return float(np.exp(-(((x[0] - 0.37) / 0.05) ** 2)))

    run = ub.maximize(lambda x: peak(x) + 0.01 * float(rng.standard_normal()), BOX, 16, seed=5)
    best = max(peak(trial.x) for trial in run.trials)
    assert peak(run.x) > 0.5
    assert run.regret_bound is not None
    assert best - peak(run.x) <= run.regret_bound
