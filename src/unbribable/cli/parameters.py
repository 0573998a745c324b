"""Parameters, and numbers of lies, as the command line writes them."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

RULE = "name=low:high, name=low:high:log, name=low:high:int (:log), or name=a,b,c"

RANGE = "Lowest and highest value that f, and an honest reading, can have, such as 0:1500"
"""Of --reading-range."""

LIES = "so many readings may be lies, of any size, or this share of them (0.1 by default)"


def parameter(text: str) -> tuple[str, "BaseDistribution"]:
    """A parameter as the command line writes it: name=low:high[:int][:log], or name=a,b,c."""
    name, distribution = _read(text)
    if distribution.single():
        raise ValueError(f"param must have two values or more, got param={text!r}; leave it out")
    return name, distribution


def _read(text: str) -> tuple[str, "BaseDistribution"]:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    name, equals, bounds = text.partition("=")
    if not equals or not name or not bounds:
        raise ValueError(f"param must be {RULE}, got param={text!r}")
    if ":" not in bounds:
        choices = tuple(bounds.split(","))
        if len(set(choices)) < len(choices):
            raise ValueError(f"param must have different choices, got param={text!r}")
        return name, CategoricalDistribution(choices)
    low, high, *words = bounds.split(":")
    if len(set(words)) < len(words) or not set(words) <= {"int", "log"}:
        raise ValueError(f"param must be {RULE}, got param={text!r}")
    try:
        if "int" in words:
            return name, IntDistribution(int(low), int(high), log="log" in words)
        return name, FloatDistribution(float(low), float(high), log="log" in words)
    except ValueError as error:
        raise ValueError(f"param must be {RULE}, got param={text!r}: {error}") from None


def number_or_share(lies: str | None) -> float | None:
    """A number of lies, or a share of the readings: 3, or 0.1."""
    if lies is None:
        return None
    try:
        return float(lies) if "." in lies else int(lies)
    except ValueError:
        raise ValueError(f"lies must be a number of readings or a share of them, got {lies!r}") from None


def parameters(texts: list[str]) -> "dict[str, BaseDistribution]":
    """The parameters by name, in the order in which they were declared."""
    found: dict[str, BaseDistribution] = {}
    for text in texts:
        name, distribution = parameter(text)
        if name in found:
            raise ValueError(f"param must have a new name each, got param={text!r} besides {name!r}")
        found[name] = distribution
    return found
