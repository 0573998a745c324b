"""Who is let in: this page itself, with the token where a study is at stake, and not fifty at once."""

import asyncio
import re
import threading
from pathlib import Path

import httpx
import pytest

import unbribable.page
from page.pages import HOST, TOKEN, client
from unbribable.lab.game.game import Tables
from unbribable.page.app import page
from unbribable.page.guard import MAX_AT_ONCE
from unbribable.say.figures import drawing

STATIC = Path(unbribable.page.__file__).parent / "static"


def refused(answer, status, words):
    assert answer.status_code == status, answer.text
    assert words in answer.json()["error"]
    return True


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ({"origin": "http://elsewhere.example"}, "must come from this page itself"),
        ({"origin": "null"}, "must come from this page itself"),
        ({"sec-fetch-site": "cross-site"}, "must come from this page itself"),
        ({"host": "elsewhere.example"}, "host must be one of testserver"),
    ],
)
@pytest.mark.parametrize("path", ["/api/game"])
def test_a_request_from_another_origin_is_refused(path, headers, words):
    assert refused(client().get(path, headers=headers), 403, words)


def test_the_page_itself_may_ask():
    headers = {"origin": f"http://{HOST}", "sec-fetch-site": "same-origin"}
    assert client().get("/api/game", headers=headers).status_code == 200


@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1], "é".encode()])
def test_whatever_is_not_known_to_be_open_needs_the_token(token):
    assert refused(client().get("/api/anything", headers={"x-token": token}), 403, "a token is needed")
    assert client().get("/api/anything").status_code == 404


@pytest.mark.parametrize(
    "name", ["../app.py", "..%2fapp.py", "%2e%2e/app.py", "/etc/passwd", "nothing.js", "", "a%00b"]
)
def test_only_files_of_the_page_are_served(name):
    assert client().get(f"/static/{name}").status_code == 404


def test_fifty_requests_at_once_are_refused_clearly_and_then_all_is_as_before():
    app = page(token=TOKEN, hosts=frozenset({HOST}))

    async def fifty():
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}") as browser:
            path = "/api/game?rounds=20&moves=h20"
            answers = await asyncio.gather(*(browser.get(path) for _ in range(50)))
            return answers, await browser.get(path)

    answers, later = asyncio.run(fifty())
    busy = [answer for answer in answers if answer.status_code != 200]
    assert len(busy) > 25
    assert all(refused(answer, 503, f"at most {MAX_AT_ONCE} at once") for answer in busy)
    assert later.status_code == 200


def scope(path, token=TOKEN):
    headers = [(b"host", HOST.encode()), (b"x-token", token.encode())]
    where = {"path": path, "raw_path": path.encode(), "query_string": b"", "root_path": ""}
    return {"type": "http", "method": "GET", "http_version": "1.1", "headers": headers, **where}


async def nothing():
    return {"type": "http.request", "body": b"", "more_body": False}


def test_clients_that_never_read_keep_nobody_else_waiting():
    app = page(token=TOKEN, hosts=frozenset({HOST}))

    async def play():
        begun = asyncio.Semaphore(0)

        async def never_read(message):
            begun.release()
            await asyncio.Event().wait()

        clients = [app(scope("/api/game"), nothing, never_read) for _ in range(MAX_AT_ONCE)]
        tasks = [asyncio.ensure_future(each) for each in clients]
        for _ in tasks:
            await begun.acquire()
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}") as browser:
            answer = await browser.get("/api/game")
        for task in tasks:
            task.cancel()
        return answer

    assert asyncio.run(play()).status_code == 200


def test_requests_without_the_token_do_not_take_the_places_of_those_with_it(monkeypatch):
    is_over = threading.Event()

    def wait(tables, setting, moves):
        is_over.wait(timeout=20.0)
        return {}

    monkeypatch.setattr(Tables, "after", wait)
    app = page(token=TOKEN, hosts=frozenset({HOST}))

    async def ask():
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}") as browser:
            games = [asyncio.ensure_future(browser.get("/api/game")) for _ in range(MAX_AT_ONCE)]
            await asyncio.sleep(0.1)
            one_more = await browser.get("/api/game")
            mine = await browser.get("/api/studies", headers={"x-token": TOKEN})
            is_over.set()
            await asyncio.gather(*games)
            return one_more, mine

    one_more, mine = asyncio.run(ask())
    assert refused(one_more, 503, "at once")
    assert mine.status_code == 200


def test_a_wrong_path_is_a_page_for_a_browser_and_data_for_a_program():
    seen = client().get("/studdy", headers={"accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert seen.status_code == 404
    assert seen.headers["content-type"].startswith("text/html")
    assert "There is nothing at this address" in seen.text
    assert refused(client().get("/studdy"), 404, "a path must be one of the page's")


def test_every_answer_forbids_what_is_loaded_from_elsewhere():
    for path in ("/", "/static/game.js", "/api/game", "/nothing", "/api/game?rounds=0"):
        headers = client().get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


def test_no_file_of_the_page_names_another_machine_or_runs_inline_code():
    for path in STATIC.iterdir():
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "//" not in re.sub(r"(?m)(^|\s)//.*$", "", text).replace("</", ""), path.name
        assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|\sstyle=|innerHTML|eval\(", text), (
            path.name
        )
        assert len(text.splitlines()) <= 400, path.name


def test_the_colours_are_those_of_the_figures():
    style = (STATIC / "style.css").read_text(encoding="utf-8")
    for name in ("red", "blue", "green", "purple", "orange", "sky"):
        assert f"--{name}: {getattr(drawing, name.upper()).lower()};" in style
