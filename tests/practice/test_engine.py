"""The engine: a function of plan, seed and readings, however often and in whatever steps it is asked."""

from typing import Any

import numpy as np
import pytest
from unbribable.practice.fit import Fit

import unbribable as ub
from practice.scripted import ASSUMED, BOX, GRID, PLANS, Scripted, answer_of, wave
from unbribable.decision.draws import Seed
from unbribable.decision.proposal import Query
from unbribable.practice import fitted as module
from unbribable.practice.advice import advise, doubt
from unbribable.practice.engine import Engine, last_fit_point
from unbribable.practice.fitted import thinned
from unbribable.practice.plan import Plan
from unbribable.say.reasons import evidence
from unbribable.theory.budgets import layer_probabilities

MADE: dict[str, dict[str, Any]] = {
    **PLANS,
    "fitted, no scout": {"domain": BOX, "corruption": 1.0, "explore": None},
    "fitted, no scout, known or zero": {"domain": BOX, "known_or_zero": 2.0, "explore": None},
    "given, layers, on a box": {**PLANS["given, layers"], "domain": BOX},
    "fitted, layers": {"domain": GRID, "corruption": "layers"},
    "given, with a design": {**PLANS["given, a number"], "domain": GRID, "n_init": 4},
}
N_ROUNDS = 12
pytestmark = pytest.mark.filterwarnings("ignore::unbribable.AssumptionsRefuted")  # by the lies


def made(name: str, seed: int = 3) -> Engine:
    words = dict(MADE[name])
    if "assumptions" in words:
        words.setdefault("explore", None)
    return Engine(words.pop("domain"), Plan(N_ROUNDS, **words), seed)


def play(engine: Engine, n_rounds: int = N_ROUNDS) -> list[tuple[Query, float]]:
    """Ask and tell by turns. Given assumptions get a smaller lie: theirs is not cut."""
    lies = {5: 1e6, 9: -1.5} if engine.plan.assumptions is None else {5: 1.5}
    f, rounds = Scripted(script=lies), []
    for t in range(1, n_rounds + 1):
        asked = engine.ask(t)
        rounds.append((asked, f(asked.x)))
        engine.tell(t, asked.x, rounds[-1][1], asked.drawn)
    return rounds


def tell_all(engine: Engine, rounds: list[tuple[Query, float]]) -> None:
    for asked, y in rounds:
        engine.tell(asked.t, asked.x, y, asked.drawn)


def assert_same_point(one: Query, other: Query) -> None:
    """Bit for bit."""
    np.testing.assert_array_equal(one.u, other.u)
    np.testing.assert_array_equal(one.x, other.x)
    assert (one.t, one.drawn) == (other.t, other.drawn)


def assert_same_advice(one: Engine, other: Engine) -> None:
    """Bit for bit."""
    assert answer_of(advise(one)) == answer_of(advise(other))
    assert [suspect.to_dict() for suspect in doubt(one)] == [
        suspect.to_dict() for suspect in doubt(other)
    ]


# --- a function of the readings ------------------------------------------------------------------


@pytest.mark.parametrize("name", MADE)
def test_telling_all_and_then_asking_is_asking_in_between(name: str) -> None:
    """Bit for bit, at the fits, after them, and where the scout has changed its mind."""
    asking = made(name)
    rounds = play(asking)
    for k in (6, 10, 11):
        silent = made(name)
        tell_all(silent, rounds[:k])
        assert_same_point(silent.ask(k + 1), rounds[k][0])
    silent = made(name)
    tell_all(silent, rounds)
    assert_same_advice(silent, asking)


@pytest.mark.parametrize(
    "name", ["fitted", "fitted, no scout", "given, layers", "given, unknown", "given, scout"]
)
def test_looking_at_anything_changes_nothing(name: str) -> None:
    """Asking twice, for other rounds, with points pending elsewhere, and for advice."""
    quiet, loud, f = made(name), made(name), Scripted(script={5: 1.5})
    for t in range(1, 10):
        loud.ask(t + 5)
        loud.ask(t, pending=[np.array([0.5]), np.array([0.25])])
        if loud.told:
            advise(loud)
            doubt(loud)
        one, other = quiet.ask(t), loud.ask(t)
        assert_same_point(one, other)
        assert_same_point(loud.ask(t), other)
        y = f(one.x)
        quiet.tell(t, one.x, y, one.drawn)
        loud.tell(t, other.x, y, other.drawn)
    assert_same_advice(quiet, loud)


