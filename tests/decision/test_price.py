"""The price of a bribe and the paired certificate, through the algorithms."""

import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from contracts.members import ALGORITHMS
from games import corruption, is_too_often, random_function
from told import reading_of
from unbribable.decision.units import Units
from unbribable.say.price import _in_readings, sentence
from unbribable.theory.differences import Differences

X = np.linspace(0.0, 1.0, 14)[:, None]
KERNEL = ub.Matern(2.5, 0.4)
CAP, DELTA = 0.8, 0.25
ASSUMED = ub.Assumptions(KERNEL, B=1.0, B0=1.0, noise_std=0.05, lam=0.02, delta=DELTA, c_max=CAP)
WHOLE = {name: label for name, label in [("gp-ucb", "main"), ("robust", "main"), ("fast-slow", "all")]}
"""The algorithms with an instance that holds every reading, and its name."""


def built(name: str, assumptions: ub.Assumptions = ASSUMED, **words: Any) -> Any:
    return ALGORITHMS[name](ub.Grid(X), assumptions, C=1.0, T=16, **words)


def told(name: str, seed: int = 0, n_rounds: int = 40, **words: Any) -> Any:
    """An algorithm after honest rounds with noise."""
    rng = np.random.default_rng([7, seed])
    f, algorithm = random_function(KERNEL, X, rng, 1.0), built(name, **words)
    for _ in range(n_rounds):
        query = algorithm.ask()
        algorithm.tell(query, float(f[query.index] + 0.05 * rng.standard_normal()))
    return algorithm


def again(algorithm: Any, name: str, changes: dict[int, float]) -> Any:
    """Another algorithm that was told the same points, with these rounds' readings changed."""
    other = built(name)
    for reading in algorithm.readings:
        other.tell(x=reading.u, y=reading.y + changes.get(reading.t, 0.0))
    return other


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("seed", range(3))
def test_telling_the_cheapest_bribe_moves_the_point_that_looks_best(name: str, seed: int) -> None:
    algorithm = told(name, seed)
    best, found = int(np.argmax(algorithm.instances[WHOLE[name]].mu)), algorithm.price(0.1)
    assert sum(map(abs, found.lies.values())) == pytest.approx(found.bribe)
    assert max(map(abs, found.lies.values())) <= CAP
    for share, is_moved in [(1.0 + 1e-4, True), (1.0 - 1e-4, False)]:
        bribed = again(algorithm, name, {t: share * lie for t, lie in found.lies.items()})
        assert (int(np.argmax(bribed.instances[WHOLE[name]].mu)) != best) == is_moved


@pytest.mark.parametrize("name", WHOLE)
def test_up_to_the_price_no_lies_hide_a_point_that_is_better_by_more_than_eps(name: str) -> None:
    """Whatever was honest: readings with the worst lies taken out again leave no more than eps open."""
    algorithm = told(name)
    instance = algorithm.instances[WHOLE[name]]
    rec = algorithm.recommend().index
    least = algorithm.price(0.0, x=X[rec]).least_eps
    found = algorithm.price(least + 0.05, x=X[rec])
    assert 0.0 < found.value < math.inf
    rows = np.array(
        [instance.posterior.tally.row[int(np.argmin(abs(X - one.u)))] for one in algorithm.readings]
    )
    weights = instance.source(rec).differences.weights(
        np.arange(len(X)), rows, np.full(len(rows), ASSUMED.lam)
    )
    left_open = []
    for total in (found.value, found.value + 0.02):
        worst = 0.0
        for column in np.delete(weights, rec, axis=1).T:
            lies = corruption(column, total, CAP)
            honest = again(algorithm, name, {k: lie for k, lie in enumerate(lies.tolist(), 1)})
            worst = max(worst, honest.price(1.0, x=X[rec]).least_eps)
        left_open.append(worst)
    assert left_open[0] == pytest.approx(found.eps, abs=1e-7)
    assert left_open[1] > found.eps + 1e-4


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_certificate_is_never_above_that_of_the_single_bounds(name: str) -> None:
    is_less = False
    for seed in range(3):
        algorithm = told(name, seed, 20)
        for x in X:
            best = algorithm.recommend(x=x)
            single = max(algorithm.bounds()[1].max() - best.lower, 0.0)
            assert best.regret_bound <= single
            is_less |= best.regret_bound < 0.9 * single
    assert is_less or ALGORITHMS[name].trusted == ()  # nothing is said of differences there


