"""suspects(): which readings look like lies, with what evidence, and what is certain."""

import json
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from unbribable.practice.predictions import FLAG_AT, LeaveOneOut, judged

import unbribable as ub
from contracts.members import algorithms
from games import random_function
from unbribable import lab
from unbribable.doubt.suspect import Suspect
from unbribable.lab.world.adversaries import RandomLies
from unbribable.lab.world.objectives import figure_1
from unbribable.model.checks import Floats
from unbribable.model.solve import Factor
from unbribable.practice import predictions
from unbribable.practice.suspects import suspects
from unbribable.say.reasons import evidence

X = np.linspace(0.0, 1.0, 101)[:, None]
DOMAIN = ub.Grid(X)
KERNEL = ub.SquaredExponential(0.1)
NOISE = 0.05
F = random_function(KERNEL, X, np.random.default_rng(2), B=2.0)
B0 = float(np.abs(F).max())
ASSUMED = ub.Assumptions(KERNEL, B=2.0, B0=B0, noise_std=NOISE, lam=0.01)

MAKERS = algorithms(C=6.0, T=128, seed=3)
ALL = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def told(
    indices: Any, y: Any, make: Any = MAKERS["gp-ucb"], assumed: Any = ASSUMED, **words: Any
) -> Any:
    """An algorithm that was told these readings of candidates, in that order; ids are 1, 2, ..."""
    algorithm = make(DOMAIN, assumed, **words)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ub.AssumptionsRefuted)
        for i, value in zip(indices, y, strict=True):
            algorithm.tell(x=X[i], y=float(value))
    return algorithm


def honest(indices: Any, seed: int) -> np.ndarray:
    return F[indices] + NOISE * np.random.default_rng(seed).standard_normal(len(indices))


def flagged(found: tuple[Suspect, ...]) -> set[int]:
    return {suspect.t for suspect in found if suspect.is_flagged}


def game(make: Callable[..., Any], seed: int, T: int = 100, C: float = 6.0) -> tuple[Any, np.ndarray]:
    """A run against a liar who knows nothing and strikes every tenth time; and the lies told."""
    objective = figure_1(100)
    assumed = ub.Assumptions(objective.kernel, B=2.0, B0=1.0, noise_std=NOISE, lam=0.01)
    algorithm = make(ub.Grid(objective.X), assumed)
    liar = RandomLies(std=0.7, frequency=0.1)
    world = lab.Environment(objective, noise_std=NOISE, adversary=liar, C=C)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ub.AssumptionsRefuted)  # GP-UCB assumes that nobody lies
        return algorithm, lab.simulate(algorithm, world, T, seed).columns["c"]


# --- the prediction without a reading ----------------------------------------------------------------


def left_out(K: Any, group: Any, y: Any, noise_var: Any, weights: Any, i: int) -> tuple[float, float]:
    """The textbook posterior of reading i after all others, one row a reading."""
    others = np.arange(len(y)) != i
    rows = group[others]
    system = K[np.ix_(rows, rows)] + np.diag((noise_var / weights)[others])
    pull = np.linalg.solve(system, K[rows, group[i]])
    var = K[group[i], group[i]] - pull @ K[rows, group[i]] + noise_var[i]
    return float(pull @ y[others]), math.sqrt(var)


@pytest.mark.parametrize("weighting", ["ones", "moderate", "tiny", "nearly ones"])
def test_the_closed_form_is_the_refit_without_that_reading(weighting: str) -> None:
    """With repeats, lone points, a noise for each reading, and any weights of the others."""
    rng = np.random.default_rng(7)
    points = rng.random((9, 2))
    K = 1.7 * ub.Matern(2.5, 0.4)(points, points)
    group = np.concatenate([np.arange(9), rng.integers(0, 6, 14)])
    y = rng.standard_normal(len(group))
    noise_var = rng.choice([0.01, 0.04], len(group))
    weights = {
        "ones": np.ones(len(y)),
        "moderate": 10.0 ** -rng.uniform(0.0, 3.0, len(y)),
        "tiny": np.where(rng.random(len(y)) < 0.4, 1e-9, 1.0),
        "nearly ones": 1.0 - 1e-8 * rng.random(len(y)),
    }[weighting]
    expected, sd = LeaveOneOut(K, group, y, noise_var)(weights)
    for i in range(len(y)):
        mean, spread = left_out(K, group, y, noise_var, weights, i)
        assert expected[i] == pytest.approx(mean, abs=1e-7)
        assert sd[i] == pytest.approx(spread, rel=1e-7)


