"""The page as a web application: three views, their data, and nothing loaded from elsewhere."""

import mimetypes
import secrets
from http import HTTPStatus
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from unbribable.web.game import Tables
from unbribable.web.guard import Guard, RefusedError, refusal
from unbribable.web.moves import moves_of, setting_of

STATIC = Path(__file__).parent / "static"
VIEWS = {"/": "game.html"}
"""Path -> file."""


def page(token: str | None = None, hosts: frozenset[str] | None = None) -> Starlette:
    """The application.

    Args:
        token: What everything that reads or writes a study asks for; a new one if None.
        hosts: The names by which it may be called, with the port; any if None.
    """
    tables = Tables()
    files = {path.name: path.read_bytes() for path in STATIC.iterdir() if path.is_file()}

    def game(request: Request) -> Response:
        words = request.query_params
        setting = setting_of(words)
        return JSONResponse(tables.after(setting, moves_of(words.get("moves", ""), setting.rounds)))

    def file(request: Request) -> Response:
        name = VIEWS.get(request.url.path) or request.path_params.get("name", "")
        if name not in files:
            raise RefusedError(HTTPStatus.NOT_FOUND, f"a file of the page must be named, got {name!r}")
        return Response(files[name], media_type=mimetypes.guess_type(name)[0])

    return Starlette(
        routes=[
            *(Route(path, file) for path in VIEWS),
            Route("/static/{name:path}", file),
            Route("/api/game", game),
        ],
        middleware=[
            Middleware(
                Guard,
                token=token or secrets.token_urlsafe(24),
                hosts=hosts,
                is_open=frozenset({"/api/game"}),
            )
        ],
        exception_handlers={RefusedError: _refused, ValueError: _bad_value, 404: _unknown},
    )


def _refused(request: Request, error: Any) -> Response:
    return refusal(error.status, str(error))


def _bad_value(request: Request, error: Exception) -> Response:
    return refusal(HTTPStatus.BAD_REQUEST, str(error))


def _unknown(request: Request, error: Exception) -> Response:
    return refusal(HTTPStatus.NOT_FOUND, f"a path must be one of the page's, got {request.url.path!r}")
