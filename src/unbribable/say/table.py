"""What was left out of a table, and what had to be guessed."""

from collections.abc import Mapping, Sequence

N_NAMED = 5
"""Rows or columns that a note names, at most."""


def some(names: Sequence[object]) -> str:
    """The first ones, and how many more there are."""
    shown = ", ".join(map(str, names[:N_NAMED]))
    return shown if len(names) <= N_NAMED else f"{shown} and {len(names) - N_NAMED} more"


def without(name: str | None, rows: Sequence[str]) -> str:
    """Rows that are left out, since a parameter, or any coordinate, is missing."""
    what = "coordinates are" if name is None else f"{name!r} is"
    return f"Left out, since {what} missing: {some(rows)}."


def failed(rows: Sequence[str], target: str | None = None) -> str:
    """Rows that count as failed, since there is no reading."""
    why = "" if target is None else f", since {target!r} is missing"
    return f"Counted as failed{why}: {some(rows)}."


def no_parameters(why: Mapping[str, str]) -> str:
    """Columns that are no parameters, each with the reason."""
    reasons = "; ".join(f"{name!r} {reason}" for name, reason in why.items())
    return f"Columns left out: {reasons}. To use one all the same, give space=."


def not_in_space(columns: Sequence[str]) -> str:
    """Columns that the user's space does not name."""
    return f"Columns left out, since the space does not name them: {some(columns)}."


def not_in_all(name: str) -> str:
    """A parameter of Optuna that some trials lack."""
    return f"Left out, since not every trial has it: {name!r}."


def lost(trials: Sequence[str]) -> str:
    """Trials without a reading because of what it would have been."""
    return f"Missing because of their value, which voids guarantees: {some(trials)}."


def running(trials: Sequence[str]) -> str:
    """Trials that have not ended."""
    return f"Still running, so their readings are missing: {some(trials)}."


def recoded(file: str) -> str:
    """A file in an encoding that had to be guessed."""
    return f"{file} is not UTF-8 and was read as Windows-1252: check its names."
