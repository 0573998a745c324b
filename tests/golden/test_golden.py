"""The first twenty queries per algorithm and seed are the stored ones (see golden/games.py)."""

import json

import pytest

from contracts.members import ALGORITHMS
from golden.games import N_ROUNDS, PATH, SEEDS, play

STORED = json.loads(PATH.read_text())


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_first_queries_are_the_stored_ones(name: str, seed: int) -> None:
    """Point and instance exactly, the rule's value up to rounding."""
    stored = STORED[f"{name}/{seed}"]
    played = play(ALGORITHMS[name], seed)
    assert len(stored) == N_ROUNDS
    assert [(q["index"], q["instance"]) for q in played] == [(q["index"], q["instance"]) for q in stored]
    assert [q["ucb"] for q in played] == pytest.approx([q["ucb"] for q in stored], rel=1e-9)


def test_nothing_is_stored_that_is_not_played() -> None:
    """A removed algorithm leaves no orphan behind."""
    assert set(STORED) == {f"{name}/{seed}" for name in ALGORITHMS for seed in SEEDS}
