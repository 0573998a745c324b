"""confirm=n: the last n rounds read the point that is recommended then."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from study.scripted import (
    ASSUMED,
    BOX,
    GRID,
    Scripted,
    assert_refused,
    assert_same_run,
    trials_of,
    wave,
)  # fmt: skip

N, N_ROUNDS = 3, 12

pytestmark = pytest.mark.filterwarnings("ignore::unbribable.AssumptionsRefuted")  # by the lie

WORDS: dict[str, dict[str, Any]] = {
    "fitted": {"space": BOX},
    "fitted, a grid": {"space": GRID, "direction": "minimize"},
    "fitted, no lies": {"space": BOX, "corruption": 0},
    "the algorithm chooses": {"space": GRID, "assumptions": ASSUMED, "lies": 1},
    "the algorithm chooses on a box": {"space": BOX, "assumptions": ASSUMED, "corruption": 1.0},
}


def study_of(name: str, **words: Any) -> ub.Study:
    return ub.Study(**{**WORDS[name], "n_rounds": N_ROUNDS, "seed": 2, **words})


def told(study: ub.Study, n: int, f: Any) -> ub.Study:
    """After n rounds more."""
    for _ in range(n):
        query = study.ask()
        study.tell(query, f(query.x))
    return study


@pytest.mark.parametrize("name", WORDS)
def test_the_last_rounds_read_what_is_recommended_and_the_others_are_as_without(name: str) -> None:
    f, plain = Scripted(script={4: 3.0}), told(study_of(name), N_ROUNDS, Scripted(script={4: 3.0}))
    study = told(study_of(name, confirm=N), N_ROUNDS - N, f)
    for mine, theirs in zip(study.trials, plain.trials, strict=False):
        np.testing.assert_array_equal(mine.x, theirs.x)
    for _ in range(N):
        x = study.recommend().x
        np.testing.assert_array_equal(study.ask(1)[0].x, x)
        told_now = study.pending[-1]
        study.tell(told_now, f(told_now.x))
    assert any(
        not np.array_equal(mine.x, theirs.x)
        for mine, theirs in zip(study.trials, plain.trials, strict=True)
    ), "else this says nothing"


def test_past_n_rounds_the_search_goes_on() -> None:
    study = told(study_of("fitted", confirm=N), N_ROUNDS, Scripted())
    assert not np.array_equal(study.ask().x, study.recommend().x)


def test_readings_of_the_users_own_are_no_rounds() -> None:
    """Those brought along and those told later: so many fewer rounds are not left to search."""
    study = study_of("fitted", confirm=N, initial=[([0.5], 0.1), ([0.3], 0.4)])
    f = told(study, 8, Scripted()) and Scripted(first=9)
    study.tell([0.15], wave([0.15]))
    told(study, N_ROUNDS - N - 9, f)
    assert not np.array_equal(study.ask().x, study.recommend().x)
    study.tell(study.pending[0], wave(study.pending[0].x))
    assert np.array_equal(study.ask().x, study.recommend().x)


def test_several_readings_of_a_point_are_one_round() -> None:
    study, rng = study_of("fitted", confirm=N), np.random.default_rng(0)
    for k in range(N_ROUNDS):
        x = study.recommend().x if k >= N_ROUNDS - N - 1 else None
        query = study.ask()
        if x is not None:
            assert np.array_equal(query.x, x) == (k >= N_ROUNDS - N)
        study.tell(query, wave(query.x) + 0.1 * rng.standard_normal(2))


def test_several_at_a_time_all_read_it() -> None:
    study = told(study_of("fitted", confirm=N), N_ROUNDS - N, Scripted())
    x = study.recommend().x
    assert all(np.array_equal(query.x, x) for query in study.ask(N))


def test_a_point_that_fails_more_often_than_it_was_read_is_left_alone() -> None:
    study = told(study_of("fitted", confirm=6), N_ROUNDS - 6, Scripted())  # what its design leaves
    x = study.recommend().x
    n_read, asked = sum(np.array_equal(trial.x, x) for trial in study.trials), []
    for _ in range(6):
        query = study.ask()
        asked.append(np.array_equal(query.x, x))
        study.tell(query, None if asked[-1] else wave(query.x))
    assert asked[: n_read + 1] == [True] * (n_read + 1)
    assert not all(asked)


def test_maximize_does_what_a_study_does_and_goes_on_with_more_rounds(tmp_path: Path) -> None:
    """With more rounds the last ones of these confirm."""
    words: dict[str, Any] = {"seed": 2, "confirm": N, "file": tmp_path / "run.json"}
    first = ub.maximize(Scripted(), BOX, N_ROUNDS, **words)
    study = told(study_of("fitted", confirm=N), N_ROUNDS, Scripted())
    assert trials_of(first) == trials_of(study.result())
    more = ub.maximize(Scripted(first=N_ROUNDS + 1), BOX, N_ROUNDS + 4, **words)
    ends = [trial.x.tolist() for trial in more.trials[-N:]]
    assert ends == [more.at(N_ROUNDS + 1 + k).x.tolist() for k in range(N)]
    assert more.trials[N_ROUNDS].x.tolist() != first.x.tolist()


def test_more_than_the_rounds_after_the_design_is_refused() -> None:
    call = lambda: ub.maximize(wave, BOX, 10, confirm=6)  # noqa: E731
    words = ("confirm must be <= 5", "n_rounds=10", "after 5 of the initial design", "confirm=6")
    assert_refused(call, ValueError, words)
    assert_refused(lambda: ub.Study(BOX, confirm=2), ValueError, ("n_rounds is not said", "confirm=2"))


def test_a_run_from_before_is_one_that_does_not_confirm(tmp_path: Path) -> None:
    """Its file does not say so."""
    file, words = tmp_path / "run.json", {"assumptions": ASSUMED, "seed": 4}
    whole = ub.maximize(Scripted(), GRID, 8, **words)
    ub.maximize(Scripted(script={5: KeyboardInterrupt()}), GRID, 8, file=file, **words)
    run, *steps = file.read_text().splitlines()
    old = json.loads(run)
    del old["plan"]["confirm"]
    file.write_text("\n".join([json.dumps(old), *steps, ""]))
    assert ub.Result.load(file).engine.plan.confirm == 0
    assert_same_run(ub.maximize(Scripted(first=5), GRID, 8, file=file, **words), whole)
