"""The one place where corruption is paid for: in total, or by the number of lies."""

import math

import numpy as np

from unbribable.model import checks
from unbribable.model.checks import Floats


class Ledger:
    """Holds changing state: what is left of the adversary's budget.

    A round is charged max |c| over what was committed, whether or not that point is drawn
    [BKS20, Eq. 2]. An adversary that wants more than is left gets what is left.

    Args:
        C: Total budget.
        c_max: Largest single lie, may be inf.
    """

    def __init__(self, C: float, c_max: float) -> None:
        self.C = checks.real("C", C, at_least=0.0)
        self.c_max = checks.real("c_max", c_max, above=0.0, may_be_inf=True)
        self.left = self.C
        """What can still be spent; never negative."""

    @property
    def spent(self) -> float:
        """What has been charged so far."""
        return self.C - self.left

    def charge(self, wanted: Floats) -> tuple[Floats, float]:
        """What is granted of the corruptions wanted for a round, and what that costs."""
        _check_finite(wanted)
        most = min(self.c_max, self.left)
        granted = np.clip(wanted, -most, most)
        cost = float(np.max(np.abs(granted), initial=0.0))
        self.left = max(0.0, self.left - cost)
        return granted, cost


class CountLedger:
    """Holds changing state: how many lies the adversary may still tell, of any size up to c_max (ours).

    A round costs 1 if any lie that was committed is not zero, whether or not that point is drawn. An
    adversary that has told all its lies tells the truth.

    Args:
        n_lies: Rounds that may be lied about.
        c_max: Largest single lie, may be inf.
    """

    def __init__(self, n_lies: int, c_max: float = math.inf) -> None:
        self.n_lies = checks.integer("n_lies", n_lies, at_least=0)
        self.c_max = checks.real("c_max", c_max, above=0.0, may_be_inf=True)
        self.n_left = self.n_lies
        """Rounds that may still be lied about."""

    @property
    def left(self) -> float:
        """The total corruption that can still be granted: inf where a lie may have any size."""
        return self.n_left * self.c_max if self.n_left else 0.0

    @property
    def spent(self) -> float:
        """Lies charged so far."""
        return float(self.n_lies - self.n_left)

    def charge(self, wanted: Floats) -> tuple[Floats, float]:
        """What is granted of the corruptions wanted for a round, and its cost: one lie, or none."""
        _check_finite(wanted)
        most = self.c_max if self.n_left else 0.0
        granted = np.clip(wanted, -most, most)
        cost = int(granted.any())
        self.n_left -= cost
        return granted, float(cost)


def _check_finite(wanted: Floats) -> None:
    if not np.isfinite(wanted).all():
        raise ValueError(f"a corruption must be finite, got {wanted.tolist()}")
