"""What a spec can name on the side of lies: adversaries and their target regions."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from unbribable.model.checks import Bools
from unbribable.runs import fields, own
from unbribable.runs.fields import Field, fields_of, read_kind, read_table
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


def _centre(path: str, raw: Any) -> Any:
    return fields.word("best")(path, raw) if isinstance(raw, str) else fields.numbers()(path, raw)


def _base(path: str, raw: Any) -> dict[str, Any]:
    return read_adversary(path, raw)


_POSITIVE = fields.number(above=0.0)
_SIZE = fields.number(at_least=0.0)

ADVERSARIES = {
    "none": Kind.of(world.NoAdversary),
    "region_subtraction": Kind.of(world.RegionSubtraction, radius=_POSITIVE, share=_POSITIVE),
    "subtraction": Kind(
        {
            "centre": Field(_centre, "best"),
            **fields_of(world.Subtraction, scale=fields.scale, height=_POSITIVE, is_smooth=fields.truth),
        },
        world.Subtraction,
    ),
    "clipping": Kind.of(world.Clipping, target=read_target, margin=_SIZE),
    "aggressive_subtraction": Kind.of(world.AggressiveSubtraction, target=read_target, height=_POSITIVE),
    "adaptive_strength": Kind.of(
        world.AdaptiveStrength,
        base=_base,
        target=read_target,
        step=fields.number(above=0.0, below=1.0),
        patience=fields.integer(1),
    ),
    "top_k": Kind.of(world.TopK, K=fields.integer(1), value=fields.number(), min_probability=_SIZE),
    "flip": Kind.of(world.Flip),
    "random_lies": Kind.of(world.RandomLies, std=_SIZE, mean=fields.number(), frequency=_SIZE),
    "hide_and_decoy": Kind.of(
        world.HideAndDecoy, radius=_POSITIVE, low=fields.number(), high=fields.number()
    ),
    "zero_out": Kind.of(world.ZeroOut),
    "width_aware": Kind.of(world.WidthAware, decoy_distance=_POSITIVE, threshold=_SIZE),
    "silent": Kind.of(world.Silent, base=_base, n_std=_POSITIVE),
    "instance_targeting": Kind.of(world.InstanceTargeting, base=_base, instance=fields.text),
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
    objective, a = known.objective, known.assumptions
    words = rest(plain)
    if "base" in words:
        words["base"] = build_adversary(words["base"], known)
    if "target" in words:
        words["target"] = build_target(words["target"], objective)
    if "centre" in words:
        words["centre"] = _place(words["centre"], objective)
    if "scale" in words:
        words["scale"] = np.asarray(words["scale"])
    may_know = {
        "objective": objective, "noise_std": known.noise_std, "kernel": a.kernel, "lam": a.lam
    }  # fmt: skip
    adversary: Adversary = own.call(ADVERSARIES[plain["kind"]].build, offered=may_know, words=words)
    return adversary


def _place(centre: Any, objective: Objective) -> np.ndarray:
    if centre == "best":
        best: np.ndarray = objective.X[objective.best]
        return best
    return _vector("centre", centre, objective.X.shape[1])


def needs_strong(plain: Plain) -> bool:
    """Whether the adversary, or one inside it, makes sense only if it sees the draw."""
    if own.is_own(plain["kind"]):
        return bool(getattr(own.resolve(plain["kind"]), "needs_strong", False))
    inner = plain.get("base")
    return plain["kind"] == "instance_targeting" or (inner is not None and needs_strong(inner))
