"""One round of a run as the user saw it: what the log of a run consists of."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from unbribable.model import checks
from unbribable.model.checks import Floats

STORED = (
    "number", "x", "params", "y", "is_given", "error", "retracted", "because_of_value", "is_row",
    "replicate_of", "sem", "may_repeat",
    "block",
)  # fmt: skip
"""What a file keeps of a trial; `number` is the round."""


class Told(NamedTuple):
    """A reading, in the user's units: what there is to learn from a trial."""

    t: int
    u: Floats
    y: float
    is_given: bool
    is_row: bool = False
    asked_in: int = 0
    """The round that its evaluation was asked in; others of that evaluation are its replicates."""
    sem: float | None = None
    block: str | float | None = None


@dataclass(frozen=True, eq=False)
class Trial:
    """One round as the user saw it: where, what was told, or why nothing was."""

    t: int
    """The round, from 1."""
    x: Floats
    """The point, (d,); for named parameters its encoding. Empty where it is unknown."""
    params: Any
    """The point as f got it: an array, or a dict by name."""
    y: float | None
    """The reading; None if the evaluation failed. Infinite only where the plan has a reading_range."""
    is_given: bool = False
    """Whether it is an initial reading of the user's."""
    error: str | None = None
    """Why there is no reading."""
    retracted: bool | None = None
    """None, or that its reading was taken out: whether the reason had nothing to do with its value."""
    because_of_value: bool = False
    """Whether there is no reading because of its value: f returned an infinite one."""
    is_row: bool = False
    """Whether it came in a table, whose order says nothing of when it was read."""
    may_repeat: bool = False
    """Whether its point may be asked again although there is no reading."""
    replicate_of: int | None = None
    """The round whose evaluation gave this reading too; None if it is the first one, or the only one."""
    sem: float | None = None
    """Standard deviation of its own noise, where that is known; None: the noise of the others."""
    u: Floats | None = None
    """The point as the kernel sees it, (d,); None where it is unknown."""
    block: str | float | None = None
    """What it was read with and shares an offset with: a day, a batch, an operator; None: not said."""

    def __post_init__(self) -> None:
        x = self.x.copy()
        x.flags.writeable = False  # the run goes on from it
        object.__setattr__(self, "x", x)

    @property
    def number(self) -> int:
        """The round, as run files call it."""
        return self.t

    @property
    def told(self) -> Told | None:
        """Its reading; None if there is none."""
        if self.y is None or self.u is None:
            return None
        asked_in = self.replicate_of or self.t
        return Told(self.t, self.u, self.y, self.is_given, self.is_row, asked_in, self.sem, self.block)

    @property
    def is_evaluation(self) -> bool:
        """Whether it counts as an evaluation that the run was to do: no replicate, and none of yours."""
        return not self.is_given and self.replicate_of is None

    @property
    def is_lost(self) -> bool:
        """Whether it has no reading and never had one."""
        return self.y is None and self.retracted is None

    def check(self) -> None:
        """Refuse what no run can have had, in a trial that was read from a file."""
        checks.truth("is_given", self.is_given)
        checks.truth("because_of_value", self.because_of_value)
        checks.truth("is_row", self.is_row)
        checks.truth("may_repeat", self.may_repeat)
        checked_block(self.block)
        if self.retracted is not None:
            checks.truth("retracted", self.retracted)
        if self.replicate_of is not None:
            of = checks.integer("replicate_of", self.replicate_of, at_least=1)
            if of >= self.t:
                raise ValueError(f"replicate_of must be a round before {self.t}, got {of}")
        if not (self.error is None if self.y is not None else isinstance(self.error, str)):
            raise ValueError(
                "a trial must have a reading, or an error in words, got "
                f"y={self.y!r} and error={self.error!r}"
            )

    def to_plain(self) -> dict[str, Any]:
        """JSON-able."""
        return {name: plain(getattr(self, name)) for name in STORED}


def checked_block(block: Any) -> str | float | None:
    """A label of a block, as it is kept; None where there is none."""
    label = block.item() if isinstance(block, np.generic) else block
    is_number = isinstance(label, int | float) and not isinstance(label, bool)
    if isinstance(label, str):
        return checks.text("block", label)
    if label is None or (is_number and math.isfinite(label)):
        return label  # type: ignore[no-any-return]
    raise TypeError(
        f"block must be a string or a finite number, got block={block!r}; a date is str(date)"
    )


def plain(value: Any) -> Any:
    """An array as a list, an infinite number as a word; anything else as it is."""
    if isinstance(value, float) and math.isinf(value):
        return str(value)
    return value.tolist() if isinstance(value, np.ndarray) else value
