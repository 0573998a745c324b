"""A game that hangs in a call ends past its time limit, and costs its own player alone."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from runs.sweeps import assert_same, records
from unbribable.lab.runs.hanging import grace, run_or_end, stuck_path
from unbribable.lab.runs.play import run_one
from unbribable.lab.runs.spec import read_spec
from unbribable.lab.runs.sweep import failures, sweep

PLAYERS = """
import time
import unbribable as ub


class Hangs(ub.GPUCB):
    n = 0

    def ask(self):
        self.n += 1
        if self.n == 3:
            self.hang()
        return super().ask()


class Sleeps(Hangs):
    def hang(self):
        time.sleep(1000)


class Spins(Hangs):
    def hang(self):
        sum(range(10**13))  # in C, without letting any other thread of Python run
"""
HUNG = ("in a call that had not returned 1 s later", "its process was ended")


def spec_of(folder: Path, *kinds: str, **changes: Any) -> Any:
    module = f"players_of_{folder.name}"  # a name is imported once
    (folder / f"{module}.py").write_text(PLAYERS)
    raw = {
        "name": "hanging",
        "T": 8,
        "seeds": 2,
        "noise_std": 0.1,
        "budgets": [2],
        "time_limit": 0.3,
        "objective": {"kind": "figure_1", "n": 15},
        "assumptions": {"lam": 0.05},
        "algorithms": [{"kind": kind.replace("own", module)} for kind in kinds],
        "adversaries": [{"kind": "none"}],
        **changes,
    }
    return read_spec(raw, folder=folder)


def test_the_grace_is_a_tenth_and_at_least_a_second() -> None:
    assert [grace(limit) for limit in (0.3, 10.0, 1800.0)] == [1.0, 1.0, 180.0]


def test_a_game_within_its_limit_is_played_as_ever_and_leaves_no_note(tmp_path: Path) -> None:
    run = spec_of(tmp_path, "GPUCB", time_limit=60.0).runs()[0].to_plain()
    for name, play in (("one", run_one), ("other", run_or_end)):
        (tmp_path / name / "runs").mkdir(parents=True)
        (tmp_path / name / "failed").mkdir()
        assert play(run, str(tmp_path / name)) == run["key"]
    assert_same(records(tmp_path / "one"), records(tmp_path / "other"))
    assert list((tmp_path / "other" / "failed").iterdir()) == []


WORKER = """
import json, sys
from unbribable.lab.runs.hanging import run_or_end

run_or_end(json.loads(sys.argv[1]), sys.argv[2])
"""


@pytest.mark.long
@pytest.mark.parametrize("kind", ["Sleeps", "Spins"])
def test_a_process_that_hangs_ends_and_whoever_has_the_run_next_says_where(
    kind: str, tmp_path: Path
) -> None:
    """Also where it hangs in C, and no other thread of Python runs any more. Then it may try again."""
    run = spec_of(tmp_path, f"own:{kind}").runs()[0].to_plain()
    for folder in ("runs", "failed"):
        (tmp_path / folder).mkdir()
    command = [sys.executable, "-c", WORKER, json.dumps(run), str(tmp_path)]
    done = subprocess.run(command, env=os.environ, timeout=120, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
    with pytest.raises(TimeoutError, match="a game must end within") as caught:
        run_or_end(run, str(tmp_path))
    first, *calls = str(caught.value).split("\n")
    for word in HUNG:
        assert word in first
    assert f"players_of_{tmp_path.name}.py" in calls[0]
    assert calls[0].endswith("in hang")
    assert calls[-1].endswith("in run_one")
    assert not stuck_path(tmp_path, run["key"]).exists()


@pytest.mark.long
@pytest.mark.filterwarnings("default")
def test_the_games_of_the_others_are_all_played(tmp_path: Path) -> None:
    """And equal those of a sweep without the player that hangs; called again it fails again, soon."""
    out = tmp_path / "out"
    others = spec_of(tmp_path, "GPUCB", "RobustGPUCB", time_limit=60.0)
    sweep(others, tmp_path / "serial", serial=True)
    spec = spec_of(tmp_path, "GPUCB", "own:Sleeps", "RobustGPUCB", time_limit=5.0)
    start = time.monotonic()
    tally = sweep(spec, out, n_workers=2)
    assert time.monotonic() - start < 120.0
    assert (tally.done, len(tally.failed), tally.left) == (4, 2, 0)
    for note in failures(out):
        assert note["labels"]["algorithm"] == "Sleeps"
        for word in ("TimeoutError: a game must end within time_limit=5 s", *HUNG):
            assert word in note["traceback"]
    assert_same(records(out), records(tmp_path / "serial"))
    assert not list(out.rglob("*.stuck"))
    again = sweep(spec, out, n_workers=2)
    assert (again.kept, again.done) == (4, 0)
    assert sorted(again.failed) == sorted(tally.failed)  # in the order in which they ended


def test_a_note_of_a_sweep_before_counts_no_more(tmp_path: Path) -> None:
    """What hung once is tried again, unless it was this sweep. A note that is empty may be in use."""
    spec = spec_of(tmp_path, "GPUCB", time_limit=60.0)
    for run, text in zip(spec.runs(), ("Timeout", ""), strict=True):
        path = stuck_path(tmp_path, run.key)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    tally = sweep(spec, tmp_path, serial=True)
    assert (tally.done, tally.failed) == (2, ())
    assert [path.read_text() for path in (tmp_path / "failed").iterdir()] == [""]


def test_what_killed_workers_left_of_their_records_is_removed(tmp_path: Path) -> None:
    spec, digits = spec_of(tmp_path, "GPUCB", time_limit=60.0), "0123456789abcdef" * 2
    (tmp_path / "runs").mkdir()
    old, new = (tmp_path / "runs" / f".{key}.npz.{digits}.tmp" for key in ("old", "new"))
    for path in (old, new):
        path.touch()
    os.utime(old, (0, 0))
    sweep(spec, tmp_path, serial=True)
    assert (old.exists(), new.exists()) == (False, True)
