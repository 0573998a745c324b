"""What every guarantee of the library rests on."""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any

from unbribable.model import checks
from unbribable.model.kernels import Kernel


@dataclass(frozen=True)
class Assumptions:
    """What the guarantees rest on, fixed before the data; frozen and validated.

    Raises:
        TypeError, ValueError: The message says the rule and the value.
    """

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
    c_max: float | None = None
    """Cap of one lie, |c| <= c_max; B0 unless given, math.inf for none."""

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise TypeError(f"kernel must be a Kernel, got kernel={self.kernel!r}")
        cap = self.B0 if self.c_max is None else self.c_max
        numbers: dict[str, Any] = {
            "B": checks.real("B", self.B, above=0.0),
            "B0": checks.real("B0", self.B0, above=0.0),
            "noise_std": checks.real("noise_std", self.noise_std, at_least=0.0),
            "lam": checks.real("lam", self.lam, above=0.0),
            "delta": checks.real("delta", self.delta, above=0.0, below=1.0),
            "c_max": checks.real("c_max", cap, above=0.0, may_be_inf=True),
        }
        for name, number in numbers.items():
            object.__setattr__(self, name, number)

    @property
    def cap(self) -> float:
        """c_max as a number: what one lie can be at most."""
        return self.B0 if self.c_max is None else self.c_max

    @property
    def tolerance(self) -> float:
        """Slack with which bounds are compared where a decision hangs on it."""
        return 1e-9 * max(1.0, self.B)

    def lam_of(self, noise_std: Any) -> float:
        """The fictitious noise of a reading with a noise_std of its own: lam * (noise_std / assumed)^2.

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
        """As JSON-able data."""
        return {
            "kernel": repr(self.kernel),
            "B": self.B,
            "B0": self.B0,
            "noise_std": self.noise_std,
            "lam": self.lam,
            "delta": self.delta,
            "c_max": "inf" if math.isinf(self.cap) else self.cap,
        }

    def in_words(self, *, is_fitted: bool = False) -> str:
        """The assumptions as sentences a user can check against their problem.

        Args:
            is_fitted: Whether any of them was chosen by looking at the readings they speak about.
        """
        cap = "is not capped" if math.isinf(self.cap) else f"is at most {self.cap:g}"
        words = (
            f"f lies in the RKHS of {self.kernel!r} with norm at most B={self.B:g}, and |f| is at "
            f"most B0={self.B0:g}. The noise of a reading, given all before it, is sub-Gaussian "
            f"with scale {self.noise_std:g}. A single lie {cap}. "
        )
        if is_fitted:
            return words + (
                f"lam={self.lam:g}. No reading is kept or dropped because of its value. Had all this "
                "been known before the data, what is claimed would fail with probability at most "
                f"delta={self.delta:g}. Some of it was fitted to the very readings it judges, and no "
                "bound on the failures is proven then. They were measured (docs/results.md): a share "
                "of the runs on the functions there, not a probability for yours."
            )
        return words + (
            f"Kernel, lam={self.lam:g} and B were fixed before the data, and no reading is kept or "
            "dropped because of its value. "
            f"Under these, what is claimed fails with probability at most delta={self.delta:g}."
        )
