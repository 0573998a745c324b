"""What an answer in the user's units rests on."""

import math
from dataclasses import dataclass
from typing import Any

from unbribable.decision.proven.conditions import Corrected, FitIsRight
from unbribable.decision.units import MODEL_UNITS, Units
from unbribable.model.kernels import Kernel, Stationary
from unbribable.model.spoken import Spoken
from unbribable.theory.assumptions import Assumptions


@dataclass(frozen=True)
class Basis(Spoken):
    """What is assumed of f and the noise, in the user's units, and how it came about.

    It prints as sentences. `B`, `B0` and the kernel speak of f less `center`.
    """

    assumptions: Assumptions
    """In units of the model."""
    units: Units | None = None
    """Those of the model, where they are not the user's."""
    fit: FitIsRight | None = None
    """What was fitted, and what was given; None where all was given whole."""
    corrected: Corrected | None = None
    """What was taken off the readings; None where nothing was."""
    names: tuple[str, ...] = ()
    """What the coordinates are called; empty where they have no names."""

    @property
    def kernel(self) -> Kernel:
        """Of f less `center`, over its scale."""
        return self.assumptions.kernel

    @property
    def lengthscales(self) -> dict[str, float]:
        """Coordinate -> lengthscale, as the kernel sees it; "x" where one without a name is for all.

        On a Box, and for named parameters, as shares of the ranges. Empty for a kernel that has none.
        """
        scales = self.kernel.lengthscale if isinstance(self.kernel, Stationary) else ()
        if not isinstance(scales, tuple):
            return dict.fromkeys(self.names or ("x",), float(scales))
        names = self.names or tuple(f"x{k}" for k in range(len(scales)))
        return dict(zip(names, map(float, scales), strict=True))

    @property
    def center(self) -> float:
        """From where f is counted."""
        return self._units.center

    @property
    def B(self) -> float:
        """Bound on the RKHS norm of f less center."""
        return self._units.scale * self.assumptions.B

    @property
    def B0(self) -> float:
        """Bound on |f - center|."""
        return self._units.scale * self.assumptions.B0

    @property
    def noise_std(self) -> float:
        """Sub-Gaussian scale of the noise."""
        return self._units.scale * self.assumptions.noise_std

    @property
    def c_max(self) -> float:
        """Cap of one lie; math.inf for none."""
        return self._units.scale * self.assumptions.c_max

    @property
    def delta(self) -> float:
        """Probability with which the guarantee may fail."""
        return self.assumptions.delta

    @property
    def fitted(self) -> tuple[str, ...]:
        """What of it was fitted to the readings."""
        return () if self.fit is None else self.fit.fitted

    @property
    def _units(self) -> Units:
        return self.units or MODEL_UNITS

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data, with the words; c_max is None where a lie has no cap."""
        names = ("lengthscales", "center", "B", "B0", "noise_std", "delta")
        return {
            "kernel": self.kernel.to_plain(),
            **{name: getattr(self, name) for name in names},
            "c_max": None if math.isinf(self.c_max) else self.c_max,
            "fitted": list(self.fitted),
            "words": str(self),
        }
