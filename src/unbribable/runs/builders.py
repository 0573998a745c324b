"""Plain data of one game into its two sides: the player and the world."""

import math
from collections.abc import Callable
from typing import Any

from unbribable.decision.algorithm import Algorithm
from unbribable.decision.draws import Seed
from unbribable.decision.fast_slow import FastSlowGPUCB
from unbribable.decision.gp_ucb import GPUCB, RobustGPUCB
from unbribable.decision.layered import LayeredGPUCB
from unbribable.decision.options import Options
from unbribable.decision.player import Player, check_player
from unbribable.model import checks
from unbribable.model.domain import Grid
from unbribable.runs import fields, own
from unbribable.runs.fields import Field, Fields, Reader, fields_of, read_table
from unbribable.runs.kinds import Kind, Plain, build_kernel, build_objective, read_kernel, rest
from unbribable.runs.liars import Knowledge, build_adversary
from unbribable.runs.streams import stream
from unbribable.theory.assumptions import Assumptions
from unbribable.world.environment import Environment
from unbribable.world.objectives import Objective

# --- assumptions -------------------------------------------------------------------------------

ASSUMPTIONS: Fields = {
    "kernel": Field(read_kernel, None),
    "B": Field(fields.number_or("norm", above=0.0), "norm"),
    "B0": Field(fields.number_or("max", above=0.0), "max"),
    "noise_std": Field(fields.number(at_least=0.0), None),
    "lam": Field(fields.number(above=0.0), 1.0),
    "delta": Field(fields.number(above=0.0, below=1.0), 0.1),
    "c_max": Field(fields.cap, None),
}
"""None: the objective's kernel, the true noise, the true cap. "norm": the objective's exact RKHS
norm. "max": max |f|."""


def build_assumptions(plain: Plain, objective: Objective) -> Assumptions:
    """The learner's assumptions, words replaced by the objective's numbers."""
    B = plain["B"]
    if B == "norm":
        if objective.norm is None:
            raise ValueError(
                f"assumptions.B must be a number: the norm of {objective.name} is not known"
            )
        B = objective.norm
    return Assumptions(
        build_kernel(plain["kernel"]),
        B=B,
        B0=objective.B0 if plain["B0"] == "max" else plain["B0"],
        noise_std=plain["noise_std"],
        lam=plain["lam"],
        delta=plain["delta"],
        c_max=_cap(plain["c_max"], objective),
    )


def _cap(word: float | str, objective: Objective) -> float:
    if isinstance(word, str):
        return math.inf if word == "inf" else objective.B0
    return word


# --- algorithms --------------------------------------------------------------------------------


class SqrtLog:
    """The published width of the RGP-PE experiments: scale * sqrt(ln t)."""

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def __call__(self, t: int) -> float:
        return self.scale * math.sqrt(math.log(t))


def _beta(path: str, raw: Any) -> float | dict[str, Any]:
    """A number, or {kind = "sqrt_log", scale = 0.5}: scale * sqrt(ln t)."""
    if isinstance(raw, dict):
        keys = {"kind": Field(fields.word("sqrt_log")), "scale": Field(fields.number(above=0.0))}
        return read_table(path, raw, keys)
    return checks.real(path, raw, at_least=0.0)


_OPTIONS = {
    "width": fields.word("exact", "capped", "paper"),
    "noise": fields.word("tight", "paper"),
    "tail": fields.word("sharp", "paper"),
    "gain": fields.word("realised", "certified"),
    "beta": _beta,
    "revisit": fields.number(at_least=0.0),
}
_ALPHA = fields.number(above=1.8)


def _kind(build: type[Algorithm], **readers: Reader) -> Kind:
    """An algorithm's own keys, and those of all."""
    return Kind({**fields_of(Options, **_OPTIONS), **fields_of(build, **readers)}, build)


ALGORITHMS: dict[str, Kind] = {
    "GPUCB": _kind(GPUCB),
    "RobustGPUCB": _kind(RobustGPUCB),
    "FastSlowGPUCB": _kind(FastSlowGPUCB, alpha=_ALPHA, with_all=fields.truth),
    "LayeredGPUCB": _kind(LayeredGPUCB, alpha=_ALPHA),
}

NEEDS_C = ("RobustGPUCB", "FastSlowGPUCB")
"""Kinds that are told how much corruption to expect; the others ignore it."""


def _options(plain: Plain) -> dict[str, Any]:
    words = rest(plain)
    if isinstance(words["beta"], dict):
        words["beta"] = SqrtLog(words["beta"]["scale"])
    return words


def build_algorithm(
    plain: Plain, domain: Grid, assumptions: Assumptions, T: int, seed: int
) -> Algorithm:
    """The learner a table describes, with its own stream of the seed."""
    secret = stream(seed, "algorithm")
    offered = {"T": T, "seed": secret}
    build: Callable[..., Algorithm] = ALGORITHMS[plain["kind"]].build
    algorithm = own.call(build, domain, assumptions, offered=offered, words=_options(plain))
    algorithm.seed = Seed.of(secret)  # GP-UCB draws nothing and takes none, but its record has one
    return algorithm


def build_player(plain: Plain, domain: Grid, assumptions: Assumptions, T: int, seed: int) -> Player:
    """The player a table describes: an algorithm of ours, or a guest."""
    if not own.is_own(plain["kind"]):
        return build_algorithm(plain, domain, assumptions, T, seed)
    secret = own.own_seed(seed, "algorithm")
    player: Player = own.build_own(plain, object, domain, assumptions, T=T, seed=secret)  # type: ignore[assignment]
    check_player(player)
    return player


# --- a game ------------------------------------------------------------------------------------


def build_game(game: Plain) -> tuple[Player, Environment]:
    """The player and the world of one game (`Run.game` of a spec), both new."""
    seed = game["seed"]
    objective = build_objective(game["objective"], seed)
    assumptions = build_assumptions(game["assumptions"], objective)
    liar_seed = own.own_seed(seed, "adversary")
    known = Knowledge(objective, assumptions, game["noise_std"], game["C"], game["T"], liar_seed)
    environment = Environment(
        objective,
        noise_std=game["noise_std"],
        adversary=build_adversary(game["adversary"], known),
        C=game["C"],
        c_max=_cap(game["c_max"], objective),
        threat=game["threat"],
    )
    domain = Grid(objective.X)
    return build_player(game["algorithm"], domain, assumptions, game["T"], seed), environment