def regret_and(seed: int, eps_of: Any) -> tuple[float, float | None, float, float]:
    """A game against a liar who sees the noise: regret of a point, its certificate, a price, all lies.

    It lifts a point that is not the best one and lowers the best, until it has spent what it has.
    """
    rng = np.random.default_rng([8, seed])
    f, algorithm = random_function(KERNEL, X, rng, 1.0), built("robust")
    decoy, left = int(rng.integers(len(X))), 1.0
    for _ in range(25):
        query = algorithm.ask()
        noise = 0.05 * rng.standard_normal()
        sign = 1.0 if abs(query.index - decoy) < 2 else -1.0
        lie = sign * min(left, CAP) if noise * sign > 0.0 else 0.0
        left -= abs(lie)
        algorithm.tell(query, float(f[query.index] + noise + lie))
    best = algorithm.recommend(x=X[decoy])
    regret = float(f.max() - f[decoy])
    found = algorithm.price(eps_of(regret), x=X[decoy])
    return regret, best.regret_bound, found.value or 0.0, 1.0 - left


def n_broken(n_games: int) -> tuple[int, int]:
    """In how many games a certificate is too small, and a price of less than the regret too high."""
    games = [regret_and(seed, lambda regret: regret * (1.0 - 1e-9)) for seed in range(n_games)]
    certificates = sum(regret > (bound or math.inf) + 1e-9 for regret, bound, _, _ in games)
    return certificates, sum(value >= spent and regret > 0.0 for regret, _, value, spent in games)


def test_certificates_and_prices_hold_against_a_liar_who_sees_the_noise() -> None:
    certificates, prices = n_broken(60)
    assert not is_too_often(certificates, 60, DELTA)
    assert not is_too_often(prices, 60, DELTA)


def test_control_prices_that_take_the_noise_off_are_too_high(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Differences, "noise", lambda self, *_: -4.0 * self.sigma)
    assert is_too_often(n_broken(60)[1], 60, DELTA)


@pytest.mark.parametrize("name", WHOLE)
def test_a_price_says_what_it_found_in_words(name: str) -> None:
    algorithm = told(name)
    found = algorithm.price(0.5)
    assert sentence(found).startswith(f"Lies totalling less than {found.without_cap:.4g} (")
    assert "could not have made another point better by more than 0.5 (with prob" in sentence(found)
    more = f"If no single lie exceeds {CAP} (c_max): less than {found.value:.4g}."
    assert found.without_cap <= found.value
    assert (more in str(found)) == (found.value > CAP)
    assert found.probability == pytest.approx(1.0 - algorithm.policy.budgets[WHOLE[name]].delta)
    open_ = algorithm.price(0.0)
    assert open_.value is open_.without_cap is None
    assert f"Even if nobody lied, another point could be better by up to {open_.least_eps:.4g}: " in (
        str(open_)
    )
    capped = algorithm.price(50.0)
    assert capped.value == math.inf > capped.without_cap
    assert f"without it, lies totalling {capped.without_cap:.4g} leave it open" in str(capped)


def test_a_price_is_told_in_other_units() -> None:
    algorithm = told("robust")
    one, other = algorithm.price(0.5), algorithm.price(5.0, units=Units(3.0, 10.0, -1.0))
    for name in ("value", "without_cap", "least_eps", "bribe"):
        assert getattr(other, name) == pytest.approx(10.0 * getattr(one, name))
    assert other.lies == pytest.approx({t: -10.0 * lie for t, lie in one.lies.items()})
    assert f"less than {other.without_cap:.4g} (" in sentence(other)
    assert f"If no single lie exceeds 8 (c_max): less than {other.value:.4g}." in str(other)
    assert algorithm.price(5.0, units=Units(3.0, 10.0, -1.0, limit=1e-6)).bribe is None


def test_layers_price_the_readings_of_the_top_layer_and_say_so() -> None:
    algorithm = told("layered")
    top = list(algorithm.instances)[-1]
    n = algorithm.instances[top].n_readings
    assert f"All this is about the {n} readings that {top} holds" in str(algorithm.price(3.0))
    one = ALGORITHMS["layered"](ub.Grid(X), ASSUMED, T=1024, seed=0)
    one.tell(one.ask(), 0.1)
    assert one.price(0.5).value is one.price(0.5).bribe is None
    assert "which has none" in str(one.price(0.5))


