"""What a spec can name: kernels, objectives, adversaries and players. A new kind is one more line."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from unbribable.decision.algorithm import Algorithm
from unbribable.decision.asking.draws import Seed
from unbribable.decision.player import Player, check_player
from unbribable.lab.rivals import __all__ as names_of_rivals
from unbribable.lab.rivals.practice import practical_beta
from unbribable.lab.runs import fields, places
from unbribable.lab.runs.fields import Field, Fields, Plain, read_table
from unbribable.lab.runs.own import check_plain
from unbribable.lab.runs.roles import Role
from unbribable.lab.runs.streams import generator, stream
from unbribable.lab.world import adversaries as liars
from unbribable.lab.world import objectives
from unbribable.lab.world.adversaries import Adversary
from unbribable.lab.world.environment import Environment
from unbribable.lab.world.named_functions import TEST_FUNCTIONS
from unbribable.lab.world.objectives import Objective
from unbribable.model import checks
from unbribable.model.domain import Grid
from unbribable.model.kernels import Kernel
from unbribable.theory.assumptions import Assumptions

_WORLD, _RIVALS = "unbribable.lab.world", "unbribable.lab.rivals"
_ALGORITHMS = (
    "GPUCB", "RobustGPUCB", "FastSlowGPUCB", "LadderGPUCB", "LayeredGPUCB", "QuorumGPUCB",
)  # fmt: skip

KERNEL = Role(
    Kernel,
    {
        "squared_exponential": "unbribable:SquaredExponential",
        "matern": "unbribable:Matern",
        "linear": "unbribable:Linear",
    },
)
_KERNEL = KERNEL.part("kernel")

# --- objectives --------------------------------------------------------------------------------


def lower_bound(kernel: Kernel, n: int = 100, which: int = 0) -> Objective:
    """One of the pair of functions of the lower bound, on n points of [0, 1]."""
    if which not in (0, 1):
        raise ValueError(f"which must be 0 or 1, got which={which}")
    X = np.linspace(0.0, 1.0, checks.integer("n", n, at_least=2))[:, None]
    return objectives.lower_bound_pair(kernel, X)[which]


def named_function(
    name: str, candidates: dict[str, Any], game_seed: int, is_scaled: bool = False
) -> Objective:
    """A test function on candidates of its own domain; if scaled, from -1 to 1 on them."""
    function = TEST_FUNCTIONS[checks.choice("name", name, tuple(TEST_FUNCTIONS))]
    table = {**candidates, "low": list(function.low), "high": list(function.high)}
    if table["kind"] == "grid":
        table["n"] = places.per_axis("candidates.n", table["n"], function.d)
    found = function.on(places.build_candidates(table, game_seed))
    if not is_scaled:
        return found
    low, high = found.f.min(), found.f.max()
    return replace(found, f=2.0 * (found.f - low) / (high - low) - 1.0)


OBJECTIVE = Role(
    Objective,
    {
        **{name: f"{_WORLD}.objectives:{name}" for name in ("random_rkhs", "gp_draw", "figure_1")},
        "lower_bound": f"{__name__}:lower_bound",
        "test_function": f"{__name__}:named_function",
    },
    {
        "kernel": _KERNEL,
        "X": Field(
            places.read_candidates,
            build=lambda plain, known: places.build_candidates(plain, known["game_seed"]),
            key="candidates",
        ),
        "candidates": Field(places.read_how_many),
    },
    given=("rng", "game_seed"),
    offered=("seed",),
)


def build_objective(plain: Plain, seed: int) -> Objective:
    """The objective of this seed that a table describes."""
    known = {"rng": generator(seed, "objective"), "seed": guest_seed(seed, "objective")}
    objective: Objective = OBJECTIVE.build(plain, {**known, "game_seed": seed})
    X, f = checks.array("X", objective.X, ndim=2), checks.array("f", objective.f, ndim=1)
    if len(X) != len(f):
        raise ValueError(f"f must have one value per candidate, ({len(X)},), got shape {f.shape}")
    return objective


# --- assumptions -------------------------------------------------------------------------------

CAP = fields.number_or("max", "inf", above=0.0)
"""The largest single lie: a number, "max" (max |f|) or "inf"."""

ASSUMPTIONS: Fields = {
    "kernel": replace(_KERNEL, default=None),
    "B": Field(fields.number_or("norm"), "norm"),
    "B0": Field(fields.number_or("max"), "max"),
    "noise_std": Field(checks.real, None),
    "lam": Field(checks.real, Assumptions.lam),
    "delta": Field(checks.real, Assumptions.delta),
    "c_max": Field(CAP, None),
}
"""None: the objective's kernel, the true noise, the true cap. "norm": the objective's exact RKHS
norm. "max": max |f|."""


def build_assumptions(plain: Plain, objective: Objective) -> Assumptions:
    """The player's assumptions, words replaced by the objective's numbers."""
    kernel = objective.kernel if plain["kernel"] is None else KERNEL.build(plain["kernel"], {})
    if kernel is None:
        raise ValueError(f"kernel must be given: {objective.name} has none of its own, got none")
    if plain["B"] == "norm" and (objective.norm is None or kernel != objective.kernel):
        raise ValueError(
            f"B must be a number where the objective's norm in the assumed kernel is not known, got "
            f"B='norm' with {objective.name} and {kernel!r}"
        )
    words: dict[Any, Any] = {"norm": objective.norm, "max": objective.B0, "inf": math.inf}
    numbers: dict[str, Any] = {
        key: words.get(plain[key], plain[key]) for key in plain if key != "kernel"
    }
    return Assumptions(kernel, **numbers)


# --- adversaries and worlds --------------------------------------------------------------------


def _word(name: str) -> str:
    """TopK -> top_k."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


