"""The site as it is built: nothing to warn of, the first page, a page a name, figures for the dark."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import unbribable as ub

pytest.importorskip("sphinx_design")
pytest.importorskip("furo")

ROOT = Path(__file__).parents[2]
PARTS = ["Use it", "Trust it", "Study it", "Look it up"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """`make docs`, into another folder."""
    built = tmp_path_factory.mktemp("site")
    words = ["-q", "-W", "--keep-going", "-d", built / "trees", ROOT / "docs", built / "html"]
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *words],
        env={**os.environ, **threads},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return built / "html"


@pytest.mark.long
def test_the_first_page_shows_code_output_figure_cards_and_the_four_parts(site):
    page = (site / "index.html").read_text(encoding="utf-8")
    assert re.findall(r'<span class="caption-text">(.*?)</span>', page) == PARTS
    assert 'ub</span><span class="o">.</span><span class="n">maximize' in page
    assert "use power=" in page
    assert "history.png" in page
    assert page.count('class="sd-card-body') == 3
    assert "copybutton.js" in page


@pytest.mark.long
def test_every_public_name_has_a_page_of_its_own(site):
    pages = {path.stem for path in (site / "reference").glob("*.html")}
    assert {f"unbribable.{name}" for name in ub.__all__ if name != "Audit"} <= pages
    assert len({name.lower() for name in pages}) == len(pages), "one file on every system"


@pytest.mark.long
def test_every_picture_for_the_light_has_one_for_the_dark(site):
    n = 0
    for page in site.rglob("*.html"):
        shown = re.findall(r"<img [^>]*>", page.read_text(encoding="utf-8"))
        figures = [each for each in shown if "_images/" in each and ".svg" not in each]
        light, dark = (sum(f"only-{kind}" in each for each in figures) for kind in ("light", "dark"))
        assert light == dark, page
        assert light + dark == len(figures), page
        n += light
    assert n > 10


@pytest.mark.long
def test_notebooks_are_pages_with_their_figures(site):
    for name, least in (("stuck", 5), ("mess", 1)):
        page = (site / f"kept/{name}.html").read_text(encoding="utf-8")
        assert page.count("only-dark") >= least
    assert "RobustGPUCB" in (site / "kept/attack.html").read_text(encoding="utf-8")