def test_on_a_box_the_price_compares_with_candidates_and_says_so() -> None:
    algorithm = ub.RobustGPUCB(ub.Box([0.0], [1.0], n_candidates=32), ASSUMED, C=1.0)
    for _ in range(30):
        query = algorithm.ask()
        algorithm.tell(query, float(np.sin(2.0 * query.x[0])) / 2.0)
    found = algorithm.price(0.5)
    assert found.value > 0.0
    assert f"another of the {algorithm.candidates.n} candidates better" in str(found)
    assert "Between the candidates f may be higher" in str(found)


def test_there_is_no_price_from_an_instance_that_is_behind() -> None:
    algorithm = told("robust")
    late = algorithm.ask()
    algorithm.tell(algorithm.ask(), 0.0)
    before = algorithm.price(0.5)
    assert before.value is before.probability is before.bribe is None
    assert "No price yet" in str(before)
    assert "tell that round's reading, or give it up" in str(before)
    algorithm.tell(late, 0.0)
    assert algorithm.price(0.5).value > 0.0


@pytest.mark.parametrize("name", ALGORITHMS)
def test_there_is_no_price_where_nothing_is_guaranteed(name: str) -> None:
    free = told(name, beta=2.0).price(0.5)
    assert free.value is free.probability is None
    assert "beta was given" in str(free)
    selected = told(name)
    selected.retract(3)
    assert selected.price(0.5).value is None
    assert "taken out" in str(selected.price(0.5))


def test_there_is_no_price_once_the_assumptions_are_refuted() -> None:
    algorithm = built("robust")
    with pytest.warns(ub.AssumptionsRefuted):
        algorithm.learn([reading_of(algorithm, t, X[0], 50.0) for t in range(1, 7)])
    assert algorithm.price(0.5).value is None
    assert "refuted" in str(algorithm.price(0.5))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_asking_for_a_price_changes_nothing(name: str) -> None:
    asked, silent = told(name), told(name)
    asked.price(0.5)
    asked.recommend()
    for one, other in zip(asked.instances.values(), silent.instances.values(), strict=True):
        np.testing.assert_array_equal(one.mu, other.mu)
        np.testing.assert_array_equal(one.posterior.R, other.posterior.R)


def test_a_missing_reading_is_a_condition_of_the_price() -> None:
    algorithm = told("robust")
    algorithm.forget(algorithm.ask())
    assert "if the one missing reading is not missing because of its value)." in (
        sentence(algorithm.price(0.5))
    )


# --- the words are true as they stand ----------------------------------------------------------------


def prices_against_one_lie(seed: int) -> list[tuple[float, float, float, bool]]:
    """One lie at the best point, larger than c_max: its size, a price as said, as a value, if it fools.

    Of each price that is established for some eps; the lie fools if a point is better by more than eps.
    """
    rng, points, kernel = np.random.default_rng(seed), np.linspace(0.0, 1.0, 11)[:, None], CAPPED.kernel
    centres, heights = rng.random((4, 1)), rng.standard_normal(4)
    f = kernel(points, centres) @ heights / np.sqrt(heights @ kernel(centres, centres) @ heights)
    top, lie = int(np.argmax(f)), float(rng.uniform(0.3, 1.0))
    algorithm = ub.RobustGPUCB(ub.Grid(points), CAPPED, C=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ub.AssumptionsRefuted)
        for i in rng.permutation(11):
            y = f[i] + 1e-3 * rng.standard_normal() - (lie if i == top else 0.0)
            algorithm.tell(x=points[i], y=float(y))
    found = [algorithm.price(eps) for eps in (0.01, 0.02, 0.05, 0.1, 0.2)]
    return [
        (lie, float(sentence(each).split()[4]), each.value, f.max() - f[each.index] > each.eps)
        for each in found
        if each.value is not None and each.value < math.inf
    ]


CAPPED = replace(ASSUMED, kernel=ub.Matern(2.5, 0.3), noise_std=1e-3, lam=1e-3, delta=0.1, c_max=0.1)


@pytest.mark.parametrize(
    "seeds", [(17, 138, 255), pytest.param(range(400), marks=pytest.mark.long)], ids=["few", "many"]
)
def test_a_price_that_is_said_without_the_cap_is_true_of_lies_beyond_it(seeds: Any) -> None:
    """The total that rests on c_max would not be: that a single lie could be so large is left open."""
    prices = [price for seed in seeds for price in prices_against_one_lie(seed)]
    assert not any(lie < said and is_fooled for lie, said, _, is_fooled in prices)
    assert any(lie < value and is_fooled for lie, _, value, is_fooled in prices)


