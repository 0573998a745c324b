"""Packages that only some users need: imported where they are needed, or the line that installs them."""

from importlib import import_module
from typing import Any


def needed(who: str, module: str, extra: str) -> Any:
    """A module of an extra.

    Args:
        who: What needs it, in words that end in "needs" or "need".
        module: Its name.
        extra: The extra that brings it.

    Raises:
        ModuleNotFoundError: It is not installed; see `missing`.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != module.partition(".")[0]:
            raise  # it is installed, and lacks something itself
        raise missing(who, module, extra) from None


def missing(who: str, what: str, extra: str) -> ModuleNotFoundError:
    """The error that says what is missing, with the line that installs it."""
    return ModuleNotFoundError(f'{who} {what}: pip install "unbribable[{extra}]"', name=what)