@pytest.mark.parametrize("name", ["fitted", "given, scout", "given, a number"])
def test_points_pending_elsewhere_are_left_to_others(name: str) -> None:
    engine = made(name)
    play(engine, 8)
    alone = engine.ask(9)
    beside = engine.ask(9, pending=[alone.u])
    assert np.abs(beside.u - alone.u).max() > 1e-3


@pytest.mark.parametrize("x", [[1.5], [0.5, 0.5], [np.nan]])
def test_a_point_outside_is_refused_and_nothing_is_kept(x: list[float]) -> None:
    for name in ("fitted", "given, none"):
        engine = made(name)
        with pytest.raises(ValueError, match=r"x must|x\["):
            engine.tell(1, np.array(x), 0.0)
        assert engine.told == []
        assert advise(engine) is None or engine.plan.assumptions is not None


# --- the initial design --------------------------------------------------------------------------


def test_in_the_design_round_t_reads_its_own_point_whatever_was_told() -> None:
    """A function of seed and round: the seed scrambles it, and no two points are alike."""
    told, silent = Engine(BOX, Plan(40), 3), Engine(BOX, Plan(40), 3)
    points = []
    for t in range(1, 7):
        asked = told.ask(t)
        assert_same_point(asked, silent.ask(t))
        told.tell(t, asked.x, 0.1 * t)
        points.append(float(asked.u[0]))
    assert len(set(points)) == 6
    assert np.sort(points)[0] < 0.25
    assert np.sort(points)[-1] > 0.75
    other = Engine(BOX, Plan(40), 4)
    assert [float(other.ask(t).u[0]) for t in range(1, 7)] != points


def test_on_a_grid_the_design_reads_the_nearest_candidates() -> None:
    """Also where the coordinates have other units."""
    far = ub.Grid(np.array([[-5.0, 1000.0]]) + GRID.points * [[10.0, 4000.0]])
    engine, plane = Engine(far, Plan(40), 3), Engine(ub.Box([0.0] * 2, [1.0] * 2), Plan(40), 3)
    for t in range(1, 9):
        u = plane.ask(t).u
        nearest = np.argmin(((GRID.points - u) ** 2).sum(axis=1))
        np.testing.assert_array_equal(engine.ask(t).x, far.points[nearest])


def test_the_model_comes_with_the_last_reading_of_the_design() -> None:
    engine, f = Engine(BOX, Plan(40), 0), Scripted()
    for t in range(1, 7):
        assert not engine.is_ready
        for method in (engine.fit, engine.judge, engine.scout):
            with pytest.raises(RuntimeError, match=f"6 readings of the initial design, got {t - 1}"):
                method()
        engine.tell(t, engine.ask(t).x, f([0.1 * t]))
    assert engine.n_design == 6
    assert engine.is_ready
    assert len(engine.judge().readings) == engine.scout().n_readings == 6


# --- the schedule of fits ------------------------------------------------------------------------


@pytest.mark.parametrize("n_design", [0, 1, 4, 6, 8, 63, 64, 100, 511, 512, 513, 700])
def test_fits_are_made_where_the_naive_loop_makes_them(n_design: int) -> None:
    """One reading after the other: each one, from 64 on grown by an eighth, till 512."""
    fitted_at: int | None = None
    for n in range(2500):
        if fitted_at is None:
            is_due = n >= n_design
        elif fitted_at > 512:
            is_due = False
        else:
            is_due = fitted_at < 64 or n - fitted_at >= fitted_at // 8
        fitted_at = n if is_due else fitted_at
        assert last_fit_point(n, n_design) == fitted_at