def test_scores_of_honest_readings_without_reweighting_are_standard_normal() -> None:
    rng = np.random.default_rng(0)
    K = KERNEL(X, X)
    f = np.linalg.cholesky(K + 1e-10 * np.eye(101)) @ rng.standard_normal((101, 100))
    group = rng.integers(0, 101, 80)
    points, group = np.unique(group, return_inverse=True)
    z = []
    for column in f[points].T:
        y = column[group] + NOISE * rng.standard_normal(80)
        expected, sd = LeaveOneOut(K[np.ix_(points, points)], group, y, np.full(80, NOISE**2))(
            np.ones(80)
        )
        z.append((y - expected) / sd)
    assert np.std(z) == pytest.approx(1.0, abs=0.03)


def test_a_lie_hardly_moves_the_robust_prediction_of_its_neighbours() -> None:
    indices = np.arange(0, 101, 3)
    y = honest(indices, 1)
    points = KERNEL(X[indices], X[indices])
    group, noise_var = np.arange(len(y)), np.full(len(y), NOISE**2)
    lied = y.copy()
    lied[12] += 20 * NOISE
    clean = judged(LeaveOneOut(points, group, y, noise_var), group).expected
    model = LeaveOneOut(points, group, lied, noise_var)
    plain, robust = model(np.ones(len(y)))[0], judged(model, group).expected
    around = [10, 11, 13, 14]
    assert np.abs(plain - clean)[around].max() > 4 * NOISE
    assert np.abs(robust - clean)[around].max() < NOISE


# --- planted lies ------------------------------------------------------------------------------------


def test_a_lie_at_a_repeated_point_ranks_first_and_the_words_count_the_repeats() -> None:
    indices = np.array([*range(0, 101, 10), 40, 40, 40])
    y = honest(indices, 3)
    y[-1] -= 0.9
    first, *rest = suspects(told(indices, y))
    assert first.t == len(y)
    assert first.is_flagged
    assert not any(suspect.is_flagged for suspect in rest)
    off = np.median(y[indices == 40][:-1]) - y[-1]
    assert evidence(first)[0] == f"{off:.3g} below the median of 3 other readings of the same point"
    assert first.residual == first.y - first.expected
    assert first.score == pytest.approx(abs(first.residual) / first.sd)


def test_one_other_reading_of_the_point_is_named_as_such() -> None:
    indices = np.array([*range(0, 101, 10), 40])
    y = honest(indices, 3)
    y[-1] += 0.9
    first = suspects(told(indices, y))[0]
    assert first.t == len(y)
    assert "above the only other reading of the same point" in evidence(first)[0]


def test_a_lie_between_neighbours_is_found_by_what_they_predict() -> None:
    indices = np.arange(0, 101, 3)
    y = honest(indices, 4)
    y[17] += 8 * NOISE
    algorithm = told(indices, y)
    assert flagged(suspects(algorithm)) == {18}
    (only,) = suspects(algorithm, flagged_only=True)
    (words,) = evidence(only)
    assert words.startswith(
        f"{only.score:.3g} standard deviations above what the other readings predict"
    )
    assert words.endswith(f"({only.expected:.3g} +- {only.sd:.3g})")


@pytest.mark.parametrize("where", [(16, 17), (16, 18)], ids=["side by side", "one between"])
def test_two_lies_that_support_each_other_are_both_found(where: tuple[int, int]) -> None:
    """Each masks the other, and both make the honest ones around them look bad."""
    indices = np.arange(0, 101, 2)
    y = honest(indices, 5)
    y[list(where)] += 14 * NOISE
    model = LeaveOneOut(KERNEL(X[indices], X[indices]), np.arange(len(y)), y, np.full(len(y), NOISE**2))
    expected, sd = model(np.ones(len(y)))
    swamped = np.abs(y - expected) / sd >= FLAG_AT
    assert swamped.sum() > 2  # without re-weighting, honest ones would be flagged
    assert flagged(suspects(told(indices, y))) == {k + 1 for k in where}


