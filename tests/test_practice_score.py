"""The runner of the practice scores: functions, lies, what is stored, and what is said to hold."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("threadpoolctl")
ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT))  # benchmarks is not installed

from benchmarks import practice, practice_figure, practice_players  # noqa: E402
from benchmarks.practice_claims import claims_of_first, claims_of_second  # noqa: E402
from benchmarks.practice_games import Games  # noqa: E402
from benchmarks.practice_protocols import PROTOCOLS, SLOW  # noqa: E402
from benchmarks.practice_second import AXES, SECOND, TRIED, Axis  # noqa: E402
from benchmarks.practice_table import page  # noqa: E402
from benchmarks.practice_world import (  # noqa: E402
    FUNCTIONS,
    KINDS,
    NOISE,
    Game,
    Lies,
    axes_of,
    landscape,
)


def points(name, n, seed=0):
    axes = axes_of(name)
    U = np.random.default_rng(seed).random((n, len(axes)))
    return np.column_stack([axis.at(u) for axis, u in zip(axes, U.T, strict=True)])


def read_all(game):
    return [game.read(x) for x in points(game.function, game.T, game.seed)]


# --- functions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*SECOND, *TRIED])
def test_no_point_is_better_than_the_known_maximum_and_climbing_comes_close_to_it(name):
    test, axes, rng = FUNCTIONS[name], axes_of(name), np.random.default_rng(1)
    U = rng.random((4096, test.d))

    def at(units):
        return test(np.column_stack([axis.at(v) for axis, v in zip(axes, units.T, strict=True)]))

    values = at(U)
    low = values.min()
    for step in 0.3 * 0.75 ** np.arange(24):
        parents = U[np.argsort(values)[-256:]]
        U = np.clip(np.repeat(parents, 8, axis=0) + step * rng.standard_normal((2048, test.d)), 0.0, 1.0)
        U = np.concatenate([parents, U])
        values = at(U)
        assert values.max() <= test.f_max + 1e-9 * (test.f_max - low)
    assert values.max() >= test.f_max - 0.01 * (test.f_max - low)


def test_values_are_spread_evenly_over_options_whole_numbers_and_logarithms():
    u = (np.arange(1200) + 0.5) / 1200
    options, counts = np.unique(Axis("gas", options=("a", "b", "c")).at(u), return_counts=True)
    assert options.tolist() == [0, 1, 2]
    assert counts.tolist() == [400] * 3
    whole, counts = np.unique(Axis("n", 2.0, 5.0, whole=True).at(u), return_counts=True)
    assert whole.tolist() == [2, 3, 4, 5]
    assert counts.tolist() == [300] * 4
    assert np.median(Axis("rate", 1e-4, 1.0, log=True).at(u)) == pytest.approx(1e-2, rel=0.02)


# --- lies --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "n_of_40", "n_of_60"),
    [("none", 0, 0), ("heavy", 0, 0), ("stuck", 4, 6), ("flipped", 4, 6), ("random", 4, 6),
     ("burst", 4, 6), ("drift", 6, 9), ("fifth", 8, 12)],
)  # fmt: skip
def test_as_many_rounds_are_lies_as_the_protocol_says(kind, n_of_40, n_of_60):
    for name, n in (("forrester", n_of_40), ("kiln", n_of_60)):
        game = Game(name, kind, 1000)
        honest = [game.f(x) for x in points(name, game.T, 1000)] + game.noise
        told = read_all(game)
        assert len(game.lied) == n
        lied = np.flatnonzero(~np.isclose(told, honest, rtol=0.0, atol=1e-12)) + 1
        assert {*lied} <= {*game.lied}
        assert len(lied) >= n - 1  # a value drawn at random may be the honest one


def test_two_kinds_lie_in_half_as_many_rounds_each_and_the_first_drawn_goes_before():
    pairs = set()
    for seed in range(1000, 1040):
        game = Game("kiln", "two", seed)
        read_all(game)
        kinds = [lies.kind for lies in game.lies]
        assert len({*kinds}) == 2
        pairs.add(tuple(kinds))
        assert 4 <= len(game.lied) <= 3 + 4 or len(game.lied) == 3  # three of a kind, four of a drift
    assert len(pairs) > 10
    game = Game("forrester", "two", 1000)
    everywhere = frozenset(range(game.T))
    game.lies = [Lies(kind, everywhere, 0, game.T, 3.25, 1.0) for kind in ("stuck", "flipped")]
    assert {*read_all(game)} == {3.25}


def test_of_heavy_tailed_noise_one_reading_in_a_hundred_is_off_by_ten_times_its_scale():
    low, _, _, high = landscape("forrester")
    noise = np.concatenate([Game("forrester", "heavy", seed).noise for seed in range(1000, 1100)])
    n_far = np.sum(np.abs(noise) > 10.0 * NOISE * (high - low))
    assert 15 <= n_far <= 70  # 39.6 expected of 4000
    plain = Game("forrester", "none", 1000).noise
    assert np.all(np.abs(plain) < 5.0 * NOISE * (high - low))


def test_who_aims_lies_about_the_best_points_alone():
    game = Game("forrester", "aimed", 1000)
    best = landscape("forrester")[2]
    x = np.linspace(0, 1, 4001)[:, None]
    values = game.test(x)
    told = [game.read(x[np.argmax(values)] if t % 2 else x[np.argmin(values)]) for t in range(game.T)]
    assert game.lied
    assert all(t % 2 == 0 for t in game.lied)
    assert all(told[t - 1] < best for t in game.lied)
    assert len(game.lied) <= 0.15 * game.T


@pytest.mark.parametrize("name", [*PROTOCOLS])
def test_games_that_are_stored_were_told_the_lies_of_this_world(name):
    blind = {"stuck", "flipped", "random", "burst", "drift", "two", "fifth"}  # do not see the point
    games = [game for game in practice.played(PROTOCOLS[name]) if game["kind"] in blind]
    some = np.random.default_rng(0).choice(len(games), 40)
    for stored in (games[i] for i in some):
        game = Game(stored["function"], stored["kind"], stored["seed"])
        read_all(game)
        assert stored["lied"] == game.lied


# --- players and what is stored ----------------------------------------------------------------


@pytest.mark.parametrize("player", ["random", "Optuna-TPE"])
def test_a_game_is_stored_with_what_follows_from_it(player):
    if player != "random":
        pytest.importorskip("optuna")
    one, two = (practice.play(("kiln", "two", 1000, player), 1) for _ in range(2))
    assert {**one, "seconds": 0} == {**two, "seconds": 0}
    assert one == json.loads(json.dumps(one))
    low, _, _, high = landscape("kiln")
    assert one["regret"] == pytest.approx((high - one["value"]) / (high - low))
    assert one["lied"]
    assert one["T"] == 60


@pytest.mark.parametrize("name", [*AXES])
def test_named_points_of_ours_and_of_optuna_are_the_points_of_the_game(name):
    optuna = pytest.importorskip("optuna")
    import unbribable as ub

    game = Game(name, "none", 1000)
    space = {axis.name: practice_players._dimension(axis) for axis in game.axes}
    box = ub.Study(space, seed=0)
    trials = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for _ in range(6):
        asked = practice_players._row(game, box.ask().params)
        trial = trials.ask()
        suggested = [practice_players._suggested(trial, axis) for axis in game.axes]
        for x in (asked, suggested):
            for axis, value in zip(game.axes, x, strict=True):
                assert axis.low <= value <= axis.high if not axis.options else value < len(axis.options)
                assert value == round(value) or not (axis.whole or axis.options)
            assert np.isfinite(game.f(x))


def test_a_line_that_was_cut_is_no_game_and_the_last_of_a_job_counts(tmp_path):
    game = {"function": "f", "kind": "none", "seed": 0, "player": "random", "protocol": 1, "by": "a"}
    practice.store(tmp_path, {**game, "regret": 1.0})
    practice.store(tmp_path, {**game, "seed": 1, "protocol": 7})
    with (tmp_path / "random.jsonl").open("a") as stream:
        stream.write('{"function": "f", "ki')
    practice.store(tmp_path, {**game, "regret": 2.0})
    practice.store(tmp_path, {**game, "player": "other", "regret": 3.0})
    found = practice.load(tmp_path, 1)
    assert {job: each["regret"] for job, each in found.items()} == {
        ("f", "none", 0, "random"): 2.0,
        ("f", "none", 0, "other"): 3.0,
    }


def test_jobs_go_seed_by_seed_and_the_slow_player_plays_cells_with_lies_alone():
    protocol = PROTOCOLS["second"]
    jobs = list(protocol.jobs([*SECOND], [*KINDS], [SLOW, "BoTorch"], range(2)))
    assert [job[2] for job in jobs] == sorted(job[2] for job in jobs)
    slow = [job[:2] for job in jobs if job[3] == SLOW]
    assert len(slow) == 2 * 64
    assert slow[:64] == slow[64:]
    assert slow[:64] != sorted(
        slow[:64], key=lambda cell: ([*SECOND].index(cell[0]), KINDS.index(cell[1]))
    )
    assert not {kind for _, kind in slow} & {"none", "heavy"}
    assert len({*jobs}) == len(jobs) == 2 * (64 + 80)


# --- claims ------------------------------------------------------------------------------------


def game(player, kind, regret, seed=0, *, function="higdon", **said):
    ours = {"flagged": [], "n_honest": 40, "is_only_flagged": False, "expected": 0.0, "sd": 1.0}
    return {
        "function": function, "kind": kind, "seed": seed, "player": player, "regret": regret,
        "value": 0.0, "seconds": 1.0, "T": 40, "lied": [], "by": "code",
        **(ours if player == "maximize" else {}), **said,
    }  # fmt: skip


def verdicts(games, claims=claims_of_second):
    return {claim.words.split(",")[0]: claim.row()[1:] for claim in claims(Games(games))}


def held(games, start):
    (found,) = (row for words, row in verdicts(games).items() if words.startswith(start))
    return found[1]


def test_lies_may_cost_twice_the_clean_regret_and_one_per_cent():
    clean = game("maximize", "none", 0.02)
    assert held([clean, game("maximize", "stuck", 0.05)], "lies: regret at most 2") == "yes"
    assert held([clean, game("maximize", "stuck", 0.0501)], "lies: regret at most 2") == "**NO**"
    assert held([clean, game("maximize", "heavy", 0.5)], "lies: regret at most 2") == "not played"


@pytest.mark.parametrize("rival", ["BoTorch", "Optuna-TPE"])
def test_equal_is_not_below_and_only_seeds_of_both_count(rival):
    words = f"lies: regret below {rival}"
    ours = [game("maximize", "stuck", regret, seed) for seed, regret in enumerate((0.1, 0.9))]
    assert held([*ours, game(rival, "stuck", 0.2)], words) == "yes"
    assert held([*ours, game(rival, "stuck", 0.1)], words) == "**NO**"
    assert held([*ours, game(rival, "stuck", 0.2), game(rival, "stuck", 0.3, 1)], words) == "**NO**"


@pytest.mark.parametrize("kind", ["none", "heavy"])
def test_without_lies_one_and_a_half_times_is_allowed(kind):
    def beside(regret):
        return held([game("maximize", kind, regret), game("BoTorch", kind, 0.02)], f"{kind}: regret")

    assert beside(0.03) == "yes"
    assert beside(0.0301) == "**NO**"


def test_games_against_relevance_pursuit_are_counted_in_pairs_without_ties():
    theirs = [game(SLOW, "stuck", 0.1, seed) for seed in range(4)]

    def paired(*regrets):
        ours = [game("maximize", "stuck", regret, seed) for seed, regret in enumerate(regrets)]
        (claim,) = (c for c in claims_of_second(Games([*ours, *theirs])) if "games won" in c.words)
        return claim.row()[1:3], "2 ties" in claim.words

    assert paired(0.05, 0.15, 0.1009, 0.0991) == (("1 of 2", "yes"), True)
    assert paired(0.1011, 0.15, 0.1009, 0.0991) == (("0 of 2", "**NO**"), True)


def test_readings_accused_and_lies_found_are_counted_by_kind():
    def said(kind, flagged, lied):
        games = [game("maximize", kind, 0.1, flagged=flagged, lied=lied, n_honest=40 - len(flagged))]
        return held(games, "at most 1 %"), held(games, "lies of a kind")

    assert said("stuck", [1, 2], [1, 2]) == ("yes", "yes")
    assert said("stuck", [1, 2, 3], [1, 2]) == ("**NO**", "yes")
    assert said("flipped", [1], [1, 2]) == ("yes", "**NO**")
    assert said("fifth", [1], [1, 2, 3]) == ("yes", "not played")


def test_expected_values_may_be_off_by_two_deviations_in_eight_per_cent():
    def off(n):
        games = [game("maximize", "none", 0.1, seed, expected=2.5 * (seed < n)) for seed in range(25)]
        return held(games, "the estimate is off by more than 2"), held(
            games, "the estimate is off by more than 5"
        )

    assert off(2) == ("yes", "yes")
    assert off(3) == ("**NO**", "yes")
    assert (
        held([game("maximize", "none", 0.1, expected=-6.0)], "the estimate is off by more than 5")
        == "**NO**"
    )


@pytest.mark.parametrize(
    ("said", "verdict"),
    [({"flagged": [3], "n_honest": 39}, "yes"), ({"flagged": [3]}, "**NO**"),
     ({"is_only_flagged": True}, "**NO**")],
)  # fmt: skip
def test_an_answer_does_not_contradict_itself(said, verdict):
    assert held([game("maximize", "none", 0.1, **said)], "no point is recommended") == verdict


def test_the_first_score_is_read_as_it_was_written():
    protocol = PROTOCOLS["first"]
    games = Games(practice.played(protocol))
    text = page(games, protocol.claims(games))
    written = (ROOT / "benchmarks/practice/results.md").read_text(encoding="utf-8")
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert len(tables) > 70
    assert [line for line in tables if line not in written] == []
    assert protocol.claims is claims_of_first


def test_the_figure_shows_the_middle_half_of_the_games_and_hollow_marks_for_few():
    pytest.importorskip("matplotlib")
    played = [
        *(game("maximize", "stuck", 0.01 * (seed + 1), seed) for seed in range(5)),
        game("relevance-pursuit", "stuck", 0.5),
        game("BoTorch", "none", 0.5),  # nothing where somebody lies
    ]
    figure = practice_figure.medians(Games(played))
    (ax,) = [each for each in figure.axes if each.get_title() == "stuck"]
    lines = [list(line.get_xdata()) for line in ax.lines if line.get_linestyle() == "-"]
    assert pytest.approx([2.0, 4.0]) in lines, "the middle half of 1 to 5 %"
    marks = {each.get_markerfacecolor() for each in ax.lines if list(each.get_xdata()) == [50.0]}
    assert marks == {"none"}, "one game"
    (legend,) = figure.legends
    said = [text.get_text() for text in legend.get_texts()]
    assert said == ["maximize", "relevance-pursuit (1 game a cell)"]
