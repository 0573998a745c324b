"""The leaderboard: who is told what, who beats whom, and what the page says of it."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from report.hand_made import record, write
from unbribable.cli.main import app
from unbribable.decision.proven.conditions import NotProved
from unbribable.decision.proven.guarantee import Guarantee
from unbribable.lab.report import numbers
from unbribable.lab.report import protection as price
from unbribable.lab.report.board_page import leaderboard, price_and_protection
from unbribable.lab.report.leaderboard import beats, boards, slope
from unbribable.lab.report.outcomes import load
from unbribable.lab.runs.record import OF_LIES


def games(label, kind, finals, adversary="liar", C=1.0, threat="strong", T=4, **words):
    """One game per seed, whose regret at the end is given, paid evenly; ours unless said otherwise."""
    found = [
        record([final / T] * T, algorithm=label, kind=kind, adversary=adversary, C=C, seed=seed, **words)
        for seed, final in enumerate(finals)
    ]
    for one in found:
        promise = None if threat is None else Guarantee(threat, ("main",), 0.9).to_plain()
        one.meta["algorithm"]["guarantee"] = promise
    return found


def clean(label, kind, finals, **words):
    return games(label, kind, finals, adversary="none", C=0.0, **words)


@pytest.fixture
def directory(tmp_path):
    """Ours is told C; a rival is cheaper without lies, and worse under them; the floor is random."""
    return write(tmp_path / "p9", [
        *games("ours", "RobustGPUCB", [4, 5, 6], C_assumed=1.0, knows="C"),
        *clean("ours", "RobustGPUCB", [4, 5, 6], C_assumed=1.0, knows="C"),
        *games("rival", "RCGPUCB", [8, 9, 11], threat=None, is_ours=False, simple=0.5, certificate=None),
        *clean("rival", "RCGPUCB", [1, 2, 2], threat=None, is_ours=False, certificate=None),
        *games("GP-UCB", "GPUCB", [8, 8.5, 12], threat="none", is_ours=False),
        *clean("GP-UCB", "GPUCB", [2, 2, 2], threat="none", is_ours=False),
        *games("random", "RandomSearch", [16, 16, 16], threat=None, is_ours=False, certificate=None),
        *clean("random", "RandomSearch", [16, 16, 16], threat=None, is_ours=False, certificate=None),
    ])  # fmt: skip


@pytest.fixture
def board(directory):
    (board,) = boards(directory)
    return board


def test_a_bootstrap_interval_holds_the_mean_and_is_the_same_again():
    values = np.random.default_rng(0).normal(1.0, 2.0, 50)
    low, high = numbers.bootstrap(values)
    assert (low, high) == numbers.bootstrap(values)
    assert low < values.mean() < high
    assert high - low == pytest.approx(2 * 1.96 * values.std() / 50**0.5, rel=0.1)
    assert numbers.bootstrap([3.0]) == (3.0, 3.0)


def test_a_difference_is_one_only_if_the_seeds_agree(board):
    liar, none = sorted(board.settings, key=lambda s: s.is_clean)
    row = {row.label: row for row in board.rows}
    assert beats(row["ours"], row["rival"], liar)
    assert not beats(row["rival"], row["ours"], liar)
    assert beats(row["rival"], row["ours"], none)
    assert not beats(row["rival"], row["GP-UCB"], liar)  # 0, 0.5 and -1
    assert not beats(row["GP-UCB"], row["rival"], liar)


def test_a_rival_that_is_a_setting_of_our_class_is_not_ours(tmp_path):
    theirs = games("EC-GP-UCB", "RobustGPUCB", [1, 2, 3])
    for one in theirs:
        one.meta["run"]["by"] = "others"
    sweep = write(tmp_path, [*games("ours", "RobustGPUCB", [4, 5, 6]), *theirs])
    (board,) = boards(sweep)
    ((ours, better),) = board.losses().values()
    assert (ours.label, [row.label for row in better]) == ("ours", ["EC-GP-UCB"])


def test_losses_and_wins_are_those_of_our_best(board):
    liar, none = sorted(board.settings, key=lambda s: s.is_clean)
    ours, better = board.losses()[none]
    assert (ours.label, [row.label for row in better]) == ("ours", ["rival", "GP-UCB"])
    assert {s: row.label for s, row in board.wins().items()} == {liar: "ours"}
    assert liar not in board.losses()


@pytest.mark.parametrize("knows", OF_LIES)
def test_players_are_grouped_by_what_they_are_told(knows, tmp_path):
    (board,) = boards(write(tmp_path, games("one", "GPUCB", [1.0], knows=knows)))
    assert board.rows[0].knows == knows


@pytest.mark.parametrize(("threat", "promise"), [
    ("strong", "against any adversary"),
    ("weak", "against weak adversaries"),
    ("none", "only if nobody lies"),
    (None, "none"),
])  # fmt: skip
def test_a_promise_is_said_in_words(threat, promise, tmp_path):
    (board,) = boards(write(tmp_path, games("one", "RGPPE", [1.0], threat=threat)))
    assert board.rows[0].promise == promise


def test_a_promise_that_is_void_is_none(tmp_path):
    (one,) = games("one", "RGPPE", [1.0])
    one.meta["algorithm"]["guarantee"] = Guarantee("strong", void=NotProved()).to_plain()
    (board,) = boards(write(tmp_path, [one]))
    assert board.rows[0].promise == "none"


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("knows", lambda meta: meta.pop("knows")),
        ("as data", lambda meta: meta["algorithm"].update(guarantee="With probability at least 0.9")),
    ],
)
def test_a_record_without_promise_and_knowledge_as_data_is_left_out_with_the_reason(
    name, spoil, tmp_path
):
    one, two = games("one", "GPUCB", [1.0, 2.0])
    spoil(one.meta)
    (skipped,) = load(write(tmp_path, [one, two])).skipped
    assert name in skipped.reason
    assert "call sweep again" in skipped.reason


def test_a_broken_promise_is_marked_where_chance_does_not_explain_it(tmp_path):
    def one(n_failed):
        held = [
            games("one", "RobustGPUCB", [1.0] * 12, C_assumed=1.0, covered={"main": k >= n_failed})[k]
            for k in range(12)
        ]
        path = write(tmp_path / str(n_failed), held)
        leaderboard([path], path / "page.md")
        (board,) = boards(path)
        return bool(board.rows[0].broken), "†" in (path / "page.md").read_text().split("| told")[1]

    assert one(2) == (False, False)
    assert one(6) == (True, True)


def test_price_and_protection_are_multiples_of_the_regret_of_gp_ucb_without_lies(board):
    places = board.places()
    assert places["ours"] == (2.5, 2.5, pytest.approx(0.5 / 3**0.5))
    assert places["GP-UCB"][:2] == (1.0, pytest.approx(28.5 / 6))


def test_the_figure_tells_weak_promises_from_strong_ones_and_from_none(tmp_path):
    directory = write(tmp_path / "p", [
        *(one for make in (games, clean) for threat in ("weak", "strong")
          for one in make(threat, "FastSlowGPUCB", [4, 5, 6], C_assumed=1.0, threat=threat)),
        *games("GP-UCB", "GPUCB", [8, 8.5, 12], threat="none", is_ours=False),
        *clean("GP-UCB", "GPUCB", [2, 2, 2], threat="none", is_ours=False),
    ])  # fmt: skip
    drawn = price_and_protection(boards(directory))
    marks = {text.get_text(): line.get_marker() for text, line in zip(
        drawn.legends[0].get_texts(), drawn.legends[0].get_lines(), strict=True)}  # fmt: skip
    assert marks["promise against any adversary, kept"] == "o"
    assert marks["promise against weak adversaries, kept"] == "s"
    assert "promise broken" not in marks
    (ax,) = drawn.axes
    shown = [line.get_marker() for line in ax.lines if len(line.get_xdata()) == 1]
    assert sorted(shown) == ["o", "o", "s"]
    assert price_and_protection(boards(write(tmp_path / "q", games("one", "GPUCB", [1, 2])))) is None


def test_the_last_quarter_has_the_slope_of_the_regret(tmp_path):
    late = [record([0.0] * 9 + [1.0] * 3, seed=0)]
    (board,) = boards(write(tmp_path, late))
    assert slope(board.rows[0], board.settings[0]) == pytest.approx(1.0)


def test_the_page_names_losses_first_then_wins_then_what_was_not_run(directory, tmp_path):
    names = {f"{k:016x}": label for k, label in enumerate(["ours"] * 24)} | {
        "a" * 16: "slow",
        "b" * 16: "slow",
    }
    runs = [{"key": key, "labels": {"algorithm": label}, "game": {}} for key, label in names.items()]
    (directory / "spec.json").write_text(json.dumps({"runs": runs}))
    (directory / "failed").mkdir()
    note = {"key": "b" * 16, "labels": {"algorithm": "slow"}, "traceback": "x\nTimeoutError: too long"}
    (directory / "failed" / f"{'b' * 16}.json").write_text(json.dumps(note))
    page = tmp_path / "docs" / "page.md"
    result = CliRunner().invoke(app, ["leaderboard", str(directory), "--out", str(page), "--json"])
    assert result.exit_code == 0, result.output
    (data,) = json.loads(result.output)["boards"]
    assert data["losses"] == {"no adversary": ["rival", "GP-UCB"]}
    assert data["wins"] == {"liar, C = 1": "ours"}
    assert data["not_run"] == {"slow": [2, "TimeoutError: too long"]}
    text = page.read_text()
    parts = ["- **Lost** no adversary: our best, ours, has 5; less have rival (1.67, promise: none)"]
    parts += ["- Won against all others: liar, C = 1 (ours).", "- Not run: slow, 2 games: TimeoutError"]
    parts += [
        "| told | player | no adversary | liar, C = 1 |",
        "| C | ours | **5 ± 0.577** | **5 ± 0.577** |",
    ]
    parts += [
        "| nothing | random | 16 ± 0 | 16 ± 0 |",
        "### Players",
        "| rival | nothing | none | 0.5 |",
    ]
    assert [text.find(part) for part in parts] == sorted(text.find(part) for part in parts)
    assert all(part in text for part in parts)
    assert (page.parent / "images" / "page.png").stat().st_size > 10_000


def test_a_directory_without_records_is_refused_in_words(tmp_path):
    result = CliRunner().invoke(app, ["leaderboard", str(tmp_path), "--out", str(tmp_path / "page.md")])
    assert result.exit_code == 2
    assert "must hold records" in result.output


def test_the_page_says_how_regret_grows_under_the_worst_attack_and_how_seeds_differ(tmp_path):
    def paid(seed, last, adversary):
        words = {"algorithm": "ours", "kind": "RobustGPUCB", "seed": seed, "adversary": adversary}
        return record([1.0, 1.0, 1.0, last], C_assumed=1.0, in_target=0.25 * seed, **words)

    sweep = write(tmp_path / "p9", [
        *[paid(seed, last, "hard") for seed, last in enumerate([2.0, 3.0, 7.0])],
        *[paid(seed, 0.5, "easy") for seed in range(3)],
    ])  # fmt: skip
    page = tmp_path / "page.md"
    leaderboard([sweep], page)
    words = page.read_text()
    assert "| ours | hard, C = 1 | 1 | 2 | 7 | 6 | 10 |" in words
    head, _, row = [line.split(" | ") for line in words.splitlines() if line.startswith("|")][-3:]
    told = dict(zip(head, row, strict=True))
    assert told["in the target"] == "0.25"
    assert told["truth within bounds"] == "3 of 3"
    assert told["ms/round"] == "10"


def place(price_, protection, error=0.0):
    return price.Place(price_, protection, error, "black", "no promise for attacks")


def test_names_of_one_mark_stand_together_a_line_each():
    points = {"a": place(1.0, 1.0), "b": place(1.0, 1.0), "far": place(9.0, 9.0)}
    assert [(name.text, name.label) for name in price.named(points)] == [("a\nb", "a"), ("far", "far")]


def test_names_cover_neither_each_other_nor_marks_and_stay_in_the_panel():
    rng = np.random.default_rng(0)
    ranks = rng.permutation(18) * 18 + rng.permutation(18)  # one in each row and column, no two alike
    points = {
        f"a player, {k}": place(1.3 ** (rank // 18), 1.2 ** (rank % 18), 0.2)
        for k, rank in enumerate(ranks)
    }
    at = price._on_paper(points)
    found = price.named(points)
    assert len(found) == 18
    frames = [
        price._frame(at[name.label] + (name.x, name.y), (price._LETTER * len(name.text), price._LINE))
        for name in found
    ]
    marks = [price._frame(where, (price._MARK, price._MARK)) for where in at.values()]
    assert all(price._overlap(frame, mark) < 1.0 for frame in frames for mark in marks)
    pairs = [(one, other) for k, one in enumerate(frames) for other in frames[:k]]
    assert all(price._overlap(one, other) < 1.0 for one, other in pairs)
    assert all(price._outside(frame) < 1.0 for frame in frames)


def test_a_name_that_had_to_go_far_has_a_line_to_its_mark():
    crowd = {f"number {k}": place(1.0 + 0.2 * (k % 5), 1.0 + 0.2 * (k // 5)) for k in range(25)}
    alone = {"one": place(1.0, 1.0), "other": place(9.0, 9.0)}
    assert not any(name.is_far for name in price.named(alone))
    assert any(name.is_far for name in price.named({**crowd, "corner": place(1e3, 1e3)}))
