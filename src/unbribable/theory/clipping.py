"""A bounded number of lies, of any size: readings are clipped at what f and noise can be (ours)."""

import math
from dataclasses import dataclass

from unbribable.theory.assumptions import Assumptions


@dataclass(frozen=True)
class FewLies:
    """At most n_lies of the first n_readings are lies, of any size unless c_max is small.

        L = B0 + N,   N = noise_std sqrt(2 ln(2 k / (delta/2)))

    where k = n for n readings if n is fixed before the data (`within`), else k = n (n + 1) (`so_far`).
    Readings are clipped to [-L, L].

    *With probability 1 - delta/2 this is corruption of at most 2 L n_lies in total and 2 L in each
    reading, whether or not the liar sees the reading first. Algorithm 1 does the rest with delta/2.*
    Proof. The noise of a reading exceeds N with probability at most 2 exp(-N^2 / (2 noise_std^2)) =
    delta/(2 k). With k = n for all n of them that adds up to delta/2. So it does with k = t (t + 1) for
    the t-th of any number, sum_t delta/(2 t (t + 1)) = delta/2, and the last level is the largest. If
    no noise exceeds its level, no honest reading is beyond L. Then clipping changes none, and moves what
    a liar tells to within 2 L of what would have been told. QED

    Where c_max < 2 L nothing is clipped: n_lies c_max in total is less, and needs no delta.
    """

    n_lies: int
    n_readings: int
    L: float
    """Where readings are clipped; math.inf if they are not."""
    cap: float
    """What a lie is at most, as far as it is told: 2 L, or c_max."""

    @classmethod
    def within(cls, assumptions: Assumptions, n_lies: int, n: int) -> "FewLies":
        """Among n readings, a number that was fixed before the data."""
        return cls._of(assumptions, n_lies, n, n)

    @classmethod
    def so_far(cls, assumptions: Assumptions, n_lies: int, n: int) -> "FewLies":
        """Among the first n readings, for all n at once: n may depend on the readings."""
        return cls._of(assumptions, n_lies, n, n * (n + 1))

    @classmethod
    def _of(cls, known: Assumptions, n_lies: int, n: int, k: int) -> "FewLies":
        clip = known.B0 + known.noise_std * math.sqrt(2.0 * math.log(2.0 * k / (known.delta / 2)))
        if known.c_max < 2.0 * clip:
            return cls(n_lies, n, math.inf, known.c_max)
        return cls(n_lies, n, clip, 2.0 * clip)

    @property
    def is_clipped(self) -> bool:
        """Whether readings are clipped, and a lie may be of any size."""
        return math.isfinite(self.L)

    @property
    def C(self) -> float:
        """The total corruption that this comes to."""
        return self.cap * self.n_lies
