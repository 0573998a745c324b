"""A table of past experiments (a CSV file, a data frame, arrays) as a space and its readings."""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unbribable.auditing.columns import Column
from unbribable.auditing.csv_file import read_csv
from unbribable.model import checks
from unbribable.model.dimensions import Choice, Dimension
from unbribable.model.domain import Grid
from unbribable.say import table as say
from unbribable.study.space import Space

MAX_ROWS = 10_000
"""Rows of a table, at most: an audit of so many takes about ten seconds."""

MAX_COORDINATES = 100
"""Parameters that an audit takes, at most; each option of a choice counts as one."""

MAX_CELLS = 200_000
"""Rows times parameters, at most: an audit of so many takes half a minute to a minute."""

_UNIT = re.compile(r"\s*[\[(].*[\])]\s*$")


@dataclass(frozen=True, eq=False)
class Table:
    """Past experiments, in any order."""

    space: Space
    points: tuple[Any, ...]
    """Where they were done: arrays, or dicts by name."""
    y: tuple[float | None, ...]
    """What was read there; None: nothing, the experiment failed."""
    labels: tuple[str, ...]
    """Where each of them stands in the table, in words; empty for arrays."""
    target: str
    """What was read."""
    notes: tuple[str, ...]
    """What was left out, and why: sentences."""
    blocks: tuple[str | float | None, ...] = ()
    """What each row was read with and shares an offset with; None where that is not known."""

    def __post_init__(self) -> None:
        if not self.blocks:
            object.__setattr__(self, "blocks", (None,) * len(self.y))

    @property
    def parameters(self) -> dict[str, str]:
        """Name -> its values, in words."""
        return ranges(self.space)


def read_table(
    source: Any,
    y: Any = None,
    space: Any = None,
    *,
    target: str | None = None,
    ignore: Iterable[str] = (),
    block: str | None = None,
    check: Callable[[str, Any], float] = checks.reading,
) -> Table:
    """The parameters and readings of a table.

    Without a space, every column is a parameter that varies and holds numbers or a few words; its range
    is that of its values. Columns that are constant, count the rows, hold dates or free text are left
    out. Rows without a parameter are left out, rows without a reading count as failed, and equal rows
    are repeated readings. The notes say so.

    Args:
        source: A CSV file, a data frame (pandas, Polars, ...), a dict of columns, a list of dicts, or
            an array of points (n, d).
        y: The readings, (n,), where the source does not hold them.
        space: Where the points come from, as `maximize` takes it; its names choose the columns.
        target: The column that was read.
        ignore: Columns that are no parameters, for example other results.
        block: The column that says what a row was read with, and is no parameter.
        check: What a reading can be; see `Column.readings`.

    Raises:
        OSError: The file cannot be read.
        TypeError, ValueError: The message names the column and the row, and says what to do.
    """
    given = None if space is None else Space.of(space)
    notes: list[str] = []
    if isinstance(source, str | os.PathLike):
        names, lines, labels = read_csv(Path(source), notes)
        columns = {name: [line[k] for line in lines] for k, name in enumerate(names)}
    else:
        found = _columns(source, given)
        if found is None:
            if block is not None:
                raise ValueError(
                    f"block must be the name of a column, got block={block!r} and points without names; "
                    "one with names is a CSV file, a data frame, a dict of columns or a list of dicts"
                )
            return _unnamed(source, y, given, target, ignore, check)
        columns, labels = found
    if y is not None:
        if target is not None:
            raise ValueError(f"target must be left out where y is given, got target={target!r}")
        told = list(y)
        if len(told) != len(labels):
            raise ValueError(f"y must have one reading per row, {len(labels)}, got {len(told)}")
        target = str(getattr(y, "name", None) or "y")
        columns = {name: cells for name, cells in columns.items() if name != target}
        columns[target] = told
    elif target is None:
        raise ValueError(f"target must name the column that was read, one of {[*columns]}, got none")
    target = _named("target", target, columns)
    if not labels:
        raise ValueError("a table must have at least one row, got none below its header")
    _check_rows(len(labels))
    readings = Column.of(target, columns.pop(target), labels).readings(check)
    for name in [_named("ignore", name, columns) for name in ignore]:
        del columns[name]
    blocks: list[Any] = [None] * len(labels)
    if block is not None:
        name = _named("block", block, columns)
        blocks = Column.of(name, columns.pop(name), labels).blocks()
    if given is not None and given.encoding is None:
        raise ValueError(
            "space of a table must have names, a dict from column to bounds, got one without"
        )
    if given is None:
        every = [Column.of(name, cells, labels) for name, cells in columns.items()]
        parameters = _guessed(every, notes)
    else:
        parameters = _chosen(columns, labels, given, notes)
    values = {name: column.values(name, dimension) for name, (column, dimension) in parameters.items()}
    for name, cells in values.items():
        empty = [label for label, cell in zip(labels, cells, strict=True) if cell is None]
        if empty:
            notes.append(say.without(name, empty))
    rows = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    kept = [k for k, row in enumerate(rows) if None not in row.values()]
    return Table(
        Space.of({name: dimension for name, (_, dimension) in parameters.items()}),
        tuple(rows[k] for k in kept),
        _checked([readings[k] for k in kept], [labels[k] for k in kept], target, notes),
        tuple(labels[k] for k in kept),
        target,
        tuple(notes),
        tuple(blocks[k] for k in kept),
    )


