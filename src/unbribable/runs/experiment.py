"""An experiment as frozen values, and the list of games it stands for."""

import hashlib
import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unbribable.runs.own import guests_in
from unbribable.runs.record import FORMAT
from unbribable.runs.roles import Plain


@dataclass(frozen=True)
class AlgorithmSpec:
    """A player with its label."""

    label: str
    C: float | None
    """What it is told the corruption is; the true budget if None."""
    C_factor: float
    """Multiplies that, for runs with a wrong C."""
    needs_C: bool  # noqa: N815
    """Whether it is told how much corruption to expect."""
    plain: Plain
    """Its kind and parameters, without C."""

    def table(self, budget: float) -> dict[str, Any]:
        """What the player is built from in a sweep's cell of this budget."""
        told = budget if self.C is None else self.C
        return {**self.plain, "C": told * self.C_factor} if self.needs_C else dict(self.plain)


@dataclass(frozen=True)
class AdversarySpec:
    """An adversary with its label."""

    label: str
    threat: str
    plain: Plain
    """Its kind and parameters."""


@dataclass(frozen=True)
class Run:
    """One game to play: plain JSON data.

    The key is a hash of `game` alone: labels group the results and do not change it.
    """

    key: str
    labels: dict[str, str]
    """experiment, algorithm, adversary, objective."""
    game: dict[str, Any]
    """Everything that determines the game."""
    folders: tuple[str, ...] = ()
    """Where the user's own classes are imported from, if it names any."""

    def to_plain(self) -> dict[str, Any]:
        """As JSON-able data."""
        plain = {"key": self.key, "labels": self.labels, "game": self.game}
        return {**plain, "folders": list(self.folders)} if self.folders else plain


@dataclass(frozen=True)
class Spec:
    """An experiment: algorithms x adversaries x budgets x horizons x seeds on one objective."""

    name: str
    T: tuple[int, ...]
    seeds: tuple[int, ...]
    noise_std: float
    c_max: float | str
    objective: Plain
    objective_label: str
    assumptions: Plain
    algorithms: tuple[AlgorithmSpec, ...]
    adversaries: tuple[AdversarySpec, ...]
    budgets: tuple[float, ...]
    folders: tuple[str, ...] = ()
    """Where the user's own classes are imported from."""

    def runs(self) -> tuple[Run, ...]:
        """Every game once, seed after seed, so that an interrupted sweep has whole comparisons.

        Raises:
            ValueError: Two labels stand for one and the same game.
        """
        found: dict[str, Run] = {}
        cells = itertools.product(
            self.seeds, self.T, self.adversaries, self.algorithms, self.budgets or (0.0,)
        )
        for cell in cells:
            run = self.run(*cell)
            known = found.setdefault(run.key, run)
            if known.labels != run.labels:
                raise ValueError(
                    "labels must stand for different games, got one game for "
                    f"{_pair(known)} and {_pair(run)}"
                )
        return tuple(found.values())

    def run(
        self, seed: int, T: int, adversary: AdversarySpec, algorithm: AlgorithmSpec, budget: float
    ) -> Run:
        """The run of one cell and seed."""
        is_clean = adversary.plain["kind"] == "none"
        game = {
            "format": FORMAT,
            "seed": seed,
            "T": T,
            "threat": "weak" if is_clean else adversary.threat,
            "C": 0.0 if is_clean else budget,
            "c_max": self.c_max,
            "noise_std": self.noise_std,
            "objective": dict(self.objective),
            "assumptions": dict(self.assumptions),
            "algorithm": algorithm.table(budget),
            "adversary": dict(adversary.plain),
        }
        labels = {
            "experiment": self.name,
            "algorithm": algorithm.label,
            "adversary": adversary.label,
            "objective": self.objective_label,
        }
        return Run(key_of(game), labels, game, self.folders if guests_in(game) else ())


def key_of(game: Mapping[str, Any]) -> str:
    """The first 16 hex digits of the SHA-256 of the game's canonical JSON."""
    canonical = json.dumps(game, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def _pair(run: Run) -> str:
    return f"{run.labels['algorithm']!r} / {run.labels['adversary']!r}"
