"""Be the liar: the address is the game, the liar sees what its threat allows, and the ledger holds."""

import numpy as np
import pytest

from page.pages import client
from unbribable.lab.game.game import EPS, LABELS, NOISE_STD, Tables, players, two_peaks
from unbribable.lab.game.liars import PRESETS
from unbribable.lab.game.moves import Setting, moves_of
from unbribable.lab.runs.simulate import simulate
from unbribable.lab.world.environment import Environment


def after(moves="", **setting):
    setting = Setting(**setting)
    return Tables().after(setting, moves_of(moves, setting.rounds))


def asked(position, seat=0):
    return [round_["x"] for round_ in position["players"][seat]["rounds"]]


# --- the address -------------------------------------------------------------------------------


def test_moves_are_lies_in_hundredths_or_liars_with_their_rounds():
    assert moves_of("-50_-5~20.h2..", 9) == (((-0.5,), (-0.05, 0.2)), "h", "h", ((0.0,),), ((0.0,),))
    assert moves_of("", 9) == ()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("moves=hh", "a move must be"),
        ("moves=1e9", "a move must be"),
        ("moves=9999", "at most 3 digits"),
        ("moves=5-5", "whole number of hundredths"),
        ("moves=../../etc/passwd", "a move must be"),
        ("moves=h41", "at most rounds=40"),
        ("moves=q", "a liar must be one of"),
        ("moves=s", "threat must be strong"),
        ("moves=1_1_1_1_1_1", "lies for 5 players"),
        ("threat=sly", "threat must be"),
        ("rounds=101", "at most 100"),
        ("rounds=x", "must hold a game"),
        ("budget=nan", "budget must be"),
        ("budget=21", "budget must be"),
        ("seed=-1", "seed must be"),
    ],
)
def test_an_address_that_holds_no_game_is_refused_with_the_rule(words, said):
    answer = client().get(f"/api/game?{words}")
    assert answer.status_code == 400
    assert said in answer.json()["error"]


def test_a_game_is_the_same_whether_it_is_played_move_by_move_or_replayed_from_its_address():
    moves = moves_of("-50_-50_-50_-50~-50_-50~-50.h3.100.w2.-30", 40)
    step_by_step, setting = Tables(), Setting()
    for n in range(len(moves) + 1):
        last = step_by_step.after(setting, moves[:n])
    assert last == Tables().after(setting, moves)
    again = step_by_step.after(setting, (*moves[:2], "o"))  # a move taken back, and another one made
    assert again == Tables().after(setting, (*moves[:2], "o"))


def test_a_game_of_the_page_is_the_game_that_simulate_plays():
    setting, objective = Setting(seed=3, rounds=12), two_peaks()
    position = Tables().after(setting, moves_of("h12", 12))
    for seat, player in enumerate(players(objective, setting)):
        liar = PRESETS["h"].build(objective, player.assumptions)
        world = Environment(objective, noise_std=NOISE_STD, adversary=liar, C=setting.budget)
        record = simulate(player, world, 12, 3)
        assert asked(position, seat) == record.columns["x"][:, 0].tolist()
        assert position["players"][seat]["left"] == pytest.approx(setting.budget - record.meta["spent"])


# --- what the liar sees and pays ---------------------------------------------------------------


def test_a_weak_liar_sees_the_proposal_and_a_strong_one_the_point():
    weak, strong = after("h3"), after("h3", threat="strong")
    for view in (weak["players"][-1]["view"], strong["players"][-1]["view"]):
        assert sum(point["probability"] for point in view) == pytest.approx(1.0)
    assert {who for point in weak["players"][-1]["view"] for who in point["who"]} == {"slow", "fast"}
    assert [len(player["view"]) for player in strong["players"]] == [1] * 5
    drawn = strong["players"][-1]["view"][0]
    assert after("h4", threat="strong")["players"][-1]["rounds"][-1]["x"] == drawn["x"]


def test_the_weak_liars_view_does_not_depend_on_the_draw():
    """Two seeds draw differently in round 1; what is shown before it is the same."""
    views = [after(seed=seed)["players"][-1]["view"] for seed in range(8)]
    drawn = {after("o", seed=seed)["players"][-1]["rounds"][0]["who"] for seed in range(8)}
    assert drawn == {"slow", "fast"}
    assert all(view == views[0] for view in views)


def test_lies_are_told_as_the_visitor_made_them_until_the_budget_is_spent():
    position = after("-70.-70.-70", budget=1.5)
    told = position["players"][0]["rounds"]
    assert [round_["c"] for round_ in told] == pytest.approx([-0.7, -0.7, -0.1])
    assert position["players"][0]["left"] == pytest.approx(0.0)
    assert position["players"][1]["left"] == 1.5  # nobody lied to the others
    for round_ in told:
        assert round_["y_tilde"] == pytest.approx(round_["f"] + round_["noise"] + round_["c"], abs=1e-4)


def test_all_players_have_the_same_noise():
    rounds = [player["rounds"] for player in after("h5")["players"]]
    assert np.ptp([[round_["noise"] for round_ in own] for own in rounds], axis=0).max() == 0.0


# --- the end -----------------------------------------------------------------------------------


def verdicts(position):
    return {player["label"]: player["verdict"] for player in position["players"]}


def test_hiding_the_peak_fools_gp_ucb_and_no_robust_player():
    position = after("h40")
    found = verdicts(position)
    assert position["is_over"]
    assert [label for label in LABELS if found[label]["kind"] == "fooled"] == ["GP-UCB"]
    assert found["GP-UCB"]["words"].startswith("Fooled: it certifies")
    assert all(verdict["price"] > 0.0 for verdict in found.values())
    assert all(player["view"] == [] for player in position["players"])


@pytest.mark.parametrize("moves", ["h40", "d40", "o40", "w40"])
def test_an_answer_is_right_or_it_is_wrong_and_said_to_be_or_the_player_is_fooled(moves):
    """Whoever ends at the wrong peak is never called right, and is fooled if it certifies that peak."""
    position = after(moves, budget=5.0)
    for player in position["players"]:
        last, verdict = player["rounds"][-1], player["verdict"]
        is_deceived = last["certificate"] is not None and last["loss"] > last["certificate"] + 1e-9
        honest = "right" if last["loss"] <= EPS else "wrong"
        assert verdict["kind"] == ("fooled" if is_deceived else honest)
        assert last["is_fooled"] == is_deceived
        assert verdict["words"].startswith(position["heads"][verdict["kind"]])
        assert f"{last['loss']:.3f}" in verdict["words"]
    kinds = {verdict["kind"] for verdict in verdicts(position).values()}
    assert kinds == {"o40": {"right"}, "d40": {"fooled", "wrong"}}.get(moves, kinds)


def test_what_is_left_of_the_budget_is_not_a_rounding_error():
    position = after("-70.-70.-60", budget=2.0)
    assert position["players"][0]["left"] == 0.0
    assert [player["left"] for player in position["players"][1:]] == [2.0] * 4


def test_a_player_whose_assumptions_are_contradicted_certifies_nothing():
    position = after("w40")
    player = position["players"][0]
    assert player["refuted"] is not None
    assert player["lower"] is None
    assert player["verdict"]["kind"] == "wrong"
    assert "it noticed that the readings contradict its assumptions" in player["verdict"]["words"]
