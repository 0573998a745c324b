"""A spec is read through one table: what is wrong is named, what is equal has one key."""

import copy
import json
import math
import sys
import tomllib
import types
from pathlib import Path

import pytest

from unbribable.lab.runs.experiment import key_of
from unbribable.lab.runs.kinds import ADVERSARY, PLAYER
from unbribable.lab.runs.roles import Role
from unbribable.lab.runs.spec import load_spec, read_spec
from unbribable.lab.world import adversaries

EXPERIMENTS = sorted((Path(__file__).parents[2] / "experiments").rglob("*.toml"))

SPEC = {
    "name": "test",
    "T": 20,
    "seeds": 2,
    "noise_std": 0.1,
    "budgets": [3],
    "objective": {
        "kind": "random_rkhs",
        "kernel": {"kind": "squared_exponential", "lengthscale": 0.2},
        "candidates": {"n": 15},
    },
    "assumptions": {"lam": 0.01},
    "algorithms": [{"kind": "GPUCB"}, {"kind": "RobustGPUCB"}],
    "adversaries": [{"kind": "top_k"}, {"kind": "none"}],
}


def changed(path, value):
    """The spec with the value at a dotted path (list entries by number)."""
    spec = copy.deepcopy(SPEC)
    *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    table = spec
    for key in parents:
        table = table[key]
    table[last] = value
    return spec


def without(key):
    return {name: value for name, value in SPEC.items() if name != key}


MATERN = {"kind": "matern", "lengthscale": 0.2}
CUBE = {"centre": [0.1], "side": 0.1}

