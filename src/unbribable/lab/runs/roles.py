"""A table of a spec into an object: keys, types and defaults come from the signature of its class.

A kind is a word of ours or the import path of a guest; both are read and built here.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from unbribable.lab.runs.fields import Field, Fields, Plain, read_table
from unbribable.lab.runs.own import check_plain, is_own, resolve
from unbribable.model import checks


@dataclass(frozen=True, eq=False)
class Role:
    """A part of a game: the kinds that a spec can name for it, and what the game supplies them with."""

    makes: type
    """What a kind must make."""
    kinds: Mapping[str, Callable[..., Any]]
    """Word -> class or function. Parameters that the game does not supply are keys of the table."""
    fields: Mapping[Any, Field]
    """Name or type of a parameter -> how it is read. A parameter that is not here keeps its default."""
    supplied: tuple[str, ...] = ()
    """Parameters that the game supplies where a signature of ours names them."""
    given: tuple[str, ...] = ()
    """What a guest is given first, in this order."""
    offered: tuple[str, ...] = ()
    """What a guest is given by keyword, if its signature names it and its table does not have it."""
    keywords: Callable[..., Any] | None = None
    """Whose parameters the `**keywords` of our classes stand for."""
    short: Mapping[str, str] = field(default_factory=dict)
    """Word -> import path of a guest that comes with the package."""

    def names(self, kind: str, parameter: str) -> bool:
        """Whether the signature of a kind names this parameter."""
        return parameter in inspect.signature(self._function(kind)).parameters

    def needs(self, kind: str, parameter: str) -> bool:
        """Whether it names it without a default."""
        found = inspect.signature(self._function(kind)).parameters.get(parameter)
        return found is not None and found.default is found.empty

    def read(self, path: str, raw: Any, common: Fields | None = None) -> dict[str, Any]:
        """A table, checked as far as that is possible without building the object.

        Args:
            path: Of the table in the spec, for messages.
            raw: The table.
            common: Keys that are not for the constructor, whatever the kind.
        """
        words = ", ".join(repr(kind) for kind in (*self.kinds, *self.short))
        if not isinstance(raw, Mapping):
            raise TypeError(f"{path} must be a table with a kind ({words}), got {path}={raw!r}")
        if "kind" not in raw:
            raise ValueError(f"{path}.kind must be one of {words}, or module:Name, got none")
        common, kind, rest = common or {}, raw["kind"], _without_kind(raw)
        kind = self.short.get(kind, kind) if isinstance(kind, str) else kind
        if is_own(kind):
            ours = {key: rest.pop(key) for key in common if key in rest}
            return {"kind": kind, **read_table(path, ours, common), **self._guest(path, kind, rest)}
        checks.choice(f"{path}.kind", kind, (*self.kinds, *self.short, "module:Name of your own"))
        keys = {field.key: field for field in self._fields(kind).values()}
        return {"kind": kind, **read_table(path, rest, {**common, **keys})}

    def build(self, plain: Plain, known: Plain) -> Any:
        """The object that a table describes, with what the game supplies.

        Raises:
            TypeError, ValueError: The constructor refuses its arguments, or something else came out.
        """
        kind, words = plain["kind"], _without_kind(plain)
        function, names, given = self._function(kind), self.supplied, []
        if is_own(kind):
            names, given = self.offered, [known[name] for name in self.given]
        else:
            for name, how in self._fields(kind).items():
                value = words.pop(how.key) if how.key in words else how.left_out
                with blamed(how.key, value):
                    words[name] = how.build(value, known)
        parameters = inspect.signature(function).parameters
        for key in (key for key in names if key in parameters and key not in words):
            if known[key] is not None or parameters[key].default is parameters[key].empty:
                words[key] = known[key]
        try:
            made = function(*given, **words)
        except (TypeError, ValueError) as error:
            if not is_own(kind):
                raise
            table = _without_kind(plain)
            raise ValueError(f"{kind} must accept its arguments, got {table}: {error}") from error
        if not isinstance(made, self.makes):
            raise TypeError(f"{kind} must make one {self.makes.__name__}, got {type(made).__name__}")
        return made

    def _function(self, kind: str) -> Callable[..., Any]:
        return resolve(kind) if is_own(kind) else self.kinds[kind]

    def _fields(self, kind: str) -> dict[str, Field]:
        """Parameter -> its field, with key and default filled in."""
        parameters = dict(inspect.signature(self.kinds[kind], eval_str=True).parameters)
        takes_keywords = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
        if takes_keywords and self.keywords is not None:
            parameters |= inspect.signature(self.keywords, eval_str=True).parameters
        found = {}
        for name, parameter in parameters.items():
            names = ((kind, name), name, parameter.annotation)
            how = next((self.fields[one] for one in names if one in self.fields), None)
            if how is not None and name not in self.supplied:
                has_default = parameter.default is not parameter.empty
                default = parameter.default if has_default else how.default
                found[name] = replace(how, default=default, key=how.key or name)
        return found

    def _guest(self, path: str, kind: str, raw: dict[str, Any]) -> dict[str, Any]:
        """The keys of a guest's table, checked against its signature."""
        try:
            signature = inspect.signature(resolve(kind))
        except ValueError as error:
            raise ValueError(f"{path}.kind: {error}") from error
        for key, value in raw.items():
            check_plain(f"{path}.{key}", value)
        offered = [name for name in self.offered if name in signature.parameters and name not in raw]
        try:
            signature.bind(*self.given, **dict.fromkeys(offered), **raw)
        except TypeError as error:
            also = ", ".join((*self.given, *offered)) or "nothing"
            raise ValueError(
                f"keys of {path} must be the arguments of {kind}{signature} ({also} given by the "
                f"game), got {raw}: {error}"
            ) from error
        return raw


@contextmanager
def blamed(path: str, table: Any) -> Iterator[None]:
    """Put the path of a table in front of what its constructor says about one of its keys."""
    try:
        yield
    except (TypeError, ValueError) as error:
        words = str(error)
        if not isinstance(table, Mapping) or words.startswith((path, str(table.get("kind")))):
            raise  # it says already whose fault it is
        is_about_a_key = words.replace(".", " ").replace("[", " ").split(" ")[0] in table
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{path}.{words}" if is_about_a_key else f"{path}: {words}") from error


def _without_kind(table: Plain) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key != "kind"}
