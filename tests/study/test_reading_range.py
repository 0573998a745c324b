"""`reading_range=`: a reading outside is false for certain, counted, and teaches nothing."""

import json
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import unbribable as ub
from unbribable.decision.proven.conditions import Crossed, Exceeded, InRange
from unbribable.decision.recommend import left_out
from unbribable.doubt.suspect import Kind
from unbribable.study.advice import advise, within

SPACE = [(0.0, 1.0), (0.0, 1.0)]
LIMITS = (0.0, 1500.0)


def hardness(x):
    """Between 200 and 1000."""
    return 1000.0 - 800.0 * ((x[0] - 0.6) ** 2 + (x[1] - 0.4) ** 2)


def played(n, false=None, *, told_as=None, **settings):
    """A study of n rounds; those of `false` told what it says, or what `told_as` does."""
    study = ub.Study(SPACE, seed=0, **settings)
    noise = 4.0 * np.random.default_rng(1).standard_normal(n)
    for t in range(1, n + 1):
        query = study.ask()
        y = hardness(query.x) + noise[t - 1]
        if t in (false or {}):
            y = false[t] if told_as is None else told_as[t]
        study.tell(query, y)
    return study


FALSE = {3: -625.0, 9: 9999.0, 12: math.inf}


@cache
def lied_to():
    return played(16, FALSE, reading_range=LIMITS).result()


@cache
def table(limits=LIMITS, **settings):
    """Thirteen points with three false readings, as a table."""
    X = np.random.default_rng(2).random((16, 2))
    rows = [(x, FALSE.get(t, hardness(x))) for t, x in enumerate(X, 1)]
    return ub.Study(SPACE, seed=0, reading_range=limits, initial=rows, **settings).result()


def test_a_reading_outside_is_false_for_certain_and_says_why():
    found = {each.t: each for each in lied_to().suspects}
    for t, y in FALSE.items():
        assert (found[t].y, found[t].is_flagged, found[t].is_certain) == (y, True, True)
        (reason,) = found[t].reasons
        assert (reason.kind, reason.low, reason.high) == (Kind.IMPOSSIBLE, *LIMITS)
        assert found[t].evidence == (
            "outside reading_range, 0 to 1500: false for certain, as you state",
        )
        assert abs(found[t].expected - hardness(found[t].x)) < 6.0 * found[t].expected_sd + 20.0
    assert found[3].reasons[0].off == -625.0
    assert found[9].reasons[0].off == 8499.0
    assert not any(each.is_certain for t, each in found.items() if t not in FALSE)
    assert {each.t for each in lied_to().suspects[:3]} == FALSE.keys()


def test_the_summary_names_them():
    summary = lied_to().summary()
    assert "12 (inf, expected" in summary
    assert "outside 0 to 1500" in summary
    assert "f and honest readings lie within [0, 1500]" in lied_to().guarantee
    assert json.dumps(lied_to().to_dict(), allow_nan=False)


def test_readings_on_the_ends_may_be_honest():
    study = ub.Study(
        SPACE, seed=0, reading_range=LIMITS, initial=[((0.1, 0.1), 0.0), ((0.2, 0.2), 1500.0)]
    )
    assert not study.engine.false


def test_a_reading_outside_teaches_what_a_missing_one_does():
    """Neither judge nor estimate nor the next point, as long as no place is false twice, know it."""
    false, none = {3: 9999.0}, {3: None}
    one = played(12, false, reading_range=LIMITS)
    other = played(12, false, told_as=none, reading_range=LIMITS)
    grid = np.random.default_rng(0).random((20, 2))
    engine = other.engine.replayed(
        replace(each, u=mine.u, x=mine.x) for each, mine in zip(other.trials, one.trials, strict=True)
    )
    told = [replace(each, y=None, error="none") if each.t == 3 else each for each in one.trials]
    engine = one.engine.replayed(told)
    for mine, theirs in zip(one.engine.predict(grid), engine.predict(grid), strict=True):
        assert np.array_equal(mine, theirs)


