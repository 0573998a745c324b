"""The user's units and the model's."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Units:
    """Readings in the user's units to the model's, and back: model = sign * (y - center) / scale.

    In a fitted model in which lies are not counted readings are cut at +-limit. That hardly ever changes
    an honest one, and never enlarges a lie; at most 2 * limit is left of one.
    """

    center: float = 0.0
    scale: float = 1.0
    sign: float = 1.0
    limit: float = math.inf

    def to_model(self, y: float) -> float:
        """A reading as the model sees it."""
        return max(-self.limit, min(self.limit, self.sign * (y - self.center) / self.scale))

    def from_model(self, value: float) -> float:
        """A value of f in the user's units."""
        return self.center + self.sign * self.scale * value

    def interval(self, lower: float, upper: float) -> tuple[float, float]:
        """An interval in the user's units, its lower end first."""
        low, high = self.from_model(lower), self.from_model(upper)
        return (low, high) if self.sign > 0.0 else (high, low)

    def amount(self, difference: float) -> float:
        """A difference of two values of f in the user's units."""
        return self.sign * self.scale * difference


MODEL_UNITS = Units()
"""The model's own."""
