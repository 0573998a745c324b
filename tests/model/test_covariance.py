"""A matrix in several pieces is the same matrix."""

import numpy as np
import pytest

from unbribable.model import covariance
from unbribable.model.covariance import Covariance


def test_a_matrix_in_several_pieces_is_the_same_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every way to read it, with and without updates that wait; it grows in both directions."""
    monkeypatch.setattr(covariance, "N_ROWS", 16)
    rng = np.random.default_rng(0)
    R, dense = Covariance(30, 4), np.zeros((0, 30))
    for k in range(50):
        rows = rng.normal(size=(1 + k % 3, R.n))
        R.add_rows(rows)
        dense = np.concatenate([dense, rows])
        column, step = rng.normal(size=R.m), rng.normal(size=R.n)
        anew = [k % R.m][: k % 3]
        R.defer(column, step, anew)
        dense[anew] = 0.0
        dense = dense - np.outer(column, step)
        if k % 5 == 4:
            new = rng.normal(size=(R.m, 7))
            R.widen(R.n + 7)
            R.set_columns(R.n - 7, new)
            dense = np.concatenate([dense, new], axis=1)
        np.testing.assert_allclose(R.dense, dense, atol=1e-9)
        pull, prec, some_columns = rng.normal(size=R.m), rng.random(R.m), np.array([3, R.n - 1])
        np.testing.assert_allclose(R.times(pull), pull @ dense, atol=1e-7)
        np.testing.assert_allclose(R.times(np.outer([1, 2], pull))[1], 2 * pull @ dense, atol=1e-7)
        np.testing.assert_allclose(R.squares(prec), prec @ dense**2, rtol=1e-7)
        np.testing.assert_allclose(R.columns(some_columns), dense[:, some_columns], atol=1e-9)
        np.testing.assert_allclose(R.columns(5), dense[:, 5], atol=1e-9)
        np.testing.assert_allclose(R.row(R.m - 1), dense[-1], atol=1e-9)
    assert len(R.blocks) > 3
