"""All algorithms on a box: where they ask, how their candidates grow, what they promise, going on."""

import copy
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from contracts.members import ALGORITHMS, BY_INSTANCE, algorithms
from games import is_too_often, leaves
from told import reading_of
from unbribable.decision.asking.anywhere import Anywhere
from unbribable.decision.proven.certain import certain
from unbribable.decision.units import Units
from unbribable.model.checks import Floats

KERNEL = ub.Matern(2.5, 0.5)
ASSUMED = ub.Assumptions(KERNEL, B=2.0, B0=2.0, noise_std=0.05, lam=0.05, c_max=0.5)
LOW, HIGH = np.array([-1.0, 2.0]), np.array([1.0, 7.0])
PLANE = ub.Box(LOW, HIGH, n_candidates=16)
LINE = ub.Box([0.0], [1.0], n_candidates=16)

MAKERS = algorithms(assumptions=ASSUMED, C=3.0, T=8, seed=3)
ALL = pytest.mark.parametrize("name", MAKERS)


def truth(u: Floats) -> float:
    """A function on the unit cube, below 1."""
    return float(0.8 * np.sin(7.0 * u).mean() * np.cos(2.0 * u[-1]))


def tell(algorithm: Any, query: ub.Query, lie: float = 0.0) -> None:
    """A reading whose noise is a function of the round."""
    noise = 0.05 * np.random.default_rng([1, query.t]).standard_normal()
    algorithm.tell(query, truth(query.u) + noise + lie)


def tell_foreign(algorithm: Any, k: int) -> Floats:
    """A reading of the k-th random point of the box, which is no candidate; returns its x."""
    x = algorithm.domain.from_unit(np.random.default_rng([2, k]).random(algorithm.domain.d))
    algorithm.tell(x=x, y=truth(algorithm.domain.to_unit(x)))
    return x


def numbers(algorithm: Any) -> dict[str, Any]:
    """Everything that a run has learned, as it is now."""
    found: dict[str, Any] = {
        "candidates": algorithm.candidates.coordinates.copy(),
        "detected": algorithm.detected,
        "refuted": algorithm.refuted,
        "maximisers": np.array(getattr(algorithm, "maximisers", [])),
    }
    for label, i in algorithm.instances.items():
        found[label] = np.stack([i.mu, i.sigma, i.noise, i.ucb_bar, i.lcb_bar, i.width])
        found[f"{label} gain"] = i.posterior.gain
    return found


def as_json(state: dict[str, Any]) -> dict[str, Any]:
    """The state through a JSON text and back."""
    plain = copy.deepcopy(state)
    plain["readings"] = {
        name: column.tolist() if isinstance(column, np.ndarray) else column
        for name, column in plain["readings"].items()
    }
    return json.loads(json.dumps(plain))


def fields(query: ub.Query | None) -> dict[str, Any] | None:
    """A query as comparable data."""
    return query and {**vars(query), "x": query.x.tolist(), "u": query.u.tolist()}


# --- asking and telling ------------------------------------------------------------------------------


@ALL
def test_what_is_asked_or_told_lies_in_the_box_and_becomes_a_candidate(name: str) -> None:
    """On the spot; candidates only grow, and an old one keeps its index."""
    algorithm = MAKERS[name](PLANE)
    n_off, asked = 0, []
    for k in range(12):
        before = algorithm.candidates.coordinates.copy()
        if k % 3 == 2:
            x = tell_foreign(algorithm, k)
        else:
            query = algorithm.ask()
            np.testing.assert_array_equal(algorithm.candidates.coordinates, before)
            x = query.x
            n_off += query.index is None
            asked.append(query)
            tell(algorithm, query)
        assert ((x >= LOW) & (x <= HIGH)).all()
        after = algorithm.candidates.coordinates
        np.testing.assert_array_equal(after[: len(before)], before)
        assert ((after >= 0.0) & (after <= 1.0)).all()
        reading = algorithm.readings[-1]
        np.testing.assert_allclose(algorithm.candidates.x_of(reading.u), x, rtol=0.0, atol=1e-12)
        assert (reading.chosen_by == "user") == (k % 3 == 2)
        assert len(algorithm.recommend().x) == 2
    assert n_off >= (2 if name == "quorum" else 3)  # three hands learn slowly
    assert len(after) > 16 + 4 + 12  # Sobol points, corners, points read
    for query in asked:
        assert any((after == query.u).all(axis=1))
    assert algorithm.summary()["candidates"] == len(after)