def test_false_readings_are_counted():
    result = lied_to()
    best = result.recommendation
    assert [result.worst_case(k) for k in range(3)] == [None] * 3
    assert result.worst_case(3) is not None
    assert result.by_lies[0][0] == 3
    assert best.lies.least == 3
    assert best.lies.n_readings == 16
    assert best.n_lies >= 3
    assert best.promise.lies.n_readings == 16
    assert result.lies_needed(result.estimate) == 3
    assert result.price().n_needed >= 3


def test_they_leave_as_many_fewer_lies_to_the_others():
    """What three false readings and k more lies leave is what k lies leave without those three."""
    engine = lied_to().engine
    alone = engine.replayed([each for each in engine.log.values() if each.t not in FALSE])
    assumed = engine.fit()
    assert alone.fit() == assumed
    with_, without = (
        left_out(each.algorithm(), (0.05, 0.05), each.stated()) for each in (engine, alone)
    )
    u = engine.told[-1].u
    for k in range(3):
        assert with_.interval(u, k + 3) == without.interval(u, k)
    assert with_.interval(u, 2) is None


def test_worst_cases_end_where_f_does():
    """At a point where one reading says nothing any more, the range is all that is left."""
    result = table(LIMITS, noise_std=1.0)
    n = len(result.trials)
    assert result.worst_case(n) == pytest.approx(LIMITS)
    low, _ = result.worst_case(3)
    tight = table((min(low, 900.0) + 1.0, 1001.0), noise_std=1.0)
    assert tight.upper <= 1001.0
    assert tight.regret_bound <= 1001.0 - tight.lower + 1e-9


def test_a_range_narrows_and_f_stays_inside():
    free = ub.Study(
        SPACE, seed=0, initial=[(trial.x, trial.y) for trial in table().trials if trial.t not in FALSE]
    ).result()
    for k in range(3):
        f = hardness(table().x)
        low, high = table().worst_case(k + 3)
        assert low <= f <= high
        assert 0.0 <= low <= high <= 1500.0
    assert free.worst_case(13)[1] > 1500.0


def test_minimising_turns_the_range_with_the_readings():
    rows = [(trial.x, -trial.y) for trial in table().trials]
    down = ub.Study(
        SPACE, seed=0, direction="minimize", reading_range=(-1500.0, 0.0), initial=rows
    ).result()
    assert np.array_equal(down.x, table().x)
    low, high = table().worst_case(4)
    assert down.worst_case(4) == pytest.approx((-high, -low))
    assert down.worst_case(16) == pytest.approx((-1500.0, 0.0))
    assert down.regret_bound == pytest.approx(table().regret_bound)


def test_a_total_of_lies_allows_for_what_is_outside():
    """The nearest possible value is learned; nothing is guaranteed if that alone is more."""
    rows = [(trial.x, 1600.0 if trial.t in FALSE else trial.y) for trial in table().trials]

    def said(C):
        study = ub.Study(SPACE, seed=0, reading_range=LIMITS, initial=rows, corruption=C, noise_std=1.0)
        return study.result()

    enough, little = said(301.0), said(299.0)
    assert enough.recommendation.promise.void is None
    assert 0.0 <= enough.lower <= hardness(enough.x) <= enough.upper <= 1500.0
    assert (
        max(reading.y for reading in enough.engine.algorithm().readings) <= enough.engine.stated().high
    )
    assert little.recommendation.promise.void == Exceeded(300.0, 299.0)
    assert little.lower is None
    assert "off by at least 300 in all, more than the 299" in little.guarantee
    assert "worst case: none, the readings contradict what is assumed" in little.summary()
    honest = said("unknown")
    assert honest.lower is not None
    assert InRange(*LIMITS) in honest.recommendation.promise.conditions


