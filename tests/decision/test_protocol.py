"""propose, ask, tell, recommend, summary: who changes what, and what is promised."""

import dataclasses
import json
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from contracts.members import ALGORITHMS, algorithms
from told import player_of

POINTS = np.random.default_rng(5).random((25, 2))
DOMAIN = ub.Grid(POINTS)
KERNEL = ub.SquaredExponential(0.4)
F = np.sin(5.0 * POINTS[:, 0]) * np.cos(3.0 * POINTS[:, 1])
ASSUMED = ub.Assumptions(KERNEL, B=3.0, B0=1.0, noise_std=0.1, lam=0.05, delta=0.1)

MAKERS = algorithms(domain=DOMAIN, assumptions=ASSUMED, C=3.0, T=60, seed=4)
ALL = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def beliefs(algorithm: Any) -> dict[str, np.ndarray]:
    """Everything an algorithm has learned."""
    numbers = {
        label: np.stack([i.mu, i.sigma, i.noise, i.ucb_bar, i.lcb_bar])
        for label, i in algorithm.instances.items()
    }
    numbers["maximisers"] = np.array(getattr(algorithm, "maximisers", []))
    return {label: array.copy() for label, array in numbers.items()}


def assert_same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    """Bit for bit."""
    assert one.keys() == other.keys()
    for label, array in one.items():
        np.testing.assert_array_equal(array, other[label])


def play(algorithm: Any, n_rounds: int, seed: int = 0) -> list[ub.Query]:
    """Rounds of the clean game with noise; returns the queries."""
    rng = np.random.default_rng(seed)
    queries = []
    for _ in range(n_rounds):
        query = algorithm.ask()
        queries.append(query)
        algorithm.tell(query, F[query.index] + 0.1 * rng.normal())
    return queries


@ALL
def test_ask_learns_nothing(make: Callable[..., Any]) -> None:
    """It only draws: the round and the pending queries move, the beliefs do not."""
    algorithm = make()
    play(algorithm, 7)
    before = beliefs(algorithm)
    n_told = len(algorithm.readings)
    queries = [algorithm.ask() for _ in range(5)]
    assert_same(beliefs(algorithm), before)
    assert len(algorithm.readings) == n_told
    assert algorithm.pending == tuple(queries)
    assert [query.t for query in queries] == [8, 9, 10, 11, 12]
    assert algorithm.t == 12


@ALL
def test_no_atom_of_a_proposal_is_idle(make: Callable[..., Any]) -> None:
    """Each may be drawn, for an instance that there is."""
    algorithm = make()
    for _ in range(30):
        proposal = algorithm.propose()
        assert (proposal.probabilities > 0.0).all()
        assert set(proposal.instances) <= {None, *algorithm.instances}
        algorithm.tell(algorithm.ask(), 0.0)


@pytest.mark.parametrize(
    ("T", "expected"),
    [
        (1, [1.0]),
        (2, [1.0]),
        (3, [0.75, 0.25]),
        (4, [0.75, 0.25]),
        (5, [0.625, 0.25, 0.125]),
        (64, [0.5 + 2**-6, 0.25, 0.125, 2**-4, 2**-5, 2**-6]),
    ],
)
def test_a_layer_is_drawn_with_two_to_minus_l(T: int, expected: list[float]) -> None:
    """And layer 1 gets the remainder."""
    algorithm = ub.LayeredGPUCB(DOMAIN, ASSUMED, T=T, seed=1, with_all=False)
    np.testing.assert_array_equal(algorithm.propose().probabilities, expected)
    np.testing.assert_array_equal(algorithm.probabilities, expected)
    assert list(algorithm.instances) == [f"layer-{k + 1}" for k in range(len(expected))]


def test_slow_is_drawn_with_one_over_c() -> None:
    """The proposal publishes it before the draw."""
    proposal = ub.FastSlowGPUCB(DOMAIN, ASSUMED, C=8.0, seed=1).propose()
    np.testing.assert_array_equal(proposal.probabilities, [0.125, 0.875])
    assert proposal.instances == ("slow", "fast")