@ALL
@pytest.mark.parametrize("x", [[1.01, 3.0], [0.0, 1.9], [0.0], [np.nan, 3.0]])
def test_a_reading_outside_the_box_is_refused_and_nothing_changes(name: str, x: list[float]) -> None:
    """Not clipped: the bound is named."""
    algorithm = MAKERS[name](PLANE)
    tell_foreign(algorithm, 0)
    before, state = numbers(algorithm), as_json(algorithm.state())
    with pytest.raises(ValueError, match="x must"):
        algorithm.tell(x=x, y=0.0)
    np.testing.assert_equal(numbers(algorithm), before)
    assert as_json(algorithm.state()) == state


@ALL
def test_a_point_read_twice_is_one_candidate(name: str) -> None:
    """Also if it was pending as a point that was none when it was told the first time."""
    algorithm = MAKERS[name](PLANE)
    for k in range(10):
        tell_foreign(algorithm, k)
    query = algorithm.ask()
    while query.index is not None:
        tell(algorithm, query)
        query = algorithm.ask()
    algorithm.tell(x=query.x, y=0.1)
    tell(algorithm, query)
    first, second = algorithm.readings[-2:]
    np.testing.assert_array_equal(first.u, second.u)
    np.testing.assert_allclose(first.u, query.u, atol=1e-12)


@ALL
def test_proposing_changes_nothing_and_its_points_are_what_is_asked(name: str) -> None:
    """A run in which every round is proposed and looked at is the run without."""
    quiet, loud = MAKERS[name](PLANE), MAKERS[name](PLANE)
    n_off = 0
    for _ in range(6):
        proposal = loud.propose()
        again = loud.propose()
        np.testing.assert_array_equal(proposal.points, again.points)
        loud.recommend()
        certain(loud)
        loud.summary()
        one, other = quiet.ask(), loud.ask()
        assert fields(one) == fields(other)
        assert other.t == proposal.t
        k = [label for label, _ in loud.draws].index(loud.drawn(other.t))
        k = k if len(proposal.instances) > 1 else 0
        np.testing.assert_array_equal(proposal.points[k], other.x)
        assert proposal.instances[k] == other.instance
        assert proposal.indices[k] == (-1 if other.index is None else other.index)
        is_candidate = proposal.indices >= 0
        at = loud.candidates.coordinates[proposal.indices[is_candidate]]
        np.testing.assert_array_equal(PLANE.from_unit(at), proposal.points[is_candidate])
        n_off += int((~is_candidate).sum())
        tell(quiet, one)
        tell(loud, other)
    np.testing.assert_equal(numbers(quiet), numbers(loud))
    assert (
        n_off >= 2 or name == "quorum"
    )  # whose three hands bound most of the box as before any reading


@ALL
def test_the_same_seed_gives_the_same_run_in_a_box_of_any_scale(name: str) -> None:
    """The kernel sees the unit cube: bounds -5 and 5 play as 0 and 1 do, and x is scaled."""
    one, same = MAKERS[name](LINE), MAKERS[name](LINE)
    wide = MAKERS[name](ub.Box([-5.0], [5.0], n_candidates=16))
    for _ in range(10):
        first, second, scaled = one.ask(), same.ask(), wide.ask()
        assert fields(first) == fields(second)
        assert {**fields(scaled), "x": None} == {**fields(first), "x": None}
        np.testing.assert_allclose(scaled.x, 10.0 * first.x - 5.0, rtol=0.0, atol=1e-12)
        for algorithm, query in ((one, first), (same, second), (wide, scaled)):
            tell(algorithm, query)
    np.testing.assert_equal(numbers(one), numbers(same))
    np.testing.assert_equal(numbers(one), numbers(wide))
    assert len({tuple(one.candidates.x_of(reading.u)) for reading in one.readings}) > 4


def test_a_foreign_reading_is_scaled_too() -> None:
    """Up to the rounding of the scaling."""
    one, wide = MAKERS["robust"](LINE), MAKERS["robust"](ub.Box([-5.0], [5.0], n_candidates=16))
    for k in range(6):
        x = tell_foreign(one, k)
        wide.tell(x=10.0 * x - 5.0, y=truth(x))
    one_main, wide_main = one.instances["main"], wide.instances["main"]
    np.testing.assert_allclose(wide_main.ucb_bar, one_main.ucb_bar, rtol=1e-9)
    np.testing.assert_allclose(wide.recommend().x, 10.0 * one.recommend().x - 5.0, atol=1e-9)


