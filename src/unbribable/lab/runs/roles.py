"""A table of a spec into an object: keys and defaults come from the signature of its class.

Ours and a user's own are read in the same way. A kind is an import path, or a word for one of ours.
"""

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Unpack, get_args, get_origin

from unbribable.lab.runs.fields import ABSENT, REQUIRED, Field, Fields, Plain, read_table, truth
from unbribable.lab.runs.own import check_plain, is_own, resolve
from unbribable.model import checks

_PLAIN, _TRUTH = Field(check_plain), Field(truth)


@dataclass(frozen=True, eq=False)
class Role:
    """A part of a game: the kinds that a spec can name for it, and what the game supplies them with."""

    makes: type
    """What a kind must make."""
    words: Mapping[str, str]
    """Word -> import path of a class or function of ours."""
    parts: Fields = field(default_factory=dict)
    """Parameters whose values are built from what the table says. All others are passed on as they are,
    and their constructor checks them."""
    given: tuple[str, ...] = ()
    """Parameters that the game supplies where a signature names them."""
    offered: tuple[str, ...] = ()
    """The same of those that a table may give itself."""

    def function(self, kind: str) -> Callable[..., Any]:
        """The class or function behind a kind."""
        return resolve(self.words.get(kind, kind))

    def names(self, kind: str, parameter: str) -> bool:
        """Whether the signature of a kind names this parameter."""
        return parameter in _parameters(self.function(kind))[0]

    def needs(self, kind: str, parameter: str) -> bool:
        """Whether it names it without a default."""
        return _parameters(self.function(kind))[0].get(parameter) is REQUIRED

    def read(self, path: str, raw: Any, common: Fields | None = None) -> dict[str, Any]:
        """A table, checked as far as that is possible without building the object.

        Args:
            path: Of the table in the spec, for messages.
            raw: The table.
            common: Keys that are not for the constructor, whatever the kind.
        """
        known = (*self.words, "module:Name of your own")
        if not isinstance(raw, Mapping):
            words = ", ".join(repr(word) for word in known)
            raise TypeError(f"{path} must be a table with a kind ({words}), got {path}={raw!r}")
        kind, rest = str(raw.get("kind")), without_kind(raw)
        if not is_own(kind):
            checks.choice(f"{path}.kind", kind, known)
        kind = {each: word for word, each in self.words.items()}.get(kind, kind)
        try:
            parameters, is_open = _parameters(self.function(kind))
        except ValueError as error:
            raise ValueError(f"{path}.kind: {error}") from error
        fields: dict[str, Field] = dict.fromkeys(rest, _PLAIN) if is_open else {}
        for name, default in parameters.items():
            if name not in self.given:
                how = self.parts.get(name, _TRUTH if isinstance(default, bool) else _PLAIN)
                default = how.default if default is REQUIRED else default
                is_kept = name not in self.offered and (default is REQUIRED or _is_plain(default))
                fields[how.key or name] = replace(how, default=default if is_kept else ABSENT)
        return {"kind": kind, **read_table(path, rest, {**fields, **(common or {})})}

    def build(self, plain: Plain, known: Plain) -> Any:
        """The object that a table describes, with what the game supplies.

        Raises:
            TypeError, ValueError: The constructor refuses its arguments, or something else came out.
        """
        function, words = self.function(plain["kind"]), without_kind(plain)
        parameters, _ = _parameters(function)
        for name in parameters.keys() & self.parts.keys():
            how = self.parts[name]
            if (key := how.key or name) in words:
                words[name] = how.build(words.pop(key), known)
        for name in (*self.given, *self.offered):
            is_known = known[name] is not None or parameters.get(name) is REQUIRED
            if name in parameters and name not in words and is_known:
                words[name] = known[name]
        made = function(**words)
        if not isinstance(made, self.makes):
            kind, wanted = plain["kind"], self.makes.__name__
            raise TypeError(f"{kind} must make one {wanted}, got {type(made).__name__}")
        return made

    def part(self, key: str) -> Field:
        """How a table under this key of another one becomes an object."""

        def build(plain: Plain, known: Plain) -> Any:
            with blamed(key):
                return self.build(plain, known)

        return Field(self.read, build=build)


def _parameters(function: Callable[..., Any]) -> tuple[dict[str, Any], bool]:
    """What a table can give it, with the defaults, and whether it takes any other key, too."""
    found: dict[str, Any] = {}
    is_open = False
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            is_open = get_origin(parameter.annotation) is not Unpack
            options = {} if is_open else get_args(parameter.annotation)[0].__annotations__
            found |= dict.fromkeys(options, ABSENT)
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            found[name] = REQUIRED if parameter.default is parameter.empty else parameter.default
    return found, is_open


def _is_plain(value: Any) -> bool:
    """Whether a default can stand in a table, so that changing it changes the key of a game."""
    is_number = isinstance(value, float) and math.isfinite(value)
    return value is None or is_number or isinstance(value, (str, int))


@contextmanager
def blamed(path: str) -> Iterator[None]:
    """Put the path of a table in front of what its constructor says."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise (TypeError if isinstance(error, TypeError) else ValueError)(f"{path}: {error}") from error


def without_kind(table: Plain) -> dict[str, Any]:
    """The other keys of a table."""
    return {key: value for key, value in table.items() if key != "kind"}