_LIARS = {*liars.__all__} - {"Adversary", "NoAdversary", "Observation", "View"}
_OF_LIARS: dict[str, Field] = {
    "kernel": _KERNEL,
    "target": Field(
        places.read_target,
        build=lambda plain, known: places.build_target(plain, known["objective"]),
    ),
    "centre": Field(
        places.read_centre,
        "best",
        build=lambda plain, known: places.build_centre(plain, known["objective"]),
    ),
}
ADVERSARY = Role(
    Adversary,
    {
        "none": f"{_WORLD}.adversaries:NoAdversary",
        **{_word(name): f"{_WORLD}.adversaries:{name}" for name in sorted(_LIARS)},
    },
    _OF_LIARS,
    given=("objective",),
    offered=("C", "T", "seed", "noise_std", "kernel", "lam"),
)
_OF_LIARS["base"] = ADVERSARY.part("base")


def build_environment(game: Plain, objective: Objective, assumptions: Assumptions) -> Environment:
    """The world of a game."""
    known = {
        **{key: game[key] for key in ("noise_std", "C", "T")},
        "objective": objective,
        "kernel": assumptions.kernel,
        "lam": assumptions.lam,
        "seed": guest_seed(game["seed"], "adversary"),
    }
    return Environment(
        objective,
        noise_std=game["noise_std"],
        adversary=ADVERSARY.build(game["adversary"], known),
        C=game["C"],
        c_max={"max": objective.B0, "inf": math.inf}.get(game["c_max"], game["c_max"]),
        threat=game["threat"],
        n_lies=game.get("n_lies"),
    )


# --- players -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class SqrtLog:
    """The published width of the RGP-PE experiments: scale * sqrt(ln t)."""

    scale: float

    def __call__(self, t: int) -> float:
        return self.scale * math.sqrt(math.log(t))


@dataclass(frozen=True)
class Practical:
    """The width that rivals without a proof play with, counted from the end of the opening."""

    n_init: int

    def __call__(self, t: int) -> float:
        return practical_beta(t - 1 - self.n_init)


BETA = Role(object, {"sqrt_log": f"{__name__}:SqrtLog", "practical": f"{__name__}:Practical"})
_BETA = Field(
    lambda path, raw: BETA.read(path, raw) if isinstance(raw, Mapping) else check_plain(path, raw),
    build=lambda plain, known: BETA.build(plain, known) if isinstance(plain, Mapping) else plain,
)
"""A number, or a table such as {kind = "sqrt_log", scale = 0.5}: scale * sqrt(ln t)."""


def _or_share_of(name: str, whole: Callable[[Plain], float]) -> Field:
    """A number, or a table such as {share_of_C = 0.3}, where the whole is known only in the game."""
    key = f"share_of_{name}"
    table = {key: Field(partial(checks.real, at_least=0.0))}

    def read(path: str, raw: Any) -> float | dict[str, Any]:
        return read_table(path, raw, table) if isinstance(raw, Mapping) else checks.real(path, raw)

    def build(plain: Any, known: Plain) -> Any:
        return plain[key] * whole(known) if isinstance(plain, Mapping) else plain

    return Field(read, build=build)


PLAYER = Role(
    object,
    {
        **{name: f"unbribable:{name}" for name in _ALGORITHMS},
        **{name: f"{_RIVALS}:{name}" for name in names_of_rivals},
        "BoTorchLogNEI": f"{_RIVALS}.botorch_players:BoTorchLogNEI",
        "BoTorchRelevancePursuit": f"{_RIVALS}.botorch_players:BoTorchRelevancePursuit",
        "Study": f"{_RIVALS}.study_player:StudyPlayer",
        "OptunaTPE": f"{_RIVALS}.optuna_players:OptunaTPE",
        "OptunaGP": f"{_RIVALS}.optuna_players:OptunaGP",
    },
    {
        "beta": _BETA,
        "trust": _or_share_of("C", lambda known: float(known["C"])),
        "unit": _or_share_of("c_max", lambda known: float(known["assumptions"].c_max)),
    },
    given=("domain", "assumptions"),
    offered=("C", "T", "seed", "n_lies"),
)


def build_player(plain: Plain, domain: Grid, assumptions: Assumptions, T: int | None, seed: int) -> Any:
    """The player that a table describes, with its own stream of the seed."""
    told = {key: plain.get(key) for key in ("C", "n_lies")}
    if plain["kind"] == "LayeredGPUCB" and told["C"] is not None:
        T = None  # told C, it has no horizon
    known = {"domain": domain, "assumptions": assumptions, **told, "T": T}
    player = PLAYER.build(plain, {**known, "seed": guest_seed(seed, "algorithm")})
    check_player(player)
    if isinstance(player, Algorithm) and "seed" not in plain:
        player.seed = Seed.of(stream(seed, "algorithm"))  # GP-UCB takes none, but its record has one
    return player


def build_game(game: Plain) -> tuple[Player, Environment]:
    """The player and the world of one game (`Run.game` of a spec), both new."""
    objective = build_objective(game["objective"], game["seed"])
    assumptions = build_assumptions(game["assumptions"], objective)
    domain = Grid(objective.X)
    player = build_player(game["algorithm"], domain, assumptions, game["T"], game["seed"])
    return player, build_environment(game, objective, assumptions)


def guest_seed(seed: int, name: str) -> int:
    """A guest's seed, from the game's stream of that name: it tells nothing about other streams."""
    return int(stream(seed, name).generate_state(1, np.uint64)[0])
