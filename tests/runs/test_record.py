"""Records on disk: they come back whole, need no library to be read, and are never half written."""

import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games import law
from unbribable.runs.record import FORMAT, Record
from world.members import ADVERSARIES, GAMES, LEARNERS, T, learner, objective, play, world

every_learner = pytest.mark.parametrize("who", LEARNERS)


def game(who="Layered", name="flip", threat="weak", seed=0):
    return play(learner(who), world(ADVERSARIES[name](objective()), threat=threat), T, seed)


def refuse(token):
    raise AssertionError(f"{token} is not JSON")


def assert_equal(a, b):
    assert a.columns.keys() == b.columns.keys()
    for name, column in a.columns.items():
        assert column.dtype == b.columns[name].dtype
        assert column.shape == b.columns[name].shape
        assert column.tobytes() == b.columns[name].tobytes()
    assert a.meta == b.meta


@settings(law, max_examples=12)
@given(played=st.sampled_from(GAMES), who=st.sampled_from(sorted(LEARNERS)), seed=st.integers(0, 2**63))
def test_a_record_comes_back_whole(tmp_path_factory, played, who, seed):
    record = game(who, *played, seed=seed)
    path = tmp_path_factory.mktemp("records") / "game.npz"
    assert record.save(path) == path
    assert_equal(Record.load(path), record)
    assert_equal(Record.load(str(path)), record)


@every_learner
def test_a_record_is_read_with_numpy_and_json_alone(who, tmp_path):
    record = game(who)
    path = record.save(tmp_path / "game.npz")
    with np.load(path, allow_pickle=False) as file:
        meta = json.loads(str(file["meta"]), parse_constant=refuse)
        columns = {name: file[name] for name in file.files if name != "meta"}
    assert meta == record.meta
    regret = meta["f_max"] - columns["f"]
    assert regret.sum() == pytest.approx(record.cumulative_regret[-1])
    assert columns["charge"].sum() == pytest.approx(meta["spent"])


def test_the_points_played_are_in_the_file(tmp_path):
    """Without the library nobody knows what candidate 7 is."""
    record = game()
    with np.load(record.save(tmp_path / "game.npz"), allow_pickle=False) as file:
        assert file["x"].tolist() == objective().X[file["index"]].tolist()


def test_reading_a_record_imports_nothing_of_ours(tmp_path):
    path = game().save(tmp_path / "game.npz")
    code = (
        "import sys, json, numpy as np\n"
        f"file = np.load({str(path)!r}, allow_pickle=False)\n"
        "meta = json.loads(str(file['meta']))\n"
        "assert not any(name.startswith('unbribable') for name in sys.modules)\n"
        "print(meta['T'], len(file['y_tilde']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(T), str(T)]


@pytest.mark.parametrize("name", ["game.npz", "game", "game.v1.record"])
def test_the_file_has_exactly_the_name_it_was_given(name, tmp_path):
    game().save(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_saving_again_replaces_the_old_file(tmp_path):
    path = tmp_path / "game.npz"
    game(seed=1).save(path)
    second = game(seed=2)
    second.save(path)
    assert_equal(Record.load(path), second)
    assert [p.name for p in tmp_path.iterdir()] == ["game.npz"]


def fail_half_way(file, **columns):
    file.write(b"half a fi")
    raise OSError("No space left on device")


def test_a_failed_save_leaves_the_old_file_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "game.npz"
    first = game(seed=1)
    first.save(path)
    monkeypatch.setattr(np, "savez_compressed", fail_half_way)
    with pytest.raises(OSError, match="No space left"):
        game(seed=2).save(path)
    monkeypatch.undo()
    assert_equal(Record.load(path), first)


def test_a_failed_save_leaves_no_partial_file_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(np, "savez_compressed", fail_half_way)
    with pytest.raises(OSError, match="No space left"):
        game().save(tmp_path / "game.npz")
    assert list(tmp_path.iterdir()) == []


def test_meta_data_that_are_no_json_are_refused_and_leave_no_file(tmp_path):
    record = game()
    bad = Record(record.columns, {**record.meta, "oops": object()})
    with pytest.raises(TypeError, match="not JSON serializable"):
        bad.save(tmp_path / "game.npz")
    assert list(tmp_path.iterdir()) == []


def test_another_format_is_refused(tmp_path):
    record = game()
    path = Record(record.columns, {**record.meta, "format": FORMAT + 1}).save(tmp_path / "game.npz")
    with pytest.raises(ValueError, match=f"a record must have format {FORMAT}, got {FORMAT + 1}"):
        Record.load(path)


def test_pickled_arrays_are_refused(tmp_path):
    path = tmp_path / "game.npz"
    np.savez(path, meta=np.array(json.dumps({"format": FORMAT})), index=np.array([object()]))
    with pytest.raises(ValueError, match="allow_pickle"):
        Record.load(path)


def test_the_regrets_follow_from_columns_and_meta_alone():
    columns = {"index": np.array([0, 1, 1]), "f": np.array([0.5, 2.0, 2.0]), "charge": np.ones(3)}
    record = Record(columns, {"f_max": 2.0, "f_recommended": 1.25})
    assert record.T == 3
    assert record.instant_regret.tolist() == [1.5, 0.0, 0.0]
    assert record.cumulative_regret.tolist() == [1.5, 1.5, 1.5]
    assert record.simple_regret == 0.75
    assert record.spent.tolist() == [1.0, 2.0, 3.0]
