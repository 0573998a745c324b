"""Tables sorted by what was read, nobody lied, assumptions given and true: rates of false statements.

Each is allowed in a share delta of the tables. Bounds that take the rows to be in order are false in a
third of them or more; fifty tables let that pass with probability 2e-4.
"""

from typing import Any

import numpy as np
import pytest

import unbribable as ub
from study.tables import ASSUMED, GRID, f, table, wrong

N_TABLES = 50


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """A judge that hardly looks: nothing tested here rests on a verdict, and tables are many."""
    for name, value in (("N_START", 1), ("N_HEARD", 12), ("N_COMPARED", 24)):
        monkeypatch.setattr(f"unbribable.doubt.judge.{name}", value)


@pytest.mark.parametrize("order", ["worst first", "best first"])
@pytest.mark.parametrize("words", [{"corruption": 0}, {"corruption": 0.5}, {"lies": 1}], ids=str)
def test_a_sorted_table_is_falsely_judged_as_rarely_as_any(words: dict[str, Any], order: str) -> None:
    n_false = n_wrong = n_accused = 0
    for seed in range(N_TABLES):
        points, y = table(seed, order)
        audit = ub.audit(points, y, GRID, assumptions=ASSUMED, **words)
        best, fx = audit.recommendation, float(f(audit.recommendation.x)[0])
        n_false += best.regret_bound is None or not best.lower <= fx <= best.upper
        n_wrong += wrong(audit.result.engine.algorithm()) != ""
        n_accused += audit.least_corruption > 0.0 or bool(audit.proof.lies)
    assert max(n_false, n_wrong, n_accused) <= ASSUMED.delta * N_TABLES


@pytest.mark.parametrize("delta", [0.5, 0.1])
def test_many_sorted_readings_of_few_points_prove_no_lies(
    delta: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The most extreme of 1500 readings came last of all, and first in the table."""
    monkeypatch.setattr(ub.Audit, "suspects", ())  # none is asked about: the total alone is of interest
    grid = ub.Grid([[0.1], [0.5], [0.9]])
    kernel, values = ub.SquaredExponential(0.2), np.array([0.5, 0.55, 0.6])
    norm = float(np.sqrt(values @ np.linalg.solve(kernel(grid.points, grid.points), values)))
    assumed = ub.Assumptions(kernel, B=norm, B0=0.7, noise_std=0.5, lam=0.25, delta=delta)
    n_accused, n = 0, 20
    for seed in range(n):
        rng = np.random.default_rng(seed)
        at = rng.integers(3, size=1500)
        y = values[at] + 0.5 * rng.standard_normal(1500)
        order = np.argsort(y)
        audit = ub.audit(grid.points[at][order], y[order], grid, assumptions=assumed, corruption=0.5)
        n_accused += audit.least_corruption > 0.0
    assert n_accused <= delta * n
