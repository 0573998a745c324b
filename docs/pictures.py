"""The pictures in the documents: `python docs/pictures.py` makes them anew, with Chromium.

It runs README's example, plays a game, makes a study and a table with lies, serves them, and looks at
each in light and dark.
"""

import json
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import unbribable as ub

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from playwright.sync_api import Page

IMAGES = Path(__file__).parent / "images"
WIDTH = 1180
LIES = (2, 6, 13)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--hide-scrollbars"]


@contextmanager
def served(*words: str) -> Iterator[str]:
    """The address of `unbribable page` with these arguments."""
    command = [sys.executable, "-m", "unbribable", "page", *words, "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield json.loads("".join(server.stdout.readline() for _ in range(5)))["address"]
        server.send_signal(signal.SIGINT)


def example() -> ub.Result:
    """README's first example: its first Python block is run."""
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    exec(readme.split("```python\n", 1)[1].split("```", 1)[0], names)
    result: ub.Result = names["result"]
    return result


def legend(figure: "Figure") -> str:
    """What stands in the legend of a figure, in one line."""
    (found,) = figure.legends
    said = [text.get_text() for text in (*found.get_texts(), found.get_title())]
    return " ".join("; ".join(said).split())


def figures() -> None:
    """README's first example as figures, with their legends as text in the files."""
    result = example()
    for name in ("history", "worst_case"):
        figure = getattr(ub, f"plot_{name}")(result)
        figure.savefig(IMAGES / f"{name}.png", dpi=150, metadata={"Description": legend(figure)})


def study(path: Path) -> None:
    """A laser with two settings and forty readings: three of them are lies."""
    rng = np.random.default_rng(0)
    with ub.Study({"power": (0.0, 5.0), "pulses": (1, 200)}, seed=1, file=path) as made:
        for k in range(40):
            query = made.ask()
            power, pulses = query.params["power"], query.params["pulses"]
            y = np.exp(-((power - 3.2) ** 2) / 1.5) + 0.7 * np.exp(-((power - 1.0) ** 2) / 0.4)
            y += 0.3 * np.exp(-(((pulses - 120) / 50) ** 2)) + 0.03 * rng.standard_normal()
            made.tell(query, float(y) + 0.9 * (k in LIES))


def table(path: Path) -> None:
    """Forty runs of a furnace, three of them lies."""
    rng, lines = np.random.default_rng(0), ["temperature [C],hours,yield"]
    for k in range(40):
        temperature, hours = rng.uniform(300.0, 500.0), int(rng.integers(1, 9))
        y = 0.9 - ((temperature - 420.0) / 200.0) ** 2 - ((hours - 5) / 12.0) ** 2
        y += 0.02 * rng.standard_normal() + 0.6 * (k in (7, 19, 33))
        lines.append(f"{temperature:.1f},{hours},{y:.4f}")
    path.write_text("\n".join(lines))


def game(page: "Page", address: str) -> None:
    """Round 13, and a lie about to be told."""
    page.goto(f"{address}&seed=1&threat=weak&budget=2&rounds=40&moves=h12")
    handle = page.locator('[data-seat="2-0"]')
    handle.focus()
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Shift+ArrowDown")
    page.evaluate("window.scrollTo(0, 290)")


def verdict(page: "Page", address: str) -> None:
    """The end of the same game."""
    page.goto(f"{address}&seed=1&threat=weak&budget=2&rounds=40&moves=h40")
    page.locator("#verdict").wait_for()
    page.evaluate("window.scrollTo(0, 250)")


def watched(page: "Page", address: str) -> None:
    page.goto(address)
    page.locator("#robust").wait_for(timeout=120_000)


def audited(page: "Page", address: str) -> None:
    page.goto(address)
    page.get_by_role("button", name="Audit").click()
    page.locator("#audit").wait_for(timeout=120_000)
    page.wait_for_timeout(1000)
    page.evaluate("window.scrollTo(0, 150)")


def main() -> None:
    """Take all pictures."""
    from playwright.sync_api import sync_playwright

    figures()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        study(Path(folder) / "laser.json")
        table(Path(folder) / "furnace.csv")
        views = {
            "game": (game, 1150, ()),
            "verdict": (verdict, 860, ()),
            "study": (watched, 1830, (f"{folder}/laser.json",)),
            "audit": (audited, 860, (f"{folder}/furnace.csv",)),
        }
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for name, (look, height, words) in views.items():
            with served(*words) as address:
                for scheme in ("light", "dark"):
                    viewport = {"width": WIDTH, "height": height}
                    page = browser.new_page(viewport=viewport, color_scheme=scheme)
                    look(page, address)
                    page.wait_for_timeout(300)
                    page.screenshot(path=IMAGES / f"page-{name}-{scheme}.png")
                    page.close()
        browser.close()


if __name__ == "__main__":
    main()
