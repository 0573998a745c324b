"""Who lies in the game: the visitor, or a liar of the library in the visitor's place."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from unbribable.lab.game.moves import Move
from unbribable.lab.world import adversaries as liars
from unbribable.lab.world.adversaries import Adversary, NoAdversary, Observation, View
from unbribable.lab.world.objectives import Objective
from unbribable.model.checks import Floats
from unbribable.theory.assumptions import Assumptions

RADIUS = 0.12


class Preset(NamedTuple):
    """A liar of the library, by the letter that stands for it in an address."""

    name: str
    words: str
    """What it does."""
    build: Callable[[Objective, Assumptions], Adversary]
    needs_strong: bool = False


def _hide(objective: Objective, assumptions: Assumptions) -> Adversary:
    return liars.RegionSubtraction(objective, radius=RADIUS, share=0.5)


PRESETS: dict[str, Preset] = {
    "o": Preset("nobody", "Every reading is the truth, up to noise.", lambda f, a: NoAdversary()),
    "h": Preset("hide the peak", "Readings near the highest point are lowered by half of it.", _hide),
    "d": Preset(
        "hide and decoy",
        "Readings near the highest point fall to 0.5, those near the other peak rise to 0.9.",
        lambda f, a: liars.HideAndDecoy(f, radius=RADIUS, low=0.5, high=0.9),
    ),
    "c": Preset(
        "cap",
        "Near the highest point no reading exceeds what is best elsewhere, less 0.1.",
        lambda f, a: liars.Clipping(f, ~f.near(f.best, 2.0 * RADIUS), margin=0.1),
    ),
    "w": Preset(
        "width-aware",
        "Works out the player's posterior, and spends all it may where that moves it most.",
        lambda f, a: liars.WidthAware(f, kernel=a.kernel, lam=a.lam),
    ),
    "r": Preset(
        "at random", "Normal lies, standard deviation 0.3.", lambda f, a: liars.RandomLies(std=0.3)
    ),
    "s": Preset(
        "slow alone",
        "Hides the peak from Fast-Slow's slow instance only: it must see the draw.",
        lambda f, a: liars.InstanceTargeting(_hide(f, a), instance="slow"),
        needs_strong=True,
    ),
}


class Visitor(Adversary):
    """Holds changing state: the next move, and every preset liar, which sees all rounds.

    Args:
        seat: Which of the players it lies to.
        presets: The liars that may take its place, by letter.
    """

    def __init__(self, seat: int, presets: Mapping[str, Adversary]) -> None:
        self._seat, self._presets = seat, presets
        self.move: Move = ()

    def commit(self, view: View, rng: np.random.Generator) -> Floats:
        if isinstance(self.move, str):
            return self._presets[self.move].commit(view, rng)
        own = self.move[self._seat] if self._seat < len(self.move) else ()
        lies = np.zeros(len(view.indices))
        n = min(len(own), len(lies))
        lies[:n] = own[:n]
        return lies

    def saw(self, index: int, instance: str | None, observation: Observation) -> None:
        for preset in self._presets.values():
            preset.saw(index, instance, observation)

    def reset(self) -> None:
        for preset in self._presets.values():
            preset.reset()
