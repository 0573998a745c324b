"""What a spec can name: kernels, objectives, adversaries and players. A new kind is one more line."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from unbribable.decision.algorithm import Algorithm
from unbribable.decision.draws import Seed
from unbribable.decision.fast_slow import FastSlowGPUCB
from unbribable.decision.gp_ucb import GPUCB, RobustGPUCB
from unbribable.decision.layered import LayeredGPUCB
from unbribable.decision.options import Options
from unbribable.decision.player import Player, check_player
from unbribable.model import checks
from unbribable.model.checks import Floats
from unbribable.model.domain import Grid
from unbribable.model.kernels import Kernel, Linear, Matern, Scale, SquaredExponential
from unbribable.runs import fields, places
from unbribable.runs.fields import Field, read_table
from unbribable.runs.own import is_own
from unbribable.runs.roles import Form, Plain, Role
from unbribable.runs.streams import generator, stream
from unbribable.theory.assumptions import Assumptions
from unbribable.world import adversaries as liars
from unbribable.world import objectives
from unbribable.world.adversaries import Adversary
from unbribable.world.environment import Environment
from unbribable.world.named_functions import TEST_FUNCTIONS
from unbribable.world.objectives import Objective

FORMS: dict[Any, Form] = {
    float: Form(fields.number()),
    int: Form(fields.whole),
    bool: Form(fields.truth),
    str: Form(fields.text),
    Scale: Form(fields.scale),
}
"""Numbers and words, whose limits the constructors check."""

# --- kernels -----------------------------------------------------------------------------------

KERNEL = Role(
    Kernel,
    {"squared_exponential": SquaredExponential, "matern": Matern, "linear": Linear},
    FORMS,
)


def build_kernel(plain: Plain) -> Kernel:
    """The kernel that a table describes."""
    kernel: Kernel = KERNEL.build(plain, {})
    return kernel


FORMS[Kernel] = Form(KERNEL.read, lambda plain, known: build_kernel(plain))

# --- objectives --------------------------------------------------------------------------------


def lower_bound(kernel: Kernel, n: int = 100, which: int = 0) -> Objective:
    """One of the pair of functions of the lower bound, on n points of [0, 1]."""
    if which not in (0, 1):
        raise ValueError(f"which must be 0 or 1, got which={which}")
    X = np.linspace(0.0, 1.0, checks.integer("n", n, at_least=2))[:, None]
    return objectives.lower_bound_pair(kernel, X)[which]


def named_function(name: str, candidates: dict[str, Any], game_seed: int) -> Objective:
    """A test function on candidates of its own domain."""
    function = TEST_FUNCTIONS[checks.choice("name", name, tuple(TEST_FUNCTIONS))]
    table = {**candidates, "low": list(function.low), "high": list(function.high)}
    if table["kind"] == "grid":
        table["n"] = places.per_axis("candidates.n", table["n"], function.d)
    return function.on(places.build_candidates(table, game_seed))


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
        **FORMS,
        "X": Form(
            places.read_candidates,
            lambda plain, known: places.build_candidates(plain, known["game_seed"]),
            key="candidates",
        ),
        "candidates": Form(places.read_how_many),
    },
    supplied=("rng", "game_seed"),
    offered=("seed",),
)


def build_objective(plain: Plain, seed: int) -> Objective:
    """The objective of this seed that a table describes."""
    known = {
        "rng": generator(seed, "objective"),
        "seed": guest_seed(seed, "objective"),
        "game_seed": seed,
    }
    objective: Objective = OBJECTIVE.build(plain, known)
    X, f = checks.array("X", objective.X, ndim=2), checks.array("f", objective.f, ndim=1)
    if len(X) != len(f):
        raise ValueError(f"f must have one value per candidate, ({len(X)},), got shape {f.shape}")
    return objective


# --- assumptions -------------------------------------------------------------------------------

CAP = fields.number_or("max", "inf", above=0.0)
"""The largest single lie: a number, "max" (max |f|) or "inf"."""

ASSUMPTIONS: fields.Fields = {
    "kernel": Field(KERNEL.read, None),
    "B": Field(fields.number_or("norm"), "norm"),
    "B0": Field(fields.number_or("max"), "max"),
    "noise_std": Field(fields.number(), None),
    "lam": Field(fields.number(), Assumptions.lam),
    "delta": Field(fields.number(), Assumptions.delta),
    "c_max": Field(CAP, None),
}
"""None: the objective's kernel, the true noise, the true cap. "norm": the objective's exact RKHS
norm. "max": max |f|."""


def build_assumptions(plain: Plain, objective: Objective) -> Assumptions:
    """The learner's assumptions, words replaced by the objective's numbers."""
    words = {**plain, "kernel": build_kernel(plain["kernel"]), "c_max": _cap(plain["c_max"], objective)}
    if plain["B"] == "norm":
        if objective.norm is None:
            raise ValueError(f"B must be a number: the norm of {objective.name} is not known")
        words["B"] = objective.norm
    if plain["B0"] == "max":
        words["B0"] = objective.B0
    return Assumptions(**words)


def _cap(word: float | str, objective: Objective) -> float:
    if isinstance(word, str):
        return math.inf if word == "inf" else objective.B0
    return word


# --- adversaries -------------------------------------------------------------------------------

ADVERSARY: Role = Role(
    Adversary,
    {
        "none": liars.NoAdversary,
        "region_subtraction": liars.RegionSubtraction,
        "subtraction": liars.Subtraction,
        "clipping": liars.Clipping,
        "aggressive_subtraction": liars.AggressiveSubtraction,
        "adaptive_strength": liars.AdaptiveStrength,
        "top_k": liars.TopK,
        "flip": liars.Flip,
        "random_lies": liars.RandomLies,
        "hide_and_decoy": liars.HideAndDecoy,
        "zero_out": liars.ZeroOut,
        "width_aware": liars.WidthAware,
        "silent": liars.Silent,
        "instance_targeting": liars.InstanceTargeting,
    },
    {
        **FORMS,
        Adversary: Form(
            lambda path, raw: ADVERSARY.read(path, raw),
            lambda plain, known: ADVERSARY.build(plain, known),
        ),
        float | Floats: Form(fields.scale),
        "target": Form(
            places.read_target, lambda plain, known: places.build_target(plain, known["objective"])
        ),
        "centre": Form(
            places.read_centre,
            lambda plain, known: places.build_centre(plain, known["objective"]),
            default="best",
        ),
    },
    supplied=("objective", "noise_std", "kernel", "lam"),
    given=("objective",),
    offered=("C", "T", "seed"),
)

# --- players -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class SqrtLog:
    """The published width of the RGP-PE experiments: scale * sqrt(ln t)."""

    scale: float

    def __call__(self, t: int) -> float:
        return self.scale * math.sqrt(math.log(t))


_SQRT_LOG = {"kind": Field(fields.word("sqrt_log")), "scale": Field(fields.number(above=0.0))}


def _read_beta(path: str, raw: Any) -> float | dict[str, Any]:
    """A number, or {kind = "sqrt_log", scale = 0.5}: scale * sqrt(ln t)."""
    return read_table(path, raw, _SQRT_LOG) if isinstance(raw, dict) else checks.real(path, raw)


PLAYER = Role(
    object,
    {
        "GPUCB": GPUCB,
        "RobustGPUCB": RobustGPUCB,
        "FastSlowGPUCB": FastSlowGPUCB,
        "LayeredGPUCB": LayeredGPUCB,
    },
    {
        **FORMS,
        "beta": Form(
            _read_beta,
            lambda plain, known: SqrtLog(plain["scale"]) if isinstance(plain, dict) else plain,
        ),
    },
    supplied=("domain", "assumptions", "C", "T", "seed"),
    given=("domain", "assumptions"),
    offered=("C", "T", "seed"),
    keywords=Options,
)


def build_player(plain: Plain, domain: Grid, assumptions: Assumptions, T: int, seed: int) -> Any:
    """The player that a table describes, with its own stream of the seed."""
    is_guest = is_own(plain["kind"])
    secret = guest_seed(seed, "algorithm") if is_guest else stream(seed, "algorithm")
    known = {"domain": domain, "assumptions": assumptions, "C": None, "T": T, "seed": secret}
    player: Player = PLAYER.build(plain, known)
    check_player(player)
    if isinstance(player, Algorithm) and not is_guest:
        player.seed = Seed.of(secret)  # GP-UCB draws nothing and takes none, but its record has one
    return player


# --- a game ------------------------------------------------------------------------------------


def build_environment(game: Plain, objective: Objective, assumptions: Assumptions) -> Environment:
    """The world of a game."""
    known = {
        "objective": objective,
        "noise_std": game["noise_std"],
        "kernel": assumptions.kernel,
        "lam": assumptions.lam,
        "C": game["C"],
        "T": game["T"],
        "seed": guest_seed(game["seed"], "adversary"),
    }
    return Environment(
        objective,
        noise_std=game["noise_std"],
        adversary=ADVERSARY.build(game["adversary"], known),
        C=game["C"],
        c_max=_cap(game["c_max"], objective),
        threat=game["threat"],
    )


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
