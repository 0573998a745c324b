"""Optuna's distributions as points of the unit cube, and back."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
    distribution_to_json,
)

from unbribable.decision.asking.draws import Seed
from unbribable.model.box import Box
from unbribable.model.checks import Floats
from unbribable.model.dimensions import Choice, Dimension, Real, Whole
from unbribable.model.encoding import Encoding
from unbribable.study import space as named
from unbribable.study.constraints import Constraint, is_allowed


@dataclass(frozen=True)
class WithConstants:
    """Constraints on points of which some parameters have one value, and are left out."""

    constraints: tuple[Constraint, ...]
    constants: Mapping[str, Any]

    def __call__(self, params: Mapping[str, Any]) -> bool:
        """Whether the parameters that are left are allowed."""
        return is_allowed(self.constraints, {**self.constants, **params})


@dataclass(frozen=True)
class Space:
    """Named distributions as points of the unit cube, whose coordinates are in alphabetical order."""

    distributions: Mapping[str, BaseDistribution]
    """Name -> distribution, at least one."""
    constraints: tuple[Constraint, ...] = ()
    """What points keep that may be proposed and recommended."""
    names: tuple[str, ...] = field(init=False, compare=False)
    """The names as they were given, which is how parameters are shown."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.distributions))
        object.__setattr__(self, "distributions", dict(sorted(self.distributions.items())))

    @cached_property
    def encoding(self) -> Encoding:
        """Of the parameters, with categorical choices by their numbers.

        Raises:
            TypeError, ValueError: A distribution is of no known kind, or has no values.
        """
        dimensions = {name: _dimension(name, each) for name, each in self.distributions.items()}
        return Encoding(dimensions, self.names)

    def box(self) -> Box:
        """The unit cube, of which only those points exist that stand for parameters."""
        space = self.named() if self.constraints else named.Space.of(self.encoding)
        domain = space.domain
        assert isinstance(domain, Box)
        return domain

    def named(self) -> named.Space:
        """The same points, with the choices themselves in place of their numbers."""
        dimensions = self.encoding.dimensions
        for name, each in self.distributions.items():
            if isinstance(each, CategoricalDistribution):
                dimensions = {**dimensions, name: Choice(each.choices)}
        return named.Space.of(Encoding(dimensions, self.names)).within(self.constraints)

    def several(self) -> "Space":
        """Without the parameters that have one value."""
        return Space(not_single({name: self.distributions[name] for name in self.names}))

    def at(self, fixed: Mapping[str, Any]) -> Box:
        """The part of the box whose points have these values."""
        if self.constraints:
            domain = self.named().at(fixed)
        else:
            values = {}
            for name, value in fixed.items():
                each = self.distributions[name]
                is_choice = isinstance(each, CategoricalDistribution)
                values[name] = int(each.to_internal_repr(value)) if is_choice else value
            domain = named.Space.of(self.encoding).at(values)
        assert isinstance(domain, Box)
        return domain

    def covers(self, params: Mapping[str, Any]) -> bool:
        """Whether all parameters of the space are there; others may be too."""
        return self.distributions.keys() <= params.keys()

    def encode(self, params: Mapping[str, Any]) -> Floats:
        """The point of the parameters; those of other spaces are left out.

        Raises:
            TypeError, ValueError: A value is outside its distribution.
        """
        values = {}
        for name, distribution in self.distributions.items():
            values[name] = params[name]
            if isinstance(distribution, CategoricalDistribution):
                values[name] = int(distribution.to_internal_repr(params[name]))
        return self.encoding.encode(values)

    def decode(self, u: Floats) -> dict[str, Any]:
        """The parameters at u: floats, ints, and the choices themselves."""
        values = self.encoding.decode(u)
        for name, distribution in self.distributions.items():
            if isinstance(distribution, CategoricalDistribution):
                values[name] = distribution.choices[values[name]]
        return values


def not_single(distributions: Mapping[str, BaseDistribution]) -> dict[str, BaseDistribution]:
    """Those with more than one value, as a fresh dict."""
    return {name: each for name, each in distributions.items() if not each.single()}


def storable(distributions: Mapping[str, BaseDistribution]) -> dict[str, BaseDistribution]:
    """The same in their order, checked; refused if a study cannot hold them."""
    space = Space(distributions)
    for name in space.encoding.names:
        distribution = space.distributions[name]
        try:
            distribution_to_json(distribution)
        except TypeError:
            raise TypeError(
                "choices in search_space must be text, numbers, True, False or None, to be kept in the "
                f"study, got {name}={distribution!r}"
            ) from None
    return dict(distributions)


def sample_alone(seed: Seed, number: int, name: str, distribution: BaseDistribution) -> Any:
    """A value of one parameter, uniform in its encoding: a function of the arguments alone.

    So a study that was stopped resumes with the same values.
    """
    space = Space({name: distribution})
    words = np.frombuffer(hashlib.sha256(name.encode()).digest(), dtype="<u4")
    key = (*seed.spawn_key, number, *(int(word) for word in words))
    rng = np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=key))
    return space.decode(rng.random(space.encoding.d))[name]


def _dimension(name: str, distribution: BaseDistribution) -> Dimension:
    if isinstance(distribution, FloatDistribution):
        return Real(distribution.low, distribution.high, distribution.log, distribution.step)
    if isinstance(distribution, IntDistribution):
        return Whole(distribution.low, distribution.high, distribution.log, distribution.step)
    if isinstance(distribution, CategoricalDistribution):
        return Choice(tuple(range(len(distribution.choices))))
    raise TypeError(
        f"{name} must have a float, int or categorical distribution, got {name}={distribution!r}"
    )
