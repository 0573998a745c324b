"""Directories of records to games: grouping, thinning, promises, and files that cannot be read."""

import json

import numpy as np
import pytest

from report.hand_made import record, write
from unbribable.lab.report.outcomes import load, reduced, thinned
from unbribable.lab.runs.record import FORMAT


@pytest.mark.parametrize("T", [1, 2, 399, 400, 401, 20_000])
def test_thinned_rounds_are_few_distinct_and_end_at_the_last(T):
    rounds = thinned(T)
    assert len(rounds) == min(T, 400)
    assert (rounds[0], rounds[-1]) == (1, T)
    assert (np.diff(rounds) > 0).all()


def test_a_reduced_game_keeps_the_cumulated_values_at_its_rounds():
    regret = np.linspace(0.0, 1.0, 1000)
    game = reduced(record(regret, charge=np.full(1000, 0.001)))
    np.testing.assert_allclose(game.regret, np.cumsum(regret)[game.rounds - 1])
    np.testing.assert_allclose(game.spent, 0.001 * game.rounds)
    assert game.seconds == pytest.approx(0.01)


def test_plays_count_each_instance_and_nobody():
    game = reduced(record([0.1] * 4, instances=("layer-1", "layer-2"), instance=[0, 1, -1, 0]))
    assert game.plays.tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1], [2, 1, 1]]


def test_games_are_grouped_by_cell_and_sorted_by_seed(tmp_path):
    write(
        tmp_path,
        [
            record([0.1], seed=1, algorithm="Robust", kind="RobustGPUCB", C_assumed=1.0),
            record([0.1], seed=1),
            record([0.1], seed=0),
            record([0.1, 0.1], seed=0),
            record([0.1], seed=0, adversary="none", C=0.0),
        ],
    )
    collection = load(tmp_path)
    assert collection.n_games == 5
    assert collection.algorithms == ["GP-UCB", "Robust"]
    found = [
        (cell.setting.T, cell.setting.adversary, cell.algorithm, [game.seed for game in games])
        for cell, games in collection.cells.items()
    ]
    assert found == [
        (1, "none", "GP-UCB", [0]),
        (1, "liar", "GP-UCB", [0, 1]),
        (1, "liar", "Robust", [1]),
        (2, "liar", "GP-UCB", [0]),
    ]


def test_a_clean_setting_is_split_by_what_learners_were_told(tmp_path):
    robust = {"algorithm": "Robust", "kind": "RobustGPUCB", "adversary": "none", "C": 0.0}
    told = [record([0.1], C_assumed=C, **robust) for C in (8.0, 2.0)]
    collection = load(write(tmp_path, [*told, record([0.1], adversary="none", C=0.0)]))
    assert [setting.told for setting in collection.settings] == [(2.0,), (8.0,)]
    assert [setting.told_words for setting in collection.settings] == ["2", "8"]
    for setting in collection.settings:
        assert [cell.algorithm for cell in collection.in_setting(setting)] == ["GP-UCB", "Robust"]
    assert collection.n_games == 3


