"""The oracle of a comparison, GP-UCB told no lies, is GP-UCB's own game without an adversary."""

import numpy as np

import unbribable as ub
from unbribable import lab
from unbribable.lab.world.adversaries import Flip
from unbribable.lab.world.objectives import figure_1


class Oracle(ub.Player):
    """GP-UCB that is told the honest reading, which a world knows and a player never sees."""

    def __init__(self, player: ub.GPUCB, environment: lab.Environment) -> None:
        self._player, self._environment = player, environment
        self.propose, self.ask, self.recommend = player.propose, player.ask, player.recommend
        answer = environment.answer

        def overhear(index: int, instance: str | None = None) -> object:
            self._heard = answer(index, instance)
            return self._heard

        environment.answer = overhear  # type: ignore[method-assign, assignment]

    def propose(self) -> ub.Proposal: ...  # type: ignore[empty-body]

    def ask(self) -> ub.Query: ...  # type: ignore[empty-body]

    def recommend(self) -> ub.Recommendation: ...  # type: ignore[empty-body]

    def tell(self, query: ub.Query, y: float) -> None:
        self._player.tell(query, self._heard.f + self._heard.noise)


def test_the_oracle_plays_the_game_without_an_adversary() -> None:
    f = figure_1(30)
    known = ub.Assumptions(f.kernel, B=f.norm, B0=f.B0, noise_std=0.1, lam=0.05)
    clean = lab.simulate(ub.GPUCB(ub.Grid(f.X), known), lab.Environment(f, noise_std=0.1), 60, 3)
    attacked = lab.Environment(f, noise_std=0.1, adversary=Flip(f), C=5.0, threat="strong")
    oracle = lab.simulate(Oracle(ub.GPUCB(ub.Grid(f.X), known), attacked), attacked, 60, 3)
    assert oracle.meta["spent"] > 1.0
    np.testing.assert_array_equal(oracle.columns["index"], clean.columns["index"])
    np.testing.assert_array_equal(oracle.cumulative_regret, clean.cumulative_regret)