@pytest.mark.parametrize("seed", [0, 7, 12345])
def test_draws_are_a_pure_function_of_seed_and_round(seed: int) -> None:
    """The instance of round t is what the formula says, whatever was asked and told before."""
    p = 1.0 / 3.0
    algorithm = ub.FastSlowGPUCB(DOMAIN, ASSUMED, C=3.0, seed=seed)
    layers = ub.LayeredGPUCB(DOMAIN, ASSUMED, T=16, seed=seed, with_all=False)
    cumulated = np.cumsum(layers.probabilities)
    for t in range(1, 60):
        u = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(t,))).random()
        query = algorithm.ask()
        assert query.instance == ("slow" if u < p else "fast")
        layer = int(np.argmax(u < cumulated)) + 1
        assert layers.ask().instance == f"layer-{layer}"
        if t % 3 == 0:
            algorithm.tell(query, 0.0)


def test_a_seed_sequence_serves_as_seed() -> None:
    """A spawned stream draws from its own children, and not as its parent does."""
    child = np.random.SeedSequence(3).spawn(2)[1]
    spawned = ub.LayeredGPUCB(DOMAIN, ASSUMED, T=64, seed=child, with_all=False)
    parent = ub.LayeredGPUCB(DOMAIN, ASSUMED, T=64, seed=3, with_all=False)
    labels = [spawned.ask().instance for _ in range(40)]
    assert labels != [parent.ask().instance for _ in range(40)]
    again = ub.LayeredGPUCB(
        DOMAIN, ASSUMED, T=64, seed=np.random.SeedSequence(3).spawn(2)[1], with_all=False
    )
    assert labels == [again.ask().instance for _ in range(40)]


def test_a_seed_sequence_of_a_numpy_integer_serves_too() -> None:
    """Its entropy is the integer."""
    plain = ub.LayeredGPUCB(DOMAIN, ASSUMED, T=64, seed=5, with_all=False)
    wrapped = ub.LayeredGPUCB(
        DOMAIN, ASSUMED, T=64, seed=np.random.SeedSequence(np.int64(5)), with_all=False
    )
    assert [plain.ask().instance for _ in range(30)] == [wrapped.ask().instance for _ in range(30)]


def test_without_a_seed_two_runs_draw_differently() -> None:
    """Fresh entropy: 60 equal draws of a fair enough coin would be one in 2^50."""
    runs = [ub.FastSlowGPUCB(DOMAIN, ASSUMED, C=2.0) for _ in range(2)]
    labels = [[run.ask().instance for _ in range(60)] for run in runs]
    assert labels[0] != labels[1]


@ALL
def test_ties_go_to_the_lowest_index(make: Callable[..., Any]) -> None:
    """At the prior every candidate has the same bound."""
    assert make().propose().indices.tolist() == [0] * len(make().propose().indices)


def test_a_symmetric_tie_later_goes_to_the_lowest_index() -> None:
    """After reading the middle of three, both ends are equally uncertain."""
    domain = ub.Grid([[-1.0], [0.0], [1.0]])
    algorithm = ub.GPUCB(domain, ASSUMED)
    algorithm.tell(x=[0.0], y=0.0)
    assert algorithm.ask().index == 0


@pytest.mark.parametrize("name", ["gp-ucb", "robust"])
def test_the_choice_counts_the_width_by_what_pending_queries_will_leave_of_sigma(name: str) -> None:
    """The same as if they had been told, which a second run is; their values do not matter."""
    algorithm, told = MAKERS[name](), MAKERS[name]()
    play(algorithm, 9)
    play(told, 9)
    main = algorithm.instances["main"]
    for k in range(12):
        left = told.instances["main"].sigma / main.sigma
        ucb = main.mu + left * main.width
        query = algorithm.ask()
        assert query.ucb == pytest.approx(ucb[query.index], rel=1e-9)
        assert query.ucb == pytest.approx(ucb.max(), rel=1e-9)
        told.tell(x=query.x, y=0.1 * k)