def test_two_lies_among_five_readings_of_one_point_are_both_found() -> None:
    indices = np.array([*range(0, 101, 10), *[55] * 5])
    y = honest(indices, 6)
    y[-2:] -= 10 * NOISE
    assert flagged(suspects(told(indices, y))) == {len(y) - 1, len(y)}


def test_a_reading_far_from_all_others_is_not_called_a_lie() -> None:
    """Nothing is known there; a value that f may take is no evidence."""
    indices = np.array([*range(0, 40, 4), 90])
    y = honest(indices, 7)
    y[-1] += 8 * NOISE
    assert flagged(suspects(told(indices, y))) == set()


# --- honest readings ---------------------------------------------------------------------------------


def test_honest_readings_are_seldom_flagged_and_have_no_evidence() -> None:
    """At most 1 of 200, over functions, designs with repeats, and noises."""
    n_flags = n_readings = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        f = random_function(KERNEL, X, rng, B=float(rng.uniform(1.0, 5.0)))
        assumed = ub.Assumptions(
            KERNEL,
            B=5.0,
            B0=float(np.abs(f).max()),
            noise_std=NOISE,
            lam=float(rng.choice([0.0025, 1.0])),
        )
        indices = rng.integers(0, 101, 100)
        found = suspects(told(indices, f[indices] + NOISE * rng.standard_normal(100), assumed=assumed))
        assert all(bool(suspect.reasons) == suspect.is_flagged for suspect in found)
        n_flags += len(flagged(found))
        n_readings += len(found)
    assert n_flags <= n_readings / 200


def test_readings_without_noise_are_not_flagged_and_a_small_lie_is() -> None:
    indices = np.arange(0, 101, 2)
    assumed = ub.Assumptions(KERNEL, B=2.0, B0=B0, noise_std=0.0, lam=0.01)
    assert flagged(suspects(told(indices, F[indices], assumed=assumed))) == set()
    y = F[indices].copy()
    y[20] += 0.03
    assert flagged(suspects(told(indices, y, assumed=assumed))) == {21}


def test_a_reading_known_to_be_noisy_is_given_its_noise() -> None:
    """The same deviation counts for little if the reading was announced as a bad one."""
    indices = np.arange(0, 101, 3)
    y = honest(indices, 8)
    y[10] += 8 * NOISE
    y[20] += 8 * NOISE
    algorithm = ub.GPUCB(DOMAIN, ASSUMED)
    for k, (i, value) in enumerate(zip(indices, y, strict=True)):
        algorithm.tell(x=X[i], y=float(value), noise_std=6 * NOISE if k == 10 else None)
    assert flagged(suspects(algorithm)) == {21}


# --- in a game ---------------------------------------------------------------------------------------


@ALL
def test_random_lies_are_found_in_every_algorithm(make: Callable[..., Any]) -> None:
    """Lies of six standard deviations or more: most are found, and hardly anything else is."""
    n_large = n_found = n_false = n_readings = 0
    for seed in range(3):
        algorithm, lies = game(make, seed, C=20.0)
        ids = flagged(suspects(algorithm))
        is_flagged = np.isin(np.arange(1, len(lies) + 1), list(ids))
        is_large = np.abs(lies) >= 6 * NOISE
        n_large += is_large.sum()
        n_found += (is_flagged & is_large).sum()
        n_false += (is_flagged & (lies == 0.0)).sum()
        n_readings += len(lies)
    assert n_large >= 10
    assert n_found >= 0.8 * n_large
    assert n_false <= 0.01 * n_readings


@ALL
def test_looking_changes_nothing(make: Callable[..., Any]) -> None:
    algorithm, _ = game(make, 0, T=40)
    before = algorithm.state()
    proposal = algorithm.propose()
    first, second = suspects(algorithm), suspects(algorithm)
    after = algorithm.state()
    assert json.dumps(before, default=np.ndarray.tolist) == json.dumps(after, default=np.ndarray.tolist)
    np.testing.assert_array_equal(algorithm.propose().indices, proposal.indices)
    assert [suspect.to_dict() for suspect in first] == [suspect.to_dict() for suspect in second]


