"""state() and restore(): a restored algorithm continues exactly as the uninterrupted one."""

import copy
import itertools
import json
import math
import pickle
import warnings
from collections.abc import Callable
from dataclasses import astuple, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import unbribable as ub
from contracts.members import ALGORITHMS, algorithms

POINTS = np.random.default_rng(8).random((20, 2))
DOMAIN = ub.Grid(POINTS)
F = np.cos(4.0 * POINTS[:, 0]) * np.sin(3.0 * POINTS[:, 1] + 0.5)
ASSUMED = ub.Assumptions(
    ub.Matern(2.5, 0.5), B=2.0, B0=1.0, noise_std=0.1, lam=0.02, delta=0.1, c_max=0.8
)

LETTER = {"width": "paper", "noise": "paper", "tail": "paper", "gain": "certified"}
FAMILIES: dict[str, dict[str, Any]] = {
    "default": {},
    "letter": LETTER,
    "capped": {"width": "capped", "noise": "tight", "tail": "paper"},
    "certified": {"gain": "certified"},
    "beta": {"beta": 1.5},
    "function": {"beta": lambda t: 1.0 + 0.1 * math.log(t)},
}


MAKERS = algorithms(domain=DOMAIN, assumptions=ASSUMED, C=2.5, T=30, seed=6)
ALL = pytest.mark.parametrize("name", MAKERS)


def make(name: str, **words: Any) -> Any:
    """A new algorithm of that name; where lies are counted it allows for all that are told here."""
    if "n_lies" in ALGORITHMS[name].words:
        words = {"n_lies": 12, **words}
    return MAKERS[name](**words)


def as_json(state: dict[str, Any]) -> dict[str, Any]:
    """The state through a JSON text and back."""
    plain = copy.deepcopy(state)
    plain["readings"] = {
        name: column.tolist() if isinstance(column, np.ndarray) else column
        for name, column in plain["readings"].items()
    }
    return json.loads(json.dumps(plain))


def assert_same(one: Any, other: Any) -> None:
    """Equal bit for bit: rounds, pending queries and every number of every instance."""
    assert (one.t, one.detected, one.refuted) == (other.t, other.detected, other.refuted)
    told = [[astuple(reading) for reading in run.readings] for run in (one, other)]
    np.testing.assert_equal(*told)  # to which a nan is equal to a nan
    assert one.journal.retracted == other.journal.retracted
    assert [vars_of(query) for query in one.pending] == [vars_of(query) for query in other.pending]
    for label, instance in one.instances.items():
        double = other.instances[label]
        for field in ("mu", "sigma", "noise", "ucb_bar", "lcb_bar", "width"):
            np.testing.assert_array_equal(getattr(instance, field), getattr(double, field))
        assert instance.posterior.gain == double.posterior.gain
        assert instance.n_readings == double.n_readings
    np.testing.assert_array_equal(getattr(one, "maximisers", 0), getattr(other, "maximisers", 0))


def vars_of(query: ub.Query) -> dict[str, Any]:
    """A query as comparable data."""
    return {**vars(query), "x": query.x.tolist(), "u": query.u.tolist()}


def step(algorithm: Any, k: int) -> ub.Query | None:
    """Round k of an eventful run: asks told late and out of order, foreign readings, own noise, lies."""
    noise = 0.1 * np.random.default_rng(k).normal()
    if k % 7 == 3:
        i = (5 * k) % DOMAIN.n
        algorithm.tell(x=POINTS[i], y=F[i] + noise)
        return None
    query = algorithm.ask()
    lie = -0.8 if k % 5 == 0 else 0.0
    if k % 6 == 2:
        return query
    own = 0.2 if k % 4 == 1 and algorithm.options.gain == "realised" else None
    algorithm.tell(query, F[query.index] + noise + lie, noise_std=own)
    if k % 6 == 5:
        late = algorithm.pending[-1]
        algorithm.tell(late.id, F[late.index] + noise)
    return query


def assert_same_query(one: ub.Query | None, other: ub.Query | None) -> None:
    """All fields, bit for bit."""
    assert (one is None) == (other is None)
    if one is not None and other is not None:
        assert vars_of(one) == vars_of(other)


IN_TURN = list(zip(MAKERS, itertools.cycle(FAMILIES)))
CROSSES = [
    pytest.param(*each, marks=() if each in IN_TURN else pytest.mark.long)
    for each in itertools.product(MAKERS, FAMILIES)
]