@ALL
def test_a_told_query_is_refused_the_second_time(make: Callable[..., Any]) -> None:
    """By value and by id."""
    algorithm = make()
    query = algorithm.ask()
    algorithm.tell(query, 0.3)
    before = beliefs(algorithm)
    for again in (query, query.id):
        with pytest.raises(RuntimeError, match="told already"):
            algorithm.tell(again, 0.3)
    assert_same(beliefs(algorithm), before)
    assert len(algorithm.readings) == 1


@ALL
def test_telling_by_id_is_telling_by_query(make: Callable[..., Any]) -> None:
    """Bit for bit."""
    one, other = make(), make()
    for k in range(6):
        one.tell(one.ask(), 0.1 * k)
        other.tell(other.ask().id, 0.1 * k)
    assert_same(beliefs(one), beliefs(other))


@ALL
def test_another_algorithms_query_is_refused(make: Callable[..., Any]) -> None:
    """A query that was not asked here, and one whose id is pending here for another point."""
    algorithm, other = make(), make()
    with pytest.raises(RuntimeError, match="not asked here"):
        algorithm.tell(other.ask(), 0.0)
    mine = algorithm.ask()
    point = POINTS[mine.index + 1]
    theirs = dataclasses.replace(mine, index=mine.index + 1, u=point, x=point)
    with pytest.raises(RuntimeError, match="not asked here"):
        algorithm.tell(theirs, 0.0)
    assert algorithm.pending == (mine,)


@ALL
def test_a_foreign_reading_is_a_round(make: Callable[..., Any]) -> None:
    """It has an id of its own, cannot be told again, and is kept apart from the played rounds."""
    algorithm = make()
    play(algorithm, 2)
    id_ = algorithm.tell(x=POINTS[11], y=0.5)
    assert (id_, algorithm.t) == (3, 3)
    assert algorithm.readings[-1].chosen_by == "user"
    assert algorithm.candidates.index_of(algorithm.readings[-1].u) == 11
    assert algorithm.regret_certificate().n_rounds == 2
    with pytest.raises(RuntimeError, match="told already"):
        algorithm.tell(3, 0.5)
    assert algorithm.ask().id == 4


@pytest.mark.parametrize("name", ["gp-ucb", "robust"])
def test_the_one_instance_learns_every_foreign_reading(name: str) -> None:
    """As if it had asked for it."""
    algorithm = MAKERS[name]()
    for k in range(9):
        algorithm.tell(x=POINTS[k], y=F[k])
    assert algorithm.instances["main"].n_readings == 9
    assert {reading.learner for reading in algorithm.readings} == {"main"}


@pytest.mark.long
def test_slow_learns_one_foreign_reading_in_c() -> None:
    """400 seeds x 5 readings at p = 1/4: 500 expected, 4.5 standard deviations are 87."""
    n_slow = 0
    for seed in range(400):
        algorithm = ub.FastSlowGPUCB(DOMAIN, ASSUMED, C=4.0, seed=seed, width="paper", noise="paper")
        for k in range(5):
            algorithm.tell(x=POINTS[k], y=0.0)
        slow, fast = algorithm.instances["slow"], algorithm.instances["fast"]
        assert slow.n_readings + fast.n_readings == algorithm.instances["all"].n_readings == 5
        n_slow += slow.n_readings
    assert abs(n_slow - 500) < 4.5 * math.sqrt(2000 * 0.25 * 0.75)


def test_a_foreign_reading_is_drawn_as_the_round_would_have_been() -> None:
    """The instance that learns depends on seed and round, not on the point."""
    asking = ub.LayeredGPUCB(DOMAIN, ASSUMED, T=64, seed=9, with_all=False)
    telling = ub.LayeredGPUCB(DOMAIN, ASSUMED, T=64, seed=9, with_all=False)
    for k in range(20):
        query = asking.ask()
        telling.tell(x=POINTS[k], y=0.0)
        assert telling.readings[-1].learner == query.instance
        asking.tell(query, 0.0)


