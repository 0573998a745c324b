"""Where to search, as the user says it: pairs, names, a Box, a Grid, or candidates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unbribable.model.box import Box
from unbribable.model.checks import Floats
from unbribable.model.domain import Grid
from unbribable.model.encoding import Encoding


@dataclass(frozen=True, eq=False)
class Space:
    """A domain, with the names of its coordinates if they have any."""

    domain: Grid | Box
    encoding: Encoding | None = None

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

    def given(self, x: Any) -> Floats:
        """Back from `shown`; checks nothing that the domain will check."""
        return np.atleast_1d(np.asarray(x)) if self.encoding is None else self.encoding.encode(x)

    def to_plain(self) -> dict[str, Any]:
        """JSON-able."""
        if self.encoding is not None:
            return {"kind": "encoding", **self.encoding.to_plain()}
        if isinstance(self.domain, Grid):
            return {"kind": "grid", "points": self.domain.points.tolist()}
        if self.domain.is_snapped:
            raise ValueError("a Box with a snap of its own cannot be stored; use named bounds instead")
        low, high = self.domain.low.tolist(), self.domain.high.tolist()
        return {"kind": "box", "low": low, "high": high, "n_candidates": self.domain.n_candidates}

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> "Space":
        """Back from `to_plain`."""
        fields = dict(plain)
        kind = fields.pop("kind", None)
        if kind == "encoding":
            return cls.of(Encoding.from_plain(fields))
        if kind == "grid":
            return cls(Grid(fields["points"]))
        if kind == "box":
            return cls(Box(**fields))
        raise ValueError(f"a stored domain must be a box, a grid or an encoding, got kind={kind!r}")
