"""A TOML spec into validated values: every key is declared, and no string is code."""

import math
import os
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from unbribable.lab.runs import fields, kinds
from unbribable.lab.runs.experiment import AdversarySpec, AlgorithmSpec, Spec
from unbribable.lab.runs.fields import Field, Fields, Plain, read_table
from unbribable.lab.runs.own import importable, is_own, name_of
from unbribable.lab.runs.roles import blamed
from unbribable.model import checks
from unbribable.model.domain import Grid

MAX_RUNS = 100_000
"""More runs than that are refused: the list of them is held in memory, and is a file of every sweep."""

_THREAT = partial(checks.choice, allowed=("weak", "strong"))
_LABEL: Fields = {"label": Field(checks.text, None)}
_OF_ADVERSARIES: Fields = {**_LABEL, "threat": Field(_THREAT, None)}


def _overrides(path: str, raw: Any) -> dict[str, Any]:
    """The assumptions that are given, and no others."""
    table = read_table(path, raw, kinds.ASSUMPTIONS)
    return {key: table[key] for key in raw}


_OF_ALGORITHMS: Fields = {
    **_LABEL,
    "C": Field(partial(checks.real, at_least=0.0), None),
    "C_factor": Field(partial(checks.real, above=0.0), 1.0),
    "assumptions": Field(_overrides, {}),
    "by": Field(checks.text, None),
    "knows_C": Field(fields.truth, None),
    "knows_n_lies": Field(fields.truth, None),
}


def _algorithm(path: str, raw: Any) -> AlgorithmSpec:
    plain = kinds.PLAYER.read(path, raw, _OF_ALGORITHMS)
    label, C, factor, assumptions, by, *knows = (plain.pop(key) for key in _OF_ALGORITHMS)
    told = tuple(
        key
        for key, one in zip(("C", "n_lies"), knows, strict=True)
        if key not in plain and _is_told(path, plain["kind"], key, one)
    )
    if "C" not in told and raw.keys() & {"C", "C_factor"}:
        raise ValueError(f"{path} must not have C or C_factor: {plain['kind']} is told no C, got {raw}")
    return AlgorithmSpec(label or name_of(plain["kind"]), C, factor, told, assumptions, plain, by)


def _is_told(path: str, kind: str, key: str, knows: bool | None) -> bool:
    """Whether a player is told the budget of this name: where it must be, or where the spec says so."""
    if knows and not kinds.PLAYER.names(kind, key):
        raise ValueError(f"{path}.knows_{key} must be left out: {kind} takes no {key}, got true")
    return kinds.PLAYER.needs(kind, key) if knows is None else knows


def _adversary(path: str, raw: Any) -> AdversarySpec:
    plain = kinds.ADVERSARY.read(path, raw, _OF_ADVERSARIES)
    label, threat = (plain.pop(key) for key in _OF_ADVERSARIES)
    return AdversarySpec(label or name_of(plain["kind"]), threat, plain)


def _objective(path: str, raw: Any) -> tuple[str, Plain]:
    plain = kinds.OBJECTIVE.read(path, raw, _LABEL)
    label, kind = plain.pop("label"), plain["kind"]
    return label or (name_of(kind) if is_own(kind) else plain.get("name", kind)), plain


def _seeds(path: str, raw: Any) -> list[int]:
    """A list, or a count n that stands for 0 .. n-1."""
    if not isinstance(raw, list):
        count = checks.integer(path, raw, at_least=1)
        if count > MAX_RUNS:
            raise ValueError(f"{path} must be at most {MAX_RUNS}, got {path}={count}")
        return list(range(count))
    seeds: list[int] = fields.each(partial(checks.integer, at_least=0), is_distinct=True)(path, raw)
    return seeds


SPEC: Fields = {
    "name": Field(checks.text),
    "T": Field(fields.each(partial(checks.integer, at_least=1), or_one=True, is_distinct=True)),
    "seeds": Field(_seeds),
    "threat": Field(_THREAT, "weak"),
    "noise_std": Field(partial(checks.real, at_least=0.0)),
    "c_max": Field(kinds.CAP, "max"),
    "budgets": Field(fields.each(partial(checks.real, above=0.0), is_distinct=True), []),
    "n_lies": Field(fields.each(partial(checks.integer, at_least=1), or_one=True, is_distinct=True), []),
    "opening": Field(partial(checks.integer, at_least=0), 0),
    "time_limit": Field(partial(checks.real, above=0.0), None),
    "objective": Field(_objective),
    "assumptions": Field(partial(read_table, fields=kinds.ASSUMPTIONS), None),
    "algorithms": Field(fields.each(_algorithm)),
    "adversaries": Field(fields.each(_adversary), [AdversarySpec("none", "weak", {"kind": "none"})]),
}
"""The keys of a spec. `c_max` is the true cap of one lie, "max" for max |f|. The adversary has
`budgets` of corruption or `n_lies`. `time_limit` is in seconds, of one game."""


def load_spec(path: str | Path, profile: str | None = None, seeds: Sequence[int] | None = None) -> Spec:
    """The spec in a TOML file, with the profile's keys in place of its own, and these seeds if given.

    Classes of the user's own are imported from the file's folder and from the working directory.

    Raises:
        TypeError, ValueError: The message names the dotted key, the rule and the value.
    """
    with Path(path).open("rb") as file:
        try:
            raw = tomllib.load(file)
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"{path} must be TOML: {error}") from None
    return read_spec(raw, profile, folder=Path(path).parent, seeds=seeds)


