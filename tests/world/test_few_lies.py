"""Lies that are counted, whatever their size: the ledger, the world, and attacks of few lies."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unbribable as ub
from contracts.members import RIVALS
from games import law
from unbribable import lab
from unbribable.lab.report.outcomes import cell_of, reduced
from unbribable.lab.runs.simulate import simulate
from unbribable.lab.world.adversaries import Burst, FoundDecoy, Observation, TopK, WidthAware
from unbribable.lab.world.environment import Environment
from unbribable.lab.world.ledger import CountLedger
from world.members import (
    ADVERSARIES,
    GAMES,
    KERNEL,
    LAM,
    NOISE_STD,
    assumptions,
    learner,
    objective,
    play,
    view_of,
)

lies = st.lists(st.sampled_from([0.0, -0.0, 1e-300, -3.0, 1e9]), min_size=1, max_size=4).map(np.array)
rounds = st.lists(lies, max_size=20)
budgets = st.integers(0, 6)
caps = st.sampled_from([math.inf, 0.5])

f = objective(21)
x = f.X[:, 0]
x_star = x[f.best]


def world(adversary=None, n_lies=3, threat="strong", c_max=None, of=f):
    return Environment(
        of, noise_std=NOISE_STD, adversary=adversary, n_lies=n_lies, threat=threat, c_max=c_max
    )


# --- the ledger -------------------------------------------------------------------------------------


@law
@given(rounds, budgets, caps)
def test_a_round_costs_one_lie_if_any_that_was_granted_is_not_zero(rounds, n_lies, c_max):
    ledger = CountLedger(n_lies, c_max)
    n_told = 0
    for wanted in rounds:
        granted, cost = ledger.charge(wanted)
        if n_told < n_lies:
            assert granted.tolist() == [math.copysign(min(abs(c), c_max), c) for c in wanted]
        else:
            assert not granted.any()
        assert cost == float(granted.any())
        n_told += granted.any()
        assert (ledger.spent, ledger.n_left) == (n_told, n_lies - n_told)
    assert n_told <= n_lies


def test_what_is_left_is_what_can_still_be_granted_in_total():
    assert CountLedger(3).left == math.inf
    ledger = CountLedger(2, 0.5)
    assert ledger.left == 1.0
    for left in (0.5, 0.0):
        ledger.charge(np.array([0.1]))
        assert ledger.left == left
    assert CountLedger(0).left == 0.0


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_lie_of_any_size_is_still_a_number(bad):
    ledger = CountLedger(2)
    with pytest.raises(ValueError, match="a corruption must be finite"):
        ledger.charge(np.array([bad]))
    assert ledger.n_left == 2


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((-1,), ValueError, "n_lies must be >= 0, got n_lies=-1"),
        ((2.5,), TypeError, "n_lies must be an integer"),
        ((2, 0.0), ValueError, "c_max must be > 0"),
    ],
)
def test_a_count_that_makes_no_sense_is_refused(arguments, error, words):
    with pytest.raises(error, match=words):
        CountLedger(*arguments)


# --- the world --------------------------------------------------------------------------------------


def test_a_budget_is_a_sum_or_a_count():
    with pytest.raises(ValueError, match=r"must be C or n_lies, not both, got C=1.0, n_lies=2"):
        Environment(f, noise_std=0.1, C=1.0, n_lies=2)
    with pytest.raises(ValueError, match="n_lies must be >= 0"):
        Environment(f, noise_std=0.1, n_lies=-1)


def test_counted_lies_have_any_size_unless_told():
    assert world().c_max == math.inf
    assert world(c_max=0.5).c_max == 0.5


@pytest.mark.parametrize(("name", "threat"), GAMES, ids=["-".join(g) for g in GAMES])
def test_every_adversary_tells_no_more_lies_than_it_may(name, threat):
    """With a cap, since some want as much as they may."""
    environment = world(ADVERSARIES[name](objective()), 3, threat, 2.0, of=objective())
    record = play(learner("fast-slow"), environment)
    charge, c = record.columns["charge"], record.columns["c"]
    assert set(charge) <= {0.0, 1.0}
    assert charge.sum() == record.meta["spent"] == environment.ledger.spent <= 3.0
    assert (charge[c != 0.0] == 1.0).all()
    assert np.abs(c).max() <= 2.0
    assert (record.meta["n_lies"], record.meta["C"]) == (3, 3.0)
    assert reduced(record).spent[-1] == charge.sum()
    assert cell_of(record).setting.C == 3.0


def test_the_record_of_a_total_budget_counts_nothing():
    record = play(learner("gp-ucb"), Environment(objective(), noise_std=NOISE_STD, C=1.0))
    assert "n_lies" not in record.meta


def test_who_wants_all_it_may_needs_a_cap():
    attack = WidthAware(f, kernel=KERNEL, lam=LAM, threshold=0.0)
    with pytest.raises(ValueError, match="a corruption must be finite"):
        play(learner("gp-ucb", f), world(attack))


class Claimant(ub.Player):
    """Reads candidate 0 and claims that |f| is at most 9."""

    knowledge = None

    def __init__(self, **knowledge):
        self.knowledge, self.t = knowledge, 0

    def propose(self):
        return ub.Proposal(self.t + 1, f.X[:1], np.zeros(1, np.intp), np.ones(1), ("main",))

    def ask(self):
        self.t += 1
        return ub.Query(t=self.t, x=f.X[0], u=f.X[0], index=0)

    def tell(self, query, y):
        pass

    def recommend(self):
        return ub.Recommendation(x=f.X[0], index=0)

    def bounds(self):
        return np.full(len(f.X), -9.0), np.full(len(f.X), 9.0)


@pytest.mark.parametrize(
    ("told", "n_lies", "c_max", "is_promised"),
    [
        ({"n_lies": 3}, 3, None, True),
        ({"n_lies": 2}, 3, None, False),
        ({}, 3, None, False),
        ({"C": 1e9}, 3, None, False),  # no sum covers lies of any size
        ({"C": 1.5}, 3, 0.5, True),
        ({"C": 1.4}, 3, 0.5, False),
        ({}, 0, None, True),
    ],
)
def test_bounds_are_promised_to_who_was_told_of_so_many_lies(told, n_lies, c_max, is_promised):
    record = simulate(Claimant(**told), world(None, n_lies, c_max=c_max), 3, 0)
    assert record.meta["promised"] == {"main": is_promised}


@pytest.mark.parametrize("name", ["clipped", "rcgp-fixed"])
@pytest.mark.parametrize(("n_lies", "is_promised"), [(2, True), (3, False)])
def test_rivals_that_were_told_of_two_lies_keep_their_promise_for_two(name, n_lies, is_promised):
    player = RIVALS[name](ub.Grid(f.X), assumptions(f), T=30)
    record = simulate(player, world(Burst(f, radius=0.3, value=-1e6), n_lies), 30, 0)
    assert record.meta["spent"] == n_lies
    assert record.meta["promised"] == {"main": is_promised}
    assert record.meta["covered"]["main"] or not is_promised


@pytest.mark.parametrize(("threat", "is_promised"), [("weak", True), ("strong", False)])
def test_who_is_safe_from_weak_adversaries_promises_nothing_against_a_strong_one(threat, is_promised):
    player = lab.rivals.RGPPE(ub.Grid(f.X), assumptions(f), C=2.0, order="random", seed=0)
    strong = lab.rivals.RGPPE(ub.Grid(f.X), assumptions(f), C=2.0)
    for each, expected in ((player, is_promised), (strong, True)):
        game = Environment(
            f, noise_std=NOISE_STD, adversary=TopK(f, K=2), C=2.0, threat=threat, c_max=1.0
        )
        record = simulate(each, game, 30, 0)
        assert record.meta["spent"] > 0.0
        assert record.meta["promised"] == {"main": expected}


@pytest.mark.parametrize(("size", "is_promised"), [(0.3, True), (0.7, False)])
def test_a_cap_that_the_player_was_told_is_compared_with_the_lies_not_with_their_number(
    size, is_promised
):
    attack = Burst(f, radius=9.0, value=float(f.f[0]) - size)
    record = simulate(Claimant(n_lies=3, c_max=0.5), world(attack), 3, 0)
    assert np.abs(record.columns["c"]).max() == pytest.approx(size)
    assert record.meta["promised"] == {"main": is_promised}


# --- the attacks ------------------------------------------------------------------------------------


def committed(adversary, indices=range(21), t=1):
    return adversary.commit(view_of(f, list(indices), t=t), np.random.default_rng(0))


@pytest.mark.parametrize("value", [-4.0, 0.0, -1e6])
def test_a_burst_tells_the_value_near_the_maximiser_and_nothing_is_raised(value):
    told = f.f + committed(Burst(f, radius=0.12, value=value))
    is_near = np.abs(x - x_star) <= 0.12
    assert told[is_near] == pytest.approx(np.minimum(f.f, value)[is_near])
    assert told[~is_near].tolist() == f.f[~is_near].tolist()


def test_a_burst_leaves_the_honest_rounds_alone_and_stops_when_the_lies_are_told():
    attack = Burst(f, radius=0.5, value=-4.0, n_honest=5)
    assert not committed(attack, t=5).any()
    assert committed(attack, [f.best], t=6)[0] == -4.0 - f.f_max
    player = ub.GPUCB(ub.Grid(f.X), assumptions(f))
    record = play(player, world(Burst(f, radius=2.0, value=-4.0, n_honest=5)))
    assert np.flatnonzero(record.columns["c"]).tolist() == [5, 6, 7]


def told(adversary, index, t):
    """One strong round; the lie."""
    c = float(committed(adversary, [index], t)[0])
    adversary.saw(index, "main", Observation(f.f[index], 0.0, c, f.f[index] + c, float(c != 0.0)))
    return c


def test_a_found_decoy_is_the_first_far_point_that_is_read():
    attack = FoundDecoy(f, radius=0.1, far=0.4, low=-1.0, high=4.0, pace=1.0)
    near, far = f.best, int(np.argmax(x > x_star + 0.55))
    assert told(attack, near, 1) == -1.0 - f.f_max
    assert told(attack, int(np.argmax(x > x_star + 0.3)), 2) == 0.0  # neither near nor far
    assert attack.decoy is None
    assert told(attack, far, 3) == 4.0 - f.f[far]
    assert attack.decoy == far
    assert told(attack, far + 1, 4) == 4.0 - f.f[far + 1]
    assert told(attack, far + 4, 5) == 0.0  # far too, but the decoy is elsewhere
    assert attack.n_told == 3
    attack.reset()
    assert (attack.n_told, attack.decoy) == (0, None)


def test_a_found_decoy_spreads_its_lies_over_the_rounds_that_count():
    """By the t-th round after the honest ones floor(t^(1/3)): a new one at 1, 8, 27 and 64."""
    attack = FoundDecoy(f, radius=0.1, far=0.4, low=-1.0, high=4.0, n_honest=5)
    lied = [t for t in range(1, 130) if told(attack, f.best, t)]
    assert lied == [5 + 1, 5 + 8, 5 + 27, 5 + 64]


def test_a_lie_that_was_not_granted_is_not_counted():
    attack = FoundDecoy(f, radius=0.1, far=0.4, low=-1.0, high=4.0, pace=1.0)
    assert committed(attack, [f.best]).any()
    attack.saw(f.best, "main", Observation(f.f_max, 0.0, 0.0, f.f_max, 0.0))
    assert attack.n_told == 0


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Burst(f, radius=0.0, value=1.0), "radius must be"),
        (lambda: Burst(f, radius=0.1, value=math.nan), "value must be"),
        (lambda: Burst(f, radius=0.1, value=1.0, n_honest=-1), "n_honest must be"),
        (lambda: FoundDecoy(f, radius=0.1, far=0.05, low=0.0, high=1.0), "far must be"),
        (lambda: FoundDecoy(f, radius=0.1, far=0.4, low=0.0, high=1.0, pace=0.0), "pace must be"),
    ],
)
def test_an_attack_that_makes_no_sense_is_refused(build, words):
    with pytest.raises(ValueError, match=words):
        build()
