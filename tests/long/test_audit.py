"""Audits of large tables, of many tables, and their page in a real browser."""

import html
import re
import shutil
import subprocess

import numpy as np
import pytest

import unbribable as ub
from auditing.experiments import furnace

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

FRAME = """<!doctype html><meta charset="utf-8"><body>
<iframe id="frame" style="width:{width}px;height:800px;border:0" srcdoc="{page}"></iframe>
<script>
frame.onload = () => {{
  const page = frame.contentDocument, images = [...page.images];
  const loaded = frame.contentWindow.performance.getEntriesByType("resource").map(each => each.name);
  document.title = JSON.stringify([
    page.documentElement.scrollWidth, images.length, images.filter(each => !each.naturalWidth).length,
    loaded.filter(name => !name.startsWith("data:")).length,
    page.querySelectorAll("svg circle").length]);
}};
</script>"""


@pytest.mark.skipif(BROWSER is None, reason="no browser is installed")
@pytest.mark.parametrize("width", [360, 1200])
def test_a_browser_shows_the_page_whole_at_any_width_and_loads_nothing(tmp_path, width):
    audit = ub.audit(furnace(0)[0], target="yield")
    path = tmp_path / "frame.html"
    path.write_text(FRAME.format(width=width, page=html.escape(audit.to_html())), encoding="utf-8")
    command = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'user'}",
        "--virtual-time-budget=5000", "--dump-dom", path.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    (found,) = re.findall(r"<title>\[([^]]*)\]</title>", done.stdout)
    scroll, n_images, n_broken, n_loaded, n_honest = map(int, found.split(","))
    assert scroll <= width
    assert (n_images, n_broken, n_loaded) == (2, 0, 0)  # the readings, and the worst case
    assert n_honest == 50 - len(audit.suspects)


def test_of_thirty_tables_nearly_all_lies_are_found_and_totals_never_exceed_what_was_planted():
    n_found = n_accused = 0
    for seed in range(30):
        columns, lies, f = furnace(seed)
        audit = ub.audit(columns, target="yield")
        flagged = {suspect.t - 1 for suspect in audit.suspects}
        n_found += len(flagged & set(lies))
        n_accused += len(flagged - set(lies))
        planted = np.abs(np.array(columns["yield"]) - f)[lies].sum()
        assert audit.least_corruption <= planted
        assert not any(t - 1 not in lies for t in audit.proof.lies)
    assert n_found >= 140  # of 150
    assert n_accused <= 8  # of 1 350 honest ones


def test_ten_thousand_rows_of_three_hundred_points_are_audited():
    rng = np.random.default_rng(0)
    X = rng.random((300, 2))[rng.integers(0, 300, 10_000)]
    y = np.sin(5.0 * X[:, 0]) + X[:, 1] + 0.05 * rng.standard_normal(10_000)
    y[::50] += 3.0
    audit = ub.audit(X, y)
    flagged = {suspect.t - 1 for suspect in audit.suspects}
    assert len(flagged & set(range(0, 10_000, 50))) >= 190
    assert len(flagged) <= 220
    assert 0.0 < audit.least_corruption <= 600.0