BAD = [
    (without("name"), ValueError, ["name must be given"]),
    (without("objective"), ValueError, ["objective must be given"]),
    (without("budgets"), ValueError, ["budgets must be given for top_k, RobustGPUCB"]),
    (changed("rounds", 5), ValueError, ["keys of a spec must be among", "'noise_std'", "got rounds"]),
    (changed("T", 0), ValueError, ["T[0] must be >= 1", "got T[0]=0"]),
    (changed("T", [10, 10]), ValueError, ["T must be distinct"]),
    (changed("seeds", 0), ValueError, ["seeds must be >= 1"]),
    (
        changed("seeds", 3_000_000_000),
        ValueError,
        ["seeds must be at most 100000, got seeds=3000000000"],
    ),
    (changed("seeds", 100_000), ValueError, ["at most 100000 runs, got 100000 seeds x", "split it"]),
    (changed("seeds", []), TypeError, ["seeds must be a list that is not empty"]),
    (changed("seeds", [1, -1]), ValueError, ["seeds[1] must be >= 0"]),
    (changed("threat", "mild"), ValueError, ["threat must be one of 'weak', 'strong'"]),
    (changed("noise_std", "0.1"), TypeError, ["noise_std must be a real number"]),
    (changed("budgets", [0]), ValueError, ["budgets[0] must be", "> 0"]),
    (changed("objective", 3), TypeError, ["objective must be a table", "'gp_draw'"]),
    (changed("objective.kind", "x"), ValueError, ["objective.kind must be one of", "'figure_1'"]),
    (changed("objective.norm", -1), ValueError, ["objective: norm must be", "> 0", "-1.0"]),
    (changed("objective.kernel", MATERN), ValueError, ["objective.kernel.nu must be given"]),
    (changed("objective.kernel.scale", 1), ValueError, ["got objective.kernel.scale", "'lengthscale'"]),
    (changed("objective.candidates.n", 0), ValueError, ["objective.candidates.n[0] must be >= 1"]),
    (changed("objective.candidates.low", 2), ValueError, ["objective.candidates.high must be > low"]),
    (changed("objective.candidates.kind", "x"), ValueError, ["'grid', 'sobol', 'uniform'"]),
    (changed("assumptions.lam", 0), ValueError, ["assumptions: lam must be", "> 0"]),
    (changed("assumptions.B", "max"), ValueError, ["assumptions.B must be one of 'norm'"]),
    (
        changed("assumptions.kernel", {**MATERN, "nu": 1.5}),
        ValueError,
        ["assumptions: B must be a number"],
    ),
    (changed("algorithms", []), TypeError, ["algorithms must be a list that is not empty"]),
    (changed("algorithms.0.kind", "UCB"), ValueError, ["algorithms[0].kind must be one of 'GPUCB'"]),
    (changed("algorithms.1.width", "wide"), ValueError, ["algorithms[1]: width", "'exact', 'capped'"]),
    (changed("algorithms.1.alpha", 2), ValueError, ["got algorithms[1].alpha"]),
    (
        changed("algorithms.1.beta", {"kind": "log"}),
        ValueError,
        ["algorithms[1].beta.kind", "'sqrt_log'"],
    ),
    (changed("algorithms.1.C_factor", 0), ValueError, ["algorithms[1].C_factor must be", "> 0"]),
    (changed("algorithms.1.kind", "GPUCB"), ValueError, ["labels of algorithms must be distinct"]),
    (changed("adversaries.0.kind", "TopK"), ValueError, ["adversaries[0].kind", "'top_k'"]),
    (changed("adversaries.0.k", 3), ValueError, ["got adversaries[0].k", "'K'"]),
    (changed("adversaries.0", {"kind": "silent"}), ValueError, ["adversaries[0].base must be given"]),
    (changed("adversaries.0.K", 0), ValueError, ["adversaries[0]: K must be >= 1, got K=0"]),
    (changed("adversaries.0.K", 1.5), TypeError, ["adversaries[0]: K must be an integer"]),
    (
        changed("adversaries.0", {"kind": "silent", "base": {"kind": "top_k", "K": 0}}),
        ValueError,
        ["adversaries[0]: base: K must be >= 1"],
    ),
    (
        changed("adversaries.0", {"kind": "clipping", "target": {"centre": [0.1, 0.1], "side": 1}}),
        ValueError,
        ["adversaries[0]: target.centre must have one number per axis (1)"],
    ),
    (
        changed("adversaries.0", {"kind": "hide_and_decoy", "radius": 9, "low": 0, "high": 1}),
        ValueError,
        ["adversaries[0]: a decoy must lie 18 from the maximiser"],
    ),
    (
        changed("adversaries.0", {"kind": "subtraction", "scale": [], "height": 1}),
        ValueError,
        ["adversaries[0]: scale must be a number, or one per coordinate, got scale=[]"],
    ),
    (changed("objective.kernel.lengthscale", 0), ValueError, ["objective: kernel: lengthscale must be"]),
    (changed("algorithms.1.beta", -1), ValueError, ["algorithms[1]: beta must be", ">= 0"]),
    (
        changed("adversaries.0", {"kind": "silent", "base": {"kind": "region_subtraction"}}),
        ValueError,
        ["adversaries[0].base.radius must be given"],
    ),
    (
        changed("adversaries.0", {"kind": "clipping", "target": {"centre": [0.5]}}),
        ValueError,
        ["adversaries[0].target.side must be given"],
    ),
    (
        changed("adversaries.0", {"kind": "clipping", "target": {**CUBE, "offset": 1}}),
        ValueError,
        ["'halfspace', 'offset'", "got adversaries[0].target.centre"],
    ),
    (
        changed(
            "adversaries.0", {"kind": "instance_targeting", "instance": "slow", "base": {"kind": "flip"}}
        ),
        ValueError,
        ["adversaries[0]: threat must be 'strong'"],
    ),
    (changed("profiles", {"full": {"rounds": 3}}), ValueError, ["got profiles.full.rounds"]),
    (
        changed("objective", {"kind": "test_function", "name": "branin", "candidates": {"n": 5}}),
        ValueError,
        ["assumptions: kernel must be given: branin has none of its own"],
    ),
    (
        changed("algorithms", [{"kind": "GPUCB"}, {"kind": "GPUCB", "label": "same"}]),
        ValueError,
        ["labels must stand for different games", "'GPUCB'", "'same'"],
    ),
]


@pytest.mark.parametrize(("raw", "error", "words"), BAD, ids=lambda value: str(value)[:60])
def test_what_is_wrong_is_named_with_its_key_and_what_is_allowed(raw, error, words):
    with pytest.raises(error) as caught:
        read_spec(raw).runs()
    for word in words:
        assert word in str(caught.value)


def test_an_unknown_profile_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="profile must be one of 'full', got profile='small'"):
        read_spec(changed("profiles", {"full": {"T": 50}}), "small")


def test_a_profile_of_a_spec_without_any_is_refused_in_words():
    words = "profile must be left out: this spec has no profiles, got profile='small'"
    with pytest.raises(ValueError, match=words):
        read_spec(SPEC, "small")


