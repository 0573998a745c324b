"""The one place where corruption is paid for."""

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
        if not np.isfinite(wanted).all():
            raise ValueError(f"a corruption must be finite, got {wanted.tolist()}")
        most = min(self.c_max, self.left)
        granted = np.clip(wanted, -most, most)
        cost = float(np.max(np.abs(granted), initial=0.0))
        self.left = max(0.0, self.left - cost)
        return granted, cost
