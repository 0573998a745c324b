"""`unbribable bound`: what the theorems say in numbers, for given assumptions and a grid."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import typer

from unbribable.cli.show import print_table
from unbribable.model import checks
from unbribable.model.checks import Floats
from unbribable.model.kernels import Kernel
from unbribable.runs.kinds import KERNEL
from unbribable.runs.places import build_candidates, read_candidates
from unbribable.theory.assumptions import Assumptions
from unbribable.theory.budgets import (
    fast_slow_budgets,
    fast_slow_probabilities,
    layer_budgets,
    layer_probabilities,
)
from unbribable.theory.information_gain import MaxInformationGain
from unbribable.theory.regret_bounds import (
    RegretBound,
    elimination_time,
    simple_regret_horizon,
    theorem_5,
    theorem_9,
    theorem_10,
)
from unbribable.theory.widths import radius

MAX_GIB = 4.0
"""Memory that `bound` may need at most, if every reading is at another candidate."""

WIDTHS = {"paper": "paper", "default": "tight"}
"""The learner's options that a number is for -> its option `noise`."""


def kernel_of(kind: str, lengthscale: float, smoothness: float) -> Kernel:
    """The kernel that the flags stand for."""
    tables: dict[str, dict[str, Any]] = {
        "matern": {"nu": smoothness, "lengthscale": lengthscale},
        "linear": {"scale": lengthscale},
    }
    table = tables.get(kind, {"lengthscale": lengthscale})
    kernel: Kernel = KERNEL.build(KERNEL.read("kernel", {"kind": kind, **table}), {})
    return kernel


def grid(points: int, dimension: int, low: float, high: float, rounds: int) -> Floats:
    """`points` values on each of `dimension` axes, (points^dimension, dimension).

    Raises:
        ValueError: They need more than `MAX_GIB` with so many rounds.
    """
    d = checks.integer("--dimension", dimension, at_least=1)
    checks.integer("--points", points, at_least=1)
    T = checks.integer("--rounds", rounds, at_least=1)
    n = 10.0 ** min(300.0, d * math.log10(points))
    needed = 8.0 * n * (min(n, T) + d) / 2**30
    if needed > MAX_GIB:
        raise ValueError(
            f"candidates and rounds must fit into {MAX_GIB:g} GiB, got {points}^{d} candidates and {T} "
            f"rounds, which may need {needed:.3g} GiB: take fewer --points, --dimension or --rounds"
        )
    table = {"low": [low] * d, "high": [high] * d, "n": points}
    return build_candidates(read_candidates("grid", table), seed=0)


def bounds(assumptions: Assumptions, X: Floats, C: float, T: int, gap: float | None) -> dict[str, Any]:
    """Information gain, widths, budgets of the instances and regret bounds, as plain data.

    Widths are for the given lam; the regret theorems are for lam = 1.
    """
    gamma = MaxInformationGain(assumptions.kernel, X, assumptions.lam)
    unit = replace(assumptions, lam=1.0)
    gamma_1 = gamma if assumptions.lam == 1.0 else MaxInformationGain(assumptions.kernel, X, 1.0)
    data: dict[str, Any] = {
        "assumptions": assumptions.in_words(),
        "C": C,
        "T": T,
        "n_points": len(X),
        "information_gain": {"greedy": gamma.lower(T), "upper": gamma.upper(T)},
        "widths": _widths(assumptions, C, T, float(gamma.upper(T))),
        "budgets": _budgets(assumptions, C, T),
        "regret": [_plain(*row) for row in _theorems(unit, C, T, gamma_1)],
        "trivial": 2.0 * assumptions.B0 * T,
    }
    if gap is not None:
        data["gap"] = {
            "gap": gap,
            "rounds_until_reported_point_is_within_gap": {
                widths: simple_regret_horizon(unit, C, gap, gamma_1, noise=noise)
                for widths, noise in WIDTHS.items()
            },
            "plays_of_slow_until_worse_points_are_ruled_out": None
            if math.isinf(unit.c_max)
            else {
                widths: elimination_time(unit, gap, gamma_1, noise=noise)
                for widths, noise in WIDTHS.items()
            },
        }
    return data


