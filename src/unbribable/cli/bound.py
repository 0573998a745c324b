"""`unbribable bound`: what the theorems say in numbers, for given assumptions and a grid."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from unbribable.cli.show import table
from unbribable.decision.policies.ladder import UNIT
from unbribable.lab.runs.kinds import KERNEL
from unbribable.lab.runs.places import build_candidates, read_candidates
from unbribable.lab.theorems.regret_bounds import (
    elimination_time,
    simple_regret_horizon,
    theorem_5,
    theorem_9,
    theorem_10,
    theorem_10_told,
    theorem_ladder,
    theorem_quorum,
)
from unbribable.model import checks
from unbribable.model.checks import Floats
from unbribable.model.kernels import Kernel
from unbribable.theory.assumptions import Assumptions
from unbribable.theory.budgets import (
    fast_slow_budgets,
    fast_slow_probabilities,
    layer_budgets,
    layer_probabilities,
)
from unbribable.theory.information_gain import MaxInformationGain
from unbribable.theory.widths import radius

MAX_GIB = 4.0
"""Memory that `bound` may need at most, if every reading is at another candidate."""

SHARE, TRUST = 0.25, 0.3
"""Dials of Fast-Slow for which there is a number besides those of the paper; trust as a share of C."""

WIDTHS = {"paper": "paper", "default": "tight"}
"""The learner's options that a number is for -> its option `noise`."""


def kernel_of(kind: str, lengthscale: float, smoothness: float) -> Kernel:
    """The kernel that the flags stand for."""
    table: dict[str, Any] = {"kind": kind, "scale" if kind == "linear" else "lengthscale": lengthscale}
    if kind == "matern":
        table["nu"] = smoothness
    kernel: Kernel = KERNEL.build(KERNEL.read("kernel", table), {})
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
    axes = {"low": [low] * d, "high": [high] * d, "n": points}
    return build_candidates(read_candidates("grid", axes), seed=0)


def bounds(
    assumptions: Assumptions, X: Floats, C: float, T: int, gap: float | None, n_lies: int
) -> dict[str, Any]:
    """Information gain, widths, budgets of the instances and regret bounds, as plain data.

    Where lies are counted they are n_lies of any size; elsewhere they total at most C.
    Widths are for the given lam; the regret theorems are for lam = 1.
    """
    gamma = MaxInformationGain(assumptions.kernel, X, assumptions.lam)
    unit = replace(assumptions, lam=1.0)
    gamma_1 = gamma if assumptions.lam == 1.0 else MaxInformationGain(assumptions.kernel, X, 1.0)
    data: dict[str, Any] = {
        "assumptions": str(assumptions),
        "C": C,
        "n_lies": n_lies,
        "T": T,
        "n_points": len(X),
        "information_gain": {"greedy": gamma.lower(T), "upper": gamma.upper(T)},
        "widths": _widths(assumptions, C, float(gamma.upper(T))),
        "budgets": [] if math.isinf(assumptions.c_max) else _budgets(assumptions, C, T),
        "regret": _regret(unit, C, n_lies, T, gamma_1),
        "trivial": 2.0 * assumptions.B0 * T,
    }
    if gap is not None:
        horizon = partial(simple_regret_horizon, unit, C, gap, gamma_1)
        elimination = partial(elimination_time, unit, gap, gamma_1)
        data["gap"] = {
            "gap": gap,
            "rounds_until_reported_point_is_within_gap": _for_both(horizon),
            "plays_of_slow_until_worse_points_are_ruled_out": (
                None if math.isinf(unit.c_max) else _for_both(elimination)
            ),
        }
    return data


def _for_both(number: Callable[..., Any]) -> dict[str, Any]:
    return {widths: number(noise=noise) for widths, noise in WIDTHS.items()}


def _widths(a: Assumptions, C: float, gain: float) -> dict[str, float]:
    """What sigma is multiplied by, at the largest possible gain."""
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
    tails = ("paper", "sharp")
    found = [({tail: layer_budgets(assumptions, T, tail) for tail in tails}, layer_probabilities(T))]
    if C > 0.0:
        slow = {tail: fast_slow_budgets(assumptions, C, tail) for tail in tails}
        found.insert(0, (slow, fast_slow_probabilities(C)[:1]))
    return [
        {"instance": label, "probability": p, **{tail: budgets[tail][label].C for tail in tails}}
        for budgets, draws in found
        for label, p in draws
    ]