@ALL
def test_a_noisier_reading_weighs_less(make: Callable[..., Any]) -> None:
    """Its fictitious noise is lam (noise_std / assumed)^2; the assumed one changes nothing."""
    plain, same, noisy = make(), make(), make()
    for algorithm, noise_std in ((plain, None), (same, ASSUMED.noise_std), (noisy, 0.3)):
        algorithm.tell(algorithm.ask(), 0.8, noise_std=noise_std)
    assert_same(beliefs(plain), beliefs(same))
    assert noisy.readings[0].lam == pytest.approx(9.0 * ASSUMED.lam)
    label = noisy.readings[0].learner
    i = noisy.candidates.index_of(noisy.readings[0].u)
    one, other = plain.instances[label], noisy.instances[label]
    assert one.mu[i] == pytest.approx(0.8 / 1.05)
    assert other.mu[i] == pytest.approx(0.8 / 1.45)
    assert other.sigma[i] ** 2 == pytest.approx(0.45 / 1.45)


@ALL
def test_the_query_tells_what_its_player_believes(make: Callable[..., Any]) -> None:
    """mu, sigma and width at alpha = 1 of the instance that plays."""
    algorithm = make()
    play(algorithm, 15)
    query = algorithm.ask()
    player = player_of(algorithm, query)
    assert query.mu == player.mu[query.index]
    assert query.sigma == player.sigma[query.index]
    assert query.width == player.width[query.index]
    assert query.id == query.t == 16


@ALL
def test_values_are_frozen(make: Callable[..., Any]) -> None:
    """Queries, proposals, readings and recommendations cannot be edited, nor the domain's points."""
    algorithm = make()
    proposal, query = algorithm.propose(), algorithm.ask()
    algorithm.tell(query, 0.0)
    for value, name in (
        (proposal, "t"),
        (query, "index"),
        (algorithm.readings[0], "y"),
        (algorithm.recommend(), "regret_bound"),
        (algorithm.regret_certificate(), "value"),
        (algorithm.assumptions, "B"),
        (algorithm.options, "width"),
        (algorithm.assumptions.kernel, "lengthscale"),
    ):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, name, 0)
    for array in (query.x, algorithm.recommend().x, algorithm.domain.points):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0


@ALL
def test_editing_a_proposals_arrays_does_not_reach_the_algorithm(make: Callable[..., Any]) -> None:
    """They are copies."""
    algorithm, untouched = make(), make()
    play(algorithm, 4)
    play(untouched, 4)
    proposal = algorithm.propose()
    proposal.indices[:] = 24
    proposal.probabilities[:] = 0.0
    proposal.points[:] = -1.0
    assert algorithm.ask().index == untouched.ask().index


@ALL
def test_the_summary_is_plain_data_and_keeps_the_seed_secret(make: Callable[..., Any]) -> None:
    """JSON takes it, at the start and later."""
    seed = 987654321123
    algorithm = make(seed=seed)
    for n_rounds in (0, 12):
        play(algorithm, n_rounds)
        summary = algorithm.summary()
        text = json.dumps(summary, allow_nan=False)
        assert json.loads(text) == summary
        assert "seed" not in summary
        assert str(seed) not in text
        assert summary["rounds"] == summary["told"] == n_rounds
        assert summary["algorithm"] == type(algorithm).__name__


def test_the_summary_of_uncapped_lies_is_plain_data() -> None:
    """c_max = inf is a word there: JSON has no infinity."""
    assumed = dataclasses.replace(ASSUMED, c_max=math.inf)
    algorithm = ub.RobustGPUCB(DOMAIN, assumed, C=2.0)
    summary = algorithm.summary()
    assert summary["c_max"] == "inf"
    assert json.dumps(summary, allow_nan=False)


# --- recommendations -------------------------------------------------------------------------------

THREATS = [
    ("gp-ucb", None, "none", ["main"], 0.9),
    ("gp-ucb", "none", "none", ["main"], 0.9),
    ("robust", None, "strong", ["main"], 0.9),
    ("robust", "weak", "weak", ["main"], 0.9),
    ("robust", "strong", "strong", ["main"], 0.9),
    ("fast-slow", None, "weak", ["slow", "all"], 0.94),
    ("fast-slow", "weak", "weak", ["slow", "all"], 0.94),
    ("fast-slow", "strong", "strong", ["all"], 0.98),
]


