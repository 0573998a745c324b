"""A game as a whole: truth beside the lie, paired noise, the same bits from the same seeds."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unbribable as ub
from contracts.members import ALGORITHMS
from games import law
from unbribable.lab.runs.simulate import is_promised, simulate
from unbribable.lab.runs.streams import STREAMS, generator, stream
from unbribable.lab.world.adversaries import (
    AggressiveSubtraction,
    Flip,
    InstanceTargeting,
    NoAdversary,
    RandomLies,
)
from unbribable.lab.world.environment import Environment
from unbribable.lab.world.objectives import Objective
from unbribable.theory.budgets import Budget
from world.members import (
    ADVERSARIES,
    GAMES,
    KERNEL,
    NOISE_STD,
    T,
    assumptions,
    learner,
    objective,
    play,
    same_but_for_time,
    world,
)

every_learner = pytest.mark.parametrize("who", ALGORITHMS)
few = settings(law, max_examples=12)
games = st.sampled_from(GAMES)
learners = st.sampled_from(sorted(ALGORITHMS))
seeds = st.integers(0, 2**32 - 1)

COLUMNS = {
    "index", "x", "f", "noise", "c", "y_tilde", "charge", "instance",
    "mu", "sigma", "width", "ucb", "lower", "upper", "seconds",
}  # fmt: skip


def game(who="fast-slow", name="flip", threat="weak", *, C=3.0, seed=0, secret=0):
    return play(
        learner(who, secret=secret), world(ADVERSARIES[name](objective()), C=C, threat=threat), T, seed
    )


# --- truth beside the lie ---------------------------------------------------------------------------


@few
@given(played=games, who=learners, C=st.floats(0.0, 8.0), seed=seeds, secret=seeds)
def test_truth_travels_beside_the_lie(played, who, C, seed, secret):
    record = game(who, *played, C=C, seed=seed, secret=secret)
    f, columns = objective(), record.columns
    assert np.array_equal(columns["f"], f.f[columns["index"]])
    assert np.array_equal(columns["y_tilde"], columns["f"] + columns["noise"] + columns["c"])
    assert (np.abs(columns["c"]) <= columns["charge"]).all()
    assert record.T == T
    assert all(len(column) == T for column in columns.values())


@few
@given(played=games, who=learners, seed=seeds)
def test_the_regrets_are_what_the_definitions_say(played, who, seed):
    record = game(who, *played, seed=seed)
    f = objective().f
    so_far = 0.0
    for k, i in enumerate(record.columns["index"]):
        assert record.instant_regret[k] == f.max() - f[i] >= 0.0
        so_far += f.max() - f[i]
        assert record.cumulative_regret[k] == pytest.approx(so_far)
    assert record.simple_regret == f.max() - f[record.meta["recommended"]] >= 0.0
    assert record.meta["f_recommended"] == f[record.meta["recommended"]]
    assert record.spent == pytest.approx(
        [math.fsum(record.columns["charge"][: k + 1]) for k in range(T)]
    )
    assert record.spent[-1] == pytest.approx(record.meta["spent"])
    assert record.meta["spent"] <= record.meta["C"]


def test_a_record_says_how_often_the_player_was_where_the_liar_wanted_it():
    f = objective()
    target = np.arange(len(f.f)) % 2 == 0
    record = play(learner("gp-ucb"), world(AggressiveSubtraction(target, height=0.5)), seed=2)
    share = np.mean(record.columns["index"] % 2 == 0)
    assert 0.0 < share < 1.0
    assert record.meta["in_target"] == pytest.approx(share)
    assert "in_target" not in game().meta


@every_learner
def test_the_learner_is_told_what_the_record_says(who):
    algorithm = learner(who)
    record = play(algorithm, world(ADVERSARIES["random"](objective())), seed=2)
    labels = [*record.meta["instances"], None]
    assert [r.y for r in algorithm.readings] == record.columns["y_tilde"].tolist()
    assert [algorithm.candidates.index_of(r.u) for r in algorithm.readings] == record.columns[
        "index"
    ].tolist()
    assert [r.learner for r in algorithm.readings] == [labels[i] for i in record.columns["instance"]]


@every_learner
def test_a_record_has_the_columns_its_docstring_names(who):
    expected = COLUMNS | ({"maximisers"} if who.startswith("layered") else set())
    assert set(game(who).columns) == expected


def test_the_bounds_at_the_query_are_the_players():
    algorithm, environment = learner("robust"), world()
    main = algorithm.instances["main"]
    before = [(main.mu.copy(), main.sigma.copy(), main.width.copy())]
    keep = lambda t: before.append((main.mu.copy(), main.sigma.copy(), main.width.copy()))  # noqa: E731
    columns = simulate(algorithm, environment, T, 0, on_round=keep).columns
    for k, i in enumerate(columns["index"]):
        mu, sigma, width = (values[i] for values in before[k])
        assert columns["mu"][k] == mu
        assert columns["sigma"][k] == sigma
        assert columns["width"][k] == pytest.approx(width)
        assert columns["upper"][k] == pytest.approx(mu + width)
        assert columns["lower"][k] == pytest.approx(mu - width)
        assert columns["ucb"][k] == pytest.approx((before[k][0] + before[k][2]).max())


def test_the_sizes_of_the_maximiser_sets_are_those_after_each_round():
    algorithm = learner("layered")
    sizes = []
    record = simulate(
        algorithm,
        world(),
        T,
        0,
        on_round=lambda t: sizes.append(algorithm.maximisers.sum(axis=1).tolist()),
    )
    assert record.columns["maximisers"].tolist() == sizes
    assert (np.diff(record.columns["maximisers"], axis=0) <= 0).all()


def test_the_detection_round_is_kept():
    f = objective()
    made = ub.Assumptions(KERNEL, B=f.norm, B0=f.B0, noise_std=NOISE_STD, lam=0.01)
    algorithm = ub.FastSlowGPUCB(ub.Grid(f.X), made, C=1.5, seed=0)
    attack = InstanceTargeting(Flip(f), instance="fast")
    record = play(algorithm, world(attack, f=f, C=200.0, threat="strong"), 400)
    assert record.meta["detected"] == algorithm.detected is not None
    label = record.meta["instances"].index("all")
    assert (record.columns["instance"][algorithm.detected :] == label).all()
    assert (record.columns["instance"][: algorithm.detected] != label).all()


# --- seeds ------------------------------------------------------------------------------------------


@few
@given(played=games, who=learners, seed=seeds, secret=seeds)
def test_the_same_seeds_give_the_same_bits(played, who, seed, secret):
    first = game(who, *played, seed=seed, secret=secret)
    again = game(who, *played, seed=seed, secret=secret)
    assert same_but_for_time(first, again)
    if "seed" in ALGORITHMS[who].takes:
        assert first.meta == again.meta
    else:  # their seed is fresh entropy, and never used
        assert first.meta | {"algorithm_seed": 0} == again.meta | {"algorithm_seed": 0}


@pytest.mark.parametrize("seed", [0, 1, 2**40])
def test_every_learner_meets_the_same_noise(seed):
    noises = {game(who, seed=seed).columns["noise"].tobytes() for who in ALGORITHMS}
    assert len(noises) == 1


def test_the_adversary_draws_from_a_stream_of_its_own():
    f = objective()
    environment = world(RandomLies(std=NOISE_STD), f=f, C=1e3)
    columns = play(learner("gp-ucb"), environment, seed=5).columns
    assert columns["c"][0] == generator(5, "adversary").normal(0.0, NOISE_STD)
    assert not set(columns["c"]) & set(columns["noise"])


def test_another_seed_is_another_noise():
    assert game(seed=0).columns["noise"].tobytes() != game(seed=1).columns["noise"].tobytes()


def test_the_secret_seed_moves_neither_noise_nor_adversary():
    first, other = game(name="random", secret=0), game(name="random", secret=1)
    assert first.columns["noise"].tobytes() == other.columns["noise"].tobytes()
    assert first.columns["instance"].tolist() != other.columns["instance"].tolist()


def test_the_noise_does_not_depend_on_how_long_the_game_is():
    f = Objective("tiny", np.array([[0.0], [0.5], [1.0]]), np.array([0.0, 1.0, 0.2]))
    made = ub.Assumptions(KERNEL, B=2.0, B0=1.0, noise_std=NOISE_STD, lam=1.0)

    def noise(n_rounds):
        environment = Environment(f, noise_std=NOISE_STD)
        return simulate(ub.GPUCB(ub.Grid(f.X), made), environment, n_rounds, 7).columns["noise"]

    long = noise(1100)  # noise is drawn in blocks of 1024
    assert long[:50].tobytes() == noise(50).tobytes()
    assert len(set(long)) == 1100


def test_the_streams_of_one_seed_are_different_and_fixed():
    draws = {name: generator(3, name).random(4).tolist() for name in STREAMS}
    assert len({tuple(values) for values in draws.values()}) == len(STREAMS)
    assert draws == {name: generator(3, name).random(4).tolist() for name in STREAMS}
    assert stream(3, "noise").spawn_key == (1,)  # a change would move every result ever recorded


@pytest.mark.parametrize(
    ("seed", "name", "error", "words"),
    [
        (0, "nois", ValueError, "name must be one of 'objective', 'noise', 'adversary', 'algorithm'"),
        (-1, "noise", ValueError, "seed must be >= 0"),
        (1.5, "noise", TypeError, "seed must be an integer"),
    ],
)
def test_a_stream_that_does_not_exist_is_refused(seed, name, error, words):
    with pytest.raises(error, match=words):
        stream(seed, name)


# --- coverage ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["none", "flip", "decoy"])
@every_learner
def test_the_coverage_flags_agree_with_a_check_of_every_round(who, name):
    """Directly: f within mu - width, mu + width of each instance at every candidate, every round."""
    f = objective()
    flags = []
    for seed in range(3):
        algorithm = learner(who, f, secret=seed)
        inside = dict.fromkeys(algorithm.policy.shown(), True)

        def check(t, algorithm=algorithm, inside=inside):
            slack = algorithm.assumptions.tolerance
            for label, instance in algorithm.policy.shown().items():
                is_inside = np.abs(f.f - instance.mu) <= instance.width + slack
                if label == "quorum":
                    is_inside = (f.f <= instance.upper + slack) & (f.f >= instance.lower - slack)
                inside[label] = inside[label] and bool(is_inside.all())

        environment = world(ADVERSARIES[name](f), f=f, C=12.0)
        check(0)
        record = play(algorithm, environment, T, seed, on_round=check)
        assert record.meta["covered"] == inside
        flags += inside.values()
    if name == "none":
        assert all(flags)
    if who == "gp-ucb" and name == "flip":
        assert not all(flags)


def test_the_coverage_flags_do_not_forget_a_time_when_the_truth_was_outside():
    """Lies at first, the truth for long after: the last bounds hold it again, some did not."""
    f = objective()
    algorithm = ub.GPUCB(ub.Grid(f.X), assumptions(f))
    record = play(algorithm, world(Flip(f), f=f, C=1.5), 100)
    main = algorithm.instances["main"]
    assert (np.abs(f.f - main.mu) <= main.width).all()
    assert record.meta["covered"] == {"main": False}


def test_a_learner_that_finds_out_warns_and_the_record_says_when():
    f = objective()
    algorithm = ub.GPUCB(ub.Grid(f.X), assumptions(f))
    with pytest.warns(ub.AssumptionsRefuted):
        record = simulate(algorithm, world(RandomLies(std=9.0), f=f, C=1e4, c_max=math.inf), 100, 0)
    assert record.meta["refuted"] == algorithm.refuted is not None
    assert record.meta["certificate"] is None


TRUE = {"algorithm": {"B": 2.0, "noise_std": 0.1, "c_max": 1.0, "beta": None}, "norm": 2.0}
TRUE |= {"noise_std": 0.1, "C": 1.0, "threat": "weak"}
OPEN, SECRET = Budget(1.0, 0.1), Budget(0.3, 0.1, total=1.0, is_secret=True)
PROMISES = [
    (OPEN, {}, True),
    (Budget(0.5, 0.1), {}, False),
    (Budget(0.0, 0.1), {"C": 0.0}, True),
    (OPEN, {"norm": 2.1}, False),
    (OPEN, {"norm": None}, True),
    (OPEN, {"noise_std": 0.2}, False),
    (OPEN, {"algorithm": {"c_max": 0.4}}, False),
    (OPEN, {"algorithm": {"c_max": "inf"}}, True),
    (OPEN, {"algorithm": {"beta": 2.0}}, False),
    (OPEN, {"threat": "strong"}, True),
    (SECRET, {}, True),
    (SECRET, {"threat": "strong"}, False),
    (SECRET, {"threat": "strong", "C": 0.0}, True),
]


@pytest.mark.parametrize(("budget", "changes", "expected"), PROMISES)
def test_bounds_are_promised_where_their_assumptions_hold(budget, changes, expected):
    assert is_promised(budget, {**TRUE, **changes}, largest=0.5) is expected


@pytest.mark.parametrize(
    ("who", "threat", "C", "kept"),
    [
        ("gp-ucb", "weak", 0.0, {"main"}),
        ("gp-ucb", "weak", 1.0, set()),
        ("robust", "strong", 4.0, {"main"}),
        ("robust", "weak", 4.1, set()),
        ("fast-slow", "weak", 0.0, {"fast", "slow", "all"}),
        ("fast-slow", "weak", 3.0, {"slow", "all"}),
        ("fast-slow", "strong", 3.0, {"all"}),
        ("fast-slow", "weak", 4.1, set()),
        ("layered", "weak", 2.0, {"layer-1", "layer-2", "layer-3", "layer-4", "layer-5"}),
        ("layered", "weak", 4.1, {"layer-3", "layer-4", "layer-5"}),
        ("layered", "strong", 2.0, set()),
    ],
)
def test_a_record_says_which_bounds_were_promised(who, threat, C, kept):
    record = game(who, "flip", threat, C=C)
    assert record.meta["promised"] == {label: label in kept for label in record.meta["instances"]}


# --- the door ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("threat", ["weak", "strong"])
@every_learner
def test_a_game_of_one_round_works(who, threat):
    record = play(learner(who), world(Flip(objective()), threat=threat), 1)
    assert record.T == 1
    assert record.cumulative_regret.shape == record.spent.shape == (1,)
    assert record.meta["T"] == 1


def test_a_layered_learner_made_for_one_round_works():
    f = objective()
    record = play(ub.LayeredGPUCB(ub.Grid(f.X), assumptions(f), T=1, seed=0, with_all=False), world(), 1)
    assert record.columns["maximisers"].shape == (1, 1)


@every_learner
def test_a_used_algorithm_is_refused(who):
    algorithm = learner(who)
    algorithm.ask()
    with pytest.raises(RuntimeError, match="simulate needs a new algorithm, this one is in round 1"):
        simulate(algorithm, world(), T, 0)


@pytest.mark.parametrize("n", [11, 13])
def test_another_domain_is_refused(n):
    with pytest.raises(ValueError, match="must have the same candidates"):
        simulate(learner("gp-ucb", objective(n)), world(), T, 0)


def test_the_same_points_in_another_order_are_another_domain():
    f = objective()
    algorithm = ub.GPUCB(ub.Grid(f.X[::-1]), assumptions(f))
    with pytest.raises(ValueError, match="must have the same candidates"):
        simulate(algorithm, world(), T, 0)


@pytest.mark.parametrize(
    ("n_rounds", "seed", "error", "words"),
    [
        (0, 0, ValueError, "T must be >= 1, got T=0"),
        (2.0, 0, TypeError, "T must be an integer"),
        (True, 0, TypeError, "T must be an integer"),
        (2, -1, ValueError, "seed must be >= 0"),
        (2, None, TypeError, "seed must be an integer"),
    ],
)
def test_a_game_that_makes_no_sense_is_refused_before_it_begins(n_rounds, seed, error, words):
    algorithm = learner("gp-ucb")
    with pytest.raises(error, match=words):
        simulate(algorithm, world(), n_rounds, seed)
    assert algorithm.t == 0


def test_the_caller_hears_of_every_round():
    heard = []
    simulate(learner("gp-ucb"), world(), 5, 0, on_round=heard.append)
    assert heard == [1, 2, 3, 4, 5]


def test_the_meta_data_say_what_was_played():
    environment = Environment(objective(), noise_std=NOISE_STD, C=2.5, threat="strong")
    meta = play(learner("robust"), environment, seed=9).meta
    assert meta["adversary"] == NoAdversary.__name__
    assert (meta["threat"], meta["C"], meta["seed"], meta["T"]) == ("strong", 2.5, 9, T)
    assert (meta["objective"], meta["noise_std"]) == ("two peaks", NOISE_STD)
    assert (meta["f_max"], meta["best"]) == (objective().f_max, objective().best)
    assert meta["algorithm"]["algorithm"] == "RobustGPUCB"
    assert meta["instances"] == ["main"]
    assert meta["spent"] == 0.0
