"""The world's protocol: face, then answer; and what it refuses."""

import math

import numpy as np
import pytest

from unbribable.lab.world.adversaries import Adversary, Flip
from unbribable.lab.world.environment import Environment
from world.members import NOISE_STD, objective, world

f = objective()


def face(environment, *indices):
    n = len(indices)
    environment.face(np.array(indices), np.full(n, 1.0 / n), ("main",) * n)


class Fixed(Adversary):
    """Wants the same of every round."""

    def __init__(self, *wanted):
        self.wanted = np.array(wanted)

    def commit(self, view, rng):
        return self.wanted


def test_what_is_told_is_truth_plus_noise_plus_lie():
    environment = world(Flip(f), f=f, C=1e3, c_max=math.inf)
    for i in (0, f.best, 5):
        face(environment, i)
        seen = environment.answer(i)
        assert seen.f == f.f[i]
        assert seen.c == -2.0 * f.f[i]
        assert seen.y_tilde == seen.f + seen.noise + seen.c


def test_nobody_answers_before_the_adversary_has_committed():
    environment = world()
    with pytest.raises(RuntimeError, match=r"call face\(\) first"):
        environment.answer(0)
    face(environment, 0)
    environment.answer(0)
    with pytest.raises(RuntimeError, match=r"call face\(\) first"):
        environment.answer(0)


def test_a_point_nobody_faced_is_refused_and_the_commitment_stands():
    environment = world()
    face(environment, 3, 4)
    with pytest.raises(RuntimeError, match=r"candidate 5 is not among the points faced, \[3, 4\]"):
        environment.answer(5)
    assert environment.answer(4).f == f.f[4]


def test_the_cap_is_the_largest_value_unless_told():
    assert world().c_max == f.B0 == np.abs(f.f).max()
    assert world(c_max=0.5).c_max == 0.5
    assert world(c_max=math.inf).c_max == math.inf


def test_a_lie_is_capped():
    environment = world(Fixed(-9.0, 0.25), C=100.0, c_max=0.5)
    face(environment, 3, 4)
    assert environment.answer(3).c == -0.5
    face(environment, 3, 4)
    seen = environment.answer(4)
    assert (seen.c, seen.charge, environment.ledger.spent) == (0.25, 0.5, 1.0)


def test_the_noise_is_normal_and_of_the_deviation_told():
    environment = world()
    noise = []
    for _ in range(3000):  # several blocks
        face(environment, 0)
        noise.append(environment.answer(0).noise)
    assert len(set(noise)) == 3000
    assert np.mean(noise) == pytest.approx(0.0, abs=4 * NOISE_STD / math.sqrt(3000))
    assert np.std(noise) == pytest.approx(NOISE_STD, rel=4 / math.sqrt(6000))


def test_without_noise_the_truth_is_told():
    environment = Environment(f, noise_std=0.0)
    face(environment, 2)
    assert environment.answer(2).y_tilde == f.f[2]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_lie_that_is_no_number_is_refused(bad):
    environment = world(Fixed(bad))
    with pytest.raises(ValueError, match="must be finite"):
        face(environment, 0)
    assert environment.ledger.spent == 0.0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"noise_std": -0.1}, "noise_std must be"),
        ({"noise_std": math.nan}, "noise_std must be"),
        ({"C": -1.0}, "C must be"),
        ({"C": math.inf}, "C must be"),
        ({"c_max": 0.0}, "c_max must be"),
        ({"threat": "medium"}, "threat must be one of 'weak', 'strong', got threat='medium'"),
    ],
)
def test_a_world_that_makes_no_sense_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        Environment(f, **{"noise_std": 0.1, **arguments})