def test_a_range_that_the_bounds_leave_no_value_contradicts_what_is_assumed():
    assumed = ub.Assumptions(ub.Matern(2.5, 0.3), B=2.0, B0=1.0, noise_std=0.01, lam=0.1)
    grid = ub.Grid(np.linspace(0.0, 1.0, 11)[:, None])
    study = ub.Study(grid, assumptions=assumed, corruption=0.1, explore=2.0, reading_range=(0.9, 2.0))
    for _ in range(20):
        study.tell([0.5], 0.9)
    engine = study.engine
    low = replace(engine.plan, reading_range=None)
    free = type(engine)(engine.domain, low, engine.seed).replayed(study.trials)
    best = advise(free)
    assert best.upper > 0.9
    none = within(replace(best, lower=0.1, upper=0.8), engine)
    assert (none.lower, none.regret_bound) == (None, None)
    assert none.promise.void == Crossed()


def test_gp_ucb_promises_nothing_once_a_reading_is_false():
    assert table(LIMITS, corruption=0).recommendation.promise.void == Exceeded(math.inf, 0.0)


def test_an_infinite_value_is_a_lie_and_not_missing():
    values = iter(range(1, 100))

    def f(x):
        return math.inf if next(values) == 4 else hardness(x)

    result = ub.maximize(f, SPACE, 12, seed=0, reading_range=LIMITS)
    assert result.n_failed == 0
    assert result.trials[3].y == math.inf
    assert result.regret_bound is not None
    assert result.naive.t == 4
    assert result.suspects[0].t == 4


def test_a_place_that_is_always_false_is_left_alone():
    """A false reading is read over; a region that is false always costs what failing there does."""

    def n_there(what):
        def f(x):
            return what if np.abs(x - [0.6, 0.4]).max() < 0.1 else hardness(x)

        result = ub.maximize(f, SPACE, 24, seed=0, reading_range=LIMITS)
        return sum(f(trial.x) is what for trial in result.trials)

    with pytest.warns(RuntimeWarning, match="failed and is recorded"):
        failed = n_there(math.nan)
    assert 1 <= n_there(9999.0) <= failed + 2


def test_a_lie_is_read_over():
    """One false reading rules no point out, on a grid either."""
    grid = ub.Grid(np.linspace(0.0, 1.0, 11)[:, None])
    study = ub.Study(grid, seed=0, reading_range=(-2.0, 2.0), n_init=4)
    lies = 1
    for _ in range(14):
        query = study.ask()
        y = -float((query.x[0] - 0.5) ** 2)
        if query.x[0] == 0.5 and lies:
            y, lies = 50.0, lies - 1
        study.tell(query, y)
    assert study.recommend().x[0] == 0.5


def test_a_file_goes_on_exactly(tmp_path):
    file = tmp_path / "run.json"
    ub.maximize(
        lambda x: math.inf if x[0] < 0.3 else hardness(x),
        SPACE,
        9,
        seed=0,
        reading_range=LIMITS,
        file=file,
    )
    words = {"seed": 0, "reading_range": LIMITS}
    again = ub.maximize(lambda x: 1.0 / 0.0, SPACE, 9, file=file, **words)
    whole = ub.maximize(lambda x: math.inf if x[0] < 0.3 else hardness(x), SPACE, 9, **words)
    assert [each.y for each in again.trials] == [each.y for each in whole.trials]
    assert math.inf in [each.y for each in again.trials]
    assert again.summary() == whole.summary()
    with pytest.raises(ValueError, match=r"reading_range was \[0.0, 1500.0\], got \[0.0, 1400.0\]"):
        ub.Study(SPACE, file=file, n_rounds=9, seed=0, reading_range=(0, 1400))


def test_a_file_from_before_is_read(tmp_path):
    file = tmp_path / "run.json"
    ub.maximize(hardness, SPACE, 4, seed=0, file=file)
    first, *rest = file.read_text().splitlines()
    run = json.loads(first)
    del run["plan"]["reading_range"]
    file.write_text("\n".join([json.dumps(run), *rest]) + "\n")
    assert len(ub.maximize(hardness, SPACE, 6, seed=0, file=file).trials) == 6
    file.write_text("\n".join([json.dumps(run), *rest]) + "\n")
    assert ub.Study.load(file).engine.plan.reading_range is None


def test_retracting_one_is_taking_it_out():
    study = played(8, {3: 9999.0}, reading_range=LIMITS)
    study.retract(3, "wrong number", unrelated_to_value=True)
    assert not study.engine.false
    assert study.result().worst_case(0) is not None


