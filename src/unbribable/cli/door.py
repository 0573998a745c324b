"""What every command has: --json, exit codes, messages for bad values."""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, ParamSpec, TypeVar

import typer
from threadpoolctl import threadpool_limits

P = ParamSpec("P")
R = TypeVar("R")

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines and nothing else.")]


def door(command: Callable[P, R]) -> Callable[P, R]:
    """The command with exit code 130 when interrupted, and 1 with the line that installs an extra.

    One thread for linear algebra: most of it is small, where threads only wait for each other, on a busy
    machine for minutes.
    """

    @functools.wraps(command)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            with threadpool_limits(limits=1, user_api="blas"):
                return command(*args, **kwargs)
        except KeyboardInterrupt:
            typer.echo("interrupted", err=True)
            raise typer.Exit(130) from None
        except ModuleNotFoundError as error:
            if "pip install" not in str(error):
                raise
            typer.echo(f"unbribable: {error}", err=True)
            raise typer.Exit(1) from None

    return guarded


@contextmanager
def usage() -> Iterator[None]:
    """Bad values in here are the user's: the message alone, and exit code 2."""
    try:
        yield
    except (ValueError, TypeError, OSError) as error:
        typer.echo(f"unbribable: {error}", err=True)
        raise typer.Exit(2) from None
