"""The choices every algorithm offers about its widths."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, TypedDict

from unbribable.model import checks

Beta = float | Callable[[int], float]


class OptionWords(TypedDict, total=False):
    """The keyword arguments that every algorithm takes; see Options."""

    width: str
    noise: str
    tail: str
    gain: str
    beta: Beta | None


@dataclass(frozen=True)
class Options:
    """Which widths an algorithm uses.

    `width="paper", noise="paper", tail="paper", gain="certified"` together are the paper's letter.
    """

    width: str = "exact"
    """Corruption part: "exact" (ours), "capped" (ours), "paper"."""
    noise: str = "tight"
    """Noise part: "tight" (ours), "paper", "energy" (ours): "tight", and besides what the
    energy of the noise allows. For honest readings alone; noise_std must be a true bound."""
    tail: str = "sharp"
    """Corruption that reaches a randomly drawn instance: "sharp" (ours), "paper"."""
    gain: str = "realised"
    """Information gain in the noise part: "realised", or "certified": a bound on the maximum."""
    beta: Beta | None = None
    """Replaces the noise part by beta * sigma (a number, or a function of the instance's readings
    plus one). Multiplies sigma itself, no square root. Voids the guarantee."""

    def __post_init__(self) -> None:
        checks.choice("width", self.width, ("exact", "capped", "paper"))
        checks.choice("noise", self.noise, ("tight", "paper", "energy"))
        checks.choice("tail", self.tail, ("sharp", "paper"))
        checks.choice("gain", self.gain, ("realised", "certified"))
        if self.beta is not None and not callable(self.beta):
            object.__setattr__(self, "beta", checks.real("beta", self.beta, at_least=0.0))

    def beta_at(self, t: int) -> float:
        """The beta that is given, for the instance's t-th choice."""
        assert self.beta is not None
        if isinstance(self.beta, float):
            return self.beta
        return checks.real(f"beta({t})", self.beta(t), at_least=0.0)

    def to_dict(self) -> dict[str, Any]:
        """Plain data; a function is named as such."""
        words = asdict(self)
        if callable(self.beta):
            words["beta"] = "a function"
        return words
