"""Driving a learner along a given list of points, for comparisons at equal m."""

import statistics
from collections.abc import Sequence

from benchmarks.measure import seconds
from benchmarks.problem import Problem
from unbribable.decision.algorithm import Algorithm


def follow(algorithm: Algorithm, problem: Problem, queries: Sequence[int]) -> None:
    """Propose every round, but read the given points: two learners then hold the same m."""
    for t, i in enumerate(queries):
        algorithm.propose()
        algorithm.tell(x=problem.X[i], y=problem.f[i] + problem.noise[t])


def play_distinct(algorithm: Algorithm, problem: Problem, m: int) -> None:
    """Read the first m candidates once each."""
    for i in range(m):
        algorithm.tell(x=problem.X[i], y=problem.f[i])


def seconds_a_round(algorithm: Algorithm, problem: Problem, i: int) -> float:
    """Time of a propose and a tell of candidate i: median of seven blocks of 64 rounds.

    Blocks, since updates of R are added up and carried out together every sixteenth reading.
    """

    def block() -> None:
        for _ in range(64):
            algorithm.propose()
            algorithm.tell(x=problem.X[i], y=problem.f[i])

    return statistics.median(seconds(block) for _ in range(7)) / 64