def test_a_profile_replaces_top_level_keys():
    spec = read_spec(changed("profiles", {"full": {"T": [50, 60], "seeds": [7]}}), "full")
    assert spec.T == (50, 60)
    assert spec.seeds == (7,)
    assert read_spec(SPEC).T == (20,)


def test_a_file_that_is_not_toml_is_refused_by_name(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text("name = ")
    with pytest.raises(ValueError, match=r"bad\.toml must be TOML"):
        load_spec(path)


def n_rounds(runs):
    return sum(run.to_plain()["game"]["T"] for run in runs)


@pytest.mark.long
@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.name)
def test_every_experiment_is_a_valid_spec_and_grows_with_its_full_profile(path):
    small, full = load_spec(path).runs(), load_spec(path, "full").runs()
    assert 0 < len(small) < len(full)
    quick = load_spec(path, "quick").runs()
    assert 0 < n_rounds(quick) <= n_rounds(small)
    assert load_spec(path).name == path.stem
    json.dumps([run.to_plain() for run in small], allow_nan=False)


def test_a_label_means_the_same_widths_in_every_experiment():
    found: dict[str, list[dict]] = {}
    for path in EXPERIMENTS:
        raw = tomllib.loads(path.read_text())
        listed = [each.get("algorithms", []) for each in (raw, *raw.get("profiles", {}).values())]
        for player in (one for some in listed for one in some if isinstance(one, dict)):
            widths = {name: player.get(name) for name in ("width", "noise", "tail", "gain", "beta")}
            if isinstance(widths["beta"], dict):  # how the game begins is the protocol's
                widths["beta"] = {**widths["beta"], "n_init": None}
            found.setdefault(player.get("label", player["kind"]), []).append(widths)
    for label, several in found.items():
        assert all(widths == several[0] for widths in several), label


def test_all_experiments_are_there():
    names = {path.stem for path in EXPERIMENTS}
    assert names >= {
        "attacks", "figure1", "known_or_zero", "lower_bound", "rgp_pe", "rgp_pe_smooth", "unknown_c",
        "wrong_c", "frontier_smooth", "frontier_attacks", "p1", "p2", "p4", "p5", "p6",
    }  # fmt: skip


@pytest.mark.parametrize("path", [path for path in EXPERIMENTS if path.parent.name == "leaderboard"])
def test_a_protocol_scores_no_seed_on_which_parameters_were_chosen(path):
    def seeds(profile):
        return set(load_spec(path, profile).seeds)

    scored = seeds("quick") | seeds("core") | seeds("full")
    assert scored == set(range(30))
    assert not scored & seeds("tune")


def test_every_adversary_can_be_named_in_a_spec_and_is_in_the_attacks_experiment():
    names = [name for name in adversaries.__all__ if name not in ("Adversary", "Observation", "View")]
    snake = {"".join(f"_{c.lower()}" if c.isupper() else c for c in name)[1:] for name in names}
    assert snake - {"no_adversary"} | {"none"} == set(ADVERSARY.words)
    (attacks,) = [path for path in EXPERIMENTS if path.stem == "attacks"]
    assert {adversary.plain["kind"] for adversary in load_spec(attacks).adversaries} == set(
        ADVERSARY.words
    )


def keys(raw):
    return [run.key for run in read_spec(raw).runs()]


def test_keys_do_not_change_from_release_to_release():
    """A change here makes every finished sweep start again: only with a new record format."""
    assert key_of({"a": 1.0, "b": [True, None, "x"]}) == "eca8cfb31ab74533"
    assert keys(SPEC)[0] == "4e5806c0db3f2da2"


def test_labels_and_names_do_not_change_a_key():
    relabelled = changed("algorithms.0.label", "another")
    relabelled["adversaries"][0]["label"] = "liar"
    relabelled["objective"]["label"] = "hill"
    relabelled["name"] = "renamed"
    assert keys(relabelled) == keys(SPEC)
    labels = read_spec(relabelled).runs()[0].labels
    assert labels == {
        "experiment": "renamed", "algorithm": "another", "adversary": "liar", "objective": "hill",
    }  # fmt: skip