def assert_recommends(
    best: ub.Recommendation, algorithm: Any, labels: list[str], probability: float
) -> None:
    """argmax lcb_v, the cut interval and the certificate, of these instances' intersected bounds.

    The certificate is at most that of the single bounds, and that of the pairs where they are less.
    """
    trusted = [algorithm.instances[label] for label in labels]
    upper = np.min([instance.ucb_bar for instance in trusted], axis=0)
    lower = np.max([instance.lcb_bar for instance in trusted], axis=0)
    B0 = algorithm.assumptions.B0
    assert best.index == int(np.argmax(lower))
    assert best.lower == max(lower[best.index], -B0)
    assert best.upper == min(upper[best.index], B0)
    sources = [instance.source(best.index) for instance in trusted]
    single = np.minimum(upper, B0) - best.lower
    paired = np.min([source.upper(np.arange(len(upper))) for source in sources], axis=0)
    others = np.arange(len(upper)) != best.index
    assert best.regret_bound == pytest.approx(max(0.0, np.minimum(single, paired)[others].max()))
    assert best.regret_bound <= max(single.max(), 0.0)
    assert best.probability == pytest.approx(probability)
    np.testing.assert_array_equal(best.x, POINTS[best.index])


@pytest.mark.parametrize(("name", "threat", "meant", "labels", "probability"), THREATS)
def test_a_recommendation_trusts_whom_the_threat_allows(
    name: str, threat: str | None, meant: str, labels: list[str], probability: float
) -> None:
    """The table of docs/threats.md, row by row."""
    algorithm = MAKERS[name]()
    play(algorithm, 60)
    best = algorithm.recommend(threat=threat)
    assert best.threat == meant
    assert_recommends(best, algorithm, labels, probability)
    certificate = algorithm.regret_certificate(threat=threat)
    assert certificate.probability == pytest.approx(probability)
    assert certificate.n_rounds == 60
    assert certificate.value >= F.max() * 60 - sum(
        F[algorithm.candidates.index_of(r.u)] for r in algorithm.readings
    )
    assert best.regret_bound >= F.max() - F[best.index]


@pytest.mark.parametrize(("threat", "labels"), [("weak", ["slow", "all"]), ("strong", ["all"])])
def test_slow_counts_against_a_weak_adversary_only(threat: str, labels: list[str]) -> None:
    """C = 20, where slow's bounds beat all's: the two threats get different numbers."""
    assumed = dataclasses.replace(ASSUMED, B0=100.0, c_max=1.0)
    algorithm = ub.FastSlowGPUCB(DOMAIN, assumed, C=20.0, seed=4, width="paper")
    play(algorithm, 60)
    best = algorithm.recommend(threat=threat)
    assert_recommends(best, algorithm, labels, 0.94 if threat == "weak" else 0.98)
    weak, strong = (algorithm.regret_certificate(threat=each) for each in ("weak", "strong"))
    assert weak.value < strong.value
    weak, strong = (algorithm.regret_certificate(threat=word).value for word in ("weak", "strong"))
    assert weak < strong


@pytest.mark.parametrize(
    ("C", "level"), [(0.0, 1), (1.0, 1), (2.0, 1), (2.1, 2), (4.0, 2), (5.0, 3), (64.0, 6)]
)
def test_layers_recommend_for_the_corruption_asked(C: float, level: int) -> None:
    """Layers l ... n_layers together, for the lowest l with C <= 2^l."""
    algorithm = MAKERS["layered"]()
    play(algorithm, 80)
    labels = [f"layer-{k}" for k in range(level, 7)]
    best = algorithm.recommend(C=C)
    assert_recommends(best, algorithm, labels, 0.95)
    assert best.threat == "weak"
    assert f"at most {2**level}" in best.guarantee
    assert "heuristic" not in best.guarantee


