"""Mixed parameters (real, whole, one of several options) as points of the unit cube, and back."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import Any

import numpy as np

from unbribable.model import checks
from unbribable.model.checks import Floats
from unbribable.model.dimensions import Choice, Dimension, Real, Whole, plain_value


class Encoding:
    """Named parameters as points of the unit cube, and back; never changed.

    A parameter with one value takes no coordinate. If all are such, one coordinate is always 0.5.

    Args:
        dimensions: Name -> Real, Whole or Choice, at least one, in the order of the coordinates.
        names: The names in the order in which they are shown; that of the coordinates if None.

    Attributes:
        names: The names, as they are shown.
        dimensions: Name -> dimension.
        d: Number of coordinates, at least 1.
    """

    def __init__(self, dimensions: Mapping[str, Dimension], names: Sequence[str] | None = None) -> None:
        if not isinstance(dimensions, Mapping):
            raise TypeError(f"dimensions must be a mapping, got dimensions={dimensions!r}")
        if not dimensions:
            raise ValueError("dimensions must hold at least one parameter, got none")
        self.dimensions = dict(dimensions)
        self._parts: list[tuple[str, Dimension, slice]] = []
        end = 0
        for name, dimension in self.dimensions.items():
            if not isinstance(name, str):
                raise TypeError(f"the name of a parameter must be text, got {name!r}")
            if not isinstance(dimension, Dimension):
                raise TypeError(f"{name} must be a Real, Whole or Choice, got {name}={dimension!r}")
            self._parts.append((name, dimension, slice(end, end + dimension.width)))
            end += dimension.width
        self.names: tuple[str, ...] = tuple(self.dimensions if names is None else names)
        if len(self.names) != len(self.dimensions) or set(self.names) != self.dimensions.keys():
            raise ValueError(f"names must be {list(self.dimensions)} in some order, got {names!r}")
        self.d: int = max(end, 1)

    @classmethod
    def of(cls, bounds: Any) -> "Encoding":
        """From an Encoding, or from name -> bounds as people write them.

        - A Real, Whole or Choice stays what it is.
        - A pair of numbers, in a tuple or a list, is Real(low, high); a pair of integers is
          Whole(low, high). Write (0.0, 1.0) for what lies between, Choice((1, 9)) for one of two.
        - A tuple of three numbers, (low, high, step), is Real(low, high, step=step), or a Whole if all
          are integers; it must have three values at least.
        - Any other list, and a tuple without numbers, is a Choice. Anything else is refused.
        """
        if isinstance(bounds, Encoding):
            return bounds
        if not isinstance(bounds, Mapping):
            raise TypeError(f"bounds must be a mapping from name to bounds, got bounds={bounds!r}")
        dimensions = {}
        for name, bound in bounds.items():
            try:
                dimensions[name] = _dimension_of(bound)
            except (TypeError, ValueError) as error:
                raise type(error)(f"bounds of {name!r}: {error}") from None
        return cls(dimensions)

    @property
    def columns(self) -> tuple[str, ...]:
        """What each coordinate is called: its parameter, or one of its options, `gas=N2`."""
        found: list[str] = []
        for name, dimension, _ in self._parts:
            if isinstance(dimension, Choice) and dimension.width > 1:
                found += [f"{name}={option}" for option in dimension.options]
            else:
                found += [name] * dimension.width
        return tuple(found)

    def encode(self, params: Mapping[str, Any]) -> Floats:
        """The point (d,) of the parameters; `snap` leaves it as it is.

        Raises:
            TypeError: A value has the wrong type: a bool or text for a number, 2.0 for a Whole.
            ValueError: A name is missing or unknown, or a value is outside or between the values.
        """
        if not isinstance(params, Mapping):
            raise TypeError(f"params must be a mapping from name to value, got params={params!r}")
        if params.keys() != self.dimensions.keys():
            raise ValueError(f"params must have the names {list(self.names)}, got {list(params)}")
        point = np.full(self.d, 0.5)
        for name, dimension, part in self._parts:
            place = dimension.place(name, params[name])
            if dimension.width:
                point[part] = dimension.coordinates(np.array([place], dtype=np.float64))[0]
        return point

    def decode(self, u: Floats) -> dict[str, Any]:
        """The parameters nearest to the point u (d,): floats, ints, and the options themselves."""
        points = self.snap(checks.array("u", u, ndim=1)[None, :])
        params = {}
        for name, dimension, part in self._parts:
            place = float(dimension.places(points[:, part])[0]) if dimension.width else 0.0
            params[name] = dimension.value(place)
        return {name: params[name] for name in self.names}

    def decode_all(self, U: Floats) -> list[dict[str, Any]]:
        """`decode` of points that stand for parameters, (n, d)."""
        columns = []
        for _, dimension, part in self._parts:
            places = dimension.places(U[:, part]) if dimension.width else np.zeros(len(U))
            columns.append([dimension.value(place) for place in places.tolist()])
        found = [dict(zip(self.dimensions, row, strict=True)) for row in zip(*columns, strict=True)]
        return [{name: params[name] for name in self.names} for params in found]

    def place_of(self, name: str, value: Any) -> tuple[slice, Floats]:
        """Which coordinates a parameter has, and what they are where it has that value.

        Raises:
            TypeError, ValueError: There is no such parameter, or it has no such value.
        """
        for known, dimension, part in self._parts:
            if known == name:
                places = np.array([dimension.place(name, value)], dtype=np.float64)
                return part, dimension.coordinates(places)[0][: dimension.width]
        raise ValueError(f"a parameter must be one of {list(self.names)}, got {name!r}")

    def snap(self, U: Floats) -> Floats:
        """The nearest points that stand for parameters: (n, d), also outside the cube -> (n, d)."""
        U = checks.array("U", U, ndim=2)
        if U.shape[1] != self.d:
            raise ValueError(f"a point must have {self.d} coordinates, got {U.shape[1]}")
        out = np.full(U.shape, 0.5)
        for _, dimension, part in self._parts:
            if dimension.width:
                out[:, part] = dimension.coordinates(dimension.places(U[:, part]))
        return out

    def to_plain(self) -> dict[str, Any]:
        """As JSON-able data."""
        entries = []
        for name, dimension in self.dimensions.items():
            words = {key: list(v) if type(v) is tuple else v for key, v in asdict(dimension).items()}
            entries.append({"name": name, "kind": type(dimension).__name__.lower(), **words})
        return {"dimensions": entries}

    @classmethod
    def from_plain(cls, plain: Any) -> "Encoding":
        """Back from `to_plain`."""
        kinds: dict[str, Any] = {"real": Real, "whole": Whole, "choice": Choice}
        dimensions: dict[str, Dimension] = {}
        for entry in plain["dimensions"]:
            words = dict(entry)
            name, kind = words.pop("name"), checks.choice("kind", words.pop("kind"), list(kinds))
            if name in dimensions:
                raise ValueError(f"names must be distinct, got {name!r} twice")
            dimensions[name] = kinds[kind](**words)
        return cls(dimensions)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of names and dimensions, so that a saved state is not resumed on other ones."""
        return hashlib.sha256(json.dumps(self.to_plain()).encode()).hexdigest()[:16]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Encoding) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return f"Encoding({self.dimensions!r})"


def _dimension_of(bound: Any) -> Dimension:
    if isinstance(bound, Dimension):
        return bound
    if isinstance(bound, np.ndarray):
        bound = bound.tolist()
    if not isinstance(bound, list | tuple):
        raise TypeError(f"must be a Dimension, a pair of numbers or a list of options, got {bound!r}")
    kinds = [type(plain_value(entry)) for entry in bound]
    numbers = [kind in (int, float) for kind in kinds]
    if len(bound) == 2 and all(numbers):
        return Whole(*bound) if kinds == [int, int] else Real(*bound)
    if isinstance(bound, tuple) and len(bound) == 3 and all(numbers):
        low, high, step = bound
        if 0.0 < 2.0 * step <= (high - low) * (1.0 + 1e-9):
            return Whole(low, high, step=step) if kinds == [int] * 3 else Real(low, high, step=step)
    if isinstance(bound, tuple) and any(numbers):
        raise ValueError(
            "must be a pair (low, high), a triple (low, high, step) with three values at least, or a "
            f"list of options, got {bound!r}"
        )
    return Choice(tuple(bound))