@pytest.mark.parametrize(("name", "family"), CROSSES)
def test_a_restored_run_continues_bit_for_bit(name: str, family: str) -> None:
    """Saved at several rounds, through JSON, with pending queries and foreign readings."""
    words = FAMILIES[family]
    whole = make(name, **words)
    saved: dict[int, dict[str, Any]] = {}
    asked: list[ub.Query | None] = []
    for k in range(70):
        if k in (1, 9, 33):
            saved[k] = as_json(whole.state())
        asked.append(step(whole, k))
    assert len(whole.pending) > 0
    for k, state in saved.items():
        resumed = make(name, **words).restore(state)
        for j in range(k, 70):
            assert_same_query(step(resumed, j), asked[j])
        assert_same(resumed, whole)
        assert as_json(resumed.state()) == as_json(whole.state())


@ALL
def test_copies_and_pickles_go_on_separately_bit_for_bit(name: str) -> None:
    """What a run keeps in growing buffers belongs to the copy, too, and so does the next proposal."""
    whole = make(name)
    for k in range(20):
        step(whole, k)
    whole.propose()
    others = [copy.deepcopy(whole), pickle.loads(pickle.dumps(whole))]
    for k in range(20, 45):
        asked = step(whole, k)
        for other in others:
            assert_same_query(step(other, k), asked)
    for other in others:
        assert_same(other, whole)


@ALL
def test_a_restored_run_equals_the_saved_one_at_once(name: str) -> None:
    """Before anything else happens, and whatever was proposed or recommended in between."""
    algorithm = make(name)
    for k in range(40):
        step(algorithm, k)
        algorithm.propose()
        algorithm.recommend()
    resumed = make(name).restore(algorithm.state())
    assert_same(resumed, algorithm)
    choices = ("lcb", "paper") if ALGORITHMS[name].trusted != () else ("lcb",)
    for choice in choices:
        one, other = resumed.recommend(rule=choice), algorithm.recommend(rule=choice)
        assert (one.index, one.lower, one.upper, one.regret_bound) == (
            other.index,
            other.lower,
            other.upper,
            other.regret_bound,
        )
    assert resumed.summary() == algorithm.summary()


@ALL
def test_long_runs_survive_their_drift_checks(name: str) -> None:
    """Past 256 readings, where the posterior checks itself and may rebuild."""
    algorithm = make(name)
    for k in range(280):
        query = algorithm.ask()
        algorithm.tell(query, F[query.index] + 0.05 * (-1.0) ** k)
    resumed = make(name).restore(as_json(algorithm.state()))
    for _ in range(40):
        one, other = resumed.ask(), algorithm.ask()
        assert_same_query(one, other)
        resumed.tell(one, F[one.index])
        algorithm.tell(other, F[one.index])
    assert_same(resumed, algorithm)


@pytest.mark.parametrize("name", ["fast-slow", "layered"])
def test_a_run_without_a_seed_takes_its_secret_along(name: str) -> None:
    """Fresh entropy is in the state; a new algorithm without a seed takes it over."""
    algorithm = make(name, seed=None)
    for k in range(10):
        step(algorithm, k)
    resumed = make(name, seed=None).restore(as_json(algorithm.state()))
    assert [resumed.ask().instance for _ in range(50)] == [algorithm.ask().instance for _ in range(50)]


def test_a_spawned_seed_is_restored() -> None:
    """Entropy and spawn key both."""
    child = np.random.SeedSequence([1, 2]).spawn(3)[2]
    algorithm = ub.LayeredGPUCB(DOMAIN, ASSUMED, T=30, seed=child, with_all=False)
    algorithm.tell(algorithm.ask(), 0.0)
    resumed = ub.LayeredGPUCB(DOMAIN, ASSUMED, T=30, with_all=False).restore(as_json(algorithm.state()))
    assert [resumed.ask().instance for _ in range(50)] == [algorithm.ask().instance for _ in range(50)]


