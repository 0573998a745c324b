"""An algorithm's state as plain data, and back; nothing is trusted that is not checked."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from unbribable.decision.asking.draws import Seed
from unbribable.decision.journal import Journal, Lost
from unbribable.decision.proposal import CHOOSERS, Query, Reading
from unbribable.model import checks
from unbribable.theory.budgets import MAX_LEVEL

if TYPE_CHECKING:
    from unbribable.decision.algorithm import Algorithm

FORMAT = 3

_KEYS = ("identity", "seed", "t", "readings", "pending", "retracted", "lost")
_DTYPES = {
    "id": np.int64,
    "index": np.int64,
    "y": np.float64,
    "lam": np.float64,
    "lcb": np.float64,
    "level": np.int64,
}
"""Columns of numbers: `id` is the round; `lcb` is NaN where there was no bound."""
_WORDS = ("instance", "drawn", "chosen_by")
"""Columns of words."""

_OF_A_QUERY = ("index", "instance", "mu", "sigma", "width", "ucb", "level")


def identity(algorithm: "Algorithm") -> dict[str, Any]:
    """What an algorithm was built with, as plain data: a state is resumed with the same alone."""
    return {
        "algorithm": type(algorithm).__name__,
        "domain": algorithm.domain.fingerprint,
        **algorithm.knowledge,
        **algorithm.options.to_dict(),
    }


def saved(algorithm: "Algorithm") -> dict[str, Any]:
    """JSON-able values, and one array or list per column of the readings."""
    journal, search = algorithm.journal, algorithm.search
    rows = [
        (one.t, search.index_of(one.u), one.y, one.lam, one.lcb, one.level) for one in journal.readings
    ]
    numbers = zip(*rows, strict=True) if rows else [()] * len(_DTYPES)
    columns: dict[str, Any] = {  # None becomes NaN
        name: np.array(column, dtype=dtype)
        for (name, dtype), column in zip(_DTYPES.items(), numbers, strict=True)
    }
    columns["instance"] = [one.learner for one in journal.readings]
    columns["drawn"] = [one.drawn for one in journal.readings]
    columns["chosen_by"] = [one.chosen_by for one in journal.readings]
    if search.is_saved_by_point:
        points = np.array([one.u for one in journal.readings])
        columns["u"] = points.reshape(-1, algorithm.domain.d)
    return {
        "format": FORMAT,
        "identity": identity(algorithm),
        "seed": algorithm.seed.to_plain(),
        "t": algorithm.t,
        "readings": columns,
        "pending": [
            {"id": query.t, "u": query.u.tolist()} | {name: getattr(query, name) for name in _OF_A_QUERY}
            for query in algorithm.pending
        ],
        "retracted": [[t, is_unrelated] for t, is_unrelated in journal.retracted.items()],
        "lost": [[t, lost.because_of_value, lost.n_told] for t, lost in journal.lost.items()],
        **({"at_once": journal.n_at_once} if journal.n_at_once else {}),
        **({"table": journal.n_table} if journal.n_table else {}),
    }


def check_state(state: Mapping[str, Any], algorithm: "Algorithm") -> None:
    """Refuse a state of another format, or of an algorithm built with other arguments."""
    if not isinstance(state, Mapping) or state.get("format") != FORMAT:
        found = state.get("format") if isinstance(state, Mapping) else state
        raise ValueError(f"state must have format {FORMAT}, got {found!r}")
    for key in _KEYS:
        if key not in state:
            raise ValueError(f"state must have the key {key!r}, got {list(state)}")
    now = identity(algorithm)
    for name, value in now.items():
        then = state["identity"].get(name)
        if then != value:
            raise ValueError(f"{name} must be the saved one, {then!r}, got {name}={value!r}")
    for name, then in state["identity"].items():
        if then and name not in now:
            raise ValueError(
                f"a state must not have {name}, which there is no more, got {name}={then!r}"
            )


def load(state: Mapping[str, Any], algorithm: "Algorithm", seed: Seed) -> tuple[int, Journal]:
    """The rounds so far, and what is to be learned again; all of it is checked before."""
    t = checks.integer("t", state["t"], at_least=0)
    readings = _readings(state["readings"], algorithm)
    pending = {query.t: query for query in (_query(row, algorithm, seed) for row in state["pending"])}
    rounds = [reading.t for reading in readings] + [row["id"] for row in state["pending"]]
    if len(set(rounds)) < len(rounds):
        raise ValueError(f"an id must be told or pending once, got ids {sorted(rounds)}")
    if rounds and not 1 <= min(rounds) <= max(rounds) <= t:
        ids = f"{min(rounds)}..{max(rounds)}"
        raise ValueError(f"t must be at least every id, got t={t} with ids {ids}")
    retracted = {
        checks.integer("retracted id", gone, at_least=1): checks.truth("is_unrelated", is_unrelated)
        for gone, is_unrelated in state["retracted"]
    }
    lost: dict[int, Lost] = {}
    for gone, because_of_value, n_told in state["lost"]:
        if checks.integer("lost round", gone, at_least=1) in rounds or gone > t:
            raise ValueError(f"a lost round must be at most t={t}, not told or pending, got {gone}")
        because = checks.truth("because_of_value", because_of_value)
        lost[gone] = Lost(because, checks.integer("n_told", n_told, at_least=0))
    n_at_once = checks.integer("at_once", state.get("at_once", 0), at_least=0)
    n_table = checks.integer("table", state.get("table", 0), at_least=0)
    return t, Journal(retracted, lost, readings, pending, n_at_once, n_table)


def _readings(columns: Mapping[str, Any], algorithm: "Algorithm") -> list[Reading]:
    """In the order of telling."""
    needed = (*_DTYPES, *_WORDS, *(["u"] if algorithm.search.is_saved_by_point else []))
    missing = [name for name in needed if name not in columns]
    if missing:
        raise ValueError(f"readings must have the columns {missing}, got {list(columns)}")
    plain: dict[str, Any] = {
        name: np.asarray(columns[name], dtype=dtype).tolist() for name, dtype in _DTYPES.items()
    }
    plain |= {name: columns[name] for name in needed[len(_DTYPES) :]}
    lengths = {name: len(column) for name, column in plain.items()}
    if len(set(lengths.values())) != 1:
        raise ValueError(f"readings must be columns of equal length, got lengths {lengths}")
    points = algorithm.search.restored(plain["index"], plain.get("u"))
    return [
        Reading(
            t=plain["id"][k],
            u=u,
            y=checks.reading("y", plain["y"][k]),
            drawn=_label(plain["drawn"][k], algorithm),
            learner=_label(plain["instance"][k], algorithm),
            lam=checks.real("lam", plain["lam"][k], above=0.0),
            lcb=None if np.isnan(plain["lcb"][k]) else plain["lcb"][k],
            chosen_by=checks.choice("chosen_by", plain["chosen_by"][k], CHOOSERS),
            level=_level(plain["level"][k]),
        )
        for k, u in enumerate(points)
    ]


def _query(row: Mapping[str, Any], algorithm: "Algorithm", seed: Seed) -> Query:
    names = {"id", "u", *_OF_A_QUERY}
    if set(row) != names:
        raise ValueError(f"a pending query must have {sorted(names)}, got {sorted(row)}")
    t, label = checks.integer("id", row["id"], at_least=1), _label(row["instance"], algorithm)
    (u,) = algorithm.search.restored([row["index"]], [row["u"]])
    words = {name: row[name] for name in _OF_A_QUERY} | {"level": _level(row["level"])}
    x, drawn = algorithm.candidates.x_of(u), seed.choose(t, algorithm.draws)
    return Query(**{**words, "t": t, "x": x, "u": u, "instance": label, "drawn": drawn})


def _level(level: Any) -> int:
    if checks.integer("level", level, at_least=0) > MAX_LEVEL:
        raise ValueError(f"level must be at most {MAX_LEVEL}, got level={level}")
    return int(level)


def _label(label: Any, algorithm: "Algorithm") -> str | None:
    labels = list(algorithm.instances)
    if label is None or (isinstance(label, str) and label in labels):
        return label
    raise ValueError(f"instance must be one of {labels} or None, got instance={label!r}")