def test_layers_recommend_for_the_lowest_level_that_agrees_if_not_told() -> None:
    """Called a heuristic; every level's certificate of that point is reported."""
    algorithm = MAKERS["layered"]()
    play(algorithm, 80)
    best = algorithm.recommend()
    assert "heuristic" in best.guarantee
    assert_recommends(best, algorithm, [f"layer-{k}" for k in range(1, 7)], 0.95)
    assert [level.C for level in best.levels] == [2.0, 4.0, 8.0, 16.0, 32.0, 64.0]
    bounds = [level.regret_bound for level in best.levels]
    assert bounds == sorted(bounds)
    assert bounds[0] == best.regret_bound
    for level in best.levels:
        assert str(level) == (
            f"valid if C <= {int(level.C)}, no single lie exceeds c_max, and the adversary is weak"
        )


def test_layers_skip_a_level_whose_bounds_cross() -> None:
    """Layer 1 is lied to beyond its budget: its level has no certificate, a higher one has."""
    algorithm = ub.LayeredGPUCB(DOMAIN, ASSUMED, T=60, seed=4, with_all=False)
    for k in range(300):
        query = algorithm.ask()
        lie = 4.0 * (-1.0) ** k if query.instance == "layer-1" else 0.0
        algorithm.tell(query, F[query.index] + lie)
    best = algorithm.recommend()
    assert algorithm.refuted is None
    assert best.levels[0].regret_bound is None
    assert best.regret_bound is not None
    asked = algorithm.recommend(C=1.0)
    assert asked.regret_bound is None
    assert asked.probability is None
    assert "No guarantee" in asked.guarantee


def test_layers_trust_large_budgets_against_a_strong_adversary() -> None:
    """Those whose budget is at least the C that must be given."""
    algorithm = MAKERS["layered"]()
    play(algorithm, 60)
    budgets = {label: instance.C for label, instance in algorithm.instances.items()}
    C = sorted(budgets.values())[2]
    labels = [label for label, budget in budgets.items() if budget >= C]
    assert 0 < len(labels) < len(budgets)
    best = algorithm.recommend(threat="strong", C=C)
    assert_recommends(best, algorithm, labels, 0.95)
    assert best.levels == ()


@pytest.mark.parametrize("name", MAKERS)
def test_the_papers_rule_takes_the_largest_lower_bound_at_the_choice(name: str) -> None:
    """Over the rounds of trusted instances, with the bounds as they were."""
    algorithm = MAKERS[name]()
    queries = play(algorithm, 50)
    trusted = ALGORITHMS[name].trusted
    if trusted == ():
        with pytest.raises(RuntimeError, match="rule='paper' needs a reading of a trusted instance"):
            algorithm.recommend(rule="paper")
        return
    best = algorithm.recommend(rule="paper")
    trusted = trusted or algorithm.instances
    rounds = [query for query in queries if query.instance in trusted]
    first = max(rounds, key=lambda query: query.mu - query.width)
    assert best.index == first.index
    assert best.rule == "paper"
    assert best.regret_bound >= algorithm.recommend().regret_bound


# --- when the guarantee is void --------------------------------------------------------------------


