"""What a spec can name: kernels, objectives, adversaries and players. A new kind is one more line."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from unbribable.decision.draws import Seed
from unbribable.decision.options import Options
from unbribable.decision.player import Player, check_player
from unbribable.decision.policies.fast_slow import FastSlowGPUCB
from unbribable.decision.policies.gp_ucb import GPUCB, RobustGPUCB
from unbribable.decision.policies.ladder import LadderGPUCB
from unbribable.decision.policies.layered import LayeredGPUCB
from unbribable.lab.rivals import __all__ as names_of_rivals
from unbribable.lab.rivals.practice import practical_beta
from unbribable.lab.runs import fields, places
from unbribable.lab.runs.fields import Field, Fields, Plain, read_table
from unbribable.lab.runs.own import is_own
from unbribable.lab.runs.roles import Role
from unbribable.lab.runs.streams import generator, stream
from unbribable.lab.world import adversaries as liars
from unbribable.lab.world import objectives
from unbribable.lab.world.adversaries import Adversary
from unbribable.lab.world.environment import Environment
from unbribable.lab.world.named_functions import TEST_FUNCTIONS
from unbribable.lab.world.objectives import Objective
from unbribable.model import checks
from unbribable.model.checks import Floats
from unbribable.model.domain import Grid
from unbribable.model.kernels import Kernel, Linear, Matern, Scale, SquaredExponential
from unbribable.theory.assumptions import Assumptions

_SIMPLE: dict[Any, Field] = {
    float: Field(checks.real),
    int: Field(fields.whole),
    bool: Field(fields.truth),
    str: Field(fields.text),
    Scale: Field(fields.scale),
}
"""Types that stand in TOML as they are; their limits are checked by the constructors."""

KERNEL = Role(
    Kernel, {"squared_exponential": SquaredExponential, "matern": Matern, "linear": Linear}, _SIMPLE
)

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
        "random_rkhs": objectives.random_rkhs,
        "gp_draw": objectives.gp_draw,
        "figure_1": objectives.figure_1,
        "lower_bound": lower_bound,
        "test_function": named_function,
    },
    {
        **_SIMPLE,
        Kernel: Field(KERNEL.read, build=KERNEL.build),
        "X": Field(
            places.read_candidates,
            build=lambda plain, known: places.build_candidates(plain, known["game_seed"]),
            key="candidates",
        ),
        "candidates": Field(places.read_how_many),
        "is_scaled": Field(fields.truth, left_out=False),
    },
    supplied=("rng", "game_seed"),
    offered=("seed",),
)


def build_objective(plain: Plain, seed: int) -> Objective:
    """The objective of this seed that a table describes."""
    rng, own_seed = generator(seed, "objective"), guest_seed(seed, "objective")
    known = {"rng": rng, "seed": own_seed, "game_seed": seed}
    objective: Objective = OBJECTIVE.build(plain, known)
    X, f = checks.array("X", objective.X, ndim=2), checks.array("f", objective.f, ndim=1)
    if len(X) != len(f):
        raise ValueError(f"f must have one value per candidate, ({len(X)},), got shape {f.shape}")
    return objective


# --- assumptions -------------------------------------------------------------------------------

CAP = fields.number_or("max", "inf", above=0.0)
"""The largest single lie: a number, "max" (max |f|) or "inf"."""

ASSUMPTIONS: Fields = {
    "kernel": Field(KERNEL.read, None),
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
    if plain["B"] == "norm" and objective.norm is None:
        raise ValueError(f"B must be a number: the norm of {objective.name} is not known")
    words: dict[Any, Any] = {"norm": objective.norm, "max": objective.B0, "inf": math.inf}
    numbers: dict[str, Any] = {
        key: words.get(plain[key], plain[key]) for key in plain if key != "kernel"
    }
    return Assumptions(KERNEL.build(plain["kernel"], {}), **numbers)


# --- adversaries and worlds --------------------------------------------------------------------

ADVERSARY: Role = Role(
    Adversary,
    {
        "none": liars.NoAdversary,
        "region_subtraction": liars.RegionSubtraction,
        "subtraction": liars.Subtraction,
        "burst": liars.Burst,
        "clipping": liars.Clipping,
        "aggressive_subtraction": liars.AggressiveSubtraction,
        "adaptive_strength": liars.AdaptiveStrength,
        "top_k": liars.TopK,
        "flip": liars.Flip,
        "found_decoy": liars.FoundDecoy,
        "random_lies": liars.RandomLies,
        "hide_and_decoy": liars.HideAndDecoy,
        "zero_out": liars.ZeroOut,
        "width_aware": liars.WidthAware,
        "silent": liars.Silent,
        "later": liars.Later,
        "instance_targeting": liars.InstanceTargeting,
        "just_enough": liars.JustEnough,
    },
    {
        **_SIMPLE,
        float | Floats: Field(fields.scale),
        "base": Field(
            lambda path, raw: ADVERSARY.read(path, raw),
            build=lambda plain, known: ADVERSARY.build(plain, known),
        ),
        "target": Field(
            places.read_target,
            build=lambda plain, known: places.build_target(plain, known["objective"]),
        ),
        "centre": Field(
            places.read_centre,
            "best",
            build=lambda plain, known: places.build_centre(plain, known["objective"]),
        ),
    },
    supplied=("objective", "noise_std", "kernel", "lam"),
    given=("objective",),
    offered=("C", "T", "seed"),
)


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


BETA = Role(object, {"sqrt_log": SqrtLog, "practical": Practical}, _SIMPLE)


def _read_beta(path: str, raw: Any) -> float | dict[str, Any]:
    """A number, or a table such as {kind = "sqrt_log", scale = 0.5}: scale * sqrt(ln t)."""
    return BETA.read(path, raw) if isinstance(raw, Mapping) else checks.real(path, raw)


def _build_beta(plain: Any, known: Plain) -> Any:
    return BETA.build(plain, known) if isinstance(plain, Mapping) else plain


def _or_share_of(name: str, whole: Callable[[Plain], float], **words: Any) -> Field:
    """A number, or a table such as {share_of_C = 0.3}, where the whole is known only in the game."""
    key = f"share_of_{name}"
    table = {key: Field(partial(checks.real, at_least=0.0))}

    def read(path: str, raw: Any) -> float | dict[str, Any]:
        return read_table(path, raw, table) if isinstance(raw, Mapping) else checks.real(path, raw)

    def build(plain: Any, known: Plain) -> Any:
        return plain[key] * whole(known) if isinstance(plain, Mapping) else plain

    return Field(read, build=build, **words)


PLAYER = Role(
    object,
    {
        "GPUCB": GPUCB,
        "RobustGPUCB": RobustGPUCB,
        "FastSlowGPUCB": FastSlowGPUCB,
        "LadderGPUCB": LadderGPUCB,
        "LayeredGPUCB": LayeredGPUCB,
    },
    {
        **_SIMPLE,
        "beta": Field(_read_beta, build=_build_beta),
        "share": Field(checks.real, left_out=1.0),
        "trust": _or_share_of("C", lambda known: float(known["C"]), left_out=0.0),
        "unit": _or_share_of("c_max", lambda known: float(known["assumptions"].c_max)),
        ("LayeredGPUCB", "with_all"): Field(fields.truth, left_out=False),
    },
    supplied=("domain", "assumptions", "C", "T", "seed"),
    given=("domain", "assumptions"),
    offered=("C", "T", "seed", "n_lies"),
    keywords=Options,
    short={
        "QuorumGPUCB": "unbribable:QuorumGPUCB",
        **{name: f"unbribable.lab.rivals:{name}" for name in names_of_rivals},
        "BoTorchLogNEI": "unbribable.lab.rivals.botorch_players:BoTorchLogNEI",
        "BoTorchRelevancePursuit": "unbribable.lab.rivals.botorch_players:BoTorchRelevancePursuit",
        "Study": "unbribable.lab.rivals.study_player:StudyPlayer",
        "OptunaTPE": "unbribable.lab.rivals.optuna_players:OptunaTPE",
        "OptunaGP": "unbribable.lab.rivals.optuna_players:OptunaGP",
    },
)


def build_player(plain: Plain, domain: Grid, assumptions: Assumptions, T: int | None, seed: int) -> Any:
    """The player that a table describes, with its own stream of the seed."""
    is_guest = is_own(plain["kind"])
    secret = guest_seed(seed, "algorithm") if is_guest else stream(seed, "algorithm")
    told = {key: plain.get(key) for key in ("C", "n_lies")}
    if plain["kind"] == "LayeredGPUCB" and told["C"] is not None:
        T = None  # told C, it has no horizon
    known = {"domain": domain, "assumptions": assumptions, **told, "T": T, "seed": secret}
    player = PLAYER.build(plain, known)
    check_player(player)
    if not is_guest:
        player.seed = Seed.of(secret)  # GP-UCB draws nothing and takes none, but its record has one
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
