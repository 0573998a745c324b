"""Curves, slopes and paired differences against numbers computed by hand."""

import math

import numpy as np
import pytest

from report.hand_made import record, write
from unbribable.lab.report.numbers import answers, over_rounds, paired, scalings, slope, spread
from unbribable.lab.report.outcomes import load


def test_a_curve_is_mean_error_median_and_range_over_seeds(tmp_path):
    regrets = ([1.0, 0.0], [0.0, 0.0], [0.5, 0.5])  # cumulated: (1, 1), (0, 0), (0.5, 1)
    collection = load(write(tmp_path, [record(r, seed=k) for k, r in enumerate(regrets)]))
    (games,) = collection.cells.values()
    curve = over_rounds(games, "regret")
    assert curve.n == 3
    assert curve.rounds.tolist() == [1, 2]
    np.testing.assert_allclose(curve.mean, [0.5, 2 / 3])
    np.testing.assert_allclose(
        curve.standard_error, [0.5 / math.sqrt(3), math.sqrt(1 / 3) / math.sqrt(3)]
    )
    np.testing.assert_allclose(curve.median, [0.5, 1.0])
    np.testing.assert_allclose(curve.low, [0.0, 0.0])
    np.testing.assert_allclose(curve.high, [1.0, 1.0])


def test_one_seed_has_no_standard_error(tmp_path):
    (games,) = load(write(tmp_path, [record([1.0])])).cells.values()
    assert np.isnan(over_rounds(games, "regret").standard_error).all()
    assert math.isnan(spread([3.0]).standard_error)


def test_spread_by_hand():
    of = spread([1.0, 2.0, 6.0])
    assert (of.n, of.mean, of.median, of.high) == (3, 3.0, 2.0, 6.0)
    assert of.standard_error == pytest.approx(math.sqrt(7.0 / 3.0))


@pytest.mark.parametrize("power", [-0.5, 0.0, 0.5, 1.0, 1.7])
def test_an_exact_power_law_gives_its_power(power):
    x = np.array([1.0, 3.0, 10.0, 80.0])
    fit = slope(x, 2.5 * x**power)
    assert fit.slope == pytest.approx(power, abs=1e-12)
    assert math.exp(fit.intercept) == pytest.approx(2.5)
    assert fit.n == 4
    np.testing.assert_allclose(fit.at(x), 2.5 * x**power)


def test_a_slope_agrees_with_polyfit():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(1.0, 9.0, 12), rng.uniform(1.0, 9.0, 12)
    fit = slope(x, y)
    np.testing.assert_allclose([fit.slope, fit.intercept], np.polyfit(np.log(x), np.log(y), 1))


def test_a_slope_needs_two_positive_points():
    assert slope([1.0], [2.0]) is None
    assert slope([2.0, 2.0], [1.0, 3.0]) is None
    assert slope([1.0, 2.0], [0.0, 3.0]) is None
    assert slope([1.0, 2.0, 4.0], [0.0, 2.0, 4.0]).n == 2


def test_scalings_against_c_and_t(tmp_path):
    # R_T = C * T: slope 1 in both.
    records = [record([C] * T, C=C) for C in (0.5, 1.0, 2.0) for T in (2, 4)]
    records += [record([0.1] * T, C=0.0, adversary="none") for T in (2, 4)]
    collection = load(write(tmp_path, records))
    against_c = scalings(collection, "C")
    assert [(line.fixed.T, line.fit.n) for line in against_c] == [(2, 3), (4, 3)]
    assert all(line.fit.slope == pytest.approx(1.0) for line in against_c)
    assert against_c[0].mean.tolist() == [1.0, 2.0, 4.0]
    against_t = scalings(collection, "T")
    assert [line.fixed.C for line in against_t] == [0.0, 0.5, 1.0, 2.0]
    assert all(line.fit.slope == pytest.approx(1.0) for line in against_t)
    with pytest.raises(ValueError, match="against must be one of 'C', 'T', got against='x'"):
        scalings(collection, "x")


def test_paired_differences_use_common_seeds_only(tmp_path):
    robust = {"algorithm": "Robust", "kind": "RobustGPUCB", "C_assumed": 1.0}
    records = [record([r], seed=k) for k, r in enumerate((1.0, 2.0, 3.0))]
    records += [record([r], seed=k, **robust) for k, r in ((1, 1.0), (2, 4.0), (7, 100.0))]
    collection = load(write(tmp_path, records))
    assert collection.algorithms[0] == "GP-UCB"
    (row,) = paired(collection, "GP-UCB")
    assert (row.algorithm, row.difference.n, row.difference.mean, row.share_better) == (
        "Robust",
        2,
        0.0,
        0.5,
    )
    assert row.difference.standard_error == pytest.approx(1.0)  # of -1 and 1
    assert row.ratio == pytest.approx(5.0 / 5.0)
    (back,) = paired(collection, "Robust")
    assert back.difference.mean == 0.0


def test_an_unknown_baseline_is_refused_with_those_there_are(tmp_path):
    collection = load(write(tmp_path, [record([1.0])]))
    with pytest.raises(ValueError, match="baseline must be one of 'GP-UCB', got baseline='Best'"):
        paired(collection, "Best")


def test_an_answer_is_the_range_of_true_regrets_and_of_certificates(tmp_path):
    games = [
        record([1.0], seed=k, simple=simple, certificate=certificate, promised={"main": k != 2})
        for k, (simple, certificate) in enumerate([(0.0, 0.5), (0.25, 0.75), (0.1, None)])
    ]
    (one,) = answers(load(write(tmp_path / "a", games)).cells)
    assert one.regret == pytest.approx((0.0, 0.1, 0.25))
    assert one.certificate == pytest.approx((0.5, 0.625, 0.75))
    assert not one.is_promised, "in one game its assumptions were false"
    (other,) = answers(load(write(tmp_path / "b", games[:2])).cells)
    assert other.is_promised
    (none,) = answers(load(write(tmp_path / "c", games[2:])).cells)
    assert none.certificate is None
