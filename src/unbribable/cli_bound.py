"""`unbribable bound`: what the theorems say in numbers, for given assumptions and a grid."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import typer

from unbribable.cli_show import print_table
from unbribable.model import checks
from unbribable.model.checks import Floats
from unbribable.model.kernels import Kernel
from unbribable.runs.kinds import build_candidates, build_kernel, read_candidates, read_kernel
from unbribable.theory.assumptions import Assumptions
from unbribable.theory.information_gain import MaxInformationGain
from unbribable.theory.regret_bounds import (
    RegretBound,
    elimination_time,
    layer_delta,
    number_of_layers,
    simple_regret_horizon,
    theorem_5,
    theorem_9,
    theorem_10,
)
from unbribable.theory.tails import tail_paper, tail_sharp
from unbribable.theory.widths import radius


def kernel_of(kind: str, lengthscale: float, smoothness: float) -> Kernel:
    """The kernel that the flags stand for."""
    tables: dict[str, dict[str, Any]] = {
        "matern": {"nu": smoothness, "lengthscale": lengthscale},
        "linear": {"scale": lengthscale},
    }
    table = tables.get(kind, {"lengthscale": lengthscale})
    return build_kernel(read_kernel("kernel", {"kind": kind, **table}))


def grid(points: int, dimension: int, low: float, high: float) -> Floats:
    """`points` values on each of `dimension` axes, (points^dimension, dimension)."""
    d = checks.integer("dimension", dimension, at_least=1)
    checks.integer("points", points, at_least=1)
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
        "regret": [_plain(bound) for bound in _theorems(unit, C, T, gamma_1)],
        "trivial": 2.0 * assumptions.B0 * T,
    }
    if gap is not None:
        data["gap"] = {
            "gap": gap,
            "rounds_until_reported_point_is_within_gap": simple_regret_horizon(unit, C, gap, gamma_1),
            "plays_of_slow_until_worse_points_are_ruled_out": None
            if math.isinf(unit.cap)
            else elimination_time(unit, gap, gamma_1),
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
        "corruption (capped)": math.sqrt(C * min(C, a.cap) / a.lam),
    }


def _budgets(assumptions: Assumptions, C: float, T: int) -> list[dict[str, Any]]:
    """Corruption that the instances drawn at random allow for."""
    cap = assumptions.cap
    if math.isinf(cap):
        return []
    rows = []
    if C > 0.0:
        share = assumptions.delta / 5.0
        p = min(1.0, 1.0 / C)
        paper = C if C <= 1.0 else tail_paper(cap, share)
        rows.append(_budget("slow", p, paper, tail_sharp(C, p, cap, share)))
    n_layers = number_of_layers(T)
    share = layer_delta(assumptions.delta, T)
    for level in range(1, n_layers + 1):
        p = 0.5**level + (0.5**n_layers if level == 1 else 0.0)
        sharp = tail_sharp(2.0**level, p, cap, share)
        rows.append(_budget(f"layer-{level}", p, tail_paper(cap, share), sharp))
    return rows


def _budget(instance: str, p: float, paper: float, sharp: float) -> dict[str, Any]:
    return {"instance": instance, "probability": p, "paper": paper, "sharp": sharp}


def _theorems(
    a: Assumptions, C: float, T: int, gamma: MaxInformationGain
) -> list[tuple[str, RegretBound]]:
    found = [
        ("RobustGPUCB, width paper", theorem_5(a, C, T, gamma)),
        ("RobustGPUCB, width exact", theorem_5(a, C, T, gamma, width="exact")),
    ]
    if not math.isinf(a.cap):
        found += [
            ("FastSlowGPUCB, nobody lies", theorem_9(a, C, T, gamma, is_corrupted=False)),
            ("FastSlowGPUCB", theorem_9(a, C, T, gamma, is_corrupted=True)),
            ("LayeredGPUCB", theorem_10(a, C, T, gamma)),
        ]
    return found


def _plain(named: tuple[str, RegretBound]) -> dict[str, Any]:
    learner, bound = named
    says = bound.theorem_value
    return {
        "learner": learner,
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
        "theorem": "by",
        "adversary": "adversary",
        "theorem_says": "theorem says",
        "regret": "regret at most",
        "is_vacuous": "vacuous",
    }
    print_table(f"Regret (lam = 1; trivially {data['trivial']:.4g})", heads, data["regret"])
    for name, value in data.get("gap", {}).items():
        words = "not within a million" if value is None else f"{value:g}"
        typer.echo(f"{name.replace('_', ' ')}: {words}")
