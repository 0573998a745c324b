"""What a spec can name on the side of truth: kernels, candidates, objectives; keys and construction."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import qmc

from unbribable.model import checks
from unbribable.model.checks import Floats
from unbribable.model.kernels import Kernel, Linear, Matern, SquaredExponential
from unbribable.runs import fields, own
from unbribable.runs.fields import Field, Fields, Reader, fields_of, read_kind, read_table
from unbribable.runs.streams import generator, stream
from unbribable.world import objectives
from unbribable.world.named_functions import TEST_FUNCTIONS
from unbribable.world.objectives import Objective

Plain = Mapping[str, Any]


@dataclass(frozen=True)
class Kind:
    """What a spec writes about one kind of thing, and what becomes of it."""

    keys: Fields
    build: Callable[..., Any]

    @classmethod
    def of(cls, build: Callable[..., Any], **readers: Reader) -> "Kind":
        """A kind whose keys are arguments of `build`, with the defaults they have there."""
        return cls(fields_of(build, **readers), build)


def rest(plain: Plain) -> dict[str, Any]:
    """Everything but the kind."""
    return {key: value for key, value in plain.items() if key != "kind"}


def keys_of(kinds: Mapping[str, Kind]) -> dict[str, Fields]:
    """Kind -> its keys."""
    return {name: kind.keys for name, kind in kinds.items()}


# --- kernels and candidates --------------------------------------------------------------------

KERNELS = {
    "squared_exponential": Kind.of(SquaredExponential, lengthscale=fields.scale),
    "matern": Kind.of(Matern, nu=fields.number(above=0.0), lengthscale=fields.scale),
    "linear": Kind.of(Linear, scale=fields.scale),
}


def read_kernel(path: str, raw: Any) -> dict[str, Any]:
    """A kernel's table, checked."""
    return read_kind(path, raw, keys_of(KERNELS), own.KERNEL)


def build_kernel(plain: Plain) -> Kernel:
    """The kernel a table describes."""
    if own.is_own(plain["kind"]):
        return own.build_own(plain, Kernel)  # type: ignore[type-abstract]
    kernel: Kernel = KERNELS[plain["kind"]].build(**rest(plain))
    return kernel


def grid_points(low: list[float], high: list[float], n: list[int], seed: int) -> Floats:
    """n[k] equidistant values on axis k, every combination of them; the first axis moves slowest."""
    axes = [np.linspace(*limits) for limits in zip(low, high, n, strict=True)]
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)


def sobol_points(low: list[float], high: list[float], n: list[int], seed: int) -> Floats:
    """The first n points of the Sobol sequence, the same for every seed."""
    (size,) = n
    unit = qmc.Sobol(len(low), scramble=False).random_base2(max(0, math.ceil(math.log2(size))))[:size]
    points: Floats = np.asarray(low) + unit * (np.asarray(high) - np.asarray(low))
    return points


def uniform_points(low: list[float], high: list[float], n: list[int], seed: int) -> Floats:
    """n points drawn anew for every seed, on a stream of their own."""
    (size,) = n
    rng = np.random.default_rng(stream(seed, "objective").spawn(1)[0])
    return rng.uniform(low, high, size=(size, len(low)))


CANDIDATES: dict[str, Callable[..., Floats]] = {
    "grid": grid_points,
    "sobol": sobol_points,
    "uniform": uniform_points,
}


def read_candidates(path: str, raw: Any) -> dict[str, Any]:
    """A table of candidates: kind, n (a grid: per axis), low and high (numbers or one per axis)."""
    limits = {"low": Field(fields.numbers(), [0.0]), "high": Field(fields.numbers(), [1.0])}
    plain = read_table(path, raw, {**_HOW_MANY, **limits})
    is_grid = plain["kind"] == "grid"
    d = max(len(plain["low"]), len(plain["high"]), len(plain["n"]) if is_grid else 1)
    for key in ("low", "high", "n") if is_grid else ("low", "high"):
        plain[key] = _per_axis(f"{path}.{key}", plain[key], d)
    if not is_grid:
        _per_axis(f"{path}.n", plain["n"], 1)
    for k, (low, high) in enumerate(zip(plain["low"], plain["high"], strict=True)):
        if low >= high:
            raise ValueError(f"{path}.high must be > low, got low={low} and high={high} on axis {k}")
    return plain