@ALL
def test_certified_gains_are_refused_on_a_box(name: str) -> None:
    """They are bounds over finitely many points."""
    with pytest.raises(ValueError, match=r"gain='certified' needs a Grid.*Box"):
        MAKERS[name](PLANE, gain="certified")


# --- bounds ------------------------------------------------------------------------------------------


def lcb_of(instance: Any, U: Any) -> Any:
    """The lower bound of an instance with the energy form: that of all its forms, at points U."""
    mean, _, width = np.array([Anywhere(instance).describe(u) for u in U]).T
    lower = [mean - width]
    for form in instance.now.energy.elsewhere():
        at = form.elsewhere.at(U)
        lower.append(at.mu - form.factor * at.sigma)
    return np.max(lower, axis=0)


@ALL
@pytest.mark.parametrize("words", [{}, {"width": "capped", "noise": "paper"}], ids=str)
def test_a_new_candidate_starts_with_its_current_bounds_and_its_first(
    name: str, words: dict[str, Any]
) -> None:
    """Of every instance; who learns from the reading intersects them with those after it."""
    box = ub.Box(LOW, HIGH, n_candidates=32)
    algorithm = MAKERS[name](box, **words)
    tell_foreign(algorithm, 0)
    n_learned = n_first = 0
    for k in range(1, 8):
        n = algorithm.candidates.n
        earlier = MAKERS[name](box, **words).restore(algorithm.state())
        counts = {label: i.n_readings for label, i in algorithm.instances.items()}
        tell_foreign(algorithm, k)
        new = algorithm.candidates.coordinates[n:]
        assert len(new) == (9 if k < 4 else 1)  # the point, and local ones as long as there are few
        for label, instance in algorithm.instances.items():
            then = Anywhere(earlier.instances[label])
            mean = np.array([then.describe(u)[0] for u in new])
            upper = then.ucb(new, 1.0)
            first = Anywhere(MAKERS[name](box, **words).instances[label]).ucb(new, 1.0)
            n_first += int((first < upper).sum())
            lower = 2.0 * mean - upper
            if instance.now.energy is not None:
                lower = lcb_of(earlier.instances[label], new)
            upper, lower = np.minimum(upper, first), np.maximum(lower, -first)
            if instance.n_readings > counts[label]:
                n_learned += 1
                width = instance.width  # solves what was left open
                upper = np.minimum(upper, np.minimum(instance.mu + width, instance.now.ucb)[n:])
                lower = np.maximum(lower, np.maximum(instance.mu - width, instance.now.lcb)[n:])
            np.testing.assert_allclose(instance.ucb_bar[n:], upper, rtol=1e-6, atol=1e-8)
            np.testing.assert_allclose(instance.lcb_bar[n:], lower, rtol=1e-6, atol=1e-8)
    assert n_learned >= 7
    assert n_first > 0 or not words


SHARP = ub.Assumptions(KERNEL, B=2.0, B0=1.0, noise_std=0.02, lam=0.02, c_max=0.01)


@pytest.mark.parametrize("seed", [0, 1])
def test_potential_maximisers_stay_nested_as_candidates_come(seed: int) -> None:
    """What is ruled out is ruled out by a layer from there up, and a new candidate so at once."""
    algorithm = ub.LayeredGPUCB(LINE, SHARP, T=8, seed=seed, with_all=False)
    rng, n_born_out = np.random.default_rng(seed), np.zeros(3)
    for k in range(60):
        n, x = algorithm.candidates.n, rng.random(1)
        algorithm.learn(reading_of(algorithm, k + 1, x, truth(x), f"layer-{3 - k // 20}"))
        maximisers, layers = algorithm.maximisers, list(algorithm.instances.values())
        assert maximisers.shape == (3, algorithm.candidates.n)
        is_below = np.array([i.ucb_bar < i.lcb_bar.max() - SHARP.tolerance for i in layers])
        learner = algorithm.readings[-1].learner
        for level, label in enumerate(algorithm.instances):
            is_out = is_below[level:].any(axis=0)
            assert (maximisers[level] <= maximisers[min(level + 1, 2)]).all()
            assert (~maximisers[level] <= is_out).all()
            np.testing.assert_array_equal(maximisers[level, n:], ~is_out[n:])
            if label == learner:
                assert (maximisers[level] <= ~is_below[level]).all()
            else:
                n_born_out[level] += (is_below[level, n:] & ~is_below[:level, n:].any(axis=0)).sum()
        values = [truth(u) for u in algorithm.candidates.coordinates]
        assert maximisers[:, np.argmax(values)].all()
    assert (~maximisers[0]).sum() > 40
    assert (n_born_out[1:] > 0).all()  # ruled out by a layer that did not learn, and by none below it


