"""How lies are counted, with nothing to spare: honest widths touch f, and every planted fault shows.

See `quorum_world`: an oracle puts the smallest true number in place of every honest width, energy and
level. What is said must be true all the same, for every liar; and it is not, for every `quorum_mutants`.
"""

from unittest.mock import patch

import pytest

from quorum_mutants import MUTANTS
from quorum_world import LIARS, Oracle, noisiest, oldest, play

ALL = pytest.mark.parametrize("liar", LIARS)


@ALL
def test_what_is_said_is_true_with_nothing_to_spare(liar: str) -> None:
    for seed in range(2):
        assert not play(seed, LIARS[liar], n_lies=1 + seed, T=14)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_fault_shows(name: str) -> None:
    """In one of a few games."""
    assert n_caught(name, 2 if "forecaster" in MUTANTS[name].liars else 4, T=16)


def n_caught(name: str, n: int, T: int = 20) -> int:
    """In how many of n games against its liars in turn."""
    mutant = MUTANTS[name]
    order = noisiest if mutant.n_pending > 1 else oldest
    caught = 0
    for seed in range(n):
        wrong = play(
            seed,
            LIARS[mutant.liars[seed % len(mutant.liars)]],
            mutant.n_lies,
            T=T,
            order=order,
            n_pending=mutant.n_pending,
            twice=mutant.twice,
            fault=mutant.planted(),
        )
        caught += bool(wrong)
    return caught


def test_the_widths_have_nothing_to_spare() -> None:
    """Control: a tenth less is too little even where nobody lies."""
    factor = Oracle.factor
    caught = 0
    for seed in range(4):
        narrower = patch.object(Oracle, "factor", lambda self, label: 0.9 * factor(self, label))
        caught += bool(play(seed, lambda *_: None, n_lies=0, T=12, fault=narrower))
    assert caught >= 3
    assert not play(0, lambda *_: None, n_lies=0, T=12)


def test_one_lie_more_than_is_allowed_for_shows() -> None:
    """Control: the liars do harm."""
    caught = 0
    for seed in range(4):
        caught += bool(play(seed, LIARS["hider"], n_lies=2, T=16, allowed=1))
    assert caught >= 3


@pytest.mark.long
@pytest.mark.parametrize("n_lies", [1, 2, 3, 5])
@ALL
def test_it_is_true_in_many_games(liar: str, n_lies: int) -> None:
    """With queries under way, too, told in an order that the liar chooses."""
    for seed in range(100, 103):
        assert not play(seed, LIARS[liar], n_lies, T=26)
        if liar != "forecaster":
            assert not play(seed, LIARS[liar], n_lies, T=26, n_pending=3, order=noisiest)
            assert not play(seed, LIARS[liar], n_lies, T=26, n_pending=5)


@pytest.mark.long
@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_fault_shows_in_most_games(name: str) -> None:
    assert n_caught(name, 12) >= 7