def test_broken_files_are_named_and_skipped(tmp_path):
    write(tmp_path, [record([0.1], seed=0), record([0.2], seed=0)])
    runs = tmp_path / "runs"
    whole = (runs / "0000000000000000.npz").read_bytes()
    (runs / "cut.npz").write_bytes(whole[: len(whole) // 2])
    (runs / "empty.npz").write_bytes(b"")
    (runs / "words.npz").write_text("not a record")
    np.savez(runs / "lacking.npz", meta=np.array(json.dumps({"format": FORMAT})))
    np.savez(runs / "old.npz", meta=np.array(json.dumps({"format": FORMAT - 1})))
    collection = load(tmp_path)
    assert collection.n_games == 1
    reasons = {skip.file: skip.reason for skip in collection.skipped}
    assert set(reasons) == {
        "0000000000000001.npz", "cut.npz", "empty.npz", "words.npz", "lacking.npz", "old.npz",
    }  # fmt: skip
    assert "second record of the same cell, seed 0" in reasons["0000000000000001.npz"]
    assert f"format {FORMAT}, got {FORMAT - 1}" in reasons["old.npz"]


def test_records_of_an_earlier_spec_are_left_out(tmp_path):
    write(tmp_path, [record([0.1], seed=0), record([0.2], seed=1)])
    plan = {"name": "by hand", "runs": [{"key": f"{1:016x}", "labels": {}, "game": {}}]}
    (tmp_path / "spec.json").write_text(json.dumps(plan))
    collection = load(tmp_path)
    assert collection.n_games == 1
    assert [skip.file for skip in collection.skipped] == [f"{0:016x}.npz"]


def test_runs_of_the_spec_without_a_readable_record_are_missing(tmp_path):
    write(tmp_path, [record([0.1], seed=seed) for seed in range(3)])
    runs = [{"key": f"{k:016x}", "labels": {}, "game": {}} for k in range(5)]
    (tmp_path / "spec.json").write_text(json.dumps({"name": "by hand", "runs": runs}))
    (tmp_path / "runs" / f"{1:016x}.npz").write_bytes(b"")
    (tmp_path / "runs" / f"{2:016x}.npz").write_bytes((tmp_path / "runs" / f"{0:016x}.npz").read_bytes())
    collection = load(tmp_path)
    assert (collection.n_games, collection.n_runs) == (1, 5)
    assert collection.missing == tuple(f"{k:016x}" for k in (1, 2, 3, 4))
    reasons = [skip.reason for skip in collection.skipped]
    assert "cut off" in reasons[0]
    assert "it holds another run, '0000000000000000'" in reasons[1]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"runs": 3}', '{"runs": [{}]}', "[" * 100_000])
def test_a_damaged_list_of_runs_is_named_with_its_path(text, tmp_path):
    write(tmp_path, [record([0.1])])
    (tmp_path / "spec.json").write_text(text)
    with pytest.raises(ValueError, match=r"spec\.json \(.*call sweep again") as caught:
        load(tmp_path)
    assert str(tmp_path) in str(caught.value)


LAYERS = {"instances": ("layer-1", "layer-2"), "instance": [0, 1]}
ODD = [
    ({"C": float("nan")}, "finite, got NaN"),
    ({"C": "nan", "promised": {}}, "C must be a real number"),
    ({"C": 10**400}, "must fit into float64"),
    ({"C": -1.0}, "C must be finite and >= 0"),
    ({"C_assumed": "much", "promised": {}}, "C_assumed must be a real number"),
    ({"certificate": [1]}, "certificate must be a real number"),
    ({"detected": "early"}, "detected must be an integer"),
    ({"seed": None}, "seed must be an integer"),
    ({"f_max": "high"}, "f_max must be a real number"),
    ({"f_max": 1e300}, "sums of regret and corruption must be within 1e+100"),
    ({"charge": [1e300, 0.0]}, "sums of regret and corruption"),
    ({"charge": [float("nan"), 0.0]}, "columns must be finite, got charge"),
    ({"algorithm": "\ud800"}, "surrogates not allowed"),
    ({"instances": ()}, "instance must be"),
    ({"instance": [0, 1]}, "instance must be -1..0 in every round"),
    ({"covered": {"other": True}}, "covered must have the instances ['main'], got ['other']"),
    ({"covered": 3}, "AttributeError"),
    ({**LAYERS, "maximisers": [1, 2]}, "maximisers must have 2 columns"),
    ({**LAYERS, "maximisers": [[1], [2]]}, "maximisers must have 2 columns"),
    ({"instances": ("fast",)}, "others of its cell have ['main']"),
]


@pytest.mark.parametrize(("changes", "reason"), ODD, ids=lambda value: str(value)[:40])
def test_a_record_that_says_odd_things_is_skipped_and_the_others_are_read(changes, reason, tmp_path):
    write(tmp_path, [record([0.1, 0.2]), record([0.1, 0.2], **{"seed": 1, **changes})])
    collection = load(tmp_path)
    assert collection.n_games == 1
    (skip,) = collection.skipped
    assert skip.file == f"{1:016x}.npz"
    assert reason in skip.reason


def test_a_folder_of_records_alone_will_do(tmp_path):
    assert load(write(tmp_path, [record([0.1])]) / "runs").n_games == 1


def test_no_records_is_an_error_that_says_so(tmp_path):
    with pytest.raises(FileNotFoundError, match="directory must be one that exists, got"):
        load(tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"must hold records .*, got none in"):
        load(tmp_path)
    (tmp_path / "bad.npz").write_bytes(b"")
    with pytest.raises(ValueError, match=r"bad\.npz"):
        load(tmp_path)


def test_a_record_of_an_earlier_release_is_refused_in_a_sentence(tmp_path):
    old = record([0.1], seed=1)
    del old.meta["promised"]
    (skip,) = load(write(tmp_path, [record([0.1]), old])).skipped
    assert "this one is of an earlier release: call sweep again" in skip.reason
