"""Readings that come late, never come, or were learned when nothing was guaranteed any more."""

import json
import warnings
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from contracts.members import ALGORITHMS, algorithms
from doubted import suspects_of
from told import reading_of
from unbribable.decision.proven.certain import certain
from unbribable.say.reasons import evidence

X = np.linspace(0.0, 1.0, 20)[:, None]
GRID = ub.Grid(X)
BOX = ub.Box([0.0], [1.0], n_candidates=16)
KERNEL = ub.Matern(2.5, 0.3)
ASSUMED = ub.Assumptions(KERNEL, B=2.0, B0=2.0, noise_std=0.1, lam=0.05, c_max=0.5)
MAKERS = algorithms(assumptions=ASSUMED, C=2.0, T=16, seed=3)
ALL = pytest.mark.parametrize("name", MAKERS)
EVERYWHERE = pytest.mark.parametrize("domain", [GRID, BOX], ids=["grid", "box"])


def truth(x: np.ndarray) -> float:
    return float(np.sin(6.0 * x[0]))


def bounds(algorithm: Any) -> dict[str, np.ndarray]:
    return {
        label: np.stack([instance.ucb_bar, instance.lcb_bar])
        for label, instance in algorithm.instances.items()
    }


# --- late readings ---------------------------------------------------------------------------------


@ALL
def test_bounds_wait_for_an_earlier_round_and_then_rest_on_all(name: str) -> None:
    """Readings after an open round change no bound; the one that closes it lets all of them count."""
    algorithm = MAKERS[name](GRID)
    first = algorithm.ask()
    later = [algorithm.ask() for _ in range(8)]
    before = bounds(algorithm)
    for query in later:
        algorithm.tell(query, truth(query.x))
    np.testing.assert_equal(bounds(algorithm), before)
    assert algorithm.summary()["waiting"] == 8
    assert "8 readings told after a round that is still open" in algorithm.recommend().guarantee
    algorithm.tell(first, truth(first.x))
    assert algorithm.summary()["waiting"] == 0
    assert "still open" not in algorithm.recommend().guarantee
    for label, instance in algorithm.instances.items():
        if instance.n_readings:
            width = instance.width  # solves what was left open
            upper = np.minimum(before[label][0], np.minimum(instance.mu + width, instance.now.ucb))
            np.testing.assert_allclose(instance.ucb_bar, upper, atol=1e-8)


