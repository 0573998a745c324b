"""suspects(): which readings look like lies, with what evidence, and what is certain."""

import json
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from contracts.members import algorithms
from games import random_function
from unbribable import lab
from unbribable.decision.algorithm import Algorithm
from unbribable.decision.units import Units
from unbribable.doubt.hypotheses import Known
from unbribable.doubt.judge import FLAGGED, Judge, Verdict
from unbribable.doubt.suspect import Kind, Suspect, in_order
from unbribable.lab.world.adversaries import RandomLies
from unbribable.lab.world.objectives import figure_1
from unbribable.model.kernels import Stationary
from unbribable.say.reasons import evidence
from unbribable.study.suspects import in_a_row
from unbribable.study.suspects import suspects as suspects_by

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


def unsuspecting(algorithm: Algorithm) -> tuple[Suspect, ...]:
    """What is said where no reading looks like a lie."""
    n = len(algorithm.readings)
    verdict = Verdict(np.zeros(n), np.zeros(n), np.ones(n), np.zeros(n, dtype=bool))
    return suspects_by(algorithm.readings, verdict, algorithm, Units())


def suspects(algorithm: Algorithm) -> tuple[Suspect, ...]:
    """What a study of these readings would say that was given what the algorithm assumes."""
    assumed, readings = algorithm.assumptions, algorithm.readings
    center = None if isinstance(assumed.kernel, Stationary) else 0.0
    judge = Judge(Known(assumed.kernel, assumed.noise_std, center), len(readings))
    rounds = np.array([reading.t for reading in readings])
    y = np.array([reading.y for reading in readings])
    judge.learn(np.array([reading.u for reading in readings]), y, rounds)
    return suspects_by(readings, judge.verdict(), algorithm, Units())


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
    assert first.probability >= FLAGGED


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
    only, *rest = suspects(told(indices, y))
    assert only.t == 18
    assert not any(suspect.is_flagged for suspect in rest)
    (words,) = evidence(only)
    far = (only.y - only.expected) / only.expected_sd
    assert words.startswith(f"{far:.3g} standard deviations above what the other readings predict")
    assert words.endswith(f"({only.expected:.3g} +- {only.expected_sd:.3g})")


@pytest.mark.parametrize("where", [(16, 17), (16, 18)], ids=["side by side", "one between"])
def test_two_lies_that_support_each_other_are_both_found(where: tuple[int, int]) -> None:
    """Each masks the other, and both make the honest ones around them look bad."""
    indices = np.arange(0, 101, 2)
    y = honest(indices, 5)
    y[list(where)] += 14 * NOISE
    K = KERNEL(X[indices], X[indices]) + NOISE**2 * np.eye(len(y))
    inverse = np.linalg.inv(K)
    swamped = np.abs(inverse @ y) / np.sqrt(np.diag(inverse)) >= 3.5
    assert swamped.sum() > 2  # where all others are believed, honest ones look false
    assert flagged(suspects(told(indices, y))) == {k + 1 for k in where}


def test_two_lies_among_five_readings_of_one_point_are_both_found() -> None:
    indices = np.array([*range(0, 101, 10), *[55] * 5])
    y = honest(indices, 6)
    y[-2:] -= 10 * NOISE
    assert flagged(suspects(told(indices, y))) == {len(y) - 1, len(y)}


def test_a_reading_far_from_all_others_is_not_called_a_lie() -> None:
    """Nothing is known there; a value that f may take is no evidence."""
    indices = np.array([*range(0, 72, 4), 95])
    y = honest(indices, 7)
    y[-1] += 8 * NOISE
    assert flagged(suspects(told(indices, y))) == set()


# --- honest readings ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_tables", "n"), [(5, 40), pytest.param(20, 100, marks=pytest.mark.long)])
def test_honest_readings_are_seldom_flagged_and_have_no_evidence(n_tables: int, n: int) -> None:
    """At most 1 of 200, over functions, and designs with repeats."""
    n_flags = n_readings = 0
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)
        f = random_function(KERNEL, X, rng, B=float(rng.uniform(1.0, 5.0)))
        assumed = ub.Assumptions(
            KERNEL,
            B=5.0,
            B0=float(np.abs(f).max()),
            noise_std=NOISE,
            lam=float(rng.choice([0.0025, 1.0])),
        )
        indices = rng.integers(0, 101, n)
        found = suspects(told(indices, f[indices] + NOISE * rng.standard_normal(n), assumed=assumed))
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


# --- in a game ---------------------------------------------------------------------------------------


@pytest.mark.long
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


def _stands_alone(suspect: Suspect) -> bool:
    """Whether it is not one of several that have something in common."""
    return not {reason.kind for reason in suspect.reasons} & {Kind.EQUAL, Kind.BURST, Kind.DRIFT}


