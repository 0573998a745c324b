"""Audit: a table goes in, a page comes out; what is no table is refused with the reason."""

import asyncio

import httpx
import numpy as np
import pytest

from page.pages import HOST, TOKEN, client
from unbribable.page import app, audits


def table(n=25):
    """An honest parabola with noise, and a lie in line 8."""
    rng, lines = np.random.default_rng(0), ["temperature,speed,yield"]
    for k in range(n):
        t, s = rng.uniform(0.0, 1.0, 2)
        lie = 3.0 if k == 6 else 0.0
        lines.append(
            f"{t:.4f},{s:.4f},{1 - (t - 0.4) ** 2 - (s - 0.6) ** 2 + lie + 0.01 * rng.normal():.4f}"
        )
    return "\n".join(lines).encode()


def columns(content, name="furnace.csv"):
    return client().post("/api/columns", params={"name": name}, content=content)


@pytest.mark.long
def test_a_table_with_a_lie_gives_a_page_that_names_it_and_can_be_fetched_once_known():
    browser, words = client(), {"name": "furnace.csv", "target": "yield", "direction": "maximize"}
    names = ["temperature", "speed", "yield"]
    assert columns(table()).json() == {"columns": names, "target": "yield"}
    made = browser.post("/api/audit", params=words, content=table())
    assert made.status_code == 200, made.text
    page = browser.get(made.json()["address"], headers={"x-token": ""})
    assert page.headers["content-type"].startswith("text/html")
    assert page.headers["content-security-policy"].endswith("sandbox")
    assert "furnace.csv" in page.text
    assert "line 8" in page.text
    assert "/tmp" not in page.text
    guessed = browser.get(made.json()["address"][:-1])
    assert guessed.status_code == 404


LIKELY = {
    "words come last": (b"a,b,note\n1,2,x\n3,4,\n5,6,y\n", "b"),
    "one word among numbers": (b"a,y (HV),note\n1,2,x\n3,overload,\n5,6,y\n", "y (HV)"),
    "units": (b"a,y (HV),day\n1,2 HV,2024-01-01\n3,4 HV,2024-01-02\n", "y (HV)"),
    "empty columns": (b"a,y,z\n1,2,\n3,4,\n", "y"),
    "words alone": (b"a,b\nx,y\n", "b"),
}


@pytest.mark.parametrize("case", LIKELY)
def test_the_last_column_of_numbers_is_offered_as_what_was_read(case):
    content, likely = LIKELY[case]
    assert columns(content).json()["target"] == likely


@pytest.mark.long
def test_columns_that_are_ignored_are_no_parameters_and_must_exist():
    content = b"\n".join(line + b",%d" % k for k, line in enumerate(table(12).splitlines()))
    content = content.replace(b"yield,0", b"yield,cost & time", 1)
    words = [("name", "a.csv"), ("target", "yield"), ("direction", "maximize")]
    words += [("ignore", "cost & time"), ("ignore", "speed")]
    browser = client()
    made = browser.post("/api/audit", params=words, content=content)
    assert made.status_code == 200, made.text
    text = browser.get(made.json()["address"]).text
    assert "temperature" in text
    assert "speed" not in text
    assert "cost &amp; time" not in text


REFUSED = {
    "wrong cell": (b"temp,yield\n400,1.5\n410,1.6\n420,abc\n430,1.2\n", "", "got 'abc' in line 4;"),
    "too large": (b"temp,yield\n" + b"1,2\n" * 10_001, "", "at most 10000 rows, got 10001"),
    "ignored": (b"temp,yield\n1,2\n3,4\n", "no", "ignore must be one of the columns"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_audited_is_said_in_words(case):
    content, ignore, error = REFUSED[case]
    words = {"name": "a.csv", "target": "yield", "direction": "maximize"}
    words |= {"ignore": ignore} if ignore else {}
    answer = client().post("/api/audit", params=words, content=content)
    assert answer.status_code == 400
    assert error in answer.json()["error"]


BAD = {
    "empty": (b"", "empty file"),
    "blank": (b"\n \n", "empty file"),
    "header alone": (b"a,b\n", "rows below its header"),
    "binary": (bytes(range(256)) * 20, "must be a text file"),
    "uneven": (b"a,b\n1,2\n3\n", "line 3"),
    "twice": (b"a,a\n1,2\n", "different names"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_table_is_refused_with_the_reason(case):
    content, words = BAD[case]
    answer = columns(content)
    assert answer.status_code == 400
    assert words in answer.json()["error"]
    assert "/tmp" not in answer.json()["error"]


@pytest.mark.parametrize("name", ["../x.csv", "a/b.csv", "a\\b.csv", "..", "", "C:x", "x" * 200, "a\0b"])
def test_a_name_with_a_path_is_refused(name):
    answer = columns(table(), name)
    assert answer.status_code == 400
    assert "without a path" in answer.json()["error"]


def test_a_table_that_is_too_large_is_refused_before_it_is_whole():
    answer = columns(b"a,b\n" + b"1,2\n" * 1_300_000)
    assert answer.status_code == 413
    assert "at most 5000000 bytes" in answer.json()["error"]


def test_an_audit_that_takes_too_long_is_ended(monkeypatch):
    monkeypatch.setattr(audits, "MAX_SECONDS", 0.05)
    words = {"name": "furnace.csv", "target": "yield", "direction": "maximize"}
    answer = client().post("/api/audit", params=words, content=table())
    assert answer.status_code == 503
    assert "must end within 0.05 s" in answer.json()["error"]


def test_an_upload_that_takes_too_long_is_refused(monkeypatch):
    monkeypatch.setattr(app, "UPLOAD_SECONDS", 0.05)

    async def slow():
        yield b"a,b\n"
        await asyncio.sleep(5.0)
        yield b"1,2\n"

    async def upload():
        transport = httpx.ASGITransport(app=app.page(token=TOKEN))
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}") as browser:
            path = "/api/columns?name=furnace.csv"
            return await browser.post(path, content=slow(), headers={"x-token": TOKEN})

    answer = asyncio.run(upload())
    assert answer.status_code == 408
    assert "must end within 0.05 s" in answer.json()["error"]


def test_without_the_token_nothing_is_audited():
    answer = client().post("/api/audit", headers={"x-token": ""}, content=table())
    assert answer.status_code == 403


def test_a_table_of_the_command_line_is_offered(tmp_path):
    (tmp_path / "given.csv").write_bytes(table())
    found = client(table=tmp_path / "given.csv").get("/api/table").json()
    assert found["name"] == "given.csv"
    assert found["text"].startswith("temperature,speed,yield")
    assert client().get("/api/table").json() == {"name": None}


def test_the_range_of_honest_readings_reaches_the_audit(monkeypatch):
    asked = []
    monkeypatch.setattr(audits, "audit", lambda *_, **words: asked.append(words) or FakeAudit())
    page = audits.Path(audits.__file__)  # any path: what is written is caught
    monkeypatch.setattr(type(page), "write_text", lambda *_, **__: 0)
    audits._audit(page, "y", "maximize", (), (0.0, 1.5), page)
    assert asked[0]["reading_range"] == (0.0, 1.5)


class FakeAudit:
    def to_html(self):
        return "page"


@pytest.mark.parametrize(("low", "high"), [("0", ""), ("2", "1"), ("a", "1")])
def test_a_range_that_is_none_is_refused_in_words(low, high):
    words = {"name": "t.csv", "target": "yield", "direction": "maximize", "low": low, "high": high}
    answer = client().post("/api/audit", params=words, content=table())
    assert answer.status_code == 400
    assert "range must" in answer.json()["error"] or "low < high" in answer.json()["error"]
