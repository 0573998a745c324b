"""The page as a web application: three views, their data, and nothing loaded from elsewhere."""

import asyncio
import json
import mimetypes
import secrets
from http import HTTPStatus
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from unbribable.lab.game.game import Tables
from unbribable.lab.game.moves import moves_of, setting_of
from unbribable.page.audits import MAX_BYTES, Audits, columns
from unbribable.page.dropped import Dropped
from unbribable.page.guard import AUDITED, Data, Guard, RefusedError, refusal
from unbribable.page.source import Source
from unbribable.page.watch import Watch
from unbribable.study.given import limits

STATIC = Path(__file__).parent / "static"
VIEWS = {"/": "game.html", "/study": "study.html", "/audit": "audit.html"}
"""Path -> file."""
LOST = "lost.html"
"""What a browser gets for any other path."""

UPLOAD_SECONDS = 20.0
"""Time that an upload may take."""

_ALONE = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'; sandbox"
"""What the page of an audit may do: show itself."""


def page(
    token: str | None = None,
    hosts: frozenset[str] | None = None,
    source: Source | None = None,
    table: Path | None = None,
) -> Starlette:
    """The application.

    Args:
        token: What everything that reads or writes a study asks for; a new one if None.
        hosts: The names by which it may be called, with the port; any if None.
        source: The studies to watch, if any.
        table: A CSV file to audit, if any.
    """
    tables, audits, watch = Tables(), Audits(), None if source is None else Watch(source)
    dropped = Dropped()
    copies = Watch(dropped)
    files = {path.name: path.read_bytes() for path in STATIC.iterdir() if path.is_file()}

    def game(request: Request) -> Response:
        words = request.query_params
        setting = setting_of(words)
        return Data(tables.after(setting, moves_of(words.get("moves", ""), setting.rounds)))

    def watched(name: Any) -> Watch:
        if name in dropped.names():
            return copies
        if watch is None:
            raise ValueError(
                "there must be a study to watch, got none; drop its file, or start with "
                "`unbribable page FILE`"
            )
        return watch

    def studies(request: Request) -> Response:
        names = [] if source is None else source.names()
        return Data({"names": [*names, *dropped.names()], "copies": dropped.names()})

    async def drop(request: Request) -> Response:
        name, content = request.query_params.get("name", ""), await _body(request, MAX_BYTES)
        taken = [] if source is None else source.names()
        return Data({"name": await run_in_threadpool(dropped.take, name, content, taken)})

    def study(request: Request) -> Response:
        words = request.query_params
        seen = words.get("seen", "0")
        if not seen.isdecimal():
            raise ValueError(f"seen must be a number that was sent, got {seen!r}")
        name = words.get("name", "")
        return Data(watched(name).look(name, int(seen)))

    async def retract(request: Request) -> Response:
        data = json.loads(await _body(request, 10_000) or b"null")
        if not isinstance(data, dict):
            raise ValueError("a retraction must be a JSON object, got something else")
        words = (data.get(key) for key in ("name", "t", "reason", "unrelated_to_value"))
        await run_in_threadpool(watched(data.get("name")).retract, *words)
        return Data({"done": True})

    def given(request: Request) -> Response:
        if table is None:
            return Data({"name": None})
        return Data({"name": table.name, "text": table.read_text("utf-8", "replace")})

    async def column_names(request: Request) -> Response:
        name, content = request.query_params.get("name", ""), await _body(request, MAX_BYTES)
        names, target = await run_in_threadpool(columns, name, content)
        return Data({"columns": names, "target": target})

    async def audit(request: Request) -> Response:
        words, content = request.query_params, await _body(request, MAX_BYTES)
        name, target, direction = (words.get(key, "") for key in ("name", "target", "direction"))
        ignore = words.getlist("ignore")
        ends = [words.get(key) or "" for key in ("low", "high")]
        within = limits(":".join(ends)) if any(ends) else None
        key = await run_in_threadpool(audits.make, name, content, target, direction, ignore, within)
        return Data({"address": f"{AUDITED}{key}"})

    def audited(request: Request) -> Response:
        text = audits.page(request.path_params["key"])
        return Response(text, media_type="text/html", headers={"content-security-policy": _ALONE})

    def file(request: Request) -> Response:
        name = VIEWS.get(request.url.path) or request.path_params.get("name", "")
        if name not in files:
            raise RefusedError(HTTPStatus.NOT_FOUND, f"a file of the page must be named, got {name!r}")
        return Response(files[name], media_type=mimetypes.guess_type(name)[0])

    def unknown(request: Request, error: Any) -> Response:
        if "text/html" in request.headers.get("accept", ""):
            return Response(files[LOST], HTTPStatus.NOT_FOUND, media_type="text/html")
        words = f"a path must be one of the page's, got {request.url.path!r}"
        return refusal(HTTPStatus.NOT_FOUND, words)

    return Starlette(
        routes=[
            *(Route(path, file) for path in VIEWS),
            Route("/static/{name:path}", file),
            Route(AUDITED + "{key}", audited),
            Route("/api/game", game),
            Route("/api/studies", studies),
            Route("/api/study", study),
            Route("/api/retract", retract, methods=["POST"]),
            Route("/api/watch", drop, methods=["POST"]),
            Route("/api/table", given),
            Route("/api/columns", column_names, methods=["POST"]),
            Route("/api/audit", audit, methods=["POST"]),
        ],
        middleware=[
            Middleware(
                Guard,
                token=token or secrets.token_urlsafe(24),
                hosts=hosts,
                is_open=frozenset({"/api/game"}),
            )
        ],
        exception_handlers={
            RefusedError: _refused,
            ValueError: _bad_value,
            RuntimeError: _in_the_way,
            OSError: _in_the_way,
            404: unknown,
        },
    )


async def _body(request: Request, most: int) -> bytes:
    """What was sent, if it is not too much and comes in time."""
    parts, size = [], 0
    try:
        async with asyncio.timeout(UPLOAD_SECONDS):
            async for part in request.stream():
                size += len(part)
                if size > most:
                    raise RefusedError(
                        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                        f"what is sent must have at most {most} bytes, got more",
                    )
                parts.append(part)
    except TimeoutError:
        raise RefusedError(
            HTTPStatus.REQUEST_TIMEOUT,
            f"an upload must end within {UPLOAD_SECONDS:g} s, got a slower one",
        ) from None
    return b"".join(parts)


def _refused(request: Request, error: Any) -> Response:
    return refusal(error.status, str(error))


def _bad_value(request: Request, error: Exception) -> Response:
    return refusal(HTTPStatus.BAD_REQUEST, str(error))


def _in_the_way(request: Request, error: Exception) -> Response:
    """Such as a study that another process is using."""
    return refusal(HTTPStatus.CONFLICT, str(error))