@ALL
def test_every_reading_is_there_once_with_its_point(make: Callable[..., Any]) -> None:
    algorithm, _ = game(make, 1, T=60)
    found = suspects(algorithm)
    by_id = {reading.t: reading for reading in algorithm.readings}
    assert sorted(suspect.t for suspect in found) == sorted(by_id)
    for suspect in found:
        reading = by_id[suspect.t]
        assert suspect.y == reading.y
        assert 0.0 <= suspect.probability <= 1.0
        assert suspect.is_flagged == (suspect.is_certain or suspect.probability >= FLAGGED)
        np.testing.assert_array_equal(suspect.x, reading.u)
    assert found == tuple(in_order(found))
    alone = [suspect for suspect in found if suspect.is_flagged <= _stands_alone(suspect)]
    ranks = [(not each.is_certain, not each.is_flagged, -each.probability) for each in alone]
    assert ranks == sorted(ranks)


def test_of_equally_probable_ones_the_first_is_the_one_that_is_off_by_most() -> None:
    indices = np.arange(0, 101, 3)
    y = honest(indices, 9)
    y[[5, 20, 30]] += [0.6, -1.2, 0.9]
    assert [suspect.t for suspect in suspects(told(indices, y))[:3]] == [21, 31, 6]


@pytest.mark.parametrize("grows", [False, True])
def test_flagged_readings_in_a_row_that_are_off_to_one_side_are_named_together(grows: bool) -> None:
    """In whatever order they were told: their rounds are consecutive."""
    indices = np.random.default_rng(1).permutation(np.arange(0, 101, 3))
    y = honest(indices, 11)
    y[12:16] += np.linspace(0.5, 1.4, 4) if grows else 0.9
    found = [suspect for suspect in suspects(told(indices, y)) if suspect.is_flagged]
    assert [suspect.t for suspect in found] != []
    assert {suspect.t for suspect in found} == {13, 14, 15, 16}
    for suspect in found:
        (reason,) = [each for each in suspect.reasons if each.kind in (Kind.BURST, Kind.DRIFT)]
        assert reason.rounds == (13, 14, 15, 16)
        assert reason.off == suspect.y - suspect.expected > 0.0
        assert (reason.kind is Kind.DRIFT) == grows


def test_a_row_has_three_readings_on_one_side_at_least() -> None:
    rounds = np.array([5, 1, 2, 3, 4, 9, 8, 7])
    rows = in_a_row(rounds, np.array([0.0, -1.0, 1.0, 1.0, 1.0, -1.0, -1.0, 0.0]))
    assert [rounds[row].tolist() for row in rows] == [[2, 3, 4]]
    assert in_a_row(rounds, np.zeros(8)) == ()


# --- certainty ---------------------------------------------------------------------------------------


@ALL
def test_what_is_certain_is_flagged_whatever_it_looks_like(make: Callable[..., Any]) -> None:
    n_certain = 0
    for seed in range(3):
        algorithm, lies = game(make, seed, C=5.0)
        for suspect in unsuspecting(algorithm):
            assert suspect.is_flagged == suspect.is_certain
            if suspect.is_certain:
                n_certain += 1
                assert suspect.probability == 1.0
                assert any("outside" in words for words in evidence(suspect))
                assert lies[suspect.t - 1] != 0.0
    if make is MAKERS["robust"]:
        assert n_certain > 0


@pytest.mark.parametrize("name", ["robust", "fast-slow", "layered"])
def test_a_value_that_f_cannot_have_is_certain(name: str) -> None:
    """Even far from all other readings."""
    assumed = ub.Assumptions(KERNEL, B=2.0, B0=B0, noise_std=NOISE, lam=0.01, c_max=4.0 * B0)
    indices = np.array([*range(0, 40, 4), 90])
    y = honest(indices, 10)
    y[-1] = 1.5 * B0
    first, *rest = suspects(told(indices, y, MAKERS[name], assumed))
    assert (first.t, first.is_certain, first.is_flagged) == (len(y), True, True)
    assert first.probability == 1.0
    assert f"{B0:.3g}] by {y[-1] - B0:.3g}" in evidence(first)[0]
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


def test_a_single_reading_is_compared_with_the_prior_and_not_flagged() -> None:
    (only,) = suspects(told([30], [0.5 * B0]))
    assert only.expected_sd > NOISE
    assert not only.is_flagged


def test_all_readings_at_one_point() -> None:
    y = [0.30, 0.31, 0.28, 0.33, 0.9]
    found = suspects(told([30] * 5, y))
    assert flagged(found) == {5}
    assert "median of 4 other readings" in evidence(found[0])[0]
    assert found[0].expected == pytest.approx(np.mean(y[:4]), abs=0.5 * NOISE)


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
