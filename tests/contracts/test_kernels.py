"""Laws every kernel keeps."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.members import KERNELS

ALL = pytest.mark.parametrize("build", KERNELS.values(), ids=KERNELS)
Build = Callable[[int], Any]

seeds = st.integers(0, 10**6)
dimensions = st.integers(1, 4)


def cloud(seed: int, d: int, n: int = 12) -> np.ndarray:
    """Points in [-2, 2]^d, two of them very close to each other, one at the origin."""
    X = np.random.default_rng(seed).uniform(-2.0, 2.0, (n, d))
    X[1] = np.clip(X[0] + 1e-9, -2.0, 2.0)
    X[2] = 0.0
    return X


@ALL
@settings(max_examples=15, deadline=None, derandomize=True)
@given(seed=seeds, d=dimensions)
def test_a_kernel_is_symmetric_positive_and_at_most_one(build: Build, seed: int, d: int) -> None:
    """k(x, z) = k(z, x), no negative eigenvalue beyond rounding, |k| <= 1."""
    kernel, X = build(d), cloud(seed, d)
    K = kernel(X, X)
    assert K.shape == (12, 12)
    assert K.dtype == np.float64
    np.testing.assert_allclose(K, K.T, rtol=0.0, atol=1e-15)
    assert np.linalg.eigvalsh(K).min() > -1e-12
    assert np.abs(K).max() <= 1.0 + 1e-12
    kernel.check(X)


@ALL
@settings(max_examples=15, deadline=None, derandomize=True)
@given(seed=seeds, d=dimensions)
def test_diag_rows_and_blocks_agree_with_the_matrix(build: Build, seed: int, d: int) -> None:
    """What is computed on demand is what the whole would hold."""
    kernel, X = build(d), cloud(seed, d)
    K = kernel(X, X)
    np.testing.assert_allclose(kernel.diag(X), np.diag(K), rtol=1e-14)
    for i in (0, 5, 11):
        np.testing.assert_allclose(kernel(X[i : i + 1], X)[0], K[i], rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(kernel(X[:3], X[3:]), K[:3, 3:], rtol=1e-13, atol=1e-15)
    assert kernel(X[:0], X).shape == (0, 12)


@ALL
@settings(max_examples=15, deadline=None, derandomize=True)
@given(seed=seeds, d=dimensions)
def test_a_scale_per_coordinate_is_scaling_the_points(build: Build, seed: int, d: int) -> None:
    """k_scales(x, z) = k_1(x / scales, z / scales)."""
    kernel, X = build(d), cloud(seed, d)
    name = "scale" if hasattr(kernel, "scale") else "lengthscale"
    scales = np.linspace(0.5, 1.7, d)
    scaled = dataclasses.replace(kernel, **{name: scales})
    one = dataclasses.replace(kernel, **{name: 1.0})
    np.testing.assert_allclose(scaled(X, X), one(X / scales, X / scales), rtol=1e-13, atol=1e-15)
    equal = dataclasses.replace(kernel, **{name: [0.9] * d})
    single = dataclasses.replace(kernel, **{name: 0.9})
    np.testing.assert_array_equal(equal(X, X), single(X, X))


@ALL
def test_a_kernel_is_a_frozen_hashable_value(build: Build) -> None:
    """Equal parameters are equal kernels, given as a list or an array; the repr rebuilds it."""
    kernel = build(3)
    assert kernel == build(3)
    assert hash(kernel) == hash(build(3))
    assert repr(kernel) == repr(build(3))
    with pytest.raises(dataclasses.FrozenInstanceError):
        kernel.nu = 3.0
    name = "scale" if hasattr(kernel, "scale") else "lengthscale"
    as_list = dataclasses.replace(kernel, **{name: [1, 2, 3]})
    as_array = dataclasses.replace(kernel, **{name: np.array([1.0, 2.0, 3.0])})
    assert as_list == as_array
    assert as_list != kernel


@ALL
def test_a_wrong_number_of_scales_is_refused_by_the_points(build: Build) -> None:
    """Two scales do not fit three coordinates."""
    kernel = build(3)
    name = "scale" if hasattr(kernel, "scale") else "lengthscale"
    two = dataclasses.replace(kernel, **{name: [1.0, 2.0]})
    with pytest.raises(ValueError, match=r"one per coordinate \(d=3\)"):
        two.check(np.zeros((1, 3)))


@ALL
def test_the_rank_bounds_the_matrix_where_it_is_known(build: Build) -> None:
    """A kernel that names a rank has no more features than that."""
    kernel, X = build(2), cloud(0, 2)
    rank = kernel.rank(X)
    if rank is None:
        assert np.linalg.matrix_rank(kernel(X, X)) > 2
    else:
        assert np.linalg.matrix_rank(kernel(X, X)) == rank
