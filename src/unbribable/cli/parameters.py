"""Parameters, and numbers of lies, as the command line writes them."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

    from unbribable.study.constraints import LinearConstraint

RULE = "name=low:high, name=low:high:log, name=low:high:int (:log), either with :step=2, or name=a,b,c"

LINEAR = "'a + 2 b <= 3' or 'a - b >= 0'"

_TERM = re.compile(r"\s*([+-]?)\s*(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)?\s*\*?\s*([^\W\d]\w*)\s*")

RANGE = "Lowest and highest value that f, and an honest reading, can have, such as 0:1500"
"""Of --reading-range."""

LIES = "so many readings may be lies, of any size, or this share of them (0.1 by default)"


def parameter(text: str) -> tuple[str, "BaseDistribution"]:
    """A parameter as the command line writes it: name=low:high[:int][:log][:step=2], or name=a,b,c."""
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
    steps = [word.removeprefix("step=") for word in words if word.startswith("step=")]
    kinds = [word for word in words if not word.startswith("step=")]
    is_twice = len(set(kinds)) < len(kinds) or len(steps) > 1
    if is_twice or not set(kinds) <= {"int", "log"}:
        raise ValueError(f"param must be {RULE}, got param={text!r}")
    is_log = "log" in kinds
    try:
        if "int" in kinds:
            step = int(steps[0]) if steps else 1
            return name, IntDistribution(int(low), int(high), log=is_log, step=step)
        part = float(steps[0]) if steps else None
        return name, FloatDistribution(float(low), float(high), log=is_log, step=part)
    except ValueError as error:
        raise ValueError(f"param must be {RULE}, got param={text!r}: {error}") from None


def values_of(
    texts: Sequence[str], space: "Mapping[str, BaseDistribution]", option: str
) -> dict[str, Any]:
    """Values of some of the parameters, as the command line writes them: name=value.

    Args:
        texts: One for each.
        space: All parameters.
        option: What the command calls them.
    """
    from optuna.distributions import CategoricalDistribution, IntDistribution

    from unbribable.hosts.optuna.space import Space

    found: dict[str, Any] = {}
    for text in texts:
        name, _, value = text.partition("=")
        if name not in space or not value:
            raise ValueError(f"{option} must be name=value of one of {[*space]}, got {option}={text!r}")
        if name in found:
            raise ValueError(f"{option} must name each parameter once, got {option}={text!r} besides")
        distribution = space[name]
        if isinstance(distribution, CategoricalDistribution):
            named = {str(choice): choice for choice in distribution.choices}
            if value not in named:
                raise ValueError(f"{option}: {name} must be one of {', '.join(named)}, got {text!r}")
            found[name] = named[value]
        else:
            found[name] = _number(
                text, value, int if isinstance(distribution, IntDistribution) else float
            )
        try:
            Space({name: distribution}).encode({name: found[name]})
        except ValueError as error:
            raise ValueError(f"{option}: {error}") from None
    return found


def _number(text: str, value: str, kind: type[int] | type[float]) -> float:
    try:
        return kind(value)
    except ValueError:
        word = "a whole number" if kind is int else "a number"
        raise ValueError(f"a value must be {word} there, got {text!r}") from None


def linear(text: str) -> "LinearConstraint":
    """A linear constraint as the command line writes it: a + 2 b <= 3."""
    from unbribable.study.constraints import LinearConstraint

    total, sense, bound = (part.strip() for part in _split(text))
    weights: dict[str, float] = {}
    at = 0
    while at < len(total):
        term = _TERM.match(total, at)
        if term is None or (at > 0 and not term[1]) or term[3] in weights:
            raise ValueError(f"constraint must be {LINEAR}, each name once, got constraint={text!r}")
        weights[term[3]] = (-1.0 if term[1] == "-" else 1.0) * float(term[2] or 1.0)
        at = term.end()
    try:
        limit = float(bound)
    except ValueError:
        raise ValueError(f"constraint must be {LINEAR}, got constraint={text!r}") from None
    return LinearConstraint(weights, **{"at_most" if sense == "<=" else "at_least": limit})


def _split(text: str) -> tuple[str, str, str]:
    """The sum, which way, and the bound."""
    for sense in ("<=", ">="):
        if text.count(sense) == 1:
            return text.partition(sense)
    raise ValueError(f"constraint must be {LINEAR}, got constraint={text!r}")


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
