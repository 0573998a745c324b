"""What every command has: --json, exit codes, one line for a bad value."""

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, NamedTuple

import typer
from threadpoolctl import threadpool_limits

from unbribable.cli.show import FOR_MACHINES, print_json, say

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines and nothing else.")]


class Answer(NamedTuple):
    """What a command has to say."""

    data: Any
    """Plain data, for --json."""
    text: str = ""
    """The same for people."""
    notes: str = ""
    """What people should know besides; on standard error."""
    exit_code: int = 0


def option(help_: str, *names: str, **words: Any) -> Any:
    """An option of a command."""
    return typer.Option(*names, help=help_, **words)


def door(command: Callable[..., Answer]) -> Callable[..., None]:
    """The command with --json, which prints its answer.

    The exit code is 130 if it is interrupted, and 1 if an extra is missing (with the line that installs
    it). Linear algebra gets one thread: most of it is small, and on a busy machine threads would wait
    minutes for each other.
    """

    def guarded(as_json: Json = False, **words: Any) -> None:
        FOR_MACHINES.set(as_json)
        try:
            with installed(), threadpool_limits(limits=1, user_api="blas"):
                answer = command(**words)
        except KeyboardInterrupt:
            say("interrupted", is_note=True)
            raise typer.Exit(130) from None
        if as_json:
            print_json(answer.data)
        else:
            for text, is_note in ((answer.text, False), (answer.notes, True)):
                if text:
                    say(text, is_note=is_note)
        if answer.exit_code:
            raise typer.Exit(answer.exit_code)

    return extended(guarded, command)


def extended(
    outer: Callable[..., Any], inner: Callable[..., Any], n_taken: int = 0
) -> Callable[..., Any]:
    """`outer` under the name of `inner`, to which it passes its **words on, with the options of both.

    It supplies the first `n_taken` parameters of `inner` itself.
    """
    own = list(inspect.signature(inner).parameters.values())[n_taken:]
    more = [p for p in inspect.signature(outer).parameters.values() if p.kind is not p.VAR_KEYWORD]
    required = [p for p in (*more, *own) if p.default is p.empty]
    optional = [p for p in (*own, *more) if p.default is not p.empty]
    functools.update_wrapper(outer, inner)
    parameters = [p.replace(kind=p.KEYWORD_ONLY) for p in (*required, *optional)]
    outer.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    outer.__annotations__ = {p.name: p.annotation for p in parameters}
    return outer


@contextmanager
def usage() -> Iterator[None]:
    """Bad values in here are the user's: the message alone, and exit code 2."""
    try:
        yield
    except (ValueError, TypeError, OSError) as error:
        say(f"unbribable: {error}", is_note=True)
        raise typer.Exit(2) from None


@contextmanager
def installed() -> Iterator[None]:
    """If an extra is missing in here: the line that installs it, and exit code 1."""
    try:
        yield
    except ModuleNotFoundError as error:
        if "pip install" not in str(error):
            raise
        say(f"unbribable: {error}", is_note=True)
        raise typer.Exit(1) from None
