"""Classes of the user's own in a spec: named by import path, built by signature, refused in words."""

import copy
import importlib
import json
import sys
import textwrap

import numpy as np
import pytest

from runs.sweeps import assert_same, records
from unbribable.lab.report import report
from unbribable.lab.runs.own import importable
from unbribable.lab.runs.play import play
from unbribable.lab.runs.spec import load_spec, read_spec
from unbribable.lab.runs.sweep import failures, sweep

GUESTS = """
import numpy as np
import unbribable as ub
from unbribable.lab.world.adversaries import Adversary
from unbribable.lab.world.objectives import Objective
from unbribable.model.kernels import Kernel


class Sitter(ub.Player):
    '''Asks for one candidate for ever, and repeats what it was told.'''

    def __init__(self, domain, assumptions, *, C, T, seed, place=0, words="none"):
        if place < 0:
            raise ValueError(f"place must be >= 0, got place={place}")
        self.X, self.place, self.t = domain.points, place, 0
        self.told = {"C": C, "T": T, "own_seed": seed, "words": words, "B": assumptions.B}

    @property
    def knowledge(self):
        return self.told

    def propose(self):
        return ub.Proposal(
            self.t + 1, self.X[[self.place]], np.array([self.place]), np.ones(1), ("main",)
        )

    def ask(self):
        self.t += 1
        x = self.X[self.place]
        return ub.Query(t=self.t, x=x, u=x, index=self.place)

    def tell(self, query, y):
        if self.told["words"] == "fall":
            raise ZeroDivisionError("fell off the chair")

    def recommend(self):
        return ub.Recommendation(x=self.X[self.place], index=self.place)


class Quiet(Sitter):
    '''Is told nothing.'''

    def __init__(self, domain, assumptions, **words):
        super().__init__(domain, assumptions, C=None, T=None, seed=None, **words)


class Pusher(Adversary):
    def __init__(self, objective, *, C, T, seed, share=1.0):
        self.each = share * C / T
        self.seed = seed

    def commit(self, view, rng):
        return np.full(len(view.indices), self.each)


class Seer(Pusher):
    needs_strong = True


class Half:
    def __init__(self, domain, assumptions):
        self.ask = self.tell = None


def slope(seed, n=9, tilt=1.0):
    X = np.linspace(0, 1, n)[:, None]
    return Objective("slope", X, tilt * X[:, 0] + 1e-20 * (seed % 7))


def crooked():
    return Objective("crooked", np.zeros((3, 1)), np.zeros(2))


class Flat(Kernel):
    def __init__(self, height):
        self.height = height

    def __call__(self, X, Z):
        return np.full((len(X), len(Z)), self.height) + (1 - self.height) * (X == Z.T)

    def diag(self, X):
        return np.ones(len(X))

    def __repr__(self):
        return f"Flat({self.height})"


def three(*given):
    return 3


a_number = 3
"""

