"""Panels of beliefs: from a record, checked, and drawn like the paper's Figure 1."""

from types import SimpleNamespace

import numpy as np
import pytest

from report.hand_made import record
from unbribable.lab.report.posterior import PosteriorPanel, figure_1, local_maximiser, panel_of
from unbribable.lab.world.objectives import Objective


def a_record():
    game = record([0.0, 0.5, 1.0])
    game.columns["index"] = np.array([2, 0, 1])
    game.columns["x"] = np.array([[0.5], [1.0], [0.0]])
    game.columns["c"] = np.array([0.0, -0.5, 0.0])
    game.columns["y_tilde"] = np.array([1.0, 2.0, 3.0])
    game.meta["best"] = 0
    return game


GAME = {"adversary": {"kind": "region_subtraction", "radius": 0.25}}


def test_a_panel_holds_the_first_readings_in_the_order_of_the_line(monkeypatch):
    X, f = np.array([[1.0], [0.0], [0.5]]), np.array([3.0, 1.0, 2.0])
    belief = SimpleNamespace(mu=f + 1.0, width=np.ones(3))
    player = SimpleNamespace(instances={"fast": None, "all": belief})
    replay = player, Objective("hill", X, f)
    monkeypatch.setattr("unbribable.lab.report.posterior.replayed", lambda *_: replay)
    panel = panel_of(a_record(), GAME, t=2)
    assert panel.x.tolist() == [0.0, 0.5, 1.0]
    assert panel.f.tolist() == [1.0, 2.0, 3.0]
    assert panel.mu.tolist() == [2.0, 3.0, 4.0]
    assert panel.readings_x.tolist() == [0.5, 1.0]
    assert panel.readings_y.tolist() == [1.0, 2.0]
    assert panel.is_corrupted.tolist() == [False, True]
    assert (panel.region, panel.t, panel.title) == ((0.75, 1.0), 2, "GP-UCB (all)")
    assert panel_of(a_record(), GAME, t=50).t == 3, "all rounds where there are no more"


def test_candidates_that_are_not_on_a_line_have_no_panel():
    game = a_record()
    game.columns["x"] = np.zeros((3, 2))
    assert panel_of(game, GAME, t=2) is None


def test_the_local_maximiser_is_the_highest_peak_besides_the_maximum():
    assert local_maximiser(np.array([0.0, 2.0, 1.0, 3.0, 0.0, 5.0])) == 3
    assert local_maximiser(np.array([0.0, 1.0, 0.0])) is None


def test_plain_arrays_are_checked():
    x = np.arange(3.0)
    with pytest.raises(ValueError, match=r"f must have shape \(3,\) like x, got shape \(2,\)"):
        PosteriorPanel(x=x, f=x[:2])
    with pytest.raises(ValueError, match="x must be ascending candidates on a line"):
        PosteriorPanel(x=x[::-1], f=x)
    with pytest.raises(ValueError, match="mu and width must be given together"):
        PosteriorPanel(x=x, f=x, mu=x)
    with pytest.raises(ValueError, match="must have one shape"):
        PosteriorPanel(x=x, f=x, readings_x=x)


def a_panel(title):
    x = np.linspace(0.0, 1.0, 50)
    f = np.sin(6.0 * x)
    return PosteriorPanel(
        x=x, f=f, mu=0.9 * f, width=np.full(50, 0.3), readings_x=x[::10], readings_y=f[::10],
        is_corrupted=np.arange(5) == 2, title=title, region=(0.1, 0.4), t=50,
    )  # fmt: skip


def test_figure_1_puts_the_function_in_front(tmp_path):
    panels = {"a": a_panel("GP-UCB"), "b": a_panel("RobustGPUCB")}
    figure = figure_1(panels, tmp_path / "figure_1.png")
    assert [ax.get_title() for ax in figure.axes] == [
        "the function", "GP-UCB, t = 50", "RobustGPUCB, t = 50",
    ]  # fmt: skip
    words = {text.get_text() for text in figure.legends[0].get_texts()}
    assert {"f", "clean reading", "corrupted reading", "posterior mean", "band: mean ± width"} <= words
    assert any("x*" in word for word in words)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figure_1.png", "figure_1.svg"]


def test_figure_1_takes_a_panel_of_the_function_as_given(tmp_path):
    x = np.linspace(0.0, 1.0, 5)
    panels = {"mine": PosteriorPanel(x=x, f=x), "b": a_panel("")}
    figure = figure_1(panels)
    assert [ax.get_title() for ax in figure.axes] == ["mine", "b, t = 50"]
    with pytest.raises(ValueError, match="panels must hold at least one panel, got none"):
        figure_1({})


def test_the_same_figure_is_the_same_file(tmp_path):
    for folder in ("one", "two"):
        figure_1({"a": a_panel("GP-UCB")}, tmp_path / folder / "figure")
    for kind in ("png", "svg"):
        one, two = ((tmp_path / folder / f"figure.{kind}").read_bytes() for folder in ("one", "two"))
        assert one == two
