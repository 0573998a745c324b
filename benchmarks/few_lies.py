"""A few lies of any size: a round of QuorumGPUCB, and the worst case by the number of lies, timed."""

import time

import numpy as np

import unbribable as ub
from unbribable.decision.algorithm import Algorithm
from unbribable.decision.recommend import left_out
from unbribable.lab.world.named_functions import TEST_FUNCTIONS
from unbribable.model.checks import Floats

N_LIES = 4


class FewLies:
    """Forrester's function on 201 points, as in P4 of the leaderboard, with four lies or with none."""

    def __init__(self) -> None:
        self.X: Floats = np.linspace(0.0, 1.0, 201)[:, None]
        self.f: Floats = TEST_FUNCTIONS["forrester_up"].on(self.X).f
        B0 = float(np.abs(self.f).max())
        self.assumptions = ub.Assumptions(
            ub.Matern(2.5, 0.2), B=5.45, B0=B0, noise_std=0.2, lam=0.1, c_max=np.inf
        )

    def new(self, kind: str) -> Algorithm:
        """A learner that has read nothing."""
        domain = ub.Grid(self.X)
        if kind == "GPUCB":
            return ub.GPUCB(domain, self.assumptions)
        return ub.QuorumGPUCB(domain, self.assumptions, n_lies=N_LIES, seed=0)

    def play(self, learner: Algorithm, T: int, *, is_lied_to: bool) -> Floats:
        """Seconds of each of T rounds; every sixth reading at first is a lie, if there are lies."""
        rng, seconds = np.random.default_rng(1), np.zeros(T)
        for t in range(T):
            start = time.perf_counter()
            query = learner.ask()
            y = float(self.f[query.index]) + 0.2 * rng.standard_normal()
            is_lie = is_lied_to and t % 6 == 5 and t < 6 * N_LIES
            learner.tell(query, -4.0 if is_lie else y)
            seconds[t] = time.perf_counter() - start
        return seconds

    def rounds(self, T: int, repeats: int = 15) -> dict[str, float]:
        """Seconds a round: the mean of the shortest of each round in several games, in turns."""
        jobs = {"GPUCB": ("GPUCB", False), "honest": ("", False), "lied to": ("", True)}
        found: dict[str, list[Floats]] = {name: [] for name in jobs}
        for _ in range(repeats):
            for name, (kind, is_lied_to) in jobs.items():
                found[name].append(self.play(self.new(kind), T, is_lied_to=is_lied_to))
        return {name: float(np.min(games, axis=0).mean()) for name, games in found.items()}

    def worst_case(self, t: int, *, is_lied_to: bool) -> tuple[float, list[tuple[float, float] | None]]:
        """Seconds for the intervals of f at the recommended point for 0 to 5 lies, and the intervals."""
        learner = self.new("QuorumGPUCB")
        self.play(learner, t, is_lied_to=is_lied_to)
        index = learner.recommend().index
        assert index is not None
        found, u = left_out(learner), self.X[index]
        start = time.perf_counter()
        intervals = [found.interval(u, k) for k in range(6)]
        return time.perf_counter() - start, intervals