def test_every_layer_chooses_among_the_candidates_there_are_now() -> None:
    """Also a layer that has learned nothing since the last ones came."""
    algorithm = MAKERS["layered"](ub.Box([0.0], [1.0], n_candidates=2))
    n_newer = 0
    for k in range(15):
        n = algorithm.candidates.n
        tell_foreign(algorithm, k)
        for atom in algorithm._next_round(algorithm.t + 1).plays:
            level = int(atom.rule.player.label[-1]) - 1
            layer = algorithm.instances[atom.rule.player.label]
            ucb = np.where(algorithm.maximisers[level], layer.mu + 2.0 * layer.width, -np.inf)
            assert atom.ucb == pytest.approx(ucb.max(), rel=1e-9)
            n_newer += atom.index >= n and algorithm.readings[-1].learner != atom.rule.player.label
    assert n_newer > 0


def known_function(seed: int) -> Callable[[Floats], Floats]:
    """A function on the unit interval whose RKHS norm is B, as a sum of kernel sections."""
    rng = np.random.default_rng([7, seed])
    centres, coefficients = rng.random((4, 1)), rng.standard_normal(4)
    coefficients *= ASSUMED.B / np.sqrt(coefficients @ KERNEL(centres, centres) @ coefficients)
    return lambda U: KERNEL(U, centres) @ coefficients


def attacked(name: str, seed: int, n_rounds: int, lies: float) -> tuple[Any, Floats]:
    """A run in whose first six rounds every point is lied about by `lies`; f at its candidates.

    Six lies of 0.5 are the budget of 3. Committed before the draw: also a weak adversary can do that.
    """
    f, rng = known_function(seed), np.random.default_rng([8, seed])
    algorithm = MAKERS[name](LINE, seed=seed)
    U = np.linspace(0.0, 1.0, 201)[:, None]
    top = U[np.argmax(f(U))]
    for t in range(n_rounds):
        noise = 0.05 * rng.standard_normal()
        if t < 6:
            algorithm.tell(x=top, y=float(f(top[None, :])[0]) + noise + lies)
        else:
            query = algorithm.ask()
            algorithm.tell(query, float(f(query.u[None, :])[0]) + noise)
    return algorithm, f(algorithm.candidates.coordinates)


@pytest.mark.long
@pytest.mark.parametrize("name", BY_INSTANCE)  # counted lies: long/test_quorum_coverage
def test_the_intersected_bounds_contain_f_at_every_candidate(name: str) -> None:
    """At every time, since they only tighten; with lies within the budget, if there is one."""
    n_left = 0
    for seed in range(6):
        algorithm, f = attacked(name, seed, 12, 0.0 if name == "gp-ucb" else -0.5)
        trusted = ALGORITHMS[name].trusted
        labels = trusted or algorithm.policy.trust("weak", 3.0).labels
        n_left += leaves([algorithm.policy.named(label) for label in labels], f)
        assert len(f) > 16 + 2 + 6
        best = algorithm.recommend(C=None if trusted else 3.0)
        assert best.regret_bound >= f.max() - f[best.index] or n_left
    assert not is_too_often(n_left, 6, ASSUMED.delta)


def test_the_same_lies_take_gp_ucb_away_from_f() -> None:
    """So the test above could have failed."""
    algorithm, f = attacked("gp-ucb", 0, 6, -0.5)
    assert leaves([algorithm.instances["main"]], f)
    robust, _ = attacked("robust", 0, 6, -0.5)
    assert not leaves([robust.instances["main"]], f)


# --- what lies between the candidates ----------------------------------------------------------------