def read_spec(
    raw: Mapping[str, Any],
    profile: str | None = None,
    folder: str | Path | None = None,
    seeds: Sequence[int] | None = None,
) -> Spec:
    """The spec that parsed TOML stands for; see load_spec.

    Every player and adversary is built once, for the first seed: what their constructors refuse is
    refused here.

    Args:
        raw: Parsed TOML.
        profile: One of its profiles.
        folder: Where classes of the user's own are looked for before the working directory.
        seeds: In place of the spec's.
    """
    body = dict(raw)
    profiles = body.pop("profiles", {})
    if not isinstance(profiles, Mapping):
        raise TypeError(f"profiles must be a table of tables, got profiles={profiles!r}")
    for name, overrides in profiles.items():
        read_table(f"profiles.{name}", overrides, {key: Field(lambda _, raw: raw, 0) for key in SPEC})
    if profile is not None:
        if profile not in profiles:
            known = ", ".join(repr(name) for name in profiles)
            rule = f"one of {known}" if known else "left out: this spec has no profiles"
            raise ValueError(f"profile must be {rule}, got profile={profile!r}")
        body |= {
            key: _chosen(f"profiles.{profile}.{key}", value, body.get(key))
            for key, value in profiles[profile].items()
        }
    if seeds is not None:
        body["seeds"] = list(seeds)
    folders = [os.getcwd()] if folder is None else [str(Path(folder).resolve()), os.getcwd()]
    with importable(folders):
        spec = _spec(read_table("", body, SPEC), tuple(dict.fromkeys(folders)))
        _check(spec)
        _check_games(spec)
    return spec


def _chosen(path: str, raw: Any, ours: Any) -> Any:
    """The value of a profile's key; labels stand for tables of the spec that have them."""
    if (
        not isinstance(raw, list)
        or not isinstance(ours, list)
        or not all(isinstance(one, str) for one in raw)
    ):
        return raw
    tables = {
        str(one.get("label", name_of(str(one.get("kind"))))): one
        for one in ours
        if isinstance(one, Mapping)
    }
    return [tables[checks.choice(f"{path}[{k}]", one, tuple(tables))] for k, one in enumerate(raw)]


def _spec(plain: dict[str, Any], folders: tuple[str, ...]) -> Spec:
    """The values together, defaults that depend on others filled in."""
    label, objective = plain.pop("objective")
    assumed = plain["assumptions"] or read_table("assumptions", {}, kinds.ASSUMPTIONS)
    truth = {"noise_std": plain["noise_std"], "c_max": plain["c_max"]}
    assumptions = {key: truth.get(key) if value is None else value for key, value in assumed.items()}
    threat, n_lies = plain.pop("threat"), plain.pop("n_lies")
    if n_lies and plain["budgets"]:
        raise ValueError(f"a spec must have budgets or n_lies, not both, got n_lies={n_lies}")
    liars = [replace(one, threat=one.threat or threat) for one in plain["adversaries"]]
    lists = {key: tuple(plain[key]) for key in ("T", "seeds", "budgets", "algorithms")}
    lists["budgets"] = lists["budgets"] or tuple(n_lies)
    return Spec(
        is_counted=bool(n_lies),
        **plain | lists | {"adversaries": tuple(liars), "assumptions": assumptions},
        objective=objective,
        objective_label=label,
        folders=folders,
    )


def _check(spec: Spec) -> None:
    """What no key can be checked for alone."""
    sizes = {name: len(values) for name, values in spec.axes.items()}
    n_runs = math.prod(sizes.values())
    if n_runs > MAX_RUNS:
        words = " x ".join(f"{size} {name}" for name, size in sizes.items())
        raise ValueError(f"a spec must have at most {MAX_RUNS} runs, got {words} = {n_runs}: split it")
    fields.distinct("labels of algorithms", [algorithm.label for algorithm in spec.algorithms])
    fields.distinct("labels of adversaries", [adversary.label for adversary in spec.adversaries])
    lies = [adversary.label for adversary in spec.adversaries if adversary.plain["kind"] != "none"]
    told = [a.label for a in spec.algorithms if "C" in a.told and a.C is None]
    if not spec.budgets and (lies or told):
        raise ValueError(f"budgets must be given for {', '.join(lies + told)}, got none")
    if spec.is_counted and told:
        raise ValueError(f"C must be given for {', '.join(told)} where lies are counted, got none")
    if spec.opening >= min(spec.T):
        raise ValueError(f"opening must be < T, got opening={spec.opening}, T={min(spec.T)}")


def _check_games(spec: Spec) -> None:
    """Build every part of the first seed's games: their constructors know the limits."""
    seed, T, budget = (spec.axes[name][0] for name in ("seeds", "T", "budgets"))
    with blamed("objective"):
        objective = kinds.build_objective(spec.objective, seed)
    with blamed("assumptions"):
        assumptions = kinds.build_assumptions(spec.assumptions, objective)
    for k, algorithm in enumerate(spec.algorithms):
        table = algorithm.table(budget, is_counted=spec.is_counted)
        with blamed(f"algorithms[{k}].assumptions"):
            own = kinds.build_assumptions({**spec.assumptions, **algorithm.assumptions}, objective)
        with blamed(f"algorithms[{k}]"), suppress(ModuleNotFoundError):
            # an extra may be missing here and not where the game is played: it costs its own games
            kinds.build_player(table, Grid(objective.X), own, T, seed)
    for k, adversary in enumerate(spec.adversaries):
        game = spec.run(seed, T, adversary, spec.algorithms[0], budget).game
        with blamed(f"adversaries[{k}]"):
            kinds.build_environment(game, objective, assumptions)
