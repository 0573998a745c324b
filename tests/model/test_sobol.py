"""Sobol points: SciPy's to the last bit, whoever makes them, and without its statistics."""

import numpy as np
import pytest
from scipy.stats import qmc

from unbribable.model import sobol
from unbribable.model.sobol import scrambled_sobol


def of_scipy(n: int, d: int, seed: int) -> np.ndarray:
    return qmc.Sobol(d, rng=np.random.default_rng(seed)).random(n)


@pytest.mark.parametrize("d", [1, 2, 3, 7, 19, 60])
@pytest.mark.parametrize("n", [1, 2, 512])
def test_points_are_those_of_scipy_to_the_bit(d, n):
    for seed in (0, 1, 12345):
        np.testing.assert_array_equal(scrambled_sobol(n, d, seed), of_scipy(n, d, seed))


def test_without_the_table_of_scipy_the_points_are_the_same(monkeypatch):
    monkeypatch.setattr(sobol, "_table", lambda: None)
    np.testing.assert_array_equal(scrambled_sobol(64, 3, 5), of_scipy(64, 3, 5))


def test_the_table_is_where_this_scipy_keeps_it():
    """Else commands start half a second later."""
    assert sobol._table() is not None