@ALL
def test_what_lies_between_the_candidates_is_reported_beside_the_certificate(name: str) -> None:
    """B times the largest kernel distance to a candidate: half the widest gap, on a line."""
    algorithm = MAKERS[name](LINE)
    reported = []
    for k in range(5):
        best = algorithm.recommend()
        reported.append(best.between_candidates)
        widest = np.diff(np.sort(algorithm.candidates.coordinates[:, 0])).max()
        k_half = float(KERNEL(np.array([[0.0]]), np.array([[widest / 2.0]]))[0, 0])
        exact = ASSUMED.B * np.sqrt(2.0 - 2.0 * k_half)
        assert 0.9 * exact <= best.between_candidates <= exact
        assert f"f may be higher by about another {best.between_candidates:.4g}" in (best.guarantee)
        assert f"none of the {algorithm.candidates.n} candidates is better" in best.guarantee
        assert f"by more than {best.regret_bound:.4g}." in best.guarantee
        assert algorithm.summary()["recommendation"]["between_candidates"] == best.between_candidates
        tell_foreign(algorithm, k)
    assert reported == sorted(reported, reverse=True)
    assert reported[-1] < reported[0]
    doubled = algorithm.recommend(units=Units(scale=2.0))
    plain = algorithm.recommend()
    assert doubled.between_candidates == 2.0 * plain.between_candidates
    assert f"another {doubled.between_candidates:.4g}: an estimate, B times" in doubled.guarantee
    assert doubled.regret_bound == 2.0 * plain.regret_bound


@ALL
def test_nothing_lies_between_the_candidates_of_a_grid(name: str) -> None:
    """And nothing is said about it; nor on a box where nothing is guaranteed."""
    on_grid = MAKERS[name](ub.Grid(np.linspace(0.0, 1.0, 9)[:, None])).recommend()
    assert on_grid.between_candidates == 0.0
    assert "Between" not in on_grid.guarantee
    assert "no point of the domain is better" in on_grid.guarantee
    void = MAKERS[name](LINE, beta=2.0).recommend()
    assert "Between" not in void.guarantee
    assert void.regret_bound is None


@ALL
def test_a_candidate_of_ones_own_choice_is_certified_and_no_other_point(name: str) -> None:
    """Such as a point read."""
    algorithm = MAKERS[name](LINE)
    x = tell_foreign(algorithm, 0)
    chosen = algorithm.recommend(x=x)
    np.testing.assert_allclose(chosen.x, x)
    assert chosen.regret_bound >= algorithm.recommend().regret_bound
    with pytest.raises(ValueError, match="x must be a candidate"):
        algorithm.recommend(x=x + 1e-3)


# --- stopping and going on ---------------------------------------------------------------------------

FAMILIES: dict[str, dict[str, Any]] = {
    "default": {},
    "others": {"width": "capped", "noise": "paper"},
}


def step(algorithm: Any, k: int) -> ub.Query | None:
    """Round k of an eventful run: asks told late, foreign readings, own noise, lies."""
    if k % 5 == 3:
        tell_foreign(algorithm, k)
        return None
    query: ub.Query = algorithm.ask()
    if k % 6 == 1:
        return query
    noise_std = 0.1 if k % 4 == 2 else None
    algorithm.tell(query, truth(query.u) - 0.5 * (k == 4), noise_std=noise_std)
    if k % 6 == 4:
        tell(algorithm, algorithm.pending[-1])
    return query


@pytest.mark.long
@ALL
@pytest.mark.parametrize("family", FAMILIES)
def test_stopped_after_any_round_a_run_goes_on_bit_for_bit(name: str, family: str) -> None:
    """Through JSON; the restored one has not asked for what it was told, which does not matter."""
    n_rounds = 11
    whole = MAKERS[name](PLANE, **FAMILIES[family])
    states, then, asked = [], [], []
    for k in range(n_rounds):
        states.append(as_json(whole.state()))
        then.append(numbers(whole))
        asked.append(fields(step(whole, k)))
    n_off = sum(query is not None and query["index"] is None for query in asked)
    assert n_off >= 1 or name == "quorum"  # which bounds most of the box as before any reading yet
    for k in range(1, n_rounds):
        resumed = MAKERS[name](PLANE, **FAMILIES[family]).restore(states[k])
        assert as_json(resumed.state()) == states[k]
        np.testing.assert_equal(numbers(resumed), then[k])
        for j in range(k, n_rounds if k == 4 else k + 1):
            assert fields(step(resumed, j)) == asked[j]
        if k == 4:
            np.testing.assert_equal(numbers(resumed), numbers(whole))
            assert as_json(resumed.state()) == as_json(whole.state())
            assert resumed.summary() == whole.summary()


