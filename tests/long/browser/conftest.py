"""A real browser on a real page: Chromium, driven by Playwright, and `unbribable page` beside it."""

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
FLAGS += ["--disable-component-update", "--no-first-run"]


@pytest.fixture(scope="module")
def chromium():
    """The browser; where there is none the tests are skipped, but fail if CI=true.

    One for each file: while it is open an event loop runs, beside which other tests could start none.
    """
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        words = f"the page is tested in a browser, and there is none of {', '.join(NAMES)}"
        if os.environ.get("CI") == "true":
            pytest.fail(words)
        pytest.skip(words)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def serving(*words):
    """`unbribable page` with these arguments: its address."""
    command = [sys.executable, "-m", "unbribable", "page", *map(str, words), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield json.loads("".join(server.stdout.readline() for _ in range(5)))["address"]
        server.send_signal(signal.SIGINT)


@pytest.fixture(scope="module")
def without_a_file():
    """The address of one `unbribable page` for all tests of a file that give it none."""
    with serving() as address:
        yield address


@pytest.fixture
def served(request):
    """`unbribable page` with these arguments: its address. What is started here ends with the test."""
    with ExitStack() as stack:

        def address(*words):
            return (
                stack.enter_context(serving(*words))
                if words
                else request.getfixturevalue("without_a_file")
            )

        yield address


@pytest.fixture
def tab(chromium):
    """Opens an address in a new tab. In the end no other machine was asked, and no error shown.

    What a test expects the page to be refused is counted in `tab.refused`.
    """
    tabs = Tabs(chromium)
    yield tabs
    tabs.close()
    assert tabs.troubles == []
    assert tabs.foreign == []


class Tabs:
    """Holds changing state: the tabs of a test, and what went wrong in them."""

    def __init__(self, browser):
        self._browser, self._contexts = browser, []
        self.troubles, self.foreign, self.refused = [], [], 0

    def __call__(self, address, *, width=1280, height=900, **words):
        context = self._browser.new_context(viewport={"width": width, "height": height}, **words)
        self._contexts.append(context)
        page = context.new_page()
        origin = "{0.scheme}://{0.netloc}".format(urlsplit(address))

        def hear(message):
            if message.type in ("error", "warning"):
                is_refused = "status of 4" in message.text or "ERR_CONNECTION_REFUSED" in message.text
                if is_refused and self.refused:
                    self.refused -= 1
                else:
                    self.troubles.append(message.text)

        def look(request):
            if not request.url.startswith((origin, "data:", "blob:" + origin)):
                self.foreign.append(request.url)

        page.on("console", hear)
        page.on("pageerror", lambda error: self.troubles.append(str(error)))
        page.on("request", look)
        page.goto(address)
        return page

    def close(self):
        for context in self._contexts:
            context.close()
