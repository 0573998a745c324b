"""What a spec can name on the side of lies: adversaries and their target regions."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from unbribable.model.checks import Bools
from unbribable.runs import fields, own
from unbribable.runs.fields import Field, read_kind, read_table
from unbribable.runs.kinds import Kind, Plain, keys_of, rest
from unbribable.theory.assumptions import Assumptions
from unbribable.world import adversaries as world
from unbribable.world.adversaries import Adversary
from unbribable.world.objectives import Objective


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What an adversary may be given when it is built: the truth and the learner's assumptions."""

    objective: Objective
    assumptions: Assumptions
    noise_std: float
    C: float
    """Its budget."""
    T: int
    seed: int
    """Of its own; the player's draws do not follow from it."""


# --- target regions ----------------------------------------------------------------------------

_CUBE = {"centre": Field(fields.numbers()), "side": Field(fields.scale)}
_HALFSPACE = {"halfspace": Field(fields.numbers()), "offset": Field(fields.number(), 0.0)}


def read_target(path: str, raw: Any) -> dict[str, Any]:
    """A cube {centre, side}, or a half-space {halfspace = a, offset = b}: a.x <= b."""
    is_halfspace = isinstance(raw, dict) and ("halfspace" in raw or "offset" in raw)
    return read_table(path, raw, _HALFSPACE if is_halfspace else _CUBE)


def build_target(plain: Plain, objective: Objective) -> Bools:
    """Which candidates lie in the region, (n,).

    A target never holds the maximiser: of a half-space's two sides the one without it is taken,
    and a cube around it is refused.
    """
    X = objective.X
    if "halfspace" in plain:
        normal = _vector("target.halfspace", plain["halfspace"], X.shape[1])
        side: Bools = X @ normal <= plain["offset"]
        return ~side if side[objective.best] else side
    centre = _vector("target.centre", plain["centre"], X.shape[1])
    cube: Bools = np.all(np.abs(X - centre) <= np.asarray(plain["side"]) / 2.0, axis=1)
    if cube[objective.best]:
        raise ValueError(
            f"target must not hold the maximiser, got centre={plain['centre']}, side={plain['side']} "
            f"around {X[objective.best].tolist()}"
        )
    return cube


def _vector(name: str, values: list[float], d: int) -> np.ndarray:
    if len(values) != d:
        raise ValueError(f"{name} must have one number per axis ({d}), got {values}")
    return np.asarray(values)


# --- adversaries -------------------------------------------------------------------------------


def _subtraction(plain: Plain, known: Knowledge) -> Adversary:
    objective = known.objective
    centre = objective.X[objective.best]
    if plain["centre"] != "best":
        centre = _vector("centre", plain["centre"], objective.X.shape[1])
    scale = np.asarray(plain["scale"])
    return world.Subtraction(centre, scale=scale, height=plain["height"], is_smooth=plain["is_smooth"])


def _clipping(plain: Plain, known: Knowledge) -> Adversary:
    target = build_target(plain["target"], known.objective)
    return world.Clipping(known.objective, target, margin=plain["margin"])


def _aggressive_subtraction(plain: Plain, known: Knowledge) -> Adversary:
    target = build_target(plain["target"], known.objective)
    return world.AggressiveSubtraction(target, height=plain["height"])


def _adaptive_strength(plain: Plain, known: Knowledge) -> Adversary:
    return world.AdaptiveStrength(
        build_adversary(plain["base"], known),
        build_target(plain["target"], known.objective),
        step=plain["step"],
        patience=plain["patience"],
    )


def _width_aware(plain: Plain, known: Knowledge) -> Adversary:
    a = known.assumptions
    return world.WidthAware(known.objective, kernel=a.kernel, lam=a.lam, **rest(plain))


def _silent(plain: Plain, known: Knowledge) -> Adversary:
    base = build_adversary(plain["base"], known)
    return world.Silent(base, noise_std=known.noise_std, n_std=plain["n_std"])


def _instance_targeting(plain: Plain, known: Knowledge) -> Adversary:
    return world.InstanceTargeting(build_adversary(plain["base"], known), instance=plain["instance"])