@EVERYWHERE
@ALL
def test_the_order_of_telling_decides_about_no_bound(name: str, domain: Any) -> None:
    """Asked together and told in any order, the rounds leave the same bounds at the first candidates."""
    found = []
    for order in ([0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [2, 5, 0, 3, 1, 4]):
        algorithm = MAKERS[name](domain)
        queries = [algorithm.ask() for _ in range(6)]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for k in order:
                algorithm.tell(queries[k], truth(queries[k].x) + 0.05 * k)
        found.append(bounds(algorithm))
    n = 16  # candidates that are there whatever is told first
    for label, one in found[1].items():
        np.testing.assert_allclose(one[:, :n], found[2][label][:, :n], atol=1e-8)


def test_what_is_recommended_rests_on_every_reading_though_its_interval_does_not_yet() -> None:
    """A query that never comes back costs the certificate, not the choice."""
    algorithm = MAKERS["robust"](GRID)
    algorithm.ask()
    for _ in range(40):
        query = algorithm.ask()
        algorithm.tell(query, truth(query.x))
    best = algorithm.recommend()
    assert truth(best.x) > 0.9
    assert best.regret_bound == pytest.approx(4.0)
    algorithm.forget(1)
    assert algorithm.recommend().regret_bound < 2.0


# --- missing readings ------------------------------------------------------------------------------


@EVERYWHERE
@ALL
def test_a_missing_reading_is_counted_in_every_promise(name: str, domain: Any) -> None:
    """By forget or by lose; one has a sentence of its own; it is kept in the state."""
    algorithm = MAKERS[name](domain)
    for k in range(6):
        query = algorithm.ask()
        if k == 2:
            algorithm.forget(query)
        else:
            algorithm.tell(query, truth(query.x))
    one = "and if the one missing reading is not missing because of its value"
    assert one in algorithm.recommend().guarantee
    algorithm.lose(7)
    algorithm.lose(7)
    many = "and if none of the 2 missing readings is missing because of its value"
    assert algorithm.summary()["lost"] == [3, 7]
    plain = algorithm.state()
    plain["readings"] = {key: np.asarray(part).tolist() for key, part in plain["readings"].items()}
    again = MAKERS[name](domain).restore(json.loads(json.dumps(plain)))
    for each in (algorithm, again):
        assert many in each.recommend().guarantee
        assert many in str(each.regret_certificate())
        assert each.recommend().regret_bound == algorithm.recommend().regret_bound is not None
    np.testing.assert_equal(bounds(again), bounds(algorithm))
    assert algorithm.ask().t == again.ask().t == 8


@ALL
def test_a_reading_lost_because_of_its_value_voids_everything_unless_it_is_taken_back(name: str) -> None:
    """Pruning looks at the value; the statement that it did not is the caller's."""
    algorithm = MAKERS[name](GRID)
    query = algorithm.ask()
    algorithm.tell(query, 0.3)
    algorithm.lose(2, because_of_value=True)
    assert algorithm.journal.selection is not None
    best, certificate = algorithm.recommend(), algorithm.regret_certificate()
    assert best.regret_bound is best.probability is certificate.value is None
    assert (
        best.guarantee
        == "No guarantee: 1 reading is missing because of its value, as with pruned trials and "
        "infinite values."
    )
    algorithm.lose(2, because_of_value=False)
    assert algorithm.recommend().regret_bound is not None


def test_what_was_told_cannot_be_lost_and_what_was_lost_cannot_be_told() -> None:
    """Each is refused, and nothing changes."""
    algorithm = MAKERS["robust"](GRID)
    algorithm.tell(algorithm.ask(), 0.1)
    gone = algorithm.ask()
    algorithm.forget(gone)
    with pytest.raises(RuntimeError, match="round 1 was told already; retract"):
        algorithm.lose(1)
    with pytest.raises(RuntimeError, match="round 2 was given up"):
        algorithm.learn(reading_of(algorithm, 2, X[3], 0.1))
    with pytest.raises(RuntimeError, match="not asked here"):
        algorithm.tell(gone, 0.1)
    for t, error in (("3", TypeError), (0, ValueError), (True, TypeError)):
        with pytest.raises(error, match="t must be"):
            algorithm.lose(t)
    with pytest.raises(TypeError, match="because_of_value must be True or False"):
        algorithm.lose(3, because_of_value="no")
    assert (algorithm.summary()["lost"], algorithm.summary()["told"]) == ([2], 1)


def test_a_certain_lie_says_what_it_supposes_about_missing_readings() -> None:
    """A reading outside the bounds is corrupted for certain only if nothing was withheld by value."""
    algorithm = ub.RobustGPUCB(GRID, ASSUMED, C=0.6)
    for k in range(40):
        algorithm.tell(x=X[10], y=truth(X[10]) - 0.6 * (k == 20))
    suspect = suspects_of(algorithm)[0]
    assert (suspect.t, suspect.is_certain) == (21, True)
    assert [*certain(algorithm)] == [21]
    assert not any("missing" in words for words in evidence(suspect))
    algorithm.lose(41)
    suspect = suspects_of(algorithm)[0]
    assert suspect.is_certain
    assert "and if the one missing reading" in evidence(suspect)[-1]
    algorithm.lose(41, because_of_value=True)
    assert not certain(algorithm)


# --- refuted layers --------------------------------------------------------------------------------


def test_layers_learn_nothing_from_what_was_told_while_they_were_refuted() -> None:
    """One accident refutes all; taken back, it must not leave lies with a layer of small budget."""
    kernel = ub.SquaredExponential(0.15)
    points, centres, heights = np.linspace(0, 1, 40)[:, None], np.array([[0.2], [0.75]]), [0.6, 0.8]
    f = kernel(points, centres) @ heights
    norm = float(np.sqrt(heights @ kernel(centres, centres) @ heights))
    assumed = ub.Assumptions(kernel, B=norm, B0=1.0, noise_std=0.01, lam=0.01)
    best = points[np.argmax(f), 0]
    algorithm = ub.LayeredGPUCB(ub.Grid(points), assumed, T=64, seed=2, with_all=False)
    rng, accident, n_lies = np.random.default_rng(2), None, 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ub.AssumptionsRefuted)
        for _ in range(64):
            query = algorithm.ask()
            y = f[query.index] + 0.01 * rng.standard_normal()
            if accident is None and query.instance == "layer-6":
                accident, y = query.id, 40.0
            elif accident is not None:
                y += -1.0 if abs(query.x[0] - best) < 0.2 else 1.0
                n_lies += 1
            algorithm.tell(query, float(y))
    assert accident is not None
    assert algorithm.refuted == accident
    assert n_lies > 20
    algorithm.retract(accident, unrelated_to_value=True)
    assert algorithm.refuted is None
    taught = [reading.learner for reading in algorithm.readings if reading.t > accident]
    assert taught == [None] * n_lies
    found = algorithm.recommend(C=64)
    assert found.lower <= f[found.index] <= found.upper
    assert f.max() - f[found.index] <= found.regret_bound
    again = ub.LayeredGPUCB(ub.Grid(points), assumed, T=64, seed=2, with_all=False).restore(
        algorithm.state()
    )
    assert again.recommend(C=64).regret_bound == found.regret_bound


