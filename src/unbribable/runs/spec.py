"""A TOML spec into validated values: every key through one explicit table, no strings that are code."""

import math
import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from unbribable.runs import fields, own
from unbribable.runs.builders import ALGORITHMS, ASSUMPTIONS, NEEDS_C
from unbribable.runs.experiment import AdversarySpec, AlgorithmSpec, Spec
from unbribable.runs.fields import Field, read_kind, read_table
from unbribable.runs.kinds import Plain, keys_of, read_objective
from unbribable.runs.liars import ADVERSARIES, needs_strong

MAX_RUNS = 100_000
"""More runs than that are refused: the list of them is held in memory, and is a file of every sweep."""


_ALGORITHM: fields.Fields = {
    "label": Field(fields.text, None),
    "C": Field(fields.number(at_least=0.0), None),
    "C_factor": Field(fields.number(above=0.0), 1.0),
}
_ADVERSARY: fields.Fields = {
    "label": Field(fields.text, None),
    "threat": Field(fields.word("weak", "strong"), None),
}


def _algorithm(path: str, raw: Any) -> dict[str, Any]:
    table = read_kind(path, raw, keys_of(ALGORITHMS), own.PLAYER, _ALGORITHM)
    is_guest = own.is_own(table["kind"])
    table["needs_C"] = own.names(table["kind"], "C") if is_guest else table["kind"] in NEEDS_C
    if is_guest and not table["needs_C"] and raw.keys() & {"C", "C_factor"}:
        raise ValueError(f"{path} must not have C or C_factor: {table['kind']} takes no C, got {raw}")
    return table


def _adversary(path: str, raw: Any) -> dict[str, Any]:
    return read_kind(path, raw, keys_of(ADVERSARIES), own.ADVERSARY, _ADVERSARY)


def _objective(path: str, raw: Any) -> dict[str, Any]:
    if not isinstance(raw, Mapping):
        return read_objective(path, raw)
    label = fields.text(f"{path}.label", raw["label"]) if "label" in raw else None
    plain = read_objective(path, {key: value for key, value in raw.items() if key != "label"})
    kind = plain["kind"]
    named = own.name_of(kind) if own.is_own(kind) else plain.get("name", kind)
    return {"label": label or named, "plain": plain}


def _horizons(path: str, raw: Any) -> list[int]:
    horizons: list[int] = fields.each(fields.integer(1))(path, raw if isinstance(raw, list) else [raw])
    fields.distinct(path, horizons)
    return horizons


def _seeds(path: str, raw: Any) -> list[int]:
    """A count n stands for 0 .. n-1."""
    if not isinstance(raw, list):
        count = fields.integer(1)(path, raw)
        if count > MAX_RUNS:
            raise ValueError(f"{path} must be at most {MAX_RUNS}, got {path}={count}")
        return list(range(count))
    seeds: list[int] = fields.each(fields.integer(0))(path, raw)
    fields.distinct(path, seeds)
    return seeds


def _budgets(path: str, raw: Any) -> list[float]:
    budgets: list[float] = fields.each(fields.number(above=0.0))(path, raw)
    fields.distinct(path, budgets)
    return budgets


SPEC: fields.Fields = {
    "name": Field(fields.text),
    "T": Field(_horizons),
    "seeds": Field(_seeds),
    "threat": Field(fields.word("weak", "strong"), "weak"),
    "noise_std": Field(fields.number(at_least=0.0)),
    "c_max": Field(fields.cap, "max"),
    "budgets": Field(_budgets, []),
    "objective": Field(_objective),
    "assumptions": Field(lambda path, raw: read_table(path, raw, ASSUMPTIONS), None),
    "algorithms": Field(fields.each(_algorithm)),
    "adversaries": Field(fields.each(_adversary), None),
}
"""The keys of a spec. `c_max` is the true cap of one lie, "max" for max |f|."""


def load_spec(path: str | Path, profile: str | None = None) -> Spec:
    """The spec in a TOML file, with the profile's keys in place of its own.

    Classes of the user's own are imported from the file's folder and from the working directory.

    Raises:
        TypeError, ValueError: The message names the dotted key, the rule and the value.
    """
    with Path(path).open("rb") as file:
        try:
            raw = tomllib.load(file)
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"{path} must be TOML: {error}") from None
    return read_spec(raw, profile, folder=Path(path).parent)


