"""How long the page takes to answer a move: `python -m benchmarks.page`; at most 100 ms are wanted.

On the server, and, where there is a Chromium, in the browser: from the click until the page has changed.
"""

import json
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

from unbribable.lab.game.game import Tables
from unbribable.lab.game.moves import Setting, moves_of

N_MOVES = 40
WATCH = """() => {
    window.times = [];
    document.addEventListener('click', () => { window.clicked = performance.now(); }, true);
    new MutationObserver(() => {
        if (window.clicked) { window.times.push(performance.now() - window.clicked); }
        window.clicked = null;
    }).observe(document.getElementById('panels'), {childList: true, subtree: true});
}"""


def on_the_server() -> list[float]:
    """Milliseconds of each move of a game."""
    tables, setting, times = Tables(), Setting(), []
    moves = moves_of(f"h{N_MOVES}", N_MOVES)
    for n in range(N_MOVES + 1):
        start = time.perf_counter()
        tables.after(setting, moves[:n])
        times.append(1e3 * (time.perf_counter() - start))
    return times


def in_the_browser(chromium: str) -> list[float]:
    """The same of a game played with the mouse, from the click to the first change of a panel."""
    from playwright.sync_api import sync_playwright

    command = [sys.executable, "-m", "unbribable", "page", "--port", "0", "--json"]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server,
        sync_playwright() as playwright,
    ):
        assert server.stdout is not None
        address = json.loads("".join(server.stdout.readline() for _ in range(5)))["address"]
        flags = ["--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=chromium, args=flags)
        page = browser.new_page()
        page.goto(f"{address}&rounds={N_MOVES}&seed=2&threat=weak&budget=2")
        tell = page.get_by_role("button", name="Tell these readings")
        tell.wait_for()
        page.evaluate(WATCH)
        for n in range(N_MOVES - 1):
            tell.click()
            while page.evaluate("window.times.length") <= n:
                time.sleep(0.01)
        times: list[float] = page.evaluate("window.times")
        browser.close()
        server.send_signal(signal.SIGINT)
    return times


def _say(where: str, times: Sequence[float]) -> None:
    median, worst = statistics.median(times), max(times)
    print(f"{where}: {median:.1f} ms at the median of {len(times)} moves, {worst:.1f} ms at most")


def main() -> None:
    _say("on the server", on_the_server())
    chromium = shutil.which("chromium")
    if chromium is None:
        print("in the browser: not measured, there is no Chromium")
    else:
        _say("in the browser", in_the_browser(chromium))


if __name__ == "__main__":
    main()
