"""Several readings of a point, and readings whose noise is known."""

import json
import math
from functools import cache

import numpy as np
import pytest

import unbribable as ub
from unbribable.decision.proven.conditions import OwnNoise
from unbribable.doubt.suspect import Kind

SPACE = [(0.0, 1.0), (0.0, 1.0)]
ASSUMED = ub.Assumptions(ub.Matern(2.5, 0.3), B=2.0, B0=1.0, noise_std=0.1, lam=0.1)
GRID = ub.Grid(np.linspace(0.0, 1.0, 15)[:, None])


def f(x):
    return 1.0 - (x[0] - 0.6) ** 2 - (x[-1] - 0.4) ** 2


@cache
def thrice(n=10):
    """Three readings of each point; one of every third evaluation is a lie."""
    rng = np.random.default_rng(0)
    study = ub.Study(SPACE, seed=0, n_rounds=n)
    for t in range(n):
        query = study.ask(replicates=3)
        y = f(query.x) + 0.01 * rng.standard_normal(3)
        if t % 3 == 1:
            y[rng.integers(3)] += 0.8 * rng.choice([-1, 1])
        study.tell(query, y)
    return study


def test_every_reading_has_a_round_of_its_own():
    study = ub.Study(SPACE, seed=0)
    first, second = study.ask(2, replicates=3)
    assert (first.replicates, second.replicates) == (3, 3)
    assert study.tell(second, [1.0, 1.1, 1.2]) == 2
    assert study.tell(first, 0.9) == 1
    assert [(each.t, each.y, each.replicate_of) for each in study.trials] == [
        (2, 1.0, None),
        (3, 1.1, 2),
        (4, 1.2, 2),
        (1, 0.9, None),
    ]
    assert all(np.array_equal(each.x, second.x) for each in study.trials[:3])
    assert study.tell((0.5, 0.5), np.array([2.0, 2.1])) == 5
    assert [(each.t, each.is_given) for each in study.trials[-2:]] == [(5, True), (6, True)]
    assert study.ask().t == 7


@pytest.mark.parametrize("none", [None, math.nan])
def test_what_is_missing_among_them_is_missing(none):
    study = ub.Study(SPACE, seed=0)
    query = study.ask()
    study.tell(query, [none, 1.0, none])
    assert [each.y for each in study.trials] == [None, 1.0, None]
    assert len(study.engine.lost) == 2
    assert not np.array_equal(study.ask().x, query.x)


def test_the_design_counts_points_and_not_readings():
    """The points of the design are those of single readings, and as many of them are read."""
    one, three = (ub.Study(SPACE, seed=0) for _ in range(2))
    for _ in range(8):
        assert not three.engine.is_ready
        here, there = one.ask(), three.ask()
        assert np.array_equal(here.x, there.x)
        one.tell(here, f(here.x))
        three.tell(there, [f(there.x)] * 3)
    assert one.engine.is_ready
    assert three.engine.is_ready


def test_a_share_of_lies_is_one_of_all_readings_that_there_will_be():
    study = ub.Study(SPACE, seed=0, n_rounds=20, lies=0.1)
    assert study.engine.n_lies == 2
    query = study.ask()
    study.tell(query, [1.0, 1.0, 1.0])
    assert study.engine.n_readings == 60
    assert study.engine.n_lies == 6
    study.tell(study.ask(), 1.0)
    assert study.engine.n_readings == 40


def test_two_readings_outvote_a_lie_and_the_summary_says_so():
    study = thrice()
    flagged = study.suspects(flagged_only=True)
    lies = [each.t for each in study.trials if abs(each.y - f(each.x)) > 0.4]
    assert sorted(each.t for each in flagged) == lies
    for each in flagged:
        assert Kind.SAME_POINT in [reason.kind for reason in each.reasons]
    best = study.recommend()
    assert best.n_at_point == 3
    assert f(best.x) > 0.99
    assert "; its 3 readings outvote 1 lie)" in study.result().summary()


