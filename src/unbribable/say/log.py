"""What is written to the logger named "unbribable": a line for each thing that happened in a run.

INFO is for those who follow a run, DEBUG has the times. Nothing is printed unless the user asks for it:
`logging.basicConfig(level=logging.INFO)`.
"""

import logging
import os

from unbribable.say.words import plus_minus

LOGGER = logging.getLogger("unbribable")
"""The only one."""

LOGGER.addHandler(logging.NullHandler())


def follows() -> bool:
    """Whether anybody follows the rounds."""
    return LOGGER.isEnabledFor(logging.INFO)


def told(
    t: int,
    where: str,
    y: float | None,
    error: str | None = None,
    expected: tuple[float, float] | None = None,
) -> None:
    """A round: the point, the reading or why there is none, and what was expected before it."""
    if y is None:
        LOGGER.info("round %d: %s, no reading: %s", t, where, error)
    elif expected is None:
        LOGGER.info("round %d: %s, read %.6g", t, where, y)
    else:
        LOGGER.info("round %d: %s, read %.6g, expected %s", t, where, y, plus_minus(*expected))


def table(n_rows: int) -> None:
    """Rows that came together."""
    LOGGER.info("a table of %d readings", n_rows)


def asked(n: int, t: int, seconds: float) -> None:
    """Queries, up to that of round t."""
    LOGGER.debug("asked %d, up to round %d, in %.3f s", n, t, seconds)


def saves_to(file: str | os.PathLike[str]) -> None:
    """A file that a run begins."""
    LOGGER.info("saved to %s, after every step", os.fspath(file))


def saved(file: str | os.PathLike[str], seconds: float) -> None:
    """A step is on the disk."""
    LOGGER.debug("saved to %s in %.3f s", os.fspath(file), seconds)


def resumed(file: str | os.PathLike[str], n_told: int, n_pending: int) -> None:
    """A run that goes on from its file."""
    LOGGER.info("resumed from %s: %d rounds, %d pending", os.fspath(file), n_told, n_pending)


def stopped(why: str) -> None:
    """What has ended a run."""
    LOGGER.info("stopped: %s", why)
