"""Records on disk: they come back whole, need no library to be read, and are never half written."""

import errno
import io
import json
import os
import stat
import subprocess
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.members import ALGORITHMS
from games import law
from unbribable.lab.runs.record import FORMAT, Record
from world.members import ADVERSARIES, GAMES, T, learner, objective, play, world

every_learner = pytest.mark.parametrize("who", ALGORITHMS)


def game(who="layered", name="flip", threat="weak", seed=0):
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
@given(
    played=st.sampled_from(GAMES), who=st.sampled_from(sorted(ALGORITHMS)), seed=st.integers(0, 2**63)
)
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


def test_the_bytes_are_on_the_disk_before_the_file_has_its_name(tmp_path, monkeypatch):
    seen = []
    real = os.fsync

    def fsync(handle):
        seen.append(sorted(path.name for path in tmp_path.iterdir()))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    game().save(tmp_path / "game.npz")
    assert len(seen) == (2 if hasattr(os, "O_DIRECTORY") else 1)
    assert seen[0][0].endswith(".tmp")  # the file, still under its other name
    assert seen[1:] in ([], [["game.npz"]])  # then the directory


def test_a_directory_that_cannot_be_brought_to_the_disk_does_no_harm(tmp_path, monkeypatch):
    real = os.fsync

    def fsync(handle):
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    record = game()
    assert_equal(Record.load(record.save(tmp_path / "game.npz")), record)


def test_a_full_disk_is_named_with_the_path(tmp_path, monkeypatch):
    def full(file, **columns):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*game\.npz'"):
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


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def header(shape):
    """An npy file that claims a shape and holds nothing."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return file.getvalue()


def words(**changes):
    """An npy file with the meta data of a game, changed."""
    return npy(np.array(json.dumps({"format": FORMAT, "T": 2, **changes})))


COLUMNS = {"index": npy(np.array([0, 1])), "f": npy(np.ones(2))}
BROKEN = {
    "a shape of 73 TiB": ({"f": header((10**13,))}, "the bytes its header claims, 80000000000000"),
    "a shape beyond all integers": ({"f": header((10**30,))}, "the bytes its header claims"),
    "fewer bytes than claimed": ({"f": npy(np.ones(2))[:-8]}, "header claims, 16, got 8"),
    "no npy": ({"f": b"oops"}, "magic string"),
    "deep meta": ({"meta": npy(np.array("[" * 100_000))}, "RecursionError"),
    "no meta": ({"meta": None}, "KeyError: 'meta'"),
    "meta that is a list": ({"meta": npy(np.array("[]"))}, "AttributeError"),
    "meta that is no JSON": ({"meta": npy(np.array("{"))}, "property name"),
    "C is NaN": ({"meta": words(C=np.nan)}, "numbers of meta must be finite, got NaN"),
    "C is infinite": ({"meta": words(C=np.inf)}, "numbers of meta must be finite, got Infinity"),
    "C is 1e999": (
        {"meta": npy(np.array('{"format": 1, "C": 1e999}'))},
        "numbers of meta must be finite, got 1e999",
    ),
    "unequal columns": ({"f": npy(np.ones(3))}, "2 rows like index, got f(3,)"),
    "a scalar column": ({"f": npy(np.ones(()))}, "2 rows like index, got f()"),
    "no rounds": ({"index": npy(np.zeros(0)), "f": npy(np.zeros(0))}, "got no rounds"),
    "no index": ({"index": None}, "got no rounds"),
    "other rounds than T": ({"meta": words(T=3)}, "T=3, got 2"),
    "a NaN column": ({"f": npy(np.array([0.5, np.nan]))}, "columns must be finite, got f"),
    "an infinite column": ({"f": npy(np.array([0.5, np.inf]))}, "columns must be finite, got f"),
    "a column of words": ({"f": npy(np.array(["a", "b"]))}, "columns must hold numbers, got f"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_no_game_leaves_behind_is_refused_in_a_sentence(name, tmp_path):
    changes, message = BROKEN[name]
    path = tmp_path / "game.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for member, data in ({"meta": words()} | COLUMNS | changes).items():
            if data is not None:
                archive.writestr(f"{member}.npy", data)
    with pytest.raises(ValueError, match="this file is not a record: ") as caught:
        Record.load(path)
    assert message in str(caught.value)


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_bomb_is_refused_before_it_is_unpacked(method, tmp_path, monkeypatch):
    monkeypatch.setattr("unbribable.lab.runs.record.MAX_BYTES", 10_000)
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("meta.npy", bytes(10_001))
    assert path.stat().st_size < 1_000
    monkeypatch.setattr(zipfile.ZipFile, "open", None)
    with pytest.raises(ValueError, match="at most 10000 bytes unpacked, got 10001"):
        Record.load(path)


def test_a_bomb_whose_directory_lies_is_unpacked_no_further_than_it_says(tmp_path):
    path = tmp_path / "bomb.npz"
    size = 1 << 24
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("meta.npy", bytes(size))
    claim = size.to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(claim, (100).to_bytes(4, "little")))
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"this file is not a record: .*CRC"):
            Record.load(path)
        assert tracemalloc.get_traced_memory()[1] < size / 4
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_ways_of_packing_are_refused(method, tmp_path):
    path = tmp_path / "game.npz"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("meta.npy", words())
    with pytest.raises(ValueError, match=r"meta\.npy must be deflated"):
        Record.load(path)


def test_a_file_beyond_the_limit_is_not_read(tmp_path, monkeypatch):
    path = game().save(tmp_path / "game.npz")
    monkeypatch.setattr("unbribable.lab.runs.record.MAX_BYTES", 100)
    monkeypatch.setattr("pathlib.Path.read_bytes", None)
    with pytest.raises(ValueError, match="a record must have at most 100 bytes, got"):
        Record.load(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_what_is_no_file_is_not_waited_for(tmp_path):
    path = tmp_path / "game.npz"
    os.mkfifo(path)
    with pytest.raises(ValueError, match="a record must be a file, got"):
        Record.load(path)
    with pytest.raises(ValueError, match="a record must be a file, got"):
        Record.load(tmp_path)


def test_one_changed_byte_anywhere_is_noticed_or_harmless(tmp_path):
    whole = game("robust")
    path = whole.save(tmp_path / "game.npz")
    raw = path.read_bytes()
    directory = raw.index(b"PK\1\2")
    n_noticed = 0
    for place in (*range(0, directory, 23), *range(directory, len(raw))):
        path.write_bytes(raw[:place] + bytes([raw[place] ^ 0x55]) + raw[place + 1 :])
        try:
            found = Record.load(path)
        except ValueError:
            n_noticed += 1
        else:
            assert_equal(found, whole)
    assert n_noticed > 100


def test_the_regrets_follow_from_columns_and_meta_alone():
    columns = {"index": np.array([0, 1, 1]), "f": np.array([0.5, 2.0, 2.0]), "charge": np.ones(3)}
    record = Record(columns, {"f_max": 2.0, "f_recommended": 1.25})
    assert record.T == 3
    assert record.instant_regret.tolist() == [1.5, 0.0, 0.0]
    assert record.cumulative_regret.tolist() == [1.5, 1.5, 1.5]
    assert record.simple_regret == 0.75
    assert record.spent.tolist() == [1.0, 2.0, 3.0]