@pytest.mark.parametrize(
    ("n", "n_false", "said"), [(2, 0, ""), (3, 2, ""), (5, 2, "its 5 readings outvote 2 lies")]
)
def test_only_fewer_than_half_are_outvoted(n, n_false, said):
    from dataclasses import replace

    from unbribable.say.recommendation import outvoted

    best = replace(thrice().recommend(), n_at_point=n, n_flagged_at_point=n_false)
    assert outvoted(best) == said


def test_worst_cases_take_a_lie_out_of_each_point():
    """With three readings of each point one lie leaves two: the interval hardly grows."""
    rows = [(x, f(np.array([x[0], 0.4]))) for x in GRID.points[::2] for _ in range(3)]
    single = [(x, y) for x, y in rows[::3]]
    words = {"assumptions": ASSUMED, "explore": 2.0, "seed": 0}
    three, one = (ub.Study(GRID, initial=each, **words).result() for each in (rows, single))
    grown = [np.ptp(each.worst_case(1)) / np.ptp(each.worst_case(0)) for each in (three, one)]
    assert grown[0] < grown[1]


def test_it_goes_on_exactly(tmp_path):
    file = tmp_path / "run.json"

    def steps(study, n):
        rng = np.random.default_rng(len(study.trials))
        for _ in range(n):
            query = study.ask(replicates=2)
            study.tell(query, f(query.x) + 0.01 * rng.standard_normal(2), sem=[0.01, 0.05])

    words = {"seed": 0, "n_rounds": 12, "n_init": 3}
    with ub.Study(SPACE, file=file, **words) as study:
        steps(study, 2)
        left = study.ask(replicates=4)
    with ub.Study(SPACE, file=file, **words) as again:
        assert again.pending[0].replicates == 4
        again.tell(left, [0.5, None])
        steps(again, 2)
    whole = ub.Study(SPACE, **words)
    steps(whole, 2)
    whole.tell(whole.ask(), [0.5, None])
    steps(whole, 2)
    kept = ub.Study.load(file)
    for mine, theirs in zip(kept.trials, whole.trials, strict=True):
        assert mine.to_plain() == theirs.to_plain()
    assert np.array_equal(kept.ask().x, whole.ask().x)
    table = kept.to_dataframe()
    assert list(table["replicate_of"])[:2] == [None, 1] or table["replicate_of"][1] == 1
    assert table["sem"][0] == 0.01
    assert json.dumps(kept.result().to_dict(), allow_nan=False)


def test_files_from_before_are_read(tmp_path):
    file = tmp_path / "run.json"
    with ub.Study(SPACE, seed=0, file=file) as study:
        study.tell(study.ask(), 1.0)
        study.ask()
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines[1:]:
        for row in [*line.get("told", []), *line.get("asked", [])]:
            for name in ("replicate_of", "sem", "replicates"):
                row.pop(name, None)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with ub.Study(SPACE, seed=0, file=file) as again:
        assert again.trials[0].replicate_of is None
        assert again.pending[0].replicates == 1


def test_maximize_takes_lists_and_counts_evaluations(tmp_path):
    seen = []
    words = {"seed": 0, "n_init": 3, "file": tmp_path / "run.json"}
    result = ub.maximize(
        lambda x: [f(x), f(x) + 0.01, None],
        SPACE,
        4,
        callbacks=[lambda _, trial: seen.append((trial.t, trial.replicate_of))],
        **words,
    )
    assert seen == [(1, None), (4, None), (7, None), (10, None)]
    assert len(result.trials) == 12
    assert result.n_failed == 4
    more = ub.maximize(f, SPACE, 6, **words)
    assert len(more.trials) == 14


@pytest.mark.parametrize("value", [np.array([1.0, 2.0]), (1.0, 2.0), [], [None, math.nan], [1.0, "a"]])
def test_what_is_no_list_of_readings_fails(value):
    """An array of several, or a tuple, is more likely a slip than meant."""
    with pytest.raises((TypeError, ValueError), match="y must"):
        ub.maximize(lambda _: value, SPACE, 3, on_error="raise")