def _regret(
    a: Assumptions, C: float, n_lies: int, T: int, gamma: MaxInformationGain
) -> list[dict[str, Any]]:
    """A row per learner and kind of widths (a key of `WIDTHS`)."""
    of_robust = {
        "paper": theorem_5(a, C, T, gamma),
        "default": theorem_5(a, C, T, gamma, width="exact", noise="tight"),
    }
    found = {"RobustGPUCB": of_robust}
    if not math.isinf(a.c_max):
        nine, ten = partial(theorem_9, a, C, T, gamma), partial(theorem_10, a, C, T, gamma)
        found["FastSlowGPUCB, nobody lies"] = _for_both(partial(nine, is_corrupted=False))
        found["FastSlowGPUCB"] = _for_both(partial(nine, is_corrupted=True))
        dials = {"share": SHARE, "trust": TRUST * C}
        found["FastSlowGPUCB, up to trust"] = _for_both(partial(nine, is_corrupted=False, **dials))
        found["FastSlowGPUCB, dials"] = _for_both(partial(nine, is_corrupted=True, **dials))
        found["LayeredGPUCB"] = _for_both(ten)
        found["LayeredGPUCB, sharing"] = _for_both(partial(ten, with_all=True))
        found["LayeredGPUCB, told C"] = _for_both(partial(theorem_10_told, a, C, T, gamma))
        for share in (UNIT, 1.0):
            ladder = partial(theorem_ladder, a, C, T, gamma, unit=share * a.c_max)
            found[f"LadderGPUCB, unit {share * a.c_max:g}"] = {
                "paper": ladder(width="paper"),
                "default": ladder(noise="tight"),
            }
    quorum = partial(theorem_quorum, a, n_lies, T, gamma)
    for label, is_lied_to in ((", nobody lies", False), ("", True)):
        found[f"QuorumGPUCB, n_lies={n_lies}{label}"] = {
            "paper": quorum(is_lied_to=is_lied_to),
            "default": quorum(is_lied_to=is_lied_to, noise="energy"),
        }
    return [
        {
            "learner": learner,
            "widths": widths,
            "theorem": bound.theorem,
            "adversary": bound.threat,
            "theorem_says": None if math.isinf(bound.theorem_value) else float(bound.theorem_value),
            "regret": float(bound.value),
            "is_vacuous": bool(bound.is_vacuous),
        }
        for learner, by_widths in found.items()
        for widths, bound in by_widths.items()
    ]


def text(data: Mapping[str, Any]) -> str:
    """What `bounds` found, for people."""
    T, gain = data["T"], data["information_gain"]
    widths = [{"width": name, "times sigma": value} for name, value in data["widths"].items()]
    parts = [
        data["assumptions"],
        f"\nInformation gain of {T} readings: {gain['greedy']:.4g} to {gain['upper']:.4g}",
        table("Widths at the largest gain", widths, width=f"width after {T} readings"),
        table("Corruption the instances allow for", data["budgets"], probability="drawn with"),
        table(
            f"Regret (lam = 1; trivially {data['trivial']:.4g})",
            data["regret"],
            theorem="by",
            regret="regret at most",
            is_vacuous="vacuous",
        ),
        "widths paper: width, noise, tail and gain as in the paper; default: exact, tight, sharp and "
        "realised,\nwhose noise width pays for two events: delta/2 for delta in its logarithm "
        "(QuorumGPUCB's for three)",
        f"dials: share {SHARE:g}, trust {TRUST:g} C; up to trust: if the lies total at most that trust",
    ]
    for name, value in data.get("gap", {}).items():
        parts.append(f"{name.replace('_', ' ')}: {_in_words(value)}")
    return "\n".join(parts)


def _in_words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{_in_words(part)} ({widths} widths)" for widths, part in value.items())
    return "not within a million" if value is None else f"{value:g}"