@pytest.mark.parametrize(
    ("value", "spread", "words"),
    [
        (0.4, 1.0, " (one reading off by 40 % of the whole range)"),
        (1.4, 1.0, " (one reading off by 140 % of the whole range)"),
        (1.9, 1.0, " (one reading off by the whole range)"),
        (2.9, 1.0, " (2 readings off by the whole range)"),
        (2.0, 0.0, ""),
    ],
)
def test_the_bracket_names_no_more_than_the_total(value: float, spread: float, words: str) -> None:
    assert _in_readings(value, spread) == words


def test_the_price_in_lies_is_the_least_number_with_which_a_candidate_can_be_better() -> None:
    """Also where the total is open, and it says the same in words."""
    algorithm, rng = ub.QuorumGPUCB(ub.Grid(X), ASSUMED, n_lies=1, seed=0), np.random.default_rng(0)
    f = random_function(KERNEL, X, rng, 1.0)
    for k in range(40):
        algorithm.tell(x=X[k % len(X)], y=float(f[k % len(X)] + 0.05 * rng.standard_normal()))
    best = algorithm.recommend()
    assert best.lies is not None
    open_by = [best.lies.better(k) for k in range(6)]
    assert open_by == sorted(open_by)
    for k in (1, 3, 5):
        found = algorithm.price(0.999 * open_by[k], x=best.x)
        n = next(j for j in range(6) if open_by[j] > 0.999 * open_by[k])
        assert found.n_needed == n
        if n:
            said = f"At least {n} of the 40 readings would have to be lies, of"
            assert sentence(found).startswith(said)
        else:
            assert sentence(found).startswith("Even if nobody lied, ")
    assert told("robust", 0).price(0.1).n_needed is None


def test_a_bribe_through_a_reading_that_was_cut_is_not_named() -> None:
    """What it takes depends on what was told, and the algorithm knows only where it was cut."""
    is_inward, is_outward = False, False
    for seed in range(4):
        algorithm = told("robust", seed)
        cheapest, told_as = algorithm.price(0.1), {each.t: each.y for each in algorithm.readings}
        t, lie = max(cheapest.lies.items(), key=lambda item: abs(item[1]))
        is_inward |= lie * told_as[t] < 0.0
        is_outward |= lie * told_as[t] > 0.0
        assert algorithm.price(0.1, units=Units(limit=10.0)).bribe == cheapest.bribe
        at_the_cut = algorithm.price(0.1, units=Units(limit=abs(told_as[t])))
        assert at_the_cut.bribe is None
        assert at_the_cut.lies == {}
        assert "told differently" not in str(at_the_cut)
    assert is_inward
    assert is_outward


def winner_of(indices: list[int], y: list[float], assumed: ub.Assumptions) -> tuple[int, Any]:
    """The point that looks best to an audit, and the price of that."""
    audit = ub.audit(CUT_X[indices], y, ub.Grid(CUT_X), assumptions=assumed, corruption=2.0)
    return int(np.argmax(audit.result.engine.algorithm().instances["main"].mu)), audit.price(0.01)


CUT_X = np.linspace(0.0, 1.0, 12)[:, None]


def test_a_bribe_that_an_audit_names_would_have_worked() -> None:
    n_named, kernel = 0, ub.SquaredExponential(0.2)
    assumed = ub.Assumptions(kernel, B=1.0, B0=1.0, noise_std=0.05, lam=0.05, c_max=math.inf)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        centres, heights = rng.random((3, 1)), rng.standard_normal(3)
        norm = np.sqrt(heights @ kernel(centres, centres) @ heights)
        f = kernel(CUT_X, centres) @ heights / norm
        indices = list(range(12))
        y = [float(f[i] + 0.05 * rng.standard_normal()) for i in (*indices, *indices)][:12]
        y[int(rng.integers(12))] += 1.0
        before, found = winner_of(indices, y, assumed)
        if found.lies:
            n_named += 1
            other = [value + 1.01 * found.lies.get(t, 0.0) for t, value in enumerate(y, 1)]
            assert winner_of(indices, other, assumed)[0] != before
    assert n_named > 6
