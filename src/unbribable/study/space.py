"""Where to search, as the user says it: pairs, names, a Box, a Grid, or candidates."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unbribable.model import checks
from unbribable.model.box import Box
from unbribable.model.checks import Bools, Floats
from unbribable.model.dimensions import Choice
from unbribable.model.domain import Grid, NoPointError
from unbribable.model.encoding import Encoding
from unbribable.study.constraints import (
    Constraint,
    LinearConstraint,
    constraints_of,
    from_plain,
    is_allowed,
    linear_of,
    to_plain,
)


@dataclass(frozen=True, eq=False)
class Space:
    """A domain, with the names of its coordinates if they have any."""

    domain: Grid | Box
    encoding: Encoding | None = None
    constraints: tuple[Constraint, ...] = ()
    """What points keep that may be asked and recommended; the domain asks them."""

    @classmethod
    def of(cls, domain: Any) -> "Space":
        """From any of the forms a user may give.

        - a Box or a Grid;
        - a list or tuple of pairs, [(0, 1), (-5, 5)]: a box;
        - an array of shape (n, d): n candidates;
        - a dict from name to bounds, {"x": (0.0, 1.0), "n": Whole(1, 9), "kind": ["a", "b"]}, or an
          Encoding: named parameters, see Encoding.of.

        Raises:
            TypeError, ValueError: The message says what is allowed.
        """
        if isinstance(domain, Space):
            return domain
        if isinstance(domain, Box | Grid):
            return cls(domain)
        if isinstance(domain, Mapping | Encoding):
            encoding = Encoding.of(domain)
            box = Box(np.zeros(encoding.d), np.ones(encoding.d), snap=encoding.snap)
            return cls(box, encoding)
        if isinstance(domain, np.ndarray):
            return cls(Grid(domain))
        if isinstance(domain, Sequence) and not isinstance(domain, str) and len(domain):
            if all(isinstance(pair, Sequence | np.ndarray) and len(pair) == 2 for pair in domain):
                low, high = zip(*domain, strict=True)
                return cls(Box(low, high))
            raise ValueError(
                "domain as a list must hold one pair (low, high) per coordinate (candidates are an "
                f"array of shape (n, d)), got domain={domain!r}"
            )
        raise TypeError(
            "domain must be a Box, a Grid, a list of pairs, an array of candidates (n, d), or a dict "
            f"from name to bounds, got domain={domain!r}"
        )

    def within(self, constraints: Iterable[Constraint]) -> "Space":
        """The same with constraints, in place of those it has; itself if there are none to give.

        Raises:
            TypeError, ValueError: One is no constraint, or no point keeps them all.
        """
        given = constraints_of(constraints)
        if not given:
            return self
        for each in linear_of(given):
            self._check_linear(each)
        before = None if self.constraints else self.domain.allows

        def allows(U: Floats) -> Bools:
            points = self.shown_all(U)
            found = np.array([is_allowed(given, point) for point in points], dtype=np.bool_)
            return found if before is None else found & before(U)

        domain = _domain(self.domain, allows)
        try:
            _ = domain.allowed
        except NoPointError as error:
            raise ValueError(f"constraints must leave a point to ask: {error}") from None
        return Space(domain, self.encoding, given)

    def at(self, fixed: Any) -> Grid | Box:
        """The domain with only those points allowed that have these values.

        Args:
            fixed: Name -> value, for some of the parameters; index -> value, where coordinates have no
                names.

        Raises:
            TypeError, ValueError: There is no such parameter or value, or no allowed point has them.
        """
        where, values = self._coordinates(fixed)
        domain = self.domain.holding(where, values)
        try:
            _ = domain.allows is None or domain.allowed
        except NoPointError as error:
            more = " and keeps the constraints" if self.constraints else ""
            raise ValueError(f"fixed must leave a point that has these values{more}: {error}") from None
        return domain

    def is_at(self, U: Floats, fixed: Any) -> Bools:
        """Which of some points, (n, d), as the kernel sees them, have these values, (n,)."""
        where, values = self._coordinates(fixed)
        is_there = np.abs(U[:, where] - values) <= 1e-9 * np.maximum(1.0, np.abs(values))
        found: Bools = np.asarray(is_there.all(axis=1))
        return found

    @property
    def columns(self) -> tuple[str, ...]:
        """What the coordinates are called; empty where they have no names."""
        return () if self.encoding is None else self.encoding.columns

    def params(self, x: Floats) -> dict[str, Any] | None:
        """A point of the domain by name; None where coordinates have no names."""
        return None if self.encoding is None else self.encoding.decode(x)

    def shown(self, x: Floats) -> Any:
        """A point of the domain as f takes it: an array, or a dict by name."""
        return x.copy() if self.encoding is None else self.params(x)

    def shown_all(self, U: Floats) -> list[Any]:
        """Points of the domain as the kernel sees them, (n, d), as f takes them."""
        if self.encoding is not None:
            return list(self.encoding.decode_all(U))
        return list(U.copy() if isinstance(self.domain, Grid) else self.domain.from_unit(U))

    def given(self, x: Any) -> Floats:
        """Back from `shown`; checks nothing that the domain will check."""
        return np.atleast_1d(np.asarray(x)) if self.encoding is None else self.encoding.encode(x)

    def to_plain(self) -> dict[str, Any]:
        """JSON-able. Of constraints that are functions only their number is kept."""
        plain = self._domain_to_plain()
        if self.constraints:
            plain["constraints"] = to_plain(self.constraints)
        return plain

    def _domain_to_plain(self) -> dict[str, Any]:
        if self.domain.allows is not None and not self.constraints:
            raise ValueError("a domain with allows of its own cannot be stored; use constraints instead")
        if self.encoding is not None:
            return {"kind": "encoding", **self.encoding.to_plain()}
        if isinstance(self.domain, Grid):
            return {"kind": "grid", "points": self.domain.points.tolist()}
        if self.domain.is_snapped:
            raise ValueError("a Box with a snap of its own cannot be stored; use named bounds instead")
        low, high = self.domain.low.tolist(), self.domain.high.tolist()
        return {"kind": "box", "low": low, "high": high, "n_candidates": self.domain.n_candidates}

    @classmethod
    def from_plain(cls, plain: dict[str, Any], constraints: Iterable[Constraint] = ()) -> "Space":
        """Back from `to_plain`.

        Args:
            plain: What was stored.
            constraints: Those that are functions, which nothing can store.

        Raises:
            OtherConstraintsError: There were others, or another number of them.
        """
        fields = dict(plain)
        kind, held = fields.pop("kind", None), fields.pop("constraints", None)
        known = from_plain(held, constraints)
        if kind == "encoding":
            space = cls.of(Encoding.from_plain(fields))
        elif kind == "grid":
            space = cls(Grid(fields["points"]))
        elif kind == "box":
            space = cls(Box(**fields))
        else:
            raise ValueError(f"a stored domain must be a box, a grid or an encoding, got kind={kind!r}")
        return space.within(known)

    # --- inside --------------------------------------------------------------------------------

    def _check_linear(self, constraint: LinearConstraint) -> None:
        """Refuse one about parameters that there are not, or that are no numbers."""
        for name in constraint.weights:
            if self.encoding is None:
                if isinstance(name, str) or name >= self.domain.d:
                    raise ValueError(
                        f"weights must name coordinates by their index, 0 to {self.domain.d - 1}, got "
                        f"{name!r}"
                    )
            elif name not in self.encoding.dimensions:
                raise ValueError(f"weights must name some of {list(self.encoding.names)}, got {name!r}")
            elif isinstance(self.encoding.dimensions[name], Choice):
                raise ValueError(f"weights must be of parameters that are numbers, got {name!r}")

    def _coordinates(self, fixed: Any) -> tuple[Any, Floats]:
        """Which coordinates are held, as the kernel sees them, and where."""
        if not isinstance(fixed, Mapping):
            raise TypeError(f"fixed must be a mapping from parameter to value, got fixed={fixed!r}")
        if not fixed:
            raise ValueError("fixed must hold at least one parameter, got none")
        where, values = list[int](), list[float]()
        for name, value in fixed.items():
            if self.encoding is not None:
                try:
                    part, block = self.encoding.place_of(name, value)
                except (TypeError, ValueError) as error:
                    raise type(error)(f"fixed: {error}") from None
                where += range(part.start, part.stop)
                values += block.tolist()
                continue
            k, d = checks.integer("a coordinate of fixed", name, at_least=0), self.domain.d
            if k >= d:
                raise ValueError(f"a coordinate of fixed must be < {d}, got {k}")
            where.append(k)
            values.append(self._coordinate(k, checks.real(f"fixed[{k}]", value)))
        return np.array(where, dtype=np.intp), np.array(values)

    def _coordinate(self, k: int, value: float) -> float:
        """A value of coordinate k as the kernel sees it."""
        domain = self.domain
        if isinstance(domain, Grid):
            return value
        low, high = float(domain.low[k]), float(domain.high[k])
        if not low <= value <= high:
            raise ValueError(f"fixed[{k}] must be in [{low:g}, {high:g}], got fixed[{k}]={value!r}")
        return (value - low) / (high - low)


def _domain(domain: Grid | Box, allows: Any) -> Grid | Box:
    """The same domain, with this in place of what it allows."""
    if isinstance(domain, Grid):
        return Grid(domain.points, allows=allows)
    snap = domain.snap if domain.is_snapped else None
    return Box(domain.low, domain.high, n_candidates=domain.n_candidates, snap=snap, allows=allows)
