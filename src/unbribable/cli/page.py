"""`unbribable page`: the page in a browser, served by this machine to itself."""

import secrets
import socket
import sys
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unbribable.cli.door import Json, installed, option, usage
from unbribable.cli.show import print_json, say
from unbribable.cli.storage import FORMS, database
from unbribable.extras import needed

if TYPE_CHECKING:
    from unbribable.page.source import Source

HERE = "127.0.0.1"
EVERYWHERE = ("0.0.0.0", "::")
PORT = 8730
TABLES = (".csv", ".tsv", ".txt")
DATABASES = (".db", ".sqlite", ".sqlite3")


def page(
    what: Annotated[
        str | None,
        typer.Argument(
            help=f"A study's file, a CSV file, or a database: {FORMS}.", envvar="UNBRIBABLE_STORAGE"
        ),
    ] = None,
    host: Annotated[str, option("Where to listen; other than 127.0.0.1, others can reach it.")] = HERE,
    port: Annotated[
        int | None, option("8730, or any that is free, if left out.", min=0, max=65535)
    ] = None,
    browser: Annotated[bool, option("Open it in a browser, if this is a terminal.")] = True,
    as_json: Json = False,
) -> None:
    """Serve the page: be the liar in a game, watch a study, audit a table. Ctrl-C ends it.

    \b
    Examples:
      unbribable page
      unbribable page study.json
      unbribable page lab.db
      unbribable page furnace.csv --no-browser
    """
    with installed():
        _, uvicorn = (needed("the page needs", name, "web") for name in ("starlette", "uvicorn"))
    from unbribable.page.app import page as application

    with _given(what) as words:
        with usage():
            listening = _listening(host, port)
        token, port = secrets.token_urlsafe(24), int(listening.getsockname()[1])
        hosts = _hosts(host, port)
        view = {"source": "study", "table": "audit"}.get(next(iter(words), ""), "")
        address = f"http://{HERE if hosts is None else host}:{port}/{view}?token={token}"
        if hosts != _hosts(HERE, port):
            typer.echo(_exposed(host), err=True)
        if as_json:
            print_json({"address": address, "host": host, "port": port})
        else:
            say(f"{address}\nCtrl-C ends it.")
            if browser and sys.stdout.isatty():
                webbrowser.open(address)
        sys.stdout.flush()
        app = application(token, hosts, **words)
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=2)
        try:
            uvicorn.Server(config).run(sockets=[listening])
        except KeyboardInterrupt:  # the way to end it
            pass
        finally:
            listening.close()


@contextmanager
def _given(what: str | None) -> Iterator[dict[str, Any]]:
    """What the page is to show, opened: the studies of a file or of a database, or a table."""
    from unbribable.page.source import StudyFile

    if what is None:
        yield {}
    elif "://" in what or what.endswith(DATABASES):
        with database(what) as opened:
            yield {"source": _in_database(opened)}
    else:
        with usage():
            if not Path(what).is_file():
                raise ValueError(
                    f"what to show must be a file that exists, or a database, {FORMS}, got {what!r}; "
                    "a Study writes its file when it is first asked or told"
                )
            found = {"table": Path(what)} if what.endswith(TABLES) else {"source": StudyFile(what)}
        yield found


def _in_database(opened: Any) -> "Source":
    from unbribable.cli.watched import StudiesInDatabase

    return StudiesInDatabase(opened)


def _hosts(host: str, port: int) -> frozenset[str] | None:
    """The names by which the page may be called; any if it listens everywhere."""
    if host in EVERYWHERE:
        return None
    return frozenset(f"{name}:{port}" for name in (HERE, "localhost", host))


def _exposed(host: str) -> str:
    """What it means to listen at a host that others can reach."""
    where, names = f"at {host}", ""
    if host in EVERYWHERE:
        where = f"at every address of this machine, {host}"
        names = " It answers to any host name, so only the token keeps other web sites out."
    return (
        f"The page listens {where}: whoever can reach it can play, and whoever has its address can "
        f"read and change the study. The address, with its token, travels unencrypted.{names} Safer: "
        "leave out --host, and come through a tunnel, such as ssh -L."
    )


def _listening(host: str, port: int | None) -> socket.socket:
    """A socket that listens there; without a port at ours, or at any that is free if it is taken."""
    try:
        listening = socket.create_server((host, PORT if port is None else port))
    except OSError as error:
        if port is not None:
            raise OSError(
                f"host and port must be free to listen at, got {host}:{port}: {error}"
            ) from None
        listening = socket.create_server((host, 0))
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else each answer waits 40 ms
    return listening