def _widths(assumptions: Assumptions, C: float, T: int, gain: float) -> dict[str, float]:
    """What sigma is multiplied by after T readings, at the largest possible gain."""
    a = assumptions
    rho = radius(a.noise_std, a.lam, gain, a.delta)
    rho_half = radius(a.noise_std, a.lam, gain, a.delta / 2.0)
    return {
        "noise (paper)": a.B + rho,
        "noise (tight)": math.hypot(a.B, rho_half),
        "corruption (paper)": C / math.sqrt(a.lam),
        "corruption (capped)": math.sqrt(C * min(C, a.c_max) / a.lam),
    }


def _budgets(assumptions: Assumptions, C: float, T: int) -> list[dict[str, Any]]:
    """Corruption that the instances drawn at random allow for."""
    if math.isinf(assumptions.c_max):
        return []
    tails = ("paper", "sharp")
    layers = {tail: layer_budgets(assumptions, T, tail) for tail in tails}
    rows = [
        {"instance": label, "probability": p, **{tail: layers[tail][label].C for tail in tails}}
        for label, p in layer_probabilities(T)
    ]
    if C > 0.0:
        label, p = fast_slow_probabilities(C)[0]
        slow = {tail: fast_slow_budgets(assumptions, C, tail)[label].C for tail in tails}
        rows.insert(0, {"instance": label, "probability": p, **slow})
    return rows


def _theorems(
    a: Assumptions, C: float, T: int, gamma: MaxInformationGain
) -> list[tuple[str, str, RegretBound]]:
    """Learner, its widths (a key of `WIDTHS`) and what holds for it."""
    found = [
        ("RobustGPUCB", "paper", theorem_5(a, C, T, gamma)),
        ("RobustGPUCB", "default", theorem_5(a, C, T, gamma, width="exact", noise="tight")),
    ]
    if math.isinf(a.c_max):
        return found
    for is_corrupted in (False, True):
        learner = "FastSlowGPUCB" if is_corrupted else "FastSlowGPUCB, nobody lies"
        for widths, noise in WIDTHS.items():
            bound = theorem_9(a, C, T, gamma, is_corrupted=is_corrupted, noise=noise)
            found.append((learner, widths, bound))
    for widths, noise in WIDTHS.items():
        found.append(("LayeredGPUCB", widths, theorem_10(a, C, T, gamma, noise=noise)))
    return found


def _plain(learner: str, widths: str, bound: RegretBound) -> dict[str, Any]:
    says = bound.theorem_value
    return {
        "learner": learner,
        "widths": widths,
        "theorem": bound.theorem,
        "adversary": bound.threat,
        "regret": float(bound.value),
        "theorem_says": None if math.isinf(says) else float(says),
        "is_vacuous": bool(bound.is_vacuous),
    }


def show(data: Mapping[str, Any]) -> None:
    """Print what `bounds` found."""
    typer.echo(data["assumptions"])
    gain = data["information_gain"]
    T = data["T"]
    typer.echo(f"\nInformation gain of {T} readings: {gain['greedy']:.4g} to {gain['upper']:.4g}")
    widths = [{"width": name, "sigma": value} for name, value in data["widths"].items()]
    heads = {"width": f"width after {T} readings", "sigma": "times sigma"}
    print_table("Widths at the largest gain", heads, widths)
    heads = {"instance": "instance", "probability": "drawn with", "paper": "paper", "sharp": "sharp"}
    print_table("Corruption the instances allow for", heads, data["budgets"])
    heads = {
        "learner": "learner",
        "widths": "widths",
        "theorem": "by",
        "adversary": "adversary",
        "theorem_says": "theorem says",
        "regret": "regret at most",
        "is_vacuous": "vacuous",
    }
    print_table(f"Regret (lam = 1; trivially {data['trivial']:.4g})", heads, data["regret"])
    typer.echo(
        "widths paper: width, noise, tail and gain as in the paper; default: exact, tight, sharp and "
        "realised,\nwhose noise width pays for two events: delta/2 for delta in its logarithm"
    )
    for name, value in data.get("gap", {}).items():
        typer.echo(f"{name.replace('_', ' ')}: {_in_words(value)}")


def _in_words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{_in_words(part)} ({widths} widths)" for widths, part in value.items())
    return "not within a million" if value is None else f"{value:g}"
