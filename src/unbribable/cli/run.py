"""`unbribable run`: one game, from flags or from a cell of a spec file."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unbribable.decision.proven.guarantee import NOTHING, Guarantee
from unbribable.lab.runs.experiment import Run
from unbribable.lab.runs.record import Record
from unbribable.lab.runs.spec import load_spec, read_spec
from unbribable.model import checks

_SECTIONS = ("objective", "assumptions", "algorithm", "adversary")

_KERNEL = {"kind": "squared_exponential", "lengthscale": 0.2}
OBJECTIVES: dict[str, dict[str, Any]] = {
    "random_rkhs": {"kernel": _KERNEL, "candidates": {"n": 100}, "norm": 2.0},
    "gp_draw": {"kernel": _KERNEL, "candidates": {"n": 100}},
    "lower_bound": {"kernel": {**_KERNEL, "lengthscale": 0.1}},
    "test_function": {"candidates": {"n": 100}},
}
"""What `--objective` stands for beside the kind; `--set objective.KEY=VALUE` changes it."""


def run_from_flags(flags: Mapping[str, Any], settings: Sequence[str]) -> Run:
    """The run that the flags stand for: a spec of one cell.

    Args:
        flags: objective, algorithm, adversary, corruption, noise, rounds, seed, threat.
        settings: "section.key=value", the value in TOML; sections objective, assumptions,
            algorithm, adversary.

    Raises:
        TypeError, ValueError: As for a spec; the message names the key.
    """
    checks.integer("--rounds", flags["rounds"], at_least=1)
    checks.integer("--seed", flags["seed"], at_least=0)
    checks.real("--corruption", flags["corruption"], at_least=0.0)
    tables: dict[str, dict[str, Any]] = {
        "objective": {"kind": flags["objective"], **OBJECTIVES.get(flags["objective"], {})},
        "assumptions": {"lam": 0.01},
        "algorithm": {"kind": flags["algorithm"]},
        "adversary": {"kind": flags["adversary"]},
    }
    for setting in settings:
        _set(tables, setting)
    raw = {
        "name": "run",
        "T": flags["rounds"],
        "seeds": [flags["seed"]],
        "noise_std": flags["noise"],
        "threat": flags["threat"],
        "objective": tables["objective"],
        "assumptions": tables["assumptions"],
        "algorithms": [tables["algorithm"]],
        "adversaries": [tables["adversary"]],
        **({"budgets": [flags["corruption"]]} if flags["corruption"] else {}),
    }
    (run,) = read_spec(raw).runs()
    return run


def run_from_spec(path: Path, profile: str | None, wanted: Mapping[str, Any]) -> Run:
    """The first run of a spec with the wanted values (None: any), attacked runs before clean ones.

    Raises:
        ValueError: There is none; the message says which values there are.
    """
    runs = load_spec(path, profile).runs()
    runs = tuple(sorted(runs, key=lambda run: run.game["adversary"]["kind"] == "none"))
    for name, value in wanted.items():
        allowed = list(dict.fromkeys(_cell(run)[name] for run in runs))
        runs = tuple(run for run in runs if value is None or _cell(run)[name] == value)
        if not runs:
            words = ", ".join(repr(word) for word in allowed)
            raise ValueError(f"--{name} must be one of {words} in {path}, got {value!r}")
    return runs[0]


def seeds_of(words: str) -> list[int]:
    """The seeds that "10" (0 to 9), "100-104" and "3,5,8" stand for."""
    first, dash, last = words.partition("-")
    numbers = [part.strip() for part in ((first, last) if dash else words.split(","))]
    if not all(part.isdecimal() for part in numbers):
        raise ValueError(f"--seeds must be a number, a list 3,5,8 or a range 100-104, got {words!r}")
    seeds = [int(part) for part in numbers]
    if dash:
        return list(range(seeds[0], seeds[-1] + 1))
    return list(range(seeds[0])) if len(seeds) == 1 else seeds


def summary(record: Record) -> dict[str, Any]:
    """A game in a few numbers, JSON-able."""
    meta, run = record.meta, record.meta["run"]
    promise = meta["algorithm"]["guarantee"]
    n_last = max(1, record.T // 10)
    return {
        "algorithm": run["algorithm"],
        "adversary": run["adversary"],
        "objective": run["objective"],
        "threat": meta["threat"],
        "rounds": record.T,
        "seed": run["seed"],
        "corruption": run["C"],
        "corruption_assumed": run["C_assumed"],
        "corruption_spent": float(record.spent[-1]),
        "regret": float(record.cumulative_regret[-1]),
        "regret_per_round_at_the_end": float(np.mean(record.instant_regret[-n_last:])),
        "simple_regret": record.simple_regret,
        "simple_regret_certificate": meta["certificate"],
        "recommended": meta["algorithm"]["recommendation"]["x"],
        "guarantee": str(NOTHING if promise is None else Guarantee.from_plain(promise)),
        "detected": meta["detected"],
        "refuted": meta["refuted"],
        "covered": meta["covered"],
        "ms_per_round": 1e3 * float(record.columns["seconds"].mean()),
        "key": run["key"],
    }


def _cell(run: Run) -> dict[str, Any]:
    """What the flags can select by."""
    game = run.game
    return {**run.labels, "corruption": game["C"], "rounds": game["T"], "seed": game["seed"]}


def _set(tables: dict[str, dict[str, Any]], setting: str) -> None:
    """Put one "section.key=value" into the tables."""
    name, equals, value = setting.partition("=")
    section, *keys = name.strip().split(".")
    if not equals or section not in _SECTIONS or not keys or not all(keys):
        words = ", ".join(_SECTIONS)
        raise ValueError(f"--set must be SECTION.KEY=VALUE with section {words}, got {setting!r}")
    table = tables[section]
    for key in keys[:-1]:
        inner = table.get(key, {})
        if not isinstance(inner, Mapping):
            raise ValueError(f"--set must name a key of a table, got {setting!r}")
        table[key] = table = dict(inner)
    table[keys[-1]] = _toml(value.strip())


def _toml(value: str) -> Any:
    """Parse as TOML; fall back to the raw string."""
    try:
        return tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return value