SPEC = {
    "name": "guests",
    "T": 8,
    "seeds": 2,
    "noise_std": 0.1,
    "budgets": [2],
    "objective": {"kind": "guests:slope", "n": 12},
    "assumptions": {"B": 2, "kernel": {"kind": "squared_exponential", "lengthscale": 0.3}},
    "algorithms": [{"kind": "guests:Sitter", "place": 3}, {"kind": "GPUCB"}],
    "adversaries": [{"kind": "guests:Pusher", "share": 0.5}],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with the guests in it; they are forgotten afterwards."""
    place = tmp_path / "guests"
    place.mkdir()
    (place / "guests.py").write_text(textwrap.dedent(GUESTS))
    monkeypatch.chdir(place)
    yield place
    sys.modules.pop("guests", None)
    importlib.invalidate_caches()


def changed(**changes):
    return copy.deepcopy({**SPEC, **changes})


def player(**table):
    return changed(algorithms=[{"kind": "guests:Sitter", **table}])


def run_of(raw, k=0):
    return read_spec(raw).runs()[k]


# --- what a guest is given ------------------------------------------------------------------------


def test_a_player_is_given_domain_assumptions_and_what_its_signature_names(folder):
    run = run_of(player(place=3, words="hello", C_factor=2.0))
    record = play(run.to_plain())
    told = record.meta["algorithm"]
    assert (told["C"], told["T"], told["words"], told["B"]) == (4.0, 8, "hello", 2.0)
    assert told["own_seed"] not in (None, 0)
    assert (record.columns["index"] == 3).all()
    assert record.meta["run"]["C_assumed"] == 4.0
    assert record.meta["run"]["algorithm"] == "Sitter"


def test_a_player_that_names_nothing_is_told_nothing(folder):
    record = play(run_of(changed(algorithms=[{"kind": "guests:Quiet"}])).to_plain())
    assert record.meta["algorithm"]["C"] is None
    assert record.meta["run"]["C_assumed"] is None


def test_a_table_may_say_itself_what_the_game_would_offer(folder):
    record = play(run_of(player(T=99, seed=5, C=7)).to_plain())
    told = record.meta["algorithm"]
    assert (told["C"], told["T"], told["own_seed"]) == (7.0, 99, 5)


def test_an_adversary_is_given_the_objective_its_budget_and_a_seed_of_its_own(folder):
    from unbribable.lab.runs.kinds import build_game

    run = run_of(SPEC)
    with importable(run.folders):
        sitter, environment = build_game(run.game)
    assert environment.adversary.each == 0.5 * 2.0 / 8
    seeds = {environment.adversary.seed, sitter.told["own_seed"], run.game["seed"]}
    assert len(seeds) == 3, "no stream follows from another's seed"
    record = play(run.to_plain())
    assert record.columns["c"] == pytest.approx(np.full(8, 0.125))
    assert record.meta["adversary"] == "Pusher"


def test_an_objective_may_be_a_function_and_a_kernel_a_class(folder):
    raw = changed(
        assumptions={"B": 2, "kernel": {"kind": "guests:Flat", "height": 0.2}},
        algorithms=[{"kind": "GPUCB"}],
    )
    record = play(run_of(raw).to_plain())
    assert record.columns["x"].shape == (8, 1)
    assert record.meta["objective"] == "slope"
    assert record.meta["run"]["objective"] == "slope"
    assert record.meta["algorithm"]["kernel"] == "Flat(0.2)"


def test_our_own_class_by_its_path_plays_the_same_game(folder):
    by_word, by_path = (
        play(run_of(changed(algorithms=[{"kind": kind}])).to_plain())
        for kind in ("RobustGPUCB", "unbribable:RobustGPUCB")
    )
    np.testing.assert_array_equal(by_word.columns["index"], by_path.columns["index"])
    assert by_word.meta["covered"] == by_path.meta["covered"]


# --- keys and folders -----------------------------------------------------------------------------


def test_the_key_hashes_path_and_arguments_and_not_the_folder(folder, tmp_path):
    keys = {run_of(player(**words)).key for words in ({}, {"place": 1}, {"words": "x"}, {"C": 3})}
    keys.add(run_of(changed(algorithms=[{"kind": "guests:Quiet"}])).key)
    assert len(keys) == 5
    elsewhere = read_spec(player(), folder=tmp_path).runs()[0]
    assert elsewhere.key == run_of(player()).key
    assert elsewhere.folders != run_of(player()).folders


def test_a_run_says_where_its_guests_are_and_others_say_nothing(folder):
    assert run_of(SPEC).to_plain()["folders"] == [str(folder)]
    plain = {"kind": "figure_1", "n": 9}
    ours = changed(objective=plain, algorithms=[{"kind": "GPUCB"}], adversaries=[{"kind": "none"}])
    assert "folders" not in run_of(ours).to_plain()


def test_guests_are_found_beside_the_spec_and_in_the_working_directory(folder, tmp_path, monkeypatch):
    spec = folder / "spec.toml"
    text = """
    name = "toml"
    T = 4
    seeds = 1
    noise_std = 0.1
    budgets = [1]
    objective = { kind = "guests:slope" }
    assumptions = { B = 2, kernel = { kind = "linear", scale = 2 } }
    algorithms = [{ kind = "guests:Sitter", place = 2 }]
    """
    spec.write_text(textwrap.dedent(text))
    monkeypatch.chdir(tmp_path)
    (run,) = load_spec(spec).runs()
    assert run.folders == (str(folder), str(tmp_path))
    assert play(run.to_plain()).T == 4
    monkeypatch.chdir(folder)
    moved = tmp_path / "spec.toml"
    moved.write_text(spec.read_text())
    assert load_spec(moved).runs()[0].key == run.key


def test_the_path_is_as_it_was_afterwards_and_nothing_installed_is_hidden(folder):
    before = list(sys.path)
    (folder / "colorsys.py").write_text("raise RuntimeError('the wrong one')")
    sys.modules.pop("colorsys", None)
    with importable([str(folder), str(folder)]):
        assert hasattr(importlib.import_module("colorsys"), "rgb_to_hsv")
    play(run_of(SPEC).to_plain())
    assert sys.path == before


def test_another_module_of_the_same_name_is_refused_by_file(folder, tmp_path, monkeypatch):
    read_spec(SPEC)
    other = tmp_path / "other"
    other.mkdir()
    (other / "guests.py").write_text(GUESTS)
    monkeypatch.chdir(other)
    with pytest.raises(ValueError, match=r"guests must be .*other.guests.py, got .*rename one of them"):
        read_spec(SPEC)


# --- what is refused, with the rule and the value ----------------------------------------------------

LIAR = {"kind": "guests:Pusher", "share": 0.5}
BAD = [
    (player(kind="guests:"), "algorithms[0].kind: an import path must be module:Name, got kind='guests"),
    (player(kind="../x:Y"), "an import path must be module:Name"),
    (player(kind="no_such_module:Y"), "no_such_module must be a module that can be imported from"),
    (player(kind="guests:Nobody"), "Nobody must be a class or function of guests"),
    (player(kind="guests:a_number"), "a_number must be a class or function of guests", "got 3"),
    (player(chair=1), "keys of algorithms[0] must be among", "'place', 'words'", "got algorithms[0].ch"),
    (player(label=3), "algorithms[0].label must be words"),
    (player(place=float("inf")), "algorithms[0].place must be words, finite numbers", "=inf"),
    (
        changed(algorithms=[{"kind": "guests:Quiet", "C": 3}]),
        "algorithms[0] must not have C or C_factor: guests:Quiet is told no C",
    ),
    (changed(adversaries=[{**LIAR, "height": 2}]), "keys of adversaries[0] must", "[0].height"),
    (changed(adversaries=[{"kind": "guests:Seer"}]), "adversaries[0]: threat must be 'strong' for Seer"),
    (changed(adversaries=[{"kind": "silent", "base": {"kind": "guests:No"}}]), "[0].base.kind: No must"),
    (changed(objective={"kind": "guests:slope", "m": 3}), "keys of objective must", "got objective.m"),
    (changed(assumptions={"B": 2}), "assumptions: kernel must be given: slope has none of its own"),
    (
        changed(assumptions={"kernel": {"kind": "linear", "scale": 2}}),
        "assumptions: B must be a number where the objective's norm",
    ),
    ({k: v for k, v in player().items() if k != "budgets"}, "budgets must be given for Pusher, Sitter"),
    (player(kind="Sitter"), "algorithms[0].kind must be one of 'GPUCB'", "'module:Name of your own'"),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "words"), [(raw, words) for raw, *words in BAD])
def test_bad_names_and_arguments_are_refused_when_the_spec_is_read(folder, raw, words):
    with pytest.raises((TypeError, ValueError)) as caught:
        read_spec(raw).runs()
    for word in words:
        assert word in str(caught.value)


REFUSED = [
    (player(place=-2), ValueError, r"algorithms\[0\]: place must be >= 0, got place=-2"),
    (changed(algorithms=[{"kind": "guests:Half"}]), TypeError, "got Half without propose, recommend"),
    (changed(algorithms=[{"kind": "guests:three"}]), TypeError, "got int without propose, ask, tell"),
    (changed(adversaries=[{"kind": "guests:three"}]), TypeError, "guests:three must make one Adversary"),
    (changed(objective={"kind": "guests:three"}), TypeError, "three must make one Objective, got int"),
    (changed(objective={"kind": "guests:crooked"}), ValueError, "f must have one value per candidate"),
]


@pytest.mark.parametrize(("raw", "error", "words"), REFUSED)
def test_a_guest_that_is_something_else_or_refuses_is_named(folder, raw, error, words):
    with pytest.raises(error, match=words):
        play(run_of(raw).to_plain())


def call(*words):
    pytest.importorskip("typer")
    from typer.testing import CliRunner

    from unbribable.cli.main import app

    return CliRunner().invoke(app, ["run", *words, "--rounds", "5", "--json"])


def test_the_command_run_plays_guests_of_the_working_directory(folder):
    done = call("--algorithm", "guests:Sitter", "--set", "algorithm.place=4")
    assert done.exit_code == 0, done.output
    data = json.loads(done.stdout)
    assert (data["algorithm"], data["guarantee"], data["covered"]) == ("Sitter", "No guarantee.", {})
    assert data["recommended"] == pytest.approx([4 / 99])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--algorithm", "guests:Nobody"], "unbribable: algorithms[0].kind: Nobody must be a class"),
        (
            ["--algorithm", "guests:Sitter", "--set", "algorithm.place=-1"],
            "unbribable: algorithms[0]: place must be >= 0, got place=-1",
        ),
    ],
)
def test_the_command_run_refuses_a_guest_in_a_sentence(folder, words, said):
    done = call(*words)
    assert done.exit_code == 2
    assert done.stderr.startswith(said)
    assert "Traceback" not in done.stderr


# --- sweeps and reports ------------------------------------------------------------------------------


def test_a_guest_that_fails_is_reported_with_its_traceback_and_the_rest_goes_on(folder, tmp_path):
    raw = changed(algorithms=[{"kind": "guests:Sitter", "words": "fall"}, {"kind": "GPUCB"}])
    tally = sweep(read_spec(raw), tmp_path / "out", serial=True)
    assert (tally.done, len(tally.failed)) == (2, 2)
    assert all("fell off the chair" in note["traceback"] for note in failures(tmp_path / "out"))


@pytest.mark.long
def test_workers_find_the_guests_and_a_report_needs_none_of_them(folder, tmp_path):
    """The same records as here; then the guests are gone, and the report says what it left out."""
    raw = changed(algorithms=[{"kind": "guests:Sitter", "place": 3}])
    out = tmp_path / "out"
    assert sweep(read_spec(raw), out, n_workers=2).failed == ()
    assert sweep(read_spec(raw), tmp_path / "here", serial=True).failed == ()
    assert_same(records(out), records(tmp_path / "here"))
    assert json.loads((out / "spec.json").read_text())["runs"][0]["folders"] == [str(folder)]
    (folder / "guests.py").unlink()
    sys.modules.pop("guests")
    data = report(out)
    assert (data["n_records"], data["missing"], data["skipped"]) == (2, [], [])
    (row,) = data["tables"]["cells"]
    assert (row["algorithm"], row["C_assumed"], row["coverage"]) == ("Sitter", 2.0, None)
    assert data["tables"]["coverage"] == []
    assert "guests" not in sys.modules
    text = (out / "report" / "report.md").read_text()
    assert "No beliefs for Pusher, C = 2. Left out, Sitter" in text
    assert "a report does not load guests:Sitter, so its game cannot be replayed" in text
    assert not list((out / "report").glob("posterior*"))
