"""Many readings at once, looks that leave no trace, and a matrix in several pieces."""

import numpy as np
import pytest

import unbribable as ub
from unbribable.model import covariance
from unbribable.model.covariance import Covariance
from unbribable.model.posterior import DRIFT_TOLERANCE, Posterior

POINTS = np.random.default_rng(3).random((400, 2))
KERNEL = ub.Matern(2.5, 0.3)


def some(seed: int, n: int, n_points: int, lam: float) -> list[tuple[int, float, float]]:
    """Readings of points below n_points, some of them repeated, with two noises."""
    rng = np.random.default_rng(seed)
    points = rng.integers(0, n_points, n)
    return [(int(i), float(rng.normal()), lam * (1 + k % 2)) for k, i in enumerate(points)]


def game(lam: float, *, in_blocks: bool, n_blocks: int = 6, with_looks: bool = False) -> Posterior:
    """60 readings one by one, then blocks of 20 readings and 10 further candidates."""
    posterior = Posterior(KERNEL, POINTS[:100], lam)
    for reading in some(0, 60, 60, lam):
        posterior.observe(*reading)
    for k in range(n_blocks):
        X = POINTS[: 110 + 10 * k]
        readings = some(k + 1, 20, len(X), lam)
        if with_looks:
            for n in (0, 3, 20):
                posterior.look(X, readings[:n])
        if in_blocks:
            posterior.observe_block(X, readings)
            continue
        for n in range(len(posterior.X) + 1, len(X) + 1):
            posterior.extend(X[:n])
        for reading in readings:
            posterior.observe(*reading)
    return posterior


def assert_alike(one: Posterior, other: Posterior, mu: float, var: float) -> None:
    """Up to rounding: the mean absolutely, what is a variance relatively to it."""
    np.testing.assert_array_equal(one.u, other.u)
    np.testing.assert_allclose(one.prec, other.prec, rtol=1e-12)
    np.testing.assert_allclose(one.mu, other.mu, rtol=0.0, atol=mu)
    np.testing.assert_allclose(one.var, other.var, rtol=var)
    np.testing.assert_allclose(one.noise_var, other.noise_var, rtol=0.0, atol=var * other.var.max())
    np.testing.assert_allclose(one.R, other.R, rtol=0.0, atol=var * other.var.max())
    assert one.gain == pytest.approx(other.gain, rel=1e-9)
    columns = np.arange(len(one.X))
    np.testing.assert_allclose(
        one.tally.weights(one.columns(columns)),
        other.tally.weights(other.columns(columns)),
        rtol=0.0,
        atol=var * other.var.max(),
    )


@pytest.mark.parametrize("lam", [1.0, 1e-2, 1e-3, 1e-5, 1e-7])
def test_readings_in_blocks_are_the_same_as_one_by_one(lam: float) -> None:
    """New points, old ones, repeats, further candidates; two noises."""
    blocks, single = game(lam, in_blocks=True), game(lam, in_blocks=False)
    assert_alike(blocks, single, mu=2e-7, var=DRIFT_TOLERANCE)
    assert blocks.drift() < DRIFT_TOLERANCE


def test_errors_do_not_grow_from_block_to_block() -> None:
    """Hundreds of readings later they are still rounding, though prec multiplies each new row."""
    posterior = Posterior(KERNEL, POINTS, 1e-2)
    for k in range(30):
        posterior.observe_block(POINTS, some(k, 20, len(POINTS), 1e-2))
    assert posterior.n_rebuilds == 0
    assert posterior.drift() < 1e-9


@pytest.mark.parametrize("lam", [1e-2, 1e-5])
def test_a_look_shows_what_the_block_will_say(lam: float) -> None:
    """Up to rounding, with all the readings that wait, few or many of them."""
    posterior = game(lam, in_blocks=True)
    X, readings = POINTS[:170], some(9, 20, 170, lam)
    look = posterior.look(X, readings)
    shown = look.mu.copy(), look.var.copy(), look.noise_var.copy(), look.R, look.gain
    posterior.observe_block(X, readings)
    now = posterior.mu, posterior.var, posterior.noise_var, posterior.R, posterior.gain
    for then, later, size in zip(shown, now, (1e-8, 1e-9, 1e-9, 1e-9, 1e-9), strict=True):
        np.testing.assert_allclose(then, later, rtol=0.0, atol=size * max(1.0, posterior.gain))


def test_looking_changes_nothing_that_comes_later() -> None:
    """Not a bit of it: looks of any size, also such as need more room."""
    plain = game(1e-2, in_blocks=True)
    looked = game(1e-2, in_blocks=True, with_looks=True)
    for name in ("mu", "var", "noise_var", "R", "u", "prec", "ybar", "gain"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(looked, name), err_msg=name)
    assert plain.tally.n_readings == looked.tally.n_readings


def test_a_spoiled_matrix_is_noticed_after_a_block_and_rebuilt() -> None:
    """Some rows are computed from all the others."""
    posterior = game(1e-2, in_blocks=True)
    posterior._R.flush()
    posterior._R.blocks[0][: posterior.m, :100] += 1e-3
    posterior.observe_block(posterior.X, some(5, 20, 160, 1e-2))
    assert posterior.n_rebuilds == 1
    assert posterior.drift() < DRIFT_TOLERANCE


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
        np.testing.assert_allclose(R.rows([0, R.m - 1]), dense[[0, -1]], atol=1e-9)
    assert len(R.blocks) > 3
    left, right = rng.normal(size=(R.m, 3)), rng.normal(size=(3, R.n))
    look = R.look()
    dense[[2, 40]] = 0.0
    for subtracted in (look, R):  # which ends the look
        subtracted.subtract(left, right, [2, 40])
        np.testing.assert_allclose(subtracted.dense, dense - left @ right, atol=1e-9)
        np.testing.assert_allclose(subtracted.row(40), dense[40] - left[40] @ right, atol=1e-9)
        np.testing.assert_allclose(subtracted.columns(5), (dense - left @ right)[:, 5], atol=1e-9)
        np.testing.assert_allclose(subtracted.times(pull), pull @ (dense - left @ right), atol=1e-7)
        squares = prec @ (dense - left @ right) ** 2
        np.testing.assert_allclose(subtracted.squares(prec), squares, rtol=1e-7)