def counted_fits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Fits cost nothing and are counted, by the number of their readings."""
    calls: list[int] = []

    class Counted:
        unit = 1.0

        def __init__(self, U: Any, y: Any, **words: Any) -> None:
            calls.append(len(y))
            self.likely = Fit(0.0, float(len(y)), ub.Matern(2.5, (0.2,)), 0.1, 2.0, 2.0)

        def cautious(self) -> Fit:
            return self.likely

    monkeypatch.setattr(module, "Fitting", Counted)
    monkeypatch.setattr(module, "thinned", lambda U: list(range(len(U))))
    return calls


def test_the_engine_fits_at_these_points_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = counted_fits(monkeypatch)
    engine = Engine(GRID, Plan(200), 0)
    for t in range(1, 90):
        engine.tell(t, GRID.points[t % 21], 0.1)
        assert engine.is_ready == (t >= 6)
        assert t < 6 or engine.fit().scale == calls[-1]
    assert calls == [*range(6, 65), 72, 81]


def test_catching_up_costs_one_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = counted_fits(monkeypatch)
    engine = Engine(GRID, Plan(200), 0)
    for t in range(1, 90):
        engine.tell(t, GRID.points[t % 21], 0.1)
    engine.fit()
    assert calls == [81]


def test_given_assumptions_are_never_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = counted_fits(monkeypatch)
    engine = made("given, a number")
    play(engine)
    assert engine.fit().judge.assumptions is ASSUMED
    assert calls == []


def test_a_crowd_of_readings_is_thinned_before_a_fit_and_the_rest_kept() -> None:
    """At most three within a twentieth of each other, the first ones; whoever stands alone stays."""
    crowd = 0.5 + 0.001 * np.arange(10)
    alone = np.array([0.0, 0.2, 0.35, 0.8, 1.0])
    U = np.concatenate([alone[:3], crowd, alone[3:]])[:, None]
    assert thinned(U) == [0, 1, 2, 3, 4, 5, 13, 14]
    rng = np.random.default_rng(0)
    for d in (1, 2, 3):
        U = rng.random((80, d))
        kept = thinned(U)
        close = np.linalg.norm(U[:, None] - U[kept], axis=2) < 0.05 * np.sqrt(d)
        for k in range(80):
            before = close[k] & (np.array(kept) < k)
            assert (k in kept) == (before.sum() < 3)


# --- draws ---------------------------------------------------------------------------------------


def test_layers_are_drawn_by_seed_and_round_alone() -> None:
    """In any order, before and after readings, fitted or given."""
    expected = {t: Seed.of(3).choose(t, layer_probabilities(N_ROUNDS)) for t in range(1, 40)}
    assert len(set(expected.values())) > 2
    for name in ("fitted, layers", "given, layers"):
        engine = made(name)
        for t in (17, 3, 17, 39, 1):
            assert engine.drawn(t) == expected[t]
        play(engine, 8)
        assert {t: engine.drawn(t) for t in expected} == expected


def test_slow_is_drawn_with_one_over_c_in_the_units_of_the_model() -> None:
    given = made("given, known or zero")
    fitted = made("fitted, known or zero")
    assert fitted.drawn(1) is None
    play(fitted, 9)
    for engine in (given, fitted):
        p = min(1.0, engine.fit().scale / 2.0)
        for t in range(1, 30):
            assert engine.drawn(t) == ("slow" if Seed.of(3).uniform(t) < p else "fast")


def test_without_a_draw_there_is_one_instance() -> None:
    for name in ("fitted", "given, none", "given, a number"):
        engine = made(name)
        assert {engine.drawn(t) for t in range(1, 9)} == {"main"}


def test_a_draw_that_was_recorded_is_kept() -> None:
    """Whoever asks may know better than seed and round: Optuna writes it into the trial."""
    engine = made("given, layers")
    play(engine, 3)
    labels = [label for label, _ in layer_probabilities(N_ROUNDS)]
    for label in labels:
        assert engine.ask(4, drawn=label).drawn == label
    engine.tell(4, GRID.points[3], 0.1, labels[-1])
    assert engine.judge().readings[-1].learner == labels[-1]


def test_without_a_seed_every_engine_has_its_own() -> None:
    assert Engine(GRID, Plan(3)).seed != Engine(GRID, Plan(3)).seed


# --- advice --------------------------------------------------------------------------------------


def test_before_the_first_reading_there_is_no_advice() -> None:
    engine = made("fitted")
    assert advise(engine) is None
    assert doubt(engine) == ()


def test_flagged_only_leaves_out_the_rest() -> None:
    engine = made("fitted")
    play(engine)
    everything = doubt(engine)
    assert [s.t for s in doubt(engine, flagged_only=True)] == [s.t for s in everything if s.is_flagged]
    assert 0 < len(doubt(engine, flagged_only=True)) < len(everything)


def test_a_reading_that_was_cut_is_judged_by_what_was_told() -> None:
    """The words, the value, the residual and the score are of the raw reading."""
    engine = made("fitted")
    rounds = play(engine)
    units = engine.model().units
    low, high = units.interval(-units.limit, units.limit)
    cut = [asked.t for asked, y in rounds if not low <= y <= high]
    assert 5 in cut
    for suspect in doubt(engine):
        is_cut = suspect.t in cut
        assert any("beyond what f and noise can reach" in word for word in evidence(suspect)) == is_cut
        if is_cut:
            assert suspect.is_flagged
            assert suspect.residual == suspect.y - suspect.expected
            assert suspect.score == pytest.approx(abs(suspect.residual) / suspect.sd, rel=1e-12)
            assert f"[{low:.3g}, {high:.3g}]" in evidence(suspect)[0]


@pytest.mark.parametrize(("explore", "C"), [(None, 0.6), (2.0, 1.0)])
def test_fast_and_slow_are_drawn_anew_when_a_fit_changes_the_share_of_slow(
    explore: float | None, C: float
) -> None:
    """From less than always to always: nobody is "fast" any more, whatever was noted before."""
    engine = Engine(BOX, Plan(40, known_or_zero=C, explore=explore), seed=0)
    noted = set()
    for t in range(1, 25):
        asked = engine.ask(t)
        noted.add(asked.drawn)
        x = float(asked.u[0])
        engine.tell(t, asked.x, float(np.exp(-(((x - 0.37) / 0.1) ** 2)) * (1.0 + 0.3 * t)), asked.drawn)
    assert "fast" in noted
    assert engine.judge().draws == (("slow", 1.0),), "else this tests nothing"
    assert {reading.learner for reading in engine.judge().readings} <= {"slow", "all"}


@pytest.mark.parametrize("kernel", [ub.Linear(10.0)])
def test_a_kernel_that_cannot_be_scaled_to_a_grid_is_refused_before_any_reading(kernel: Any) -> None:
    grid = ub.Grid(np.linspace(3.0, 5.0, 5)[:, None])
    with pytest.raises(TypeError, match=r"Matern or a SquaredExponential.*got kernel=Linear"):
        Engine(grid, Plan(5, kernel=kernel), seed=0)


# --- predictions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fitted", "given, a number"])
def test_a_prediction_is_the_textbook_posterior_of_the_readings_that_are_not_flagged(name: str) -> None:
    engine = made(name)
    play(engine)
    model, kept = engine.fit().likely, engine.scout().kept
    assert 5 not in [each.t for each in kept]
    assert len(kept) >= N_ROUNDS - 2
    assumed, U = model.assumptions, np.array([[0.0], [0.4], [1.0]])
    X, y = np.array([each.u for each in kept]), np.array([each.y for each in kept])
    var = 1.0 if name == "fitted" else assumed.B0**2
    K = var * assumed.kernel(X, X) + assumed.noise_std**2 * np.eye(len(y))
    cross = var * assumed.kernel(X, U)
    mean, sd = engine.predict(U)
    units = model.units
    np.testing.assert_allclose(
        mean, units.center + units.scale * (cross.T @ np.linalg.solve(K, y)), 1e-6
    )
    left = var - np.einsum("jx,jx->x", cross, np.linalg.solve(K, cross))
    np.testing.assert_allclose(sd, units.scale * np.sqrt(left), rtol=1e-5)


def test_a_prediction_comes_near_the_truth_and_follows_what_is_told() -> None:
    engine, f = Engine(BOX, Plan(40), 0), Scripted(script={4: 40.0}, noise_std=0.05)
    U = np.linspace(0.0, 1.0, 11)[:, None]
    for t in range(1, 26):
        engine.tell(t, [(0.37 * t) % 1.0], f([(0.37 * t) % 1.0]))
    mean, sd = engine.predict(U)
    truth = np.array([wave(u) for u in U])
    assert np.abs(mean - truth).max() < 0.25
    assert (np.abs(mean - truth) < 4.0 * sd).all()
    engine.tell(26, U[3], wave(U[3]))
    assert engine.predict(U)[1][3] < sd[3]


def test_a_prediction_without_a_reading_is_refused() -> None:
    for name in ("fitted", "given, none"):
        with pytest.raises(RuntimeError, match="reading"):
            made(name).predict(np.array([[0.5]]))
