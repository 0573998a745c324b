"""An algorithm's state as plain data, and back; nothing is trusted that is not checked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unbribable.decision.draws import Seed
from unbribable.decision.journal import Journal, Lost
from unbribable.decision.proposal import CHOOSERS, Query, Reading
from unbribable.model import checks
from unbribable.model.box import Candidates
from unbribable.model.checks import Floats

FORMAT = 3

_DTYPES = {
    "id": np.int64,
    "index": np.int64,
    "y": np.float64,
    "lam": np.float64,
    "lcb": np.float64,
    "is_foreign": np.bool_,
}
"""Columns of numbers. `lcb` is NaN where there was no bound, `is_foreign` whether the user chose."""


def saved(
    identity: dict[str, Any],
    seed: Seed,
    t: int,
    journal: Journal,
    pending: Sequence[Query],
    candidates: Candidates,
) -> dict[str, Any]:
    """JSON-able values, and one array per column of the readings."""
    readings = journal.readings
    numbers: dict[str, list[Any]] = {
        "id": [reading.t for reading in readings],
        "index": [candidates.index_of(reading.u) for reading in readings],
        "y": [reading.y for reading in readings],
        "lam": [reading.lam for reading in readings],
        "lcb": [np.nan if reading.lcb is None else reading.lcb for reading in readings],
        "is_foreign": [reading.chosen_by == "user" for reading in readings],
    }
    columns: dict[str, Any] = {
        name: np.array(numbers[name], dtype=dtype) for name, dtype in _DTYPES.items()
    }
    columns["instance"] = [reading.learner for reading in readings]
    columns["drawn"] = [reading.drawn for reading in readings]
    columns["chosen_by"] = [reading.chosen_by for reading in readings]
    if candidates.box is not None:  # a state has to name a Box's candidates; a Grid's are its own
        columns["u"] = candidates.coordinates[columns["index"]]
    queries = [
        {
            "id": query.t,
            "u": query.u.tolist(),
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
        "retracted": [[id_, is_unrelated] for id_, is_unrelated in journal.retracted.items()],
        "lost": [[t, lost.because_of_value, lost.n_told] for t, lost in journal.lost.items()],
    }


def check_identity(state: Mapping[str, Any], identity: dict[str, Any]) -> None:
    """Refuse a state of another format, or of an algorithm built with other arguments."""
    if not isinstance(state, Mapping) or state.get("format") != FORMAT:
        found = state.get("format") if isinstance(state, Mapping) else state
        raise ValueError(f"state must have format {FORMAT}, got {found!r}")
    for key in ("identity", "seed", "t", "readings", "pending", "retracted", "lost"):
        if key not in state:
            raise ValueError(f"state must have the key {key!r}, got {list(state)}")
    for name, value in identity.items():
        then = state["identity"].get(name)
        if then != value:
            raise ValueError(f"{name} must be the saved one, {then!r}, got {name}={value!r}")


@dataclass(frozen=True)
class Loaded:
    """What a state says about the rounds."""

    t: int
    readings: list[Reading]
    """In the order of telling."""
    pending: list[Query]
    retracted: dict[int, bool]
    lost: dict[int, Lost]


def load_readings(
    state: Mapping[str, Any],
    candidates: Candidates,
    labels: Mapping[str, Any],
    drawn: Callable[[int], str],
) -> Loaded:
    """What became of the rounds; everything is checked before anything is learned from it.

    A state without the columns `drawn` and `chosen_by` is read too: then the draws are by seed and
    round, as `drawn` says, and what the user did not choose the algorithm did.
    """
    columns = state["readings"]
    is_box = candidates.box is not None
    needed = (*_DTYPES, "instance", *(["u"] if is_box else []))
    missing = [name for name in needed if name not in columns]
    if missing:
        raise ValueError(f"readings must have the columns {missing}, got {list(columns)}")
    plain: dict[str, Any] = {
        name: np.asarray(columns[name], dtype=dtype) for name, dtype in _DTYPES.items()
    }
    plain["instance"] = columns["instance"]
    plain["drawn"] = columns.get("drawn") or [drawn(int(t)) for t in plain["id"]]
    plain["chosen_by"] = columns.get("chosen_by") or [
        "user" if is_foreign else "algorithm" for is_foreign in plain["is_foreign"]
    ]
    if is_box:
        plain["u"] = _points(columns["u"], candidates)
    lengths = {name: len(column) for name, column in plain.items()}
    if len(set(lengths.values())) != 1:
        raise ValueError(f"readings must be columns of equal length, got lengths {lengths}")
    readings = []
    for k in range(lengths["id"]):
        index, lcb = int(plain["index"][k]), float(plain["lcb"][k])
        if not is_box:
            _check_index(index, candidates)
        reading = Reading(
            t=int(plain["id"][k]),
            u=plain["u"][k] if is_box else candidates.coordinates[index],
            y=checks.reading("y", float(plain["y"][k])),
            drawn=plain["drawn"][k],
            learner=plain["instance"][k],
            lam=checks.real("lam", float(plain["lam"][k]), above=0.0),
            lcb=None if np.isnan(lcb) else lcb,
            chosen_by=checks.choice("chosen_by", plain["chosen_by"][k], CHOOSERS),
        )
        _check_label(reading.learner, labels)
        _check_label(reading.drawn, labels)
        readings.append(reading)
    queries = []
    for row in state["pending"]:
        _check_label(row["instance"], labels)
        if not is_box:
            _check_index(row["index"], candidates)
        u = _points([row["u"]], candidates)[0]
        if not is_box and not np.array_equal(u, candidates.coordinates[row["index"]]):
            raise ValueError(f"u must be the candidate {row['index']}, got u={row['u']}")
        missing = {"mu", "sigma", "width", "ucb"} - row.keys()
        if missing:
            raise ValueError(f"a pending query must have {sorted(missing)}, got {sorted(row)}")
        words = {name: value for name, value in row.items() if name != "id"}
        t = checks.integer("id", row["id"], at_least=1)
        queries.append(Query(**{**words, "t": t, "x": candidates.x_of(u), "u": u, "drawn": drawn(t)}))
    t = checks.integer("t", state["t"], at_least=0)
    ids = [reading.t for reading in readings] + [query.t for query in queries]
    if len(set(ids)) < len(ids):
        raise ValueError(f"an id must be told or pending once, got ids {sorted(ids)}")
    if ids and not 1 <= min(ids) <= max(ids) <= t:
        raise ValueError(f"t must be at least every id, got t={t} with ids {min(ids)}..{max(ids)}")
    retracted = {}
    for id_, is_unrelated in state["retracted"]:
        id_ = checks.integer("retracted id", id_, at_least=1)
        retracted[id_] = checks.truth("is_unrelated", is_unrelated)
    lost: dict[int, Lost] = {}
    for id_, because_of_value, n_told in state["lost"]:
        if checks.integer("lost round", id_, at_least=1) in ids or id_ > t:
            raise ValueError(f"a lost round must be at most t={t}, not told or pending, got {id_}")
        because = checks.truth("because_of_value", because_of_value)
        lost[id_] = Lost(because, checks.integer("n_told", n_told, at_least=0))
    return Loaded(t, readings, queries, retracted, lost)


def _points(rows: Any, candidates: Candidates) -> Floats:
    """Saved coordinates as an array, inside the unit cube where the domain is a Box."""
    d = candidates.coordinates.shape[1]
    u = checks.array(
        "u", np.asarray(rows, dtype=np.float64).reshape(len(rows), -1 if len(rows) else d), ndim=2
    )
    if len(u) and u.shape[1] != d:
        raise ValueError(f"u must have {d} coordinates, got shape {u.shape}")
    if candidates.box is not None and not ((u >= 0.0) & (u <= 1.0)).all():
        raise ValueError(f"u must lie in the unit cube, got u={u.tolist()}")
    return u


def _check_index(index: int, candidates: Candidates) -> None:
    if not 0 <= index < candidates.n:
        raise ValueError(f"index must be in 0..{candidates.n - 1}, got index={index}")


def _check_label(label: Any, labels: Mapping[str, Any]) -> None:
    if label is not None and not (isinstance(label, str) and label in labels):
        raise ValueError(f"instance must be one of {list(labels)} or None, got instance={label!r}")
