"""`unbribable page`: the page in a browser, served by this machine to itself."""

import secrets
import socket
import sys
import webbrowser
from typing import Annotated

import typer

from unbribable.cli.door import Json, option, usage
from unbribable.cli.show import print_json

HERE = "127.0.0.1"
PORT = 8730


def page(
    host: Annotated[str, option("Where to listen; other than 127.0.0.1, others can reach it.")] = HERE,
    port: Annotated[
        int | None, option("8730, or any that is free, if left out.", min=0, max=65535)
    ] = None,
    browser: Annotated[bool, option("Open it in a browser, if this is a terminal.")] = True,
    as_json: Json = False,
) -> None:
    """Serve the page: be the liar in a game against the algorithms. Ctrl-C ends it.

    \b
    Examples:
      unbribable page
      unbribable page --port 9000 --no-browser
    """
    try:
        import uvicorn

        from unbribable.web.app import page as application
    except ModuleNotFoundError as error:
        if error.name not in ("uvicorn", "starlette"):
            raise
        typer.echo(f'unbribable: the page needs {error.name}: pip install "unbribable[web]"', err=True)
        raise typer.Exit(1) from None
    with usage():
        listening = _listening(host, port)
    token, port = secrets.token_urlsafe(24), int(listening.getsockname()[1])
    names = {HERE, "localhost", host}
    hosts = None if host in ("0.0.0.0", "::") else frozenset(f"{name}:{port}" for name in names)
    address = f"http://{HERE if hosts is None else host}:{port}/?token={token}"
    if as_json:
        print_json({"address": address, "host": host, "port": port})
    else:
        typer.echo(f"{address}\nCtrl-C ends it.")
        if browser and sys.stdout.isatty():
            webbrowser.open(address)
    sys.stdout.flush()
    config = uvicorn.Config(
        application(token, hosts), log_level="warning", access_log=False, timeout_graceful_shutdown=2
    )
    try:
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:  # the way to end it
        pass
    finally:
        listening.close()


def _listening(host: str, port: int | None) -> socket.socket:
    """A socket that listens there; without a port at ours, or at any that is free if it is taken."""
    try:
        return socket.create_server((host, PORT if port is None else port))
    except OSError as error:
        if port is None:
            return socket.create_server((host, 0))
        raise OSError(f"host and port must be free to listen at, got {host}:{port}: {error}") from None
