"""What a spec tells the players apart: assumptions, budgets, openings; and what profiles choose."""

import json
from typing import Any

import numpy as np
import pytest

import unbribable as ub
from contracts.members import RIVALS
from unbribable.cli.run import seeds_of
from unbribable.lab.runs.kinds import build_game
from unbribable.lab.runs.places import opened
from unbribable.lab.runs.play import play
from unbribable.lab.runs.replay import replayed
from unbribable.lab.runs.simulate import simulate
from unbribable.lab.runs.spec import read_spec
from unbribable.lab.runs.sweep import failures, sweep
from world import members

SPEC: dict[str, Any] = {
    "name": "told",
    "T": 12,
    "seeds": 1,
    "noise_std": 0.1,
    "budgets": [10],
    "objective": {"kind": "figure_1", "n": 15},
    "assumptions": {"lam": 0.01},
    "algorithms": [{"kind": "GPUCB"}],
    "adversaries": [{"kind": "flip"}],
}
COUNTED = {**{key: value for key, value in SPEC.items() if key != "budgets"}, "c_max": "inf"}
BURST = {"kind": "burst", "radius": 0.3, "value": -4.0}


def runs(spec: dict[str, Any] = SPEC, profile: str | None = None, **changes: Any) -> Any:
    return read_spec({**spec, **changes}, profile).runs()


def player(spec: dict[str, Any] = SPEC, **changes: Any) -> Any:
    return build_game(runs(spec, **changes)[0].game)[0]