@pytest.mark.parametrize(
    ("box", "word"),
    [
        (ub.Box(LOW, HIGH + 1.0, n_candidates=16), "domain"),
        (ub.Box(LOW, HIGH, n_candidates=32), "domain"),
        (ub.Box(LOW, HIGH, n_candidates=16, snap=lambda U: np.round(4.0 * U) / 4.0), "domain"),
        (ub.Grid(PLANE.from_unit(PLANE.sobol(16, 0))), "domain"),
    ],
)
def test_a_state_is_not_resumed_on_another_domain(box: Any, word: str) -> None:
    """Other bounds, other candidates, other points that exist, or a grid."""
    algorithm = MAKERS["robust"](PLANE)
    tell_foreign(algorithm, 0)
    with pytest.raises(ValueError, match=f"{word} must be the saved one"):
        MAKERS["robust"](box).restore(algorithm.state())


@pytest.mark.parametrize("u", [[0.5, 1.1], [-0.1, 0.5], [0.5], [np.nan, 0.5]])
def test_a_state_with_a_point_outside_the_cube_is_refused(u: list[float]) -> None:
    """Of a reading or of a pending query, before anything is learned."""
    algorithm = MAKERS["robust"](PLANE)
    tell_foreign(algorithm, 0)
    algorithm.ask()
    for where in ("readings", "pending"):
        state, fresh = as_json(algorithm.state()), MAKERS["robust"](PLANE)
        if where == "readings":
            state["readings"]["u"][0] = u
        else:
            state["pending"][0]["u"] = u
        with pytest.raises(ValueError, match="u must"):
            fresh.restore(state)
        assert fresh.t == 0
        assert fresh.restore(algorithm.state()).t == 2


@ALL
def test_a_run_is_stopped_before_its_first_reading_too(name: str) -> None:
    """New, or with a query pending and nothing told."""
    algorithm = MAKERS[name](PLANE)
    MAKERS[name](PLANE).restore(algorithm.state())
    query = algorithm.ask()
    resumed = MAKERS[name](PLANE).restore(as_json(algorithm.state()))
    assert fields(resumed.pending[0]) == fields(query)
    assert fields(resumed.ask()) == fields(algorithm.ask())


# The local candidates of a reading are laid round the point as it was told. Its state holds the
# candidate that it was found to be, up to rounding; so restore() and retract() lay them round that one.
@ALL
def test_a_candidate_told_by_its_own_x_is_restored_bit_for_bit(name: str) -> None:
    """Scaling to the unit cube and back rounds; a run must not depend on which of the two it was."""
    box = ub.Box([-5.3], [4.9], n_candidates=16)
    algorithm = MAKERS[name](box)
    for i in range(16):
        u = algorithm.candidates.coordinates[i]
        algorithm.tell(x=algorithm.candidates.x_of(u), y=truth(u))
    resumed = MAKERS[name](box).restore(algorithm.state())
    np.testing.assert_equal(numbers(resumed), numbers(algorithm))


# On a box fast ranks all points by the current bounds, as known at candidates as elsewhere. A search
# that ends on another candidate (corners attract them) must not take it for a point that is none.
@pytest.mark.parametrize("seed", [0, 3])
def test_a_query_at_a_candidate_is_the_best_candidate_and_says_so(seed: int) -> None:
    """Its index, and its current bound, which no other candidate exceeds."""
    algorithm = MAKERS["fast-slow"](LINE, seed=seed)
    fast, slow = algorithm.instances["fast"], algorithm.instances["slow"]
    for _ in range(20):
        query = algorithm.ask()
        index = algorithm.candidates.index_of(query.u)
        assert query.index == index
        if query.instance == "fast" and index is not None:
            current = np.minimum(fast.mu + fast.width, slow.mu + slow.width)
            assert query.ucb == current[index] == current.max()
        tell(algorithm, query)


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 3])
def test_fast_plays_only_where_slows_current_bound_leaves_hope(seed: int) -> None:
    """Lemma 7 on a box: as long as nothing is detected, slow's ucb there reaches its best lcb_bar."""
    algorithm = ub.FastSlowGPUCB(PLANE, SHARP, C=3.0, seed=seed)
    slow, n_fast, n_hopeless = algorithm.instances["slow"], 0, 0
    for _ in range(40):
        query = algorithm.ask()
        assert algorithm.detected is None
        if query.instance == "fast":
            n_fast += 1
            best = slow.lcb_bar.max()
            hope = Anywhere(slow).ucb(query.u[None, :], 1.0)[0]
            assert hope >= best - SHARP.tolerance
            n_hopeless += int((slow.mu + slow.width < best).sum())
        tell(algorithm, query)
    assert n_fast > 10
    assert n_hopeless > 0, "else this tests nothing"