def refute(algorithm: Any, n_rounds: int = 60) -> list[Any]:
    """Readings no function fits: +-8 by turns. Returns the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(n_rounds):
            algorithm.tell(algorithm.ask(), 8.0 if k < n_rounds // 2 else -8.0)
    return caught


@pytest.mark.parametrize("sign", [1.0, -1.0])
@ALL
def test_readings_that_agree_on_more_than_f_can_be_refute_the_assumptions(
    make: Any, sign: float
) -> None:
    """Some function fits them, but none that is bounded by B0."""
    domain = ub.Grid([[0.0], [1.0]])
    assumed = ub.Assumptions(ub.Matern(2.5, 0.5), B=20.0, B0=1.0, noise_std=0.1, lam=0.1)
    algorithm = make(domain=domain, assumptions=assumed, C=1.0, T=2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(400):
            algorithm.tell(x=domain.points[k % 2], y=sign * 4.0)
    assert [warning.category for warning in caught] == [ub.AssumptionsRefuted]
    assert all((i.lcb_bar <= i.ucb_bar + assumed.tolerance).all() for i in algorithm.instances.values())
    assert algorithm.recommend().regret_bound is None


@ALL
def test_refuted_assumptions_are_said_once_and_void_every_certificate(
    make: Callable[..., Any],
) -> None:
    """The round is kept, and from then on there is no number."""
    algorithm = make(T=2)
    caught = refute(algorithm)
    assert [entry.category for entry in caught] == [ub.AssumptionsRefuted]
    assert algorithm.refuted is not None
    assert f"up to round {algorithm.refuted}" in str(caught[0].message)
    best, certificate = algorithm.recommend(), algorithm.regret_certificate()
    assert best.regret_bound is best.probability is None
    assert certificate.value is certificate.probability is None
    assert "refuted" in best.guarantee
    assert "refuted" in str(certificate)
    assert "refuted" in str(algorithm.notes[0])


@ALL
def test_the_warning_is_an_error_where_warnings_are(make: Callable[..., Any]) -> None:
    """The reading has been learned by then: the caller may go on."""
    algorithm = make(T=2)

    def lie_on() -> None:
        for k in range(60):
            algorithm.tell(algorithm.ask(), 8.0 if k < 30 else -8.0)

    with pytest.raises(ub.AssumptionsRefuted, match="refuted"):
        lie_on()
    assert algorithm.pending == ()
    assert algorithm.readings[-1].t == algorithm.refuted == algorithm.t
    algorithm.tell(algorithm.ask(), -8.0)


@ALL
def test_a_given_beta_voids_the_guarantee_without_a_warning(make: Callable[..., Any]) -> None:
    """And the summary says why."""
    algorithm = make(beta=0.5)
    assert refute(algorithm, 40) == []
    best = algorithm.recommend()
    assert best.regret_bound is best.probability is None
    assert algorithm.regret_certificate().value is None
    assert "beta" in best.guarantee
    assert algorithm.summary()["guarantee"]["void"] == {"kind": "BetaGiven"}
    assert best.levels == ()


def test_past_its_horizon_a_layered_run_says_so() -> None:
    """Intervals hold, the regret theorem does not."""
    algorithm = ub.LayeredGPUCB(DOMAIN, ASSUMED, T=5, seed=1, with_all=False)
    play(algorithm, 5)
    assert algorithm.notes == ()
    play(algorithm, 1)
    assert "horizon" in str(algorithm.notes[0])
    assert algorithm.recommend().regret_bound is not None


def test_after_detection_everybody_plays_algorithm_1_on_all() -> None:
    """One atom of probability one; a query pending from before still reaches its instance."""
    algorithm = ub.FastSlowGPUCB(DOMAIN, ASSUMED, C=3.0, seed=4)
    rng = np.random.default_rng(0)
    held = algorithm.ask()
    while algorithm.detected is None:
        query, held = held, algorithm.ask()
        lie = -1.0 if query.instance == "fast" and F[query.index] > 0.3 else 0.0
        algorithm.tell(query, F[query.index] + lie + 0.1 * rng.normal())
        assert algorithm.t < 2000
    assert held.instance == "fast"
    detected = algorithm.detected
    proposal = algorithm.propose()
    assert proposal.instances == ("all",)
    assert proposal.probabilities.tolist() == [1.0]
    n_fast = algorithm.instances["fast"].n_readings
    algorithm.tell(held, 0.0)
    assert algorithm.instances["fast"].n_readings == n_fast + 1
    n_slow = algorithm.instances["slow"].n_readings
    play(algorithm, 10)
    assert algorithm.instances["slow"].n_readings == n_slow
    assert algorithm.detected == detected
    everything = algorithm.instances["all"]
    assert everything.n_readings == len(algorithm.readings)
    best = int(np.argmax(everything.mu + everything.width))
    assert algorithm.ask().index == best
