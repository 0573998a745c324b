"""The page without a browser: a client that speaks to it, with the token or without."""

import warnings

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of the client that Starlette's tests use
    from starlette.testclient import TestClient

from unbribable.page.app import page

TOKEN = "the token of these tests"
HOST = "testserver"


def client(**words):
    """A browser on the page's own origin; `x-token` is in its headers."""
    app = page(token=TOKEN, hosts=frozenset({HOST}), **words)
    return TestClient(app, raise_server_exceptions=False, headers={"x-token": TOKEN})