def test_an_infinite_one_among_them_is_missing_because_of_its_value():
    values = iter([[1.0, math.inf], [1.0, 1.1], [0.9, 0.8]])
    with pytest.warns(RuntimeWarning, match="failed"):
        result = ub.maximize(lambda _: next(values), SPACE, 3, seed=0)
    assert result.trials[0].because_of_value


def test_a_reading_with_less_noise_counts_for_more():
    def believed(sems):
        study = ub.Study(GRID, assumptions=ASSUMED, explore=2.0, seed=0)
        for k, x in enumerate(GRID.points[::3]):
            study.tell(x, [0.0, 0.2], sem=sems if k == 2 else None)
        return study.predict([GRID.points[6]])[0][0], study

    low, _ = believed([0.01, 0.3])
    high, study = believed([0.3, 0.01])
    assert low < 0.05
    assert high > 0.15
    lams = [reading.lam for reading in study.engine.algorithm().readings]
    assert lams[4:6] == pytest.approx([0.9, 0.001])
    assert lams[:2] == [0.1, 0.1]
    assert OwnNoise(2) in study.recommend().promise.conditions
    assert "the noise of 2 readings is the sem told with each" in study.recommend().guarantee


def test_a_wild_reading_with_much_noise_is_no_lie():
    def flagged(sem):
        study = ub.Study(GRID, assumptions=ASSUMED, explore=2.0, seed=0)
        for x in GRID.points:
            study.tell(x, 0.3)
        study.tell(GRID.points[7], 1.5, sem=sem)
        return study.suspects(flagged_only=True)

    assert [each.y for each in flagged(None)] == [1.5]
    assert flagged(2.0) == ()


def test_much_more_precise_ones_do_not_break_the_belief():
    study = ub.Study(GRID, assumptions=ASSUMED, explore=2.0, seed=0)
    for x in GRID.points:
        study.tell(x, 0.3, sem=1e-140)
        study.tell(x, 0.3, sem=1e140)
    lams = {reading.lam for reading in study.engine.algorithm().readings}
    assert min(lams) == pytest.approx(1e-7)
    low, high = study.result().worst_case(1)
    assert low <= 0.3 <= high
    assert study.result().estimate == pytest.approx(0.3, abs=1e-3)


def test_an_audit_knows_their_noise():
    pytest.importorskip("clarabel")

    def least(sem):
        study = ub.Study(GRID, assumptions=ASSUMED, explore=2.0, seed=0)
        for x in GRID.points[::2]:
            study.tell(x, 0.3, sem=0.01)
        study.tell(GRID.points[6], 0.9, sem=sem)
        return study.audit().proof

    assert least(0.01).total > 0.3
    assert least(5.0).total == 0.0
    assert OwnNoise(9) in least(0.01).conditions


@pytest.mark.parametrize(
    ("y", "sem", "error", "words"),
    [
        ([], None, ValueError, "y must hold a reading"),
        ([1.0, "a"], None, TypeError, "y must be a real number, got y='a'"),
        ([1.0, math.inf], None, ValueError, "y must be finite"),
        ([[1.0], [2.0, 3.0]], None, TypeError, "y must be a real number"),
        (1.0, 0.0, ValueError, "sem must be finite and > 0"),
        (1.0, math.inf, ValueError, "sem must be finite and > 0"),
        (1.0, "a", TypeError, "sem must be a real number"),
        ([1.0, 2.0, 3.0], [0.1, 0.2], ValueError, "one for each reading, 3, got 2"),
    ],
)
def test_bad_readings_are_refused_and_the_query_stays(y, sem, error, words):
    study = ub.Study(SPACE, seed=0)
    query = study.ask()
    with pytest.raises(error, match=words):
        study.tell(query, y, sem=sem)
    assert study.pending
    assert not study.trials


def test_without_noise_there_is_no_sem():
    study = ub.Study(SPACE, seed=0, noise_std=0.0)
    with pytest.raises(ValueError, match="sem must be left out where noise_std=0"):
        study.tell((0.1, 0.2), 1.0, sem=0.1)
    for replicates in (0, 1.5):
        with pytest.raises((TypeError, ValueError), match="replicates must be"):
            study.ask(replicates=replicates)
