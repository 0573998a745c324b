"""Audit in a real browser: a table with lies, ten bad files, and the page that is downloaded."""

from pathlib import Path

import numpy as np
import pytest


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    T, S = rng.uniform(0.0, 1.0, (2, n))
    y = 1.0 - (T - 0.4) ** 2 - (S - 0.6) ** 2 + 0.01 * rng.normal(size=n)
    return T, S, y


def table(n=30, lies=(6, 17)):
    T, S, y = rows(n)
    y[[*lies]] += 3.0
    lines = [f"{t:.5f},{s:.5f},{v:.5f}" for t, s, v in zip(T, S, y, strict=True)]
    return "\n".join(["temperature,speed,yield", *lines]).encode()


BAD = {
    "empty.csv": (b"", "empty file"),
    "header.csv": (b"a,b,c\n", "rows below its header"),
    "binary.csv": (bytes(range(256)) * 50, "must be a text file"),
    "huge.csv": (b"a,b\n" + b"1.25,2.5\n" * 600_000, "at most 5 MB"),
    "words.csv": (b"a,b\n" + b"red,blue\ngreen,pink\n" * 5, "cannot be audited"),
    "many.csv": (table(9_000), "at most 2000 different points"),
    "long.csv": (table(100_000)[:4_900_000].rsplit(b"\n", 1)[0], "at most 10000 rows"),
    "encoding.csv": ("größe,wert\n1,ä\n2,ö\n3,ü\n".encode("utf-16")[2:], "cannot be audited"),
    "uneven.csv": (b"a,b\n1,2\n3\n4,5\n", "line 3"),
    "twice.csv": (b"a,a\n1,2\n3,4\n", "different names"),
    "two.csv": (b"a,b\n1,2\n3,4\n", "at least 3 readings"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused_with_the_reason(served, tab, name):
    content, words = BAD[name]
    tab.refused = 1
    page = tab(served().replace("/?", "/audit?"))
    page.locator("#file").set_input_files({"name": name, "mimeType": "text/csv", "buffer": content})
    page.locator("#choices:visible, #status.bad").wait_for()
    if page.locator("#choices").is_visible():
        page.get_by_role("button", name="Audit").click()
        page.locator("#status.bad").wait_for(timeout=120_000)
    assert words in page.locator("#status").inner_text()
    assert page.locator("#audit").is_hidden()


def test_a_table_with_lies_gives_the_page_of_the_audit_to_read_and_to_download(served, tab, tmp_path):
    (tmp_path / "furnace.csv").write_bytes(table())
    page = tab(served(tmp_path / "furnace.csv"))  # the file of the command line is taken
    page.get_by_text("furnace.csv: choose").wait_for()
    assert page.get_by_label("What was read").input_value() == "yield"
    page.get_by_role("button", name="Audit").click()
    page.get_by_text("Audited yield").wait_for(timeout=120_000)
    frame = page.frame_locator("#audit")
    assert "2 of the 30 readings of yield look false" in frame.locator("body").inner_text()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the page").click()
    assert download.value.suggested_filename == "furnace-audit.html"
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert "look false" in text
    assert "http://" not in text.replace("http://www.w3.org", "")


def test_columns_are_ignored_by_keyboard_on_a_phone(served, tab):
    rows = table().decode().splitlines()
    text = "\n".join(
        f"{row},{'operator,note' if not k else f'{k % 2},fine'}" for k, row in enumerate(rows)
    )
    page = tab(served().replace("/?", "/audit?"), width=360, height=740)
    given = {"name": "furnace.csv", "mimeType": "text/csv", "buffer": text.encode()}
    page.locator("#file").set_input_files(given)
    page.get_by_text("furnace.csv: choose").wait_for()
    read = page.get_by_label("What was read")
    assert read.input_value() == "operator"  # the last one of numbers
    assert page.get_by_role("checkbox", name="operator").is_hidden()
    read.select_option("yield")
    assert page.get_by_role("checkbox", name="yield").is_hidden()
    for key in (*["Tab"] * 6, "Space"):  # the direction, a range of two, and a box for each column
        page.keyboard.press(key)
    assert page.get_by_role("checkbox", name="operator").is_checked()
    assert page.get_by_text("operator").last.bounding_box()["height"] >= 38
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.get_by_role("button", name="Audit").click()
    page.get_by_text("Audited yield").wait_for(timeout=120_000)
    assert "operator" not in page.frame_locator("#audit").locator("body").inner_text()


def test_a_dropped_file_is_taken(served, tab):
    page = tab(served().replace("/?", "/audit?"), width=360, height=740)
    page.evaluate(
        """(text) => {
            const data = new DataTransfer();
            data.items.add(new File([text], "dropped.csv"));
            document.getElementById("drop").dispatchEvent(new DragEvent("drop", { dataTransfer: data }));
        }""",
        table().decode(),
    )
    page.get_by_text("dropped.csv: choose").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
