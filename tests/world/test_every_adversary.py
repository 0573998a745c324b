"""Laws every adversary keeps, whatever it is and whoever it plays against: see `members.py`."""

import functools
import inspect
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.members import ALGORITHMS
from games import law
from unbribable.lab.world import adversaries as package
from unbribable.lab.world.adversaries import Adversary
from unbribable.lab.world.environment import Environment
from world.members import (
    ADVERSARIES,
    GAMES,
    NOISE_STD,
    Spy,
    T,
    learner,
    objective,
    play,
    same_but_for_time,
    world,
)

every_game = pytest.mark.parametrize(("name", "threat"), GAMES, ids=["-".join(g) for g in GAMES])
DRAWN_OR_NOT = ("fast-slow", "robust")
"""An adversary cannot see whom it plays against, only whether there is a draw: the others are long."""
every_learner = pytest.mark.parametrize(
    "who",
    [pytest.param(who, marks=() if who in DRAWN_OR_NOT else pytest.mark.long) for who in ALGORITHMS],
)
few = settings(law, max_examples=8)
learners = st.sampled_from(sorted(ALGORITHMS))
seeds = st.integers(0, 2**32 - 1)
budgets = st.one_of(st.sampled_from([0.0, 0.3, 1.0, 1e3]), st.floats(0.0, 10.0))
caps = st.sampled_from([None, 0.2, math.inf])


@functools.cache
def clean_game(who, seed=0):
    """A game in which nobody lies."""
    return play(learner(who), world(None, C=0.0), seed=seed)


def test_the_list_holds_every_adversary_there_is():
    public = {getattr(package, name) for name in package.__all__}
    kinds = {c for c in public if issubclass(c, Adversary) and not inspect.isabstract(c)}
    assert {type(build(objective())) for build in ADVERSARIES.values()} == kinds


def keeps_the_ledger(name, threat, who, C, c_max, seed, secret):
    spy = Spy(ADVERSARIES[name](objective()))
    environment = world(spy, C=C, c_max=c_max, threat=threat)
    record = play(learner(who, secret=secret), environment, seed=seed)

    cap, left = environment.c_max, C  # the rules of the game once more, from what the spy has seen
    for k, (view, wanted) in enumerate(zip(spy.views, spy.wanted, strict=True)):
        assert view.left == left
        assert view.c_max == cap
        granted = [math.copysign(min(abs(c), cap, left), c) for c in wanted]
        charge = max(abs(c) for c in granted)
        left -= charge
        assert record.columns["charge"][k] == charge
        (drawn,) = np.flatnonzero(view.indices == record.columns["index"][k])
        assert record.columns["c"][k] == granted[drawn]
    assert len(spy.views) == T
    assert left >= 0.0
    assert environment.ledger.left == left
    assert math.fsum(record.columns["charge"]) <= C + 1e-12 * max(1.0, C)
    assert (np.abs(record.columns["c"]) <= record.columns["charge"]).all()
    assert (record.columns["charge"] <= min(cap, C)).all()


played_by_anybody = given(who=learners, C=budgets, c_max=caps, seed=seeds, secret=seeds)


@every_game
@settings(law, max_examples=2)
@played_by_anybody
def test_the_ledger_is_never_exceeded_and_charges_what_was_committed(name, threat, **drawn):
    keeps_the_ledger(name, threat, **drawn)


@pytest.mark.long
@every_game
@few
@played_by_anybody
def test_the_ledger_is_never_exceeded_in_more_games(name, threat, **drawn):
    keeps_the_ledger(name, threat, **drawn)


@every_learner
@every_game
def test_without_a_budget_the_world_is_clean_bit_for_bit(name, threat, who):
    clean = clean_game(who)
    empty = play(learner(who), world(ADVERSARIES[name](objective()), C=0.0, threat=threat))
    assert same_but_for_time(clean, empty, signs_of_zero=False)
    assert (empty.columns["c"] == 0.0).all()
    for key in ("recommended", "certificate", "detected", "covered", "spent", "algorithm"):
        assert clean.meta[key] == empty.meta[key], key


@pytest.mark.long
@every_game
@few
@given(who=learners, C=budgets, seed=st.integers(0, 4))
def test_changing_the_adversary_leaves_noise_and_objective_unchanged(name, threat, who, C, seed):
    f = objective()
    before = f.f.copy(), f.X.copy()
    lied = play(learner(who), world(ADVERSARIES[name](f), f=f, C=C, threat=threat), seed=seed)
    assert lied.columns["noise"].tobytes() == clean_game("gp-ucb", seed).columns["noise"].tobytes()
    assert np.array_equal(f.f, before[0])
    assert np.array_equal(f.X, before[1])
    assert np.array_equal(lied.columns["f"], f.f[lied.columns["index"]])


@every_game
def test_a_new_game_in_the_same_world_remembers_nothing(name, threat):
    environment = world(ADVERSARIES[name](objective()), threat=threat)
    first = play(learner("fast-slow"), environment, seed=3)
    play(learner("layered"), environment, seed=4)
    again = play(learner("fast-slow"), environment, seed=3)
    assert same_but_for_time(first, again)
    assert first.meta == again.meta


@every_game
def test_it_answers_one_finite_lie_a_point_and_leaves_what_it_was_shown_alone(name, threat):
    class Guarded(Spy):
        def commit(self, view, rng):
            for shown in (view.indices, view.points, view.probabilities):
                shown.flags.writeable = False
            return super().commit(view, rng)

    spy = Guarded(ADVERSARIES[name](objective()))
    play(learner("layered"), world(spy, threat=threat), seed=5)
    for view, wanted in zip(spy.views, spy.wanted, strict=True):
        assert wanted.shape == view.indices.shape
        assert wanted.dtype == np.float64
        assert np.isfinite(wanted).all()


@every_game
def test_it_is_told_the_whole_outcome_of_every_round(name, threat):
    spy = Spy(ADVERSARIES[name](objective()))
    record = play(learner("fast-slow", secret=1), world(spy, threat=threat), seed=6)
    assert spy.log == ["commit", "saw"] * T
    labels = [*record.meta["instances"], None]
    for k, (index, instance, outcome) in enumerate(spy.outcomes):
        assert index == record.columns["index"][k]
        assert instance == labels[record.columns["instance"][k]]
        for column in ("f", "noise", "c", "y_tilde", "charge"):
            assert getattr(outcome, column) == record.columns[column][k]


@pytest.mark.parametrize("name", [n for n in ADVERSARIES if (n, "weak") not in GAMES])
def test_who_must_see_the_draw_is_refused_in_a_weak_world(name):
    with pytest.raises(ValueError, match=r"threat must be 'strong' for \w+, got threat='weak'"):
        Environment(objective(), noise_std=NOISE_STD, adversary=ADVERSARIES[name](objective()))


@pytest.mark.parametrize(
    "wrap",
    [
        lambda base, f: package.Silent(base, noise_std=NOISE_STD),
        lambda base, f: package.Later(base),
        lambda base, f: package.AdaptiveStrength(base, f.X[:, 0] > 0.5),
    ],
    ids=["Silent", "Later", "AdaptiveStrength"],
)
def test_wrapping_who_must_see_the_draw_does_not_let_it_into_a_weak_world(wrap):
    f = objective()
    base = package.InstanceTargeting(package.Flip(f), instance="slow")
    with pytest.raises(ValueError, match="threat must be 'strong'"):
        Environment(f, noise_std=NOISE_STD, adversary=wrap(base, f))
