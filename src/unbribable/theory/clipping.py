"""A bounded number of lies, of any size: readings are clipped at what f and noise can be (ours)."""

import math
from dataclasses import dataclass

from unbribable.theory.assumptions import Assumptions


@dataclass(frozen=True)
class FewLies:
    """At most n_lies of the first n_readings are lies, of any size; readings are clipped to [-L, L].

        L = B0 + N,   N = noise_std sqrt(2 ln(2 k / (delta/2)))

    where k = n for n readings if n is fixed before the data (`within`), else k = n (n + 1) (`so_far`).

    *With probability 1 - delta/2 all this is corruption of at most C = 2 L n_lies in total and 2 L in
    each reading, whether or not the liar sees the reading first. Algorithm 1 does the rest with delta/2.*
    Proof. The noise of a reading exceeds N with probability at most 2 exp(-N^2 / (2 noise_std^2)) =
    delta/(2 k). With k = n for all n of them that adds up to delta/2. With k = t (t + 1) for the t-th, too:
    sum_t delta/(2 t (t + 1)) = delta/2 for all t at once, and the last level is the largest. If no
    noise exceeds its level, no honest reading is beyond L, so clipping changes none, and a lie moves a
    clipped reading, which stays within L, by at most 2 L from what would have been told. QED
    """

    n_lies: int
    n_readings: int
    L: float
    """Where readings are clipped."""

    @classmethod
    def within(cls, assumptions: Assumptions, n_lies: int, n: int) -> "FewLies":
        """Among n readings, a number that was fixed before the data."""
        return cls(n_lies, n, _level(assumptions, n))

    @classmethod
    def so_far(cls, assumptions: Assumptions, n_lies: int, n: int) -> "FewLies":
        """Among the first n readings, for all n at once: n may depend on the readings."""
        return cls(n_lies, n, _level(assumptions, n * (n + 1)))

    @property
    def cap(self) -> float:
        """2 L: by so much a lie moves a clipped reading, at most."""
        return 2.0 * self.L

    @property
    def C(self) -> float:
        """2 L n_lies: by so much all of them do."""
        return self.cap * self.n_lies


def _level(assumptions: Assumptions, k: int) -> float:
    delta = assumptions.delta / 2
    return assumptions.B0 + assumptions.noise_std * math.sqrt(2.0 * math.log(2.0 * k / delta))