def _checked(
    readings: Sequence[float | None], labels: Sequence[str], target: str, notes: list[str]
) -> tuple[float | None, ...]:
    """The readings, if there is one; notes about those that failed."""
    failed = [label for label, reading in zip(labels, readings, strict=True) if reading is None]
    if len(failed) == len(readings):
        raise ValueError(f"a table must have at least one reading of {target!r}, got none")
    if failed:
        notes.append(say.failed(failed, target))
    return tuple(readings)


# --- which columns are parameters ------------------------------------------------------------------


def _guessed(columns: Sequence[Column], notes: list[str]) -> dict[str, tuple[Column, Dimension]]:
    """The columns that can be parameters, by name; notes about the others."""
    found: dict[str, tuple[Column, Dimension]] = {}
    left_out: dict[str, str] = {}
    for column in columns:
        dimension = column.dimension()
        if isinstance(dimension, str):
            left_out[column.name] = dimension
        else:
            found[column.name] = (column, dimension)
    named = [name for name, (column, _) in found.items() if column.is_named_counter]
    others = [name for name, (column, _) in found.items() if column.is_counter and name not in named]
    for counters in (named, others):
        if len(counters) < len(found):  # one that is alone may be a sweep
            for name in counters:
                del found[name]
                left_out[name] = "only counts the rows"
    if left_out:
        notes.append(say.no_parameters(left_out))
    if not found:
        why = notes[-1] if left_out else "There is no column beside the target."
        raise ValueError(f"a table must have a column that can be a parameter, got none. {why}")
    n_rows = len(columns[0].cells)
    check_size(n_rows, sum(dimension.width for _, dimension in found.values()))
    return found


def check_size(n: int, d: int) -> None:
    """Refuse n rows of d coordinates if they are too many to be audited.

    Raises:
        ValueError: They are more than `MAX_COORDINATES` or `MAX_CELLS`.
    """
    if d > MAX_COORDINATES:
        raise ValueError(
            f"a table must have at most {MAX_COORDINATES} parameters, where a choice counts once for "
            f"each option, got {d}; ignore columns that matter little"
        )
    if n * d > MAX_CELLS:
        raise ValueError(
            f"rows times parameters of a table must be at most {MAX_CELLS}, got {n} times {d}; take a "
            "part of the rows, or ignore columns that matter little"
        )


def _check_rows(n: int) -> None:
    if n > MAX_ROWS:
        raise ValueError(
            f"a table must have at most {MAX_ROWS} rows, got {n}; take a part, for example the rows of "
            "one instrument"
        )


def _chosen(
    columns: Mapping[str, Sequence[Any]], labels: Sequence[str], space: Space, notes: list[str]
) -> dict[str, tuple[Column, Dimension]]:
    """The columns that the space names, under the names it gives them."""
    assert space.encoding is not None
    headers = {name: _named("space", name, columns) for name in space.encoding.names}
    found = {}
    for name, dimension in space.encoding.dimensions.items():
        header = headers[name]
        found[name] = (Column.of(header, columns[header], labels), dimension)
    others = [name for name in columns if name not in headers.values()]
    if others:
        notes.append(say.not_in_space(others))
    return found


def _named(what: str, name: str, columns: Iterable[str]) -> str:
    """The column of this name; its unit in brackets and the case of its letters may be missing."""
    names = list(columns)
    for plain in (str, _plain, lambda text: _plain(text).lower()):
        found = [each for each in names if plain(each) == plain(name)]
        if len(found) == 1:
            return found[0]
    raise ValueError(f"{what} must be one of the columns {names}, got {name!r}")


def _plain(header: str) -> str:
    return _UNIT.sub("", header).strip()