def read_spec(
    raw: Mapping[str, Any], profile: str | None = None, folder: str | Path | None = None
) -> Spec:
    """The spec that parsed TOML stands for; see load_spec.

    Args:
        raw: Parsed TOML.
        profile: One of its profiles.
        folder: Where classes of the user's own are looked for before the working directory.
    """
    profiles = raw.get("profiles", {})
    body = {key: value for key, value in raw.items() if key != "profiles"}
    if not isinstance(profiles, Mapping):
        raise TypeError(f"profiles must be a table of tables, got profiles={profiles!r}")
    for name, overrides in profiles.items():
        _check_profile(name, overrides)
    if profile is not None:
        if profile not in profiles:
            known = ", ".join(repr(name) for name in profiles)
            rule = f"one of {known}" if known else "left out: this spec has no profiles"
            raise ValueError(f"profile must be {rule}, got profile={profile!r}")
        body |= profiles[profile]
    folders = [os.getcwd()] if folder is None else [str(Path(folder).resolve()), os.getcwd()]
    with own.importable(folders):
        return _spec(read_table("", body, SPEC), tuple(dict.fromkeys(folders)))


def _check_profile(name: str, overrides: Any) -> None:
    if not isinstance(overrides, Mapping):
        raise TypeError(f"profiles.{name} must be a table, got {overrides!r}")
    for key in overrides:
        if key not in SPEC:
            words = ", ".join(repr(word) for word in SPEC)
            raise ValueError(f"keys of profiles.{name} must be among {words}, got profiles.{name}.{key}")


def _spec(plain: dict[str, Any], folders: tuple[str, ...]) -> Spec:
    """The values together, defaults that depend on others filled in."""
    objective = plain["objective"]["plain"]
    algorithms = tuple(
        AlgorithmSpec(
            label=table["label"] or own.name_of(table["kind"]),
            C=table["C"],
            C_factor=table["C_factor"],
            needs_C=table["needs_C"],
            plain=_without(table, (*_ALGORITHM, "needs_C")),
        )
        for table in plain["algorithms"]
    )
    adversaries = tuple(
        AdversarySpec(
            label=table["label"] or own.name_of(table["kind"]),
            threat=table["threat"] or plain["threat"],
            plain=_without(table, _ADVERSARY),
        )
        for table in plain["adversaries"] or [{"kind": "none", "label": None, "threat": None}]
    )
    spec = Spec(
        name=plain["name"],
        T=tuple(plain["T"]),
        seeds=tuple(plain["seeds"]),
        noise_std=plain["noise_std"],
        c_max=plain["c_max"],
        objective=objective,
        objective_label=plain["objective"]["label"],
        assumptions=_assumptions(plain, objective),
        algorithms=algorithms,
        adversaries=adversaries,
        budgets=tuple(plain["budgets"]),
        folders=folders,
    )
    _check(spec)
    return spec


def _assumptions(plain: dict[str, Any], objective: Plain) -> dict[str, Any]:
    table = plain["assumptions"] or read_table("assumptions", {}, ASSUMPTIONS)
    is_figure_1 = objective["kind"] == "figure_1"
    its = {"kind": "squared_exponential", "lengthscale": 0.1} if is_figure_1 else objective.get("kernel")
    if own.is_own(objective["kind"]):
        its = None  # a key of that name is the guest's business
    truth = {"kernel": its, "noise_std": plain["noise_std"], "c_max": plain["c_max"]}
    filled = {key: truth.get(key) if value is None else value for key, value in table.items()}
    kind = objective["kind"]
    if filled["kernel"] is None:
        raise ValueError(f"assumptions.kernel must be given for objective.kind={kind!r}, got none")
    if filled["B"] == "norm" and (its is None or filled["kernel"] != its):
        raise ValueError(
            "assumptions.B must be a number where the objective's norm in the assumed kernel is not "
            f"known, got assumptions.B='norm' with objective.kind={kind!r}"
        )
    return filled


def _check(spec: Spec) -> None:
    """What no key can be checked for alone."""
    lists = {
        "seeds": spec.seeds,
        "T": spec.T,
        "algorithms": spec.algorithms,
        "adversaries": spec.adversaries,
        "budgets": spec.budgets or (0.0,),
    }
    n_runs = math.prod(len(values) for values in lists.values())
    if n_runs > MAX_RUNS:
        words = " x ".join(f"{len(values)} {name}" for name, values in lists.items())
        raise ValueError(f"a spec must have at most {MAX_RUNS} runs, got {words} = {n_runs}: split it")
    fields.distinct("labels of algorithms", [algorithm.label for algorithm in spec.algorithms])
    fields.distinct("labels of adversaries", [adversary.label for adversary in spec.adversaries])
    for k, adversary in enumerate(spec.adversaries):
        if needs_strong(adversary.plain) and adversary.threat != "strong":
            raise ValueError(
                f"adversaries[{k}].threat must be 'strong' for {adversary.plain['kind']}, "
                f"got {adversary.threat!r}"
            )
    lies = [adversary.label for adversary in spec.adversaries if adversary.plain["kind"] != "none"]
    told = [a.label for a in spec.algorithms if a.needs_C and a.C is None]
    if not spec.budgets and (lies or told):
        raise ValueError(f"budgets must be given for {', '.join(lies + told)}, got none")


def _without(table: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key not in keys}
