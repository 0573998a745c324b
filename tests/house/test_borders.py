"""The benchmark of the house counts what it says it counts."""

import sys
from pathlib import Path

import numpy as np

import unbribable as ub

sys.path.append(str(Path(__file__).parents[2]))  # benchmarks is not installed

from benchmarks.house import SOURCE, Watch, lines, reading


def test_a_border_is_crossed_where_successive_calls_stand_in_different_files() -> None:
    watch = Watch()
    watch.files = ["a.py", "a.py", "b.py", "a.py", "a.py"]
    assert (watch.n_borders, watch.n_files) == (2, 2)


def test_only_calls_of_ours_are_noted_and_only_while_watching() -> None:
    with Watch() as watch:
        np.linspace(0.0, 1.0, 3)
        ub.Grid([[0.0], [1.0]])
    ub.Box([0.0], [1.0])
    assert {Path(file).name for file in watch.files} == {"domain.py", "checks.py"}


def test_every_line_below_the_source_is_in_a_room() -> None:
    every = list(SOURCE.rglob("*.py"))
    assert sum(files for files, _ in lines().values()) == len(every)
    assert sum(n for _, n in lines().values()) == sum(len(p.read_text().splitlines()) for p in every)


def test_an_ask_and_a_tell_are_watched_from_the_door_on() -> None:
    for watch in reading():
        assert Path(watch.files[0]) == SOURCE / "decision/algorithm.py"
        assert 1 <= watch.n_borders < len(watch.files)
