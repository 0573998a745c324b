"""Assumptions: validated, frozen, and said in words."""

import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import unbribable as ub

KERNEL = ub.Matern(2.5, 0.2)
GOOD = {"B": 2.0, "B0": 1.5, "noise_std": 0.1}


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"B": 0.0}, ValueError, "B must be finite and > 0, got B=0.0"),
        ({"B": -1}, ValueError, "B must be finite and > 0, got B=-1.0"),
        ({"B": math.inf}, ValueError, "B must be finite and > 0, got B=inf"),
        ({"B0": math.nan}, ValueError, "B0 must be finite and > 0, got B0=nan"),
        ({"B0": "1"}, TypeError, "B0 must be a real number, got B0='1'"),
        ({"noise_std": -0.1}, ValueError, "noise_std must be finite and >= 0, got noise_std=-0.1"),
        ({"noise_std": [0.1]}, TypeError, r"noise_std must be a real number, got noise_std=\[0.1\]"),
        ({"lam": 0.0}, ValueError, "lam must be finite and > 0, got lam=0.0"),
        ({"lam": True}, TypeError, "lam must be a real number, got lam=True"),
        ({"delta": 0.0}, ValueError, "delta must be finite and > 0 and < 1, got delta=0.0"),
        ({"delta": 1.0}, ValueError, "delta must be finite and > 0 and < 1, got delta=1.0"),
        ({"c_max": 0.0}, ValueError, "c_max must be > 0, got c_max=0.0"),
        ({"c_max": math.nan}, ValueError, "c_max must be > 0, got c_max=nan"),
        ({"kernel": "matern"}, TypeError, "kernel must be a Kernel, got kernel='matern'"),
    ],
)
def test_a_bad_assumption_is_refused_with_the_rule_and_the_value(
    changes: dict[str, object], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        ub.Assumptions(**{"kernel": KERNEL, **GOOD, **changes})


def test_the_defaults_are_lam_one_delta_a_tenth_and_lies_up_to_b0() -> None:
    assumptions = ub.Assumptions(KERNEL, **GOOD)
    assert (assumptions.lam, assumptions.delta, assumptions.c_max) == (1.0, 0.1, 1.5)


def test_a_lie_may_be_capped_apart_from_f_or_not_at_all() -> None:
    assert ub.Assumptions(KERNEL, **GOOD, c_max=7).c_max == 7.0
    assert ub.Assumptions(KERNEL, **GOOD, c_max=math.inf).c_max == math.inf


def test_numbers_of_other_types_become_plain_floats() -> None:
    assumptions = ub.Assumptions(KERNEL, B=np.float32(2), B0=np.int64(3), noise_std=np.array(0.5))
    assert all(type(value) is float for value in (assumptions.B, assumptions.B0, assumptions.noise_std))


def test_assumptions_are_frozen_and_equal_by_value() -> None:
    assumptions = ub.Assumptions(KERNEL, **GOOD)
    with pytest.raises(FrozenInstanceError):
        assumptions.B = 3.0  # type: ignore[misc]
    assert assumptions == ub.Assumptions(ub.Matern(2.5, 0.2), **GOOD)
    assert assumptions != ub.Assumptions(KERNEL, **{**GOOD, "B": 3.0})


@pytest.mark.parametrize(("B", "tolerance"), [(0.1, 1e-9), (1.0, 1e-9), (50.0, 5e-8)])
def test_bounds_are_compared_with_a_tolerance_relative_to_b_or_one(B: float, tolerance: float) -> None:
    assumptions = ub.Assumptions(KERNEL, B=B, B0=1.0, noise_std=0.1)
    assert assumptions.tolerance == pytest.approx(tolerance, rel=1e-12)


def test_in_words_names_every_assumption() -> None:
    words = str(ub.Assumptions(KERNEL, B=2.5, B0=1.25, noise_std=0.125, lam=0.5, delta=0.05))
    for part in (repr(KERNEL), "B=2.5", "B0=1.25", "scale 0.125", "lam=0.5", "delta=0.05"):
        assert part in words
    assert "A single lie is at most 1.25" in words
    assert "sub-Gaussian" in words
    assert "no reading is kept or dropped because of its value" in words
    assert "is not capped" in str(ub.Assumptions(KERNEL, **GOOD, c_max=math.inf))


def test_a_kernel_above_one_is_refused_where_domain_and_assumptions_meet() -> None:
    assumptions = ub.Assumptions(ub.Linear(1.0), **GOOD)
    with pytest.raises(ValueError, match=r"k\(x, x\) must be <= 1 on the domain, got 4 at x=\[2.0\]"):
        ub.GPUCB(ub.Grid([[0.5], [2.0]]), assumptions)
