"""Shares with exact intervals; detections and false alarms."""

import pytest
from scipy.stats import binomtest

from report.hand_made import record, write
from unbribable.lab.report.numbers import coverages, detections, share
from unbribable.lab.report.outcomes import load

FAST_SLOW = {
    "algorithm": "Fast-Slow",
    "kind": "FastSlowGPUCB",
    "instances": ("fast", "slow", "all"),
    "C_assumed": 2.0,
}


@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 1), (0, 10), (10, 10), (3, 10), (97, 100)])
def test_the_interval_is_scipys_exact_one(k, n):
    ours = share(k, n)
    theirs = binomtest(k, n).proportion_ci(0.95, method="exact")
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert ours.value == k / n


@pytest.mark.parametrize(("k", "n"), [(-1, 3), (4, 3), (0, 0)])
def test_impossible_counts_are_refused(k, n):
    with pytest.raises(ValueError, match=f"k must be 0..n with n >= 1, got k={k}, n={n}"):
        share(k, n)


def test_coverage_counts_games_per_instance(tmp_path):
    covered = [{"fast": k > 2, "slow": True, "all": k != 0} for k in range(4)]
    records = [record([0.1], seed=k, covered=c, **FAST_SLOW) for k, c in enumerate(covered)]
    rows = coverages(load(write(tmp_path, records)).cells)
    assert [(row.instance, row.share.k, row.share.n) for row in rows] == [
        ("fast", 1, 4), ("slow", 4, 4), ("all", 3, 4),
    ]  # fmt: skip
    assert [row.is_promised for row in rows] == [False, True, True]
    assert {row.delta for row in rows} == {0.1}


def test_detections_and_false_alarms(tmp_path):
    found = [None, 10, 30, 20]
    records = [record([0.1], seed=k, detected=t, **FAST_SLOW) for k, t in enumerate(found)]
    clean = {**FAST_SLOW, "adversary": "none", "C": 0.0}
    records += [record([0.1], seed=k, **clean) for k in range(4)]
    records += [record([0.1], seed=0)]  # GP-UCB looks for nothing
    no_alarm, row = detections(load(write(tmp_path, records)).cells)
    assert (row.share.k, row.share.n, row.median_round) == (3, 4, 20.0)
    assert no_alarm.cell.setting.is_clean
    assert (no_alarm.share.k, no_alarm.median_round) == (0, None)