def _counts(path: str, raw: Any) -> list[int]:
    counts: list[int] = fields.each(fields.integer(1))(path, raw if isinstance(raw, list) else [raw])
    return counts


_HOW_MANY = {"kind": Field(fields.word(*CANDIDATES), "grid"), "n": Field(_counts)}


def build_candidates(plain: Plain, seed: int) -> Floats:
    """The candidates a table describes, (n, d)."""
    return CANDIDATES[plain["kind"]](**rest(plain), seed=seed)


def _per_axis(path: str, values: list[Any], d: int) -> list[Any]:
    if len(values) not in (1, d):
        raise ValueError(f"{path} must be one number, or one per axis ({d}), got {path}={values}")
    return values * d if len(values) == 1 else values


# --- objectives --------------------------------------------------------------------------------


def _random_rkhs(plain: Plain, seed: int) -> Objective:
    kernel, X = build_kernel(plain["kernel"]), build_candidates(plain["candidates"], seed)
    rng = generator(seed, "objective")
    return objectives.random_rkhs(kernel, X, rng, norm=plain["norm"], n_centres=plain["n_centres"])


def _gp_draw(plain: Plain, seed: int) -> Objective:
    kernel, X = build_kernel(plain["kernel"]), build_candidates(plain["candidates"], seed)
    return objectives.gp_draw(kernel, X, generator(seed, "objective"))


def _lower_bound(plain: Plain, seed: int) -> Objective:
    X = np.linspace(0.0, 1.0, plain["n"])[:, None]
    return objectives.lower_bound_pair(build_kernel(plain["kernel"]), X)[plain["which"]]


def _test_function(plain: Plain, seed: int) -> Objective:
    function = TEST_FUNCTIONS[plain["name"]]
    candidates = {**plain["candidates"], "low": list(function.low), "high": list(function.high)}
    if candidates["kind"] == "grid":
        candidates["n"] = _per_axis("objective.candidates.n", candidates["n"], function.d)
    return function.on(build_candidates(candidates, seed))


def _which(path: str, raw: Any) -> int:
    if raw not in (0, 1) or isinstance(raw, bool):
        raise ValueError(f"{path} must be 0 or 1, got {path}={raw!r}")
    return int(raw)


_KERNEL_SUM = {"kernel": Field(read_kernel), "candidates": Field(read_candidates)}

OBJECTIVES = {
    "random_rkhs": Kind(
        {
            **_KERNEL_SUM,
            **fields_of(
                objectives.random_rkhs, norm=fields.number(above=0.0), n_centres=fields.integer(1)
            ),
        },
        _random_rkhs,
    ),
    "gp_draw": Kind(_KERNEL_SUM, _gp_draw),
    "figure_1": Kind(
        fields_of(objectives.figure_1, n=fields.integer(2)),
        lambda plain, seed: objectives.figure_1(plain["n"]),
    ),
    "lower_bound": Kind(
        {
            "kernel": Field(read_kernel),
            "n": Field(fields.integer(2), 100),
            "which": Field(_which, 0),
        },
        _lower_bound,
    ),
    "test_function": Kind(
        {
            "name": Field(fields.word(*TEST_FUNCTIONS)),
            "candidates": Field(lambda path, raw: read_table(path, raw, _HOW_MANY)),
        },
        _test_function,
    ),
}


def read_objective(path: str, raw: Any) -> dict[str, Any]:
    """An objective's table, checked."""
    return read_kind(path, raw, keys_of(OBJECTIVES), own.OBJECTIVE)


def build_objective(plain: Plain, seed: int) -> Objective:
    """The objective of this seed that a table describes."""
    if own.is_own(plain["kind"]):
        return _checked(own.build_own(plain, Objective, seed=own.own_seed(seed, "objective")))
    objective: Objective = OBJECTIVES[plain["kind"]].build(plain, seed)
    return objective


def _checked(objective: Objective) -> Objective:
    """The guest's objective, if its arrays fit together."""
    X, f = checks.array("X", objective.X, ndim=2), checks.array("f", objective.f, ndim=1)
    if len(X) != len(f):
        raise ValueError(f"f must have one value per candidate, ({len(X)},), got shape {f.shape}")
    return objective
