"""What is guaranteed, against whom and if what; or why nothing is. Data: `say` has the words."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Self, get_args

from unbribable.decision.proven.conditions import Condition, NoPromise, Void
from unbribable.decision.proven.counted import CountedLies
from unbribable.model import checks
from unbribable.model.spoken import Spoken


@dataclass(frozen=True)
class Guarantee(Spoken):
    """Which instances may be trusted against a threat, with what probability, and if what.

    It prints as what it says of the bounds at all candidates.
    """

    threat: str = "none"
    """ "none", "weak" or "strong"."""
    labels: tuple[str, ...] = ()
    """The instances whose bounds hold, all on one event."""
    probability: float = 0.0
    """Of that event, at least."""
    C: float = 0.0
    """The lies total at most that."""
    cap: float = math.inf
    """The largest single lie, c_max."""
    lies: CountedLies | None = None
    """The number of lies it allows for, where they are counted."""
    is_guess: bool = False
    """Whether C is the lowest level that the readings are consistent with: a heuristic choice."""
    conditions: tuple[Condition, ...] = ()
    """What else it supposes, and what it does not rest on yet."""
    void: Void | None = None
    """Why nothing is guaranteed, if so."""
    is_refuted: bool = False
    """Whether the readings contradict the assumptions, whatever else makes it void."""

    def in_units(self, scale: float) -> "Guarantee":
        """The same with the amounts in units in which one of the model's is so much."""
        return replace(self, C=scale * self.C, cap=scale * self.cap)

    def supposing(self, *conditions: Condition) -> "Guarantee":
        """The same if these hold, too."""
        return replace(self, conditions=(*self.conditions, *conditions))

    def to_plain(self) -> dict[str, Any]:
        """JSON-able."""
        plain: dict[str, Any] = to_plain(self)
        del plain["kind"]
        return plain

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Back from `to_plain`."""
        return cls(**{name: _from_plain(value) for name, value in plain.items()})


NOTHING = Guarantee(void=NoPromise())
"""What is promised by whoever promises nothing."""


def threat_of(threat: str | None, default: str) -> str:
    """The threat, checked; the default one if None."""
    return checks.choice("threat", default if threat is None else threat, ("none", "weak", "strong"))


def to_plain(value: Any) -> Any:
    """A value with its kind, JSON-able, all that it holds likewise."""
    if is_dataclass(value):
        held = {each.name: to_plain(getattr(value, each.name)) for each in fields(value)}
        return {"kind": type(value).__name__, **held}
    if isinstance(value, tuple):
        return [to_plain(each) for each in value]
    return "inf" if value == math.inf else value


_KINDS = {kind.__name__: kind for kind in (CountedLies, *get_args(Condition), *get_args(Void))}


def _from_plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        held = dict(value)
        kind = _KINDS[checks.choice("kind", held.pop("kind"), tuple(_KINDS))]
        return kind(**{key: _from_plain(each) for key, each in held.items()})
    if isinstance(value, list):
        return tuple(_from_plain(each) for each in value)
    return math.inf if value == "inf" else value