# --- the words -------------------------------------------------------------------------------------


def refuted(name: str) -> Any:
    algorithm = MAKERS[name](GRID)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(60):
            algorithm.tell(x=X[0], y=8.0 if k % 2 else -8.0)
    (said,) = (str(entry.message) for entry in caught)
    assert "with probability at most 0.1" in said
    assert "no function" not in said
    return algorithm


@ALL
def test_a_refuted_run_prints_no_interval_and_no_certainty(name: str) -> None:
    """A contradiction may come by chance, and bounds that cross are no interval."""
    algorithm = refuted(name)
    best = algorithm.recommend()
    assert best.lower is best.upper is best.regret_bound is None
    assert np.isnan(best.interval).all()
    assert "contradicted with probability at most 0.1" in best.guarantee
    assert algorithm.summary()["recommendation"]["lower"] is None


@pytest.mark.parametrize(
    ("C", "words"), [(2.0, "at most 2 and no single lie above 0.5"), (0.4, "at most 0.4,")]
)
def test_the_guarantee_names_the_cap_of_a_single_lie_where_it_says_more(C: float, words: str) -> None:
    algorithm = ub.RobustGPUCB(GRID, ASSUMED, C=C)
    algorithm.tell(algorithm.ask(), 0.1)
    assert words in algorithm.recommend().guarantee
    assert ("no single lie" in algorithm.recommend().guarantee) == (C > 0.5)


@ALL
def test_the_papers_rule_knows_the_bounds_of_rounds_that_a_host_chose(name: str) -> None:
    """`learn` takes the lower bound before the reading, so the best round is not just the first."""
    algorithm = MAKERS[name](GRID)
    label, _ = algorithm.draws[0]
    for t, i in enumerate([0, 5, 5, 5, 5, 5, 19], 1):
        algorithm.learn(reading_of(algorithm, t, X[i], truth(X[i]), label, "algorithm"))
    lcbs = [reading.lcb for reading in algorithm.readings]
    assert np.isfinite(lcbs).all()
    if ALGORITHMS[name].trusted == ():  # a single instance's bound is not to be trusted there
        return
    assert (
        algorithm.recommend(rule="paper").index
        == algorithm.candidates.index_of(algorithm.readings[int(np.argmax(lcbs))].u)
        == 5
    )
