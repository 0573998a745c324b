"""What every guarantee of the library rests on."""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any

from unbribable.model import checks
from unbribable.model.kernels import Kernel
from unbribable.model.spoken import Spoken


@dataclass(frozen=True)
class Assumptions(Spoken):
    """What the guarantees rest on, fixed before the data. It prints as sentences to check."""

    kernel: Kernel
    """The kernel whose RKHS contains f."""
    _: KW_ONLY
    B: float
    """Bound on the RKHS norm of f."""
    B0: float
    """Bound on |f|."""
    noise_std: float
    """Sub-Gaussian scale of the noise: its standard deviation where it is Gaussian."""
    lam: float = 1.0
    """Fictitious noise variance of the posterior. Any value > 0 gives valid intervals."""
    delta: float = 0.1
    """Total probability with which an algorithm's guarantee may fail."""
    c_max: float = None  # type: ignore[assignment]  # B0 takes its place
    """Cap of one lie, |c| <= c_max; B0 unless given, math.inf for none."""

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise TypeError(f"kernel must be a Kernel, got kernel={self.kernel!r}")
        if self.c_max is None:
            object.__setattr__(self, "c_max", self.B0)
        limits: dict[str, dict[str, Any]] = {
            "B": {"above": 0.0},
            "B0": {"above": 0.0},
            "noise_std": {"at_least": 0.0},
            "lam": {"above": 0.0},
            "delta": {"above": 0.0, "below": 1.0},
            "c_max": {"above": 0.0, "may_be_inf": True},
        }
        for name, limit in limits.items():
            object.__setattr__(self, name, checks.real(name, getattr(self, name), **limit))

    @property
    def tolerance(self) -> float:
        """Slack in comparisons of bounds that decide something."""
        return 1e-9 * max(1.0, self.B)

    def lam_of(self, noise_std: Any) -> float:
        """lam of a reading with its own noise_std: lam * (noise_std / assumed)^2.

        So noise_std / sqrt(lam), which the noise width needs, is the same for every reading.
        """
        noise_std = checks.real("noise_std", noise_std, above=0.0)
        ratio = noise_std / self.noise_std if self.noise_std > 0.0 else math.inf
        lam = float(self.lam * (ratio * ratio))
        if not 0.0 < lam < math.inf:
            raise ValueError(
                "noise_std of a reading must be within reach of the assumed one (which is > 0), "
                f"got noise_std={noise_std} with assumed {self.noise_std}"
            )
        return lam

    def to_plain(self) -> dict[str, Any]:
        """JSON-able."""
        c_max = "inf" if math.isinf(self.c_max) else self.c_max
        return {**vars(self), "kernel": repr(self.kernel), "c_max": c_max}
