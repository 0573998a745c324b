"""Which points may be asked: linear constraints as data, and any test of a point."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unbribable.model import checks

Constraint = Callable[[Any], bool]


class OtherConstraintsError(ValueError):
    """A stored study had other constraints than those given, or functions that are not given again."""


@dataclass(frozen=True)
class LinearConstraint:
    """A weighted sum of parameters that lies between bounds.

    As data it can be stored. Called with a point, it says whether the point is allowed.

    Args:
        weights: Name -> factor, such as {"a": 1.0, "b": 2.0}; where coordinates have no names, their
            index -> factor.
        at_most: The sum must not exceed it (but for rounding).
        at_least: The sum must reach it, likewise. One of both at least is given.
    """

    weights: Mapping[Any, float]
    at_most: float | None = None
    at_least: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.weights, Mapping):
            raise TypeError(
                f"weights must be a mapping from parameter to factor, got weights={self.weights!r}"
            )
        if not self.weights:
            raise ValueError("weights must hold at least one parameter, got none")
        weights = {}
        for name, weight in self.weights.items():
            if not isinstance(name, str):
                name = checks.integer("a coordinate of weights", name, at_least=0)
            weights[name] = checks.real(f"weights[{name!r}]", weight)
        object.__setattr__(self, "weights", weights)
        for name in ("at_most", "at_least"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, checks.real(name, getattr(self, name)))
        if self.at_most is None and self.at_least is None:
            raise ValueError("a constraint must have at_most or at_least, got neither")
        if self._low > self._high:
            raise ValueError(
                f"at_least must be <= at_most, got at_least={self.at_least}, at_most={self.at_most}"
            )

    @property
    def _low(self) -> float:
        return -math.inf if self.at_least is None else self.at_least

    @property
    def _high(self) -> float:
        return math.inf if self.at_most is None else self.at_most

    def __call__(self, point: Any) -> bool:
        """Whether a point, a dict by name or an array, is allowed; up to 1e-9 of the amounts added."""
        parts = [weight * float(point[name]) for name, weight in self.weights.items()]
        total, slack = math.fsum(parts), 1e-9 * math.fsum(abs(part) for part in parts)
        return self._low - slack <= total <= self._high + slack

    def to_plain(self) -> dict[str, Any]:
        """JSON-able."""
        weights = [[name, weight] for name, weight in self.weights.items()]
        return {"weights": weights, "at_most": self.at_most, "at_least": self.at_least}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "LinearConstraint":
        """Back from `to_plain`."""
        fields = dict(plain)
        return cls(**{**fields, "weights": {name: weight for name, weight in fields["weights"]}})


def constraints_of(given: Iterable[Constraint]) -> tuple[Constraint, ...]:
    """A list of constraints, checked."""
    is_one = isinstance(given, LinearConstraint) or callable(given)
    if is_one or isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        hint = "; one alone is [constraint]" if is_one else ""
        raise TypeError(
            "constraints must be a list of LinearConstraint or functions, got "
            f"constraints={given!r}{hint}"
        )
    found = tuple(given)
    for k, each in enumerate(found):
        if not callable(each):
            raise TypeError(
                f"constraints[{k}] must be a LinearConstraint, or a function of a point, got "
                f"constraints[{k}]={each!r}"
            )
    return found


def to_plain(constraints: Sequence[Constraint]) -> dict[str, Any] | None:
    """JSON-able: those that are data, and how many are functions; None if there are none."""
    if not constraints:
        return None
    linear = linear_of(constraints)
    n_functions = len(constraints) - len(linear)
    return {"linear": [each.to_plain() for each in linear], "n_functions": n_functions}


def from_plain(plain: Any, given: Iterable[Constraint]) -> tuple[Constraint, ...]:
    """Back from `to_plain`.

    Args:
        plain: What was stored.
        given: The functions, which nothing can store; others may be among them.

    Raises:
        OtherConstraintsError: There were others, or another number of functions.
    """
    held = {} if plain is None else plain
    if not isinstance(held, Mapping):
        raise TypeError(f"stored constraints must be a mapping, got {held!r}")
    linear = [LinearConstraint.from_plain(each) for each in held.get("linear", ())]
    functions = [each for each in constraints_of(given) if each not in linear]
    n_functions = held.get("n_functions", 0)
    if other := linear_of(functions):
        raise OtherConstraintsError(
            f"constraints must be those that the study was started with, got {other[0]} besides"
        )
    if len(functions) != n_functions:
        n = "1 function" if n_functions == 1 else f"{n_functions} functions"
        raise OtherConstraintsError(
            f"constraints must be those that the study was started with: of these {n}, which nothing "
            f"can keep, got {len(functions)}; give them again"
        )
    return (*linear, *functions)


def linear_of(constraints: Sequence[Constraint]) -> list[LinearConstraint]:
    """Those that can be stored."""
    return [each for each in constraints if isinstance(each, LinearConstraint)]


def is_allowed(constraints: Sequence[Constraint], point: Any) -> bool:
    """Whether a point, as f gets it, keeps all constraints.

    Raises:
        TypeError: One returned neither True nor False.
    """
    for k, each in enumerate(constraints):
        found = each(point)
        if not isinstance(found, bool | np.bool_):
            raise TypeError(
                f"constraints[{k}] must return True where a point is allowed, else False, got "
                f"{found!r} at {point!r}; of a number that must not be positive return number <= 0"
            )
        if not found:
            return False
    return True