@pytest.mark.parametrize(
    ("table", "knows", "is_ours"),
    [
        ({"kind": "RobustGPUCB"}, "C", True),
        ({"kind": "FastSlowGPUCB"}, "C or 0", True),
        ({"kind": "LayeredGPUCB"}, "that there are lies", True),
        ({"kind": "LayeredGPUCB", "knows_C": True}, "C", True),
        ({"kind": "LadderGPUCB"}, "that there are lies", True),
        ({"kind": "GPUCB"}, "nothing", False),
        ({"kind": "CWGPUCB", "Cbar": "sqrt", "knows_C": False}, "that there are lies", True),
        ({"kind": "RGPPE"}, "C", False),
        ({"kind": "ClippedGPUCB", "n_lies": 4}, "the number of lies", True),
        ({"kind": "RCGPUCB"}, "nothing", False),
        ({"kind": "RandomSearch"}, "nothing", False),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_record_says_what_its_player_knows_of_the_lies_and_whose_it_is(
    table: Any, knows: str, is_ours: bool
) -> None:
    record = play(runs(algorithms=[table])[0].__dict__)
    assert (record.meta["knows"], record.meta["is_ours"]) == (knows, is_ours)
    promise = record.meta["algorithm"]["guarantee"]
    assert promise is None or promise["threat"] in ("none", "weak", "strong")


def test_a_recipe_of_others_is_named_as_such_without_a_new_game() -> None:
    one, two = runs(), runs(algorithms=[{"kind": "GPUCB", "by": "others"}])
    assert one[0].key == two[0].key
    assert two[0].labels["by"] == "others"


# --- assumptions of a player's own ------------------------------------------------------------------


def test_a_player_may_have_assumptions_of_its_own_and_the_others_keep_the_specs() -> None:
    tables = [{"kind": "GPUCB"}, {"kind": "GPUCB", "label": "wide", "assumptions": {"lam": 1.0}}]
    one, other = runs(algorithms=tables)
    assert one.key == runs()[0].key
    assert one.game["assumptions"] | {"lam": 1.0} == other.game["assumptions"]
    assert build_game(other.game)[0].assumptions.lam == 1.0


def test_an_adversary_that_follows_the_posterior_knows_the_players_own_lam() -> None:
    table = {"kind": "GPUCB", "assumptions": {"lam": 1.0}}
    (run,) = runs(algorithms=[table], adversaries=[{"kind": "width_aware"}])
    assert build_game(run.game)[1].adversary._lam == 1.0


def test_a_kernel_of_its_own_needs_a_norm_of_its_own() -> None:
    kernel = {"kind": "matern", "nu": 2.5, "lengthscale": 0.2}
    with pytest.raises(ValueError, match=r"algorithms\[0\].assumptions: B must be a number"):
        runs(algorithms=[{"kind": "GPUCB", "assumptions": {"kernel": kernel}}])
    runs(algorithms=[{"kind": "GPUCB", "assumptions": {"kernel": kernel, "B": 2.0}}])


@pytest.mark.parametrize(("raw", "words"), [
    ({"lam": -1.0}, r"algorithms\[0\].assumptions: lam must be finite and > 0"),
    ({"lamb": 1.0}, r"got algorithms\[0\].assumptions.lamb"),
])  # fmt: skip
def test_wrong_assumptions_of_its_own_are_named(raw: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        runs(algorithms=[{"kind": "GPUCB", "assumptions": raw}])


# --- budgets ----------------------------------------------------------------------------------------


def test_trust_may_be_a_share_of_what_the_player_is_told() -> None:
    table = {"kind": "FastSlowGPUCB", "share": 0.5, "trust": {"share_of_C": 0.3}, "C_factor": 2.0}
    assert player(algorithms=[table]).trust == pytest.approx(6.0)
    assert player(algorithms=[{**table, "trust": 1.5}]).trust == 1.5


def test_the_unit_of_a_ladder_may_be_a_share_of_the_largest_lie() -> None:
    table = {"kind": "LadderGPUCB", "unit": {"share_of_c_max": 0.5}, "assumptions": {"c_max": 3.0}}
    assert player(algorithms=[table]).unit == pytest.approx(1.5)
    assert player(algorithms=[{**table, "unit": 0.7}]).unit == 0.7
    by_default = player(algorithms=[{"kind": "LadderGPUCB"}])
    assert by_default.unit == pytest.approx(0.25 * by_default.assumptions.c_max)
    with pytest.raises(ValueError, match=r"unit.share_of_c_max must be finite and >= 0"):
        player(algorithms=[{**table, "unit": {"share_of_c_max": -1.0}}])


def test_a_player_is_told_no_c_where_the_spec_says_so() -> None:
    table = {"kind": "CWGPUCB", "Cbar": "sqrt"}
    (run,) = runs(algorithms=[table])
    assert "C" not in run.game["algorithm"]
    assert pytest.approx(12**0.5) == build_game(run.game)[0].C
    layered = {"kind": "LayeredGPUCB", "with_all": True}
    assert "C" not in runs(algorithms=[layered])[0].game["algorithm"]
    told = runs(algorithms=[{**layered, "knows_C": True, "C_factor": 0.8}])[0].game
    assert told["algorithm"]["C"] == 8.0
    assert build_game(told)[0].C == 8.0
    with pytest.raises(ValueError, match="GPUCB takes no C, got true"):
        runs(algorithms=[{"kind": "GPUCB", "knows_C": True}])


def test_a_budget_may_be_a_number_of_lies_which_those_who_need_it_are_told() -> None:
    tables = [{"kind": "GPUCB"}, {"kind": "ClippedGPUCB"}, {"kind": "RCGPUCB"}]
    tables += [{"kind": "RCGPUCB", "label": "told", "knows_n_lies": True}]
    found = runs(COUNTED, n_lies=[2, 3], algorithms=tables, adversaries=[BURST])
    told = [(run.game["n_lies"], run.game["algorithm"].get("n_lies")) for run in found]
    assert told == [(2, None), (3, None), (2, 2), (3, 3), (2, None), (3, None), (2, 2), (3, 3)]
    record = play(found[2].to_plain())
    assert record.meta["n_lies"] == record.meta["run"]["C"] == record.meta["run"]["C_assumed"] == 2
    assert np.count_nonzero(record.columns["c"]) == record.spent[-1] <= 2
    assert np.abs(record.columns["c"]).max() > record.meta["f_max"]


def test_clean_games_where_lies_are_counted_have_none() -> None:
    (run,) = runs(COUNTED, n_lies=2, adversaries=[{"kind": "none"}])
    assert "n_lies" not in run.game
    assert run.game["C"] == 0.0


@pytest.mark.parametrize(("changes", "words"), [
    ({"budgets": [1]}, "budgets or n_lies, not both"),
    ({"algorithms": [{"kind": "RobustGPUCB"}]}, "for RobustGPUCB where lies are counted"),
])  # fmt: skip
def test_budgets_are_of_one_kind(changes: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        runs(COUNTED, n_lies=[2], **changes)


def test_a_cap_in_words_is_the_same_where_lies_are_counted() -> None:
    (run,) = runs({**COUNTED, "c_max": "max"}, n_lies=2)
    environment = build_game(run.game)[1]
    assert environment.c_max == environment.objective.B0


# --- names ------------------------------------------------------------------------------------------


def test_a_rival_may_be_named_by_its_class_alone() -> None:
    words, path = (
        {"kind": kind, "knows_C": True, "rule": "before"}
        for kind in ("CWGPUCB", "unbribable.lab.rivals:CWGPUCB")
    )
    assert runs(algorithms=[words])[0].key == runs(algorithms=[path])[0].key
    with pytest.raises(ValueError, match="'CWGPUCB'"):
        runs(algorithms=[{"kind": "CW"}])


def test_the_width_of_rivals_without_proof_counts_from_the_end_of_the_opening() -> None:
    beta = player(
        algorithms=[{"kind": "GPUCB", "beta": {"kind": "practical", "n_init": 5}}]
    ).options.beta
    assert [beta(t) for t in (1, 6)] == [pytest.approx(1.7 * np.sqrt(2 * np.log(2)))] * 2
    assert beta(7) > beta(6)


# --- profiles and seeds -----------------------------------------------------------------------------


def test_a_profile_may_choose_players_and_adversaries_by_label() -> None:
    tables = [{"kind": "GPUCB", "label": "one"}, {"kind": "RobustGPUCB"}]
    profiles = {"quick": {"algorithms": ["RobustGPUCB"], "T": 5}}
    (run,) = runs(algorithms=tables, profiles=profiles, profile="quick")
    assert (run.labels["algorithm"], run.game["T"]) == ("RobustGPUCB", 5)
    profiles["quick"]["algorithms"] = ["two"]
    with pytest.raises(
        ValueError, match=r"profiles.quick.algorithms\[0\] must be one of .*'one'.*'two'"
    ):
        runs(algorithms=tables, profiles=profiles, profile="quick")


def test_seeds_may_be_given_with_the_call() -> None:
    assert [run.game["seed"] for run in read_spec(SPEC, seeds=[7, 9]).runs()] == [7, 9]
    assert (seeds_of("3"), seeds_of("100-102"), seeds_of("5, 2")) == ([0, 1, 2], [100, 101, 102], [5, 2])
    with pytest.raises(ValueError, match="--seeds must be"):
        seeds_of("a-b")


# --- openings ---------------------------------------------------------------------------------------

OPENED = {**SPEC, "opening": 4, "budgets": [1]}


def test_all_players_begin_with_the_same_points_and_answer_for_none_of_them() -> None:
    kinds = [{"kind": kind} for kind in ("GPUCB", "FastSlowGPUCB", "RGPPE", "RandomSearch")]
    kinds.append({"kind": "CWGPUCB", "knows_C": True})
    records = [play(run.to_plain()) for run in runs(OPENED, algorithms=kinds)]
    firsts = {tuple(record.columns["index"][:4]) for record in records}
    assert len(firsts) == 1
    assert len(set(*firsts)) > 1
    for record in records:
        assert record.meta["opening"] == 4
        assert not record.instant_regret[:4].any()
        chosen = record.meta["f_max"] - record.columns["f"][4:]
        assert record.cumulative_regret[-1] == pytest.approx(chosen.sum())


def test_an_opening_is_the_seeds_and_covers_the_domain() -> None:
    X = np.linspace(-3.0, 5.0, 101)[:, None]
    one, other = opened(X, 4, 0), opened(X, 4, 1)
    assert one == opened(X, 4, 0) != other
    for indices in (one, other):
        assert sorted(int(i // 25.25) for i in indices) == [0, 1, 2, 3]


@pytest.mark.parametrize("name", RIVALS)
def test_a_rival_learns_what_it_has_not_asked_for_as_it_learns_its_own(name: str) -> None:
    """Told the first queries of another one as uninvited readings, it goes on as that one."""
    f = members.objective()
    asker, told = (RIVALS[name](ub.Grid(f.X), members.assumptions(f), T=20) for _ in "12")
    for t in range(1, 4):
        query = asker.ask()
        asker.tell(query, 0.1 * t)
        assert told.tell(x=query.x, y=0.1 * t) == t
    if name.startswith("rgp-pe"):  # an epoch has a design of its own
        assert told.ask().index == RIVALS[name](ub.Grid(f.X), members.assumptions(f), T=20).ask().index
    elif name != "random-search":
        assert told.ask().index == asker.ask().index
    with pytest.raises(TypeError, match="either a query"):
        told.tell(y=1.0)
    with pytest.raises(ValueError, match="x"):
        told.tell(x=[0.1234], y=1.0)


def test_a_player_that_cannot_be_told_an_opening_is_refused() -> None:
    f = members.objective()

    class Deaf(ub.GPUCB):
        def tell(self, query, y):  # type: ignore[no-untyped-def, override]
            return super().tell(query, y)

    with pytest.raises(TypeError, match=r"tell\(x=..., y=...\) to be given an opening, got Deaf"):
        simulate(Deaf(ub.Grid(f.X), members.assumptions(f)), members.world(), 5, 0, opening=[1])
    with pytest.raises(ValueError, match="opening must be < T"):
        runs(OPENED, T=4)


def test_a_game_with_an_opening_can_be_replayed() -> None:
    (run,) = runs(OPENED)
    record = play(run.to_plain())
    replay, _ = replayed(record, run.game, record.T)
    assert replay.t == record.T
    assert replay.recommend().index == record.meta["recommended"]


# --- limits -----------------------------------------------------------------------------------------


def test_a_game_over_its_time_costs_itself_alone_and_says_so(tmp_path: Any) -> None:
    spec = {**SPEC, "algorithms": [{"kind": "GPUCB"}, {"kind": "told_slow:Slow"}], "time_limit": 0.3}
    (tmp_path / "told_slow.py").write_text(
        "import time\nimport unbribable as ub\n\n\nclass Slow(ub.GPUCB):\n"
        "    def ask(self):\n        time.sleep(0.2)\n        return super().ask()\n"
    )
    read = read_spec(spec, folder=tmp_path)
    tally = sweep(read, tmp_path / "out", serial=True)
    assert (tally.done, len(tally.failed)) == (1, 1)
    (note,) = failures(tmp_path / "out")
    assert note["labels"]["algorithm"] == "Slow"
    assert "TimeoutError: a game must end within time_limit=0.3 s" in note["traceback"]
    without = read_spec(
        {key: value for key, value in spec.items() if key != "time_limit"}, folder=tmp_path
    )
    assert [run.key for run in without.runs()] == [run.key for run in read.runs()]
    json.dumps([run.to_plain() for run in read.runs()])


def test_a_missing_extra_costs_the_games_that_need_it(tmp_path: Any) -> None:
    (tmp_path / "told_extra.py").write_text(
        "def make(domain, assumptions):\n    raise ModuleNotFoundError('needs the extra bench')\n"
    )
    spec = {**SPEC, "algorithms": [{"kind": "told_extra:make"}, {"kind": "GPUCB"}]}
    tally = sweep(read_spec(spec, folder=tmp_path), tmp_path / "out", serial=True)
    assert (tally.done, len(tally.failed)) == (1, 1)
    assert "needs the extra bench" in failures(tmp_path / "out")[0]["traceback"]