def test_without_an_honest_reading_there_is_no_answer():
    study = ub.Study(SPACE, seed=0, reading_range=LIMITS)
    study.tell((0.5, 0.5), 9999.0)
    assert study.result().recommendation is None
    said = "No reading yet that may be honest; 1 reading is outside reading_range, 0 of 1 evaluations"
    assert study.result().summary() == f"{said} failed."
    (suspect,) = study.suspects()
    assert suspect.is_certain
    assert math.isnan(suspect.expected)
    assert suspect.to_dict()["expected"] is None


def test_an_audit_counts_and_proves_them():
    pytest.importorskip("clarabel")
    X = np.random.default_rng(2).random((16, 2))
    y = [FALSE.get(t, hardness(x)) for t, x in enumerate(X, 1)]
    audit = ub.audit(X, y, SPACE, reading_range=LIMITS, noise_std=1.0)
    assert audit.least_lies == 3
    assert audit.n_readings == 16
    with pytest.raises(ValueError, match="'y' in row 11 must be finite, got 'y' in row 11=inf"):
        ub.audit(X, y, SPACE)
    assert {each.t for each in audit.suspects} >= set(FALSE)
    assert audit.least_corruption >= 625.0 + 8499.0  # an infinite one counts as far as the range
    assert audit.proof.lies[9] >= 8499.0
    assert InRange(*LIMITS) in audit.proof.conditions


def test_figures_show_them():
    pytest.importorskip("matplotlib")
    for draw in (ub.plot_history, ub.plot_suspects, ub.plot_posterior, ub.plot_worst_case):
        draw(lied_to())


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (5.0, TypeError, r"reading_range must be a pair \(low, high\), got reading_range=5.0"),
        ((1, 2, 3), TypeError, "must be a pair"),
        (("a", 2), TypeError, "reading_range must be a real number, got reading_range='a'"),
        ((2.0, 1.0), ValueError, r"must have low < high, got reading_range=\(2.0, 1.0\)"),
        ((0.0, math.inf), ValueError, "reading_range must be finite"),
        ((math.nan, 1.0), ValueError, "reading_range must be finite"),
    ],
)
def test_bad_ranges_are_refused(given, error, words):
    with pytest.raises(error, match=words):
        ub.Study(SPACE, reading_range=given)


def test_a_range_must_leave_f_a_value():
    with pytest.raises(ValueError, match="with B=1"):
        ub.Study(SPACE, reading_range=(5.0, 6.0), B=1.0)
    assumed = ub.Assumptions(ub.Matern(2.5, 0.3), B=2.0, B0=1.0, noise_std=0.1)
    with pytest.raises(ValueError, match="with B0=1"):
        ub.Study(SPACE, reading_range=(-6.0, -5.0), assumptions=assumed)


def test_what_is_no_number_is_refused_all_the_same():
    study = ub.Study(SPACE, reading_range=LIMITS)
    query = study.ask()
    for wrong in ("9999", True, [1.0, "a"]):
        with pytest.raises(TypeError):
            study.tell(query, wrong)
    assert study.pending
    study.tell(query, math.nan)
    assert study.trials[0].y is None


def test_a_given_algorithm_plays_on():
    """Where the algorithm chooses the points it allows for as many lies as are certain."""
    assumed = ub.Assumptions(ub.Matern(2.5, 0.3), B=2.0, B0=1.0, noise_std=0.05, lam=0.1)
    grid = ub.Grid(np.linspace(0.0, 1.0, 21)[:, None])
    study = ub.Study(grid, assumptions=assumed, lies=1, seed=0, reading_range=(-1.0, 1.0), n_rounds=8)
    for t in range(8):
        query = study.ask()
        study.tell(query, 7.0 if t in (1, 3) else float(np.sin(4.0 * query.x[0]) / 2.0))
    assert study.engine.algorithm().n_lies == 2
    assert study.result().worst_case(1) is None
    assert study.result().lower >= -1.0
