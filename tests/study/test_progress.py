"""The line that tells how a run goes: where it is shown, what it says, and that it changes nothing."""

import re
import sys
from typing import Any

import pytest

import unbribable as ub
from study.scripted import ASSUMED, BOX, GRID, Scripted, assert_same_run
from unbribable.say.words import plus_minus
from unbribable.study.progress import in_a_line

pytestmark = pytest.mark.usefixtures("wide")
GIVEN: dict[str, Any] = {"domain": GRID, "n_rounds": 4, "assumptions": ASSUMED, "corruption": 1.5}


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line for everything."""
    monkeypatch.setenv("COLUMNS", "200")


def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)


def test_off_a_terminal_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    ub.maximize(Scripted(), **GIVEN)
    assert capsys.readouterr() == ("", "")


def test_on_a_terminal_the_bar_is_shown_by_default(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    on_a_terminal(monkeypatch)
    ub.maximize(Scripted(), **GIVEN)
    out, err = capsys.readouterr()
    assert out == ""
    assert "4/4" in err


def test_on_a_terminal_it_can_be_left_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    on_a_terminal(monkeypatch)
    ub.maximize(Scripted(), progress=False, **GIVEN)
    assert capsys.readouterr() == ("", "")


def test_where_it_is_wanted_it_goes_to_standard_error_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Standard output belongs to the user's program."""
    run = ub.maximize(Scripted(), progress=True, **GIVEN)
    out, err = capsys.readouterr()
    assert out == ""
    assert "round" in err
    assert "4/4" in err
    assert f"({run.lower:.4g}, {run.upper:.4g})" in err
    assert "0 suspicious" in err


def test_on_eighty_columns_the_count_of_rounds_is_still_there(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ub.maximize(Scripted(), progress=True, **GIVEN)
    err = capsys.readouterr().err
    assert "4/4" in err
    assert "s/ask" in err


def test_initial_readings_do_not_move_the_bar(capsys: pytest.CaptureFixture[str]) -> None:
    stop = [lambda result, trial: trial.number == 4]
    initial = [([0.5], 0.1), ([0.25], 0.7)]
    ub.maximize(Scripted(), progress=True, initial=initial, callbacks=stop, **GIVEN)
    err = capsys.readouterr().err
    assert "2/4" in err
    assert "3/4" not in err


def test_the_bar_changes_nothing_in_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    words: dict[str, Any] = {"domain": BOX, "n_rounds": 9, "seed": 0}
    assert_same_run(ub.maximize(Scripted(), progress=True, **words), ub.maximize(Scripted(), **words))
    assert capsys.readouterr().out == ""


def test_a_failed_first_round_does_not_stop_the_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.warns(RuntimeWarning, match="round 1 failed"):
        run = ub.maximize(Scripted(script={1: None}), BOX, 4, seed=0, progress=True)
    assert len(run.trials) == 4
    assert "4/4" in capsys.readouterr().err


def test_without_rich_a_bar_that_was_asked_for_is_refused_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("rich", "rich.console", "rich.progress"):
        monkeypatch.setitem(sys.modules, name, None)
    f = Scripted()
    with pytest.raises(ImportError, match=r"unbribable\[cli\]"):
        ub.maximize(f, progress=True, **GIVEN)
    assert f.points == []


def test_without_rich_a_terminal_stays_quiet(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("rich", "rich.console", "rich.progress"):
        monkeypatch.setitem(sys.modules, name, None)
    on_a_terminal(monkeypatch)
    assert len(ub.maximize(Scripted(), **GIVEN).trials) == 4
    assert capsys.readouterr() == ("", "")


def test_the_line_says_estimate_worst_case_suspects_and_time() -> None:
    run = ub.maximize(Scripted(script={4: 1e6}), BOX, 10, seed=0)
    found = re.fullmatch(
        r"(\S+ \+- \S+), worst \((\S+), (\S+)\) · (\d+) suspicious · (\d+\.\d{3}) s/ask",
        in_a_line(run),
    )
    assert found is not None
    assert run.lower is not None
    assert run.upper is not None
    assert run.estimate is not None
    assert run.estimate_sd is not None
    assert found[1] == plus_minus(run.estimate, run.estimate_sd)
    assert float(found[2]) == pytest.approx(run.lower, rel=1e-3)
    assert float(found[3]) == pytest.approx(run.upper, rel=1e-3)
    assert int(found[4]) == run.n_suspects >= 1
    assert run.seconds_per_ask is not None
    assert float(found[5]) == pytest.approx(run.seconds_per_ask, abs=6e-4)


def test_the_line_of_a_result_that_never_asked_says_no_time() -> None:
    run = ub.maximize(Scripted(), **GIVEN).at(2)
    assert run.seconds_per_ask is None
    assert in_a_line(run).endswith(" 0 suspicious · 0.000 s/ask")


def test_before_the_first_reading_the_line_says_so() -> None:
    run = ub.maximize(Scripted(script={1: KeyboardInterrupt()}), BOX, 4)
    assert in_a_line(run) == "no reading yet"