@ALL
def test_every_reading_is_there_once_with_its_point_and_its_instance(make: Callable[..., Any]) -> None:
    algorithm, _ = game(make, 1, T=60)
    found = suspects(algorithm)
    by_id = {reading.t: reading for reading in algorithm.readings}
    assert sorted(suspect.t for suspect in found) == sorted(by_id)
    for suspect in found:
        reading = by_id[suspect.t]
        assert (suspect.y, suspect.instance) == (reading.y, reading.learner)
        np.testing.assert_array_equal(suspect.x, reading.u)
    short = [suspect.t for suspect in suspects(algorithm, flagged_only=True)]
    assert short == [suspect.t for suspect in found if suspect.is_flagged]
    ranks = [(not suspect.is_certain, not suspect.is_flagged, -suspect.score) for suspect in found]
    assert ranks == sorted(ranks)


def test_the_ranking_does_not_depend_on_the_order_of_telling() -> None:
    rng = np.random.default_rng(9)
    indices = rng.integers(0, 101, 60)
    y = honest(indices, 9)
    y[[5, 30]] += 0.6
    shuffled = rng.permutation(60)
    one, other = (suspects(told(indices[p], y[p])) for p in (np.arange(60), shuffled))
    for a, b in zip(one, other, strict=True):
        assert (a.x.tolist(), a.y, a.expected, a.sd, a.score) == (
            b.x.tolist(), b.y, b.expected, b.sd, b.score,
        )  # fmt: skip
        assert evidence(a) == evidence(b)


# --- certainty ---------------------------------------------------------------------------------------


@ALL
def test_what_is_certain_is_flagged_and_was_a_lie(make: Callable[..., Any]) -> None:
    n_certain = 0
    for seed in range(3):
        algorithm, lies = game(make, seed, C=5.0)
        for suspect in suspects(algorithm):
            if suspect.is_certain:
                n_certain += 1
                assert suspect.is_flagged
                assert any("outside" in words for words in evidence(suspect))
                assert lies[suspect.t - 1] != 0.0
    if make is MAKERS["robust"]:
        assert n_certain > 0


@pytest.mark.parametrize("name", ["robust", "fast-slow", "layered"])
def test_a_value_that_f_cannot_have_is_certain(name: str) -> None:
    """Even far from all other readings, where the score says nothing."""
    assumed = ub.Assumptions(KERNEL, B=2.0, B0=B0, noise_std=NOISE, lam=0.01, c_max=4.0 * B0)
    indices = np.array([*range(0, 40, 4), 90])
    y = honest(indices, 10)
    y[-1] = 1.5 * B0
    first, *rest = suspects(told(indices, y, MAKERS[name], assumed))
    assert (first.t, first.is_certain, first.is_flagged) == (len(y), True, True)
    assert first.score < FLAG_AT
    (words,) = evidence(first)
    assert f"{B0:.3g}] by {y[-1] - B0:.3g}" in words
    assert not any(suspect.is_certain for suspect in rest)


def test_the_limit_of_certainty_is_the_noise_that_t_rounds_can_bring() -> None:
    """Just inside it is not certain, just outside it is."""
    limit = NOISE * math.sqrt(2.0 * math.log(2.0 * 2 * 3 / ASSUMED.delta))
    for factor, is_certain in ((0.999, False), (1.001, True)):
        algorithm = told([10, 90], [F[10], B0 + factor * limit], MAKERS["robust"])
        by_id = {suspect.t: suspect for suspect in suspects(algorithm)}
        upper = min(float(algorithm.instances["main"].ucb_bar[90]), B0)
        assert upper == B0
        assert by_id[2].is_certain is is_certain


