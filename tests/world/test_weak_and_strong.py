"""What an adversary gets to see: in a weak world never the draw, in a strong one exactly the draw."""

import dataclasses
import itertools

import numpy as np
import pytest

from contracts.members import ALGORITHMS
from unbribable.decision.asking.draws import Seed
from unbribable.lab.world.adversaries import Flip, View
from world.members import Spy, T, learner, objective, play, world

every_learner = pytest.mark.parametrize("who", ALGORITHMS)


def game(who, threat, *, secret=0, seed=0, T=T):
    """The record of a game against Flip, and the spy that watched it."""
    spy = Spy(Flip(objective()))
    record = play(learner(who, secret=secret), world(spy, threat=threat), T, seed)
    return record, spy


def plain(view: View):
    """A view as something that can be compared."""
    values = [getattr(view, field.name) for field in dataclasses.fields(view) if field.name != "bounds"]
    return tuple(
        v.tolist() if isinstance(v, np.ndarray) else v for v in [*values, *(view.bounds() or ())]
    )


def calls(who, threat, monkeypatch):
    """The order of events of a game: propose, commit, ask, draw, tell, saw."""
    spy = Spy(Flip(objective()))
    algorithm = learner(who)

    def logged(name, function):
        def call(*args, **kwargs):
            spy.log.append(name)
            return function(*args, **kwargs)

        return call

    for name in ("propose", "ask", "tell"):
        monkeypatch.setattr(algorithm, name, logged(name, getattr(algorithm, name)))
    monkeypatch.setattr(Seed, "uniform", logged("draw", Seed.uniform))
    play(algorithm, world(spy, threat=threat))
    return spy.log


@every_learner
def test_a_weak_adversary_commits_on_the_proposal_before_the_draw_is_made(who, monkeypatch):
    log = calls(who, "weak", monkeypatch)
    without_draws = [name for name in log if name != "draw"]
    assert without_draws == ["propose", "commit", "ask", "saw", "tell"] * T
    n_committed = 0
    for name in log:
        n_committed += name == "commit"
        n_committed -= name == "tell"
        if name == "draw":
            assert n_committed == 1
    assert ("draw" in log) == ("seed" in ALGORITHMS[who].takes)


@every_learner
def test_a_strong_adversary_commits_after_the_draw_and_before_the_learner_is_told(who, monkeypatch):
    log = [name for name in calls(who, "strong", monkeypatch) if name not in ("draw", "propose")]
    assert log == ["ask", "commit", "saw", "tell"] * T


@pytest.mark.parametrize("who", ["fast-slow", "layered"])
def test_a_weak_adversary_sees_the_same_whatever_the_secret_seed_is_going_to_draw(who):
    """Games that were drawn alike up to round t show it the same in round t + 1, drawn alike or not."""
    games = [game(who, "weak", secret=secret, T=8) for secret in range(40)]
    n_parted = 0
    for (record, spy), (other_record, other_spy) in itertools.combinations(games, 2):
        for k in range(8):
            assert plain(spy.views[k]) == plain(other_spy.views[k])
            if record.columns["instance"][k] != other_record.columns["instance"][k]:
                n_parted += 1
                break
    assert n_parted > 100


@every_learner
def test_a_weak_view_is_the_proposal_with_equal_points_put_together(who):
    spy = Spy(Flip(objective()))
    algorithm = learner(who, secret=2)
    environment = world(spy)
    with pytest.MonkeyPatch.context() as patch:
        proposals = []
        propose = algorithm.propose
        patch.setattr(algorithm, "propose", lambda: proposals.append(propose()) or proposals[-1])
        play(algorithm, environment)
    n_merged = 0
    for t, (view, proposal) in enumerate(zip(spy.views, proposals, strict=True), start=1):
        assert view.t == proposal.t == t
        assert sorted(view.indices) == sorted(set(proposal.indices))
        n_merged += len(view.indices) < len(proposal.indices)
        for k, i in enumerate(view.indices):
            atoms = np.flatnonzero(proposal.indices == i)
            assert view.probabilities[k] == pytest.approx(proposal.probabilities[atoms].sum())
            assert view.instances[k] == tuple(proposal.instances[a] for a in atoms)
            assert view.points[k].tolist() == environment.objective.X[i].tolist()
    if "seed" in ALGORITHMS[who].takes and ALGORITHMS[who].trusted != ():  # that plays by its draw
        assert n_merged > 0
        assert any(len(view.indices) > 1 for view in spy.views)


def test_a_weak_adversary_is_charged_for_the_point_that_was_not_drawn():
    f = objective()
    environment = world(Flip(f), f=f, C=10.0, c_max=5.0)
    cheap = int(np.argmin(np.abs(f.f)))
    environment.face(np.array([f.best, cheap]), np.array([0.1, 0.9]), ("slow", "fast"))
    observation = environment.answer(cheap, "fast")
    assert observation.c == -2.0 * f.f[cheap]
    assert observation.charge == environment.ledger.spent == pytest.approx(2.0 * f.f_max)
    assert abs(observation.c) < observation.charge


@every_learner
def test_a_strong_adversary_sees_exactly_the_point_that_was_drawn(who):
    record, spy = game(who, "strong", secret=3)
    labels = [*record.meta["instances"], None]
    for k, view in enumerate(spy.views):
        assert view.indices.tolist() == [record.columns["index"][k]]
        assert view.probabilities.tolist() == [1.0]
        assert view.instances == ((labels[record.columns["instance"][k]],),)
    assert np.array_equal(np.abs(record.columns["c"]), record.columns["charge"])


def test_a_view_holds_no_more_than_it_says():
    """A new field would be new knowledge: say so in docs/threats.md and here."""
    fields = {field.name for field in dataclasses.fields(View)}
    assert fields == {"t", "indices", "points", "probabilities", "instances", "left", "c_max", "bounds"}
