"""A player of your own, which promises nothing: epsilon-greedy on the mean reading of each candidate.

In a spec beside this file: kind = "own_player:EpsilonGreedy" and epsilon = 0.2 (see own_sweep.toml).
"""

import numpy as np

import unbribable as ub


class EpsilonGreedy(ub.Player):
    """Plays a random candidate with probability epsilon, else the one with the best mean reading."""

    def __init__(self, domain, assumptions, *, seed, epsilon=0.1):
        if not 0 <= epsilon <= 1:
            raise ValueError(f"epsilon must be between 0 and 1, got epsilon={epsilon}")
        self.X, self.epsilon, self.t = domain.points, epsilon, 0
        self.sums, self.counts = np.zeros(len(self.X)), np.zeros(len(self.X))
        self.rng = np.random.default_rng(seed)

    def best(self):
        return int(np.argmax(np.where(self.counts, self.sums / np.maximum(self.counts, 1), -np.inf)))

    def propose(self):
        n = len(self.X)
        chances = np.full(n, self.epsilon / n)
        chances[self.best()] += 1 - self.epsilon
        return ub.Proposal(self.t + 1, self.X, np.arange(n), chances, ("main",) * n)

    def ask(self):
        index = int(self.rng.choice(len(self.X), p=self.propose().probabilities))
        self.t += 1
        return ub.Query(t=self.t, x=self.X[index], u=self.X[index], index=index)

    def tell(self, query, y):
        self.sums[query.index] += y
        self.counts[query.index] += 1

    def recommend(self):
        return ub.Recommendation(x=self.X[self.best()], index=self.best())