def test_nothing_is_certain_without_a_guarantee_that_allows_for_lies() -> None:
    """GP-UCB trusts every reading; a given beta proves nothing; what is refuted neither."""
    indices, y = [10, 10, 90], [F[10], F[10], 1.5 * B0]
    assert suspects(told(indices, y, MAKERS["robust"]))[0].is_certain
    for algorithm in (
        told(indices, y),
        told(indices, y, lambda *args: ub.RobustGPUCB(*args, C=0.0)),
        told(indices, y, MAKERS["robust"], beta=2.0),
    ):
        assert not any(suspect.is_certain for suspect in suspects(algorithm))
    refuted = told([50] * 20, [9.0] * 20, lambda *args: ub.RobustGPUCB(*args, C=0.1))
    refuted_too = told([50] * 40, [9.0, -9.0] * 20, lambda *args: ub.RobustGPUCB(*args, C=0.1))
    assert refuted.recommend().regret_bound is None
    for algorithm in (refuted, refuted_too):
        found = suspects(algorithm)
        assert not any(suspect.is_certain for suspect in found)
        assert not any("outside" in words for suspect in found for words in evidence(suspect))


# --- corners -----------------------------------------------------------------------------------------


@ALL
def test_no_readings_no_suspects(make: Callable[..., Any]) -> None:
    algorithm = make(DOMAIN, ASSUMED)
    assert suspects(algorithm) == ()
    algorithm.ask()
    assert suspects(algorithm) == ()


def test_a_single_reading_is_compared_with_the_prior() -> None:
    (only,) = suspects(told([30], [0.5 * B0]))
    assert only.expected == pytest.approx(0.0, abs=1e-12)
    assert only.sd == pytest.approx(math.hypot(B0, NOISE))
    assert not only.is_flagged


def test_all_readings_at_one_point() -> None:
    y = [0.30, 0.31, 0.28, 0.33, 0.9]
    found = suspects(told([30] * 5, y))
    assert flagged(found) == {5}
    assert "median of 4 other readings" in evidence(found[0])[0]
    assert found[0].expected == pytest.approx(np.mean(y[:4]), abs=1e-3)


def test_a_point_where_the_kernel_vanishes_is_judged_by_the_noise_alone() -> None:
    domain = ub.Grid([[0.0], [0.5], [1.0]])
    assumed = ub.Assumptions(ub.Linear(1.0), B=1.0, B0=1.0, noise_std=0.1, lam=0.1)
    algorithm = ub.GPUCB(domain, assumed)
    algorithm.tell(x=[0.0], y=0.8)
    algorithm.tell(x=[1.0], y=0.8)
    assert flagged(suspects(algorithm)) == {1}


def test_a_lie_of_any_size_does_not_spoil_the_others() -> None:
    indices = np.arange(0, 101, 3)
    y = honest(indices, 11)
    y[17] = 1e9
    assert flagged(suspects(told(indices, y))) == {18}


def test_a_suspect_is_plain_data() -> None:
    found = suspects(told([30, 30, 30], [0.1, 0.12, 0.9]))
    words = json.loads(json.dumps([suspect.to_dict() for suspect in found]))
    assert words[0]["reasons"] == [reason.to_dict() for reason in found[0].reasons]
    assert words[0]["reasons"][0]["kind"] == "same point"
    assert words[0]["reasons"][0]["rounds"] == [1, 2]
    assert words[0]["x"] == found[0].x.tolist()
    assert set(words[0]) == set(Suspect.__dataclass_fields__)


def test_of_many_points_one_large_system_is_factored_and_after_it_only_small_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The cost is that of one inverse: later factors are as large as the number of doubted readings."""
    sizes: list[int] = []

    def counted(matrix: Floats) -> Factor:
        sizes.append(len(matrix))
        return Factor(matrix)

    monkeypatch.setattr(predictions, "Factor", counted)
    rng, n = np.random.default_rng(12), 600
    points, rounds = rng.random((n, 2)), np.arange(n)
    y = np.sin(6 * points[:, 0]) + NOISE * rng.standard_normal(n)
    lies = rng.choice(n, 12, replace=False)
    y[lies] += 0.6
    K = ub.SquaredExponential(0.2)(points, points)
    verdict = judged(LeaveOneOut(K, rounds, y, np.full(n, NOISE**2)), rounds)
    assert set(np.flatnonzero(verdict.is_flagged)) >= set(lies)
    assert sizes[0] == n
    assert max(sizes[1:]) <= n // 10
    assert len(sizes) <= 30
