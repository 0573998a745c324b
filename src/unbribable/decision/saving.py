"""An algorithm's state as plain data, and back; nothing is trusted that is not checked."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from unbribable.decision.draws import Seed
from unbribable.decision.proposal import Query, Reading
from unbribable.model import checks
from unbribable.model.domain import Grid

FORMAT = 1

_DTYPES = {
    "id": np.int64,
    "index": np.int64,
    "y": np.float64,
    "lam": np.float64,
    "lcb": np.float64,
    "is_foreign": np.bool_,
}


def saved(
    identity: dict[str, Any],
    seed: Seed,
    t: int,
    readings: Sequence[Reading],
    pending: Sequence[Query],
) -> dict[str, Any]:
    """JSON-able values, and one array per column of the readings."""
    columns: dict[str, Any] = {
        name: np.array([getattr(reading, name) for reading in readings], dtype=dtype)
        for name, dtype in _DTYPES.items()
    }
    columns["instance"] = [reading.instance for reading in readings]
    queries = [
        {
            "id": query.id,
            "index": query.index,
            "instance": query.instance,
            "mu": query.mu,
            "sigma": query.sigma,
            "width": query.width,
            "ucb": query.ucb,
        }
        for query in pending
    ]
    return {
        "format": FORMAT,
        "identity": identity,
        "seed": seed.to_plain(),
        "t": t,
        "readings": columns,
        "pending": queries,
    }


def check_identity(state: Mapping[str, Any], identity: dict[str, Any]) -> None:
    """Refuse a state of another format, or of an algorithm built with other arguments."""
    if not isinstance(state, Mapping) or state.get("format") != FORMAT:
        found = state.get("format") if isinstance(state, Mapping) else state
        raise ValueError(f"state must have format {FORMAT}, got {found!r}")
    for name, value in identity.items():
        then = state["identity"].get(name)
        if then != value:
            raise ValueError(f"{name} must be the saved one, {then!r}, got {name}={value!r}")


def load_readings(
    state: Mapping[str, Any], domain: Grid, labels: Mapping[str, Any]
) -> tuple[list[Reading], list[Query]]:
    """Readings and pending queries, each checked, before anything is learned from them."""
    columns = state["readings"]
    plain: dict[str, Any] = {
        name: np.asarray(columns[name], dtype=dtype) for name, dtype in _DTYPES.items()
    }
    plain["instance"] = columns["instance"]
    lengths = {name: len(column) for name, column in plain.items()}
    if len(set(lengths.values())) != 1:
        raise ValueError(f"readings must be columns of equal length, got lengths {lengths}")
    readings = []
    for k in range(lengths["id"]):
        reading = Reading(
            id=int(plain["id"][k]),
            index=int(plain["index"][k]),
            y=float(plain["y"][k]),
            instance=plain["instance"][k],
            lam=float(plain["lam"][k]),
            lcb=float(plain["lcb"][k]),
            is_foreign=bool(plain["is_foreign"][k]),
        )
        _check_place(reading.index, reading.instance, domain, labels)
        if not math.isfinite(reading.y):
            raise ValueError(f"y must be finite, got y={reading.y} in reading {reading.id}")
        checks.real("lam", reading.lam, above=0.0)
        readings.append(reading)
    queries = []
    for row in state["pending"]:
        _check_place(row["index"], row["instance"], domain, labels)
        queries.append(Query(t=row["id"], x=domain.points[row["index"]], **row))
    return readings, queries


def _check_place(index: int, label: str | None, domain: Grid, labels: Mapping[str, Any]) -> None:
    if not 0 <= index < domain.n:
        raise ValueError(f"index must be in 0..{domain.n - 1}, got index={index}")
    if label is not None and label not in labels:
        raise ValueError(f"instance must be one of {list(labels)} or None, got instance={label!r}")
