"""Points in a spec: the candidates of an objective, the target and the centre of an attack."""

import math
from functools import partial
from typing import Any

import numpy as np

from unbribable.lab.runs import fields
from unbribable.lab.runs.fields import Field, Plain, read_table
from unbribable.lab.runs.streams import generator, stream
from unbribable.lab.world.objectives import Objective
from unbribable.model import checks
from unbribable.model.checks import Bools, Floats
from unbribable.model.kernels import check_scale

# --- candidates --------------------------------------------------------------------------------


def grid_points(low: Floats, high: Floats, n: list[int], seed: int) -> Floats:
    """n[k] equidistant values on axis k, every combination of them; the first axis moves slowest."""
    axes = [np.linspace(*limits) for limits in zip(low, high, n, strict=True)]
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)


def sobol_points(low: Floats, high: Floats, n: list[int], seed: int) -> Floats:
    """The first n points of the Sobol sequence, the same for every seed."""
    from scipy.stats import qmc  # here, since it is slow to import

    exponent = max(0, math.ceil(math.log2(n[0])))
    unit = qmc.Sobol(len(low), scramble=False).random_base2(exponent)[: n[0]]
    points: Floats = qmc.scale(unit, low, high)
    return points


def uniform_points(low: Floats, high: Floats, n: list[int], seed: int) -> Floats:
    """n points drawn anew for every seed, on a stream of their own."""
    rng = np.random.default_rng(stream(seed, "objective").spawn(1)[0])
    return rng.uniform(low, high, size=(*n, len(low)))


CANDIDATES = {"grid": grid_points, "sobol": sobol_points, "uniform": uniform_points}
_HOW_MANY = {
    "kind": Field(partial(checks.choice, allowed=tuple(CANDIDATES)), "grid"),
    "n": Field(fields.each(partial(checks.integer, at_least=1), or_one=True)),
}
_LIMITS = {"low": Field(fields.numbers, [0.0]), "high": Field(fields.numbers, [1.0])}

read_how_many = partial(read_table, fields=_HOW_MANY)
"""Candidates where the objective knows its domain: kind and n."""


def read_candidates(path: str, raw: Any) -> dict[str, Any]:
    """A table of candidates: kind, n (a grid: per axis), low and high (numbers or one per axis)."""
    plain = read_table(path, raw, {**_HOW_MANY, **_LIMITS})
    is_grid = plain["kind"] == "grid"
    d = max(len(plain["low"]), len(plain["high"]), len(plain["n"]) if is_grid else 1)
    for key, size in (("low", d), ("high", d), ("n", d if is_grid else 1)):
        plain[key] = per_axis(f"{path}.{key}", plain[key], size)
    for k, (low, high) in enumerate(zip(plain["low"], plain["high"], strict=True)):
        if low >= high:
            raise ValueError(f"{path}.high must be > low, got low={low} and high={high} on axis {k}")
    return plain


def build_candidates(plain: Plain, seed: int) -> Floats:
    """The candidates that a table describes, (n, d)."""
    low, high = np.asarray(plain["low"]), np.asarray(plain["high"])
    return CANDIDATES[plain["kind"]](low, high, plain["n"], seed)


def per_axis(path: str, values: list[Any], d: int) -> list[Any]:
    """One value per axis, where one stands for all."""
    if len(values) not in (1, d):
        raise ValueError(f"{path} must be one number, or one per axis ({d}), got {path}={values}")
    return values * d if len(values) == 1 else values


def opened(X: Floats, n: int, seed: int) -> list[int]:
    """The opening: candidates nearest to n scrambled Sobol points of their bounding box, by index."""
    if n == 0:
        return []
    from scipy.stats import qmc  # here, since it is slow to import

    low, high = X.min(axis=0), X.max(axis=0)
    unit = (X - low) / np.where(high > low, high - low, 1.0)
    sobol = qmc.Sobol(X.shape[1], rng=generator(seed, "opening"))
    points = sobol.random_base2(math.ceil(math.log2(n)))[:n]
    distances = np.linalg.norm(unit[None, :, :] - points[:, None, :], axis=2)
    return [int(i) for i in distances.argmin(axis=1)]


# --- targets and centres -----------------------------------------------------------------------


def _side(path: str, raw: Any) -> Any:
    """A positive number, or one per coordinate."""
    check_scale(path, raw)
    return raw


_CUBE = {"centre": Field(fields.numbers), "side": Field(_side)}
_HALFSPACE = {"halfspace": Field(fields.numbers), "offset": Field(checks.real, 0.0)}


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


def read_centre(path: str, raw: Any) -> Any:
    """A point, or "best" for the maximiser."""
    return checks.choice(path, raw, ("best",)) if isinstance(raw, str) else fields.numbers(path, raw)


def build_centre(centre: Any, objective: Objective) -> Floats:
    """The point, (d,)."""
    best: Floats = objective.X[objective.best]
    return best if centre == "best" else _vector("centre", centre, len(best))


def _vector(name: str, values: list[float], d: int) -> Floats:
    if len(values) != d:
        raise ValueError(f"{name} must have one number per axis ({d}), got {values}")
    return np.asarray(values)
