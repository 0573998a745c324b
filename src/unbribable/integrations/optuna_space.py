"""Optuna's distributions as points of the unit cube, and back."""

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
    distribution_to_json,
)

from unbribable.decision.draws import Seed
from unbribable.model.box import Box
from unbribable.model.checks import Floats
from unbribable.model.dimensions import Choice, Dimension, Real, Whole
from unbribable.model.encoding import Encoding


class Space:
    """Named distributions as points of the unit cube; a value, not to be changed.

    Args:
        distributions: Name -> distribution, at least one.

    Attributes:
        distributions: The same, by name in alphabetical order, which is that of the coordinates.
        encoding: Of the parameters, with the choices of a categorical one by their numbers.
    """

    def __init__(self, distributions: Mapping[str, BaseDistribution]) -> None:
        self.distributions: dict[str, BaseDistribution] = dict(sorted(distributions.items()))
        self.encoding = Encoding(
            {name: _dimension(name, distribution) for name, distribution in self.distributions.items()}
        )

    def box(self) -> Box:
        """The unit cube, of which only the points exist that stand for parameters."""
        d = self.encoding.d
        return Box([0.0] * d, [1.0] * d, snap=self.encoding.snap)

    def covers(self, params: Mapping[str, Any]) -> bool:
        """Whether all parameters of the space are there; others may be too."""
        return all(name in params for name in self.distributions)

    def encode(self, params: Mapping[str, Any]) -> Floats:
        """The point of the parameters; those of other spaces are left out.

        Raises:
            TypeError, ValueError: A value is outside its distribution.
        """
        values = {}
        for name, distribution in self.distributions.items():
            value = params[name]
            if isinstance(distribution, CategoricalDistribution):
                value = int(distribution.to_internal_repr(value))
            values[name] = value
        return self.encoding.encode(values)

    def decode(self, u: Floats) -> dict[str, Any]:
        """The parameters at u: floats, ints, and the choices themselves."""
        values = self.encoding.decode(u)
        for name, distribution in self.distributions.items():
            if isinstance(distribution, CategoricalDistribution):
                values[name] = distribution.choices[values[name]]
        return values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Space) and self.distributions == other.distributions

    __hash__ = None  # type: ignore[assignment]  # choices need not be hashable

    def __repr__(self) -> str:
        return f"Space({self.distributions!r})"


def not_single(distributions: Mapping[str, BaseDistribution]) -> dict[str, BaseDistribution]:
    """Those with more than one value: a fresh dict."""
    return {name: each for name, each in distributions.items() if not each.single()}


def storable(distributions: Mapping[str, BaseDistribution]) -> dict[str, BaseDistribution]:
    """The same, checked, in the order of the coordinates; refused if a study cannot hold them."""
    checked = Space(distributions).distributions
    for name, distribution in checked.items():
        try:
            distribution_to_json(distribution)
        except TypeError:
            raise TypeError(
                "choices in search_space must be text, numbers, True, False or None, to be kept in the "
                f"study, got {name}={distribution!r}"
            ) from None
    return checked


def sample_alone(seed: Seed, number: int, name: str, distribution: BaseDistribution) -> Any:
    """A value of one parameter, uniform in its encoding: a function of the arguments alone.

    So a study that was stopped goes on with the same values. The stream is not that of the draws.
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