def test_defaults_spelt_out_and_integers_for_floats_do_not_change_a_key():
    spelt = changed("algorithms", [{"kind": "GPUCB"}, {"kind": "RobustGPUCB", "C_factor": 1}])
    spelt["assumptions"] |= {"B": "norm", "B0": "max", "noise_std": 0.1, "delta": 0.1, "c_max": "max"}
    spelt["budgets"] = [3.0]
    spelt["adversaries"][0] |= {"K": 5, "value": -1}
    spelt["objective"]["candidates"] = {"kind": "grid", "n": [15], "low": 0, "high": [1]}
    assert keys(spelt) == keys(SPEC)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("T", 21),
        ("seeds", [5, 6]),
        ("noise_std", 0.2),
        ("budgets", [4]),
        ("c_max", 1.0),
        ("objective.norm", 2.0),
        ("objective.kernel.lengthscale", 0.3),
        ("assumptions.lam", 0.02),
        ("algorithms.1.width", "paper"),
        ("algorithms.1.beta", {"kind": "sqrt_log", "scale": 0.5}),
        ("adversaries.0.K", 3),
        ("adversaries.0.threat", "strong"),
    ],
)
def test_whatever_determines_the_game_changes_the_keys(path, value):
    assert set(keys(changed(path, value))) != set(keys(SPEC))


def test_keys_are_distinct_and_seeds_only_add_runs():
    assert len(set(keys(SPEC))) == len(keys(SPEC))
    assert set(keys(SPEC)) < set(keys(changed("seeds", 3)))
    assert set(keys(SPEC)) < set(keys(changed("budgets", [3, 5])))


def cells(raw):
    return {
        (run.labels["algorithm"], run.labels["adversary"], run.game["C"], run.game["algorithm"].get("C"))
        for run in read_spec(raw).runs()
    }


def test_clean_runs_have_budget_zero_and_repeat_only_where_the_learner_is_told_c():
    assert cells(changed("budgets", [3, 5])) == {
        ("GPUCB", "top_k", 3.0, None),
        ("GPUCB", "top_k", 5.0, None),
        ("RobustGPUCB", "top_k", 3.0, 3.0),
        ("RobustGPUCB", "top_k", 5.0, 5.0),
        ("GPUCB", "none", 0.0, None),
        ("RobustGPUCB", "none", 0.0, 3.0),
        ("RobustGPUCB", "none", 0.0, 5.0),
    }


def test_a_wrong_c_is_a_multiple_of_the_true_one_or_a_number():
    raw = changed("algorithms", [
        {"kind": "RobustGPUCB", "label": "double", "C_factor": 2},
        {"kind": "RobustGPUCB", "label": "seven", "C": 7},
    ])  # fmt: skip
    raw["adversaries"] = [{"kind": "top_k"}]
    assert cells(raw) == {("double", "top_k", 3.0, 6.0), ("seven", "top_k", 3.0, 7.0)}


def test_an_infinite_cap_is_plain_data():
    spec = read_spec(changed("c_max", math.inf))
    assert spec.c_max == "inf"
    assert spec.assumptions["c_max"] == "inf"
    assert keys(changed("c_max", "inf")) == keys(changed("c_max", math.inf))


class Plain:
    def __init__(
        self, domain, assumptions, *, depth: int = 3, words: str, T: int, is_deep: bool = False, other=()
    ):
        pass


def test_the_keys_of_a_kind_are_those_of_its_signature_that_the_game_does_not_give(monkeypatch):
    module = types.ModuleType("with_plain")
    module.Plain = Plain
    monkeypatch.setitem(sys.modules, "with_plain", module)
    role = Role(object, {"plain": "with_plain:Plain"}, given=PLAYER.given, offered=PLAYER.offered)
    plain = {"kind": "plain", "words": "x"}
    assert role.read("p", plain) == {**plain, "depth": 3, "is_deep": False}
    assert role.read("p", {**plain, "T": 3})["T"] == 3
    for wrong, words in [
        ({"domain": 3}, r"keys of p must be among 'depth', .*got p\.domain"),
        ({"width": "exact"}, r"got p\.width"),
        ({"is_deep": "no"}, r"p\.is_deep must be true or false"),
        ({"depth": float("nan")}, r"p\.depth must be words, finite numbers"),
    ]:
        with pytest.raises((TypeError, ValueError), match=words):
            role.read("p", {**plain, **wrong})
    with pytest.raises(ValueError, match=r"p\.words must be given"):
        role.read("p", {"kind": "plain"})
