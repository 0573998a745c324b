"""Draws that are worked out in blocks are those of NumPy's generators."""

import numpy as np
import pytest

from unbribable.decision.asking.draws import Seed

ENTROPY = [0, 7, 2**32, 2**31 + 5, 2**127 + 1, 2**160 + 9, (1, 2, 3), (1, 2, 3, 4, 5, 2**40), (0,)]


@pytest.mark.parametrize("spawn_key", [(), (3,), (0, 2**33)])
@pytest.mark.parametrize("entropy", ENTROPY)
def test_a_draw_is_the_first_number_of_the_generator_of_its_round(entropy, spawn_key):
    seed = Seed(entropy, spawn_key)
    for t in (0, 1, 255, 256, 20_000, 2**32 - 1, 2**32):
        sequence = np.random.SeedSequence(entropy, spawn_key=(*spawn_key, t))
        assert seed.uniform(t) == np.random.default_rng(sequence).random()
