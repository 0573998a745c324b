"""An experiment as frozen values, and the list of games it stands for."""

import hashlib
import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unbribable.lab.runs.fields import Plain
from unbribable.lab.runs.own import guests_in
from unbribable.lab.runs.record import FORMAT


@dataclass(frozen=True)
class AlgorithmSpec:
    """A player with its label; `plain` is its kind and parameters without C."""

    label: str
    C: float | None
    """What it is told the corruption is; the true budget if None."""
    C_factor: float
    """Multiplies that, for runs with a wrong C."""
    told: tuple[str, ...]
    """What it is told of the adversary's budget: "C", "n_lies", both or neither."""
    assumptions: Plain
    """Those that differ from the spec's."""
    plain: Plain
    by: str | None = None
    """Whose recipe it is, where the class is ours and the recipe is not."""

    def table(self, budget: float, *, is_counted: bool) -> dict[str, Any]:
        """What the player is built from, where the adversary's budget is this."""
        C = budget if self.C is None else self.C
        known = {"C": C * self.C_factor, **({"n_lies": budget} if is_counted else {})}
        return {**self.plain, **{key: known[key] for key in self.told if key in known}}


@dataclass(frozen=True)
class AdversarySpec:
    """An adversary with its label; `plain` is its kind and parameters."""

    label: str
    threat: str
    plain: Plain


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
    time_limit: float | None = None
    """Seconds after which the game is given up, looked at after every round; a worker also ends a call
    that does not return (see `hanging`)."""

    def to_plain(self) -> dict[str, Any]:
        """As JSON-able data."""
        plain = {"key": self.key, "labels": self.labels, "game": self.game}
        also = {"folders": list(self.folders), "time_limit": self.time_limit}
        return {**plain, **{key: value for key, value in also.items() if value}}


@dataclass(frozen=True)
class Spec:
    """An experiment: algorithms x adversaries x budgets x horizons x seeds on one objective."""

    name: str
    T: tuple[int, ...]
    seeds: tuple[int, ...]
    noise_std: float
    c_max: float | str
    budgets: tuple[float, ...]
    is_counted: bool
    """Whether the budgets are numbers of lies, of any size up to c_max."""
    opening: int
    """Rounds at the beginning in which all players read the same points."""
    time_limit: float | None
    """Of one game, in seconds."""
    objective: Plain
    objective_label: str
    assumptions: Plain
    algorithms: tuple[AlgorithmSpec, ...]
    adversaries: tuple[AdversarySpec, ...]
    folders: tuple[str, ...] = ()
    """Where the user's own classes are imported from."""

    @property
    def axes(self) -> dict[str, tuple[Any, ...]]:
        """What the runs differ by, in their order: whole comparisons, seed after seed."""
        return {
            "seeds": self.seeds,
            "T": self.T,
            "adversaries": self.adversaries,
            "algorithms": self.algorithms,
            "budgets": self.budgets or (0.0,),
        }

    def runs(self) -> tuple[Run, ...]:
        """Every game once.

        Raises:
            ValueError: Two labels stand for one and the same game.
        """
        found: dict[str, Run] = {}
        for run in itertools.starmap(self.run, itertools.product(*self.axes.values())):
            known = found.setdefault(run.key, run)
            if known.labels != run.labels:
                one, two = ("{algorithm!r} / {adversary!r}".format(**r.labels) for r in (known, run))
                raise ValueError(
                    f"labels must stand for different games, got one game for {one} and {two}"
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
            "C": 0.0 if is_clean or self.is_counted else budget,
            "c_max": self.c_max,
            "noise_std": self.noise_std,
            "objective": dict(self.objective),
            "assumptions": {**self.assumptions, **algorithm.assumptions},
            "algorithm": algorithm.table(budget, is_counted=self.is_counted),
            "adversary": dict(adversary.plain),
        }
        if self.is_counted and not is_clean:
            game["n_lies"] = budget
        if self.opening:
            game["opening"] = self.opening
        labels = {
            "experiment": self.name,
            "algorithm": algorithm.label,
            "adversary": adversary.label,
            "objective": self.objective_label,
            **({} if algorithm.by is None else {"by": algorithm.by}),
        }
        folders = self.folders if guests_in(game) else ()
        return Run(key_of(game), labels, game, folders, self.time_limit)


def key_of(game: Mapping[str, Any]) -> str:
    """The first 16 hex digits of the SHA-256 of the game's canonical JSON."""
    text = json.dumps(game, allow_nan=False)
    plain = json.loads(text, parse_float=lambda word: _number(float(word)))
    canonical = json.dumps(plain, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def _number(value: float) -> float | int:
    """One number however it is written: 3.0 is 3."""
    return int(value) if value.is_integer() else value
