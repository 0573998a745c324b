"""The one room for factorisations, against NumPy's own inverse and determinant."""

import numpy as np
import pytest
from scipy.linalg import LinAlgError

import unbribable as ub
from unbribable.model.solve import Factor, PivotedFactor, System


def positive(m: int) -> np.ndarray:
    """A positive definite matrix with eigenvalues from 1 up."""
    half = np.random.default_rng(m).standard_normal((m, m))
    return half @ half.T + np.eye(m)


@pytest.mark.parametrize("m", [1, 2, 7, 40])
@pytest.mark.parametrize("kind", [Factor, PivotedFactor])
def test_solving_is_that_of_the_matrix(m: int, kind: type[Factor] | type[PivotedFactor]) -> None:
    matrix, right = positive(m), np.random.default_rng(0).standard_normal((m, 3))
    factor = kind(matrix)
    np.testing.assert_allclose(matrix @ factor.solve(right), right, atol=1e-9)
    np.testing.assert_allclose(matrix @ factor.solve(right[:, 0]), right[:, 0], atol=1e-9)


@pytest.mark.parametrize("m", [1, 2, 7, 40])
def test_inverse_and_determinant_of_a_positive_definite_matrix(m: int) -> None:
    matrix, right = positive(m), np.random.default_rng(1).standard_normal(m)
    factor, inverse = Factor(matrix), np.linalg.inv(matrix)
    np.testing.assert_allclose(factor.inverse(), inverse, atol=1e-9)
    np.testing.assert_allclose(factor.inverse_diagonal(), np.diag(inverse), atol=1e-9)
    assert factor.half_log_det == pytest.approx(0.5 * np.linalg.slogdet(matrix)[1])
    np.testing.assert_allclose(factor.solve(right), inverse @ right, atol=1e-9)


def test_factoring_leaves_the_matrix_as_it_is_unless_it_may_not() -> None:
    matrix = positive(5)
    before = matrix.copy()
    Factor(matrix)
    np.testing.assert_array_equal(matrix, before)


def test_a_matrix_that_is_not_positive_definite_is_refused_and_the_system_says_what_to_do() -> None:
    with pytest.raises(LinAlgError):
        Factor(np.diag([1.0, -1.0]))
    assert PivotedFactor(np.diag([1.0, -1.0])).solve(np.ones(2)).tolist() == [1.0, -1.0]
    twins = np.zeros((2, 1))
    with pytest.raises(LinAlgError, match=r"positive definite in float64.*2 points.*raise lam"):
        System(ub.SquaredExponential(1.0), twins, np.full(2, 1e20), 0.1)
