"""Journal, search and policy: each asks for no more than what is its own."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from contracts.members import ALGORITHMS
from told import told
from unbribable.decision.asking import search

FLOOR = Path(search.__file__).parent
ASSUMED = ub.Assumptions(ub.Matern(2.5, 0.4), B=2.0, B0=1.0, noise_std=0.1, lam=0.05, c_max=0.5)
BOX = ub.Box([0.0, 0.0], [1.0, 1.0], n_candidates=32)
GRID = ub.Grid(np.random.default_rng(0).random((20, 2)))
each_maker = pytest.mark.parametrize("build", ALGORITHMS.values(), ids=ALGORITHMS)
each_domain = pytest.mark.parametrize("domain", [GRID, BOX], ids=["grid", "box"])


def played(build: Any, domain: ub.Grid | ub.Box, n: int = 12) -> Any:
    """With readings of its own, some of points nobody asked for, and one query pending."""
    algorithm = build(domain, ASSUMED)
    for k in range(n):
        x = GRID.points[k] if k % 3 == 2 else None
        query = None if k % 3 == 2 else algorithm.ask()
        algorithm.tell(query, 0.1 * k / n, x=x)
    algorithm.ask()
    return algorithm


def test_only_the_search_knows_whether_the_domain_is_finite() -> None:
    asks = re.compile(r"isinstance\([^)]*\b(Box|Grid)\b|(?<!model)\.box\b")
    files = [path for path in FLOOR.rglob("*.py") if asks.search(path.read_text(encoding="utf-8"))]
    assert [path.name for path in files] == ["search.py"]


@each_maker
def test_a_reading_does_not_keep_all_candidates_of_its_time_alive(build: Any) -> None:
    """On a Box they are another array after each reading; a view of one would hold it."""
    for reading in played(build, BOX).readings:
        assert reading.u.base is None or reading.u.base.size < BOX.n_candidates


@each_domain
@each_maker
def test_a_history_of_nothing_changes_nothing(build: Any, domain: Any) -> None:
    algorithm = build(domain, ASSUMED)
    before = told(algorithm)
    algorithm.learn([])
    assert told(algorithm) == before


@each_domain
@each_maker
def test_a_state_whose_readings_do_not_name_their_draw_is_refused(build: Any, domain: Any) -> None:
    state = played(build, domain).state()
    for column in ("drawn", "chosen_by"):
        del state["readings"][column]
    with pytest.raises(
        ValueError, match=r"readings must have the columns \['drawn', 'chosen_by'\], got"
    ):
        build(domain, ASSUMED).restore(state)


@each_domain
@each_maker
def test_a_reading_says_who_was_drawn_and_who_chose_its_point(build: Any, domain: Any) -> None:
    algorithm = played(build, domain)
    for k, reading in enumerate(algorithm.readings):
        assert reading.drawn == algorithm.drawn(reading.t)
        assert reading.chosen_by == ("user" if k % 3 == 2 else "algorithm")
        assert (reading.lcb is None) == (k % 3 == 2)
