"""What a run is about, before any reading: plain values that can be stored and compared."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from unbribable.model import checks
from unbribable.model.kernels import Kernel
from unbribable.theory.assumptions import Assumptions

SHARE = 0.1
"""Share of the readings that may be lies where nothing else is said."""

UNKNOWN = "unknown"

DELTA = 0.1
"""Probability with which the guarantee may fail where nothing else is said."""

_NUMBERS = ("n_rounds", "corruption", "known_or_zero", "noise_std", "B", "delta", "n_init", "explore")


@dataclass(frozen=True)
class Plan:
    """How a run is to be done. Amounts are in the units of the readings.

    Exactly one learner follows: `corruption` 0 is GP-UCB; a number is Algorithm 1; None is Algorithm 1
    with room for lies of any size in a tenth of all readings; "unknown" is Algorithm 3;
    `known_or_zero` is Algorithm 2.
    """

    n_rounds: int
    corruption: float | str | None = None
    known_or_zero: float | None = None
    direction: str = "maximize"
    assumptions: Assumptions | None = None
    """Given whole; otherwise fitted to the first readings, except for what follows."""
    kernel: Kernel | None = None
    noise_std: float | None = None
    B: float | None = None
    delta: float | None = None
    n_init: int | None = None
    explore: float | None = 2.0
    """Points are chosen by a scout, see Scout, with this beta; None: by the algorithm itself."""

    def __post_init__(self) -> None:
        for name in _NUMBERS:
            value = getattr(self, name)
            if isinstance(value, np.generic):  # plain numbers can be stored
                object.__setattr__(self, name, value.item())
        checks.integer("n_rounds", self.n_rounds, at_least=1)
        if self.known_or_zero is not None:
            if self.corruption is not None:
                raise ValueError(
                    "corruption and known_or_zero exclude each other, "
                    f"got corruption={self.corruption!r}, known_or_zero={self.known_or_zero!r}"
                )
            checks.real("known_or_zero", self.known_or_zero, above=0.0)
        elif isinstance(self.corruption, str):
            if self.corruption != UNKNOWN:
                raise ValueError(
                    f"corruption must be a number in the units of f, {UNKNOWN!r}, or None for lies in "
                    f"a tenth of the rounds, got corruption={self.corruption!r}"
                )
        elif self.corruption is not None:
            hint = f"; {UNKNOWN!r} and None are allowed too"
            checks.real("corruption", self.corruption, at_least=0.0, hint=hint)
        checks.choice("direction", self.direction, ("maximize", "minimize"))
        if self.delta is not None:
            checks.real("delta", self.delta, above=0.0, below=1.0)
        if self.explore is not None:
            checks.real("explore", self.explore, at_least=0.0)
        if self.assumptions is not None:
            if not isinstance(self.assumptions, Assumptions):
                raise TypeError(f"assumptions must be Assumptions, got {self.assumptions!r}")
            names = ("kernel", "noise_std", "B", "delta")
            given = [name for name in names if getattr(self, name) is not None]
            if given:
                raise ValueError(f"assumptions say {given} already, got them besides")
        if self.kernel is not None and not isinstance(self.kernel, Kernel):
            raise TypeError(f"kernel must be a Kernel, got kernel={self.kernel!r}")
        if self.noise_std is not None:
            checks.real("noise_std", self.noise_std, at_least=0.0)
        if self.B is not None:
            checks.real("B", self.B, above=0.0)
        if self.n_init is not None:
            checks.integer("n_init", self.n_init, at_least=1)

    def n_design(self, d: int) -> int:
        """Readings of the initial design: none where everything is assumed already."""
        if self.n_init is not None:
            return min(self.n_init, self.n_rounds)
        if self.assumptions is not None:
            return 0
        return min(2 * d + 4, max(1, self.n_rounds // 2))

    @property
    def fitted(self) -> tuple[str, ...]:
        """What a guarantee rests on and the user did not give. Where B is given, |f| <= B0 = B."""
        if self.assumptions is not None:
            return ()
        given = {"kernel": self.kernel, "noise": self.noise_std, "B": self.B, "B0": self.B}
        return tuple(name for name, value in given.items() if value is None)

    @property
    def sign(self) -> float:
        """-1 where the user minimises: inside, everything is maximised."""
        return 1.0 if self.direction == "maximize" else -1.0

    def to_plain(self) -> dict[str, Any]:
        """JSON-able; a kernel of ours by name and fields, any other by its repr."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        plain["kernel"] = None if self.kernel is None else self.kernel.to_plain()
        if self.assumptions is not None:
            plain["assumptions"] = {
                **self.assumptions.to_plain(),
                "kernel": self.assumptions.kernel.to_plain(),
            }
        return plain

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> "Plan":
        """Back from `to_plain`, for kernels of ours."""
        fields = dict(plain)
        if fields.get("kernel") is not None:
            fields["kernel"] = Kernel.from_plain(fields["kernel"])
        if fields.get("assumptions") is not None:
            values = dict(fields["assumptions"])
            values["kernel"] = Kernel.from_plain(values["kernel"])
            values["c_max"] = math.inf if values["c_max"] == "inf" else values["c_max"]
            fields["assumptions"] = Assumptions(**values)
        return cls(**fields)


def exploration(explore: float | None, assumptions: Assumptions | None) -> float | None:
    """What explore=None means at a door: 2 where the model is fitted, else the algorithm chooses."""
    return 2.0 if explore is None and assumptions is None else explore