# --- where the cells come from ---------------------------------------------------------------------


def _columns(source: Any, space: Space | None) -> tuple[dict[str, list[Any]], list[str]] | None:
    """Columns by name, and where rows stand; None if they have no names."""
    index: Any = None
    if isinstance(source, Mapping):
        columns = {str(name): list(cells) for name, cells in source.items()}
    elif hasattr(source, "columns") and hasattr(source, "__getitem__"):
        names = list(source.columns)
        if len({str(name) for name in names}) < len(names):
            raise ValueError(f"columns must have different names, got {[str(name) for name in names]}")
        columns = {str(name): list(source[name]) for name in names}
        index = getattr(source, "index", None)
    elif isinstance(source, Sequence) and len(source) and isinstance(source[0], Mapping):
        keys = dict.fromkeys(key for row in source for key in row)
        columns = {str(key): [row.get(key) for row in source] for key in keys}
    elif space is not None and space.encoding is not None:
        names = list(space.encoding.names)
        if any(len(row) != len(names) for row in source):
            raise ValueError(f"a point must have one value for each of {names}, got {source!r}")
        columns = {name: [row[k] for row in source] for k, name in enumerate(names)}
    else:
        return None
    counts = {name: len(cells) for name, cells in columns.items()}
    if len(set(counts.values())) > 1:
        raise ValueError(f"columns must have the same length, got {counts}")
    n = max(counts.values(), default=0)
    return columns, [f"row {label}" for label in (range(n) if index is None else index)]


def _unnamed(
    source: Any,
    y: Any,
    space: Space | None,
    target: str | None,
    ignore: Any,
    check: Callable[[str, Any], float],
) -> Table:
    """Points of an array."""
    raw = np.asarray(source)
    if raw.dtype.kind not in "iuf":
        raise TypeError(f"points must be numbers, or a table with names, got dtype {raw.dtype}")
    if target is not None or list(ignore):
        raise ValueError(
            f"target and ignore must be left out where points have no names, got target={target!r}; a "
            "table with names is a CSV file, a data frame, a dict of columns or a list of dicts"
        )
    if y is None:
        raise ValueError("points must come with their readings y, got no y; for a table, say target=")
    raw = raw[:, None] if raw.ndim == 1 else raw
    _check_rows(len(y))
    labels = [f"row {k}" for k in range(len(y))]
    readings = Column.of("y", list(y), labels).readings(check)
    if raw.ndim != 2 or len(raw) != len(readings) or not raw.size:
        raise ValueError(
            f"points must be (n, d) and y (n,) with n, d >= 1, got {raw.shape} and ({len(readings)},)"
        )
    notes: list[str] = []
    is_whole = ~np.isnan(raw.astype(np.float64)).any(axis=1)
    if not is_whole.all():
        notes.append(say.without(None, list(np.array(labels)[~is_whole])))
    kept = np.flatnonzero(is_whole)
    X = checks.array("points", raw[kept], ndim=2)
    if space is None:
        low, high = X.min(axis=0, initial=np.inf), X.max(axis=0, initial=-np.inf)
        for k in np.flatnonzero(~(low < high)):
            raise ValueError(
                f"every coordinate of points must vary, got one value in coordinate {k}; leave it out"
            )
        space = Space.of(list(zip(low.tolist(), high.tolist(), strict=True)))
    told = _checked([readings[k] for k in kept], [labels[k] for k in kept], "y", notes)
    return Table(space, tuple(X), told, (), "y", tuple(notes))


def ranges(space: Space) -> dict[str, str]:
    """Name of each parameter, or of each coordinate -> its values, in words."""
    if space.encoding is not None:
        return {name: _said(each) for name, each in space.encoding.dimensions.items()}
    domain = space.domain
    if isinstance(domain, Grid):
        low, high = domain.points.min(axis=0), domain.points.max(axis=0)
    else:
        low, high = domain.low, domain.high
    names = ["x"] if domain.d == 1 else [f"x[{j}]" for j in range(domain.d)]
    ends = zip(names, low, high, strict=True)
    return {name: f"numbers from {first:g} to {last:g}" for name, first, last in ends}


def _said(dimension: Dimension) -> str:
    if isinstance(dimension, Choice):
        return "one of " + ", ".join(map(str, dimension.options))
    kind = "numbers" if type(dimension).__name__ == "Real" else "whole numbers"
    scale = ", logarithmic" if dimension.log else ""
    return f"{kind} from {dimension.low:g} to {dimension.high:g}{scale}"
