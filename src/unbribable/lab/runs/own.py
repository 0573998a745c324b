"""Guests in a spec: classes and functions of the user's own, named by import path, `module:Name`."""

import importlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.machinery import PathFinder
from typing import Any


def is_own(kind: Any) -> bool:
    """Whether a kind is an import path and not a word of ours."""
    return isinstance(kind, str) and ":" in kind


def name_of(kind: str) -> str:
    """The class of an import path; a word of ours as it is."""
    return kind.rpartition(":")[2]


def guests_in(plain: Any) -> list[str]:
    """The import paths that plain data name as a kind, at any depth."""
    if isinstance(plain, Mapping):
        here = [plain["kind"]] if is_own(plain.get("kind")) else []
        return here + guests_in(list(plain.values()))
    return [kind for part in plain for kind in guests_in(part)] if isinstance(plain, list) else []


@contextmanager
def importable(folders: Sequence[str]) -> Iterator[None]:
    """Let modules in these folders be imported, after all others, so that none of those is hidden."""
    new = [folder for folder in dict.fromkeys(folders) if folder not in sys.path]
    sys.path.extend(new)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        for folder in new:
            sys.path.remove(folder)


def resolve(kind: str) -> Callable[..., Any]:
    """The class or function behind an import path.

    Raises:
        ValueError: It is not an import path, or there is nothing behind it; the message says which.
    """
    module_name, _, name = kind.partition(":")
    if not all(part.isidentifier() for part in (*module_name.split("."), name)):
        raise ValueError(f"an import path must be module:Name, got kind={kind!r}")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # importing runs the user's code, which may raise anything
        raise ValueError(
            f"{module_name} must be a module that can be imported from the folder of the spec, the "
            f"working directory or the installed packages, got kind={kind!r}: "
            f"{type(error).__name__}: {error}"
        ) from error
    _check_origin(module_name.partition(".")[0])
    found = getattr(module, name, None)
    if not callable(found):
        file = getattr(module, "__file__", None) or "built in"
        raise ValueError(f"{name} must be a class or function of {module_name} ({file}), got {found!r}")
    function: Callable[..., Any] = found
    return function


def check_plain(path: str, value: Any) -> Any:
    """The value, unless JSON cannot say it: dates, NaN and infinity are refused."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        raise ValueError(
            f"{path} must be words, finite numbers, true or false, got {path}={value!r}"
        ) from None
    return value


def _check_origin(module_name: str) -> None:
    """Refuse a module of the same name that was loaded earlier from elsewhere."""
    loaded, found = sys.modules[module_name].__spec__, PathFinder.find_spec(module_name)
    if loaded and found and loaded.origin and found.origin and loaded.origin != found.origin:
        raise ValueError(
            f"{module_name} must be {found.origin}, got {loaded.origin}, which is loaded already: "
            "rename one of them, or start a new process"
        )
