"""A number of lies of any size: where readings are clipped, and what that leaves of a lie."""

import math
from dataclasses import replace

import numpy as np
import pytest

import unbribable as ub
from unbribable.theory.clipping import FewLies

KNOWN = ub.Assumptions(
    ub.SquaredExponential(0.3), B=2.0, B0=1.5, noise_std=0.1, delta=0.08, c_max=math.inf
)


def test_noise_leaves_the_clip_of_all_readings_with_half_of_delta_at_most() -> None:
    """Each level by the sub-Gaussian bound; a fixed number of readings, or any number of them."""

    def leaves(lies: FewLies) -> float:
        return 2.0 * math.exp(-0.5 * ((lies.L - KNOWN.B0) / KNOWN.noise_std) ** 2)

    assert 50 * leaves(FewLies.within(KNOWN, 3, 50)) == pytest.approx(KNOWN.delta / 2)
    n = 20_000
    total = sum(leaves(FewLies.so_far(KNOWN, 3, t)) for t in range(1, n + 1))
    assert total == pytest.approx(KNOWN.delta / 2 * (1.0 - 1.0 / (n + 1)))


def test_the_clip_of_the_last_of_any_number_covers_all_before_it() -> None:
    levels = [FewLies.so_far(KNOWN, 0, t).L for t in range(1, 100)]
    assert np.all(np.diff(levels) > 0.0)


def test_a_lie_is_what_clipping_leaves_of_it() -> None:
    lies = FewLies.within(KNOWN, 3, 50)
    assert (lies.cap, lies.C) == (2.0 * lies.L, 6.0 * lies.L)


def test_a_cap_that_says_more_takes_its_place_and_nothing_is_clipped() -> None:
    clip = FewLies.within(KNOWN, 3, 50).L
    lies = FewLies.within(replace(KNOWN, c_max=1.9 * clip), 3, 50)
    assert (lies.cap, lies.C) == (1.9 * clip, 1.9 * clip * 3)
    assert not lies.is_clipped
    assert FewLies.within(replace(KNOWN, c_max=2.1 * clip), 3, 50).cap == 2.0 * clip
