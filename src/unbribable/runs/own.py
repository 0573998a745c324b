"""Guests in a spec: classes and functions of the user's own, named by import path, `module:Name`."""

import importlib
import inspect
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.machinery import PathFinder
from typing import Any, TypeVar

import numpy as np

from unbribable.runs.streams import stream

M = TypeVar("M")


@dataclass(frozen=True)
class Role:
    """What a guest is built with, besides the keys of its table."""

    given: tuple[str, ...] = ()
    """Always, in this order."""
    offered: tuple[str, ...] = ()
    """By keyword, if its signature names them and its table does not have them."""


PLAYER = Role(given=("domain", "assumptions"), offered=("C", "T", "seed"))
ADVERSARY = Role(given=("objective",), offered=("C", "T", "seed"))
OBJECTIVE = Role(offered=("seed",))
KERNEL = Role()


def is_own(kind: Any) -> bool:
    """Whether a kind is an import path, not a word of ours."""
    return isinstance(kind, str) and ":" in kind


def name_of(kind: str) -> str:
    """The class of an import path; a word of ours as it is."""
    return kind.rpartition(":")[2]


def guests_in(plain: Any) -> list[str]:
    """The import paths that plain data name as a kind, at any depth."""
    if isinstance(plain, Mapping):
        here = [plain["kind"]] if is_own(plain.get("kind")) else []
        return here + [kind for part in plain.values() for kind in guests_in(part)]
    return [kind for part in plain for kind in guests_in(part)] if isinstance(plain, list) else []


@contextmanager
def importable(folders: Sequence[str]) -> Iterator[None]:
    """Modules in these folders can be imported within. Behind all others, so that none is hidden."""
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
        ValueError: It is no import path, or there is nothing behind it; the message says which.
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


def names(kind: str, argument: str) -> bool:
    """Whether the signature of a guest names this argument."""
    return argument in inspect.signature(resolve(kind)).parameters


def read_own(path: str, kind: str, raw: Mapping[str, Any], role: Role) -> dict[str, Any]:
    """The keys of a guest's table, checked against its signature, as plain data.

    Raises:
        ValueError: There is no such guest, or it does not take these keys.
    """
    try:
        signature = inspect.signature(resolve(kind))
    except ValueError as error:
        raise ValueError(f"{path}.kind: {error}") from error
    plain = {key: _plain(f"{path}.{key}", value) for key, value in raw.items()}
    offered = [name for name in role.offered if name in signature.parameters and name not in plain]
    try:
        signature.bind(*role.given, **dict.fromkeys(offered), **plain)
    except TypeError as error:
        also = ", ".join((*role.given, *offered)) or "nothing"
        raise ValueError(
            f"keys of {path} must be the arguments of {kind}{signature} ({also} given by the game), "
            f"got {plain}: {error}"
        ) from error
    return plain


def call(
    function: Callable[..., M], *given: Any, offered: Mapping[str, Any], words: Mapping[str, Any]
) -> M:
    """Call with what is given, all words, and what is offered of what else the signature names."""
    named = inspect.signature(function).parameters
    also = {key: value for key, value in offered.items() if key in named and key not in words}
    return function(*given, **also, **words)


def build_own(plain: Mapping[str, Any], kind_of: type[M], *given: Any, **offered: Any) -> M:
    """The guest a table describes.

    Args:
        plain: Its table.
        kind_of: What it must be.
        given: Its first arguments.
        offered: Handed over by keyword where its signature names them and its table does not.

    Raises:
        ValueError: It refuses its arguments.
        TypeError: What comes out is something else.
    """
    kind = plain["kind"]
    words = {key: value for key, value in plain.items() if key != "kind"}
    function = resolve(kind)
    try:
        made = call(function, *given, offered=offered, words=words)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{kind} must accept its arguments, got {words}: {error}") from error
    if not isinstance(made, kind_of):
        raise TypeError(f"{kind} must make one {kind_of.__name__}, got {type(made).__name__}")
    return made


def own_seed(seed: int, name: str) -> int:
    """A guest's seed, from the game's stream of that name: it tells nothing about the other streams."""
    return int(stream(seed, name).generate_state(1, np.uint64)[0])


def _plain(path: str, value: Any) -> Any:
    """Plain data as it is; dates, NaN and infinity are refused."""
    if isinstance(value, Mapping):
        return {str(key): _plain(f"{path}.{key}", part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain(f"{path}[{k}]", part) for k, part in enumerate(value)]
    if isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise ValueError(f"{path} must be words, finite numbers, true or false, got {path}={value!r}")


def _check_origin(module_name: str) -> None:
    """Refuse a module that was loaded earlier under the same name, from elsewhere."""
    loaded, found = sys.modules[module_name].__spec__, PathFinder.find_spec(module_name)
    if loaded and found and loaded.origin and found.origin and loaded.origin != found.origin:
        raise ValueError(
            f"{module_name} must be {found.origin}, got {loaded.origin}, which is loaded already: "
            "rename one of them, or start a new process"
        )
