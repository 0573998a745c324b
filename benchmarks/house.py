"""The size of the house, and the way of a reading through it.

    python -m benchmarks.house

**Lines** are all lines of the .py files below src/unbribable. The optimizer is what is below it without
the lab, the doors (hosts, cli, page), auditing, say and its figures.

**Borders**: `sys.setprofile` notes each call of a Python function of ours, properties and comprehensions
included, in the order in which they begin. A border is crossed where two successive ones stand in
different files. Returns, and functions that are not ours, do not count. `tell` and `ask` are those of
RobustGPUCB on a Grid of 100 candidates, in round 11; a round of `maximize` is all that happens between
two evaluations of its function, which takes two named parameters, after the initial design.
"""

import statistics
import sys
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import unbribable as ub

SOURCE = Path(ub.__file__).parent
ROOMS = (
    "model",
    "theory",
    "decision",
    "doubt",
    "study",
    "auditing",
    "say",
    "hosts",
    "cli",
    "page",
    "lab",
)
OPTIMIZER = ("model", "theory", "decision", "doubt", "study")
"""With the files at the top."""
ROOMS = (*OPTIMIZER, "auditing", "say", "hosts", "cli", "page", "lab")
TARGETS = {
    "lines of the optimizer": 13_000,
    "lines of everything": 24_500,
    "borders crossed by a tell": 32,
    "borders crossed by an ask": 16,
    "files of a round of maximize": 30,
}


class Watch:
    """Holds changing state: which files of ours were called into, call by call. A context manager."""

    def __init__(self) -> None:
        self.files: list[str] = []

    def __enter__(self) -> "Watch":
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(str(SOURCE)):
            self.files.append(file)

    @property
    def n_borders(self) -> int:
        """How often two successive calls stood in different files."""
        return sum(one != other for one, other in pairwise(self.files))

    @property
    def n_files(self) -> int:
        """How many files were called into."""
        return len(set(self.files))


def lines() -> dict[str, tuple[int, int]]:
    """Files and lines of each room, and of the files at the top."""
    found = {"(top)": sorted(SOURCE.glob("*.py"))}
    found |= {room: sorted((SOURCE / room).rglob("*.py")) for room in ROOMS}
    return {
        room: (len(files), sum(len(file.read_text().splitlines()) for file in files))
        for room, files in found.items()
    }


def reading() -> tuple[Watch, Watch]:
    """An ask and a tell on a Grid, in round 11."""
    domain = ub.Grid(np.linspace(0.0, 1.0, 100)[:, None])
    kernel = ub.SquaredExponential(0.2)
    assumptions = ub.Assumptions(kernel, B=2.0, B0=1.0, noise_std=0.1, lam=0.01)
    algorithm = ub.RobustGPUCB(domain, assumptions, C=2.0)
    for _ in range(10):
        query = algorithm.ask()
        algorithm.tell(query, float(np.sin(6.0 * query.x[0])))
    with Watch() as asked:
        query = algorithm.ask()
    y = float(np.sin(6.0 * query.x[0]))
    with Watch() as told:
        algorithm.tell(query, y)
    return asked, told


def rounds(**settings: Any) -> list[Watch]:
    """Each round of a `maximize` of 30 after the initial design."""
    watches = [Watch()]
    rng = np.random.default_rng(0)

    def f(p: dict[str, float]) -> float:
        watches[-1].__exit__()
        watches.append(Watch())
        y = -((p["a"] - 0.3) ** 2) - (p["b"] - 0.4) ** 2 + 0.05 * rng.standard_normal()
        watches[-1].__enter__()
        return float(y)

    ub.maximize(f, {"a": (0.0, 1.0), "b": (0.0, 2.0)}, 30, seed=0, **settings)
    watches[-1].__exit__()
    return watches[10:-1]  # the last one makes the result


def house() -> str:
    """Lines a room, and the borders that a reading crosses."""
    sizes = lines()
    asked, told = reading()
    played = rounds()
    borders = statistics.median_high(each.n_borders for each in played)
    measured = {
        "lines of the optimizer": sum(sizes[room][1] for room in ("(top)", *OPTIMIZER)),
        "lines of everything": sum(n for _, n in sizes.values()),
        "borders crossed by a tell": told.n_borders,
        "borders crossed by an ask": asked.n_borders,
        "files of a round of maximize": max(each.n_files for each in played),
    }
    rows = [
        f"| {what} | {value} | {target} | {'met' if value <= target else 'NOT met'} |"
        for (what, value), target in zip(measured.items(), TARGETS.values(), strict=True)
    ]
    rows += [
        f"| calls of an ask, a tell | {len(asked.files)}, {len(told.files)} | | |",
        f"| borders of a round of maximize, median | {borders} | | |",
    ]
    rooms = [f"| {room} | {files} | {n} |" for room, (files, n) in sizes.items()]
    return "\n".join(
        [
            "## The house",
            "",
            "What is counted, and how, stands in benchmarks/house.py.",
            "",
            "| what | counted | at most | target |",
            "| --- | --- | --- | --- |",
            *rows,
            "",
            "| room | files | lines |",
            "| --- | --- | --- |",
            *rooms,
        ]
    )


if __name__ == "__main__":
    print(house())
