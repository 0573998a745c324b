"""Laws of every player, whether it promises anything or not."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unbribable as ub
from contracts.members import ALGORITHMS, PLAYERS, RIVALS
from unbribable import lab
from unbribable.decision.player import MEMBERS, details_of
from unbribable.decision.proven.conditions import BetaGiven, TakenOut
from unbribable.decision.proven.guarantee import Guarantee
from unbribable.lab.report.outcomes import cell_of, reduced
from unbribable.lab.world.adversaries import Flip
from unbribable.lab.world.objectives import figure_1

OBJECTIVE = figure_1(30)
X = OBJECTIVE.X
ASSUMED = ub.Assumptions(OBJECTIVE.kernel, B=OBJECTIVE.norm, B0=OBJECTIVE.B0, noise_std=0.1, lam=0.05)
Build = Callable[..., Any]
EVERY = pytest.mark.parametrize("build", PLAYERS.values(), ids=PLAYERS)
ITS_WORD = Guarantee("weak", ("main",), 0.9, C=2.0)
LAWS = settings(max_examples=10, deadline=None, derandomize=True)
pytestmark = pytest.mark.filterwarnings("ignore::unbribable.AssumptionsRefuted")


def new(build: Build, seed: int = 0) -> Any:
    return build(ub.Grid(X), ASSUMED, seed=seed)


def game(player: Any, threat: str = "weak", T: int = 25) -> lab.Record:
    environment = lab.Environment(
        OBJECTIVE, noise_std=0.1, adversary=Flip(OBJECTIVE), C=2.0, threat=threat
    )
    return lab.simulate(player, environment, T, 1)


@EVERY
def test_a_player_has_what_a_game_needs(build: Build) -> None:
    player = new(build)
    assert all(hasattr(player, name) for name in MEMBERS)
    promise = player.guarantee
    assert promise is None or str(promise).endswith(".")
    if promise is not None:
        plain = json.loads(json.dumps(promise.to_plain(), allow_nan=False))
        assert Guarantee.from_plain(plain) == promise
    assert json.loads(json.dumps(player.knowledge, allow_nan=False)) == player.knowledge


@EVERY
@LAWS
@given(told=st.lists(st.floats(-2.0, 2.0), min_size=1, max_size=15), seed=st.integers(0, 999))
def test_looking_changes_nothing(build: Build, told: list[float], seed: int) -> None:
    """The same seed and readings give the same queries, whoever looks in between."""
    plain, watched = new(build, seed), new(build, seed)
    for y in told:
        watched.propose(), watched.bounds(), watched.recommend(), watched.knowledge, watched.guarantee
        one, other = plain.ask(), watched.ask()
        assert one.index == other.index
        plain.tell(one, y)
        watched.tell(other, y)
    assert plain.recommend().index == watched.recommend().index


@EVERY
def test_a_query_is_a_candidate_that_was_proposed_and_rounds_are_counted(build: Build) -> None:
    player = new(build)
    for t in range(1, 30):
        proposal = player.propose()
        assert proposal.probabilities.sum() == pytest.approx(1.0, abs=1e-15)
        assert len(proposal.points) == len(proposal.indices) == len(proposal.instances)
        np.testing.assert_array_equal(proposal.points, X[proposal.indices])
        query = player.ask()
        assert query.id == query.t == proposal.t == t
        atoms = zip(proposal.indices, proposal.instances, proposal.probabilities, strict=True)
        assert any(p > 0.0 for i, label, p in atoms if (i, label) == (query.index, query.instance))
        np.testing.assert_array_equal(query.x, X[query.index])
        player.tell(query, 0.2)


@EVERY
def test_asking_learns_nothing(build: Build) -> None:
    """What is claimed and recommended rests on what was told, not on what was asked."""
    player = new(build)
    for y in (0.3, -0.1, 0.5):
        player.tell(player.ask(), y)
    before = player.recommend(), player.bounds()
    player.ask()
    best, bounds = player.recommend(), player.bounds()
    assert best.index == before[0].index
    np.testing.assert_equal(bounds, before[1])


@EVERY
def test_bounds_are_claimed_at_every_candidate_or_not_at_all(build: Build) -> None:
    player = new(build)
    for y in (0.3, -0.1, 0.5, 0.2):
        player.tell(player.ask(), y)
        bounds, best = player.bounds(), player.recommend()
        if bounds is None:
            assert best.regret_bound is None
            continue
        lower, upper = bounds
        assert lower.shape == upper.shape == (len(X),)
        assert (lower <= upper).all()
        at = lower[best.index], upper[best.index]
        if getattr(best, "n_lies", None) is None:
            assert (best.lower, best.upper) == at
        else:  # one point is bounded by leaving readings out, besides
            assert at[0] <= best.lower <= best.upper <= at[1]


@EVERY
@pytest.mark.parametrize("threat", ["weak", "strong"])
def test_a_game_leaves_a_record_that_a_report_can_read(build: Build, threat: str, tmp_path: Any) -> None:
    record = game(new(build), threat)
    found = lab.Record.load(record.save(tmp_path / "game.npz"))
    assert found.meta == record.meta
    assert found.columns.keys() == record.columns.keys()
    reduced_game = reduced(found)
    assert reduced_game.regret[-1] == pytest.approx(record.cumulative_regret[-1])
    assert cell_of(found).kind == record.meta["algorithm"]["algorithm"]


@EVERY
def test_the_same_seeds_give_the_same_game(build: Build) -> None:
    one, two = game(new(build, 3)), game(new(build, 3))
    np.testing.assert_array_equal(one.columns["index"], two.columns["index"])
    drawn = "algorithm_seed"  # GP-UCB draws nothing and takes none
    assert {**one.meta, drawn: None} == {**two.meta, drawn: None}


@pytest.mark.parametrize("build", RIVALS.values(), ids=RIVALS)
def test_pending_queries_are_told_in_any_order_and_bad_readings_cost_nothing(build: Build) -> None:
    player = new(build)
    queries = [player.ask() for _ in range(4)]
    for bad in (np.nan, np.inf, "0.3", None, True):
        with pytest.raises((TypeError, ValueError), match=r"^y must be"):
            player.tell(queries[2], bad)
    assert player.pending == tuple(queries)
    for k in (2, 0, 3, 1):
        assert player.tell(queries[k] if k else 1, 0.1 * k) == k + 1
    assert player.pending == ()
    with pytest.raises(RuntimeError, match="query 3 "):
        player.tell(queries[2], 0.1)
    assert player.ask().t == 5


# --- what algorithms promise, and what nobody need promise -------------------------------------------


@pytest.mark.parametrize("build", ALGORITHMS.values(), ids=ALGORITHMS)
def test_an_algorithm_claims_bounds_until_they_are_void(build: Build) -> None:
    algorithm = new(build)
    assert algorithm.guarantee.void is None
    assert str(algorithm.guarantee).startswith("With probability at least 0.9")
    assert algorithm.knowledge["B"] == ASSUMED.B
    for _ in range(60):
        query = algorithm.ask()
        algorithm.tell(query, OBJECTIVE.f[query.index])
    lower, upper = algorithm.bounds()
    assert ((lower <= OBJECTIVE.f) & (OBJECTIVE.f <= upper)).all()
    algorithm.retract(3)
    assert algorithm.bounds() is None
    assert algorithm.guarantee.void == TakenOut((3,))
    by_hand = build(ub.Grid(X), ASSUMED, beta=2.0)
    assert by_hand.bounds() is None
    assert by_hand.guarantee.void == BetaGiven()


SILENT = sorted(name for name, build in PLAYERS.items() if new(build).bounds() is None)
BELIEF = {"mu", "sigma", "width", "ucb", "lower", "upper"}


@pytest.mark.parametrize("name", SILENT)
def test_a_player_that_promises_nothing_is_recorded_without_promises(name: str) -> None:
    player = new(PLAYERS[name])
    record = game(player)
    shown = BELIEF if np.isfinite(new(PLAYERS[name]).ask().width) else set()
    shown = shown | ({"maximisers"} if details_of(player).maximisers is not None else set())
    assert {"index", "x", "f", "noise", "c", "y_tilde", "charge", "instance", "seconds"} == set(
        record.columns
    ) - shown
    meta = record.meta
    assert meta["covered"] == {}
    assert meta["instances"] == ["main"]
    assert meta["certificate"] is meta["detected"] is meta["refuted"] is None
    assert meta["algorithm_seed"] == details_of(player).seed
    promise = meta["algorithm"]["guarantee"]
    assert promise is None or promise["void"] is not None
    assert meta["algorithm"]["recommendation"]["x"] == X[meta["recommended"]].tolist()
    assert (record.columns["instance"] == 0).all()


class Boaster(ub.Player):
    """Asks for candidate 0 and claims what it is told to claim, round by round."""

    knowledge = "Nothing but its own opinion."
    guarantee = ITS_WORD

    def __init__(self, *claims: Any) -> None:
        self.claims, self.t = claims, 0

    def propose(self) -> ub.Proposal:
        return ub.Proposal(self.t + 1, X[:1], np.zeros(1, np.intp), np.ones(1), ("main",))

    def ask(self) -> ub.Query:
        self.t += 1
        return ub.Query(t=self.t, x=X[0], u=X[0], index=0)

    def tell(self, query: ub.Query, y: float) -> None:
        pass

    def recommend(self) -> ub.Recommendation:
        return ub.Recommendation(x=X[0], index=0)

    def bounds(self) -> Any:
        claim = self.claims[min(self.t, len(self.claims) - 1)]
        return None if claim is None else (OBJECTIVE.f - claim, OBJECTIVE.f + 0.1)


@pytest.mark.parametrize(
    ("claims", "covered"),
    [
        ((0.1,), {"main": True}),
        ((-0.1,), {"main": False}),
        ((None, None, 0.1), {"main": True}),
        ((0.1, -0.1, 0.1), {"main": False}),  # wrong once, in the first round
        ((None,), {}),
    ],
)
def test_bounds_of_any_player_are_compared_with_the_truth_in_every_round(
    claims: Any, covered: dict[str, bool]
) -> None:
    record = game(Boaster(*claims), T=4)
    assert record.meta["covered"] == covered
    assert record.meta["algorithm"]["knowledge"] == Boaster.knowledge
    assert record.meta["algorithm"]["guarantee"] == ITS_WORD.to_plain()
    assert list(reduced(record).covered) == list(covered)


class Changed(Boaster):
    """A boaster with some members replaced."""

    def __init__(self, **members: Any) -> None:
        super().__init__(None)
        for name, member in members.items():
            setattr(self, name, member)


def query(**changes: Any) -> ub.Query:
    return ub.Query(**{"t": 1, "x": X[0], "u": X[0], "index": 0, **changes})


BAD = [
    (object(), TypeError, "a player must have propose, .*, got object without propose, ask, tell"),
    (Changed(ask=lambda: query(index=None)), ValueError, "must have the same candidates.*index=None"),
    (Changed(ask=lambda: query(index=30)), ValueError, "must have the same candidates.*index=30"),
    (Changed(ask=lambda: query(x=X[1])), ValueError, "must have the same candidates"),
    (Changed(ask=lambda: query(index=1, x=X[1])), RuntimeError, "candidate 1 is not among the points"),
    (Changed(ask=query), RuntimeError, "a player must count its rounds from 1, got t=1 in round 2"),
    (Changed(t=3), RuntimeError, "needs a new algorithm, this one is in round 3"),
    (Changed(ask=lambda: query(instance="slow")), ValueError, "instance must be one of 'main'"),
    (Changed(bounds=lambda: (np.zeros(3), np.ones(3))), ValueError, "30 of them, got bounds of shapes"),
    (Changed(knowledge={"a": {1}}), TypeError, "knowledge must be plain data or words, got .*set"),
    (Changed(knowledge={"a": np.inf}), TypeError, "knowledge must be plain data or words"),
    (Changed(knowledge={"C": "much"}), TypeError, "C of knowledge must be a real number, got .*'much'"),
]


@pytest.mark.parametrize(("player", "error", "words"), BAD, ids=[words for *_, words in BAD])
def test_what_is_no_player_is_refused_with_the_rule(player: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        game(player)


def test_a_player_may_be_any_class_with_the_seven_members() -> None:
    """No base class is needed."""
    inner = Boaster(0.1)
    plain = type("Plain", (), {name: staticmethod(getattr(inner, name)) for name in MEMBERS[:5]})()
    plain.knowledge, plain.guarantee = {"C": 3.0, "B": None}, None
    record = game(plain, T=3)
    assert record.meta["algorithm"]["C"] == 3.0
    assert record.meta["covered"] == {"main": True}
    assert reduced(record).promised == {"main": True}


@pytest.mark.parametrize(("told", "is_promised"), [(2.0, True), (1.9, False), (None, False)])
def test_bounds_of_any_player_are_promised_if_it_allows_for_the_corruption(
    told: float | None, is_promised: bool
) -> None:
    """The true budget is 2."""
    boaster = Boaster(0.1)
    boaster.knowledge = {"C": told}  # type: ignore[assignment]
    assert reduced(game(boaster, T=3)).promised == {"main": is_promised}
