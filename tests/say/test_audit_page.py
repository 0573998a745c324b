"""The page of an audit: self-contained, well-formed, and safe whatever the table says."""

import re
import sys
from html.parser import HTMLParser

import pytest

import unbribable as ub
from auditing.experiments import furnace
from unbribable.say.price import price
from unbribable.say.recommendation import needs

VOID = {"meta", "img", "br"}


class Reader(HTMLParser):
    """Which elements and attributes a page has; fails where they are not nested."""

    def __init__(self, page):
        super().__init__()
        self.open, self.seen, self.sources, self.text = [], [], [], ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.sources += [value for name, value in attrs if name in ("src", "href")]
        assert not [name for name, _ in attrs if name.startswith("on")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert not self.open or self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def audited():
    columns, _, _ = furnace(0)
    return ub.audit(columns, target="yield")


@pytest.fixture(scope="module")
def page(audited):
    return audited.to_html()


def test_a_page_says_the_headline_first_and_everything_else_after(audited, page):
    text = re.sub(r"\s+", " ", Reader(page.partition("</style>\n<h1>")[2]).text)
    order = [
        audited.verdict,
        "expect a yield of",
        "looks false: do not rely on it",
        "Which readings look false",
        f"{audited.suspects[0].y:.4g}",
        "What to use, and what believing every reading would give",
        f"{needs(audited.recommendation, 'yield')}.",
        "What yield can be at the point to use, by the number of false readings",
        "What it would take to change the answer",
        price(audited.price(), audited.counting),
        "How much lying there must have been",
        str(audited.proof),
        "The model, and how it was found",
        "'operator' has one value, 'Ann'",
        "How to go on",
        "audit.study(file=",
        "Limits",
    ]
    for words in order:
        _, found, text = text.partition(words)
        assert found, words


def test_a_page_loads_nothing(page):
    reader = Reader(page)
    assert not {"script", "link", "iframe", "object"} & set(reader.seen)
    assert reader.sources
    assert all(source.startswith("data:image/svg+xml;base64,") for source in reader.sources)
    assert "url(" not in page
    assert "@import" not in page


def test_whatever_a_table_says_is_text_on_the_page():
    evil = '<script>alert("1")</script>&amp;'
    columns, _, _ = furnace(0)
    columns = {evil if name == "gas" else name: cells for name, cells in columns.items()}
    columns[evil] = [f'"><img src=x onerror=alert(1)>{gas}' for gas in columns[evil]]
    columns["yield'><b>"] = columns.pop("yield")
    audit = ub.audit(columns, target="yield'><b>")
    reader = Reader(audit.to_html())
    assert "script" not in reader.seen
    assert reader.seen.count("img") == 2  # the page's own
    assert evil in reader.text


def test_a_notebook_shows_the_same_and_a_file_holds_it(audited, page, tmp_path):
    assert audited._repr_html_() in page
    audited.save_html(tmp_path / "audit.html")
    assert (tmp_path / "audit.html").read_text(encoding="utf-8") == page


def test_without_matplotlib_the_page_has_its_own_figure_and_says_what_is_missing(audited, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    reader = Reader(audited.to_html())
    assert "img" not in reader.seen
    assert reader.seen.count("svg") == 1
    assert 'pip install "unbribable[plot]"' in reader.text


def test_arrays_have_a_page_too():
    X = [[7 * k % 31 / 31, 14 * k % 31 / 31] for k in range(40)]
    y = [sum(x) for x in X]
    y[3] += 40.0
    text = Reader(ub.audit(X, y).to_html()).text
    assert "1 of the 40 readings of y looks false." in text