def test_refutation_and_detection_are_restored() -> None:
    """The rounds in which they happened; the refutation is said again to the new owner."""
    algorithm = make("fast-slow")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ub.AssumptionsRefuted)
        for k in range(120):
            query = algorithm.ask()
            algorithm.tell(query, (F[query.index] + 2.0) * (-1.0) ** (k // 30))
    assert algorithm.refuted is not None
    assert algorithm.detected is not None
    resumed = make("fast-slow")
    with pytest.warns(ub.AssumptionsRefuted) as caught:
        resumed.restore(as_json(algorithm.state()))
    assert len(caught) == 1
    assert_same(resumed, algorithm)


@ALL
def test_the_state_is_plain_data(name: str) -> None:
    """JSON takes it once the arrays are lists; the only NaN is the lcb nobody looked at."""
    algorithm = make(name)
    for k in range(12):
        step(algorithm, k)
    state = algorithm.state()
    assert set(state) == {"format", "identity", "seed", "t", "readings", "pending", "retracted", "lost"}
    for column, values in state["readings"].items():
        assert isinstance(values, list if column in ("instance", "drawn", "chosen_by") else np.ndarray)
        assert len(values) == len(algorithm.readings)
    assert np.isnan(state["readings"]["lcb"]).sum() == state["readings"]["chosen_by"].count("user") > 0
    assert as_json(state)["t"] == algorithm.t


def test_a_state_with_an_option_that_was_left_at_nothing_is_read_without_it() -> None:
    state = make("fast-slow").state()
    state["identity"]["revisit"] = 0.0
    make("fast-slow").restore(state)


def test_a_state_that_does_not_say_what_it_was_built_with_is_refused() -> None:
    state = make("fast-slow").state()
    del state["identity"]["share"]
    with pytest.raises(ValueError, match=r"share must be the saved one, None, got share=1\.0"):
        make("fast-slow").restore(state)


def test_a_state_is_a_copy() -> None:
    """Going on does not change it, and changing it does not change the algorithm."""
    algorithm = make("fast-slow")
    for k in range(5):
        step(algorithm, k)
    state = algorithm.state()
    text = json.dumps(as_json(state))
    for k in range(5, 12):
        step(algorithm, k)
    assert json.dumps(as_json(state)) == text
    later = json.dumps(as_json(algorithm.state()))
    changed = algorithm.state()
    changed["readings"]["y"][:] = 5.0
    changed["pending"].clear()
    changed["identity"]["C"] = 99.0
    assert json.dumps(as_json(algorithm.state())) == later


# --- refused states --------------------------------------------------------------------------------


def used(name: str) -> Any:
    """Ten eventful rounds; the ninth query is pending."""
    algorithm = make(name)
    for k in range(10):
        step(algorithm, k)
    assert [query.id for query in algorithm.pending] == [9]
    return algorithm


OTHERS: dict[str, tuple[str, Callable[[], Any], str]] = {
    "algorithm": (
        "gp-ucb",
        lambda: make("robust", C=0.0),
        "algorithm must be the saved one, 'GPUCB', got algorithm='RobustGPUCB'",
    ),
    "domain": (
        "gp-ucb",
        lambda: make("gp-ucb", domain=ub.Grid(POINTS + 1.0)),
        "domain must be the saved",
    ),
    "order": (
        "gp-ucb",
        lambda: make("gp-ucb", domain=ub.Grid(POINTS[::-1])),
        "domain must be the saved",
    ),
    "kernel": (
        "gp-ucb",
        lambda: make("gp-ucb", assumptions=replace(ASSUMED, kernel=ub.Matern(2.5, 0.6))),
        "kernel must be the saved one.*0.5.*0.6",
    ),
    "C": ("robust", lambda: make("robust", C=4.0), "C must be the saved one, 2.5.*4.0"),
    "alpha": (
        "fast-slow",
        lambda: make("fast-slow", alpha=3.0),
        "alpha must be the saved one, 2.0.*3.0",
    ),
    "with_all": (
        "fast-slow",
        lambda: make("fast-slow-with-all"),
        "with_all must be the saved one, False.*True",
    ),
    **{
        name: (
            "fast-slow-dials",
            lambda name=name: make("fast-slow-dials", **{name: 0.2}),
            f"{name} must be the saved one, {saved}.*0.2",
        )
        for name, saved in {"share": 0.8, "trust": 0.3}.items()
    },
    "T": (
        "layered",
        lambda: make("layered", T=31),
        "T must be the saved one, 30.*31",
    ),
    "seed": ("layered", lambda: make("layered", seed=7), "seed must be the saved one"),
    **{
        name: (
            "gp-ucb",
            lambda name=name, value=value: make("gp-ucb", assumptions=replace(ASSUMED, **{name: value})),
            f"{name} must be the saved one, {getattr(ASSUMED, name)}.*{value}",
        )
        for name, value in {
            "B": 2.5,
            "B0": 1.5,
            "noise_std": 0.2,
            "lam": 0.5,
            "delta": 0.05,
            "c_max": 0.9,
        }.items()
    },
    **{
        name: (
            "layered",
            lambda name=name, value=value: make("layered", **{name: value}),
            f"{name} must be the saved one.*{value}",
        )
        for name, value in {
            "width": "paper",
            "noise": "paper",
            "tail": "paper",
            "gain": "certified",
            "beta": 2.0,
        }.items()
    },
}


@pytest.mark.parametrize("field", OTHERS)
def test_a_state_of_other_arguments_is_refused_by_name(field: str) -> None:
    """And the new algorithm is still new: it takes the right state afterwards, if it can."""
    name, build, message = OTHERS[field]
    algorithm = build()
    before = as_json(algorithm.state())
    with pytest.raises(ValueError, match=message):
        algorithm.restore(used(name).state())
    assert as_json(algorithm.state()) == before
    assert algorithm.ask().t == 1


@ALL
def test_a_used_algorithm_is_not_restored(name: str) -> None:
    """Even one asked but not told, or told a foreign reading only."""
    state = used(name).state()
    asked, told = make(name), make(name)
    asked.ask()
    told.tell(x=POINTS[0], y=0.0)
    for algorithm in (asked, told):
        before = as_json(algorithm.state())
        with pytest.raises(RuntimeError, match=r"new algorithm.*round 1"):
            algorithm.restore(state)
        assert as_json(algorithm.state()) == before


def broken(change: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    """A Fast-Slow state with one thing spoilt."""
    state = as_json(used("fast-slow").state())
    change(state)
    return state


BROKEN: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "format": (lambda s: s.update(format=99), "format 3.*99"),
    "no format": (lambda s: s.pop("format"), "format 3.*None"),
    "no readings": (lambda s: s.pop("readings"), "readings"),
    "no column": (lambda s: s["readings"].pop("y"), "y"),
    "no draws": (lambda s: s["readings"].pop("drawn"), r"must have the columns \['drawn'\]"),
    "no levels": (lambda s: s["readings"].pop("level"), r"must have the columns \['level'\]"),
    "pending level": (lambda s: s["pending"][0].pop("level"), "level"),
    "no seed": (lambda s: s.pop("seed"), "seed"),
    "no t": (lambda s: s.pop("t"), "t"),
    "no pending": (lambda s: s.pop("pending"), "pending"),
    "no retracted": (lambda s: s.pop("retracted"), "retracted"),
    "no identity": (lambda s: s.pop("identity"), "identity"),
    "an option of before": (lambda s: s["identity"].update(revisit=0.3), "must not have revisit.*0.3"),
    "short column": (lambda s: s["readings"]["y"].pop(), "equal length"),
    "y nan": (lambda s: s["readings"]["y"].__setitem__(2, math.nan), "y must be finite.*nan"),
    "lam zero": (lambda s: s["readings"]["lam"].__setitem__(2, 0.0), "lam must be.*> 0.*0.0"),
    "index high": (lambda s: s["readings"]["index"].__setitem__(0, 20), "index must be in 0..19.*20"),
    "index low": (lambda s: s["readings"]["index"].__setitem__(0, -1), "index must be in 0..19.*-1"),
    "label": (lambda s: s["readings"]["instance"].__setitem__(0, "quick"), "instance must be.*'quick'"),
    "unhashable label": (lambda s: s["readings"]["instance"].__setitem__(0, []), "instance must be"),
    "pending index": (lambda s: s["pending"][0].update(index=20), "index must be in 0..19.*20"),
    "pending label": (lambda s: s["pending"][0].update(instance="x"), "instance must be.*'x'"),
    "pending word": (lambda s: s["pending"][0].update(colour="red"), "colour"),
    "pending point": (lambda s: s["pending"][0].update(u=[0.5]), "u must have 2 coordinates.*1"),
    "pending nan": (lambda s: s["pending"][0].update(u=[0.5, math.nan]), "u must be finite.*nan"),
    "pending field": (lambda s: s["pending"][0].pop("mu"), "mu"),
    "t negative": (lambda s: s.update(t=-1), "t must be >= 0.*-1"),
    "t word": (lambda s: s.update(t="12"), "t must be an integer.*'12'"),
    "t too small": (lambda s: s.update(t=3), "t must be"),
    "told twice": (lambda s: s["readings"]["id"].__setitem__(1, 1), "id"),
    "told and pending": (lambda s: s["pending"][0].update(id=1), "id"),
    "retracted word": (lambda s: s.update(retracted=[["1", True]]), "retracted id must be an integer"),
    "retracted flag": (lambda s: s.update(retracted=[[1, "yes"]]), "must be True or False.*'yes'"),
    "no lost": (lambda s: s.pop("lost"), "lost"),
    "lost and told": (lambda s: s.update(lost=[[1, False, 0]]), "lost round must be.*got 1"),
    "lost flag": (lambda s: s.update(t=99, lost=[[99, "no", 0]]), "must be True or False.*'no'"),
    "lost place": (lambda s: s.update(t=99, lost=[[99, False, -1]]), "n_told must be >= 0.*-1"),
    "lost too late": (lambda s: s.update(lost=[[98, False, 0]]), "lost round must be.*got 98"),
    "entropy word": (lambda s: s["seed"].update(entropy="abc"), "seed|entropy"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_state_is_refused_and_nothing_changed(case: str) -> None:
    """ValueError or TypeError with the rule; afterwards the sound state is taken as if nothing was."""
    change, message = BROKEN[case]
    algorithm = make("fast-slow", seed=None)
    before = as_json(algorithm.state())
    with pytest.raises((ValueError, TypeError), match=message):
        algorithm.restore(broken(change))
    assert as_json(algorithm.state()) == before
    sound = used("fast-slow")
    assert_same(algorithm.restore(sound.state()), sound)


@pytest.mark.parametrize("state", [None, 3, "state", [], {}], ids=repr)
def test_what_is_no_state_is_refused(state: Any) -> None:
    """With the rule and what was given."""
    algorithm = make("gp-ucb")
    with pytest.raises(ValueError, match="state must have format 3"):
        algorithm.restore(state)
    assert algorithm.t == 0


# --- any interleaving ------------------------------------------------------------------------------


class Interleaving(RuleBasedStateMachine):
    """Two copies of one run: one lives on, the other is saved and restored again and again."""

    @initialize(
        name=st.sampled_from(list(MAKERS)),
        family=st.sampled_from(["default", "capped", "letter", "beta"]),
        seed=st.integers(0, 10**6),
    )
    def start(self, name: str, family: str, seed: int) -> None:
        """Build both."""
        self.build = lambda: make(name, seed=seed, **FAMILIES[family])
        self.takes_noise = family != "letter"
        self.whole, self.saved = self.build(), self.build()

    @rule()
    def ask(self) -> None:
        """The same query."""
        assert_same_query(self.whole.ask(), self.saved.ask())

    @rule(y=st.floats(-1.2, 1.2), pick=st.integers(0, 100), by_id=st.booleans(), noisy=st.booleans())
    def tell(self, y: float, pick: int, by_id: bool, noisy: bool) -> None:
        """Any pending query, in any order."""
        if not self.whole.pending:
            return
        k = pick % len(self.whole.pending)
        noise_std = 0.25 if noisy and self.takes_noise else None
        for algorithm in (self.whole, self.saved):
            query = algorithm.pending[k]
            algorithm.tell(query.id if by_id else query, y, noise_std=noise_std)

    @rule(y=st.floats(-1.2, 1.2), i=st.integers(0, DOMAIN.n - 1))
    def tell_foreign(self, y: float, i: int) -> None:
        """A reading nobody asked for."""
        for algorithm in (self.whole, self.saved):
            algorithm.tell(x=POINTS[i], y=y)

    @rule(pick=st.integers(0, 100))
    def forget(self, pick: int) -> None:
        """Any pending query."""
        if self.whole.pending:
            k = pick % len(self.whole.pending)
            for algorithm in (self.whole, self.saved):
                algorithm.forget(algorithm.pending[k])

    @rule(pick=st.integers(0, 100), unrelated=st.booleans())
    def retract(self, pick: int, unrelated: bool) -> None:
        """Any reading, asked for or not."""
        if self.whole.readings:
            id_ = self.whole.readings[pick % len(self.whole.readings)].t
            for algorithm in (self.whole, self.saved):
                algorithm.retract(id_, unrelated_to_value=unrelated)

    @rule()
    def refuse(self) -> None:
        """A refused call in one of the two leaves no trace."""
        with pytest.raises(RuntimeError, match="not asked here"):
            self.saved.tell(10**6, 0.0)

    @rule()
    def look(self) -> None:
        """Proposals, recommendations and summaries in one of the two leave no trace."""
        self.saved.propose()
        self.saved.recommend()
        self.saved.summary()

    @rule(through_json=st.booleans())
    def save_and_restore(self, through_json: bool) -> None:
        """Only one of the two."""
        state = self.saved.state()
        self.saved = self.build().restore(as_json(state) if through_json else state)

    @invariant()
    def same(self) -> None:
        """Bit for bit, always."""
        if hasattr(self, "whole"):
            assert_same(self.whole, self.saved)


class ManyInterleavings(Interleaving):
    """The same, more often."""


FEW = settings(
    max_examples=8,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
TestInterleaving, TestManyInterleavings = Interleaving.TestCase, ManyInterleavings.TestCase
TestInterleaving.settings = FEW
TestManyInterleavings.settings = settings(FEW, max_examples=25)
quiet = pytest.mark.filterwarnings("ignore::unbribable.AssumptionsRefuted")
quiet(TestInterleaving)
pytest.mark.long(quiet(TestManyInterleavings))
