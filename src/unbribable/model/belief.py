"""What is believed at some points, and how numbers change with that."""

from dataclasses import dataclass

from unbribable.model.checks import Floats


@dataclass(frozen=True, eq=False)
class BeliefAt:
    """What is believed at k points, candidates or not."""

    mu: Floats
    """Mean, (k,)."""
    var: Floats
    """Variance, (k,)."""
    sigma: Floats
    """Standard deviation, the root of var, (k,)."""
    noise_var: Floats
    """Share of var that is due to the fictitious noise, (k,)."""
    columns: Floats
    """Posterior covariance with the points read, (m, k)."""


@dataclass(frozen=True, eq=False)
class Slope:
    """How a number changes with the belief at one point: its derivatives."""

    var: float = 0.0
    """By the variance."""
    noise_var: float = 0.0
    """By the share of the fictitious noise in it."""
    columns: Floats | float = 0.0
    """By the covariances with the points read, (m,)."""

    def __add__(self, other: "Slope") -> "Slope":
        """That of the sum."""
        noise_var = self.noise_var + other.noise_var
        return Slope(self.var + other.var, noise_var, self.columns + other.columns)
