"""Who is let in: the page itself, few requests at once, with a token where a study is at stake."""

import hmac
import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_AT_ONCE = 8
"""Requests that may be worked on at once, of those with the token and of those without."""

AUDITED = "/audited/"
"""Where pages of audits are; their addresses cannot be guessed, so they need no token."""

TOKEN = "x-token"
"""The header with the token. A page of another origin cannot send it without asking first."""

_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}


class RefusedError(Exception):
    """A request that is not served, with the status and the reason."""

    def __init__(self, status: HTTPStatus, words: str) -> None:
        super().__init__(words)
        self.status = status


class Guard:
    """Holds changing state: how many requests are being worked on, those with the token apart.

    An answer is sent when the work on it is over, and then takes nobody's place: those who read slowly,
    or never, keep nobody else waiting.

    Args:
        app: What is guarded.
        token: Secret; whoever has the address that was printed has it.
        hosts: The names by which the page may be called; any if None.
        is_open: The paths under /api that need no token.
    """

    def __init__(
        self, app: ASGIApp, *, token: str, hosts: frozenset[str] | None, is_open: frozenset[str]
    ) -> None:
        self._app, self._token, self._hosts, self._is_open = app, token, hosts, is_open
        self._n = {True: 0, False: 0}  # whether a token is needed -> requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer: list[Message] = []

        async def keep(message: Message) -> None:
            answer.append(message)

        path = scope["path"]
        is_closed = path.startswith("/api") and path not in self._is_open
        try:
            self._check(path, Headers(scope=scope), needs_token=is_closed)
            self._n[is_closed] += 1
            try:
                self._check_places(is_closed)
                await self._app(scope, receive, keep)
            finally:
                self._n[is_closed] -= 1
        except RefusedError as refused:
            await refusal(refused.status, str(refused))(scope, receive, keep)
        for message in answer:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

    def _check(self, path: str, headers: Mapping[str, str], *, needs_token: bool) -> None:
        host, origin = headers.get("host", ""), headers.get("origin")
        if self._hosts is not None and host not in self._hosts:
            raise RefusedError(
                HTTPStatus.FORBIDDEN,
                f"host must be one of {', '.join(sorted(self._hosts))}, got {host!r}",
            )
        is_foreign = headers.get("sec-fetch-site", "none") not in ("same-origin", "none")
        if (origin is not None and origin != f"http://{host}") or (
            is_foreign and path.startswith(("/api", AUDITED))
        ):
            raise RefusedError(
                HTTPStatus.FORBIDDEN,
                f"a request must come from this page itself, got one from {origin or 'another site'}",
            )
        if needs_token:
            given = headers.get(TOKEN, "")
            if not hmac.compare_digest(given.encode(), self._token.encode()):
                raise RefusedError(
                    HTTPStatus.FORBIDDEN,
                    "a token is needed, the one in the address that `unbribable page` printed, got "
                    + ("another one" if given else "none"),
                )

    def _check_places(self, is_closed: bool) -> None:
        n = self._n[is_closed]
        if n > MAX_AT_ONCE:
            raise RefusedError(
                HTTPStatus.SERVICE_UNAVAILABLE,
                f"requests must be at most {MAX_AT_ONCE} at once, got {n}; try again in a moment",
            )


class Data(JSONResponse):
    """Plain data. In ASCII, so that words which UTF-8 cannot write do not hide all the others."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


def refusal(status: HTTPStatus, words: str) -> Data:
    """The answer to a request that is not served."""
    return Data({"error": words}, status)
