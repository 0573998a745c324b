"""Rounding at tiny lam: no lies move a mean, or a difference of means, further than the shift says.

Here f = 0 and nothing is noisy, so lies alone move the mean. Nothing is compared up to a tolerance.
"""

from collections.abc import Callable

import numpy as np
import pytest

import unbribable as ub
from pairs import differences_of
from unbribable.model.checks import Floats, Ints
from unbribable.model.elsewhere import Elsewhere
from unbribable.model.tally import Heard
from unbribable.theory.widths import ExactWidth

X = np.random.default_rng(0).random((50, 1))
KERNELS = [ub.Matern(2.5, 0.2), ub.Matern(1.5, 1.0), ub.SquaredExponential(0.1)]
LAMS = [1e-2, 1e-5, 1e-8, 1e-10, 1e-12]
CAP = 1.0


def one_by_one(posterior: ub.Posterior, readings: list[Heard]) -> ub.Posterior:
    for i, y, lam in readings:
        posterior.observe(i, y, lam)
    return posterior


def at_once(posterior: ub.Posterior, readings: list[Heard]) -> ub.Posterior:
    posterior.observe_all(readings)
    return posterior


def rebuilt(posterior: ub.Posterior, readings: list[Heard]) -> ub.Posterior:
    half = len(readings) // 2
    one_by_one(posterior, readings[:half]).rebuild()
    return one_by_one(posterior, readings[half:])


def growing(posterior: ub.Posterior, readings: list[Heard]) -> ub.Posterior:
    """Candidates are taken in when they are read, and all others at the end."""
    for i, y, lam in readings:
        if i >= len(posterior.mu):
            posterior.extend(X[: i + 1])
        posterior.observe(i, y, lam)
    if len(posterior.mu) < len(X):
        posterior.extend(X)
    return posterior


LEARN = [one_by_one, at_once, rebuilt, growing]


def lies(rng: np.random.Generator, t: int) -> list[Floats]:
    """One lie, the first few readings, a quarter of them in turn."""
    one, first, many = np.zeros(t), np.zeros(t), np.zeros(t)
    one[rng.integers(t)] = CAP
    first[: 1 + t // 10] = CAP
    many[rng.permutation(t)[: 1 + t // 4]] = CAP * rng.choice([-1.0, 1.0], 1 + t // 4)
    return [one, first, many]


def designs_at(lam: float) -> list[tuple[ub.Posterior, Ints, Floats, np.random.Generator]]:
    """Points read several times each, in any order; in every other design with several noises."""
    found = []
    for seed, kernel in enumerate(KERNELS * 2):
        rng = np.random.default_rng(seed)
        t = int(rng.integers(3, 60))
        indices = rng.choice(rng.choice(len(X), int(rng.integers(2, 25)), replace=False), t)
        lams = lam * rng.choice([1.0, 5.0], t) if seed % 2 else np.full(t, lam)
        found.append((ub.Posterior(kernel, X, lam), indices, lams, rng))
    return found


@pytest.mark.parametrize("lam", LAMS)
@pytest.mark.parametrize("learn", LEARN)
def test_no_lies_move_the_mean_further_than_the_shift(
    learn: Callable[[ub.Posterior, list[Heard]], ub.Posterior], lam: float
) -> None:
    for empty, indices, lams, rng in designs_at(lam):
        for told in lies(rng, len(indices)):
            n = 5 if learn is growing else len(X)
            readings = list(zip(indices.tolist(), told.tolist(), lams.tolist(), strict=True))
            posterior = learn(ub.Posterior(empty.kernel, X[:n], lam), readings)
            shift = ExactWidth(posterior.tally, float(np.abs(told).sum()), CAP)
            assert (np.abs(posterior.mu) <= shift.of_columns(posterior.R)).all()


@pytest.mark.parametrize("lam", LAMS)
def test_nor_at_points_that_are_no_candidates(lam: float) -> None:
    for posterior, indices, lams, rng in designs_at(lam):
        for told in lies(rng, len(indices))[:1]:
            one_by_one(posterior, list(zip(indices.tolist(), told, lams.tolist(), strict=True)))
            at = Elsewhere(posterior).at(rng.uniform(-0.2, 1.2, (40, 1)))
            shift = ExactWidth(posterior.tally, CAP, CAP)
            assert (np.abs(at.mu) <= shift.value(at)).all()


@pytest.mark.parametrize("lam", LAMS)
def test_nor_a_difference_of_means(lam: float) -> None:
    for posterior, indices, _, rng in designs_at(lam):
        told = lies(rng, len(indices))[2]
        one_by_one(posterior, [(int(i), float(y), lam) for i, y in zip(indices, told, strict=True)])
        for rec in (int(indices[0]), int(indices[-1]), int(rng.integers(len(X)))):
            pairs = differences_of(posterior, rec)
            shift = pairs.shift(np.arange(len(X)), float(np.abs(told).sum()), CAP)
            assert (np.abs(pairs.mu) <= shift).all()


@pytest.mark.parametrize("lam", LAMS)
def test_the_shift_is_larger_by_a_hundred_billionth_at_most(lam: float) -> None:
    """The lies that attain it move the mean as far, up to the allowance for rounding."""
    for empty, indices, lams, rng in designs_at(lam):
        readings = list(zip(indices.tolist(), lams.tolist(), strict=True))
        posterior = one_by_one(empty, [(i, 0.0, own) for i, own in readings])
        largest = np.array([posterior.R[posterior.tally.row[i]] / own for i, own in readings])
        x = int(rng.integers(len(X)))
        heaviest = int(np.argmax(np.abs(largest[:, x])))
        told = [(i, CAP * (k == heaviest), own) for k, (i, own) in enumerate(readings)]
        moved = one_by_one(ub.Posterior(empty.kernel, X, lam), told).mu[x]
        shift = ExactWidth(posterior.tally, CAP, CAP).of_columns(posterior.R)[x]
        assert abs(moved) <= shift <= abs(moved) * (1.0 + 1.1e-11)
