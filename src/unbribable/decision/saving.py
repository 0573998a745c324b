"""An algorithm's state as plain data, and back; nothing is trusted that is not checked."""

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
    for key in ("identity", "seed", "t", "readings", "pending"):
        if key not in state:
            raise ValueError(f"state must have the key {key!r}, got {list(state)}")
    for name, value in identity.items():
        then = state["identity"].get(name)
        if then != value:
            raise ValueError(f"{name} must be the saved one, {then!r}, got {name}={value!r}")


def load_readings(
    state: Mapping[str, Any], domain: Grid, labels: Mapping[str, Any]
) -> tuple[int, list[Reading], list[Query]]:
    """Round, readings and pending queries, each checked, before anything is learned from them."""
    columns = state["readings"]
    missing = [name for name in (*_DTYPES, "instance") if name not in columns]
    if missing:
        raise ValueError(f"readings must have the columns {missing}, got {list(columns)}")
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
        checks.real("y", reading.y)
        checks.real("lam", reading.lam, above=0.0)
        readings.append(reading)
    queries = []
    for row in state["pending"]:
        _check_place(row["index"], row["instance"], domain, labels)
        queries.append(Query(t=row["id"], x=domain.points[row["index"]], **row))
    t = checks.integer("t", state["t"], at_least=0)
    ids = [reading.id for reading in readings] + [query.id for query in queries]
    if len(set(ids)) < len(ids):
        raise ValueError(f"an id must be told or pending once, got ids {sorted(ids)}")
    if ids and not 1 <= min(ids) <= max(ids) <= t:
        raise ValueError(f"t must be at least every id, got t={t} with ids {min(ids)}..{max(ids)}")
    return t, readings, queries


def _check_place(index: int, label: Any, domain: Grid, labels: Mapping[str, Any]) -> None:
    if not 0 <= index < domain.n:
        raise ValueError(f"index must be in 0..{domain.n - 1}, got index={index}")
    if label is not None and not (isinstance(label, str) and label in labels):
        raise ValueError(f"instance must be one of {list(labels)} or None, got instance={label!r}")