def _centre(path: str, raw: Any) -> Any:
    return fields.word("best")(path, raw) if isinstance(raw, str) else fields.numbers()(path, raw)


def _base(path: str, raw: Any) -> dict[str, Any]:
    return read_adversary(path, raw)


_POSITIVE = fields.number(above=0.0)
_SIZE = fields.number(at_least=0.0)
_TARGET = Field(read_target)

ADVERSARIES = {
    "none": Kind({}, lambda plain, known: world.NoAdversary()),
    "region_subtraction": Kind(
        {"radius": Field(_POSITIVE), "share": Field(_POSITIVE, 1.0 / 3.0)},
        lambda plain, known: world.RegionSubtraction(known.objective, **rest(plain)),
    ),
    "subtraction": Kind(
        {
            "centre": Field(_centre, "best"),
            "scale": Field(fields.scale),
            "height": Field(_POSITIVE),
            "is_smooth": Field(fields.truth, True),
        },
        _subtraction,
    ),
    "clipping": Kind({"target": _TARGET, "margin": Field(_SIZE, 0.0)}, _clipping),
    "aggressive_subtraction": Kind(
        {"target": _TARGET, "height": Field(_POSITIVE)}, _aggressive_subtraction
    ),
    "adaptive_strength": Kind(
        {
            "base": Field(_base),
            "target": _TARGET,
            "step": Field(fields.number(above=0.0, below=1.0), 0.1),
            "patience": Field(fields.integer(1), 3),
        },
        _adaptive_strength,
    ),
    "top_k": Kind(
        {
            "K": Field(fields.integer(1), 5),
            "value": Field(fields.number(), -1.0),
            "min_probability": Field(_SIZE, 0.5),
        },
        lambda plain, known: world.TopK(known.objective, **rest(plain)),
    ),
    "flip": Kind({}, lambda plain, known: world.Flip(known.objective)),
    "random_lies": Kind(
        {
            "std": Field(_SIZE),
            "mean": Field(fields.number(), 0.0),
            "frequency": Field(_SIZE, 1.0),
        },
        lambda plain, known: world.RandomLies(**rest(plain)),
    ),
    "hide_and_decoy": Kind(
        {"radius": Field(_POSITIVE), "low": Field(fields.number()), "high": Field(fields.number())},
        lambda plain, known: world.HideAndDecoy(known.objective, **rest(plain)),
    ),
    "zero_out": Kind({}, lambda plain, known: world.ZeroOut(known.objective)),
    "width_aware": Kind(
        {"decoy_distance": Field(_POSITIVE, 0.2), "threshold": Field(_SIZE, 0.1)}, _width_aware
    ),
    "silent": Kind({"base": Field(_base), "n_std": Field(_POSITIVE, 2.0)}, _silent),
    "instance_targeting": Kind(
        {"base": Field(_base), "instance": Field(fields.text)}, _instance_targeting
    ),
}
"""snake_case of every class in world/adversaries (`none`: NoAdversary)."""


def read_adversary(path: str, raw: Any) -> dict[str, Any]:
    """An adversary's table without label and threat, checked; wrappers hold a `base` table."""
    return read_kind(path, raw, keys_of(ADVERSARIES), own.ADVERSARY)


def build_adversary(plain: Plain, known: Knowledge) -> Adversary:
    """The adversary a table describes."""
    if own.is_own(plain["kind"]):
        given = {"C": known.C, "T": known.T, "seed": known.seed}
        return own.build_own(plain, Adversary, known.objective, **given)  # type: ignore[type-abstract]
    adversary: Adversary = ADVERSARIES[plain["kind"]].build(plain, known)
    return adversary


def needs_strong(plain: Plain) -> bool:
    """Whether the adversary, or one inside it, makes sense only if it sees the draw."""
    if own.is_own(plain["kind"]):
        return bool(getattr(own.resolve(plain["kind"]), "needs_strong", False))
    inner = plain.get("base")
    return plain["kind"] == "instance_targeting" or (inner is not None and needs_strong(inner))
